//! Runs that are played: what is called and said, given the answers.

use model::ToolCall;

use super::*;

/// Plays a run: each call is answered by the next of `answers` (a leading `!` fails), and must be
/// the operation named before the bar. Returns what is said at the end.
fn play(problems: &str, answers: &[(&str, &str)]) -> String {
    play_on(problems, answers, &mut Vec::new())
}

/// The same; `messages` gets the conversation.
fn play_on(problems: &str, answers: &[(&str, &str)], messages: &mut Vec<Message>) -> String {
    let prompt = format!("Fix these.\n<problems>\n{problems}</problems>\n");
    messages.push(Message::user(prompt));
    for (turn, (call, answer)) in answers.iter().enumerate() {
        let input = match next(messages) {
            Next::Call(input) => input,
            Next::Say { text, .. } | Next::GiveUp(text) => panic!("said {text:?} before {call}"),
        };
        let mut shown = input["operation"].as_str().unwrap_or_default().to_owned();
        if let Some(line) = input.get("line") {
            shown.push_str(&format!(" {line}:{}", input["character"]));
        }
        if let Some(action) = input.get("action") {
            shown.push_str(&format!(" {action}"));
        }
        assert_eq!(&shown, call);
        let id = format!("{turn}");
        messages.push(Message {
            role: Role::Assistant,
            blocks: vec![Block::ToolCall(ToolCall {
                id: id.clone(),
                name: "lsp".into(),
                input,
                malformed: None,
                repaired: None,
            })],
        });
        messages.push(Message {
            role: Role::User,
            blocks: vec![Block::ToolResult {
                id,
                ok: !answer.starts_with('!'),
                output: answer.trim_start_matches('!').to_owned(),
            }],
        });
    }
    match next(messages) {
        Next::Say { text, .. } | Next::GiveUp(text) => text,
        Next::Call(call) => panic!("still calls {call}"),
    }
}

const ONE: &str = "a.rs:3:5: error[E1] no such `x` (ra)\n";

#[test]
fn what_the_server_could_not_load_is_told_at_the_end() {
    let said = play(
        ONE,
        &[
            (
                "diagnostics",
                "1 problem in a.rs (checked just now; ra says: no manifest):\na.rs:3:5: error[E1] no such `x` (ra)\n",
            ),
            (
                "codeActions 3:5",
                "Code actions at a.rs:3:5:\n- Import `x` [quickfix, preferred]\n",
            ),
            ("applyCodeAction 3:5 \"Import `x`\"", "done"),
            (
                "diagnostics",
                "No problems found in a.rs, but ra says: no manifest",
            ),
        ],
    );
    assert!(said.ends_with("\nBut ra says: no manifest"), "{said}");
}

#[test]
fn one_problem_is_looked_up_fixed_and_checked() {
    let said = play(
        ONE,
        &[
            (
                "diagnostics",
                "1 problem in a.rs (checked just now):\na.rs:4:5: error[E1] no such `x` (ra)\n",
            ),
            (
                "codeActions 4:5",
                "Code actions of ra at a.rs:4:5:\n- Make `x` [quickfix, preferred]\n",
            ),
            ("applyCodeAction 4:5 \"Make `x`\"", "Applied"),
            ("diagnostics", "No problems in a.rs (checked just now)"),
        ],
    );
    assert_eq!(
        said,
        "Fixed \"no such `x`\" by the quick fix \"Make `x`\"; the problem is gone."
    );
}

#[test]
fn what_can_not_be_fixed_is_left_and_said() {
    let seen = "1 problem in a.rs (checked just now):\na.rs:3:5: error[E1] no such `x` (ra)\n";
    let check = |answers: &[(&str, &str)], part: &str| {
        let said = play(ONE, answers);
        assert!(said.contains(part), "{said}");
    };
    check(
        &[
            ("diagnostics", seen),
            ("codeActions 3:5", "ra has no code actions at a.rs:3:5"),
        ],
        "Not fixed: \"no such `x`\": the language server offers no quick fix for it.",
    );
    check(
        &[
            ("diagnostics", seen),
            ("codeActions 3:5", "- A [quickfix]\n- B [quickfix]\n"),
        ],
        "several fixes are possible, and none is plainly the right one: \"A\", \"B\"",
    );
    check(
        &[
            ("diagnostics", "!no server"),
            ("codeActions 3:5", "!no server for rust"),
        ],
        "Not fixed: \"no such `x`\": no server for rust",
    );
    check(
        &[
            ("diagnostics", seen),
            ("codeActions 3:5", "- A [quickfix]\n"),
            ("applyCodeAction 3:5 \"A\"", "!the text has changed"),
        ],
        "the text has changed",
    );
    check(
        &[
            ("diagnostics", seen),
            ("codeActions 3:5", "- A [quickfix]\n"),
            (
                "applyCodeAction 3:5 \"A\"",
                "!denied: this run is read-only, …",
            ),
        ],
        "would be fixed by the quick fix \"A\"; this run changes nothing.",
    );
    check(
        &[
            ("diagnostics", seen),
            ("codeActions 3:5", "- A [quickfix]\n"),
            ("applyCodeAction 3:5 \"A\"", "Applied"),
            ("diagnostics", seen),
        ],
        "\"A\" was applied, and the problem is still there",
    );
    check(
        &[
            ("diagnostics", seen),
            ("codeActions 3:5", "- A [quickfix]\n"),
            ("applyCodeAction 3:5 \"A\"", "Applied"),
            (
                "diagnostics",
                "Nothing known of a.rs (PENDING: the server …)",
            ),
        ],
        "not checked yet",
    );
}

