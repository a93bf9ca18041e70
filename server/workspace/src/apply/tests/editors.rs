//! Open buffers, in every editor's way.

use std::{sync::atomic::Ordering, time::Duration};

use tokio::time::Instant;

use super::editor::{Editor, TEXT, check, edit, refused, wait};
use crate::{ApplyError, ByteRange, Edit, HostError, Replacement, Reply};

#[tokio::test(start_paused = true)]
async fn told_before_the_answer() {
    let editor = Editor::with(TEXT);
    editor.will(|editor, edit| async move {
        editor.puts_in(&edit);
        editor.tells();
        wait(20).await;
        Ok(Reply::Applied)
    });
    let applied = editor.applies(edit(&editor)).await;
    check(&editor, &applied, "one\nTWO!\nthree\n", 4);
    assert_eq!(applied.expect("applied").before.text, TEXT);
}

#[tokio::test(start_paused = true)]
async fn told_after_the_answer() {
    for delay in [0, 1, 150, 900] {
        let editor = Editor::with(TEXT);
        editor.will(move |editor, edit| async move {
            editor.puts_in(&edit);
            tokio::spawn(async move {
                wait(delay).await;
                editor.tells();
            });
            Ok(Reply::Applied)
        });
        check(
            &editor,
            &editor.applies(edit(&editor)).await,
            "one\nTWO!\nthree\n",
            4,
        );
    }
}

#[tokio::test(start_paused = true)]
async fn told_as_a_whole_text() {
    let editor = Editor::with(TEXT);
    editor.will(|editor, edit| async move {
        editor.puts_in(&edit);
        editor.tells_all();
        Ok(Reply::Applied)
    });
    check(
        &editor,
        &editor.applies(edit(&editor)).await,
        "one\nTWO!\nthree\n",
        4,
    );
}

/// Neovim: what comes back is another insertion than what was sent, with the same result.
#[tokio::test(start_paused = true)]
async fn told_by_another_change_than_was_sent() {
    let editor = Editor::with("AGENT1 AGENT3\n");
    editor.will(|editor, edit| async move {
        editor.puts_in(&edit);
        editor.tells();
        Ok(Reply::Applied)
    });
    let newest = editor.buffers.get(&editor.uri).expect("open");
    let insertion = Replacement {
        range: ByteRange::new(7, 7),
        text: "AGENT2 ".to_owned(),
    };
    let applied = editor
        .applies(Edit::new(newest, vec![insertion]).expect("an edit"))
        .await
        .expect("applied");
    assert_eq!(applied.after.text, "AGENT1 AGENT2 AGENT3\n");
    assert_eq!(applied.hunks[0].added, "AGENT2 ");
    assert_eq!(applied.after.text.slice(applied.hunks[0].range), "AGENT2 ");
}

/// Neovim: the edit and what was typed after it come as one change, 150 ms after the answer.
#[tokio::test(start_paused = true)]
async fn told_together_with_typing() {
    for (typed_over, typed, merged, at) in [
        ("one", "zero one", "zero one\nTWO!\nthree\n", 9),
        ("three", "three\nfour", "one\nTWO!\nthree\nfour\n", 4),
        ("TWO!", "TWO!?", "one\nTWO!?\nthree\n", 4),
        ("TWO!", "x TWO!", "one\nx TWO!\nthree\n", 6),
    ] {
        let editor = Editor::with(TEXT);
        editor.will(move |editor, edit| async move {
            editor.puts_in(&edit);
            editor.types(typed_over, typed);
            tokio::spawn(async move {
                wait(150).await;
                editor.tells();
            });
            Ok(Reply::Applied)
        });
        check(&editor, &editor.applies(edit(&editor)).await, merged, at);
    }
}

#[tokio::test(start_paused = true)]
async fn told_piece_by_piece() {
    let editor = Editor::with(TEXT);
    editor.will(|editor, edit| async move {
        let newest = edit.snapshot().clone();
        for replacement in edit.replacements().iter().rev() {
            editor.puts_in(&Edit::new(newest.clone(), vec![replacement.clone()]).expect("an edit"));
            editor.tells();
            wait(30).await;
        }
        Ok(Reply::Applied)
    });
    let newest = editor.buffers.get(&editor.uri).expect("open");
    let replacements = [(0, 3, "1"), (8, 13, "3")].map(|(start, end, text)| Replacement {
        range: ByteRange::new(start, end),
        text: text.to_owned(),
    });
    let applied = editor
        .applies(Edit::new(newest, replacements.into()).expect("an edit"))
        .await
        .expect("applied");
    assert_eq!(applied.after.text, "1\ntwo\n3\n");
    assert_eq!(
        applied
            .hunks
            .iter()
            .map(|hunk| hunk.range.start.0)
            .collect::<Vec<_>>(),
        [0, 6]
    );
}

