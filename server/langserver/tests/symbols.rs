//! Symbols and hierarchies, by a scripted server: every shape that occurs, over text that is not on disk.

mod stand;

use langserver::{Call, HierarchyItem, QueryError, Symbol};
use serde_json::{Value, json};
use stand::{Stand, at, never};
use workspace::ByteOffset;

fn able() -> Value {
    json!({
        "hoverProvider": true, "documentSymbolProvider": true, "workspaceSymbolProvider": {"resolveProvider": true},
        "callHierarchyProvider": true, "typeHierarchyProvider": {}, "implementationProvider": true,
        "typeDefinitionProvider": {}, "textDocumentSync": 2, "diagnosticProvider": {"interFileDependencies": true},
    })
}

fn script(on: Value) -> Value {
    json!({"capabilities": able(), "on": on})
}

fn item(uri: &str, name: &str, range: &Value, selection: &Value) -> Value {
    json!({"name": name, "kind": 12, "uri": uri, "range": range, "selectionRange": selection, "data": {"id": name}})
}

/// As words: `kind name "all of it" [children]`.
fn drawn(symbols: &[Symbol], text: &workspace::Text) -> String {
    let one = |symbol: &Symbol| {
        let inner = drawn(&symbol.children, text);
        format!(
            "{} {} {:?} {}[{inner}]",
            symbol.kind,
            symbol.name,
            text.slice(symbol.range),
            text.slice(symbol.selection),
        )
    };
    symbols.iter().map(one).collect::<Vec<_>>().join(", ")
}

#[tokio::test]
async fn symbols_of_an_unsaved_document() {
    let nested = json!([{
        "name": "A", "kind": 5, "range": at(0, 0, 14), "selectionRange": at(0, 3, 4),
        "children": [{"name": "b", "kind": 6, "detail": "()", "range": at(0, 6, 12), "selectionRange": at(0, 11, 12)}, {"no": "name"}],
    }, 7]);
    let flat = |name: &str, kind: u8, start: u32, end: u32| json!({"name": name, "kind": kind, "location": {"uri": "file:///whatever", "range": at(0, start, end)}});
    let flat = json!([
        flat("b", 6, 6, 12),
        flat("A", 5, 0, 14),
        flat("?", 99, 13, 14)
    ]);
    let stand = Stand::scripted(script(json!({"textDocument/documentSymbol": [
        [{"answer": nested}], [{"answer": flat}], [{"answer": null}], [{"answer": "nonsense"}],
        [{"error": {"code": -32603, "message": "oh"}}], [{"error": {"code": 0, "message": "not yet implemented"}}],
    ]})));
    stand.open("a.rs", "🦀 A { fn  b }");
    let uri = stand.uri("a.rs");
    let ask = async || stand.pool.document_symbols(&uri, &never()).await;
    let expected = [
        ("class A \"🦀 A { fn  b }\" A[method b \" fn  b\" b[]]", 2),
        (
            "class A \"🦀 A { fn  b }\" A[method b \" fn  b\" b[], symbol ? \"}\" []]",
            0,
        ),
        ("", 0),
    ];
    for (symbols, left_out) in expected {
        let found = ask().await.expect("answered");
        let (snapshot, value) = found.value;
        assert!(snapshot.is_unsaved() || snapshot.is_buffer());
        assert_eq!(
            (drawn(&value, &snapshot.text).as_str(), found.left_out),
            (symbols, left_out)
        );
    }
    for error in [
        "scripted failed: its answer to textDocument/documentSymbol is none that can be read",
        "scripted failed: textDocument/documentSymbol: oh (-32603)",
        "scripted does not support textDocument/documentSymbol",
    ] {
        assert_eq!(ask().await.expect_err("an error").to_string(), error);
    }
}

