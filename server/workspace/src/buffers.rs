//! The open buffers, kept in step with the editor's. Changes come only from the editor; nothing here edits a text
//! by itself, reads a file, or waits.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
};

use tokio::sync::{mpsc, watch};

use crate::{
    ByteRange, DocumentUri, Encoding, Origin, Range, Replacement, Revision, Snapshot, Text, disk,
};

use self::history::History;

pub(crate) use self::history::Step;

mod history;

/// What the editor says changed: a range of the text, or all of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContentChange {
    /// `None`: the whole text.
    pub range: Option<Range>,
    /// What now stands there.
    pub text: String,
}

/// Why a change was refused. The buffer's text is as it was before.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChangeError {
    /// The document is not open.
    #[error("{uri} was changed but is not open")]
    NotOpen {
        /// Which document.
        uri: DocumentUri,
    },
    /// The version is older than the one that we have.
    #[error(
        "{uri}: version {got} came after version {have}; the buffer is out of step until its whole text is sent or it is opened again"
    )]
    VersionWentBack {
        /// Which document.
        uri: DocumentUri,
        /// The version that we have.
        have: i32,
        /// The version that came.
        got: i32,
    },
    /// A range that ends before it starts.
    #[error(
        "{uri}: the range {range} ends before it starts; the buffer is out of step until its whole text is sent or it is opened again"
    )]
    ReversedRange {
        /// Which document.
        uri: DocumentUri,
        /// The range that came.
        range: Range,
    },
    /// An earlier change was refused, and this one does not carry the whole text.
    #[error(
        "{uri} is out of step with the editor ({reason}) until its whole text is sent or it is opened again"
    )]
    OutOfStep {
        /// Which document.
        uri: DocumentUri,
        /// The first refusal.
        reason: String,
    },
}

/// Who wants to know of every change, in order.
///
/// Called under the document's lock, so that the order holds by construction: note what happened and return; never
/// call back into [`Buffers`] from here.
pub trait Listener: Send + Sync {
    /// A document was opened (or opened again, which replaced its text).
    fn opened(&self, snapshot: &Snapshot);
    /// A document's text changed. Each replacement is in the coordinates of the text after the ones before it.
    fn changed(&self, before: &Snapshot, after: &Snapshot, replacements: &[Replacement]);
    /// A document was saved.
    fn saved(&self, snapshot: &Snapshot);
    /// A document was closed; this is what it was at the end.
    fn closed(&self, snapshot: &Snapshot);
}

/// The open buffers.
#[derive(Default)]
pub struct Buffers {
    documents: RwLock<HashMap<DocumentUri, Arc<Document>>>,
    listeners: RwLock<Vec<Arc<dyn Listener>>>,
}

/// One document's place. Whoever holds its lock may not take that of `Buffers::documents` for long, and whoever
/// holds the latter takes no document's lock: `open` looks a place up first and then locks it.
#[derive(Default)]
struct Document(Mutex<Place>);

#[derive(Default)]
enum Place {
    /// Looked up by `open`, which fills it next.
    #[default]
    Empty,
    Open(Box<Open>),
    /// Closed and taken out of the table: whoever still holds it looks again.
    Gone,
}

struct Open {
    snapshot: Snapshot,
    /// Its file's path with symlinks resolved, when it was opened.
    real: Option<PathBuf>,
    out_of_step: Option<String>,
    history: History,
    watch: Option<watch::Sender<Revision>>,
    followers: Vec<mpsc::UnboundedSender<Snapshot>>,
}

/// One rising count for the whole process, so that revisions of different documents can be compared.
static REVISIONS: AtomicU64 = AtomicU64::new(Revision::DISK.0);

fn next_revision() -> Revision {
    Revision(REVISIONS.fetch_add(1, Ordering::Relaxed) + 1)
}

impl Buffers {
    /// No open buffer yet.
    pub fn new() -> Arc<Self> {
        Arc::new(Self::default())
    }

    /// The editor opened a document. One that is open already gets the new text.
    pub fn open(&self, uri: DocumentUri, language: &str, version: i32, text: &str) -> Snapshot {
        // A document without a path was never saved; one with a path may be brought back unsaved.
        let dirty = uri.path().is_none_or(|path| disk::is_unsaved(path, text));
        let real = uri.path().map(disk::real_path);
        let mut snapshot = Snapshot {
            uri,
            text: Text::new(text),
            revision: Revision::DISK,
            version: Some(version),
            language: Some(language.into()),
            origin: Origin::Buffer { dirty },
        };
        loop {
            let document = self.place(&snapshot.uri);
            let mut place = lock(&document);
            match &mut *place {
                Place::Gone => continue,
                Place::Open(open) => {
                    tracing::warn!(uri = %snapshot.uri, "opened again while open: the new text replaces the old");
                    snapshot.revision = next_revision();
                    snapshot.origin = open.snapshot.origin;
                    open.out_of_step = None;
                    open.history = History::default();
                    open.snapshot = snapshot.clone();
                    open.tell();
                }
                Place::Empty => {
                    snapshot.revision = next_revision();
                    *place = Place::Open(Box::new(Open {
                        snapshot: snapshot.clone(),
                        real,
                        out_of_step: None,
                        history: History::default(),
                        watch: None,
                        followers: Vec::new(),
                    }));
                }
            }
            self.each_listener(|listener| listener.opened(&snapshot));
            return snapshot;
        }
    }

