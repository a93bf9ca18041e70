//! What a server can't know though it is at rest: it says that it could not load the project, or nothing tells it how the
//! project is built. Never "ready", never "checked just now".

mod stand;

use serde_json::{Value, json};
use stand::{Stand, always, at};
use tools::aftermath;

const TROUBLE: &str = "scripted says: Failed to load workspace";

fn able() -> Value {
    json!({
        "textDocumentSync": 2, "renameProvider": true, "referencesProvider": true, "definitionProvider": true,
        "hoverProvider": true, "declarationProvider": true, "codeActionProvider": true,
        "diagnosticProvider": {"interFileDependencies": true, "workspaceDiagnostics": false}
    })
}

/// Two files, and a server in this health.
fn in_health(health: &str) -> Stand {
    let files = [("a.rs", "fn old() {}\n"), ("b.rs", "fn b() { old(); }\n")];
    Stand::scripted(&files, |uri| {
        let edit = |line: u32, from, to| json!([{"range": at(line, from, to), "newText": "new"}]);
        let changes = json!({"changes": {uri("a.rs"): edit(0, 3, 6), uri("b.rs"): edit(0, 9, 12)}});
        let status = json!({"health": health, "quiescent": true, "message": "Failed to load workspace:\nno Cargo.toml"});
        json!({"capabilities": able(), "ready": "status", "on": {
            "initialized": [[{"notify": ["experimental/serverStatus", status]}]],
            "textDocument/references": always(&json!([])),
            "textDocument/hover": always(&json!({"contents": "said"})),
            "textDocument/diagnostic": always(&json!({"kind": "full", "items": []})),
            "textDocument/codeAction": always(&json!([{"title": "Do it", "edit": changes}])),
            "textDocument/rename": always(&changes),
        }})
    })
}

async fn says(stand: &Stand, operation: &str, file: &str, more: Value, expected: &str) {
    let text = stand.ask(operation, file, more).await;
    assert_eq!(text, expected, "{operation}");
}

#[tokio::test]
async fn a_server_that_could_not_load_the_project_is_quoted() {
    let place = || json!({"line": 1, "character": 4});
    for (health, trust) in [
        ("ok", "ready".to_owned()),
        ("warning", TROUBLE.to_owned()),
        ("error", format!("may be incomplete: {TROUBLE}")),
    ] {
        let stand = in_health(health);
        let none = format!("No reference of `old` (a.rs:1:4): scripted found none ({trust})");
        says(&stand, "findReferences", "a.rs", place(), &none).await;
        let hover = format!("({trust}):\nsaid");
        says(&stand, "hover", "a.rs", place(), &hover).await;
        let clean = match health {
            "ok" => "No problems in a.rs (checked just now)".to_owned(),
            _ => format!("No problems found in a.rs, but {TROUBLE}"),
        };
        says(&stand, "diagnostics", "a.rs", json!({}), &clean).await;
        let before = stand.cx.workspace.read(&stand.uri("a.rs")).expect("read");
        std::fs::write(stand.path("a.rs"), "fn old() { }\n").expect("written");
        let told = aftermath::told(&[before], None, &stand.cx).await;
        let told = told.text.expect("told");
        assert_eq!(told.contains(TROUBLE), health != "ok", "{told}");
        let status = &stand.cx.pool.status()[0];
        assert_eq!(status.trouble.is_some(), health != "ok");
    }
}

#[tokio::test]
async fn it_renames_after_a_warning_and_not_after_an_error() {
    let place = json!({"line": 1, "character": 4, "newName": "new"});
    let stand = in_health("error");
    let refused =
        "! scripted failed: it says: Failed to load workspace. A rename would miss places";
    says(&stand, "rename", "a.rs", place.clone(), refused).await;
    assert_eq!(stand.asked("textDocument/rename").len(), 0);
    let action = json!({"line": 1, "character": 4, "action": "Do it"});
    let refused = format!(
        "! {TROUBLE}, so \"Do it\" may miss or mistake places in other files: nothing was changed. Cure that first"
    );
    says(&stand, "applyCodeAction", "a.rs", action, &refused).await;
    let stand = in_health("warning");
    let done = format!(
        "Renamed `old` (a.rs:1:4) to `new`: 2 changes in 2 files\na.rs\n 1 fn new() {{}}\nb.rs\n 1 fn b() {{ new(); }}\n[{TROUBLE}]"
    );
    says(&stand, "rename", "a.rs", place, &done).await;
}

