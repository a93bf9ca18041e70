//! The editor's own servers in place of ours: what they answer is not asked of a server of ours, and what they do not
//! answer is.

mod stand;

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use langserver::{Diagnosis, EditorServers, Limits};
use serde_json::{Value, json};
use stand::{STAGE, Stand, at, never, servers, write};
use workspace::{ByteOffset, ByteRange, DocumentUri, Encoding};

type Answers = VecDeque<Result<Value, String>>;

/// An editor that answers from a table. The last answer of a list is given over and over.
#[derive(Default)]
struct Table {
    answers: Mutex<Vec<(&'static str, Answers)>>,
    asked: Mutex<Vec<(String, Value)>>,
    /// What happens while it is asked.
    meanwhile: Mutex<Option<Box<dyn Fn() + Send>>>,
}

impl Table {
    fn of(answers: Vec<(&'static str, Vec<Result<Value, String>>)>) -> Arc<Self> {
        let answers = answers
            .into_iter()
            .map(|(method, list)| (method, list.into()))
            .collect();
        Arc::new(Self {
            answers: Mutex::new(answers),
            ..Self::default()
        })
    }

    fn answer(&self, method: &str, params: Value) -> Result<Value, String> {
        self.asked
            .lock()
            .expect("a lock")
            .push((method.to_owned(), params));
        if let Some(meanwhile) = &*self.meanwhile.lock().expect("a lock") {
            meanwhile();
        }
        let mut answers = self.answers.lock().expect("a lock");
        let found = answers.iter_mut().find(|(one, _)| *one == method);
        match found {
            Some((_, list)) if list.len() > 1 => list.pop_front().expect("an answer"),
            Some((_, list)) => list[0].clone(),
            None => Err("no such method (-32601)".into()),
        }
    }

    fn asked(&self) -> Vec<String> {
        let asked = self.asked.lock().expect("a lock");
        asked.iter().map(|(method, _)| method.clone()).collect()
    }
}

#[async_trait]
impl EditorServers for Table {
    fn queries(&self) -> bool {
        true
    }

    fn diagnoses(&self) -> bool {
        true
    }

    fn encoding(&self) -> Encoding {
        Encoding::Utf16
    }

    async fn query(&self, method: &str, params: Value) -> Result<Value, String> {
        self.answer(method, params)
    }

