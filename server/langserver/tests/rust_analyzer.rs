//! The real rust-analyzer over a small crate made on the spot, with text that was never saved. One long story, because
//! a start costs seconds.

mod stand;

use std::{
    path::Path,
    time::{Duration, Instant},
};

use langserver::{
    Diagnosis, Diagnostic, FileChange, Limits, Location, QueryError, ServerState, catalogue,
};
use serde_json::json;
use stand::{Stand, never, servers};
use workspace::{ByteOffset, ByteRange, Edit};

const MANIFEST: &str = "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
const LIB: &str = "//! A crate.\npub mod shapes;\n\n/// Adds up.\npub fn total(sizes: &[u32]) -> u32 {\n    sizes.iter().sum()\n}\n";
const SHAPES: &str = "use crate::total;\n\npub fn area(width: u32, height: u32) -> u32 {\n    let product = width * height;\n    total(&[product])\n}\n";
const A_MINUTE: Duration = Duration::from_secs(60);

fn small_crate() -> Stand {
    let files = [
        ("Cargo.toml", MANIFEST),
        ("src/lib.rs", LIB),
        ("src/shapes.rs", SHAPES),
    ];
    let limits = Limits {
        ready: A_MINUTE,
        answer: A_MINUTE,
        ..Limits::default()
    };
    Stand::with(&files, |_| catalogue::merged(&servers(json!({}))), limits)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_main_job_over_unsaved_text() {
    let stand = small_crate();
    break_and_cure(&stand).await;
    what_the_formatter_moves(&stand).await;
    other_files_follow_the_buffer(&stand).await;
    held_text_is_for_the_lease_alone(&stand).await;
    what_an_edit_breaks_elsewhere(&stand).await;
    the_compiler_follows_saves(&stand).await;
    killed_while_asked(&stand).await;
    let begun = Instant::now();
    stand.pool.shutdown().await;
    assert!(
        begun.elapsed() < Duration::from_secs(1),
        "{:?}",
        begun.elapsed()
    );
}

/// Files that no editor holds: what the compiler said of one while another was asked about counts, and one that was written
/// since is checked again, though nobody saves it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_compiler_on_files_that_nobody_holds_with_a_real_rust_analyzer() {
    let stand = small_crate();
    let told = async |name: &str| -> Vec<String> {
        let uri = stand.uri(name);
        let said = stand.pool.diagnostics(&uri, A_MINUTE, &never()).await;
        let Diagnosis::Fresh(found) = said else {
            panic!("not fresh: {said:?}")
        };
        assert_eq!(stand.pool.unchecked(&uri), Vec::<String>::new(), "{name}");
        found.into_iter().filter_map(|one| one.code).collect()
    };
    let unused = "pub fn more() {\n    let name = 1;\n}\n";
    let moved =
        "pub fn more() {\n    let name = String::new();\n    drop(name);\n    drop(name);\n}\n";
    let lib = format!("{LIB}pub mod more;\npub mod other;\n");
    stand::write(&stand.path("src/lib.rs"), &lib);
    stand::write(&stand.path("src/more.rs"), unused);
    stand::write(&stand.path("src/other.rs"), "");
    assert_eq!(told("src/lib.rs").await, Vec::<String>::new());
    assert_eq!(told("src/more.rs").await, ["unused_variables"]);
    stand::write(&stand.path("src/other.rs"), moved);
    assert_eq!(told("src/other.rs").await, ["E0382"]);
    stand.pool.shutdown().await;
}

