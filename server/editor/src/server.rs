//! What each message of the client leads to: one line a method here, one file a method in
//! `requests` and `notifications`. The typed trait carries the life cycle; every method whose
//! parameters real clients get wrong is routed to a reading of our own.

use std::sync::{Arc, OnceLock};

use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tower_lsp::jsonrpc::{Error, Result};
use tower_lsp::lsp_types::{InitializeParams, InitializeResult, InitializedParams};
use tower_lsp::{LanguageServer, LspService};
use workspace::Buffers;

use crate::connection::Connection;
use crate::sync::Documents;
use crate::transport::{Outgoing, Route};
use crate::{Assembly, notifications, repair, requests};

/// The server, before and after it is initialized.
pub(crate) struct Server {
    pub(crate) outgoing: Outgoing,
    pub(crate) buffers: Arc<Buffers>,
    pub(crate) assembly: Arc<dyn Assembly>,
    /// Cancelled when the editor's process is dead.
    pub(crate) stop: CancellationToken,
    /// Filled by `initialize`; whoever serves looks into it too.
    pub(crate) connection: Arc<OnceLock<Arc<Connection>>>,
    documents: Documents,
}

/// The surface: every method that is served, but for `exit`.
pub(crate) const ROUTES: &[Route] = &[
    Route::repaired("initialize", repair::enclose),
    Route::plain("initialized"),
    Route::plain("shutdown"),
    Route::plain("$/cancelRequest"),
    Route::own("textDocument/didOpen", "copydesk:didOpen"),
    Route::own("textDocument/didChange", "copydesk:didChange"),
    Route::own("textDocument/didSave", "copydesk:didSave"),
    Route::own("textDocument/didClose", "copydesk:didClose"),
    Route::own("textDocument/codeAction", "copydesk:codeAction"),
    Route::own("codeAction/resolve", "copydesk:codeActionResolve"),
    Route::own("workspace/executeCommand", "copydesk:executeCommand"),
    Route::own(
        "workspace/didChangeWorkspaceFolders",
        "copydesk:didChangeWorkspaceFolders",
    ),
    Route::plain("window/workDoneProgress/cancel"),
];

// The router takes async functions alone; most of ours are done at their first poll, which is what
// keeps messages in order.
#[allow(clippy::unused_async)]
impl Server {
    pub(crate) fn new(
        outgoing: Outgoing,
        assembly: Arc<dyn Assembly>,
        stop: CancellationToken,
        connection: Arc<OnceLock<Arc<Connection>>>,
    ) -> Self {
        let buffers = Buffers::new();
        let documents = Documents::new(Arc::clone(&buffers), outgoing.clone());
        Self {
            outgoing,
            buffers,
            assembly,
            stop,
            connection,
            documents,
        }
    }

    /// The router over this server.
    pub(crate) fn into_service(self) -> LspService<Self> {
        let (service, _) = LspService::build(|_| self)
            .custom_method("copydesk:didOpen", Self::did_open)
            .custom_method("copydesk:didChange", Self::did_change)
            .custom_method("copydesk:didSave", Self::did_save)
            .custom_method("copydesk:didClose", Self::did_close)
            .custom_method("copydesk:codeAction", Self::code_action)
            .custom_method("copydesk:codeActionResolve", Self::code_action_resolve)
            .custom_method("copydesk:executeCommand", Self::execute_command)
            .custom_method(
                "copydesk:didChangeWorkspaceFolders",
                Self::did_change_workspace_folders,
            )
            .custom_method(
                "window/workDoneProgress/cancel",
                Self::work_done_progress_cancel,
            )
            .finish();
        service
    }

    /// There is one in every message that is let in after `initialize`.
    fn connection(&self) -> Result<&Arc<Connection>> {
        self.connection.get().ok_or_else(Error::internal_error)
    }

    async fn did_open(&self, params: Value) {
        notifications::did_open::handle(&self.documents, params);
    }

    async fn did_change(&self, params: Value) {
        if let Ok(connection) = self.connection() {
            notifications::did_change::handle(connection, &self.documents, params);
        }
    }

    async fn did_save(&self, params: Value) {
        notifications::did_save::handle(&self.documents, params);
    }

    async fn did_close(&self, params: Value) {
        notifications::did_close::handle(&self.documents, params);
    }

    async fn code_action(&self, params: Value) -> Result<Value> {
        requests::code_action::handle(self.connection()?, params)
    }

    async fn code_action_resolve(&self, params: Value) -> Result<Value> {
        requests::code_action_resolve::handle(params)
    }

    async fn execute_command(&self, params: Value) -> Result<Value> {
        requests::execute_command::handle(self.connection()?, params).await
    }

    async fn did_change_workspace_folders(&self, params: Value) {
        if let Ok(connection) = self.connection() {
            notifications::did_change_workspace_folders::handle(connection, &params);
        }
    }

    async fn work_done_progress_cancel(&self, params: Value) {
        if let Ok(connection) = self.connection() {
            notifications::work_done_progress_cancel::handle(connection, &params);
        }
    }
}

#[tower_lsp::async_trait]
impl LanguageServer for Server {
    async fn initialize(&self, params: InitializeParams) -> Result<InitializeResult> {
        requests::initialize::handle(self, params)
    }

    async fn initialized(&self, _: InitializedParams) {
        if let Ok(connection) = self.connection() {
            notifications::initialized::handle(connection);
        }
    }

    async fn shutdown(&self) -> Result<()> {
        requests::shutdown::handle(self.connection()?).await;
        Ok(())
    }
}
