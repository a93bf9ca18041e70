//! The running servers: one process per server and project root, started when first needed, told of every change to
//! the buffers, asked through here. Nothing that is not `async` ever waits for a server.

mod asked;
mod care;
mod choice;
mod consequences;
mod ears;
mod editor;
mod files;
mod lease;
mod left;
mod problems;
mod slot;
mod watch;

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use workspace::{DocumentUri, Reading, Snapshot, Workspace};

pub use self::{asked::Of, care::Bounds, lease::Lease, problems::Problems};
use self::{
    care::Room,
    choice::{Candidate, Choice, Site},
    ears::Ears,
    slot::Slot,
    watch::Watch,
};
use crate::{
    answer::{Caution, Diagnosis, Diagnostic, QueryError, ServerStatus},
    blocking::blocking,
    client::{Patience, until_ready},
    config::{PoolConfig, Servers},
    queries::Question,
    server::{Editor, Freshness, Server, Source, Turn, Used},
};

/// How long the pool waits for servers. Every wait can also be cancelled.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Until a new server has introduced itself; it is ended then.
    pub start: Duration,
    /// Until a server knows everything, before it is asked all the same and its answer is called incomplete.
    pub ready: Duration,
    /// Until a question is answered.
    pub answer: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            start: Duration::from_secs(60),
            ready: Duration::from_secs(30),
            answer: Duration::from_secs(30),
        }
    }
}

/// All language servers of a workspace.
pub struct Pool {
    me: Weak<Self>,
    choice: Choice,
    workspace: Arc<Workspace>,
    limits: Limits,
    bounds: Bounds,
    room: Arc<Room>,
    /// Where servers are started from calls that are not `async`.
    runtime: Option<Handle>,
    slots: Mutex<Vec<Arc<Slot>>>,
    /// Those that are told of changes.
    live: RwLock<Vec<Arc<Server>>>,
    watch: Watch,
    /// The editor's own servers, where it lets them be asked.
    editor: OnceLock<Arc<Editor>>,
    closed: AtomicBool,
}

impl Pool {
    /// A pool of these servers (see [`crate::catalogue::merged`]) that hears of all that happens to the workspace's
    /// buffers. To be made inside a Tokio runtime, else `start = "open"` starts nothing.
    pub fn new(servers: Servers, workspace: Arc<Workspace>) -> Arc<Self> {
        Self::with_limits(servers, workspace, Limits::default())
    }

    /// The same with other limits.
    pub fn with_limits(servers: Servers, workspace: Arc<Workspace>, limits: Limits) -> Arc<Self> {
        Self::bounded(servers, workspace, limits, PoolConfig::default().bounds())
    }

    /// The same with other limits, and with bounds for what servers may cost.
    pub fn bounded(
        servers: Servers,
        workspace: Arc<Workspace>,
        limits: Limits,
        bounds: Bounds,
    ) -> Arc<Self> {
        let pool = Arc::new_cyclic(|me| Self {
            me: me.clone(),
            choice: Choice::new(servers),
            workspace: workspace.clone(),
            limits,
            bounds,
            room: Arc::new(Room::new(bounds.processes)),
            runtime: Handle::try_current().ok(),
            slots: Mutex::default(),
            live: RwLock::default(),
            watch: Watch::default(),
            editor: OnceLock::new(),
            closed: AtomicBool::new(false),
        });
        workspace.buffers().listen(Arc::new(Ears(pool.me.clone())));
        pool
    }

    /// Whether there is an installed server for this document's language.
    pub fn serves(&self, snapshot: &Snapshot) -> bool {
        let by_editor = self.editor.get();
        if by_editor.is_some_and(|editor| editor.answers("", snapshot)) {
            return true;
        }
        let site = Site::of(snapshot, &self.workspace, &mut self.workspace.reading());
        self.choice
            .candidates(&site)
            .any(|candidate| candidate.installed(&site).is_ok())
    }

