//! The figures of the language server as an editor sees them: the real binary over stdio, a
//! language server that swallows all, the scripted model. `cargo xtask bench` runs it in release.
#![allow(clippy::print_stdout, clippy::cast_precision_loss)] // it prints a table of measures

mod wire;

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::Context as _;
use serde_json::{Value, json};
use tests::model::{Asked, Reply, ScriptedModel};
use wire::Wire;

fn main() -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let _inside = runtime.enter();
    println!("{:<58} {:>14}   target", "what", "measured");
    start_up()?;
    memory()?;
    changes()?;
    let model = runtime.block_on(talkative());
    code_actions(&model)?;
    cancel(&model)?;
    let scripted = runtime.block_on(ScriptedModel::answering(|_| Reply::text("Done.")));
    let scripted = scripted.unrecorded();
    for (what, context, target) in [
        ("with all tools", 200_000, "< 10000 B"),
        ("to a small model", 8_192, "< 4000 B"),
    ] {
        let asked = runtime.block_on(first_request(&scripted, context))?;
        let bytes = asked.system().len() + asked.body["tools"].to_string().len();
        let what = format!("the first request {what}: system prompt and tools");
        row(&what, &format!("{bytes} B"), target);
    }
    Ok(())
}

/// What the model is first asked, if it has such a context.
async fn first_request(model: &ScriptedModel, context: u32) -> anyhow::Result<Asked> {
    let root = tempfile::tempdir()?;
    let mut options = with_model(model);
    options["providers"]["scripted"]["models"] = json!({ "one": { "context": context } });
    let mut server = Wire::spawn(root.path())?;
    server.initialize(root.path(), options)?;
    let document = uri(root.path(), "a.txt");
    server.open(&document, "plaintext", "some text\n")?;
    let session = server.ask("say done", &document)?;
    server.until_event(&session, "finished")?;
    let asked = model.requests(1).await.pop();
    server.stop()?;
    asked.context("it was asked")
}

fn row(what: &str, measured: &str, target: &str) {
    println!("{what:<58} {measured:>14}   {target}");
}

fn start_up() -> anyhow::Result<()> {
    let root = tempfile::tempdir()?;
    let mut times = Vec::new();
    for _ in 0..30 {
        let begun = Instant::now();
        let mut server = Wire::spawn(root.path())?;
        server.initialize(root.path(), json!({}))?;
        times.push(begun.elapsed());
        server.stop()?;
    }
    times.sort_unstable();
    row(
        "process start to the initialize answer, median of 30",
        &millis(times[15]),
        "< 10 ms",
    );
    Ok(())
}

fn memory() -> anyhow::Result<()> {
    const DOCUMENTS: usize = 1_000;
    let root = tempfile::tempdir()?;
    let mut server = Wire::spawn(root.path())?;
    server.initialize(root.path(), json!({}))?;
    server.settle()?;
    let rest = server.resident()?;
    row(
        "resident at rest",
        &format!("{:.1} MB", rest / 1e6),
        "< 12 MB",
    );
    let text: String = (0..222)
        .map(|n| format!("let line_{n:03} = compute(input, {n:03}); // words\n"))
        .collect();
    for number in 0..DOCUMENTS {
        server.open(
            &uri(root.path(), &format!("f{number}.txt")),
            "plaintext",
            &text,
        )?;
    }
    server.settle()?;
    let each = (server.resident()? - rest) / DOCUMENTS as f64;
    let label = format!(
        "for each open document of {:.1} KB",
        text.len() as f64 / 1e3
    );
    row(&label, &format!("{:.1} KB", each / 1e3), "< 14 KB");
    server.stop()
}

