//! What a language server may do to us, by a scripted one: we go on, and whoever asked is told.

mod stand;

use std::time::{Duration, Instant};

use langserver::{Diagnosis, Limits, QueryError, Servers};
use serde_json::{Value, json};
use stand::{STAGE, Stand, at, never, servers, short};
use workspace::ByteOffset;

/// What it announces in most scripts.
fn able() -> Value {
    json!({"hoverProvider": true, "definitionProvider": true, "textDocumentSync": 2, "positionEncoding": "utf-8"})
}

fn hover(text: &str) -> Value {
    json!({"answer": {"contents": text}})
}

/// Every request of a server is answered, and what it registers is used.
#[tokio::test]
async fn all_that_a_server_asks_is_answered() {
    let asks = json!([
        {"ask": ["workspace/configuration", {"items": [{"section": "a.b"}, {"section": "none"}, {}]}]},
        {"ask": ["window/workDoneProgress/create", {"token": 1}]},
        {"ask": ["client/registerCapability", {"registrations": [{"id": "1", "method": "textDocument/diagnostic"}, {"no": "id"}]}]},
        {"ask": ["client/unregisterCapability", {"unregisterations": [{"id": "1", "method": "textDocument/diagnostic"}]}]},
        {"ask": ["client/registerCapability", {"registrations": [{"id": "2", "method": "textDocument/diagnostic"}]}]},
        {"ask": ["workspace/workspaceFolders", null]},
        {"ask": ["workspace/applyEdit", {"edit": {"changes": {}}}]},
        {"ask": ["window/showMessageRequest", {"type": 1, "message": "?", "actions": [{"title": "Yes"}]}]},
        {"ask": ["window/showDocument", {"uri": "file:///x"}]},
        {"ask": ["workspace/diagnostic/refresh", null]},
        {"ask": ["workspace/inlayHint/refresh", null]},
        {"ask": ["made/up", 7]},
    ]);
    let report =
        json!({"kind": "full", "items": [{"range": at(0, 3, 4), "message": "m", "code": 7}]});
    let stand = Stand::scripted(json!({"capabilities": able(), "on": {
        "initialized": [asks], "textDocument/diagnostic": [[{"answer": report}]],
        "textDocument/hover": [[hover("h")]],
    }}));
    assert_eq!(stand.hover("a.rs").await, Ok(Some("h".into())));
    let is_answer =
        |message: &Value| message.get("method").is_none() && message.get("pid").is_none();
    let answers: Vec<Value> = loop {
        let answers: Vec<Value> = stand.log().into_iter().filter(is_answer).collect();
        if answers.len() == 12 {
            break answers;
        }
        stand.hover("a.rs").await.expect("answered");
    };
    let root = stand.uri("").as_str().trim_end_matches('/').to_owned();
    let name = stand
        .path("")
        .file_name()
        .expect("a name")
        .to_str()
        .expect("text")
        .to_owned();
    let expected = [
        json!([1, null, {"a": {"b": 1}}]),
        json!(null),
        json!(null),
        json!(null),
        json!(null),
        json!([{"uri": root, "name": name}]),
        json!({"applied": false, "failureReason": "edits are asked for, not taken"}),
        json!(null),
        json!({"success": false}),
        json!(null),
        json!(null),
    ];
    for (number, expected) in expected.iter().enumerate() {
        assert_eq!(
            answers[number],
            json!({"jsonrpc": "2.0", "id": format!("s{}", number + 1), "result": expected})
        );
    }
    assert_eq!(answers[11]["error"]["code"], -32601);
    let found = stand
        .pool
        .diagnostics(&stand.uri("a.rs"), Duration::from_secs(10), &never())
        .await;
    let Diagnosis::Fresh(found) = found else {
        panic!("{found:?}")
    };
    assert_eq!(
        (found[0].code.as_deref(), found[0].range.as_range()),
        (Some("7"), 3..4)
    );
    stand.pool.shutdown().await;
    let methods = stand.methods();
    assert_eq!(methods[methods.len() - 2..], ["shutdown", "exit"]);
    let shutdown = stand
        .log()
        .into_iter()
        .find(|message| message["method"] == "shutdown")
        .expect("asked");
    assert!(
        shutdown.get("params").is_none(),
        "null is an error for some: {shutdown}"
    );
}

