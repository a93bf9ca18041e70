//! The floors of the house: who may know whom (docs/architecture.md), read from the manifests.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;

/// Each may use any floor below it.
const FLOORS: [&str; 6] = [
    "workspace",
    "langserver",
    "tools",
    "agent",
    "editor",
    "copydesk",
];

/// Stands beside the floors and uses none of them; only these use it.
const MODEL_USERS: [&str; 2] = ["agent", "copydesk"];

/// Whether that arrow is allowed between two of our crates.
fn may(from: &str, to: &str) -> bool {
    let floor = |name: &str| FLOORS.iter().position(|floor| *floor == name);
    match (floor(from), floor(to)) {
        (Some(from), Some(to)) => to < from,
        (Some(_), None) => to == "model" && MODEL_USERS.contains(&from),
        // Real servers are asked by the tool itself, and a real model by the providers.
        (None, _) => from == "tests" && ["workspace", "langserver", "tools", "model"].contains(&to),
    }
}

/// Every dependency between packages of the workspace, of whatever kind (normal, build or dev).
fn arrows() -> BTreeSet<(String, String)> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args([
            "metadata",
            "--no-deps",
            "--format-version",
            "1",
            "--manifest-path",
        ])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
        .output()
        .expect("cargo metadata");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    let name = |value: &Value| value["name"].as_str().expect("a name").to_owned();
    let ours: BTreeSet<String> = packages.iter().map(name).collect();
    for room in FLOORS.iter().chain(&["model", "tests", "xtask"]) {
        assert!(ours.contains(*room), "{room} is gone, or was renamed");
    }
    let mut arrows = BTreeSet::new();
    for package in packages {
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            // A path says that it is ours, whatever it is renamed to.
            if !dependency["path"].is_null() {
                arrows.insert((name(package), name(dependency)));
            }
        }
    }
    arrows
}

#[test]
fn only_the_arrows_of_the_plan() {
    let forbidden: Vec<_> = arrows()
        .into_iter()
        .filter(|(from, to)| !may(from, to))
        .collect();
    assert_eq!(
        forbidden,
        [],
        "dependencies that docs/architecture.md forbids"
    );
}

#[test]
fn the_rule_itself() {
    for (from, to, allowed) in [
        ("agent", "workspace", true),
        ("copydesk", "editor", true),
        ("agent", "model", true),
        ("copydesk", "model", true),
        ("editor", "model", false),
        ("tools", "model", false),
        ("model", "workspace", false),
        ("model", "agent", false),
        ("workspace", "langserver", false),
        ("tools", "agent", false),
        ("editor", "editor", false),
        ("xtask", "workspace", false),
        ("tests", "tools", true),
        ("tests", "editor", false),
        ("workspace", "tests", false),
    ] {
        assert_eq!(may(from, to), allowed, "{from} -> {to}");
    }
}