fn changes() -> anyhow::Result<()> {
    const CHANGES: u32 = 150_000;
    let root = tempfile::tempdir()?;
    std::fs::write(root.path().join("root.marker"), "")?;
    let options = json!({ "language_servers": { "sink": {
        "command": [wire::beside("language_server")?, "--sink"],
        "languages": ["sinkish"], "root_markers": ["root.marker"], "start": "open",
    } } });
    let mut server = Wire::spawn(root.path())?;
    server.initialize(root.path(), options)?;
    let document = uri(root.path(), "big.sink");
    let line = "all work and no play makes a long and boring buffer of text\n";
    server.open(&document, "sinkish", &line.repeat(5_000_000 / line.len()))?;
    server.until_server_is("sink", "ready")?;
    let message = |version: u32| {
        json!({
            "jsonrpc": "2.0", "method": "textDocument/didChange", "params": {
                "textDocument": { "uri": document, "version": version },
                "contentChanges": [{
                    "range": {
                        "start": { "line": 40_000, "character": version % 50 },
                        "end": { "line": 40_000, "character": version % 50 },
                    },
                    "text": "x",
                }],
            },
        })
    };
    // Made beforehand: what is measured is the server.
    let frames: Vec<u8> = (2..CHANGES + 2)
        .flat_map(|version| wire::frame(&message(version)))
        .collect();
    let begun = Instant::now();
    server.send_raw(frames)?;
    server.settle()?;
    let rate = f64::from(CHANGES) / begun.elapsed().as_secs_f64();
    row(
        "didChange of one character, 5 MB buffer, one mirror",
        &format!("{rate:.0} /s"),
        "> 30000 /s",
    );
    server.stop()
}

/// A model that talks for as long as anyone listens.
async fn talkative() -> ScriptedModel {
    let words: String = (0..200_000).map(|n| format!("word{n} ")).collect();
    let answer = move |_: &Asked| Reply::text(words.clone()).slow(Duration::from_millis(1));
    ScriptedModel::answering(answer).await.unrecorded()
}

fn with_model(model: &ScriptedModel) -> Value {
    json!({
        "client": { "events": true },
        "model": "scripted/one",
        "providers": { "scripted": { "api": "openai-chat", "base_url": model.base_url() } },
    })
}

fn code_actions(model: &ScriptedModel) -> anyhow::Result<()> {
    const REQUESTS: usize = 2_000;
    let root = tempfile::tempdir()?;
    let mut server = Wire::spawn(root.path())?;
    server.initialize(root.path(), with_model(model))?;
    let document = uri(root.path(), "a.txt");
    server.open(&document, "plaintext", &"some text\n".repeat(2_000))?;
    let session = server.ask("talk", &document)?;
    server.until_event(&session, "text")?;
    let mut times = Vec::new();
    for number in 0..REQUESTS {
        let begun = Instant::now();
        server.request(
            "textDocument/codeAction",
            json!({
                "textDocument": { "uri": document },
                "range": {
                    "start": { "line": number, "character": 0 },
                    "end": { "line": number, "character": 4 },
                },
                "context": { "triggerKind": 1, "diagnostics": [{
                    "range": {
                        "start": { "line": number, "character": 0 },
                        "end": { "line": number, "character": 4 },
                    },
                    "message": "no such word", "severity": 1,
                }] },
            }),
        )?;
        times.push(begun.elapsed());
    }
    times.sort_unstable();
    row(
        "codeAction while a run streams, median",
        &millis(times[REQUESTS / 2]),
        "< 5 ms",
    );
    row(
        "codeAction while a run streams, worst of 2000",
        &millis(times[REQUESTS - 1]),
        "< 50 ms",
    );
    server.stop()
}

fn cancel(model: &ScriptedModel) -> anyhow::Result<()> {
    let root = tempfile::tempdir()?;
    let mut server = Wire::spawn(root.path())?;
    server.initialize(root.path(), with_model(model))?;
    let document = uri(root.path(), "a.txt");
    server.open(&document, "plaintext", "some text\n")?;
    let mut times = Vec::new();
    for _ in 0..20 {
        let session = server.ask("talk", &document)?;
        server.until_event(&session, "text")?;
        let begun = Instant::now();
        server.command("copydesk.cancel", json!({ "session": session }))?;
        server.until_event(&session, "finished")?;
        times.push(begun.elapsed());
    }
    times.sort_unstable();
    row(
        "cancel to finished, worst of 20",
        &millis(times[19]),
        "< 200 ms",
    );
    server.stop()
}

fn uri(root: &Path, name: &str) -> String {
    format!("file://{}", PathBuf::from(root).join(name).display())
}

fn millis(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}