/// Every way not to get an answer is its own error, and takes no longer than it may.
#[tokio::test]
async fn no_answer_has_a_reason() {
    for (name, script, expected) in [
        (
            "never answers",
            json!({"on": {"textDocument/hover": [[]]}}),
            "scripted did not answer textDocument/hover within 0.3 s",
        ),
        (
            "never starts",
            json!({"on": {"initialize": [[]]}}),
            "scripted is still starting: it has not answered `initialize` for",
        ),
        (
            "dies at once",
            json!({"first": [{"stderr": "no\nluck\n"}, {"die": 3}]}),
            "scripted died: exit status: 3; it said last:\nno\nluck",
        ),
        (
            "dies when asked",
            json!({"on": {"textDocument/hover": [[{"die": 4}]]}}),
            "scripted died: exit status: 4",
        ),
        (
            "knows no such method",
            json!({"on": {"textDocument/hover": [[{"error": {"code": -32601, "message": "?"}}]]}}),
            "scripted does not support textDocument/hover",
        ),
        (
            "fails",
            json!({"on": {"textDocument/hover": [[{"error": {"code": -32603, "message": "oh"}}]]}}),
            "scripted failed: textDocument/hover: oh (-32603)",
        ),
        (
            "can't do it",
            json!({"capabilities": {}}),
            "scripted does not support textDocument/hover",
        ),
        (
            "refuses to start",
            json!({"on": {"initialize": [[{"error": {"code": -1, "message": "no licence"}}]]}}),
            "scripted failed: initialize: no licence (-1)",
        ),
        (
            "prints garbage to die of",
            json!({"first": [{"print": "Content-Length: 99999999999999\r\n\r\n"}]}),
            "scripted died: it announced a message of 99999999999999 bytes",
        ),
    ] {
        let mut script = script;
        if script.get("capabilities").is_none() {
            script["capabilities"] = able();
        }
        let mut limits = short();
        if name == "never starts" {
            limits.start = Duration::from_secs(60);
        }
        let stand = Stand::scripted_within(script, limits);
        let begun = Instant::now();
        let error = stand.hover("a.rs").await.expect_err("no answer");
        // How long it has been starting is not told the same each time.
        let (error, _) = error
            .split_once(" 0.")
            .filter(|_| name == "never starts")
            .unwrap_or((&error, ""));
        assert_eq!(error, expected, "{name}");
        assert!(
            begun.elapsed() < Duration::from_secs(5),
            "{name}: {:?}",
            begun.elapsed()
        );
        stand.pool.shutdown().await;
    }
}

#[tokio::test]
async fn what_is_not_there_is_said() {
    let server = |command: &str| {
        servers(
            json!({"x": {"command": [command], "languages": ["rust"]}, "rust-analyzer": {"enabled": false, "languages": ["rust"]}}),
        )
    };
    let configured = |name: &str| {
        let mut all =
            servers(json!({name: {"command": ["no-such-program"], "languages": ["rust"]}}));
        all.get_mut(name).expect("there").configured_at = Some("config.toml:3".into());
        all
    };
    for (servers, expected) in [
        (
            server("no-such-program"),
            "x is not installed (no-such-program was not found)",
        ),
        (
            servers(
                json!({"rust-analyzer": {"command": ["no-such-program"], "languages": ["rust"]}}),
            ),
            "rust-analyzer is not installed (no-such-program was not found); install it with: rustup component add rust-analyzer rust-src",
        ),
        (
            configured("rust-analyzer"),
            "the command that is configured for rust-analyzer was not found: no-such-program (`language_servers.rust-analyzer.command`, config.toml:3). Mend it there, or take it out and install the server with: rustup component add rust-analyzer rust-src",
        ),
        (
            configured("mine"),
            "the command that is configured for mine was not found: no-such-program (`language_servers.mine.command`, config.toml:3). Mend it there",
        ),
        (
            servers(json!({"x": {"enabled": false, "languages": ["rust"]}})),
            "x is switched off by the configuration ([language_servers.x] has enabled = false), and no other language server for rust is known",
        ),
        (
            servers(
                json!({"x": {"enabled": false, "languages": ["rust"]}, "rust-analyzer": {"enabled": false, "languages": ["rust"]}}),
            ),
            "all language servers that are known for rust are switched off by the configuration (enabled = false in [language_servers.NAME]): rust-analyzer, x",
        ),
        (
            servers(json!({"go": {"command": ["go"], "languages": ["go"]}})),
            "no language server is known for rust",
        ),
        (Servers::new(), "no language server is known for rust"),
    ] {
        let stand = Stand::with(&[("a.rs", "")], |_| servers, Limits::default());
        assert_eq!(stand.hover("a.rs").await, Err(expected.to_owned()));
        let found = stand
            .pool
            .diagnostics(&stand.uri("a.rs"), Duration::from_secs(10), &never())
            .await;
        assert_eq!(found, Diagnosis::Unavailable(expected.to_owned()));
        assert!(!stand.pool.serves(&stand.open("a.rs", "")));
        assert!(
            matches!(stand.hover("none.rs").await, Err(error) if error.contains("none.rs does not exist"))
        );
    }
}

