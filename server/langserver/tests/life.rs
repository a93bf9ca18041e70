//! How long servers live, how many and how large they may be, and which one is taken.
#![cfg(target_os = "linux")]

mod stand;

use std::{
    os::unix::fs::PermissionsExt,
    path::Path,
    time::{Duration, Instant},
};

use langserver::{Bounds, Limits, QueryError, ServerState};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, pidfd_open},
};
use serde_json::{Value, json};
use stand::{STAGE, Stand, never, servers};
use workspace::ByteOffset;

fn able() -> Value {
    json!({"hoverProvider": true, "definitionProvider": true, "textDocumentSync": 2, "positionEncoding": "utf-8"})
}

/// A server that says on hover in which folder it runs, never answers where something is defined, and keeps its log in
/// its root.
fn script() -> Value {
    json!({"log": "log", "capabilities": able(), "on": {
        "textDocument/hover": [[{"where": null}]], "textDocument/definition": [[]],
    }})
}

const FREE: Bounds = Bounds {
    idle: None,
    memory: None,
    recently: Duration::ZERO,
    processes: 16,
};

/// Packages of these names, each with a root of its own, served by `script`.
fn packages(names: &[String], script: &Value, limits: Limits, bounds: Bounds) -> Stand {
    let files: Vec<(String, &str)> = names
        .iter()
        .flat_map(|name| {
            [
                (format!("{name}/here"), ""),
                (format!("{name}/a.rs"), "fn a() {}\n"),
            ]
        })
        .collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (&**name, *text)).collect();
    let servers = |folder: &Path| {
        stand::write(&folder.join("script"), &script.to_string());
        servers(json!({"s": {
            "command": [STAGE, "serve", folder.join("script")], "languages": ["rust"], "root_markers": ["here"],
        }}))
    };
    Stand::bounded(&files, servers, limits, bounds)
}

fn two(script: &Value, bounds: Bounds) -> Stand {
    packages(&["a".into(), "b".into()], script, Limits::default(), bounds)
}

/// Asks in a package, and whether it is that package's server that answers.
async fn ask(stand: &Stand, name: &str) {
    let answer = stand.hover(&format!("{name}/a.rs")).await;
    let folder = stand.path(name).display().to_string();
    assert_eq!(answer, Ok(Some(folder)));
}

/// The process of a package's server.
fn pid(stand: &Stand, name: &str) -> u32 {
    let root = stand.path(name);
    let all = stand.pool.status();
    let status = all.iter().find(|status| status.root == root);
    status.and_then(|status| status.pid).expect("it runs")
}

/// Every process that ever served a package.
fn pids(stand: &Stand, name: &str) -> Vec<u32> {
    let log = std::fs::read_to_string(stand.path(name).join("log")).unwrap_or_default();
    log.lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok()?["pid"].as_u64())
        .map(|pid| pid as u32)
        .collect()
}

fn lives(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| {
        !stat
            .rsplit(')')
            .next()
            .unwrap_or_default()
            .starts_with(" Z")
    })
}

/// Waits until a process has ended.
async fn ended(pid: u32) {
    const LONG: Duration = Duration::from_secs(30);
    let number = Pid::from_raw(i32::try_from(pid).expect("a pid")).expect("a pid");
    let Ok(process) = pidfd_open(number, PidfdFlags::empty()) else {
        return;
    };
    let wait = move || {
        let mut events = [PollFd::new(&process, PollFlags::IN)];
        poll(
            &mut events,
            Some(&Timespec::try_from(LONG).expect("a time")),
        )
        .expect("polled")
    };
    let count = tokio::task::spawn_blocking(wait).await.expect("no panic");
    assert_eq!(count, 1, "{pid} lives on");
}

/// Begins a question that is never answered; it is with the server when this returns.
async fn ask_for_ever(
    stand: &Stand,
    name: &str,
) -> (
    tokio::task::JoinHandle<Result<(), QueryError>>,
    tokio_util::sync::CancellationToken,
) {
    let cancel = never();
    let (pool, uri, token) = (
        stand.pool.clone(),
        stand.uri(&format!("{name}/a.rs")),
        cancel.clone(),
    );
    let asking = tokio::spawn(async move {
        pool.definition(&uri, ByteOffset(0), &token)
            .await
            .map(|_| ())
    });
    let log = stand.path(name).join("log");
    while !std::fs::read_to_string(&log)
        .unwrap_or_default()
        .contains("textDocument/definition")
    {
        tokio::task::yield_now().await;
    }
    (asking, cancel)
}

