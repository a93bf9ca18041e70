//! `cargo xtask try`: the main job, seen with one command from a fresh clone.

use anyhow::Result;

use crate::install;
use crate::shell::{built, cargo, must, passes, program};

/// Installs rust-analyzer if it is missing, builds, and runs `copydesk try`.
pub fn run(arguments: &[String]) -> Result<bool> {
    let other = arguments
        .windows(2)
        .any(|pair| pair[0] == "--language" && pair[1] != "rust");
    if !other {
        install::rust_analyzer()?;
    }
    must(cargo().args(["build", "--package", "copydesk"]))?;
    passes(
        program(built("debug", "copydesk"))
            .arg("try")
            .args(arguments),
    )
}
