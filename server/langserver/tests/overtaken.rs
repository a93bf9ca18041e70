//! What a server offered or named of a text that has gone on since: it is of no other one, and is asked for again.

mod stand;

use langserver::{FileChange, QueryError};
use serde_json::{Value, json};
use stand::{Stand, at, never};
use workspace::{ByteOffset, ByteRange};

fn script(on: Value) -> Value {
    let can = json!({
        "textDocumentSync": 2, "hoverProvider": true, "workspaceSymbolProvider": {"resolveProvider": true},
        "codeActionProvider": {"resolveProvider": true}, "executeCommandProvider": {"commands": ["do.it"]},
        "documentRangeFormattingProvider": true,
    });
    json!({"capabilities": can, "on": on})
}

/// An action names places of the text that it was offered for, whether the server says later what it edits, or a command does.
#[tokio::test]
async fn an_action_is_of_the_text_that_it_was_offered_for() {
    let stand = Stand::scripted(json!(null));
    let a = stand.uri("a.rs");
    let edit = json!({"changes": {(a.as_str()): [{"range": at(0, 3, 4), "newText": "x"}]}});
    let actions =
        json!([{"title": "to be resolved", "data": 1}, {"title": "command", "command": "do.it"}]);
    let stand = stand.acting(script(json!({
        "textDocument/codeAction": [[{"answer": actions}]],
        "codeAction/resolve": [[{"answer": {"title": "to be resolved", "edit": edit}}]],
        "workspace/executeCommand": [[{"ask": ["workspace/applyEdit", {"edit": edit}]}, {"answer": null}]],
    })));
    stand.open("a.rs", "fn a() {}\n");
    let never = never();
    let range = ByteRange::new(3, 4);
    let offered = stand.pool.code_actions(&a, range, &[], &never).await;
    let offered = offered.expect("answered").value;
    let resolved = async |at: usize| {
        let changes = stand.pool.resolve(&offered[at], &never).await?;
        Ok(changes.iter().map(shown).collect::<String>())
    };
    let one = || Ok("a=x".to_owned());
    assert_eq!([resolved(0).await, resolved(1).await], [one(), one()]);
    stand.replace("a.rs", "fn", "// typed\nfn");
    let overtaken = || {
        Err(QueryError::Overtaken {
            name: "scripted".into(),
        })
    };
    assert_eq!(
        [resolved(0).await, resolved(1).await],
        [overtaken(), overtaken()]
    );
    // What is typed elsewhere is of no concern.
    stand.replace("a.rs", "// typed\nfn", "fn");
    stand.open("b.rs", "fn b() {}\n");
    stand.replace("b.rs", "fn", "// typed\nfn");
    assert_eq!([resolved(0).await, resolved(1).await], [one(), one()]);
}

/// A file that another program has emptied meanwhile is not the one that a server itself made for its edit: where there was
/// text, it is put nowhere.
#[tokio::test]
async fn what_was_meant_for_a_text_is_not_put_into_an_empty_file() {
    let stand = Stand::scripted(json!(null));
    let (a, b) = (stand.uri("a.rs"), stand.uri("b.rs"));
    let edit = |place: Value| json!({"title": "t", "edit": {"changes": {(b.as_str()): [{"range": place, "newText": "x"}]}}});
    let actions = json!([edit(at(0, 3, 4)), edit(at(0, 0, 1)), edit(at(0, 0, 0))]);
    let stand = stand.acting(script(json!({
        "textDocument/codeAction": [[{"keep": null}]],
        "textDocument/hover": [[{"kept": actions}, {"answer": null}]],
    })));
    stand.hover("a.rs").await.expect("answered");
    let never = never();
    let offered = stand
        .pool
        .code_actions(&a, ByteRange::new(3, 4), &[], &never);
    let emptied = || stand.written("b.rs", "", std::time::SystemTime::UNIX_EPOCH);
    let offered = stand
        .meanwhile("textDocument/codeAction", offered, emptied)
        .await;
    let mut resolved = Vec::new();
    for action in offered.expect("answered").value {
        let changes = stand.pool.resolve(&action, &never).await;
        resolved.push(changes.map(|changes| changes.iter().map(shown).collect::<String>()));
    }
    let refused = || {
        let b = b.path().expect("a path").display();
        Err(QueryError::Failed {
            name: "scripted".into(),
            message: format!("{b} changed while scripted was asked: ask again"),
        })
    };
    assert_eq!(resolved, [refused(), refused(), Ok("=x".to_owned())]);
}

