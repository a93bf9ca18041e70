//! The client side of LSP in figures: what the pool adds to a server's own time, how soon a change reaches three servers, what many
//! documents and servers cost us. With `COPYDESK_BENCH_TREE` naming a large Rust project, references in it, beside a bare client.
#![allow(
    clippy::print_stdout,
    clippy::cast_precision_loss,
    dead_code,
    unused_imports
)] // it prints a table of measures, and uses a part of the desk

#[path = "../servers/desk.rs"]
mod desk;
mod plain;
#[path = "../servers/samples/mod.rs"]
mod samples;
#[path = "../servers/servers.rs"]
mod servers;
mod wire;

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use desk::{Desk, Editor, patient};
use langserver::{Limits, Pool, process};
use plain::Plain;
use serde_json::json;
use tests::{client, fixtures::Project};
use tokio_util::sync::CancellationToken;
use wire::Wire;
use workspace::{
    Buffers, ByteOffset, ContentChange, DocumentUri, Encoding, Position, Range, Workspace,
};

fn main() -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    println!("{:<58} {:>14}   target", "what", "measured");
    runtime.block_on(overhead())?;
    runtime.block_on(changes())?;
    memory()?;
    if let Some(tree) = std::env::var_os("COPYDESK_BENCH_TREE") {
        runtime.block_on(large_tree(&PathBuf::from(tree)))?;
    }
    Ok(())
}

