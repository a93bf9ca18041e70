//! The strict client against a server that each test plays by hand: does it send what its editor would, and does it
//! see what a server may not do?

use serde_json::{Value, json};
use tokio::io::{AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};

use super::*;

const URI: &str = "file:///project/a.rs";

/// The other end: a server played by the test.
struct Played {
    input: BufReader<ReadHalf<DuplexStream>>,
    output: WriteHalf<DuplexStream>,
    next_id: i64,
}

impl Played {
    async fn next(&mut self) -> Value {
        wire::next(&mut self.input)
            .await
            .expect("a message")
            .expect("not the end")
    }

    async fn send(&mut self, message: Value) {
        self.output
            .write_all(&wire::frame(&message))
            .await
            .expect("sent");
    }

    async fn edit(&mut self, version: &Value, range: Range, new: &str) -> Value {
        self.next_id += 1;
        let id = json!(format!("e{}", self.next_id));
        let edits = [json!({"range": range, "newText": new})];
        let document = json!({"uri": URI, "version": version});
        let edit = if version.is_null() {
            json!({"changes": {URI: edits}})
        } else {
            json!({"documentChanges": [{"textDocument": document, "edits": edits}]})
        };
        let params = json!({"edit": edit});
        let request =
            json!({"jsonrpc": "2.0", "id": id, "method": "workspace/applyEdit", "params": params});
        self.send(request).await;
        id
    }

    /// Reads until the edit is answered and the text told: "reply" and "change" in their order, the answer, the text.
    async fn outcome(&mut self, mut text: String, changes: usize) -> (Vec<&str>, Value, String) {
        let (mut order, mut answer, mut told) = (Vec::new(), Value::Null, 0);
        while answer.is_null() || told < changes {
            let message = self.next().await;
            if message["method"] == "textDocument/didChange" {
                told += 1;
                order.push("change");
                for piece in message["params"]["contentChanges"]
                    .as_array()
                    .expect("changes")
                {
                    let new = piece["text"].as_str().expect("text");
                    match serde_json::from_value(piece["range"].clone()) {
                        Ok(range) => {
                            let bytes =
                                text::bytes(&text, range, Encoding::Utf16).expect("a place");
                            text.replace_range(bytes, new);
                        }
                        Err(_) => text = new.to_owned(),
                    }
                }
            } else {
                order.push("reply");
                answer = message;
            }
        }
        (order, answer, text)
    }
}

async fn started(ways: Ways) -> (Editor, Played) {
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let (from_server, to_server) = tokio::io::split(ours);
    let (input, output) = tokio::io::split(theirs);
    let setup = Setup {
        ways: ways.clone(),
        root: "/project".into(),
        ..Setup::default()
    };
    let editor = Editor::connect(ways, from_server, to_server);
    let mut server = Played {
        input: BufReader::new(input),
        output,
        next_id: 0,
    };
    let serve = async {
        let request = server.next().await;
        assert_eq!(request["method"], "initialize");
        let sync = json!({"openClose": true, "change": 2, "save": true});
        let result = json!({"capabilities": {"textDocumentSync": sync}});
        server
            .send(json!({"jsonrpc": "2.0", "id": request["id"], "result": result}))
            .await;
        assert_eq!(server.next().await["method"], "initialized");
    };
    tokio::join!(editor.initialize(&setup), serve);
    editor.open_text(URI, "rust", "one two\n");
    assert_eq!(server.next().await["method"], "textDocument/didOpen");
    (editor, server)
}

fn two() -> Range {
    Range::new((0, 4), (0, 7))
}

fn version(ways: &Ways) -> Value {
    let said = profile(ways.profile)["capabilities"]["workspace"]["workspaceEdit"]["documentChanges"]
        == true;
    if said || ways.takes_document_changes {
        json!(ways.first_version)
    } else {
        Value::Null
    }
}

#[tokio::test]
async fn an_edit_comes_back_in_the_editors_way() {
    for ways in Ways::all() {
        let (editor, mut server) = started(ways.clone()).await;
        server.edit(&version(&ways), two(), "2").await;
        let (order, answer, text) = server.outcome("one two\n".into(), 1).await;
        assert_eq!(answer["result"], json!({"applied": true}), "{}", ways.name);
        assert_eq!(text, "one 2\n", "{}", ways.name);
        let first = if ways.echo == Echo::BeforeReply {
            "change"
        } else {
            "reply"
        };
        assert_eq!(order[0], first, "{}", ways.name);
        assert!(editor.undo(URI), "one step of undo");
        assert_eq!(editor.text(URI), "one two\n");
    }
}

#[tokio::test]
async fn a_stale_edit_is_treated_in_the_editors_way() {
    let applied = json!({"applied": true});
    let refused = json!({"applied": false});
    for ways in Ways::all() {
        // A version of 0 is not checked by Neovim: give it one that counts.
        let ways = Ways {
            first_version: 7,
            ..ways
        };
        let (editor, mut server) = started(ways.clone()).await;
        editor.type_during(Moment::BeforeApply, URI, Spot::Start, "new ");
        server.edit(&version(&ways), two(), "2").await;
        let (_, answer, text) = server.outcome("one two\n".into(), 1).await;
        let skipped = "new one two\n";
        match ways.name {
            "neovim" => assert_eq!((&answer["result"], text.as_str()), (&applied, skipped)),
            "vscode" | "lsp-mode" => {
                assert_eq!((&answer["result"], text.as_str()), (&refused, skipped));
            }
            "helix" => {
                assert_eq!(answer["result"]["failedChange"], 0);
                assert!(answer["result"]["failureReason"].is_string() && text == skipped);
            }
            "eglot" => assert!(answer["error"]["message"].is_string() && text == skipped),
            _ => {
                assert_eq!(answer["result"], applied, "{}", ways.name);
                editor
                    .wait_text(URI, "applied all the same", |text| text == "new 2 two\n")
                    .await;
            }
        }
    }
}

