//! The editor as the holder of the buffers: hands it one edit of one document, and passes on what
//! it answers. Whether the edit stands, and whether it is tried again, is for `workspace` to find
//! out: an answer proves nothing.

use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use serde_json::{Value, json};
use tower_lsp::lsp_types::{MessageType, ShowMessageParams, notification::ShowMessage};
use workspace::{Edit, Encoding, FileOperation, Host, HostError, Reply};

use crate::capabilities::{Client, Edits};
use crate::transport::{Outgoing, RequestError};
use crate::wire::range_json;

/// JSON-RPC's code for a method that is not there.
const METHOD_NOT_FOUND: i64 = -32601;

/// The client, where edits are concerned.
pub(crate) struct EditorHost {
    outgoing: Outgoing,
    client: Client,
    /// The person was told that this editor takes no edits.
    told: AtomicBool,
}

impl EditorHost {
    pub(crate) fn new(outgoing: Outgoing, client: Client) -> Self {
        Self {
            outgoing,
            client,
            told: AtomicBool::new(false),
        }
    }

    async fn ask(&self, edit: Value, label: &str) -> Result<Reply, HostError> {
        let params = json!({ "label": label, "edit": edit });
        match self.outgoing.request("workspace/applyEdit", params).await {
            Ok(answer) => Ok(reply(&answer)),
            Err(RequestError::Refused {
                code: METHOD_NOT_FOUND,
                ..
            }) => Err(self.unsupported()),
            // Some clients refuse an edit of an older version by an error.
            Err(RequestError::Refused { message, .. }) => Ok(Reply::Refused {
                reason: Some(message),
            }),
            Err(RequestError::Gone) => Err(HostError::Closed),
        }
    }

    fn unsupported(&self) -> HostError {
        if !self.told.swap(true, Ordering::Relaxed) {
            let editor = self.client.name.as_deref().unwrap_or("This editor");
            let message = format!(
                "{editor} takes no edits from a language server (workspace/applyEdit), so documents that are open in it \
                 can't be changed. Save and close a document, and its file is changed instead."
            );
            self.outgoing.notify::<ShowMessage>(ShowMessageParams {
                typ: MessageType::WARNING,
                message,
            });
        }
        HostError::Unsupported
    }
}

#[async_trait]
impl Host for EditorHost {
    async fn apply(&self, edit: &Edit, label: &str) -> Result<Reply, HostError> {
        if self.client.edits == Edits::Unsupported {
            return Err(self.unsupported());
        }
        let edit = workspace_edit(edit, self.client.edits, self.client.encoding);
        self.ask(edit, label).await
    }

    fn can(&self, operation: &FileOperation) -> bool {
        match operation {
            FileOperation::Rename { .. } => self.client.renames,
            FileOperation::Delete { .. } => self.client.deletes,
        }
    }

    async fn operate(&self, operation: &FileOperation, label: &str) -> Result<Reply, HostError> {
        if !self.can(operation) {
            return Err(HostError::Unsupported);
        }
        self.ask(file_operation(operation), label).await
    }
}

fn file_operation(operation: &FileOperation) -> Value {
    let operation = match operation {
        FileOperation::Rename { from, to } => json!({
            "kind": "rename", "oldUri": from.as_str(), "newUri": to.as_str(),
            "options": { "overwrite": false, "ignoreIfExists": false },
        }),
        FileOperation::Delete { uri } => json!({
            "kind": "delete", "uri": uri.as_str(),
            "options": { "recursive": false, "ignoreIfNotExists": false },
        }),
    };
    json!({ "documentChanges": [operation] })
}

/// Only a plain `applied: false` is a refusal. Whatever else a client answers is left to the text
/// to prove.
fn reply(answer: &Value) -> Reply {
    if answer["applied"] != false {
        return Reply::Applied;
    }
    let reason = answer["failureReason"]
        .as_str()
        .filter(|reason| !reason.is_empty());
    Reply::Refused {
        reason: reason.map(str::to_owned),
    }
}

fn workspace_edit(edit: &Edit, way: Edits, encoding: Encoding) -> Value {
    let snapshot = edit.snapshot();
    let uri = snapshot.uri.as_str();
    let edits: Vec<Value> = edit
        .replacements()
        .iter()
        .map(|replacement| {
            let range = range_json(snapshot.text.range(replacement.range, encoding));
            json!({ "range": range, "newText": replacement.text })
        })
        .collect();
    if way == Edits::Versioned {
        let document = json!({ "uri": uri, "version": snapshot.version });
        json!({ "documentChanges": [{ "textDocument": document, "edits": edits }] })
    } else {
        json!({ "changes": { uri: edits } })
    }
}

#[cfg(test)]
mod tests {
    use workspace::{Buffers, ByteRange, DocumentUri, Replacement};

    use super::*;

    use crate::fake_client::FakeClient;

    fn edit() -> Edit {
        let uri = DocumentUri::parse("file:///a%20b.rs").expect("a uri");
        let snapshot = Buffers::new().open(uri, "rust", 7, "\u{1f600}x\r\ny\n");
        let replace = |start, end, text: &str| Replacement {
            range: ByteRange::new(start, end),
            text: text.to_owned(),
        };
        Edit::new(snapshot, vec![replace(7, 8, "z\n"), replace(4, 5, "")]).expect("an edit")
    }