/// With a range, without one but with its server knowing it, and without one at all.
#[tokio::test]
async fn symbols_of_the_project() {
    let stand = Stand::scripted(json!(null));
    stand::write(&stand.path(".copydeskignore"), "secret.rs\n");
    stand::write(&stand.path("secret.rs"), "fn secret() {}");
    let uri = |name: &str| stand.uri(name).as_str().to_owned();
    let found = json!([
        {"name": "a", "kind": 12, "containerName": "m", "location": {"uri": uri("a.rs"), "range": at(0, 3, 4)}},
        {"name": "lazy", "kind": 12, "location": {"uri": uri("a.rs")}, "data": 1},
        {"name": "b", "kind": 12, "location": {"uri": uri("b.rs")}, "data": 2},
        {"name": "secret", "kind": 12, "location": {"uri": uri("secret.rs"), "range": at(0, 3, 9)}},
        {"name": "gone", "kind": 12, "location": {"uri": uri("gone.rs"), "range": at(0, 3, 9)}},
        {"kind": 12},
    ]);
    let resolved =
        json!({"name": "lazy", "kind": 12, "location": {"uri": uri("a.rs"), "range": at(0, 6, 7)}});
    let stand = stand.acting(script(json!({
        "workspace/symbol": [[{"answer": found}], [{"answer": 5}]],
        "workspaceSymbol/resolve": [[{"answer": resolved}], [{"error": {"code": -32603, "message": "oh"}}]],
    })));
    stand.open("a.rs", "é a lazy");
    let near = stand.uri("a.rs");
    let found = stand
        .pool
        .workspace_symbols(&near, "x", &never())
        .await
        .expect("answered");
    let shown: Vec<_> = found
        .value
        .iter()
        .map(|one| {
            (
                one.name.as_str(),
                one.container.as_deref(),
                one.place.range.as_range(),
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            ("a", Some("m"), 4..5),
            ("lazy", None, 7..8),
            ("b", None, 3..4)
        ]
    );
    assert_eq!(found.left_out, 3, "hidden, gone, broken");
    let log = stand.log();
    let asked = log
        .iter()
        .find(|message| message["method"] == "workspace/symbol");
    assert_eq!(asked.expect("asked")["params"], json!({"query": "x"}));
    let odd = stand.pool.workspace_symbols(&near, "x", &never()).await;
    assert!(matches!(odd, Err(QueryError::Failed { .. })), "{odd:?}");
}

fn shown(item: &HierarchyItem) -> String {
    let text = &item.place.snapshot.text;
    format!(
        "{} {} {:?} {}",
        item.kind,
        item.name,
        text.slice(item.range),
        text.slice(item.place.range)
    )
}

fn calls(calls: &[Call]) -> Vec<(String, Vec<String>)> {
    let site =
        |place: &langserver::Location| format!("{:?}", place.snapshot.text.slice(place.range));
    let one = |call: &Call| (shown(&call.item), call.sites.iter().map(site).collect());
    calls.iter().map(one).collect()
}

/// Items go back as they came, where they are by now; sites stand in the text of who calls.
#[tokio::test]
async fn calls_in_both_directions() {
    let stand = Stand::scripted(json!(null));
    let (a, b) = (stand.uri("a.rs"), stand.uri("b.rs"));
    let root = item(a.as_str(), "a", &at(0, 0, 9), &at(0, 3, 4));
    let other = item(b.as_str(), "b", &at(0, 0, 9), &at(0, 3, 4));
    let stand = stand.acting(script(json!({
        "textDocument/prepareCallHierarchy": [[{"answer": [root, {"name": "broken"}]}], [{"answer": null}]],
        "callHierarchy/incomingCalls": [[{"answer": [{"from": other, "fromRanges": [at(0, 6, 7), "no"]}, {"from": 5}]}], [{"answer": null}]],
        "callHierarchy/outgoingCalls": [[{"answer": [{"to": other, "fromRanges": [at(0, 1, 2)]}]}], [{"error": {"code": -32601, "message": "method not found"}}]],
    })));
    stand.open("a.rs", "fn a() {}");
    let roots = stand
        .pool
        .call_hierarchy(&a, ByteOffset(3), &never())
        .await
        .expect("answered");
    assert_eq!(
        (roots.value.len(), roots.left_out),
        (1, 1),
        "one was broken"
    );
    let root = &roots.value[0];
    assert_eq!(shown(root), "function a \"fn a() {}\" a");
    let incoming = stand
        .pool
        .incoming_calls(root, &never())
        .await
        .expect("answered");
    assert_eq!(
        calls(&incoming.value),
        [("function b \"fn b() {}\" b".into(), vec!["\" \"".into()])]
    );
    assert_eq!(incoming.left_out, 1);
    // The text moves on; the item moves with it, and its data stays.
    stand.replace("a.rs", "fn", "pub fn");
    let outgoing = stand
        .pool
        .outgoing_calls(root, &never())
        .await
        .expect("answered");
    assert_eq!(
        calls(&outgoing.value),
        [("function b \"fn b() {}\" b".into(), vec!["\"u\"".into()])]
    );
    let sent = stand.log().pop().expect("asked")["params"]["item"].clone();
    assert_eq!(sent, item(a.as_str(), "a", &at(0, 4, 13), &at(0, 7, 8)));
    let outgoing = stand.pool.outgoing_calls(root, &never()).await;
    assert_eq!(
        outgoing.expect_err("it can't").to_string(),
        "scripted does not support callHierarchy/outgoingCalls"
    );
    let nobody = stand
        .pool
        .incoming_calls(root, &never())
        .await
        .expect("answered");
    assert!(nobody.value.is_empty());
    stand.pool.shutdown().await;
    let late = stand.pool.incoming_calls(root, &never()).await;
    let late = late.expect_err("it has ended").to_string();
    assert!(late.contains("has ended since"), "{late}");
}

/// Who asks for the callers of what libraries use does not mean to read the libraries.
#[tokio::test]
async fn few_nodes_outside_the_workspace_are_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let stand = Stand::scripted(json!(null));
    let (a, b) = (stand.uri("a.rs"), stand.uri("b.rs"));
    let (whole, name) = (at(0, 0, 9), at(0, 3, 4));
    let root = item(a.as_str(), "a", &whole, &name);
    let mut items: Vec<Value> = (0..60)
        .map(|number| {
            let path = folder.path().join(format!("{number}.rs"));
            stand::write(&path, "fn o() {}\n");
            let uri = workspace::DocumentUri::from_path(&path).expect("a uri");
            item(uri.as_str(), "o", &whole, &name)
        })
        .collect();
    items.push(item(b.as_str(), "b", &whole, &name));
    let edges = |end: &str| -> Vec<Value> {
        let edge = |item: &Value| json!({end: item, "fromRanges": [name]});
        items.iter().map(edge).collect()
    };
    let stand = stand.acting(script(json!({
        "textDocument/prepareCallHierarchy": [[{"answer": [root]}]],
        "textDocument/prepareTypeHierarchy": [[{"answer": [root]}]],
        "callHierarchy/incomingCalls": [[{"answer": edges("from")}]],
        "callHierarchy/outgoingCalls": [[{"answer": edges("to")}]],
        "typeHierarchy/supertypes": [[{"answer": items}]],
        "typeHierarchy/subtypes": [[{"answer": items}]],
    })));
    let (pool, never) = (&stand.pool, never());
    let root = pool.call_hierarchy(&a, ByteOffset(3), &never).await;
    let root = &root.expect("answered").value[0];
    let of_type = pool.type_hierarchy(&a, ByteOffset(3), &never).await;
    let of_type = &of_type.expect("answered").value[0];
    let incoming = pool.incoming_calls(root, &never).await.expect("answered");
    let outgoing = pool.outgoing_calls(root, &never).await.expect("answered");
    for calls in [incoming, outgoing] {
        assert_eq!(
            (calls.value.len(), calls.outside, calls.left_out),
            (21, 40, 0)
        );
        let last = calls.value.last().expect("some");
        assert_eq!(
            (shown(&last.item).as_str(), last.sites.len()),
            ("function b \"fn b() {}\" b", 1)
        );
    }
    let above = pool.supertypes(of_type, &never).await.expect("answered");
    let below = pool.subtypes(of_type, &never).await.expect("answered");
    for types in [above, below] {
        assert_eq!(
            (types.value.len(), types.outside, types.left_out),
            (21, 40, 0)
        );
    }
}

