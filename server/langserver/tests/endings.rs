//! No process is left: not when a server ends, not when we do, however it happens.
#![cfg(target_os = "linux")]

mod stand;

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Write},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fd::OwnedFd,
    process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open},
};
use serde_json::{Value, json};
use stand::{STAGE, Stand, never, servers};

/// What a server leaves behind if it can: a child in its group, one in a group of its own, and one that left group,
/// session and parent.
const LITTER: &str = "sleep 1001 & setsid sleep 1002 & (setsid setsid sleep 1003 &) ; exit 0";

fn script(stand_folder: &std::path::Path) -> Value {
    json!({
        "log": stand_folder.join("log"),
        "capabilities": {"hoverProvider": true, "definitionProvider": true, "textDocumentSync": 2},
        "first": [{"run": ["sh", "-c", LITTER]}],
        "on": {"textDocument/definition": [[]]},
    })
}

/// Every process that carries the marker of the tree of `pid`, as something that tells of its end.
fn tree_of(pid: u32) -> BTreeMap<u32, OwnedFd> {
    let marker = environment(pid)
        .into_iter()
        .find(|variable| variable.starts_with("COPYDESK_TREE="))
        .expect("a marker");
    std::fs::read_dir("/proc")
        .expect("/proc")
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok())
        .filter(|pid| environment(*pid).contains(&marker))
        .filter_map(|pid| Some((pid, pidfd_open(raw(pid), PidfdFlags::empty()).ok()?)))
        .collect()
}

/// The server and the three that it left. A process that is about to become `sleep` shows no marker for a moment.
fn whole_tree_of(pid: u32) -> BTreeMap<u32, OwnedFd> {
    let end = Instant::now() + Duration::from_secs(5);
    loop {
        let tree = tree_of(pid);
        if tree.len() == 4 {
            return tree;
        }
        let commands: Vec<_> = tree.keys().map(|pid| command_of(*pid)).collect();
        assert!(Instant::now() < end, "{commands:?}");
    }
}

fn environment(pid: u32) -> Vec<String> {
    let bytes = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    bytes
        .split(|&byte| byte == 0)
        .map(|variable| String::from_utf8_lossy(variable).into_owned())
        .collect()
}

fn raw(pid: u32) -> Pid {
    Pid::from_raw(i32::try_from(pid).expect("a pid")).expect("a pid")
}

/// Waits until all of them have ended; panics if one lives on.
fn all_ended(tree: &BTreeMap<u32, OwnedFd>, within: Duration) {
    let end = Instant::now() + within;
    for (pid, process) in tree {
        let left =
            Timespec::try_from(end.saturating_duration_since(Instant::now())).expect("a time");
        let mut wait = [PollFd::new(process, PollFlags::IN)];
        assert_eq!(
            poll(&mut wait, Some(&left)).expect("polled"),
            1,
            "{pid} lives on: {:?}",
            command_of(*pid)
        );
    }
}

fn command_of(pid: u32) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/cmdline"))
        .unwrap_or_default()
        .replace('\0', " ")
}

async fn started() -> (Stand, BTreeMap<u32, OwnedFd>) {
    let stand = Stand::with(
        &[("a.rs", "fn a() {}")],
        |folder| {
            stand::write(&folder.join("script"), &script(folder).to_string());
            servers(
                json!({"s": {"command": [STAGE, "serve", folder.join("script")], "languages": ["rust"]}}),
            )
        },
        langserver::Limits::default(),
    );
    stand.hover("a.rs").await.expect("answered");
    let tree = whole_tree_of(stand.pool.status()[0].pid.expect("a pid"));
    (stand, tree)
}

#[tokio::test]
async fn shutdown_ends_the_whole_tree_within_a_second() {
    let (stand, tree) = started().await;
    let begun = Instant::now();
    stand.pool.shutdown().await;
    all_ended(
        &tree,
        Duration::from_secs(1).saturating_sub(begun.elapsed()),
    );
    assert!(
        stand
            .methods()
            .ends_with(&["shutdown".into(), "exit".into()])
    );
    assert!(stand.pool.status().is_empty());
    stand
        .hover("a.rs")
        .await
        .expect_err("nothing is started any more");
}

#[tokio::test]
async fn a_server_that_ignores_shutdown_is_ended_all_the_same() {
    let stand = Stand::scripted(
        json!({"capabilities": {"hoverProvider": true}, "on": {"shutdown": [[]], "exit": [[]]}}),
    );
    stand.hover("a.rs").await.expect("answered");
    let tree = tree_of(stand.pool.status()[0].pid.expect("a pid"));
    let begun = Instant::now();
    stand.pool.shutdown().await;
    all_ended(
        &tree,
        Duration::from_secs(1).saturating_sub(begun.elapsed()),
    );
}

#[tokio::test]
async fn a_pool_that_is_dropped_ends_its_servers() {
    let (stand, tree) = started().await;
    drop(stand.pool);
    all_ended(&tree, Duration::from_secs(2));
}

