//! Which place the `lsp` tool takes a name for, by a scripted server; what could be several things is listed, and never
//! guessed.

mod stand;

use std::time::Duration;

use expect_test::expect;
use serde_json::{Value, json};
use stand::{Stand, TWO, able, always, at, check, lines, symbol, two, with_two};

#[tokio::test]
async fn symbols_are_found_by_their_names() {
    let hover = json!({"contents": "said"});
    let stand = with_two(json!({"textDocument/hover": always(&hover)}));
    // What is asked for, and the line and column (from 1) that the server is asked about.
    for (more, place) in [
        (json!({"symbol": "A"}), (1, 8)),
        (json!({"symbol": "A.go"}), (3, 8)),
        (json!({"symbol": "B::go"}), (7, 8)),
        (json!({"symbol": "crate::a::B::go()"}), (7, 8)),
        (json!({"symbol": "a/main"}), (10, 4)),
        (json!({"symbol": "go", "line": 12}), (12, 9)),
        (json!({"symbol": "go", "line": 4}), (3, 8)),
        (json!({"symbol": "A.go", "line": 6}), (7, 8)),
        (json!({"symbol": "let"}), (11, 5)),
        (json!({"line": 12}), (12, 5)),
        (json!({"line": 1}), (1, 8)),
        (json!({"line": 3}), (3, 8)),
        (json!({"line": 12, "character": 9}), (12, 9)),
    ] {
        let text = stand.ask("hover", "a.rs", more.clone()).await;
        assert!(text.ends_with("(ready):\nsaid"), "{more}: {text}");
        let asked = stand.asked("textDocument/hover");
        let position = &asked.last().expect("asked")["position"];
        let (line, column) = (
            position["line"].as_u64().expect("a line") + 1,
            position["character"].as_u64().expect("a column") + 1,
        );
        assert_eq!((line, column), place, "{more}");
    }
    check(
        &stand,
        "hover",
        "a.rs",
        json!({"symbol": "go"}),
        expect![[r#"
        `go` may be 2 things in a.rs. Ask again with the file and line of the one that is meant:
        a.rs:3:8  method fn go(&self) {}  in `impl A`
        a.rs:7:8  method fn go(&self) {}  in `impl B`"#]],
    )
    .await;
    check(
        &stand,
        "rename",
        "a.rs",
        json!({"symbol": "go", "newName": "x"}),
        expect![[r#"
        ! `go` may be 2 things in a.rs. Ask again with the file and line of the one that is meant:
        a.rs:3:8  method fn go(&self) {}  in `impl A`
        a.rs:7:8  method fn go(&self) {}  in `impl B`
    "#]],
    )
    .await;
    check(&stand, "hover", "a.rs", json!({}), expect![
        "! this operation needs `symbol`, or `line` (with `character`, unless what it declares or its first word is meant)"
    ]).await;
    check(
        &stand,
        "hover",
        "a.rs",
        json!({"line": 99}),
        expect!["! line 99 is past the end: a.rs has 13 lines"],
    )
    .await;
    check(
        &stand,
        "hover",
        "a.rs",
        json!({"symbol": "::"}),
        expect!["! `::` is no name of a symbol"],
    )
    .await;
}

/// Servers that give all of a symbol for its name, and a keyword before it: what is meant and told is the name.
#[tokio::test]
async fn a_declaration_is_where_its_name_stands() {
    let text = "/** one */\nexport class one {\n  go() {}\n}\nclass two {\n  go() {}\n}\n";
    let stand = Stand::scripted(&[("a.rs", text)], |uri| {
        let found = |name: &str, kind: u8, range: Value| json!({"name": name, "kind": kind, "location": {"uri": uri("a.rs"), "range": range}});
        let all = json!([
            found("one", 5, lines(0, 3)),
            found("go", 6, at(2, 2, 9)),
            found("two", 5, lines(4, 6)),
            found("go", 6, at(5, 2, 9)),
        ]);
        json!({"capabilities": able(), "on": {
            "textDocument/documentSymbol": always(&all),
            "workspace/symbol": always(&json!([found("one", 5, lines(0, 3)), found("two", 5, lines(4, 6))])),
            "textDocument/definition": always(&json!(null)),
        }})
    });
    for (line, name) in [
        (2, "`one` (a.rs:2:14)"),
        (3, "`go` (a.rs:3:3)"),
        (5, "`two` (a.rs:5:7)"),
    ] {
        let text = stand
            .ask("goToDefinition", "a.rs", json!({"line": line}))
            .await;
        assert!(text.contains(name), "{line}: {text}");
    }
    check(
        &stand,
        "workspaceSymbol",
        "a.rs",
        json!({"query": "o"}),
        expect![[r#"
        2 symbols (ready):
        a.rs:2:14 class one
        a.rs:5:7 class two"#]],
    )
    .await;
    check(
        &stand,
        "hover",
        "a.rs",
        json!({"symbol": "go"}),
        expect![[r#"
        `go` may be 2 things in a.rs. Ask again with the file and line of the one that is meant:
        a.rs:3:3  method go() {}  in one
        a.rs:6:3  method go() {}  in two"#]],
    )
    .await;
}

/// What can't be told is listed, not guessed.
#[tokio::test]
async fn what_a_name_means_is_never_guessed() {
    let text = "fn a() {\n    one();\n    one();\n}\n";
    let nowhere = Stand::scripted(&[("a.rs", text)], |_| {
        json!({"capabilities": able(), "ready": "initialized", "on": {
            "textDocument/definition": [[{"answer": null}], [{"error": {"code": -32603, "message": "no identifier"}}]],
        }})
    });
    let indexing = Stand::scripted_within(Duration::from_millis(300), &[("a.rs", text)], |uri| {
        let place = json!([{"uri": uri("a.rs"), "range": at(0, 3, 4)}]);
        json!({"capabilities": able(), "ready": "status", "on": {
            "initialized": [[{"notify": ["experimental/serverStatus", {"health": "ok", "quiescent": false}]}]],
            "textDocument/definition": always(&place),
        }})
    });
    for stand in [&nowhere, &indexing] {
        check(stand, "hover", "a.rs", json!({"symbol": "one"}), expect![[r#"
            `one` may be 2 things in a.rs. Ask again with the file and line of the one that is meant:
            a.rs:2:5  one();
            a.rs:3:5  one();"#]]).await;
    }
    // Where they mean nothing the project was asked first, which could not be asked.
    assert_eq!(nowhere.asked("textDocument/definition").len(), 2);
    // Only another thing of that name is declared.
    let stand = with_two(json!({}));
    check(&stand, "hover", "a.rs", json!({"symbol": "C.main"}), expect![[r#"
        `C.main` is not declared so in a.rs. Ask again with the line of what is meant, if it is this:
        a.rs:10:4  function fn main() {"#]]).await;
}

/// What only the file calls so, as another name of a module, need not be around what is meant.
#[tokio::test]
async fn a_name_may_be_qualified_by_an_alias() {
    let files = [
        ("a.rs", "use lib as np;\nfn a() { np::array(); }\n"),
        ("lib.rs", "fn array() {}\n"),
    ];
    let stand = Stand::scripted(&files, |uri| {
        let place = json!({"uri": uri("lib.rs"), "range": at(0, 3, 8)});
        let found = |container: &str| json!({"name": "array", "kind": 12, "containerName": container, "location": place});
        json!({"capabilities": able(), "on": {
            "textDocument/hover": always(&json!({"contents": "said"})),
            "textDocument/definition": always(&place),
            "workspace/symbol": always(&json!([found("Other"), found("Another")])),
        }})
    });
    check(
        &stand,
        "hover",
        "a.rs",
        json!({"symbol": "np.array"}),
        expect![[r#"
        a.rs:2:14 (ready):
        said"#]],
    )
    .await;
}

/// A name that the file only uses: fine if it means one thing.
#[tokio::test]
async fn a_name_that_is_used_is_what_its_uses_mean() {
    let text = "fn a() {\n    one();\n    one();\n    two();\n    two();\n}\n";
    let stand = Stand::scripted(&[("a.rs", text)], |uri| {
        let to = |line| json!({"answer": {"uri": uri("a.rs"), "range": at(line, 0, 1)}});
        json!({"capabilities": able(), "on": {
            "textDocument/hover": always(&json!({"contents": "said"})),
            // One thing, asked about twice, and again before it is told; then two things.
            "textDocument/definition": [[to(0)], [to(0)], [to(0)], [to(0)], [to(5)]],
        }})
    });
    check(
        &stand,
        "hover",
        "a.rs",
        json!({"symbol": "one"}),
        expect![[r#"
        a.rs:2:5 (ready):
        said"#]],
    )
    .await;
    check(
        &stand,
        "hover",
        "a.rs",
        json!({"symbol": "two"}),
        expect![[r#"
        `two` may be 2 things in a.rs. Ask again with the file and line of the one that is meant:
        a.rs:4:5  two();
        a.rs:5:5  two();"#]],
    )
    .await;
}

#[tokio::test]
async fn a_name_of_elsewhere_is_looked_for_in_the_project() {
    let files = [
        ("a.rs", TWO),
        ("b.rs", "fn far() {}\nmod m { fn two() {} }\nfn two() {}\n"),
        ("c.rs", "use b::far;\n"),
    ];
    let stand = Stand::scripted(&files, |uri| {
        let found = |name: &str, file: &str, range: Value, container: Value| json!({"name": name, "kind": 12, "containerName": container, "location": {"uri": uri(file), "range": range}});
        let declared = json!({"uri": uri("b.rs"), "range": at(0, 3, 6)});
        json!({"capabilities": able(), "on": {
            "textDocument/documentSymbol": always(&two()),
            "textDocument/hover": always(&json!({"contents": "said"})),
            "workspace/symbol": [
                [{"answer": [found("far", "b.rs", at(0, 0, 11), json!(null)), found("farther", "b.rs", at(2, 3, 6), json!(null))]}],
                [{"answer": [found("two", "b.rs", at(1, 11, 14), json!("m")), found("two", "b.rs", at(2, 3, 6), json!(null))]}],
                [{"answer": [found("two", "b.rs", at(1, 11, 14), json!("m")), found("two", "b.rs", at(2, 3, 6), json!(null))]}],
                // The same, and where it is exported again.
                [{"answer": [found("far", "b.rs", at(0, 3, 6), json!(null)), found("far", "c.rs", at(0, 7, 10), json!(null))]}],
                [{"answer": []}],
            ],
            "textDocument/definition": [
                [{"answer": {"uri": uri("b.rs"), "range": at(1, 11, 14)}}],
                [{"answer": {"uri": uri("b.rs"), "range": at(2, 3, 6)}}],
                [{"answer": declared}],
            ],
        }})
    });
    check(
        &stand,
        "hover",
        "a.rs",
        json!({"symbol": "far"}),
        expect![[r#"
        b.rs:1:4 (ready):
        said"#]],
    )
    .await;
    check(&stand, "hover", "a.rs", json!({"symbol": "two"}), expect![[r#"
        `two` may be 2 things in the project. Ask again with the file and line of the one that is meant:
        b.rs:2:12 function two in m
        b.rs:3:4 function two"#]]).await;
    check(
        &stand,
        "hover",
        "a.rs",
        json!({"symbol": "m::two"}),
        expect![[r#"
        b.rs:2:12 (ready):
        said"#]],
    )
    .await;
    check(
        &stand,
        "hover",
        "a.rs",
        json!({"symbol": "far"}),
        expect![[r#"
        b.rs:1:4 (ready):
        said"#]],
    )
    .await;
    check(&stand, "hover", "a.rs", json!({"symbol": "nowhere"}), expect![
        "! `nowhere` does not stand in a.rs, and scripted knows no symbol of that name (ready): check the spelling, or `grep` for it"
    ]).await;
}

/// A name that the file has only in a comment or a string, once or more often, is one of the project; and if the project
/// knows none either, it is what stands there.
#[tokio::test]
async fn a_name_that_means_nothing_here_is_looked_for_in_the_project() {
    let files = [
        (
            "a.rs",
            "// one, two and two, three, four and four\nfn a() {}\n",
        ),
        ("b.rs", "fn one() {}\nfn two() {}\n"),
    ];
    let stand = Stand::scripted(&files, |uri| {
        let found = |name: &str, line: u32| json!([{"answer": [{"name": name, "kind": 12, "location": {"uri": uri("b.rs"), "range": at(line, 3, 6)}}]}]);
        json!({"capabilities": able(), "on": {
            "textDocument/hover": always(&json!({"contents": "said"})),
            "textDocument/definition": always(&json!(null)),
            "workspace/symbol": [found("one", 0), found("two", 1), [{"answer": []}]],
        }})
    });
    for (name, place) in [
        ("one", "b.rs:1:4"),
        ("two", "b.rs:2:4"),
        ("three", "a.rs:1:22"),
    ] {
        let text = stand.ask("hover", "a.rs", json!({"symbol": name})).await;
        assert_eq!(text, format!("{place} (ready):\nsaid"), "{name}");
    }
    let text = stand.ask("hover", "a.rs", json!({"symbol": "four"})).await;
    assert!(
        text.starts_with("`four` may be 2 things in a.rs."),
        "{text}"
    );
}

/// A module's name, in a path or an import, gives way to what else has the name; not where something is to be changed.
#[tokio::test]
async fn a_path_does_not_beat_the_symbol() {
    let files = [
        // The path, what is imported, the call, the string.
        ("a.rs", "use range::range;\nfn a() { range(\"./range\") }\n"),
        ("range.rs", "fn range() {}\n"),
        ("c.rs", "mod range;\nfn range() {}\n"),
        ("d.rs", "mod range;\nfn d() { range::range() }\n"),
        ("e.rs", "\n"),
    ];
    let module = symbol("range", 2, &at(0, 0, 10), at(0, 4, 9), json!([]));
    let function = symbol("range", 12, &at(1, 0, 13), at(1, 3, 8), json!([]));
    // What is asked, and which place it is about, or what of several.
    for (file, outline, leads, asked, changing) in [
        (
            "a.rs",
            json!([]),
            ["file", "fn", "fn", "start"],
            "a.rs:1:12",
            Some("a.rs"),
        ),
        (
            "c.rs",
            json!([module, function]),
            ["file", "fn", "fn", "fn"],
            "c.rs:2:4",
            Some("c.rs"),
        ),
        (
            "d.rs",
            json!([module]),
            ["file", "fn", "fn", "fn"],
            "d.rs:2:17",
            None,
        ),
        (
            "e.rs",
            json!([]),
            ["file", "fn", "fn", "fn"],
            "c.rs:2:4",
            Some("the project"),
        ),
        // A server that leads to the import, and from there on.
        (
            "a.rs",
            json!([]),
            ["file", "fn", "import", "start"],
            "a.rs:1:12",
            Some("a.rs"),
        ),
    ] {
        let stand = Stand::scripted(&files, |uri| {
            let to = |name: &str| {
                let (file, range) = match name {
                    "file" => (
                        "range.rs",
                        json!({"start": {"line": 0, "character": 0}, "end": {"line": 1, "character": 0}}),
                    ),
                    "start" => ("range.rs", at(0, 0, 0)),
                    "import" => ("a.rs", at(0, 11, 16)),
                    _ => ("range.rs", at(0, 3, 8)),
                };
                json!([{"answer": {"uri": uri(file), "range": range}}])
            };
            let found = |kind: u8, line, from, to| json!({"name": "range", "kind": kind, "location": {"uri": uri("c.rs"), "range": at(line, from, to)}});
            let definitions: Vec<Value> = leads.iter().chain(&leads).map(|name| to(name)).collect();
            json!({"capabilities": able(), "on": {
                "textDocument/documentSymbol": [[{"answer": outline}], [{"answer": []}], [{"answer": outline}], [{"answer": []}]],
                "textDocument/definition": definitions,
                "workspace/symbol": always(&json!([found(2, 0, 4, 9), found(12, 1, 3, 8)])),
            }})
        });
        let place = format!("No function at `range` ({asked}): scripted found none (ready)");
        let text = stand.ask("prepareCallHierarchy", file, json!({"symbol": "range"}));
        assert_eq!(text.await, place, "{file}");
        let renaming = json!({"symbol": "range", "newName": "x"});
        let text = stand.ask("rename", file, renaming).await;
        let several = changing.map(|place| format!("! `range` may be 2 things in {place}."));
        // The module that it declares is what a file has by the name.
        let expected = several.unwrap_or_else(|| "! scripted failed: what stands there".to_owned());
        assert!(text.starts_with(&expected), "{file}: {text}");
    }
}

/// What is declared several times side by side is one thing: the one with a body, and it is said that there are more.
#[tokio::test]
async fn overloads_are_one_thing() {
    let text = "fn one(a);\nfn one(b);\nfn one(c) {\n}\nfn two(a) {\n}\nfn two(b) {\n}\nclass Made {\n  Made(a)\n}\n";
    let files = [
        ("a.rs", text),
        ("b.rs", "use a::one;\none(1);\none(2);\n"),
        ("c.rs", "\n"),
    ];
    let stand = Stand::scripted(&files, |uri| {
        let place = |line, from, to| json!({"uri": uri("a.rs"), "range": at(line, from, to)});
        let to = |line| json!([{"answer": [place(line, 3, 6)]}]);
        let function =
            |name: &str, line| symbol(name, 12, &at(line, 0, 10), at(line, 3, 6), json!([]));
        let with_body =
            |name: &str, line| symbol(name, 12, &lines(line, line + 1), at(line, 3, 6), json!([]));
        let maker = symbol("Made", 9, &at(9, 2, 9), at(9, 2, 6), json!([]));
        let outline = json!([
            function("one", 0),
            function("one", 1),
            with_body("one", 2),
            with_body("two", 4),
            with_body("two", 6),
            symbol("Made", 5, &lines(8, 10), at(8, 6, 10), json!([maker])),
        ]);
        let found = |line: u32| json!({"name": "one", "kind": 12, "location": {"uri": uri("a.rs"), "range": at(line, 0, 10)}});
        json!({"capabilities": able(), "on": {
            "textDocument/documentSymbol": [
                [{"answer": outline}], [{"answer": outline}], [{"answer": outline}], [{"answer": outline}], [{"answer": outline}],
                // Of the file that only uses it, then of what it leads to.
                [{"answer": []}], [{"answer": outline}], [{"answer": []}],
            ],
            "textDocument/definition": [
                to(2),
                // The first is left out by a condition.
                [{"answer": []}], to(6),
                // Before a change: it is one thing to the server if it says so.
                to(2), to(2),
                // In the other file: each call has an overload of its own.
                to(2), to(0), to(1),
            ],
            "textDocument/references": [
                [{"answer": [place(0, 3, 6), place(2, 3, 6)]}],
                [{"answer": [place(0, 3, 6), place(1, 3, 6), place(2, 3, 6)]}],
            ],
            "textDocument/rename": always(&json!({"changes": {uri("a.rs"): [{"range": at(0, 3, 6), "newText": "won"}]}})),
            "workspace/symbol": always(&json!([found(1), found(2)])),
        }})
    });
    check(&stand, "prepareCallHierarchy", "a.rs", json!({"symbol": "one"}), expect![[r#"
        No function at `one` (a.rs:3:4): scripted found none (ready)
        [`one` is declared 3 times in a.rs, lines 1, 2, 3: this is about line 3; `line` names another]"#]]).await;
    check(&stand, "prepareCallHierarchy", "a.rs", json!({"symbol": "two"}), expect![[r#"
        No function at `two` (a.rs:7:4): scripted found none (ready)
        [`two` is declared 2 times in a.rs, lines 5, 7: this is about line 7; `line` names another]"#]]).await;
    check(
        &stand,
        "prepareCallHierarchy",
        "a.rs",
        json!({"symbol": "Made"}),
        expect![[r#"
        No function at `Made` (a.rs:9:7): scripted found none (ready)"#]],
    )
    .await;
    let renaming = || json!({"symbol": "one", "newName": "won"});
    let text = stand.ask("rename", "a.rs", renaming()).await;
    assert!(
        text.starts_with("! `one` may be 3 things in a.rs."),
        "{text}"
    );
    let text = stand.ask("rename", "a.rs", renaming()).await;
    assert!(
        text.starts_with("Renamed `one` (a.rs:3:4) to `won`"),
        "{text}"
    );
    check(
        &stand,
        "prepareCallHierarchy",
        "b.rs",
        json!({"symbol": "one"}),
        expect![[r#"
        No function at `one` (b.rs:1:8): scripted found none (ready)"#]],
    )
    .await;
    check(&stand, "prepareCallHierarchy", "c.rs", json!({"symbol": "one"}), expect![[r#"
        No function at `one` (a.rs:2:4): scripted found none (ready)
        [`one` is declared 2 times in a.rs, lines 2, 3: this is about line 2; `line` names another]"#]]).await;
}
