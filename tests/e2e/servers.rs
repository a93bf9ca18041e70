//! Language servers that are not there, do not start, die, hang or talk nonsense: the agent goes on,
//! and the model is told. And the whole way of a fix, with one that behaves.

use serde_json::{Value, json};
use tests::client::{Asking, Editor, Setup, Ways, over, titled};
use tests::fixtures::Project;
use tests::model::{Asked, Reply, ScriptedModel, Step};

use crate::world;

const TEXT: &str = "good\nthis is BAD\nBAD as well\n";

async fn told(servers: Value, language: &str) -> String {
    let project = Project::with(&[("scripted.root", ""), ("a.scripted", TEXT)]);
    let model = ScriptedModel::start([
        Reply::call(
            "lsp",
            json!({ "operation": "diagnostics", "filePath": "a.scripted" }),
        )
        .into(),
        Step::from(|asked: &Asked| Reply::text(asked.tool_results()[0].1.to_owned())),
    ])
    .await;
    let mut options = world::options(&model);
    options["language_servers"] = servers;
    let editor = Editor::start(Setup {
        ways: Ways::vscode(),
        root: project.root().to_owned(),
        options,
        ..Setup::default()
    })
    .await;
    let uri = tests::client::uri(&project.path("a.scripted"));
    editor.open_text(&uri, language, TEXT);
    let finished = world::ask(&editor, json!({ "prompt": "check", "uri": uri })).await;
    assert_eq!(finished["status"], "done", "{finished}");
    assert_eq!(editor.text(&uri), TEXT);
    assert_eq!(editor.shutdown().await, 0);
    finished["message"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn a_server_that_does_not_serve_is_told_as_what_it_is() {
    let not_there = json!({ "ghost": {
        "command": ["no-such-language-server"], "languages": ["scripted"], "root_markers": ["scripted.root"],
    } });
    let message = told(not_there, "scripted").await;
    assert!(
        message.contains("no-such-language-server") && message.contains("not installed"),
        "{message}"
    );

    let message = told(world::language_server(&["--exit-at-once"]), "scripted").await;
    assert!(
        message.contains("unavailable") && message.contains("this server ends at once"),
        "{message}"
    );

    let message = told(
        world::language_server(&["--die-on", "textDocument/diagnostic"]),
        "scripted",
    )
    .await;
    assert!(
        message.contains("died on textDocument/diagnostic"),
        "{message}"
    );

    let message = told(world::language_server(&["--noise"]), "scripted").await;
    assert!(message.starts_with("2 problems in a.scripted"), "{message}");

    let message = told(json!({}), "no-such-language").await;
    assert!(message.contains("no language server"), "{message}");
}

/// An editor with the scripted language server and no model but the built-in one.
async fn fixing(ways: Ways, arguments: &[&str]) -> (Project, Editor, String) {
    let project = Project::with(&[("scripted.root", ""), ("a.scripted", "good\n")]);
    let editor = Editor::start(Setup {
        ways,
        root: project.root().to_owned(),
        options: json!({ "language_servers": world::language_server(arguments) }),
        ..Setup::default()
    })
    .await;
    let uri = tests::client::uri(&project.path("a.scripted"));
    editor.open_text(&uri, "scripted", "good\n");
    editor.type_at(&uri, &over("good"), "good\nthis is BAD\nBAD as well");
    (project, editor, uri)
}

fn problem(line: u32, start: u32) -> Value {
    json!({
        "range": {
            "start": { "line": line, "character": start },
            "end": { "line": line, "character": start + 3 },
        },
        "severity": 1, "source": "scripted", "message": "this is BAD",
    })
}

#[tokio::test]
async fn fix_with_agent_in_every_editor() {
    for ways in Ways::all().into_iter().filter(|ways| ways.name != "kate") {
        let name = ways.name;
        let own_only = ways.own_diagnostics_only;
        let (project, editor, uri) = fixing(ways, &[]).await;
        let range = editor.range(&uri, &over("this is BAD"));
        let diagnostics = [problem(1, 8)];
        let asking = Asking {
            trigger: Some(1),
            diagnostics: &diagnostics,
            ..Asking::default()
        };
        let mut actions = editor.code_actions(&uri, range, asking).await;
        if own_only {
            // Neovim passes nothing of others: our own server must have spoken first.
            while !actions
                .iter()
                .any(|a| a["title"] == "Fix with agent: this is BAD")
            {
                tokio::task::yield_now().await;
                actions = editor.code_actions(&uri, range, asking).await;
            }
        }
        let fix = titled(&actions, "Fix with agent: this is BAD");
        assert_ne!(fix["isPreferred"], true, "{name}");
        let answer = editor.choose(fix).await.expect("the command runs");
        let finished = editor.wait_finished(&answer["session"]).await;
        assert_eq!(finished["status"], "done", "{name}: {finished}");
        let message = finished["message"].as_str().unwrap_or_default();
        assert!(message.contains("the problem is gone"), "{name}: {message}");
        editor.flush();
        assert_eq!(
            editor.text(&uri),
            "good\nthis is GOOD\nBAD as well\n",
            "{name}"
        );
        assert!(editor.undo(&uri), "{name}");
        assert_eq!(
            editor.text(&uri),
            "good\nthis is BAD\nBAD as well\n",
            "{name}: one undo"
        );
        assert_eq!(project.read("a.scripted"), "good\n", "{name}");
        editor.flush();
        assert_eq!(editor.shutdown().await, 0, "{name}");
    }
}

#[tokio::test]
async fn fix_problems_here_and_fix_all_find_what_the_editor_did_not_say() {
    let (_project, editor, uri) = fixing(Ways::vscode(), &[]).await;
    let argument = json!({ "uri": uri });
    let answer = editor.execute("copydesk.fix", argument).await;
    let finished = editor.wait_finished(&answer["session"]).await;
    assert_eq!(finished["status"], "done", "{finished}");
    let message = finished["message"].as_str().unwrap_or_default();
    assert!(message.starts_with("Fixed 2 of 2 problems."), "{message}");
    assert_eq!(editor.text(&uri), "good\nthis is GOOD\nGOOD as well\n");
    let range = editor.range(&uri, &over("good\nthis"));
    let answer = editor
        .execute("copydesk.fix", json!({ "uri": uri, "range": range }))
        .await;
    let finished = editor.wait_finished(&answer["session"]).await;
    assert_eq!(finished["message"], "No problems found here in a.scripted.");
    assert_eq!(editor.shutdown().await, 0);
}

#[tokio::test]
async fn code_actions_never_wait_for_a_server_that_hangs() {
    let (_project, editor, uri) = fixing(Ways::vscode(), &["--hang", "initialize"]).await;
    let range = editor.range(&uri, &over("this is BAD"));
    let asking = Asking {
        trigger: Some(1),
        ..Asking::default()
    };
    let actions = editor.code_actions(&uri, range, asking).await;
    let titles: Vec<&Value> = actions.iter().map(|action| &action["title"]).collect();
    assert_eq!(titles, ["Fix problems here with agent", "Ask agent…"]);
    assert_eq!(editor.shutdown().await, 0);
}
