//! Questions about held text: an edit that was not made, or a text as it was before one. The servers are shown it while
//! a [`Lease`] lives, and nobody else hears of what they say then.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;
use workspace::{ByteOffset, DocumentUri, Snapshot, Workspace};

use super::Pool;
use crate::{
    answer::{Answer, Diagnosis, Location, QueryError, Symbol},
    client::Patience,
    mirror::language,
    queries::Question,
    server::{Heard, Leased, Used},
};

/// Servers that are shown held texts. It ends when it is dropped, when its time is up, or when it is cancelled: until
/// then every ordinary question to these servers waits, so it is to be short.
pub struct Lease {
    held: BTreeMap<DocumentUri, Snapshot>,
    /// None of the servers is put to rest meanwhile.
    leased: Vec<(Used, Leased)>,
    missing: BTreeMap<DocumentUri, QueryError>,
    patience: Patience,
    workspace: Arc<Workspace>,
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
        for (server, texts) in groups {
            match server.lease(&texts, &patience).await {
                Ok(lease) => leased.push((server, lease)),
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
            missing,
            patience,
            workspace: self.workspace.clone(),
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
                since: None,
            }),
        }
    }
}

impl Lease {
    /// What the document's server says of it beside the held texts: of the held one, if it is one of them.
    pub async fn diagnostics(&self, document: &Snapshot) -> Diagnosis {
        let document = self.held.get(&document.uri).unwrap_or(document);
        let lease = match self.lease(document) {
            Ok((_, lease)) => lease,
            Err(
                QueryError::NotReady { .. } | QueryError::Cancelled | QueryError::TimedOut { .. },
            ) => return Diagnosis::Pending(Vec::new()),
            Err(error) => return Diagnosis::Unavailable(error.to_string()),
        };
        match lease.diagnose(document, &self.patience).await {
            Heard::Said(_, found) => Diagnosis::Fresh(found),
            Heard::Pending => Diagnosis::Pending(Vec::new()),
            Heard::Unavailable(reason) => Diagnosis::Unavailable(reason),
        }
    }

    /// What a document is made of, with the text in which it is.
    pub async fn document_symbols(
        &self,
        document: &Snapshot,
    ) -> Result<Answer<(Snapshot, Vec<Symbol>)>, QueryError> {
        self.question(document)?.document_symbols().await
    }

    /// Where what stands at `at` is defined.
    pub async fn definition(
        &self,
        document: &Snapshot,
        at: ByteOffset,
    ) -> Result<Answer<Vec<Location>>, QueryError> {
        let question = self.question(document)?;
        question.locations("textDocument/definition", at).await
    }

    /// Where what stands at `at` is used.
    pub async fn references(
        &self,
        document: &Snapshot,
        at: ByteOffset,
        include_declaration: bool,
    ) -> Result<Answer<Vec<Location>>, QueryError> {
        let question = self.question(document)?;
        question.references(at, include_declaration).await
    }

    /// What is to be said of what stands at `at`, as Markdown.
    pub async fn hover(
        &self,
        document: &Snapshot,
        at: ByteOffset,
    ) -> Result<Answer<Option<String>>, QueryError> {
        self.question(document)?.hover(at).await
    }

    fn question(&self, document: &Snapshot) -> Result<Question, QueryError> {
        let document = self.held.get(&document.uri).unwrap_or(document);
        let (server, lease) = self.lease(document)?;
        Ok(Question {
            server: server.clone().into(),
            document: document.clone(),
            seen: document.clone(),
            workspace: self.workspace.clone(),
            until_ready: self.patience.clone(),
            answer: self.patience.clone(),
            turn: lease.turn(),
        })
    }

    /// The lease at a document's server.
    fn lease(&self, document: &Snapshot) -> Result<&(Used, Leased), QueryError> {
        if let Some(error) = self.missing.get(&document.uri) {
            return Err(error.clone());
        }
        let language = language(document);
        let mut leased = self.leased.iter();
        leased
            .find(|(server, _)| server.serves(language))
            .ok_or_else(|| QueryError::NoServer {
                language: language.to_owned(),
            })
    }
}
