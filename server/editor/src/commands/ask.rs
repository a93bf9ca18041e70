//! `copydesk.ask {prompt?, uri?, range?, session?, model?, readOnly?}` starts a run with the
//! person's own words.

use std::sync::Arc;

use agent::{Focus, RunRequest, StartError, Task};
use serde::Deserialize;
use serde_json::{Value, json};
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::MessageType;
use workspace::{DocumentUri, Range};

use super::{started, unknown_session};
use crate::connection::Connection;
use crate::document;
use crate::params::{Span, Uri, invalid};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Argument {
    prompt: Option<String>,
    uri: Option<Uri>,
    range: Option<Span>,
    session: Option<String>,
    model: Option<String>,
    read_only: Option<bool>,
}

pub(super) async fn run(connection: &Arc<Connection>, argument: Argument) -> Result<Value> {
    let Argument {
        prompt,
        uri,
        range,
        session,
        model,
        read_only,
    } = argument;
    let (uri, range) = (uri.map(|Uri(uri)| uri), range.map(Span::forward));
    if let Some(session) = session
        .as_ref()
        .filter(|session| !connection.agent.knows(session))
    {
        return Err(unknown_session(session));
    }
    let Some(prompt) = prompt.filter(|prompt| !prompt.trim().is_empty()) else {
        connection.show(MessageType::INFO, how_to_ask(uri.as_ref(), range));
        return Ok(json!({ "session": null }));
    };
    let focus = match (uri, range) {
        (None, None) => None,
        (None, Some(_)) => return Err(invalid("uri", "missing; the range has no document")),
        (Some(uri), None) => Some(Focus { uri, range: None }),
        (Some(uri), Some(range)) => {
            let snapshot = document::read(connection, &uri)
                .await
                .map_err(|error| invalid("uri", error))?;
            let range = snapshot.text.byte_range(range, connection.client.encoding);
            Some(Focus {
                uri: snapshot.uri,
                range: Some(range),
            })
        }
    };
    let request = RunRequest {
        task: Task::Ask(prompt),
        focus,
        model,
        read_only: read_only.unwrap_or_default(),
        max_cost: None,
        session,
    };
    let named = request.model.is_some();
    match connection.start(request) {
        Err(StartError::Model(error)) if named => Err(invalid("model", error)),
        outcome => started(connection, outcome),
    }
}

/// What a person is told who picked `Ask agent…` in an editor that asked for no words.
fn how_to_ask(uri: Option<&DocumentUri>, range: Option<Range>) -> String {
    let place = uri.and_then(DocumentUri::path).map(|path| {
        let line = range
            .map(|range| format!(":{}", range.start.line + 1))
            .unwrap_or_default();
        format!(" --file {}{line}", path.display())
    });
    format!(
        "What should the agent do? This editor has no way to ask you. Run the command copydesk.ask with \
         {{\"prompt\": \"…\"}}, or in a terminal: copydesk run{} --prompt \"…\"",
        place.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use workspace::Position;

    use super::*;

    #[test]
    fn words_for_who_gave_none() {
        let uri = DocumentUri::parse("file:///a/b.rs").expect("a uri");
        let at = Position {
            line: 4,
            character: 0,
        };
        let told = how_to_ask(Some(&uri), Some(Range { start: at, end: at }));
        assert!(
            told.ends_with("copydesk run --file /a/b.rs:5 --prompt \"…\""),
            "{told}"
        );
        assert!(how_to_ask(None, None).ends_with("copydesk run --prompt \"…\""));
    }
}
