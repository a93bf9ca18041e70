//! A file that no editor holds is edited on disk: what was wrong in it before still is, and what is newly wrong is told. No server
//! is believed that there is nothing wrong because it has not looked yet.

use std::time::Duration;

use langserver::Consequences;
use serde_json::json;

use crate::{
    desk::Desk,
    servers::{self, Real},
};

const TYPESCRIPT: [(&str, &str); 2] = [
    (
        "tsconfig.json",
        "{\"compilerOptions\": {\"strict\": true, \"noEmit\": true}}\n",
    ),
    ("a.ts", "// here\nexport const s: string = 5;\n"),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn typescript_language_server() {
    edited(servers::TSLS).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn vtsls() {
    edited(servers::VTSLS).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn typescript_7() {
    edited(servers::TSC).await;
}

async fn edited(real: Real) {
    if real.is_missing() {
        return;
    }
    let desk = Desk::new(real, &TYPESCRIPT);
    still_wrong(&desk, 2).await;
    let nothing = change(&desk, "// here\n", "// here\n// and here\n").await;
    assert_eq!((nothing.added.len(), nothing.cured), (0, 0), "{nothing:?}");
    still_wrong(&desk, 3).await;
    let more = change(&desk, "// and here\n", "export const t: string = 7;\n").await;
    let added: Vec<_> = more.added.iter().map(|(_, one)| &one.message).collect();
    assert_eq!((added.len(), more.cured), (1, 0), "{more:?}");
    still_wrong(&desk, 3).await;
    let less = change(&desk, "s: string = 5", "s: string = ''").await;
    assert_eq!((less.added.len(), less.cured), (0, 1), "{less:?}");
}

/// The error on this line is told, whenever it is asked for.
async fn still_wrong(desk: &Desk, line: u32) {
    for _ in 0..2 {
        let said = desk.lsp("diagnostics", "a.ts", json!({})).await;
        assert!(
            said.well && said.text.contains(&format!("a.ts:{line}:")),
            "{}",
            said.text
        );
    }
}

async fn change(desk: &Desk, old: &str, new: &str) -> Consequences {
    let before = [desk.cx.workspace.read(&desk.uri("a.ts")).expect("a text")];
    let input = json!({"filePath": "a.ts", "oldString": old, "newString": new});
    let said = desk.call("edit", input).await;
    assert!(said.well, "{}", said.text);
    let deadline = Duration::from_secs(30);
    let found = desk
        .cx
        .pool
        .consequences(&before, deadline, &desk.cx.cancel);
    let found = found.await;
    assert!(
        found.pending.is_empty() && found.unavailable.is_empty(),
        "{found:?}"
    );
    found
}
