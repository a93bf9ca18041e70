//! `textDocument/didSave`: a document was written to disk. If its text comes along, a buffer that
//! lost its step finds it again.

use serde_json::Value;

use crate::sync::Documents;

pub(crate) fn handle(documents: &Documents, params: Value) {
    documents.save(params);
}
