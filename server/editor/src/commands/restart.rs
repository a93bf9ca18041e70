//! `copydesk.restartLanguageServer {name?}` ends our language servers of that name (or all) and starts them anew: the way
//! out when one hangs.

use serde::Deserialize;
use serde_json::Value;
use tower_lsp::jsonrpc::Result;

use crate::connection::Connection;
use crate::params::invalid;

#[derive(Deserialize)]
pub(super) struct Argument {
    name: Option<String>,
}

pub(super) fn run(connection: &Connection, Argument { name }: Argument) -> Result<Value> {
    let pool = &connection.pool;
    let mut running: Vec<String> = pool.status().into_iter().map(|one| one.name).collect();
    running.sort_unstable();
    running.dedup();
    if let Some(name) = &name
        && !running.contains(name)
    {
        let running = match running.as_slice() {
            [] => "none".to_owned(),
            some => some.join(", "),
        };
        let reason =
            format_args!("no language server {name:?} has been started; running: {running}");
        return Err(invalid("name", reason));
    }
    pool.restart(name.as_deref());
    Ok(Value::Null)
}
