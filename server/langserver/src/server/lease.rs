//! A server is shown held text, asked about it, and gets back what it had: whatever becomes of who asked. Nothing that
//! is said meanwhile is known to anyone else.

use std::{
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use tokio::{sync::OwnedRwLockWriteGuard, time::Instant};
use tokio_util::sync::CancellationToken;
use workspace::{DocumentUri, Snapshot};

use super::{
    Server,
    diagnostics::PULL,
    store::{Kept, QUIET},
};
use crate::{
    answer::{Diagnostic, QueryError},
    client::{Patience, Waiting},
    wire,
};

/// A server that has not answered for so long after a lease is taken to have seen its end.
const UNTIL_IT_SEES: Duration = Duration::from_secs(30);

/// Of which texts a question is: those that the server always has, or those of a lease, which need not live as long.
#[derive(Debug, Clone, Default)]
pub(crate) enum Turn {
    #[default]
    Ordinary,
    Lease(Arc<Shown>),
}

/// A server under a lease. It ends when this is dropped, when its time is up, or when it is cancelled.
#[derive(Debug)]
pub(crate) struct Leased(Arc<Shown>);

/// What a server is shown under a lease.
pub(crate) struct Shown {
    server: Arc<Server>,
    number: u64,
    patience: Patience,
    hold: Mutex<Option<OwnedRwLockWriteGuard<()>>>,
    over: CancellationToken,
    /// The documents of which it is shown other texts.
    uris: Vec<DocumentUri>,
}

/// What a server said of a document under a lease.
#[derive(Debug)]
pub(crate) enum Heard {
    /// Of this text.
    Said(Snapshot, Vec<Diagnostic>),
    /// It has not finished.
    Pending,
    Unavailable(String),
}

impl Server {
    /// Shows it these texts once nobody else asks it anything, until `patience` ends.
    pub async fn lease(
        self: &Arc<Self>,
        texts: &[Snapshot],
        patience: &Patience,
    ) -> Result<Leased, QueryError> {
        static NUMBERS: AtomicU64 = AtomicU64::new(1);
        let hold = patience
            .wait(self.leases.clone().write_owned())
            .await
            .map_err(|error| self.error("a lease", error))?;
        let Some(mirror) = self.mirror() else {
            return Err(self.not_ready());
        };
        let inner = Arc::new(Shown {
            server: self.clone(),
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            patience: patience.clone(),
            hold: Mutex::new(Some(hold)),
            over: CancellationToken::new(),
            uris: texts.iter().map(|text| text.uri.clone()).collect(),
        });
        // From here on it ends by itself, whatever happens.
        let lease = Leased(inner.clone());
        self.store.begin_lease();
        mirror.lease(inner.number, texts);
        tokio::spawn(async move {
            let _ = inner.patience.wait(inner.over.cancelled()).await;
            inner.end();
            let (server, number) = (Arc::downgrade(&inner.server), inner.number);
            let asked = inner.server.ask_after_lease(&inner.uris);
            drop(inner);
            let patience = Patience::of(UNTIL_IT_SEES, &CancellationToken::new());
            let _ = asked.answer(&patience).await;
            if let Some(server) = server.upgrade() {
                server.store.end_seen(number);
            }
        });
        Ok(lease)
    }

    /// Asks something cheap. When it is answered, whatever was told before has been seen. An error is an answer too.
    fn ask_after_lease(&self, uris: &[DocumentUri]) -> Waiting {
        const CHEAP: [&str; 2] = ["textDocument/documentSymbol", "textDocument/hover"];
        let mirror = self.mirror();
        let is_open =
            |uri: &&DocumentUri| mirror.is_some_and(|mirror| mirror.wire().held(uri).is_some());
        let uri = uris.iter().find(is_open).or_else(|| uris.first());
        let can = |method: &&&str| self.supports(method, None);
        let method = CHEAP.iter().find(can).unwrap_or(&CHEAP[0]);
        let params = json!({
            "textDocument": {"uri": uri.map(DocumentUri::as_str)},
            "position": {"line": 0, "character": 0},
        });
        self.client.begin(method, Some(params))
    }
}

impl Leased {
    /// The turn of questions under this lease.
    pub fn turn(&self) -> Turn {
        Turn::Lease(self.0.clone())
    }

    /// Waits for what the server says of a document under this lease.
    pub async fn diagnose(&self, document: &Snapshot, patience: &Patience) -> Heard {
        let server = &self.0.server;
        if server.supports(PULL, Some(document)) {
            return self.pull(document, patience).await;
        }
        let mut ticks = server.store.ticks();
        loop {
            ticks.mark_unchanged();
            if !server.is_alive() {
                return Heard::Unavailable(server.died().to_string());
            }
            let until = match self.pushed(document) {
                Ok(heard) => return heard,
                Err(until) => until.unwrap_or(patience.until),
            };
            let step = Patience {
                until: until.min(patience.until),
                cancel: patience.cancel.clone(),
            };
            tokio::select! {
                biased;
                () = self.0.ended() => return Heard::Pending,
                _ = step.wait(ticks.changed()) => {}
            }
            if patience.cancel.is_cancelled() || Instant::now() >= patience.until {
                return Heard::Pending;
            }
        }
    }

    async fn pull(&self, document: &Snapshot, patience: &Patience) -> Heard {
        let server = &self.0.server;
        let asked = server
            .ask_in(
                &self.turn(),
                PULL,
                document,
                patience,
                |about| json!({"textDocument": {"uri": about.snapshot.uri.as_str()}}),
            )
            .await;
        let asked = match asked {
            Ok(asked) => asked,
            Err(QueryError::TimedOut { .. } | QueryError::Cancelled) => return Heard::Pending,
            Err(error) => return Heard::Unavailable(error.to_string()),
        };
        let mut report = wire::read_tree(&asked.answer).unwrap_or_default();
        let Value::Array(items) = report["items"].take() else {
            return Heard::Pending;
        };
        let text = match asked.texts.get(&document.uri) {
            Some((text, _)) => text.clone(),
            None => document.clone(),
        };
        let kept = Kept {
            items,
            of: Some(text.clone()),
            named: true,
            at: Instant::now(),
        };
        let found = kept.converted(&text, server.encoding(), &server.name);
        Heard::Said(text, found)
    }

    /// What was pushed for a document, if that can be told by now; else until when to wait for more, if that is known.
    fn pushed(&self, document: &Snapshot) -> Result<Heard, Option<Instant>> {
        let server = &self.0.server;
        let mirror = server.mirror().ok_or(None)?;
        let uri = &document.uri;
        let told = mirror.told_under(self.0.number, Some(document), |wire| {
            wire.look_again(uri);
            let text = wire.held(uri).map(|held| held.snapshot.clone());
            (text, wire.is_swapped(uri))
        });
        let Some((text, is_swapped)) = told else {
            return Ok(Heard::Pending);
        };
        let text = text.unwrap_or_else(|| document.clone());
        let convert = |kept: &Kept| kept.converted(&text, server.encoding(), &server.name);
        let found = server.store.pushed_under_lease(uri, |kept| {
            let is_certain = kept.named && is_swapped;
            match is_certain || kept.at.elapsed() >= QUIET {
                true => Ok(Heard::Said(text.clone(), convert(kept))),
                false => Err(Some(kept.at + QUIET)),
            }
        });
        if let Some(found) = found {
            return found;
        }
        // A server that spoke of the held texts and then fell silent has nothing new to say of the others.
        let quiet = server.store.last_under_lease().map(|last| last + QUIET);
        let known = (!is_swapped)
            .then(|| server.store.pushed(uri, convert))
            .flatten();
        match (quiet, known) {
            (Some(quiet), Some(known)) if quiet <= Instant::now() => Ok(Heard::Said(text, known)),
            (Some(quiet), Some(_)) => Err(Some(quiet)),
            _ => Err(None),
        }
    }
}

impl Shown {
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Waits until it is over.
    pub async fn ended(&self) {
        self.over.cancelled().await;
    }

    /// The error of a question that it was too short for.
    pub fn over(&self, method: &str) -> QueryError {
        if self.patience.cancel.is_cancelled() {
            return QueryError::Cancelled;
        }
        QueryError::TimedOut {
            name: self.server.name.clone(),
            method: method.to_owned(),
            waited: None,
            silent: None,
        }
    }

    fn end(&self) {
        let hold = self
            .hold
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let Some(hold) = hold else { return };
        self.over.cancel();
        // What is said between the two is forgotten: it is of the lease.
        self.server.store.end_lease(self.number);
        if let Some(mirror) = self.server.mirror() {
            mirror.end_lease(self.number);
        }
        drop(hold);
    }
}

impl Drop for Leased {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl fmt::Debug for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "lease {} of {:?}", self.number, self.server)
    }
}
