//! Which models there are to choose from, choosing one, and what is said to those who have none: on the real binary, with
//! model servers on this machine that list what they have.

use serde_json::{Value, json};
use tests::client::Editor;
use tests::fixtures::Project;
use tests::model::{Gate, Reply, ScriptedModel};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use crate::world;

const TAGS: &str = r#"{"models":[{"name":"qwen3-coder:30b"},{"name":"gpt-oss:latest"},{"name":"nomic-embed-text:latest"}]}"#;

/// A server that answers that path with that body, all others with 404; without a body it says nothing, and tells of who
/// has connected.
async fn lists(path: &'static str, body: Option<&'static str>) -> (String, mpsc::Receiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let base = format!("http://{}/v1", listener.local_addr().expect("bound"));
    let (came, comes) = mpsc::channel(8);
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let _ = came.try_send(());
            tokio::spawn(async move {
                let mut request = Vec::new();
                while !request.ends_with(b"\r\n\r\n") {
                    if socket.read_buf(&mut request).await.unwrap_or(0) == 0 {
                        return;
                    }
                }
                let Some(body) = body else {
                    // Until the other side closes.
                    let _ = socket.read(&mut [0]).await;
                    return;
                };
                let asked = format!("GET {path} HTTP/1.1\r\n");
                let status = match request.starts_with(asked.as_bytes()) {
                    true => "200 OK",
                    false => "404 Not Found",
                };
                let length = body.len();
                let head =
                    format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {length}");
                let answer = format!("{head}\r\n\r\n{body}");
                let _ = socket.write_all(answer.as_bytes()).await;
            });
        }
    });
    (base, comes)
}

/// An editor whose model servers on this machine are at these addresses, and whose keys are none.
async fn editor(project: &Project, ollama: &str, other: &str, model: Value) -> Editor {
    let options = json!({
        "model": model,
        "providers": { "ollama": { "base_url": ollama }, "llamacpp": { "base_url": other } },
    });
    world::vscode(project, options).await
}

/// An address where nobody is.
async fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    format!("http://{}/v1", listener.local_addr().expect("bound"))
}

fn find<'a>(models: &'a Value, id: &str) -> &'a Value {
    let list = models.as_array().expect("a list");
    let found = list.iter().find(|model| model["id"] == id);
    found.unwrap_or_else(|| panic!("{id} in {models}"))
}

#[tokio::test]
async fn models_are_listed_with_why_they_can_not_be_asked() {
    let project = Project::with(&[("a.txt", "one\n")]);
    let (ollama, _) = lists("/api/tags", Some(TAGS)).await;
    let (other, mut silent) = lists("/v1/models", None).await;
    let editor = editor(&project, &ollama, &other, json!("mine/some-model")).await;
    let provider = editor.server();
    let commands = &provider["capabilities"]["executeCommandProvider"]["commands"];
    for command in ["copydesk.models", "copydesk.setModel"] {
        let commands = commands.as_array().expect("a list");
        assert!(commands.contains(&json!(command)), "{commands:?}");
    }
    let params = json!({ "command": "copydesk.models" });
    let asked = editor.start_request("workspace/executeCommand", params);
    // Whoever waits for a server that says nothing keeps nobody waiting.
    silent.recv().await.expect("it is looked for");
    editor.execute("copydesk.status", json!({})).await;
    let models = editor.answer(asked).await.expect("an answer");
    let all = models.as_array().expect("a list");
    for model in all {
        let has_why = model["why"].as_str().is_some_and(|why| !why.is_empty());
        assert_eq!(model["available"], !has_why, "{model}");
    }
    assert!(all.is_sorted_by_key(|model| model["available"] == false));
    for id in [
        "ollama/qwen3-coder:30b",
        "ollama/gpt-oss",
        "builtin/quickfix",
    ] {
        assert_eq!(find(&models, id)["available"], true, "{id}");
    }
    for (id, why) in [
        ("anthropic/claude-sonnet-5-5", "ANTHROPIC_API_KEY"),
        ("ollama/qwen2.5-coder", "`ollama pull qwen2.5-coder`"),
        // The configured one, which nobody knows.
        ("mine/some-model", "there is no provider “mine”"),
    ] {
        let told = find(&models, id)["why"].as_str().unwrap_or_default();
        assert!(told.contains(why), "{id}: {told}");
    }
    assert_eq!(editor.shutdown().await, 0);
}

