//! Answers that are late, out of order, of no shape, huge or none at all, by a scripted server: whoever asked is told, and
//! we go on.

mod stand;

use langserver::{HierarchyItem, QueryError};
use serde_json::{Value, json};
use stand::{Stand, at, never};
use workspace::{ByteOffset, ByteRange};

const METHODS: [&str; 14] = [
    "textDocument/definition",
    "textDocument/references",
    "textDocument/implementation",
    "textDocument/typeDefinition",
    "textDocument/documentSymbol",
    "workspace/symbol",
    "textDocument/prepareCallHierarchy",
    "callHierarchy/incomingCalls",
    "callHierarchy/outgoingCalls",
    "textDocument/prepareTypeHierarchy",
    "typeHierarchy/subtypes",
    "textDocument/rename",
    "textDocument/formatting",
    "textDocument/codeAction",
];

fn able() -> Value {
    json!({
        "hoverProvider": true, "definitionProvider": true, "referencesProvider": true, "implementationProvider": true,
        "typeDefinitionProvider": true, "documentSymbolProvider": true, "workspaceSymbolProvider": true,
        "callHierarchyProvider": true, "typeHierarchyProvider": true, "renameProvider": true,
        "documentFormattingProvider": true, "codeActionProvider": true, "textDocumentSync": 2,
    })
}

/// A node to ask about, by the first answer to its method.
async fn node(stand: &Stand, method: &str) -> HierarchyItem {
    let (uri, cancel) = (stand.uri("a.rs"), never());
    let roots = if method == "textDocument/prepareCallHierarchy" {
        stand
            .pool
            .call_hierarchy(&uri, ByteOffset(3), &cancel)
            .await
    } else {
        stand
            .pool
            .type_hierarchy(&uri, ByteOffset(3), &cancel)
            .await
    };
    roots.expect("answered").value.remove(0)
}

/// Asks by LSP's name: how much was found and left out.
async fn ask(
    stand: &Stand,
    method: &str,
    nodes: &[HierarchyItem; 2],
) -> Result<(usize, usize), QueryError> {
    let (pool, uri, at, cancel) = (&stand.pool, stand.uri("a.rs"), ByteOffset(3), never());
    let [call, kind] = nodes;
    macro_rules! counted {
        ($answer:expr) => {
            $answer
                .await
                .map(|found| (found.value.len(), found.left_out))
        };
    }
    match method {
        "textDocument/definition" => counted!(pool.definition(&uri, at, &cancel)),
        "textDocument/references" => counted!(pool.references(&uri, at, true, &cancel)),
        "textDocument/implementation" => counted!(pool.implementation(&uri, at, &cancel)),
        "textDocument/typeDefinition" => counted!(pool.type_definition(&uri, at, &cancel)),
        "textDocument/documentSymbol" => pool
            .document_symbols(&uri, &cancel)
            .await
            .map(|found| (found.value.1.len(), found.left_out)),
        "workspace/symbol" => counted!(pool.workspace_symbols(&uri, "x", &cancel)),
        "textDocument/prepareCallHierarchy" => counted!(pool.call_hierarchy(&uri, at, &cancel)),
        "callHierarchy/incomingCalls" => counted!(pool.incoming_calls(call, &cancel)),
        "callHierarchy/outgoingCalls" => counted!(pool.outgoing_calls(call, &cancel)),
        "textDocument/prepareTypeHierarchy" => counted!(pool.type_hierarchy(&uri, at, &cancel)),
        "typeHierarchy/subtypes" => counted!(pool.subtypes(kind, &cancel)),
        "textDocument/rename" => counted!(pool.rename(&uri, at, "new", &cancel)),
        "textDocument/formatting" => pool
            .format(&uri, &[], &cancel)
            .await
            .map(|found| (found.value.edits.len(), found.left_out)),
        "textDocument/codeAction" => {
            counted!(pool.code_actions(&uri, ByteRange::new(0, 1), &[], &cancel))
        }
        other => panic!("{other}"),
    }
}

/// A stand whose every method answers with this, after the first answer of those that prepare.
async fn answering(on: impl Fn(&str) -> Value) -> (Stand, [HierarchyItem; 2]) {
    let stand = Stand::scripted(json!(null));
    let uri = stand.uri("a.rs").as_str().to_owned();
    let item = json!([{"name": "a", "kind": 12, "uri": uri, "range": at(0, 0, 9), "selectionRange": at(0, 3, 4)}]);
    let mut all = serde_json::Map::new();
    for method in METHODS {
        let then = on(method);
        let times = if method.contains("prepare") {
            let mut times = vec![json!([{"answer": item}])];
            times.extend(then.as_array().expect("a list").clone());
            json!(times)
        } else {
            then
        };
        all.insert(method.to_owned(), times);
    }
    all.insert(
        "textDocument/hover".into(),
        json!([[{"answer": {"contents": "still there"}}]]),
    );
    let stand = stand.acting(json!({"capabilities": able(), "on": all}));
    let nodes = [
        node(&stand, "textDocument/prepareCallHierarchy").await,
        node(&stand, "textDocument/prepareTypeHierarchy").await,
    ];
    (stand, nodes)
}

