//! What is kept of diagnostics, and what becomes of it.

use serde_json::json;
use workspace::{Origin, Text};

use super::*;

fn snapshot(text: &str, revision: u64, dirty: bool) -> Snapshot {
    Snapshot {
        uri: DocumentUri::parse("file:///a.rs").expect("a uri"),
        text: Text::new(text),
        revision: Revision(revision),
        version: Some(1),
        language: Some("rust".into()),
        origin: Origin::Buffer { dirty },
    }
}

fn item(line: u32, start: u32, end: u32, code: &str, source: &str) -> Value {
    json!({
        "range": {"start": {"line": line, "character": start}, "end": {"line": line, "character": end}},
        "severity": 1, "code": code, "source": source, "message": format!("{code} by {source}")
    })
}

fn kept(of: &Snapshot, items: Vec<Value>) -> Kept {
    Kept {
        items,
        of: Some(of.clone()),
        named: true,
        at: Instant::now(),
    }
}

fn shortly(diagnostics: &[Diagnostic]) -> Vec<String> {
    diagnostics
        .iter()
        .map(|one| format!("{} {}", one.range, one.message))
        .collect()
}

#[test]
fn native_and_compiler_s_are_told_apart_and_said_once() {
    let store = Store::default();
    let (old, newest) = (
        snapshot("let a = 1;", 5, false),
        snapshot("let a = 1;", 7, true),
    );
    store.pull(
        newest.uri.clone(),
        kept(
            &newest,
            vec![
                item(0, 4, 5, "E1", "rust-analyzer"),
                json!({"message": "no range"}),
            ],
        ),
    );
    store.push(
        newest.uri.clone(),
        kept(
            &newest,
            vec![
                item(0, 4, 7, "E1", "rustc"),
                item(0, 8, 9, "E2", "rustc"),
                item(0, 8, 9, "x", "other"),
            ],
        ),
        Of::Ours,
    );
    let on_save = ["rustc".to_owned()];
    let fresh = Wanted::Fresh {
        since: Revision(7),
        unchecked: &on_save,
    };
    let said = |newest: &Snapshot, wanted| {
        shortly(&store.diagnostics(newest, wanted, Encoding::Utf8, "s"))
    };
    assert_eq!(
        said(&newest, Wanted::Known),
        [
            "4..5 E1 by rust-analyzer",
            "8..9 E2 by rustc",
            "8..9 x by other"
        ]
    );
    assert_eq!(
        said(&newest, fresh),
        ["4..5 E1 by rust-analyzer", "8..9 x by other"]
    );
    let saved = snapshot("let a = 1;", 7, false);
    let checked = Wanted::Fresh {
        since: Revision(7),
        unchecked: &[],
    };
    assert_eq!(said(&saved, checked).len(), 3, "the compiler has looked");
    store.push(
        newest.uri.clone(),
        kept(&old, vec![item(0, 8, 9, "x", "other")]),
        Of::Ours,
    );
    assert_eq!(
        said(&saved, fresh),
        ["4..5 E1 by rust-analyzer"],
        "what was said of an earlier text is not fresh"
    );
}

#[test]
fn hints_that_belong_to_another_are_not_said_again() {
    let store = Store::default();
    let text = snapshot("let a = 1;", 5, false);
    let part = json!({"location": {"uri": "file:///a.rs", "range": {"start": {"line": 0, "character": 4}, "end": {"line": 0, "character": 5}}}, "message": "moved here"});
    let mut whole = item(0, 8, 9, "E1", "rustc");
    whole["relatedInformation"] = json!([part]);
    let mut hint = item(0, 4, 5, "E1", "rustc");
    hint["message"] = json!("moved here");
    let error = hint.clone();
    hint["severity"] = json!(4);
    let mut other = hint.clone();
    other["message"] = json!("unused");
    store.push(
        text.uri.clone(),
        kept(&text, vec![hint, whole, other, error]),
        Of::Ours,
    );
    let said = shortly(&store.diagnostics(&text, Wanted::Known, Encoding::Utf8, "s"));
    assert_eq!(
        said,
        ["4..5 moved here", "4..5 unused", "8..9 E1 by rustc"],
        "the error and the other hint stay"
    );
}

#[test]
fn what_was_said_moves_with_the_text() {
    let store = Store::default();
    let old = snapshot("a\nbb\nc", 1, true);
    store.push(
        old.uri.clone(),
        kept(
            &old,
            vec![
                item(0, 0, 1, "1", "s"),
                item(1, 0, 2, "2", "s"),
                item(2, 0, 1, "3", "s"),
            ],
        ),
        Of::Ours,
    );
    for (text, expected) in [
        ("a\nbb\nc", ["0..1", "2..4", "5..6"]),
        ("a\nbxb\nc", ["0..1", "2..5", "6..7"]),
        ("\na\nbb\nc", ["1..2", "3..5", "6..7"]),
        ("a\n\nc", ["0..1", "2..2", "3..4"]),
    ] {
        let said = store.diagnostics(
            &snapshot(text, 2, true),
            Wanted::Known,
            Encoding::Utf16,
            "s",
        );
        assert_eq!(
            said.iter()
                .map(|one| one.range.to_string())
                .collect::<Vec<_>>(),
            expected,
            "{text:?}"
        );
    }
}

#[test]
fn what_is_open_is_not_forgotten() {
    let store = Store::default();
    let of = snapshot("", 1, false);
    let uri = |number: usize| DocumentUri::parse(&format!("file:///{number}")).expect("a uri");
    for number in 0..=MOST_DOCUMENTS {
        assert!(!store.is_full());
        store.push(uri(number), kept(&of, Vec::new()), Of::Ours);
    }
    assert!(store.is_full());
    store.forget(|one| *one == uri(0));
    let is_kept = |number| store.pushed(&uri(number), |_| ()).is_some();
    assert_eq!(
        [0, 1, 1000, 1002, MOST_DOCUMENTS].map(is_kept),
        [true, false, false, true, true]
    );
    assert_eq!(store.said().len(), MOST_DOCUMENTS * 9 / 10);
}
