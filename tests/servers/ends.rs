//! Servers that end, hang or crash over and over: deadlines hold, what was interrupted is asked once more, and no process is left,
//! checked by pid.

use std::{
    process::Command,
    time::{Duration, Instant},
};

use langserver::{Limits, Pool, ServerConfig, ServerState, Servers};
use serde_json::json;
use tests::{client, fixtures::Project};
use workspace::{Buffers, ByteOffset, Workspace};

use crate::{
    cold::{MUCH_USED, django},
    desk::{Desk, Editor, all_gone, patient},
    samples::{PYTHON, RUST, TYPESCRIPT},
    servers,
    wire::Wire,
};

fn signal(name: &str, pid: u32) {
    let status = Command::new("kill").args([name, &pid.to_string()]).status();
    assert!(status.is_ok_and(|status| status.success()), "kill {name}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_during_references_it_is_asked_once_more() {
    let project = django();
    let mut configured = servers::PYRIGHT.alone();
    let wire = Wire::of(&mut configured, "pyright", project.beside("wire"));
    let desk = Desk::of(configured, project, patient());
    let (file, head) = MUCH_USED;
    let uri = desk.uri(file);
    let at = ByteOffset(desk.text(file).find(head).expect("it is there") + "def ".len());
    let warm = desk
        .lsp("hover", file, json!({ "line": 1, "character": 1 }))
        .await;
    assert!(warm.well, "{}", warm.text);
    let first = desk.pid();
    let mut left = client::tree(first);
    let (pool, cancel) = (desk.cx.pool.clone(), desk.cx.cancel.clone());
    let asked = tokio::spawn(async move { pool.references(&uri, at, true, &cancel).await });
    // It takes seconds to read all of Django: it is at it.
    wire.until_asked("textDocument/references", 1).await;
    assert!(
        !asked.is_finished(),
        "it was quicker: take a larger project"
    );
    signal("-9", first);
    let found = asked.await.expect("no panic").expect("asked once more");
    assert_ne!(desk.pid(), first, "by another one");
    assert!(
        !found.complete || found.value.len() > 40,
        "{} found",
        found.value.len()
    );
    left.extend(client::tree(desk.pid()));
    desk.end().await;
    all_gone(&left).await;
}

/// The process that knows everything is not the one that we started, and may be ended for its memory: what is left would find
/// nothing anywhere.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_behind_the_one_that_we_talk_to_it_is_asked_once_more() {
    for real in [servers::TSLS, servers::VTSLS] {
        let desk = Desk::new(real, TYPESCRIPT.files);
        desk.open(TYPESCRIPT.caller.file);
        let place = desk.place(TYPESCRIPT.call);
        let title = real.title;
        for _ in 0..2 {
            let said = desk
                .at("findReferences", TYPESCRIPT.callee, json!({}))
                .await;
            assert!(said.names(place), "{title}: {}", said.text);
            let tree = client::tree(desk.pid());
            let mut knowing = tree
                .iter()
                .filter(|(_, command)| command.contains("tsserver.js"));
            let knowing: Vec<u32> = knowing.by_ref().map(|(pid, _)| *pid).collect();
            assert!(!knowing.is_empty(), "{title}: {tree:?}");
            for pid in knowing {
                signal("-9", pid);
            }
        }
        let said = desk
            .at("findReferences", TYPESCRIPT.callee, json!({}))
            .await;
        assert!(said.names(place), "{title}: {}", said.text);
        desk.end().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stopped_it_never_answers_and_deadlines_hold() {
    let limits = Limits {
        answer: Duration::from_millis(500),
        ready: Duration::from_millis(500),
        ..patient()
    };
    let desk = Desk::within(servers::TY, Desk::project(PYTHON.files), limits);
    let said = desk.at("goToDefinition", PYTHON.call, json!({})).await;
    assert!(said.names(desk.place(PYTHON.callee)), "{}", said.text);
    let pid = desk.pid();
    let tree = client::tree(pid);
    // A buffer that it has not seen, so that no earlier answer will do.
    desk.open(PYTHON.caller.file);
    desk.replace(PYTHON.caller.file, "from shapes", "\nfrom shapes");
    signal("-STOP", pid);
    for operation in ["goToDefinition", "findReferences", "hover", "incomingCalls"] {
        let begun = Instant::now();
        let said = desk.at(operation, PYTHON.call, json!({})).await;
        let took = begun.elapsed();
        assert!(
            !said.well && said.text.contains(&format!("did not answer `{operation}`")),
            "{operation}: {}",
            said.text
        );
        assert!(took < Duration::from_secs(5), "{operation} took {took:?}");
    }
    let begun = Instant::now();
    desk.end().await;
    // A second for what was asked to end and did not; the rest is for slow machines.
    assert!(
        begun.elapsed() < Duration::from_secs(5),
        "{:?}",
        begun.elapsed()
    );
    all_gone(&tree).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_crashes_over_and_over_is_not_started_for_every_question() {
    let project = Project::with(RUST.files);
    let starts = project.beside("starts").join("log");
    let script = format!("echo >> {}; echo out of luck >&2; exit 3", starts.display());
    let mut servers = Servers::new();
    let crashing = ServerConfig {
        command: ["sh", "-c", &script].map(str::to_owned).to_vec(),
        languages: vec!["rust".into()],
        root_markers: vec!["Cargo.toml".into()],
        ..ServerConfig::default()
    };
    servers.insert("crashing".into(), crashing);
    let desk = Desk::of(servers, project, patient());
    let begun = Instant::now();
    for _ in 0..50 {
        let said = desk.at("goToDefinition", RUST.call, json!({})).await;
        assert!(!said.well && said.text.contains("died"), "{}", said.text);
        assert!(
            said.text.contains("out of luck"),
            "its last words: {}",
            said.text
        );
    }
    let took = begun.elapsed();
    let count = std::fs::read_to_string(&starts)
        .expect("it was started")
        .lines()
        .count();
    assert!(count <= 10, "started {count} times in {took:?}");
    assert!(
        took < Duration::from_secs(20),
        "and nobody waits for it: {took:?}"
    );
    let state = desk
        .cx
        .pool
        .status()
        .into_iter()
        .next()
        .map(|status| status.state);
    assert!(matches!(state, Some(ServerState::Failed(_))), "{state:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_whole_tree_goes_with_its_root() {
    let desk = Desk::new(servers::TSLS, TYPESCRIPT.files);
    let said = desk.at("goToDefinition", TYPESCRIPT.call, json!({})).await;
    assert!(said.well, "{}", said.text);
    let tree = client::tree(desk.pid());
    assert!(tree.len() >= 3, "a server of several processes: {tree:?}");
    desk.end().await;
    all_gone(&tree).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pool_that_is_dropped_leaves_nothing() {
    let project = Desk::project(PYTHON.files);
    let buffers = Buffers::new();
    let workspace = Workspace::new(
        vec![project.root().to_owned()],
        buffers.clone(),
        Editor::over(buffers),
    );
    let pool = Pool::with_limits(servers::TY.alone(), workspace, patient());
    let uri = workspace::DocumentUri::from_path(&project.path("report.py")).expect("a uri");
    let cancel = tokio_util::sync::CancellationToken::new();
    let answer = pool.hover(&uri, ByteOffset(0), &cancel).await;
    answer.expect("answered");
    let tree = client::tree(pool.status()[0].pid.expect("it runs"));
    drop(pool);
    all_gone(&tree).await;
}
