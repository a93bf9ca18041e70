//! `copydesk.cancel {session}` asks a run to stop. The run says so itself, by its `finished`.

use serde::Deserialize;
use serde_json::Value;
use tower_lsp::jsonrpc::Result;

use super::unknown_session;
use crate::connection::Connection;

#[derive(Deserialize)]
pub(super) struct Argument {
    session: String,
}

pub(super) fn run(connection: &Connection, Argument { session }: Argument) -> Result<Value> {
    connection
        .agent
        .cancel(&session)
        .map_err(|_| unknown_session(&session))?;
    Ok(Value::Null)
}
