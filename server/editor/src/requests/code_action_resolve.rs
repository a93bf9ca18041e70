//! `codeAction/resolve`: gives the action back as it came. Its command is there from the start, so
//! there is nothing to add; but clients ask all the same, also for actions that carry no data.

use serde_json::Value;
use tower_lsp::jsonrpc::Result;

use crate::params::invalid;

pub(crate) fn handle(action: Value) -> Result<Value> {
    if action["title"].is_string() {
        Ok(action)
    } else {
        Err(invalid("title", "missing"))
    }
}
