//! Diagnostics of one server, by whichever way it gives them: pulled where it answers to that, else as it pushes them.
//! It tells what is fresh from what is not; silence counts as an answer only of a server that is known for it.

use std::{
    collections::BTreeSet,
    sync::{Arc, PoisonError, Weak},
};

use serde_json::{Value, json};
use tokio::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;
use workspace::{DocumentUri, Snapshot};

use super::{
    CHECK_SETTLES, Heard, Phase, Server,
    store::{Doubt, Kept, LOOKS_ANEW, MOST_ITEMS, QUIET, Wanted},
};
use crate::{
    answer::{Diagnostic, QueryError},
    client::Patience,
    mirror::Of,
    wire,
};

pub(super) const PULL: &str = "textDocument/diagnostic";
/// A question that is answered by who has understood the text.
const UNDERSTANDS: &str = "textDocument/hover";
/// So long after the last change are the diagnostics of a buffer asked for in the background.
const SETTLED: Duration = Duration::from_millis(200);
/// A check that follows a save begins within this long, if there are checks at all.
const UNTIL_A_CHECK_BEGINS: Duration = Duration::from_secs(2);
const IN_THE_BACKGROUND: Duration = Duration::from_secs(30);

/// Whether what is said of a document is of its text.
#[derive(Debug)]
pub(crate) enum Freshness {
    Fresh,
    Pending,
    Unavailable(String),
}

impl Server {
    /// Waits until what is known of a document is of this snapshot or a later text; not for long again of a server that
    /// was waited for in full and has never sent anything.
    pub async fn freshen(self: &Arc<Self>, snapshot: &Snapshot, patience: &Patience) -> Freshness {
        self.show(snapshot);
        match self.ready(patience).await {
            Ok(true) => {}
            Ok(false) | Err(QueryError::Cancelled) => return Freshness::Pending,
            Err(error) => return Freshness::Unavailable(error.to_string()),
        }
        let begun = Instant::now();
        let patience = self.patience_for_diagnostics(patience);
        let freshness = self.told_of(snapshot, &patience).await;
        if matches!(freshness, Freshness::Pending) && !patience.cancel.is_cancelled() {
            self.said_nothing_since(begun);
        }
        freshness
    }

    async fn told_of(self: &Arc<Self>, snapshot: &Snapshot, patience: &Patience) -> Freshness {
        let mut ticks = self.store.ticks();
        loop {
            ticks.mark_unchanged();
            if self.supports(PULL, Some(snapshot)) {
                return match self.pull(snapshot, patience).await {
                    Ok(()) => Freshness::Fresh,
                    Err(QueryError::TimedOut { .. } | QueryError::Cancelled) => Freshness::Pending,
                    // It has just taken its registration back.
                    Err(QueryError::NotSupported { .. })
                        if !self.supports(PULL, Some(snapshot)) =>
                    {
                        continue;
                    }
                    Err(error) => Freshness::Unavailable(error.to_string()),
                };
            }
            if !self.is_alive() {
                return Freshness::Unavailable(self.died().to_string());
            }
            let quiet = match self.pushed_for(snapshot) {
                Pushed::Fresh => return Freshness::Fresh,
                Pushed::FreshIfQuietUntil(then) => then,
                Pushed::Stale if self.is_silent_of(snapshot, patience).await => {
                    return Freshness::Fresh;
                }
                // It may have spoken meanwhile.
                Pushed::Stale if ticks.has_changed().unwrap_or(false) => continue,
                Pushed::Stale => patience.until,
            };
            let step = Patience {
                until: quiet.min(patience.until),
                cancel: patience.cancel.clone(),
            };
            let _ = step.wait(ticks.changed()).await;
            if patience.cancel.is_cancelled() || Instant::now() >= patience.until {
                return Freshness::Pending;
            }
        }
    }

    /// What it says of a text, or a later one, by its own analysis: without what follows saves.
    pub async fn native(self: &Arc<Self>, snapshot: &Snapshot, patience: &Patience) -> Heard {
        match self.freshen(snapshot, patience).await {
            Freshness::Fresh => self.said_natively(snapshot),
            Freshness::Pending => Heard::Pending,
            Freshness::Unavailable(reason) => Heard::Unavailable(reason),
        }
    }

