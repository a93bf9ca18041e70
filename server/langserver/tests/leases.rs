//! Held text: shown to a server for a while, by a scripted one. What goes over the wire, who waits for whom, and that
//! nothing that is said meanwhile is known to anyone else.

mod stand;

use std::{sync::Arc, time::Duration};

use langserver::{Diagnosis, Diagnostic, Lease};
use serde_json::{Value, json};
use stand::{Stand, at, never};
use workspace::{ByteOffset, Snapshot, Text};

const A_WHILE: Duration = Duration::from_secs(20);

fn able(sync: u32, pull: bool) -> Value {
    let mut able = json!({"hoverProvider": true, "textDocumentSync": sync});
    if pull {
        able["diagnosticProvider"] = json!({});
    }
    able
}

fn script(capabilities: &Value, on: &Value) -> Value {
    json!({"capabilities": capabilities, "on": on})
}

fn item(message: &str) -> Value {
    json!({"range": at(0, 0, 1), "message": message, "severity": 1})
}

fn pushed(stand: &Stand, name: &str, version: Option<i32>, message: &str) -> Value {
    let mut params = json!({"uri": stand.uri(name).as_str(), "diagnostics": [item(message)]});
    if let Some(version) = version {
        params["version"] = json!(version);
    }
    json!({"notify": ["textDocument/publishDiagnostics", params]})
}

/// A document with another text.
fn held(document: &Snapshot, text: &str) -> Snapshot {
    Snapshot {
        text: Text::new(text),
        ..document.clone()
    }
}

fn said(found: &[Diagnostic]) -> String {
    let messages: Vec<&str> = found.iter().map(|one| one.message.as_str()).collect();
    messages.join(", ")
}

fn fresh(found: Diagnosis) -> String {
    match found {
        Diagnosis::Fresh(found) => said(&found),
        other => format!("{other:?}"),
    }
}

/// What a server was told, in short: method, document, version, and the changes or the text.
fn told(stand: &Stand) -> Vec<String> {
    let shortly = |message: &Value| {
        let method = message["method"].as_str()?.strip_prefix("textDocument/")?;
        let document = &message["params"]["textDocument"];
        let name = document["uri"].as_str()?.rsplit('/').next()?;
        let changes = message["params"]["contentChanges"].as_array();
        let change = changes.and_then(|changes| changes.first());
        let what = change.map_or(&document["text"], |change| &change["text"]);
        let whole = change.is_some_and(|change| change["range"].is_null());
        Some(match (document["version"].as_i64(), whole) {
            (None, _) => format!("{method} {name}"),
            (Some(version), false) => format!("{method} {name} {version} {what}"),
            (Some(version), true) => format!("{method} {name} {version} all {what}"),
        })
    };
    stand.log().iter().filter_map(shortly).collect()
}

async fn lease(stand: &Stand, texts: Vec<Snapshot>) -> Lease {
    stand.pool.lease(texts, A_WHILE, &never()).await
}

fn reports() -> Value {
    json!({"textDocument/diagnostic": [[{"report": null}]], "textDocument/hover": [[{"answer": {"contents": "h"}}]]})
}

