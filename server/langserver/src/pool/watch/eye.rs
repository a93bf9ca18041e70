//! The thread that watches: gathers what happens until it is quiet for a moment, and tells each server what concerns it
//! in one message.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::{
        Arc, Weak,
        atomic::Ordering,
        mpsc::{Receiver, RecvTimeoutError},
    },
    time::{Duration, Instant},
};

use notify::{
    Event, EventKind,
    event::{AccessKind, AccessMode, ModifyKind},
};
use workspace::DocumentUri;

use super::{
    Gone, Message, News, Way, real,
    tree::{Changes, Interest, Tree, became},
};
use crate::{
    pool::Pool,
    server::{Change, Pattern, Server},
};

/// A batch is whole when nothing has happened for this long,
const QUIET: Duration = Duration::from_millis(100);
/// or this long after its first event.
const AT_MOST: Duration = Duration::from_millis(500);
/// Files that say what is ignored.
const IGNORE_FILES: [&str; 2] = [".gitignore", ".ignore"];

/// A server that wants to hear of files.
struct Listener {
    server: Weak<Server>,
    wanted: Vec<Wanted>,
}

struct Wanted {
    pattern: Pattern,
    /// The pattern's folder with symlinks resolved: what is watched.
    folder: PathBuf,
}

impl Wanted {
    fn has(&self, path: &Path) -> bool {
        self.pattern.has(&self.folder, path)
    }

    /// The path as the server spells it.
    fn spelled(&self, path: &Path) -> Option<DocumentUri> {
        let inside = path.strip_prefix(&self.folder).ok()?;
        DocumentUri::from_path(&self.pattern.folder.join(inside)).ok()
    }
}

pub(super) struct Eye {
    pool: Weak<Pool>,
    tree: Tree,
    listeners: Vec<Listener>,
    seen: BTreeMap<PathBuf, Gone>,
    /// What is to be watched is to be found out anew.
    anew: bool,
    /// Events were lost: everything is to be looked at.
    lost: bool,
    /// When the first and the last event of the batch came.
    times: Option<(Instant, Instant)>,
    /// How many messages with news were taken.
    taken: u64,
    news: Arc<News>,
}

impl Eye {
    pub fn new(pool: Weak<Pool>, way: Way) -> Self {
        let news = way.news.clone();
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            if let Some(message) = message_of(event) {
                way.send(message);
            }
        });
        let watcher = watcher
            .inspect_err(|error| tracing::warn!(%error, "the disk is not watched"))
            .ok();
        Self {
            pool,
            tree: Tree::new(watcher),
            listeners: Vec::new(),
            seen: BTreeMap::new(),
            anew: false,
            lost: false,
            times: None,
            taken: 0,
            news,
        }
    }

    /// Until it is ended.
    pub fn look(mut self, messages: &Receiver<Message>) {
        loop {
            let message = match self.times {
                None => messages.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some((first, last)) => {
                    let due = (last + QUIET).min(first + AT_MOST);
                    match due.checked_duration_since(Instant::now()) {
                        Some(rest) => messages.recv_timeout(rest),
                        None => Err(RecvTimeoutError::Timeout),
                    }
                }
            };
            match message {
                Ok(Message::End) | Err(RecvTimeoutError::Disconnected) => return,
                Ok(message) => {
                    self.taken += u64::from(message.is_news());
                    self.take(message);
                }
                Err(RecvTimeoutError::Timeout) => self.settle(),
            }
            if self.times.is_none() {
                self.news.told.store(self.taken, Ordering::SeqCst);
            }
        }
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Seen(mut paths, gone) => {
                paths.retain(|path| self.tree.concerns(path));
                // What goes on beside what is watched begins no batch.
                if paths.is_empty() {
                    return;
                }
                for path in paths {
                    let entry = self.seen.entry(path).or_insert(gone);
                    *entry = gone.max(*entry);
                }
            }
            Message::Lost => self.lost = true,
            Message::Anew => self.anew = true,
            Message::Told(path, stamp) => return self.tree.told(path, stamp),
            Message::Now(told) => {
                if self.times.is_some() {
                    self.settle();
                }
                let _ = told.send(());
                return;
            }
            Message::End => return,
        }
        let now = Instant::now();
        let first = self.times.map_or(now, |(first, _)| first);
        self.times = Some((first, now));
    }

    fn settle(&mut self) {
        self.times = None;
        let seen = std::mem::take(&mut self.seen);
        if !seen.is_empty() {
            let listeners = &self.listeners;
            let changes = self.tree.compare(
                seen.iter().map(|(path, gone)| (path, *gone == Gone::Maybe)),
                &Interest {
                    wanted: &|folder, path| is_wanted(listeners, folder, path),
                    news: &|_, _| Some(Change::Created),
                },
            );
            self.tell(&changes);
        }
        let is_ignore_file = |path: &PathBuf| {
            let name = path.file_name();
            name.is_some_and(|name| IGNORE_FILES.iter().any(|one| name == *one))
        };
        let is_outdated = seen.keys().any(is_ignore_file) || self.tree.is_outdated(seen.keys());
        if std::mem::take(&mut self.anew) || self.lost || is_outdated {
            self.plan();
        }
    }

    /// Finds out what is to be watched, and watches that.
    fn plan(&mut self) {
        let Some(pool) = self.pool.upgrade() else {
            return;
        };
        let listeners: Vec<Listener> = pool
            .live()
            .iter()
            .map(|server| Listener {
                server: std::sync::Arc::downgrade(server),
                wanted: server
                    .patterns()
                    .iter()
                    .map(|pattern| Wanted {
                        folder: real(&pattern.folder),
                        pattern: pattern.clone(),
                    })
                    .collect(),
            })
            .collect();
        let roots: Vec<PathBuf> = pool
            .workspace
            .roots()
            .iter()
            .map(|root| real(root))
            .collect();
        // A pool that nobody else holds any more ends here, not in the middle of the walk.
        drop(pool);
        let (deep, flat) = places(&listeners, &roots);
        let before = std::mem::replace(&mut self.listeners, listeners);
        let lost = std::mem::take(&mut self.lost);
        let listeners = &self.listeners;
        let fresh = fresh(listeners, &before);
        let changes = self.tree.plan(
            &deep,
            &flat,
            &Interest {
                wanted: &|folder, path| is_wanted(listeners, folder, path),
                // What is watched for the first time is as the servers found it, but for what has come since they asked.
                news: &|path, was_known| {
                    let folder = path.parent().unwrap_or(path);
                    match lost || (was_known && is_wanted(&before, folder, path)) {
                        true => Some(Change::Created),
                        false => became_since(&fresh, path),
                    }
                },
            },
        );
        self.tell(&changes);
    }

    fn tell(&self, changes: &Changes) {
        for listener in &self.listeners {
            let Some(server) = listener.server.upgrade() else {
                continue;
            };
            let event = |(path, change): (&PathBuf, &Change)| {
                let wants = |one: &&Wanted| one.pattern.wants(*change) && one.has(path);
                let uri = listener.wanted.iter().find(wants)?.spelled(path)?;
                Some((uri, *change))
            };
            let events: Vec<_> = changes.iter().filter_map(event).collect();
            server.tell_of_files(&events);
            if let Some(pool) = self.pool.upgrade() {
                pool.reread(&server, &events);
            }
        }
    }
}

