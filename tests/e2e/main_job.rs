//! The main job with a model: text that exists only in an unsaved buffer is found, read and edited,
//! beside a file that is not open, while the user types.

use serde_json::json;
use tests::client::{Moment, Ways, after, before, over};
use tests::fixtures::Project;
use tests::model::{Asked, Reply, ScriptedModel, Step};

use crate::world;

#[tokio::test]
async fn an_unsaved_buffer_and_a_closed_file_are_edited_while_the_user_types() {
    for ways in [
        Ways::vscode(),
        Ways::neovim(),
        Ways::helix(),
        Ways::eglot(),
        Ways::lsp_mode(),
    ] {
        let name = ways.name;
        let project = Project::with(&[
            ("src/open.txt", "alpha\nbeta\ngamma\n"),
            ("src/closed.txt", "uses alpha\r\n"),
        ]);
        let model = ScriptedModel::start([
            Reply::call("grep", json!({ "pattern": "never_saved" })).into(),
            Step::from(|asked: &Asked| {
                let found = asked.tool_results()[0].1.to_owned();
                assert!(found.contains("src/open.txt (unsaved)"), "{found}");
                assert!(found.contains("never_saved_beta"), "{found}");
                Reply::call("read", json!({ "filePath": "src/open.txt" }))
                    .and_call("read", json!({ "filePath": "src/closed.txt" }))
            }),
            Step::from(|asked: &Asked| {
                let results = asked.tool_results();
                let texts: Vec<&str> = results.iter().map(|(_, text)| *text).collect();
                assert!(texts[0].contains("unsaved changes"), "{texts:?}");
                assert!(texts[0].contains("never_saved_beta"), "{texts:?}");
                assert!(texts[1].contains("on disk"), "{texts:?}");
                Reply::call(
                    "edit",
                    json!({ "filePath": "src/open.txt", "oldString": "never_saved_beta", "newString": "delta" }),
                )
                .and_call(
                    "edit",
                    json!({ "filePath": "src/closed.txt", "oldString": "uses alpha", "newString": "uses delta" }),
                )
            }),
            Reply::text("Both files now say delta.").into(),
        ])
        .await;
        let editor = world::editor(ways, &project, &model).await;
        let open = editor.open(&project.path("src/open.txt"));
        editor.type_at(&open, &over("beta"), "never_saved_beta");
        editor.type_during(
            Moment::BeforeApply,
            &open,
            before("alpha"),
            "typed before\n",
        );
        editor.type_during(Moment::Merged, &open, after("gamma"), " typed after");

        let finished = world::ask(&editor, json!({ "prompt": "rename it", "uri": open })).await;
        assert_eq!(finished["status"], "done", "{name}: {finished}");
        assert_eq!(finished["message"], "Both files now say delta.", "{name}");
        assert_eq!(
            finished["files"].as_array().map(Vec::len),
            Some(2),
            "{name}: {finished}"
        );
        editor.flush();
        assert_eq!(
            editor.text(&open),
            "typed before\nalpha\ndelta\ngamma typed after\n",
            "{name}"
        );
        assert_eq!(
            project.read("src/open.txt"),
            "alpha\nbeta\ngamma\n",
            "{name}: not saved"
        );
        assert_eq!(project.read("src/closed.txt"), "uses delta\r\n", "{name}");
        editor
            .wait_for("the outcome", |m| {
                m["method"] == "window/showMessage"
                    && m["params"]["message"]
                        .as_str()
                        .is_some_and(|text| text.contains("Both files"))
            })
            .await;
        assert_eq!(editor.shutdown().await, 0, "{name}");
    }
}