    /// Every server that runs, starts or failed.
    pub fn status(&self) -> Vec<ServerStatus> {
        self.slots()
            .iter()
            .filter_map(|slot| slot.status())
            .collect()
    }

    /// Ends the servers of this name (or all) and forgets how often they died; those that ran start again.
    pub fn restart(&self, name: Option<&str>) {
        let slots: Vec<_> = self
            .slots()
            .iter()
            .filter(|slot| name.is_none_or(|name| slot.name() == name))
            .cloned()
            .collect();
        for slot in slots {
            slot.restart(self);
        }
    }

    /// What our servers last said of a document. Never waits.
    pub fn known_diagnostics(&self, uri: &DocumentUri) -> Vec<Diagnostic> {
        let Some(newest) = self.newest(uri) else {
            return Vec::new();
        };
        if let Some(known) = self.known_to_editor(&newest) {
            return known;
        }
        self.owner(&newest)
            .map(|server| server.known(&newest))
            .unwrap_or_default()
    }

    /// The diagnostics of a document's newest text.
    pub async fn diagnostics(
        &self,
        uri: &DocumentUri,
        deadline: Duration,
        cancel: &CancellationToken,
    ) -> Diagnosis {
        let patience = Patience::of(deadline, cancel);
        if let Some(diagnosis) = self.diagnosed_by_editor(uri, &patience).await {
            return diagnosis;
        }
        let mut is_first = true;
        loop {
            let (snapshot, server) = match self.begin(uri, &patience).await {
                Ok(begun) => begun,
                Err(QueryError::NotReady { .. } | QueryError::Cancelled) => {
                    return Diagnosis::Pending(self.known_diagnostics(uri));
                }
                Err(error) => return Diagnosis::Unavailable(error.to_string()),
            };
            return match server.freshen(&snapshot, &patience).await {
                Freshness::Fresh => {
                    // What an editor holds is asked about while somebody waits for it; a file can be checked in full.
                    if !snapshot.is_buffer() {
                        server.checked(&snapshot, &patience).await;
                    }
                    let newest = self.newest(uri).unwrap_or_else(|| snapshot.clone());
                    Diagnosis::Fresh(server.fresh(&snapshot, &newest))
                }
                Freshness::Pending => Diagnosis::Pending(self.known_diagnostics(uri)),
                // It died over the question: its successor is asked once.
                Freshness::Unavailable(_) if is_first && !server.is_alive() => {
                    is_first = false;
                    continue;
                }
                Freshness::Unavailable(reason) => Diagnosis::Unavailable(reason),
            };
        }
    }

    /// Sources of diagnostics (`rustc`) that follow saves and have not looked at a document's newest text: that they say
    /// nothing of it means nothing.
    pub fn unchecked(&self, uri: &DocumentUri) -> Vec<String> {
        let newest = self.newest(uri);
        let server = newest.as_ref().and_then(|newest| self.owner(newest));
        match (newest, server) {
            (Some(newest), Some(server)) => server.unchecked(&newest).to_vec(),
            _ => Vec::new(),
        }
    }

    /// What the server of a document says that keeps it from knowing the project ("rust-analyzer says: Failed to load
    /// workspace"): that it finds no problems there means little.
    pub fn caution(&self, uri: &DocumentUri) -> Option<Caution> {
        let newest = self.newest(uri)?;
        if self.known_to_editor(&newest).is_some() {
            return None;
        }
        let server = self.owner(&newest)?;
        Some(server.trouble()?.of(server.name()))
    }

    /// The workspace has other folders: servers for one that it has no more are ended.
    pub fn roots_changed(&self) {
        let is_lost = |slot: &Arc<Slot>| slot.is_inside() && !self.workspace.contains(slot.root());
        let lost: Vec<_> = self.slots().extract_if(.., |slot| is_lost(slot)).collect();
        for slot in lost {
            tracing::info!(name = slot.name(), root = ?slot.root(), "its folder has left the workspace");
            match &self.runtime {
                Some(runtime) => drop(runtime.spawn(async move { slot.shutdown().await })),
                None => slot.kill(),
            }
        }
        if self.watch.is_on() {
            self.watch.anew(&self.me);
        }
    }