/// The code is broken in the buffer alone; the server's own quick fix cures it.
async fn break_and_cure(stand: &Stand) {
    stand.open("src/shapes.rs", SHAPES);
    assert_eq!(fresh(stand, "src/shapes.rs").await, Vec::<String>::new());
    assert_eq!(stand.pool.status()[0].state, ServerState::Ready);
    stand.replace("src/shapes.rs", "height;\n", "height;\n    product += 1;\n");
    let uri = stand.uri("src/shapes.rs");
    let Diagnosis::Fresh(found) = stand.pool.diagnostics(&uri, A_MINUTE, &never()).await else {
        panic!("not fresh")
    };
    let [broken] = &found[..] else {
        panic!("{found:?}")
    };
    assert_eq!(
        (broken.code.as_deref(), broken.source.as_deref()),
        (Some("E0384"), Some("rust-analyzer"))
    );
    assert_eq!(stand.pool.known_diagnostics(&uri), found);
    let actions = stand
        .pool
        .code_actions(&uri, broken.range, &found, &never())
        .await
        .expect("answered");
    let fix = actions
        .value
        .iter()
        .find(|action| action.kind.as_deref() == Some("quickfix"))
        .expect("a quick fix");
    assert_eq!(fix.title, "Change it to be mutable");
    let edits = stand.pool.resolve(fix, &never()).await.expect("resolved");
    let [FileChange::Edit(edit)] = &edits[..] else {
        panic!("{edits:?}")
    };
    let edit = Edit::new(edit.snapshot.clone(), edit.edits.clone()).expect("an edit");
    let whole = workspace::ContentChange {
        range: None,
        text: edit.result().to_string(),
    };
    stand
        .buffers
        .change(&uri, 3, &[whole], workspace::Encoding::Utf8)
        .expect("changed");
    assert!(
        stand
            .buffers
            .get(&uri)
            .expect("open")
            .text
            .to_string()
            .contains("let mut product")
    );
    assert_eq!(fresh(stand, "src/shapes.rs").await, Vec::<String>::new());
    let on_disk = std::fs::read_to_string(stand.path("src/shapes.rs")).expect("readable");
    assert_eq!(on_disk, SHAPES, "nothing was written");
}

/// Lines that change places do so whole, whichever of them is to be formatted.
async fn what_the_formatter_moves(stand: &Stand) {
    const MOVED: [&str; 2] = ["pub mod shape;\n", "pub mod area;\n"];
    let before = stand.buffers.get(&stand.uri("src/shapes.rs"));
    let before = before.expect("open").text.to_string();
    let snapshot = stand.replace(
        "src/shapes.rs",
        &before,
        &format!("{}\n{before}", MOVED.concat()),
    );
    for line in 0..MOVED.len() {
        let range = ByteRange {
            start: snapshot.text.line_start(line),
            end: snapshot.text.line_end(line),
        };
        let answer = stand.pool.format(&snapshot, &[range], &never()).await;
        let file = answer.expect("answered").value;
        let edit = Edit::new(file.snapshot, file.edits).expect("they go together");
        let after = edit.result().to_string();
        for moved in MOVED {
            assert_eq!(after.matches(moved).count(), 1, "line {line}:\n{after}");
        }
    }
    stand.replace("src/shapes.rs", &snapshot.text.to_string(), &before);
}

/// The callee is moved and renamed in a buffer; what is asked in another file follows.
async fn other_files_follow_the_buffer(stand: &Stand) {
    stand.open("src/lib.rs", LIB);
    stand.replace(
        "src/lib.rs",
        "/// Adds up.",
        "\n\n\n\n\n\n\n\n\n\n/// Adds up. é🦀",
    );
    let shapes = stand.uri("src/shapes.rs");
    let call = |stand: &Stand| {
        let text = stand.buffers.get(&shapes).expect("open").text.to_string();
        ByteOffset(text.rfind("total").expect("a call"))
    };
    let found = stand
        .pool
        .definition(&shapes, call(stand), &never())
        .await
        .expect("answered");
    assert!(found.complete);
    assert_eq!(
        places(&found.value),
        ["lib.rs:15 pub fn total(sizes: &[u32]) -> u32 {"]
    );
    let hover = stand
        .pool
        .hover(&shapes, call(stand), &never())
        .await
        .expect("answered")
        .value
        .expect("something");
    assert!(
        hover.contains("pub fn total(sizes: &[u32]) -> u32") && hover.contains("é🦀"),
        "{hover}"
    );
    let references = stand
        .pool
        .references(&shapes, call(stand), true, &never())
        .await
        .expect("answered");
    assert_eq!(places(&references.value).len(), 3, "{:?}", references.value);

    stand.replace("src/lib.rs", "sizes: &[u32]", "sizes: &[u32], more: u32");
    let broken = fresh(stand, "src/shapes.rs").await;
    assert_eq!(broken, ["E0107 expected 2"], "too few arguments now");
    stand.replace("src/lib.rs", "fn total(", "fn sum_of(");
    let found = stand
        .pool
        .definition(&shapes, call(stand), &never())
        .await
        .expect("answered");
    assert_eq!(
        places(&found.value),
        Vec::<String>::new(),
        "nothing found is an answer"
    );
    // A document that no editor holds.
    stand.buffers.close(&stand.uri("src/lib.rs"));
    assert_eq!(fresh(stand, "src/lib.rs").await, Vec::<String>::new());
    let found = stand
        .pool
        .definition(&shapes, call(stand), &never())
        .await
        .expect("answered");
    assert_eq!(
        places(&found.value),
        ["lib.rs:5 pub fn total(sizes: &[u32]) -> u32 {"],
        "as it is on disk"
    );
}