    /// The editor changed a document: all of the changes in order, or none.
    pub fn change(
        &self,
        uri: &DocumentUri,
        version: i32,
        changes: &[ContentChange],
        encoding: Encoding,
    ) -> Result<Snapshot, ChangeError> {
        let not_open = || ChangeError::NotOpen { uri: uri.clone() };
        let document = self.document(uri).ok_or_else(not_open)?;
        let mut place = lock(&document);
        let Place::Open(open) = &mut *place else {
            return Err(not_open());
        };
        let (text, replacements) = match open.changed_text(version, changes, encoding) {
            Ok(done) => done,
            Err(error) => {
                open.out_of_step.get_or_insert_with(|| error.to_string());
                return Err(error);
            }
        };
        open.out_of_step = None;
        let before = open.put(text, Some(version), &replacements);
        self.each_listener(|listener| listener.changed(&before, &open.snapshot, &replacements));
        Ok(open.snapshot.clone())
    }

    /// The editor saved a document. If it sent the text along and that is not ours, it is from now on.
    pub fn save(&self, uri: &DocumentUri, text: Option<&str>) {
        let Some(document) = self.document(uri) else {
            tracing::warn!(%uri, "saved but not open");
            return;
        };
        let mut place = lock(&document);
        let Place::Open(open) = &mut *place else {
            return;
        };
        if let Some(text) = text {
            open.out_of_step = None;
            if open.snapshot.text != *text {
                tracing::warn!(%uri, "saved with a text that is not the buffer's: it replaces the buffer's");
                let whole = ByteRange::new(0, open.snapshot.text.len());
                let replacements = [Replacement {
                    range: whole,
                    text: text.to_owned(),
                }];
                let before = open.put(Text::new(text), open.snapshot.version, &replacements);
                self.each_listener(|listener| {
                    listener.changed(&before, &open.snapshot, &replacements);
                });
            }
        }
        open.snapshot.origin = Origin::Buffer { dirty: false };
        self.each_listener(|listener| listener.saved(&open.snapshot));
    }

    /// The editor closed a document.
    pub fn close(&self, uri: &DocumentUri) {
        let Some(document) = self.document(uri) else {
            tracing::warn!(%uri, "closed but not open");
            return;
        };
        let mut place = lock(&document);
        let Place::Open(open) = &*place else { return };
        self.each_listener(|listener| listener.closed(&open.snapshot));
        *place = Place::Gone;
        self.documents
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(uri);
    }

    /// A document as it is now, if it is open.
    pub fn get(&self, uri: &DocumentUri) -> Option<Snapshot> {
        self.with_open(uri, |open| open.snapshot.clone())
    }

    /// The name under which a document is open: this one, or another by which symlinks or hard links lead to the same file
    /// (one with unsaved changes first).
    pub fn name_of(&self, uri: &DocumentUri) -> Option<DocumentUri> {
        if let Some(name) = self.with_open(uri, |open| open.snapshot.uri.clone()) {
            return Some(name);
        }
        self.name_of_file(uri, &disk::real_path(uri.path()?))
    }

    /// The same, where the document's path is known to lead to the file `real`.
    pub(crate) fn name_of_file(&self, uri: &DocumentUri, real: &Path) -> Option<DocumentUri> {
        if let Some(name) = self.with_open(uri, |open| open.snapshot.uri.clone()) {
            return Some(name);
        }
        let linked = disk::Linked::of(real);
        let is_it = |open: &Open| {
            let is_linked = |open: &PathBuf| linked.as_ref().is_some_and(|file| file.is(open));
            open.real
                .as_ref()
                .is_some_and(|open| *open == real || is_linked(open))
                .then(|| (!open.snapshot.is_unsaved(), open.snapshot.uri.clone()))
        };
        let name = self.each_open(is_it).into_iter().min()?.1;
        Some(name)
    }

    /// Every open document as it is now, by name.
    pub fn all(&self) -> Vec<Snapshot> {
        let mut snapshots = self.each_open(|open| Some(open.snapshot.clone()));
        snapshots.sort_unstable_by(|a, b| a.uri.cmp(&b.uri));
        snapshots
    }

    /// Why the buffer's text is not known to be the editor's, if so: edits to it must wait until it is.
    pub fn out_of_step(&self, uri: &DocumentUri) -> Option<String> {
        self.with_open(uri, |open| open.out_of_step.clone())
            .flatten()
    }

