//! Servers that say nothing: one that publishes nothing for a document without problems, one that never answers, one that
//! never starts. Each is waited for once and no longer than it may be, and what is told of it is what was asked for.

mod stand;

use std::time::{Duration, Instant};

use langserver::Limits;
use serde_json::json;
use stand::Stand;

#[tokio::test]
async fn a_server_that_says_nothing_of_a_clean_file_is_waited_for_once() {
    let files = [("a.rs", "fn a() {}\n"), ("b.rs", "fn b() {}\n")];
    let stand = Stand::scripted(&files, |_| {
        json!({
            "capabilities": {"textDocumentSync": 1, "hoverProvider": true, "codeActionProvider": true},
            "on": {"textDocument/codeAction": [[{"answer": [{"title": "Do it", "kind": "refactor", "edit": {}}]}]]},
        })
    });
    let place = json!({"line": 1, "character": 4});
    // It has started by then.
    stand.ask("hover", "a.rs", place.clone()).await;
    let mut took = Vec::new();
    for file in ["a.rs", "a.rs", "b.rs"] {
        let begun = Instant::now();
        let said = stand.ask("codeActions", file, place.clone()).await;
        assert!(said.contains("Do it"), "{said}");
        took.push(begun.elapsed());
    }
    let bounds = [8, 4, 4].map(Duration::from_secs);
    let is_in_time = took.iter().zip(&bounds).all(|(took, bound)| took < bound);
    assert!(is_in_time, "{took:?}");
}

fn answered_within(answer: Duration) -> Limits {
    Limits {
        answer,
        ..Limits::default()
    }
}

/// The name is looked up first: what ran out is still what was asked for, and it ran out once.
#[tokio::test]
async fn a_server_that_never_answers_is_told_by_what_was_asked_for() {
    let answer = Duration::from_secs(1);
    let files = [("a.rs", "fn a() {}\n")];
    let stand = Stand::scripted_limited(answered_within(answer), &files, |_| {
        json!({"capabilities": stand::able(), "on": {
            "textDocument/documentSymbol": [[]], "textDocument/definition": [[]], "textDocument/hover": [[]],
        }})
    });
    let begun = Instant::now();
    let said = stand
        .ask("goToDefinition", "a.rs", json!({"symbol": "a"}))
        .await;
    assert_eq!(
        said,
        "! scripted did not answer `goToDefinition` within 1 s (it was asked textDocument/documentSymbol). Ask again later, \
         or use `grep` and `read`. If that does not change it hangs: `copydesk doctor --start` tells whether it starts, and \
         in an editor the command `copydesk.restartLanguageServer` starts it anew"
    );
    assert!(begun.elapsed() < 10 * answer, "{:?}", begun.elapsed());
    let said = stand.ask("hover", "a.rs", json!({"symbol": "a"})).await;
    assert!(
        said.contains("; it has answered nothing for "),
        "it is known by then: {said}"
    );
}
