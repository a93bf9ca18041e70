//! What edits did to the diagnostics: of the edited documents first, then of those that depend on them, while time lasts.
//! The servers are asked of the texts as they are, and under a lease of the texts as they were. It changes nothing.

mod compare;
mod dependents;
mod since;

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use futures::future::{join, join_all};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use workspace::{ByteRange, DocumentUri, Snapshot, Text};

pub(super) use self::compare::compared;
use self::dependents::Found;
use super::{Pool, slot::Slot};
use crate::{
    answer::{Consequences, Diagnostic, QueryError},
    client::Patience,
    mirror::{difference, language},
    queries::Question,
    server::{Heard, Leased, Turn, Used},
};

/// How many documents beside the edited ones are looked at.
const MOST_DEPENDENTS: usize = 20;

impl Pool {
    /// What edits did to the diagnostics of the edited documents and of those that depend on them. `before` holds each
    /// edited document as it was before the edits (empty if it did not exist); what they are now is read. Answers within
    /// `deadline`, and what is not known by then is pending. What follows saves (`rustc`) is left out: its diagnostics
    /// are of what was saved and checked, hardly ever of both texts.
    pub async fn consequences(
        &self,
        before: &[Snapshot],
        deadline: Duration,
        cancel: &CancellationToken,
    ) -> Consequences {
        let patience = Patience::of(deadline, cancel);
        let mut all = Consequences::default();
        let mut groups: Vec<(Arc<Slot>, Vec<Edited>)> = Vec::new();
        let before = self.unhidden(before.to_vec()).await;
        let (of_editor, rest) = self.consequences_in_editor(&before, &patience).await;
        all.add(of_editor);
        for before in rest {
            let edited = Edited {
                now: self.read(&before.uri).await.ok(),
                before: before.clone(),
            };
            match self.slot(before) {
                Ok(slot) => match groups.iter_mut().find(|(one, _)| Arc::ptr_eq(one, &slot)) {
                    Some((_, group)) => group.push(edited),
                    None => groups.push((slot, vec![edited])),
                },
                Err(error) => all
                    .unavailable
                    .push((before.uri.clone(), error.to_string())),
            }
        }
        let groups = groups
            .into_iter()
            .map(|(slot, edited)| self.consequences_at(slot, edited, &patience));
        for one in join_all(groups).await {
            all.add(one);
        }
        // Within a document they are in order; the edited documents stand first.
        all.added.sort_by_key(|(_, diagnostic)| diagnostic.severity);
        all
    }

    async fn consequences_at(
        &self,
        slot: Arc<Slot>,
        edited: Vec<Edited>,
        patience: &Patience,
    ) -> Consequences {
        let mut step = Step {
            pool: self,
            patience,
            documents: edited.iter().map(Edited::document).collect(),
            edited,
            unlooked: BTreeSet::new(),
            unfollowed: BTreeSet::new(),
            left: BTreeSet::new(),
        };
        let server = match slot.acquire(self, patience).await {
            Ok(server) => server,
            Err(QueryError::NotReady { name, .. }) => {
                return step.pending(&format!("{name} is starting"));
            }
            Err(error @ (QueryError::NotInstalled { .. } | QueryError::NoServer { .. })) => {
                return step.unavailable(&error.to_string());
            }
            Err(error) => return step.pending(&error.to_string()),
        };
        if server.is_mute() {
            let reason = format!("{} tells of no problems", server.name());
            return step.unavailable(&reason);
        }
        for now in step.edited.iter().filter_map(|one| one.now.as_ref()) {
            server.show(now);
        }
        match server.ready(patience).await {
            Ok(true) => {}
            Ok(false) => return step.pending(&format!("{} is still indexing", server.name())),
            Err(error) => return step.pending(&error.to_string()),
        }
        step.look(&server).await;
        let cautions = server.trouble().into_iter();
        let cautions = cautions.map(|trouble| trouble.of(server.name()).words);
        Consequences {
            not_asked: server.on_save_sources().to_vec(),
            cautions: cautions.collect(),
            ..step.result(server.name())
        }
    }
}

