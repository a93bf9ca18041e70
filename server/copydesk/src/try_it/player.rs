//! The small editor: one open document, full-text changes, and whatever the server asks answered as
//! an editor would.

use std::{collections::VecDeque, path::Path};

use anyhow::{Context as _, bail};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream},
    task::JoinHandle,
};
use workspace::{DocumentUri, Encoding, Position, Range, Text};

use crate::serve::Rooms;

pub struct Player {
    from: BufReader<DuplexStream>,
    to: DuplexStream,
    server: JoinHandle<i32>,
    next_id: u64,
    events: VecDeque<Value>,
    uri: String,
    version: i32,
    text: Text,
}

impl Player {
    /// Starts the door in this process and initializes it.
    pub async fn start(root: &Path, options: Value) -> anyhow::Result<Player> {
        const BUFFER: usize = 1 << 16;
        let (to, input) = tokio::io::duplex(BUFFER);
        let (output, from) = tokio::io::duplex(BUFFER);
        let server = tokio::spawn(editor::serve(input, output, std::sync::Arc::new(Rooms)));
        let root = DocumentUri::from_path(root)?;
        let mut player = Player {
            from: BufReader::new(from),
            to,
            server,
            next_id: 0,
            events: VecDeque::new(),
            uri: String::new(),
            version: 0,
            text: Text::new(""),
        };
        let params = json!({
            "processId": null,
            "rootUri": root.as_str(),
            "workspaceFolders": [{ "uri": root.as_str(), "name": "sample" }],
            "initializationOptions": options,
            "capabilities": {
                "general": { "positionEncodings": ["utf-8"] },
                "workspace": { "applyEdit": true, "workspaceEdit": { "documentChanges": true } },
                "textDocument": { "codeAction": { "codeActionLiteralSupport": {
                    "codeActionKind": { "valueSet": ["quickfix", "refactor.rewrite"] },
                } } },
            },
        });
        player.request("initialize", params).await?;
        player.notify("initialized", json!({})).await?;
        Ok(player)
    }

    /// Opens the document with a text that the disk does not have.
    pub async fn open(&mut self, path: &Path, language: &str, text: &str) -> anyhow::Result<()> {
        DocumentUri::from_path(path)?
            .as_str()
            .clone_into(&mut self.uri);
        self.version = 1;
        self.text = Text::new(text);
        let document = json!({
            "uri": self.uri, "languageId": language, "version": self.version, "text": text,
        });
        self.notify("textDocument/didOpen", json!({ "textDocument": document }))
            .await
    }

    pub fn text(&self) -> &Text {
        &self.text
    }

    /// The code actions of a line.
    pub async fn actions(&mut self, line: u32) -> anyhow::Result<Vec<Value>> {
        let end = self.text.line(line as usize).map_or(0, |line| line.len());
        let params = json!({
            "textDocument": { "uri": self.uri },
            "range": {
                "start": { "line": line, "character": 0 },
                "end": { "line": line, "character": end },
            },
            "context": { "diagnostics": [], "triggerKind": 1 },
        });
        let answer = self.request("textDocument/codeAction", params).await?;
        Ok(answer.as_array().cloned().unwrap_or_default())
    }

    /// Runs an action's command and waits until the run has finished.
    pub async fn execute(
        &mut self,
        command: &Value,
        mut step: impl FnMut(&Value),
    ) -> anyhow::Result<Value> {
        let params = json!({ "command": command["command"], "arguments": command["arguments"] });
        let started = self.request("workspace/executeCommand", params).await?;
        let session = started["session"].clone();
        loop {
            while let Some(event) = self.events.pop_front() {
                if event["session"] == session {
                    step(&event);
                    if event["type"] == json!("finished") {
                        return Ok(event);
                    }
                }
            }
            let message = self.receive().await?;
            self.attend(message).await?;
        }
    }