    /// The same of a document whose text nobody changed, but others did whose names are given. Where diagnostics are
    /// pushed, they are what was said last once the server has spoken of those (since a lease has ended) and fallen silent.
    pub async fn beside(
        self: &Arc<Self>,
        snapshot: &Snapshot,
        changed: &[DocumentUri],
        since: Instant,
        patience: &Patience,
    ) -> Heard {
        if self.supports(PULL, Some(snapshot)) {
            return self.native(snapshot, patience).await;
        }
        self.show(snapshot);
        if let Some(mirror) = self.mirror() {
            mirror.told(None, |wire| wire.look_again(&snapshot.uri));
        }
        let mut ticks = self.store.ticks();
        loop {
            ticks.mark_unchanged();
            let spoken: Option<Vec<Instant>> = changed
                .iter()
                .map(|uri| self.store.last_pushed(uri).filter(|at| *at >= since))
                .collect();
            let last = spoken.map(|spoken| {
                let own = self.store.last_pushed(&snapshot.uri);
                spoken.into_iter().chain(own).fold(since, Instant::max) + QUIET
            });
            // What was said may still be of the lease.
            let all = changed.iter().chain([&snapshot.uri]);
            let settled = all.fold(last, |until, uri| match self.store.doubtful_until(uri) {
                Doubt::None | Doubt::UntilMoreIsSaid => until,
                Doubt::Until(then) => until.map(|until| until.max(then)),
                Doubt::UntilTheEndIsSeen => None,
            });
            let until = match settled {
                Some(settled) if settled <= Instant::now() => return self.said_natively(snapshot),
                Some(settled) => settled,
                None => patience.until,
            };
            let step = Patience {
                until: until.min(patience.until),
                cancel: patience.cancel.clone(),
            };
            let _ = step.wait(ticks.changed()).await;
            if patience.cancel.is_cancelled() || Instant::now() >= patience.until {
                return Heard::Pending;
            }
        }
    }

    /// Whether it is asked for diagnostics; else it tells them when it likes.
    pub fn is_asked_for_diagnostics(&self, snapshot: &Snapshot) -> bool {
        self.supports(PULL, Some(snapshot))
    }

    /// It was ready, and was waited for in vain to say something of a document.
    pub fn was_silent(&self, uri: &DocumentUri) {
        *self.store.silent() = Some(uri.clone());
    }

    /// Whether it was waited for in vain the last time, and has said nothing since that is wrong with this document.
    pub fn is_silent(&self, uri: &DocumentUri) -> bool {
        self.store.silent().is_some() && self.store.is_clean(uri)
    }

    fn said_natively(&self, snapshot: &Snapshot) -> Heard {
        let uri = &snapshot.uri;
        let said = |kept: &Kept| {
            let of = kept.of.clone().unwrap_or_else(|| snapshot.clone());
            let mut found = kept.converted(&of, self.encoding(), &self.name);
            let sources = &self.traits.on_save_sources;
            found.retain(|one| !one.source.as_ref().is_some_and(|one| sources.contains(one)));
            Heard::Said(of, found)
        };
        let heard = match self.supports(PULL, Some(snapshot)) {
            true => self.store.pulled(uri, said),
            false => self.store.pushed(uri, said),
        };
        // Silence is never an answer.
        heard.unwrap_or(Heard::Pending)
    }

    /// Waits until the checks that follow saves have looked at a text that is saved. False if they will not: it is not
    /// saved, nothing begins, or the time is up.
    pub async fn checked(&self, snapshot: &Snapshot, patience: &Patience) -> bool {
        let begins = Instant::now() + UNTIL_A_CHECK_BEGINS;
        let mut ticks = self.store.ticks();
        if self.is_written_since(snapshot)
            && !self.is_checking()
            && let Some(mirror) = self.mirror()
        {
            mirror.told(Some(snapshot), |wire| wire.say_saved(&snapshot.uri));
        }
        loop {
            ticks.mark_unchanged();
            if self.unchecked(snapshot).is_empty() {
                return true;
            }
            let is_saved = self
                .mirror()
                .is_some_and(|mirror| mirror.wire().is_saved(snapshot));
            let is_under_way = self.is_checking();
            if !is_saved || !self.is_alive() || (!is_under_way && Instant::now() >= begins) {
                return false;
            }
            // Rung by each progress; that a check has settled is seen by looking again.
            let until = if is_under_way {
                Instant::now() + CHECK_SETTLES
            } else {
                begins
            };
            let step = Patience {
                until: until.min(patience.until),
                cancel: patience.cancel.clone(),
            };
            let _ = step.wait(ticks.changed()).await;
            if patience.cancel.is_cancelled() || Instant::now() >= patience.until {
                return false;
            }
        }
    }

