//! Language servers that are not there, do not start, die, hang or talk nonsense: the agent goes on,
//! and the model is told. And the whole way of a fix, with one that behaves.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tests::client::{Asking, Canned, Editor, Setup, Ways, over, titled};
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
    let editor = world::vscode(&project, options).await;
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
        message.contains("no-such-language-server") && message.contains("was not found"),
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

/// Whoever asks must know whether to install something, to configure something, or to do without.
#[tokio::test]
async fn unknown_switched_off_and_not_installed_are_three_answers() {
    let off = json!({ "rust-analyzer": { "enabled": false } });
    let missing = json!({ "rust-analyzer": { "command": ["no-such-analyzer"] } });
    for (servers, language, expected) in [
        (
            json!({}),
            "no-such-language",
            "no language server is known for no-such-language",
        ),
        (
            off,
            "rust",
            "rust-analyzer is switched off by the configuration ([language_servers.rust-analyzer] has enabled = false), and no other language server for rust is known",
        ),
        (
            missing,
            "rust",
            "the command that is configured for rust-analyzer was not found: no-such-analyzer (`language_servers.rust-analyzer.command`, initializationOptions). Mend it there, or take it out and install the server with: rustup component add rust-analyzer rust-src",
        ),
    ] {
        let message = told(servers, language).await;
        let expected = format!("diagnostics of a.scripted are unavailable: {expected}");
        assert_eq!(message, expected);
    }
}

/// Hints are no task: they are told apart, in a line.
#[tokio::test]
async fn hints_are_not_counted_as_problems() {
    let project = Project::with(&[("scripted.root", "")]);
    let text = "MEH\nthis is BAD\nMEH\nMEH\nMEH\n";
    project.write("a.scripted", text);
    let look = json!({ "operation": "diagnostics", "filePath": "a.scripted" });
    let edit = json!({ "filePath": "a.scripted", "oldString": "BAD", "newString": "MEH" });
    let model = ScriptedModel::start([
        Reply::call("lsp", look.clone()).into(),
        Step::from(move |asked: &Asked| {
            assert_eq!(
                asked.tool_results()[0].1,
                "1 problem in a.scripted (checked just now):\na.scripted:2:9: error this is BAD (scripted)\nand 4 hints: 1:1 this is MEH; 3:1 this is MEH; 4:1 this is MEH; …"
            );
            Reply::call("edit", edit).and_call("lsp", look)
        }),
        Step::from(|asked: &Asked| {
            let results = asked.tool_results();
            let told = results[0].1;
            assert!(told.contains("No new problems in the files looked at (1 cured)."), "{told}");
            assert_eq!(
                results[1].1,
                "No problems in a.scripted (checked just now)\n5 hints: 1:1 this is MEH; 2:9 this is MEH; 3:1 this is MEH; …"
            );
            Reply::text("Done.")
        }),
    ])
    .await;
    let mut options = world::options(&model);
    options["language_servers"] = world::language_server(&[]);
    let editor = world::vscode(&project, options).await;
    let uri = tests::client::uri(&project.path("a.scripted"));
    editor.open_text(&uri, "scripted", text);
    let finished = world::ask(&editor, json!({ "prompt": "check", "uri": uri })).await;
    assert_eq!(finished["status"], "done", "{finished}");
    assert_eq!(editor.shutdown().await, 0);
}

