//! Somebody types fast while an edit is under way whose texts are there already, or lie among many that are the same.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tokio::sync::Notify;

use super::{
    super::judge::{Attempt, Judged, judge},
    editor::{Editor, refused, wait},
};
use crate::{ApplyError, ByteRange, Edit, Replacement, Reply};

const LINE: &str = "foo();\n";
const LINES: usize = 200;

/// Every `old` of what the server knows becomes `new`.
fn renaming(editor: &Editor, old: &str, new: &str) -> Edit {
    let snapshot = editor.buffers.get(&editor.uri).expect("open");
    let text = snapshot.text.to_string();
    let replacement = |(at, _): (usize, &str)| Replacement {
        range: ByteRange::new(at, at + old.len()),
        text: new.to_owned(),
    };
    let replacements = text.match_indices(old).map(replacement).collect();
    Edit::new(snapshot, replacements).expect("an edit")
}

/// Of two hundred same lines, this one becomes another.
fn one_of_many(editor: &Editor, line: usize) -> Edit {
    let snapshot = editor.buffers.get(&editor.uri).expect("open");
    let at = line * LINE.len();
    let replacement = Replacement {
        range: ByteRange::new(at, at + 3),
        text: "bar".to_owned(),
    };
    Edit::new(snapshot, vec![replacement]).expect("an edit")
}

/// Which of the lines are no longer what they were.
fn others(text: &str) -> Vec<(usize, &str)> {
    let lines = text.lines().enumerate();
    lines.filter(|(_, line)| *line != LINE.trim_end()).collect()
}

/// The texts leave it in doubt which of the same lines is which; what was told step by step does not.
#[tokio::test(start_paused = true)]
async fn typed_elsewhere_among_lines_that_are_all_the_same() {
    for tells_all in [false, true] {
        for (stale_refused, typed) in [
            // Letters at the ends of two lines.
            (false, &[(5, "x"), (150, "y")][..]),
            (true, &[(5, "x"), (150, "y")]),
            // A line more above and one more below, of the same words, as they are typed.
            (
                false,
                &[
                    (5, "\n"),
                    (6, "foo"),
                    (6, "();"),
                    (150, "\n"),
                    (151, "foo();"),
                ],
            ),
            (
                true,
                &[
                    (5, "\n"),
                    (6, "foo"),
                    (6, "();"),
                    (150, "\n"),
                    (151, "foo();"),
                ],
            ),
        ] {
            let editor = Editor::with(&LINE.repeat(LINES));
            let edit = one_of_many(&editor, 100);
            let types = move |editor: &Editor| {
                for (line, text) in typed {
                    let all = editor.text();
                    let before: usize = all.split_inclusive('\n').take(*line).map(str::len).sum();
                    let end = before + all[before..].find('\n').expect("a line");
                    editor.types_at(end, 0, text);
                    if tells_all {
                        editor.tells_all();
                    } else {
                        editor.tells();
                    }
                }
            };
            if stale_refused {
                // It comes to the editor when that has moved on.
                editor.will(move |editor, _| async move {
                    types(&editor);
                    refused("stale")
                });
            } else {
                types(&editor);
            }
            editor.will(|editor, edit| async move {
                assert!(editor.is_current(&edit));
                editor.puts_in(&edit);
                editor.tells();
                Ok(Reply::Applied)
            });
            let applied = editor.applies(edit).await.expect("applied");
            assert_eq!(applied.hunks[0].removed, "foo");
            let text = editor.text();
            let expected: &[_] = match typed.len() {
                2 => &[(5, "foo();x"), (100, "bar();"), (150, "foo();y")],
                _ => &[(101, "bar();")],
            };
            assert_eq!(others(&text), expected, "{typed:?}");
        }
    }
}

/// The editor puts a stale edit in where it belongs, though its user typed above and below: it stands, once.
#[tokio::test(start_paused = true)]
async fn made_among_lines_that_are_all_the_same_while_somebody_types() {
    let editor = Editor::with(&LINE.repeat(LINES));
    let edit = one_of_many(&editor, 100);
    editor.will(|editor, edit| async move {
        for at in [5, 150] {
            editor.types_at(at * LINE.len() + 5, 1, ",");
            editor.tells();
        }
        editor.puts_in(&edit);
        editor.tells();
        wait(10).await;
        Ok(Reply::Applied)
    });
    let applied = editor.applies(edit).await.expect("applied");
    assert_eq!(applied.after.text, editor.text());
    assert_eq!(editor.asked.load(Ordering::SeqCst), 1);
    let expected = [(5, "foo(),"), (100, "bar();"), (150, "foo(),")];
    assert_eq!(others(&editor.text()), expected);
}

/// A name that is there already is given to another in four hundred places. As long as the places are as they were, no
/// text that comes needs to be compared.
#[test]
fn that_an_edit_is_not_made_yet_is_seen_without_comparing_texts() {
    let line = |at: usize| format!("foo bar {at}\n");
    for tells_all in [false, true] {
        let editor = Editor::with(&(0..400).map(line).collect::<String>());
        let edit = renaming(&editor, "foo", "bar");
        let mut before = editor.buffers.get(&editor.uri).expect("open");
        let mut sent = [Attempt::of(edit)];
        for at in 0..200 {
            let place = editor.text().find(&line(at)).expect("the line");
            editor.types_at(place + line(at).len() - 1, 0, " typed");
            if tells_all {
                editor.tells_all();
            } else {
                editor.tells();
            }
            let after = editor.buffers.get(&editor.uri).expect("open");
            let judged = judge(&mut sent, before, vec![after.clone()], &editor.buffers);
            assert!(matches!(judged, Judged::Missing));
            assert!(!sent[0].is_in_doubt(), "at {at}");
            before = after;
        }
    }
}

/// Where texts do have to be compared, and that takes its time, everybody else goes on.
#[tokio::test]
async fn others_go_on_while_texts_are_compared() {
    let line = |at: usize| format!("foo {} bar {}\n", at * 7919 % 4001, at % 13);
    let editor = Editor::with(&(0..4_000).map(line).collect::<String>());
    let edit = renaming(&editor, "foo", "bar");
    let (told, ticks) = (Arc::new(Notify::new()), Arc::new(AtomicUsize::new(0)));
    editor.will({
        let told = told.clone();
        move |editor, _| async move {
            // Nothing of this can be followed: all lines are others, and the new name is in all of them.
            let other = |at: usize| format!("{} bar foo {}\n", at * 31 % 4001, at % 17);
            let other: String = (0..4_000).map(other).collect();
            editor.types_at(0, editor.text().len(), &other);
            editor.tells_all();
            told.notify_one();
            refused("stale")
        }
    });
    let going_on = tokio::spawn({
        let ticks = ticks.clone();
        async move {
            told.notified().await;
            loop {
                ticks.fetch_add(1, Ordering::SeqCst);
                tokio::task::yield_now().await;
            }
        }
    });
    let error = editor.applies(edit).await.expect_err("all is changed");
    going_on.abort();
    assert!(matches!(error, ApplyError::Conflict { .. }), "{error}");
    let ticks = ticks.load(Ordering::SeqCst);
    assert!(ticks > 100, "{ticks} ticks");
}
