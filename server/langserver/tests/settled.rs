//! Servers that give no signal of being ready, by a scripted one: believed when they repeat themselves, or when they have
//! said what comes before.

mod stand;

use std::time::Duration;

use langserver::{Limits, Servers};
use serde_json::{Value, json};
use stand::{Stand, at, never, servers};
use workspace::ByteOffset;

fn able() -> Value {
    json!({"referencesProvider": true, "documentSymbolProvider": true, "textDocumentSync": 2})
}

fn stand(name: &str, on: Value, ready: Duration) -> Stand {
    stand_of(name, "settled", on, ready)
}

fn stand_of(
    name: &str,
    sign: impl Into<Option<&'static str>>,
    on: Value,
    ready: Duration,
) -> Stand {
    let sign = sign.into();
    let limits = Limits {
        ready,
        ..Limits::default()
    };
    let able = able();
    Stand::with(
        &[("a.rs", "fn a() {}\n")],
        |folder| -> Servers {
            let script =
                json!({"capabilities": able, "on": on, "log": folder.join("log")}).to_string();
            let uri = workspace::DocumentUri::from_path(
                &folder.canonicalize().expect("a path").join("a.rs"),
            )
            .expect("a uri");
            stand::write(&folder.join("script"), &script.replace("URI", uri.as_str()));
            let mut server = json!({"command": [stand::STAGE, "serve", folder.join("script")], "languages": ["rust"]});
            if let Some(sign) = sign {
                server["ready"] = json!(sign);
            }
            servers(json!({name: server}))
        },
        limits,
    )
}

/// So many places.
fn places(count: u32) -> Value {
    let place = |column| json!({"uri": "URI", "range": at(0, column, column + 1)});
    json!([{"answer": (0..count).map(place).collect::<Value>()}])
}

async fn ask(stand: &Stand) -> (usize, bool) {
    let found = stand
        .pool
        .references(&stand.uri("a.rs"), ByteOffset(0), true, &never())
        .await
        .expect("answered");
    (found.value.len(), found.complete)
}

fn asked(stand: &Stand) -> usize {
    let methods = stand.methods();
    let is_it = |method: &&String| *method == "textDocument/references";
    methods.iter().filter(is_it).count()
}

#[tokio::test]
async fn the_same_twice_is_believed_and_then_always() {
    let on =
        json!({"textDocument/references": [places(1), places(2), places(3), places(3), places(4)]});
    let stand = stand("scripted", on, Duration::from_secs(30));
    assert_eq!(ask(&stand).await, (3, true));
    assert_eq!(asked(&stand), 4);
    assert_eq!(ask(&stand).await, (4, true), "asked once from then on");
    assert_eq!(asked(&stand), 5);
}

#[tokio::test]
async fn a_server_that_nobody_knows_is_not_believed_at_once() {
    let on = json!({"textDocument/references": [places(1), places(2), places(2)]});
    let stand = stand_of("mine", None, on, Duration::from_secs(30));
    assert_eq!(ask(&stand).await, (2, true));
    assert_eq!(asked(&stand), 3);
}

#[tokio::test]
async fn nothing_twice_from_a_young_server_is_not_believed() {
    let on = json!({"textDocument/references": [places(0), places(0), places(2)]});
    let stand = stand("scripted", on, Duration::from_secs(30));
    assert_eq!(ask(&stand).await, (2, true));
}

#[tokio::test]
async fn what_does_not_settle_in_time_is_incomplete() {
    let on = json!({"textDocument/references": [places(1), places(2), places(3), places(4), places(5), places(6)]});
    let stand = stand("scripted", on, Duration::from_millis(700));
    let (_, complete) = ask(&stand).await;
    assert!(!complete);
}

