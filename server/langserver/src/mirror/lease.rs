//! What a server is shown for a while instead of what it otherwise has, and how it gets that back. It also tells what
//! was said of such texts from what was said of the others; it keeps nothing of what was said.

use std::collections::BTreeMap;

use workspace::{DocumentUri, Snapshot};

use super::held::{Stale, Wire, by_texts};

/// Of so many documents it is remembered which versions were of a lease.
const MOST_REMEMBERED: usize = 512;

/// What a server is and was shown under leases.
#[derive(Debug, Default)]
pub(super) struct Shown {
    now: Option<Swapped>,
    /// The versions that were said under leases.
    versions: BTreeMap<DocumentUri, Vec<i32>>,
    /// By document, from which version on what is said is certainly not of the last lease.
    ordinary: BTreeMap<DocumentUri, i32>,
}

/// The documents that are another text now, as they were before; `None`: the server did not have them.
#[derive(Debug)]
struct Swapped {
    number: u64,
    before: BTreeMap<DocumentUri, Option<Snapshot>>,
}

/// Of which texts a server said something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Of {
    /// Of those that it always has.
    Ours,
    /// Of a text that it only has under a lease.
    Held,
    /// Of an ordinary text, but beside held ones.
    Beside,
    /// If there was a lease a moment ago, of either.
    Either,
}

impl Shown {
    /// A document's first version: never one that was of a lease.
    pub fn first_version(&self, uri: &DocumentUri) -> i32 {
        let last = self.versions.get(uri).and_then(|said| said.last());
        last.map_or(1, |last| last + 1)
    }

    /// Whether the server has it under this lease only.
    pub fn is_only_held(&self, uri: &DocumentUri) -> bool {
        let before = self.now.as_ref().and_then(|now| now.before.get(uri));
        before.is_some_and(Option::is_none)
    }

    fn remember(&mut self, uri: &DocumentUri, version: i32) {
        const MOST_VERSIONS: usize = 64;
        if self.versions.len() >= MOST_REMEMBERED && !self.versions.contains_key(uri) {
            self.versions.pop_first();
        }
        let versions = self.versions.entry(uri.clone()).or_default();
        versions.push(version);
        if versions.len() > MOST_VERSIONS {
            versions.remove(0);
        }
    }
}

impl Wire {
    /// The number of the lease that there is.
    pub fn lease(&self) -> Option<u64> {
        self.shown.now.as_ref().map(|now| now.number)
    }

    /// A document as the server has it without the lease.
    pub fn ours(&self, uri: &DocumentUri) -> Option<Snapshot> {
        let swapped = self.shown.now.as_ref().and_then(|now| now.before.get(uri));
        match swapped {
            Some(before) => before.clone(),
            None => self.held(uri).map(|held| held.snapshot.clone()),
        }
    }

    /// Whether it has another text of a document under the lease.
    pub fn is_swapped(&self, uri: &DocumentUri) -> bool {
        let now = self.shown.now.as_ref();
        now.is_some_and(|now| now.before.contains_key(uri))
    }

    /// Shows it these texts.
    pub(super) fn swap_in(&mut self, number: u64, texts: &[Snapshot], stale: Stale) {
        self.return_stale(stale, texts);
        let mut before = BTreeMap::new();
        let others = texts.iter().flat_map(|text| {
            let named = |uri| Snapshot {
                uri,
                ..text.clone()
            };
            self.others_of(&text.uri).into_iter().map(named)
        });
        let others: Vec<Snapshot> = others.collect();
        for text in texts.iter().chain(&others) {
            let now = self.held(&text.uri).map(|held| held.snapshot.clone());
            match &now {
                Some(now) if now.text == text.text => continue,
                Some(now) => {
                    let said = by_texts(&now.text, &text.text, false);
                    self.say(&text.uri, text.clone(), said);
                }
                None => {
                    self.open(text, false);
                    self.is_other(&text.uri);
                }
            }
            if let Some(version) = self.held(&text.uri).map(|held| held.version) {
                self.shown.remember(&text.uri, version);
            }
            before.insert(text.uri.clone(), now);
        }
        self.shown.now = Some(Swapped { number, before });
    }

    /// Gives it back what it had.
    pub(super) fn swap_back(&mut self, number: u64) {
        let Some(swapped) = self.shown.now.take_if(|now| now.number == number) else {
            return;
        };
        for (uri, before) in &swapped.before {
            let now = self.held(uri).map(|held| held.snapshot.text.clone());
            match (before, now) {
                (Some(before), Some(now)) => {
                    let said = by_texts(&now, &before.text, false);
                    self.say(uri, before.clone(), said);
                }
                (None, _) => {
                    self.close(uri);
                    self.is_other(uri);
                }
                (Some(_), None) => {}
            }
        }
        let first = |uri: &DocumentUri, version: i32| match swapped.before.contains_key(uri) {
            true => version,
            false => version + 1,
        };
        self.shown.ordinary = self
            .all()
            .iter()
            .map(|(uri, (_, version))| (uri.clone(), first(uri, *version)))
            .collect();
    }

    /// Of which text the server says something that comes now, as far as that is known.
    pub fn said_of(&self, uri: &DocumentUri, version: Option<i32>) -> (Option<Snapshot>, Of) {
        let held = self.held(uri);
        let text = held.map(|held| {
            let known = version.and_then(|version| held.at(version));
            known.unwrap_or(&held.snapshot).clone()
        });
        let is_of_lease = |version: i32| {
            let versions = self.shown.versions.get(uri);
            versions.is_some_and(|versions| versions.contains(&version))
        };
        let of = match (&self.shown.now, version) {
            (_, Some(version)) if is_of_lease(version) => Of::Held,
            (Some(now), Some(version)) => {
                let is_older = held.is_some_and(|held| version < held.version);
                match is_older || now.before.contains_key(uri) {
                    true => Of::Ours,
                    false => Of::Beside,
                }
            }
            (Some(now), None) if now.before.contains_key(uri) => Of::Held,
            (Some(_), None) => Of::Beside,
            (None, Some(version)) => {
                let first = self.shown.ordinary.get(uri);
                match first.is_some_and(|first| version >= *first) {
                    true => Of::Ours,
                    false => Of::Either,
                }
            }
            (None, None) => Of::Either,
        };
        (text, of)
    }
}
