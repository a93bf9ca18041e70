//! Files that links lead to: the editor holds one by a name, the server calls it by another. What is found is of the text that
//! the editor has, under the editor's name, and once; what is edited is edited once.
#![cfg(unix)]

mod stand;

use std::os::unix::fs::symlink;

use langserver::{FileChange, QueryError};
use serde_json::{Value, json};
use stand::{Stand, at, never};
use workspace::{ByteOffset, ByteRange};

fn script(on: Value) -> Value {
    let can = json!({
        "textDocumentSync": 2, "hoverProvider": true, "definitionProvider": true, "referencesProvider": true,
        "renameProvider": true, "callHierarchyProvider": true, "workspaceSymbolProvider": true,
        "codeActionProvider": {"resolveProvider": true},
    });
    json!({"capabilities": can, "on": on})
}

/// `b.rs`, and a link `link.rs` to it.
fn linked() -> Stand {
    let stand = Stand::scripted(json!(null));
    symlink("b.rs", stand.path("link.rs")).expect("a link");
    stand
}

/// The places that a question found, as `file:line text`, and how many were left out.
async fn references(stand: &Stand) -> (Vec<String>, usize) {
    let (a, never) = (stand.uri("a.rs"), never());
    let found = stand.pool.references(&a, ByteOffset(3), true, &never);
    let found = found.await.expect("answered");
    let places = found.value.iter().map(|place| {
        let text = &place.snapshot.text;
        let path = place.snapshot.uri.path().and_then(|path| path.file_name());
        format!(
            "{}:{} {}",
            path.expect("a name").to_string_lossy(),
            text.position(place.range.start, workspace::Encoding::Utf8)
                .line,
            text.slice(place.range)
        )
    });
    (places.collect(), found.left_out)
}

/// What was told of documents, as `method file text`.
fn told(stand: &Stand) -> Vec<String> {
    let log = stand.log();
    let told = log.iter().filter_map(|message| {
        let method = message["method"]
            .as_str()?
            .strip_prefix("textDocument/did")?;
        let document = &message["params"]["textDocument"];
        let name = document["uri"].as_str()?.rsplit('/').next()?;
        let text = document["text"]
            .as_str()
            .or(message["params"]["contentChanges"][0]["text"].as_str());
        Some(format!("{method} {name} {}", text.unwrap_or_default()))
    });
    let told: Vec<_> = told.collect();
    told.into_iter()
        .filter(|one| !one.contains(" a.rs"))
        .collect()
}

/// The server takes the text of a name that it was not told of from the disk. It is told, and asked again.
#[tokio::test]
async fn what_a_server_calls_by_another_name_it_is_told_of_by_that_too() {
    let stand = linked();
    let place =
        |name: &str, line: u32| json!({"uri": stand.uri(name).as_str(), "range": at(line, 3, 4)});
    let on_disk = json!([{"answer": [place("b.rs", 0), place("link.rs", 1)]}]);
    let both = json!([{"answer": [place("b.rs", 1), place("link.rs", 1)]}]);
    let further = json!([{"answer": [place("b.rs", 2)]}]);
    let gone = json!([{"answer": [place("b.rs", 0)]}]);
    let stand = stand.acting(script(
        json!({"textDocument/references": [on_disk, both, further, gone]}),
    ));
    stand.open("link.rs", "fn b() {}\n");
    stand.replace("link.rs", "fn", "// typed\nfn");
    let found = references(&stand).await;
    assert_eq!(found, (vec!["link.rs:1 b".to_owned()], 0));
    assert_eq!(
        told(&stand),
        [
            "Open link.rs // typed\nfn b() {}\n",
            "Open b.rs // typed\nfn b() {}\n"
        ]
    );
    // They stay in step, and one goes with the other.
    stand.replace("link.rs", "fn", "//\nfn");
    let found = references(&stand).await;
    assert_eq!(found, (vec!["link.rs:2 b".to_owned()], 0));
    assert_eq!(
        told(&stand)[2..],
        ["Change link.rs //\nfn", "Change b.rs //\n"]
    );
    stand.buffers.close(&stand.uri("link.rs"));
    let found = references(&stand).await;
    assert_eq!(found, (vec!["b.rs:0 b".to_owned()], 0));
    let closed = told(&stand);
    let closed: Vec<_> = closed
        .iter()
        .filter(|one| one.starts_with("Close"))
        .collect();
    assert_eq!(closed, ["Close link.rs ", "Close b.rs "]);
}

