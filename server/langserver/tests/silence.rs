//! Servers that do not answer, do not start or never send diagnostics, by a scripted one: each is waited for once, and what
//! it does not do is said.

mod stand;

use std::time::{Duration, Instant};

use langserver::{Diagnosis, Limits, QueryError, as_one_call};
use serde_json::{Value, json};
use stand::{Stand, at, never};
use workspace::ByteOffset;

/// Ready whenever it is ready, and answered within this.
fn answering(answer: Duration) -> Limits {
    Limits {
        answer,
        ..Limits::default()
    }
}

fn able() -> Value {
    json!({"hoverProvider": true, "definitionProvider": true, "documentSymbolProvider": true, "textDocumentSync": 2})
}

/// How a question for what stands there ran out: for how long it was waited, and for how long nothing has come.
async fn ran_out(stand: &Stand) -> (Duration, Option<Duration>) {
    let uri = stand.uri("a.rs");
    match stand.pool.hover(&uri, ByteOffset(0), &never()).await {
        Err(QueryError::TimedOut {
            waited: Some(waited),
            silent,
            ..
        }) => (waited, silent),
        other => panic!("{other:?}"),
    }
}

/// What one call asks in a row is waited for as long as one question, and not from the end of what it may take to be ready.
#[tokio::test]
async fn one_call_waits_for_answers_once() {
    let answer = Duration::from_secs(1);
    let stand = Stand::scripted_within(
        json!({"capabilities": able(), "on": {"textDocument/hover": [[]]}}),
        answering(answer),
    );
    let begun = Instant::now();
    let errors =
        as_one_call(async { [stand.hover("a.rs").await, stand.hover("a.rs").await] }).await;
    assert!(begun.elapsed() < 8 * answer, "{:?}", begun.elapsed());
    assert_eq!(
        errors[0],
        Err("scripted did not answer textDocument/hover within 1 s".to_owned())
    );
    let error = errors[1].as_ref().expect_err("no time is left");
    assert!(
        error.starts_with(
            "scripted did not answer textDocument/hover within 0 s; it has answered nothing for 1"
        ),
        "{error}"
    );
    // It was not even asked what nobody would have waited for.
    let asked = stand.methods();
    let hovers = asked.iter().filter(|one| *one == "textDocument/hover");
    assert_eq!(hovers.count(), 1, "{asked:?}");
}

/// One that let a question run out is not waited for in full again, until it answers anything: that one, or another.
#[tokio::test]
async fn a_server_that_answers_nothing_is_not_waited_for_again() {
    let limit = Duration::from_secs(2);
    let keep = json!([{"keep": null}]);
    let late = json!([{"kept": null}, {"answer": null}]);
    let stand = Stand::scripted_within(
        json!({"capabilities": able(), "on": {"textDocument/hover": [keep], "textDocument/definition": [[], late]}}),
        answering(limit),
    );
    let (waited, silent) = ran_out(&stand).await;
    assert!(waited >= limit && silent.is_none(), "{waited:?} {silent:?}");
    let (waited, silent) = ran_out(&stand).await;
    assert!(waited < limit / 2, "{waited:?}");
    assert!(silent.is_some_and(|silent| silent >= limit), "{silent:?}");
    let asked = stand.methods();
    let hovers = asked.iter().filter(|one| *one == "textDocument/hover");
    assert_eq!(hovers.count(), 1, "it owes that one: {asked:?}");
    let uri = stand.uri("a.rs");
    while stand
        .pool
        .definition(&uri, ByteOffset(0), &never())
        .await
        .is_err()
    {}
    let (waited, silent) = ran_out(&stand).await;
    assert!(waited >= limit && silent.is_none(), "{waited:?} {silent:?}");
}

/// One that was waited for in full and has never sent diagnostics is not waited for like that again, until it sends some.
#[tokio::test]
async fn a_server_without_diagnostics_is_waited_for_once() {
    let limit = Duration::from_millis(1500);
    let stand = Stand::scripted_within(json!(null), answering(limit));
    let uri = stand.uri("a.rs");
    let said = json!([{"range": at(0, 0, 2), "message": "odd", "severity": 1}]);
    let push = json!({"notify": ["textDocument/publishDiagnostics", {"uri": uri.as_str(), "diagnostics": said}]});
    let stand = stand.acting(json!({"capabilities": able(), "on": {
        "textDocument/hover": [[{"answer": null}], [push, {"answer": null}]],
    }}));
    // It has started by then.
    stand.hover("a.rs").await.expect("answered");
    let diagnosed = async |deadline: Duration| {
        let begun = Instant::now();
        let found = stand.pool.diagnostics(&uri, deadline, &never()).await;
        (found, begun.elapsed())
    };
    // Little patience shows nothing.
    let (found, _) = diagnosed(limit / 5).await;
    assert_eq!(found, Diagnosis::Pending(Vec::new()));
    assert_eq!(stand.pool.pending_because(&uri), None);
    let (found, took) = diagnosed(limit).await;
    assert_eq!(found, Diagnosis::Pending(Vec::new()));
    assert!(took >= limit, "{took:?}");
    let (found, took) = diagnosed(10 * limit).await;
    assert_eq!(found, Diagnosis::Pending(Vec::new()));
    assert!(took < 5 * limit, "{took:?}");
    let why = stand.pool.pending_because(&uri).expect("known");
    assert!(
        why.starts_with("scripted has not sent any diagnostics yet, of any file, in "),
        "{why}"
    );
    stand.hover("a.rs").await.expect("answered");
    let (found, _) = diagnosed(10 * limit).await;
    assert!(
        matches!(&found, Diagnosis::Fresh(found) if found.len() == 1),
        "{found:?}"
    );
}

/// That it has not even started is something else than that it has not finished.
#[tokio::test]
async fn a_server_that_does_not_start_is_said_not_to() {
    let stand = Stand::scripted_within(
        json!({"on": {"initialize": [[]]}}),
        Limits {
            start: Duration::from_secs(60),
            ..stand::short()
        },
    );
    let uri = stand.uri("a.rs");
    let deadline = Duration::from_millis(300);
    let found = stand.pool.diagnostics(&uri, deadline, &never()).await;
    assert_eq!(found, Diagnosis::Pending(Vec::new()));
    let why = stand.pool.pending_because(&uri).expect("known");
    assert!(
        why.starts_with("scripted has not started: it has not answered `initialize` for "),
        "{why}"
    );
    let error = stand.hover("a.rs").await.expect_err("it does not start");
    assert!(
        error.starts_with("scripted is still starting: it has not answered `initialize` for "),
        "{error}"
    );
    stand.pool.shutdown().await;
}
