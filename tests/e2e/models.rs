//! Models that answer nonsense, fail or fall silent: the run says so in words, the server lives on,
//! and no buffer is touched.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tests::client::{Asking, Editor, Setup, Ways, over};
use tests::fixtures::Project;
use tests::model::{Asked, Ending, Gate, Reply, ScriptedModel, Step};

use crate::world;

const TEXT: &str = "one\ntwo\n";

async fn play(script: Vec<Step>, prompt: Value) -> (Value, Vec<Value>) {
    let project = Project::with(&[("a.txt", TEXT)]);
    let model = ScriptedModel::start(script).await;
    let editor = world::editor(Ways::vscode(), &project, &model).await;
    let uri = editor.open(&project.path("a.txt"));
    let mut argument = prompt;
    argument["uri"] = json!(uri);
    let finished = world::ask(&editor, argument).await;
    assert_eq!(editor.text(&uri), TEXT);
    assert_eq!(project.read("a.txt"), TEXT);
    let events = editor.events();
    assert_eq!(editor.shutdown().await, 0);
    (finished, events)
}

async fn fails(reply: Reply, part: &str) {
    fails_after(vec![reply.into()], part).await;
}

async fn fails_after(script: Vec<Step>, part: &str) {
    let (finished, _) = play(script, json!({ "prompt": "x" })).await;
    assert_eq!(finished["status"], "failed", "{finished}");
    let message = finished["message"].as_str().unwrap_or_default();
    assert!(message.contains(part), "{message} should say {part}");
}

#[tokio::test]
async fn a_model_that_answers_nothing_or_nonsense() {
    fails(Reply::default(), "neither text nor a tool call").await;
    // It is asked once more, in case it was being restarted.
    let garbage = Reply::text("abc").ending(Ending::Garbage { after: 1 });
    let script = vec![garbage.clone().into(), garbage.into()];
    fails_after(script, "can't be understood").await;
    fails(Reply::html(), "web page").await;
    fails(Reply::text("abc").finish("length"), "output limit").await;
}

