//! Keeps one server's view of the documents in step with ours. What happens to a buffer is only noted, at once and
//! without waiting; it is told when the server takes it, at the latest before the next question. A server that is slow
//! is told less often, never less.

mod changes;
mod held;
mod lease;
mod other_names;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;
use workspace::{DocumentUri, Replacement, Revision, Snapshot};

use self::{changes::Changes, held::Stale};
pub(crate) use self::{
    changes::difference,
    held::{Manner, SyncKind, Texts, Wire, language},
    lease::Of,
};
use crate::client::Client;

#[derive(Debug)]
pub(crate) struct Mirror {
    notes: Mutex<BTreeMap<DocumentUri, Note>>,
    wire: Mutex<Wire>,
    /// Rung whenever something was noted.
    pub bell: Notify,
}

#[derive(Debug)]
struct Note {
    /// The newest text; `None`: closed.
    now: Option<Snapshot>,
    /// The steps to it, and the revision that they start from; `None`: only the texts tell.
    steps: Option<(Revision, Changes)>,
    saved: bool,
}

impl Mirror {
    pub fn new(client: Arc<Client>, manner: Manner) -> Self {
        Self {
            notes: Mutex::default(),
            wire: Mutex::new(Wire::new(client, manner)),
            bell: Notify::new(),
        }
    }

    /// A buffer was opened, or was open when the server came.
    pub fn opened(&self, snapshot: &Snapshot) {
        self.note(&snapshot.uri, |note| {
            let newer = note
                .as_ref()
                .and_then(|note| note.now.as_ref())
                .is_some_and(|now| now.revision > snapshot.revision);
            if !newer {
                *note = Some(Note {
                    now: Some(snapshot.clone()),
                    steps: None,
                    saved: false,
                });
            }
        });
    }

    pub fn changed(&self, before: &Snapshot, after: &Snapshot, replacements: &[Replacement]) {
        self.note(&after.uri, |note| {
            let note = note.get_or_insert_with(|| Note::starting_at(before));
            if let Some((_, changes)) = &mut note.steps {
                changes.add(replacements);
            }
            note.now = Some(after.clone());
        });
    }

    pub fn saved(&self, snapshot: &Snapshot) {
        self.note(&snapshot.uri, |note| {
            let note = note.get_or_insert_with(|| Note::starting_at(snapshot));
            match &mut note.steps {
                Some((_, changes)) => changes.save(),
                None => note.saved = true,
            }
            note.now = Some(snapshot.clone());
        });
    }

    pub fn closed(&self, uri: &DocumentUri) {
        self.note(uri, |note| {
            *note = Some(Note {
                now: None,
                steps: None,
                saved: false,
            });
        });
    }

    fn note(&self, uri: &DocumentUri, change: impl FnOnce(&mut Option<Note>)) {
        {
            let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
            let mut note = notes.remove(uri);
            change(&mut note);
            if let Some(note) = note {
                notes.insert(uri.clone(), note);
            }
        }
        self.bell.notify_one();
    }

    /// Tells the server all that was noted, then runs `ask` while nothing else can be told: what it sends is about
    /// exactly the texts that it sees. `borrow` is a document that the server must hold for it. Under a lease nothing is
    /// told: the notes wait for its end.
    pub fn told<R>(&self, borrow: Option<&Snapshot>, ask: impl FnOnce(&mut Wire) -> R) -> R {
        let stale = match borrow {
            Some(_) => self.stale(),
            None => Stale::default(),
        };
        let mut wire = self.wire();
        if wire.lease().is_some() {
            return ask(&mut wire);
        }
        let notes = std::mem::take(&mut *self.notes.lock().unwrap_or_else(PoisonError::into_inner));
        for (uri, note) in notes {
            wire.tell(&uri, note);
        }
        if let Some(snapshot) = borrow {
            wire.return_stale(stale, std::slice::from_ref(snapshot));
            wire.borrow(snapshot);
        }
        ask(&mut wire)
    }

    /// Shows the server these texts instead of what it has, until [`Mirror::end_lease`] with the same number.
    pub fn lease(&self, number: u64, texts: &[Snapshot]) {
        let stale = self.stale();
        self.told(None, |wire| wire.swap_in(number, texts, stale));
    }

    /// What is borrowed from disk and has changed there. Looked at before the wire is taken.
    fn stale(&self) -> Stale {
        let borrowed = self.wire().borrowed_from_disk();
        Stale::of(borrowed)
    }

    /// Gives the server back what it had; what was noted meanwhile is told then.
    pub fn end_lease(&self, number: u64) {
        self.wire().swap_back(number);
        self.bell.notify_one();
    }

    /// Runs `ask` while the lease of this number is shown; `None` if it has ended.
    pub fn told_under<R>(
        &self,
        number: u64,
        borrow: Option<&Snapshot>,
        ask: impl FnOnce(&mut Wire) -> R,
    ) -> Option<R> {
        let mut wire = self.wire();
        if wire.lease() != Some(number) {
            return None;
        }
        if let Some(snapshot) = borrow.filter(|snapshot| !wire.is_swapped(&snapshot.uri)) {
            wire.borrow(snapshot);
        }
        Some(ask(&mut wire))
    }

    /// What the server has been told so far, without telling it more.
    pub fn wire(&self) -> MutexGuard<'_, Wire> {
        self.wire.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Note {
    fn starting_at(snapshot: &Snapshot) -> Self {
        let changes = Changes::none(snapshot.text.len());
        Self {
            now: None,
            steps: Some((snapshot.revision, changes)),
            saved: false,
        }
    }
}

#[cfg(test)]
mod tests;