/// A signature that changed in held text: who looks under the lease sees what that breaks, and nobody else.
async fn held_text_is_for_the_lease_alone(stand: &Stand) {
    let shapes = stand
        .buffers
        .get(&stand.uri("src/shapes.rs"))
        .expect("open");
    let lib = stand
        .workspace
        .read(&stand.uri("src/lib.rs"))
        .expect("readable");
    assert_eq!(fresh(stand, "src/shapes.rs").await, Vec::<String>::new());
    let text = LIB.replace("sizes: &[u32]", "sizes: &[u32], more: u32");
    let held = workspace::Snapshot {
        text: workspace::Text::new(&text),
        ..lib.clone()
    };
    {
        let lease = stand
            .pool
            .lease(vec![held.clone()], A_MINUTE, &never())
            .await;
        let Diagnosis::Fresh(found) = lease.diagnostics(&shapes).await else {
            panic!("not fresh")
        };
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].code.as_deref(), Some("E0107"));
        let at = ByteOffset(text.find("total").expect("a function"));
        let used = lease.references(&held, at, false).await.expect("answered");
        assert_eq!(places(&used.value).len(), 2, "{:?}", used.value);
        assert_eq!(stand.pool.known_diagnostics(&shapes.uri), []);
    }
    assert_eq!(stand.pool.known_diagnostics(&shapes.uri), []);
    assert_eq!(fresh(stand, "src/shapes.rs").await, Vec::<String>::new());
}

async fn what_an_edit_breaks_elsewhere(stand: &Stand) {
    let before = stand.open("src/lib.rs", LIB);
    stand.replace("src/lib.rs", "sizes: &[u32]", "sizes: &[u32], more: u32");
    let found = stand.pool.consequences(&[before], A_MINUTE, &never()).await;
    let [(text, broken)] = &found.added[..] else {
        panic!("{found:?}")
    };
    assert_eq!(text.uri, stand.uri("src/shapes.rs"));
    assert_eq!(broken.code.as_deref(), Some("E0107"));
    assert_eq!((found.cured, found.pending.len()), (0, 0), "{found:?}");
    stand.buffers.close(&stand.uri("src/lib.rs"));
}