/// The catalogue knows what pyright says when it has found all files: the same answer ten times before does not count.
#[tokio::test]
async fn a_sign_is_waited_for() {
    let sign =
        json!({"notify": ["window/logMessage", {"type": 3, "message": "Found 885 source files"}]});
    let busy = json!({"run": ["sleep", "1"]});
    let on = json!({"textDocument/didOpen": [[busy, sign]], "textDocument/references": [places(3), places(4)]});
    let stand = stand("pyright", on, Duration::from_secs(30));
    assert_eq!(ask(&stand).await, (3, true));
    assert_eq!(asked(&stand), 1, "nobody kept it from its work");
    assert_eq!(ask(&stand).await, (4, true));
}

#[tokio::test]
async fn without_its_sign_a_server_is_incomplete() {
    let on = json!({"textDocument/references": [places(3)]});
    let stand = stand("pyright", on, Duration::from_millis(700));
    assert_eq!(ask(&stand).await, (3, false));
}

fn progress(kind: &str) -> Value {
    json!({"notify": ["$/progress", {"token": "t", "value": {"kind": kind, "title": "Loading"}}]})
}

/// TypeScript's servers answer with the import line while they load: what came over the beginning of that is of before.
#[tokio::test]
async fn an_answer_that_was_overtaken_is_asked_for_again() {
    let early = places(1)[0].clone();
    let on = json!({"textDocument/references": [
        [progress("begin"), early, progress("end")], places(4), places(5),
    ]});
    let stand = stand_of("scripted", "progress", on, Duration::from_secs(30));
    assert_eq!(ask(&stand).await, (4, true));
    assert_eq!(asked(&stand), 2);
    assert_eq!(ask(&stand).await, (5, true), "asked once from then on");
}

/// It may be slow to begin, so that it is asked before: then only what it says twice counts.
#[tokio::test]
async fn one_that_tells_of_no_progress_is_believed_when_it_repeats_itself() {
    let on = json!({"textDocument/references": [places(1), places(3), places(3), places(4)]});
    let stand = stand_of("scripted", "progress", on, Duration::from_secs(30));
    assert_eq!(ask(&stand).await, (3, true));
    assert_eq!(ask(&stand).await, (4, true));
}

/// It introduces itself when it has begun with this.
fn busy_with(title: &str) -> Value {
    let begin = json!({"token": "t", "value": {"kind": "begin", "title": title}});
    json!([[{"notify": ["$/progress", begin]}, {"answer": {"capabilities": able()}}]])
}

/// What it says twice is not believed while it says that it still reads the project. It is not waited for longer than
/// any other, and asked at once from then on.
#[tokio::test]
async fn loading_that_never_ends_keeps_a_server_from_being_believed() {
    let ready = Duration::from_millis(700);
    for name in ["mine", "jedi-language-server"] {
        let on =
            json!({"initialize": busy_with("Loading"), "textDocument/references": [places(3)]});
        let stand = stand_of(name, None, on, ready);
        assert_eq!(ask(&stand).await, (3, false), "{name}");
        let begun = std::time::Instant::now();
        assert_eq!(ask(&stand).await, (3, false), "{name}");
        assert!(begun.elapsed() < 10 * ready, "{:?}", begun.elapsed());
        assert_eq!(asked(&stand), 2, "once a question");
    }
    let on = json!({"initialize": busy_with("Finding references"), "textDocument/references": [places(3)]});
    let stand = stand_of("mine", None, on, Duration::from_secs(30));
    assert_eq!(ask(&stand).await, (3, true), "that is something else");
}

#[tokio::test]
async fn loading_that_ends_is_waited_for() {
    let ends = json!([progress("end"), {"answer": []}]);
    let on = json!({
        "initialize": busy_with("Indexing"), "textDocument/documentSymbol": [ends],
        "textDocument/references": [places(3)],
    });
    let stand = stand_of("mine", None, on, Duration::from_secs(30));
    let (uri, cancel) = (stand.uri("a.rs"), never());
    let outline = stand.pool.document_symbols(&uri, &cancel);
    let (found, outline) = tokio::join!(ask(&stand), outline);
    outline.expect("answered");
    assert_eq!(found, (3, true));
    let methods = stand.methods();
    let first = |name: &str| methods.iter().position(|method| method == name);
    assert!(
        first("textDocument/documentSymbol") < first("textDocument/references"),
        "{methods:?}"
    );
}
