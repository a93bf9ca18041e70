//! `copydesk doctor`: what is there, what is missing, and the one thing to do about it. It changes nothing and installs
//! nothing.

mod report;
mod text;

use std::{path::PathBuf, process::ExitCode};

use crate::terminal::workspace_folder;

use report::Report;

/// Looks at everything from a folder and prints what there is.
pub async fn run(dir: Option<PathBuf>, start: bool, json: bool) -> anyhow::Result<ExitCode> {
    let folder = workspace_folder(dir)?;
    let report = Report::of(folder, start).await;
    let shown = if json {
        serde_json::to_string_pretty(&report)? + "\n"
    } else {
        report.to_string()
    };
    // Whoever stops reading has seen enough.
    let _ = std::io::Write::write_all(&mut std::io::stdout(), shown.as_bytes());
    Ok(if report.ok {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
