//! One question to a server: about exactly the text that it has, asked again where it says that it was overtaken.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, value::RawValue};
use workspace::{Encoding, Snapshot};

use super::{Server, lease::Turn};
use crate::{
    answer::QueryError,
    client::{Patience, RequestError, Waiting, codes},
    mirror::{Texts, Wire},
};

/// How often a question is asked again that the server took back.
const RETRIES: u32 = 8;

/// An answer and the texts that it is about.
pub(crate) struct Asked {
    pub answer: Value,
    pub texts: Texts,
}

/// What a question is made of: the document as the server has it.
pub(crate) struct About<'a> {
    pub snapshot: &'a Snapshot,
    pub encoding: Encoding,
}

impl Server {
    /// Asks `method` about `document`, of which the server first gets the newest text. Waits for a lease to end.
    pub async fn ask(
        self: &Arc<Self>,
        method: &'static str,
        document: &Snapshot,
        patience: &Patience,
        params: impl Fn(&About<'_>) -> Value,
    ) -> Result<Asked, QueryError> {
        self.ask_in(Turn::Ordinary, method, document, patience, params)
            .await
    }

    /// The same, of the texts that the server has in this turn.
    pub async fn ask_in(
        self: &Arc<Self>,
        turn: Turn<'_>,
        method: &'static str,
        document: &Snapshot,
        patience: &Patience,
        params: impl Fn(&About<'_>) -> Value,
    ) -> Result<Asked, QueryError> {
        if !self.supports(method, Some(document)) {
            return Err(self.not_supported(method));
        }
        let mut pause = Duration::from_millis(20);
        let mut retries = RETRIES;
        loop {
            let Some(mirror) = self.mirror() else {
                return Err(QueryError::NotReady {
                    name: self.name.clone(),
                });
            };
            // Held until the answer is there: a question is never answered of two texts.
            let permit = match turn {
                Turn::Ordinary => Some(
                    patience
                        .wait(self.leases.read())
                        .await
                        .map_err(|error| self.error(method, error))?,
                ),
                Turn::Lease(_) => None,
            };
            let begin = |wire: &mut Wire| -> (Waiting, Texts) {
                let snapshot = wire
                    .held(&document.uri)
                    .map_or(document, |held| &held.snapshot);
                let params = params(&About {
                    snapshot,
                    encoding: wire.encoding(),
                });
                (self.client.begin(method, Some(params)), wire.all())
            };
            let (waiting, texts) = match turn {
                Turn::Ordinary => mirror.told(Some(document), begin),
                Turn::Lease(lease) => mirror
                    .told_under(lease.number(), Some(document), begin)
                    .ok_or_else(|| lease.over(method))?,
            };
            let answer = match turn {
                Turn::Ordinary => waiting.answer(patience).await,
                Turn::Lease(lease) => tokio::select! {
                    biased;
                    () = lease.ended() => return Err(lease.over(method)),
                    answer = waiting.answer(patience) => answer,
                },
            };
            drop(permit);
            match answer {
                Ok(answer) => {
                    return self
                        .read(method, &answer)
                        .map(|answer| Asked { answer, texts });
                }
                Err(RequestError::Rpc(error))
                    if retries > 0
                        && matches!(
                            error.code,
                            codes::CONTENT_MODIFIED | codes::SERVER_CANCELLED
                        ) =>
                {
                    retries -= 1;
                    patience
                        .wait(tokio::time::sleep(pause))
                        .await
                        .map_err(|error| self.error(method, error))?;
                    pause = (pause * 2).min(Duration::from_millis(500));
                }
                Err(error) => {
                    if error == RequestError::Closed {
                        // It is about to be known how it died.
                        let _ = patience.wait(self.dead()).await;
                    }
                    return Err(self.error(method, error));
                }
            }
        }
    }

    fn read(&self, method: &str, answer: &RawValue) -> Result<Value, QueryError> {
        serde_json::from_str(answer.get()).map_err(|error| QueryError::Failed {
            name: self.name.clone(),
            message: format!("its answer to {method} is unreadable: {error}"),
        })
    }

    pub(super) fn error(&self, method: &str, error: RequestError) -> QueryError {
        let name = self.name.clone();
        match error {
            RequestError::TimedOut => QueryError::TimedOut {
                name,
                method: method.to_owned(),
            },
            RequestError::Cancelled => QueryError::Cancelled,
            RequestError::Closed => self.died(),
            RequestError::Rpc(error) if error.code == codes::METHOD_NOT_FOUND => {
                self.not_supported(method)
            }
            RequestError::Rpc(error) => QueryError::Failed {
                name,
                message: format!("{method}: {error}"),
            },
            RequestError::Unusable(message) => QueryError::Failed { name, message },
        }
    }

    fn not_supported(&self, method: &str) -> QueryError {
        QueryError::NotSupported {
            name: self.name.clone(),
            method: method.to_owned(),
        }
    }
}
