//! `textDocument/didOpen`: a document is the client's from now on, and its text is the truth.

use serde_json::Value;

use crate::sync::Documents;

pub(crate) fn handle(documents: &Documents, params: Value) {
    documents.open(params);
}