#[tokio::test]
async fn types_in_both_directions() {
    let stand = Stand::scripted(json!(null));
    let (a, b) = (stand.uri("a.rs"), stand.uri("b.rs"));
    let root = item(a.as_str(), "a", &at(0, 0, 9), &at(0, 3, 4));
    let other = item(b.as_str(), "b", &at(0, 0, 9), &at(0, 3, 4));
    let place = json!({"uri": b.as_str(), "range": at(0, 3, 4)});
    let stand = stand.acting(script(json!({
        "textDocument/prepareTypeHierarchy": [[{"answer": [root]}]],
        "typeHierarchy/supertypes": [[{"answer": [other, 5]}]],
        "typeHierarchy/subtypes": [[{"answer": "nonsense"}]],
        "textDocument/implementation": [[{"answer": place}]],
        "textDocument/typeDefinition": [[{"answer": [place, {"uri": a.as_str()}]}]],
    })));
    let roots = stand
        .pool
        .type_hierarchy(&a, ByteOffset(3), &never())
        .await
        .expect("answered")
        .value;
    let above = stand
        .pool
        .supertypes(&roots[0], &never())
        .await
        .expect("answered");
    assert_eq!(shown(&above.value[0]), "function b \"fn b() {}\" b");
    assert_eq!(above.left_out, 1);
    let below = stand.pool.subtypes(&roots[0], &never()).await;
    assert!(matches!(below, Err(QueryError::Failed { .. })), "{below:?}");
    let implementation = stand.pool.implementation(&a, ByteOffset(3), &never()).await;
    let type_definition = stand
        .pool
        .type_definition(&a, ByteOffset(3), &never())
        .await;
    for (answer, left_out) in [(implementation, 0), (type_definition, 1)] {
        let answer = answer.expect("answered");
        let [place] = answer.value.as_slice() else {
            panic!("{answer:?}")
        };
        assert_eq!(
            (&place.snapshot.uri, place.range.as_range(), answer.left_out),
            (&b, 3..4, left_out)
        );
    }
}

