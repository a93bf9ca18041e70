//! The sessions of this process: who runs, what was said, how it ended. In memory only.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::SystemTime,
};

use model::Message;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::event::Status;

/// One line of `copydesk.sessions`.
#[derive(Clone, Debug)]
pub struct SessionInfo {
    /// The session's id.
    pub session: String,
    /// What it is about, for a person.
    pub title: String,
    /// When it began.
    pub started: SystemTime,
    /// How it stands.
    pub status: Status,
    /// The documents that it changed, as uris.
    pub files: Vec<String>,
}

/// One line of `copydesk.status`.
#[derive(Clone, Debug)]
pub struct RunInfo {
    /// The session's id.
    pub session: String,
    /// What it is about.
    pub title: String,
    /// What it does now: "Reading src/lib.rs".
    pub step: String,
}

/// One session: a conversation and the run that may be working on it.
pub(crate) struct Session {
    pub id: String,
    pub title: String,
    pub started: SystemTime,
    pub cancel: Mutex<CancellationToken>,
    events: AtomicU64,
    state: Mutex<State>,
    status: watch::Sender<Status>,
}

#[derive(Default)]
struct State {
    step: String,
    files: Vec<String>,
    messages: Vec<Message>,
}

impl Session {
    fn new(title: String) -> Self {
        Session {
            id: new_id(),
            title,
            started: SystemTime::now(),
            cancel: Mutex::new(CancellationToken::new()),
            events: AtomicU64::new(0),
            state: Mutex::default(),
            status: watch::Sender::new(Status::Running),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    pub fn status(&self) -> Status {
        *self.status.borrow()
    }

    /// The number of the next event.
    pub fn next_seq(&self) -> u64 {
        self.events.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub fn set_step(&self, step: &str) {
        step.clone_into(&mut self.state().step);
    }

    pub fn changed(&self, uri: &str) {
        let mut state = self.state();
        if !state.files.iter().any(|known| known == uri) {
            state.files.push(uri.to_owned());
        }
    }

    pub fn files(&self) -> Vec<String> {
        self.state().files.clone()
    }

    pub fn messages(&self) -> Vec<Message> {
        self.state().messages.clone()
    }

    pub fn keep(&self, messages: Vec<Message>) {
        self.state().messages = messages;
    }

    /// Ends the run that works on this session.
    pub fn end(&self, status: Status) {
        self.state().step.clear();
        self.status.send_replace(status);
    }

    /// Begins a run on a session that rests; `None` if one is at work.
    pub fn begin_again(&self) -> Option<CancellationToken> {
        let begun = self.status.send_if_modified(|status| {
            let rests = *status != Status::Running;
            *status = Status::Running;
            rests
        });
        begun.then(|| {
            let fresh = CancellationToken::new();
            *lock(&self.cancel) = fresh.clone();
            fresh
        })
    }

    pub fn token(&self) -> CancellationToken {
        lock(&self.cancel).clone()
    }

    /// Returns when no run works on this session.
    pub async fn ended(&self) -> Status {
        let mut watch = self.status.subscribe();
        match watch.wait_for(|status| *status != Status::Running).await {
            Ok(status) => *status,
            Err(_) => Status::Failed,
        }
    }

    pub fn info(&self) -> SessionInfo {
        SessionInfo {
            session: self.id.clone(),
            title: self.title.clone(),
            started: self.started,
            status: self.status(),
            files: self.files(),
        }
    }

    pub fn run_info(&self) -> Option<RunInfo> {
        (self.status() == Status::Running).then(|| RunInfo {
            session: self.id.clone(),
            title: self.title.clone(),
            step: self.state().step.clone(),
        })
    }
}

/// All sessions of this process.
#[derive(Default)]
pub(crate) struct Sessions {
    by_id: Mutex<BTreeMap<String, std::sync::Arc<Session>>>,
}

impl Sessions {
    pub fn create(&self, title: String) -> std::sync::Arc<Session> {
        let session = std::sync::Arc::new(Session::new(title));
        lock(&self.by_id).insert(session.id.clone(), session.clone());
        session
    }

    pub fn get(&self, id: &str) -> Option<std::sync::Arc<Session>> {
        lock(&self.by_id).get(id).cloned()
    }

    /// Newest first: ids rise with time.
    pub fn all(&self) -> Vec<std::sync::Arc<Session>> {
        lock(&self.by_id).values().rev().cloned().collect()
    }
}

/// Ids sort by time and are unique over processes: milliseconds, process, counter.
fn new_id() -> String {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let millis = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |since| since.as_millis());
    let count = COUNTER.fetch_add(1, Ordering::Relaxed);
    format!("{millis:012x}-{count:04x}-{:x}", std::process::id())
}

/// A panic while a lock was held leaves plain data behind: it can be used on.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
