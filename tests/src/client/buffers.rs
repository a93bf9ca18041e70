//! What the user does with documents: open, type, undo, save, close; and waits for their texts. An editor never writes to
//! disk here but on save.

use std::path::Path;

use serde_json::json;

use super::document::{Document, Spot};
use super::editor::Editor;
use super::process;
use super::state::{Moment, Plan};
use super::text::Range;

impl Editor {
    /// Opens a file as it is on disk; its uri.
    pub fn open(&self, path: &Path) -> String {
        let text = std::fs::read_to_string(path)
            .unwrap_or_else(|why| panic!("can't open {}: {why}", path.display()));
        let uri = process::uri(path);
        self.open_text(&uri, language(path), &text);
        uri
    }

    /// Opens a document that need not be on disk (or is, under this spelling).
    pub fn open_text(&self, uri: &str, language: &str, text: &str) {
        self.shared.with(|state| {
            let version = state.ways.first_version;
            state.notify(
                "textDocument/didOpen",
                json!({"textDocument": {
                    "uri": uri, "languageId": language, "version": version, "text": text,
                }}),
            );
            let document = Document::new(uri, text, version, state.encoding);
            let before = state.documents.insert(uri.to_owned(), document);
            assert!(before.is_none(), "{uri} is open already");
        });
    }

    /// The user types.
    pub fn type_at(&self, uri: &str, spot: &Spot, text: &str) {
        self.shared.with(|state| state.type_in(uri, spot, text));
    }

    /// The user will type at that moment of the next edit that the server sends for the document. A plan that never comes up
    /// fails `shutdown`.
    pub fn type_during(&self, moment: Moment, uri: &str, spot: Spot, text: &str) {
        let (uri, text) = (uri.to_owned(), text.to_owned());
        self.shared.with(|state| {
            state.plans.push(Plan {
                uri,
                moment,
                spot,
                text,
            });
        });
    }

    /// The user takes back one step. False if there is none.
    pub fn undo(&self, uri: &str) -> bool {
        self.shared.with(|state| {
            let ways = state.ways.clone();
            let undone = state.document(uri).undo(&ways);
            match ways.debounce {
                Some(wait) if undone => state.tell_after(uri, wait),
                _ => state.tell(uri),
            }
            undone
        })
    }

    /// Sends at once what waits to be sent.
    pub fn flush(&self) {
        self.shared.with(super::state::State::tell_all);
    }

    /// Writes the file and tells the server, with the text if it asked for that.
    pub fn save(&self, uri: &str, path: &Path) {
        self.shared.with(|state| {
            state.tell(uri);
            let text = state.document(uri).text.clone();
            std::fs::write(path, &text).expect("saved");
            let options = &state.server["capabilities"]["textDocumentSync"]["save"];
            let mut params = json!({"textDocument": {"uri": uri}});
            if options["includeText"] == true {
                params["text"] = json!(text);
            }
            if options.is_object() || *options == true {
                state.notify("textDocument/didSave", params);
            }
        });
    }

    /// Closes a document; what was not saved is gone.
    pub fn close(&self, uri: &str) {
        self.shared.with(|state| {
            state.tell(uri);
            state.documents.remove(uri);
            state.notify(
                "textDocument/didClose",
                json!({"textDocument": {"uri": uri}}),
            );
        });
    }

    /// The text that the user sees.
    pub fn text(&self, uri: &str) -> String {
        self.shared.look().document(uri).text.clone()
    }

    /// The version of what the user sees.
    pub fn version(&self, uri: &str) -> i64 {
        self.shared.look().document(uri).version
    }

    /// The LSP range of a spot in the text that the user sees.
    pub fn range(&self, uri: &str, spot: &Spot) -> Range {
        self.shared.look().document(uri).range(spot)
    }

    /// Waits until the text that the user sees is as wanted; that text.
    pub async fn wait_text(&self, uri: &str, what: &str, wanted: impl Fn(&str) -> bool) -> String {
        self.until(what, |state| {
            let text = &state.document(uri).text;
            wanted(text).then(|| text.clone())
        })
        .await
    }
}

/// The language id that editors give a file.
fn language(path: &Path) -> &'static str {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("rs") => "rust",
        Some("py") => "python",
        Some("ts") => "typescript",
        Some("c" | "h") => "c",
        Some("cpp" | "hpp" | "cc") => "cpp",
        Some("go") => "go",
        Some("toml") => "toml",
        Some("md") => "markdown",
        Some("json") => "json",
        _ => "plaintext",
    }
}
