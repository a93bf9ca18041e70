//! Diagnostics by a scripted server: pushed or pulled, late or at once, and what is fresh.

mod stand;

use std::time::Duration;

use langserver::{Diagnosis, Limits, QueryError};
use serde_json::{Value, json};
use stand::{Stand, at, never, short};
use workspace::ByteOffset;

fn able() -> Value {
    json!({
        "hoverProvider": true, "definitionProvider": true, "referencesProvider": {}, "textDocumentSync": 2,
        "codeActionProvider": {"resolveProvider": true}
    })
}

fn script(on: Value) -> Value {
    json!({"capabilities": able(), "on": on})
}

fn published(uri: &workspace::DocumentUri, version: Option<i32>, message: &str) -> Value {
    let mut params = json!({"uri": uri.as_str(), "diagnostics": [{"range": at(0, 3, 4), "message": message, "severity": 2}]});
    if let Some(version) = version {
        params["version"] = json!(version);
    }
    json!({"notify": ["textDocument/publishDiagnostics", params]})
}

/// Pushed diagnostics are fresh only if they are of the text, whatever order they come in.
#[tokio::test]
async fn pushed_diagnostics_and_what_they_are_of() {
    let stand = Stand::scripted(json!(null));
    let uri = stand.uri("a.rs");
    let stand = stand.acting(script(json!({
        "textDocument/didOpen": [[published(&uri, Some(1), "one")]],
        "textDocument/didChange": [
            [published(&uri, Some(1), "late"), published(&uri, Some(2), "two")],
            [published(&uri, None, "three"), published(&uri, None, "three and last")],
            [],
        ],
    })));
    let ask = async |deadline| {
        let found = stand
            .pool
            .diagnostics(&uri, Duration::from_millis(deadline), &never())
            .await;
        match found {
            Diagnosis::Fresh(found) => ("fresh", said(&found)),
            Diagnosis::Pending(found) => ("pending", said(&found)),
            Diagnosis::Unavailable(reason) => ("unavailable", reason),
        }
    };
    stand.open("a.rs", "fn a() {}");
    assert_eq!(ask(10_000).await, ("fresh", "3..4 one".into()));
    stand.replace("a.rs", "fn", "  fn");
    assert_eq!(
        said(&stand.pool.known_diagnostics(&uri)),
        "5..6 one",
        "known at once, moved with the text"
    );
    assert_eq!(ask(10_000).await, ("fresh", "3..4 two".into()));
    stand.replace("a.rs", "fn", "fn ");
    assert_eq!(ask(10_000).await, ("fresh", "3..4 three and last".into()));
    stand.replace("a.rs", "fn", "fn ");
    assert_eq!(ask(50).await, ("pending", "3..4 three and last".into()));
    assert_eq!(stand.pool.known_diagnostics(&stand.uri("b.rs")), []);
}

/// A server of which it is known that it says nothing of what has no problems has said so when it has looked and is silent.
#[tokio::test]
async fn silence_is_an_answer_of_those_only_that_are_known_for_it() {
    for (name, is_known_for_it) in [("vtsls", true), ("scripted", false)] {
        let stand = Stand::with(
            &[("a.rs", "fn a() {}")],
            |folder| {
                let command = json!([stand::STAGE, "serve", folder.join("script")]);
                stand::servers(
                    json!({name: {"command": command, "languages": ["rust"], "ready": "initialized"}}),
                )
            },
            Limits::default(),
        );
        let uri = stand.uri("a.rs");
        let looks = json!([{"answer": null}]);
        let speaks = json!([published(&uri, Some(2), "two"), {"answer": null}]);
        let stand = stand.acting(script(json!({
            "textDocument/hover": [looks, looks, looks, looks, looks, speaks, looks],
        })));
        let ask = async |deadline| {
            let deadline = Duration::from_millis(deadline);
            match stand.pool.diagnostics(&uri, deadline, &never()).await {
                Diagnosis::Fresh(found) => format!("fresh {}", said(&found)),
                Diagnosis::Pending(found) => format!("pending {}", said(&found)),
                Diagnosis::Unavailable(reason) => reason,
            }
        };
        stand.open("a.rs", "fn a() {}");
        if !is_known_for_it {
            assert_eq!(ask(3000).await, "pending ", "{name}");
            continue;
        }
        assert_eq!(ask(20_000).await, "fresh ", "{name}");
        let asked = stand.methods();
        let asked = asked.iter().filter(|one| *one == "textDocument/hover");
        assert_eq!(asked.count(), 4, "for each of its looks");
        // While it looks, it says that something is wrong.
        stand.replace("a.rs", "fn", "  fn");
        assert_eq!(ask(20_000).await, "fresh 3..4 two");
        // There is a problem: that it is silent now may mean that it is still there, or that it has not looked.
        stand.replace("a.rs", "fn", "fn ");
        assert_eq!(ask(3000).await, "pending 3..4 two");
    }
}

