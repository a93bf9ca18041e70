//! One question to a server: about exactly the text that it has, asked again where it says that it was overtaken.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, SystemTime},
};

use serde_json::{Value, value::RawValue};
use tokio::time::Instant;
use workspace::{DocumentUri, Encoding, Snapshot};

use super::{Server, lease::Turn};
use crate::{
    answer::QueryError,
    client::{Patience, RequestError, RpcError, Waiting, codes},
    mirror::{Texts, Wire},
};

/// How often a question is asked again that the server took back.
const RETRIES: u32 = 8;
/// A server registers what it did not announce within this long after it has introduced itself.
const TO_REGISTER: Duration = Duration::from_secs(1);

/// An answer and the texts that it is about.
pub(crate) struct Asked {
    pub answer: Box<RawValue>,
    pub texts: Had,
}

/// What a server went by when it was asked: the texts that it was told, and of all others what was on disk.
#[derive(Clone)]
pub(crate) struct Had {
    pub told: Arc<Texts>,
    /// Just before the question was sent: what changed on disk later may be another text than the server's.
    pub when: SystemTime,
}

impl Had {
    /// A text that it was told, and its version there.
    pub fn get(&self, uri: &DocumentUri) -> Option<&(Snapshot, i32)> {
        self.told.get(uri)
    }
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
        self.ask_in(&Turn::Ordinary, method, document, patience, params)
            .await
    }

    /// The same, of the texts that the server has in this turn.
    pub async fn ask_in(
        self: &Arc<Self>,
        turn: &Turn,
        method: &'static str,
        document: &Snapshot,
        patience: &Patience,
        params: impl Fn(&About<'_>) -> Value,
    ) -> Result<Asked, QueryError> {
        let begun = Instant::now();
        let is_sent = AtomicBool::new(false);
        let asked = async {
            let patience = self.patience(method, patience).await?;
            let put = self.put(turn, method, document, &patience, params, &is_sent);
            put.await
        };
        let asked = asked.await;
        asked.map_err(|error| self.given_up(error, begun, is_sent.into_inner()))
    }

    async fn put(
        self: &Arc<Self>,
        turn: &Turn,
        method: &'static str,
        document: &Snapshot,
        patience: &Patience,
        params: impl Fn(&About<'_>) -> Value,
        is_sent: &AtomicBool,
    ) -> Result<Asked, QueryError> {
        self.supporting(method, document, patience).await?;
        let mut pause = Duration::from_millis(20);
        let mut retries = RETRIES;
        loop {
            // What nobody will wait for is not asked: a command would be run all the same.
            if Instant::now() >= patience.until {
                return Err(self.error(method, RequestError::TimedOut));
            }
            let Some(mirror) = self.mirror() else {
                return Err(self.not_ready());
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
            if permit.is_some() && !self.traits.looks_at_save.is_empty() {
                self.looked_again(document, patience).await;
            }
            let begin = |wire: &mut Wire| -> (Waiting, Had) {
                let snapshot = wire
                    .held(&document.uri)
                    .map_or(document, |held| &held.snapshot);
                let params = params(&About {
                    snapshot,
                    encoding: wire.encoding(),
                });
                let had = Had {
                    told: wire.all(),
                    when: SystemTime::now(),
                };
                (self.client.begin(method, Some(params)), had)
            };
            let (waiting, texts) = match turn {
                Turn::Ordinary => mirror.told(Some(document), begin),
                Turn::Lease(lease) => mirror
                    .told_under(lease.number(), Some(document), begin)
                    .ok_or_else(|| lease.over(method))?,
            };
            is_sent.store(true, Ordering::Relaxed);
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
                Ok(answer) => return Ok(Asked { answer, texts }),
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

    /// Makes sure that it can do this. A young server may still be about to say so.
    async fn supporting(
        &self,
        method: &str,
        document: &Snapshot,
        patience: &Patience,
    ) -> Result<(), QueryError> {
        let mut ticks = self.store.ticks();
        let until = self
            .introduced
            .get()
            .map_or_else(Instant::now, |introduced| introduced.since + TO_REGISTER);
        loop {
            if self.supports(method, Some(document)) {
                return Ok(());
            }
            if !self.is_alive() {
                return Err(self.died());
            }
            let change = tokio::time::timeout_at(until, ticks.changed());
            match patience.wait(change).await {
                Ok(Ok(Ok(()))) => {}
                Err(RequestError::Cancelled) => return Err(QueryError::Cancelled),
                _ => return Err(self.not_supported(method)),
            }
        }
    }

    pub(super) fn error(&self, method: &str, error: RequestError) -> QueryError {
        let name = self.name.clone();
        match error {
            RequestError::TimedOut => QueryError::TimedOut {
                name,
                method: method.to_owned(),
                waited: None,
                silent: None,
            },
            RequestError::Cancelled => QueryError::Cancelled,
            RequestError::Closed => self.died(),
            RequestError::Rpc(error) if is_unsupported(method, &error) => {
                self.not_supported(method)
            }
            RequestError::Rpc(error) => QueryError::Failed {
                name,
                message: format!("{method}: {error}"),
            },
            RequestError::Unusable(message) => QueryError::Failed { name, message },
        }
    }

    pub(super) fn not_ready(&self) -> QueryError {
        QueryError::NotReady {
            name: self.name.clone(),
            since: None,
        }
    }

    fn not_supported(&self, method: &str) -> QueryError {
        QueryError::NotSupported {
            name: self.name.clone(),
            method: method.to_owned(),
        }
    }
}

/// Whether an error says that the server can't do this at all. There is a code for it, which not every server uses.
pub(super) fn is_unsupported(method: &str, error: &RpcError) -> bool {
    const OF_ITSELF: [&str; 6] = [
        "unhandled method",
        "unknown method",
        "unsupported method",
        "method not found",
        "not yet implemented",
        "not implemented",
    ];
    const OF_A_METHOD: [&str; 4] = ["unsupported", "not supported", "not found", "implemented"];
    let message = error.message.to_lowercase();
    let message = message.trim();
    let names_it = message.contains(&method.to_lowercase());
    match error.code {
        codes::METHOD_NOT_FOUND => true,
        0 | codes::INVALID_REQUEST | codes::INTERNAL_ERROR => {
            let mut parts = message.split(": ");
            parts.any(|part| OF_ITSELF.iter().any(|words| part.starts_with(words)))
                || ["not supported", "unsupported"].contains(&message.trim_end_matches('.'))
                || (names_it && OF_A_METHOD.iter().any(|words| message.contains(words)))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn not_being_able_is_no_failure() {
        let method = "textDocument/prepareTypeHierarchy";
        for (code, message, expected) in [
            (-32601, "whatever", true),
            (
                -32600,
                "InvalidRequest: Unhandled method textDocument/prepareTypeHierarchy",
                true,
            ),
            (
                -32600,
                "Unhandled method textDocument/prepareTypeHierarchy",
                true,
            ),
            (-32600, "the request is no object", false),
            (
                0,
                "\"textDocument/prepareTypeHierarchy\" not yet implemented",
                true,
            ),
            (0, "not yet implemented", true),
            (0, "Not supported.", true),
            (
                0,
                "renaming a parameter of an interface is not supported",
                false,
            ),
            (0, "no identifier found", false),
            (
                -32603,
                "Unhandled method textDocument/prepareTypeHierarchy",
                true,
            ),
            (-32603, "it crashed", false),
            (-32602, "not supported", false),
        ] {
            let error = RpcError {
                code,
                message: message.into(),
            };
            assert_eq!(is_unsupported(method, &error), expected, "{code} {message}");
        }
    }
}
