//! Any editor, with a user who types at any moment: the edit is made once or not at all, and nothing typed is lost.

use std::{sync::Arc, time::Duration};

use proptest::prelude::*;
use tokio::time::sleep;

use super::editor::{Answer, Editor, edit_of, refused, wait};
use crate::{ApplyError, Edit, HostError, Reply};

const LINES: usize = 8;

/// What an editor does with an edit for a text that is no longer its own.
#[derive(Clone, Copy, Debug)]
enum Stale {
    Refuses,
    Fails,
    SaysApplied,
    PutsIn,
}

/// What becomes of one edit.
#[derive(Clone, Copy, Debug)]
struct Fate {
    /// How long until the editor looks at it, tells of it, and answers.
    looks: u64,
    tells: u64,
    answers: u64,
    /// Now and then it is not made though it could be.
    moody: bool,
    /// The whole text is told, not what changed.
    whole: bool,
}

/// Somebody types in a line, after a while; and the editor tells of it after some more.
#[derive(Clone, Copy, Debug)]
struct Typing {
    at: u64,
    line: usize,
    told: u64,
    place: Place,
}

#[derive(Clone, Copy, Debug)]
enum Place {
    InLine,
    AtEnd,
    LineAbove,
    LineBelow,
}

fn stale() -> impl Strategy<Value = Stale> {
    prop_oneof![
        Just(Stale::Refuses),
        Just(Stale::Fails),
        Just(Stale::SaysApplied),
        Just(Stale::PutsIn)
    ]
}

fn fate() -> impl Strategy<Value = Fate> {
    let short = || prop_oneof![2 => Just(0_u64), 1 => 0..200_u64];
    (
        short(),
        short(),
        short(),
        prop::bool::weighted(0.1),
        any::<bool>(),
    )
        .prop_map(|(looks, tells, answers, moody, whole)| Fate {
            looks,
            tells,
            answers,
            moody,
            whole,
        })
}

fn typing() -> impl Strategy<Value = Typing> {
    let place = prop_oneof![
        Just(Place::InLine),
        Just(Place::AtEnd),
        Just(Place::LineAbove),
        Just(Place::LineBelow)
    ];
    (0..1500_u64, 0..LINES, 0..150_u64, place).prop_map(|(at, line, told, place)| Typing {
        at,
        line,
        told,
        place,
    })
}

impl Typing {
    /// What is typed: like nothing else in the text.
    fn token(self, number: usize) -> String {
        match self.place {
            Place::InLine | Place::AtEnd => format!("<{number}>"),
            Place::LineAbove => format!("<{number}>\n"),
            Place::LineBelow => format!("\n<{number}>"),
        }
    }
}

async fn meets(editor: Arc<Editor>, edit: Edit, stale: Stale, fate: Fate) -> Answer {
    wait(fate.looks).await;
    let tells = move |editor: &Editor| {
        if fate.whole {
            editor.tells_all();
        } else {
            editor.tells();
        }
    };
    let says = match (editor.is_current(&edit) && !fate.moody, stale) {
        (false, Stale::Refuses) => return refused("stale"),
        (false, Stale::Fails) => return Err(HostError::Failed("stale".to_owned())),
        (false, Stale::SaysApplied) => return Ok(Reply::Applied),
        (true, _) | (false, Stale::PutsIn) => Ok(Reply::Applied),
    };
    editor.puts_in(&edit);
    if fate.tells == 0 {
        tells(&editor);
    } else {
        let editor = editor.clone();
        tokio::spawn(async move {
            wait(fate.tells).await;
            tells(&editor);
        });
    }
    wait(fate.answers).await;
    says
}

fn line(at: usize) -> String {
    format!("    let line_{at} = {};\n", at * 7919)
}

/// Gives what the edit came to, and the text on the screen in the end.
async fn run(
    stale: Stale,
    fates: Vec<Fate>,
    typing: &[Typing],
    edited: usize,
) -> (Result<String, ApplyError>, String) {
    let editor = Editor::with(&(0..LINES).map(line).collect::<String>());
    // More than can ever be asked for.
    for fate in fates.into_iter().cycle().take(12) {
        editor.will(move |editor, edit| meets(editor, edit, stale, fate));
    }
    let snapshot = editor.buffers.get(&editor.uri).expect("open");
    let edit = edit_of(snapshot, &line(edited), "    let edited = true;\n");
    let typists: Vec<_> = typing
        .iter()
        .copied()
        .enumerate()
        .map(|(number, typing)| {
            let editor = editor.clone();
            tokio::spawn(async move {
                wait(typing.at).await;
                let start = format!("    let line_{} =", typing.line);
                let end = format!(" {};", typing.line * 7919);
                let token = typing.token(number);
                if !editor.text().contains(&start) {
                    // An edit in the wrong place has taken the line away: that has to come out in the end.
                    return;
                }
                match typing.place {
                    Place::InLine => editor.types(&start, &format!("{start}{token}")),
                    Place::LineAbove => editor.types(&start, &format!("{token}{start}")),
                    Place::AtEnd | Place::LineBelow => editor.types(&end, &format!("{end}{token}")),
                }
                wait(typing.told).await;
                editor.tells();
            })
        })
        .collect();
    let result = editor.applies(edit).await;
    for typist in typists {
        typist.await.expect("typed");
    }
    sleep(Duration::from_secs(1)).await;
    editor.tells();
    let text = editor.text();
    assert_eq!(
        editor.buffers.get(&editor.uri).expect("open").text,
        text.as_str()
    );
    (result.map(|applied| applied.after.text.to_string()), text)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn once_or_not_at_all_and_nothing_lost(
        stale in stale(),
        fates in prop::collection::vec(fate(), 1..4),
        typing in prop::collection::vec(typing(), 0..6),
        edited in 0..LINES,
    ) {
        // Typing in the edited line itself has tests of its own: there the edit is refused.
        let typing: Vec<Typing> = typing.into_iter().filter(|typing| typing.line != edited).collect();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
        let (result, text) = runtime.expect("a runtime").block_on(run(stale, fates, &typing, edited));
        if matches!(result, Err(ApplyError::Misapplied { .. })) {
            prop_assert!(matches!(stale, Stale::PutsIn), "only an editor that puts in stale edits does damage");
            return Ok(());
        }
        let mut expected: Vec<String> = (0..LINES).map(line).collect();
        if result.is_ok() {
            expected[edited] = "    let edited = true;\n".to_owned();
        }
        let mut without_typing = text;
        for (number, typing) in typing.iter().enumerate() {
            let token = typing.token(number);
            prop_assert_eq!(without_typing.matches(&token).count(), 1, "typed once: {:?}", without_typing);
            without_typing = without_typing.replace(&token, "");
        }
        prop_assert_eq!(without_typing, expected.concat(), "{:?}", result);
    }
}
