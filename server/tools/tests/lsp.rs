//! The `lsp` tool's answers, by a scripted server: their form, what several candidates, cuts and the kinds of nothing
//! look like.

mod stand;

use std::time::Duration;

use expect_test::{Expect, expect};
use serde_json::{Value, json};
use stand::{Stand, at, lines};

const TWO: &str = "struct A;\nimpl A {\n    fn go(&self) {}\n}\nstruct B;\nimpl B {\n    fn go(&self) {}\n}\n\nfn main() {\n    let one = A;\n    one.go();\n}\n";

fn symbol(name: &str, kind: u8, range: &Value, selection: Value, children: Value) -> Value {
    json!({"name": name, "kind": kind, "range": range, "selectionRange": selection, "children": children})
}

/// The symbols of [`TWO`].
fn two() -> Value {
    json!([
        symbol("A", 23, &at(0, 0, 9), at(0, 7, 8), json!([])),
        symbol(
            "impl A",
            19,
            &lines(1, 3),
            at(1, 5, 6),
            json!([symbol("go", 6, &at(2, 4, 19), at(2, 7, 9), json!([]))])
        ),
        symbol("B", 23, &at(4, 0, 9), at(4, 7, 8), json!([])),
        symbol(
            "impl B",
            19,
            &lines(5, 7),
            at(5, 5, 6),
            json!([symbol("go", 6, &at(6, 4, 19), at(6, 7, 9), json!([]))])
        ),
        symbol("main", 12, &lines(9, 12), at(9, 3, 7), json!([])),
    ])
}

fn able() -> Value {
    json!({
        "hoverProvider": true, "definitionProvider": true, "referencesProvider": true, "textDocumentSync": 2,
        "documentSymbolProvider": true, "workspaceSymbolProvider": true, "callHierarchyProvider": true,
        "typeHierarchyProvider": true, "renameProvider": true, "documentFormattingProvider": true,
        "codeActionProvider": {"resolveProvider": false}
    })
}

fn always(answer: &Value) -> Value {
    json!([[{ "answer": answer }]])
}

fn with_two(mut on: Value) -> Stand {
    Stand::scripted(&[("a.rs", TWO), ("b.rs", "use a::A;\n")], |_| {
        on["textDocument/documentSymbol"] = always(&two());
        json!({"capabilities": able(), "on": on})
    })
}