fn is_wanted(listeners: &[Listener], folder: &Path, path: &Path) -> bool {
    listeners
        .iter()
        .flat_map(|listener| &listener.wanted)
        .any(|one| folder.starts_with(&one.folder) && one.has(path))
}

/// What was asked for since the last time.
fn fresh<'a>(listeners: &'a [Listener], before: &[Listener]) -> Vec<&'a Wanted> {
    let mut fresh = Vec::new();
    for listener in listeners {
        let known = before
            .iter()
            .find(|known| known.server.ptr_eq(&listener.server));
        let is_known = |one: &Wanted| {
            let since = one.pattern.since;
            known.is_some_and(|known| known.wanted.iter().any(|one| one.pattern.since == since))
        };
        fresh.extend(listener.wanted.iter().filter(|one| !is_known(one)));
    }
    fresh
}

/// What became of a file since the first of those asked who have asked just now.
fn became_since(fresh: &[&Wanted], path: &Path) -> Option<Change> {
    let waiting = fresh.iter().filter(|one| one.has(path));
    let since = waiting.map(|one| one.pattern.since).min()?;
    became(&path.metadata().ok()?, since)
}

/// The folders that are watched with all below them, and those that are watched alone.
fn places(listeners: &[Listener], roots: &[PathBuf]) -> (BTreeSet<PathBuf>, BTreeSet<PathBuf>) {
    let mut deep = BTreeSet::new();
    let mut flat = BTreeSet::new();
    for one in listeners.iter().flat_map(|listener| &listener.wanted) {
        let folder = &one.folder;
        if !one.pattern.deep {
            flat.insert(folder.clone());
        } else if roots.iter().any(|root| folder.starts_with(root)) {
            deep.insert(folder.clone());
        } else {
            let inside: Vec<_> = roots
                .iter()
                .filter(|root| root.starts_with(folder))
                .cloned()
                .collect();
            if inside.is_empty() {
                flat.insert(folder.clone());
            }
            deep.extend(inside);
        }
    }
    // Of what lies in each other the outer one is enough.
    (deep, flat)
}

fn message_of(event: notify::Result<Event>) -> Option<Message> {
    let event = event
        .inspect_err(|error| tracing::debug!(%error, "while watching"))
        .ok()?;
    if event.need_rescan() {
        return Some(Message::Lost);
    }
    let gone = match event.kind {
        // Our own looking is an access, too.
        EventKind::Access(kind) if kind != AccessKind::Close(AccessMode::Write) => return None,
        EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_)) => Gone::Maybe,
        _ => Gone::No,
    };
    Some(Message::Seen(event.paths, gone))
}
