//! Questions and their answers, by a scripted server: every shape that occurs, over text that is not on disk.

mod stand;

use std::time::{Duration, SystemTime};

use langserver::{FileChange, Severity};
use serde_json::{Value, json};
use stand::{Stand, at, never};
use workspace::{ByteOffset, ByteRange, FileStep};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn able() -> Value {
    json!({
        "hoverProvider": true, "definitionProvider": true, "referencesProvider": {}, "textDocumentSync": 2,
        "codeActionProvider": {"resolveProvider": true}
    })
}

fn script(on: Value) -> Value {
    json!({"capabilities": able(), "on": on})
}

/// Columns are the server's (UTF-16 here), texts are what the server was told.
#[tokio::test]
async fn places_are_in_the_texts_that_the_server_has() {
    let folder = tempfile::tempdir().expect("a folder");
    let outside = folder.path().join("dependency.rs");
    stand::write(&outside, "é🦀 dep");
    let stand = Stand::scripted(json!(null));
    let (a, b, dependency) = (stand.uri("a.rs"), stand.uri("b.rs"), url(&outside));
    let locations = json!([
        {"uri": b.as_str(), "range": at(0, 3, 4)},
        {"uri": b.as_str(), "range": at(0, 3, 4)},
        {"targetUri": a.as_str(), "targetRange": at(0, 0, 9), "targetSelectionRange": at(0, 4, 6)},
        {"uri": dependency, "range": at(0, 4, 7)},
        {"uri": "jdt://contents/x.class", "range": at(0, 0, 1)},
        {"uri": stand.uri("gone.rs").as_str(), "range": at(0, 0, 1)},
        {"uri": stand.uri("a.rs").as_str(), "range": "broken"},
    ]);
    let stand = stand.acting(
        script(
            json!({"textDocument/definition": [[{"answer": locations}]], "textDocument/references": [[{"answer": locations}]]}),
        ),
    );
    let unsaved = stand.open("a.rs", "🦀 ab");
    let found = stand
        .pool
        .definition(&a, ByteOffset(5), &never())
        .await
        .expect("answered");
    let places: Vec<(String, String, bool)> = found
        .value
        .iter()
        .map(|place| {
            let name = place
                .snapshot
                .uri
                .path()
                .and_then(|path| path.file_name())
                .expect("a name");
            (
                name.to_string_lossy().into_owned(),
                place.snapshot.text.slice(place.range),
                place.snapshot.is_unsaved(),
            )
        })
        .collect();
    let place = |name: &str, text: &str, unsaved| (name.to_owned(), text.to_owned(), unsaved);
    assert_eq!(
        places,
        [
            place("b.rs", "b", false),
            place("a.rs", "b", true),
            place("dependency.rs", "dep", false)
        ]
    );
    assert_eq!(
        (found.left_out, found.complete, found.server.as_str()),
        (3, true, "scripted")
    );
    let asked = stand
        .log()
        .into_iter()
        .find(|message| message["method"] == "textDocument/definition")
        .expect("asked");
    assert_eq!(
        asked["params"]["position"],
        json!({"line": 0, "character": 3}),
        "two units for the crab"
    );
    assert_eq!(asked["params"]["textDocument"]["uri"], unsaved.uri.as_str());
    for include in [true, false] {
        stand
            .pool
            .references(&a, ByteOffset(0), include, &never())
            .await
            .expect("answered");
        let asked = stand.log().pop().expect("asked");
        assert_eq!(
            asked["params"]["context"],
            json!({"includeDeclaration": include})
        );
    }
}

