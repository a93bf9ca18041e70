//! A bare client for benches: as little between the clock and the server as can be. It checks
//! nothing; the strict client of the tests does that.

use std::{
    io::{BufRead, BufReader, Read, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, bail};
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(60);

pub struct Wire {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    next_id: u64,
    events: Vec<Value>,
}

impl Wire {
    pub fn spawn(root: &Path) -> anyhow::Result<Wire> {
        let binary = match std::env::var_os("COPYDESK_BIN") {
            Some(named) => PathBuf::from(named),
            None => beside("copydesk")?,
        };
        let mut child = Command::new(&binary)
            .arg("serve")
            .env("COPYDESK_CONFIG_DIR", root.join("no-config"))
            .env_remove("COPYDESK_MODEL")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("{} can't be started", binary.display()))?;
        let input = child.stdin.take();
        let output = BufReader::with_capacity(1 << 16, child.stdout.take().context("no stdout")?);
        Ok(Wire {
            child,
            input,
            output,
            next_id: 0,
            events: Vec::new(),
        })
    }

    pub fn initialize(&mut self, root: &Path, options: Value) -> anyhow::Result<()> {
        self.request(
            "initialize",
            json!({
                "processId": null,
                "rootUri": format!("file://{}", root.display()),
                "initializationOptions": options,
                "capabilities": {
                    "general": { "positionEncodings": ["utf-8"] },
                    "textDocument": { "codeAction": { "codeActionLiteralSupport": {
                        "codeActionKind": { "valueSet": [] },
                    } } },
                },
            }),
        )?;
        self.notify("initialized", json!({}))
    }

    pub fn open(&mut self, uri: &str, language: &str, text: &str) -> anyhow::Result<()> {
        self.notify(
            "textDocument/didOpen",
            json!({ "textDocument": {
            "uri": uri, "languageId": language, "version": 1, "text": text,
        } }),
        )
    }

    pub fn command(&mut self, command: &str, argument: Value) -> anyhow::Result<Value> {
        self.request(
            "workspace/executeCommand",
            json!({ "command": command, "arguments": [argument] }),
        )
    }

    pub fn ask(&mut self, prompt: &str, uri: &str) -> anyhow::Result<String> {
        self.events.clear();
        let answer = self.command("copydesk.ask", json!({ "prompt": prompt, "uri": uri }))?;
        Ok(answer["session"].as_str().context("no session")?.to_owned())
    }

    /// Returns when everything that was sent before has been acted on.
    pub fn settle(&mut self) -> anyhow::Result<Value> {
        self.request(
            "workspace/executeCommand",
            json!({ "command": "copydesk.status", "arguments": [] }),
        )
    }

    pub fn until_server_is(&mut self, name: &str, state: &str) -> anyhow::Result<()> {
        let begun = Instant::now();
        loop {
            let status = self.settle()?;
            let servers = status["languageServers"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            let is = |one: &Value| one["name"] == json!(name) && one["state"] == json!(state);
            if servers.iter().any(is) {
                return Ok(());
            }
            if begun.elapsed() > PATIENCE {
                bail!("{name} never was {state}: {status}");
            }
            thread::yield_now();
        }
    }

    pub fn until_event(&mut self, session: &str, kind: &str) -> anyhow::Result<Value> {
        let wanted =
            |event: &Value| event["session"] == json!(session) && event["type"] == json!(kind);
        loop {
            if let Some(at) = self.events.iter().position(wanted) {
                let event = self.events[at].clone();
                self.events.clear();
                return Ok(event);
            }
            let message = self.receive()?;
            self.attend(&message)?;
        }
    }

    pub fn request(&mut self, method: &str, params: Value) -> anyhow::Result<Value> {
        self.next_id += 1;
        let id = json!(self.next_id);
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        loop {
            let message = self.receive()?;
            if message["id"] == id && message.get("method").is_none() {
                if let Some(error) = message.get("error") {
                    bail!("{method}: {error}");
                }
                return Ok(message["result"].clone());
            }
            self.attend(&message)?;
        }
    }

    /// Sends from a thread of its own, so that full pipes on both sides can't lock.
    pub fn send_raw(&mut self, bytes: Vec<u8>) -> anyhow::Result<()> {
        let mut input = self.input.take().context("stdin is closed")?;
        let writer = thread::spawn(move || input.write_all(&bytes).map(|()| input));
        self.input = Some(
            writer
                .join()
                .map_err(|_| anyhow::anyhow!("the writer panicked"))??,
        );
        Ok(())
    }

    /// Resident memory, in bytes.
    pub fn resident(&self) -> anyhow::Result<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status
            .lines()
            .find(|line| line.starts_with("VmRSS:"))
            .context("no VmRSS")?;
        let kilobytes: f64 = line
            .split_whitespace()
            .nth(1)
            .context("no number")?
            .parse()?;
        Ok(kilobytes * 1024.0)
    }

    pub fn stop(mut self) -> anyhow::Result<()> {
        self.next_id += 1;
        let id = json!(self.next_id);
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": "shutdown" }))?;
        loop {
            let message = self.receive()?;
            if message["id"] == id && message.get("method").is_none() {
                break;
            }
            self.attend(&message)?;
        }
        self.send(&json!({ "jsonrpc": "2.0", "method": "exit" }))?;
        let status = self.child.wait()?;
        if !status.success() {
            bail!("the server ended with {status}");
        }
        Ok(())
    }

    fn notify(&mut self, method: &str, params: Value) -> anyhow::Result<()> {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }))
    }

    fn send(&mut self, message: &Value) -> anyhow::Result<()> {
        let input = self.input.as_mut().context("stdin is closed")?;
        Ok(input.write_all(&frame(message))?)
    }

    fn attend(&mut self, message: &Value) -> anyhow::Result<()> {
        match (message["method"].as_str(), message.get("id")) {
            (Some("copydesk/event"), _) => self.events.push(message["params"].clone()),
            (Some(_), Some(id)) => {
                self.send(&json!({ "jsonrpc": "2.0", "id": id, "result": null }))?;
            }
            _ => {}
        }
        Ok(())
    }

    fn receive(&mut self) -> anyhow::Result<Value> {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if self.output.read_line(&mut line)? == 0 {
                bail!("the server has gone");
            }
            let line = line.trim();
            if line.is_empty() {
                break;
            }
            if let Some(number) = line.strip_prefix("Content-Length:") {
                length = number.trim().parse()?;
            }
        }
        let mut body = vec![0; length];
        self.output.read_exact(&mut body)?;
        Ok(serde_json::from_slice(&body)?)
    }
}

pub fn frame(message: &Value) -> Vec<u8> {
    let body = message.to_string();
    format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// A program that cargo built beside this one.
pub fn beside(name: &str) -> anyhow::Result<PathBuf> {
    let me = std::env::current_exe()?;
    let folders = me.ancestors().skip(1).take(2);
    let found = folders
        .map(|folder| folder.join(name))
        .find(|path| path.exists());
    found.with_context(|| format!("{name} was not built beside {}", me.display()))
}