/// kill -9 of the server while it is asked: the question is answered, its children go too, the next one has a new server.
#[tokio::test]
async fn a_killed_server_takes_its_tree_with_it() {
    let (stand, tree) = started().await;
    let asked = stand.pool.clone();
    let uri = stand.uri("a.rs");
    let waiting = tokio::spawn(async move {
        asked
            .definition(&uri, workspace::ByteOffset(0), &never())
            .await
    });
    let mut pid = 0;
    // Asked once more of the next one, which dies as well.
    for deaths in 0..2 {
        let asked = |method: &String| method == "textDocument/definition";
        while stand.methods().into_iter().filter(asked).count() <= deaths {
            stand.hover("a.rs").await.expect("answered");
        }
        pid = stand.pool.status()[0].pid.expect("a pid");
        kill_process(raw(pid), Signal::KILL).expect("killed");
    }
    let error = waiting.await.expect("no panic").expect_err("it died");
    assert_eq!(error.to_string(), "s died: signal: 9 (SIGKILL)");
    all_ended(&tree, Duration::from_secs(2));
    stand.hover("a.rs").await.expect("a new one");
    assert_ne!(stand.pool.status()[0].pid, Some(pid));
}

/// A program that uses this crate, with a server running.
fn owner(stand: &Stand) -> (Child, u32) {
    let servers =
        json!({"s": {"command": [STAGE, "serve", stand.path("script")], "languages": ["rust"]}});
    let mut owner = Command::new(STAGE)
        .args([
            "own",
            &servers.to_string(),
            stand.path("a.rs").to_str().expect("text"),
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("started");
    let mut line = String::new();
    BufReader::new(owner.stdout.take().expect("a pipe"))
        .read_line(&mut line)
        .expect("a line");
    let said: Value = serde_json::from_str(&line).expect("JSON");
    assert_eq!(said["hover"], true);
    (owner, said["pids"][0].as_u64().expect("a pid") as u32)
}

fn owned() -> Stand {
    let stand = Stand::with(
        &[("a.rs", "fn a() {}")],
        |_| servers(json!({})),
        langserver::Limits::default(),
    );
    stand::write(
        &stand.path("script"),
        &script(stand.folder.path()).to_string(),
    );
    stand
}

/// The supervisor of an owner: its child that is no server.
fn supervisor_of(owner: u32) -> (u32, OwnedFd) {
    let children =
        std::fs::read_to_string(format!("/proc/{owner}/task/{owner}/children")).unwrap_or_default();
    let all = std::fs::read_dir(format!("/proc/{owner}/task")).expect("its threads");
    let of_threads =
        all.filter_map(|thread| std::fs::read_to_string(thread.ok()?.path().join("children")).ok());
    let pid = of_threads
        .chain([children])
        .flat_map(|list| {
            list.split_whitespace()
                .filter_map(|pid| pid.parse().ok())
                .collect::<Vec<u32>>()
        })
        .find(|pid| command_of(*pid).contains("__supervise"))
        .expect("a supervisor");
    (
        pid,
        pidfd_open(raw(pid), PidfdFlags::empty()).expect("it runs"),
    )
}

#[tokio::test]
async fn our_own_death_by_kill_9_leaves_no_child() {
    let stand = owned();
    let (mut owner, server) = owner(&stand);
    let mut tree = whole_tree_of(server);
    let (supervisor, process) = supervisor_of(owner.id());
    // What a terminal or a service sends to all processes does not end it.
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        kill_process(raw(supervisor), signal).expect("sent");
    }
    let status = std::fs::read_to_string(format!("/proc/{supervisor}/status")).expect("a status");
    let resident: u64 = status
        .lines()
        .find_map(|line| {
            line.strip_prefix("RssAnon:")?
                .trim()
                .strip_suffix(" kB")?
                .parse()
                .ok()
        })
        .expect("a size");
    assert!(
        resident < 1024,
        "the supervisor holds {resident} kB of its own"
    );
    tree.insert(supervisor, process);
    owner.kill().expect("killed");
    owner.wait().expect("ended");
    all_ended(&tree, Duration::from_secs(2));
}

#[tokio::test]
async fn our_own_end_leaves_no_child() {
    let stand = owned();
    let (mut owner, server) = owner(&stand);
    let mut tree = whole_tree_of(server);
    let (supervisor, process) = supervisor_of(owner.id());
    tree.insert(supervisor, process);
    owner.stdin.take().expect("a pipe").flush().expect("closed");
    assert!(owner.wait().expect("ended").success());
    all_ended(&tree, Duration::from_secs(1));
}

/// If someone ends the supervisor, the next child has a new one, which knows the old ones too.
#[tokio::test]
async fn a_supervisor_that_was_killed_is_replaced() {
    let stand = owned();
    let (first, tree) = started().await;
    let (supervisor, process) = supervisor_of(std::process::id());
    kill_process(raw(supervisor), Signal::KILL).expect("killed");
    all_ended(
        &BTreeMap::from([(supervisor, process)]),
        Duration::from_secs(2),
    );
    let (second, other) = started().await;
    assert_ne!(supervisor_of(std::process::id()).0, supervisor);
    second.pool.shutdown().await;
    all_ended(&other, Duration::from_secs(1));
    first.pool.shutdown().await;
    all_ended(&tree, Duration::from_secs(1));
    drop(stand);
}
