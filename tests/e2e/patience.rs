//! Models that fail for a while: they are asked again, or another one is, and whoever waits is told. And what a run may cost.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tests::client::{Editor, Ways};
use tests::fixtures::Project;
use tests::model::{Ending, Reply, ScriptedModel};

use crate::world;

fn project() -> Project {
    Project::with(&[("a.txt", "one\n")])
}

/// How the session's run ended, and the notices of all runs.
async fn finished(editor: &Editor, argument: Value) -> (Value, Vec<String>) {
    let finished = world::ask(editor, argument).await;
    let events = editor.events();
    let notices = events.iter().filter(|event| event["type"] == "notice");
    let notices = notices.map(|event| event["message"].as_str().unwrap_or_default().to_owned());
    (finished, notices.collect())
}

#[tokio::test]
async fn what_fails_for_a_while_is_asked_again_and_told() {
    let project = project();
    let model = ScriptedModel::start([
        Reply::text("a half")
            .ending(Ending::Cut { after: 2 })
            .into(),
        Reply::status(429, &[("retry-after-ms", "20")], "{}").into(),
        Reply::status(529, &[("retry-after", "0")], "{}").into(),
        Reply::text("All is well.").into(),
    ])
    .await;
    let editor = world::editor(Ways::vscode(), &project, &model).await;
    let (finished, notices) = finished(&editor, json!({ "prompt": "x" })).await;
    assert_eq!(finished["status"], "done", "{finished}");
    assert_eq!(finished["message"], "All is well.");
    let parts = [
        "cut off in the middle",
        "rate limited by scripted (429): next try in ",
        "scripted is overloaded or down (529): next try in ",
    ];
    assert_eq!(notices.len(), parts.len(), "{notices:?}");
    for (notice, part) in notices.iter().zip(parts) {
        assert!(notice.contains(part), "{notice}");
    }
    assert_eq!(editor.shutdown().await, 0);
}

#[tokio::test]
async fn a_call_that_came_whole_is_made_though_the_answer_broke_off_after_it() {
    let project = project();
    // The events of a call: its head, its arguments, what closes it.
    let broken = Reply::call("read", json!({ "filePath": "a.txt" })).and_text("and n");
    let model = ScriptedModel::start([
        broken.ending(Ending::Cut { after: 8 }).into(),
        Reply::text("It says one.").into(),
    ])
    .await;
    let editor = world::editor(Ways::vscode(), &project, &model).await;
    let (finished, notices) = finished(&editor, json!({ "prompt": "x" })).await;
    assert_eq!(finished["message"], "It says one.", "{notices:?}");
    assert_eq!(notices, [""; 0]);
    let asked = model.requests(2).await;
    assert_eq!(asked[1].tool_results().len(), 1, "{}", asked[1].body);
    assert_eq!(editor.shutdown().await, 0);
}

#[tokio::test]
async fn another_model_answers_when_the_first_has_failed_for_good() {
    let project = project();
    let first = ScriptedModel::start([Reply::status(402, &[], "pay").into()]).await;
    let other = ScriptedModel::start([
        Reply::call("read", json!({ "filePath": "a.txt" })).into(),
        Reply::text("Done by the other.").into(),
    ])
    .await;
    let mut options = world::options(&first);
    options["fallback_model"] = json!("other/two");
    options["providers"]["other"] = json!({ "base_url": other.base_url() });
    let editor = world::vscode(&project, options).await;
    let (finished, notices) = finished(&editor, json!({ "prompt": "x" })).await;
    assert_eq!(finished["message"], "Done by the other.");
    // Once: the first is not tried again with each step.
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert!(
        notices[0].contains("(402)") && notices[0].ends_with("other/two answers instead"),
        "{notices:?}"
    );
    assert_eq!(editor.shutdown().await, 0);
}

#[tokio::test]
async fn a_wait_is_cancelled_at_once() {
    let project = project();
    let model =
        ScriptedModel::start([Reply::status(429, &[("retry-after", "60")], "{}").into()]).await;
    let editor = world::editor(Ways::vscode(), &project, &model).await;
    let session = world::start(&editor, json!({ "prompt": "x" })).await;
    let is_notice = |event: &Value| event["type"] == "notice";
    editor.wait_event("a notice of the wait", is_notice).await;
    let begun = Instant::now();
    editor
        .execute("copydesk.cancel", json!({ "session": session }))
        .await;
    let finished = editor.wait_finished(&session).await;
    assert_eq!(finished["status"], "cancelled");
    assert!(begun.elapsed() < Duration::from_secs(5));
    assert_eq!(editor.shutdown().await, 0);
}

#[tokio::test]
async fn a_run_stops_before_it_costs_more_than_it_may() {
    let project = project();
    let model = ScriptedModel::start([Reply::call("read", json!({ "filePath": "a.txt" }))
        .usage(100_000, 0)
        .into()])
    .await;
    let mut options = world::options(&model);
    options["max_cost"] = json!(0.391);
    options["providers"]["scripted"]["models"] =
        json!({ "one": { "cost": { "input": 3.9, "output": 0.0 } } });
    let editor = world::vscode(&project, options).await;
    let (finished, _) = finished(&editor, json!({ "prompt": "x" })).await;
    assert_eq!(finished["status"], "failed");
    let message = finished["message"].as_str().unwrap_or_default();
    assert!(
        message.starts_with("stopped at $0.39: the next step costs about $0.0"),
        "{message}"
    );
    assert_eq!(finished["usage"]["cost"], 0.39);
    let status = editor.execute("copydesk.status", Value::Null).await;
    assert_eq!(status["usage"]["cost"], 0.39);
    assert_eq!(editor.shutdown().await, 0);
}

#[tokio::test]
async fn a_limit_that_can_not_be_held_is_said_to_be_none() {
    let project = project();
    let model = ScriptedModel::start([Reply::text("Hello.").usage(10, 10).into()]).await;
    let mut options = world::options(&model);
    options["max_cost"] = json!(0.4);
    let editor = world::vscode(&project, options).await;
    let (finished, notices) = finished(&editor, json!({ "prompt": "x" })).await;
    assert_eq!(finished["status"], "done");
    assert_eq!(finished["usage"]["cost"], Value::Null);
    assert!(
        notices[0]
            .starts_with("max_cost ($0.40) can't be held: the price of scripted/one is not known"),
        "{notices:?}"
    );
    assert_eq!(editor.shutdown().await, 0);
}