#[tokio::test]
async fn typing_at_each_moment_is_in_the_text() {
    for ways in Ways::all() {
        for moment in [Moment::BeforeReply, Moment::AfterReply, Moment::Merged] {
            let (editor, mut server) = started(ways.clone()).await;
            editor.type_during(moment, URI, Spot::End, "typed");
            server.edit(&version(&ways), two(), "2").await;
            let merges = ways.debounce.is_some() || moment == Moment::Merged;
            let changes =
                if merges || (moment == Moment::BeforeReply && ways.echo == Echo::AfterReply) {
                    1
                } else {
                    2
                };
            let (_, _, text) = server.outcome("one two\n".into(), changes).await;
            assert_eq!(text, "one 2\ntyped", "{} {moment:?}", ways.name);
        }
    }
}

#[tokio::test]
async fn a_server_that_does_wrong_is_found() {
    let version = json!(1);
    let notify =
        |method: &str, params: Value| json!({"jsonrpc": "2.0", "method": method, "params": params});
    let ask = |method: &str, params: Value| json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let place = |line, character| Range::new((line, character), (line, character));
    let edits = [
        (json!(9), place(0, 0), "never sent"),
        (version.clone(), place(0, 8), "past the end"),
        (version.clone(), place(2, 0), "line 2 of a text of 2 lines"),
        (
            version.clone(),
            Range::new((0, 3), (0, 1)),
            "ends before it starts",
        ),
    ];
    for (version, range, wanted) in edits {
        let (editor, mut server) = started(Ways::vscode()).await;
        server.edit(&version, range, "x").await;
        server.next().await;
        found(&editor, wanted);
    }
    let messages = [
        (
            json!({"jsonrpc": "2.0", "id": 77, "result": null}),
            "nothing that was asked",
        ),
        (
            json!({"id": 1, "jsonrpc": "2.0", "result": 1, "error": {"code": 1, "message": "x"}}),
            "both or neither",
        ),
        (
            notify("$/progress", json!({"token": 1, "value": {"kind": "end"}})),
            "nobody created",
        ),
        (notify("nonsense", json!({})), "no editor knows"),
        (
            notify("window/showMessage", json!({"type": 1, "message": " "})),
            "says nothing",
        ),
        (
            notify(
                "copydesk/event",
                json!({"session": "a", "seq": 1, "type": "text", "delta": ""}),
            ),
            "outside a run",
        ),
        (
            ask(
                "client/registerCapability",
                json!({"registrations": [{"id": "a", "method": "textDocument/colour"}]}),
            ),
            "registers",
        ),
        (ask("copydesk/save", json!({"uris": []})), "did not say"),
        (
            ask(
                "workspace/applyEdit",
                json!({"edit": {"changes": {"file:///project/%61.rs": [{"range": two(), "newText": ""}]}}}),
            ),
            "under that spelling",
        ),
        (
            ask("workspace/applyEdit", json!({"edit": {"changes": {}}})),
            "0 documents",
        ),
        (
            ask(
                "workspace/applyEdit",
                json!({"edit": {"documentChanges": [{"kind": "create", "uri": "file:///b"}]}}),
            ),
            "resource operation",
        ),
    ];
    for (message, wanted) in messages {
        let (editor, mut server) = started(Ways::vscode()).await;
        server.send(message).await;
        server
            .send(notify(
                "window/logMessage",
                json!({"type": 4, "message": "last"}),
            ))
            .await;
        heard(&editor, "last").await;
        found(&editor, wanted);
    }
}

#[tokio::test]
async fn a_client_without_a_capability_takes_no_such_request() {
    let (editor, mut server) = started(Ways::kate()).await;
    let edits = [json!({"range": two(), "newText": ""})];
    let change = json!({"textDocument": {"uri": URI, "version": 0}, "edits": edits});
    let params = json!({"edit": {"documentChanges": [change]}});
    server
        .send(json!({"jsonrpc": "2.0", "id": 1, "method": "workspace/applyEdit", "params": params}))
        .await;
    assert_eq!(server.next().await["result"]["applied"], false);
    found(&editor, "does not know them");
    let params = json!({"type": 3, "message": "?", "actions": []});
    server.send(json!({"jsonrpc": "2.0", "id": 2, "method": "window/showMessageRequest", "params": params})).await;
    assert_eq!(server.next().await["error"]["code"], -32601);
}

#[tokio::test]
async fn only_own_diagnostics_are_passed_by_neovim() {
    let theirs = [json!({"range": two(), "message": "m", "source": "rust-analyzer"})];
    for (ways, passed) in [(Ways::neovim(), 0), (Ways::helix(), 1)] {
        let (editor, mut server) = started(ways).await;
        editor.start_code_actions(
            URI,
            two(),
            Asking {
                diagnostics: &theirs,
                ..Asking::default()
            },
        );
        let request = server.next().await;
        assert_eq!(
            request["params"]["context"]["diagnostics"]
                .as_array()
                .map(Vec::len),
            Some(passed)
        );
    }
}

/// Waits for a log message, whatever else is wrong.
async fn heard(editor: &Editor, text: &str) {
    let mut changes = editor.shared.changes();
    while !editor
        .received()
        .iter()
        .any(|message| message["params"]["message"] == text)
    {
        changes.changed().await.expect("the client is there");
    }
}

/// Takes the problems away and looks for one.
fn found(editor: &Editor, wanted: &str) {
    let problems = editor.take_problems();
    assert!(
        problems.iter().any(|p| p.contains(wanted)),
        "{wanted:?} is not in {problems:?}"
    );
}
