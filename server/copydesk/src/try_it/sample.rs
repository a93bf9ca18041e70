//! The sample projects of `copydesk try`.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::cli::Language;

/// One project, with one file that is changed in the editor and not saved.
pub struct Sample {
    /// The language server's name in the catalogue.
    pub server: &'static str,
    pub language_id: &'static str,
    /// All files, as they stand on disk.
    files: &'static [(&'static str, &'static str)],
    /// The file that is opened.
    pub file: &'static str,
    /// Its text on disk.
    pub saved: &'static str,
    /// Its text in the editor.
    pub unsaved: &'static str,
    /// The line with the problem, from 0.
    pub line: u32,
}

/// The sample of a language.
pub fn of(language: Language) -> Sample {
    match language {
        Language::Rust => Sample {
            server: "rust-analyzer",
            language_id: "rust",
            files: &[("Cargo.toml", RUST_MANIFEST), ("src/lib.rs", RUST_SAVED)],
            file: "src/lib.rs",
            saved: RUST_SAVED,
            unsaved: RUST_UNSAVED,
            line: 8,
        },
    }
}

const RUST_MANIFEST: &str = r#"[package]
name = "sample"
version = "0.1.0"
edition = "2024"
"#;

const RUST_SAVED: &str = "//! Scores of a game.
";

const RUST_UNSAVED: &str = "//! Scores of a game.

/// The best score, if there is any.
pub fn best(scores: &[u32]) -> Option<u32> {
    let mut best = *scores.first()?;
    for score in scores {
        best = best.max(*score);
    }
    best
}
";

/// The project's folder; it goes when this is dropped.
pub struct Folder(PathBuf);

impl Folder {
    /// Writes the sample into a new folder.
    pub fn make(sample: &Sample) -> anyhow::Result<Folder> {
        let base = std::env::temp_dir()
            .canonicalize()
            .context("the temporary folder can't be read")?;
        let path = base.join(format!("copydesk-try-{}", std::process::id()));
        // One that is there already is not ours, and would go with us.
        std::fs::create_dir(&path).with_context(|| format!("{} can't be made", path.display()))?;
        let folder = Folder(path);
        for (name, text) in sample.files {
            let path = folder.0.join(name);
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent)
                    .with_context(|| format!("{} can't be made", parent.display()))?;
            }
            std::fs::write(&path, text)
                .with_context(|| format!("{} can't be written", path.display()))?;
        }
        Ok(folder)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
