//! What one server last said of each document, pushed or pulled, and of which text. It only keeps and converts: it asks
//! nobody and waits for nobody.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, MutexGuard, PoisonError},
    time::SystemTime,
};

use serde_json::Value;
use tokio::{
    sync::watch,
    time::{Duration, Instant},
};
use workspace::{DocumentUri, Encoding, Origin, Revision, Snapshot};

use super::convert::{carried, diagnostic, each_once, parts};
use crate::{
    answer::Diagnostic,
    mirror::{Of, difference},
    wire,
};

/// What is pushed and may be of more than one text counts once nothing else has come for this long.
pub(super) const QUIET: Duration = Duration::from_millis(300);
/// Within this long after a change a server that pushes has said what it did to the diagnostics of other documents.
pub(super) const LOOKS_ANEW: Duration = Duration::from_millis(1500);

/// What is said of so many documents is kept, and so many diagnostics of each push.
const MOST_DOCUMENTS: usize = 10_000;
pub(super) const MOST_ITEMS: usize = 5_000;

#[derive(Debug, Default)]
pub(super) struct Store {
    said: Mutex<BTreeMap<DocumentUri, Said>>,
    lease: Mutex<UnderLease>,
    silent: Mutex<Option<DocumentUri>>,
    /// Documents to be asked about in the background.
    pub stale: Mutex<BTreeSet<DocumentUri>>,
    /// Rises whenever a waiting one should look again.
    tick: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Said {
    pushed: Option<Kept>,
    pulled: Option<Kept>,
    /// Pushed after a lease: it may still be of that, until nothing else has come for a while.
    parked: Option<Parked>,
    /// Something else was pushed under a lease, and nothing since: what was pushed before may be out of date.
    is_unsure: bool,
}

/// What is pushed under a lease is kept apart, and forgotten with it.
#[derive(Debug, Default)]
struct UnderLease {
    pushed: Option<BTreeMap<DocumentUri, Kept>>,
    /// What was said under the last one.
    past: BTreeMap<DocumentUri, Vec<Value>>,
    ending: Ending,
}

/// The end of the last lease, as the server has taken it.
#[derive(Debug, Default, Clone, Copy)]
enum Ending {
    /// There was no lease.
    #[default]
    Never,
    /// It may not have seen yet that the lease of this number has ended.
    Unseen(u64),
    /// It has answered something that was asked after the end.
    Seen(Instant),
}

#[derive(Debug)]
struct Parked {
    kept: Kept,
    /// It counts when it has been quiet for so long.
    quiet: Duration,
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

