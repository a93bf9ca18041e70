//! What one server last said of each document, pushed or pulled, and of which text. It only keeps and converts: it asks
//! nobody and waits for nobody.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, MutexGuard, PoisonError},
};

use serde_json::Value;
use tokio::{
    sync::watch,
    time::{Duration, Instant},
};
use workspace::{DocumentUri, Encoding, Revision, Snapshot};

use super::convert::{carried, diagnostic, each_once, parts};
use crate::{
    answer::Diagnostic,
    mirror::{Of, difference},
    wire,
};

/// What is pushed and may be of more than one text counts once nothing else has come for this long.
pub(super) const QUIET: Duration = Duration::from_millis(300);

#[derive(Debug, Default)]
pub(super) struct Store {
    said: Mutex<BTreeMap<DocumentUri, Said>>,
    lease: Mutex<UnderLease>,
    /// Documents to be asked about in the background.
    pub stale: Mutex<BTreeSet<DocumentUri>>,
    /// Rises whenever a waiting one should look again.
    tick: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Said {
    pushed: Option<Kept>,
    pulled: Option<Kept>,
    /// Pushed just after a lease: it may still be of that, until nothing else has come for a while.
    parked: Option<Kept>,
    /// Something else was pushed under a lease, and nothing since: what was pushed before may be out of date.
    is_unsure: bool,
}

/// What is pushed under a lease is kept apart, and forgotten with it.
#[derive(Debug, Default)]
struct UnderLease {
    pushed: Option<BTreeMap<DocumentUri, Kept>>,
    ended: Option<Instant>,
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

    pub fn push(&self, uri: DocumentUri, kept: Kept, of: Of) {
        {
            let mut lease = self.lease();
            let mut said = self.said();
            let said = said.entry(uri.clone()).or_default();
            let has_just_ended = lease.ended.is_some_and(|ended| ended.elapsed() < QUIET);
            match of {
                Of::Held | Of::Beside => {
                    let is_other = said.pushed.as_ref().map(|old| &old.items) != Some(&kept.items);
                    said.is_unsure |= of == Of::Beside && is_other;
                    if let Some(pushed) = &mut lease.pushed {
                        pushed.insert(uri, kept);
                    }
                }
                Of::Either if has_just_ended => said.parked = Some(kept),
                Of::Ours | Of::Either => {
                    *said = Said {
                        pushed: Some(kept),
                        pulled: said.pulled.take(),
                        ..Said::default()
                    };
                }
            }
        }
        self.ring();
    }

    /// From here on, what is said under a lease has a place of its own.
    pub fn begin_lease(&self) {
        self.lease().pushed = Some(BTreeMap::new());
    }

    /// Forgets what was said under the lease.
    pub fn end_lease(&self) {
        *self.lease() = UnderLease {
            pushed: None,
            ended: Some(Instant::now()),
        };
        self.ring();
    }

    /// Looks at what was pushed for a document under the lease.
    pub fn pushed_under_lease<R>(
        &self,
        uri: &DocumentUri,
        look: impl FnOnce(&Kept) -> R,
    ) -> Option<R> {
        self.lease().pushed.as_ref()?.get(uri).map(look)
    }

    /// When something was last pushed under the lease, for any document.
    pub fn last_under_lease(&self) -> Option<Instant> {
        let lease = self.lease();
        let pushed = lease.pushed.as_ref()?.values();
        pushed.map(|kept| kept.at).max()
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
        let mut said = self.said();
        let said = said.get_mut(uri)?;
        said.settle();
        said.pushed.as_ref().map(look)
    }

    /// Looks at what was last pulled for a document.
    pub fn pulled<R>(&self, uri: &DocumentUri, look: impl FnOnce(&Kept) -> R) -> Option<R> {
        let said = self.said();
        said.get(uri)?.pulled.as_ref().map(look)
    }

    /// Whether anything was ever pushed.
    pub fn has_been_pushed(&self) -> bool {
        let said = self.said();
        let mut all = said.values();
        all.any(|said| said.pushed.is_some() || said.parked.is_some())
    }

    /// When something was last pushed for a document, whatever it was of.
    pub fn last_pushed(&self, uri: &DocumentUri) -> Option<Instant> {
        let said = self.said();
        let said = said.get(uri)?;
        let kept = said.pushed.iter().chain(&said.parked);
        kept.map(|kept| kept.at).max()
    }

    /// Until when what is known of a document by pushes can't be told from what was said under a lease.
    pub fn doubtful_until(&self, uri: &DocumentUri) -> Doubt {
        let mut said = self.said();
        let Some(said) = said.get_mut(uri) else {
            return Doubt::None;
        };
        said.settle();
        match &said.parked {
            Some(parked) => Doubt::Until(parked.at + QUIET),
            None if said.is_unsure => Doubt::UntilMoreIsSaid,
            None => Doubt::None,
        }
    }

    /// What was said of a document, in the coordinates of `newest`, each thing once.
    pub fn diagnostics(
        &self,
        newest: &Snapshot,
        wanted: Wanted,
        encoding: Encoding,
        server: &str,
    ) -> Vec<Diagnostic> {
        let mut said = self.said();
        let Some(said) = said.get_mut(&newest.uri) else {
            return Vec::new();
        };
        said.settle();
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

    fn lease(&self) -> MutexGuard<'_, UnderLease> {
        self.lease.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether what was pushed can be told from what was said under a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Doubt {
    None,
    Until(Instant),
    UntilMoreIsSaid,
}

impl Said {
    /// Takes what was parked for long enough.
    fn settle(&mut self) {
        if let Some(parked) = self.parked.take_if(|parked| parked.at.elapsed() >= QUIET) {
            self.pushed = Some(parked);
            self.is_unsure = false;
        }
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

    pub fn converted(
        &self,
        newest: &Snapshot,
        encoding: Encoding,
        server: &str,
    ) -> Vec<Diagnostic> {
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
