//! `copydesk.sessions {limit?}` lists the runs of this process, newest first.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::connection::Connection;

#[derive(Deserialize)]
pub(super) struct Argument {
    limit: Option<usize>,
}

pub(super) fn run(connection: &Connection, Argument { limit }: Argument) -> Value {
    let sessions = connection
        .agent
        .sessions()
        .into_iter()
        .take(limit.unwrap_or(usize::MAX));
    let lines = sessions.map(|session| {
        json!({
            "session": session.session,
            "title": session.title,
            "started": agent::rfc3339(session.started),
            "status": session.status.as_str(),
            "files": session.files,
        })
    });
    lines.collect()
}
