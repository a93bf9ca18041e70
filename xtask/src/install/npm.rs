//! Node tools, pinned, in folders of their own.

use std::path::PathBuf;

use anyhow::{Context, Result};

use super::stamp::Stamp;
use crate::shell::{self, must, output, program};

/// A folder with a `node_modules`, and what is in it, each at one version.
pub struct Npm {
    pub name: &'static str,
    pub pins: &'static [&'static str],
}

impl Npm {
    fn folder(&self) -> PathBuf {
        shell::tools().join(self.name)
    }

    /// Makes it, unless it is there with these very pins. No package's own script is run.
    pub fn install(&self) -> Result<()> {
        let npm = if cfg!(windows) { "npm.cmd" } else { "npm" };
        let version = output(program("node").arg("--version"));
        let stamp = Stamp::of(self.folder(), version, self.pins);
        if !stamp.begin()? {
            return Ok(());
        }
        std::fs::create_dir_all(self.folder())?;
        // Without one npm takes the next folder above that has one for its own.
        std::fs::write(
            self.folder().join("package.json"),
            "{ \"private\": true }\n",
        )?;
        let quiet = [
            "install",
            "--no-audit",
            "--no-fund",
            "--ignore-scripts",
            "--loglevel=error",
        ];
        let install = must(
            program(npm)
                .args(quiet)
                .args(self.pins)
                .current_dir(self.folder()),
        );
        install.with_context(|| format!("npm could not install {}", self.pins.join(", ")))?;
        stamp.done()
    }
}
