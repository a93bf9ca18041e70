//! What a server asks and tells of its own accord. Every request of it is answered, at once: a server that waits for
//! an answer hangs or stays empty.

use std::{
    collections::{BTreeSet, VecDeque},
    time::SystemTime,
};

use serde_json::{Value, json, value::RawValue};
use tokio::time::Instant;

use super::{
    Server, capabilities,
    command::Wanted,
    registrations::{Registrations, list},
};
use crate::{
    answer::Trouble,
    client::{Peer, RpcError, codes},
    config::Ready,
};

/// What a server has left with us.
#[derive(Debug, Default)]
pub(super) struct Desk {
    pub registrations: Registrations,
    /// The tokens of work-done progress under way, the oldest first.
    pub progress: VecDeque<String>,
    /// Of those, where a project is read, as far as their words tell.
    pub loading: BTreeSet<String>,
    /// Of those, the checks that follow a save; and how many saves the server had heard of when the last one began.
    pub checks: BTreeSet<String>,
    pub checked_saves: Option<u64>,
    pub check_ended: Option<Instant>,
    /// When the last one began: what was written to disk later, it has not seen.
    pub check_began: Option<SystemTime>,
    /// Whether there was any.
    pub has_progressed: bool,
    /// How often it has begun to look at the project.
    pub beginnings: u64,
    /// Whether a document was shown to it, and whether it had time to begin with it.
    pub is_shown: bool,
    pub has_waited: bool,
    pub quiescent: bool,
    /// What it last said of its health, if it is not well.
    pub trouble: Option<Trouble>,
    /// Whether it logged that it has found the project's files.
    pub has_said_ready: bool,
    /// When it last told of its progress, or was first waited for.
    pub heard: Option<Instant>,
    /// The edits that it wants made, while a command of its own runs that was asked for.
    pub wanted: Option<Wanted>,
}

/// What began and has not ended is forgotten beyond so many, the oldest first: some never end.
const MOST_PROGRESS: usize = 1000;

impl Desk {
    fn began(&mut self, token: String) {
        if self.progress.contains(&token) {
            return;
        }
        self.progress.push_back(token);
        if self.progress.len() > MOST_PROGRESS
            && let Some(oldest) = self.progress.pop_front()
        {
            self.checks.remove(&oldest);
            self.loading.remove(&oldest);
        }
    }
}

/// Whether the beginning of a progress says that the project is being read. Servers tell so of much else, as of a search
/// that was asked for.
fn is_of_loading(begin: &Value) -> bool {
    const BEGINNINGS: [&str; 8] = [
        "index",
        "reindex",
        "load",
        "reload",
        "scan",
        "initializ",
        "import",
        "discover",
    ];
    let said = |key: &str| {
        let said = begin[key].as_str().unwrap_or_default().to_lowercase();
        let mut words = said.split(|c: char| !c.is_alphanumeric());
        words.any(|word| BEGINNINGS.iter().any(|start| word.starts_with(start)))
    };
    said("title") || said("message")
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
                let files = self.desk().registrations.register(&params, &self.root);
                self.registered(&params);
                if files {
                    self.watch_anew();
                }
                self.store.ring();
                Value::Null
            }
            "client/unregisterCapability" => {
                let files = self.desk().registrations.unregister(&params);
                self.store.ring();
                if files {
                    self.watch_anew();
                }
                Value::Null
            }
            "workspace/workspaceFolders" => capabilities::workspace_folders(&self.root),
            "workspace/applyEdit" => {
                if self.takes(&params["edit"]) {
                    json!({"applied": true})
                } else {
                    json!({"applied": false, "failureReason": "edits are asked for, not taken"})
                }
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

    fn printed(&self, line: &str) {
        self.stderr.push(line);
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
                {
                    let mut desk = self.desk();
                    desk.quiescent = quiescent;
                    let health = status["health"].as_str().unwrap_or("ok");
                    desk.trouble = (health != "ok").then(|| {
                        Trouble::new(health, status["message"].as_str().unwrap_or_default())
                    });
                    desk.heard = Some(Instant::now());
                }
                self.settle();
            }
            "window/logMessage" | "window/showMessage" => {
                let message = read();
                let message = message["message"].as_str().unwrap_or_default();
                tracing::debug!(server = self.name, message, "says");
                let says = |signs: &[String]| signs.iter().any(|sign| message.contains(sign));
                if says(&self.traits.dead_messages) {
                    self.is_hollow(message);
                }
                if says(&self.traits.ready_messages) {
                    self.desk().has_said_ready = true;
                    self.set_settled();
                    self.settle();
                }
            }
            _ => tracing::trace!(server = self.name, method, "tells what we do not listen to"),
        }
    }
}

impl Server {
    /// What answered for it has ended: it dies of that, before it answers what it was asked with nothing.
    fn is_hollow(&self, message: &str) {
        self.stderr.push(message);
        self.client.close();
        let tree = self.tree.clone();
        // It takes some milliseconds, and others are read here.
        tokio::task::spawn_blocking(move || tree.end());
    }

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
            desk.heard = Some(Instant::now());
            match value["kind"].as_str() {
                Some("begin") => {
                    if is_check(&token) {
                        desk.checks.insert(token.clone());
                        desk.checked_saves = saves;
                        desk.check_began = Some(SystemTime::now());
                    }
                    let is_of_project = match self.readiness() {
                        Ready::Progress => true,
                        Ready::Settled => is_of_loading(value),
                        Ready::Initialized | Ready::Status => false,
                    };
                    if is_of_project {
                        desk.loading.insert(token.clone());
                    }
                    desk.began(token);
                    desk.has_progressed = true;
                    desk.beginnings += u64::from(is_of_project);
                }
                Some("end") => {
                    desk.progress.retain(|one| *one != token);
                    desk.loading.remove(&token);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_ends_is_forgotten() {
        let mut desk = Desk::default();
        for number in 0..3 * MOST_PROGRESS {
            desk.checks.insert(number.to_string());
            desk.loading.insert(number.to_string());
            desk.began(number.to_string());
            desk.began(number.to_string());
        }
        let first = (2 * MOST_PROGRESS).to_string();
        assert_eq!(desk.progress.len(), MOST_PROGRESS);
        assert_eq!(desk.progress.front(), Some(&first));
        assert_eq!(desk.checks.len(), MOST_PROGRESS);
        assert_eq!(desk.loading.len(), MOST_PROGRESS);
    }

    #[test]
    fn what_reads_the_project() {
        for (begin, expected) in [
            (json!({"title": "Indexing"}), true),
            (json!({"title": "mine", "message": "Loading 3 of 9"}), true),
            (json!({"title": "Finding references"}), false),
            (json!({"title": "Uploading"}), false),
            (json!({"title": 5}), false),
        ] {
            assert_eq!(is_of_loading(&begin), expected, "{begin}");
        }
    }
}
