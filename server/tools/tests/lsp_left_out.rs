//! What the `lsp` tool says of what it does not show: of a hidden file, or not to be read. A bare "none" would be taken for
//! the truth.

mod stand;

use expect_test::expect;
use serde_json::{Value, json};
use stand::{Stand, able, always, at, check, symbol};

const TEXT: &str = "fn a() {}\nfn b() {}\n";
const HIDDEN: &str = "[1 more in a file that can't be read or is hidden]";
const HIERARCHIES: [(&str, &str, &str); 4] = [
    ("incomingCalls", "callHierarchy/incomingCalls", "callers"),
    ("outgoingCalls", "callHierarchy/outgoingCalls", "calls"),
    ("supertypes", "typeHierarchy/supertypes", "supertypes"),
    ("subtypes", "typeHierarchy/subtypes", "subtypes"),
];

fn item(name: &str, uri: &str, line: u32) -> Value {
    json!({"name": name, "kind": 12, "uri": uri, "range": at(line, 0, 9), "selectionRange": at(line, 3, 4)})
}

/// A file, one that is hidden, and what the server answers, which is told how both are spelled.
fn stand(on: impl FnOnce(&str, &str) -> Value) -> Stand {
    let files = [
        ("a.rs", TEXT),
        ("secret.rs", TEXT),
        (".copydeskignore", "secret.rs\n"),
    ];
    Stand::scripted(&files, |uri| {
        let mut able = able();
        able["implementationProvider"] = json!(true);
        able["codeActionProvider"] = json!({"resolveProvider": true});
        json!({"capabilities": able, "on": on(&uri("a.rs"), &uri("secret.rs"))})
    })
}

/// A root in the file, and of all four hierarchies these answers, one after the other.
fn trees(uri: &str, answers: &[Vec<Value>]) -> Value {
    let roots = always(&json!([item("a", uri, 0)]));
    let mut on = json!({"textDocument/prepareCallHierarchy": roots, "textDocument/prepareTypeHierarchy": roots});
    for (_, method, _) in HIERARCHIES {
        let edge = |item: &Value| match method {
            "callHierarchy/incomingCalls" => json!({"from": item, "fromRanges": [at(1, 3, 4)]}),
            "callHierarchy/outgoingCalls" => json!({"to": item, "fromRanges": [at(0, 3, 4)]}),
            _ => item.clone(),
        };
        let times = answers.iter().map(|items| {
            let edges: Vec<Value> = items.iter().map(edge).collect();
            json!([{"answer": edges}])
        });
        on[method] = times.collect();
    }
    on
}

#[tokio::test]
async fn a_tree_without_anything_to_show_is_not_empty() {
    let stand = stand(|uri, hidden| trees(uri, &[vec![item("s3cret", hidden, 1)]]));
    for (operation, _, noun) in HIERARCHIES {
        let text = stand.ask(operation, "a.rs", json!({"line": 1})).await;
        let expected = format!("a a.rs:1: no {noun} that may be shown (ready)\n{HIDDEN}");
        assert_eq!(text, expected, "{operation}");
        let input = json!({"operation": operation, "filePath": "a.rs", "line": 1});
        let output = stand.output("lsp", input).await.expect("answered");
        assert!(output.truncated, "{operation}");
    }
}

/// `b` is beside a hidden one, and has a hidden one and a broken one itself.
#[tokio::test]
async fn a_tree_counts_what_it_does_not_show_at_every_level() {
    let stand = stand(|uri, hidden| {
        let secret = item("s3cret", hidden, 0);
        trees(
            uri,
            &[
                vec![secret.clone(), item("b", uri, 1)],
                vec![secret, json!({"name": 7})],
            ],
        )
    });
    for (operation, _, noun) in HIERARCHIES {
        let text = stand.ask(operation, "a.rs", json!({"line": 1})).await;
        let noun = noun.trim_end_matches('s');
        let sites = match operation {
            "incomingCalls" => ", calls in 2",
            _ => "",
        };
        let expected = format!(
            "a a.rs:1: 1 {noun} (ready)\n b a.rs:2{sites} (2 more not shown)\n[3 more in files that can't be read or are hidden]"
        );
        assert_eq!(text, expected, "{operation}");
    }
}

