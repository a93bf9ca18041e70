//! kill -9, of a language server in the middle of a run and of ours: the run ends well, the next one
//! has a new server, and nothing is left behind.

use serde_json::{Value, json};
use tests::client::{Editor, Setup, gone, over, tree};
use tests::fixtures::Project;
use tests::model::{Asked, Gate, Reply, ScriptedModel, Step};

use crate::world;

const BROKEN: &str = "pub fn half(number: u32) -> Option<u32> {\n    number / 2\n}\n";

async fn editor(project: &Project, model: &ScriptedModel) -> Editor {
    let mut options = world::options(model);
    options["language_servers"] = json!({ "rust-analyzer": { "start": "open" } });
    world::vscode(project, options).await
}

async fn server_pid(editor: &Editor) -> u32 {
    let status = editor.execute("copydesk.status", json!({})).await;
    let pid = status["languageServers"][0]["pid"]
        .as_u64()
        .expect("a language server with a pid");
    u32::try_from(pid).expect("a pid")
}

fn kill(pid: u32) {
    let status = std::process::Command::new("kill")
        .args(["-9", &pid.to_string()])
        .status();
    assert!(status.is_ok_and(|status| status.success()), "kill -9 {pid}");
}

/// The processes end within LSP's patience, and none is left.
async fn all_gone(processes: &[(u32, String)]) {
    let gone_all = async {
        while !processes.iter().all(|(pid, _)| gone(*pid)) {
            tokio::task::yield_now().await;
        }
    };
    let in_time = tokio::time::timeout(std::time::Duration::from_secs(5), gone_all).await;
    let left: Vec<_> = processes.iter().filter(|(pid, _)| !gone(*pid)).collect();
    assert!(in_time.is_ok(), "left behind: {left:?}");
}

fn diagnostics() -> Reply {
    Reply::call(
        "lsp",
        json!({ "operation": "diagnostics", "filePath": "src/lib.rs" }),
    )
}

#[tokio::test]
async fn rust_analyzer_killed_in_the_middle_of_a_run_is_started_anew() {
    let project = Project::rust(BROKEN);
    let gate = Gate::new();
    let model = ScriptedModel::start([
        diagnostics().into(),
        diagnostics().after(&gate).into(),
        Step::from(|asked: &Asked| {
            let last = asked
                .tool_results()
                .last()
                .map(|(_, text)| (*text).to_owned());
            Reply::text(last.unwrap_or_default())
        }),
        diagnostics().into(),
        Step::from(|asked: &Asked| {
            let last = asked
                .tool_results()
                .last()
                .map(|(_, text)| (*text).to_owned());
            Reply::text(last.unwrap_or_default())
        }),
    ])
    .await;
    let editor = editor(&project, &model).await;
    let uri = editor.open(&project.path("src/lib.rs"));
    editor.type_at(&uri, &over("number / 2"), "number / 4");
    let session = world::start(&editor, json!({ "prompt": "check", "uri": uri })).await;
    gate.reached().await;
    let first = server_pid(&editor).await;
    kill(first);
    gate.open();
    let finished = editor.wait_finished(&session).await;
    assert_eq!(finished["status"], "done", "{finished}");

    let finished = world::ask(&editor, json!({ "prompt": "check again", "uri": uri })).await;
    assert_eq!(finished["status"], "done", "{finished}");
    let message = finished["message"].as_str().unwrap_or_default();
    assert!(
        message.contains("Option<u32>"),
        "a new server answers: {message}"
    );
    assert_ne!(server_pid(&editor).await, first);
    assert_eq!(editor.shutdown().await, 0);
}

#[tokio::test]
async fn killed_ourselves_we_leave_no_child() {
    let project = Project::rust(BROKEN);
    let gate = Gate::new();
    let model =
        ScriptedModel::start([diagnostics().into(), Reply::text("x").after(&gate).into()]).await;
    let editor = editor(&project, &model).await;
    let uri = editor.open(&project.path("src/lib.rs"));
    world::start(&editor, json!({ "prompt": "check", "uri": uri })).await;
    gate.reached().await;
    let us = editor.pid();
    let children: Vec<(u32, String)> = tree(us).into_iter().filter(|(pid, _)| *pid != us).collect();
    assert!(
        children
            .iter()
            .any(|(_, name)| name.contains("rust-analyzer")),
        "there is something to leave behind: {children:?}"
    );
    editor.kill9().await;
    all_gone(&children).await;
    gate.open();
}

#[tokio::test]
async fn a_closed_stdin_and_an_exit_end_us_and_all_children() {
    for polite in [true, false] {
        let project = Project::rust(BROKEN);
        let gate = Gate::new();
        let model =
            ScriptedModel::start([diagnostics().into(), Reply::text("x").after(&gate).into()])
                .await;
        let editor = editor(&project, &model).await;
        let uri = editor.open(&project.path("src/lib.rs"));
        world::start(&editor, json!({ "prompt": "check", "uri": uri })).await;
        gate.reached().await;
        let us = editor.pid();
        let children = tree(us);
        let code = if polite {
            editor.shutdown().await
        } else {
            editor.hang_up().await
        };
        assert_eq!(code, i32::from(!polite), "LSP's exit code");
        all_gone(&children).await;
        gate.open();
    }
}

#[tokio::test]
async fn a_dead_parent_ends_us_and_all_children() {
    static PARENT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let project = Project::with(&[("scripted.root", ""), ("a.scripted", "good\n")]);
    let parent = std::process::Command::new("sleep")
        .arg("600")
        .spawn()
        .expect("a parent");
    PARENT.store(parent.id(), std::sync::atomic::Ordering::SeqCst);
    let mut editor = Editor::start(Setup {
        root: project.root().to_owned(),
        options: json!({ "language_servers": world::language_server(&[]) }),
        initialize: |params: &mut Value| {
            params["processId"] = json!(PARENT.load(std::sync::atomic::Ordering::SeqCst));
        },
        ..Setup::default()
    })
    .await;
    let uri = tests::client::uri(&project.path("a.scripted"));
    editor.open_text(&uri, "scripted", "good\n");
    let answer = editor.execute("copydesk.fix", json!({ "uri": uri })).await;
    editor.wait_finished(&answer["session"]).await;
    let children = tree(editor.pid());
    assert!(
        children
            .iter()
            .any(|(_, line)| line.contains("language_server")),
        "there is something to leave behind: {children:?}"
    );
    let mut parent = parent;
    parent.kill().expect("the parent is killed");
    parent.wait().expect("and waited for");
    let code = editor.exit_code().await;
    assert_eq!(code, 1, "it was not asked to shut down");
    all_gone(&children).await;
}
