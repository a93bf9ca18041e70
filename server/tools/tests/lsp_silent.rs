//! Code actions of a server that publishes nothing for a document without problems: it is waited for once, not twice, and
//! hardly at all once that is known.

mod stand;

use std::time::{Duration, Instant};

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
