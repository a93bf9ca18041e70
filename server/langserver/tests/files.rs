//! What servers hear of the disk: files that others change, by what each server registered, and what we do to files
//! ourselves.

mod stand;

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use langserver::Limits;
use serde_json::{Value, json};
use stand::{STAGE, Stand, never, servers, write};
use workspace::DocumentUri;

/// A server that wants to hear of what these watchers name, and has heard of one file.
async fn watching(files: &[(&str, &str)], watchers: impl Fn(&Path) -> Value) -> Stand {
    let stand = asked(
        files,
        json!({"hoverProvider": true, "textDocumentSync": 1}),
        |folder| {
            json!([{"ask": ["client/registerCapability", {"registrations": [
                {"id": "1", "method": "workspace/didChangeWatchedFiles", "registerOptions": {"watchers": watchers(folder)}}
            ]}]}])
        },
    );
    stand.hover("a.rs").await.expect("an answer");
    stand.probe("probe").await;
    stand
}

fn asked(files: &[(&str, &str)], capabilities: Value, first: impl Fn(&Path) -> Value) -> Stand {
    let files = [&[("a.rs", "fn a() {}\n")], files].concat();
    Stand::with(
        &files,
        |folder| {
            let folder = folder.canonicalize().expect("a path");
            // Outside of what is watched, or it would be watched being written.
            let script = json!({
                "log": folder.join(".log/log"), "capabilities": capabilities, "on": {"initialized": [first(&folder)]}
            });
            write(&folder.join(".log/log"), "");
            write(&folder.join(".log/script"), &script.to_string());
            let command = json!([STAGE, "serve", folder.join(".log/script")]);
            servers(json!({"scripted": {"command": command, "languages": ["rust"]}}))
        },
        Limits::default(),
    )
}

trait Watched {
    fn said(&self) -> Vec<Value>;
    fn notices(&self) -> Vec<Vec<(String, u64)>>;
    fn heard(&self) -> Vec<(String, u64)>;
    fn put(&self, name: &str, text: &str);
    async fn until(&self, what: &str, is_so: impl Fn(&[(String, u64)]) -> bool);
    async fn probe(&self, name: &str);
}

impl Watched for Stand {
    fn said(&self) -> Vec<Value> {
        let log = fs::read_to_string(self.path(".log/log")).expect("a log");
        let whole = log.rfind('\n').map_or("", |end| &log[..end]);
        let lines = whole.lines();
        lines
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect()
    }

    /// What it was told of files, by message.
    fn notices(&self) -> Vec<Vec<(String, u64)>> {
        let root = DocumentUri::from_path(&self.path("")).expect("a uri");
        let root = format!("{}/", root.as_str().trim_end_matches('/'));
        let name = |change: &Value| {
            let uri = change["uri"].as_str().expect("a uri");
            let name = uri.strip_prefix(&root).unwrap_or(uri).to_owned();
            (name, change["type"].as_u64().expect("a type"))
        };
        let said = self.said();
        let notices = said
            .iter()
            .filter(|message| message["method"] == "workspace/didChangeWatchedFiles");
        notices
            .map(|notice| {
                let changes = notice["params"]["changes"].as_array().expect("changes");
                changes.iter().map(name).collect()
            })
            .collect()
    }

    /// The same in one list, without probes.
    fn heard(&self) -> Vec<(String, u64)> {
        let mut heard = self.notices().concat();
        heard.retain(|(name, _)| !name.contains("probe"));
        heard
    }

    fn put(&self, name: &str, text: &str) {
        write(&self.path(name), text);
    }