/// A place in a text that the server was not told is one of what was on disk when it was asked: where that changed
/// meanwhile it is not shown. What lies where servers unpack the source of libraries they may have written to answer.
#[tokio::test]
async fn a_place_in_a_file_that_changed_while_the_server_was_asked_is_left_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let outside = folder.path().join("dependency.rs");
    let stand = Stand::scripted(json!(null));
    let (a, b, unpacked) = (stand.uri("a.rs"), stand.uri("b.rs"), ".metals/c.rs");
    let place = |uri: &str| json!({"uri": uri, "range": at(0, 3, 4)});
    let places = json!([
        place(b.as_str()),
        place(&url(&outside)),
        place(stand.uri(unpacked).as_str())
    ]);
    let stand = stand.acting(script(json!({
        "textDocument/definition": [[{"keep": null}]],
        "textDocument/hover": [[{"kept": places}, {"answer": null}]],
    })));
    let (early, late) = (SystemTime::UNIX_EPOCH, SystemTime::now() + DAY);
    let text = "fn b() {}\n";
    // How old a file says that it is does not matter, as of one that another clock wrote or that was packed up.
    stand::touch(&stand.path("b.rs"), late);
    let found = async |meanwhile: &dyn Fn()| {
        let never = never();
        let found = stand.pool.definition(&a, ByteOffset(3), &never);
        let found = stand
            .meanwhile("textDocument/definition", found, meanwhile)
            .await
            .expect("answered");
        let names = found.value.iter().map(|place| {
            let path = place.snapshot.uri.path().and_then(|path| path.file_name());
            path.expect("a name").to_string_lossy().into_owned()
        });
        let names = names.collect::<Vec<_>>().join(" ");
        (names, found.left_out, found.changed)
    };
    stand.hover("a.rs").await.expect("answered");
    let answers = || {
        stand::later(|| {
            stand::write(&outside, text);
            outside.clone()
        });
        stand.written(unpacked, text, early);
    };
    assert_eq!(
        found(&answers).await,
        ("b.rs dependency.rs c.rs".to_owned(), 0, 0)
    );
    let left_out = ("dependency.rs c.rs".to_owned(), 1, 1);
    let changed = || stand.written("b.rs", &format!("// above\n{text}"), early);
    assert_eq!(found(&changed).await, left_out);
    stand::write(&stand.path("b.rs"), text);
    // Nor that of one that is moved there.
    let (new, b_path) = (stand.path("new.txt"), stand.path("b.rs"));
    let moved = || {
        stand::later(|| {
            stand::write(&new, &format!("// above\n{text}"));
            stand::touch(&new, early);
            std::fs::rename(&new, &b_path).expect("moved");
            b_path.clone()
        });
    };
    assert_eq!(found(&moved).await, left_out);
    stand::write(&b_path, text);
    let typed = || {
        stand.open("b.rs", text);
        stand.replace("b.rs", "fn", "// typed\nfn");
    };
    assert_eq!(found(&typed).await, left_out);
    // It is told of it before the next question.
    let all = ("b.rs dependency.rs c.rs".to_owned(), 0, 0);
    assert_eq!(found(&|| ()).await, all);
}

/// Whoever looked at a text and asks about a place of it means that place, whatever was typed in between.
#[tokio::test]
async fn a_place_of_a_text_that_has_gone_on_is_carried_along() {
    let can = json!({
        "textDocumentSync": 2, "definitionProvider": true, "implementationProvider": true, "typeDefinitionProvider": true,
        "referencesProvider": true, "hoverProvider": true, "callHierarchyProvider": true, "typeHierarchyProvider": true,
        "renameProvider": true, "codeActionProvider": true, "documentRangeFormattingProvider": true,
    });
    let stand = Stand::scripted(json!({"capabilities": can, "on": {}}));
    let seen = stand.open("a.rs", "fn a() {}\nfn b() {}\n");
    let (uri, name) = (seen.uri.clone(), ByteOffset(13));
    let range = ByteRange {
        start: name,
        end: ByteOffset(14),
    };
    stand.replace("a.rs", "fn a() {}\n", "// é\nfn aa() {}\n\nlet _; ");
    let (pool, never) = (&stand.pool, never());
    // What it answers to is of no concern here.
    let _ = pool.definition(&seen, name, &never).await;
    let _ = pool.implementation(&seen, name, &never).await;
    let _ = pool.type_definition(&seen, name, &never).await;
    let _ = pool.references(&seen, name, true, &never).await;
    let _ = pool.hover(&seen, name, &never).await;
    let _ = pool.call_hierarchy(&seen, name, &never).await;
    let _ = pool.type_hierarchy(&seen, name, &never).await;
    let _ = pool.rename(&seen, name, "c", &never).await;
    let _ = pool.code_actions(&seen, range, &[], &never).await;
    let _ = pool.format(&seen, &[range], &never).await;
    let start = |params: &Value| match &params["range"] {
        Value::Null => params["position"].clone(),
        range => range["start"].clone(),
    };
    let asked = |log: Vec<Value>| -> Vec<(String, Value)> {
        log.iter()
            .map(|message| (&message["method"], start(&message["params"])))
            .filter(|(_, start)| start.is_object())
            .map(|(method, start)| (method.as_str().unwrap_or_default().to_owned(), start))
            .collect()
    };
    let found = asked(stand.log());
    let there = json!({"line": 3, "character": 10});
    assert_eq!(found.len(), 10, "{found:?}");
    for (method, start) in &found {
        assert_eq!(*start, there, "{method}");
    }
    // By its name alone, the document is what it is now.
    let newest = stand.pool.definition(&uri, ByteOffset(0), &never).await;
    let found = asked(stand.log());
    let (_, start) = found.last().expect("asked");
    assert_eq!(*start, json!({"line": 0, "character": 0}), "{newest:?}");
}