    /// The titles of fixes that a check made of a text other than this: they would land elsewhere. A check's fix is called
    /// as what the check said with it.
    pub fn stale_fixes(&self, snapshot: &Snapshot) -> BTreeSet<String> {
        let unchecked = self.unchecked(snapshot);
        if unchecked.is_empty() {
            return BTreeSet::new();
        }
        let of_check = |item: &&Value| {
            let source = item["source"].as_str();
            source.is_some_and(|source| unchecked.iter().any(|one| one == source))
        };
        let said = |item: &Value| -> Vec<String> {
            let related = item["relatedInformation"].as_array();
            let all = std::iter::once(item).chain(related.into_iter().flatten());
            all.filter_map(|one| one["message"].as_str().map(str::to_owned))
                .collect()
        };
        self.store
            .pushed(&snapshot.uri, |kept| {
                kept.items.iter().filter(of_check).flat_map(said).collect()
            })
            .unwrap_or_default()
    }

    /// What is known to be of `since`'s text or later, in the coordinates of `newest`.
    pub fn fresh(&self, since: &Snapshot, newest: &Snapshot) -> Vec<Diagnostic> {
        let wanted = Wanted::Fresh {
            since: since.revision,
            unchecked: self.unchecked(newest),
        };
        self.store
            .diagnostics(newest, wanted, self.encoding(), &self.name)
    }

    /// What it last said, in the coordinates of `newest`.
    pub fn known(&self, newest: &Snapshot) -> Vec<Diagnostic> {
        self.store
            .diagnostics(newest, Wanted::Known, self.encoding(), &self.name)
    }

    /// The server pushed diagnostics.
    pub(super) fn published(&self, mut params: Value) {
        let Some(uri) = wire::read_uri(&params["uri"]) else {
            return;
        };
        let Value::Array(mut items) = params["diagnostics"].take() else {
            return;
        };
        items.truncate(MOST_ITEMS);
        let version = params["version"]
            .as_i64()
            .and_then(|version| i32::try_from(version).ok());
        let (of, when) = match self.mirror() {
            Some(mirror) => {
                let wire = mirror.wire();
                let (of, when) = wire.said_of(&uri, version);
                // A check of what is on disk goes on under a lease, and knows nothing of it.
                match when {
                    Of::Held | Of::Beside | Of::Either if self.only_checks(&items) => {
                        (wire.ours(&uri), Of::Ours)
                    }
                    _ => (of, when),
                }
            }
            None => (None, Of::Ours),
        };
        let kept = Kept {
            items,
            of,
            named: version.is_some(),
            at: Instant::now(),
        };
        self.store.push(uri, kept, when);
        if self.store.is_full() {
            let open = self.mirror().map(|mirror| mirror.wire().all());
            self.store
                .forget(|uri| open.as_ref().is_some_and(|open| open.contains_key(uri)));
        }
    }

    /// Whether what was pushed is only what follows saves: its native diagnostics are pulled.
    fn only_checks(&self, items: &[Value]) -> bool {
        let sources = &self.traits.on_save_sources;
        let follows_saves = |item: &Value| {
            let source = item["source"].as_str();
            source.is_some_and(|source| sources.iter().any(|one| one == source))
        };
        !sources.is_empty() && self.supports(PULL, None) && items.iter().all(follows_saves)
    }

    /// Buffers were told of: what is known of them is old.
    pub(super) fn touched(&self, uris: Vec<DocumentUri>) {
        self.store
            .stale
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend(uris);
        self.stale.notify_one();
    }

    /// All that is known of the buffers may be old.
    pub fn refresh(&self) {
        if let Some(mirror) = self.mirror() {
            let buffers = mirror.wire().buffers();
            self.touched(buffers);
        }
        self.store.ring();
    }

