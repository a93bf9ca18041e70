//! What a server had not finished when the model was told of its edits: it is told once, as soon as it is known, and before
//! the run ends.

use std::path::PathBuf;

use serde_json::{Value, json};
use tests::client::Ways;
use tests::fixtures::Project;
use tests::model::{Asked, Reply, ScriptedModel, Step};

use crate::world;

const TEXT: &str = "one\ntwo BAD\n";
const LATER: &str = "Known by now of earlier changes: ";
const PENDING: &str =
    "Pending: scripted-server has not finished: a.scripted; you are told when it is known.";

fn project() -> Project {
    Project::with(&[("scripted.root", ""), ("a.scripted", TEXT)])
}

fn edit(old: &str, new: &str) -> Value {
    json!({ "filePath": "a.scripted", "oldString": old, "newString": new })
}

fn read() -> Reply {
    Reply::call("read", json!({ "filePath": "a.scripted" }))
}

/// A file that makes the server answer once it is there.
fn gate(project: &Project) -> PathBuf {
    project.beside("gate").join("open")
}

/// A run in an editor, with a server that says nothing of any text until the gate is open: its end.
async fn run(project: &Project, model: &ScriptedModel) -> (Value, Vec<Value>) {
    let gate = gate(project);
    let gate = gate.to_str().expect("text");
    let mut options = world::options(model);
    let hang = ["--hang", "textDocument/diagnostic", "--until", gate];
    options["language_servers"] = world::language_server(&hang);
    let editor = world::vscode(project, options).await;
    let uri = tests::client::uri(&project.path("a.scripted"));
    editor.open_text(&uri, "scripted", TEXT);
    let finished = world::ask(&editor, json!({ "prompt": "change", "uri": uri })).await;
    let events = editor.events();
    assert_eq!(editor.shutdown().await, 0);
    (finished, events)
}

fn open(gate: &PathBuf) {
    std::fs::write(gate, "").expect("written");
}

/// While the model goes on: with the first result after it is known, and with no other.
#[tokio::test]
async fn what_was_pending_is_told_once_when_it_is_known() {
    let project = project();
    let gate = gate(&project);
    let mut told = Vec::new();
    let (say, said) = std::sync::mpsc::channel();
    let mut steps = 0;
    let model = ScriptedModel::answering(move |asked: &Asked| {
        let results = asked.tool_results().into_iter();
        told.extend(results.map(|(_, output)| output.to_owned()));
        steps += 1;
        match steps {
            1 => Reply::call("edit", edit("one", "one BAD")),
            // Nothing is known yet, so nothing is told.
            2 => read(),
            3 => {
                open(&gate);
                read()
            }
            _ => {
                let known = told.iter().position(|output| output.contains(LATER));
                // It is looked at while the model thinks, which this one does not.
                if known.is_none_or(|at| at + 3 > told.len()) && steps < 100 {
                    return read();
                }
                say.send(std::mem::take(&mut told)).expect("received");
                Reply::text("Done.")
            }
        }
    })
    .await;
    let (finished, _) = run(&project, &model).await;
    assert_eq!(finished["status"], "done", "{finished}");
    let told = said.recv().expect("told");
    assert!(told[0].ends_with(PENDING), "{told:?}");
    assert!(!told[1].contains(LATER), "{told:?}");
    let news: Vec<&String> = told.iter().filter(|one| one.contains(LATER)).collect();
    let [news] = news[..] else {
        panic!("told once: {told:?}")
    };
    let expected =
        format!("\n\n{LATER}problems added (1):\na.scripted:1:5: error this is BAD (scripted)");
    assert!(news.ends_with(&expected), "{news}");
}