fn said(found: &[langserver::Diagnostic]) -> String {
    found
        .iter()
        .map(|one| format!("{} {}", one.range, one.message))
        .collect::<Vec<_>>()
        .join(", ")
}

/// A server that registers pulling late, takes it back and registers it again, as pyright does.
#[tokio::test]
async fn pulling_is_registered_late_and_again() {
    let register = |id: &str| json!({"ask": ["client/registerCapability", {"registrations": [{"id": id, "method": "textDocument/diagnostic", "registerOptions": {"documentSelector": [{"language": "rust"}]}}]}]});
    let unregister = json!({"ask": ["client/unregisterCapability", {"unregisterations": [{"id": "1", "method": "textDocument/diagnostic"}]}]});
    let report = |message: &str| json!({"answer": {"kind": "full", "items": [{"range": at(0, 0, 1), "message": message}]}});
    let stand = Stand::scripted(script(json!({
        "textDocument/didOpen": [[register("1"), unregister, register("2")]],
        "textDocument/diagnostic": [[{"error": {"code": -32802, "message": "cancelled"}}], [report("pulled")]],
    })));
    let found = stand
        .pool
        .diagnostics(&stand.uri("a.rs"), Duration::from_secs(10), &never())
        .await;
    let Diagnosis::Fresh(found) = found else {
        panic!("{found:?}")
    };
    assert_eq!(said(&found), "0..1 pulled");
}

/// Who asks while a server is indexing gets what there is, and is told so; who can wait, waits.
#[tokio::test]
async fn incomplete_answers_are_called_so() {
    let begin = json!({"notify": ["$/progress", {"token": "t", "value": {"kind": "begin", "title": "Indexing"}}]});
    let end = json!({"notify": ["$/progress", {"token": "t", "value": {"kind": "end"}}]});
    let hover = json!({"answer": {"contents": "h"}});
    let script = json!({"capabilities": able(), "first": [], "on": {
        "initialize": [[begin, {"answer": {"capabilities": able()}}]], "textDocument/hover": [[hover], [end, hover]],
    }});
    let stand = Stand::with(
        &[("main.go", "package main"), ("a.rs", "fn a() {}")],
        |folder| {
            let mut script = script;
            script["log"] = json!(folder.join("log"));
            stand::write(&folder.join("script"), &script.to_string());
            stand::servers(
                json!({"gopls": {"command": [stand::STAGE, "serve", folder.join("script")], "languages": ["go"], "ready": "progress"}}),
            )
        },
        Limits {
            start: Duration::from_secs(10),
            answer: Duration::from_secs(10),
            ..short()
        },
    );
    let uri = stand.uri("main.go");
    let ask = async || {
        let answer = stand
            .pool
            .hover(&uri, ByteOffset(0), &never())
            .await
            .expect("answered");
        (answer.value, answer.complete)
    };
    assert_eq!(ask().await, (Some("h".into()), false));
    assert_eq!(stand.pool.status()[0].state.to_string(), "indexing");
    let found = stand
        .pool
        .diagnostics(&uri, Duration::from_millis(10), &never())
        .await;
    assert_eq!(found, Diagnosis::Pending(vec![]));
    ask().await;
    assert_eq!(ask().await, (Some("h".into()), true));
    assert_eq!(stand.pool.status()[0].state.to_string(), "ready");
    let other = stand
        .pool
        .hover(&stand.uri("a.rs"), ByteOffset(0), &never())
        .await;
    assert_eq!(
        other.map(|_| ()),
        Err(QueryError::NoServer {
            language: "rust".into()
        })
    );
}