    async fn pull(
        self: &Arc<Self>,
        snapshot: &Snapshot,
        patience: &Patience,
    ) -> Result<(), QueryError> {
        let uri = &snapshot.uri;
        let asked = self
            .ask(
                PULL,
                snapshot,
                patience,
                |about| json!({"textDocument": {"uri": about.snapshot.uri.as_str()}}),
            )
            .await?;
        let mut report = wire::read_tree(&asked.answer).unwrap_or_default();
        let keep = |uri: &DocumentUri, report: &mut Value| {
            // An unchanged report never comes: we name no earlier result.
            if let Value::Array(items) = report["items"].take() {
                let of = asked.texts.get(uri).map(|(snapshot, _)| snapshot.clone());
                self.store.pull(
                    uri.clone(),
                    Kept {
                        items,
                        of,
                        named: true,
                        at: Instant::now(),
                    },
                );
            }
        };
        if let Value::Object(related) = report["relatedDocuments"].take() {
            for (name, mut report) in related {
                if let Ok(uri) = DocumentUri::parse(&name) {
                    keep(&uri, &mut report);
                }
            }
        }
        keep(uri, &mut report);
        Ok(())
    }

    /// Waits until it has looked again at what a document includes, if some of that changed: until then it would answer of
    /// what was there before. That it has looked it tells by what it says of the document, if there is anything to say.
    pub(super) async fn looked_again(&self, document: &Snapshot, patience: &Patience) {
        let Some(mirror) = self.mirror() else { return };
        let mut ticks = self.store.ticks();
        loop {
            ticks.mark_unchanged();
            let looked = mirror.told(Some(document), |wire| {
                if wire.lease().is_none() {
                    wire.look_again(&document.uri);
                }
                wire.looked()
            });
            let Some(looked) = looked else { return };
            let has_said = self.store.last_pushed(&document.uri) >= Some(looked);
            let until = (looked + LOOKS_ANEW).min(patience.until);
            if has_said || Instant::now() >= until {
                return;
            }
            let step = Patience {
                until,
                cancel: patience.cancel.clone(),
            };
            if step.wait(ticks.changed()).await.is_err() {
                return;
            }
        }
    }

    /// Waits until it has said something of all these, if it pushes.
    pub async fn has_spoken_of(&self, all: &[DocumentUri], since: Instant, patience: &Patience) {
        let mut ticks = self.store.ticks();
        loop {
            ticks.mark_unchanged();
            let said = |uri| self.store.last_pushed(uri) >= Some(since);
            if self.is_mute() || !self.is_alive() || all.iter().all(said) {
                return;
            }
            if patience.wait(ticks.changed()).await.is_err() {
                return;
            }
        }
    }

    /// Whether a server that says nothing of a document without problems has looked at this text and is silent: then that
    /// is kept as if it had been said. Any other server's silence is no answer.
    async fn is_silent_of(self: &Arc<Self>, snapshot: &Snapshot, patience: &Patience) -> bool {
        let uri = &snapshot.uri;
        if !self.traits.silent_when_clean || !self.store.is_clean(uri) {
            return false;
        }
        let begun = Instant::now();
        let mut of = None;
        // By then it has begun to look. What it has begun it ends before it answers; it may answer between two of its looks
        // (at the syntax, at the types), so it is asked once for each and once more.
        for pause in [Duration::ZERO, LOOKS_ANEW, Duration::ZERO, Duration::ZERO] {
            let asked = async {
                tokio::time::sleep(pause).await;
                self.ask(UNDERSTANDS, snapshot, patience, |about| {
                    json!({
                        "textDocument": {"uri": about.snapshot.uri.as_str()},
                        "position": {"line": 0, "character": 0},
                    })
                })
                .await
            };
            let asked = tokio::select! {
                asked = asked => asked,
                () = self.speaks_of(uri, begun) => return false,
            };
            let Some(told) = asked.ok().and_then(|asked| asked.texts.get(uri).cloned()) else {
                return false;
            };
            // Another text came between: silence is of none of them.
            if of
                .replace(told.0.text.clone())
                .is_some_and(|of| of != told.0.text)
            {
                return false;
            }
        }
        tokio::select! {
            () = tokio::time::sleep(QUIET) => {}
            () = self.speaks_of(uri, begun) => return false,
        }
        let newest = self.mirror().and_then(|mirror| mirror.wire().ours(uri));
        let Some(newest) = newest.filter(|newest| Some(&newest.text) == of.as_ref()) else {
            return false;
        };
        if self.store.was_leased_since(begun) || patience.cancel.is_cancelled() {
            return false;
        }
        let kept = Kept {
            items: Vec::new(),
            of: Some(newest),
            named: true,
            at: Instant::now(),
        };
        self.store.push(uri.clone(), kept, Of::Ours);
        true
    }