/// What only the compiler finds comes after a save, and is not fresh any more when something was typed.
async fn the_compiler_follows_saves(stand: &Stand) {
    let uri = stand.uri("src/shapes.rs");
    let twice = "    let product = width * height;\n    product += 1;\n    let name = String::new();\n    drop(name);\n    drop(name);\n";
    let broken = SHAPES.replacen("    let product = width * height;\n", twice, 1);
    let whole = workspace::ContentChange {
        range: None,
        text: broken.clone(),
    };
    stand
        .buffers
        .change(&uri, 10, &[whole], workspace::Encoding::Utf8)
        .expect("changed");
    assert!(
        fresh(stand, "src/shapes.rs")
            .await
            .iter()
            .all(|one| one.starts_with("E0384")),
        "E0382 is the compiler's"
    );
    stand::write(Path::new(uri.path().expect("a path")), &broken);
    stand.buffers.save(&uri, None);
    let begun = Instant::now();
    let of_both = loop {
        if stand.pool.unchecked(&uri).is_empty() {
            break fresh(stand, "src/shapes.rs").await;
        }
        assert!(begun.elapsed() < A_MINUTE, "the compiler says nothing");
        // Each question is a message to the server and back, so this does not spin.
        stand
            .pool
            .hover(&uri, ByteOffset(0), &never())
            .await
            .expect("answered");
    };
    let count =
        |found: &[String], code: &str| found.iter().filter(|one| one.starts_with(code)).count();
    assert_eq!(
        (count(&of_both, "E0384"), count(&of_both, "E0382")),
        (1, 1),
        "each once: {of_both:?}"
    );
    assert!(
        stand.path("target/copydesk").is_dir(),
        "its own target folder"
    );

    stand.replace("src/shapes.rs", "use crate", "\n\nuse crate");
    assert_eq!(
        stand.pool.unchecked(&uri),
        ["rustc", "clippy"],
        "typed since"
    );
    let unsaved = fresh(stand, "src/shapes.rs").await;
    assert_eq!(
        (count(&unsaved, "E0384"), count(&unsaved, "E0382")),
        (1, 0),
        "{unsaved:?}"
    );
    let known: Vec<Diagnostic> = stand.pool.known_diagnostics(&uri);
    let moved = known
        .iter()
        .find(|one| one.code.as_deref() == Some("E0382"))
        .expect("still known");
    let text = stand.buffers.get(&uri).expect("open").text;
    assert_eq!(text.slice(moved.range), "name", "moved with the text");
}

async fn killed_while_asked(stand: &Stand) {
    let uri = stand.uri("src/shapes.rs");
    let pid = stand.pool.status()[0].pid.expect("it runs");
    let (pool, asked) = (stand.pool.clone(), uri.clone());
    let cancel = never();
    // A text that it has to think about, so that the question is under way when it dies.
    stand.replace("src/shapes.rs", "use crate", "//\nuse crate");
    let waiting = tokio::spawn(async move { pool.diagnostics(&asked, A_MINUTE, &cancel).await });
    kill(pid);
    match waiting.await.expect("no panic") {
        Diagnosis::Unavailable(reason) => assert!(reason.contains("SIGKILL"), "{reason}"),
        // It was quicker.
        Diagnosis::Fresh(_) => {}
        Diagnosis::Pending(found) => panic!("{found:?}"),
    }
    let at = ByteRange::new(0, 0);
    let again = stand.pool.code_actions(&uri, at, &[], &never()).await;
    match again {
        Ok(_) => {}
        // It was not yet known to be dead when this was asked.
        Err(QueryError::Died { .. }) => {
            stand
                .pool
                .code_actions(&uri, at, &[], &never())
                .await
                .expect("a new one");
        }
        Err(error) => panic!("{error}"),
    }
    assert_ne!(stand.pool.status()[0].pid, Some(pid));
}

fn kill(pid: u32) {
    let status = std::process::Command::new("kill")
        .args(["-9", &pid.to_string()])
        .status()
        .expect("kill");
    assert!(status.success());
}

/// The fresh diagnostics of a document: code and the beginning of the message.
async fn fresh(stand: &Stand, name: &str) -> Vec<String> {
    match stand
        .pool
        .diagnostics(&stand.uri(name), A_MINUTE, &never())
        .await
    {
        Diagnosis::Fresh(found) => found
            .iter()
            .map(|one| {
                let words: Vec<&str> = one.message.split_whitespace().take(2).collect();
                format!("{} {}", one.code.as_deref().unwrap_or("-"), words.join(" "))
            })
            .collect(),
        other => panic!("{other:?}"),
    }
}

/// `file:line text`, lines counted from 1.
fn places(found: &[Location]) -> Vec<String> {
    found
        .iter()
        .map(|place| {
            let name = place
                .snapshot
                .uri
                .path()
                .and_then(Path::file_name)
                .expect("a name")
                .to_string_lossy();
            let line = place
                .snapshot
                .text
                .position(place.range.start, workspace::Encoding::Utf8)
                .line as usize;
            format!(
                "{name}:{} {}",
                line + 1,
                place.snapshot.text.line(line).expect("a line")
            )
        })
        .collect()
}
