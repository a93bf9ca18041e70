//! Projects made on the spot, each in a folder of its own that goes away with it. Nothing here is fetched: the real crate is a
//! copy of one that this workspace is built with.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

/// A project in a temporary folder.
#[derive(Debug)]
pub struct Project {
    folder: TempDir,
    root: PathBuf,
}

impl Project {
    /// An empty one.
    pub fn new() -> Self {
        let folder = TempDir::with_prefix("copydesk-test-").expect("a temporary folder");
        // Servers answer with resolved paths, and the temporary folder may be behind a link (macOS).
        let root = folder
            .path()
            .canonicalize()
            .expect("a real path")
            .join("project");
        std::fs::create_dir(&root).expect("a folder");
        Self { folder, root }
    }

    /// One with these files.
    pub fn with(files: &[(&str, &str)]) -> Self {
        let project = Self::new();
        for (name, text) in files {
            project.write(name, text);
        }
        project
    }

    /// A small Rust library whose `src/lib.rs` holds this.
    pub fn rust(lib: &str) -> Self {
        Self::with(&[("Cargo.toml", MANIFEST), ("src/lib.rs", lib)])
    }

    /// A copy of `strsim`, a real crate without dependencies, of the version that is in our own lock file.
    pub fn real_crate() -> Self {
        Self::copied_crate("strsim")
    }

    /// A copy of a crate of our own lock file.
    pub fn copied_crate(name: &str) -> Self {
        let project = Self::new();
        copy(&package(name), &project.root);
        project
    }

    /// Copies a folder into it.
    pub fn copy(&self, from: &Path, to: &str) {
        copy(from, &self.path(to));
    }

    /// Its folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A folder beside it that lives as long.
    pub fn beside(&self, name: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::create_dir_all(&path).expect("a folder");
        path
    }

    /// The path of a file in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Writes a file, its folders too.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        std::fs::write(&path, text).expect("written");
        path
    }

    /// The text of a file.
    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).expect("a text file")
    }
}

impl Default for Project {
    fn default() -> Self {
        Self::new()
    }
}

/// The folder of a package of our own lock file.
fn package(name: &str) -> PathBuf {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args([
            "metadata",
            "--format-version",
            "1",
            "--locked",
            "--manifest-path",
        ])
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"))
        .output()
        .expect("cargo metadata");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    let found = packages
        .iter()
        .find(|package| package["name"] == name)
        .unwrap_or_else(|| panic!("{name} is no longer in Cargo.lock: pick another real crate"));
    let manifest = Path::new(found["manifest_path"].as_str().expect("a path"));
    manifest.parent().expect("a folder").to_owned()
}

/// Copies a folder, writable.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder").flatten() {
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to);
        } else {
            std::fs::write(&to, std::fs::read(entry.path()).expect("read")).expect("written");
        }
    }
}

const MANIFEST: &str = r#"[package]
name = "sample"
version = "0.1.0"
edition = "2021"
"#;

/// A Rust text with one error that rust-analyzer finds by itself, without `cargo check` and so in text that was never
/// saved, and the one quick fix that it offers there.
#[derive(Clone, Copy, Debug)]
pub struct Broken {
    /// rust-analyzer's code of the diagnostic.
    pub code: &'static str,
    /// The first line of its message.
    pub message: &'static str,
    /// The text.
    pub text: &'static str,
    /// The text of the diagnostic's range, its only occurrence.
    pub at: &'static str,
    /// The quick fix's title; `None` if there is no fix.
    pub fix: Option<&'static str>,
    /// What the fix replaces, and by what.
    pub change: (&'static str, &'static str),
}

impl Broken {
    /// The text after the fix.
    pub fn fixed(&self) -> String {
        self.text.replacen(self.change.0, self.change.1, 1)
    }
}

/// Such texts, as measured with rust-analyzer 1.95 in its default settings. No fix is marked as preferred.
pub const BROKEN: [Broken; 7] = [
    Broken {
        code: "E0308",
        message: "expected Result<u32, String>, found u32",
        text: "/// Half of an even number.\npub fn half(number: u32) -> Result<u32, String> {\n    if number % 2 == 1 {\n        return Err(format!(\"{number} is odd\"));\n    }\n    number / 2\n}\n",
        at: "number / 2",
        fix: Some("Wrap in Ok"),
        change: ("number / 2", "Ok(number / 2)"),
    },
    Broken {
        code: "E0384",
        message: "cannot mutate immutable variable `total`",
        text: "pub fn count(words: &[&str]) -> usize {\n    let total = 0;\n    for word in words {\n        total += word.len();\n    }\n    total\n}\n",
        at: "total += word.len()",
        fix: Some("Change it to be mutable"),
        change: ("let total", "let mut total"),
    },
    Broken {
        code: "E0063",
        message: "missing structure fields:",
        text: "pub struct Point {\n    pub x: i32,\n    pub y: i32,\n}\npub fn origin() -> Point {\n    Point { x: 0 }\n}\n",
        at: "Point { x: 0 }",
        fix: Some("Fill struct fields"),
        change: ("{ x: 0 }", "{ x: 0, y: todo!() }"),
    },
    Broken {
        code: "E0004",
        message: "missing match arm: `&Red` not covered",
        text: "pub enum Light {\n    Red,\n    Green,\n}\npub fn may_go(light: &Light) -> bool {\n    match light {\n        Light::Green => true,\n    }\n}\n",
        at: "light {",
        fix: Some("Fill match arms"),
        change: ("true,\n", "true,\n        Light::Red => todo!(),\n"),
    },
    Broken {
        code: "E0133",
        message: "call to unsafe function is unsafe and requires an unsafe function or block",
        text: "unsafe fn raw(a: u8) -> u8 {\n    a\n}\npub fn safe() -> u8 {\n    raw(1)\n}\n",
        at: "raw(1)",
        fix: Some("Add unsafe block"),
        change: ("raw(1)", "unsafe { raw(1) }"),
    },
    Broken {
        code: "E0308",
        message: "expected &String, found String",
        text: "fn length(text: &String) -> usize {\n    text.len()\n}\npub fn twice(words: String) -> usize {\n    length(words) * 2\n}\n",
        at: "words)",
        fix: Some("Add reference here"),
        change: ("(words)", "(&words)"),
    },
    Broken {
        code: "E0308",
        message: "expected f64, found i32",
        text: "pub fn half() -> f64 {\n    1 / 2\n}\n",
        at: "1 / 2",
        fix: None,
        change: ("", ""),
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_real_crate_stands_on_its_own() {
        let project = Project::real_crate();
        let output = Command::new("cargo")
            .args(["metadata", "--offline", "--format-version", "1"])
            .current_dir(project.root())
            .output()
            .expect("cargo");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert!(project.read("src/lib.rs").contains("pub fn levenshtein"));
    }

    #[test]
    fn a_broken_text_says_where_it_is_broken() {
        for broken in BROKEN {
            assert_eq!(
                broken.text.matches(broken.at).count(),
                1,
                "{}",
                broken.message
            );
            assert_eq!(
                broken.fix.is_some(),
                broken.fixed() != broken.text,
                "{}",
                broken.message
            );
        }
    }
}