/// Typing in its files and reading what it last said is no use of it.
#[tokio::test]
async fn a_server_that_nobody_asks_is_ended_and_started_again() {
    let bounds = Bounds {
        idle: Some(Duration::from_millis(300)),
        ..FREE
    };
    let stand = two(&script(), bounds);
    stand.open("a/a.rs", "fn a() {}");
    ask(&stand, "a").await;
    let first = pid(&stand, "a");
    let end = ended(first);
    tokio::pin!(end);
    let mut texts = ["b", "a"].iter().cycle();
    loop {
        let text = texts.next().expect("endless");
        stand.replace("a/a.rs", "fn", &format!("/*{text}*/fn"));
        assert!(
            stand
                .pool
                .known_diagnostics(&stand.uri("a/a.rs"))
                .is_empty()
        );
        tokio::select! {
            () = &mut end => break,
            () = tokio::time::sleep(Duration::from_millis(20)) => {}
        }
    }
    let log = std::fs::read_to_string(stand.path("a").join("log")).expect("a log");
    assert!(
        log.contains("textDocument/didChange") && log.contains("\"exit\""),
        "{log}"
    );
    ask(&stand, "a").await;
    assert_eq!(pids(&stand, "a").len(), 2);
}

#[tokio::test]
async fn a_server_that_is_being_asked_is_not_idle() {
    let bounds = Bounds {
        idle: Some(Duration::from_millis(100)),
        ..FREE
    };
    let stand = two(&script(), bounds);
    ask(&stand, "a").await;
    let (asking, cancel) = ask_for_ever(&stand, "a").await;
    let asked = pid(&stand, "a");
    // One that came later and is idle is ended: by then the other would have been.
    ask(&stand, "b").await;
    ended(pid(&stand, "b")).await;
    assert!(lives(asked));
    cancel.cancel();
    assert_eq!(asking.await.expect("no panic"), Err(QueryError::Cancelled));
    ended(asked).await;
}

#[tokio::test]
async fn two_hundred_roots() {
    const MOST: usize = 5;
    let names: Vec<String> = (0..200).map(|number| format!("p{number}")).collect();
    let bounds = Bounds {
        processes: MOST,
        ..FREE
    };
    let stand = packages(&names, &script(), Limits::default(), bounds);
    let mut started = Vec::new();
    for name in &names {
        ask(&stand, name).await;
        started.extend(pids(&stand, name));
        let alive = started.iter().filter(|pid| lives(**pid)).count();
        assert!(alive <= MOST, "{alive} at {name}");
    }
    assert_eq!(started.len(), names.len(), "each was started once");
    // Those that were asked last are still there.
    for name in &names[names.len() - MOST..] {
        ask(&stand, name).await;
        assert_eq!(pids(&stand, name).len(), 1, "{name}");
    }
    // All at once: each waits until there is room.
    let some = &names[..20];
    futures::future::join_all(some.iter().map(|name| ask(&stand, name))).await;
    stand.pool.shutdown().await;
    let all: Vec<u32> = names.iter().flat_map(|name| pids(&stand, name)).collect();
    assert!(!all.iter().any(|pid| lives(*pid)));
}

/// Whoever finds no room is told that it is starting, and nobody loses the server that they are asking.
#[tokio::test]
async fn no_server_ends_for_another_while_it_is_asked() {
    let limits = Limits {
        ready: Duration::from_millis(300),
        ..Limits::default()
    };
    let bounds = Bounds {
        processes: 1,
        ..FREE
    };
    let stand = packages(&["a".into(), "b".into()], &script(), limits, bounds);
    ask(&stand, "a").await;
    let (asking, cancel) = ask_for_ever(&stand, "a").await;
    let asked = pid(&stand, "a");
    let refused = stand.hover("b/a.rs").await;
    assert_eq!(refused, Err("s is still starting; ask again later".into()));
    assert!(lives(asked) && pids(&stand, "b").is_empty());
    cancel.cancel();
    assert_eq!(asking.await.expect("no panic"), Err(QueryError::Cancelled));
    ended(asked).await;
    while stand.hover("b/a.rs").await.is_err() {}
    assert_eq!(pids(&stand, "b").len(), 1);
}

