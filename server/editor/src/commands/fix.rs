//! `copydesk.fix {uri, range?, diagnostics?}` starts a run that cures problems: those given, else
//! those known in the range (or in the whole file, without one), else those that a language server
//! finds there.

use std::sync::Arc;

use agent::{Focus, RunRequest, Task};
use langserver::Diagnostic;
use serde::Deserialize;
use serde_json::Value;
use tower_lsp::jsonrpc::Result;
use workspace::ByteRange;

use super::started;
use crate::connection::Connection;
use crate::document;
use crate::params::{Span, Uri, invalid};
use crate::wire::{Problem, meet, whole_lines};

#[derive(Deserialize)]
pub(super) struct Argument {
    uri: Uri,
    range: Option<Span>,
    diagnostics: Option<Vec<Problem>>,
}

pub(super) async fn run(connection: &Arc<Connection>, argument: Argument) -> Result<Value> {
    let Argument {
        uri: Uri(uri),
        range,
        diagnostics,
    } = argument;
    let diagnostics = diagnostics.unwrap_or_default();
    let snapshot = document::read(connection, &uri)
        .await
        .map_err(|error| invalid("uri", error))?;
    let (text, encoding) = (&snapshot.text, connection.client.encoding);
    let known = connection.pool.known_diagnostics(&snapshot.uri);
    let mut range = range.map(|range| text.byte_range(range.forward(), encoding));
    let problems: Vec<Diagnostic> = if diagnostics.is_empty() {
        // A cursor stands for its line.
        range = range.map(|range| {
            if range.is_empty() {
                whole_lines(text, range)
            } else {
                range
            }
        });
        let wanted = |one: &Diagnostic| range.is_none_or(|range| meet(one.range, range));
        known.into_iter().filter(wanted).collect()
    } else {
        diagnostics
            .into_iter()
            .map(|problem| problem.into_diagnostic(&known, text, encoding))
            .collect()
    };
    let focus = Focus {
        uri: snapshot.uri.clone(),
        range: range.or(only_place(&problems)),
    };
    let request = RunRequest {
        task: Task::Fix(problems),
        focus: Some(focus),
        model: None,
        read_only: false,
        max_cost: None,
        session: None,
    };
    started(connection, connection.start(request))
}

fn only_place(problems: &[Diagnostic]) -> Option<ByteRange> {
    match problems {
        [one] => Some(one.range),
        _ => None,
    }
}
