//! The command line: what can be typed, and help that teaches it.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// A coding agent that is a language server.
///
/// Without a command it is the language server over stdio: let your editor start it
/// (README.md has the configuration). Try it first with `copydesk try`, which needs no key and no
/// network.
#[derive(Debug, Parser)]
#[command(name = "copydesk", version, after_help = AFTER)]
pub struct Cli {
    /// What to do; without one: serve.
    #[command(subcommand)]
    pub command: Option<Command>,

    /// The same as `serve`; many editors pass it.
    #[arg(long, hide = true)]
    pub stdio: bool,
}

const AFTER: &str = "\
Environment:
  ANTHROPIC_API_KEY, OPENAI_API_KEY, OPENROUTER_API_KEY   keys of models
  ANTHROPIC_BASE_URL, OPENAI_BASE_URL   where their APIs are: the first without /v1, the second with it
  COPYDESK_MODEL       provider/model, over every configuration file
  COPYDESK_LOG         what to log to stderr, e.g. info or copydesk=debug,langserver=trace
  COPYDESK_CONFIG_DIR  where config.toml is looked for
  COPYDESK_STATE_DIR   where is noted who has a key in the system's keyring

Without a key the model is builtin/quickfix: it applies the language servers' own quick fixes.

Examples:
  copydesk try
  copydesk doctor
  copydesk fix src/main.rs:12
  copydesk run --prompt 'What does parse() return for an empty line?' --read-only";

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// The language server over stdin and stdout, for editors. Logs go to stderr.
    Serve {
        /// Accepted because many editors pass it; stdio is all there is.
        #[arg(long)]
        stdio: bool,
    },
    /// Shows the main job on a sample project made on the spot: a file that was never saved, a
    /// diagnostic, "Fix with agent", the diff. Needs a language server; no key, no network.
    Try {
        /// The sample's language.
        #[arg(long, value_enum, default_value_t = Language::Rust)]
        language: Language,
        /// Which model, as provider/model.
        #[arg(long, default_value = "builtin/quickfix")]
        model: String,
    },
    /// One run on the files of a folder, without an editor.
    ///
    /// Exits with 0 when done, 1 when it failed, 2 for wrong usage, 3 when it changed nothing and a change that it tried was
    /// denied, as `--read-only` does, 130 when cancelled.
    Run {
        /// What to do; `-` or nothing reads it from stdin.
        #[arg(long, value_name = "TEXT")]
        prompt: Option<String>,
        /// What it is about: FILE, FILE:LINE or FILE:LINE:COLUMN, counted from 1.
        #[arg(long, value_name = "FILE[:LINE[:COLUMN]]")]
        file: Option<String>,
        #[command(flatten)]
        options: RunOptions,
    },
    /// Fixes the problems that language servers find in a file, or at one place in it.
    ///
    /// Exits with 0 when all of them are gone, 4 when some are left (or nobody could tell in time), 3 when none was fixed and
    /// something was denied, as `--read-only` does, 1 when none was fixed, with `--read-only` too; else as `run`.
    Fix {
        /// FILE, FILE:LINE or FILE:LINE:COLUMN, counted from 1; the file as seen from --dir, else from here.
        #[arg(value_name = "FILE[:LINE[:COLUMN]]")]
        file: String,
        #[command(flatten)]
        options: RunOptions,
    },
    /// Tells what is there and what is missing: configuration files, models and their keys, language
    /// servers, and what installs those that are not there.
    ///
    /// Exits with 0 if all that this folder needs is there, else with 1.
    Doctor {
        /// Starts each language server that this folder needs and is installed, to tell whether it starts. They are ended
        /// at once.
        #[arg(long)]
        start: bool,
        /// All of it as JSON (docs/doctor.md tells its shape).
        #[arg(long)]
        json: bool,
        /// The workspace folder; the current folder if left out.
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
    /// Puts a provider's key into the system's keyring: the Keychain, the Credential Manager, or a desktop's Secret Service.
    ///
    /// The key is typed unseen, or read from stdin if something is piped in: `pass show openai | copydesk login openai`. A key
    /// in the environment or from api_key_command comes before it.
    Login {
        /// Whose key, e.g. anthropic, openai, or a provider of the configuration.
        provider: String,
    },
    /// Takes a provider's key out of the system's keyring.
    Logout {
        /// Whose key.
        provider: String,
    },
    /// Ends the language servers of a copydesk that was killed. Started by copydesk itself.
    #[command(name = "__supervise", hide = true)]
    Supervise,
}

/// What `run` and `fix` share.
#[derive(Debug, Args)]
pub struct RunOptions {
    /// Which model, as provider/model.
    #[arg(long)]
    pub model: Option<String>,
    /// Events as JSON, one a line, and nothing else on stdout.
    #[arg(long)]
    pub json: bool,
    /// Only look; change nothing.
    #[arg(long)]
    pub read_only: bool,
    /// What it may cost, in USD; it stops before a step that would take it past that.
    #[arg(long, value_name = "USD", value_parser = cost)]
    pub max_cost: Option<f64>,
    /// The workspace folder; the current folder if left out.
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

fn cost(text: &str) -> Result<f64, String> {
    let cost: f64 = text
        .parse()
        .map_err(|_| "it must be a number, e.g. 0.50".to_owned())?;
    match cost.is_finite() && cost > 0.0 {
        true => Ok(cost),
        false => Err("it must be more than nothing".to_owned()),
    }
}

/// The languages that `try` has a sample for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Language {
    /// With rust-analyzer.
    Rust,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }
}
