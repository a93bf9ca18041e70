//! What a server asks and tells of its own accord. Every request of it is answered, at once: a server that waits for
//! an answer hangs or stays empty.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};
use tokio::time::Instant;
use workspace::Snapshot;

use super::{Server, capabilities};
use crate::{
    client::{Peer, RpcError, codes},
    mirror::language,
};

/// What a server has left with us.
#[derive(Debug, Default)]
pub(super) struct Desk {
    registrations: BTreeMap<String, Registration>,
    /// Work-done progress under way: token and title.
    pub progress: BTreeMap<String, String>,
    /// Of those, the checks that follow a save; and how many saves the server had heard of when the last one began.
    pub checks: BTreeSet<String>,
    pub checked_saves: Option<u64>,
    pub check_ended: Option<Instant>,
    /// Whether there was any.
    pub has_progressed: bool,
    /// Whether a document was shown to it, and whether it had time to begin with it.
    pub is_shown: bool,
    pub has_waited: bool,
    pub quiescent: bool,
    /// The last edit that it wanted made and that was refused.
    pub refused_edit: Option<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Registration {
    id: String,
    method: String,
    #[serde(default)]
    register_options: Value,
}

impl Desk {
    /// Whether a method was registered, for this document where one is named.
    pub fn has_registered(&self, method: &str, document: Option<&Snapshot>) -> bool {
        self.registrations
            .values()
            .any(|registration| registration.method == method && registration.covers(document))
    }

    fn register(&mut self, params: &Value) {
        for registration in list(params, &["registrations"]) {
            match Registration::deserialize(registration) {
                Ok(registration) => {
                    self.registrations
                        .insert(registration.id.clone(), registration);
                }
                Err(error) => tracing::debug!(%error, %registration, "a registration that is none"),
            }
        }
    }

    fn unregister(&mut self, params: &Value) {
        // The misspelt name is LSP's own.
        for id in list(params, &["unregisterations", "unregistrations"])
            .iter()
            .filter_map(|one| one["id"].as_str())
        {
            self.registrations.remove(id);
        }
    }
}

impl Registration {
    /// A filter by pattern counts as matching: asking once too often does no harm.
    fn covers(&self, document: Option<&Snapshot>) -> bool {
        let (Some(document), Some(filters)) = (
            document,
            self.register_options["documentSelector"].as_array(),
        ) else {
            return true;
        };
        let language = language(document);
        let scheme = document.uri.as_str().split(':').next().unwrap_or_default();
        let allows = |filter: &Value, key: &str, value: &str| {
            filter[key].as_str().is_none_or(|wanted| wanted == value)
        };
        filters
            .iter()
            .any(|filter| allows(filter, "language", language) && allows(filter, "scheme", scheme))
    }
}

fn list<'a>(params: &'a Value, keys: &[&str]) -> &'a [Value] {
    keys.iter()
        .find_map(|key| params[*key].as_array())
        .map_or(&[], Vec::as_slice)
}

impl Peer for Server {
    fn asked(&self, method: &str, params: &RawValue) -> Result<Value, RpcError> {
        let params: Value = serde_json::from_str(params.get()).unwrap_or_default();
        Ok(match method {
            "workspace/configuration" => list(&params, &["items"])
                .iter()
                .map(|item| {
                    self.config
                        .section(item["section"].as_str().unwrap_or_default())
                })
                .collect(),
            "client/registerCapability" => {
                self.desk().register(&params);
                self.registered(&params);
                Value::Null
            }
            "client/unregisterCapability" => {
                self.desk().unregister(&params);
                self.store.ring();
                Value::Null
            }
            "workspace/workspaceFolders" => capabilities::workspace_folders(&self.root),
            "workspace/applyEdit" => {
                self.desk().refused_edit = Some(params["edit"].clone());
                json!({"applied": false, "failureReason": "edits are asked for, not taken"})
            }
            "workspace/diagnostic/refresh" => {
                self.refresh();
                Value::Null
            }
            "window/workDoneProgress/create"
            | "window/showMessageRequest"
            | "workspace/codeLens/refresh"
            | "workspace/semanticTokens/refresh"
            | "workspace/inlayHint/refresh"
            | "workspace/inlineValue/refresh"
            | "workspace/foldingRange/refresh"
            | "workspace/textDocumentContent/refresh" => Value::Null,
            "window/showDocument" => json!({"success": false}),
            _ => {
                tracing::debug!(server = self.name, method, "asks for what we do not know");
                return Err(RpcError {
                    code: codes::METHOD_NOT_FOUND,
                    message: format!("{method} is not known here"),
                });
            }
        })
    }

    fn notified(&self, method: &str, params: &RawValue) {
        let read = || serde_json::from_str::<Value>(params.get()).unwrap_or_default();
        match method {
            "textDocument/publishDiagnostics" => self.published(read()),
            "$/progress" => self.progressed(&read()),
            "experimental/serverStatus" => {
                let status = read();
                let quiescent = status["quiescent"] == true;
                tracing::debug!(server = self.name, %status, "status");
                self.desk().quiescent = quiescent;
                self.settle();
            }
            "window/logMessage" | "window/showMessage" => {
                let message = read();
                tracing::debug!(
                    server = self.name,
                    message = message["message"].as_str(),
                    "says"
                );
            }
            _ => tracing::trace!(server = self.name, method, "tells what we do not listen to"),
        }
    }
}

impl Server {
    fn progressed(&self, params: &Value) {
        let token = params["token"].to_string();
        let value = &params["value"];
        let is_check = |token: &String| {
            let name = token.trim_matches('"');
            let prefix = self.traits.check_progress.as_deref();
            prefix.is_some_and(|prefix| name.starts_with(prefix))
        };
        // Before the desk is taken: whoever has the wire may want the desk.
        let saves = self.mirror().map(|mirror| mirror.wire().saves());
        {
            let mut desk = self.desk();
            match value["kind"].as_str() {
                Some("begin") => {
                    if is_check(&token) {
                        desk.checks.insert(token.clone());
                        desk.checked_saves = saves;
                    }
                    let title = value["title"].as_str().unwrap_or_default().to_owned();
                    desk.progress.insert(token, title);
                    desk.has_progressed = true;
                }
                Some("end") => {
                    desk.progress.remove(&token);
                    if desk.checks.remove(&token) {
                        desk.check_ended = Some(Instant::now());
                    }
                }
                // A report, or partial results, which nobody asked for.
                _ => return,
            }
        }
        self.store.ring();
        self.settle();
    }

    fn registered(&self, params: &Value) {
        for registration in list(params, &["registrations"]) {
            match registration["method"].as_str() {
                Some("textDocument/didSave") => {
                    let with_text = registration["registerOptions"]["includeText"] == true;
                    if let Some(mirror) = self.mirror() {
                        mirror.wire().set_save(Some(with_text));
                    }
                }
                Some("textDocument/diagnostic") => self.refresh(),
                _ => {}
            }
        }
    }
}