/// Before the run ends: the model is told of new errors and goes on, once.
#[tokio::test]
async fn a_run_does_not_end_over_errors_that_become_known() {
    for (new, cures) in [("one BAD", true), ("one BAD", false), ("one", false)] {
        let project = project();
        let gate = gate(&project);
        let mut steps = vec![
            Step::from(Reply::call("edit", edit("one", &format!("{new} x")))),
            Step::from(move |_: &Asked| {
                open(&gate);
                Reply::text("Done.")
            }),
        ];
        let is_bad = new.contains("BAD");
        if is_bad {
            steps.push(Step::from(move |asked: &Asked| {
                let expected = format!(
                    "{LATER}problems added (1):\na.scripted:1:5: error this is BAD (scripted)"
                );
                assert_eq!(asked.prompt(), expected);
                match cures {
                    true => Reply::call("edit", edit("one BAD x", "one")),
                    false => Reply::text("That is as it should be."),
                }
            }));
        }
        if cures {
            steps.push(Step::from(|asked: &Asked| {
                let results = asked.tool_results();
                assert!(
                    results[0]
                        .1
                        .contains("No new problems in the files looked at (1 cured)."),
                    "{results:?}"
                );
                Reply::text("Cured.")
            }));
        }
        let requests = steps.len();
        let model = ScriptedModel::start(steps).await;
        let (finished, events) = run(&project, &model).await;
        let last = match (is_bad, cures) {
            (true, true) => "Cured.",
            (true, false) => "That is as it should be.",
            _ => "Done.",
        };
        assert_eq!(
            (&finished["status"], &finished["message"]),
            (&json!("done"), &json!(last))
        );
        model.requests(requests).await;
        let notices = events.iter().filter(|event| event["type"] == "notice");
        assert_eq!(notices.count(), 0, "{events:?}");
    }
}

/// What never becomes known holds nobody up, and is not passed over in silence.
#[tokio::test]
async fn what_stays_pending_is_told_to_the_person() {
    let project = project();
    let steps = [
        Reply::call("edit", edit("one", "one BAD")).into(),
        Reply::text("Done.").into(),
    ];
    let model = ScriptedModel::start(steps).await;
    let (finished, events) = run(&project, &model).await;
    assert_eq!(finished["message"], "Done.", "{finished}");
    let notice = events.iter().find(|event| event["type"] == "notice");
    assert_eq!(
        notice.expect("a notice")["message"],
        "not checked in time: scripted-server has not finished: a.scripted"
    );
}

/// A real server that is still reading the project when the first edit is made: whichever way it is told, it is told once, of
/// the caller in a file that nobody opened too.
#[tokio::test]
async fn a_cold_rust_analyzer_is_waited_for_by_nobody_and_heard_once() {
    let project = Project::rust("pub mod callee;\npub mod caller;\n");
    project.write(
        "src/callee.rs",
        "pub fn twice(n: u32) -> u32 {\n    n * 2\n}\n",
    );
    project.write(
        "src/caller.rs",
        "pub fn four() -> u32 {\n    crate::callee::twice(2)\n}\n",
    );
    let more = json!({ "filePath": "src/callee.rs", "oldString": "(n: u32)", "newString": "(n: u32, _m: u32)" });
    // Answered when the server is ready, and about another file.
    let ready =
        json!({ "operation": "hover", "filePath": "src/lib.rs", "line": 1, "character": 9 });
    let (say, said) = std::sync::mpsc::channel();
    let (mut steps, mut told) = (0, String::new());
    let model = ScriptedModel::answering(move |asked: &Asked| {
        for (_, output) in asked.tool_results() {
            told.push_str(output);
        }
        steps += 1;
        match steps {
            1 => Reply::call("edit", more.clone()),
            2 => Reply::call("lsp", ready.clone()),
            _ if !told.contains("E0107") && steps < 90 => Reply::call("lsp", ready.clone()),
            // One more, in which nothing is told again.
            _ if steps < 90 => {
                steps = 90;
                Reply::call("lsp", ready.clone())
            }
            _ => {
                say.send(std::mem::take(&mut told)).expect("received");
                Reply::text("Done.")
            }
        }
    })
    .await;
    let editor = world::editor(Ways::vscode(), &project, &model).await;
    let uri = editor.open(&project.path("src/callee.rs"));
    let finished = world::ask(&editor, json!({ "prompt": "more", "uri": uri })).await;
    assert_eq!(finished["status"], "done", "{finished}");
    let told = said.recv().expect("told");
    assert_eq!(told.matches("E0107").count(), 1, "{told}");
    assert!(told.contains("src/caller.rs:2:27: error[E0107] "), "{told}");
    assert_eq!(editor.shutdown().await, 0);
}