#[tokio::test]
async fn swapped_in_asked_and_swapped_back_under_rising_versions() {
    for (sync, [there, back, typed]) in [
        (2, ["\"X\"", "\"a\"", "\"fn fn\""]),
        (
            1,
            [
                "all \"fn X() {}\"",
                "all \"fn a() {}\"",
                "all \"fn fn a() {}\"",
            ],
        ),
    ] {
        let stand = Stand::scripted(script(&able(sync, true), &reports()));
        let a = stand.open("a.rs", "fn a() {}");
        let b = stand.workspace.read(&stand.uri("b.rs")).expect("readable");
        // It exists under the lease only.
        let new = Snapshot {
            uri: stand.uri("new.rs"),
            ..held(&b, "fn held() {}")
        };
        let ask = async |uri| fresh(stand.pool.diagnostics(uri, A_WHILE, &never()).await);
        assert_eq!(ask(&a.uri).await, "of version 1");
        {
            let texts = vec![held(&a, "fn X() {}"), new.clone()];
            let lease = lease(&stand, texts).await;
            assert_eq!(fresh(lease.diagnostics(&a).await), "of version 2");
            assert_eq!(fresh(lease.diagnostics(&new).await), "of version 1");
            assert_eq!(
                fresh(lease.diagnostics(&b).await),
                "of version 1",
                "borrowed"
            );
            let hover = lease.hover(&a, ByteOffset(3)).await.expect("answered");
            assert_eq!(hover.value.as_deref(), Some("h"));
            // Typed while it lasts: told when it is over.
            stand.replace("a.rs", "fn", "fn fn");
            let again = lease.diagnostics(&a).await;
            assert_eq!(fresh(again), "of version 2", "not what is typed");
            assert_eq!(said(&stand.pool.known_diagnostics(&a.uri)), "of version 1");
            assert_eq!(stand.pool.known_diagnostics(&new.uri), []);
        }
        assert_eq!(said(&stand.pool.known_diagnostics(&a.uri)), "of version 1");
        assert_eq!(stand.pool.known_diagnostics(&new.uri), []);
        assert_eq!(ask(&a.uri).await, "of version 4");
        stand.open("new.rs", "fn n() {}");
        let found = ask(&new.uri).await;
        assert_eq!(found, "of version 2", "never a version of the lease");
        let mut told = told(&stand);
        told.retain(|one| one.starts_with("did"));
        let expected = [
            "didOpen a.rs 1 \"fn a() {}\"",
            &format!("didChange a.rs 2 {there}"),
            "didOpen new.rs 1 \"fn held() {}\"",
            "didOpen b.rs 1 \"fn b() {}\\n\"",
            &format!("didChange a.rs 3 {back}"),
            "didClose new.rs",
            &format!("didChange a.rs 4 {typed}"),
            "didOpen new.rs 2 \"fn n() {}\"",
        ];
        assert_eq!(told, expected, "sync {sync}");
    }
}

/// Ordinary questions wait for the lease, each with its own deadline, and are asked of what the server has then.
#[tokio::test]
async fn ordinary_questions_wait_and_a_lease_waits_for_them() {
    let stand = Stand::scripted(script(&able(2, true), &reports()));
    let a = stand.open("a.rs", "fn a() {}");
    stand.hover("a.rs").await.expect("answered");
    let held_lease = lease(&stand, vec![held(&a, "fn X() {}")]).await;
    let soon = stand
        .pool
        .diagnostics(&a.uri, Duration::from_millis(20), &never())
        .await;
    assert!(
        matches!(soon, Diagnosis::Pending(_)),
        "its own deadline: {soon:?}"
    );
    let (pool, uri) = (stand.pool.clone(), a.uri.clone());
    let cancel = never();
    let asked = tokio::spawn(async move { pool.hover(&uri, ByteOffset(3), &cancel).await });
    assert_eq!(fresh(held_lease.diagnostics(&a).await), "of version 2");
    assert!(!asked.is_finished(), "it waits");
    // A second lease waits too, and fails when its time is up.
    let second = stand
        .pool
        .lease(
            vec![held(&a, "fn Y() {}")],
            Duration::from_millis(20),
            &never(),
        )
        .await;
    assert_eq!(second.diagnostics(&a).await, Diagnosis::Pending(vec![]));
    drop(held_lease);
    assert!(asked.await.expect("no panic").is_ok());
    let told = told(&stand);
    let back = told.iter().position(|one| one == "didChange a.rs 3 \"a\"");
    let hovers: Vec<usize> = (0..told.len())
        .filter(|at| told[*at] == "hover a.rs")
        .collect();
    assert!(back.expect("swapped back") < hovers[1], "{told:?}");
    assert!(!told.iter().any(|one| one.contains("\"Y\"")), "{told:?}");
}

/// Whatever becomes of who holds it, the server gets back what it had.
#[tokio::test]
async fn a_lease_that_is_dropped_cancelled_or_too_long_ends() {
    let says = json!({"textDocument/diagnostic": [[]], "textDocument/hover": [[{"answer": {"contents": "h"}}]]});
    for how in ["dropped", "cancelled", "too long"] {
        let stand = Arc::new(Stand::scripted(script(&able(2, true), &says)));
        let a = stand.open("a.rs", "fn a() {}");
        stand.hover("a.rs").await.expect("answered");
        let cancel = never();
        let deadline = match how {
            "too long" => Duration::from_millis(200),
            _ => A_WHILE,
        };
        let lease = stand
            .pool
            .lease(vec![held(&a, "fn X() {}")], deadline, &cancel)
            .await;
        let document = a.clone();
        // It never gets an answer.
        let asked = tokio::spawn(async move { (lease.diagnostics(&document).await, lease) });
        let swapped = "didChange a.rs 2 \"X\"".to_owned();
        until(|| told(&stand).contains(&swapped)).await;
        match how {
            "dropped" => asked.abort(),
            "cancelled" => cancel.cancel(),
            _ => {}
        }
        stand.hover("a.rs").await.expect("answered");
        let told = told(&stand);
        assert!(
            told.contains(&"didChange a.rs 3 \"a\"".into()),
            "{how}: {told:?}"
        );
        if how != "dropped" {
            let (found, lease) = asked.await.expect("no panic");
            assert_eq!(found, Diagnosis::Pending(vec![]), "{how}");
            let again = lease.diagnostics(&a).await;
            assert_eq!(again, Diagnosis::Pending(vec![]), "{how}: it is over");
        }
    }
}

