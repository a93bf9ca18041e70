//! What one server last said of each document, pushed or pulled, and of which text. It only keeps and converts: it asks
//! nobody and waits for nobody.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, MutexGuard, PoisonError},
};

use serde_json::Value;
use tokio::{sync::watch, time::Instant};
use workspace::{DocumentUri, Encoding, Revision, Snapshot};

use super::convert::{carried, diagnostic, each_once, parts};
use crate::{answer::Diagnostic, mirror::difference, wire};

#[derive(Debug, Default)]
pub(super) struct Store {
    said: Mutex<BTreeMap<DocumentUri, Said>>,
    /// Documents to be asked about in the background.
    pub stale: Mutex<BTreeSet<DocumentUri>>,
    /// Rises whenever a waiting one should look again.
    tick: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Said {
    pushed: Option<Kept>,
    pulled: Option<Kept>,
}

/// One list of diagnostics as it came.
#[derive(Debug)]
pub(super) struct Kept {
    pub items: Vec<Value>,
    /// The text that they are of, as far as that is known.
    pub of: Option<Snapshot>,
    /// Whether the server named the version that they are of.
    pub named: bool,
    pub at: Instant,
}

/// Which of the pushed ones count.
#[derive(Debug, Clone, Copy)]
pub(super) enum Wanted<'a> {
    /// All that was said.
    Known,
    /// Only what is of this revision or later, and not of these sources, which have not looked at it.
    Fresh {
        since: Revision,
        unchecked: &'a [String],
    },
}

impl Store {
    pub fn ring(&self) {
        self.tick.send_modify(|tick| *tick += 1);
    }

    pub fn ticks(&self) -> watch::Receiver<u64> {
        self.tick.subscribe()
    }

    pub fn push(&self, uri: DocumentUri, kept: Kept) {
        self.said().entry(uri).or_default().pushed = Some(kept);
        self.ring();
    }

    pub fn pull(&self, uri: DocumentUri, kept: Kept) {
        {
            let mut said = self.said();
            let pulled = &mut said.entry(uri).or_default().pulled;
            // Answers to two questions may overtake each other.
            let revision = |kept: &Kept| kept.of.as_ref().map(|of| of.revision);
            if pulled
                .as_ref()
                .is_none_or(|old| revision(old) <= revision(&kept))
            {
                *pulled = Some(kept);
            }
        }
        self.ring();
    }

    /// Looks at what was last pushed for a document.
    pub fn pushed<R>(&self, uri: &DocumentUri, look: impl FnOnce(&Kept) -> R) -> Option<R> {
        self.said()
            .get(uri)
            .and_then(|said| said.pushed.as_ref())
            .map(look)
    }

    /// What was said of a document, in the coordinates of `newest`, each thing once.
    pub fn diagnostics(
        &self,
        newest: &Snapshot,
        wanted: Wanted,
        encoding: Encoding,
        server: &str,
    ) -> Vec<Diagnostic> {
        let said = self.said();
        let Some(said) = said.get(&newest.uri) else {
            return Vec::new();
        };
        let mut found = Vec::new();
        if let Some(pulled) = &said.pulled {
            found.extend(pulled.converted(newest, encoding, server));
        }
        if let Some(pushed) = &said.pushed {
            let fresh = match wanted {
                Wanted::Known => true,
                Wanted::Fresh { since, .. } => pushed.is_of(since, newest),
            };
            let is_unchecked = |diagnostic: &Diagnostic| match wanted {
                Wanted::Fresh { unchecked, .. } => diagnostic
                    .source
                    .as_ref()
                    .is_some_and(|source| unchecked.contains(source)),
                Wanted::Known => false,
            };
            if fresh {
                found.extend(
                    pushed
                        .converted(newest, encoding, server)
                        .into_iter()
                        .filter(|diagnostic| !is_unchecked(diagnostic)),
                );
            }
        }
        each_once(found)
    }

    fn said(&self) -> MutexGuard<'_, BTreeMap<DocumentUri, Said>> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    /// Whether they are of the text of this revision, or a later one.
    pub fn is_of(&self, since: Revision, newest: &Snapshot) -> bool {
        self.of.as_ref().is_some_and(|of| {
            if newest.is_buffer() && of.is_buffer() {
                of.revision >= since
            } else {
                of.text == newest.text
            }
        })
    }

    fn converted(&self, newest: &Snapshot, encoding: Encoding, server: &str) -> Vec<Diagnostic> {
        let of = self.of.as_ref().unwrap_or(newest);
        // What was said of an earlier text is moved along with what was typed since.
        let moved = (!self.items.is_empty() && of.text != newest.text)
            .then(|| difference(&of.text, &newest.text));
        let parts = parts(&self.items);
        self.items
            .iter()
            .filter(|item| {
                item["severity"] != 4
                    || !parts.contains(&(item["range"].to_string(), item["message"].as_str()))
            })
            .filter_map(|item| {
                let range = of
                    .text
                    .byte_range(wire::read_range(item.get("range")?)?, encoding);
                let range = moved
                    .as_ref()
                    .map_or(range, |change| carried(range, change));
                diagnostic(item, range, server)
            })
            .collect()
    }
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
