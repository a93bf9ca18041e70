//! Passes what happens to the buffers on to the running servers, which only note it.

use std::sync::{PoisonError, Weak};

use workspace::{Listener, Replacement, Snapshot};

use super::{Pool, slot::warm};
use crate::mirror::{Mirror, language};

/// Holds the pool weakly: the buffers outlive it.
pub(super) struct Ears(pub Weak<Pool>);

impl Ears {
    /// The editor's own servers look at it as well.
    fn touched(&self, snapshot: &Snapshot) {
        if let Some(pool) = self.0.upgrade()
            && let Some(editor) = pool.editor.get()
        {
            editor.touched(snapshot);
        }
    }

    fn each(&self, snapshot: &Snapshot, tell: impl Fn(&Mirror)) {
        let Some(pool) = self.0.upgrade() else { return };
        let language = language(snapshot);
        let live = pool.live.read().unwrap_or_else(PoisonError::into_inner);
        for server in live.iter().filter(|server| server.serves(language)) {
            if let Some(mirror) = server.mirror() {
                tell(mirror);
            }
        }
    }
}

impl Listener for Ears {
    fn opened(&self, snapshot: &Snapshot) {
        self.each(snapshot, |mirror| mirror.opened(snapshot));
        self.touched(snapshot);
        if let Some(pool) = self.0.upgrade()
            && pool.editor.get().is_none()
            && pool.choice.starts_on_open(language(snapshot))
            && let Some(runtime) = &pool.runtime
        {
            runtime.spawn(warm(self.0.clone(), snapshot.clone()));
        }
    }

    fn changed(&self, before: &Snapshot, after: &Snapshot, replacements: &[Replacement]) {
        self.each(after, |mirror| mirror.changed(before, after, replacements));
        self.touched(after);
    }

    fn saved(&self, snapshot: &Snapshot) {
        self.each(snapshot, |mirror| mirror.saved(snapshot));
        self.touched(snapshot);
        // To servers of other languages it is a file that changed.
        if let Some(pool) = self.0.upgrade() {
            pool.disk_changed(std::slice::from_ref(&snapshot.uri));
        }
    }

    fn closed(&self, snapshot: &Snapshot) {
        self.each(snapshot, |mirror| mirror.closed(&snapshot.uri));
    }
}
