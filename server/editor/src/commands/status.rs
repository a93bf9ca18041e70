//! `copydesk.status` tells how things stand: version, model, runs at work, language servers, what
//! was used.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::connection::Connection;

#[derive(Deserialize)]
pub(super) struct Argument {}

pub(super) fn run(connection: &Connection, _: Argument) -> Value {
    let runs: Vec<Value> = connection
        .agent
        .running()
        .into_iter()
        .map(|run| json!({ "session": run.session, "title": run.title, "step": run.step }))
        .collect();
    let servers: Vec<Value> = connection
        .pool
        .status()
        .into_iter()
        .map(|server| {
            let mut line = json!({ "name": server.name, "root": server.root, "state": server.state.to_string() });
            if let Some(pid) = server.pid {
                line["pid"] = json!(pid);
            }
            line
        })
        .collect();
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "model": connection.agent.default_model(),
        "runs": runs,
        "languageServers": servers,
        "usage": connection.used.json(),
    })
}
