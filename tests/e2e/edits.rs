//! Edits into buffers, for every editor there is and every moment at which its user may type. What
//! was typed and what the model wrote must both be there in the end, once; or the edit was refused
//! and the text is the user's.

use std::time::Duration;

use serde_json::{Value, json};
use tests::client::{Canned, Echo, Editor, Moment, Setup, Stale, Ways, after, before, over};
use tests::fixtures::Project;
use tests::model::{Reply, ScriptedModel};

use crate::world;

const SAVED: &str = "first\nsecond\nthird\nfourth\n";
const UNSAVED: &str = "first\nsecond, unsaved\nthird\nfourth\n";
const EDITED: &str = "first\nsecond, by the model\nthird\nfourth\n";

/// The model makes one edit and then says so.
async fn one_edit() -> ScriptedModel {
    ScriptedModel::start([
        Reply::call(
            "edit",
            json!({ "filePath": "a.txt", "oldString": "second, unsaved", "newString": "second, by the model" }),
        )
        .into(),
        Reply::text("Done.").into(),
    ])
    .await
}

struct Outcome {
    text: String,
    ok: bool,
    output: String,
    /// The edits that reached the editor.
    sent: usize,
}

/// Opens the file, changes it without saving, lets the model edit it and the user type meanwhile.
async fn play(ways: Ways, typing: &[(Moment, tests::client::Spot, &str)]) -> Outcome {
    let project = Project::with(&[("a.txt", SAVED)]);
    let model = one_edit().await;
    let editor = world::editor(ways, &project, &model).await;
    let uri = editor.open(&project.path("a.txt"));
    editor.type_at(&uri, &after("second"), ", unsaved");
    for (moment, spot, text) in typing {
        editor.type_during(*moment, &uri, spot.clone(), text);
    }
    let finished = world::ask(&editor, json!({ "prompt": "edit it", "uri": uri })).await;
    assert_eq!(finished["status"], "done", "{finished}");
    // Editors that wait before they tell have told by now, or tell at once.
    editor.flush();
    let result = of_type(&editor.events(), "tool_result");
    let sent = editor
        .received()
        .iter()
        .filter(|m| m["method"] == "workspace/applyEdit")
        .count();
    let text = editor.text(&uri);
    assert_eq!(editor.shutdown().await, 0);
    assert_eq!(
        project.read("a.txt"),
        SAVED,
        "the disk is the user's to save to"
    );
    Outcome {
        text,
        ok: result["ok"] == json!(true),
        output: result["output"].as_str().unwrap_or_default().to_owned(),
        sent,
    }
}

fn of_type(events: &[Value], kind: &str) -> Value {
    events
        .iter()
        .find(|event| event["type"] == kind)
        .cloned()
        .unwrap_or(Value::Null)
}

/// All that take edits; Kate takes none.
fn takers() -> Vec<Ways> {
    Ways::all()
        .into_iter()
        .filter(|ways| ways.name != "kate")
        .collect()
}

#[tokio::test]
async fn an_edit_into_an_unsaved_buffer_leaves_the_rest_and_the_disk() {
    for ways in takers() {
        let name = ways.name;
        let outcome = play(ways, &[]).await;
        assert!(outcome.ok, "{name}: {}", outcome.output);
        assert_eq!(outcome.text, EDITED, "{name}");
        assert_eq!(outcome.sent, 1, "{name}");
    }
}

#[tokio::test]
async fn typing_elsewhere_at_any_moment_is_kept_and_so_is_the_edit() {
    let moments = [
        Moment::BeforeApply,
        Moment::BeforeReply,
        Moment::AfterReply,
        Moment::Merged,
    ];
    for ways in takers() {
        for moment in moments {
            if ways.stale == Stale::Apply && moment == Moment::BeforeApply {
                continue; // Applied in the wrong place: see below.
            }
            for (spot, text, expected) in [
                (before("first"), "typed\n", format!("typed\n{EDITED}")),
                (
                    after("fourth"),
                    " typed",
                    EDITED.replace("fourth", "fourth typed"),
                ),
                (over("third"), "THIRD", EDITED.replace("third", "THIRD")),
            ] {
                let name = format!("{} {moment:?} {text:?}", ways.name);
                let outcome = play(ways.clone(), &[(moment, spot, text)]).await;
                assert!(outcome.ok, "{name}: {}", outcome.output);
                assert_eq!(outcome.text, expected, "{name}");
            }
        }
    }
}

#[tokio::test]
async fn typing_in_the_same_place_wins_and_the_model_is_shown_it() {
    for ways in takers() {
        if ways.stale == Stale::Apply {
            continue;
        }
        let name = ways.name;
        let typed = (
            Moment::BeforeApply,
            over("second, unsaved"),
            "second, by the user",
        );
        let outcome = play(ways, &[typed]).await;
        assert!(!outcome.ok, "{name}: {}", outcome.output);
        assert!(
            outcome.output.contains("second, by the user"),
            "{name}: {}",
            outcome.output
        );
        assert_eq!(
            outcome.text, "first\nsecond, by the user\nthird\nfourth\n",
            "{name}"
        );
    }
}

