//! What the `lsp` tool changes, by a scripted server: all files or none, and none that the model may not change.

mod stand;

use std::time::Duration;

use expect_test::{Expect, expect};
use serde_json::{Value, json};
use stand::{Stand, always, at, lines, symbol};

fn able() -> Value {
    json!({
        "textDocumentSync": 2, "renameProvider": true, "documentFormattingProvider": true,
        "codeActionProvider": {"resolveProvider": false}
    })
}

/// `old` is defined in `a.rs` and used in `b.rs`.
fn renaming(steps: impl FnOnce(&dyn Fn(&str) -> String) -> Value) -> Stand {
    let files = [
        ("a.rs", "fn old() {}\n"),
        ("b.rs", "use a::old;\nfn b() { old(); }\n"),
        (".copydeskignore", "secret.rs\n"),
        ("taken.rs", "mine\n"),
    ];
    let stand = Stand::scripted(&files, |uri| {
        let mut all = vec![
            json!({"textDocument": {"uri": uri("a.rs"), "version": null}, "edits": [{"range": at(1, 3, 6), "newText": "new"}]}),
            json!({"textDocument": {"uri": uri("b.rs"), "version": null}, "edits": [
                {"range": at(0, 7, 10), "newText": "new"}, {"range": at(1, 9, 12), "newText": "new"}
            ]}),
        ];
        all.extend(steps(uri).as_array().expect("steps").clone());
        json!({"capabilities": able(), "on": {"textDocument/rename": always(&json!({"documentChanges": all}))}})
    });
    stand.open("a.rs", "// typed\nfn old() {}\n");
    stand
}

async fn rename(stand: &Stand, expected: Expect) {
    let place = json!({"line": 2, "character": 4, "newName": "new"});
    expected.assert_eq(&stand.ask("rename", "a.rs", place).await);
}

