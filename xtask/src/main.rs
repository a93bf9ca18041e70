//! Set-up and chores, so that a fresh clone needs one command: `cargo xtask try | test | live | bench`. It installs what tests
//! need into `target/tools` and nowhere else (but rust-analyzer, which rustup keeps). It never changes a source file.

#![allow(clippy::print_stdout)] // a command-line tool speaks on stdout

mod bench;
mod count;
mod install;
mod live;
mod local_model;
mod shell;
mod test;

mod try_it;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Copydesk's chores.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Build copydesk and see it fix a file that was never saved, with a real language server.
    Try {
        /// Passed on to `copydesk try` (see `copydesk try --help`).
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Format check, lints, all tests, and the messages and requests of all tests held against the standards.
    Test {
        /// Leave out the tests that need real editors or are slow.
        #[arg(long)]
        fast: bool,
        /// Nothing of all that, but what a small model on this machine fixes, and what is fixed without one. Gets 1.1 GB once.
        #[arg(long, conflicts_with = "fast")]
        local_model: bool,
        /// Run only tests whose names contain this; no format check and no lints.
        filter: Option<String>,
    },
    /// Five small tasks with a real provider, and a table of how they went. Skipped where there is no key, or no Ollama.
    Live {
        /// Whom to ask. `COPYDESK_MODEL` may name the model.
        #[arg(value_enum, ignore_case = true)]
        provider: live::Provider,
    },
    /// Measure, in release.
    Bench {
        /// Run only benches whose names contain this.
        filter: Option<String>,
    },
}

fn main() -> ExitCode {
    let done = match Cli::parse().chore {
        Chore::Try { arguments } => try_it::run(&arguments),
        Chore::Test {
            local_model: true,
            filter,
            ..
        } => local_model::run(filter.as_deref()),
        Chore::Test { fast, filter, .. } => test::run(fast, filter.as_deref()),
        Chore::Live { provider } => live::run(provider),
        Chore::Bench { filter } => bench::run(filter.as_deref()),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("error: {why:#}");
            ExitCode::FAILURE
        }
    }
}