/// `start = "open"`: opening a document of its language starts a server, without anyone waiting.
#[tokio::test]
async fn opening_a_document_warms_its_server() {
    let report = json!([{"answer": {"kind": "full", "items": [{"range": at(0, 0, 2), "message": "known"}]}}]);
    let stand = Stand::with(
        &[("a.rs", "")],
        |folder| {
            let capabilities = json!({"diagnosticProvider": {}, "textDocumentSync": 2});
            let script = json!({"log": folder.join("log"), "capabilities": capabilities, "on": {"textDocument/diagnostic": [report]}});
            stand::write(&folder.join("script"), &script.to_string());
            stand::servers(
                json!({"s": {"command": [stand::STAGE, "serve", folder.join("script")], "languages": ["rust"], "start": "open"}}),
            )
        },
        Limits::default(),
    );
    assert_eq!(stand.pool.status(), []);
    stand.open("a.rs", "fn a() {}");
    // Nobody asks anything: what the server has to say is fetched in the background.
    let deadline = std::time::Instant::now() + Duration::from_secs(10);
    while stand.pool.known_diagnostics(&stand.uri("a.rs")).is_empty() {
        assert!(
            std::time::Instant::now() < deadline,
            "{:?}",
            stand.methods()
        );
        tokio::task::yield_now().await;
    }
    assert_eq!(
        said(&stand.pool.known_diagnostics(&stand.uri("a.rs"))),
        "0..2 known"
    );
    assert_eq!(
        stand.methods(),
        ["textDocument/didOpen", "textDocument/diagnostic"]
    );
}

#[tokio::test]
async fn one_that_logs_when_it_has_found_the_files_is_not_believed_before() {
    // pyright's name: the catalogue knows what that one logs.
    let found =
        json!({"notify": ["window/logMessage", {"type": 3, "message": "Found 885 source files"}]});
    let nothing = json!({"answer": null});
    let script = json!({
        "capabilities": {"definitionProvider": true},
        "on": {"textDocument/definition": [[nothing], [found, nothing], [nothing]]},
    });
    let stand = Stand::with(
        &[("a.py", "a = 1\n")],
        |folder| {
            let mut script = script;
            script["log"] = json!(folder.join("log"));
            stand::write(&folder.join("script"), &script.to_string());
            let command = json!([stand::STAGE, "serve", folder.join("script")]);
            langserver::catalogue::merged(&stand::servers(
                json!({"pyright": {"command": command, "enabled": true}}),
            ))
        },
        stand::short(),
    );
    let mut complete = Vec::new();
    for _ in 0..4 {
        let answer = stand
            .pool
            .definition(&stand.uri("a.py"), ByteOffset(0), &never())
            .await;
        complete.push(answer.expect("answered").complete);
    }
    assert_eq!(complete[..2], [false, false], "before it said so");
    assert!(complete[3], "after");
}

#[tokio::test]
async fn what_was_pushed_before_another_document_changed_is_not_fresh() {
    let stand = Stand::scripted(json!(null));
    let uri = stand.uri("b.rs");
    let stand = stand.acting(script(json!({
        "textDocument/didOpen": [[], [published(&uri, Some(1), "before")], []],
        // It looks at the other document too, later.
        "textDocument/didChange": [[{"run": ["sleep", "0.5"]}, published(&uri, Some(1), "after")]],
    })));
    stand.open("a.rs", "fn a() {}\n");
    stand.open("b.rs", "fn b() { a() }\n");
    let said = |diagnosis: Diagnosis| match diagnosis {
        Diagnosis::Fresh(found) => found[0].message.clone(),
        other => panic!("{other:?}"),
    };
    let deadline = Duration::from_secs(20);
    let first = stand.pool.diagnostics(&uri, deadline, &never()).await;
    assert_eq!(said(first), "before");
    stand.replace("a.rs", "fn a()", "fn c()");
    let second = stand.pool.diagnostics(&uri, deadline, &never()).await;
    assert_eq!(said(second), "after");
}
