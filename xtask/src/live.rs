//! `cargo xtask live`: a few cents spent on seeing whether a real provider is understood.

use anyhow::Result;
use clap::ValueEnum;

use crate::install;
use crate::shell::{built, cargo, must, passes, program};

/// Who can be asked.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Provider {
    /// By `ANTHROPIC_API_KEY`.
    Anthropic,
    /// By `OPENAI_API_KEY`.
    Openai,
    /// On this machine.
    Ollama,
}

/// Runs the tasks; whether all of them were done, or none could be.
pub fn run(provider: Provider) -> Result<bool> {
    let name = provider.to_possible_value();
    let name = name.as_ref().map_or("", |value| value.get_name());
    install::rust_analyzer()?;
    let build = [
        "build",
        "--quiet",
        "--package",
        "copydesk",
        "--package",
        "tests",
        "--bins",
    ];
    must(cargo().args(build))?;
    passes(
        program(built("debug", "live"))
            .arg(name)
            .env("COPYDESK_BIN", built("debug", "copydesk")),
    )
}
