//! A language server's bare client: it asks and waits, and answers what must be answered. What is measured with it is the server.

use std::{
    io::{BufRead, BufReader, Read, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use anyhow::{Context, bail};
use langserver::ServerConfig;
use serde_json::{Value, json};
use workspace::DocumentUri;

pub struct Plain {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    id: u64,
    quiescent: bool,
    /// What it answers about settings from.
    config: ServerConfig,
}

impl Plain {
    pub fn start(
        program: &Path,
        arguments: &[String],
        root: &Path,
        options: Value,
    ) -> anyhow::Result<Self> {
        let uri = format!("file://{}", root.display());
        let hello = json!({
            "processId": std::process::id(), "rootUri": uri, "workspaceFolders": [{ "uri": uri, "name": "root" }],
            "initializationOptions": options,
            "capabilities": {
                "general": { "positionEncodings": ["utf-8"] },
                "workspace": { "configuration": true, "workspaceFolders": true },
                "window": { "workDoneProgress": true },
                "experimental": { "serverStatusNotification": true },
            },
        });
        Self::saying(program, arguments, root, &hello, ServerConfig::default())
    }

    /// One that says of itself, and answers about settings, what the pool would.
    pub fn introduced(
        program: &Path,
        arguments: &[String],
        root: &Path,
        name: &str,
        config: &ServerConfig,
    ) -> anyhow::Result<Self> {
        let hello = langserver::introduction(name, config, root);
        Self::saying(program, arguments, root, &hello, config.clone())
    }

    fn saying(
        program: &Path,
        arguments: &[String],
        root: &Path,
        hello: &Value,
        config: ServerConfig,
    ) -> anyhow::Result<Self> {
        let mut child = Command::new(program)
            .args(arguments)
            .current_dir(root)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let input = child.stdin.take().context("no stdin")?;
        let output = BufReader::new(child.stdout.take().context("no stdout")?);
        let mut plain = Self {
            child,
            input,
            output,
            id: 0,
            quiescent: false,
            config,
        };
        plain.request("initialize", hello)?;
        plain.notify("initialized", &json!({}))?;
        Ok(plain)
    }

    pub fn open(&mut self, uri: &DocumentUri, language: &str, text: &str) -> anyhow::Result<()> {
        self.notify(
            "textDocument/didOpen",
            &json!({ "textDocument": { "uri": uri.as_str(), "languageId": language, "version": 1, "text": text } }),
        )
    }

    /// Reads until it says that it knows everything.
    pub fn until_quiescent(&mut self) -> anyhow::Result<()> {
        while !self.quiescent {
            self.read()?;
        }
        Ok(())
    }

    /// Asks, again for as long as it says that it was overtaken.
    pub fn request(&mut self, method: &str, params: &Value) -> anyhow::Result<Value> {
        loop {
            self.id += 1;
            let id = self.id;
            self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
            loop {
                let message = self.read()?;
                if message["id"] != id || message["method"].is_string() {
                    continue;
                }
                if message["error"]["code"] == -32801 {
                    break;
                }
                if !message["error"].is_null() {
                    bail!("{method}: {}", message["error"]);
                }
                return Ok(message["result"].clone());
            }
        }
    }

    fn notify(&mut self, method: &str, params: &Value) -> anyhow::Result<()> {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }))
    }

    fn send(&mut self, message: &Value) -> anyhow::Result<()> {
        let body = message.to_string();
        // In one piece: a server that is woken by the half of it has to be woken again.
        let message = format!("Content-Length: {}\r\n\r\n{body}", body.len());
        self.input.write_all(message.as_bytes())?;
        Ok(self.input.flush()?)
    }

    /// The next message; what it asks is answered.
    fn read(&mut self) -> anyhow::Result<Value> {
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
        let message: Value = serde_json::from_slice(&body)?;
        if message["method"] == "experimental/serverStatus" {
            self.quiescent = message["params"]["quiescent"] == true;
        }
        if message["method"].is_string() && !message["id"].is_null() {
            let section = |item: &Value| {
                let name = item["section"].as_str().unwrap_or_default();
                self.config.section(name)
            };
            let items = message["params"]["items"].as_array();
            let items = items.map(|items| items.iter().map(section).collect());
            let result = items.map_or(Value::Null, Value::Array);
            self.send(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }))?;
        }
        Ok(message)
    }
}

impl Drop for Plain {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