#[tokio::test]
async fn a_server_that_refuses() {
    let status = |code, body: &str| Reply::status(code, &[], body);
    fails(status(401, r#"{"error":{"message":"bad key"}}"#), "401").await;
    fails(
        status(404, r#"{"error":{"message":"no such model"}}"#),
        "404",
    )
    .await;
    fails(status(400, "not even JSON"), "400").await;
}

#[tokio::test]
async fn a_server_that_is_not_there() {
    let project = Project::with(&[("a.txt", TEXT)]);
    // A port that was free a moment ago, and that nobody listens on.
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .and_then(|l| l.local_addr())
        .expect("a port");
    let editor = Editor::start(Setup {
        root: project.root().to_owned(),
        options: json!({
            "model": "scripted/one",
            "providers": { "scripted": { "base_url": format!("http://{port}/v1") } },
        }),
        ..Setup::default()
    })
    .await;
    let finished = world::ask(&editor, json!({ "prompt": "x" })).await;
    assert_eq!(finished["status"], "failed");
    let message = finished["message"].as_str().unwrap_or_default();
    assert!(message.contains(&port.to_string()), "{message}");
    assert_eq!(editor.shutdown().await, 0);
}

#[tokio::test]
async fn calls_that_are_wrong_are_answered_by_what_would_be_right() {
    let wrong = [
        (
            Reply::call("reed", json!({ "filePath": "a.txt" })),
            "Did you mean `read`?",
        ),
        (
            Reply::raw_call("read", "{\"filePath\": \"a.txt"),
            "not JSON",
        ),
        (Reply::raw_call("read", "[1]"), "not an object"),
        (
            Reply::call("read", json!({ "path": "a.txt" })),
            "\"filePath\" is a required property",
        ),
        (
            Reply::call("read", json!({ "filePath": "/etc/passwd" })),
            "outside the workspace",
        ),
        (
            Reply::call("read", json!({ "filePath": "b.txt" })),
            "does not exist",
        ),
    ];
    let parts: Vec<&'static str> = wrong.iter().map(|(_, part)| *part).collect();
    let mut script: Vec<Step> = Vec::new();
    // Each step looks at the answer to the call of the step before.
    let replies = wrong
        .into_iter()
        .map(|(reply, _)| reply)
        .chain([Reply::text("I give up.")]);
    for (index, reply) in replies.enumerate() {
        let due = index.checked_sub(1).map(|before| parts[before]);
        script.push(Step::from(move |asked: &Asked| {
            if let Some(part) = due {
                let text = asked.tool_results()[0].1;
                assert!(text.contains(part), "{text} should say {part}");
            }
            reply
        }));
    }
    let (finished, events) = play(script, json!({ "prompt": "x" })).await;
    assert_eq!(finished["status"], "done", "{finished}");
    let results: Vec<&Value> = events
        .iter()
        .filter(|e| e["type"] == "tool_result")
        .collect();
    assert_eq!(results.len(), 6);
    assert!(
        results.iter().all(|result| result["ok"] == false),
        "{results:?}"
    );
}

#[tokio::test]
async fn arguments_that_are_not_quite_json_are_carried_out_and_the_model_is_told() {
    let answered = |asked: &Asked| {
        let text = asked.tool_results()[0].1;
        assert!(text.contains("two"), "{text}");
        let told = "no valid JSON and had to be repaired: a code fence around them, a comma before a closing bracket";
        assert!(text.contains(told), "{text}");
        Reply::text("I see.")
    };
    let call = Reply::raw_call("read", "```json\n{\"filePath\": \"a.txt\",}\n```");
    let script = vec![Step::from(call), Step::from(answered)];
    let (finished, _) = play(script, json!({ "prompt": "x" })).await;
    assert_eq!(finished["status"], "done", "{finished}");
}

#[tokio::test]
async fn a_read_only_run_has_no_tool_that_changes_and_gets_none() {
    let script = vec![
        Step::from(|asked: &Asked| {
            assert_eq!(asked.tools(), ["glob", "grep", "list", "lsp", "read"]);
            assert!(asked.system().contains("read-only"));
            Reply::call(
                "edit",
                json!({ "filePath": "a.txt", "oldString": "one", "newString": "1" }),
            )
        }),
        Step::from(|asked: &Asked| {
            assert!(asked.tool_results()[0].1.contains("read-only"));
            Reply::text("I can't.")
        }),
    ];
    let (finished, _) = play(script, json!({ "prompt": "x", "readOnly": true })).await;
    assert_eq!(finished["status"], "denied");
    assert_eq!(finished["message"], "I can't.");
}

#[tokio::test]
async fn the_step_limit_ends_a_model_that_never_does() {
    let project = Project::with(&[("a.txt", TEXT)]);
    let model =
        ScriptedModel::answering(|_| Reply::call("read", json!({ "filePath": "a.txt" }))).await;
    let mut options = world::options(&model);
    options["agent"] = json!({ "max_steps": 3 });
    let editor = Editor::start(Setup {
        root: project.root().to_owned(),
        options,
        ..Setup::default()
    })
    .await;
    let finished = world::ask(&editor, json!({ "prompt": "x" })).await;
    assert_eq!(finished["status"], "failed");
    assert!(
        finished["message"]
            .as_str()
            .is_some_and(|text| text.contains("3 steps")),
        "{finished}"
    );
    assert_eq!(model.requests(3).await.len(), 3);
    assert_eq!(editor.shutdown().await, 0);
}

#[tokio::test]
async fn the_model_is_told_of_the_situation_and_the_projects_instructions() {
    let project = Project::with(&[
        ("AGENTS.md", "Always whisper.\n"),
        ("src/AGENTS.md", "Never shout.\n"),
        ("src/a.txt", "one\ntwo\nthree\n"),
    ]);
    let model = ScriptedModel::start([Reply::text("ok").into()]).await;
    let editor = world::editor(Ways::vscode(), &project, &model).await;
    let uri = editor.open(&project.path("src/a.txt"));
    editor.type_at(&uri, &tests::client::over("two"), "two typed");
    let range =
        json!({ "start": { "line": 1, "character": 0 }, "end": { "line": 1, "character": 3 } });
    world::ask(
        &editor,
        json!({ "prompt": "explain this", "uri": uri, "range": range }),
    )
    .await;
    let asked = &model.requests(1).await[0];
    let (system, prompt) = (asked.system(), asked.prompt());
    let outer = system
        .find("Always whisper.")
        .expect("the root's instructions");
    let inner = system
        .find("Never shout.")
        .expect("the folder's instructions");
    assert!(outer < inner, "the nearest has the last word");
    for part in [
        "Platform: ",
        "Date: 20",
        &format!("Workspace: {}", project.root().display()),
    ] {
        assert!(system.contains(part), "{system} should say {part}");
    }
    for part in [
        "explain this",
        "File: src/a.txt",
        "unsaved",
        "Selected: 2:1 to 2:4",
        "     2\ttwo typed\n",
    ] {
        assert!(prompt.contains(part), "{prompt} should say {part}");
    }
    assert_eq!(editor.shutdown().await, 0);
}

#[tokio::test]
async fn cancel_ends_a_run_wherever_it_is() {
    let stuck = [
        Reply::hang(),
        Reply::text("a b c d").ending(Ending::Hang { after: 2 }),
        Reply::text("word ".repeat(2_000)).slow(Duration::from_millis(5)),
    ];
    for (number, reply) in stuck.into_iter().enumerate() {
        for by_progress in [false, true] {
            let project = Project::with(&[("a.txt", TEXT)]);
            let model = ScriptedModel::start([reply.clone().into()]).await;
            let editor = world::editor(Ways::vscode(), &project, &model).await;
            let session = world::start(&editor, json!({ "prompt": "x" })).await;
            model.requests(1).await;
            let begun = Instant::now();
            if by_progress {
                editor.cancel_progress().await;
            } else {
                editor
                    .execute("copydesk.cancel", json!({ "session": session }))
                    .await;
            }
            let finished = editor.wait_finished(&session).await;
            assert_eq!(finished["status"], "cancelled", "{number} {by_progress}");
            assert!(
                begun.elapsed() < Duration::from_secs(5),
                "{number} {by_progress}"
            );
            model.abandoned(1).await;
            assert_eq!(editor.shutdown().await, 0);
        }
    }
}

/// A model may ask for any number of calls at once; they keep nobody waiting, and a cancel ends them all.
#[tokio::test]
async fn thousands_of_calls_in_one_answer_hold_up_nobody() {
    const READS: usize = 3_000;
    // Behind the reads stand calls that end by a cancel only, so that it always finds some that never began.
    const HANGING: usize = 100;
    const CALLS: usize = READS + HANGING;
    let project = Project::with(&[("scripted.root", ""), ("a.txt", TEXT)]);
    let read = || json!({ "filePath": "a.txt" });
    let hang = || json!({ "operation": "diagnostics", "filePath": "b.scripted" });
    let reads = (1..READS).fold(Reply::call("read", read()), |reply, _| {
        reply.and_call("read", read())
    });
    let reply = (0..HANGING).fold(reads, |reply, _| reply.and_call("lsp", hang()));
    let model = ScriptedModel::start([reply.into()]).await.pieces(100);
    let mut options = world::options(&model);
    options["language_servers"] = world::language_server(&["--hang", "initialize"]);
    let editor = Editor::start(Setup {
        root: project.root().to_owned(),
        options,
        ..Setup::default()
    })
    .await;
    let uri = editor.open(&project.path("a.txt"));
    let hung = tests::client::uri(&project.path("b.scripted"));
    editor.open_text(&hung, "scripted", TEXT);
    let session = world::start(&editor, json!({ "prompt": "x" })).await;
    let count = |kind: &str| {
        let events = editor.events();
        events.iter().filter(|event| event["type"] == kind).count()
    };
    editor
        .wait_event("a first call", |event| event["type"] == "tool_call")
        .await;
    let range = editor.range(&uri, &over("one"));
    editor.code_actions(&uri, range, Asking::default()).await;
    assert!(count("tool_result") < READS, "code actions came last");
    editor
        .execute("copydesk.cancel", json!({ "session": session }))
        .await;
    let finished = editor.wait_finished(&session).await;
    assert_eq!(finished["status"], "cancelled", "{finished}");
    assert!(count("tool_call") < CALLS, "calls began after the cancel");
    assert_eq!(count("tool_call"), count("tool_result"));
    assert_eq!(editor.shutdown().await, 0);
}

#[tokio::test]
async fn sessions_run_side_by_side_and_are_listed() {
    let project = Project::with(&[("a.txt", TEXT)]);
    let gates: Vec<Gate> = (0..3).map(|_| Gate::new()).collect();
    let script = gates
        .iter()
        .map(|gate| Reply::text("done").after(gate).into());
    let model = ScriptedModel::start(script.collect::<Vec<Step>>()).await;
    let editor = world::editor(Ways::vscode(), &project, &model).await;
    let mut sessions = Vec::new();
    for (number, gate) in gates.iter().enumerate() {
        sessions.push(world::start(&editor, json!({ "prompt": format!("task {number}") })).await);
        gate.reached().await;
    }
    let status = editor.execute("copydesk.status", json!({})).await;
    assert_eq!(status["runs"].as_array().map(Vec::len), Some(3), "{status}");
    editor
        .execute("copydesk.cancel", json!({ "session": sessions[1] }))
        .await;
    assert_eq!(
        editor.wait_finished(&sessions[1]).await["status"],
        "cancelled"
    );
    for number in [2, 0] {
        gates[number].open();
        assert_eq!(
            editor.wait_finished(&sessions[number]).await["status"],
            "done"
        );
    }
    let listed = editor
        .execute("copydesk.sessions", json!({ "limit": 2 }))
        .await;
    let listed = listed.as_array().cloned().unwrap_or_default();
    let titles: Vec<&Value> = listed.iter().map(|one| &one["title"]).collect();
    assert_eq!(titles, ["task 2", "task 1"], "newest first, two at most");
    assert_eq!(listed[1]["status"], "cancelled");
    gates[1].open();
    assert_eq!(editor.shutdown().await, 0);
}