    /// Until it pushes something for a document.
    async fn speaks_of(&self, uri: &DocumentUri, since: Instant) {
        let mut ticks = self.store.ticks();
        while self.store.last_pushed(uri) < Some(since) {
            if ticks.changed().await.is_err() {
                return;
            }
        }
    }

    fn pushed_for(&self, snapshot: &Snapshot) -> Pushed {
        let Some(mirror) = self.mirror() else {
            return Pushed::Stale;
        };
        // The server must have the text before anything it says can be of it.
        let (newest, beside) = mirror.told(Some(snapshot), |wire| {
            if wire.lease().is_none() {
                wire.look_again(&snapshot.uri);
            }
            let beside = wire.changed_beside(&snapshot.uri).max(wire.looked());
            (wire.ours(&snapshot.uri), beside)
        });
        let newest = newest.unwrap_or_else(|| snapshot.clone());
        match self.store.doubtful_until(&snapshot.uri) {
            Doubt::None => {}
            Doubt::Until(then) => return Pushed::FreshIfQuietUntil(then),
            Doubt::UntilMoreIsSaid | Doubt::UntilTheEndIsSeen => return Pushed::Stale,
        }
        let look = |kept: &Kept| {
            if !kept.is_of(snapshot.revision, &newest) {
                return Pushed::Stale;
            }
            // It may look anew at this document because of another, and then it says so, if there is anything new to say.
            let quiet = match beside {
                Some(beside) if kept.at < beside => beside + LOOKS_ANEW,
                Some(beside) if kept.at < beside + LOOKS_ANEW => kept.at + QUIET,
                _ if kept.named => return Pushed::Fresh,
                _ => kept.at + QUIET,
            };
            match quiet <= Instant::now() {
                true => Pushed::Fresh,
                false => Pushed::FreshIfQuietUntil(quiet),
            }
        };
        self.store
            .pushed(&snapshot.uri, look)
            .unwrap_or(Pushed::Stale)
    }
}

enum Pushed {
    Fresh,
    FreshIfQuietUntil(Instant),
    Stale,
}

/// Asks for the diagnostics of the editor's buffers when they have settled, so that they are known when someone wants
/// them at once. Only servers that do not push need it.
pub(super) async fn keep_asked(server: Weak<Server>) {
    let Some(mut phases) = server.upgrade().map(|server| server.phase.subscribe()) else {
        return;
    };
    loop {
        let Some(server) = server.upgrade() else {
            return;
        };
        tokio::select! {
            () = server.stale.notified() => {}
            _ = phases.changed() => {
                match server.phase() {
                    Phase::Dead => return,
                    Phase::Ready => server.refresh(),
                    _ => {}
                }
                continue;
            }
        }
        while tokio::time::timeout(SETTLED, server.stale.notified())
            .await
            .is_ok()
        {}
        if server.phase() != Phase::Ready {
            continue;
        }
        let stale = std::mem::take(
            &mut *server
                .store
                .stale
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        );
        for uri in stale {
            let Some(mirror) = server.mirror() else {
                return;
            };
            let held = mirror.wire().held(&uri).map(|held| held.snapshot.clone());
            // What lies in another project is another server's to say.
            let is_ours = |path: &std::path::Path| path.starts_with(&server.root);
            let held = held.filter(|snapshot| snapshot.uri.path().is_none_or(is_ours));
            let Some(snapshot) = held.filter(|snapshot| server.supports(PULL, Some(snapshot)))
            else {
                continue;
            };
            let patience = Patience::of(IN_THE_BACKGROUND, &CancellationToken::new());
            if let Err(error) = server.pull(&snapshot, &patience).await {
                tracing::debug!(server = server.name, %uri, %error, "no diagnostics");
            }
        }
    }
}