/// Hints stand in a line of their own, and not all of them.
#[test]
fn a_hint_that_is_still_told_is_not_cured() {
    let seen = "No problems in a.rs (checked just now)\n2 hints: 3:5 unused; 9:1 unused";
    for (after, part) in [
        (seen, "the problem is still there"),
        (
            "No problems in a.rs (checked just now)\n1 hint: 9:1 unused",
            "the problem is gone",
        ),
        (
            "No problems in a.rs (checked just now)\n9 hints: 1:1 a; 1:2 b; 1:3 c; …",
            "not checked yet: not every hint is told",
        ),
    ] {
        let said = play(
            "a.rs:3:5: hint unused (ra)\n",
            &[
                ("diagnostics", seen),
                ("codeActions 3:5", "- A [quickfix]\n"),
                ("applyCodeAction 3:5 \"A\"", "Applied"),
                ("diagnostics", after),
            ],
        );
        assert!(said.contains(part), "{said}");
    }
}

#[test]
fn later_problems_are_followed_to_where_they_have_moved() {
    let said = play(
        "a.rs:3:5: error[E1] no such `x` (ra)\na.rs:9:1: error[E2] two (ra)\na.rs:12:1: error[E3] three (ra)\n",
        &[
            (
                "diagnostics",
                "a.rs:3:5: error[E1] no such `x` (ra)\na.rs:9:1: error[E2] two (ra)\na.rs:12:1: error[E3] three (ra)\n",
            ),
            ("codeActions 3:5", "- Make `x` [quickfix]\n"),
            ("applyCodeAction 3:5 \"Make `x`\"", "Applied"),
            ("diagnostics", "a.rs:11:1: error[E2] two (ra)\n"),
            ("codeActions 11:1", "- B [quickfix]\n"),
            ("applyCodeAction 11:1 \"B\"", "Applied"),
            ("diagnostics", "No problems in a.rs (checked just now)"),
        ],
    );
    assert_eq!(
        said,
        "Fixed 3 of 3 problems.\n- a.rs:3: no such `x`: fixed by \"Make `x`\"\n- a.rs:9: two: fixed by \"B\"\n- a.rs:12: three: gone with another"
    );
}

#[test]
fn a_note_that_moves_to_the_next_of_its_kind_does_not_hide_it() {
    let said = play(
        "a.rs:1:5: warning[unused] unused: `a`\n    on by default (rustc)\na.rs:2:5: warning[unused] unused: `b` (rustc)\n",
        &[
            (
                "diagnostics",
                "a.rs:1:5: warning[unused] unused: `a`\n    on by default (rustc)\na.rs:2:5: warning[unused] unused: `b` (rustc)\n",
            ),
            ("codeActions 1:5", "- Remove it [quickfix]\n"),
            ("applyCodeAction 1:5 \"Remove it\"", "Applied"),
            (
                "diagnostics",
                "a.rs:1:5: warning[unused] unused: `b`\n    on by default (rustc)\n",
            ),
            ("codeActions 1:5", "- Remove it [quickfix]\n"),
            ("applyCodeAction 1:5 \"Remove it\"", "Applied"),
            ("diagnostics", "No problems in a.rs (checked just now)"),
        ],
    );
    assert!(said.starts_with("Fixed 2 of 2 problems."), "{said}");
    assert!(!said.contains("gone with another"), "{said}");
}

#[test]
fn what_a_fix_breaks_elsewhere_is_told_and_not_taken_for_what_there_is() {
    let said = play(
        "a.rs:3:5: error[E1] one (ra)\n",
        &[
            ("diagnostics", "a.rs:3:5: error[E1] one (ra)\n"),
            ("codeActions 3:5", "- A [quickfix]\n"),
            (
                "applyCodeAction 3:5 \"A\"",
                "Applied\n\nProblems that these changes added (2; 1 cured):\na.rs:3:5: warning[E1] one (ra)\nb.rs:7:1: error[E2] two (ra)",
            ),
            ("diagnostics", "No problems in a.rs (checked just now)"),
        ],
    );
    assert_eq!(
        said,
        "Fixed \"one\" by the quick fix \"A\"; the problem is gone.\nNew in b.rs:7: two"
    );
}

#[test]
fn a_request_without_problems_is_given_up() {
    let Next::GiveUp(said) = next(&[Message::user("Explain this")]) else {
        panic!("nothing is called");
    };
    assert!(said.contains("names no problem to fix"), "{said}");
}

/// Of earlier changes something becomes known later: in the middle of a run, and after its last word.
#[test]
fn what_becomes_known_later_is_told_and_taken_for_nothing_else() {
    let later = |file: &str| {
        format!(
            "Known by now of earlier changes: problems added (2):\n{file}:7:1: error[E1] one (ra)\na.rs:3:5: error[E1] one (ra)"
        )
    };
    let checked = format!(
        "No problems in a.rs (checked just now)\n\n{}",
        later("b.rs")
    );
    let answers = [
        ("diagnostics", "a.rs:3:5: error[E1] one (ra)\n"),
        ("codeActions 3:5", "- A [quickfix]\n"),
        (
            "applyCodeAction 3:5 \"A\"",
            "Applied\n\nPending: ra is starting: a.rs; you are told when it is known.",
        ),
        ("diagnostics", &checked),
    ];
    let mut messages = Vec::new();
    let said = play_on("a.rs:3:5: error[E1] one (ra)\n", &answers, &mut messages);
    assert_eq!(
        said,
        "Fixed \"one\" by the quick fix \"A\"; the problem is gone.\nNew in b.rs:7: one"
    );
    messages.push(Message::user(later("c.rs")));
    let Next::Say { text: again, .. } = next(&messages) else {
        panic!("it has said it all");
    };
    assert_eq!(again, format!("{said}\nNew in c.rs:7: one"));
}
