//! Small models: what they can't do is done for them. They write lines; the lines are put in their place, checked and
//! taken back, and a run ends by itself.

use std::time::Duration;

use serde_json::{Value, json};
use tests::client::{Editor, Setup, Ways, over};
use tests::fixtures::Project;
use tests::model::{Asked, Reply, ScriptedModel};
use tests::terminal;

use crate::world;

const SHAPE: &str = "pub struct Square {\n    side: u64,\n}\n\nimpl Square {\n    pub fn new(side: u64) -> Self {\n        Square { side }\n    }\n\n    pub fn area(&self) -> u64 {\n        self.side * self.side\n    }\n}\n";
const LIB: &str = "mod shape;\n\npub use shape::Square;\n\n/// The area of a square, in words.\npub fn told(square: &Square) -> String {\n    let area: u32 = square.area();\n    format!(\"{area} in all\")\n}\n\npub fn none() -> u64 {\n    0\n}\n";
/// A cold language server included.
const LIMIT: Duration = Duration::from_secs(120);
const WRONG: &str = "let area: u32 = square.area();";

fn project() -> Project {
    let project = Project::rust(LIB);
    project.write("src/shape.rs", SHAPE);
    project
}

async fn editor(project: &Project, model: &ScriptedModel) -> Editor {
    let mut options = world::options(model);
    options["providers"]["scripted"]["models"] = json!({ "one": { "compact": true } });
    let setup = Setup {
        ways: Ways::vscode(),
        root: project.root().to_owned(),
        options,
        ..Setup::default()
    };
    Editor::start(setup).await
}

/// Has the problem in `src/lib.rs` fixed, typed in and not saved.
async fn fix(editor: &Editor, project: &Project) -> (String, Value) {
    let uri = editor.open(&project.path("src/lib.rs"));
    editor.type_at(&uri, &over("/// The area"), "/// The size");
    let range = editor.range(&uri, &over(WRONG));
    let argument = json!({ "uri": uri, "range": range });
    // A server that is not done yet knows of no problem.
    loop {
        let answer = editor.execute("copydesk.fix", argument.clone()).await;
        let finished = editor.wait_finished(&answer["session"]).await;
        let message = finished["message"].as_str().unwrap_or_default();
        if !message.contains("not finished")
            && !message.contains("yet")
            && !message.contains("No problems")
        {
            return (uri, finished);
        }
    }
}

fn code(line: &str) -> String {
    format!(
        "```rust\npub fn told(square: &Square) -> String {{\n    {line}\n    format!(\"{{area}} in all\")\n}}\n```"
    )
}

fn expected(line: &str) -> String {
    LIB.replace("/// The area", "/// The size")
        .replace(WRONG, line)
}

#[tokio::test]
async fn a_small_model_is_told_what_it_must_know_and_writes_lines() {
    let project = project();
    let right = "let area: u64 = square.area();";
    let model = ScriptedModel::answering(move |_: &Asked| Reply::text(code(right))).await;
    let editor = editor(&project, &model).await;
    let (uri, finished) = fix(&editor, &project).await;
    assert_eq!(finished["status"], "done", "{finished}");
    assert_eq!(editor.text(&uri), expected(right));
    // The run ends by itself: nothing more is asked when nothing is wrong any more.
    let asked = model.requests(1).await;
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].tools(), [""; 0]);
    let told = asked[0].prompt();
    for part in [
        "Problem in line 7: [E0308] ",
        "Line 7 is:\n```rust\n    let area: u32 = square.area();\n```\n",
        // What the line names, in another file.
        "src/shape.rs line 10:\n```\npub fn area(&self) -> u64 {\n```\n",
        // What was typed and never saved.
        "/// The size of a square, in words.\npub fn told(square: &Square) -> String {\n",
    ] {
        assert!(told.contains(part), "{part:?} is told: {told}");
    }
    assert!(!told.contains("pub fn none"), "{told}");
    let bytes = asked[0].system().len() + told.len();
    assert!(bytes < 4_000, "{bytes} bytes");
    assert_eq!(project.read("src/lib.rs"), LIB, "it is the user's to save");
    assert_eq!(editor.shutdown().await, 0);
}

