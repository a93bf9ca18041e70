//! The client side of LSP in figures: what the pool adds to a server's own time, how soon a change reaches three servers, what many
//! documents and servers cost us, and references in the large tree that `COPYDESK_BENCH_TREE` names. It fails when a bound is missed.
#![allow(
    clippy::print_stdout,
    clippy::cast_precision_loss,
    dead_code,
    unused_imports
)] // it prints a table of measures, and uses a part of the desk

#[path = "../servers/desk.rs"]
mod desk;
mod figure;
mod large;
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

use desk::{Desk, Editor};
use figure::{Figures, median, millis, note};
use langserver::{Diagnosis, Limits, Pool, process};
use large::large_tree;
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
    let mut figures = Figures::new();
    runtime.block_on(overhead(&mut figures))?;
    runtime.block_on(changes(&mut figures))?;
    memory(&mut figures)?;
    match std::env::var_os("COPYDESK_BENCH_TREE") {
        Some(tree) => runtime.block_on(large_tree(&PathBuf::from(tree), &mut figures))?,
        None => note("large tree: not measured, `cargo xtask bench` makes it", ""),
    }
    figures.close()
}

/// A warm definition, asked in turns through the pool and by a bare client of the same server's own process.
async fn overhead(figures: &mut Figures) -> anyhow::Result<()> {
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
    let mut plain = Plain::start(&program, &arguments, desk.project.root(), json!({}))?;
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
    let over = ours.saturating_sub(bare);
    let keeps = over < Duration::from_millis(1);
    figures.hold(&label, &millis(over), "< 1 ms", keeps);
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

/// Three servers of one pool, each of which writes down when a change came.
async fn changes(figures: &mut Figures) -> anyhow::Result<()> {
    const CHANGES: i32 = 300;
    const TEXT: &str = "text\n";
    const NAMES: [&str; 3] = ["x", "y", "z"];
    process::supervise_with(client::binary(), ["__supervise".into()]);
    let project = Project::with(&[("marker", ""), ("alike", TEXT)]);
    let server = wire::beside("language_server")?;
    let mut user = langserver::Servers::new();
    let mut stamps = Vec::new();
    for name in NAMES {
        let log = project.beside("stamps").join(name);
        let config = json!({
            "command": [server, "--stamps", log], "languages": ["alike", name], "root_markers": ["marker"],
        });
        stamps.push(log);
        user.insert(name.to_owned(), serde_json::from_value(config)?);
    }
    let buffers = Buffers::new();
    let workspace = Workspace::new(
        vec![project.root().to_owned()],
        buffers.clone(),
        Editor::over(buffers.clone()),
    );
    let pool = Pool::with_limits(user, workspace, Limits::default());
    let uri = DocumentUri::from_path(&project.path("alike"))?;
    let cancel = CancellationToken::new();
    // Each is started for its own language; all three serve that of the text that is changed, and hear of it.
    for name in NAMES {
        let own = DocumentUri::from_path(&project.path(name))?;
        buffers.open(own.clone(), name, 1, TEXT);
        let patience = Duration::from_secs(20);
        let said = pool.diagnostics(&own, patience, &cancel).await;
        let is_there = matches!(said, Diagnosis::Fresh(_));
        anyhow::ensure!(is_there, "{name} is not there: {said:?}");
    }
    anyhow::ensure!(pool.status().len() == NAMES.len(), "{:?}", pool.status());
    buffers.open(uri.clone(), "alike", 1, TEXT);
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
    pool.shutdown().await;
    let nanos = |nanos: u128| Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
    let took: Vec<Duration> = latest
        .iter()
        .zip(&sent)
        .map(|(came, sent)| nanos(came.saturating_sub(*sent)))
        .collect();
    let mut sorted = took.clone();
    sorted.sort_unstable();
    let median = median(took);
    figures.hold(
        "a change until the last of three servers has it, median",
        &millis(median),
        "< 2 ms",
        median < Duration::from_millis(2),
    );
    let most = sorted[sorted.len() * 95 / 100];
    note("the same, 95 of 100", &millis(most));
    Ok(())
}

/// The binary as it is, with 200 documents of 10 KB and five servers that have all of them.
fn memory(figures: &mut Figures) -> anyhow::Result<()> {
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
    let (what, measured) = (
        "resident with 200 documents of 10 KB and 5 servers",
        format!("{:.1} MB", resident / 1e6),
    );
    if cfg!(debug_assertions) {
        note(&format!("{what}, unoptimised"), &measured);
    } else {
        figures.hold(what, &measured, "< 25 MB", resident < 25e6);
    }
    wire.stop()
}