    /// Why a language server will never answer, if that is so.
    pub async fn trouble(&mut self, server: &str) -> anyhow::Result<Option<String>> {
        let params = json!({ "command": "copydesk.status", "arguments": [] });
        let status = self.request("workspace/executeCommand", params).await?;
        let servers = status["languageServers"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let dead = servers
            .iter()
            .find(|one| one["name"] == json!(server))
            .and_then(|one| {
                let state = one["state"].as_str().unwrap_or_default();
                state
                    .starts_with("failed")
                    .then(|| format!("{server}: {state}"))
            });
        Ok(dead)
    }

    /// Ends the door as an editor does.
    pub async fn stop(mut self) -> anyhow::Result<()> {
        self.request("shutdown", Value::Null).await?;
        self.notify("exit", Value::Null).await?;
        match self.server.await? {
            0 => Ok(()),
            code => bail!("the server ended with code {code}"),
        }
    }

    async fn request(&mut self, method: &str, params: Value) -> anyhow::Result<Value> {
        self.next_id += 1;
        let id = json!(self.next_id);
        self.send(message(Some(&id), method, params)).await?;
        loop {
            let message = self.receive().await?;
            if message["id"] == id && message.get("method").is_none() {
                if let Some(error) = message.get("error") {
                    bail!(
                        "{method}: {}",
                        error["message"].as_str().unwrap_or("failed")
                    );
                }
                return Ok(message["result"].clone());
            }
            self.attend(message).await?;
        }
    }

    async fn notify(&mut self, method: &str, params: Value) -> anyhow::Result<()> {
        self.send(message(None, method, params)).await
    }

    /// Does what the server asks.
    async fn attend(&mut self, message: Value) -> anyhow::Result<()> {
        let method = message["method"].as_str().unwrap_or_default().to_owned();
        match (method.as_str(), message.get("id")) {
            ("copydesk/event", _) => self.events.push_back(message["params"].clone()),
            ("workspace/applyEdit", Some(id)) => {
                let applied = self.apply(&message["params"]["edit"])?;
                let result = json!({ "applied": applied });
                self.send(json!({ "jsonrpc": "2.0", "id": id, "result": result }))
                    .await?;
                if applied {
                    self.version += 1;
                    let params = json!({
                        "textDocument": { "uri": self.uri, "version": self.version },
                        "contentChanges": [{ "text": self.text.to_string() }],
                    });
                    self.notify("textDocument/didChange", params).await?;
                }
            }
            (_, Some(id)) => {
                self.send(json!({ "jsonrpc": "2.0", "id": id, "result": null }))
                    .await?;
            }
            _ => {}
        }
        Ok(())
    }

    /// One document, at the version that this editor has; anything else is refused.
    fn apply(&mut self, edit: &Value) -> anyhow::Result<bool> {
        let [change] = edit["documentChanges"]
            .as_array()
            .map_or(&[][..], Vec::as_slice)
        else {
            return Ok(false);
        };
        let document = &change["textDocument"];
        if document["uri"] != json!(self.uri) || document["version"] != json!(self.version) {
            return Ok(false);
        }
        let mut edits = Vec::new();
        for edit in change["edits"].as_array().into_iter().flatten() {
            let range = Range {
                start: position(&edit["range"]["start"])?,
                end: position(&edit["range"]["end"])?,
            };
            let range = self.text.byte_range(range, Encoding::Utf8);
            edits.push((
                range,
                edit["newText"].as_str().unwrap_or_default().to_owned(),
            ));
        }
        edits.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
        for (range, text) in edits {
            self.text.replace(range, &text);
        }
        Ok(true)
    }

    async fn send(&mut self, message: Value) -> anyhow::Result<()> {
        let body = message.to_string();
        let frame = format!("Content-Length: {}\r\n\r\n{body}", body.len());
        self.to
            .write_all(frame.as_bytes())
            .await
            .context("the server has gone")
    }

    async fn receive(&mut self) -> anyhow::Result<Value> {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if self.from.read_line(&mut line).await? == 0 {
                bail!("the server has gone");
            }
            let line = line.trim();
            if line.is_empty() {
                break;
            }
            if let Some(number) = line.strip_prefix("Content-Length:") {
                length = number.trim().parse().context("Content-Length")?;
            }
        }
        let mut body = vec![0; length];
        self.from.read_exact(&mut body).await?;
        Ok(serde_json::from_slice(&body)?)
    }
}

fn message(id: Option<&Value>, method: &str, params: Value) -> Value {
    let mut message = json!({ "jsonrpc": "2.0", "method": method });
    if let Some(id) = id {
        message["id"] = id.clone();
    }
    if !params.is_null() {
        message["params"] = params;
    }
    message
}

fn position(value: &Value) -> anyhow::Result<Position> {
    let number = |key: &str| {
        let number = value[key]
            .as_u64()
            .and_then(|number| u32::try_from(number).ok());
        number.with_context(|| format!("a position without {key}: {value}"))
    };
    Ok(Position {
        line: number("line")?,
        character: number("character")?,
    })
}