fn row(what: &str, measured: &str, target: &str) {
    println!("{what:<58} {measured:>14}   {target}");
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn millis(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}

/// A warm definition, asked in turns through the pool and by a bare client of the same server's own process.
async fn overhead() -> anyhow::Result<()> {
    const TIMES: usize = 400;
    let sample = samples::PYTHON;
    let desk = Desk::new(servers::TY, sample.files);
    for (file, _) in sample
        .files
        .iter()
        .filter(|(file, _)| Path::new(file).extension().is_some_and(|end| end == "py"))
    {
        desk.open(file);
    }
    let text = desk.text(sample.call.file);
    let (line, character) = sample.call.place(&text);
    let uri = desk.uri(sample.call.file);
    let read = desk.cx.workspace.read(&uri)?;
    let at = read
        .text
        .offset(Position::new(line - 1, character - 1), Encoding::Utf32);
    let (program, arguments) = servers::TY.command();
    let mut plain = Plain::start(&program, arguments, desk.project.root(), json!({}))?;
    for name in ["shapes.py", "report.py", "wrong.py", "messy.py"] {
        plain.open(&desk.uri(name), "python", &desk.text(name))?;
    }
    let asked = json!({
        "textDocument": { "uri": uri.as_str() }, "position": { "line": line - 1, "character": character - 1 }
    });
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..TIMES {
        let begun = Instant::now();
        let found = desk.cx.pool.definition(&uri, at, &desk.cx.cancel).await?;
        ours.push(begun.elapsed());
        anyhow::ensure!(found.value.len() == 1, "{found:?}");
        let begun = Instant::now();
        let answer = plain.request("textDocument/definition", &asked)?;
        bare.push(begun.elapsed());
        anyhow::ensure!(
            answer.as_array().is_some_and(|found| found.len() == 1),
            "{answer}"
        );
    }
    // Half of the first are cold.
    let warm = |times: Vec<Duration>| median(times.split_off_half());
    let (ours, bare) = (warm(ours), warm(bare));
    let label = format!(
        "warm definition (ty), the pool's over {} bare",
        millis(bare)
    );
    row(&label, &millis(ours.saturating_sub(bare)), "< 1 ms");
    desk.end().await;
    Ok(())
}

trait Half {
    fn split_off_half(self) -> Self;
}

impl Half for Vec<Duration> {
    fn split_off_half(mut self) -> Self {
        let half = self.len() / 2;
        self.split_off(half)
    }
}

/// Three servers, each of which writes down when a change came.
async fn changes() -> anyhow::Result<()> {
    const CHANGES: i32 = 300;
    const TEXT: &str = "text\n";
    process::supervise_with(client::binary(), ["__supervise".into()]);
    let project = Project::with(&[
        ("marker", ""),
        ("a.x", "text\n"),
        ("a.y", "text\n"),
        ("a.z", "text\n"),
    ]);
    let server = wire::beside("language_server")?;
    let mut user = langserver::Servers::new();
    let mut stamps = Vec::new();
    for name in ["x", "y", "z"] {
        let log = project.beside("stamps").join(name);
        let config = json!({
            "command": [server, "--stamps", log], "languages": ["alike"], "root_markers": ["marker"],
        });
        stamps.push(log);
        user.insert(name.to_owned(), serde_json::from_value(config)?);
    }
    let buffers = Buffers::new();
    // One pool a server: a pool takes one server a language, and a change goes to every pool.
    let mut pools = Vec::new();
    let uri = DocumentUri::from_path(&project.path("a.x"))?;
    let cancel = CancellationToken::new();
    buffers.open(uri.clone(), "alike", 1, TEXT);
    for (name, config) in &user {
        let workspace = Workspace::new(
            vec![project.root().to_owned()],
            buffers.clone(),
            Editor::over(buffers.clone()),
        );
        let one = langserver::Servers::from([(name.clone(), config.clone())]);
        let pool = Pool::with_limits(one, workspace, Limits::default());
        let _ = pool
            .diagnostics(&uri, Duration::from_secs(2), &cancel)
            .await;
        pools.push(pool);
    }
    let mut sent = Vec::new();
    for version in 2..CHANGES + 2 {
        let at = Position::new(0, 0);
        let change = ContentChange {
            range: Some(Range { start: at, end: at }),
            text: "x".into(),
        };
        sent.push(
            std::time::SystemTime::now()
                .duration_since(std::time::UNIX_EPOCH)?
                .as_nanos(),
        );
        buffers.change(&uri, version, &[change], Encoding::Utf8)?;
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let mut latest = vec![0_u128; sent.len()];
    for log in &stamps {
        // Each text is one letter longer; one that was overtaken by the next came with that.
        let came = loop {
            let text = std::fs::read_to_string(log)?;
            let line = |line: &str| {
                let (length, at) = line.split_once(' ')?;
                Some((length.parse::<usize>().ok()?, at.parse::<u128>().ok()?))
            };
            let came: Vec<(usize, u128)> = text.lines().filter_map(line).collect();
            if came
                .last()
                .is_some_and(|(length, _)| *length == TEXT.len() + sent.len())
            {
                break came;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        };
        for (number, latest) in latest.iter_mut().enumerate() {
            let has = came
                .iter()
                .find(|(length, _)| *length > TEXT.len() + number);
            *latest = has.map_or(*latest, |(_, at)| (*at).max(*latest));
        }
    }
    for pool in &pools {
        pool.shutdown().await;
    }
    let nanos = |nanos: u128| Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
    let took: Vec<Duration> = latest
        .iter()
        .zip(&sent)
        .map(|(came, sent)| nanos(came.saturating_sub(*sent)))
        .collect();
    let mut sorted = took.clone();
    sorted.sort_unstable();
    row(
        "a change until the last of three servers has it, median",
        &millis(median(took)),
        "< 2 ms",
    );
    row(
        "the same, 95 of 100",
        &millis(sorted[sorted.len() * 95 / 100]),
        "< 2 ms",
    );
    Ok(())
}

/// The binary as it is, with 200 documents of 10 KB and five servers that have all of them.
fn memory() -> anyhow::Result<()> {
    let root = tempfile::tempdir()?;
    std::fs::write(root.path().join("marker"), "")?;
    let server = wire::beside("language_server")?;
    let mut servers = serde_json::Map::new();
    for number in 0..5 {
        let config = json!({
            "command": [server, "--sink"], "languages": [format!("sort{number}")], "root_markers": ["marker"], "start": "open",
        });
        servers.insert(format!("server{number}"), config);
    }
    let mut wire = Wire::spawn(root.path())?;
    wire.initialize(root.path(), json!({ "language_servers": servers }))?;
    let text: String = (0..222)
        .map(|n| format!("let line_{n:03} = compute(input, {n:03}); // words\n"))
        .collect();
    for number in 0..200 {
        let uri = format!(
            "file://{}",
            root.path()
                .join(format!("f{number}.sort{}", number % 5))
                .display()
        );
        wire.open(&uri, &format!("sort{}", number % 5), &text)?;
    }
    for number in 0..5 {
        wire.until_server_is(&format!("server{number}"), "ready")?;
    }
    wire.settle()?;
    let resident = wire.resident()?;
    row(
        "resident with 200 documents of 10 KB and 5 servers",
        &format!("{:.1} MB", resident / 1e6),
        "< 25 MB",
    );
    wire.stop()
}

/// References of a much used function by its name, warm, through the pool and by a bare client.
async fn large_tree(tree: &Path) -> anyhow::Result<()> {
    let (file, name) = ("ra_ap_ide_db/src/helpers.rs", "fn pick_best_token");
    process::supervise_with(client::binary(), ["__supervise".into()]);
    let buffers = Buffers::new();
    let workspace = Workspace::new(
        vec![tree.to_owned()],
        buffers.clone(),
        Editor::over(buffers),
    );
    let limits = Limits {
        ready: Duration::from_secs(300),
        answer: Duration::from_secs(120),
        ..patient()
    };
    let pool = Pool::with_limits(servers::RUST_ANALYZER.alone(), workspace.clone(), limits);
    let uri = DocumentUri::from_path(&tree.join(file))?;
    let text = workspace.read(&uri)?.text.to_string();
    let at = text
        .find(name)
        .map(|at| at + name.rfind(' ').map_or(0, |space| space + 1));
    let at = ByteOffset(at.ok_or_else(|| anyhow::anyhow!("{name} is not in {file}"))?);
    let cancel = CancellationToken::new();
    let begun = Instant::now();
    let first = pool.references(&uri, at, true, &cancel).await?;
    row(
        &format!(
            "large tree: first references, {} found, complete {}",
            first.value.len(),
            first.complete
        ),
        &millis(begun.elapsed()),
        "",
    );
    let before: &str = &text[..at.0];
    let position = json!({
        "line": before.matches('\n').count(), "character": before.len() - before.rfind('\n').map_or(0, |end| end + 1)
    });
    let (program, arguments) = servers::RUST_ANALYZER.command();
    let options = servers::RUST_ANALYZER.alone()["rust-analyzer"].settings["rust-analyzer"].clone();
    let mut plain = Plain::start(&program, arguments, tree, options)?;
    plain.open(&uri, "rust", &text)?;
    let begun = Instant::now();
    plain.until_quiescent()?;
    row(
        "large tree: the bare server is ready",
        &millis(begun.elapsed()),
        "",
    );
    let asked = json!({ "textDocument": { "uri": uri.as_str() }, "position": position, "context": { "includeDeclaration": true } });
    let begun = Instant::now();
    plain.request("textDocument/references", &asked)?;
    row(
        "large tree: first references of the bare server",
        &millis(begun.elapsed()),
        "",
    );
    // In turns: whatever else the machine does, it does to both.
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..30 {
        let begun = Instant::now();
        let found = pool.references(&uri, at, true, &cancel).await?;
        ours.push(begun.elapsed());
        anyhow::ensure!(
            found.value.len() == first.value.len() && found.complete,
            "not the same"
        );
        let begun = Instant::now();
        let answer = plain.request("textDocument/references", &asked)?;
        bare.push(begun.elapsed());
        let count = answer.as_array().map_or(0, Vec::len);
        anyhow::ensure!(count == first.value.len(), "the bare server found {count}");
    }
    pool.shutdown().await;
    let (ours, bare) = (median(ours), median(bare));
    row(
        &format!("large tree: warm references, {} bare", millis(bare)),
        &millis(ours),
        "<= 1.1 times",
    );
    Ok(())
}
