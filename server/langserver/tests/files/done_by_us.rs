//! What we do to files ourselves.

use std::fs;

use serde_json::{Value, json};

use crate::heard::{Heard as _, asked, events, sorted, watching};

/// What we changed ourselves is told at once, and not told again when the disk says so, too.
#[tokio::test]
async fn our_own_changes_are_told_once() {
    let stand = watching(
        &[("src/b.rs", "1")],
        |_| json!([{"globPattern": "**/*.rs"}]),
    )
    .await;
    stand.put("src/b.rs", "2");
    stand.pool.disk_changed(&[stand.uri("src/b.rs")]);
    stand.put("src/new.rs", "");
    stand.pool.files_created(&[stand.uri("src/new.rs")]);
    stand.put("made/new.rs", "in a folder that is new as well");
    stand.pool.files_created(&[stand.uri("made/new.rs")]);
    fs::rename(stand.path("src/new.rs"), stand.path("src/newer.rs")).expect("renamed");
    let pair = (stand.uri("src/new.rs"), stand.uri("src/newer.rs"));
    stand.pool.files_renamed(&[pair]);
    fs::remove_file(stand.path("src/newer.rs")).expect("removed");
    stand.pool.files_deleted(&[stand.uri("src/newer.rs")]);
    stand.probe("probe2").await;
    // A second one: what happened to the new folder may have been seen after the first.
    stand.put("made/probe3.rs", "");
    stand
        .until("the last", |heard| {
            heard.contains(&("made/probe3.rs".to_owned(), 1))
        })
        .await;
    let expected = [
        ("src/b.rs", 2),
        ("src/new.rs", 1),
        ("made/new.rs", 1),
        ("src/new.rs", 3),
        ("src/newer.rs", 1),
        ("src/newer.rs", 3),
    ];
    assert_eq!(sorted(stand.heard()), events(&expected));
    // But what others then make of it is news.
    stand.put("src/b.rs", "three");
    let again = ("src/b.rs".to_owned(), 2);
    stand
        .until("another's", |heard| {
            heard.iter().filter(|one| **one == again).count() == 2
        })
        .await;
}

/// Operations on files go to servers that announced them, by their filters; what they hold moves with the file.
#[tokio::test]
async fn operations_on_files() {
    let filters =
        json!({"filters": [{"scheme": "file", "pattern": {"glob": "**/*.rs", "matches": "file"}}]});
    let capabilities = json!({"textDocumentSync": 2, "hoverProvider": true, "workspace": {"fileOperations": {"didRename": filters, "didCreate": filters}}});
    let stand = asked(&[("b.rs", "fn b() {}\n")], capabilities, |_| {
        json!([{"ask": ["client/registerCapability", {"registrations": [
            {"id": "1", "method": "workspace/didDeleteFiles", "registerOptions": {"filters": [{"pattern": {"glob": "**", "matches": "folder"}}]}}
        ]}]}])
    });
    stand.hover("b.rs").await.expect("an answer");
    let before = stand.said().len();
    stand.put("new.rs", "");
    stand.put("new.txt", "");
    stand
        .pool
        .files_created(&[stand.uri("new.rs"), stand.uri("new.txt")]);
    fs::rename(stand.path("b.rs"), stand.path("c.rs")).expect("renamed");
    stand
        .pool
        .files_renamed(&[(stand.uri("b.rs"), stand.uri("c.rs"))]);
    stand.pool.files_deleted(&[stand.uri("gone")]);
    stand.hover("c.rs").await.expect("an answer");
    let uri = |name: &str| stand.uri(name).as_str().to_owned();
    let said: Vec<(String, Value)> = stand.said()[before..]
        .iter()
        .filter_map(|message| {
            let method = message["method"].as_str()?.to_owned();
            Some((method, message["params"].clone()))
        })
        .collect();
    let names: Vec<&str> = said.iter().map(|(method, _)| method.as_str()).collect();
    assert_eq!(
        names,
        [
            "workspace/didCreateFiles",
            "textDocument/didClose",
            "workspace/didRenameFiles",
            "textDocument/didOpen",
            "workspace/didDeleteFiles",
            "textDocument/hover"
        ]
    );
    assert_eq!(said[0].1, json!({"files": [{"uri": uri("new.rs")}]}));
    assert_eq!(said[1].1["textDocument"]["uri"], uri("b.rs"));
    assert_eq!(
        said[2].1,
        json!({"files": [{"oldUri": uri("b.rs"), "newUri": uri("c.rs")}]})
    );
    assert_eq!(said[3].1["textDocument"]["uri"], uri("c.rs"));
    assert_eq!(said[4].1, json!({"files": [{"uri": uri("gone")}]}));
}
