//! A large tree to ask about: rust-analyzer's own crates as they are published, joined in one workspace. Cargo fetches them; what
//! they need is pinned by the lock file beside this.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::stamp::Stamp;
use crate::shell::{self, must, output};

/// The crate that needs all the others, each at its own version.
const TOP: &str = "ra_ap_rust-analyzer";
const VERSION: &str = "0.0.358";
const PREFIX: &str = "ra_ap_";
const LOCK: &str = include_str!("joined.lock");

/// Makes it, unless it is there. Where it is.
pub fn install() -> Result<PathBuf> {
    let bench = shell::target().join("bench");
    let tree = bench.join("tree");
    let stamp = Stamp::of(tree.clone(), None, &[TOP, VERSION, "any compiler", LOCK]);
    if !stamp.begin()? {
        return Ok(tree);
    }
    let crates = fetched(&bench.join("fetch"))?;
    if crates.is_empty() {
        bail!("cargo brought no {PREFIX}* of {VERSION}");
    }
    let mut members = String::new();
    let mut patches = String::new();
    for (name, from) in &crates {
        copy(from, &tree.join(name))?;
        let _ = writeln!(members, "    \"{name}\",");
        let _ = writeln!(patches, "{name} = {{ path = \"{name}\" }}");
    }
    let manifest = format!(
        "[workspace]\nresolver = \"2\"\nmembers = [\n{members}]\n\n[patch.crates-io]\n{patches}"
    );
    std::fs::write(tree.join("Cargo.toml"), manifest)?;
    std::fs::write(tree.join("Cargo.lock"), LOCK)?;
    // All that the server will want to read is fetched here, not while it is measured.
    let mut cargo = shell::cargo();
    must(cargo.current_dir(&tree).args(["fetch", "--locked"]))?;
    stamp.done()?;
    Ok(tree)
}

/// The crates of that version, by name, where cargo keeps their sources.
fn fetched(folder: &Path) -> Result<Vec<(String, PathBuf)>> {
    std::fs::create_dir_all(folder.join("src"))?;
    std::fs::write(folder.join("src/lib.rs"), "")?;
    let manifest = format!(
        "[package]\nname = \"fetch\"\nedition = \"2024\"\n\n[dependencies]\n{TOP} = \"={VERSION}\"\n\n[workspace]\n"
    );
    std::fs::write(folder.join("Cargo.toml"), manifest)?;
    let mut cargo = shell::cargo();
    let metadata = cargo
        .current_dir(folder)
        .args(["metadata", "--format-version", "1"]);
    let metadata = output(metadata).with_context(|| format!("cargo could not fetch {TOP}"))?;
    let metadata: Value = serde_json::from_str(&metadata)?;
    let mut crates = Vec::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let text = |key: &str| package[key].as_str().unwrap_or_default();
        if text("name").starts_with(PREFIX) && text("version") == VERSION {
            let manifest = Path::new(text("manifest_path"));
            let from = manifest.parent().context("a manifest is in a folder")?;
            crates.push((text("name").to_owned(), from.to_owned()));
        }
    }
    Ok(crates)
}

/// Copies a crate's folder, without the lock file that is of no use to a member, and without the compiler that its
/// manifest asks for: newer than ours, no build script would run, and they only use what ours has.
fn copy(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to).with_context(|| format!("{}", to.display()))?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else if entry.file_name() != "Cargo.lock" {
            // Its text alone: cargo's own copy may be read-only.
            let mut bytes = std::fs::read(entry.path())?;
            if entry.file_name() == "Cargo.toml" {
                let manifest = String::from_utf8(bytes)?;
                let lines = manifest.lines();
                let kept = lines.filter(|line| !line.starts_with("rust-version"));
                bytes = kept
                    .flat_map(|line| [line, "\n"])
                    .collect::<String>()
                    .into();
            }
            std::fs::write(&target, bytes)?;
        }
    }
    Ok(())
}