#[tokio::test]
async fn lines_that_solve_nothing_are_taken_back_and_answered_with_what_is_wrong() {
    let project = project();
    let lines = [
        // It is still there; it is not there, but another is; nothing that could be used; and right.
        "let area: u32 = square.area() + 0;",
        "let area: u32 = \"much\";",
        "let area = square.area();",
    ];
    let mut next = lines.into_iter();
    let model = ScriptedModel::answering(move |_: &Asked| match next.next() {
        Some(line) => Reply::text(code(line)),
        None => Reply::text("I give up."),
    })
    .await;
    let editor = editor(&project, &model).await;
    let (uri, finished) = fix(&editor, &project).await;
    assert_eq!(finished["status"], "done", "{finished}");
    assert_eq!(editor.text(&uri), expected(lines[2]));
    let asked = model.requests(3).await;
    assert_eq!(asked.len(), 3);
    let told = |number: usize| asked[number].prompt().to_owned();
    assert!(
        told(1).contains("the problem is still there"),
        "{}",
        told(1)
    );
    assert!(told(2).contains("problem"), "{}", told(2));
    // Each try begins from the user's text.
    let edits: Vec<Value> = editor
        .events()
        .into_iter()
        .filter(|event| event["type"] == "edit")
        .collect();
    assert_eq!(edits.len(), 5, "{edits:?}");
    assert_eq!(editor.shutdown().await, 0);
}

#[tokio::test]
async fn after_some_tries_the_text_is_as_it_was_or_the_server_s_own_fix_is_taken() {
    let project = project();
    let model = ScriptedModel::answering(|_: &Asked| Reply::text("I can't do that.")).await;
    let editor = editor(&project, &model).await;
    let (uri, finished) = fix(&editor, &project).await;
    let asked = model.requests(3).await;
    assert_eq!(asked.len(), 3, "it is asked three times, and then no more");
    assert!(
        asked[2]
            .prompt()
            .contains("There is no code block in your answer"),
        "{}",
        asked[2].prompt()
    );
    let notices: Vec<Value> = editor
        .events()
        .into_iter()
        .filter(|event| event["type"] == "notice")
        .collect();
    assert!(
        notices.iter().any(|notice| notice["message"]
            .as_str()
            .is_some_and(|message| message.contains("the language server's own fix is tried"))),
        "{notices:?}"
    );
    let text = editor.text(&uri);
    match finished["status"].as_str() {
        Some("done") => assert_ne!(text, expected(WRONG)),
        _ => assert_eq!(text, expected(WRONG), "{finished}"),
    }
    assert_eq!(editor.shutdown().await, 0);
}

#[tokio::test]
async fn what_is_asked_of_a_small_model_is_short_and_ends_when_it_goes_in_circles() {
    let project = Project::new();
    project.write("a.txt", "one\n");
    let call = json!({ "filePath": "a.txt" });
    let model = ScriptedModel::answering(move |_: &Asked| Reply::call("read", call.clone())).await;
    let editor = editor(&project, &model).await;
    let finished = world::ask(&editor, json!({ "prompt": "What is in a.txt?" })).await;
    assert_eq!(finished["status"], "failed", "{finished}");
    let message = finished["message"].as_str().unwrap_or_default();
    assert!(
        message.contains("the same call with the same result"),
        "{message}"
    );
    let asked = model.requests(3).await;
    assert_eq!(asked.len(), 3);
    assert_eq!(asked[0].tools(), ["edit", "grep", "lsp", "read", "write"]);
    let tools = asked[0].body["tools"].to_string().len();
    let whole = tools + asked[0].system().len();
    assert!(whole < 4_000, "{whole} bytes, {tools} of tools");
    assert_eq!(editor.shutdown().await, 0);
}

#[tokio::test]
async fn who_may_only_look_is_answered_in_words() {
    let project = project();
    let model = ScriptedModel::answering(|_: &Asked| Reply::text("It is a u64.")).await;
    let config = format!(
        "[providers.scripted]\napi = \"openai-chat\"\nbase_url = \"{}\"\nmodels.one.compact = true\n",
        model.base_url()
    );
    std::fs::write(project.beside("config").join("config.toml"), config).expect("written");
    let command = terminal::copydesk(project.root(), &project.beside("config"));
    let arguments = [
        "fix",
        "src/lib.rs:7",
        "--read-only",
        "--model",
        "scripted/one",
    ];
    let run = terminal::run(command, arguments, LIMIT)
        .await
        .expect("it runs");
    assert_eq!(
        (run.message.as_str(), run.calls),
        ("It is a u64.", 0),
        "{run:?}"
    );
    let asked = model.requests(1).await;
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].tools(), ["grep", "lsp", "read"]);
    assert_eq!(project.read("src/lib.rs"), LIB);
}
