//! `cargo xtask live`: what it says where there is nobody to ask, and its table, made by a scripted model.

use std::net::TcpStream;
use std::process::Output;

use serde_json::{Value, json};
use tests::client::binary;
use tests::model::{Asked, Reply, ScriptedModel};
use tokio::process::Command;

async fn live(provider: &str, environment: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_live"));
    for name in [
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_BASE_URL",
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        "COPYDESK_MODEL",
    ] {
        command.env_remove(name);
    }
    command
        .arg(provider)
        .env("COPYDESK_BIN", binary())
        .envs(environment.iter().copied())
        .kill_on_drop(true)
        .output()
        .await
        .expect("it runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[tokio::test]
async fn without_a_key_it_is_skipped_and_says_so() {
    for (provider, variable) in [
        ("anthropic", "ANTHROPIC_API_KEY"),
        ("openai", "OPENAI_API_KEY"),
    ] {
        let output = live(provider, &[]).await;
        assert!(output.status.success(), "{}", text(&output.stderr));
        let said = format!("{provider}: skipped, {variable} is not set\n");
        assert_eq!(text(&output.stdout), said);
    }
    // Who has an Ollama must not have it asked by a test.
    if TcpStream::connect("localhost:11434").is_err() {
        let output = live("ollama", &[]).await;
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert_eq!(
            text(&output.stdout),
            "ollama: skipped, no Ollama with a model answers on its usual port\n"
        );
    }
}

#[tokio::test]
async fn who_is_not_tried_is_told_who_is() {
    let output = live("nobody", &[]).await;
    assert!(!output.status.success());
    let said = text(&output.stderr);
    assert!(said.contains("anthropic, openai or ollama"), "{said}");
}

#[tokio::test]
async fn a_model_of_another_provider_is_not_asked() {
    let environment = [("OPENAI_API_KEY", "k"), ("COPYDESK_MODEL", "mistral/m")];
    let output = live("openai", &environment).await;
    assert!(!output.status.success());
    let said = text(&output.stderr);
    assert!(said.contains("one of openai by COPYDESK_MODEL"), "{said}");
}

#[tokio::test]
async fn its_five_tasks_are_done_and_told_with_rust_analyzer() {
    let model = ScriptedModel::answering(answer).await;
    let base_url = model.base_url();
    let environment = [
        ("OPENAI_API_KEY", "a-key-of-a-test"),
        ("OPENAI_BASE_URL", &base_url),
    ];
    let output = live("openai", &environment).await;
    let table = text(&output.stdout);
    assert!(output.status.success(), "{table}{}", text(&output.stderr));
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines[0].starts_with("openai/"), "{table}");
    let tasks = &lines[3..];
    assert_eq!(tasks.len(), 5, "{table}");
    for task in tasks {
        // Two requests each, of 100 tokens in and 10 out.
        assert!(
            task.contains("200, 20") && task.ends_with("  yes"),
            "{table}"
        );
    }
}

#[tokio::test]
async fn what_was_not_done_is_told_with_rust_analyzer() {
    let model = ScriptedModel::answering(|_| Reply::text("I would rather not.")).await;
    let base_url = model.base_url();
    let environment = [
        ("OPENAI_API_KEY", "a-key-of-a-test"),
        ("OPENAI_BASE_URL", &base_url),
    ];
    let output = live("openai", &environment).await;
    let table = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{table}");
    assert_eq!(table.matches("  no: ").count(), 5, "{table}");
}

/// What a good model would do.
fn answer(asked: &Asked) -> Reply {
    let prompt = asked.prompt();
    let (call, last) = if prompt.contains("Which port") {
        (
            call("read", json!({ "filePath": "settings.toml" })),
            "It is 4711.",
        )
    } else if prompt.contains("plums") {
        (edit("notes.md", "plums: 3 May", "plums: 5 May"), "Changed.")
    } else if prompt.contains("halve") {
        let rename = json!({
            "operation": "rename", "filePath": "src/parts.rs", "symbol": "half", "newName": "halve"
        });
        (call("lsp", rename), "Renamed.")
    } else if prompt.contains("2027") {
        (edit("notes.md", "2026", "2027"), "Changed.")
    } else {
        (
            edit("src/lib.rs", "    number / 2", "    Ok(number / 2)"),
            "Fixed.",
        )
    };
    match asked.tool_results().is_empty() {
        true => call,
        false => Reply::text(last),
    }
    .usage(100, 10)
}

fn call(tool: &str, input: Value) -> Reply {
    Reply::call(tool, input)
}

fn edit(file: &str, old: &str, new: &str) -> Reply {
    call(
        "edit",
        json!({ "filePath": file, "oldString": old, "newString": new }),
    )
}
