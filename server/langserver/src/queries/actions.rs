//! Code actions, and the edits that they stand for: their own, those made at resolving, or a command's.

use std::{path::Path, sync::Arc};

use serde_json::{Value, json};
use workspace::{ByteRange, DocumentUri, Reading, Snapshot, Workspace};

use super::{Question, about_range, change::changes};
use crate::{
    answer::{Answer, CodeAction, Diagnostic, FileChange, QueryError},
    blocking::blocking,
    client::Patience,
    server::{Had, Source, Turn},
    wire::{self, Read},
};

impl Question {
    pub async fn code_actions(
        self,
        range: ByteRange,
        diagnostics: &[Diagnostic],
    ) -> Result<Answer<Vec<CodeAction>>, QueryError> {
        const METHOD: &str = "textDocument/codeAction";
        let complete = self.complete().await?;
        let asked = self
            .ask_alone(METHOD, |about| {
                let place = |range| about_range(about, &self.seen, range);
                let diagnostics: Vec<Value> = diagnostics
                    .iter()
                    .map(|one| diagnostic_for(one, self.server.name(), place(one.range)))
                    .collect();
                json!({
                    "textDocument": {"uri": about.snapshot.uri.as_str()},
                    "range": place(range),
                    "context": {"diagnostics": diagnostics, "triggerKind": 1},
                })
            })
            .await?;
        let read = wire::each(&asked.answer, |item| {
            serde_json::from_str::<Value>(item.get()).ok()
        });
        let Read { found, broken } = self.fit(METHOD, read)?;
        let stale = self.server.stale_fixes(&self.document);
        let is_stale = |raw: &Value| {
            raw["title"]
                .as_str()
                .is_some_and(|title| stale.contains(title))
        };
        let found: Vec<Value> = found.into_iter().filter(|raw| !is_stale(raw)).collect();
        let workspace = self.workspace.clone();
        let (found, hidden) = blocking(move || {
            let mut reading = workspace.reading();
            let (hidden, shown): (Vec<Value>, Vec<Value>) = found
                .into_iter()
                .partition(|raw| is_of_hidden(raw, &mut reading));
            (shown, hidden.len())
        })
        .await?;
        let mut left_out = broken + hidden;
        let actions = found
            .into_iter()
            .filter_map(|raw| {
                let action = self.action(raw, &asked.texts);
                left_out += usize::from(action.is_none());
                action
            })
            .collect();
        Ok(self.answered_with(self.trouble(), actions, self.reach(complete), left_out))
    }

    fn action(&self, raw: Value, texts: &Had) -> Option<CodeAction> {
        Some(CodeAction {
            title: raw["title"].as_str()?.to_owned(),
            kind: raw["kind"].as_str().map(str::to_owned),
            preferred: raw["isPreferred"] == true,
            disabled: raw["disabled"]["reason"].as_str().map(str::to_owned),
            server: self.server.name().to_owned(),
            uri: self.document.uri.clone(),
            from: self.server.downgrade(),
            texts: texts.clone(),
            raw,
        })
    }
}

impl CodeAction {
    /// The edits that it stands for: those that came with it, else those that the server makes of it now, else those that
    /// its command asks for.
    pub(crate) async fn edits(
        &self,
        workspace: &Arc<Workspace>,
        patience: &Patience,
    ) -> Result<Vec<FileChange>, QueryError> {
        let server = self.server()?;
        let command = match self.known(&server, workspace, patience).await? {
            Known::Edits(changes) => return Ok(changes),
            Known::Command(command) => command,
        };
        let command = match command {
            Value::String(name) => json!({"command": name, "arguments": self.raw["arguments"]}),
            Value::Object(command) => {
                json!({"command": command.get("command"), "arguments": command.get("arguments")})
            }
            _ => return Err(self.failed("the action has neither an edit nor a command")),
        };
        self.run(&server, command, workspace, patience).await
    }

    /// The edits that it stands for, as far as they are known without anything being run: `None` if a command makes them.
    pub(crate) async fn preview(
        &self,
        workspace: &Arc<Workspace>,
        patience: &Patience,
    ) -> Result<Option<Vec<FileChange>>, QueryError> {
        let server = self.server()?;
        Ok(match self.known(&server, workspace, patience).await? {
            Known::Edits(changes) => Some(changes),
            Known::Command(_) => None,
        })
    }

    fn server(&self) -> Result<Source, QueryError> {
        let server = self
            .from
            .upgrade()
            .filter(Source::is_alive)
            .ok_or_else(|| self.failed("the action is from a server that has ended since"))?;
        match &self.disabled {
            Some(reason) => Err(self.failed(format!("the action can't be applied: {reason}"))),
            None => Ok(server),
        }
    }

    /// What came with it, or comes when the server is asked to say the rest. Runs nothing.
    async fn known(
        &self,
        server: &Source,
        workspace: &Arc<Workspace>,
        patience: &Patience,
    ) -> Result<Known, QueryError> {
        let mut texts = self.texts.clone();
        let mut whole = self.raw.clone();
        let has_edit = |action: &Value| action.get("edit").is_some_and(|edit| !edit.is_null());
        // A bare command is no action that could be resolved.
        if !has_edit(&whole)
            && !whole["command"].is_string()
            && server.supports("codeAction/resolve", None)
        {
            let asked = server
                .ask_in(
                    &Turn::Ordinary,
                    "codeAction/resolve",
                    &self.document()?,
                    patience,
                    |_| self.raw.clone(),
                )
                .await?;
            self.is_still_of(&asked.texts)?;
            // What it resolves may be of the text that it offered it for.
            texts = Had {
                when: self.texts.when,
                ..asked.texts
            };
            whole = wire::read_tree(&asked.answer)
                .map_err(|wire::Unfit| self.failed("it resolved the action to none"))?;
        }
        if has_edit(&whole) {
            let made = changes(whole["edit"].take(), workspace, texts, server);
            return made.await.map(Known::Edits);
        }
        Ok(Known::Command(match whole["command"].take() {
            Value::Null => self.raw["command"].clone(),
            command => command,
        }))
    }