    /// Ends every server and its processes, within a second. Nothing is started any more.
    pub async fn shutdown(&self) {
        self.closed.store(true, Ordering::Release);
        self.watch.end();
        let slots = std::mem::take(&mut *self.slots());
        futures::future::join_all(slots.iter().map(|slot| slot.shutdown())).await;
        // Those that were put to rest and have not ended yet.
        let live = std::mem::take(&mut *self.live.write().unwrap_or_else(PoisonError::into_inner));
        futures::future::join_all(live.iter().map(Server::shutdown)).await;
    }

    /// The document's newest text and its server, which has been started if need be.
    async fn begin(
        &self,
        uri: &DocumentUri,
        patience: &Patience,
    ) -> Result<(Snapshot, Used), QueryError> {
        self.watch.caught_up().await;
        let (snapshot, mut slot) = self.found(uri).await?;
        let mut not_installed: Vec<(Arc<Slot>, QueryError)> = Vec::new();
        loop {
            let tried = not_installed
                .iter()
                .find(|(one, _)| Arc::ptr_eq(one, &slot));
            if let Some((_, error)) = tried {
                return Err(error.clone());
            }
            match slot.acquire(self, patience).await {
                // What was found under its name is something else: the next one may be there.
                Err(error @ QueryError::NotInstalled { .. }) => not_installed.push((slot, error)),
                Err(error) => return Err(error),
                Ok(server) => return Ok((snapshot, server)),
            }
            slot = self.slot(&snapshot)?;
        }
    }

    /// The document's newest text and its server's slot. Where the disk has to be read for the text, all that is to be looked
    /// up there is, in one go.
    async fn found(&self, uri: &DocumentUri) -> Result<(Snapshot, Arc<Slot>), QueryError> {
        if let Some(snapshot) = self.workspace.buffers().get(uri) {
            let slot = self.slot(&snapshot)?;
            return Ok((snapshot, slot));
        }
        let pool = self.me.upgrade().ok_or(QueryError::Cancelled)?;
        let uri = uri.clone();
        let found = move || {
            let mut reading = pool.workspace.reading();
            let snapshot = reading.read(&uri).map_err(unreadable)?;
            let slot = pool.slot_in(&mut reading, &snapshot)?;
            Ok((snapshot, slot))
        };
        blocking(found).await?
    }

    async fn read(&self, uri: &DocumentUri) -> Result<Snapshot, QueryError> {
        if let Some(snapshot) = self.workspace.buffers().get(uri) {
            return Ok(snapshot);
        }
        let (workspace, uri) = (self.workspace.clone(), uri.clone());
        let read = move || workspace.read(&uri).map_err(unreadable);
        blocking(read).await?
    }

    /// Those of these documents that no `.copydeskignore` hides. Nothing is told of the others, though an editor has them open.
    async fn unhidden(&self, mut documents: Vec<Snapshot>) -> Vec<Snapshot> {
        let workspace = self.workspace.clone();
        let looked = blocking(move || {
            documents.retain(|one| {
                let path = one.uri.path();
                path.is_none_or(|path| !workspace.is_ignored_for_model(path))
            });
            documents
        });
        looked.await.unwrap_or_default()
    }

    /// The slot of a document's server; made if there is none. It looks at the disk.
    fn slot(&self, snapshot: &Snapshot) -> Result<Arc<Slot>, QueryError> {
        self.slot_in(&mut self.workspace.reading(), snapshot)
    }