    /// The document of which something was last waited for in vain; `None` when it came after all.
    pub fn silent(&self) -> MutexGuard<'_, Option<DocumentUri>> {
        self.silent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn push(&self, uri: DocumentUri, kept: Kept, of: Of) {
        self.silent().take_if(|silent| *silent == uri);
        {
            let mut lease = self.lease();
            let mut said = self.said();
            let said = said.entry(uri.clone()).or_default();
            let has_just_ended = lease.ending.is_near();
            match of {
                Of::Held | Of::Beside => {
                    let is_other = said.pushed.as_ref().map(|old| &old.items) != Some(&kept.items);
                    said.is_unsure |= of == Of::Beside && is_other;
                    if let Some(pushed) = &mut lease.pushed {
                        pushed.insert(uri, kept);
                    }
                }
                Of::Either if has_just_ended => {
                    let is_known = said.pushed.as_ref().map(|old| &old.items) == Some(&kept.items);
                    let is_seen = matches!(lease.ending, Ending::Seen(_));
                    let is_echo = lease.past.get(&uri) == Some(&kept.items);
                    // What comes before the server has seen the end, or is what it said under the lease, is more likely of
                    // the lease, and then it says more.
                    let quiet = match is_known || (is_seen && !is_echo) {
                        true => QUIET,
                        false => LOOKS_ANEW,
                    };
                    said.parked = Some(Parked { kept, quiet });
                }
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

    /// Whether something is to be forgotten.
    pub fn is_full(&self) -> bool {
        self.said().len() > MOST_DOCUMENTS
    }

    /// Forgets what was said the longest ago of documents that are not open, until there is room for more.
    pub fn forget(&self, is_open: impl Fn(&DocumentUri) -> bool) {
        let mut all = self.said();
        let at = |said: &Said| {
            let parked = said.parked.iter().map(|parked| &parked.kept);
            let kept = said.pushed.iter().chain(&said.pulled).chain(parked);
            kept.map(|kept| kept.at).max()
        };
        let closed = all.iter().filter(|(uri, _)| !is_open(uri));
        let mut oldest: Vec<_> = closed.map(|(uri, said)| (at(said), uri.clone())).collect();
        oldest.sort_unstable_by_key(|(at, _)| *at);
        // Some more than need be, so that this is not done each time.
        let too_many = all.len().saturating_sub(MOST_DOCUMENTS * 9 / 10);
        for (_, uri) in oldest.into_iter().take(too_many) {
            all.remove(&uri);
        }
    }

    /// From here on, what is said under a lease has a place of its own.
    pub fn begin_lease(&self) {
        self.lease().pushed = Some(BTreeMap::new());
    }

    /// From here on nothing is said under the lease of this number, and what is said may still be of it.
    pub fn end_lease(&self, number: u64) {
        {
            let mut lease = self.lease();
            let pushed = lease.pushed.take().unwrap_or_default().into_iter();
            lease.past = pushed.map(|(uri, kept)| (uri, kept.items)).collect();
            lease.ending = Ending::Unseen(number);
        }
        self.ring();
    }

    /// The server has seen that the lease of this number has ended.
    pub fn end_seen(&self, number: u64) {
        {
            let mut lease = self.lease();
            if matches!(lease.ending, Ending::Unseen(last) if last == number) {
                lease.ending = Ending::Seen(Instant::now());
            }
        }
        self.ring();
    }

    fn ending(&self) -> Ending {
        self.lease().ending
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
        let ending = self.ending();
        let mut said = self.said();
        let said = said.get_mut(uri)?;
        said.settle(ending);
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

    /// Whether nothing is known that is wrong with a document: nothing was pushed for it, or that it has no problems.
    pub fn is_clean(&self, uri: &DocumentUri) -> bool {
        let said = self.said();
        said.get(uri).is_none_or(|said| {
            let has_some = said.pushed.iter().any(|kept| !kept.items.is_empty());
            !has_some && said.parked.is_none() && !said.is_unsure
        })
    }

    /// Whether a lease is under way, or its end was seen after that or is not seen yet.
    pub fn was_leased_since(&self, since: Instant) -> bool {
        let lease = self.lease();
        let may_be_of_it = match lease.ending {
            Ending::Never => false,
            Ending::Unseen(_) => true,
            Ending::Seen(seen) => seen >= since,
        };
        lease.pushed.is_some() || may_be_of_it
    }

    /// When something was last pushed for a document, whatever it was of.
    pub fn last_pushed(&self, uri: &DocumentUri) -> Option<Instant> {
        let said = self.said();
        let said = said.get(uri)?;
        let parked = said.parked.iter().map(|parked| &parked.kept);
        let kept = said.pushed.iter().chain(parked);
        kept.map(|kept| kept.at).max()
    }

    /// Until when what is known of a document by pushes can't be told from what was said under a lease.
    pub fn doubtful_until(&self, uri: &DocumentUri) -> Doubt {
        let ending = self.ending();
        let mut said = self.said();
        let Some(said) = said.get_mut(uri) else {
            return Doubt::None;
        };
        said.settle(ending);
        match &said.parked {
            Some(parked) => parked
                .until(ending)
                .map_or(Doubt::UntilTheEndIsSeen, Doubt::Until),
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
        let ending = self.ending();
        let mut said = self.said();
        let Some(said) = said.get_mut(&newest.uri) else {
            return Vec::new();
        };
        said.settle(ending);
        let mut found = Vec::new();
        if let Some(pulled) = &said.pulled {
            found.extend(pulled.converted(newest, encoding, server));
        }
        if let Some(pushed) = &said.pushed {
            let fresh = match wanted {
                Wanted::Known => true,
                Wanted::Fresh { since, .. } => {
                    pushed.is_of(since, newest) || pushed.is_of_disk(newest)
                }
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
    /// Until the server has seen that the lease has ended.
    UntilTheEndIsSeen,
}

impl Ending {
    /// Whether what is said now may still be of the lease.
    fn is_near(self) -> bool {
        match self {
            Self::Never => false,
            Self::Unseen(_) => true,
            Self::Seen(at) => at.elapsed() < LOOKS_ANEW,
        }
    }
}

impl Parked {
    /// When it counts, if nothing else comes; `None`: that is not known yet.
    fn until(&self, ending: Ending) -> Option<Instant> {
        match ending {
            Ending::Never => Some(self.kept.at),
            Ending::Unseen(_) => None,
            Ending::Seen(at) => Some(at.max(self.kept.at) + self.quiet),
        }
    }
}

impl Said {
    /// Takes what was parked for long enough.
    fn settle(&mut self, ending: Ending) {
        let now = Instant::now();
        let has_settled =
            |parked: &mut Parked| parked.until(ending).is_some_and(|until| until <= now);
        if let Some(parked) = self.parked.take_if(has_settled) {
            self.pushed = Some(parked.kept);
            self.is_unsure = false;
        }
    }
}

/// When the file of a text was last written, as far as there is one.
fn modified(snapshot: &Snapshot) -> Option<SystemTime> {
    match snapshot.origin {
        Origin::Disk(form) => form.modified,
        Origin::Buffer { .. } => {
            let metadata = std::fs::metadata(snapshot.uri.path()?).ok()?;
            metadata.modified().ok()
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

    /// Whether they were said of a file that the server had from disk, and that is as it was then.
    fn is_of_disk(&self, newest: &Snapshot) -> bool {
        self.of.is_none()
            && !newest.is_unsaved()
            && modified(newest).is_some_and(|modified| {
                let said = SystemTime::now().checked_sub(self.at.elapsed());
                said.is_some_and(|said| modified <= said)
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
