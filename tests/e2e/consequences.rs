//! What the model is told after its edits: the problems that they added, in files that nobody opened too, and nothing of
//! those that were there before.

use std::{
    fmt::Write,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tests::client::Ways;
use tests::fixtures::Project;
use tests::model::{Asked, Reply, ScriptedModel};

use crate::world;

const MANIFEST: &str = "[package]\nname = \"sample\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
const CALLEE: &str = "/// Twice as much.\npub fn twice(number: u32) -> u32 {\n    number * 2\n}\n";

/// A caller among forty errors.
fn caller() -> String {
    let mut text = String::from("use crate::callee::twice;\n\n");
    for at in 0..40 {
        let _ = write!(text, "pub fn wrong{at}() -> u32 {{\n    \"text\"\n}}\n");
    }
    text.push_str("pub fn four() -> u32 {\n    twice(2)\n}\n");
    text
}

fn project() -> Project {
    Project::with(&[
        ("Cargo.toml", MANIFEST),
        ("src/lib.rs", "pub mod callee;\npub mod caller;\n"),
        ("src/callee.rs", CALLEE),
        ("src/caller.rs", &caller()),
    ])
}

fn edit(old: &str, new: &str) -> Value {
    json!({ "filePath": "src/callee.rs", "oldString": old, "newString": new })
}

/// What stands after the tool's own answer, if anything does.
fn told(output: &str) -> &str {
    output.rsplit_once("\n\n").map_or("", |(_, told)| told)
}

/// Breaks the caller by two edits in one answer, half undoes it beside a call that changes nothing, and undoes the rest. A
/// server that was not done with something says so, and then it is all done once more. `outputs` gets what came of it.
fn script(outputs: Arc<Mutex<Vec<String>>>) -> impl FnMut(&Asked) -> Reply {
    const ROUNDS: usize = 8;
    let (mut step, mut rounds) = (0, 0);
    let look = |file: &str| json!({ "operation": "diagnostics", "filePath": file });
    move |asked| {
        let mut outputs = outputs.lock().expect("not poisoned");
        if step == 1 {
            outputs.clear();
        }
        let results = asked.tool_results();
        outputs.extend(results.iter().map(|(_, output)| (*output).to_owned()));
        step += 1;
        match step {
            1 => Reply::call("lsp", look("src/caller.rs")).and_call("lsp", look("src/callee.rs")),
            2 => Reply::call("edit", edit("(number: u32)", "(number: u32, more: u32)"))
                .and_call("edit", edit("number * 2", "number * 2 + more")),
            3 => Reply::call("edit", edit(", more: u32)", ")"))
                .and_call("read", json!({ "filePath": "src/callee.rs" })),
            4 => Reply::call("edit", edit(" + more", "")),
            _ => {
                let is_pending = outputs.iter().any(|output| output.contains("Pending: "));
                rounds += 1;
                if is_pending && rounds < ROUNDS {
                    step = 1;
                    return Reply::call("lsp", look("src/caller.rs"));
                }
                Reply::text("Done.")
            }
        }
    }
}

#[tokio::test]
async fn a_caller_that_breaks_is_told_of_and_not_what_was_wrong_before_rust_analyzer() {
    let project = project();
    let outputs = Arc::default();
    let model = ScriptedModel::answering(script(Arc::clone(&outputs))).await;
    let editor = world::editor(Ways::vscode(), &project, &model).await;
    let uri = editor.open(&project.path("src/callee.rs"));
    let finished = world::ask(&editor, json!({ "prompt": "more", "uri": uri })).await;
    assert_eq!(finished["status"], "done", "{finished}");

    let outputs = outputs.lock().expect("not poisoned").clone();
    let outputs: Vec<&str> = outputs.iter().map(String::as_str).collect();
    let [look, .., first, second, half, read, whole] = outputs[..] else {
        panic!("{outputs:?}")
    };
    assert!(look.starts_with("40 problems"), "{look}");
    // Both edits are looked at together, and told of with the last.
    assert!(!first.contains("roblems"), "{first}");
    assert_eq!(
        told(second),
        "Problems that these changes added (1; rustc and clippy not asked):\nsrc/caller.rs:124:12: error[E0107] expected 2 arguments, found 1 (rust-analyzer)"
    );
    // It stands with the last call that changed something, not with the last call.
    assert_eq!(
        told(half),
        "No new problems (1 cured; rustc and clippy not asked)."
    );
    assert!(!read.contains("roblems"), "{read}");
    assert_eq!(told(whole), "No new problems (rustc and clippy not asked).");

    // Whoever watches sees the same.
    let events = editor.events();
    let shown = |output: &str| {
        let mut results = events.iter().filter(|event| event["type"] == "tool_result");
        results.any(|event| event["output"] == output)
    };
    assert!(shown(second) && shown(half) && shown(whole), "{events:?}");
    assert_eq!(editor.text(&uri), CALLEE);
    assert_eq!(editor.shutdown().await, 0);
}

/// No server for it: nothing is said.
#[tokio::test]
async fn of_what_no_server_knows_nothing_is_said() {
    let project = Project::with(&[("a.txt", "one\n")]);
    let change = json!({ "filePath": "a.txt", "oldString": "one", "newString": "two" });
    let model = ScriptedModel::start([
        Reply::call("edit", change).into(),
        Reply::text("Done.").into(),
    ])
    .await;
    let editor = world::editor(Ways::vscode(), &project, &model).await;
    let uri = editor.open(&project.path("a.txt"));
    world::ask(&editor, json!({ "prompt": "change", "uri": uri })).await;
    let asked = model.requests(2).await;
    let results = asked[1].tool_results();
    let output = &results[0].1;
    assert!(
        !output.contains("roblems") && !output.contains("Pending"),
        "{output}"
    );
    assert_eq!(editor.shutdown().await, 0);
}

/// A server that never answers: the time is up and it is said to be pending; and who cancels does not wait for it.
#[tokio::test]
async fn a_server_that_never_answers_is_pending_and_holds_up_no_cancel() {
    for cancels in [false, true] {
        let project = Project::with(&[("scripted.root", ""), ("a.scripted", "one\n")]);
        let change = json!({ "filePath": "a.scripted", "oldString": "one", "newString": "two" });
        let model = ScriptedModel::start([Reply::call("edit", change).into()]).await;
        model.then(Reply::text("Done."));
        let mut options = world::options(&model);
        options["language_servers"] =
            world::language_server(&["--hang", "textDocument/diagnostic"]);
        let editor = world::vscode(&project, options).await;
        let uri = tests::client::uri(&project.path("a.scripted"));
        editor.open_text(&uri, "scripted", "one\n");
        let session = world::start(&editor, json!({ "prompt": "change", "uri": uri })).await;
        let edited = |event: &Value| event["type"] == "edit";
        editor.wait_event("the edit", edited).await;
        let begun = Instant::now();
        if cancels {
            let which = json!({ "session": session });
            editor.execute("copydesk.cancel", which).await;
        }
        let finished = editor.wait_finished(&session).await;
        let events = editor.events();
        let mut results = events.iter().filter(|event| event["type"] == "tool_result");
        let output = results.next().expect("a result")["output"].clone();
        let output = output.as_str().unwrap_or_default();
        assert!(output.starts_with("1 change in a.scripted"), "{output}");
        if cancels {
            assert_eq!(finished["status"], "cancelled");
            assert_eq!(told(output), "", "{output}");
            // Far less than the three seconds that are waited for an answer.
            assert!(
                begun.elapsed() < Duration::from_secs(2),
                "{:?}",
                begun.elapsed()
            );
        } else {
            assert_eq!(finished["status"], "done");
            assert_eq!(
                told(output),
                "Pending: scripted-server has not finished: a.scripted; you are told when it is known."
            );
        }
        assert_eq!(editor.shutdown().await, 0);
    }
}