    #[test]
    fn edits_as_each_client_takes_them() {
        let range = |a: (u32, u32), b: (u32, u32)| json!({"start": {"line": a.0, "character": a.1}, "end": {"line": b.0, "character": b.1}});
        let edits = |first: u32| {
            json!([
                {"range": range((0, first), (0, first + 1)), "newText": ""},
                {"range": range((1, 0), (1, 1)), "newText": "z\n"},
            ])
        };
        for (encoding, first) in [
            (Encoding::Utf8, 4),
            (Encoding::Utf16, 2),
            (Encoding::Utf32, 1),
        ] {
            assert_eq!(
                workspace_edit(&edit(), Edits::Versioned, encoding),
                json!({"documentChanges": [
                    {"textDocument": {"uri": "file:///a%20b.rs", "version": 7}, "edits": edits(first)}
                ]})
            );
            assert_eq!(
                workspace_edit(&edit(), Edits::Plain, encoding),
                json!({"changes": {"file:///a%20b.rs": edits(first)}})
            );
        }
    }

    #[test]
    fn replies() {
        let refused = |reason: Option<&str>| Reply::Refused {
            reason: reason.map(str::to_owned),
        };
        let cases = [
            (json!({"applied": true}), Reply::Applied),
            (json!({"applied": false}), refused(None)),
            (
                json!({"applied": false, "failureReason": ""}),
                refused(None),
            ),
            (
                json!({"applied": false, "failureReason": "stale", "failedChange": 0}),
                refused(Some("stale")),
            ),
            (json!(null), Reply::Applied),
            (json!(true), Reply::Applied),
            (json!({}), Reply::Applied),
        ];
        for (answer, expected) in cases {
            assert_eq!(reply(&answer), expected, "{answer}");
        }
    }

    fn host(client: &FakeClient, capabilities: &Value) -> EditorHost {
        let read = Client::read(&json!({"name": "Tiny"}), capabilities, &Value::Null);
        EditorHost::new(client.outgoing.clone(), read)
    }

    #[tokio::test]
    async fn what_the_client_answers_is_passed_on() {
        let mut client = FakeClient::new();
        let host = host(&client, &json!({"workspace": {"applyEdit": true}}));
        let refused = Reply::Refused {
            reason: Some("stale".to_owned()),
        };
        for (answer, expected) in [
            (Ok(json!({"applied": true})), Ok(Reply::Applied)),
            (Err((-32603, "stale")), Ok(refused)),
            (Err((-32601, "no such method")), Err(HostError::Unsupported)),
        ] {
            let edit = edit();
            let apply = host.apply(&edit, "Fix");
            let play = async {
                let request = client.receive().await;
                assert_eq!(request["method"], "workspace/applyEdit");
                assert_eq!(request["params"]["label"], "Fix");
                client.answer(&request["id"], answer);
            };
            assert_eq!(tokio::join!(apply, play).0, expected);
        }
        client.outgoing.close().await;
        assert_eq!(host.apply(&edit(), "Fix").await, Err(HostError::Closed));
    }

    #[tokio::test]
    async fn files_are_renamed_and_deleted_by_clients_that_say_so() {
        let mut client = FakeClient::new();
        let uri = |name: &str| DocumentUri::parse(&format!("file:///{name}")).expect("a uri");
        let rename = FileOperation::Rename {
            from: uri("a%20b"),
            to: uri("c"),
        };
        let delete = FileOperation::Delete { uri: uri("a") };
        let edits = json!({"documentChanges": true, "resourceOperations": ["rename"]});
        let host = host(
            &client,
            &json!({"workspace": {"applyEdit": true, "workspaceEdit": edits}}),
        );
        assert!(host.can(&rename) && !host.can(&delete));
        let refused = host.operate(&delete, "Fix").await;
        assert_eq!(refused, Err(HostError::Unsupported));
        let play = async {
            let request = client.receive().await;
            assert_eq!(
                request["params"],
                json!({"label": "Fix", "edit": {"documentChanges": [{
                    "kind": "rename", "oldUri": "file:///a%20b", "newUri": "file:///c",
                    "options": {"overwrite": false, "ignoreIfExists": false},
                }]}})
            );
            client.answer(&request["id"], Ok(json!({"applied": true})));
        };
        let answer = tokio::join!(host.operate(&rename, "Fix"), play).0;
        assert_eq!(answer, Ok(Reply::Applied));
        assert_eq!(
            file_operation(&delete),
            json!({"documentChanges": [{
                "kind": "delete", "uri": "file:///a",
                "options": {"recursive": false, "ignoreIfNotExists": false},
            }]})
        );
    }

    #[tokio::test]
    async fn a_client_that_takes_no_edits_is_told_of_once() {
        let mut client = FakeClient::new();
        let host = host(&client, &Value::Null);
        for _ in 0..2 {
            assert_eq!(
                host.apply(&edit(), "Fix").await,
                Err(HostError::Unsupported)
            );
        }
        client.outgoing.notify_as("next", json!({}));
        let told = client.receive().await;
        assert_eq!(
            (told["method"].as_str(), told["params"]["type"].as_i64()),
            (Some("window/showMessage"), Some(2))
        );
        assert!(
            told["params"]["message"]
                .as_str()
                .is_some_and(|text| text.starts_with("Tiny takes no edits"))
        );
        assert_eq!(client.receive().await["method"], "next");
    }
}
