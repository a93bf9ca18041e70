//! Places of the `lsp` tool, by a scripted server: declarations with their text, uses as lists, and where those end.

mod stand;

use expect_test::expect;
use serde_json::{Value, json};
use stand::{Stand, able, always, at, check, lines, symbol};

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

/// A library has thousands of places that nobody asked for: they are counted, few are read, and more if they are named.
#[tokio::test]
async fn what_lies_outside_is_counted_and_shown_where_it_is_asked_for() {
    let outside = tempfile::tempdir().expect("a folder");
    let library = outside.path().canonicalize().expect("a path");
    std::fs::create_dir(library.join("core")).expect("a folder");
    std::fs::write(library.join("core/range.rs"), "impl Range {}\n".repeat(30)).expect("written");
    let named = |name: &str| {
        let uri = workspace::DocumentUri::from_path(&library.join(name)).expect("absolute");
        uri.as_str().to_owned()
    };
    let place = |uri: &str, line: u32| json!({"uri": uri, "range": at(line, 5, 10)});
    let stand = Stand::scripted(&[("a.rs", "impl Range {}\n")], |uri| {
        let mut all: Vec<Value> = (0..30)
            .map(|line| place(&named("core/range.rs"), line))
            .collect();
        // Read, it would be said that they can't be.
        all.extend((0..5000).map(|line| place(&named("alloc/gone.rs"), line)));
        all.push(place(&uri("a.rs"), 0));
        let few = vec![
            place(&named("core/range.rs"), 0),
            place(&named("core/range.rs"), 1),
        ];
        let mut able = able();
        able["implementationProvider"] = json!(true);
        json!({"capabilities": able, "on": {
            "textDocument/implementation": always(&json!(all)),
            "textDocument/references": always(&json!(all[..30])),
            "textDocument/definition": always(&json!(few)),
        }})
    });
    let ask = async |operation: &str, query: &str| {
        let text = stand
            .ask(
                operation,
                "a.rs",
                json!({"line": 1, "character": 6, "query": query}),
            )
            .await;
        text.replace(&library.display().to_string(), "LIB")
    };
    let text = ask("goToImplementation", "").await;
    let (own, rest) = text.split_once("outside the workspace:\n").expect("told");
    assert_eq!(
        own,
        "1 implementation in 1 file; 5030 more outside the workspace (ready):\na.rs\n 1:6 impl Range {}\n"
    );
    assert_eq!(rest.matches("impl Range").count(), 20, "{rest}");
    assert!(
        rest.ends_with(
            "[5010 more outside the workspace: `query` with a part of a path shows those in it]"
        ),
        "{rest}"
    );
    let text = ask("goToImplementation", "core/range").await;
    assert!(
        text.starts_with("30 implementations in 1 file; paths with \"core/range\" only (ready):\nLIB/core/range.rs\n"),
        "{text}"
    );
    assert_eq!(text.matches("impl Range").count(), 30, "{text}");
    // There is nothing else.
    let text = ask("findReferences", "").await;
    assert!(
        text.starts_with("30 references, all outside the workspace (ready):\nLIB/core/range.rs\n"),
        "{text}"
    );
    let text = ask("goToDefinition", "").await;
    assert_eq!(
        text,
        "2 definitions (ready):\nLIB/core/range.rs:1:6\nimpl Range {}\nLIB/core/range.rs:2:6\nimpl Range {}"
    );
}
