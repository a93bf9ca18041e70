//! From a configuration to a server that has introduced itself, and from there to its end.

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    sync::{Arc, Mutex, OnceLock, Weak, atomic::AtomicBool},
    time::Duration,
};

use serde_json::{Value, json, value::RawValue};
use tokio::{
    process::{Child, ChildStdout, Command},
    sync::{Notify, watch},
    task::JoinHandle,
    time::Instant,
};

use super::{
    Introduced, Phase, Place, Server, capabilities, diagnostics, peer::Desk, silence::Silence,
    store::Store, used::Usage,
};
use crate::{
    answer::QueryError,
    catalogue,
    client::{Client, Patience, RequestError},
    config::ServerConfig,
    mirror::{Mirror, Wire},
    process::{self, Process},
    transport::Ring,
};

/// How much of a dead server's stderr goes into messages.
pub(super) const LAST_LINES: usize = 5;
pub(super) const SAID_LAST: &str = "; it said last:\n";

/// What is to be started.
pub(crate) struct Launch<'a> {
    pub name: &'a str,
    pub config: &'a ServerConfig,
    pub root: &'a Path,
    pub place: Place,
    /// A server that has said nothing of its progress for this long is not waited for.
    pub silence: Duration,
    /// How long it may take to answer a question.
    pub answer: Duration,
}

impl Server {
    /// Starts a server and waits until it has introduced itself, `patience` long.
    pub async fn start(launch: Launch<'_>, patience: &Patience) -> Result<Arc<Self>, QueryError> {
        let config = launch.config;
        let server = Self::spawn(launch)?;
        // However this ends, a server that nobody gets is not left running.
        let unkept = Unkept(Some(server.clone()));
        let answer = server.introduction(patience).await?;
        let answer: Value = serde_json::from_str(answer.get()).unwrap_or_default();
        let capabilities = answer.get("capabilities").cloned().unwrap_or_default();
        let mirror = Mirror::new(server.client.clone(), capabilities::manner(&capabilities));
        mirror.wire().set_included(&server.traits.looks_at_save);
        let _ = server.introduced.set(Introduced {
            capabilities,
            since: Instant::now(),
            mirror,
        });
        server.client.notify("initialized", Some(json!({})));
        if !config.settings.is_null() {
            server.client.notify(
                "workspace/didChangeConfiguration",
                Some(json!({"settings": config.settings})),
            );
        }
        server.settle();
        server.watch_anew();
        tokio::spawn(keep_told(Arc::downgrade(&server)));
        tokio::spawn(diagnostics::keep_asked(Arc::downgrade(&server)));
        unkept.keep();
        Ok(server)
    }

    /// What a server that has just been started answers to our introduction.
    pub(super) async fn introduction(
        self: &Arc<Self>,
        patience: &Patience,
    ) -> Result<Box<RawValue>, QueryError> {
        let section = self.traits.options_section.as_deref();
        let params = capabilities::initialize(&self.config, section, &self.root);
        let begun = Instant::now();
        match self
            .client
            .request("initialize", Some(params), patience)
            .await
        {
            Ok(answer) => Ok(answer),
            Err(RequestError::Closed) => {
                self.dead().await;
                Err(self.not_installed().unwrap_or_else(|| self.died()))
            }
            Err(error) => Err(self.given_up(self.error("initialize", error), begun, true)),
        }
    }

    pub(super) fn spawn(launch: Launch<'_>) -> Result<Arc<Self>, QueryError> {
        let Launch {
            name,
            config,
            root,
            place,
            silence,
            answer,
        } = launch;
        let traits = catalogue::traits(name);
        let failed = |message: String| QueryError::Failed {
            name: name.to_owned(),
            message,
        };
        let Some((program, arguments)) = config.command.split_first() else {
            return Err(failed("its configuration has no command".into()));
        };
        // It would run there; that it can't would be told as if there were no program.
        let not_there = || gone(root).map(failed);
        if let Some(error) = not_there() {
            return Err(error);
        }
        let no_program = |why| match why {
            NotFound::Missing => QueryError::NotInstalled {
                name: name.to_owned(),
                command: program.clone(),
                install: traits.install.clone(),
                configured_at: config.configured_at.clone(),
            },
            NotFound::Unusable(reason) => QueryError::Unusable {
                name: name.to_owned(),
                command: program.clone(),
                reason: reason.to_owned(),
            },
        };
        let path = find_program(program, config.env.get("PATH").map(OsString::from), root)
            .map_err(no_program)?;
        catalogue::make_own_folder(traits, config, root);
        let mut command = Command::new(path);
        command
            .args(arguments)
            .envs(&config.env)
            .current_dir(root)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let Process { mut child, tree } = process::spawn(command).map_err(|error| {
            not_there()
                .unwrap_or_else(|| failed(format!("{program} could not be started: {error}")))
        })?;
        let (Some(input), Some(output), Some(errors)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(failed("it has no pipes".into()));
        };
        let stderr = Arc::new(Ring::default());
        let server = Arc::new(Self {
            name: name.to_owned(),
            root: root.to_owned(),
            config: config.clone(),
            traits,
            client: Client::new(name, input),
            tree: Arc::new(tree),
            stderr: stderr.clone(),
            phase: watch::Sender::new(Phase::Starting),
            introduced: OnceLock::new(),
            desk: Mutex::new(Desk::default()),
            store: Store::default(),
            watching: watch::Sender::new(Arc::from([])),
            leases: Arc::default(),
            stale: Notify::new(),
            death: OnceLock::new(),
            ending: AtomicBool::new(false),
            settled: AtomicBool::new(false),
            usage: Usage::new(place.bell()),
            born: Instant::now(),
            silence,
            limit: answer,
            ran_out: Silence::default(),
            speechless: AtomicBool::new(false),
            rereading: Mutex::default(),
            commands: tokio::sync::Mutex::default(),
        });
        let its_name = name.to_owned();
        let listening = tokio::spawn(async move { stderr.fill(&its_name, errors).await });
        tokio::spawn(live(server.clone(), child, output, listening, place));
        Ok(server)
    }

