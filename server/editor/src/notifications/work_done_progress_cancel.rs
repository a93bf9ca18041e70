//! `window/workDoneProgress/cancel`: the person cancels a run by its progress. tower-lsp's trait
//! does not know this method.

use serde_json::Value;

use crate::connection::Connection;

pub(crate) fn handle(connection: &Connection, params: &Value) {
    let session = params["token"]
        .as_str()
        .and_then(|token| connection.tokens.session(token));
    if let Some(session) = session {
        // A run that has ended meanwhile needs no cancelling.
        let _ = connection.agent.cancel(&session);
    } else {
        tracing::debug!(
            "a progress that is not ours was cancelled: {}",
            params["token"]
        );
    }
}
