//! Keeps our buffers in step with the client's, and says so once per document where it can't. Every
//! step is done before the first await, so that it is done in the order in which it came.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tower_lsp::lsp_types::{LogMessageParams, MessageType, notification::LogMessage};
use workspace::{Buffers, ChangeError, ContentChange, DocumentUri, Encoding};

use crate::params::{self, Span, TextDocument, Uri};
use crate::transport::Outgoing;

/// How many documents are remembered as complained of. Beyond, a complaint may be repeated.
const REMEMBERED: usize = 1000;

/// What the client tells of its documents.
pub(crate) struct Documents {
    buffers: Arc<Buffers>,
    outgoing: Outgoing,
    told: Mutex<HashSet<String>>,
}

/// The parameters of `textDocument/didOpen`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Opened {
    text_document: OpenedDocument,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OpenedDocument {
    uri: Uri,
    language_id: Option<String>,
    version: Option<i32>,
    text: String,
}

/// The parameters of `textDocument/didChange`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Changed {
    text_document: ChangedDocument,
    content_changes: Vec<Change>,
}

#[derive(Deserialize)]
struct ChangedDocument {
    uri: Uri,
    version: i32,
}

#[derive(Deserialize)]
struct Change {
    range: Option<Span>,
    text: String,
}

/// The parameters of `textDocument/didSave` and `textDocument/didClose`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Named {
    text_document: TextDocument,
    text: Option<String>,
}

impl Documents {
    pub(crate) fn new(buffers: Arc<Buffers>, outgoing: Outgoing) -> Self {
        Self {
            buffers,
            outgoing,
            told: Mutex::default(),
        }
    }

    /// `textDocument/didOpen`.
    pub(crate) fn open(&self, params: Value) {
        let Ok(Opened { text_document }) = self.read("textDocument/didOpen", params) else {
            return;
        };
        let OpenedDocument {
            uri: Uri(uri),
            language_id,
            version,
            text,
        } = text_document;
        self.told().remove(uri.as_str());
        self.buffers.open(
            uri,
            &language_id.unwrap_or_default(),
            version.unwrap_or_default(),
            &text,
        );
    }

    /// `textDocument/didChange`.
    pub(crate) fn change(&self, params: Value, encoding: Encoding) {
        let Changed {
            text_document,
            content_changes,
        } = match self.read("textDocument/didChange", params) {
            Ok(changed) => changed,
            Err(named) => {
                if let Ok(uri) = DocumentUri::parse(&named) {
                    // A change that can't be read was missed: a version before all others says so
                    // to the buffer.
                    let _ = self.buffers.change(&uri, i32::MIN, &[], encoding);
                }
                return;
            }
        };
        let ChangedDocument {
            uri: Uri(uri),
            version,
        } = text_document;
        let change = |Change { range, text }| ContentChange {
            range: range.map(|Span(range)| range),
            text,
        };
        let changes: Vec<ContentChange> = content_changes.into_iter().map(change).collect();
        match self.buffers.change(&uri, version, &changes, encoding) {
            Ok(_) => {}
            Err(error @ ChangeError::NotOpen { .. }) => self.complain(uri.as_str(), &error),
            Err(error) => self.complain(uri.as_str(), &format_args!("{error}, or saved")),
        }
    }

    /// `textDocument/didSave`.
    pub(crate) fn save(&self, params: Value) {
        if let Ok(Named {
            text_document,
            text,
        }) = self.read("textDocument/didSave", params)
        {
            self.buffers.save(&text_document.uri.0, text.as_deref());
        }
    }

    /// `textDocument/didClose`.
    pub(crate) fn close(&self, params: Value) {
        if let Ok(Named { text_document, .. }) = self.read("textDocument/didClose", params) {
            let Uri(uri) = text_document.uri;
            self.told().remove(uri.as_str());
            self.buffers.close(&uri);
        }
    }

