//! Files that no editor has open, or not yet.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, atomic::Ordering},
};

use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::editor::{Editor, edit_of};
use crate::{
    Applied, ApplyError, DocumentUri, Edit, Listener, Origin, ReadError, Replacement, Reply,
    Snapshot, WriteError,
};

/// A file in a folder of its own, and an editor that does not have it open.
fn file(name: &str, content: &str) -> (TempDir, PathBuf, Arc<Editor>) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(name);
    if !content.is_empty() {
        fs::write(&path, content).expect("a file");
    }
    let editor = Editor::without(DocumentUri::from_path(&path).expect("absolute"));
    (folder, path, editor)
}

fn on_disk(path: &Path) -> String {
    fs::read_to_string(path).expect("a file")
}

/// The edit against what is on disk now.
fn edit(editor: &Arc<Editor>, old: &str, new: &str) -> Edit {
    edit_of(
        editor.workspace().read(&editor.uri).expect("a file"),
        old,
        new,
    )
}

async fn create(editor: &Arc<Editor>, content: &str) -> Result<Applied, ApplyError> {
    editor
        .workspace()
        .create(&editor.uri, content, "test", &CancellationToken::new())
        .await
}

#[tokio::test]
async fn an_unopened_file_is_written() {
    let (_folder, path, editor) = file("a.rs", "\u{feff}one\r\ntwo");
    let applied = editor
        .applies(edit(&editor, "two", "2"))
        .await
        .expect("applied");
    assert_eq!(on_disk(&path), "\u{feff}one\r\n2");
    assert_eq!(applied.after.text, "one\r\n2");
    assert!(
        matches!(applied.after.origin, Origin::Disk(form) if form.bom && form.modified.is_some())
    );
    assert_eq!(
        (
            applied.hunks[0].removed.as_str(),
            applied.hunks[0].added.as_str()
        ),
        ("two", "2")
    );
    assert_eq!(editor.asked.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_file_that_changed_elsewhere_keeps_both() {
    let (_folder, path, editor) = file("a.rs", "one\ntwo\nthree\n");
    let stale = edit(&editor, "two", "2");
    fs::write(&path, "zero\none\ntwo\nthree\n").expect("written");
    editor.applies(stale).await.expect("applied");
    assert_eq!(on_disk(&path), "zero\none\n2\nthree\n");
}

#[tokio::test]
async fn a_file_that_changed_in_the_same_place_is_left_alone() {
    let (_folder, path, editor) = file("a.rs", "one\ntwo\nthree\n");
    let stale = edit(&editor, "two", "2");
    fs::write(&path, "one\ntvo\nthree\n").expect("written");
    let error = editor.applies(stale).await.expect_err("in the same place");
    let ApplyError::Conflict { fresh, .. } = &error else {
        panic!("{error}")
    };
    assert_eq!(fresh.text, "one\ntvo\nthree\n");
    assert_eq!(on_disk(&path), "one\ntvo\nthree\n");
}

#[tokio::test]
async fn a_file_that_was_opened_meanwhile_is_edited_in_its_buffer() {
    let (_folder, path, editor) = file("a.rs", "one\ntwo\n");
    let from_disk = edit(&editor, "two", "2");
    editor.open("one!\ntwo\n");
    editor.will(|editor, edit| async move {
        editor.puts_in(&edit);
        editor.tells();
        Ok(Reply::Applied)
    });
    let applied = editor.applies(from_disk).await.expect("applied");
    assert!(applied.after.is_unsaved());
    assert_eq!(
        (editor.text().as_str(), on_disk(&path).as_str()),
        ("one!\n2\n", "one\ntwo\n")
    );
}

#[tokio::test]
async fn a_file_that_was_closed_meanwhile_is_edited_on_disk() {
    let (_folder, path, editor) = file("a.rs", "one\ntwo\n");
    editor.open("one!\ntwo\n");
    let from_buffer = editor.edit("two", "2");
    editor.buffers.close(&editor.uri);
    editor.applies(from_buffer).await.expect("applied");
    assert_eq!(
        on_disk(&path),
        "one\n2\n",
        "what was not saved was thrown away by the user, not by us"
    );
}

#[tokio::test]
async fn what_is_open_and_unsaved_is_never_written() {
    let (_folder, path, editor) = file("a.rs", "old\n");
    editor.open("old\n");
    editor.types("old", "typed");
    editor.tells();
    for (answer, applies) in [
        (Reply::Applied, true),
        (Reply::Refused { reason: None }, false),
    ] {
        editor.will(move |editor, edit| async move {
            if applies {
                editor.puts_in(&edit);
                editor.tells();
            }
            Ok(answer)
        });
        let _ = editor.applies(editor.edit("typed", "typed by both")).await;
        let _ = create(&editor, &editor.text()).await;
        assert_eq!(on_disk(&path), "old\n");
    }
    assert_eq!(editor.text(), "typed by both\n");
}

#[tokio::test]
async fn neither_open_nor_a_file() {
    for name in ["untitled:Untitled-1", "file:///nowhere/at/all.rs"] {
        let editor = Editor::without(DocumentUri::parse(name).expect("a URI"));
        editor.open("one");
        let edit = editor.edit("one", "two");
        editor.buffers.close(&editor.uri);
        let error = editor.applies(edit).await.expect_err("nowhere to go");
        assert!(matches!(error, ApplyError::Read(_)), "{error}");
    }
    let untitled = Editor::without(DocumentUri::parse("untitled:1").expect("a URI"));
    assert!(matches!(
        create(&untitled, "x").await,
        Err(ApplyError::Read(_))
    ));
}

#[tokio::test]
async fn a_file_is_made_with_its_folders() {
    let (_folder, path, editor) = file("deep/er/a.rs", "");
    let applied = create(&editor, "fn main() {}\n").await.expect("made");
    assert_eq!(on_disk(&path), "fn main() {}\n");
    assert_eq!(
        (applied.before.text.len(), applied.hunks[0].added.as_str()),
        (0, "fn main() {}\n")
    );
    let error = create(&editor, "other").await.expect_err("it is there");
    assert!(
        matches!(error, ApplyError::Disk(WriteError::Exists { .. })),
        "{error}"
    );
    assert_eq!(on_disk(&path), "fn main() {}\n");
}

#[tokio::test]
async fn an_empty_file_and_one_with_a_mark() {
    let (_folder, path, editor) = file("a.txt", "");
    assert!(create(&editor, "").await.expect("made").hunks.is_empty());
    assert_eq!(on_disk(&path), "");
    let (_folder, path, editor) = file("a.txt", "");
    let applied = create(&editor, "\u{feff}x").await.expect("made");
    assert_eq!(
        (
            on_disk(&path).as_str(),
            applied.after.text.to_string().as_str()
        ),
        ("\u{feff}x", "x")
    );
}

#[tokio::test]
async fn cancelled_before_it_was_written() {
    let (_folder, path, editor) = file("a.rs", "one\n");
    let cancel = CancellationToken::new();
    cancel.cancel();
    let (workspace, edit) = (editor.workspace(), edit(&editor, "one", "1"));
    assert!(matches!(
        workspace.apply(edit, "test", &cancel).await,
        Err(ApplyError::Cancelled)
    ));
    assert!(matches!(
        workspace.create(&editor.uri, "x", "test", &cancel).await,
        Err(ApplyError::Cancelled)
    ));
    assert_eq!(on_disk(&path), "one\n");
}

/// Two replacements, and what a listener sees of a file that no editor has: nothing.
#[tokio::test]
async fn listeners_hear_of_buffers_only() {
    struct Deaf;
    impl Listener for Deaf {
        fn opened(&self, _: &Snapshot) {
            panic!("nothing is open");
        }
        fn changed(&self, _: &Snapshot, _: &Snapshot, _: &[Replacement]) {
            panic!("nothing is open");
        }
        fn saved(&self, _: &Snapshot) {
            panic!("nothing is open");
        }
        fn closed(&self, _: &Snapshot) {
            panic!("nothing is open");
        }
    }
    let (_folder, path, editor) = file("a.rs", "one two three");
    editor.buffers.listen(Arc::new(Deaf));
    let snapshot = editor.workspace().read(&editor.uri).expect("a file");
    let replacements = [(0, 3, "1"), (8, 13, "3")].map(|(start, end, text)| Replacement {
        range: crate::ByteRange::new(start, end),
        text: text.to_owned(),
    });
    let applied = editor
        .applies(Edit::new(snapshot, replacements.into()).expect("an edit"))
        .await
        .expect("applied");
    assert_eq!(on_disk(&path), "1 two 3");
    assert_eq!(
        applied
            .hunks
            .iter()
            .map(|hunk| hunk.range)
            .collect::<Vec<_>>(),
        [(0..1).into(), (6..7).into()]
    );
}

/// A language server's action names files that no call did.
#[tokio::test]
async fn what_is_kept_from_the_model_is_not_changed_for_it() {
    let (folder, path, editor) = file("a.key", "one\ntwo\n");
    let seen = edit(&editor, "two", "2");
    let rules = folder.path().join(".copydeskignore");
    fs::write(&rules, "*.key\n").expect("a file");
    let hidden = |result: Result<Applied, ApplyError>| {
        let error = result.expect_err("hidden");
        assert!(
            matches!(error, ApplyError::Read(ReadError::Hidden { .. })),
            "{error}"
        );
    };
    hidden(editor.applies(seen.clone()).await);
    assert_eq!(on_disk(&path), "one\ntwo\n");
    editor.open("one\ntwo\n");
    hidden(editor.applies(seen).await);
    assert_eq!(editor.asked.load(Ordering::SeqCst), 0);

    let new = Editor::without(DocumentUri::from_path(&folder.path().join("b.key")).expect("a uri"));
    hidden(create(&new, "x").await);
    assert!(!folder.path().join("b.key").exists());
}

/// Whoever may change the rules may read everything.
#[tokio::test]
async fn the_rules_are_a_persons_to_change() {
    let (folder, path, editor) = file(".copydeskignore", "*.key\n");
    let result = editor.applies(edit(&editor, "*.key\n", "")).await;
    let error = result.expect_err("the rules");
    assert!(matches!(error, ApplyError::Rules { .. }), "{error}");
    assert_eq!(on_disk(&path), "*.key\n");

    let nearer = folder.path().join("a/.copydeskignore");
    let nearer = Editor::without(DocumentUri::from_path(&nearer).expect("a uri"));
    let error = create(&nearer, "!*.key\n").await.expect_err("the rules");
    assert!(matches!(error, ApplyError::Rules { .. }), "{error}");
    assert!(!folder.path().join("a").exists());
}
