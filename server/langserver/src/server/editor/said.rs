//! What the editor's servers say of documents. Their diagnostics name no version: they are of the text that there was for a
//! while before they were asked for, as far as anyone can know.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::{MutexGuard, PoisonError, Weak},
    time::Duration,
};

use serde_json::Value;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use workspace::{DocumentUri, Snapshot};

use super::{APART, Editor, NAME, SYMBOLS, is_unable};
use crate::{
    answer::Diagnostic,
    client::Patience,
    mirror::language,
    server::{
        Freshness,
        store::{Kept, Store, Wanted},
    },
    wire,
};

/// So long after the last change are diagnostics asked for in the background.
const SETTLED: Duration = Duration::from_secs(1);
const IN_THE_BACKGROUND: Duration = Duration::from_secs(10);
/// What was said of so many texts of a document is kept, and of so many documents.
const MOST_TEXTS: usize = 4;
const MOST_DOCUMENTS: usize = 256;

/// What was said, by document: of its texts, the latest last.
#[derive(Debug, Default)]
pub(super) struct Said {
    of: BTreeMap<DocumentUri, VecDeque<(Snapshot, Vec<Value>)>>,
    /// Documents to be asked about in the background.
    stale: BTreeSet<DocumentUri>,
}

/// Why it said nothing of a document.
#[derive(Debug)]
pub(crate) enum Failed {
    ForNow(String),
    /// It can't, and is not to be asked again.
    ForEver(String),
}

impl Editor {
    /// Waits until what it says of a document is of its newest text, as far as anyone can know: the same twice, with no
    /// change of the text in between. `Unavailable`: a server of ours is to be asked.
    pub async fn freshen(&self, document: &Snapshot, patience: &Patience) -> Freshness {
        let mut last: Option<(Vec<Value>, Snapshot)> = None;
        let mut has_failed = false;
        loop {
            let before = self.newest(document);
            let items = match patience.wait(self.fetch(&before, patience)).await {
                Err(_) => return Freshness::Pending,
                Ok(Err(Failed::ForNow(_))) if !has_failed => {
                    has_failed = true;
                    last = None;
                    if patience.wait(tokio::time::sleep(APART)).await.is_err() {
                        return Freshness::Pending;
                    }
                    continue;
                }
                Ok(Err(error)) => {
                    return Freshness::Unavailable(self.given_up(error, document));
                }
                Ok(Ok(items)) => items,
            };
            let now = self.newest(document);
            let is_same = last.is_some_and(|(said, of)| said == items && of.text == now.text);
            if is_same && before.text == now.text {
                return Freshness::Fresh;
            }
            last = Some((items, now));
            if patience.wait(tokio::time::sleep(APART)).await.is_err() {
                return Freshness::Pending;
            }
        }
    }

    /// What it last said, in the coordinates of `newest`.
    pub fn diagnostics(&self, newest: &Snapshot) -> Vec<Diagnostic> {
        let last = self
            .said()
            .of
            .get(&newest.uri)
            .and_then(|said| said.back().cloned());
        last.map_or_else(Vec::new, |(of, items)| self.converted(items, of, newest))
    }

    /// What it last said of exactly this text, if it was asked then.
    pub fn said_of(&self, text: &Snapshot) -> Option<Vec<Diagnostic>> {
        let items = {
            let said = self.said();
            let texts = said.of.get(&text.uri)?;
            let (_, items) = texts.iter().rev().find(|(of, _)| of.text == text.text)?;
            items.clone()
        };
        Some(self.converted(items, text.clone(), text))
    }

    /// A document was opened, changed or saved: what is said of it is asked for when it has come to rest, for whoever wants
    /// it at once.
    pub fn touched(&self, document: &Snapshot) {
        if self.diagnoses(document) {
            self.said().stale.insert(document.uri.clone());
            self.bell.notify_one();
        }
    }

    /// Asks for what it says of a document now.
    pub async fn fetch(
        &self,
        document: &Snapshot,
        patience: &Patience,
    ) -> Result<Vec<Value>, Failed> {
        let said = self.port.diagnostics(Some(&document.uri)).await;
        let mut said = said.map_err(|error| match is_unable("copydesk/diagnostics", &error) {
            true => Failed::ForEver(error),
            false => Failed::ForNow(error),
        })?;
        let Some(said) = said.as_array_mut() else {
            return Err(Failed::ForEver("its diagnostics are no list".into()));
        };
        let mut items = Vec::new();
        for one in said {
            if wire::read_uri(&one["uri"]).as_ref() == Some(&document.uri)
                && let Value::Array(more) = one["diagnostics"].take()
            {
                items.extend(more);
            }
        }
        // Silence is that of a clean document only if there is somebody who would speak.
        if items.is_empty() && !self.has_server(document, patience).await {
            let why = format!("it has no server for {}", language(document));
            // It has just been asked, and may only have failed over it.
            return Err(match self.answers(SYMBOLS, document) {
                true => Failed::ForNow(why),
                false => Failed::ForEver(why),
            });
        }
        self.keep(document, items.clone());
        Ok(items)
    }

    /// Why there is nothing, in words. If that will stay so, it is not asked any more.
    fn given_up(&self, failed: Failed, document: &Snapshot) -> String {
        match failed {
            Failed::ForNow(why) => why,
            Failed::ForEver(why) => {
                self.refuse("", language(document));
                why
            }
        }
    }

    fn keep(&self, document: &Snapshot, items: Vec<Value>) {
        let mut said = self.said();
        if said.of.len() >= MOST_DOCUMENTS && !said.of.contains_key(&document.uri) {
            said.of.pop_first();
        }
        let texts = said.of.entry(document.uri.clone()).or_default();
        // Answers may overtake each other.
        if texts
            .back()
            .is_some_and(|(of, _)| of.revision > document.revision)
        {
            return;
        }
        texts.retain(|(of, _)| of.text != document.text);
        texts.push_back((document.clone(), items));
        if texts.len() > MOST_TEXTS {
            texts.pop_front();
        }
    }

    fn converted(&self, items: Vec<Value>, of: Snapshot, newest: &Snapshot) -> Vec<Diagnostic> {
        let store = Store::default();
        let kept = Kept {
            items,
            of: Some(of),
            named: false,
            at: Instant::now(),
        };
        store.pull(newest.uri.clone(), kept);
        store.diagnostics(newest, Wanted::Known, self.encoding(), NAME)
    }

    fn newest(&self, document: &Snapshot) -> Snapshot {
        self.buffers
            .get(&document.uri)
            .unwrap_or_else(|| document.clone())
    }

    fn said(&self) -> MutexGuard<'_, Said> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Asks for the diagnostics of the editor's documents when they have come to rest.
pub(crate) async fn keep_asked(editor: Weak<Editor>) {
    let Some(bell) = editor.upgrade().map(|editor| editor.bell.clone()) else {
        return;
    };
    loop {
        bell.notified().await;
        while tokio::time::timeout(SETTLED, bell.notified()).await.is_ok() {
            if editor.strong_count() == 0 {
                return;
            }
        }
        let Some(editor) = editor.upgrade() else {
            return;
        };
        let stale = std::mem::take(&mut editor.said().stale);
        for document in stale.iter().filter_map(|uri| editor.buffers.get(uri)) {
            let patience = Patience::of(IN_THE_BACKGROUND, &CancellationToken::new());
            let fetched = patience.wait(editor.fetch(&document, &patience)).await;
            if let Ok(Err(error)) = fetched {
                let error = editor.given_up(error, &document);
                tracing::debug!(uri = %document.uri, error, "no diagnostics of the editor");
            }
        }
    }
}
