//! The loop as a client sees it: calls side by side or in order, each step in the progress, a session
//! that is taken up again, tools that are switched off.

use serde_json::{Value, json};
use tests::client::{Editor, Setup, Ways};
use tests::fixtures::Project;
use tests::model::{Asked, Gate, Reply, ScriptedModel, Step};

use crate::world;

const TEXT: &str = "one\ntwo\n";

fn read() -> Reply {
    Reply::call("read", json!({ "filePath": "a.txt" }))
}

fn kinds(editor: &Editor) -> Vec<String> {
    let kind = |event: &Value| event["type"].as_str().unwrap_or_default().to_owned();
    let all = editor.events();
    let of_calls = all.iter().map(kind).filter(|kind| kind.contains("tool_"));
    of_calls.collect()
}

#[tokio::test]
async fn calls_that_only_look_are_made_side_by_side_and_others_in_order() {
    let edit = json!({ "filePath": "a.txt", "oldString": "one", "newString": "1" });
    let look = json!({ "filePath": "a.txt" });
    for (reply, expected) in [
        (
            read().and_call("grep", json!({ "pattern": "two" })),
            ["tool_call", "tool_call", "tool_result", "tool_result"],
        ),
        (
            Reply::call("edit", edit).and_call("read", look),
            ["tool_call", "tool_result", "tool_call", "tool_result"],
        ),
    ] {
        let project = Project::with(&[("a.txt", TEXT)]);
        let model = ScriptedModel::start([
            reply.into(),
            Step::from(|asked: &Asked| {
                let results = asked.tool_results();
                assert_eq!(results.len(), 2, "{results:?}");
                assert!(results[1].1.contains("two"), "{results:?}");
                Reply::text("ok")
            }),
        ])
        .await;
        let editor = world::editor(Ways::vscode(), &project, &model).await;
        let finished = world::ask(&editor, json!({ "prompt": "x" })).await;
        assert_eq!(finished["status"], "done", "{finished}");
        assert_eq!(kinds(&editor), expected);
        assert_eq!(editor.shutdown().await, 0);
    }
}

#[tokio::test]
async fn progress_has_a_message_a_step_and_ends_in_the_outcome() {
    let project = Project::with(&[("a.txt", TEXT)]);
    let model = ScriptedModel::start([
        read().into(),
        Reply::text("It says one.\n\nAnd two.").into(),
    ])
    .await;
    let editor = world::editor(Ways::vscode(), &project, &model).await;
    world::ask(&editor, json!({ "prompt": "what does it say?" })).await;
    let progress = editor.wait_progress("its end", |run| run.ended).await;
    assert_eq!(progress.title.as_deref(), Some("what does it say?"));
    assert_eq!(progress.messages, ["Reading a.txt", "It says one."]);
    assert_eq!(editor.shutdown().await, 0);
}

#[tokio::test]
async fn a_session_goes_on_where_it_was_and_has_one_run_at_a_time() {
    let project = Project::with(&[("a.txt", TEXT)]);
    let gate = Gate::new();
    let model = ScriptedModel::start([
        Reply::text("Blue.").after(&gate).into(),
        Step::from(|asked: &Asked| {
            let all = asked.body["messages"].to_string();
            assert!(
                all.contains("which colour?") && all.contains("Blue."),
                "{all}"
            );
            assert_eq!(asked.prompt().trim(), "why?");
            Reply::text("Because.")
        }),
    ])
    .await;
    let editor = world::editor(Ways::vscode(), &project, &model).await;
    let session = world::start(&editor, json!({ "prompt": "which colour?" })).await;
    gate.reached().await;
    let again = json!({ "prompt": "why?", "session": session });
    let busy = editor.try_execute("copydesk.ask", again.clone()).await;
    let busy = busy.expect_err("it works");
    assert_eq!(busy.code, -32803, "{}", busy.message);
    assert!(busy.message.contains("still working"), "{}", busy.message);
    gate.open();
    assert_eq!(editor.wait_finished(&session).await["message"], "Blue.");

    assert_eq!(world::start(&editor, again).await, session);
    editor
        .wait_event("the second end", |e| {
            e["type"] == "finished" && e["message"] == "Because."
        })
        .await;
    let listed = editor.execute("copydesk.sessions", json!({})).await;
    assert_eq!(listed.as_array().map(Vec::len), Some(1), "{listed}");
    assert_eq!(editor.shutdown().await, 0);
}

#[tokio::test]
async fn a_tool_that_is_switched_off_is_not_there() {
    let project = Project::with(&[("a.txt", TEXT)]);
    let model = ScriptedModel::start([
        Step::from(|asked: &Asked| {
            assert_eq!(
                asked.tools(),
                ["edit", "glob", "grep", "list", "lsp", "read"]
            );
            Reply::call("write", json!({ "filePath": "a.txt", "content": "" }))
        }),
        Step::from(|asked: &Asked| {
            let answer = asked.tool_results()[0].1;
            assert!(answer.contains("there is no tool `write`"), "{answer}");
            Reply::text("ok")
        }),
    ])
    .await;
    let mut options = world::options(&model);
    options["agent"] = json!({ "tools": { "write": false } });
    let editor = Editor::start(Setup {
        root: project.root().to_owned(),
        options,
        ..Setup::default()
    })
    .await;
    let finished = world::ask(&editor, json!({ "prompt": "x" })).await;
    assert_eq!(finished["status"], "done", "{finished}");
    assert_eq!(project.read("a.txt"), TEXT);
    assert_eq!(editor.shutdown().await, 0);
}