    async fn diagnostics(&self, uri: Option<&DocumentUri>) -> Result<Value, String> {
        self.answer("diagnostics", json!({"uri": uri.map(DocumentUri::as_str)}))
    }
}

/// A server of ours that answers everything, and an editor.
fn stand(table: &Arc<Table>) -> Stand {
    let report = json!({"kind": "full", "items": [{"range": at(0, 0, 2), "message": "ours"}]});
    let stand = Stand::with(
        &[("a.rs", "fn a() {}\n"), ("b.rs", "fn b() {}\n")],
        |folder| {
            let script = json!({
                "log": folder.join("log"),
                "capabilities": {"hoverProvider": true, "definitionProvider": true, "diagnosticProvider": {}, "textDocumentSync": 1},
                "on": {
                    "textDocument/hover": [[{"answer": {"contents": "ours"}}]],
                    "textDocument/diagnostic": [[{"answer": report}]],
                },
            });
            write(&folder.join("script"), &script.to_string());
            let command = json!([STAGE, "serve", folder.join("script")]);
            servers(json!({"ours": {"command": command, "languages": ["rust"], "start": "open"}}))
        },
        Limits::default(),
    );
    stand.pool.use_editor(table.clone());
    stand
}

fn hover(text: &str) -> Value {
    json!({"contents": text})
}

fn said(diagnosis: Diagnosis) -> String {
    let list = |found: &[langserver::Diagnostic]| {
        let words: Vec<_> = found
            .iter()
            .map(|one| format!("{}..{} {}", one.range.start.0, one.range.end.0, one.message))
            .collect();
        words.join(", ")
    };
    match diagnosis {
        Diagnosis::Fresh(found) => format!("fresh: {}", list(&found)),
        Diagnosis::Pending(found) => format!("pending: {}", list(&found)),
        Diagnosis::Unavailable(reason) => format!("unavailable: {reason}"),
    }
}

/// Everything is asked of the editor, about its own texts and in its own columns; nothing of ours is started.
#[tokio::test]
async fn the_editor_is_asked_in_place_of_a_server_of_ours() {
    let table = Table::of(vec![
        ("textDocument/hover", vec![Ok(hover("the editor's"))]),
        (
            "textDocument/definition",
            vec![Ok(
                json!({"uri": "file:///elsewhere", "range": at(0, 0, 1)}),
            )],
        ),
    ]);
    let stand = stand(&table);
    stand.open("a.rs", "/* \u{1f600} */ fn unsaved() {}\n");
    let name = stand
        .buffers
        .get(&stand.uri("a.rs"))
        .expect("open")
        .text
        .to_string()
        .find("unsaved")
        .expect("a name");
    let answer = stand
        .pool
        .hover(&stand.uri("a.rs"), ByteOffset(name), &never())
        .await
        .expect("an answer");
    assert_eq!(answer.value.as_deref(), Some("the editor's"));
    assert_eq!(
        (answer.complete, answer.server.as_str()),
        (true, "the editor's server")
    );
    let position = table.asked.lock().expect("a lock")[0].1["position"].clone();
    assert_eq!(position, json!({"line": 0, "character": 12}));
    let found = stand
        .pool
        .definition(&stand.uri("a.rs"), ByteOffset(name), &never())
        .await
        .expect("an answer");
    assert_eq!(
        (found.value.len(), found.left_out),
        (0, 1),
        "it can't be read"
    );
    assert_eq!(stand.pool.status(), []);
    assert_eq!(stand.starts(), 0, "not even for `start = \"open\"`");
}

/// Its answer is of a text that nobody knows when somebody types while it is asked, in whatever file: it is asked again, and in
/// the end one of ours is, which has been told exactly what it is asked about.
#[tokio::test]
async fn what_is_typed_over_again_and_again_is_asked_of_ours() {
    for name in ["a.rs", "b.rs"] {
        let table = Table::of(vec![("textDocument/hover", vec![Ok(hover("theirs"))])]);
        let stand = stand(&table);
        for name in ["a.rs", "b.rs"] {
            stand.open(name, "fn a() {}\n");
        }
        let (buffers, uri) = (stand.buffers.clone(), stand.uri(name));
        let typed = move || {
            let version = buffers.get(&uri).and_then(|now| now.version).expect("open") + 1;
            let change = workspace::ContentChange {
                range: None,
                text: format!("// {version}\nfn a() {{}}\n"),
            };
            let changed = buffers.change(&uri, version, &[change], Encoding::Utf16);
            changed.expect("changed");
        };
        *table.meanwhile.lock().expect("a lock") = Some(Box::new(typed));
        assert_eq!(stand.hover("a.rs").await, Ok(Some("ours".into())), "{name}");
        assert_eq!(table.asked().len(), 3, "{name}");
        // Then it is at rest.
        *table.meanwhile.lock().expect("a lock") = None;
        assert_eq!(
            stand.hover("a.rs").await,
            Ok(Some("theirs".into())),
            "{name}"
        );
    }
}

/// An unknown method, or nothing twice from an editor that has never answered: ours is asked, and from then on. What merely
/// failed is tried once more, and ours is asked this once.
#[tokio::test]
async fn what_the_editor_does_not_answer_is_asked_of_ours() {
    let crashed = || Err("it crashed (-32603)".to_owned());
    let overtaken = || Err("content modified (-32801)".to_owned());
    let unknown = Err("no such method (-32601)".to_owned());
    for (answers, first, second, asked) in [
        (vec![unknown, Ok(hover("too late"))], "ours", "ours", 1),
        (
            vec![Ok(Value::Null), Ok(Value::Null), Ok(hover("too late"))],
            "ours",
            "ours",
            2,
        ),
        (
            vec![overtaken(), Ok(hover("theirs"))],
            "theirs",
            "theirs",
            4,
        ),
        (
            vec![crashed(), crashed(), Ok(hover("theirs"))],
            "ours",
            "theirs",
            4,
        ),
        (vec![crashed()], "ours", "ours", 4),
    ] {
        let told = format!("{answers:?}");
        let table = Table::of(vec![("textDocument/hover", answers)]);
        let stand = stand(&table);
        for expected in [first, second] {
            assert_eq!(
                stand.hover("a.rs").await,
                Ok(Some(expected.into())),
                "{told}"
            );
        }
        assert_eq!(table.asked().len(), asked, "{told}");
        let uses_ours = [first, second].contains(&"ours");
        assert_eq!(stand.starts(), usize::from(uses_ours), "{told}");
    }
    // Of one that has answered about the language, nothing means nothing.
    let table = Table::of(vec![(
        "textDocument/hover",
        vec![Ok(hover("x")), Ok(hover("x")), Ok(Value::Null)],
    )]);
    let stand = stand(&table);
    assert_eq!(stand.hover("a.rs").await, Ok(Some("x".into())));
    assert_eq!(stand.hover("a.rs").await, Ok(None));
    assert_eq!(stand.starts(), 0);
}

/// A first answer is believed when it has come twice.
#[tokio::test]
async fn a_first_answer_is_asked_for_twice() {
    let table = Table::of(vec![(
        "textDocument/hover",
        vec![
            Ok(hover("early")),
            Ok(hover("whole")),
            Ok(hover("whole")),
            Ok(hover("later")),
        ],
    )]);
    let stand = stand(&table);
    assert_eq!(stand.hover("a.rs").await, Ok(Some("whole".into())));
    assert_eq!(table.asked().len(), 3);
    assert_eq!(stand.hover("a.rs").await, Ok(Some("later".into())));
    assert_eq!(table.asked().len(), 4, "it is believed by now");
}

/// A server that has just begun knows the line that imports a name before it knows the definition.
#[tokio::test]
async fn a_single_place_is_not_believed_at_once() {
    let table = Table::of(vec![("textDocument/definition", vec![])]);
    let stand = stand(&table);
    let place = |name: &str| Ok(json!([{"uri": stand.uri(name).as_str(), "range": at(0, 3, 4)}]));
    let early = || place("a.rs");
    table.answers.lock().expect("a lock")[0].1 = [early(), early(), early(), place("b.rs")].into();
    stand.open("a.rs", "fn a() {}\n");
    let found = stand
        .pool
        .definition(&stand.uri("a.rs"), ByteOffset(3), &never())
        .await
        .expect("an answer");
    let found: Vec<_> = found
        .value
        .iter()
        .map(|one| one.snapshot.uri.clone())
        .collect();
    assert_eq!(found, [stand.uri("b.rs")]);
    assert_eq!(stand.starts(), 0);
}

fn list(stand: &Stand, items: &Value) -> Value {
    json!([{"uri": stand.uri("a.rs").as_str(), "diagnostics": items}])
}

/// Diagnostics without a version are fresh when they are the same twice; silence counts from an editor with a server.
#[tokio::test]
async fn diagnostics_of_the_editor() {
    let table = Table::of(vec![("diagnostics", vec![Err("not set yet".into())])]);
    let stand = stand(&table);
    let old = json!([{"range": at(0, 0, 2), "message": "old"}]);
    let new = json!([{"range": at(0, 3, 4), "message": "new", "severity": 2}]);
    table.answers.lock().expect("a lock")[0].1 = [
        Ok(list(&stand, &old)),
        Ok(list(&stand, &new)),
        Ok(list(&stand, &new)),
    ]
    .into();
    stand.open("a.rs", "fn a() {}\n");
    let uri = stand.uri("a.rs");
    let minute = Duration::from_secs(60);
    let diagnosis = stand.pool.diagnostics(&uri, minute, &never()).await;
    assert_eq!(said(diagnosis), "fresh: 3..4 new");
    // Known at once, moved along with the text.
    stand.replace("a.rs", "fn a", "pub fn a");
    let known = stand.pool.known_diagnostics(&uri);
    assert_eq!(said(Diagnosis::Fresh(known)), "fresh: 7..8 new");
    // One that does not come to rest is pending.
    table.answers.lock().expect("a lock")[0].1 = (0..50)
        .map(|time| {
            let item = json!([{"range": at(0, 0, 2), "message": time.to_string()}]);
            Ok(list(&stand, &item))
        })
        .collect();
    let diagnosis = stand
        .pool
        .diagnostics(&uri, Duration::from_secs(2), &never())
        .await;
    assert!(said(diagnosis).starts_with("pending"));
    assert_eq!(stand.starts(), 0);
}

#[tokio::test]
async fn silence_of_the_editor() {
    let minute = Duration::from_secs(60);
    for (symbols, expected, starts) in [
        (Ok(json!([])), "fresh: ", 0),
        (Ok(Value::Null), "fresh: 0..2 ours", 1),
        (Err("no such method (-32601)".into()), "fresh: 0..2 ours", 1),
    ] {
        let table = Table::of(vec![
            ("diagnostics", vec![Ok(json!([]))]),
            ("textDocument/documentSymbol", vec![symbols]),
        ]);
        let stand = stand(&table);
        stand.open("a.rs", "fn a() {}\n");
        let diagnosis = stand
            .pool
            .diagnostics(&stand.uri("a.rs"), minute, &never())
            .await;
        assert_eq!(
            (said(diagnosis).as_str(), stand.starts()),
            (expected, starts)
        );
    }
}

/// Fixes come from whoever found the fault, told of it as it came, and are resolved there.
#[tokio::test]
async fn code_actions_of_the_editor() {
    let table = Table::of(vec![
        ("diagnostics", vec![Err("not set yet".into())]),
        (
            "textDocument/codeAction",
            vec![Ok(json!([{"title": "Mend it", "data": 7}]))],
        ),
        ("codeAction/resolve", vec![Err("not set yet".into())]),
    ]);
    let stand = stand(&table);
    let uri = stand.uri("a.rs");
    let edit = json!({"documentChanges": [{
        "textDocument": {"uri": uri.as_str(), "version": 1}, "edits": [{"range": at(0, 3, 4), "newText": "b"}]
    }]});
    {
        let mut answers = table.answers.lock().expect("a lock");
        let found = json!([{"range": at(0, 3, 4), "message": "bad", "data": "its own"}]);
        answers[0].1 = [Ok(list(&stand, &found))].into();
        answers[2].1 = [Ok(json!({"title": "Mend it", "edit": edit}))].into();
    }
    stand.open("a.rs", "fn a() {}\n");
    let Diagnosis::Fresh(found) = stand
        .pool
        .diagnostics(&uri, Duration::from_secs(60), &never())
        .await
    else {
        panic!("not fresh")
    };
    let range = ByteRange::new(3, 4);
    let actions = stand
        .pool
        .code_actions(&uri, range, &found, &never())
        .await
        .expect("actions")
        .value;
    let asked = table
        .asked
        .lock()
        .expect("a lock")
        .last()
        .expect("a question")
        .1
        .clone();
    assert_eq!(asked["context"]["diagnostics"][0]["data"], "its own");
    let changes = stand
        .pool
        .resolve(&actions[0], &never())
        .await
        .expect("changes");
    assert!(format!("{changes:?}").contains("\"b\""), "{changes:?}");
    assert_eq!(stand.starts(), 0);
}

/// After an edit the model is told what the editor's servers say since, of that document and of others that are open.
#[tokio::test]
async fn consequences_by_the_editor() {
    let table = Table::of(vec![
        ("diagnostics", vec![Ok(Value::Null)]),
        ("textDocument/documentSymbol", vec![Ok(json!([]))]),
    ]);
    let stand = stand(&table);
    let says = |of_a: Value, of_b: Value| {
        let (a, b) = (stand.uri("a.rs"), stand.uri("b.rs"));
        let all = json!([
            {"uri": a.as_str(), "diagnostics": of_a}, {"uri": b.as_str(), "diagnostics": of_b}
        ]);
        table.answers.lock().expect("a lock")[0].1 = [Ok(all)].into();
    };
    let known = json!({"range": at(0, 0, 2), "message": "known"});
    let minute = Duration::from_secs(60);
    says(json!([known]), json!([]));
    stand.open("a.rs", "fn a() {}\n");
    stand.open("b.rs", "fn b() { a() }\n");
    let said = |consequences: &langserver::Consequences| {
        let added = consequences.added.iter();
        let added: Vec<_> = added
            .map(|(text, one)| {
                let name = text
                    .uri
                    .path()
                    .and_then(std::path::Path::file_name)
                    .expect("a name");
                format!("{}: {}", name.display(), one.message)
            })
            .collect();
        (
            added.join(", "),
            consequences.cured,
            consequences.pending.len(),
        )
    };
    // Nobody has asked yet what was said before: nobody can tell what is new.
    let before = stand.buffers.get(&stand.uri("a.rs")).expect("open");
    stand.replace("a.rs", "a()", "b()");
    let consequences = stand.pool.consequences(&[before], minute, &never()).await;
    assert_eq!(said(&consequences), (String::new(), 0, 1));
    let not_open = "files that are not open in the editor";
    assert_eq!(consequences.unlooked, [not_open, "1 of 1 other open files"]);
    // Both are asked about in the background when they have come to rest.
    let before = stand.buffers.get(&stand.uri("a.rs")).expect("open");
    let deadline = std::time::Instant::now() + Duration::from_secs(30);
    let asked = |uri: &DocumentUri| {
        let asked = table.asked.lock().expect("a lock");
        asked
            .iter()
            .any(|(_, params)| params["uri"] == uri.as_str())
    };
    while !asked(&stand.uri("b.rs")) {
        assert!(std::time::Instant::now() < deadline, "{:?}", table.asked());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    stand.replace("a.rs", "b()", "c()");
    let new = |text: &str| json!({"range": at(0, 3, 4), "message": text});
    says(json!([known, new("one")]), json!([new("two")]));
    let consequences = stand.pool.consequences(&[before], minute, &never()).await;
    assert_eq!(said(&consequences), ("a.rs: one, b.rs: two".into(), 0, 0));
    assert_eq!(consequences.unlooked, [not_open]);
    let before = stand.buffers.get(&stand.uri("a.rs")).expect("open");
    stand.replace("a.rs", "c()", "d()");
    says(json!([new("one")]), json!([]));
    let consequences = stand.pool.consequences(&[before], minute, &never()).await;
    assert_eq!(said(&consequences), (String::new(), 2, 0));
    assert_eq!(stand.starts(), 0);
}