fn url(path: &std::path::Path) -> String {
    workspace::DocumentUri::from_path(path)
        .expect("a uri")
        .as_str()
        .to_owned()
}

/// Whatever was typed before a question is on the wire before it.
#[tokio::test]
async fn a_question_follows_the_changes_before_it() {
    let stand = Stand::scripted(script(
        json!({"textDocument/hover": [[{"answer": {"contents": "h"}}]]}),
    ));
    stand.open("a.rs", "");
    stand.hover("a.rs").await.expect("answered");
    let mut text = String::new();
    for number in 0..200 {
        let uri = stand.uri("a.rs");
        let change = workspace::ContentChange {
            range: Some(workspace::Range::default()),
            text: format!("{number} "),
        };
        stand
            .buffers
            .change(&uri, number + 2, &[change], workspace::Encoding::Utf16)
            .expect("changed");
        text.insert_str(0, &format!("{number} "));
        if number % 10 == 0 {
            stand.hover("a.rs").await.expect("answered");
        }
    }
    stand.hover("a.rs").await.expect("answered");
    // Play what it was told, in order: at each question it had all that came before.
    let mut played = String::new();
    let mut version = 1;
    for message in stand.log() {
        for change in message["params"]["contentChanges"]
            .as_array()
            .into_iter()
            .flatten()
        {
            assert_eq!(change["range"], at(0, 0, 0), "insertions at the start");
            played.insert_str(0, change["text"].as_str().expect("a text"));
        }
        if message["method"] == "textDocument/didChange" {
            version += 1;
            assert_eq!(message["params"]["textDocument"]["version"], version);
        }
    }
    assert_eq!(played, text);
    assert_eq!(
        stand.log().last().expect("some")["method"],
        "textDocument/hover"
    );
}