impl Consequences {
    pub(super) fn add(&mut self, other: Self) {
        self.added.extend(other.added);
        self.cured += other.cured;
        self.pending.extend(other.pending);
        self.unavailable.extend(other.unavailable);
        self.not_asked.extend(other.not_asked);
        for words in other.cautions {
            if !self.cautions.contains(&words) {
                self.cautions.push(words);
            }
        }
        for what in other.unlooked {
            if !self.unlooked.contains(&what) {
                self.unlooked.push(what);
            }
        }
    }
}

/// A document that was edited.
struct Edited {
    before: Snapshot,
    /// `None`: it was deleted.
    now: Option<Snapshot>,
}

/// A document that is looked at, and what was said of it.
struct Document {
    text: Snapshot,
    why: Why,
    before: Option<Heard>,
    now: Option<Heard>,
}

/// Why a document is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Why {
    Edited,
    Depends,
    /// Nothing says that it depends on what was edited.
    Open,
}

/// What is found out about the edits of one server's documents.
struct Step<'a> {
    pool: &'a Pool,
    patience: &'a Patience,
    edited: Vec<Edited>,
    documents: Vec<Document>,
    /// What could not be found out, in words.
    unlooked: BTreeSet<String>,
    /// Changed symbols of which nobody looked what depends on them.
    unfollowed: BTreeSet<String>,
    /// Documents that depend on the edited ones, and are not looked at because there are too many.
    left: BTreeSet<DocumentUri>,
}

impl Edited {
    fn document(&self) -> Document {
        let nothing = |text: &Snapshot| Heard::Said(text.clone(), Vec::new());
        Document {
            text: self.before.clone(),
            why: Why::Edited,
            // Of an empty text there is nothing to say, and a document that is gone has no problems.
            before: self.before.text.is_empty().then(|| nothing(&self.before)),
            now: self.now.is_none().then(|| nothing(&self.before)),
        }
    }

    /// What changed, in the text before and in the text now.
    fn change(&self) -> (ByteRange, ByteRange) {
        let Some(now) = &self.now else {
            let whole = ByteRange::new(0, self.before.text.len());
            return (whole, ByteRange::new(0, 0));
        };
        let change = difference(&self.before.text, &now.text);
        let start = change.range.start.0;
        (
            change.range,
            ByteRange::new(start, start + change.text.len()),
        )
    }
}