    async fn until(&self, what: &str, is_so: impl Fn(&[(String, u64)]) -> bool) {
        let deadline = Instant::now() + Duration::from_secs(30);
        while !is_so(&self.notices().concat()) {
            assert!(Instant::now() < deadline, "{what}: {:?}", self.notices());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Until a change of a file has been heard of, and with it all that came before.
    async fn probe(&self, name: &str) {
        let name = format!("{name}.rs");
        let deadline = Instant::now() + Duration::from_secs(30);
        let mut text = String::new();
        // The first ones may come before anything is watched.
        while !self.notices().concat().iter().any(|(one, _)| *one == name) {
            assert!(Instant::now() < deadline, "{:?}", self.said());
            text.push('x');
            self.put(&name, &text);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

fn events(list: &[(&str, u64)]) -> Vec<(String, u64)> {
    let mut list: Vec<_> = list
        .iter()
        .map(|(name, kind)| ((*name).to_owned(), *kind))
        .collect();
    list.sort();
    list
}

fn sorted(mut list: Vec<(String, u64)>) -> Vec<(String, u64)> {
    list.sort();
    list
}

/// A server hears of what it registered for, by glob, base and kind, and of nothing else.
#[tokio::test]
async fn servers_hear_of_what_they_registered_for() {
    let outside = tempfile::tempdir().expect("a folder");
    let elsewhere = outside.path().canonicalize().expect("a path");
    write(&elsewhere.join("known.conf"), "");
    fs::create_dir(elsewhere.join("deep")).expect("made");
    let base = DocumentUri::from_path(&elsewhere).expect("a uri");
    let files = [
        (".gitignore", "target/\n"),
        ("target/debug/out.rs", ""),
        ("target/named/gen.c", ""),
        ("src/known.rs", "1"),
        ("src/gone.rs", "1"),
        ("sub/known.toml", "1"),
        ("sub/quiet.md", "1"),
    ];
    let stand = watching(&files, |folder| {
        json!([
            {"globPattern": "**/*.rs"},
            {"globPattern": {"baseUri": DocumentUri::from_path(&folder.join("sub")).expect("a uri").as_str(), "pattern": "*.toml"}, "kind": 2},
            {"globPattern": {"baseUri": base.as_str(), "pattern": "**/*.conf"}},
            {"globPattern": folder.join("target/named/*.c").to_str().expect("a path")},
        ])
    })
    .await;
    stand.put("src/known.rs", "2");
    stand.put("src/new.rs", "");
    fs::remove_file(stand.path("src/gone.rs")).expect("removed");
    stand.put("sub/known.toml", "2");
    stand.put("sub/new.toml", "a kind that it did not ask for");
    stand.put("sub/quiet.md", "2");
    stand.put("top.toml", "elsewhere than it asked for");
    stand.put("target/debug/out.rs", "ignored");
    stand.put("target/named/gen.c", "named");
    write(&elsewhere.join("known.conf"), "2");
    write(&elsewhere.join("deep/not.conf"), "not looked into");
    stand.probe("probe2").await;
    let known = format!("{}/known.conf", base.as_str());
    let expected = events(&[
        ("src/known.rs", 2),
        ("src/new.rs", 1),
        ("src/gone.rs", 3),
        ("sub/known.toml", 2),
        ("target/named/gen.c", 2),
        (&known, 2),
    ]);
    stand
        .until("all of it", |heard| {
            expected.iter().all(|one| heard.contains(one))
        })
        .await;
    assert_eq!(sorted(stand.heard()), expected);
}

/// A server hears of files under the names that it gave their folder, whatever leads there.
#[cfg(unix)]
#[tokio::test]
async fn files_are_told_by_the_names_that_the_server_has_for_them() {
    let stand = watching(&[("src/known.rs", "1")], |folder| {
        let link = folder.join("link");
        std::os::unix::fs::symlink(folder.join("src"), &link).expect("a link");
        let base = DocumentUri::from_path(&link).expect("a uri");
        json!([
            {"globPattern": "*.rs"},
            {"globPattern": {"baseUri": base.as_str(), "pattern": "**/*.rs"}},
        ])
    })
    .await;
    stand.put("src/known.rs", "2");
    let known = ("link/known.rs".to_owned(), 2);
    stand
        .until("the change", |heard| heard.contains(&known))
        .await;
    stand.put("src/deep/new.rs", "");
    let new = ("link/deep/new.rs".to_owned(), 1);
    stand
        .until("the new one", |heard| heard.contains(&new))
        .await;
    assert_eq!(stand.heard(), [known, new]);
}

/// Folders that come are watched, with what is in them already; one that gets another name is gone and new.
#[tokio::test]
async fn new_folders_are_watched() {
    let stand = watching(
        &[(".gitignore", "target/\n")],
        |_| json!([{"globPattern": "**/*.rs"}]),
    )
    .await;
    stand.put("one/two/three/first.rs", "");
    stand.put("target/deps/x.rs", "");
    let expected = ("one/two/three/first.rs".to_owned(), 1);
    stand
        .until("the first", |heard| heard.contains(&expected))
        .await;
    stand.put("one/two/three/second.rs", "");
    stand.put("target/deps/y.rs", "");
    let second = ("one/two/three/second.rs".to_owned(), 1);
    stand
        .until("the second", |heard| heard.contains(&second))
        .await;
    fs::rename(stand.path("one/two"), stand.path("one/other")).expect("renamed");
    let renamed = events(&[
        ("one/two/three/first.rs", 3),
        ("one/two/three/second.rs", 3),
        ("one/other/three/first.rs", 1),
        ("one/other/three/second.rs", 1),
    ]);
    stand
        .until("the new name", |heard| {
            renamed.iter().all(|one| heard.contains(one))
        })
        .await;
    // It is watched under its new name.
    stand.put("one/other/three/second.rs", "more");
    let more = ("one/other/three/second.rs".to_owned(), 2);
    stand.until("a change", |heard| heard.contains(&more)).await;
    fs::remove_dir_all(stand.path("one")).expect("removed");
    let gone = ("one/other/three/first.rs".to_owned(), 3);
    stand.until("the end", |heard| heard.contains(&gone)).await;
    stand.probe("probe2").await;
    let mut all = vec![
        expected,
        second,
        more,
        gone,
        ("one/other/three/second.rs".to_owned(), 3),
    ];
    all.extend(renamed);
    assert_eq!(sorted(stand.heard()), sorted(all));
}

/// What is no longer ignored is watched from then on.
#[tokio::test]
async fn the_ignore_files_may_change() {
    let files = [(".gitignore", "gen/\n"), ("gen/x.rs", "")];
    let stand = watching(&files, |_| json!([{"globPattern": "**/*.rs"}])).await;
    stand.put(".gitignore", "");
    let deadline = Instant::now() + Duration::from_secs(30);
    let mut text = String::new();
    while stand.heard().is_empty() {
        assert!(Instant::now() < deadline, "never watched");
        text.push('x');
        stand.put("gen/x.rs", &text);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(stand.heard()[0], ("gen/x.rs".to_owned(), 2));
}

/// As git does it when it checks another commit out: two thousand files at once, told once each, in few messages.
#[tokio::test]
async fn two_thousand_files_at_once() {
    let names: Vec<String> = (0..2_000)
        .map(|at| format!("src/m{}/f{at}.rs", at % 40))
        .collect();
    let (old, new) = names.split_at(1_000);
    let files: Vec<(&str, &str)> = old.iter().map(|name| (name.as_str(), "1")).collect();
    let stand = watching(&files, |_| json!([{"globPattern": "**/*.rs"}])).await;
    let before = stand.notices().len();
    let (changed, removed) = old.split_at(500);
    for name in changed {
        // Git removes and writes anew.
        fs::remove_file(stand.path(name)).expect("removed");
        stand.put(name, "other");
    }
    for name in removed {
        fs::remove_file(stand.path(name)).expect("removed");
    }
    for name in new {
        stand.put(name, "new");
    }
    let kinds = [(changed, 2), (removed, 3), (new, 1)];
    let expected: Vec<_> = kinds
        .iter()
        .flat_map(|(names, kind)| names.iter().map(|name| (name.clone(), *kind)))
        .collect();
    stand
        .until("all of it", |heard| heard.len() >= before + expected.len())
        .await;
    stand.probe("probe2").await;
    assert_eq!(sorted(stand.heard()), sorted(expected));
    let messages = stand.notices().len() - before;
    assert!(messages < 200, "{messages} messages");
}

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

/// A server ends with the folder that it serves; one for a folder that comes is started when it is needed, and what it
/// asks for is watched.
#[tokio::test]
async fn folders_come_and_go() {
    let stand = watching(&[], |_| json!([{"globPattern": "**/*.rs"}])).await;
    let roots = stand.workspace.roots();
    stand.workspace.set_roots(Vec::new());
    stand.pool.roots_changed();
    let deadline = Instant::now() + Duration::from_secs(30);
    while !stand
        .said()
        .iter()
        .any(|message| message["method"] == "exit")
    {
        assert!(Instant::now() < deadline, "{:?}", stand.said());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(stand.pool.status(), []);
    stand.workspace.set_roots(roots);
    stand.pool.roots_changed();
    assert_eq!(stand.pool.status(), [], "not before it is needed");
    stand.hover("a.rs").await.expect("an answer");
    stand.probe("again").await;
}

/// A question does not overtake what has just changed on disk, though it comes long before the batch is whole.
#[tokio::test]
async fn questions_come_after_what_was_seen() {
    let stand = watching(&[], |_| json!([{"globPattern": "**/*.rs"}])).await;
    let mut told_first = 0;
    for round in 0..10 {
        let name = format!("round{round}.rs");
        stand.put(&name, "");
        // The system says it within this time, most often.
        tokio::time::sleep(Duration::from_millis(20)).await;
        stand.hover("a.rs").await.expect("an answer");
        let told = stand.notices().concat().contains(&(name, 1));
        told_first += usize::from(told);
    }
    assert!(told_first > 0);
}

/// What changes under an open buffer is told as a change of the file; the buffer's text stays the truth.
#[tokio::test]
async fn a_change_under_an_open_buffer() {
    let stand = watching(&[], |_| json!([{"globPattern": "**/*.rs"}])).await;
    stand.open("a.rs", "fn unsaved() {}\n");
    stand.put("a.rs", "fn on_disk() {}\n");
    stand
        .until("the change", |heard| {
            heard.contains(&("a.rs".to_owned(), 2))
        })
        .await;
    stand.hover("a.rs").await.expect("an answer");
    let texts: Vec<_> = stand
        .said()
        .iter()
        .filter(|message| {
            message["method"]
                .as_str()
                .is_some_and(|method| method.starts_with("textDocument/did"))
        })
        .map(|message| message["params"].to_string())
        .collect();
    assert!(
        texts.last().is_some_and(|text| text.contains("unsaved")),
        "{texts:?}"
    );
    assert!(
        !texts.iter().any(|text| text.contains("on_disk")),
        "{texts:?}"
    );
}

/// A server that took its registration back, or that never had one, hears of nothing.
#[tokio::test]
async fn servers_that_watch_by_themselves_are_left_alone() {
    let stand = watching(&[], |_| json!([{"globPattern": "**/*.rs"}])).await;
    drop(stand);
    let stand = asked(&[], json!({"hoverProvider": true}), |_| json!([]));
    stand.hover("a.rs").await.expect("an answer");
    stand.put("a.rs", "fn b() {}\n");
    stand.pool.disk_changed(&[stand.uri("a.rs")]);
    stand.hover("a.rs").await.expect("an answer");
    assert_eq!(stand.notices(), Vec::<Vec<_>>::new());
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
            .collect::<std::collections::BTreeSet<_>>()
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
