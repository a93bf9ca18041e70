//! `workspace/executeCommand`: hands a command of ours to its file.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use tower_lsp::jsonrpc::Result;

use crate::connection::Connection;
use crate::{commands, params};

#[derive(Deserialize)]
struct Params {
    command: String,
    #[serde(default)]
    arguments: Value,
}

pub(crate) async fn handle(connection: &Arc<Connection>, params: Value) -> Result<Value> {
    let Params { command, arguments } = params::read(params, "params")?;
    commands::execute(connection, &command, arguments).await
}
