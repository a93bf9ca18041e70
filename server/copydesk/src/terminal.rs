//! The terminal's door: one run on real files (`copydesk run`, `copydesk fix`). There is no editor
//! here, so every text is the disk's.

use std::{
    io::{Read as _, Write as _},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use agent::{Cure, Event, EventKind, Focus, Observer, RunRequest, StartError, Status, Task};
use anyhow::{Context as _, bail};
use async_trait::async_trait;
use serde_json::Value;
use tokio::sync::oneshot;
use workspace::{
    Buffers, ByteRange, DocumentUri, Edit, Encoding, Host, HostError, Position, Range, Reply,
    Snapshot, Workspace,
};

use crate::{
    cli::RunOptions,
    place::Place,
    rooms::{self, Rooms},
};

/// `copydesk run`.
pub async fn run(
    prompt: Option<String>,
    file: Option<String>,
    options: RunOptions,
) -> anyhow::Result<ExitCode> {
    let prompt = match prompt.as_deref() {
        None | Some("-") => {
            let mut text = String::new();
            std::io::stdin()
                .read_to_string(&mut text)
                .context("the prompt can't be read from stdin")?;
            text
        }
        Some(text) => text.to_owned(),
    };
    if prompt.trim().is_empty() {
        bail!(Usage(
            "the prompt is empty: say what to do with --prompt, or on stdin".into()
        ));
    }
    start(Task::Ask(prompt), file, options).await
}

/// `copydesk fix`.
pub async fn fix(file: String, options: RunOptions) -> anyhow::Result<ExitCode> {
    start(Task::Fix(Vec::new()), Some(file), options).await
}

/// The exit code of a fix that cured some of what it was to cure, or of which nobody could say in time.
const NOT_ALL: u8 = 4;

/// What was typed can't be meant: exit code 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Usage(pub String);

async fn start(task: Task, file: Option<String>, options: RunOptions) -> anyhow::Result<ExitCode> {
    let root = workspace_folder(options.dir.clone())?;
    let workspace = Workspace::new(vec![root.clone()], Buffers::new(), Arc::new(NoEditor));
    let Rooms {
        agent,
        pool,
        warnings,
    } = rooms::build(std::slice::from_ref(&root), &Value::Null, &workspace);
    for warning in warnings {
        eprintln!("copydesk: {warning}");
    }
    let focus = match file {
        None => None,
        Some(file) => Some(focus(&file, &root, &workspace)?),
    };
    let (ended, end) = oneshot::channel();
    let printer = Arc::new(Printer {
        json: options.json,
        root,
        ended: Mutex::new(Some(ended)),
        midline: Mutex::new(false),
        said: Mutex::default(),
    });
    let request = RunRequest {
        task,
        focus,
        model: options.model,
        read_only: options.read_only,
        max_cost: options.max_cost,
        session: None,
    };
    let mut interrupts = Interrupts::listen()?;
    let session = match agent.start(request, printer) {
        Ok(session) => session,
        Err(StartError::Model(error)) => bail!(Usage(error.to_string())),
        Err(error) => bail!(error),
    };
    let mut end = std::pin::pin!(end);
    let ended = tokio::select! {
        ended = &mut end => ended,
        () = interrupts.wait() => {
            let _ = agent.cancel(&session);
            end.await
        }
    };
    let _ = tokio::time::timeout(Duration::from_secs(2), pool.shutdown()).await;
    Ok(ExitCode::from(
        match ended.unwrap_or((Status::Failed, None)) {
            (Status::Done, None | Some(Cure::Whole)) => 0,
            (Status::Done, Some(Cure::Part { .. } | Cure::Unchecked)) => NOT_ALL,
            (Status::Failed | Status::Running, _) => 1,
            (Status::Denied, _) => 3,
            (Status::Cancelled, _) => 130,
        },
    ))
}

/// Ctrl-C and a polite kill.
pub struct Interrupts {
    #[cfg(unix)]
    signals: [tokio::signal::unix::Signal; 2],
}

impl Interrupts {
    /// From here on a signal no longer ends the process.
    pub fn listen() -> anyhow::Result<Self> {
        #[cfg(unix)]
        {
            use tokio::signal::unix::{SignalKind, signal};
            let listen = |kind| signal(kind).context("signals can't be listened to");
            let signals = [
                listen(SignalKind::interrupt())?,
                listen(SignalKind::terminate())?,
            ];
            Ok(Interrupts { signals })
        }
        #[cfg(not(unix))]
        Ok(Interrupts {})
    }

    /// Until the first of them.
    pub async fn wait(&mut self) {
        #[cfg(unix)]
        {
            let [interrupt, terminate] = &mut self.signals;
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
        }
        #[cfg(not(unix))]
        let _ = tokio::signal::ctrl_c().await;
    }
}

/// The folder that was named, or the current one, by its real name.
pub fn workspace_folder(named: Option<PathBuf>) -> anyhow::Result<PathBuf> {
    let dir = match named {
        Some(dir) => dir,
        None => std::env::current_dir().context("the current folder can't be read")?,
    };
    let whole = dir
        .canonicalize()
        .map_err(|error| Usage(format!("--dir {}: {error}", dir.display())))?;
    if !whole.is_dir() {
        bail!(Usage(format!("--dir {} is no folder", dir.display())));
    }
    Ok(whole)
}

fn focus(file: &str, root: &Path, workspace: &Workspace) -> anyhow::Result<Focus> {
    let here = std::env::current_dir().context("the current folder can't be read")?;
    // As one sees it from the folder that was named; or from where one stands, as a shell completes it.
    let from_here = || Place::parse(file, &here).ok();
    let place = match Place::parse(file, root) {
        Ok(place) => place,
        Err(error) => from_here().ok_or(Usage(error))?,
    };
    let path = place
        .path
        .canonicalize()
        .with_context(|| format!("{} can't be read", place.path.display()))?;
    let uri = DocumentUri::from_path(&path).map_err(|error| Usage(error.to_string()))?;
    let snapshot = workspace
        .read(&uri)
        .map_err(|error| Usage(error.to_string()))?;
    // Behind the last line end there may be problems, as that something was never closed.
    let is_past = |line: &u32| *line as usize > snapshot.text.line_count();
    if let Some(line) = place.line.filter(is_past) {
        let lines = snapshot.text.lines_to_read();
        bail!(Usage(format!(
            "{file}: there is no line {line}, the file has {lines}"
        )));
    }
    let range = place
        .line
        .map(|line| range(&snapshot, line - 1, place.column.map(|column| column - 1)));
    Ok(Focus { uri, range })
}

/// A whole line, or one place in it.
fn range(snapshot: &Snapshot, line: u32, column: Option<u32>) -> ByteRange {
    let at = |character| Position { line, character };
    let range = match column {
        None => Range {
            start: at(0),
            end: at(u32::MAX),
        },
        Some(column) => Range {
            start: at(column),
            end: at(column),
        },
    };
    snapshot.text.byte_range(range, Encoding::Utf32)
}

/// No document is ever open here, so nothing is ever asked of it.
struct NoEditor;

#[async_trait]
impl Host for NoEditor {
    async fn apply(&self, _: &Edit, _: &str) -> Result<Reply, HostError> {
        Err(HostError::Unsupported)
    }
}

/// How a run ended, and what it cured.
type End = (Status, Option<Cure>);

/// Prints a run: the answer to stdout and the steps to stderr, or all events to stdout as JSON.
struct Printer {
    json: bool,
    root: PathBuf,
    ended: Mutex<Option<oneshot::Sender<End>>>,
    midline: Mutex<bool>,
    said: Mutex<Said>,
}

/// What the model has said.
#[derive(Default)]
struct Said {
    /// Since it last called a tool, or before that.
    last: String,
    is_over: bool,
}

impl Observer for Printer {
    fn event(&self, event: &Event) {
        if self.json {
            let mut line = event.to_json(Encoding::Utf16).to_string();
            line.push('\n');
            // A closed pipe is no reason to stop in the middle of an edit.
            let _ = std::io::stdout().lock().write_all(line.as_bytes());
        } else {
            self.print(&event.kind);
        }
        if let EventKind::Finished { status, cure, .. } = &event.kind
            && let Some(ended) = lock(&self.ended).take()
        {
            let _ = ended.send((*status, *cure));
        }
    }
}

impl Printer {
    fn print(&self, kind: &EventKind) {
        match kind {
            EventKind::Started { model, .. } => eprintln!("{model}"),
            EventKind::Text { delta } => {
                let mut out = std::io::stdout().lock();
                let _ = out.write_all(delta.as_bytes());
                let _ = out.flush();
                *lock(&self.midline) = !delta.ends_with('\n');
                let mut said = lock(&self.said);
                if std::mem::take(&mut said.is_over) {
                    said.last.clear();
                }
                said.last.push_str(delta);
            }
            EventKind::ToolCall { title, .. } => {
                lock(&self.said).is_over = true;
                self.end_line();
                eprintln!("  {title}");
            }
            EventKind::ToolResult {
                ok: false, output, ..
            } => {
                eprintln!("    {}", output.lines().next().unwrap_or_default());
            }
            EventKind::Edit { applied } => {
                let uri = &applied.after.uri;
                let path = uri
                    .path()
                    .map(|path| path.strip_prefix(&self.root).unwrap_or(path));
                let name = path.map_or_else(|| uri.to_string(), |path| path.display().to_string());
                let (before, after) = (
                    applied.before.text.to_string(),
                    applied.after.text.to_string(),
                );
                eprint!("{}", tools::unified(&name, &before, &after));
            }
            EventKind::Notice { message } => eprintln!("copydesk: {message}"),
            EventKind::Finished {
                status,
                message,
                cure,
                ..
            } => {
                self.end_line();
                let said = lock(&self.said);
                let is_said = said.last.trim() == message;
                if *status != Status::Done {
                    let status = status.as_str();
                    match is_said || message.eq_ignore_ascii_case(status) {
                        true => eprintln!("copydesk: {status}"),
                        false => eprintln!("copydesk: {status}: {message}"),
                    }
                } else if said.last.is_empty() {
                    let _ = writeln!(std::io::stdout().lock(), "{message}");
                }
                match cure {
                    Some(Cure::Part { left, of }) => {
                        eprintln!("copydesk: {left} of {of} problems are left");
                    }
                    Some(Cure::Unchecked) => {
                        eprintln!(
                            "copydesk: whether the problems are gone is not known: the language server has not checked it in time"
                        );
                    }
                    Some(Cure::Whole) | None => {}
                }
            }
            EventKind::Reasoning { .. } | EventKind::ToolResult { .. } | EventKind::Usage(_) => {}
        }
    }

    /// The answer comes in pieces; what follows it begins on a line of its own.
    fn end_line(&self) {
        let mut midline = lock(&self.midline);
        if std::mem::take(&mut *midline) {
            let _ = std::io::stdout().lock().write_all(b"\n");
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
