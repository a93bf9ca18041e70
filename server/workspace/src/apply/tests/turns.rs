//! One edit under way in a document.

use std::sync::{Arc, atomic::Ordering};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::editor::{Editor, wait};
use crate::{ApplyError, Reply};

/// An editor that takes its time, and would be caught with two edits at once.
fn slow(edits: usize) -> Arc<Editor> {
    let editor = Editor::with("one\ntwo\nthree\nfour\nfive\n");
    for _ in 0..edits {
        editor.will(|editor, edit| async move {
            assert!(editor.is_current(&edit));
            wait(100).await;
            editor.puts_in(&edit);
            wait(100).await;
            editor.tells();
            wait(100).await;
            Ok(Reply::Applied)
        });
    }
    editor
}

#[tokio::test(start_paused = true)]
async fn edits_of_one_document_wait_for_each_other() {
    let editor = slow(5);
    let workspace = editor.workspace();
    let edits =
        ["one", "two", "three", "four", "five"].map(|word| editor.edit(word, &word.to_uppercase()));
    let tasks: Vec<_> = edits
        .into_iter()
        .map(|edit| {
            let workspace = workspace.clone();
            tokio::spawn(async move {
                workspace
                    .apply(edit, "test", &CancellationToken::new())
                    .await
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("no panic").expect("applied");
    }
    assert_eq!(editor.text(), "ONE\nTWO\nTHREE\nFOUR\nFIVE\n");
}

#[tokio::test(start_paused = true)]
async fn who_waits_can_be_cancelled() {
    let editor = slow(1);
    let workspace = editor.workspace();
    let first = {
        let (workspace, edit) = (workspace.clone(), editor.edit("one", "1"));
        tokio::spawn(async move {
            workspace
                .apply(edit, "test", &CancellationToken::new())
                .await
        })
    };
    wait(10).await;
    let cancel = CancellationToken::new();
    let second = workspace.apply(editor.edit("two", "2"), "test", &cancel);
    let error = tokio::join!(second, async {
        wait(10).await;
        cancel.cancel();
    })
    .0
    .expect_err("cancelled");
    assert!(matches!(error, ApplyError::Cancelled), "{error}");
    first.await.expect("no panic").expect("applied");
    assert_eq!(editor.text(), "1\ntwo\nthree\nfour\nfive\n");
}

/// Whoever asked may go away: the edit is under way all the same, and the next one waits for it.
#[tokio::test(start_paused = true)]
async fn a_dropped_edit_keeps_its_turn() {
    let editor = slow(2);
    let workspace = editor.workspace();
    let gone = {
        let (workspace, edit) = (workspace.clone(), editor.edit("one", "1"));
        tokio::spawn(async move {
            workspace
                .apply(edit, "test", &CancellationToken::new())
                .await
                .map(drop)
        })
    };
    wait(10).await;
    assert_eq!(editor.asked.load(Ordering::SeqCst), 1);
    gone.abort();
    workspace
        .apply(editor.edit("two", "2"), "test", &CancellationToken::new())
        .await
        .expect("applied");
    assert_eq!(editor.text(), "1\n2\nthree\nfour\nfive\n");
}

#[tokio::test]
async fn a_door_that_panics_takes_nobody_along() {
    let editor = Editor::with("one");
    let reached = Arc::new(Notify::new());
    let note = reached.clone();
    editor.will(move |_, _| async move {
        note.notify_one();
        panic!("a bad door (this is part of the test)")
    });
    let (workspace, edit) = (editor.workspace(), editor.edit("one", "1"));
    let task = tokio::spawn(async move {
        workspace
            .apply(edit, "test", &CancellationToken::new())
            .await
            .map(drop)
    });
    reached.notified().await;
    assert!(task.await.expect_err("it panicked").is_panic());
    assert_eq!(editor.buffers.get(&editor.uri).expect("open").text, "one");
}