    /// Parameters of the right type; or a complaint, and the document as far as it was named.
    fn read<P: DeserializeOwned>(&self, method: &str, params: Value) -> Result<P, String> {
        let named = params["textDocument"]["uri"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        params::read(params, "params").map_err(|error| {
            self.complain(
                &named,
                &format_args!("{method} can't be read: {}", error.message),
            );
            named
        })
    }

    /// Tells what is wrong with a document, once.
    fn complain(&self, document: &str, what: &dyn std::fmt::Display) {
        tracing::warn!("{what}");
        let mut told = self.told();
        if told.len() >= REMEMBERED {
            told.clear();
        }
        if told.insert(document.to_owned()) {
            let params = LogMessageParams {
                typ: MessageType::WARNING,
                message: what.to_string(),
            };
            self.outgoing.notify::<LogMessage>(params);
        }
    }

    fn told(&self) -> MutexGuard<'_, HashSet<String>> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::fake_client::FakeClient;

    struct Desk {
        client: FakeClient,
        buffers: Arc<Buffers>,
        documents: Documents,
    }

    impl Desk {
        fn new() -> Self {
            let client = FakeClient::new();
            let buffers = Buffers::new();
            let documents = Documents::new(Arc::clone(&buffers), client.outgoing.clone());
            Self {
                client,
                buffers,
                documents,
            }
        }

        fn open(&self, uri: &str, version: i32, text: &str) {
            let document =
                json!({"uri": uri, "languageId": "rust", "version": version, "text": text});
            self.documents.open(json!({ "textDocument": document }));
        }

        fn change(&self, uri: &str, version: i32, changes: Value) {
            let params = json!({"textDocument": {"uri": uri, "version": version}, "contentChanges": changes});
            self.documents.change(params, Encoding::Utf16);
        }

        fn text(&self, uri: &str) -> Option<String> {
            Some(
                self.buffers
                    .get(&DocumentUri::parse(uri).ok()?)?
                    .text
                    .to_string(),
            )
        }

        fn is_in_step(&self, uri: &str) -> bool {
            self.buffers
                .out_of_step(&DocumentUri::parse(uri).expect("a uri"))
                .is_none()
        }

        /// All that was told since the last time.
        async fn told(&mut self) -> Vec<String> {
            self.client.outgoing.notify_as("mark", json!({}));
            let mut told = Vec::new();
            loop {
                let message = self.client.receive().await;
                if message["method"] == "mark" {
                    return told;
                }
                assert_eq!(
                    (&message["method"], &message["params"]["type"]),
                    (&json!("window/logMessage"), &json!(2))
                );
                told.push(
                    message["params"]["message"]
                        .as_str()
                        .expect("text")
                        .to_owned(),
                );
            }
        }
    }

    const URI: &str = "file:///a.rs";

    fn ranged(line: u32, start: u32, end: u32, text: &str) -> Value {
        json!({
            "range": {"start": {"line": line, "character": start}, "end": {"line": line, "character": end}},
            "text": text,
        })
    }

    #[tokio::test]
    async fn a_document_from_open_to_close() {
        let mut desk = Desk::new();
        desk.open(URI, 1, "\u{1f600}x\r\ny");
        desk.change(URI, 2, json!([ranged(0, 2, 3, "z"), ranged(1, 0, 1, "")]));
        assert_eq!(desk.text(URI).as_deref(), Some("\u{1f600}z\r\n"));
        desk.change(
            URI,
            3,
            json!([{"text": "whole"}, {"range": null, "text": "whole again"}]),
        );
        assert_eq!(desk.text(URI).as_deref(), Some("whole again"));
        desk.documents.save(json!({"textDocument": {"uri": URI}}));
        desk.documents.close(json!({"textDocument": {"uri": URI}}));
        assert_eq!(desk.text(URI), None);
        assert_eq!(desk.told().await, Vec::<String>::new());
    }

    #[tokio::test]
    async fn the_clients_own_spelling_is_kept() {
        let desk = Desk::new();
        for uri in [
            "file:///a%40(b) c.rs",
            "untitled:Untitled-1",
            "vscode-notebook-cell:/n.ipynb#W0sZmlsZQ==",
        ] {
            desk.open(uri, 1, "x");
            let other_spelling = uri.replace("%40", "@");
            let snapshot = desk
                .buffers
                .get(&DocumentUri::parse(&other_spelling).expect("a uri"));
            assert_eq!(
                snapshot
                    .map(|snapshot| snapshot.uri.as_str().to_owned())
                    .as_deref(),
                Some(uri)
            );
        }
    }

    #[tokio::test]
    async fn what_goes_wrong_is_told_once_a_document() {
        let mut desk = Desk::new();
        for _ in 0..3 {
            desk.change("file:///unopened.rs", 1, json!([{"text": "x"}]));
            desk.open("no uri", 1, "x");
            desk.documents
                .close(json!({"textDocument": {"uri": "no uri"}}));
            desk.documents.save(json!({}));
        }
        let told = desk.told().await;
        assert_eq!(told.len(), 3, "{told:?}");
        assert!(
            told[0].contains("/unopened.rs was changed but is not open"),
            "{told:?}"
        );
        assert!(
            told[1].starts_with("textDocument/didOpen can't be read: textDocument.uri: \"no uri\""),
            "{told:?}"
        );
        assert!(
            told[2].starts_with("textDocument/didSave can't be read: missing field"),
            "{told:?}"
        );
        assert!(desk.buffers.all().is_empty());
    }

    #[tokio::test]
    async fn a_version_that_goes_back_is_told_until_the_document_is_opened_again() {
        let mut desk = Desk::new();
        for _ in 0..2 {
            desk.open(URI, 5, "abc");
            for version in [4, 3, 6] {
                desk.change(URI, version, json!([ranged(0, 0, 1, "X")]));
                assert_eq!(desk.text(URI).as_deref(), Some("abc"));
            }
            let told = desk.told().await;
            assert_eq!(told.len(), 1, "{told:?}");
            assert!(
                told[0].contains("version 4 came after version 5"),
                "{told:?}"
            );
        }
    }

    #[tokio::test]
    async fn a_change_that_can_not_be_read_is_a_change_that_was_missed() {
        let mut desk = Desk::new();
        desk.open(URI, 1, "abc");
        desk.change(URI, 2, json!([{"range": {"start": {}}, "text": "X"}]));
        assert!(!desk.is_in_step(URI));
        let told = desk.told().await;
        assert_eq!(
            told,
            [
                "textDocument/didChange can't be read: contentChanges[0].range.start: missing field `line`"
            ]
        );
        // A save that carries the text, or a whole text, puts it right.
        desk.documents
            .save(json!({"textDocument": {"uri": URI}, "text": "abX"}));
        assert!(desk.is_in_step(URI));
        assert_eq!(desk.text(URI).as_deref(), Some("abX"));
    }

    #[tokio::test]
    async fn absent_fields_that_do_not_matter() {
        let mut desk = Desk::new();
        desk.documents
            .open(json!({"textDocument": {"uri": URI, "text": "x", "languageId": null}}));
        assert_eq!(desk.text(URI).as_deref(), Some("x"));
        assert_eq!(desk.told().await, Vec::<String>::new());
    }
}