/// What its children hold counts. The one that was asked longest ago goes, but not while it is being asked.
#[tokio::test]
async fn the_least_recently_asked_is_ended_for_memory() {
    let hold = format!("'{STAGE}' hold {} &", 60 << 20);
    let mut script = script();
    script["first"] = json!([{"run": ["sh", "-c", hold]}]);
    for is_asked in [false, true] {
        let bounds = Bounds {
            memory: Some(100 << 20),
            ..FREE
        };
        let stand = two(&script, bounds);
        ask(&stand, "a").await;
        let asking = match is_asked {
            true => Some(ask_for_ever(&stand, "a").await),
            false => None,
        };
        ask(&stand, "b").await;
        let (older, newer) = (pid(&stand, "a"), pid(&stand, "b"));
        let (goes, stays) = if is_asked {
            (newer, older)
        } else {
            (older, newer)
        };
        ended(goes).await;
        assert!(lives(stays), "asked: {is_asked}");
        if let Some((asking, cancel)) = asking {
            cancel.cancel();
            assert_eq!(asking.await.expect("no panic"), Err(QueryError::Cancelled));
        }
    }
}

#[tokio::test]
async fn packages_have_servers_of_their_own_for_as_long_as_they_are_there() {
    let stand = two(&script(), FREE);
    for name in ["a", "b", "a", "b"] {
        ask(&stand, name).await;
    }
    let (lost, kept) = (pid(&stand, "a"), pid(&stand, "b"));
    assert_eq!(
        (pids(&stand, "a"), pids(&stand, "b")),
        (vec![lost], vec![kept])
    );
    stand.pool.roots_changed();
    stand.workspace.set_roots(vec![stand.path("b")]);
    assert_eq!(stand.pool.status().len(), 2, "nothing was lost so far");
    stand.pool.roots_changed();
    ended(lost).await;
    ask(&stand, "b").await;
    assert_eq!(pids(&stand, "b"), [kept]);
    assert_eq!(stand.pool.status().len(), 1);
}

/// A progress without an end is waited for once, and never again.
#[tokio::test]
async fn who_never_gets_ready_is_not_waited_for_for_ever() {
    let mut script = script();
    let begin = json!({"notify": ["$/progress", {"token": 1, "value": {"kind": "begin", "title": "Indexing"}}]});
    script["on"]["initialized"] = json!([[begin]]);
    let wait = Duration::from_secs(3);
    let files = [("a.rs", "fn a() {}\n")];
    let servers = |folder: &Path| {
        stand::write(&folder.join("script"), &script.to_string());
        servers(json!({"s": {
            "command": [STAGE, "serve", folder.join("script")], "languages": ["rust"], "ready": "progress",
        }}))
    };
    let stand = Stand::with(
        &files,
        servers,
        Limits {
            ready: wait,
            ..Limits::default()
        },
    );
    let uri = stand.uri("a.rs");
    let complete = async || {
        let cancel = never();
        let answer = stand.pool.hover(&uri, ByteOffset(0), &cancel).await;
        answer.expect("answered").complete
    };
    assert!(!complete().await);
    let begun = Instant::now();
    assert!(!complete().await);
    assert!(begun.elapsed() < wait, "{:?}", begun.elapsed());
    assert_eq!(stand.pool.status()[0].state, ServerState::Indexing);
}

#[tokio::test]
async fn what_a_server_writes_is_kept() {
    let mut script = script();
    script["first"] = json!([{"stderr": "one\n\ntwo\n"}]);
    let stand = two(&script, FREE);
    ask(&stand, "a").await;
    while stand.pool.status()[0].said != "one\ntwo" {
        ask(&stand, "a").await;
    }
}

fn executable(path: &Path, text: &str) {
    stand::write(path, text);
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("set");
}

/// A stand with these servers, of which `$S` is a server that works, `$F` the folder.
fn choosing(files: &[(&str, &str)], configured: &Value) -> Stand {
    let servers = |folder: &Path| {
        let server = format!(
            "#!/bin/sh\nexec '{STAGE}' serve '{}'\n",
            folder.join("script").display()
        );
        stand::write(&folder.join("script"), &script().to_string());
        executable(&folder.join("works"), &server);
        executable(
            &folder.join("tsc"),
            "#!/bin/sh\necho \"error TS5023: Unknown compiler option '--lsp'.\"\nexit 1\n",
        );
        executable(
            &folder.join("rust-analyzer"),
            "#!/bin/sh\necho \"error: Unknown binary 'rust-analyzer' in official toolchain '1.70'.\" >&2\nexit 1\n",
        );
        stand::write(&folder.join("text"), "no program");
        std::fs::create_dir(folder.join("folder")).expect("made");
        let text = configured
            .to_string()
            .replace("$F", folder.to_str().expect("text"));
        stand::servers(serde_json::from_str(&text).expect("JSON"))
    };
    Stand::with(files, servers, Limits::default())
}