/// Where the editor has what is on disk, there is nothing to tell.
#[tokio::test]
async fn a_text_that_is_on_disk_is_the_same_by_every_name() {
    let stand = linked();
    let place = |name: &str| json!({"uri": stand.uri(name).as_str(), "range": at(0, 3, 4)});
    let both = json!([{"answer": [place("b.rs"), place("link.rs")]}]);
    let stand = stand.acting(script(json!({"textDocument/references": [both]})));
    // Nobody has it open: by its own name.
    let found = references(&stand).await;
    assert_eq!(found, (vec!["b.rs:0 b".to_owned()], 0));
    stand.open("link.rs", "fn b() {}\n");
    let found = references(&stand).await;
    assert_eq!(found, (vec!["link.rs:0 b".to_owned()], 0));
    assert_eq!(told(&stand), ["Open link.rs fn b() {}\n"]);
}

/// A rename that names a file twice edits it once, and the text that the editor has.
#[tokio::test]
async fn a_file_is_edited_once_by_whatever_names() {
    let stand = linked();
    let edit = |line: u32| json!([{"range": at(line, 3, 4), "newText": "x"}]);
    let (b, link) = (stand.uri("b.rs"), stand.uri("link.rs"));
    let edits = |of_b: u32, of_link: u32| json!([{"answer": {"changes": {(b.as_str()): edit(of_b), (link.as_str()): edit(of_link)}}}]);
    let stand = stand.acting(script(json!({
        "textDocument/rename": [edits(0, 1), edits(1, 1), edits(0, 0)],
    })));
    stand.open("link.rs", "fn b() {}\n");
    let seen = stand.replace("link.rs", "fn b", "// typed\nfn b");
    let renamed = async || {
        let renamed = stand
            .pool
            .rename(&seen, ByteOffset(12), "x", &never())
            .await;
        let edits = renamed.expect("renamed").value;
        edits.iter().map(shown).collect::<Vec<_>>()
    };
    assert_eq!(renamed().await, ["link.rs: b=x"]);
    // The same of a file that no editor holds.
    stand.buffers.close(&link);
    let renamed = stand.pool.rename(&b, ByteOffset(3), "x", &never()).await;
    let edits = renamed.expect("renamed").value;
    let edits: Vec<_> = edits.iter().map(shown).collect();
    assert_eq!(edits, ["b.rs: b=x"]);
}

/// An action whose edits are of the disk's text is offered anew once the server has been told.
#[tokio::test]
async fn an_action_that_edits_by_another_name_is_to_be_asked_for_again() {
    let stand = linked();
    let b = stand.uri("b.rs");
    let action = |line: u32| {
        let edit = json!([{"range": at(line, 3, 4), "newText": "x"}]);
        json!([{"answer": [{"title": "t", "edit": {"changes": {(b.as_str()): edit}}}]}])
    };
    let stand = stand.acting(script(
        json!({"textDocument/codeAction": [action(0), action(1)]}),
    ));
    stand.open("link.rs", "fn b() {}\n");
    stand.replace("link.rs", "fn b", "// typed\nfn b");
    let resolved = async || {
        let a = stand.uri("a.rs");
        let offered = stand
            .pool
            .code_actions(&a, ByteRange::new(0, 0), &[], &never())
            .await;
        let action = &offered.expect("answered").value[0];
        stand.pool.resolve(action, &never()).await
    };
    let overtaken = QueryError::Overtaken {
        name: "scripted".into(),
    };
    assert_eq!(resolved().await.expect_err("of the disk's text"), overtaken);
    let edits = resolved().await.expect("resolved");
    let edits: Vec<_> = edits.iter().map(shown).collect();
    assert_eq!(edits, ["link.rs: b=x"]);
}

fn shown(change: &FileChange) -> String {
    match change {
        FileChange::Edit(file) => {
            let text = &file.snapshot.text;
            let edits = file.edits.iter();
            let edits = edits.map(|edit| format!(" {}={}", text.slice(edit.range), edit.text));
            let path = file.uri.path().and_then(|path| path.file_name());
            let name = path.expect("a name").to_string_lossy();
            format!("{name}:{}", edits.collect::<String>())
        }
        FileChange::File(step) => format!("{step:?}"),
    }
}
