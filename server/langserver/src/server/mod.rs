//! The life of one language server: started, introduced, asked, ended; and what is known of it in between. It serves
//! one project root and knows nothing of other servers.

mod ask;
mod capabilities;
mod command;
mod convert;
mod diagnostics;
mod editor;
mod files;
mod launch;
mod lease;
mod peer;
mod registrations;
mod silence;
mod source;
mod store;
mod trial;
mod used;

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde_json::Value;
use tokio::{
    sync::{Notify, RwLock, watch},
    time::Instant,
};
use tokio_util::sync::CancellationToken;
use workspace::{Encoding, Origin, Snapshot};

pub(crate) use self::{
    ask::{About, Asked, Had},
    convert::carried,
    diagnostics::Freshness,
    editor::{Editor, NAME as NAME_OF_EDITOR, keep_asked as keep_editor_asked},
    files::{DiskChange, FileOperation, Rereading},
    launch::{Launch, NotFound, find_program, gone},
    lease::{Heard, Leased, Turn},
    registrations::{Change, Pattern, file_time},
    source::{Source, WeakSource},
    used::{Place, Used},
};
pub use self::{
    capabilities::introduction,
    editor::EditorServers,
    trial::{Trial, try_out},
};
use self::{peer::Desk, silence::Silence, store::Store, used::Usage};
use crate::{
    answer::{QueryError, ServerState, Trouble},
    catalogue::{self, Traits},
    client::{Client, Patience, RequestError},
    config::{Ready, ServerConfig},
    mirror::Mirror,
    process::Tree,
    roots,
    transport::Ring,
    wire,
};

/// So long after the end of a check has all that it found been said.
const CHECK_SETTLES: Duration = Duration::from_millis(150);
/// A server that tells of its progress begins within this long after it got its first document, if it begins at all.
const UNTIL_IT_BEGINS: Duration = Duration::from_secs(2);

/// A server that logs when it has found the project's files is believed without, after this long: its log may be off.
const UNTIL_IT_SAYS_SO: Duration = Duration::from_secs(60);

/// How far a server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Starting,
    Indexing,
    Ready,
    Dead,
}

/// One running server.
pub(crate) struct Server {
    name: String,
    root: PathBuf,
    config: ServerConfig,
    traits: &'static Traits,
    client: Arc<Client>,
    tree: Arc<Tree>,
    stderr: Arc<Ring>,
    phase: watch::Sender<Phase>,
    introduced: OnceLock<Introduced>,
    desk: Mutex<Desk>,
    store: Store,
    /// The files that it wants to hear of.
    watching: watch::Sender<Arc<[Pattern]>>,
    /// Ordinary questions share it, a lease has it alone; who comes first is first.
    leases: Arc<RwLock<()>>,
    /// Rung when diagnostics that are asked for in the background may have changed.
    stale: Notify,
    death: OnceLock<String>,
    ending: AtomicBool,
    settled: AtomicBool,
    usage: Usage,
    born: Instant,
    /// A server that has said nothing of its progress for this long is not waited for.
    silence: Duration,
    /// How long an answer may take.
    limit: Duration,
    ran_out: Silence,
    /// It was waited for in full for diagnostics when it had never sent any.
    speechless: AtomicBool,
    rereading: Mutex<Rereading>,
    /// Held while a command runs.
    commands: tokio::sync::Mutex<()>,
}

/// What is known once the server has introduced itself.
struct Introduced {
    capabilities: Value,
    since: Instant,
    mirror: Mirror,
}

impl Server {
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn pid(&self) -> u32 {
        self.tree.pid()
    }

    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// For how long it has been there.
    pub fn age(&self) -> Duration {
        self.born.elapsed()
    }

    /// The last lines that it wrote to its stderr.
    pub fn said(&self) -> String {
        self.stderr.last(launch::LAST_LINES)
    }

    pub fn phase(&self) -> Phase {
        *self.phase.borrow()
    }

    pub fn is_ready(&self) -> bool {
        self.phase() == Phase::Ready
    }

    pub fn is_alive(&self) -> bool {
        self.phase() != Phase::Dead
    }

    pub fn state(&self) -> ServerState {
        match self.phase() {
            Phase::Starting => ServerState::Starting,
            Phase::Indexing => ServerState::Indexing,
            Phase::Ready => ServerState::Ready,
            Phase::Dead => ServerState::Failed(self.obituary()),
        }
    }

    /// Makes sure that it has a document: many a server begins to look at a project when it sees one of its files.
    pub fn show(self: &Arc<Self>, document: &Snapshot) {
        let Some(mirror) = self.mirror() else { return };
        mirror.told(Some(document), |_| ());
        let is_first = !std::mem::replace(&mut self.desk().is_shown, true);
        let begins = match self.readiness() {
            Ready::Progress => Some(UNTIL_IT_BEGINS),
            Ready::Settled if !self.traits.ready_messages.is_empty() => Some(UNTIL_IT_SAYS_SO),
            _ => None,
        };
        if is_first && let Some(begins) = begins {
            let server = Arc::downgrade(self);
            tokio::spawn(async move {
                tokio::time::sleep(begins).await;
                if let Some(server) = server.upgrade() {
                    server.desk().has_waited = true;
                    server.settle();
                }
            });
        }
    }