#[tokio::test]
async fn which_server_is_taken() {
    let works = json!(["$F/works"]);
    let missing = json!(["$F/no-such-program"]);
    let one = |command: &Value| json!({"command": command, "languages": ["x"], "root_markers": ["mark"], "ready": "initialized"});
    let with = |mut server: Value, key: &str, value: Value| {
        server[key] = value;
        server
    };
    let tsc = with(one(&json!(["$F/tsc", "--lsp"])), "root_markers", json!([]));
    let cases = [
        (
            "the first in the catalogue",
            json!({"ty": one(&works), "pyright": one(&works)}),
            "pyright",
        ),
        (
            "that is there",
            json!({"ty": one(&works), "pyright": one(&missing)}),
            "ty",
        ),
        (
            "by any of its commands",
            json!({"ty": one(&works), "pyright": with(one(&missing), "alternatives", json!([missing, works]))}),
            "pyright",
        ),
        (
            "not one that only adds",
            json!({"ruff": one(&works), "zzz": one(&works)}),
            "zzz",
        ),
        (
            "unless it is all there is",
            json!({"ruff": one(&works), "zzz": one(&missing)}),
            "ruff",
        ),
        (
            "or is asked for by name",
            json!({"ruff": with(one(&works), "enabled", json!(true)), "pyright": one(&works)}),
            "ruff",
        ),
        (
            "not one that is switched off",
            json!({"ty": one(&works), "pyright": with(one(&works), "enabled", json!(false))}),
            "ty",
        ),
        (
            "not one for other projects",
            json!({"deno": one(&works), "vtsls": one(&works)}),
            "vtsls",
        ),
        (
            "but for its own",
            json!({"deno": with(one(&works), "root_markers", json!(["a.x"])), "vtsls": one(&works)}),
            "deno",
        ),
        (
            "not an older program of its name",
            json!({"tsc": tsc, "zzz": one(&works)}),
            "zzz",
        ),
        (
            "not what can't be run",
            json!({"pyright": one(&json!(["$F/folder"])), "ty": one(&works)}),
            "ty",
        ),
    ];
    for (name, configured, expected) in cases {
        let stand = choosing(&[("a.x", "")], &configured);
        stand.buffers.open(stand.uri("a.x"), "x", 1, "");
        let answer = stand
            .pool
            .hover(&stand.uri("a.x"), ByteOffset(0), &never())
            .await;
        assert_eq!(
            answer.map(|answer| answer.server),
            Ok(expected.to_owned()),
            "{name}"
        );
        // And again: what was found out is remembered.
        let answer = stand
            .pool
            .hover(&stand.uri("a.x"), ByteOffset(0), &never())
            .await;
        assert_eq!(
            answer.map(|answer| answer.server),
            Ok(expected.to_owned()),
            "{name}"
        );
    }
}

#[tokio::test]
async fn why_there_is_none() {
    let one = |command: Value| json!({"command": command, "languages": ["x"]});
    let cases = [
        (
            json!({"mine": one(json!(["$F/folder"]))}),
            "mine can't be started: $F/folder is a folder",
        ),
        (
            json!({"mine": one(json!(["$F/text"]))}),
            "mine can't be started: $F/text is not executable",
        ),
        (
            json!({"ty": one(json!(["$F/none"]))}),
            "ty is not installed ($F/none was not found); install it with: pip install ty",
        ),
        (
            json!({"ty": one(json!(["$F/none"])), "zzz": one(json!(["$F/folder"]))}),
            "zzz can't be started: $F/folder is a folder",
        ),
        (
            json!({"rust-analyzer": one(json!(["$F/rust-analyzer"]))}),
            "rust-analyzer is not installed (a server behind $F/rust-analyzer was not found); install it with: \
             rustup component add rust-analyzer rust-src --toolchain 1.70",
        ),
        (
            json!({"tsc": one(json!(["$F/tsc"]))}),
            "tsc is not installed (a server behind $F/tsc was not found); install it with: npm install -g typescript@7",
        ),
    ];
    for (configured, expected) in cases {
        let stand = choosing(&[("a.x", "")], &configured);
        stand.buffers.open(stand.uri("a.x"), "x", 1, "");
        let folder = stand.folder.path().to_str().expect("text");
        let expected = expected.replace("$F", folder);
        for time in 1..=2 {
            assert_eq!(
                stand.hover("a.x").await,
                Err(expected.clone()),
                "time {time}"
            );
        }
    }
}