/// Neovim: a newer buffer skips the edit and says that it applied it.
#[tokio::test(start_paused = true)]
async fn skipped_though_it_says_applied() {
    let editor = Editor::with(TEXT);
    editor.types("one", "zero\none");
    editor
        .will(|editor, edit| async move {
            assert!(!editor.is_current(&edit));
            tokio::spawn(async move {
                wait(100).await;
                editor.tells();
            });
            Ok(Reply::Applied)
        })
        .will(|editor, edit| async move {
            assert!(
                editor.is_current(&edit),
                "the edit was rebased on what was typed"
            );
            editor.puts_in(&edit);
            editor.tells();
            Ok(Reply::Applied)
        });
    let start = Instant::now();
    let applied = editor.applies(edit(&editor)).await;
    check(&editor, &applied, "zero\none\nTWO!\nthree\n", 9);
    assert_eq!(
        start.elapsed(),
        Duration::from_secs(1),
        "the text had a second to come"
    );
    assert_eq!(
        applied.expect("applied").before.text,
        "zero\none\ntwo\nthree\n"
    );
}

#[tokio::test(start_paused = true)]
async fn skipped_every_time() {
    let editor = Editor::with(TEXT);
    for _ in 0..3 {
        editor.will(|_, _| async { Ok(Reply::Applied) });
    }
    let error = editor
        .applies(edit(&editor))
        .await
        .expect_err("never applied");
    assert!(
        matches!(error, ApplyError::NotApplied { attempts: 3, .. }),
        "{error}"
    );
    assert_eq!(editor.text(), TEXT);
}

/// The first attempt's text comes while the second is under way: it is booked, and not made twice.
#[tokio::test(start_paused = true)]
async fn a_late_echo_is_booked_and_not_repeated() {
    for second_answer in [
        Ok(Reply::Applied),
        refused("the document was changed"),
        Err(HostError::Failed("stale".into())),
    ] {
        let editor = Editor::with(TEXT);
        editor
            .will(|editor, edit| async move {
                editor.puts_in(&edit);
                tokio::spawn(async move {
                    wait(1200).await;
                    editor.types("one", "one and a half");
                    editor.tells();
                });
                Ok(Reply::Applied)
            })
            .will(|editor, edit| async move {
                assert!(
                    !editor.is_current(&edit),
                    "the editor has the edit already, and refuses"
                );
                wait(100).await;
                second_answer
            });
        check(
            &editor,
            &editor.applies(edit(&editor)).await,
            "one and a half\nTWO!\nthree\n",
            15,
        );
        assert_eq!(editor.asked.load(Ordering::SeqCst), 2);
    }
}

