//! What no editor should send, and some do. Each gets one clear message, the server lives on, and no
//! buffer is touched.

use serde_json::{Value, json};
use tests::client::{Canned, Editor, Setup, after};
use tests::fixtures::Project;
use tests::model::{Reply, ScriptedModel};

use crate::world;

const TEXT: &str = "one\ntwo\nthree\n";

struct World {
    project: Project,
    editor: Editor,
    uri: String,
    _model: ScriptedModel,
}

/// An editor with one open file, and a model that reads it whenever it is asked.
async fn world() -> World {
    let project = Project::with(&[("a.txt", TEXT)]);
    let model = ScriptedModel::answering(|asked| match asked.tool_results().last() {
        Some((_, text)) => Reply::text((*text).to_owned()),
        None => Reply::call("read", json!({ "filePath": "a.txt" })),
    })
    .await;
    let editor = world::editor(tests::client::Ways::vscode(), &project, &model).await;
    let uri = editor.open(&project.path("a.txt"));
    World {
        project,
        editor,
        uri,
        _model: model,
    }
}

impl World {
    /// The text that the agent sees.
    async fn seen(&self) -> String {
        let finished = world::ask(&self.editor, json!({ "prompt": "read", "uri": self.uri })).await;
        assert_eq!(finished["status"], "done", "{finished}");
        let message = finished["message"].as_str().unwrap_or_default().to_owned();
        let numbered = message.lines().skip(1);
        numbered
            .map(|line| {
                line.split_once('\t')
                    .map_or("", |(_, text)| text)
                    .to_owned()
                    + "\n"
            })
            .collect()
    }

    async fn lives_on(self, text: &str) {
        assert_eq!(self.seen().await, text);
        assert_eq!(self.editor.text(&self.uri), text);
        assert_eq!(self.project.read("a.txt"), TEXT);
        assert_eq!(self.editor.shutdown().await, 0);
    }

