//! A client of MCP over stdio, as small as can be: one call at a time.

use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use anyhow::{Context, bail};
use serde_json::{Value, json};

pub struct Mcp {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    id: u64,
}

impl Mcp {
    pub fn start(program: &Path, arguments: &[String], folder: &Path) -> anyhow::Result<Self> {
        let mut child = Command::new(program)
            .args(arguments)
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("{}", program.display()))?;
        let input = child.stdin.take().context("no stdin")?;
        let output = BufReader::new(child.stdout.take().context("no stdout")?);
        let mut mcp = Self {
            child,
            input,
            output,
            id: 0,
        };
        let hello = json!({
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "bench", "version": "1" }
        });
        mcp.request("initialize", &hello)?;
        mcp.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(mcp)
    }

    /// What a tool answers: its text.
    pub fn call(&mut self, tool: &str, arguments: &Value) -> anyhow::Result<String> {
        let call = json!({ "name": tool, "arguments": arguments });
        let result = self.request("tools/call", &call)?;
        let content = result["content"].as_array().cloned().unwrap_or_default();
        let texts = content.iter().filter_map(|one| one["text"].as_str());
        Ok(texts.collect::<Vec<_>>().join("\n"))
    }

    fn request(&mut self, method: &str, params: &Value) -> anyhow::Result<Value> {
        self.id += 1;
        let id = self.id;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        loop {
            let mut line = String::new();
            if self.output.read_line(&mut line)? == 0 {
                bail!("the MCP server has gone");
            }
            let Ok(message) = serde_json::from_str::<Value>(&line) else {
                continue;
            };
            if message["method"].is_string() && !message["id"].is_null() {
                self.send(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": {} }))?;
            } else if message["id"] == id {
                if message["result"].is_null() {
                    bail!("{method}: {}", message["error"]);
                }
                return Ok(message["result"].clone());
            }
        }
    }

    fn send(&mut self, message: &Value) -> anyhow::Result<()> {
        writeln!(self.input, "{message}")?;
        Ok(self.input.flush()?)
    }
}

impl Drop for Mcp {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