/// VS Code, Helix, lsp-mode, and by an error eglot: what was typed makes the edit stale, and it is refused.
#[tokio::test(start_paused = true)]
async fn refused_because_of_typing() {
    for answer in [
        Ok(Reply::Refused { reason: None }),
        refused("version mismatch"),
        Err(HostError::Failed("Invalid version".to_owned())),
    ] {
        // The change is told before the answer, with it, and after it.
        for (before, after) in [(10, 0), (0, 0), (0, 200)] {
            let (editor, answer) = (Editor::with(TEXT), answer.clone());
            editor.types("three", "three!");
            editor
                .will(move |editor, _| async move {
                    if before > 0 {
                        editor.tells();
                        wait(before).await;
                    } else {
                        tokio::spawn(async move {
                            wait(after).await;
                            editor.tells();
                        });
                    }
                    answer
                })
                .will(|editor, edit| async move {
                    assert!(editor.is_current(&edit));
                    editor.puts_in(&edit);
                    editor.tells();
                    Ok(Reply::Applied)
                });
            check(
                &editor,
                &editor.applies(edit(&editor)).await,
                "one\nTWO!\nthree!\n",
                4,
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn refused_for_good() {
    for (answer, reason) in [
        (refused("read only"), Some("read only")),
        (Ok(Reply::Refused { reason: None }), None),
        (
            Err(HostError::Failed("no such buffer".to_owned())),
            Some("no such buffer"),
        ),
    ] {
        let editor = Editor::with(TEXT);
        editor.will(move |_, _| async move { answer });
        let start = Instant::now();
        let error = editor.applies(edit(&editor)).await.expect_err("refused");
        assert!(
            matches!(&error, ApplyError::Refused { reason: told, .. } if told.as_deref() == reason),
            "{error}"
        );
        assert_eq!(editor.asked.load(Ordering::SeqCst), 1);
        assert!(start.elapsed() <= Duration::from_millis(300));
    }
}

#[tokio::test(start_paused = true)]
async fn refused_as_long_as_someone_types() {
    let editor = Editor::with(TEXT);
    for _ in 0..8 {
        editor.will(|editor, _| async move {
            editor.types("three", "three and three");
            editor.tells();
            refused("stale")
        });
    }
    let error = editor.applies(edit(&editor)).await.expect_err("refused");
    assert!(matches!(error, ApplyError::Refused { .. }), "{error}");
}

/// It says no and does it all the same: the text counts.
#[tokio::test(start_paused = true)]
async fn applied_though_it_says_refused() {
    let editor = Editor::with(TEXT);
    editor.will(|editor, edit| async move {
        editor.puts_in(&edit);
        tokio::spawn(async move { editor.tells() });
        refused("no")
    });
    check(
        &editor,
        &editor.applies(edit(&editor)).await,
        "one\nTWO!\nthree\n",
        4,
    );
}

#[tokio::test(start_paused = true)]
async fn typed_in_the_same_place() {
    // Told before anything was sent.
    let editor = Editor::with(TEXT);
    let stale = edit(&editor);
    editor.types("two", "twofold");
    editor.types("fold", " fold");
    editor.types("two fold", "2");
    editor.tells();
    let error = editor.applies(stale).await.expect_err("in the same place");
    let ApplyError::Conflict { fresh, region, .. } = &error else {
        panic!("{error}")
    };
    assert_eq!(
        (fresh.text.to_string().as_str(), *region),
        ("one\n2\nthree\n", ByteRange::new(4, 7))
    );
    assert_eq!(editor.asked.load(Ordering::SeqCst), 0);

    // Told while it was under way; the editor refused it, or skipped it.
    for answer in [refused("stale"), Ok(Reply::Applied)] {
        let editor = Editor::with(TEXT);
        editor.types("two", "2");
        editor.will(|editor, _| async move {
            editor.tells();
            answer
        });
        let error = editor
            .applies(edit(&editor))
            .await
            .expect_err("in the same place");
        let ApplyError::Conflict { fresh, .. } = &error else {
            panic!("{error}")
        };
        assert_eq!(fresh.text, "one\n2\nthree\n");
        assert_eq!(editor.text(), "one\n2\nthree\n");
    }
}

/// kak-lsp: a stale edit is put in by its old lines and columns.
#[tokio::test(start_paused = true)]
async fn put_in_the_wrong_place() {
    for told_apart in [true, false] {
        let editor = Editor::with(TEXT);
        editor.types("one", "zero\none");
        editor.will(move |editor, edit| async move {
            if told_apart {
                editor.tells_all();
            }
            editor.puts_in(&edit);
            editor.tells_all();
            Ok(Reply::Applied)
        });
        let error = editor.applies(edit(&editor)).await.expect_err("damaged");
        let ApplyError::Misapplied { meant, fresh, .. } = &error else {
            panic!("{error}")
        };
        assert_eq!(*meant, "one\nTWO!\nthree\n");
        assert_eq!(fresh.text, "zero\nTWO!\ntwo\nthree\n");
        assert_eq!(
            editor.asked.load(Ordering::SeqCst),
            1,
            "it is not made worse"
        );
    }
}

/// kak-lsp again, where only the lines and columns can tell.
#[tokio::test(start_paused = true)]
async fn the_wrong_thing_deleted() {
    let editor = Editor::with(TEXT);
    editor.types("one", "zero\none");
    editor.will(|editor, edit| async move {
        editor.tells_all();
        editor.puts_in(&edit);
        editor.tells_all();
        Ok(Reply::Applied)
    });
    let error = editor
        .applies(editor.edit("two\n", ""))
        .await
        .expect_err("damaged");
    assert!(matches!(error, ApplyError::Misapplied { .. }), "{error}");
    assert_eq!(editor.text(), "zero\ntwo\nthree\n");
}

/// A stale edit that hits the right place all the same is none.
#[tokio::test(start_paused = true)]
async fn stale_but_right() {
    let editor = Editor::with(TEXT);
    editor.types("three", "3");
    editor.will(|editor, edit| async move {
        editor.puts_in(&edit);
        editor.tells_all();
        Ok(Reply::Applied)
    });
    check(
        &editor,
        &editor.applies(edit(&editor)).await,
        "one\nTWO!\n3\n",
        4,
    );
}