    fn readiness(&self) -> Ready {
        self.config
            .ready
            .or_else(|| catalogue::ready(&self.name))
            .unwrap_or_default()
    }

    /// Sources of diagnostics that follow saves, whatever they have looked at.
    pub fn on_save_sources(&self) -> &[String] {
        &self.traits.on_save_sources
    }

    /// Whether its answers about more than one file are whole as far as they themselves can tell. Always, for a server
    /// that tells it otherwise; one that is to tell of its progress and does not may only be slow to begin.
    pub fn has_settled(&self) -> bool {
        let tells = match self.readiness() {
            Ready::Settled => false,
            Ready::Progress => self.desk().has_progressed,
            Ready::Initialized | Ready::Status => true,
        };
        tells || self.settled.load(Ordering::Acquire)
    }

    /// How long it has been there to be asked.
    pub fn introduced_for(&self) -> Duration {
        self.introduced
            .get()
            .map_or(Duration::ZERO, |introduced| introduced.since.elapsed())
    }

    /// How often it has begun to look at the project so far: an answer that came over such a beginning is of before.
    pub fn beginnings(&self) -> u64 {
        self.desk().beginnings
    }

    /// It has answered the same twice, or said that it knows: from here on it is believed.
    pub fn set_settled(&self) {
        self.settled.store(true, Ordering::Release);
    }

    /// Whether renames and calls are to be asked for at a definition: elsewhere it would take an alias for what is meant.
    pub fn acts_at_definition(&self) -> bool {
        self.traits.rename_at_definition
    }

    /// Whether it knows of other documents than the one that it is asked about only what is on disk.
    pub fn reads_disk(&self) -> bool {
        self.traits.reads_disk
    }

    /// What it last said of its own health, if it is not well.
    pub fn trouble(&self) -> Option<Trouble> {
        self.desk().trouble.clone()
    }

