//! What edits did to the diagnostics, by servers that are asked and by servers that push: of the edited documents and of
//! those that depend on them, and nothing else.

mod stand;

use std::time::{Duration, Instant};

use langserver::{Consequences, Limits};
use serde_json::{Value, json};
use stand::{Stand, never, write};
use workspace::Snapshot;

const A_WHILE: Duration = Duration::from_secs(20);
const WAYS: [&str; 2] = ["pull", "push"];

fn script(way: &str) -> Value {
    let mut able = json!({
        "hoverProvider": true, "textDocumentSync": 1,
        "documentSymbolProvider": true, "referencesProvider": true,
    });
    if way == "pull" {
        able["diagnosticProvider"] = json!({});
    }
    json!({"capabilities": able, "toy": way, "on": {"textDocument/hover": [[{"answer": {"contents": "h"}}]]}})
}

/// A server of this kind that has greeted, over files with these texts.
async fn stand(way: &str, files: &[(&str, &str)]) -> Stand {
    let stand = Stand::scripted(script(way));
    for (name, text) in files {
        write(&stand.path(name), text);
    }
    stand.hover("a.rs").await.expect("answered");
    stand
}

/// Writes a file; what it was before.
fn edit(stand: &Stand, name: &str, text: &str) -> Snapshot {
    let uri = stand.uri(name);
    let before = stand.workspace.read(&uri).expect("readable");
    write(&stand.path(name), text);
    stand.pool.disk_changed(std::slice::from_ref(&uri));
    before
}

async fn after(stand: &Stand, before: &[Snapshot]) -> Consequences {
    stand.pool.consequences(before, A_WHILE, &never()).await
}

/// `name:line message` of each that was added, how many were cured, and what is pending.
fn said(found: &Consequences) -> String {
    let name = |uri: &workspace::DocumentUri| {
        let name = uri.as_str().rsplit('/').next();
        name.unwrap_or_default().to_owned()
    };
    let added: Vec<String> = found
        .added
        .iter()
        .map(|(text, one)| {
            let at = text
                .text
                .position(one.range.start, workspace::Encoding::Utf8);
            format!("{}:{} {}", name(&text.uri), at.line + 1, one.message)
        })
        .collect();
    let pending: Vec<String> = found
        .pending
        .iter()
        .map(|(uri, why)| format!("{} {why}", name(uri)))
        .collect();
    let unavailable = found.unavailable.len();
    format!("{added:?} {} {pending:?} {unavailable}", found.cured)
}

/// A caller in another file, which nobody opened, among errors that were there before.
#[tokio::test]
async fn a_caller_that_breaks_in_a_file_that_nobody_opened() {
    for way in WAYS {
        let old: String = (0..40).map(|at| format!("call missing{at} 1\n")).collect();
        let caller = format!("{old}call f 1\ncall g 1\n");
        let stand = stand(
            way,
            &[
                ("a.rs", "def f 1\ndef g 1\ncall lost 1\n"),
                ("b.rs", &caller),
                ("c.rs", &old),
            ],
        )
        .await;
        let before = edit(&stand, "a.rs", "def f 2\ndef g 1\ncall lost 1\n");
        let found = after(&stand, &[before]).await;
        assert_eq!(
            said(&found),
            r#"["b.rs:41 f takes 2, not 1"] 0 [] 0"#,
            "{way}"
        );
        assert_eq!(found.unlooked, [""; 0], "{way}");
        // And back: cured. Another name: the old one is looked for where it was used.
        let before = edit(&stand, "a.rs", "def other 1\ndef f 1\ndef g 1\n");
        let found = after(&stand, &[before]).await;
        assert_eq!(said(&found), "[] 2 [] 0", "{way}");
        let before = edit(&stand, "a.rs", "def other 1\ndef h 1\ndef g 1\n");
        let found = after(&stand, &[before]).await;
        assert_eq!(
            said(&found),
            r#"["b.rs:41 f is not defined"] 0 [] 0"#,
            "{way}"
        );
    }
}

