//! `initialize`: reads the client's introduction, puts the rooms together and says what we can do.
//! It never waits: the messages behind it are let in only when it is done.

use std::sync::Arc;

use serde_json::json;
use tower_lsp::jsonrpc::{Error, Result};
use tower_lsp::lsp_types::{InitializeParams, InitializeResult};
use workspace::{Host, Workspace};

use crate::connection::Connection;
use crate::host::EditorHost;
use crate::repair::Introduction;
use crate::server::Server;
use crate::servers::ServersOfEditor;
use crate::transport::parent;
use crate::{Opening, capabilities};

pub(crate) fn handle(server: &Server, params: InitializeParams) -> Result<InitializeResult> {
    let Introduction {
        client,
        process,
        roots,
        options,
    } = Introduction::read(params.initialization_options);
    tracing::info!(client = client.name, ?roots, "initialize");
    let capabilities = capabilities::ours(&client);
    let host: Arc<dyn Host> = Arc::new(EditorHost::new(server.outgoing.clone(), client.clone()));
    let workspace = Workspace::new(roots.clone(), Arc::clone(&server.buffers), host);
    let opening = Opening {
        roots,
        options,
        workspace: Arc::clone(&workspace),
    };
    let assembled = server.assembly.assemble(opening);
    if let Some(servers) = ServersOfEditor::new(&server.outgoing, &client) {
        assembled.pool.use_editor(Arc::new(servers));
    }
    let connection = Connection::new(server.outgoing.clone(), client, workspace, assembled);
    if server.connection.set(Arc::new(connection)).is_err() {
        return Err(Error::invalid_request());
    }
    if let Some(process) = process {
        parent::watch(process, server.stop.clone());
    }
    let answer = json!({
        "capabilities": capabilities,
        "serverInfo": { "name": "copydesk", "version": env!("CARGO_PKG_VERSION") },
    });
    serde_json::from_value(answer).map_err(|error| {
        tracing::error!("our own capabilities are of the wrong type: {error}");
        Error::internal_error()
    })
}