/// A server runs in its project's folder: that this is gone is no fault of the program's.
#[tokio::test]
async fn a_project_that_is_gone_is_said_to_be_gone() {
    for command in [json!([STAGE, "serve", "script"]), json!(["./serve"])] {
        let files = [("project/a.rs", "fn a() {}\n")];
        let server = |_: &std::path::Path| {
            servers(json!({"x": {"command": command, "languages": ["rust"]}}))
        };
        let stand = Stand::with(&files, server, Limits::default());
        let project = stand.path("project");
        stand.workspace.set_roots(vec![project.clone()]);
        stand.open("project/a.rs", "fn a() {}\n");
        std::fs::remove_dir_all(&project).expect("removed");
        let error = stand.hover("project/a.rs").await.expect_err("gone");
        let expected = format!("x failed: the folder {} is gone", project.display());
        assert_eq!(error, expected);
    }
}

/// rustup's stub for a component that is not installed.
#[tokio::test]
async fn a_stub_is_not_the_server() {
    let stand = Stand::with(
        &[
            ("a.rs", ""),
            (
                "stub",
                "#!/bin/sh\necho \"error: Unknown binary 'rust-analyzer' in official toolchain 'stable'.\" >&2\nexit 1\n",
            ),
        ],
        |folder| {
            servers(
                json!({"rust-analyzer": {"command": [folder.join("stub")], "languages": ["rust"]}}),
            )
        },
        Limits::default(),
    );
    make_executable(&stand.path("stub"));
    let error = stand.hover("a.rs").await.expect_err("a stub");
    let program = stand.path("stub");
    assert!(
        error.starts_with("rust-analyzer is not installed (a server behind ")
            && error.contains(&*program.to_string_lossy())
            && error.ends_with("rustup component add rust-analyzer rust-src --toolchain stable"),
        "{error}"
    );
}

#[cfg(unix)]
fn make_executable(path: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("set");
}

/// A server that crashes again and again is not started over and over; one that was killed twice is.
#[tokio::test]
async fn a_crash_loop_is_held_back() {
    let stand = Stand::scripted(json!({"first": [{"die": 1}]}));
    for _ in 0..3 {
        assert_eq!(
            stand.hover("a.rs").await,
            Err("scripted died: exit status: 1".into())
        );
    }
    let held_back = stand.hover("a.rs").await.expect_err("dead");
    assert!(
        held_back.contains("started again in 2 s at the earliest"),
        "{held_back}"
    );
    assert_eq!(stand.starts(), 3);
    stand.pool.restart(None);
    // It did not run, so it is not started for its own sake, but the next one who asks need not wait.
    while stand
        .hover("a.rs")
        .await
        .is_err_and(|error| error.contains("earliest"))
    {
        tokio::task::yield_now().await;
    }
    assert_eq!(stand.starts(), 4);
}

#[tokio::test]
async fn a_server_that_dies_while_asked_is_followed_by_another() {
    let stand = Stand::scripted(
        json!({"capabilities": able(), "on": {"textDocument/hover": [[hover("h")]], "textDocument/definition": [[{"die": 9}]]}}),
    );
    stand.open("a.rs", "fn unsaved() {}");
    assert_eq!(stand.hover("a.rs").await, Ok(Some("h".into())));
    let died = stand
        .pool
        .definition(&stand.uri("a.rs"), ByteOffset(0), &never())
        .await;
    assert!(matches!(died, Err(QueryError::Died { .. })), "{died:?}");
    assert_eq!(stand.hover("a.rs").await, Ok(Some("h".into())));
    assert_eq!(stand.starts(), 3, "the question was asked once more");
    let opened = stand
        .log()
        .into_iter()
        .filter(|message| message["method"] == "textDocument/didOpen")
        .count();
    assert_eq!(opened, 3, "each new one has the buffer too");
}

