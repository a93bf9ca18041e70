//! Files that others change: commands, git, other programs.

use std::{
    fs,
    time::{Duration, Instant},
};

use serde_json::json;
use workspace::DocumentUri;

use crate::{
    heard::{Heard as _, asked, count, events, sorted, watching},
    stand::write,
};

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

/// A file that is made right after a server has asked is told, though nobody has looked at the folder yet.
#[tokio::test]
async fn what_is_made_before_the_first_look_is_told() {
    let watchers = json!({"registrations": [
        {"id": "1", "method": "workspace/didChangeWatchedFiles", "registerOptions": {"watchers": [{"globPattern": "**/*.rs"}]}}
    ]});
    let files = [("old.rs", "1"), ("sub/changed.rs", "1")];
    let makes = "echo 2 >> sub/changed.rs; mkdir -p new/er && echo 1 > new/er/made.rs; mv old.rs sub/moved.rs";
    let stand = asked(
        &files,
        json!({"hoverProvider": true}),
        |_| json!([{"ask": ["client/registerCapability", watchers]}, {"run": ["sh", "-c", makes]}]),
    );
    stand.hover("a.rs").await.expect("an answer");
    stand.probe("probe").await;
    let expected = events(&[
        ("new/er/made.rs", 1),
        ("sub/changed.rs", 2),
        ("sub/moved.rs", 1),
    ]);
    assert_eq!(sorted(stand.heard()), expected);
}

/// A project that is deleted and checked out anew, and a folder in it that a server named.
#[tokio::test]
async fn folders_that_go_and_come_again_are_watched_again() {
    for base in ["project", "project/gen"] {
        let files = [("project/gen/known.rs", "1"), ("project/b.rs", "")];
        let stand = asked(&files, json!({"hoverProvider": true}), |folder| {
            let base = DocumentUri::from_path(&folder.join(base)).expect("a uri");
            json!([{"ask": ["client/registerCapability", {"registrations": [
                {"id": "1", "method": "workspace/didChangeWatchedFiles", "registerOptions": {"watchers": [
                    {"globPattern": {"baseUri": base.as_str(), "pattern": "**/*.rs"}}
                ]}}
            ]}]}])
        });
        stand.workspace.set_roots(vec![stand.path("project")]);
        stand.pool.roots_changed();
        stand.hover("project/b.rs").await.expect("an answer");
        stand.probe("project/gen/probe").await;
        for round in 0..3 {
            let gone = ("project/gen/known.rs".to_owned(), 3);
            let told = stand.count(&gone);
            fs::remove_dir_all(stand.path("project")).expect("removed");
            stand
                .until("it is gone", |heard| count(heard, &gone) > told)
                .await;
            let made = ("project/gen/known.rs".to_owned(), 1);
            let told = stand.count(&made);
            stand.put("project/gen/known.rs", "1");
            stand
                .until("it is back", |heard| count(heard, &made) > told)
                .await;
            // And it is watched as before.
            stand.probe(&format!("project/gen/probe{round}")).await;
        }
    }
}