/// What a server died over is asked once more of the next one, a node of a hierarchy by its place.
#[tokio::test]
async fn a_question_that_killed_is_asked_once_more() {
    let stand = Stand::scripted(json!(null));
    let (a, flag) = (stand.uri("a.rs"), stand.path("flag"));
    let root = item(a.as_str(), "a", &at(0, 0, 9), &at(0, 3, 4));
    let call = json!([{"from": root, "fromRanges": []}]);
    let symbol =
        json!([{"name": "a", "kind": 12, "range": at(0, 0, 9), "selectionRange": at(0, 3, 4)}]);
    // `mkdir` does it once.
    let once = json!({"unless": ["mkdir", flag]});
    let stand = stand.acting(script(json!({
        "textDocument/prepareCallHierarchy": [[{"answer": [root]}]],
        "callHierarchy/incomingCalls": [[once, {"answer": call}]],
        "textDocument/documentSymbol": [[once, {"answer": symbol}]],
    })));
    let symbols = stand
        .pool
        .document_symbols(&a, &never())
        .await
        .expect("answered");
    assert_eq!((symbols.value.1.len(), stand.starts()), (1, 2));
    std::fs::remove_dir(&flag).expect("made by the one that died");
    let root = stand
        .pool
        .call_hierarchy(&a, ByteOffset(3), &never())
        .await
        .expect("answered")
        .value
        .remove(0);
    let calls = stand
        .pool
        .incoming_calls(&root, &never())
        .await
        .expect("answered");
    assert_eq!((calls.value.len(), stand.starts()), (1, 3));
}

#[tokio::test]
async fn diagnostics_that_killed_are_asked_for_once_more() {
    let stand = Stand::scripted(json!(null));
    let once = json!({"unless": ["mkdir", stand.path("flag")]});
    let report = json!({"kind": "full", "items": [{"range": at(0, 3, 4), "message": "m"}]});
    let stand = stand.acting(script(
        json!({"textDocument/diagnostic": [[once, {"answer": report}]]}),
    ));
    let found = stand
        .pool
        .diagnostics(
            &stand.uri("a.rs"),
            std::time::Duration::from_secs(20),
            &never(),
        )
        .await;
    assert!(
        matches!(&found, langserver::Diagnosis::Fresh(found) if found.len() == 1),
        "{found:?}"
    );
    assert_eq!(stand.starts(), 2);
}

/// A server may say later what it can do; what is not said in time is not to be had.
#[tokio::test]
async fn what_is_registered_late_counts() {
    let register = json!({"ask": ["client/registerCapability", {"registrations": [
        {"id": "1", "method": "textDocument/documentSymbol", "registerOptions": {"documentSelector": [{"language": "rust"}]}},
    ]}]});
    let late = json!({"ask": ["window/workDoneProgress/create", {"token": 1}]});
    let stand = Stand::scripted(json!({"capabilities": {"textDocumentSync": 1}, "on": {
        "initialized": [[late, late, register]], "textDocument/documentSymbol": [[{"answer": []}]],
    }}));
    let uri = stand.uri("a.rs");
    let symbols = stand.pool.document_symbols(&uri, &never()).await;
    assert!(symbols.expect("answered").value.1.is_empty());
    let hover = stand.hover("a.rs").await;
    assert_eq!(
        hover,
        Err("scripted does not support textDocument/hover".into())
    );
    let methods = stand.methods();
    assert!(!methods.contains(&"textDocument/hover".to_owned()));
}
