//! `textDocument/didChange`: a document's text changed: ranges of it, or all of it.

use serde_json::Value;

use crate::connection::Connection;
use crate::sync::Documents;

pub(crate) fn handle(connection: &Connection, documents: &Documents, params: Value) {
    documents.change(params, connection.client.encoding);
}