/// In a project that ignores nothing, what we have built is neither found nor seen by git.
#[tokio::test]
async fn the_folder_that_rust_analyzer_builds_in_is_left_alone() {
    let project = Project::rust("pub fn one() -> u32 {\n    let one = 1;\n    one\n}\n");
    let git = |arguments: &[&str]| {
        let ran = std::process::Command::new("git")
            .args(["-c", "user.name=x", "-c", "user.email=x@x"])
            .args(arguments)
            .current_dir(project.root())
            .output()
            .expect("git runs");
        assert!(ran.status.success(), "{arguments:?}");
        String::from_utf8(ran.stdout).expect("UTF-8")
    };
    git(&["init", "-q"]);
    git(&["add", "-A"]);
    git(&["commit", "-q", "-m", "x"]);
    let model = ScriptedModel::start([
        // A file that is on disk is checked in full, by cargo too.
        Reply::call(
            "lsp",
            json!({ "operation": "diagnostics", "filePath": "src/lib.rs" }),
        )
        .into(),
        Reply::call("glob", json!({ "pattern": "**/*" }))
            .and_call("grep", json!({ "pattern": "." }))
            .into(),
        Step::from(|asked: &Asked| {
            let results = asked.tool_results();
            let all: Vec<&str> = results.iter().map(|(_, output)| *output).collect();
            Reply::text(all.join("\n"))
        }),
    ])
    .await;
    let editor = world::editor(Ways::vscode(), &project, &model).await;
    let uri = tests::client::uri(&project.path("src/lib.rs"));
    let finished = world::ask(&editor, json!({ "prompt": "look", "uri": uri })).await;
    let message = finished["message"].as_str().unwrap_or_default();
    assert!(message.contains("src/lib.rs"), "{finished}");
    assert!(!message.contains("target"), "{message}");
    let ours = project.path("target/copydesk");
    assert!(ours.join("debug").is_dir(), "it has built nothing");
    let lock = git(&["status", "--porcelain"]);
    assert!(!lock.contains("target"), "{lock}");
    assert!(ours.join("CACHEDIR.TAG").is_file());
    assert_eq!(editor.shutdown().await, 0);
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

/// As the configuration says; the next question starts it again.
#[tokio::test]
async fn a_server_that_nobody_asks_is_ended() {
    let project = Project::with(&[("scripted.root", ""), ("a.scripted", TEXT)]);
    let editor = Editor::start(Setup {
        ways: Ways::vscode(),
        root: project.root().to_owned(),
        options: json!({
            "language_servers": world::language_server(&[]),
            "language_server_pool": { "idle_shutdown": 1 },
        }),
        ..Setup::default()
    })
    .await;
    let uri = tests::client::uri(&project.path("a.scripted"));
    editor.open_text(&uri, "scripted", TEXT);
    for expected in ["Fixed 2 of 2 problems.", "No problems found"] {
        let answer = editor.execute("copydesk.fix", json!({ "uri": uri })).await;
        let finished = editor.wait_finished(&answer["session"]).await;
        let message = finished["message"].as_str().unwrap_or_default();
        assert!(message.starts_with(expected), "{finished}");
        let ended = async {
            let servers = async || {
                let status = editor.execute("copydesk.status", json!({})).await;
                status["languageServers"].clone()
            };
            while servers().await != json!([]) {
                tokio::task::yield_now().await;
            }
        };
        let within = std::time::Duration::from_secs(30);
        assert!(
            tokio::time::timeout(within, ended).await.is_ok(),
            "it runs on"
        );
    }
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

/// What came of asking an editor that lets its own language servers be asked, with one of ours at hand.
struct Told {
    message: String,
    /// What the editor was asked.
    asked: Vec<Value>,
    /// The servers of ours that there are, and their processes.
    servers: Value,
    processes: Vec<String>,
}

async fn asking_the_editor(
    call: Value,
    answers: impl Fn(&str) -> Vec<(&'static str, Canned)>,
) -> Told {
    let project = Project::with(&[("scripted.root", ""), ("a.scripted", TEXT)]);
    let model = ScriptedModel::start([
        Reply::call("lsp", call).into(),
        Step::from(|asked: &Asked| Reply::text(asked.tool_results()[0].1.to_owned())),
    ])
    .await;
    let mut options = world::options(&model);
    options["language_servers"] = world::language_server(&[]);
    options["client"] = json!({ "requests": ["copydesk/query", "copydesk/diagnostics"] });
    let editor = world::vscode(&project, options).await;
    let uri = tests::client::uri(&project.path("a.scripted"));
    for (method, canned) in answers(&uri) {
        editor.answer_next(method, canned);
    }
    editor.open_text(&uri, "scripted", TEXT);
    let finished = world::ask(&editor, json!({ "prompt": "check", "uri": uri })).await;
    assert_eq!(finished["status"], "done", "{finished}");
    let status = editor.execute("copydesk.status", json!({})).await;
    let asked = editor.received().into_iter().filter(|message| {
        let method = message["method"].as_str().unwrap_or_default();
        ["copydesk/query", "copydesk/diagnostics"].contains(&method)
    });
    let processes = tests::client::tree(editor.pid());
    let told = Told {
        message: finished["message"].as_str().unwrap_or_default().to_owned(),
        asked: asked.collect(),
        servers: status["languageServers"].clone(),
        processes: processes.into_iter().map(|(_, name)| name).collect(),
    };
    assert_eq!(editor.shutdown().await, 0);
    told
}

#[tokio::test]
async fn the_editor_s_own_servers_are_asked_and_none_of_ours_is_started() {
    let call = json!({ "operation": "hover", "filePath": "a.scripted", "line": 2, "character": 9 });
    let told = asking_the_editor(call, |_| {
        let hover = Canned::Result(json!({ "contents": "what the editor knows" }));
        vec![("copydesk/query", hover.clone()), ("copydesk/query", hover)]
    })
    .await;
    assert!(
        told.message.contains("what the editor knows"),
        "{}",
        told.message
    );
    let query = &told.asked[0]["params"];
    assert_eq!(query["method"], "textDocument/hover");
    let position = json!({ "line": 1, "character": 8 });
    assert_eq!(query["params"]["position"], position);

    let call = json!({ "operation": "diagnostics", "filePath": "a.scripted" });
    let of_editor = asking_the_editor(call, |uri| {
        let said = Canned::Result(json!([{ "uri": uri, "diagnostics": [problem(1, 8)] }]));
        (0..4)
            .map(|_| ("copydesk/diagnostics", said.clone()))
            .collect()
    })
    .await;
    let message = &of_editor.message;
    assert!(message.starts_with("1 problem in a.scripted"), "{message}");

    for told in [told, of_editor] {
        assert_eq!(told.servers, json!([]));
        let started = told
            .processes
            .iter()
            .any(|name| name.contains("language_s"));
        assert!(!started, "{:?}", told.processes);
    }
}

#[tokio::test]
async fn what_the_editor_refuses_is_asked_of_a_server_of_ours() {
    let call = json!({ "operation": "diagnostics", "filePath": "a.scripted" });
    let told = asking_the_editor(call, |_| {
        let refused = Canned::Error(-32601, "no such method".to_owned());
        vec![("copydesk/diagnostics", refused)]
    })
    .await;
    let message = &told.message;
    assert!(message.starts_with("2 problems in a.scripted"), "{message}");
    assert_eq!(told.servers[0]["name"], "scripted-server");
    let started = told
        .processes
        .iter()
        .any(|name| name.contains("language_s"));
    assert!(started, "{:?}", told.processes);
}

#[tokio::test]
async fn a_server_is_started_anew_when_it_is_asked_for() {
    let (_project, editor, _) = fixing(Ways::vscode(), &[]).await;
    let until_it_runs = async |but: &Value| {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            let status = editor.execute("copydesk.status", json!({})).await;
            let pid = &status["languageServers"][0]["pid"];
            if !pid.is_null() && pid != but {
                break pid.clone();
            }
            assert!(Instant::now() < deadline, "{status}");
        }
    };
    let first = until_it_runs(&Value::Null).await;
    let restart = "copydesk.restartLanguageServer";
    let unknown = editor
        .try_execute(restart, json!({ "name": "nobody" }))
        .await;
    let unknown = unknown.expect_err("it does not run");
    assert_eq!(
        (unknown.code, unknown.message.as_str()),
        (
            -32602,
            "name: no language server \"nobody\" has been started; running: scripted-server"
        )
    );
    let named = json!({ "name": "scripted-server" });
    assert_eq!(editor.execute(restart, named).await, Value::Null);
    let second = until_it_runs(&first).await;
    assert_eq!(editor.execute(restart, json!({})).await, Value::Null);
    until_it_runs(&second).await;
    assert_eq!(editor.shutdown().await, 0);
}

#[tokio::test]
async fn a_folder_that_is_closed_takes_its_servers_with_it() {
    let (project, editor, _) = fixing(Ways::vscode(), &[]).await;
    let running = async |expected: usize| {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            let status = editor.execute("copydesk.status", json!({})).await;
            let servers = status["languageServers"].as_array().expect("a list");
            if servers.len() == expected {
                break;
            }
            assert!(Instant::now() < deadline, "{status}");
        }
    };
    running(1).await;
    let folder = json!({ "uri": tests::client::uri(project.root()), "name": "project" });
    editor.notify(
        "workspace/didChangeWorkspaceFolders",
        json!({ "event": { "added": [], "removed": [folder] } }),
    );
    running(0).await;
    assert_eq!(editor.shutdown().await, 0);
}
