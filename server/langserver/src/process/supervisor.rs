//! The supervisor: a small process beside us that holds one end of a pipe and knows every child of ours. When the
//! pipe closes, we have ended, however that came about, and it ends what we left. It never acts while we live.
//!
//! It is this very executable, started with the first child and told over its standard input: `=OWNER`, `+PID`, `-PID`.

use std::{
    collections::HashMap,
    ffi::OsString,
    io::{self, BufRead},
    path::PathBuf,
    process::{Command as StdCommand, Stdio},
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
};

use tokio::process::{Child, Command};

use super::{
    MARKER,
    table::Marker,
    tree::{self, Root},
};

/// The body of `copydesk __supervise`: reads what its owner registers until that one is gone, then ends what is left.
/// To be called before anything else is set up: it should weigh nothing.
pub fn supervise() {
    #[cfg(unix)]
    {
        super::signals::ignore_endings();
        // Fails only for a group leader, which is out of its parent's group anyway.
        let _ = rustix::process::setsid();
    }
    let mut owner = None;
    let mut roots: HashMap<u32, Root> = HashMap::new();
    for line in io::stdin().lock().split(b'\n') {
        let Ok(line) = line else { break };
        let Ok(line) = std::str::from_utf8(&line) else {
            continue;
        };
        let pid = line.get(1..).and_then(|rest| rest.parse::<u32>().ok());
        match (line.as_bytes().first(), pid) {
            (Some(b'='), _) => owner = Some(line[1..].to_owned()),
            (Some(b'+'), Some(pid)) => {
                forget_the_gone(&mut roots);
                roots.insert(pid, Root::now(pid));
            }
            (Some(b'-'), Some(pid)) => {
                roots.remove(&pid);
            }
            _ => {}
        }
    }
    if let Some(owner) = owner {
        let roots: Vec<Root> = roots.into_values().collect();
        tree::end(&roots, &Marker::Owner(owner));
    }
}

/// A child that never became a program is registered but never taken back: its number must not be kept for long.
#[cfg(unix)]
fn forget_the_gone(roots: &mut HashMap<u32, Root>) {
    use super::signals::{exists, group_exists};
    roots.retain(|&pid, _| exists(pid) || group_exists(pid));
}

#[cfg(not(unix))]
fn forget_the_gone(_roots: &mut HashMap<u32, Root>) {}

/// Names another program as the supervisor than this executable with `__supervise`. For programs whose own command
/// line has no such command; counts only before the first child is started.
pub fn supervise_with(program: impl Into<PathBuf>, arguments: impl IntoIterator<Item = OsString>) {
    let _ = PROGRAM.set((program.into(), arguments.into_iter().collect()));
}

/// Set for the supervisor: a program that does not know `__supervise` must not start itself over and over.
const IS_SUPERVISOR: &str = "COPYDESK_SUPERVISOR";

static PROGRAM: OnceLock<(PathBuf, Vec<OsString>)> = OnceLock::new();
static LINK: Mutex<Link> = Mutex::new(Link {
    running: None,
    trees: None,
});

/// Our end of the pipe, and what was registered over it.
struct Link {
    running: Option<Running>,
    trees: Option<HashMap<u32, (Root, String)>>,
}

struct Running {
    process: std::process::Child,
    #[cfg(unix)]
    pipe: std::sync::Arc<io::PipeWriter>,
    /// Kept so that a write never meets a pipe without a reader: the child that registers itself would die of it.
    #[cfg(unix)]
    _reader: io::PipeReader,
}

impl Link {
    #[cfg(unix)]
    fn say(&self, line: &str) {
        use std::io::Write;
        if let Some(running) = &self.running {
            let _ = (&*running.pipe).write_all(line.as_bytes());
        }
    }

    #[cfg(not(unix))]
    fn say(&mut self, line: &str) {
        use std::io::Write;
        if let Some(pipe) = self
            .running
            .as_mut()
            .and_then(|running| running.process.stdin.as_mut())
        {
            let _ = pipe.write_all(line.as_bytes());
        }
    }

    fn trees(&mut self) -> &mut HashMap<u32, (Root, String)> {
        self.trees.get_or_insert_default()
    }

    /// Starts the supervisor if there is none, or if someone ended it.
    fn ensure(&mut self) -> io::Result<()> {
        if std::env::var_os(IS_SUPERVISOR).is_some() {
            return Err(io::Error::other(
                "this program was itself started as a supervisor and did not become one",
            ));
        }
        if let Some(running) = &mut self.running
            && matches!(running.process.try_wait(), Ok(None))
        {
            return Ok(());
        }
        self.running = Some(start()?);
        let known: Vec<u32> = self.trees().keys().copied().collect();
        self.say(&format!("={}\n", tree::owner()));
        for pid in known {
            self.say(&format!("+{pid}\n"));
        }
        Ok(())
    }
}

fn link() -> MutexGuard<'static, Link> {
    LINK.lock().unwrap_or_else(PoisonError::into_inner)
}

fn start() -> io::Result<Running> {
    let mut command = if let Some((program, arguments)) = PROGRAM.get() {
        let mut command = StdCommand::new(program);
        command.args(arguments);
        command
    } else {
        let mut command = StdCommand::new(this_executable()?);
        command.arg("__supervise");
        command
    };
    // Its own environment carries no marker: it must outlive the tree that we may ourselves belong to.
    command
        .env_remove(MARKER)
        .env(IS_SUPERVISOR, "1")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    #[cfg(unix)]
    {
        let (reader, writer) = io::pipe()?;
        // A supervisor that someone has stopped must not hold a child up.
        rustix::fs::fcntl_setfl(&writer, rustix::fs::OFlags::NONBLOCK)?;
        let process = command
            .current_dir("/")
            .stdin(reader.try_clone()?)
            .spawn()?;
        Ok(Running {
            process,
            pipe: std::sync::Arc::new(writer),
            _reader: reader,
        })
    }
    #[cfg(not(unix))]
    {
        Ok(Running {
            process: command.stdin(Stdio::piped()).spawn()?,
        })
    }
}

fn this_executable() -> io::Result<PathBuf> {
    // On Linux by its link: right even after an update has replaced the file.
    if cfg!(target_os = "linux") {
        Ok(PathBuf::from("/proc/self/exe"))
    } else {
        std::env::current_exe()
    }
}

/// Spawns `command` so that the supervisor knows it before it runs.
pub(super) fn spawn_registered(command: &mut Command) -> io::Result<Child> {
    let mut link = link();
    if let Err(error) = link.ensure() {
        tracing::warn!(%error, "no supervisor: children may outlive us if we are killed");
    }
    #[cfg(unix)]
    if let Some(running) = &link.running {
        super::signals::register_in_child(command, running.pipe.clone());
    }
    let child = command.spawn()?;
    #[cfg(not(unix))]
    if let Some(pid) = child.id() {
        link.say(&format!("+{pid}\n"));
    }
    drop(link);
    Ok(child)
}

pub(super) fn remember(root: Root, marker: &str) {
    link().trees().insert(root.pid, (root, marker.to_owned()));
}

pub(super) fn forget(pid: u32) {
    let mut link = link();
    if link.trees().remove(&pid).is_some() {
        link.say(&format!("-{pid}\n"));
    }
}

pub(super) fn remembered(pid: u32) -> Option<(Root, String)> {
    link().trees().get(&pid).cloned()
}