async fn until(what: impl Fn() -> bool) {
    let deadline = std::time::Instant::now() + A_WHILE;
    while !what() {
        assert!(std::time::Instant::now() < deadline, "it never happened");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_server_that_dies_under_a_lease_comes_back_with_its_own_texts() {
    let says = json!({"textDocument/diagnostic": [[{"die": 3}]], "textDocument/hover": [[{"answer": {"contents": "h"}}]]});
    let stand = Stand::scripted(script(&able(2, true), &says));
    let a = stand.open("a.rs", "fn a() {}");
    stand.hover("a.rs").await.expect("answered");
    let lease = lease(&stand, vec![held(&a, "fn X() {}")]).await;
    match lease.diagnostics(&a).await {
        Diagnosis::Unavailable(reason) => assert!(reason.contains("exit status: 3"), "{reason}"),
        other => panic!("{other:?}"),
    }
    // Who asks now gets a new server, lease or not.
    stand.hover("a.rs").await.expect("answered");
    drop(lease);
    assert_eq!(stand.starts(), 2);
    let told = told(&stand);
    let last = told.iter().rposition(|one| one.starts_with("didOpen"));
    assert_eq!(
        told[last.expect("opened")..],
        ["didOpen a.rs 1 \"fn a() {}\"", "hover a.rs"]
    );
}

/// Pushed with the lease's version: the lease's alone, however late it comes.
#[tokio::test]
async fn what_is_pushed_with_a_version_of_the_lease_is_the_lease_s() {
    let stand = Stand::scripted(json!(null));
    let says = json!({
        "textDocument/didOpen": [[pushed(&stand, "a.rs", Some(1), "ours")]],
        "textDocument/didChange": [
            [pushed(&stand, "a.rs", Some(1), "ours, late"), pushed(&stand, "b.rs", None, "beside"), pushed(&stand, "a.rs", Some(2), "held")],
            [pushed(&stand, "a.rs", Some(2), "held, late")],
        ],
        "textDocument/hover": [[{"answer": {"contents": "h"}}]],
    });
    let stand = stand.acting(script(&able(2, false), &says));
    let a = stand.open("a.rs", "fn a() {}");
    let found = stand.pool.diagnostics(&a.uri, A_WHILE, &never()).await;
    assert_eq!(fresh(found), "ours");
    let known = || said(&stand.pool.known_diagnostics(&a.uri));
    {
        let lease = lease(&stand, vec![held(&a, "fn X() {}")]).await;
        assert_eq!(fresh(lease.diagnostics(&a).await), "held");
        assert_eq!(known(), "ours, late");
    }
    // The answer comes after all that was pushed before it.
    stand.hover("a.rs").await.expect("answered");
    assert_eq!(known(), "ours, late");
    assert_eq!(stand.pool.known_diagnostics(&stand.uri("b.rs")), []);
    let found = stand.pool.diagnostics(&a.uri, A_WHILE, &never()).await;
    assert_eq!(fresh(found), "ours, late", "of this very text");
}

/// Pushed without a version: of the lease while it lasts, doubtful for a while after it, and what came last counts then.
#[tokio::test]
async fn what_is_pushed_without_a_version_counts_when_it_has_settled() {
    let stand = Stand::scripted(json!(null));
    let says = json!({
        "textDocument/didOpen": [[pushed(&stand, "a.rs", None, "ours")]],
        "textDocument/didChange": [
            [pushed(&stand, "a.rs", None, "held")],
            [pushed(&stand, "a.rs", None, "held, late"), pushed(&stand, "a.rs", None, "ours again")],
        ],
        "textDocument/hover": [[{"answer": {"contents": "h"}}]],
    });
    let stand = stand.acting(script(&able(2, false), &says));
    let a = stand.open("a.rs", "fn a() {}");
    let ask = async || fresh(stand.pool.diagnostics(&a.uri, A_WHILE, &never()).await);
    let known = || said(&stand.pool.known_diagnostics(&a.uri));
    assert_eq!(ask().await, "ours");
    {
        let lease = lease(&stand, vec![held(&a, "fn X() {}")]).await;
        assert_eq!(fresh(lease.diagnostics(&a).await), "held");
        assert_eq!(known(), "ours");
    }
    stand.hover("a.rs").await.expect("answered");
    let at_once = known();
    assert!(
        ["ours", "ours again"].contains(&at_once.as_str()),
        "{at_once}"
    );
    assert_eq!(ask().await, "ours again");
    assert_eq!(known(), "ours again");
}

/// However late it comes: until the server has seen that the lease is over, and after that until it has settled.
#[tokio::test]
async fn what_is_pushed_late_without_a_version_is_not_taken_for_ours() {
    let stand = Stand::scripted(json!(null));
    let late = pushed(&stand, "a.rs", None, "held, late");
    let ours = pushed(&stand, "a.rs", None, "ours again");
    let before_it_sees = json!([{"run": ["sleep", "0.5"]}, late, {"run": ["sleep", "0.5"]}, ours]);
    // It computes them apart from the questions that it answers.
    let after_it_saw = json!([{"answer": null}, late, {"run": ["sleep", "0.1"]}, ours]);
    // The very same as under the lease, and a while before it has looked at ours.
    let held = pushed(&stand, "a.rs", None, "held");
    let again = json!([{"answer": null}, held, {"run": ["sleep", "0.7"]}, ours]);
    for (back, symbols) in [
        (before_it_sees, json!([{"answer": null}])),
        (json!([]), after_it_saw),
        (json!([]), again),
    ] {
        let says = json!({
            "textDocument/didOpen": [[pushed(&stand, "a.rs", None, "ours")]],
            "textDocument/didChange": [[pushed(&stand, "a.rs", None, "held")], back],
            "textDocument/hover": [[{"answer": {"contents": "h"}}]],
            "textDocument/documentSymbol": [symbols],
        });
        let mut able = able(2, false);
        able["documentSymbolProvider"] = json!(true);
        let uri = stand.uri("a.rs");
        let stand = Stand::scripted(json!(null));
        let says = says
            .to_string()
            .replace(uri.as_str(), stand.uri("a.rs").as_str());
        let says = serde_json::from_str(&says).expect("a script");
        let stand = stand.acting(script(&able, &says));
        let a = stand.open("a.rs", "fn a() {}");
        let found = stand.pool.diagnostics(&a.uri, A_WHILE, &never()).await;
        assert_eq!(fresh(found), "ours");
        let known = || said(&stand.pool.known_diagnostics(&a.uri));
        {
            let lease = lease(&stand, vec![self::held(&a, "fn X() {}")]).await;
            assert_eq!(fresh(lease.diagnostics(&a).await), "held");
        }
        let begun = std::time::Instant::now();
        let mut seen = vec![known()];
        while seen.last().is_none_or(|last| last != "ours again") {
            assert!(begun.elapsed() < A_WHILE, "{seen:?} {says}");
            tokio::time::sleep(Duration::from_millis(5)).await;
            let now = known();
            if seen.last() != Some(&now) {
                seen.push(now);
            }
        }
        assert_eq!(seen, ["ours", "ours again"], "{says}");
        let found = stand.pool.diagnostics(&a.uri, A_WHILE, &never()).await;
        assert_eq!(fresh(found), "ours again");
    }
}

/// What is asked for in the background is not asked under a lease, though the server wants it.
#[tokio::test]
async fn nothing_is_pulled_in_the_background_under_a_lease() {
    let mut says = reports();
    says["textDocument/didChange"] = json!([[{"ask": ["workspace/diagnostic/refresh", null]}]]);
    let stand = Stand::scripted(script(&able(2, true), &says));
    let a = stand.open("a.rs", "fn a() {}");
    stand.hover("a.rs").await.expect("answered");
    let deadline = Duration::from_millis(700);
    let lease = stand
        .pool
        .lease(vec![held(&a, "fn X() {}")], deadline, &never())
        .await;
    // Until its time is up, which is longer than the background waits.
    stand.hover("a.rs").await.expect("answered");
    drop(lease);
    let told = told(&stand);
    let at = |what: &str| told.iter().position(|one| one == what).expect("told");
    let during = &told[at("didChange a.rs 2 \"X\"")..at("didChange a.rs 3 \"a\"")];
    assert_eq!(during.len(), 1, "{during:?}");
}