    /// The document's revision, as it rises; it ends when the document is closed.
    pub fn watch(&self, uri: &DocumentUri) -> Option<watch::Receiver<Revision>> {
        self.with_open(uri, |open| {
            open.watch
                .get_or_insert_with(|| watch::channel(open.snapshot.revision).0)
                .subscribe()
        })
    }

    /// From now on, this listener is told of every change. It is not told of what is open already.
    pub fn listen(&self, listener: Arc<dyn Listener>) {
        self.listeners
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .push(listener);
    }

    /// The document as it is now, and every text that it has from then on, none left out; ends when it is closed.
    pub(crate) fn follow(
        &self,
        uri: &DocumentUri,
    ) -> Option<(Snapshot, mpsc::UnboundedReceiver<Snapshot>)> {
        self.with_open(uri, |open| {
            let (sender, receiver) = mpsc::unbounded_channel();
            open.followers.push(sender);
            (open.snapshot.clone(), receiver)
        })
    }

    /// How one revision of the document became another, if that is remembered.
    pub(crate) fn steps(
        &self,
        uri: &DocumentUri,
        from: Revision,
        to: Revision,
    ) -> Option<Vec<Step>> {
        self.with_open(uri, |open| open.history.between(from, to))
            .flatten()
    }

    fn with_open<T>(&self, uri: &DocumentUri, then: impl FnOnce(&mut Open) -> T) -> Option<T> {
        let document = self.document(uri)?;
        match &mut *lock(&document) {
            Place::Open(open) => Some(then(open)),
            Place::Empty | Place::Gone => None,
        }
    }

    fn each_open<T>(&self, of: impl Fn(&Open) -> Option<T>) -> Vec<T> {
        let documents: Vec<_> = self
            .documents
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .values()
            .cloned()
            .collect();
        documents
            .iter()
            .filter_map(|document| match &*lock(document) {
                Place::Open(open) => of(open),
                Place::Empty | Place::Gone => None,
            })
            .collect()
    }

    fn document(&self, uri: &DocumentUri) -> Option<Arc<Document>> {
        self.documents
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(uri)
            .cloned()
    }

    fn place(&self, uri: &DocumentUri) -> Arc<Document> {
        let mut documents = self
            .documents
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        documents.entry(uri.clone()).or_default().clone()
    }

    fn each_listener(&self, tell: impl Fn(&dyn Listener)) {
        for listener in self
            .listeners
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
        {
            tell(&**listener);
        }
    }
}

impl Open {
    /// The text after the changes, and what they replaced.
    fn changed_text(
        &self,
        version: i32,
        changes: &[ContentChange],
        encoding: Encoding,
    ) -> Result<(Text, Vec<Replacement>), ChangeError> {
        let uri = || self.snapshot.uri.clone();
        if let Some(reason) = &self.out_of_step {
            // A whole text puts it right, whatever its version.
            if !changes.iter().any(|change| change.range.is_none()) {
                return Err(ChangeError::OutOfStep {
                    uri: uri(),
                    reason: reason.clone(),
                });
            }
        } else if let Some(have) = self.snapshot.version.filter(|&have| version < have) {
            return Err(ChangeError::VersionWentBack {
                uri: uri(),
                have,
                got: version,
            });
        }
        let mut text = self.snapshot.text.clone();
        let mut replacements = Vec::with_capacity(changes.len());
        for change in changes {
            let range = match change.range {
                None => ByteRange::new(0, text.len()),
                Some(range) if range.end < range.start => {
                    return Err(ChangeError::ReversedRange { uri: uri(), range });
                }
                Some(range) => text.byte_range(range, encoding),
            };
            if change.range.is_none() {
                text = Text::new(&change.text);
            } else {
                text.replace(range, &change.text);
            }
            replacements.push(Replacement {
                range,
                text: change.text.clone(),
            });
        }
        Ok((text, replacements))
    }

    /// Takes a new text, and how it came about, and gives what was before.
    fn put(&mut self, text: Text, version: Option<i32>, replacements: &[Replacement]) -> Snapshot {
        let after = Snapshot {
            text,
            version,
            revision: next_revision(),
            origin: Origin::Buffer { dirty: true },
            ..self.snapshot.clone()
        };
        let before = std::mem::replace(&mut self.snapshot, after);
        self.history.add(
            (before.revision, &before.text),
            (self.snapshot.revision, &self.snapshot.text),
            replacements,
        );
        self.tell();
        before
    }

    /// Tells those who watch and follow.
    fn tell(&mut self) {
        if let Some(watch) = &self.watch {
            watch.send_replace(self.snapshot.revision);
        }
        if !self.followers.is_empty() {
            self.followers
                .retain(|follower| follower.send(self.snapshot.clone()).is_ok());
        }
    }
}

fn lock(document: &Document) -> MutexGuard<'_, Place> {
    // A listener that panicked left the text as it should be: it is set before anyone is told.
    document.0.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