    /// Has the server run the action's command, and takes what edits it wants made meanwhile.
    async fn run(
        &self,
        server: &Source,
        mut command: Value,
        workspace: &Arc<Workspace>,
        patience: &Patience,
    ) -> Result<Vec<FileChange>, QueryError> {
        let name = command["command"].as_str().unwrap_or_default().to_owned();
        if command["arguments"].is_null() {
            command["arguments"] = json!([]);
        }
        let Source::Server(of) = server else {
            return Err(self.not_run(&name));
        };
        if !of.knows_command(&name) {
            return Err(self.not_run(&name));
        }
        let document = self.document()?;
        let mut all: Vec<FileChange> = Vec::new();
        let (wanted, had) = of.run(&document, command, patience).await?;
        self.is_still_of(&had)?;
        if wanted.is_empty() {
            return Err(self.failed(format!(
                "the action is only a command: {name} ran, and wanted nothing edited"
            )));
        }
        for (edit, told) in wanted {
            let when = self.texts.when;
            let more = changes(edit, workspace, Had { told, when }, server).await?;
            // The server was told of no change in between: of which text a second edit is, nobody can know.
            let twice = more.iter().flat_map(FileChange::touched).find(|uri| {
                all.iter()
                    .flat_map(FileChange::touched)
                    .any(|earlier| earlier == *uri)
            });
            if let Some(uri) = twice {
                return Err(self.failed(format!(
                    "the action's command {name} edits {uri} twice, one edit after the other"
                )));
            }
            all.extend(more);
        }
        Ok(all)
    }

    /// An action names places of the text that it was offered for: of another one it means others.
    fn is_still_of(&self, had: &Had) -> Result<(), QueryError> {
        let text = |texts: &Had| texts.get(&self.uri).map(|(had, _)| had.text.clone());
        match text(had) == text(&self.texts) {
            true => Ok(()),
            false => Err(QueryError::Overtaken {
                name: self.server.clone(),
            }),
        }
    }

    fn not_run(&self, command: &str) -> QueryError {
        QueryError::NotSupported {
            name: self.server.clone(),
            method: format!(
                "the action's command {command}, which is an editor's (workspace/executeCommand)"
            ),
        }
    }

    fn document(&self) -> Result<Snapshot, QueryError> {
        let document = self.texts.get(&self.uri);
        document
            .map(|(snapshot, _)| snapshot.clone())
            .ok_or_else(|| self.failed("the action is of a document that is gone"))
    }

    fn failed(&self, message: impl Into<String>) -> QueryError {
        QueryError::Failed {
            name: self.server.clone(),
            message: message.into(),
        }
    }
}

/// Whether what an action does is to a file that is kept from the model: then its title is of that, too.
fn is_of_hidden(action: &Value, reading: &mut Reading<'_>) -> bool {
    let parts = ["edit", "command", "arguments"];
    let mut parts = parts.iter().filter_map(|part| action.get(part));
    parts.any(|part| names_hidden(part, reading))
}

fn names_hidden(value: &Value, reading: &mut Reading<'_>) -> bool {
    let mut is_hidden = |name: &str| {
        let uri = name.starts_with("file:").then(|| DocumentUri::parse(name));
        let path = match &uri {
            Some(uri) => uri.as_ref().ok().and_then(|uri| uri.path()),
            None => Some(Path::new(name)).filter(|path| path.is_absolute()),
        };
        path.is_some_and(|path| reading.is_ignored_for_model(path))
    };
    match value {
        Value::String(name) => is_hidden(name),
        Value::Array(all) => all.iter().any(|one| names_hidden(one, reading)),
        Value::Object(all) => {
            all.keys().any(|key| is_hidden(key))
                || all
                    .iter()
                    // What is to be written is no name.
                    .filter(|(key, _)| *key != "newText")
                    .any(|(_, one)| names_hidden(one, reading))
        }
        _ => false,
    }
}

/// What an action stands for, as far as that is known before it is made.
enum Known {
    Edits(Vec<FileChange>),
    /// Only what it runs, if anything: what that edits is known when it has run.
    Command(Value),
}

/// A diagnostic as a server is told of it: its own as it came, but where it is now.
fn diagnostic_for(diagnostic: &Diagnostic, server: &str, range: wire::Range) -> Value {
    let mut value = if diagnostic.server.as_deref() == Some(server) && diagnostic.raw.is_object() {
        diagnostic.raw.clone()
    } else {
        let mut value =
            json!({"severity": diagnostic.severity as u8 + 1, "message": diagnostic.message});
        for (key, text) in [("code", &diagnostic.code), ("source", &diagnostic.source)] {
            if let Some(text) = text {
                value[key] = json!(text);
            }
        }
        value
    };
    value["range"] = json!(range);
    value
}