#[tokio::test]
async fn what_was_overtaken_is_asked_again_but_not_for_ever() {
    let modified = json!([{"error": {"code": -32801, "message": "content modified"}}]);
    let cancelled = json!([{"error": {"code": -32802, "message": "server cancelled", "data": {"retriggerRequest": true}}}]);
    let stand = Stand::scripted(json!({"capabilities": able(), "on": {
        "textDocument/hover": [modified, cancelled, [hover("third")]], "textDocument/definition": [modified],
    }}));
    assert_eq!(stand.hover("a.rs").await, Ok(Some("third".into())));
    let never_settles = stand
        .pool
        .definition(&stand.uri("a.rs"), ByteOffset(0), &never())
        .await;
    assert_eq!(
        never_settles.expect_err("given up").to_string(),
        "scripted failed: textDocument/definition: content modified (-32801)"
    );
    assert_eq!(
        stand
            .methods()
            .iter()
            .filter(|method| *method == "textDocument/definition")
            .count(),
        9
    );
}

#[tokio::test]
async fn whoever_stops_waiting_is_not_answered_and_the_server_knows() {
    let stand = Stand::scripted(
        json!({"capabilities": able(), "on": {"textDocument/definition": [[]], "textDocument/hover": [[hover("h")]]}}),
    );
    stand.hover("a.rs").await.expect("started");
    let cancel = never();
    let asked = stand.pool.clone();
    let (uri, token) = (stand.uri("a.rs"), cancel.clone());
    let waiting = tokio::spawn(async move { asked.definition(&uri, ByteOffset(0), &token).await });
    // The definition is on the wire once a later question was answered.
    while !stand
        .methods()
        .contains(&"textDocument/definition".to_owned())
    {
        stand.hover("a.rs").await.expect("answered");
    }
    cancel.cancel();
    assert!(matches!(
        waiting.await.expect("no panic"),
        Err(QueryError::Cancelled)
    ));
    stand.hover("a.rs").await.expect("answered");
    assert!(stand.methods().contains(&"$/cancelRequest".to_owned()));
}

/// Floods, garbage, wrong shapes and large answers before a good one.
#[tokio::test]
async fn noise_does_no_harm() {
    let noise = json!([
        {"print": "Starting…\n"},
        {"print": "no line's end"},
        {"flood": ["$/progress", {"token": 1, "value": {"kind": "report", "message": "…"}}, 5000]},
        {"flood": ["window/logMessage", {"type": 4, "message": "…"}, 5000]},
        {"notify": ["textDocument/publishDiagnostics", {"uri": 7, "diagnostics": []}]},
        {"notify": ["textDocument/publishDiagnostics", {"uri": "file:///x.rs", "diagnostics": null}]},
        {"notify": ["textDocument/publishDiagnostics", null]},
        {"notify": ["$/progress", "none"]},
        {"notify": ["experimental/serverStatus", []]},
        {"stderr": "a warning\n"},
    ]);
    let large = json!([{"large": 50 << 20}]);
    let wrong = json!([{"answer": {"uri": "file:///x.rs", "range": "none"}}]);
    let stand = Stand::scripted(json!({"capabilities": able(), "on": {
        "initialized": [noise], "textDocument/hover": [large, [{"answer": {"contents": 5}}], [hover("h")]], "textDocument/definition": [wrong],
    }}));
    let unfit = "scripted failed: its answer to textDocument/hover is none that can be read";
    assert_eq!(
        stand.hover("a.rs").await,
        Err(unfit.into()),
        "50 MB of another shape"
    );
    assert_eq!(stand.hover("a.rs").await, Err(unfit.into()), "no text");
    assert_eq!(stand.hover("a.rs").await, Ok(Some("h".into())));
    let found = stand
        .pool
        .definition(&stand.uri("a.rs"), ByteOffset(0), &never())
        .await
        .expect("answered");
    assert!(found.value.is_empty() && found.left_out == 1);
}