#[tokio::test]
async fn folders_come_and_go() {
    let project = Project::with(&[("a.txt", TEXT)]);
    let other = project.beside("other");
    std::fs::write(other.join("b.txt"), "beside\n").expect("a file");
    let path = other.join("b.txt");
    let model = ScriptedModel::answering(move |asked: &Asked| match asked.tool_results().last() {
        Some((_, text)) => Reply::text((*text).to_owned()),
        None => Reply::call("read", json!({ "filePath": path })),
    })
    .await;
    let editor = world::editor(Ways::vscode(), &project, &model).await;
    let folder = json!([{ "uri": tests::client::uri(&other), "name": "other" }]);
    let none = json!([]);
    for (event, seen) in [
        (None, "outside the workspace"),
        (Some(json!({ "added": folder, "removed": none })), "beside"),
        (
            Some(json!({ "added": none, "removed": folder })),
            "outside the workspace",
        ),
    ] {
        if let Some(event) = event {
            let params = json!({ "event": event });
            editor.notify("workspace/didChangeWorkspaceFolders", params);
        }
        let finished = world::ask(&editor, json!({ "prompt": "read it" })).await;
        let message = finished["message"].as_str().unwrap_or_default();
        assert!(message.contains(seen), "{message} should say {seen}");
    }
    assert_eq!(editor.shutdown().await, 0);
}

/// What the person asked to have fixed reaches a model with its place, its source and the lines around.
#[tokio::test]
async fn a_fix_tells_the_model_of_the_problem() {
    let project = Project::with(&[("a.txt", TEXT)]);
    let model = ScriptedModel::start([Reply::text("ok").into()]).await;
    let editor = world::editor(Ways::vscode(), &project, &model).await;
    let uri = editor.open(&project.path("a.txt"));
    let at = |character: u32| json!({ "line": 1, "character": character });
    let diagnostic = json!({
        "range": { "start": at(0), "end": at(3) },
        "severity": 2, "code": 7, "source": "speller", "message": "no such word\nsee the list",
    });
    let argument = json!({ "uri": uri, "diagnostics": [diagnostic] });
    let answer = editor.execute("copydesk.fix", argument).await;
    editor.wait_finished(&answer["session"]).await;
    let asked = &model.requests(1).await[0];
    for part in [
        "Fix this problem",
        "File: a.txt (plaintext, open in the editor)",
        "a.txt:2:1: warning[7] no such word\n    see the list (speller)\n",
        "     2\ttwo\n",
    ] {
        assert!(
            asked.prompt().contains(part),
            "{} should say {part}",
            asked.prompt()
        );
    }
    assert_eq!(editor.shutdown().await, 0);
}

#[tokio::test]
async fn each_run_of_a_session_names_the_files_that_it_changed_itself() {
    let project = Project::with(&[("a.txt", TEXT)]);
    let edit = json!({ "filePath": "a.txt", "oldString": "two", "newString": "2" });
    let model = ScriptedModel::start([
        Reply::call("edit", edit).into(),
        Reply::text("Changed.").into(),
        Reply::text("Only words.").into(),
    ])
    .await;
    let editor = world::editor(Ways::vscode(), &project, &model).await;
    let session = world::start(&editor, json!({ "prompt": "change it" })).await;
    let first = editor.wait_finished(&session).await;
    let uri = tests::client::uri(&project.path("a.txt"));
    assert_eq!(first["files"], json!([uri]), "{first}");
    let again = json!({ "prompt": "and?", "session": session });
    assert_eq!(world::start(&editor, again).await, session);
    let second = editor
        .wait_event("the second end", |e| {
            e["type"] == "finished" && e["message"] == "Only words."
        })
        .await;
    assert_eq!(second["files"], json!([]), "{second}");
    let listed = editor.execute("copydesk.sessions", json!({})).await;
    assert_eq!(
        listed[0]["files"],
        json!([uri]),
        "a session has all: {listed}"
    );
    assert_eq!(editor.shutdown().await, 0);
}

/// Where nothing was changed, the words are what was asked for.
#[tokio::test]
async fn an_answer_is_shown_whole_and_of_a_change_its_first_paragraph() {
    const WORDS: &str = "The first paragraph.\n\nThe second paragraph.";
    for (changes, expected) in [(false, WORDS), (true, "The first paragraph.")] {
        let project = Project::with(&[("a.txt", TEXT)]);
        let edit = json!({ "filePath": "a.txt", "oldString": "two", "newString": "2" });
        let call = if changes {
            Reply::call("edit", edit)
        } else {
            read()
        };
        let model = ScriptedModel::start([call.into(), Reply::text(WORDS).into()]).await;
        let editor = world::editor(Ways::neovim(), &project, &model).await;
        world::ask(&editor, json!({ "prompt": "x" })).await;
        let shown = editor
            .wait_for("the outcome", |m| m["method"] == "window/showMessage")
            .await;
        assert_eq!(shown["params"]["message"], expected);
        assert_eq!(editor.shutdown().await, 0);
    }
}

#[cfg(unix)]
#[tokio::test]
async fn instructions_are_found_though_root_and_file_are_spelled_differently() {
    let project = Project::with(&[("AGENTS.md", "Whisper.\n"), ("src/a.txt", TEXT)]);
    let door = project.beside("links").join("door");
    std::os::unix::fs::symlink(project.root(), &door).expect("a link");
    let model = ScriptedModel::start([Reply::text("ok").into()]).await;
    let editor = Editor::start(Setup {
        root: door,
        options: world::options(&model),
        ..Setup::default()
    })
    .await;
    let uri = editor.open(&project.path("src/a.txt"));
    world::ask(&editor, json!({ "prompt": "x", "uri": uri })).await;
    let asked = &model.requests(1).await[0];
    assert!(asked.system().contains("Whisper."), "{}", asked.system());
    assert_eq!(editor.shutdown().await, 0);
}