/// The same in an editor's buffers, unsaved; and nobody else hears of how it was.
#[tokio::test]
async fn in_buffers_and_nothing_leaks() {
    for way in WAYS {
        let stand = stand(way, &[]).await;
        let before = stand.open("a.rs", "def f 1\ncall f 1\n");
        stand.open("b.rs", "call f 1\ncall lost 1\n");
        stand.open("c.rs", "call lost 2\n");
        let known = async |name: &str| {
            let found = stand
                .pool
                .diagnostics(&stand.uri(name), A_WHILE, &never())
                .await;
            format!("{found:?}").replace("Fresh", "")
        };
        stand.replace("a.rs", "f 1", "f 3");
        let wrong = [known("a.rs").await, known("b.rs").await];
        let found = after(&stand, std::slice::from_ref(&before)).await;
        assert_eq!(
            said(&found),
            r#"["a.rs:2 f takes 3, not 1", "b.rs:1 f takes 3, not 1"] 0 [] 0"#,
            "{way}"
        );
        for (name, wrong) in [("a.rs", &wrong[0]), ("b.rs", &wrong[1])] {
            let now = stand.pool.known_diagnostics(&stand.uri(name));
            assert_eq!(&format!("({now:?})"), wrong, "{way} {name}");
            assert_eq!(&known(name).await, wrong, "{way} {name}");
        }
    }
}

#[tokio::test]
async fn files_that_are_new_and_files_that_are_gone() {
    for way in WAYS {
        let stand = stand(way, &[("a.rs", "call f 1\n"), ("b.rs", "call new 1\n")]).await;
        // A file that was not there is an empty text before.
        write(&stand.path("new.rs"), "def new 1\ncall lost 1\n");
        let now = stand
            .workspace
            .read(&stand.uri("new.rs"))
            .expect("readable");
        stand.pool.disk_changed(std::slice::from_ref(&now.uri));
        let before = Snapshot {
            text: workspace::Text::new(""),
            ..now.clone()
        };
        let found = after(&stand, &[before]).await;
        assert_eq!(
            said(&found),
            r#"["new.rs:2 lost is not defined"] 1 [] 0"#,
            "{way}"
        );
        std::fs::remove_file(stand.path("new.rs")).expect("removed");
        stand.pool.disk_changed(std::slice::from_ref(&now.uri));
        let found = after(&stand, &[now]).await;
        assert_eq!(
            said(&found),
            r#"["b.rs:1 new is not defined"] 1 [] 0"#,
            "{way}"
        );
    }
}