/// Each question with each shape: an error, or nothing found and what was broken counted. Never "nothing" alone.
#[tokio::test]
async fn wrong_shapes_of_every_answer() {
    let shapes = [
        json!(5),
        json!("text"),
        json!(true),
        json!([5, null, {}, [], "x"]),
        json!({"what": "ever"}),
        json!([{"uri": 5, "range": {}, "location": {"uri": "file:///x"}, "from": 5, "to": {}, "newText": 7, "command": 5}]),
    ];
    let answers: Value = shapes
        .iter()
        .map(|shape| json!([{"answer": shape}]))
        .collect();
    let (stand, nodes) = answering(|_| answers.clone()).await;
    for method in METHODS {
        for shape in &shapes {
            let answer = ask(&stand, method, &nodes).await;
            let is_told = match &answer {
                Ok((found, left_out)) => *found == 0 && *left_out > 0,
                Err(QueryError::Failed { .. }) => true,
                Err(_) => false,
            };
            // An object without edits is a rename of nothing.
            let is_nothing = method == "textDocument/rename" && shape.is_object();
            assert!(is_told || is_nothing, "{method} {shape}: {answer:?}");
        }
    }
    assert_eq!(stand.hover("a.rs").await, Ok(Some("still there".into())));
    assert_eq!(stand.starts(), 1);
}

/// An error is the server's own words, whatever was asked; not being able to is not an error.
#[tokio::test]
async fn errors_of_every_question() {
    let error = |code: i64, message: &str| json!([{"error": {"code": code, "message": message}}]);
    let (stand, nodes) = answering(|method| {
        json!([
            error(-32603, "it hurts"),
            error(
                -32600,
                &format!("InvalidRequest: Unhandled method {method}")
            ),
            error(0, &format!("{method:?} not yet implemented"))
        ])
    })
    .await;
    for method in METHODS {
        let failed = ask(&stand, method, &nodes).await.expect_err("an error");
        assert_eq!(
            failed.to_string(),
            format!("scripted failed: {method}: it hurts (-32603)")
        );
        for _ in 0..2 {
            let unable = ask(&stand, method, &nodes).await;
            assert!(
                matches!(unable, Err(QueryError::NotSupported { .. })),
                "{method}: {unable:?}"
            );
        }
    }
}

/// Answers overtake each other, ids come that nobody asked under, headers are no text, and progress never ends.
#[tokio::test]
async fn out_of_order_unasked_and_in_a_flood() {
    let stand = Stand::scripted(json!(null));
    let uri = stand.uri("b.rs").as_str().to_owned();
    let place = json!({"uri": uri, "range": at(0, 3, 4)});
    let noise = json!([
        {"bytes": [0xff, 0xfe, b'X', b':', 0xc3, b'\r', b'\n']},
        {"send": {"jsonrpc": "2.0", "id": 4711, "result": [place]}},
        {"send": {"jsonrpc": "2.0", "id": "no number", "result": null}},
        {"send": {"jsonrpc": "2.0", "id": null, "error": {"code": 1, "message": "of nothing"}}},
        {"flood": ["$/progress", {"token": 1, "value": {"kind": "report", "message": "…"}}, 20000]},
        {"bytes": [b'C', b'o', b'n', b't', b'e', b'n', b't', b'-', b'T', b'y', b'p', b'e', b':', 0xff, b'\r', b'\n']},
        {"kept": place},
    ]);
    let stand = stand.acting(json!({"capabilities": able(), "on": {
        "textDocument/definition": [[{"keep": null}]],
        "textDocument/references": [noise],
    }}));
    stand.hover("a.rs").await.expect("answered");
    let a = stand.uri("a.rs");
    let cancel = never();
    let waits = [0, 1, 2].map(|at| stand.pool.definition(&a, ByteOffset(at), &cancel));
    let all = async {
        while stand
            .methods()
            .iter()
            .filter(|method| *method == "textDocument/definition")
            .count()
            < 3
        {
            tokio::task::yield_now().await;
        }
        // It never answers this one, which waits no longer than for its cancel.
        let cancel = tokio_util::sync::CancellationToken::new();
        let unanswered = stand.pool.references(&a, ByteOffset(0), true, &cancel);
        tokio::select! {
            answer = unanswered => panic!("{answer:?}"),
            () = async {
                while !stand.methods().contains(&"textDocument/references".to_owned()) {
                    tokio::task::yield_now().await;
                }
            } => cancel.cancel(),
        }
    };
    let (answers, ()) = tokio::join!(futures::future::join_all(waits), all);
    for answer in answers {
        let answer = answer.expect("answered");
        assert_eq!(answer.value[0].range.as_range(), 3..4);
    }
    assert_eq!(stand.starts(), 1);
}

/// 50 MB of places: all of them, in a fraction of the room that a tree of them would take.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_huge_answer_takes_no_more_room_than_it_must() {
    const COUNT: usize = 400_000;
    let stand = Stand::scripted(json!(null));
    let uri = stand.uri("b.rs").as_str().to_owned();
    let stand = stand.acting(json!({"capabilities": able(), "on": {
        "textDocument/references": [[{"places": [uri, COUNT]}]],
        "textDocument/documentSymbol": [[{"places": [uri, 10_000]}]],
    }}));
    let a = stand.uri("a.rs");
    let found = stand
        .pool
        .references(&a, ByteOffset(0), true, &never())
        .await
        .expect("answered");
    assert_eq!(found.value.len(), 1, "one and the same place");
    let symbols = stand
        .pool
        .document_symbols(&a, &never())
        .await
        .expect("answered");
    assert_eq!(symbols.left_out, 10_000, "no symbol among them");
    let status = std::fs::read_to_string("/proc/self/status").expect("readable");
    let line = status.lines().find(|line| line.starts_with("VmHWM"));
    let peak: usize = line
        .and_then(|line| line.split_whitespace().nth(1)?.parse().ok())
        .expect("a number");
    assert!(peak < 400 << 10, "{peak} KB");
}