#[tokio::test]
async fn actions_and_their_edits() {
    let stand = Stand::scripted(json!(null));
    let (a, b) = (stand.uri("a.rs"), stand.uri("b.rs"));
    let edit = json!({"range": at(0, 3, 4), "newText": "x"});
    let actions = json!([
        {"title": "whole", "kind": "quickfix", "isPreferred": true, "edit": {"changes": {a.as_str(): [edit], b.as_str(): [edit]}}},
        {"title": "lazy", "data": 7},
        {"title": "of this version", "edit": {"documentChanges": [{"textDocument": {"uri": a.as_str(), "version": 2}, "edits": [edit]}]}},
        {"title": "of an old version", "edit": {"documentChanges": [{"textDocument": {"uri": a.as_str(), "version": 1}, "edits": [edit]}]}},
        {"title": "makes a file", "edit": {"documentChanges": [{"kind": "create", "uri": "file:///new.rs"}]}},
        {"title": "broken", "edit": {"changes": {a.as_str(): [{"newText": "x"}]}}},
        {"title": "not now", "disabled": {"reason": "no selection"}, "edit": {}},
        {"title": "command", "command": "do.it", "arguments": []},
        {"no": "title"},
        null,
    ]);
    let resolved = json!({"title": "lazy", "data": 7, "edit": {"changes": {a.as_str(): [edit, {"range": at(0, 0, 0), "newText": "y"}]}}});
    let stand = stand.acting(script(json!({
        "textDocument/codeAction": [[{"answer": actions}]],
        "codeAction/resolve": [[{"answer": resolved}], [{"answer": {"title": "command"}}]],
        "textDocument/hover": [[{"answer": null}]],
    })));
    stand.open("a.rs", "fn a() {}");
    stand.hover("a.rs").await.expect("answered");
    stand.replace("a.rs", "a", "é");
    let diagnostic = langserver::Diagnostic {
        range: ByteRange::new(3, 5),
        severity: Severity::Warning,
        code: Some("E1".into()),
        source: None,
        message: "m".into(),
        server: None,
        raw: Value::Null,
    };
    let offered = stand
        .pool
        .code_actions(&a, ByteRange::new(3, 5), &[diagnostic], &never())
        .await
        .expect("answered")
        .value;
    let asked = stand.log().pop().expect("asked");
    assert_eq!(asked["params"]["range"], at(0, 3, 4));
    let context = json!({"diagnostics": [{"range": at(0, 3, 4), "severity": 2, "code": "E1", "message": "m"}], "triggerKind": 1});
    assert_eq!(asked["params"]["context"], context);
    let mut outcomes = Vec::new();
    for action in &offered {
        let outcome = match stand.pool.resolve(action, &never()).await {
            Ok(edits) => edits
                .iter()
                .map(|change| {
                    let file = match change {
                        FileChange::Edit(file) => file,
                        FileChange::File(FileStep::Create { uri, .. }) => {
                            return format!("create {uri}");
                        }
                        FileChange::File(FileStep::Rename { from, to, .. }) => {
                            return format!("{from} to {to}");
                        }
                        FileChange::File(FileStep::Delete { uri, .. }) => {
                            return format!("delete {uri}");
                        }
                    };
                    let edits: Vec<_> = file
                        .edits
                        .iter()
                        .map(|edit| format!("{}={}", edit.range, edit.text))
                        .collect();
                    let name = file
                        .uri
                        .path()
                        .and_then(|path| path.file_name())
                        .expect("a name")
                        .to_string_lossy();
                    format!("{name} {}", edits.join(" "))
                })
                .collect::<Vec<_>>()
                .join(", "),
            Err(error) => error.to_string(),
        };
        outcomes.push(format!("{}: {outcome}", action.title));
    }
    let old = format!(
        "scripted failed: the edit of {} is for another version of it (1, not 2)",
        a.path().expect("a path").display()
    );
    let broken = format!(
        "scripted failed: an edit of {} that is none",
        a.path().expect("a path").display()
    );
    assert_eq!(outcomes, [
        "whole: a.rs 3..5=x, b.rs 3..4=x".to_owned(),
        "lazy: a.rs 3..5=x 0..0=y".to_owned(),
        "of this version: a.rs 3..5=x".to_owned(),
        format!("of an old version: {old}"),
        "makes a file: create /new.rs".to_owned(),
        format!("broken: {broken}"),
        "not now: scripted failed: the action can't be applied: no selection".to_owned(),
        "command: scripted does not support the action's command do.it, which is an editor's (workspace/executeCommand)".to_owned(),
    ]);
    assert!(offered[0].preferred && !offered[1].preferred);
    assert_eq!(offered[0].kind.as_deref(), Some("quickfix"));
    stand.pool.shutdown().await;
    let late = stand
        .pool
        .resolve(&offered[0], &never())
        .await
        .expect_err("it has ended");
    assert!(late.to_string().contains("has ended"), "{late}");
}

/// A buffer that is asked about by another name of its file is not read from disk, nor opened a second time.
#[cfg(unix)]
#[tokio::test]
async fn a_buffer_is_asked_about_by_every_name_of_its_file() {
    let stand = Stand::scripted(script(
        json!({"textDocument/hover": [[{"answer": {"contents": "said"}}]]}),
    ));
    stand::write(&stand.path("real.rs"), "saved");
    std::os::unix::fs::symlink("real.rs", stand.path("link.rs")).expect("a link");
    stand.open("real.rs", "never saved");
    assert_eq!(stand.hover("link.rs").await, Ok(Some("said".into())));
    let opened: Vec<Value> = stand
        .log()
        .into_iter()
        .filter(|message| message["method"] == "textDocument/didOpen")
        .map(|message| message["params"]["textDocument"].clone())
        .collect();
    let [one] = opened.as_slice() else {
        panic!("{opened:?}")
    };
    assert_eq!(one["uri"], stand.uri("real.rs").as_str());
    assert_eq!(one["text"], "never saved");
}
