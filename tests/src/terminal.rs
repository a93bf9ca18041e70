//! Copydesk as one starts it from a shell: a run with `--json`, its events read to the end, and what came of it. It judges nothing.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::Command;

use crate::client;

/// What came of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// As its last event tells it; what went wrong, if there was none.
    pub status: String,
    /// The model's last words, or why it failed.
    pub message: String,
    /// From start to end of the process.
    pub time: Duration,
    /// How often a tool was called.
    pub calls: usize,
    /// Tokens that the model was given, from a cache or not.
    pub input: u64,
    /// Tokens that the model wrote.
    pub output: u64,
    /// In USD, if the prices are known.
    pub cost: Option<f64>,
}

impl Run {
    /// What a `finished` event tells, wherever it came from.
    pub fn of_finished(event: &Value) -> Self {
        let mut run = Self::default();
        run.see(event);
        run
    }

    fn see(&mut self, event: &Value) {
        match event["type"].as_str() {
            Some("tool_call") => self.calls += 1,
            Some("usage") => self.spent(event),
            Some("finished") => {
                self.spent(&event["usage"]);
                let text = |key: &str| event[key].as_str().unwrap_or_default().to_owned();
                (self.status, self.message) = (text("status"), text("message"));
            }
            _ => {}
        }
    }

    fn spent(&mut self, usage: &Value) {
        let count = |key: &str| usage[key].as_u64().unwrap_or(0);
        self.input = count("input") + count("cacheRead") + count("cacheWrite");
        self.output = count("output");
        self.cost = usage["cost"].as_f64();
    }
}

/// The binary under test in a folder, with a configuration folder of its own and nothing of the person's settings and keys.
pub fn copydesk(root: &Path, config: &Path) -> Command {
    let mut command = Command::new(client::binary());
    for name in client::CLEARED {
        command.env_remove(name);
    }
    command
        .current_dir(root)
        .env("COPYDESK_CONFIG_DIR", config)
        .env("COPYDESK_STATE_DIR", config.join("state"));
    command
}

/// Runs it with these arguments and `--json`, and ends it when the time is up.
pub async fn run(
    mut command: Command,
    arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
    limit: Duration,
) -> std::io::Result<Run> {
    let begun = Instant::now();
    let mut child = command
        .args(arguments)
        .arg("--json")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let mut run = Run::default();
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (Some(stdout), Some(mut stderr)) = (stdout, stderr) else {
        return Err(std::io::Error::other("no output"));
    };
    let complaints = tokio::spawn(async move {
        let mut text = Vec::new();
        // What could be read of it is what there is.
        let _ = stderr.read_to_end(&mut text).await;
        String::from_utf8_lossy(&text).trim().to_owned()
    });
    let mut lines = BufReader::new(stdout).lines();
    let events = async {
        while let Some(line) = lines.next_line().await? {
            run.see(&serde_json::from_str(&line)?);
        }
        child.wait().await
    };
    let ended = tokio::time::timeout(limit, events).await;
    run.time = begun.elapsed();
    if let Ok(status) = ended {
        let status = status?;
        if run.status.is_empty() {
            run.status = format!("ended with {status}");
            run.message = complaints.await.unwrap_or_default();
        }
    } else {
        child.kill().await?;
        "out of time".clone_into(&mut run.status);
    }
    Ok(run)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_run_is_what_its_events_tell() {
        let mut run = Run::default();
        for event in [
            json!({ "type": "started" }),
            json!({ "type": "usage", "input": 5, "output": 1, "cacheRead": 0, "cacheWrite": 0, "cost": 0.1 }),
            json!({ "type": "tool_call", "name": "lsp" }),
            json!({ "type": "finished", "status": "done", "message": "Done.",
                "usage": { "input": 9, "output": 2, "cacheRead": 20, "cacheWrite": 1, "cost": null } }),
        ] {
            run.see(&event);
        }
        let told = Run {
            status: "done".to_owned(),
            message: "Done.".to_owned(),
            calls: 1,
            input: 30,
            output: 2,
            ..Run::default()
        };
        assert_eq!(run, told);
    }
}
