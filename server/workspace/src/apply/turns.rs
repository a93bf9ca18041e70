//! One edit under way in a document: the next one waits for its turn. It knows nothing of edits.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use tokio::sync::{Mutex as Line, OwnedMutexGuard};

use crate::DocumentUri;

/// Who is next in which document.
#[derive(Default)]
pub(crate) struct Turns(Mutex<HashMap<DocumentUri, Weak<Line<()>>>>);

impl Turns {
    /// Waits until nobody else edits this document. The turn lasts as long as what this gives.
    pub(crate) async fn wait(&self, uri: &DocumentUri) -> OwnedMutexGuard<()> {
        self.line(uri).lock_owned().await
    }

    fn line(&self, uri: &DocumentUri) -> Arc<Line<()>> {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(line) = lines.get(uri).and_then(Weak::upgrade) {
            return line;
        }
        lines.retain(|_, line| line.strong_count() > 0);
        let line = Arc::default();
        lines.insert(uri.clone(), Arc::downgrade(&line));
        line
    }
}
