//! `copydesk.models` lists the models that there are to choose from, those that can be asked first, and says of the others
//! why they can't.

use serde::Deserialize;
use serde_json::Value;
use tower_lsp::jsonrpc::{Error, Result};

use crate::connection::Connection;

#[derive(Deserialize)]
pub(super) struct Argument {}

pub(super) async fn run(connection: &Connection, _: Argument) -> Result<Value> {
    let models = connection.agent.models().await;
    serde_json::to_value(models).map_err(|error| {
        tracing::error!(%error, "the models can't be told");
        Error::internal_error()
    })
}