    /// A program may be there and still not be the server: a stub that says how to install it.
    fn not_installed(&self) -> Option<QueryError> {
        let said = self.stderr.last(usize::MAX);
        let install = self.traits.missing(&said)?.install;
        let program = self.config.command.first().map_or("", String::as_str);
        Some(QueryError::NotInstalled {
            name: self.name.clone(),
            command: format!("a server behind {program}"),
            install,
            configured_at: None,
        })
    }
}

/// Ends a server again unless it is kept.
struct Unkept(Option<Arc<Server>>);

impl Unkept {
    fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for Unkept {
    fn drop(&mut self) {
        if let Some(server) = &self.0 {
            server.kill();
        }
    }
}

/// Reads what a server says until it ends, and sees to it that all of it has ended then.
async fn live(
    server: Arc<Server>,
    mut child: Child,
    output: ChildStdout,
    listening: JoinHandle<()>,
    place: Place,
) {
    const A_MOMENT: Duration = Duration::from_millis(300);
    let mut broken = None;
    let mut status = None;
    {
        let reading = server.client.read(output, &*server);
        tokio::pin!(reading);
        tokio::select! {
            end = &mut reading => broken = end,
            hung = server.client.stuck() => broken = Some(hung),
            exit = child.wait() => {
                status = exit.ok();
                // What it said last is still in the pipe, which something that it started may hold open.
                if let Ok(end) = tokio::time::timeout(A_MOMENT, &mut reading).await {
                    broken = end;
                }
            }
        }
    }
    server.client.close();
    if status.is_none() && broken.is_none() {
        // It closed its output. One that ends does both at once; one that lives on is of no use any more.
        status = tokio::time::timeout(A_MOMENT, child.wait())
            .await
            .ok()
            .and_then(Result::ok);
    }
    let ending = server.clone();
    let _ = tokio::task::spawn_blocking(move || ending.tree.end()).await;
    let _ = child.wait().await;
    let _ = tokio::time::timeout(A_MOMENT, listening).await;
    let detail = obituary(
        broken.map(|error| error.to_string()),
        status,
        &server.stderr.last(LAST_LINES),
    );
    if server.was_ended() {
        tracing::debug!(server = server.name, detail, "ended");
    } else {
        tracing::warn!(server = server.name, detail, "died");
    }
    let _ = server.death.set(detail);
    // Whoever waits for its end may start another one in its place.
    drop(place);
    server.phase.send_replace(Phase::Dead);
    server.store.ring();
}

fn obituary(broken: Option<String>, status: Option<ExitStatus>, said: &str) -> String {
    let how = match (broken, status) {
        (Some(broken), _) => broken,
        (None, Some(status)) => status.to_string(),
        (None, None) => "it closed its output".to_owned(),
    };
    if said.is_empty() {
        how
    } else {
        format!("{how}{SAID_LAST}{said}")
    }
}

/// Tells a server what happens to the buffers, as fast as it takes it.
async fn keep_told(server: Weak<Server>) {
    loop {
        let Some(server) = server.upgrade() else {
            return;
        };
        let Some(mirror) = server.mirror() else {
            return;
        };
        tokio::select! {
            () = mirror.bell.notified() => {}
            () = server.dead() => return,
        }
        server.client.drained().await;
        let touched = mirror.told(None, Wire::take_touched);
        if !touched.is_empty() {
            server.touched(touched);
        }
    }
}

/// What is to be said of a folder in which nothing can run any more.
pub(crate) fn gone(folder: &Path) -> Option<String> {
    (!folder.is_dir()).then(|| format!("the folder {} is gone", folder.display()))
}

/// Why there is no program to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotFound {
    Missing,
    /// Something else is there.
    Unusable(&'static str),
}

/// The program's file: a path as it is (seen from the root), a name as found in the search path.
pub(crate) fn find_program(
    program: &str,
    search: Option<OsString>,
    root: &Path,
) -> Result<PathBuf, NotFound> {
    let named = Path::new(program);
    if named.components().count() > 1 {
        let path = root.join(named);
        return if is_executable(&path) {
            Ok(path)
        } else if path.is_dir() {
            Err(NotFound::Unusable("is a folder"))
        } else if path.exists() {
            Err(NotFound::Unusable("is not executable"))
        } else {
            Err(NotFound::Missing)
        };
    }
    let search = search
        .or_else(|| env::var_os("PATH"))
        .ok_or(NotFound::Missing)?;
    env::split_paths(&search)
        .flat_map(|folder| {
            names(program)
                .into_iter()
                .map(move |name| folder.join(name))
        })
        .find(|path| is_executable(path))
        .ok_or(NotFound::Missing)
}

#[cfg(unix)]
fn names(program: &str) -> Vec<String> {
    vec![program.to_owned()]
}

#[cfg(not(unix))]
fn names(program: &str) -> Vec<String> {
    ["", ".exe", ".cmd", ".bat"]
        .map(|end| format!("{program}{end}"))
        .to_vec()
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata()
        .is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.is_file()
}