    async fn error(&self, code: i64) -> String {
        let what = format!("an error {code}");
        let message = self
            .editor
            .wait_for(&what, |m| m["error"]["code"] == json!(code))
            .await;
        message["error"]["message"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }
}

fn frame(body: &str) -> Vec<u8> {
    format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

#[tokio::test]
async fn malformed_json() {
    let world = world().await;
    world
        .editor
        .send_raw(&frame("{\"jsonrpc\": \"2.0\", \"id\": 7, \"method\": "));
    let message = world.error(-32700).await;
    assert!(message.contains("JSON"), "{message}");
    world.lives_on(TEXT).await;
}

#[tokio::test]
async fn a_content_length_that_is_too_long_or_too_short() {
    for difference in [-5_i64, 5] {
        let world = world().await;
        let body = r#"{"jsonrpc":"2.0","id":9001,"method":"workspace/executeCommand","params":{"command":"copydesk.status"}}"#;
        let length = i64::try_from(body.len()).expect("small") + difference;
        world
            .editor
            .send_raw(format!("Content-Length: {length}\r\n\r\n{body}").as_bytes());
        // The next message shows where the damaged one ends.
        world.editor.notify("$/noSuchNotification", json!({}));
        let message = world.error(-32700).await;
        assert!(message.contains("bytes"), "{difference}: {message}");
        world.lives_on(TEXT).await;
    }
}

#[tokio::test]
async fn garbage_between_messages() {
    let world = world().await;
    world
        .editor
        .send_raw(b"npm warn deprecated: something\r\n\r\n\x00\xff\xfe garbage\n");
    let message = world.error(-32700).await;
    assert!(message.contains("belong to no message"), "{message}");
    world.lives_on(TEXT).await;
}

#[tokio::test]
async fn unknown_methods() {
    let world = world().await;
    let error = world
        .editor
        .request("textDocument/noSuchThing", json!({}))
        .await
        .expect_err("unknown");
    assert_eq!(error.code, -32601);
    world.editor.notify("$/noSuchNotification", json!({}));
    world.editor.notify("noSuchNotification", json!({}));
    world.lives_on(TEXT).await;
}

#[tokio::test]
async fn requests_before_initialize() {
    let project = Project::with(&[("a.txt", TEXT)]);
    let setup = Setup {
        root: project.root().to_owned(),
        ..Setup::default()
    };
    let editor = Editor::spawn(&setup);
    editor.send_raw(&frame(
        r#"{"jsonrpc":"2.0","id":9001,"method":"textDocument/codeAction","params":{"textDocument":{"uri":"file:///a"},"range":{"start":{"line":0,"character":0},"end":{"line":0,"character":0}},"context":{"diagnostics":[]}}}"#,
    ));
    let answer = editor.wait_for("the refusal", |m| m["id"] == 9001).await;
    assert_eq!(answer["error"]["code"], -32002, "{answer}");
    editor.initialize(&setup).await;
    assert_eq!(editor.shutdown().await, 0);
}

#[tokio::test]
async fn uris_that_do_not_parse() {
    let world = world().await;
    world.editor.notify(
        "textDocument/didOpen",
        json!({ "textDocument": { "uri": "not a uri", "languageId": "x", "version": 1, "text": "" } }),
    );
    world.editor.notify(
        "textDocument/didChange",
        json!({ "textDocument": { "uri": "", "version": 2 }, "contentChanges": [{ "text": "x" }] }),
    );
    for method in ["didOpen", "didChange"] {
        let told = format!("textDocument/{method} can't be read: textDocument.uri: ");
        world
            .editor
            .wait_for(&told, |m| {
                let message = m["params"]["message"].as_str().unwrap_or_default();
                m["method"] == "window/logMessage" && message.starts_with(&told)
            })
            .await;
    }
    let error = world
        .editor
        .try_execute("copydesk.ask", json!({ "prompt": "x", "uri": "not a uri" }))
        .await
        .expect_err("refused");
    assert_eq!(error.code, -32602);
    assert!(error.message.contains("uri"), "{}", error.message);
    world.lives_on(TEXT).await;
}

#[tokio::test]
async fn a_document_changed_before_it_was_opened() {
    let world = world().await;
    world.editor.notify(
        "textDocument/didChange",
        json!({
            "textDocument": { "uri": "file:///never/opened.txt", "version": 2 },
            "contentChanges": [{ "text": "x" }],
        }),
    );
    let message = world
        .editor
        .wait_for("a message about it", |m| {
            m["method"] == "window/logMessage"
                && m["params"]["message"]
                    .as_str()
                    .is_some_and(|text| text.contains("opened.txt"))
        })
        .await;
    assert!(
        message["params"]["type"]
            .as_i64()
            .is_some_and(|level| level <= 2),
        "{message}"
    );
    world.lives_on(TEXT).await;
}

/// The change is refused; from then on the buffer is out of step, and edits to it are refused until
/// the editor sends the whole text.
#[tokio::test]
async fn versions_that_go_back() {
    let world = world().await;
    world.editor.notify(
        "textDocument/didChange",
        json!({
            "textDocument": { "uri": world.uri, "version": -3 },
            "contentChanges": [{ "text": "from the past" }],
        }),
    );
    world
        .editor
        .wait_for("a message about it", |m| {
            m["method"] == "window/logMessage"
                && m["params"]["message"]
                    .as_str()
                    .is_some_and(|text| text.contains("version"))
        })
        .await;
    world.lives_on(TEXT).await;
}

#[tokio::test]
async fn a_late_answer_and_an_answer_to_nothing() {
    let project = Project::with(&[("a.txt", TEXT)]);
    let model = ScriptedModel::start([
        Reply::call(
            "edit",
            json!({ "filePath": "a.txt", "oldString": "two", "newString": "2" }),
        )
        .into(),
        Reply::call("read", json!({ "filePath": "a.txt" })).into(),
        Reply::text("x").into(),
    ])
    .await;
    let editor = world::editor(tests::client::Ways::vscode(), &project, &model).await;
    let uri = editor.open(&project.path("a.txt"));
    editor.answer_next("workspace/applyEdit", Canned::Hold);
    let session = world::start(&editor, json!({ "prompt": "edit", "uri": uri })).await;
    let edit = editor
        .wait_for("the edit", |m| m["method"] == "workspace/applyEdit")
        .await;
    editor
        .execute("copydesk.cancel", json!({ "session": session }))
        .await;
    let finished = editor.wait_finished(&session).await;
    assert_eq!(finished["status"], "cancelled");
    // No event can tell of it any more, so the person was told before the end.
    let events = editor.events();
    let told = |event: &&Value| {
        let message = event["message"].as_str().unwrap_or_default();
        event["type"] == "notice" && message.contains("may still be made: Editing a.txt")
    };
    assert!(events.iter().any(|event| told(&event)), "{events:?}");
    editor.reply(&edit["id"], json!({ "applied": false }));
    editor.send_raw(&frame(r#"{"jsonrpc":"2.0","id":999999,"result":null}"#));
    let status = editor.execute("copydesk.status", json!({})).await;
    assert_eq!(status["runs"], json!([]), "it lives on");
    assert_eq!(editor.text(&uri), TEXT);
    assert_eq!(editor.shutdown().await, 0);
}

#[tokio::test]
async fn commands_say_which_field_is_wrong() {
    let world = world().await;
    let cases = [
        ("copydesk.ask", json!({ "prompt": 3 }), "prompt"),
        ("copydesk.ask", json!("text"), "object"),
        ("copydesk.fix", json!({}), "uri"),
        (
            "copydesk.fix",
            json!({ "uri": world.uri, "range": "x" }),
            "range",
        ),
        ("copydesk.cancel", json!({}), "session"),
        (
            "copydesk.cancel",
            json!({ "session": "no-such" }),
            "no-such",
        ),
        (
            "copydesk.ask",
            json!({ "prompt": "x", "session": "no-such" }),
            "no-such",
        ),
        (
            "copydesk.ask",
            json!({ "prompt": "x", "model": "nobody/none" }),
            "nobody",
        ),
        ("copydesk.status", json!("text"), "object"),
        ("copydesk.sessions", json!({ "limit": "x" }), "limit"),
        (
            "copydesk.restartLanguageServer",
            json!({ "name": 5 }),
            "name",
        ),
        ("copydesk.nonsense", json!({}), "copydesk.nonsense"),
    ];
    for (command, argument, part) in cases {
        let name = format!("{command} {argument}");
        let error = world
            .editor
            .try_execute(command, argument)
            .await
            .expect_err(&name);
        assert_eq!(error.code, -32602, "{name}: {}", error.message);
        assert!(error.message.contains(part), "{name}: {}", error.message);
    }
    world.lives_on(TEXT).await;
}

#[tokio::test]
async fn positions_past_the_end_are_clamped() {
    let world = world().await;
    world.editor.type_at(&world.uri, &after("three"), "!");
    let far = json!({ "line": 4_000_000_000_u32, "character": 4_000_000_000_u32 });
    let answer = world
        .editor
        .request(
            "textDocument/codeAction",
            json!({
                "textDocument": { "uri": world.uri },
                "range": { "start": far, "end": far },
                "context": { "diagnostics": [], "triggerKind": 1 },
            }),
        )
        .await
        .expect("answered");
    assert!(
        answer.as_array().is_some_and(|actions| !actions.is_empty()),
        "{answer}"
    );
    let seen: Value = json!(world.seen().await);
    assert_eq!(seen, "one\ntwo\nthree!\n");
    assert_eq!(world.editor.shutdown().await, 0);
}
