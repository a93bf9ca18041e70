//! A small model on this machine: llama.cpp's server as a child that ends with the trial, whatever ends that. It is started when the
//! first trial needs it, and serves one at a time.

use std::path::Path;
use std::process::Stdio;

use langserver::process::{self, Process};
use tests::client;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::Command;

/// A Python that has the server, and the model's file: `cargo xtask test --local-model` gets both.
const PYTHON: &str = "COPYDESK_TEST_LLAMA_PYTHON";
const MODEL: &str = "COPYDESK_TEST_LLAMA_MODEL";

/// What the model is called.
pub const NAME: &str = "qwen2.5-coder-1.5b";

/// The tokens that it may see at once, as `serve.py` starts it.
pub const CONTEXT: u32 = 16384;

/// The server. Dropping it ends it.
pub struct Llama {
    /// Where it is, without a path.
    pub url: String,
    _process: Process,
}

impl Llama {
    /// Starts it, and waits until it has read its model.
    pub async fn start() -> anyhow::Result<Self> {
        let given = |name: &str| {
            std::env::var_os(name)
                .ok_or_else(|| anyhow::anyhow!("run `cargo xtask test --local-model`: no {name}"))
        };
        process::supervise_with(client::binary(), ["__supervise".into()]);
        let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("local");
        let mut command = Command::new(given(PYTHON)?);
        command
            .arg(ours.join("serve.py"))
            .arg(given(MODEL)?)
            .arg(ours.join("template.jinja"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut process = process::spawn(command)?;
        let output =
            |child: &mut tokio::process::Child| child.stdout.take().zip(child.stderr.take());
        let (stdout, mut stderr) = output(&mut process.child)
            .ok_or_else(|| anyhow::anyhow!("the server has no output"))?;
        let log = tokio::spawn(async move {
            let mut text = String::new();
            // What could be read of it is what there is.
            let _ = stderr.read_to_string(&mut text).await;
            text
        });
        let mut lines = BufReader::new(stdout).lines();
        let Some(url) = lines.next_line().await? else {
            let log = log.await?;
            anyhow::bail!("llama.cpp's server does not start: {}", log.trim());
        };
        Ok(Self {
            url,
            _process: process,
        })
    }
}
