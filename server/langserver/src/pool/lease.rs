//! Questions about held text: an edit that was not made, or a text as it was before one. The servers are shown it while
//! a [`Lease`] lives, and nobody else hears of what they say then.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;
use workspace::{DocumentUri, Snapshot};

use super::Pool;
use crate::{
    answer::{Diagnosis, QueryError},
    client::Patience,
    mirror::language,
    server::{Heard, Leased, Used},
};

/// Servers that are shown held texts. It ends when it is dropped, when its time is up, or when it is cancelled: until
/// then every ordinary question to these servers waits, so it is to be short.
#[derive(Debug)]
pub struct Lease {
    held: BTreeMap<DocumentUri, Snapshot>,
    leased: Vec<Leased>,
    /// None of them is put to rest meanwhile.
    _used: Vec<Used>,
    missing: BTreeMap<DocumentUri, QueryError>,
    patience: Patience,
}

impl Pool {
    /// Shows the servers of these documents these texts instead of what they have. The wait for the servers' turn counts
    /// into the time: it ends after `deadline` whatever happens.
    pub async fn lease(
        &self,
        held: Vec<Snapshot>,
        deadline: Duration,
        cancel: &CancellationToken,
    ) -> Lease {
        let patience = Patience::of(deadline, cancel);
        let mut groups: Vec<(Used, Vec<Snapshot>)> = Vec::new();
        let mut missing = BTreeMap::new();
        for text in &held {
            match self.ready_server(text, &patience).await {
                Ok(server) => match groups.iter_mut().find(|(one, _)| Arc::ptr_eq(one, &server)) {
                    Some((_, texts)) => texts.push(text.clone()),
                    None => groups.push((server, vec![text.clone()])),
                },
                Err(error) => {
                    missing.insert(text.uri.clone(), error);
                }
            }
        }
        // Always in this order: two that want the same servers never wait for each other.
        groups.sort_by_key(|(server, _)| Arc::as_ptr(server).addr());
        let mut leased = Vec::with_capacity(groups.len());
        let mut used = Vec::with_capacity(groups.len());
        for (server, texts) in groups {
            match server.lease(&texts, &patience).await {
                Ok(lease) => {
                    leased.push(lease);
                    used.push(server);
                }
                Err(error) => {
                    missing.extend(texts.into_iter().map(|text| (text.uri, error.clone())));
                }
            }
        }
        Lease {
            held: held
                .into_iter()
                .map(|text| (text.uri.clone(), text))
                .collect(),
            leased,
            _used: used,
            missing,
            patience,
        }
    }

    /// The document's server, once it knows everything.
    pub(super) async fn ready_server(
        &self,
        document: &Snapshot,
        patience: &Patience,
    ) -> Result<Used, QueryError> {
        let server = self.slot(document)?.acquire(self, patience).await?;
        // As it is: the held text is for the lease alone.
        if let Ok(newest) = self.read(&document.uri).await {
            server.show(&newest);
        }
        match server.ready(patience).await? {
            true => Ok(server),
            false => Err(QueryError::NotReady {
                name: server.name().to_owned(),
            }),
        }
    }
}

impl Lease {
    /// What the document's server says of it beside the held texts: of the held one, if it is one of them.
    pub async fn diagnostics(&self, document: &Snapshot) -> Diagnosis {
        let document = self.held.get(&document.uri).unwrap_or(document);
        if let Some(error) = self.missing.get(&document.uri) {
            return match error {
                QueryError::NotReady { .. }
                | QueryError::Cancelled
                | QueryError::TimedOut { .. } => Diagnosis::Pending(Vec::new()),
                error => Diagnosis::Unavailable(error.to_string()),
            };
        }
        let language = language(document);
        let mut serving = self.leased.iter();
        let Some(lease) = serving.find(|lease| lease.server().serves(language)) else {
            let reason = format!("no server for {language} is shown the held texts");
            return Diagnosis::Unavailable(reason);
        };
        match lease.diagnose(document, &self.patience).await {
            Heard::Said(_, found) => Diagnosis::Fresh(found),
            Heard::Pending => Diagnosis::Pending(Vec::new()),
            Heard::Unavailable(reason) => Diagnosis::Unavailable(reason),
        }
    }
}