#[tokio::test]
async fn a_model_that_is_chosen_answers_later_runs() {
    let project = Project::with(&[("a.txt", "one\n")]);
    let gate = Gate::new();
    let first = ScriptedModel::start([Reply::text("From the first.").after(&gate).into()]).await;
    let other = ScriptedModel::start([Reply::text("From the other.").into()]).await;
    let mut options = world::options(&first);
    options["providers"]["other"] = json!({ "base_url": other.base_url() });
    let editor = world::vscode(&project, options).await;
    let begun = world::start(&editor, json!({ "prompt": "x" })).await;
    gate.reached().await;
    let set = json!({ "model": "other/two" });
    assert_eq!(editor.execute("copydesk.setModel", set).await, Value::Null);
    let status = editor.execute("copydesk.status", json!({})).await;
    assert_eq!(status["model"], "other/two");
    gate.open();
    let finished = editor.wait_finished(&begun).await;
    assert_eq!(finished["message"], "From the first.");
    let finished = world::ask(&editor, json!({ "prompt": "x" })).await;
    assert_eq!(finished["message"], "From the other.");

    for (argument, parts) in [
        (
            json!({ "model": "opnai/gpt-5" }),
            vec![
                "model: there is no provider “opnai”",
                "The nearest: openai/gpt-5",
            ],
        ),
        (
            json!({ "model": "claude-sonet-5-5" }),
            vec![
                "model: “claude-sonet-5-5” is no model's name",
                "anthropic/claude-sonnet-5-5",
            ],
        ),
        (
            json!({ "model": "builtin/quickfx" }),
            vec!["model: ", "builtin/quickfix"],
        ),
        (
            json!({ "model": "anthropic/claude-sonnet-5-5" }),
            vec!["model: anthropic needs a key", "ANTHROPIC_API_KEY"],
        ),
        (json!({ "model": "" }), vec!["model: "]),
        (json!({ "model": 5 }), vec!["model: invalid type"]),
        (json!({}), vec!["model"]),
        (Value::Null, vec!["argument: missing"]),
    ] {
        let told = argument.to_string();
        let refused = editor.try_execute("copydesk.setModel", argument).await;
        let error = refused.expect_err(&told);
        assert_eq!(error.code, -32602, "{told}: {}", error.message);
        for part in parts {
            assert!(error.message.contains(part), "{told}: {}", error.message);
        }
    }
    let status = editor.execute("copydesk.status", json!({})).await;
    assert_eq!(status["model"], "other/two");
    assert_eq!(editor.shutdown().await, 0);
}

/// What could not be fixed without a model is said with the models that are here.
#[tokio::test]
async fn who_has_no_model_is_told_which_there_are_here() {
    let (ollama, _) = lists("/api/tags", Some(TAGS)).await;
    let (other, _) = lists(
        "/v1/models",
        Some(r#"{"data":[{"id":"qwen.gguf","owned_by":"llamacpp"}]}"#),
    )
    .await;
    let (silent, _) = lists("/api/tags", None).await;
    let keys = "set ANTHROPIC_API_KEY, OPENAI_API_KEY or OPENROUTER_API_KEY";
    for (ollama, other, parts) in [
        (
            ollama,
            other,
            vec![
                "set `model = \"ollama/qwen3-coder:30b\"` in the configuration (Ollama runs here, and also has ollama/gpt-oss)",
                "set `model = \"llamacpp/qwen.gguf\"` in the configuration (llama.cpp runs here)",
                keys,
            ],
        ),
        (silent, nobody().await, vec![keys, "`model = \"ollama/…\"`"]),
    ] {
        let text = "VERY BAD\n";
        let project = Project::with(&[("scripted.root", ""), ("a.scripted", text)]);
        let options = json!({
            "language_servers": world::language_server(&[]),
            "providers": { "ollama": { "base_url": ollama }, "llamacpp": { "base_url": other } },
        });
        let editor = world::vscode(&project, options).await;
        let uri = tests::client::uri(&project.path("a.scripted"));
        editor.open_text(&uri, "scripted", text);
        let answer = editor.execute("copydesk.fix", json!({ "uri": uri })).await;
        let finished = editor.wait_finished(&answer["session"]).await;
        let message = finished["message"].as_str().unwrap_or_default();
        for part in &parts {
            assert!(message.contains(part), "{message}\nshould say {part}");
        }
        // And a request that it can do nothing with.
        let finished = world::ask(&editor, json!({ "prompt": "Explain." })).await;
        let message = finished["message"].as_str().unwrap_or_default();
        assert!(message.contains(parts[0]), "{message}");
        // It is told at once: asked again, it would say the same.
        let events = editor.events();
        assert!(
            events.iter().all(|event| event["type"] != "notice"),
            "{events:?}"
        );
        assert_eq!(editor.shutdown().await, 0);
    }
}