#[tokio::test]
async fn a_rename_goes_into_buffers_and_files_alike() {
    let stand = renaming(
        |uri| json!([{"kind": "rename", "oldUri": uri("b.rs"), "newUri": uri("n/new.rs")}]),
    );
    rename(
        &stand,
        expect![[r#"
        Renamed `old` (a.rs:2:4) to `new`: 3 changes in 2 files
        a.rs, in the editor's buffer, not saved
         2 fn new() {}
        b.rs
         1 use a::new;
         2 fn b() { new(); }
        b.rs is now n/new.rs"#]],
    )
    .await;
    assert_eq!(stand.buffer("a.rs"), "// typed\nfn new() {}\n");
    assert_eq!(stand.disk("a.rs"), "fn old() {}\n");
    assert_eq!(stand.disk("n/new.rs"), "use a::new;\nfn b() { new(); }\n");
    assert_eq!(stand.disk("b.rs"), "(none)");
}

/// What a call gives back for those who look at its consequences: more than what was edited.
#[tokio::test]
async fn what_was_renamed_and_deleted_is_given_back_as_it_was() {
    let stand = renaming(|uri| {
        json!([
            {"kind": "rename", "oldUri": uri("b.rs"), "newUri": uri("c.rs")},
            {"kind": "delete", "uri": uri("taken.rs")},
        ])
    });
    let input = json!({"operation": "rename", "filePath": "a.rs", "line": 2, "character": 4, "newName": "new"});
    let output = stand.output("lsp", input).await.expect("renamed");
    let before: Vec<_> = output
        .before
        .iter()
        .map(|text| {
            (
                text.uri.as_str().rsplit('/').next().unwrap_or_default(),
                text.text.to_string(),
            )
        })
        .collect();
    assert_eq!(
        before,
        [
            ("b.rs", "use a::new;\nfn b() { new(); }\n".to_owned()),
            ("c.rs", String::new()),
            ("taken.rs", "mine\n".to_owned()),
        ]
    );
}

/// Each of these stops all of it.
#[tokio::test]
async fn what_the_model_may_not_change_stops_all_of_it() {
    let outside = tempfile::tempdir().expect("a folder");
    let beside = format!("file://{}/x.rs", outside.path().display());
    for (step, reason) in [
        (
            json!({"kind": "create", "uri": beside}),
            "is outside the workspace",
        ),
        (
            json!({"kind": "create", "uri": ".git/hooks/x"}),
            "lies in a .git or .copydesk folder",
        ),
        (
            json!({"kind": "create", "uri": ".copydesk/x"}),
            "lies in a .git or .copydesk folder",
        ),
        (
            json!({"kind": "create", "uri": "secret.rs"}),
            "a .copydeskignore hides",
        ),
        (
            json!({"kind": "rename", "oldUri": "b.rs", "newUri": "secret.rs"}),
            "a .copydeskignore hides",
        ),
        (
            json!({"kind": "create", "uri": "taken.rs"}),
            "taken.rs is there already",
        ),
        (
            json!({"kind": "delete", "uri": "gone.rs"}),
            "gone.rs does not exist",
        ),
        (
            json!({"kind": "delete", "uri": ".copydeskignore"}),
            "only a person changes it",
        ),
    ] {
        let stand = renaming(|uri| {
            let mut step = step.clone();
            for key in ["uri", "oldUri", "newUri"] {
                if let Some(name) = step[key].as_str().filter(|name| !name.contains("://")) {
                    step[key] = json!(uri(name));
                }
            }
            json!([step])
        });
        let place = json!({"line": 2, "character": 4, "newName": "new"});
        let text = stand.ask("rename", "a.rs", place).await;
        assert!(
            text.starts_with("! renaming `old` (a.rs:2:4) to `new`: "),
            "{text}"
        );
        assert!(text.contains(reason), "{text}");
        assert!(text.ends_with("; nothing was changed"), "{text}");
        assert_eq!(stand.buffer("a.rs"), "// typed\nfn old() {}\n", "{text}");
        assert_eq!(
            stand.disk("b.rs"),
            "use a::old;\nfn b() { old(); }\n",
            "{text}"
        );
        assert_eq!(stand.disk("taken.rs"), "mine\n");
        assert_eq!(
            std::fs::read_dir(outside.path()).expect("a folder").count(),
            0
        );
    }
}

#[tokio::test]
async fn many_changes_are_counted() {
    let text = "x\n".repeat(40);
    let stand = Stand::scripted(&[("a.rs", &text), ("b.rs", &text)], |uri| {
        let edits: Vec<Value> = (0..30)
            .map(|line| json!({"range": at(line, 0, 1), "newText": "y"}))
            .collect();
        let changes = json!({uri("a.rs"): edits, uri("b.rs"): edits[..1]});
        json!({"capabilities": able(), "on": {"textDocument/rename": always(&json!({"changes": changes}))}})
    });
    let place = json!({"line": 1, "newName": "y"});
    expect![[r#"
        Renamed `x` (a.rs:1:1) to `y`: 31 changes in 2 files
        a.rs: 30
        b.rs: 1"#]]
    .assert_eq(&stand.ask("rename", "a.rs", place).await);
    let place = json!({"line": 1});
    expect!["! rename needs `newName`"].assert_eq(&stand.ask("rename", "a.rs", place).await);
    // Some servers write whatever they are given.
    let place = json!({"line": 1, "newName": "y\nz"});
    expect!["! newName is one name, on one line"]
        .assert_eq(&stand.ask("rename", "a.rs", place).await);
}

#[tokio::test]
async fn an_action_is_named_by_its_title_or_its_beginning() {
    let stand = Stand::scripted(&[("a.rs", "mod m { }\n")], |uri| {
        let edit = json!({"documentChanges": [
            {"kind": "create", "uri": uri("m.rs")},
            {"textDocument": {"uri": uri("m.rs"), "version": null}, "edits": [{"range": at(0, 0, 0), "newText": "//! m\n"}]},
            {"textDocument": {"uri": uri("a.rs"), "version": null}, "edits": [{"range": at(0, 5, 9), "newText": ";"}]},
        ]});
        let actions = json!([
            {"title": "Move the module to a file", "kind": "refactor.extract", "edit": edit},
            {"title": "Make it public", "kind": "", "edit": {"changes": {}}},
            {"title": "Make it private", "kind": "refactor", "edit": {"changes": {}}},
        ]);
        let mut able = able();
        able["diagnosticProvider"] =
            json!({"interFileDependencies": false, "workspaceDiagnostics": false});
        json!({"capabilities": able, "on": {
            "textDocument/codeAction": always(&actions),
            "textDocument/diagnostic": always(&json!({"kind": "full", "items": []})),
        }})
    });
    let check = async |operation: &str, more: Value, expected: Expect| {
        expected.assert_eq(&stand.ask(operation, "a.rs", more).await);
    };
    check(
        "codeActions",
        json!({"line": 1}),
        expect![[r#"
        Code actions at a.rs:1:1 (ready):
        - Move the module to a file [refactor.extract]
        - Make it public
        - Make it private [refactor]"#]],
    )
    .await;
    check(
        "applyCodeAction",
        json!({"line": 1, "action": "Make it"}),
        expect![[r#"
        ! 2 code actions begin with "Make it" at a.rs:1:1. There are:
        - Move the module to a file
        - Make it public
        - Make it private"#]],
    )
    .await;
    check(
        "applyCodeAction",
        json!({"line": 1, "action": "Nothing"}),
        expect![[r#"
        ! there is no code action "Nothing" at a.rs:1:1. There are:
        - Move the module to a file
        - Make it public
        - Make it private"#]],
    )
    .await;
    check(
        "applyCodeAction",
        json!({"line": 1}),
        expect!["! applyCodeAction needs `action`"],
    )
    .await;
    check(
        "applyCodeAction",
        json!({"line": 1, "action": "Move the"}),
        expect![[r#"
        Applied "Move the module to a file": 1 change in 1 file
        a.rs
         1 mod m;
        m.rs is new"#]],
    )
    .await;
    assert_eq!(stand.disk("m.rs"), "//! m\n");
    assert_eq!(stand.disk("a.rs"), "mod m;\n");
}

/// What is only listed is not made, although a fix may be nothing but a command; the one that is chosen is.
#[tokio::test]
async fn listing_actions_runs_no_command() {
    let stand = Stand::scripted(&[("a.rs", "fn old() {}\n")], |uri| {
        let edit = json!({"changes": {uri("a.rs"): [{"range": at(0, 3, 6), "newText": "new"}]}});
        let command = |title: &str, command: &str| json!({"title": title, "kind": "quickfix", "command": {"title": title, "command": command, "arguments": []}});
        let same = json!({"title": "Name it new", "kind": "quickfix", "edit": edit});
        let actions = json!([
            command("Get it", "go.get"),
            command("Tidy", "go.tidy"),
            same,
            same
        ]);
        let mut able = able();
        able["executeCommandProvider"] = json!({"commands": ["go.get", "go.tidy"]});
        able["diagnosticProvider"] =
            json!({"interFileDependencies": false, "workspaceDiagnostics": false});
        json!({"capabilities": able, "on": {
            "textDocument/diagnostic": always(&json!({"kind": "full", "items": []})),
            "textDocument/codeAction": always(&actions),
            "workspace/executeCommand": [[{"ask": ["workspace/applyEdit", {"edit": edit}]}, {"answer": null}]],
        }})
    });
    let spot = json!({"line": 1, "character": 4});
    expect![[r#"
        Code actions at a.rs:1:4 (ready):
        - Get it [quickfix]
        - Tidy [quickfix]
        - Name it new [quickfix]"#]]
    .assert_eq(&stand.ask("codeActions", "a.rs", spot).await);
    assert!(stand.asked("workspace/executeCommand").is_empty());
    let chosen = json!({"line": 1, "character": 4, "action": "Tidy"});
    stand.ask("applyCodeAction", "a.rs", chosen).await;
    let ran: Vec<Value> = stand
        .asked("workspace/executeCommand")
        .iter()
        .map(|asked| asked["command"].clone())
        .collect();
    assert_eq!(ran, ["go.tidy"]);
    assert_eq!(stand.disk("a.rs"), "fn new() {}\n");
}

/// What a server offers that does not know everything yet is made where it can be known, and nowhere else.
#[tokio::test]
async fn an_action_while_indexing_says_so() {
    let files = [("a.rs", "fn old() {}\n"), ("b.rs", "old();\n")];
    let stand = Stand::scripted_within(Duration::from_millis(300), &files, |uri| {
        let edit = |line, start, end| json!([{"range": at(line, start, end), "newText": "new"}]);
        let here = json!({"changes": {uri("a.rs"): edit(0, 3, 6)}});
        let everywhere =
            json!({"changes": {uri("a.rs"): edit(0, 3, 6), uri("b.rs"): edit(0, 0, 3)}});
        let actions = json!([
            {"title": "Everywhere", "kind": "refactor", "edit": everywhere},
            {"title": "By command", "kind": "refactor", "command": {"title": "", "command": "do.it"}},
            {"title": "Here", "kind": "refactor", "edit": here},
        ]);
        let mut able = able();
        able["diagnosticProvider"] =
            json!({"interFileDependencies": false, "workspaceDiagnostics": false});
        able["executeCommandProvider"] = json!({"commands": ["do.it"]});
        json!({"capabilities": able, "ready": "status", "on": {
            "initialized": [[{"notify": ["experimental/serverStatus", {"health": "ok", "quiescent": false}]}]],
            "textDocument/diagnostic": always(&json!({"kind": "full", "items": []})),
            "textDocument/codeAction": always(&actions),
            "workspace/executeCommand": [[{"ask": ["workspace/applyEdit", {"edit": everywhere}]}, {"answer": null}]],
        }})
    });
    let apply = async |action: &str| {
        let spot = json!({"line": 1, "character": 4, "action": action});
        stand.ask("applyCodeAction", "a.rs", spot).await
    };
    for title in ["Everywhere", "By command"] {
        let refused = format!(
            "! scripted is still indexing, so \"{title}\" may miss or mistake places in other files: nothing was changed. Ask \
             again in a moment"
        );
        assert_eq!(apply(title).await, refused);
    }
    assert!(stand.asked("workspace/executeCommand").is_empty());
    assert_eq!(stand.disk("a.rs"), "fn old() {}\n");
    expect![[r#"
        Applied "Here": 1 change in 1 file
        a.rs
         1 fn new() {}
        [scripted is still indexing; only this file was changed]"#]]
    .assert_eq(&apply("Here").await);
    assert_eq!(stand.disk("b.rs"), "old();\n");
}

/// Who names only a line means all that is wrong in it.
#[tokio::test]
async fn a_line_stands_for_what_is_wrong_in_it() {
    let stand = Stand::scripted(&[("a.rs", "fn a() { wrong }\n")], |_| {
        let mut able = able();
        able["diagnosticProvider"] =
            json!({"interFileDependencies": false, "workspaceDiagnostics": false});
        let problem = json!({"range": at(0, 9, 14), "severity": 1, "message": "wrong"});
        json!({"capabilities": able, "on": {
            "textDocument/diagnostic": always(&json!({"kind": "full", "items": [problem]})),
            "textDocument/codeAction": always(&json!([{"title": "Put it right", "kind": "quickfix", "edit": {"changes": {}}}])),
        }})
    });
    for (more, range, problems) in [
        (json!({"line": 1}), at(0, 9, 14), 1),
        (json!({"line": 1, "character": 12}), at(0, 9, 14), 1),
        (json!({"line": 1, "character": 1}), at(0, 0, 0), 0),
    ] {
        let text = stand.ask("codeActions", "a.rs", more.clone()).await;
        assert!(text.ends_with("- Put it right [quickfix]"), "{text}");
        let asked = stand.asked("textDocument/codeAction");
        let asked = asked.last().expect("asked");
        let told = asked["context"]["diagnostics"].as_array().map(Vec::len);
        assert_eq!((&asked["range"], told), (&range, Some(problems)), "{more}");
    }
}

/// What the run has changed is formatted, and nothing else.
#[tokio::test]
async fn formatting_keeps_to_what_the_run_has_changed() {
    let text = "fn  a() {}\nfn  b() {}\nfn  c() {}\n";
    let stand = Stand::scripted(&[("a.rs", text)], |_| {
        // By lines and columns, which the edits before have not moved.
        let edits = |lines: &[u32]| -> Value {
            let edit = |line: &u32| json!({"range": at(*line, 2, 4), "newText": " "});
            json!([{"answer": lines.iter().map(edit).collect::<Value>()}])
        };
        // The second line is right by the second time.
        let times = json!([edits(&[0, 1, 2]), edits(&[0, 2])]);
        json!({"capabilities": able(), "on": {"textDocument/formatting": times}})
    });
    let edit = json!({"filePath": "a.rs", "oldString": "b()", "newString": "x()"});
    stand.output("edit", edit).await.expect("edited");
    expect![[r#"
        Formatted this run's own changes in a.rs: 1 change in 1 file
        a.rs
         2 fn x() {}"#]]
    .assert_eq(&stand.ask("format", "a.rs", json!({})).await);
    expect![[r#"
        Formatted line 3 of a.rs: 1 change in 1 file
        a.rs
         3 fn c() {}"#]]
    .assert_eq(&stand.ask("format", "a.rs", json!({"line": 3})).await);
    assert_eq!(stand.disk("a.rs"), "fn  a() {}\nfn x() {}\nfn c() {}\n");
}

/// A server that writes down whatever it is told is not told a word that can be no name.
#[tokio::test]
async fn what_is_no_name_is_not_asked_for() {
    let files = [
        ("a.py", "def old():\n    pass\n"),
        ("a.rs", "fn old() {}\n"),
    ];
    let stand = Stand::scripted(&files, |uri| {
        let edit = |file: &str, from, to| json!({"answer": {"changes": {uri(file): [{"range": at(0, from, to), "newText": "class"}]}}});
        json!({"capabilities": able(), "on": {"textDocument/rename": [[edit("a.rs", 3, 6)]]}})
    });
    let renamed =
        |character: u32, new: &str| json!({"line": 1, "character": character, "newName": new});
    for (new, reason) in [
        (
            "class",
            "! `class` is a keyword of the language: nothing was changed",
        ),
        (
            "two words",
            "! `two words` is no identifier: nothing was changed",
        ),
        ("", "! rename needs `newName`"),
    ] {
        assert_eq!(stand.ask("rename", "a.py", renamed(5, new)).await, reason);
    }
    assert_eq!(stand.asked("textDocument/rename").len(), 0);
    // Others judge for themselves.
    let text = stand.ask("rename", "a.rs", renamed(4, "class")).await;
    assert!(
        text.starts_with("Renamed `old` (a.rs:1:4) to `class`"),
        "{text}"
    );
}

/// The server has nothing against a name that is there twice then.
#[tokio::test]
async fn a_name_that_was_taken_is_told() {
    let text = "impl A {\n    fn old() {}\n    fn new() {}\n}\nimpl B {\n    fn newer() {}\n    fn newest: u8\n}\n";
    let stand = Stand::scripted(&[("a.rs", text)], |uri| {
        let method = |name: &str, line: u32, kind: u8| {
            let end = 7 + u32::try_from(name.len()).expect("short");
            symbol(
                name,
                kind,
                &at(line, 4, end + 5),
                at(line, 7, end),
                json!([]),
            )
        };
        let outline = json!([
            symbol(
                "impl A",
                19,
                &lines(0, 3),
                at(0, 5, 6),
                json!([method("old", 1, 6), method("new", 2, 6)])
            ),
            symbol(
                "impl B",
                19,
                &lines(4, 7),
                at(4, 5, 6),
                json!([method("newer", 5, 6), method("newest", 6, 20)])
            ),
        ]);
        let edit = |new: &str, line: u32| json!([{"answer": {"changes": {uri("a.rs"): [{"range": at(line, 7, 10), "newText": new}]}}}]);
        let mut able = able();
        able["definitionProvider"] = json!(true);
        able["documentSymbolProvider"] = json!(true);
        json!({"capabilities": able, "on": {
            "textDocument/documentSymbol": always(&outline),
            "textDocument/definition": always(&json!({"uri": uri("a.rs"), "range": at(1, 7, 10)})),
            "textDocument/rename": [edit("new", 1), edit("old", 1), edit("newer", 1)],
        }})
    });
    let renamed = |new: &str| json!({"line": 2, "character": 8, "newName": new});
    let text = stand.ask("rename", "a.rs", renamed("new")).await;
    assert!(
        text.ends_with("[`new` was declared there already: a.rs:3]"),
        "{text}"
    );
    let text = stand.ask("rename", "a.rs", renamed("old")).await;
    assert!(!text.contains("already"), "{text}");
    // Beside something else, it is none of that kind.
    let text = stand.ask("rename", "a.rs", renamed("newer")).await;
    assert!(
        text.starts_with("Renamed") && !text.contains("already"),
        "{text}"
    );
}
