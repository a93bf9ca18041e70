//! The quirks of real servers, numbered as they were found: what we do in spite of each, shown on a server that has it.

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    time::{Duration, Instant},
};

use langserver::{Limits, QueryError};
use serde_json::json;
use tests::{client, fixtures::Project};

use crate::{
    cold,
    desk::{Desk, Said, patient},
    samples::{CPP, GO, PYTHON, RUST, Sample, TYPESCRIPT},
    servers::{self, Real},
    wire::Wire,
};

const NOTHING: serde_json::Value = serde_json::Value::Null;

/// Asks until it is so: what watchers tell comes when it comes.
async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !is_so().await {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let in_time = tokio::time::timeout(Duration::from_secs(30), waiting).await;
    assert!(in_time.is_ok(), "waited in vain until {what}");
}

/// A server over its project; `None`: this machine can't have it.
fn desk(real: Real, sample: &Sample) -> Option<Desk> {
    (!real.is_missing()).then(|| Desk::new(real, sample.files))
}

/// The same, and it has been found where what is called is defined.
async fn warm(real: Real, sample: &Sample) -> Option<Desk> {
    let desk = desk(real, sample)?;
    find(&desk, real, sample).await;
    Some(desk)
}

/// It is found where what is called is defined, wherever that is by now.
async fn find(desk: &Desk, real: Real, sample: &Sample) -> Said {
    let said = desk.at("goToDefinition", sample.call, NOTHING).await;
    let is_right = said.names(desk.place(sample.callee));
    assert!(is_right, "{}: {}", real.title, said.text);
    said
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn quirk_01_early_answers_are_wrong_but_not_empty() {
    cold::all_references_in_django(servers::PYRIGHT).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn quirk_02_rust_analyzer_answers_nothing_or_content_modified_first() {
    let desk = Desk::new(servers::RUST_ANALYZER, RUST.files);
    desk.open(RUST.callee.file);
    find(&desk, servers::RUST_ANALYZER, &RUST).await;
    for round in 0..20 {
        // Changed while it is asked, so that it takes answers back.
        let asked = desk.at("findReferences", RUST.callee, NOTHING);
        let typed = async {
            tokio::task::yield_now().await;
            let more = format!("/// Adds up the sizes. {}", "x".repeat(round));
            let text = desk.text(RUST.callee.file);
            let old = text
                .lines()
                .find(|line| line.contains("Adds up"))
                .expect("it is there");
            desk.replace(RUST.callee.file, old, &more);
        };
        let (said, ()) = tokio::join!(asked, typed);
        assert!(said.names(desk.place(RUST.call)), "{}", said.text);
    }
    desk.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn quirk_03_requests_of_servers_are_all_answered() {
    // Left without an answer, each of these hangs or stays empty.
    for (real, sample) in [
        (servers::PYRIGHT, PYTHON),
        (servers::TY, PYTHON),
        (servers::TSC, TYPESCRIPT),
        (servers::GOPLS, GO),
    ] {
        if let Some(desk) = warm(real, &sample).await {
            desk.end().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn quirk_04_vtsls_dies_of_a_whole_text() {
    let desk = Desk::new(servers::VTSLS, TYPESCRIPT.files);
    desk.open(TYPESCRIPT.caller.file);
    find(&desk, servers::VTSLS, &TYPESCRIPT).await;
    let pid = desk.pid();
    // An editor that knows no ranges.
    let uri = desk.uri(TYPESCRIPT.caller.file);
    let change = workspace::ContentChange {
        range: None,
        text: format!("\n\n{}", desk.text(TYPESCRIPT.caller.file)),
    };
    let buffers = desk.cx.workspace.buffers();
    let changed = buffers.change(&uri, 2, &[change], workspace::Encoding::Utf16);
    changed.expect("changed");
    let said = desk.at("findReferences", TYPESCRIPT.callee, NOTHING).await;
    assert!(said.names(desk.place(TYPESCRIPT.call)), "{}", said.text);
    assert_eq!(desk.pid(), pid, "it lives");
    desk.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn quirk_05_pyright_takes_its_registration_of_diagnostics_back_and_says_nothing_of_unopened_files()
 {
    const PULL: &str = "textDocument/diagnostic";
    let project = Desk::project(PYTHON.files);
    let mut servers = servers::PYRIGHT.alone();
    let wire = Wire::of(&mut servers, "pyright", project.beside("wire"));
    let desk = Desk::of(servers, project, patient());
    // The ids under which it stands registered, and how often it took one back.
    let registered = || {
        let (mut standing, mut taken_back) = (BTreeSet::new(), 0);
        for message in wire.said() {
            let params = &message["params"];
            let changed = params["registrations"].as_array().into_iter().flatten();
            let ended = params["unregisterations"].as_array().into_iter().flatten();
            for one in changed.filter(|one| one["method"] == PULL) {
                standing.insert(one["id"].to_string());
            }
            for one in ended.filter(|one| one["method"] == PULL) {
                assert!(standing.remove(&one["id"].to_string()), "{one}");
                taken_back += 1;
            }
        }
        (standing, taken_back)
    };
    for _ in 0..3 {
        let (wrong, message) = PYTHON.wrong;
        let said = desk.lsp("diagnostics", wrong.file, NOTHING).await;
        assert!(
            said.names(desk.place(wrong)) && said.text.contains(message),
            "{}",
            said.text
        );
        let said = desk.lsp("diagnostics", PYTHON.caller.file, NOTHING).await;
        assert!(said.text.starts_with("No problems"), "{}", said.text);
        // The second and third time are after it has taken it back, and they are answered as the first was.
        until("it is registered anew", async || {
            let (standing, taken_back) = registered();
            taken_back > 0 && !standing.is_empty()
        })
        .await;
        desk.cx.pool.disk_changed(&[desk.uri("pyproject.toml")]);
    }
    desk.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn quirk_06_nobody_waits_for_the_diagnostics_of_a_workspace() {
    // Both hold `workspace/diagnostic` back for as long as nothing changes.
    let limits = Limits {
        answer: Duration::from_secs(20),
        ..patient()
    };
    for real in [servers::PYRIGHT, servers::TY] {
        let desk = Desk::within(real, Desk::project(PYTHON.files), limits);
        for file in ["shapes.py", "report.py", "wrong.py", "messy.py"] {
            let said = desk.lsp("diagnostics", file, NOTHING).await;
            assert!(said.well && !said.is_incomplete(), "{file}: {}", said.text);
        }
        desk.end().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn quirk_07_what_a_server_does_not_support_it_says_in_many_ways() {
    for (real, sample) in [
        (servers::TSC, TYPESCRIPT),
        (servers::GOPLS, GO),
        (servers::CLANGD_19, CPP),
    ] {
        let Some(desk) = desk(real, &sample) else {
            continue;
        };
        let operation = match real.name {
            "clangd" => "outgoingCalls",
            _ => "supertypes",
        };
        let said = desk.at(operation, sample.caller, NOTHING).await;
        assert!(
            !said.well && said.is_unsupported(),
            "{}: {}",
            real.title,
            said.text
        );
        // `params: null` would be an error to one of them: it would have to be killed.
        let begun = Instant::now();
        desk.end().await;
        assert!(
            begun.elapsed() < Duration::from_secs(5),
            "{:?}",
            begun.elapsed()
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn quirk_08_some_know_no_project_before_a_document_is_open() {
    for (real, sample) in [(servers::TSLS, TYPESCRIPT), (servers::CLANGD, CPP)] {
        let desk = Desk::new(real, sample.files);
        let query = json!({ "query": sample.square.word });
        let said = desk.lsp("workspaceSymbol", sample.caller.file, query).await;
        assert!(
            said.names(desk.place(sample.square)),
            "{}: {}",
            real.title,
            said.text
        );
        desk.end().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn quirk_09_changes_on_disk_are_told() {
    for (real, sample) in [
        (servers::TY, PYTHON),
        (servers::PYRIGHT, PYTHON),
        (servers::TSC, TYPESCRIPT),
        (servers::CLANGD, CPP),
        (servers::RUST_ANALYZER, RUST),
    ] {
        let Some(desk) = warm(real, &sample).await else {
            continue;
        };
        // By someone else, as git or a command would.
        let text = desk.project.read(sample.callee.file);
        let moved = text.replace(
            sample.callee.text,
            &format!("\n\n\n\n\n{}", sample.callee.text),
        );
        desk.project.write(sample.callee.file, &moved);
        until(real.title, async || {
            let said = desk.at("goToDefinition", sample.call, NOTHING).await;
            said.names(desk.place(sample.callee))
        })
        .await;
        desk.end().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn quirk_10_some_read_other_files_from_disk_whatever_the_buffer_holds() {
    for real in [servers::JEDI, servers::PYLSP, servers::PYREFLY] {
        let desk = Desk::new(real, PYTHON.files);
        let said = find(&desk, real, &PYTHON).await;
        assert!(said.text.contains("(ready)"), "{}", said.text);
        desk.open(PYTHON.callee.file);
        let down = format!("\n\n\n\n\n{}", PYTHON.callee.text);
        desk.replace(PYTHON.callee.file, PYTHON.callee.text, &down);
        // What it says may be of before, and so it is not said to be certain.
        for (operation, spot) in [
            ("goToDefinition", PYTHON.call),
            ("findReferences", PYTHON.call),
        ] {
            let said = desk.at(operation, spot, NOTHING).await;
            let is_told = said.text.contains("may be stale") && !said.text.contains("(ready)");
            assert!(is_told, "{} {operation}: {}", real.title, said.text);
        }
        // Wherever it is asked to rename, another document that has the name is not saved.
        let spaced = format!("\n{}", PYTHON.caller.text);
        desk.open(PYTHON.caller.file);
        desk.replace(PYTHON.caller.file, PYTHON.caller.text, &spaced);
        let name = json!({ "newName": "Renamed" });
        let said = desk.at("rename", PYTHON.call, name).await;
        let is_refused = !said.well && said.text.contains("is not saved");
        assert!(is_refused, "{}: {}", real.title, said.text);
        for (file, _) in PYTHON.files {
            assert!(!desk.text(file).contains("Renamed"), "{file}");
        }
        // When they are saved it is as sure as before.
        for file in [PYTHON.callee.file, PYTHON.caller.file] {
            let text = desk.text(file);
            desk.project.write(file, &text);
            let buffers = desk.cx.workspace.buffers();
            buffers.save(&desk.uri(file), Some(&text));
        }
        let said = find(&desk, real, &PYTHON).await;
        assert!(said.text.contains("(ready)"), "{}", said.text);
        desk.end().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn quirk_11_a_call_site_in_typescript_is_an_alias() {
    let desk = Desk::new(servers::TSLS, TYPESCRIPT.files);
    let said = desk
        .at("prepareCallHierarchy", TYPESCRIPT.call, NOTHING)
        .await;
    assert!(said.names(desk.place(TYPESCRIPT.callee)), "{}", said.text);
    let said = desk
        .at("rename", TYPESCRIPT.call, json!({ "newName": "sumOf" }))
        .await;
    assert!(said.well, "{}", said.text);
    for (file, text) in [
        ("shapes.ts", "export function sumOf("),
        ("report.ts", "import { type Shape, sumOf } from"),
        ("report.ts", "return sumOf("),
    ] {
        assert!(
            desk.text(file).contains(text),
            "{file}: {}",
            desk.text(file)
        );
    }
    desk.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn quirk_12_clangd_19_knows_callers_and_no_callees() {
    let Some(desk) = desk(servers::CLANGD_19, &CPP) else {
        return;
    };
    let said = desk.at("incomingCalls", CPP.callee, NOTHING).await;
    assert!(
        said.well && said.text.contains(CPP.caller.word),
        "{}",
        said.text
    );
    let said = desk.at("outgoingCalls", CPP.caller, NOTHING).await;
    assert!(!said.well && said.is_unsupported(), "{}", said.text);
    desk.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn quirk_13_answers_come_in_every_shape() {
    for (real, sample) in [
        (servers::TY, PYTHON),
        (servers::TSC, TYPESCRIPT),
        (servers::CLANGD, CPP),
        (servers::GOPLS, GO),
        (servers::JEDI, PYTHON),
        (servers::PYREFLY, PYTHON),
    ] {
        let Some(desk) = warm(real, &sample).await else {
            continue;
        };
        let said = desk
            .lsp("documentSymbol", sample.square.file, NOTHING)
            .await;
        assert!(
            said.text.contains(sample.square.word),
            "{}: {}",
            real.title,
            said.text
        );
        assert!(
            said.text.to_lowercase().contains("size"),
            "{}: {}",
            real.title,
            said.text
        );
        desk.end().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn quirk_14_uris_come_back_spelled_another_way() {
    const FOLDER: &str = "odd @(näme)";
    for (real, sample) in [
        (servers::PYRIGHT, PYTHON),
        (servers::TY, PYTHON),
        (servers::TSC, TYPESCRIPT),
    ] {
        let project = Project::new();
        for (name, text) in sample.files {
            project.write(&format!("{FOLDER}/{name}"), text);
        }
        let desk = Desk::over(real, project);
        let (callee, call) = (
            format!("{FOLDER}/{}", sample.callee.file),
            format!("{FOLDER}/{}", sample.call.file),
        );
        desk.open(&callee);
        // Unsaved: only if the server's name for it is understood is this the text that the place is in.
        desk.replace(
            &callee,
            sample.callee.text,
            &format!("\n\n\n{}", sample.callee.text),
        );
        let (line, character) = sample.call.place(&desk.text(&call));
        let at = json!({ "line": line, "character": character });
        let said = desk.lsp("goToDefinition", &call, at).await;
        let place = sample.callee.place(&desk.text(&callee)).0;
        assert!(
            said.names((&callee, place)),
            "{}: {}",
            real.title,
            said.text
        );
        desk.end().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn quirk_15_an_error_that_is_told_twice_is_one_and_actions_are_resolved() {
    let desk = Desk::new(servers::RUST_ANALYZER, RUST.files);
    let (wrong, _) = RUST.wrong;
    let uri = desk.uri(wrong.file);
    let mut said = desk.lsp("diagnostics", wrong.file, NOTHING).await;
    // Until rustc has spoken too.
    until("rustc has looked", async || {
        said = desk.lsp("diagnostics", wrong.file, NOTHING).await;
        desk.cx.pool.unchecked(&uri).is_empty()
    })
    .await;
    assert_eq!(said.text.matches("E0308").count(), 1, "{}", said.text);
    let fix = json!({ "action": "Wrap in Some" });
    let said = desk.at("applyCodeAction", wrong, fix).await;
    assert!(
        desk.text(wrong.file).contains("Some(number / 2)"),
        "{}",
        said.text
    );
    desk.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn quirk_16_a_server_is_a_tree_of_processes() {
    for (real, sample, least) in [(servers::TSLS, TYPESCRIPT, 3), (servers::CLANGD, CPP, 2)] {
        let Some(desk) = warm(real, &sample).await else {
            continue;
        };
        let tree = client::tree(desk.pid());
        assert!(tree.len() >= least, "{}: {tree:?}", real.title);
        // It sees to it that all of them are gone.
        desk.end().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn quirk_17_a_project_s_toolchain_may_have_no_rust_analyzer() {
    let project = Project::with(RUST.files);
    let toolchain = project.beside("toolchain");
    std::fs::create_dir_all(toolchain.join("bin")).expect("a folder");
    std::fs::write(toolchain.join("bin/rustc"), "").expect("written");
    let named = format!("[toolchain]\npath = \"{}\"\n", toolchain.display());
    project.write("rust-toolchain.toml", &named);
    let mut servers = servers::RUST_ANALYZER.alone();
    if let Some(config) = servers.get_mut("rust-analyzer") {
        // Cargo, which runs this test, names a toolchain that comes before the project's.
        let plain = ["env", "-u", "RUSTUP_TOOLCHAIN"].map(str::to_owned);
        config.command.splice(0..0, plain);
    }
    let desk = Desk::of(servers, project, patient());
    let begun = Instant::now();
    let said = desk.at("goToDefinition", RUST.call, NOTHING).await;
    assert!(!said.well, "{}", said.text);
    assert!(
        begun.elapsed() < Duration::from_secs(30),
        "{:?}",
        begun.elapsed()
    );
    let tells = said.text.contains("toolchain") || said.text.contains("rustup");
    assert!(tells, "why: {}", said.text);
    desk.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn quirk_18_jedi_does_one_thing_at_a_time() {
    let limits = Limits {
        ready: Duration::from_secs(3),
        answer: Duration::from_secs(3),
        ..patient()
    };
    let mut servers = servers::JEDI.alone();
    if let Some(config) = servers.get_mut("jedi-language-server") {
        // As many as there are: else it would be done with the first twenty.
        config.initialization_options = json!({ "workspace": { "symbols": { "maxSymbols": 0 } } });
    }
    let project = cold::django();
    let wire = Wire::of(&mut servers, "jedi-language-server", project.beside("wire"));
    let desk = Desk::of(servers, project, limits);
    let (file, head) = cold::MUCH_USED;
    let line = desk
        .text(file)
        .lines()
        .position(|line| line.starts_with(head))
        .expect("it is there")
        + 1;
    let hover = async || {
        desk.lsp("hover", file, json!({ "line": line, "character": 5 }))
            .await
    };
    let is_right = |said: &Said| said.well && said.text.contains("force_str");
    until("it runs", async || is_right(&hover().await)).await;
    let (uri, pid) = (desk.uri(file), desk.pid());

    // All that Django has: it looks through everything, and hears of no cancel meanwhile.
    let cancel = desk.cx.cancel.child_token();
    let all = desk.cx.pool.workspace_symbols(&uri, "", &cancel);
    let soon = async {
        wire.until_asked("workspace/symbol", 1).await;
        cancel.cancel();
        Instant::now()
    };
    let (ended, cancelled) = tokio::join!(all, soon);
    let ended = ended.map(|found| found.value.len());
    assert!(matches!(ended, Err(QueryError::Cancelled)), "{ended:?}");
    assert!(cancelled.elapsed() < Duration::from_secs(1), "at once");

    let begun = Instant::now();
    let all = desk.cx.pool.workspace_symbols(&uri, "", &desk.cx.cancel);
    let all = all.await.map(|found| found.value.len());
    let late = matches!(all, Err(QueryError::TimedOut { .. }));
    assert!(late, "it takes jedi a minute: {all:?}");
    assert!(begun.elapsed() < Duration::from_secs(10), "in time");

    // The next question waits for it: it is answered, or it is said that it was not in time.
    let begun = Instant::now();
    let said = hover().await;
    assert!(begun.elapsed() < Duration::from_secs(10), "in time");
    let late = !said.well && said.text.contains("did not answer");
    assert!(late || is_right(&said), "{}", said.text);
    // Each question waits for it until its own time is up.
    let waiting = async { while !is_right(&hover().await) {} };
    let in_time = tokio::time::timeout(Duration::from_secs(240), waiting).await;
    assert!(in_time.is_ok(), "it answers when it has done what it does");
    assert_eq!(desk.pid(), pid, "the same server");
    desk.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn quirk_19_a_first_look_for_a_symbol_takes_long_on_a_large_tree() {
    let limits = Limits {
        answer: Duration::from_secs(2),
        ready: Duration::from_secs(60),
        ..patient()
    };
    let desk = Desk::within(servers::PYRIGHT, cold::django(), limits);
    let (file, _) = cold::MUCH_USED;
    // It has started by then.
    desk.lsp("hover", file, json!({ "line": 1 })).await;
    // Too short a time is told; what it has begun it goes on with.
    let mut answers = String::new();
    until("it is found", async || {
        let said = desk
            .lsp("workspaceSymbol", file, json!({ "query": "force_str" }))
            .await;
        let _ = writeln!(answers, "{}", said.text);
        let found = said.well && said.text.contains("django/utils/encoding.py");
        let is_late = said.text.contains("did not answer `workspaceSymbol`");
        assert!(found || is_late, "{}", said.text);
        found
    })
    .await;
    desk.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn quirk_20_an_editor_s_own_server_and_ours_build_in_different_folders() {
    let desk = Desk::new(servers::RUST_ANALYZER, RUST.files);
    let uri = desk.uri(RUST.wrong.0.file);
    until("rustc has looked", async || {
        desk.lsp("diagnostics", RUST.wrong.0.file, NOTHING).await;
        desk.cx.pool.unchecked(&uri).is_empty()
    })
    .await;
    assert!(desk.project.path("target/copydesk").is_dir(), "ours");
    assert!(
        !desk.project.path("target/debug").exists(),
        "not the user's"
    );
    desk.end().await;
}