/// Who asks is told within the time, whatever the server does.
#[tokio::test]
async fn it_ends_in_time_and_says_what_is_pending() {
    let starting = json!({"capabilities": {}, "on": {"initialize": [[]]}});
    let mut silent = script("pull");
    silent["on"]["textDocument/diagnostic"] = json!([[]]);
    let mut dying = script("pull");
    dying["on"]["textDocument/diagnostic"] = json!([[{"die": 3}]]);
    let moment = Duration::from_millis(500);
    for (script, expected) in [
        (starting, r#"[] 0 ["a.rs scripted is starting"] 0"#),
        (silent, r#"[] 0 ["a.rs scripted has not finished"] 0"#),
        (dying, r#"[] 0 ["a.rs scripted died: exit status: 3"] 0"#),
    ] {
        let stand = Stand::scripted_within(script, Limits::default());
        let before = edit(&stand, "a.rs", "def f 1\n");
        let begun = Instant::now();
        let found = stand
            .pool
            .consequences(std::slice::from_ref(&before), moment, &never())
            .await;
        assert_eq!(said(&found), expected);
        assert!(begun.elapsed() < moment * 4, "{:?}", begun.elapsed());
        let cancel = never();
        cancel.cancel();
        let found = stand.pool.consequences(&[before], A_WHILE, &cancel).await;
        assert!(found.added.is_empty(), "{found:?}");
    }
    let stand = Stand::scripted(script("pull"));
    write(&stand.path("a.txt"), "text");
    let before = edit(&stand, "a.txt", "other text");
    let found = after(&stand, &[before]).await;
    assert_eq!(said(&found), "[] 0 [] 1", "no server for it");
}

/// What a `.copydeskignore` hides is not told of, though an editor has it open, by servers of ours and by the editor's.
#[tokio::test]
async fn a_hidden_file_that_is_open() {
    for way in WAYS {
        let files = [
            ("a.rs", "def f 1\n"),
            ("secret.rs", "call f 1\n"),
            (".copydeskignore", "secret.rs\n"),
        ];
        let stand = stand(way, &files).await;
        let hidden = stand.open("secret.rs", "call f 1\ncall s3cret 1\n");
        let before = edit(&stand, "a.rs", "def f 2\n");
        let found = after(&stand, &[before]).await;
        assert_eq!(said(&found), "[] 0 [] 0", "{way}");
        stand.replace("secret.rs", "f 1", "f 3");
        let found = after(&stand, &[hidden]).await;
        assert_eq!(said(&found), "[] 0 [] 0", "{way}, of itself");
    }
}

/// That nothing broke is not known where nobody could say what depends on the edit; the edited file is compared in any case.
#[tokio::test]
async fn what_depends_on_it_is_not_found() {
    let silent = |method: &str| {
        let mut script = script("pull");
        script["on"][method] = json!([[]]);
        script
    };
    let failing = json!([[{"error": {"code": -32803, "message": "it broke"}}]]);
    let mut unable = script("pull");
    unable["capabilities"]["referencesProvider"] = json!(false);
    let mut broken = script("pull");
    broken["on"]["textDocument/references"] = failing;
    let late = "what depends on the changes (scripted did not find it in time)";
    for (script, expected) in [
        (silent("textDocument/references"), late),
        (silent("textDocument/documentSymbol"), late),
        (unable, "what depends on the changes (scripted can't tell)"),
        (
            broken,
            "what depends on the changes (scripted failed to tell)",
        ),
    ] {
        let stand = Stand::scripted_within(script, Limits::default());
        write(&stand.path("a.rs"), "def f 1\n");
        write(&stand.path("b.rs"), "call f 1\n");
        stand.hover("a.rs").await.expect("answered");
        let before = edit(&stand, "a.rs", "def f 2\ncall f 1\n");
        let deadline = Duration::from_secs(6);
        let found = stand.pool.consequences(&[before], deadline, &never()).await;
        assert_eq!(
            said(&found),
            r#"["a.rs:2 f takes 2, not 1"] 0 [] 0"#,
            "{expected}"
        );
        assert_eq!(found.unlooked, [expected]);
    }
}

/// Nobody looks at everything, and what is left is said.
#[tokio::test]
async fn more_dependents_and_more_symbols_than_are_looked_at() {
    let names: Vec<String> = (0..30).map(|at| format!("b{at}.rs")).collect();
    let mut files: Vec<(&str, &str)> = names.iter().map(|n| (n.as_str(), "call f 2\n")).collect();
    files.push(("a.rs", "def f 2\n"));
    let stand = stand("pull", &files).await;
    let before = edit(&stand, "a.rs", "def f 3\n");
    let found = after(&stand, &[before]).await;
    assert_eq!((found.added.len(), found.pending.len()), (20, 0));
    assert_eq!(
        found.unlooked,
        ["10 of 30 files that depend on the changes"]
    );
    let text =
        |count: u32| -> String { (0..11).map(|at| format!("def s{at} {count}\n")).collect() };
    write(&stand.path("c.rs"), &text(1));
    let before = edit(&stand, "c.rs", &text(2));
    let found = after(&stand, &[before]).await;
    assert_eq!(
        found.unlooked,
        ["what depends on 3 more of the changed symbols"]
    );
}

/// One problem is cured and one that says the same is new, in the same step: it is told of.
#[tokio::test]
async fn a_new_problem_that_says_what_a_cured_one_said() {
    for way in WAYS {
        let files = [
            ("a.rs", "def f 2\n"),
            ("b.rs", "call f 1\ncall x 1\ncall f 2\ndef x 1\n"),
        ];
        let stand = stand(way, &files).await;
        let before = edit(&stand, "b.rs", "call f 2\ncall x 1\ncall f 1\ndef x 1\n");
        let found = after(&stand, &[before]).await;
        assert_eq!(
            said(&found),
            r#"["b.rs:3 f takes 2, not 1"] 1 [] 0"#,
            "{way}"
        );
    }
}

/// A file that has another name is gone and new: its problems are the same, and what it broke is told of.
#[tokio::test]
async fn a_file_that_is_renamed() {
    for way in WAYS {
        let stand = stand(
            way,
            &[
                ("a.rs", "def f 1\n"),
                ("b.rs", "call lost 1\ncall f 1\ncall worse 2\n"),
            ],
        )
        .await;
        let old = stand.workspace.read(&stand.uri("b.rs")).expect("readable");
        let text = "call lost 1\ncall f 2\ncall worse 2\n";
        std::fs::remove_file(stand.path("b.rs")).expect("removed");
        write(&stand.path("c.rs"), text);
        let new = Snapshot {
            uri: stand.uri("c.rs"),
            text: workspace::Text::new(""),
            ..old.clone()
        };
        stand.pool.disk_changed(&[old.uri.clone(), new.uri.clone()]);
        let found = after(&stand, &[old, new]).await;
        assert_eq!(
            said(&found),
            r#"["c.rs:2 f takes 1, not 2"] 0 [] 0"#,
            "{way}"
        );
    }
}
