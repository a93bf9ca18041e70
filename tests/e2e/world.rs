//! What most tests here begin with: a project, an editor with its ways, and the scripted model as the
//! configured one.

use serde_json::{Value, json};
use tests::client::{Editor, Setup, Ways};
use tests::fixtures::Project;
use tests::model::ScriptedModel;

/// The options that make `scripted/one` the model.
pub fn options(model: &ScriptedModel) -> Value {
    json!({
        "model": "scripted/one",
        "providers": { "scripted": { "api": "openai-chat", "base_url": model.base_url() } },
    })
}

/// An editor over a project, with the scripted model.
pub async fn editor(ways: Ways, project: &Project, model: &ScriptedModel) -> Editor {
    configured(ways, project, options(model)).await
}

/// One that is as VS Code, with these options.
pub async fn vscode(project: &Project, options: Value) -> Editor {
    configured(Ways::vscode(), project, options).await
}

async fn configured(ways: Ways, project: &Project, options: Value) -> Editor {
    Editor::start(Setup {
        ways,
        root: project.root().to_owned(),
        options,
        ..Setup::default()
    })
    .await
}

/// Asks, and waits until the run has finished: its `finished` event.
pub async fn ask(editor: &Editor, argument: Value) -> Value {
    let session = start(editor, argument).await;
    editor.wait_finished(&session).await
}

/// Asks: the session.
pub async fn start(editor: &Editor, argument: Value) -> Value {
    let answer = editor.execute("copydesk.ask", argument).await;
    answer["session"].clone()
}

/// The options that put the scripted language server behind `*.scripted` files, with these arguments.
pub fn language_server(arguments: &[&str]) -> Value {
    let mut command = vec![env!("CARGO_BIN_EXE_language_server")];
    command.extend(arguments);
    json!({ "scripted-server": {
        "command": command,
        "languages": ["scripted"],
        "root_markers": ["scripted.root"],
        "ready": "initialized",
        "start": "open",
    } })
}
