//! The `lsp` tool's answers, by a scripted server: outlines, the kinds of nothing, and what is told in no way.

mod stand;

use std::time::Duration;

use expect_test::expect;
use serde_json::{Value, json};
use stand::{Stand, able, always, at, check, lines, symbol, with_two};

#[tokio::test]
async fn outlines_go_as_deep_as_fits() {
    let stand = with_two(json!({}));
    check(
        &stand,
        "documentSymbol",
        "a.rs",
        json!({}),
        expect![[r#"
        a.rs: 13 lines, 7 symbols (ready)
        1 struct A
        2-4 impl A
         3 fn go(&self) {}
        5 struct B
        6-8 impl B
         7 fn go(&self) {}
        10-13 fn main()"#]],
    )
    .await;
    check(
        &stand,
        "documentSymbol",
        "a.rs",
        json!({"symbol": "B"}),
        expect![[r#"
        a.rs: 13 lines, 3 symbols, `B` only (ready)
        5 struct B
        6-8 impl B
         7 fn go(&self) {}"#]],
    )
    .await;
    check(
        &stand,
        "documentSymbol",
        "a.rs",
        json!({"symbol": "C"}),
        expect!["! a.rs declares no `C`: ask for its outline without `symbol`"],
    )
    .await;
    let text = "x\n".repeat(300);
    let stand = Stand::scripted(&[("a.rs", &text)], |_| {
        let line = |line: u32| symbol("x", 8, &at(line, 0, 1), at(line, 0, 1), json!([]));
        let children: Vec<Value> = (1..200).map(line).collect();
        let outer = symbol("x", 5, &lines(0, 200), at(0, 0, 1), json!(children));
        json!({"capabilities": able(), "on": {"textDocument/documentSymbol": always(&json!([outer, line(201)]))}})
    });
    check(
        &stand,
        "documentSymbol",
        "a.rs",
        json!({}),
        expect![[r#"
        a.rs: 300 lines, 201 symbols (ready)
        1-201 class x
        202 x
        [199 more; `symbol` with the name of one shows what is in it]"#]],
    )
    .await;
}

#[tokio::test]
async fn nothing_comes_in_three_kinds() {
    let mut able = able();
    for missing in [
        "callHierarchyProvider",
        "renameProvider",
        "typeHierarchyProvider",
    ] {
        able[missing] = json!(false);
    }
    let files = [("a.rs", "fn a() {}\n"), ("b.unheard", "x\n")];
    let stand = Stand::scripted(&files, |_| json!({"capabilities": able, "on": {}}));
    check(
        &stand,
        "findReferences",
        "a.rs",
        json!({"line": 1, "character": 4}),
        expect!["No reference of `a` (a.rs:1:4): scripted found none (ready)"],
    )
    .await;
    check(
        &stand,
        "hover",
        "a.rs",
        json!({"line": 1, "character": 4}),
        expect!["scripted has nothing to say of `a` (a.rs:1:4) (ready)"],
    )
    .await;
    check(
        &stand,
        "workspaceSymbol",
        "a.rs",
        json!({"query": "x"}),
        expect!["No symbols named `x`: scripted found none (ready)"],
    )
    .await;
    check(&stand, "goToImplementation", "a.rs", json!({"line": 1}), expect![
        "! scripted does not support textDocument/implementation: try `findReferences`, or `grep` for the name"
    ]).await;
    check(&stand, "subtypes", "a.rs", json!({"line": 1}), expect![
        "! scripted does not support textDocument/prepareTypeHierarchy: try `findReferences`, or `grep` for the name"
    ]).await;
    check(&stand, "incomingCalls", "a.rs", json!({"line": 1}), expect![
        "! scripted does not support textDocument/prepareCallHierarchy: `findReferences` finds the callers too"
    ]).await;
    able["implementationProvider"] = json!(true);
    let stand = Stand::scripted(&files, |_| json!({"capabilities": able, "on": {}}));
    check(&stand, "subtypes", "a.rs", json!({"line": 1}), expect![
        "! scripted does not support textDocument/prepareTypeHierarchy: `goToImplementation` finds them"
    ]).await;
    check(&stand, "supertypes", "a.rs", json!({"line": 1}), expect![
        "! scripted does not support textDocument/prepareTypeHierarchy: its declaration (`goToDefinition`) names them; in Rust and Go `goToImplementation` finds what a type implements"
    ]).await;
    let none = stand.ask("hover", "b.unheard", json!({"line": 1})).await;
    assert!(
        none.starts_with("! no language server is known for ")
            && none.ends_with(": use `grep` and `read`"),
        "{none}"
    );
}

/// A text that was cut is there to be asked for.
#[tokio::test]
async fn all_of_a_hover_is_told_on_demand() {
    let said = format!(
        "```\nfn a()\n```\n---\nFirst.\n\n{}.\n\nLast.",
        "x".repeat(600)
    );
    let stand = with_two(json!({"textDocument/hover": always(&json!({"contents": said}))}));
    let place = |query: &str| json!({"line": 1, "character": 8, "query": query});
    check(
        &stand,
        "hover",
        "a.rs",
        place(""),
        expect![[r#"
        (ready):
        fn a()
        First.
        [606 more characters: `query` "all" shows them]"#]],
    )
    .await;
    let text = stand.ask("hover", "a.rs", place("all")).await;
    assert_eq!(
        text,
        format!(
            "(ready):\nfn a()\n\nFirst.\n\n{}.\n\nLast.",
            "x".repeat(600)
        )
    );
}

#[tokio::test]
async fn what_is_not_ready_says_so_and_changes_nothing() {
    let stand = Stand::scripted_within(
        Duration::from_millis(300),
        &[("a.rs", "fn a() {}\n")],
        |uri| {
            let place = json!([{"uri": uri("a.rs"), "range": at(0, 3, 4)}]);
            json!({"capabilities": able(), "ready": "status", "on": {
                "initialized": [[{"notify": ["experimental/serverStatus", {"health": "ok", "quiescent": false}]}]],
                "textDocument/references": always(&place),
                "textDocument/rename": always(&json!({"changes": {uri("a.rs"): [{"range": at(0, 3, 4), "newText": "b"}]}})),
            }})
        },
    );
    let text = stand
        .ask("findReferences", "a.rs", json!({"line": 1, "character": 4}))
        .await;
    assert!(
        text.starts_with("1 reference in 1 file (still indexing: may be incomplete):\n"),
        "{text}"
    );
    let text = stand
        .ask(
            "rename",
            "a.rs",
            json!({"line": 1, "character": 4, "newName": "b"}),
        )
        .await;
    assert!(
        text.contains("still indexing") && text.contains("nothing was changed"),
        "{text}"
    );
    assert_eq!(stand.disk("a.rs"), "fn a() {}\n");
}

/// What is defined where the model may not look is not told by another way, either.
#[tokio::test]
async fn what_is_hidden_is_told_in_no_way() {
    let files = [
        ("a.rs", "use secret::KEY;\nfn f() { g(KEY); }\n"),
        (
            "secret.rs",
            "pub const KEY: &str = \"s3cret\";\nfn g() {}\n",
        ),
        (".copydeskignore", "secret.rs\n"),
    ];
    let stand = Stand::scripted(&files, |uri| {
        let hidden = uri("secret.rs");
        let place = json!([{"uri": hidden, "range": at(0, 10, 13)}]);
        let node = |name: &str, uri: &str| json!({"name": name, "kind": 12, "detail": "s3cret", "uri": uri, "range": at(1, 0, 9), "selectionRange": at(1, 3, 4)});
        let able = json!({
            "textDocumentSync": 2, "hoverProvider": true, "definitionProvider": true, "referencesProvider": true,
            "callHierarchyProvider": true, "workspaceSymbolProvider": true, "implementationProvider": true, "renameProvider": true,
        });
        let symbol = json!({"name": "KEY", "kind": 14, "containerName": "s3cret", "location": {"uri": hidden, "range": at(0, 10, 13)}});
        let edit =
            json!({"changes": {hidden.as_str(): [{"range": at(0, 10, 13), "newText": "s3cret"}]}});
        json!({"capabilities": able, "ready": "initialized", "on": {
            "textDocument/hover": always(&json!({"contents": "const KEY: &str = \"s3cret\""})),
            "textDocument/definition": always(&place),
            "textDocument/references": always(&place),
            "textDocument/implementation": always(&place),
            "textDocument/rename": always(&edit),
            "workspace/symbol": always(&json!([symbol])),
            "textDocument/prepareCallHierarchy": always(&json!([node("f", &uri("a.rs"))])),
            "callHierarchy/outgoingCalls": always(&json!([{"to": node("g", &hidden), "fromRanges": [at(1, 9, 10)]}])),
            "callHierarchy/incomingCalls": always(&json!([{"from": node("g", &hidden), "fromRanges": [at(1, 9, 10)]}])),
        }})
    });
    let spot = json!({"line": 2, "character": 12, "newName": "NEW", "query": "KEY"});
    for operation in [
        "hover",
        "goToDefinition",
        "goToImplementation",
        "findReferences",
        "workspaceSymbol",
        "rename",
        "outgoingCalls",
        "incomingCalls",
    ] {
        let mut more = spot.clone();
        if operation.ends_with("Calls") {
            more["query"] = json!("2");
        }
        let text = stand.ask(operation, "a.rs", more).await;
        assert!(!text.contains("cret"), "{operation}: {text}");
        if operation == "hover" {
            let expected = expect![
                "! `KEY` (a.rs:2:12) is defined in a file that a .copydeskignore hides: nothing is told of it"
            ];
            expected.assert_eq(&text);
        }
        if operation == "rename" {
            assert!(text.contains("hidden"), "{text}");
        }
    }
}
