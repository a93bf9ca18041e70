//! Hierarchies of the `lsp` tool, by a scripted server: trees with cycles, what stands beside them, and where they end.

mod stand;

use expect_test::expect;
use serde_json::{Value, json};
use stand::{Stand, always, at, check};

fn able() -> Value {
    json!({"textDocumentSync": 2, "callHierarchyProvider": true, "typeHierarchyProvider": true})
}

/// `a` calls `b` and is called by it; `c` twice; a test; one that lies outside.
#[tokio::test]
async fn calls_are_trees() {
    let text = "fn a() {}\nfn b() {}\nfn c() {}\n";
    let stand = Stand::scripted(&[("a.rs", text), ("tests/t.rs", text)], |uri| {
        let item = |name: &str, uri: &str, line: u32| {
            json!({
                "name": name, "kind": 12, "uri": uri, "range": at(line, 0, 9), "selectionRange": at(line, 3, 4)
            })
        };
        let (a, b, c) = (
            item("a", &uri("a.rs"), 0),
            item("b", &uri("a.rs"), 1),
            item("c", &uri("a.rs"), 2),
        );
        let test = item("checks", &uri("tests/t.rs"), 0);
        let from = |item: &Value, line| json!({"from": item, "fromRanges": [at(line, 0, 1), at(line, 2, 3)]});
        json!({"capabilities": able(), "on": {
            "textDocument/prepareCallHierarchy": always(&json!([a])),
            "callHierarchy/incomingCalls": [
                [{"answer": [from(&c, 2), from(&b, 1), from(&test, 0)]}],
                // Of b, then of c.
                [{"answer": [from(&a, 0), from(&c, 2)]}],
                [{"answer": []}],
            ],
        }})
    });
    check(
        &stand,
        "incomingCalls",
        "a.rs",
        json!({"line": 1}),
        expect![[r#"
        a a.rs:1: 2 callers, 1 more in tests (ready)
         b a.rs:2, calls in 2
          a a.rs:1, calls in 1 (recursion)
          c a.rs:3, calls in 3 (see above)
         c a.rs:3, calls in 3
        in tests: checks tests/t.rs:1"#]],
    )
    .await;
    check(
        &stand,
        "prepareCallHierarchy",
        "a.rs",
        json!({"line": 1}),
        expect!["a a.rs:1 (ready)"],
    )
    .await;
    check(
        &stand,
        "incomingCalls",
        "a.rs",
        json!({"line": 1, "query": "deep"}),
        expect!["! `query` is how many levels the tree has here (1 to 8), not \"deep\""],
    )
    .await;
    // As a number, too.
    for levels in [json!(0), json!("0")] {
        let text = stand.ask("incomingCalls", "a.rs", json!({"line": 1, "query": levels}));
        assert!(text.await.contains("not \"0\""), "{levels}");
    }
}

/// Few of those are read, and all counted.
#[tokio::test]
async fn what_lies_outside_is_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let item = |name: &str, uri: &str| json!({"name": name, "kind": 12, "uri": uri, "range": at(0, 0, 9), "selectionRange": at(0, 3, 4)});
    let outside = |number: u32| {
        let path = folder.path().join(format!("{number}.rs"));
        std::fs::write(&path, "fn o() {}\n").expect("written");
        let uri = workspace::DocumentUri::from_path(&path).expect("a uri");
        json!({"to": item(&format!("o{number}"), uri.as_str()), "fromRanges": []})
    };
    let edges: Vec<Value> = (0..60).map(outside).collect();
    let stand = Stand::scripted(&[("a.rs", "fn a() {}\n")], |uri| {
        json!({"capabilities": able(), "on": {
            "textDocument/prepareCallHierarchy": always(&json!([item("a", &uri("a.rs"))])),
            "callHierarchy/outgoingCalls": always(&json!(edges)),
        }})
    });
    let text = stand.ask("outgoingCalls", "a.rs", json!({"line": 1})).await;
    let is_counted = text.starts_with("a a.rs:1: 0 calls (ready)\noutside the workspace: o");
    assert!(is_counted && text.ends_with(" and 45 more"), "{text}");
}

#[tokio::test]
async fn a_tree_does_not_ask_for_ever() {
    let text = "f\n".repeat(100);
    let stand = Stand::scripted(&[("a.rs", &text)], |uri| {
        let item = |line: u32| {
            json!({
                "name": format!("T{line}"), "kind": 5, "uri": uri("a.rs"), "range": at(line, 0, 1), "selectionRange": at(line, 0, 1)
            })
        };
        let all: Vec<Value> = (1..90).map(item).collect();
        json!({"capabilities": able(), "on": {
            "textDocument/prepareTypeHierarchy": always(&json!([item(0)])),
            "typeHierarchy/subtypes": [[{"answer": all}], [{"answer": []}]],
        }})
    });
    let text = stand.ask("subtypes", "a.rs", json!({"line": 1})).await;
    assert!(
        text.starts_with("class T0 a.rs:1: 89 subtypes (ready)\n class T1 a.rs:2\n"),
        "{text}"
    );
    assert!(text.contains(" class T60 a.rs:61 ?\n"), "{text}");
    assert!(
        text.ends_with("[9 more lines; `query` 1 shows one level]\n[50 not followed (marked ?): ask for one of them]"),
        "{text}"
    );
    assert_eq!(stand.asked("typeHierarchy/subtypes").len(), 40);
}