/// A place that is not in a text is one of another: nothing is put at the end of its line, and it is not shown there.
#[tokio::test]
async fn a_place_behind_the_end_of_its_line_is_of_another_text() {
    let stand = Stand::scripted(json!(null));
    let (a, b) = (stand.uri("a.rs"), stand.uri("b.rs"));
    let edit = |place: Value| json!({"title": "t", "edit": {"changes": {(b.as_str()): [{"range": place, "newText": "x"}]}}});
    let places = [at(0, 20, 24), at(0, 3, 99), at(1, 0, 0), at(7, 0, 0)];
    let stand = stand.acting(script(json!({
        "textDocument/codeAction": [[{"answer": places.map(edit)}]],
        "workspace/symbol": [[{"answer": [
            {"name": "b", "kind": 12, "location": {"uri": b.as_str(), "range": at(0, 20, 24)}},
            {"name": "b", "kind": 12, "location": {"uri": b.as_str(), "range": at(0, 3, 4)}},
        ]}]],
    })));
    let never = never();
    let offered = stand
        .pool
        .code_actions(&a, ByteRange::new(3, 4), &[], &never)
        .await;
    let mut resolved = Vec::new();
    for action in offered.expect("answered").value {
        let changes = stand.pool.resolve(&action, &never).await;
        resolved.push(changes.map(|changes| changes.iter().map(shown).collect::<String>()));
    }
    let refused = QueryError::Failed {
        name: "scripted".into(),
        message: format!(
            "its edit is of another text of {}: in line 1 it begins behind the end",
            b.path().expect("a path").display()
        ),
    };
    let end = || Ok("=x".to_owned());
    assert_eq!(
        resolved,
        [Err(refused), Ok("b() {}=x".to_owned()), end(), end()]
    );
    let found = stand.pool.workspace_symbols(&a, "b", &never).await;
    let found = found.expect("answered");
    let starts: Vec<_> = found
        .value
        .iter()
        .map(|one| one.place.range.start)
        .collect();
    assert_eq!((starts, found.left_out), (vec![ByteOffset(3)], 1));
}

/// Where a symbol stands is asked for after it was named: of a text that has gone on since, that is no place of the first one.
#[tokio::test]
async fn a_symbol_is_resolved_in_the_text_that_it_was_named_in() {
    let stand = Stand::scripted(json!(null));
    let (a, b) = (stand.uri("a.rs"), stand.uri("b.rs"));
    let named = json!([{"name": "b", "kind": 12, "location": {"uri": b.as_str()}}]);
    let place = |line: u32| json!({"name": "b", "kind": 12, "location": {"uri": b.as_str(), "range": at(line, 3, 4)}});
    let stand = stand.acting(script(json!({
        "workspace/symbol": [[{"answer": named}], [{"keep": null}]],
        "workspaceSymbol/resolve": [[{"answer": place(0)}], [{"answer": place(1)}]],
        "textDocument/hover": [[{"kept": named}, {"answer": null}]],
    })));
    stand.open("b.rs", "fn b() {}\n");
    let never = never();
    let found = async || {
        let found = stand.pool.workspace_symbols(&a, "b", &never).await;
        let found = found.expect("answered").value;
        let place = &found[0].place;
        (place.range.start.0, place.snapshot.text.slice(place.range))
    };
    assert_eq!(found().await, (3, "b".to_owned()));
    let typed = || drop(stand.replace("b.rs", "fn", "// typed\nfn"));
    // What was typed is told with the question for its place.
    let between = stand.meanwhile("workspace/symbol", found(), typed).await;
    assert_eq!(between.1, "b");
}

/// Of what several ranges have in common nothing is made by half.
#[tokio::test]
async fn ranges_that_are_formatted_one_after_the_other_do_not_tear_what_is_moved() {
    let stand = Stand::scripted(json!(null));
    let edit = |place: Value, text: &str| json!({"range": place, "newText": text});
    let line = |line: u32| json!({"start": {"line": line, "character": 0}, "end": {"line": line + 1, "character": 0}});
    let first = json!([edit(at(0, 0, 0), "b;\n"), edit(line(1), "")]);
    // The same move from its other end, told in another way, and something else.
    let second = json!([
        edit(at(0, 0, 2), "b;\na;"),
        edit(line(1), ""),
        edit(at(2, 1, 3), " ")
    ]);
    let stand = stand.acting(script(json!({
        "textDocument/rangeFormatting": [[{"answer": first}], [{"answer": second}]],
    })));
    stand.open("a.rs", "a;\nb;\nc  d;\n");
    let ranges = [ByteRange::new(3, 5), ByteRange::new(6, 11)];
    let never = never();
    let formatted = stand.pool.format(&stand.uri("a.rs"), &ranges, &never).await;
    let edit = formatted.expect("formatted").value;
    let edit = workspace::Edit::new(edit.snapshot, edit.edits).expect("apart");
    assert_eq!(edit.result().to_string(), "b;\na;\nc d;\n");
}

fn shown(change: &FileChange) -> String {
    match change {
        FileChange::Edit(file) => {
            let text = &file.snapshot.text;
            let edits = file.edits.iter();
            let edits = edits.map(|edit| format!("{}={}", text.slice(edit.range), edit.text));
            edits.collect()
        }
        FileChange::File(step) => format!("{step:?}"),
    }
}
