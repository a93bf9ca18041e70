//! What only Debian packages: installed into the system, and only there where that is no harm (as root, with apt).

use anyhow::{Context, Result, bail};

use crate::shell::{must, output, program};

/// A program and the packages that bring it.
pub struct Debian {
    pub program: &'static str,
    pub packages: &'static [&'static str],
}

impl Debian {
    /// Sees to it that it is there; `false` if this is not a machine on which it can be installed. Where it can be, it must be.
    pub fn install(&self) -> Result<bool> {
        let there = || {
            let found = output(program("sh").args(["-c", "command -v \"$0\"", self.program]));
            found.is_some_and(|path| !path.trim().is_empty())
        };
        if there() {
            return Ok(true);
        }
        let root = output(program("id").arg("-u")).is_some_and(|id| id.trim() == "0");
        let apt = output(program("apt-get").arg("--version")).is_some();
        if !(root && apt) {
            return Ok(false);
        }
        must(program("apt-get").args(["update", "-qq"]))?;
        let mut install = program("apt-get");
        install
            .args(["install", "-y", "-qq", "--no-install-recommends"])
            .args(self.packages)
            .env("DEBIAN_FRONTEND", "noninteractive");
        must(&mut install)
            .with_context(|| format!("apt could not install {}", self.packages.join(", ")))?;
        if !there() {
            bail!(
                "{} did not bring `{}`",
                self.packages.join(", "),
                self.program
            );
        }
        Ok(true)
    }
}
