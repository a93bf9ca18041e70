//! Python tools, pinned, in virtual environments.

use std::path::PathBuf;

use anyhow::{Context, Result};

use super::stamp::Stamp;
use crate::shell::{self, must, output, program};

/// A virtual environment and what is in it, each at one version.
pub struct Venv {
    pub name: &'static str,
    pub pins: &'static [&'static str],
}

impl Venv {
    fn folder(&self) -> PathBuf {
        shell::tools().join(self.name)
    }

    /// A program in it.
    pub fn program(&self, name: &str) -> PathBuf {
        let bin = if cfg!(windows) { "Scripts" } else { "bin" };
        self.folder()
            .join(bin)
            .join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
    }

    /// Makes it, unless it is there with these very pins.
    pub fn install(&self) -> Result<()> {
        let python = if cfg!(windows) { "python" } else { "python3" };
        // A virtual environment belongs to one Python.
        let version = output(program(python).arg("--version"));
        let stamp = Stamp::of(self.folder(), version, self.pins);
        if !stamp.begin()? {
            return Ok(());
        }
        let venv = must(program(python).args(["-m", "venv"]).arg(self.folder()));
        venv.context(
            "a virtual environment could not be made (Debian: `apt-get install python3-venv`)",
        )?;
        let pip = [
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ];
        let pip = must(program(self.program("python")).args(pip).args(self.pins));
        pip.with_context(|| format!("pip could not install {}", self.pins.join(", ")))?;
        stamp.done()
    }
}
