//! `textDocument/didClose`: a document is the disk's again.

use serde_json::Value;

use crate::sync::Documents;

pub(crate) fn handle(documents: &Documents, params: Value) {
    documents.close(params);
}