    fn slot_in(
        &self,
        reading: &mut Reading<'_>,
        snapshot: &Snapshot,
    ) -> Result<Arc<Slot>, QueryError> {
        if self.is_closed() {
            return Err(QueryError::Cancelled);
        }
        let mut missing: Option<QueryError> = None;
        let mut empty = None;
        let site = Site::of(snapshot, &self.workspace, reading);
        for candidate in self.choice.candidates(&site) {
            match self.slot_of(candidate, &site) {
                Ok(slot) => {
                    if !slot.is_not_installed() {
                        return Ok(slot);
                    }
                    if missing.is_none() {
                        empty.get_or_insert(slot);
                    }
                }
                // What someone has configured and mistaken tells them more than what they could install.
                Err(error @ QueryError::Unusable { .. }) => missing = Some(error),
                Err(error) => drop(missing.get_or_insert(error)),
            }
        }
        // If only the preferred one is not what it seemed, it says so itself.
        empty.ok_or_else(|| self.choice.none_for(snapshot, missing))
    }

    fn slot_of(&self, candidate: Candidate<'_>, site: &Site<'_>) -> Result<Arc<Slot>, QueryError> {
        let name = candidate.name;
        let of_name = |slots: &[Arc<Slot>]| -> Vec<PathBuf> {
            let of_name = slots.iter().filter(|slot| slot.name() == name);
            of_name.map(|slot| slot.root().to_owned()).collect()
        };
        let running = of_name(&self.slots());
        // Looks at the disk, so without the lock.
        let root = site.root(candidate.root_markers(), running);
        let at_root = |slots: &[Arc<Slot>]| {
            let mut slots = slots.iter();
            let slot = slots.find(|slot| slot.name() == name && slot.root() == root);
            slot.cloned()
        };
        // One that runs is installed.
        let there = at_root(&self.slots()).filter(|slot| slot.running().is_some());
        if let Some(slot) = there {
            return Ok(slot);
        }
        let config = candidate.installed(site)?;
        let is_inside = self.workspace.contains(&root);
        let mut slots = self.slots();
        if let Some(slot) = at_root(&slots) {
            return Ok(slot);
        }
        let slot = Arc::new(Slot::new(name, config, root, is_inside));
        slots.push(slot.clone());
        Ok(slot)
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    fn question(
        &self,
        server: impl Into<Source>,
        document: Snapshot,
        cancel: &CancellationToken,
    ) -> Question {
        let until_ready = self.until_ready(cancel);
        let answer = Patience {
            until: until_ready.until + self.limits.answer,
            cancel: cancel.clone(),
        };
        Question {
            server: server.into(),
            seen: document.clone(),
            document,
            workspace: self.workspace.clone(),
            until_ready,
            answer,
            turn: Turn::Ordinary,
        }
    }

    fn until_ready(&self, cancel: &CancellationToken) -> Patience {
        Patience {
            until: until_ready(self.limits.ready),
            cancel: cancel.clone(),
        }
    }

    fn newest(&self, uri: &DocumentUri) -> Option<Snapshot> {
        // Reading finds a buffer by every name of its file; this way first, since most are asked about by their own.
        self.workspace
            .buffers()
            .get(uri)
            .or_else(|| self.workspace.read(uri).ok())
    }

    /// The running server whose diagnostics of a document count: of those for its language the one with the nearest root.
    fn owner(&self, snapshot: &Snapshot) -> Option<Arc<Server>> {
        let distance = |server: &Arc<Server>| match snapshot.uri.path() {
            Some(path) => path
                .strip_prefix(server.root())
                .map_or(usize::MAX, |rest| rest.components().count()),
            None => 0,
        };
        let language = crate::mirror::language(snapshot);
        self.live()
            .into_iter()
            .filter(|server| server.serves(language))
            .min_by_key(distance)
    }

    fn live(&self) -> Vec<Arc<Server>> {
        self.live
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn slots(&self) -> MutexGuard<'_, Vec<Arc<Slot>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        for slot in self.slots().drain(..) {
            slot.kill();
        }
        for server in self.live() {
            server.kill();
        }
    }
}

fn unreadable(error: impl std::fmt::Display) -> QueryError {
    QueryError::Unreadable(error.to_string())
}