impl Step<'_> {
    async fn look(&mut self, server: &Used) {
        let (now, found) = join(self.now_of_edited(server), self.dependents_now(server)).await;
        for (at, heard) in now {
            self.documents[at].now = Some(heard);
        }
        let asked_about = self.found(server, found);
        self.add(server, self.open_beside(server).await, Why::Open);
        let is_known = |document: &Document| document.before.is_some();
        if self.documents.iter().all(is_known) {
            return;
        }
        let texts: Vec<Snapshot> = self.edited.iter().map(|one| one.before.clone()).collect();
        // What is left after it goes to what the dependents are like now.
        let for_lease = share(self.patience, 0.7);
        if let Ok(lease) = server.lease(&texts, &for_lease).await {
            self.look_before(server, &lease, asked_about, &for_lease)
                .await;
        }
        let since = Instant::now();
        let waits: Vec<usize> = self.unknown(|document| document.now.is_none());
        let edited: Vec<DocumentUri> = self.edited_now().map(|now| now.uri.clone()).collect();
        let heard = waits.iter().map(async |&at| {
            let text = &self.documents[at].text;
            let heard = server.beside(text, &edited, since, self.patience).await;
            (at, heard)
        });
        for (at, heard) in join_all(heard).await {
            self.documents[at].now = Some(heard);
        }
    }

    async fn now_of_edited(&self, server: &Used) -> Vec<(usize, Heard)> {
        let edited = self.edited.iter().enumerate();
        let heard = edited.filter_map(|(at, edited)| {
            let now = edited.now.as_ref()?;
            Some(async move { (at, server.native(now, self.patience).await) })
        });
        join_all(heard).await
    }

    /// What depends on the changed symbols that there are now.
    async fn dependents_now(&self, server: &Used) -> Found {
        let mut found = Found::default();
        for edited in &self.edited {
            let (_, changed) = edited.change();
            if let Some(now) = &edited.now {
                let question = self.question(server, now, self.patience, Turn::Ordinary);
                found.look(&question, changed).await;
            }
        }
        found
    }

    /// Everything that is asked of the texts as they were: the edited ones first.
    async fn look_before(
        &mut self,
        server: &Used,
        lease: &Leased,
        known: BTreeSet<String>,
        patience: &Patience,
    ) {
        self.hear_before(lease, patience).await;
        let mut found = Found {
            known,
            ..Found::default()
        };
        for edited in &self.edited {
            let (changed, _) = edited.change();
            let question = self.question(server, &edited.before, patience, lease.turn());
            found.look(&question, changed).await;
        }
        self.found(server, found);
        self.hear_before(lease, patience).await;
    }

    /// Takes what was found, and gives the symbols that were asked about.
    fn found(&mut self, server: &Used, found: Found) -> BTreeSet<String> {
        self.unlooked.extend(found.unlooked);
        self.unfollowed.extend(found.unfollowed);
        self.add(server, found.documents, Why::Depends);
        found.names
    }

    fn question(
        &self,
        server: &Used,
        document: &Snapshot,
        patience: &Patience,
        turn: Turn,
    ) -> Question {
        Question {
            server: server.clone().into(),
            document: document.clone(),
            seen: document.clone(),
            workspace: self.pool.workspace.clone(),
            // The rest of the time is for what those say that depend on it.
            until_ready: share(patience, 0.4),
            answer: share(patience, 0.6),
            turn,
        }
    }

    async fn hear_before(&mut self, lease: &Leased, patience: &Patience) {
        // Of the edited ones alone the first time: what others are like is asked when these are known.
        let are_edited_known = self
            .documents
            .iter()
            .all(|one| one.why != Why::Edited || one.before.is_some());
        let waits = self.unknown(|document| {
            document.before.is_none() && (are_edited_known || document.why == Why::Edited)
        });
        let heard = waits.iter().map(async |&at| {
            let text = &self.documents[at].text;
            (at, lease.diagnose(text, patience).await)
        });
        for (at, heard) in join_all(heard).await {
            self.documents[at].before = Some(heard);
        }
    }

    fn unknown(&self, is_unknown: impl Fn(&Document) -> bool) -> Vec<usize> {
        (0..self.documents.len())
            .filter(|&at| is_unknown(&self.documents[at]))
            .collect()
    }

    fn edited_now(&self) -> impl Iterator<Item = &Snapshot> {
        self.edited.iter().filter_map(|one| one.now.as_ref())
    }

    /// Looks at these too, as long as there are not too many.
    fn add(&mut self, server: &Used, texts: Vec<Snapshot>, why: Why) {
        for text in texts {
            let beside = self.documents.len() - self.edited.len();
            let mut known = self.documents.iter_mut();
            if let Some(known) = known.find(|one| one.text.uri == text.uri) {
                if known.why == Why::Open {
                    known.why = why;
                }
                continue;
            }
            // What lies elsewhere, as a dependency's source does, nobody edits by mistake.
            let path = text.uri.path();
            let is_ours = path.is_none_or(|path| self.pool.workspace.root_of(path).is_some());
            if !is_ours {
                continue;
            }
            if beside >= MOST_DEPENDENTS || !server.serves(language(&text)) {
                if why == Why::Depends {
                    self.left.insert(text.uri);
                }
            } else {
                self.documents.push(Document {
                    text,
                    why,
                    before: None,
                    now: None,
                });
            }
        }
    }

    /// The editor's documents of the same language that this server has.
    async fn open_beside(&self, server: &Used) -> Vec<Snapshot> {
        let mut open = self.pool.workspace.buffers().all();
        open.retain(|open| server.serves(language(open)));
        let open = self.pool.unhidden(open).await;
        open.into_iter()
            .filter(|open| {
                let owner = self.pool.owner(open);
                owner.is_some_and(|owner| Arc::ptr_eq(&owner, server))
            })
            .collect()
    }

    /// The answer where nothing could be asked now.
    fn pending(self, why: &str) -> Consequences {
        Consequences {
            pending: self.each_with(why),
            ..Consequences::default()
        }
    }

    /// The answer where nothing can be asked.
    fn unavailable(self, why: &str) -> Consequences {
        Consequences {
            unavailable: self.each_with(why),
            ..Consequences::default()
        }
    }

    fn each_with(self, why: &str) -> Vec<(DocumentUri, String)> {
        let edited = self.edited.into_iter();
        edited.map(|one| (one.before.uri, why.to_owned())).collect()
    }

    /// What nobody looked at, in words.
    fn unlooked(&self) -> Vec<String> {
        let mut all: Vec<String> = self.unlooked.iter().cloned().collect();
        if !self.unfollowed.is_empty() {
            let count = self.unfollowed.len();
            all.push(format!(
                "what depends on {count} more of the changed symbols"
            ));
        }
        if !self.left.is_empty() {
            let depend = self.documents.iter().filter(|one| one.why == Why::Depends);
            let (left, looked) = (self.left.len(), depend.count());
            let whole = left + looked;
            all.push(format!(
                "{left} of {whole} files that depend on the changes"
            ));
        }
        all
    }

    fn result(mut self, server: &str) -> Consequences {
        let mut all = Consequences {
            unlooked: self.unlooked(),
            ..Consequences::default()
        };
        // What is gone, and what was wrong in it, as far as that is known.
        let mut gone: Vec<(Text, Option<Vec<Diagnostic>>)> = Vec::new();
        for (edited, document) in self.edited.iter().zip(&mut self.documents) {
            if edited.now.is_some() {
                continue;
            }
            let old = match &mut document.before {
                Some(Heard::Said(_, old)) => Some(counted(std::mem::take(old))),
                _ => None,
            };
            gone.push((edited.before.text.clone(), old));
        }
        for document in self.documents {
            let Document {
                text: Snapshot { uri, .. },
                why,
                before,
                now,
            } = document;
            match (before, now) {
                (Some(Heard::Said(before, old)), Some(Heard::Said(now, new))) => {
                    // What is new may be what is gone under another name.
                    let moved = match before.text.is_empty() {
                        true => gone.iter().position(|(text, _)| is_like(text, &now.text)),
                        false => None,
                    };
                    let (text, old) = match moved {
                        Some(at) => gone.swap_remove(at),
                        None => (before.text, Some(counted(old))),
                    };
                    let Some(old) = old else {
                        all.pending
                            .push((uri, format!("{server} has not finished")));
                        continue;
                    };
                    let (added, cured) = compared((&text, old), (&now.text, counted(new)));
                    all.cured += cured;
                    all.added
                        .extend(added.into_iter().map(|one| (now.clone(), one)));
                }
                _ if why == Why::Open => {}
                (Some(Heard::Unavailable(reason)), _) | (_, Some(Heard::Unavailable(reason))) => {
                    all.pending.push((uri, reason));
                }
                _ => all
                    .pending
                    .push((uri, format!("{server} has not finished"))),
            }
        }
        let left = gone.iter().filter_map(|(_, old)| old.as_ref());
        all.cured += left.map(Vec::len).sum::<usize>();
        all
    }
}

