//! `copydesk.setModel {model}` makes another model the one that later runs use. Runs at work keep theirs.

use serde::Deserialize;
use serde_json::Value;
use tower_lsp::jsonrpc::Result;

use crate::connection::Connection;
use crate::params::invalid;

#[derive(Deserialize)]
pub(super) struct Argument {
    model: String,
}

pub(super) fn run(connection: &Connection, Argument { model }: Argument) -> Result<Value> {
    let chosen = connection.agent.choose_model(model.trim());
    chosen.map_err(|error| invalid("model", error))?;
    Ok(Value::Null)
}
