//! The `lsp` tool over the real rust-analyzer: names changed in texts that were never saved, files that actions make. One
//! long story, because a start costs seconds.

mod stand;

use serde_json::json;
use stand::Stand;

const MANIFEST: &str = "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
const LIB: &str = "pub mod shapes;\npub mod user;\n\n/// Adds up.\npub fn total(sizes: &[u32]) -> u32 {\n    sizes.iter().sum()\n}\n\nmod inner {\n    pub fn one() -> u32 {\n        1\n    }\n}\n";
const SHAPES: &str = "use crate::total;\n\npub trait Shape {\n    fn area(&self) -> u32;\n}\n\npub struct Square(pub u32);\n\nimpl Shape for Square {\n    fn area(&self) -> u32 {\n        total(&[self.0, self.0])\n    }\n}\n";
const USER: &str = "pub fn use_it() -> u32 {\n    crate::total(&[1])\n}\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_it_knows_and_changes() {
    let stand = Stand::real(&[
        ("Cargo.toml", MANIFEST),
        ("src/lib.rs", LIB),
        ("src/shapes.rs", SHAPES),
        ("src/user.rs", USER),
    ]);
    // Never saved, and moved down.
    stand.open("src/lib.rs", &format!("// typed\n\n{LIB}"));
    stand.open("src/shapes.rs", SHAPES);
    knows(&stand).await;
    nothing_or_all(&stand).await;
    renames(&stand).await;
    moves_a_module(&stand).await;
    stand.cx.pool.shutdown().await;
}

async fn knows(stand: &Stand) {
    let text = stand
        .ask("goToDefinition", "src/user.rs", json!({"symbol": "total"}))
        .await;
    assert_eq!(
        text,
        "src/lib.rs:7:8 (ready)\n/// Adds up.\npub fn total(sizes: &[u32]) -> u32 {\n    sizes.iter().sum()\n}"
    );
    let text = stand
        .ask("findReferences", "src/lib.rs", json!({"symbol": "total"}))
        .await;
    assert_eq!(
        text,
        "3 references of `total` (src/lib.rs:7:8) in 2 files (ready):\nsrc/shapes.rs\n 1:12 use crate::total;\n in Square.area\n  11:9 total(&[self.0, self.0])\nsrc/user.rs\n in use_it\n  2:12 crate::total(&[1])"
    );
    let text = stand
        .ask("incomingCalls", "src/lib.rs", json!({"symbol": "total"}))
        .await;
    assert_eq!(
        text,
        "total src/lib.rs:7: 2 callers (ready)\n Square.area src/shapes.rs:10, calls in 11\n use_it src/user.rs:1, calls in 2"
    );
    let text = stand
        .ask(
            "goToImplementation",
            "src/shapes.rs",
            json!({"symbol": "Shape"}),
        )
        .await;
    assert_eq!(
        text,
        "1 implementation of `Shape` (src/shapes.rs:3:11) in 1 file (ready):\nsrc/shapes.rs\n 9:16 impl Shape for Square {"
    );
    let text = stand
        .ask("hover", "src/user.rs", json!({"symbol": "total"}))
        .await;
    assert_eq!(
        text,
        "src/user.rs:2:12 (ready):\nsmall\npub fn total(sizes: &[u32]) -> u32\nAdds up."
    );
}

/// One of the files can't be written: none is changed.
async fn nothing_or_all(stand: &Stand) {
    let lock = |locked: bool| {
        let path = stand.path("src/user.rs");
        let mut permissions = std::fs::metadata(&path).expect("there").permissions();
        permissions.set_readonly(locked);
        std::fs::set_permissions(&path, permissions).expect("set");
    };
    let before = stand.buffer("src/lib.rs");
    lock(true);
    let more = json!({"symbol": "total", "newName": "sum_of"});
    let text = stand.ask("rename", "src/lib.rs", more).await;
    lock(false);
    assert!(
        text.contains("src/user.rs is read-only") && text.ends_with("nothing was changed"),
        "{text}"
    );
    assert_eq!(stand.buffer("src/lib.rs"), before);
    assert_eq!(stand.buffer("src/shapes.rs"), SHAPES);
    assert_eq!(stand.disk("src/user.rs"), USER);
}

/// Asked for where it is only used, in three files: unsaved, open, and not in the editor.
async fn renames(stand: &Stand) {
    let more = json!({"symbol": "total", "newName": "sum_of"});
    let text = stand.ask("rename", "src/user.rs", more).await;
    assert!(
        text.starts_with("Renamed `total` (src/user.rs:2:12) to `sum_of`: 4 changes in 3 files\n"),
        "{text}"
    );
    let renamed = |text: &str| text.replace("total", "sum_of");
    assert_eq!(
        stand.buffer("src/lib.rs"),
        format!("// typed\n\n{}", renamed(LIB))
    );
    assert_eq!(stand.buffer("src/shapes.rs"), renamed(SHAPES));
    assert_eq!(stand.disk("src/user.rs"), renamed(USER));
    // What the editor holds is the editor's to save.
    assert_eq!(stand.disk("src/lib.rs"), LIB);
    assert_eq!(stand.disk("src/shapes.rs"), SHAPES);
}

/// An action that makes a file, and a name that is a file's.
async fn moves_a_module(stand: &Stand) {
    let more = json!({"symbol": "inner", "action": "Extract module to file"});
    let text = stand.ask("applyCodeAction", "src/lib.rs", more).await;
    assert!(text.ends_with("src/inner.rs is new"), "{text}");
    assert_eq!(
        stand.disk("src/inner.rs"),
        "pub fn one() -> u32 {\n    1\n}\n"
    );
    assert!(stand.buffer("src/lib.rs").ends_with("\nmod inner;\n"));
    let more = json!({"symbol": "inner", "newName": "deep"});
    let text = stand.ask("rename", "src/lib.rs", more).await;
    assert!(text.ends_with("src/inner.rs is now src/deep.rs"), "{text}");
    assert_eq!(stand.disk("src/inner.rs"), "(none)");
    assert_eq!(
        stand.disk("src/deep.rs"),
        "pub fn one() -> u32 {\n    1\n}\n"
    );
    assert!(stand.buffer("src/lib.rs").ends_with("\nmod deep;\n"));
}

/// A manifest that can't be read: it says so itself, whatever it finds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_it_could_not_load_it_has_not_checked() {
    let stand = Stand::real(&[
        ("Cargo.toml", "[package\nname = 1\n"),
        ("src/main.rs", "fn main() {}\n"),
    ]);
    let text = stand.ask("diagnostics", "src/main.rs", json!({})).await;
    assert!(!text.contains("(checked just now)"), "{text}");
    assert!(text.contains("rust-analyzer says: "), "{text}");
    let place = json!({"symbol": "main"});
    let text = stand.ask("findReferences", "src/main.rs", place).await;
    assert!(!text.contains("(ready)"), "{text}");
    assert!(text.contains("rust-analyzer says: "), "{text}");
    stand.cx.pool.shutdown().await;
}
