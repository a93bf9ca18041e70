//! Problems as what something else is asked about: fixes are offered for what is known to be wrong. They are waited for as
//! long as that is worth it, and no server's silence is taken for an answer.

use std::time::Duration;

use tokio_util::sync::CancellationToken;
use workspace::DocumentUri;

use super::Pool;
use crate::answer::{Diagnosis, Diagnostic, QueryError, seconds};

/// How long they are waited for: without them there are no fixes.
const WORTH: Duration = Duration::from_secs(5);
/// How long they are of a server that was waited for in vain before and knows of nothing wrong: many publish nothing for a
/// document without problems, and do at once for one with some.
const WORTH_OF_THE_SILENT: Duration = Duration::from_secs(1);

/// The problems of a document, as far as they are known in time.
#[derive(Debug, Clone, PartialEq)]
pub struct Problems {
    /// What is known.
    pub known: Vec<Diagnostic>,
    /// Whether it is worth to look again when the server has answered something: it was not ready when it was asked, or
    /// had not done what it was asked for.
    pub may_be_more: bool,
}

impl Pool {
    /// Why diagnostics of a document are pending, where more is known than that its server has not finished: it has not even
    /// started, it answers nothing, it has never sent any.
    pub fn pending_because(&self, uri: &DocumentUri) -> Option<String> {
        let newest = self.newest(uri)?;
        if self.known_to_editor(&newest).is_some() {
            return None;
        }
        let slot = self.slot(&newest).ok()?;
        if let Some(server) = slot.running() {
            return server.why_pending();
        }
        let name = slot.name();
        Some(match slot.not_ready() {
            QueryError::NotReady {
                since: Some(since), ..
            } => format!(
                "{name} has not started: it has not answered `initialize` for {}",
                seconds(since)
            ),
            _ => format!("{name} has not started yet"),
        })
    }

    /// The problems of a document's newest text.
    pub async fn problems(&self, uri: &DocumentUri, cancel: &CancellationToken) -> Problems {
        let newest = self.newest(uri);
        let ready = newest.and_then(|newest| {
            let server = self.owner(&newest)?;
            // One that is asked for them is not silent, but slow.
            (server.is_ready() && !server.is_asked_for_diagnostics(&newest)).then_some(server)
        });
        let is_silent = ready.as_ref().is_some_and(|server| server.is_silent(uri));
        let worth = if is_silent {
            WORTH_OF_THE_SILENT
        } else {
            WORTH
        };
        match self.diagnostics(uri, worth, cancel).await {
            Diagnosis::Fresh(known) => Problems {
                known,
                may_be_more: false,
            },
            Diagnosis::Unavailable(_) => Problems {
                known: Vec::new(),
                may_be_more: false,
            },
            Diagnosis::Pending(known) => {
                if let Some(server) = ready.as_ref().filter(|_| !cancel.is_cancelled()) {
                    server.was_silent(uri);
                }
                Problems {
                    known,
                    may_be_more: ready.is_none(),
                }
            }
        }
    }
}