#[tokio::test]
async fn roots_that_are_hidden_are_counted() {
    let stand = stand(|uri, hidden| {
        let secret = item("s3cret", hidden, 0);
        let times = json!([[{"answer": [secret]}], [{"answer": [item("a", uri, 0), secret]}]]);
        json!({
            "textDocument/prepareCallHierarchy": times,
            "textDocument/prepareTypeHierarchy": times,
            "typeHierarchy/subtypes": always(&json!([])),
        })
    });
    for (operation, what, shown) in [
        ("prepareCallHierarchy", "function", "a a.rs:1 (ready)"),
        ("subtypes", "type", "a a.rs:1: 0 subtypes (ready)"),
    ] {
        let place = json!({"line": 1, "character": 4});
        let none = format!(
            "No {what} at `a` (a.rs:1:4): scripted found none that may be shown (ready)\n{HIDDEN}"
        );
        assert_eq!(stand.ask(operation, "a.rs", place.clone()).await, none);
        let beside = format!("{shown}\n{HIDDEN}");
        assert_eq!(stand.ask(operation, "a.rs", place).await, beside);
    }
}

#[tokio::test]
async fn symbols_of_hidden_files_are_counted() {
    let stand = stand(|uri, hidden| {
        let found = |uri: &str| json!({"name": "fit", "kind": 12, "location": {"uri": uri, "range": at(0, 3, 4)}});
        let (shown, secret) = (found(uri), found(hidden));
        json!({"workspace/symbol": [[{"answer": [secret]}], [{"answer": [shown, secret]}], [{"answer": [secret]}]]})
    });
    let query = json!({"query": "fit"});
    check(
        &stand,
        "workspaceSymbol",
        "a.rs",
        query.clone(),
        expect![[r"
            No symbols named `fit`: scripted found none that may be shown (ready)
            [1 more in a file that can't be read or is hidden]"]],
    )
    .await;
    check(
        &stand,
        "workspaceSymbol",
        "a.rs",
        query,
        expect![[r"
            1 symbol (ready):
            a.rs:1:4 function fit
            [1 more in a file that can't be read or is hidden]"]],
    )
    .await;
    // Where a name is looked for in the project, too.
    check(
        &stand,
        "hover",
        "a.rs",
        json!({"symbol": "fit"}),
        expect![[r"
            ! `fit` does not stand in a.rs, and scripted knows no symbol of that name that may be shown (ready): check the spelling, or `grep` for it
            [1 more in a file that can't be read or is hidden]"]],
    )
    .await;
}

#[tokio::test]
async fn places_that_are_all_hidden_are_not_none() {
    let stand = stand(|_, hidden| {
        let place = always(&json!([{"uri": hidden, "range": at(0, 3, 4)}]));
        json!({"textDocument/references": place, "textDocument/implementation": place, "textDocument/definition": place})
    });
    for (operation, what) in [
        ("findReferences", "reference"),
        ("goToImplementation", "implementation"),
        ("goToDefinition", "definition"),
    ] {
        let text = stand
            .ask(operation, "a.rs", json!({"line": 1, "character": 4}))
            .await;
        let expected = format!(
            "No {what} of `a` (a.rs:1:4): scripted found none that may be shown (ready)\n{HIDDEN}"
        );
        assert_eq!(text, expected);
    }
}

/// A file that is another by now is no hidden one: to ask again is of use.
#[tokio::test]
async fn what_changed_meanwhile_is_told_as_that() {
    let files = [
        ("a.rs", TEXT),
        ("b.rs", TEXT),
        ("secret.rs", TEXT),
        (".copydeskignore", "secret.rs\n"),
    ];
    let stand = Stand::scripted(&files, |uri| {
        let mut able = able();
        able["implementationProvider"] = json!(true);
        let place = |name: &str| json!({"uri": uri(name), "range": at(0, 3, 4)});
        let path = uri("b.rs").replace("file://", "");
        // The clock of the disk goes in steps of some milliseconds, and may lag behind ours by one.
        let late = "touch -d @$(date +%s.%N) $0.mark; until [ $0 -nt $0.mark ]; do touch $0; done";
        let late = json!({"run": ["sh", "-c", late, path]});
        let found = |name: &str| json!({"name": "fit", "kind": 12, "location": place(name)});
        let edge =
            |name: &str| json!({"from": item("f", &uri(name), 0), "fromRanges": [at(0, 3, 4)]});
        let (a, b, secret) = (place("a.rs"), place("b.rs"), place("secret.rs"));
        json!({"capabilities": able, "on": {
            "textDocument/references": [[late, {"answer": [a, b]}], [late, {"answer": [a, b, b, secret]}]],
            "textDocument/implementation": [[late, {"answer": [b]}]],
            "workspace/symbol": [[late, {"answer": [found("b.rs")]}]],
            "textDocument/prepareCallHierarchy": always(&json!([item("a", &uri("a.rs"), 0)])),
            "callHierarchy/incomingCalls": [[late, {"answer": [edge("b.rs")]}], [late, {"answer": [edge("a.rs"), edge("b.rs")]}]],
        }})
    });
    let changed = "[1 more in a file that changed meanwhile: ask again]";
    let place = json!({"line": 1, "character": 4});
    for (operation, more, expected) in [
        (
            "findReferences",
            &place,
            format!("1 reference in 1 file (ready):\na.rs\n 1:4 fn a() {{}}\n{changed}"),
        ),
        (
            "findReferences",
            &place,
            format!(
                "1 reference in 1 file (ready):\na.rs\n 1:4 fn a() {{}}\n{HIDDEN}\n[2 more in files that changed meanwhile: ask again]"
            ),
        ),
        (
            "goToImplementation",
            &place,
            format!(
                "No implementation of `a` (a.rs:1:4): scripted found none but in what changed meanwhile (ready)\n{changed}"
            ),
        ),
        (
            "workspaceSymbol",
            &json!({"query": "fit"}),
            format!(
                "No symbols named `fit`: scripted found none but in what changed meanwhile (ready)\n{changed}"
            ),
        ),
        (
            "incomingCalls",
            &place,
            format!("a a.rs:1: no callers but in what changed meanwhile (ready)\n{changed}"),
        ),
        (
            "incomingCalls",
            &json!({"line": 1, "query": 1}),
            format!("a a.rs:1: 1 caller (ready)\n f a.rs:1, calls in 1 (recursion)\n{changed}"),
        ),
    ] {
        let text = stand.ask(operation, "a.rs", more.clone()).await;
        assert_eq!(text, expected, "{operation}");
    }
}

/// What an action would do to a hidden file, and by that what it is called, is not shown: the edit may have come with it, be
/// that of its command, or be made when it is asked for.
#[tokio::test]
async fn actions_of_hidden_files_are_not_named() {
    let stand = stand(|uri, hidden| {
        let edit =
            |uri: &str| json!({"changes": {uri: [{"range": at(0, 0, 2), "newText": "// /"}]}});
        let steps = json!({"documentChanges": [{"kind": "delete", "uri": hidden}]});
        let path = hidden.replace("file://", "");
        let fix = |title: &str| json!({"title": title, "kind": "quickfix"});
        let all = json!([
            {"title": "shown", "edit": edit(uri)},
            {"title": "s3cret edit", "edit": edit(hidden)},
            {"title": "s3cret steps", "edit": steps},
            {"title": "s3cret command", "command": {"title": "", "command": "x", "arguments": [{"where": [hidden]}]}},
            {"title": "s3cret bare", "command": "x", "arguments": [path]},
        ]);
        let (mut later, mut lone) = (fix("s3cret later"), fix("s3cret alone"));
        later["data"] = json!(1);
        lone["data"] = json!(2);
        let resolved = |mut action: Value, edit: Value| {
            action["edit"] = edit;
            json!([{"answer": action}])
        };
        json!({
            "textDocument/codeAction": [[{"answer": all}], [{"answer": [later, fix("shown")]}], [{"answer": [lone]}]],
            "codeAction/resolve": [
                resolved(later.clone(), edit(hidden)),
                resolved(fix("shown"), edit(uri)),
                resolved(lone.clone(), steps.clone()),
            ],
        })
    });
    let place = json!({"line": 1, "character": 4});
    for expected in [
        "Code actions at a.rs:1:4 (ready):\n- shown\n[4 more that can't be read, or would change hidden files]",
        "Code actions at a.rs:1:4 (ready):\n- shown [quickfix]\n[1 more that can't be read, or would change a hidden file]",
        "scripted has no code actions at a.rs:1:4 that may be shown (ready)\n[1 more that can't be read, or would change a hidden file]",
    ] {
        let text = stand.ask("codeActions", "a.rs", place.clone()).await;
        assert_eq!(text, expected);
    }
}

/// What lies in this very file, and can't be read.
#[tokio::test]
async fn broken_symbols_and_actions_are_counted() {
    let stand = stand(|_, _| {
        let good = symbol("a", 12, &at(0, 0, 9), at(0, 3, 4), json!([{"name": 7}]));
        let broken = json!({"name": 5, "title": 5});
        json!({
            "textDocument/documentSymbol": [[{"answer": [broken]}], [{"answer": [good, broken]}]],
            "textDocument/codeAction": [
                [{"answer": [broken]}],
                [{"answer": [{"title": "Do it", "edit": {}}, broken]}],
                [{"answer": [broken]}],
            ],
        })
    });
    let place = json!({"line": 1, "character": 4, "action": "Do"});
    for (operation, expected) in [
        (
            "documentSymbol",
            "a.rs: scripted found no symbols in it that can be read (ready)\n[1 more that can't be read]",
        ),
        (
            "documentSymbol",
            "a.rs: 2 lines, 1 symbol (ready)\n1 fn a() {}\n[2 more that can't be read]",
        ),
        (
            "codeActions",
            "scripted has no code actions at a.rs:1:4 that may be shown (ready)\n[1 more that can't be read, or would change a hidden file]",
        ),
        (
            "codeActions",
            "Code actions at a.rs:1:4 (ready):\n- Do it\n[1 more that can't be read, or would change a hidden file]",
        ),
        (
            "applyCodeAction",
            "! there is no code action \"Do\" at a.rs:1:4. There are none that may be shown.\n[1 more that can't be read, or would change a hidden file]",
        ),
    ] {
        let more = match operation {
            "documentSymbol" => json!({}),
            _ => place.clone(),
        };
        assert_eq!(stand.ask(operation, "a.rs", more).await, expected);
    }
}

/// A hover of no shape that a hover has says nothing, but not that there is nothing to say.
#[tokio::test]
async fn a_hover_that_cannot_be_read_is_not_silence() {
    let shapes = [
        json!(true),
        json!(7),
        json!({"contents": 7}),
        json!(null),
        json!({"contents": []}),
    ];
    let stand = stand(|_, _| {
        let times = shapes.iter().map(|shape| json!([{"answer": shape}]));
        json!({"textDocument/hover": times.collect::<Value>()})
    });
    for shape in &shapes {
        let place = json!({"line": 1, "character": 4});
        let text = stand.ask("hover", "a.rs", place).await;
        let is_silent = shape.is_null() || shape["contents"] == json!([]);
        let expected = match is_silent {
            true => "scripted has nothing to say of `a` (a.rs:1:4) (ready)",
            false => "its answer to textDocument/hover is none that can be read",
        };
        assert!(text.ends_with(expected), "{shape}: {text}");
        assert_eq!(text.starts_with('!'), !is_silent, "{shape}: {text}");
    }
}