#[tokio::test]
async fn a_client_that_applies_stale_edits_is_found_out() {
    let typed = (Moment::BeforeApply, before("first"), "typed\n");
    let outcome = play(Ways::kak_lsp(), &[typed]).await;
    assert!(
        !outcome.ok,
        "the edit went to the wrong place: {}",
        outcome.output
    );
    assert!(outcome.output.contains("wrong place"), "{}", outcome.output);
    assert_eq!(outcome.sent, 1, "it is not made worse by another try");
    assert!(
        outcome.text.contains("typed"),
        "nothing typed is lost: {}",
        outcome.text
    );
}

#[tokio::test]
async fn an_echo_that_comes_late_is_booked_and_not_repeated() {
    let ways = Ways {
        echo: Echo::Late(Duration::from_millis(700)),
        ..Ways::neovim()
    };
    let outcome = play(ways, &[]).await;
    assert!(outcome.ok, "{}", outcome.output);
    assert_eq!((outcome.text.as_str(), outcome.sent), (EDITED, 1));
}

#[tokio::test]
async fn an_editor_that_takes_no_edits_is_told_and_nothing_is_lost() {
    let outcome = play(Ways::kate(), &[]).await;
    assert!(!outcome.ok, "{}", outcome.output);
    assert!(
        outcome.output.contains("takes no edits"),
        "{}",
        outcome.output
    );
    assert_eq!((outcome.text.as_str(), outcome.sent), (UNSAVED, 0));
}

/// What it lacks are versions: it gets `changes`, and the texts alone say what became of them.
#[tokio::test]
async fn a_client_that_takes_no_versions_is_sent_none() {
    let project = Project::with(&[("a.txt", UNSAVED)]);
    let model = one_edit().await;
    let editor = Editor::start(Setup {
        root: project.root().to_owned(),
        options: world::options(&model),
        initialize: |params: &mut Value| {
            params["capabilities"]["workspace"]["workspaceEdit"] = json!({});
        },
        ..Setup::default()
    })
    .await;
    let uri = editor.open(&project.path("a.txt"));
    editor.type_during(Moment::Merged, &uri, after("fourth"), " typed");
    world::ask(&editor, json!({ "prompt": "edit it", "uri": uri })).await;
    let result = of_type(&editor.events(), "tool_result");
    assert_eq!(result["ok"], true, "{result}");
    assert_eq!(editor.text(&uri), EDITED.replace("fourth", "fourth typed"));
    let received = editor.received();
    let sent = received
        .iter()
        .find(|m| m["method"] == "workspace/applyEdit");
    let edit = &sent.expect("an edit")["params"]["edit"];
    assert!(
        edit["changes"].is_object() && edit["documentChanges"].is_null(),
        "{edit}"
    );
    assert_eq!(editor.shutdown().await, 0);
}

#[tokio::test]
async fn a_refusal_gives_the_editors_own_reason() {
    let project = Project::with(&[("a.txt", UNSAVED)]);
    let model = one_edit().await;
    let editor = world::editor(Ways::helix(), &project, &model).await;
    let uri = editor.open(&project.path("a.txt"));
    for _ in 0..8 {
        let refusal = json!({ "applied": false, "failureReason": "the buffer is locked" });
        editor.answer_next("workspace/applyEdit", Canned::Result(refusal));
    }
    world::ask(&editor, json!({ "prompt": "edit it", "uri": uri })).await;
    let result = of_type(&editor.events(), "tool_result");
    assert_eq!(result["ok"], false);
    let output = result["output"].as_str().unwrap_or_default();
    assert!(output.contains("the buffer is locked"), "{output}");
    assert_eq!(editor.text(&uri), UNSAVED);
    assert_eq!(editor.shutdown().await, 0);
}

#[tokio::test]
async fn a_document_closed_in_the_middle_is_told_as_such() {
    let project = Project::with(&[("a.txt", UNSAVED)]);
    let model = one_edit().await;
    let editor = world::editor(Ways::vscode(), &project, &model).await;
    let uri = editor.open(&project.path("a.txt"));
    editor.answer_next("workspace/applyEdit", Canned::Hold);
    let session = world::start(&editor, json!({ "prompt": "edit it", "uri": uri })).await;
    editor
        .wait_for("the edit", |m| m["method"] == "workspace/applyEdit")
        .await;
    editor.close(&uri);
    let finished = editor.wait_finished(&session).await;
    assert_eq!(finished["status"], "done");
    let result = of_type(&editor.events(), "tool_result");
    assert_eq!(result["ok"], false, "{result}");
    assert!(
        result["output"]
            .as_str()
            .unwrap_or_default()
            .contains("closed"),
        "{result}"
    );
    assert_eq!(project.read("a.txt"), UNSAVED);
    editor.kill9().await;
}