async fn check(stand: &Stand, operation: &str, file: &str, more: Value, expected: Expect) {
    expected.assert_eq(&stand.ask(operation, file, more).await);
}

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
        expect!["! line 99 is past the end: a.rs has 14 lines"],
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
    for stand in [nowhere, indexing] {
        check(&stand, "hover", "a.rs", json!({"symbol": "one"}), expect![[r#"
            `one` may be 2 things in a.rs. Ask again with the file and line of the one that is meant:
            a.rs:2:5  one();
            a.rs:3:5  one();"#]]).await;
    }
    // Only another thing of that name is declared.
    let stand = with_two(json!({}));
    check(&stand, "hover", "a.rs", json!({"symbol": "C.main"}), expect![[r#"
        `C.main` is not declared so in a.rs. Ask again with the line of what is meant, if it is this:
        a.rs:10:4  function fn main() {"#]]).await;
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

#[tokio::test]
async fn places_are_listed_by_file_and_tests_apart() {
    let tested = "fn a() {\n    go();\n    go(); go();\n}\ngo();\n\n#[cfg(test)]\nmod tests {\n    go();\n}\n";
    let files = [
        ("src/a.rs", tested),
        ("src/b.rs", "go();\n"),
        ("src/deep/c.rs", "go();\n"),
        ("tests/t.rs", "go();\n"),
    ];
    let stand = Stand::scripted(&files, |uri| {
        let place = |file: &str, line, start| json!({"uri": uri(file), "range": at(line, start, start + 2)});
        let symbols = json!([symbol("a", 12, &lines(0, 3), at(0, 3, 4), json!([]))]);
        json!({"capabilities": able(), "on": {
            "textDocument/documentSymbol": always(&symbols),
            "textDocument/references": always(&json!([
                place("tests/t.rs", 0, 0), place("src/deep/c.rs", 0, 0), place("src/a.rs", 8, 4), place("src/a.rs", 2, 10),
                place("src/a.rs", 2, 4), place("src/a.rs", 1, 4), place("src/a.rs", 4, 0), place("src/b.rs", 0, 0),
                place("src/b.rs", 0, 0),
            ])),
        }})
    });
    check(
        &stand,
        "findReferences",
        "src/a.rs",
        json!({"line": 2}),
        expect![[r#"
        6 references in 3 files; 2 more in tests (ready):
        src/a.rs
         in a
          2:5 go();
          3:5,11 go(); go();
         5:1 go();
        src/b.rs
         in a
          1:1 go();
        src/deep/c.rs
         in a
          1:1 go();
        in tests:
        src/a.rs
         9:5 go();
        tests/t.rs
         in a
          1:1 go();"#]],
    )
    .await;
    check(
        &stand,
        "findReferences",
        "src/a.rs",
        json!({"line": 2, "query": "deep"}),
        expect![[r#"
        1 reference in 1 file; paths with "deep" only (ready):
        src/deep/c.rs
         in a
          1:1 go();"#]],
    )
    .await;
}

/// Generated code: thousands of places in one line, and thousands of lines that lie in nothing or in names of their own.
#[tokio::test]
async fn there_is_an_end_to_numbers() {
    const MANY: u32 = 3000;
    let line = "x();".repeat(MANY as usize);
    let text = "x();\n".repeat(MANY as usize);
    for (name, text, in_one_line, with_names) in [
        ("line", &line, true, false),
        ("lines", &text, false, false),
        ("names", &text, false, true),
    ] {
        let stand = Stand::scripted(&[("a.rs", text)], |uri| {
            let place = |number: u32| match in_one_line {
                true => at(0, number * 4, number * 4 + 1),
                false => at(number, 0, 1),
            };
            let all: Vec<Value> = (0..MANY)
                .map(|number| json!({"uri": uri("a.rs"), "range": place(number)}))
                .collect();
            let symbols: Vec<Value> = (0..if with_names { MANY } else { 0 })
                .map(|line| {
                    let name = format!("f{line}");
                    symbol(&name, 12, &at(line, 0, 4), at(line, 0, 1), json!([]))
                })
                .collect();
            json!({"capabilities": able(), "on": {
                "textDocument/documentSymbol": always(&json!(symbols)),
                "textDocument/references": always(&json!(all)),
            }})
        });
        let place = json!({"line": 1, "character": 1});
        let told = stand.ask("findReferences", "a.rs", place).await;
        assert!(told.starts_with("3000 references in 1 file"), "{told}");
        assert!(told.contains(" more"), "{name}: {told}");
        assert!(told.len() < 2500, "{name}: {} bytes", told.len());
    }
}

/// Many lines are told by what they lie in, and still all of them.
#[tokio::test]
async fn many_places_are_told_by_names() {
    let text = "x();\n".repeat(60);
    let stand = Stand::scripted(&[("a.rs", &text), ("tests/t.rs", &text)], |uri| {
        let places = |file: &str, number: u32| {
            let uri = uri(file);
            (0..number).map(move |line| json!({"uri": uri, "range": at(line, 0, 1)}))
        };
        let all: Vec<Value> = places("a.rs", 50).chain(places("tests/t.rs", 30)).collect();
        let symbols = json!([symbol("f", 12, &lines(10, 49), at(10, 0, 1), json!([]))]);
        json!({"capabilities": able(), "on": {
            "textDocument/documentSymbol": always(&symbols),
            "textDocument/references": always(&json!(all)),
        }})
    });
    let text = stand
        .ask("findReferences", "a.rs", json!({"line": 1}))
        .await;
    let (first, rest) = text.split_once('\n').expect("lines");
    assert_eq!(first, "50 references in 1 file; 30 more in tests (ready):");
    assert!(
        rest.starts_with("a.rs: 1,2,3,4,5,6,7,8,9,10,11; f 12,13,14,"),
        "{rest}"
    );
    assert!(
        rest.ends_with("in tests: tests/t.rs (30)\n[lines without text: `query` with a part of a path shows them]"),
        "{rest}"
    );
}

#[tokio::test]
async fn definitions_come_with_their_text() {
    let long = format!(
        "/// Says.\n///\n/// More.\npub fn long(\n    a: u8,\n) {{\n{}}}\n",
        "    b();\n".repeat(20)
    );
    let kind = format!(
        "struct Big {{\n{}}}\n",
        "    /// Said.\n    field: u8,\n".repeat(9)
    );
    let stand = Stand::scripted(
        &[
            (
                "a.rs",
                "// of the file\n\n/// Short.\nfn short() {\n    1\n}\n",
            ),
            ("b.rs", &long),
            ("c.rs", &kind),
        ],
        |uri| {
            let to = |file: &str, line, start, end| json!({"answer": [{"uri": uri(file), "range": at(line, start, end)}]});
            let fields: Vec<Value> = (0..9)
                .map(|n| {
                    symbol(
                        "field",
                        8,
                        &at(n * 2 + 2, 4, 13),
                        at(n * 2 + 2, 4, 9),
                        json!([]),
                    )
                })
                .collect();
            json!({"capabilities": able(), "on": {
                "textDocument/definition": [[to("a.rs", 3, 3, 8)], [to("b.rs", 3, 7, 11)], [to("c.rs", 0, 7, 10)], [{"answer": []}]],
                "textDocument/documentSymbol": [
                    [{"answer": [symbol("short", 12, &lines(2, 5), at(3, 3, 8), json!([]))]}],
                    [{"answer": [symbol("long", 12, &lines(0, 26), at(3, 7, 11), json!([]))]}],
                    [{"answer": [symbol("Big", 23, &lines(0, 19), at(0, 7, 10), json!(fields))]}],
                ],
            }})
        },
    );
    check(
        &stand,
        "goToDefinition",
        "a.rs",
        json!({"line": 4, "character": 4}),
        expect![[r#"
        a.rs:4:4 (ready)
        /// Short.
        fn short() {
            1
        }"#]],
    )
    .await;
    check(
        &stand,
        "goToDefinition",
        "a.rs",
        json!({"line": 4, "character": 4}),
        expect![[r#"
        b.rs:4:8 (ready)
        /// Says.
        pub fn long(
            a: u8,
        ) {
        … [to line 27]"#]],
    )
    .await;
    check(
        &stand,
        "goToDefinition",
        "a.rs",
        json!({"line": 4, "character": 4}),
        expect![[r#"
        c.rs:1:8 (ready)
        struct Big {
            field: u8,
            field: u8,
            field: u8,
            field: u8,
            field: u8,
            field: u8,
            field: u8,
            field: u8,
            field: u8,
        … [to line 20]"#]],
    )
    .await;
    check(
        &stand,
        "goToDefinition",
        "a.rs",
        json!({"line": 4, "character": 4}),
        expect!["No definition of `short` (a.rs:4:4): scripted found none (ready)"],
    )
    .await;
}

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
    check(&stand, "incomingCalls", "a.rs", json!({"line": 1}), expect![
        "! scripted does not support textDocument/prepareCallHierarchy: `findReferences` finds the callers too"
    ]).await;
    let none = stand.ask("hover", "b.unheard", json!({"line": 1})).await;
    assert!(
        none.starts_with("! no language server is known for ")
            && none.ends_with(": use `grep` and `read`"),
        "{none}"
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