/// Whether most of a text is in another.
fn is_like(old: &Text, new: &Text) -> bool {
    let change = difference(old, new);
    let most = change.range.len().max(change.text.len());
    most * 2 <= old.len().max(new.len())
}

/// This much of the time that is left.
fn share(patience: &Patience, part: f32) -> Patience {
    let left = patience.until.saturating_duration_since(Instant::now());
    Patience {
        until: Instant::now() + left.mul_f32(part),
        cancel: patience.cancel.clone(),
    }
}

/// What is worth acting on: hints and information are notes on other problems, greyed-out code, matters of taste.
pub(super) fn counted(mut found: Vec<Diagnostic>) -> Vec<Diagnostic> {
    found.retain(|one| one.severity <= crate::answer::Severity::Warning);
    found.sort_by_key(|one| (one.range, one.severity));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::Severity;

    #[test]
    fn hints_and_information_do_not_count() {
        let one = |severity| Diagnostic {
            range: ByteRange::new(0, 1),
            severity,
            code: None,
            source: None,
            message: String::new(),
            server: None,
            raw: serde_json::Value::Null,
        };
        let all = [
            Severity::Hint,
            Severity::Information,
            Severity::Warning,
            Severity::Error,
        ];
        let kept = counted(all.map(one).to_vec());
        let kept: Vec<Severity> = kept.iter().map(|one| one.severity).collect();
        assert_eq!(kept, [Severity::Error, Severity::Warning]);
    }
}
