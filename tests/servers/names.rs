//! What real servers make of names: which place is meant by one, and what they can't see or would rename wrongly.

use serde_json::{Value, json};

use crate::{
    desk::Desk,
    servers::{self, Real},
};

const SCRIPT: [Real; 3] = [servers::TSLS, servers::VTSLS, servers::TSC];
const CONFIG: (&str, &str) = (
    "tsconfig.json",
    "{ \"compilerOptions\": { \"strict\": true, \"target\": \"es2022\", \"module\": \"esnext\", \"moduleResolution\": \"bundler\", \"types\": [] }, \"include\": [\"*.ts\"] }\n",
);
const PICK: &str = "export class Zebra {
  delete() {}
  constructor() {}
}

export function pick(a: string): string;
export function pick(a: number): number;
export function pick(a: any): any {
  return a;
}

export const alpha = 1;
";
const USE: &str = "// pick, and Zebra
import { Zebra, pick } from \"./pick\";

export const one = pick(1);
export const two = pick(\"x\");
export const zebra = new Zebra();
";

fn script(real: Real) -> Desk {
    Desk::new(real, &[CONFIG, ("pick.ts", PICK), ("use.ts", USE)])
}

fn by_name(name: &str) -> Value {
    json!({ "symbol": name })
}

/// A name that is an import's path too, and that each call takes for another overload; and a class with what makes it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn overloads_and_imports_are_one_thing() {
    for real in SCRIPT {
        let desk = script(real);
        for file in ["use.ts", "pick.ts"] {
            let said = desk.lsp("findReferences", file, by_name("pick")).await;
            let are_all = said.names(("use.ts", 4)) && said.names(("use.ts", 5));
            assert!(said.well && are_all, "{} {file}: {}", real.title, said.text);
        }
        let said = desk.lsp("hover", "pick.ts", by_name("pick")).await;
        let is_told = said
            .text
            .contains("`pick` is declared 3 times in pick.ts, lines 6, 7, 8");
        assert!(is_told, "{}: {}", real.title, said.text);
        let said = desk.lsp("goToDefinition", "use.ts", by_name("Zebra")).await;
        let is_class = said.well && said.names(("pick.ts", 1));
        assert!(is_class, "{}: {}", real.title, said.text);
        // They are one thing to the server: all of it is renamed.
        let renaming = json!({ "symbol": "pick", "newName": "choose" });
        let said = desk.lsp("rename", "pick.ts", renaming).await;
        assert!(said.well, "{}: {}", real.title, said.text);
        for (file, times) in [("pick.ts", 3), ("use.ts", 3)] {
            let text = desk.text(file);
            assert_eq!(
                text.matches("choose").count(),
                times,
                "{}: {text}",
                real.title
            );
        }
        desk.end().await;
    }
}

/// typescript-language-server goes by the alphabet.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn outlines_go_from_the_top_down() {
    for real in SCRIPT {
        let desk = script(real);
        let said = desk.lsp("documentSymbol", "pick.ts", Value::Null).await;
        let places: Vec<_> = [
            "class Zebra",
            "delete()",
            "constructor()",
            "function pick(a: string)",
            "alpha",
        ]
        .iter()
        .map(|name| said.text.find(name))
        .collect();
        let is_whole = places.iter().all(Option::is_some);
        assert!(
            is_whole && places.is_sorted(),
            "{}: {}",
            real.title,
            said.text
        );
        desk.end().await;
    }
}

/// Servers that write down whatever they are told.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_name_is_none() {
    let python = "class Shape:\n    def area(self):\n        return 1\n\n    def size(self):\n        return self.area()\n";
    for (real, file, text, old, refused, taken) in [
        (servers::TSLS, "pick.ts", PICK, "alpha", "delete", "Zebra"),
        (
            servers::PYRIGHT,
            "shapes.py",
            python,
            "area",
            "class",
            "size",
        ),
    ] {
        let desk = Desk::new(real, &[CONFIG, (file, text)]);
        let renamed = |new: &str| json!({ "symbol": old, "newName": new });
        for new in [refused, "two words", "1st"] {
            let said = desk.lsp("rename", file, renamed(new)).await;
            let is_clear = !said.well && said.text.starts_with(&format!("`{new}` is "));
            assert!(is_clear, "{}: {}", real.title, said.text);
            assert_eq!(desk.text(file), text);
        }
        let said = desk.lsp("rename", file, renamed(taken)).await;
        let is_told = said
            .text
            .contains(&format!("[`{taken}` was declared there already: {file}:"));
        // A class and a constant are of two kinds.
        assert_eq!(
            is_told,
            real.name == "pyright",
            "{}: {}",
            real.title,
            said.text
        );
        desk.end().await;
    }
    // A member may be called so.
    let desk = script(servers::TSLS);
    let renaming = json!({ "symbol": "Zebra.delete", "newName": "default" });
    let said = desk.lsp("rename", "pick.ts", renaming).await;
    assert!(
        said.well && desk.text("pick.ts").contains("  default() {}"),
        "{}",
        said.text
    );
    desk.end().await;
}