/// Scripted, and named as the one whose catalogue entry says what it needs.
fn clangd() -> Stand {
    let files = [
        ("src/a.h", "int old(int);\n"),
        (
            "src/a.c",
            "#include \"a.h\"\nint old(int a) { return a; }\nstatic int own;\n",
        ),
        ("src/b.c", "#include \"a.h\"\nint b = sizeof own;\n"),
    ];
    Stand::scripted(&files, |uri| {
        let edit = |line: u32, from, to| json!([{"range": at(line, from, to), "newText": "new"}]);
        let header = json!({"changes": {uri("src/a.h"): edit(0, 4, 7)}});
        let source = json!({"changes": {uri("src/a.c"): edit(1, 4, 7)}});
        let both =
            json!({"changes": {uri("src/a.c"): edit(2, 11, 14), uri("src/b.c"): edit(1, 15, 18)}});
        let own = json!({"changes": {uri("src/a.c"): edit(2, 11, 14)}});
        let place = |file: &str, line, from, to| json!([{"answer": [{"uri": uri(file), "range": at(line, from, to)}]}]);
        json!({"name": "clangd", "capabilities": able(), "on": {
            "textDocument/references": always(&json!([])),
            "textDocument/definition": [place("src/a.c", 1, 4, 7), place("src/a.c", 2, 11, 14)],
            "textDocument/declaration": [place("src/a.h", 0, 4, 7), place("src/a.c", 2, 11, 14)],
            "textDocument/rename": [[{"answer": header}], [{"answer": source}], [{"answer": both}], [{"answer": own}], [{"answer": header}]],
        }})
    })
}

#[tokio::test]
async fn what_knows_only_open_files_finds_a_part_and_renames_what_is_local() {
    const NOTE: &str = "clangd knows only open files without compile_commands.json (CMake: -DCMAKE_EXPORT_COMPILE_COMMANDS=ON; else bear)";
    let stand = clangd();
    let header = || json!({"line": 1, "character": 5, "newName": "new"});
    let source =
        |line: u32, character: u32| json!({"line": line, "character": character, "newName": "new"});
    let place = || json!({"line": 1, "character": 5});
    let none = format!(
        "No reference of `old` (src/a.h:1:5): clangd found none (may be incomplete: {NOTE})"
    );
    says(&stand, "findReferences", "src/a.h", place(), &none).await;
    let refused = format!("! clangd failed: {NOTE}: other files may use it, and would be missed");
    says(&stand, "rename", "src/a.h", header(), &refused).await;
    // Declared in the header, though the edits are of the source alone; then of several files.
    says(&stand, "rename", "src/a.c", source(2, 5), &refused).await;
    says(&stand, "rename", "src/a.c", source(3, 12), &refused).await;
    assert_eq!(stand.disk("src/a.h"), "int old(int);\n");
    let done = format!(
        "Renamed `own` (src/a.c:3:12) to `new`: 1 change in 1 file\nsrc/a.c\n 3 static int new;\n[{NOTE}]"
    );
    says(&stand, "rename", "src/a.c", source(3, 12), &done).await;
    // Flags for one file say nothing of which there are; a list of them does.
    std::fs::write(stand.path("compile_flags.txt"), "").expect("written");
    says(&stand, "findReferences", "src/a.h", place(), &none).await;
    std::fs::create_dir(stand.path("build")).expect("a folder");
    std::fs::write(stand.path("build/compile_commands.json"), "[]").expect("written");
    let none = "No reference of `old` (src/a.h:1:5): clangd found none (ready)";
    says(&stand, "findReferences", "src/a.h", place(), none).await;
    let done =
        "Renamed `old` (src/a.h:1:5) to `new`: 1 change in 1 file\nsrc/a.h\n 1 int new(int);";
    says(&stand, "rename", "src/a.h", header(), done).await;
}
