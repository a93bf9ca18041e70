//! `copydesk try`: the main job, shown on a sample. A small editor is played here, and it speaks to
//! the same door as any editor does; the language server is a real one.

mod player;
mod sample;

use std::{process::ExitCode, time::Duration};

use anyhow::{Context as _, bail};
use serde_json::{Value, json};

use crate::cli::Language;
use player::Player;

/// A cold language server on a slow machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// Plays it and prints it.
pub async fn run(language: Language, model: &str) -> anyhow::Result<ExitCode> {
    let sample = sample::of(language);
    let folder = sample::Folder::make(&sample)?;
    let path = folder.path().join(sample.file);

    say(&format!("A new project in {}", folder.path().display()));
    say(&format!(
        "{} is opened in the editor and changed there; it is never saved:",
        sample.file
    ));
    print_numbered(sample.unsaved);

    let options = json!({
        "client": { "events": true },
        "model": model,
        "language_servers": { (sample.server): { "start": "open" } },
    });
    let mut editor = Player::start(folder.path(), options).await?;
    editor
        .open(&path, sample.language_id, sample.unsaved)
        .await?;

    say(&format!(
        "{} starts, and is given the unsaved text …",
        sample.server
    ));
    let actions = tokio::time::timeout(PATIENCE, actions_with_fix(&mut editor, &sample))
        .await
        .with_context(|| {
            format!(
                "{} said nothing about the problem within {} s",
                sample.server,
                PATIENCE.as_secs()
            )
        })??;
    say(&format!("Code actions on line {}:", sample.line + 1));
    for action in &actions {
        show(&format!("  {}", title(action)));
    }
    let Some(action) = actions.iter().find(|action| title(action).starts_with(FIX)) else {
        bail!("no code action fixes the problem");
    };

    say(&format!(
        "\"{}\" is chosen, the model is {model}:",
        title(action)
    ));
    let command = action.get("command").cloned().unwrap_or(Value::Null);
    let finished = editor.execute(&command, print_step).await?;
    let status = finished["status"].as_str().unwrap_or_default().to_owned();
    show(&format!(
        "  {}",
        finished["message"].as_str().unwrap_or_default()
    ));

    say("The buffer now, against what it was:");
    let now = editor.text().to_string();
    show(tools::unified(sample.file, sample.unsaved, &now).trim_end());

    let left = editor.actions(sample.line).await?;
    let gone = !left.iter().any(|action| title(action).starts_with(FIX));
    let disk = std::fs::read_to_string(&path).context("the sample can't be read")?;
    editor.stop().await?;
    if disk != sample.saved {
        bail!("the file on disk was changed: it should not have been");
    }
    say(&format!(
        "{} on disk is still as it was saved.",
        sample.file
    ));
    if !gone || status != "done" || now == sample.unsaved {
        say("The problem is NOT gone.");
        return Ok(ExitCode::FAILURE);
    }
    say("The problem is gone.");
    Ok(ExitCode::SUCCESS)
}

const FIX: &str = "Fix with agent: ";

/// Asks until the language server has spoken: an editor asks when its cursor moves.
async fn actions_with_fix(
    editor: &mut Player,
    sample: &sample::Sample,
) -> anyhow::Result<Vec<Value>> {
    let mut tick = tokio::time::interval(Duration::from_millis(100));
    loop {
        tick.tick().await;
        let actions = editor.actions(sample.line).await?;
        if actions.iter().any(|action| title(action).starts_with(FIX)) {
            return Ok(actions);
        }
        if let Some(trouble) = editor.trouble(sample.server).await? {
            bail!("{trouble}");
        }
    }
}

fn title(action: &Value) -> &str {
    action["title"].as_str().unwrap_or_default()
}

fn print_step(event: &Value) {
    match event["type"].as_str() {
        Some("tool_call") => show(&format!(
            "  {}",
            event["title"].as_str().unwrap_or_default()
        )),
        Some("tool_result") if event["ok"] == json!(false) => {
            let output = event["output"].as_str().unwrap_or_default();
            show(&format!(
                "    {}",
                output.lines().next().unwrap_or_default()
            ));
        }
        Some("edit") => {
            let hunks = event["hunks"].as_array().map_or(0, Vec::len);
            show(&format!(
                "    {hunks} change(s) in the buffer, by workspace/applyEdit"
            ));
        }
        Some("notice") => show(&format!(
            "  {}",
            event["message"].as_str().unwrap_or_default()
        )),
        _ => {}
    }
}

fn print_numbered(text: &str) {
    for (number, line) in text.lines().enumerate() {
        show(&format!("{:>4}  {line}", number + 1));
    }
}

/// A new step of the story.
fn say(text: &str) {
    show(&format!("\n{text}"));
}

#[allow(clippy::print_stdout)] // this command's stdout is for a person
fn show(text: &str) {
    println!("{text}");
}