/// Uses of a member through a value without a type.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_server_can_not_see_is_told() {
    let files = [
        (
            "shapes.py",
            "class Shape:\n    def area(self):\n        return 1\n",
        ),
        (
            "report.py",
            "from shapes import Shape\n\n\ndef known(shape: Shape):\n    return shape.area()\n\n\ndef unknown(shape):\n    return shape.area()\n",
        ),
        (
            "other.py",
            "class Other:\n    def area(self):\n        return 2\n\n\n# its .area is another\ndef other():\n    return Other().area()\n",
        ),
    ];
    let desk = Desk::new(servers::PYRIGHT, &files);
    let note = "\n[pyright does not know what `area` is in 1 more place, for want of types:\n report.py:9 return shape.area()]";
    let said = desk
        .lsp("findReferences", "shapes.py", by_name("area"))
        .await;
    let is_told = said.text.starts_with("1 reference of `area`") && said.text.ends_with(note);
    assert!(is_told, "{}", said.text);
    let said = desk
        .lsp("incomingCalls", "shapes.py", by_name("area"))
        .await;
    let is_told = said.text.contains("1 caller") && said.text.ends_with(note);
    assert!(is_told, "{}", said.text);
    // What is found by its name alone is seen.
    let said = desk
        .lsp("findReferences", "report.py", by_name("known"))
        .await;
    assert!(!said.text.contains("does not know"), "{}", said.text);
    desk.end().await;
}

/// rust-analyzer looks among types alone by itself, as long as one is called so.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn functions_are_found_beside_types_of_the_name() {
    let text = "pub struct Circle;\n\npub fn circle() -> Circle {\n    Circle\n}\n";
    let manifest = "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
    let files = [("Cargo.toml", manifest), ("src/lib.rs", text)];
    let desk = Desk::new(servers::RUST_ANALYZER, &files);
    let query = json!({ "query": "circle" });
    let said = desk.lsp("workspaceSymbol", "src/lib.rs", query).await;
    let are_both = said.names(("src/lib.rs", 1)) && said.names(("src/lib.rs", 3));
    assert!(said.well && are_both, "{}", said.text);
    desk.end().await;
}

/// What the standard library has of a name: few of it are read, and its declaration is shown.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_library_has_is_counted() {
    let files = [
        (
            "Cargo.toml",
            "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
        ),
        (
            "src/lib.rs",
            "use std::fmt::Display;\n\npub struct Own;\n\nimpl Display for Own {\n    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {\n        f.write_str(\"own\")\n    }\n}\n",
        ),
    ];
    let desk = Desk::new(servers::RUST_ANALYZER, &files);
    let said = desk
        .lsp("goToImplementation", "src/lib.rs", by_name("Display"))
        .await;
    let begins = "1 implementation of `Display` (src/lib.rs:1:15) in 1 file; ";
    let is_counted =
        said.text.starts_with(begins) && said.text.contains("more outside the workspace");
    assert!(is_counted && said.names(("src/lib.rs", 5)), "{}", said.text);
    assert!(said.text.lines().count() < 60, "{}", said.text);
    let said = desk
        .lsp("goToDefinition", "src/lib.rs", by_name("Display"))
        .await;
    assert!(said.text.contains("pub trait Display"), "{}", said.text);
    let core = json!({ "symbol": "Display", "query": "core/src/num" });
    let said = desk.lsp("goToImplementation", "src/lib.rs", core).await;
    let is_listed = said.well && said.text.contains("paths with \"core/src/num\" only");
    assert!(
        is_listed && said.text.contains("core/src/num/"),
        "{}",
        said.text
    );
    desk.end().await;
}
