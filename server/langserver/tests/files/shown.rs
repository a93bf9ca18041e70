//! A server that takes no notice of what changes on disk is shown it.

use std::{
    collections::BTreeSet,
    fs,
    time::{Duration, Instant},
};

use langserver::Limits;
use serde_json::{Value, json};

use crate::{
    heard::Heard as _,
    stand::{STAGE, Stand, never, servers, write},
};

/// A scripted server that passes for clangd.
fn as_clangd(files: &[(&str, &str)], script: Value) -> Stand {
    Stand::with(
        files,
        |folder| {
            let folder = folder.canonicalize().expect("a path");
            let mut all = json!({
                "log": folder.join(".log/log"),
                "capabilities": {"hoverProvider": true, "textDocumentSync": {"change": 2, "save": true}}
            });
            for (key, value) in script.as_object().expect("an object") {
                all[key] = value.clone();
            }
            write(&folder.join(".log/log"), "");
            write(&folder.join(".log/script"), &all.to_string());
            let command = json!([STAGE, "serve", folder.join(".log/script")]);
            servers(
                json!({"clangd": {"command": command, "languages": ["c"], "ready": "initialized"}}),
            )
        },
        Limits::default(),
    )
}

/// clangd takes no notice of files that change on disk: they are opened for it, and said to be saved.
#[tokio::test]
async fn a_server_that_would_not_notice_is_shown_the_files() {
    let stand = as_clangd(
        &[("a.c", "int a;\n"), ("b.c", "int b;\n"), ("n.txt", "")],
        json!({}),
    );
    stand.hover("a.c").await.expect("an answer");
    let said = |part: &str| {
        stand
            .said()
            .iter()
            .filter(|message| message["params"]["textDocument"]["uri"] == stand.uri("b.c").as_str())
            .any(|message| message.to_string().contains(part))
    };
    let deadline = Instant::now() + Duration::from_secs(30);
    let mut text = "int c;\n".to_owned();
    while !(said("int c;") && said("textDocument/didSave")) {
        assert!(Instant::now() < deadline, "{:?}", stand.said());
        text.push('\n');
        stand.put("b.c", &text);
        stand.put("n.txt", &text);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(
        stand.notices(),
        Vec::<Vec<_>>::new(),
        "it did not ask for them"
    );
    fs::remove_file(stand.path("b.c")).expect("removed");
    while !said("textDocument/didClose") {
        assert!(Instant::now() < deadline, "{:?}", stand.said());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// clangd looks at an unsaved header when something is saved, and only then.
#[tokio::test]
async fn an_unsaved_header_is_seen_by_what_includes_it() {
    let stand = as_clangd(
        &[
            ("a.c", "int a;\n"),
            ("b.c", "int b;\n"),
            ("h.h", "int h;\n"),
        ],
        json!({}),
    );
    for (name, text) in [("h.h", "int h;\n"), ("b.c", "int b;\n")] {
        stand.buffers.open(stand.uri(name), "c", 1, text);
    }
    let since = |count: usize| -> Vec<(String, String)> {
        let name = |message: &Value| {
            let uri = message["params"]["textDocument"]["uri"].as_str()?;
            let name = uri.rsplit('/').next()?.to_owned();
            let method = message["method"].as_str()?.rsplit('/').next()?.to_owned();
            Some((method, name))
        };
        stand.said()[count..].iter().filter_map(name).collect()
    };
    let pairs = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
        let own = |(method, name): &(&str, &str)| ((*method).to_owned(), (*name).to_owned());
        pairs.iter().map(own).collect()
    };
    stand.hover("a.c").await.expect("an answer");
    for (changed, asked, expected) in [
        (
            "h.h",
            "a.c",
            &[("didChange", "h.h"), ("didSave", "a.c"), ("hover", "a.c")][..],
        ),
        ("h.h", "h.h", &[("didChange", "h.h"), ("hover", "h.h")]),
        (
            "b.c",
            "a.c",
            &[("didChange", "b.c"), ("didSave", "a.c"), ("hover", "a.c")],
        ),
        ("b.c", "a.c", &[("didChange", "b.c"), ("hover", "a.c")]),
        ("", "a.c", &[("hover", "a.c")]),
    ] {
        let before = stand.said().len();
        if !changed.is_empty() {
            stand.replace(changed, "int", "int ");
        }
        stand.hover(asked).await.expect("an answer");
        assert_eq!(since(before), pairs(expected), "{changed}, then {asked}");
    }
}

/// However many files change at once, and what changes while the server is shown held text.
#[tokio::test]
async fn every_file_is_shown_to_a_server_that_would_not_notice() {
    let names: Vec<String> = (0..40).map(|number| format!("f{number}.c")).collect();
    let mut files: Vec<(&str, &str)> = names.iter().map(|name| (&**name, "int old;\n")).collect();
    files.push(("a.c", "int a;\n"));
    let whole = json!({"hoverProvider": true, "textDocumentSync": {"change": 1, "save": true}});
    let stand = as_clangd(&files, json!({"capabilities": whole}));
    stand.hover("a.c").await.expect("an answer");
    let shown = |text: &str| {
        let is_it = |message: &Value| message.to_string().contains(text);
        let said = stand.said();
        let uris = said.iter().filter(|message| is_it(message));
        uris.map(|message| message["params"]["textDocument"]["uri"].to_string())
            .collect::<BTreeSet<_>>()
            .len()
    };
    let change = |names: &[String], text: &str| {
        for name in names {
            stand.put(name, text);
        }
        let uris: Vec<_> = names.iter().map(|name| stand.uri(name)).collect();
        stand.pool.disk_changed(&uris);
    };
    let until = async |text: &str, count: usize| {
        let deadline = Instant::now() + Duration::from_secs(30);
        while shown(text) < count {
            assert!(Instant::now() < deadline, "{} of {count}", shown(text));
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    change(&names, "int fresh;\n");
    until("int fresh;", 40).await;

    let held = stand.workspace.read(&stand.uri("a.c")).expect("read");
    let lease = stand
        .pool
        .lease(vec![held], Duration::from_secs(60), &never())
        .await;
    change(&names[..3], "int late;\n");
    assert_eq!(shown("int late;"), 0, "under a lease nothing is told");
    drop(lease);
    until("int late;", 3).await;
}
