//! The binary: reads the command line and the configuration, puts the rooms together and opens a
//! door. Nothing is decided here.

mod cli;
mod config;
mod doctor;
mod keyring;
mod login;
mod place;
mod rooms;
mod serve;
mod terminal;
mod try_it;

use std::{io::IsTerminal as _, process::ExitCode};

use clap::Parser;
use tracing_subscriber::EnvFilter;

use cli::{Cli, Command};

fn main() -> ExitCode {
    let cli = Cli::parse();
    // The supervisor must stay tiny: no runtime, no log.
    if let Some(Command::Supervise) = cli.command {
        langserver::process::supervise();
        return ExitCode::SUCCESS;
    }
    log();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return fail(&anyhow::anyhow!("the runtime can't be started: {error}")),
    };
    let result = runtime.block_on(act(cli.command));
    // A read of stdin can't be interrupted; the process may end all the same.
    runtime.shutdown_background();
    result.unwrap_or_else(|error| fail(&error))
}

async fn act(command: Option<Command>) -> anyhow::Result<ExitCode> {
    match command {
        None | Some(Command::Serve { .. }) => {
            if std::io::stdin().is_terminal() {
                eprintln!(
                    "copydesk: a language server, waiting for an editor on stdin; `copydesk --help` has the rest"
                );
            }
            Ok(serve::serve().await)
        }
        Some(Command::Try { language, model }) => try_it::run(language, &model).await,
        Some(Command::Run {
            prompt,
            file,
            options,
        }) => terminal::run(prompt, file, options).await,
        Some(Command::Fix { file, options }) => terminal::fix(file, options).await,
        Some(Command::Doctor { start, json, dir }) => doctor::run(dir, start, json).await,
        Some(Command::Login { provider }) => login::login(provider).await,
        Some(Command::Logout { provider }) => login::logout(provider).await,
        Some(Command::Supervise) => Ok(ExitCode::SUCCESS),
    }
}

fn fail(error: &anyhow::Error) -> ExitCode {
    eprintln!("copydesk: {error:#}");
    match error.downcast_ref::<terminal::Usage>() {
        Some(_) => ExitCode::from(2),
        None => ExitCode::FAILURE,
    }
}

/// stdout belongs to the protocol: logs go to stderr.
fn log() {
    let filter = EnvFilter::try_from_env("COPYDESK_LOG").unwrap_or_else(|_| EnvFilter::new("warn"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .init();
}
