//! Open buffers: no answer, no editor, no document any more, no wish any more.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::editor::{Editor, TEXT, check, edit, edit_of, refused, wait};
use crate::{ApplyError, ContentChange, Encoding, HostError, Reply};

#[tokio::test(start_paused = true)]
async fn no_editor_that_takes_edits() {
    for (host_error, text) in [
        (
            HostError::Unsupported,
            "the editor takes no edits from a server, so /nowhere/a.rs can't be changed while it is open",
        ),
        (HostError::Closed, "the connection to the editor is closed"),
    ] {
        let editor = Editor::with(TEXT);
        editor.will(move |_, _| async move { Err(host_error) });
        assert_eq!(
            editor
                .applies(edit(&editor))
                .await
                .expect_err("no way in")
                .to_string(),
            text
        );
    }
}

#[tokio::test(start_paused = true)]
async fn never_answered() {
    let editor = Editor::with(TEXT);
    editor.will(|_, _| std::future::pending());
    let error = editor.applies(edit(&editor)).await.expect_err("no answer");
    assert!(matches!(error, ApplyError::NoAnswer { .. }), "{error}");

    // But if the text comes, it stands.
    let editor = Editor::with(TEXT);
    editor.will(|editor, edit| async move {
        wait(5000).await;
        editor.puts_in(&edit);
        editor.tells();
        std::future::pending().await
    });
    check(
        &editor,
        &editor.applies(edit(&editor)).await,
        "one\nTWO!\nthree\n",
        4,
    );
}

#[tokio::test(start_paused = true)]
async fn closed_in_the_middle() {
    for answer in [None, Some(Ok(Reply::Applied)), Some(refused("closed"))] {
        let editor = Editor::with(TEXT);
        editor.will(|editor, _| async move {
            tokio::spawn(async move {
                wait(50).await;
                editor.buffers.close(&editor.uri);
            });
            match answer {
                Some(answer) => answer,
                None => std::future::pending().await,
            }
        });
        let error = editor.applies(edit(&editor)).await.expect_err("closed");
        assert!(
            matches!(error, ApplyError::ClosedMeanwhile { .. }),
            "{error}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn out_of_step() {
    let editor = Editor::with(TEXT);
    let whole = ContentChange {
        range: None,
        text: "x".to_owned(),
    };
    editor
        .buffers
        .change(&editor.uri, 0, &[whole], Encoding::Utf16)
        .expect_err("went back");
    let error = editor
        .applies(edit(&editor))
        .await
        .expect_err("nobody knows the text");
    assert!(matches!(error, ApplyError::OutOfStep { .. }), "{error}");
    assert_eq!(editor.asked.load(Ordering::SeqCst), 0);
}

#[tokio::test(start_paused = true)]
async fn nothing_to_change() {
    let editor = Editor::with(TEXT);
    let applied = editor
        .applies(editor.edit("two", "two"))
        .await
        .expect("applied");
    assert!(applied.hunks.is_empty());
    assert_eq!(applied.after.text, TEXT);
}

#[tokio::test(start_paused = true)]
async fn cancelled_before_it_was_sent() {
    let editor = Editor::with(TEXT);
    let cancel = CancellationToken::new();
    cancel.cancel();
    let error = editor
        .workspace()
        .apply(edit(&editor), "test", &cancel)
        .await
        .expect_err("cancelled");
    assert!(matches!(error, ApplyError::Cancelled), "{error}");
    assert_eq!(editor.asked.load(Ordering::SeqCst), 0);
}

#[tokio::test(start_paused = true)]
async fn cancelled_while_under_way() {
    let cancel_after = |editor: &Arc<Editor>| {
        let (cancel, workspace, edit) =
            (CancellationToken::new(), editor.workspace(), edit(editor));
        let soon = cancel.clone();
        tokio::spawn(async move {
            wait(50).await;
            soon.cancel();
        });
        async move { workspace.apply(edit, "test", &cancel).await }
    };
    // It comes in time: booked.
    let editor = Editor::with(TEXT);
    editor.will(|editor, edit| async move {
        wait(200).await;
        editor.puts_in(&edit);
        editor.tells();
        Ok(Reply::Applied)
    });
    check(
        &editor,
        &cancel_after(&editor).await,
        "one\nTWO!\nthree\n",
        4,
    );
    // It does not: not tried again.
    for (answer, longest) in [(Ok(Reply::Applied), 1000), (refused("no"), 50)] {
        let editor = Editor::with(TEXT);
        editor.will(|_, _| async { answer });
        let start = Instant::now();
        let error = cancel_after(&editor).await.expect_err("cancelled");
        assert!(matches!(error, ApplyError::Cancelled), "{error}");
        assert!(
            start.elapsed() <= Duration::from_millis(longest + 5),
            "{:?}",
            start.elapsed()
        );
    }
}

#[tokio::test(start_paused = true)]
async fn creating_what_is_open_is_an_edit() {
    let editor = Editor::with("");
    editor.will(|editor, edit| async move {
        editor.puts_in(&edit);
        editor.tells();
        Ok(Reply::Applied)
    });
    let created = editor
        .workspace()
        .create(&editor.uri, "new\n", "test", &CancellationToken::new())
        .await;
    assert_eq!(created.expect("made").after.text, "new\n");
    assert_eq!(editor.text(), "new\n");
}

/// What a door needs to know is in the edit: the positions in the client's own encoding, and the version.
#[test]
fn an_edit_tells_a_door_all() {
    let editor = Editor::with("é😀two");
    let edit = edit_of(editor.buffers.get(&editor.uri).expect("open"), "two", "2");
    assert_eq!(edit.snapshot().version, Some(1));
    let range = edit.replacements()[0].range;
    for (encoding, column) in [
        (Encoding::Utf8, 6),
        (Encoding::Utf16, 3),
        (Encoding::Utf32, 2),
    ] {
        assert_eq!(
            edit.snapshot().text.range(range, encoding).start.character,
            column
        );
    }
}
