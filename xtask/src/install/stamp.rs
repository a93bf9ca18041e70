//! What an installed folder was made of, so that it is made once, and anew only when a pin changes.

use std::path::PathBuf;

use anyhow::{Context, Result};

pub struct Stamp {
    folder: PathBuf,
    wanted: String,
}

impl Stamp {
    /// Of a folder, the version of what runs its programs, and what is to be in it.
    pub fn of(folder: PathBuf, runs_on: Option<String>, pins: &[&str]) -> Self {
        // What is installed can't be moved either.
        let wanted = format!(
            "{}\n{}\n{}",
            folder.display(),
            runs_on.unwrap_or_default(),
            pins.join("\n")
        );
        Self { folder, wanted }
    }

    /// Whether it is to be installed: then nothing is there any more.
    pub fn begin(&self) -> Result<bool> {
        if std::fs::read_to_string(self.file()).is_ok_and(|found| found == self.wanted) {
            return Ok(false);
        }
        println!("installing into {}", self.folder.display());
        if self.folder.exists() {
            std::fs::remove_dir_all(&self.folder)
                .with_context(|| format!("{}", self.folder.display()))?;
        }
        Ok(true)
    }

    /// It is whole.
    pub fn done(&self) -> Result<()> {
        std::fs::write(self.file(), &self.wanted)
            .with_context(|| format!("{}", self.file().display()))
    }

    fn file(&self) -> PathBuf {
        self.folder.join("pins")
    }
}
