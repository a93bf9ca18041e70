//! Messages are acted on in the order they came: a flood of changes and then a question.

use serde_json::json;
use tests::client::over;
use tests::fixtures::Project;
use tests::model::{Asked, Reply, ScriptedModel};

use crate::world;

const CHANGES: usize = 5_000;

/// One process, 100 rounds: 5,000 changes are sent without a pause and a run that reads is started in
/// the same breath. What it reads must be the last text.
#[tokio::test]
async fn a_read_after_a_flood_of_changes_sees_the_last_text() {
    let project = Project::with(&[("a.txt", "0\n")]);
    let model = ScriptedModel::answering(|asked: &Asked| {
        let results = asked.tool_results();
        match results.last() {
            Some((_, text)) => Reply::text((*text).to_owned()),
            None => Reply::call("read", json!({ "filePath": "a.txt" })),
        }
    })
    .await
    .unrecorded();
    let editor = world::vscode(&project, world::options(&model)).await;
    let uri = editor.open(&project.path("a.txt"));
    let mut last = 0;
    for round in 0..100 {
        for _ in 0..CHANGES {
            editor.type_at(&uri, &over(&format!("{last}")), &format!("{}", last + 1));
            last += 1;
        }
        let finished = world::ask(&editor, json!({ "prompt": "read it", "uri": uri })).await;
        let message = finished["message"].as_str().unwrap_or_default().to_owned();
        assert!(
            message.ends_with(&format!("\t{last}")),
            "round {round}: {message:?}"
        );
    }
    assert_eq!(editor.shutdown().await, 0);
}