    /// Why it knows no more of the project than what is open: nothing above this file tells it how the project is built.
    pub fn part_only(&self, file: Option<&Path>) -> Option<&'static str> {
        let note = self.traits.whole_note.as_deref()?;
        let is_told = self.traits.whole_by_argument.as_ref().is_some_and(|one| {
            let mut arguments = self.config.command.iter();
            arguments.any(|argument| argument.starts_with(one.as_str()))
        });
        let folders = file
            .and_then(Path::parent)
            .unwrap_or(&self.root)
            .ancestors();
        let is_whole = is_told
            || folders
                .chain([self.root.as_path()])
                .any(|folder| roots::has_any(folder, &self.traits.whole_with));
        (!is_whole).then_some(note)
    }

    /// Waits until its answers are whole: `Ok(false)` if they are not yet when the time is up, or when it has said nothing
    /// of its progress for so long that it may never end.
    pub async fn ready(&self, patience: &Patience) -> Result<bool, QueryError> {
        let mut phases = self.phase.subscribe();
        loop {
            let gives_up = *self.desk().heard.get_or_insert_with(Instant::now) + self.silence;
            let step = Patience {
                until: patience.until.min(gives_up),
                cancel: patience.cancel.clone(),
            };
            let reached = step
                .wait(phases.wait_for(|phase| matches!(phase, Phase::Ready | Phase::Dead)))
                .await;
            match reached {
                Ok(Ok(phase)) if *phase == Phase::Ready => return Ok(true),
                Ok(_) => return Err(self.died()),
                Err(RequestError::Cancelled) => return Err(QueryError::Cancelled),
                Err(_) => {}
            }
            let now = Instant::now();
            let is_silent = (self.desk().heard).is_none_or(|heard| now >= heard + self.silence);
            if now >= patience.until || is_silent {
                return Ok(false);
            }
        }
    }

    /// Waits until it is dead.
    pub async fn dead(&self) {
        let _ = self
            .phase
            .subscribe()
            .wait_for(|phase| *phase == Phase::Dead)
            .await;
    }

    /// Its view of the documents; `None` before it has introduced itself.
    pub fn mirror(&self) -> Option<&Mirror> {
        self.introduced.get().map(|introduced| &introduced.mirror)
    }

    /// Whether documents of this language are for it.
    pub fn serves(&self, language: &str) -> bool {
        self.config.languages.iter().any(|one| one == language)
    }

    /// What it counts columns in.
    pub fn encoding(&self) -> Encoding {
        self.introduced.get().map_or(Encoding::Utf16, |introduced| {
            wire::read_encoding(&introduced.capabilities["positionEncoding"])
        })
    }

    /// Whether it has announced a method, at the start or since.
    pub fn supports(&self, method: &str, document: Option<&Snapshot>) -> bool {
        let announced = self
            .introduced
            .get()
            .is_some_and(|introduced| capabilities::announces(&introduced.capabilities, method));
        let (registered, option) = capabilities::registered_as(method);
        announced || self.desk().registrations.has(registered, option, document)
    }

    /// The sources of diagnostics that follow saves and have not looked at this text: it was not saved, or the check of it
    /// has not ended (or there is none). What they say is of another text.
    pub fn unchecked(&self, snapshot: &Snapshot) -> &[String] {
        let sources = &self.traits.on_save_sources;
        let Some(mirror) = self.mirror() else {
            return sources;
        };
        let (is_saved, saves) = mirror.told(None, |wire| (wire.is_saved(snapshot), wire.saves()));
        let desk = self.desk();
        // What a check found is published just after it says that it has ended.
        let has_settled = desk
            .check_ended
            .is_some_and(|ended| ended.elapsed() >= CHECK_SETTLES);
        let is_checked = desk.checks.is_empty() && desk.checked_saves == Some(saves) && has_settled;
        drop(desk);
        if is_saved && is_checked && !self.is_written_since(snapshot) {
            &[]
        } else {
            sources
        }
    }

    /// Whether a file that no editor holds was written after the last check had begun. Nobody saves it, so that none follows.
    fn is_written_since(&self, snapshot: &Snapshot) -> bool {
        let began = self.desk().check_began;
        match snapshot.origin {
            Origin::Disk(form) => began
                .zip(form.modified)
                .is_some_and(|(began, modified)| modified > began),
            Origin::Buffer { .. } => false,
        }
    }

    /// Whether a check that follows a save is under way.
    fn is_checking(&self) -> bool {
        let desk = self.desk();
        !desk.checks.is_empty()
            || desk
                .check_ended
                .is_some_and(|ended| ended.elapsed() < CHECK_SETTLES)
    }

    /// Asks it to end, and ends what is left of it: within a second, whatever it does.
    pub async fn shutdown(self: &Arc<Self>) {
        if self.ending.swap(true, Ordering::AcqRel) {
            // Someone else does that already.
            let patience = Patience::of(Duration::from_millis(600), &CancellationToken::new());
            let _ = patience.wait(self.dead()).await;
        } else if matches!(self.phase(), Phase::Indexing | Phase::Ready) {
            let patience = Patience::of(Duration::from_millis(400), &CancellationToken::new());
            // Some servers take `params: null` for an error, so there are none.
            let _ = self.client.request("shutdown", None::<()>, &patience).await;
            self.client.notify("exit", None::<()>);
            let patience = Patience::of(Duration::from_millis(200), &CancellationToken::new());
            let _ = patience.wait(self.dead()).await;
        }
        let server = self.clone();
        let _ = tokio::task::spawn_blocking(move || server.kill()).await;
    }

    /// Ends its processes at once.
    pub fn kill(&self) {
        self.ending.store(true, Ordering::Release);
        self.tree.end();
    }

    /// Whether we ended it ourselves.
    pub fn was_ended(&self) -> bool {
        self.ending.load(Ordering::Acquire)
    }

    /// The error of a server that has died.
    pub fn died(&self) -> QueryError {
        QueryError::Died {
            name: self.name.clone(),
            detail: self.obituary(),
        }
    }

    /// How it ended, without what it said last.
    fn end(&self) -> String {
        let obituary = self.obituary();
        let (how, _) = obituary
            .split_once(launch::SAID_LAST)
            .unwrap_or((&obituary, ""));
        how.to_owned()
    }

    fn obituary(&self) -> String {
        self.death
            .get()
            .cloned()
            .unwrap_or_else(|| "it closed the connection".into())
    }

    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Works out how far it is from all that it has said.
    fn settle(&self) {
        let whole = {
            let desk = self.desk();
            match self.readiness() {
                Ready::Initialized => true,
                // Without a signal there is nothing to wait for (see `has_settled`), unless it says that it loads the project.
                Ready::Settled => {
                    let signs = &self.traits.ready_messages;
                    desk.loading.is_empty()
                        && (signs.is_empty() || desk.has_said_ready || desk.has_waited)
                }
                Ready::Progress => {
                    desk.progress.is_empty() && (desk.has_progressed || desk.has_waited)
                }
                Ready::Status => desk.quiescent,
            }
        };
        let introduced = self.introduced.get().is_some();
        self.phase.send_if_modified(|phase| {
            let now = match *phase {
                Phase::Dead => Phase::Dead,
                _ if !introduced => Phase::Starting,
                _ if whole => Phase::Ready,
                _ => Phase::Indexing,
            };
            std::mem::replace(phase, now) != now
        });
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.client.close();
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "Server({} at {}, {:?})",
            self.name,
            self.root.display(),
            self.phase()
        )
    }
}
