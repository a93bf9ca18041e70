//! The questions: how each is put to a server and what becomes of its answer. Positions are bytes here and columns
//! there; nothing found, found elsewhere and not supported stay three different things.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde_json::{Value, json};
use workspace::{ByteOffset, ByteRange, DocumentUri, Encoding, Replacement, Snapshot, Workspace};

use crate::{
    answer::{Answer, CodeAction, Diagnostic, FileChange, FileEdit, Location, QueryError},
    client::Patience,
    mirror::{Texts, difference},
    server::{About, Server, carried},
    wire,
};

/// One question about a document.
pub(crate) struct Question<'a> {
    pub server: &'a Arc<Server>,
    pub document: &'a Snapshot,
    pub workspace: &'a Arc<Workspace>,
    /// How long to wait until the server knows everything, before it is asked what it knows.
    pub until_ready: Patience,
    pub answer: Patience,
}

impl Question<'_> {
    pub async fn locations(
        &self,
        method: &'static str,
        at: ByteOffset,
        extra: Value,
    ) -> Result<Answer<Vec<Location>>, QueryError> {
        let complete = self.complete().await?;
        let asked = self
            .server
            .ask(method, self.document, &self.answer, |about| {
                let mut params = about_position(about, self.document, at);
                if let (Value::Object(params), Value::Object(extra)) = (&mut params, &extra) {
                    params.extend(extra.clone());
                }
                params
            })
            .await?;
        let found = wire::read_locations(&asked.answer);
        let (value, left_out) = self.locate(found, asked.texts).await?;
        Ok(self.answered(value, complete, left_out))
    }

    pub async fn hover(&self, at: ByteOffset) -> Result<Answer<Option<String>>, QueryError> {
        let complete = self.complete().await?;
        let asked = self
            .server
            .ask("textDocument/hover", self.document, &self.answer, |about| {
                about_position(about, self.document, at)
            })
            .await?;
        Ok(self.answered(wire::read_hover(&asked.answer), complete, 0))
    }

    pub async fn code_actions(
        &self,
        range: ByteRange,
        diagnostics: &[Diagnostic],
    ) -> Result<Answer<Vec<CodeAction>>, QueryError> {
        let complete = self.complete().await?;
        let asked = self
            .server
            .ask(
                "textDocument/codeAction",
                self.document,
                &self.answer,
                |about| {
                    let place = |range| about_range(about, self.document, range);
                    let diagnostics: Vec<Value> = diagnostics
                        .iter()
                        .map(|one| diagnostic_for(one, self.server.name(), place(one.range)))
                        .collect();
                    json!({
                        "textDocument": {"uri": about.snapshot.uri.as_str()},
                        "range": place(range),
                        "context": {"diagnostics": diagnostics, "triggerKind": 1},
                    })
                },
            )
            .await?;
        let texts = Arc::new(asked.texts);
        let Value::Array(items) = asked.answer else {
            return Ok(self.answered(Vec::new(), complete, 0));
        };
        let stale = self.server.stale_fixes(self.document);
        let is_stale = |raw: &Value| {
            raw["title"]
                .as_str()
                .is_some_and(|title| stale.contains(title))
        };
        let actions = items
            .into_iter()
            .filter(|raw| !is_stale(raw))
            .filter_map(|raw| self.action(raw, &texts))
            .collect();
        Ok(self.answered(actions, complete, 0))
    }

    /// Whether the server knows everything, after it has had the time to.
    async fn complete(&self) -> Result<bool, QueryError> {
        self.server.show(self.document);
        self.server.ready(&self.until_ready).await
    }

    fn action(&self, raw: Value, texts: &Arc<Texts>) -> Option<CodeAction> {
        Some(CodeAction {
            title: raw["title"].as_str()?.to_owned(),
            kind: raw["kind"].as_str().map(str::to_owned),
            preferred: raw["isPreferred"] == true,
            disabled: raw["disabled"]["reason"].as_str().map(str::to_owned),
            server: self.server.name().to_owned(),
            uri: self.document.uri.clone(),
            from: Arc::downgrade(self.server),
            texts: texts.clone(),
            raw,
        })
    }

    fn answered<T>(&self, value: T, complete: bool, left_out: usize) -> Answer<T> {
        Answer {
            value,
            complete,
            server: self.server.name().to_owned(),
            left_out,
        }
    }

    /// Ranges in the texts that the server had, or else in what is read now; and how many could not be read.
    async fn locate(
        &self,
        found: Vec<(DocumentUri, workspace::Range)>,
        texts: Texts,
    ) -> Result<(Vec<Location>, usize), QueryError> {
        let (workspace, encoding) = (self.workspace.clone(), self.server.encoding());
        blocking(move || {
            let mut read: BTreeMap<DocumentUri, Option<Snapshot>> = BTreeMap::new();
            let mut known = BTreeSet::new();
            let mut locations = Vec::with_capacity(found.len());
            let mut left_out = 0;
            for (uri, range) in found {
                let snapshot = read
                    .entry(uri.clone())
                    .or_insert_with(|| text_of(&workspace, &texts, &uri));
                let Some(snapshot) = snapshot else {
                    left_out += 1;
                    continue;
                };
                let range = snapshot.text.byte_range(range, encoding);
                if known.insert((uri, range)) {
                    locations.push(Location {
                        snapshot: snapshot.clone(),
                        range,
                    });
                }
            }
            (locations, left_out)
        })
        .await
    }
}

impl CodeAction {
    /// The edits that it stands for: those that came with it, else those that the server makes of it now.
    pub(crate) async fn edits(
        &self,
        workspace: &Arc<Workspace>,
        patience: &Patience,
    ) -> Result<Vec<FileChange>, QueryError> {
        let failed = |message: String| QueryError::Failed {
            name: self.server.clone(),
            message,
        };
        let server = self
            .from
            .upgrade()
            .filter(|server| server.is_alive())
            .ok_or_else(|| failed("the action is from a server that has ended since".into()))?;
        if let Some(reason) = &self.disabled {
            return Err(failed(format!("the action can't be applied: {reason}")));
        }
        let mut texts = self.texts.clone();
        let mut edit = self.raw.get("edit").filter(|edit| !edit.is_null()).cloned();
        if edit.is_none() && server.supports("codeAction/resolve", None) {
            let document = self
                .texts
                .get(&self.uri)
                .map(|(snapshot, _)| snapshot.clone());
            let document = document
                .ok_or_else(|| failed("the action is of a document that is gone".into()))?;
            let asked = server
                .ask("codeAction/resolve", &document, patience, |_| {
                    self.raw.clone()
                })
                .await?;
            texts = Arc::new(asked.texts);
            edit = asked
                .answer
                .get("edit")
                .filter(|edit| !edit.is_null())
                .cloned();
        }
        let Some(edit) = edit else {
            return Err(QueryError::NotSupported {
                name: self.server.clone(),
                method: "an action without an edit (workspace/executeCommand)".into(),
            });
        };
        let edit = wire::read_workspace_edit(&edit).map_err(failed)?;
        if let Some(operation) = edit.file_operations.first() {
            return Err(failed(format!(
                "the action also wants to {operation}, which is not supported"
            )));
        }
        let (workspace, encoding) = (workspace.clone(), server.encoding());
        let documents = edit.documents;
        blocking(move || {
            documents
                .into_iter()
                .map(|one| file_edit(one, &workspace, &texts, encoding).map(FileChange::Edit))
                .collect::<Result<_, _>>()
        })
        .await?
        .map_err(failed)
    }
}

fn file_edit(
    edit: wire::DocumentEdit,
    workspace: &Workspace,
    texts: &Texts,
    encoding: Encoding,
) -> Result<FileEdit, String> {
    let wire::DocumentEdit {
        uri,
        version,
        edits,
    } = edit;
    if let (Some(wanted), Some((_, had))) = (version, texts.get(&uri))
        && wanted != *had
    {
        return Err(format!(
            "the edit of {uri} is for another version of it ({wanted}, not {had})"
        ));
    }
    let snapshot = text_of(workspace, texts, &uri).ok_or_else(|| format!("{uri} can't be read"))?;
    let edits = edits
        .into_iter()
        .map(|(range, text)| Replacement {
            range: snapshot.text.byte_range(range, encoding),
            text,
        })
        .collect();
    Ok(FileEdit {
        uri,
        edits,
        snapshot,
    })
}

/// The text that a server meant: the one that it was told, else the disk's, which it reads itself.
fn text_of(workspace: &Workspace, texts: &Texts, uri: &DocumentUri) -> Option<Snapshot> {
    match texts.get(uri) {
        Some((snapshot, _)) => Some(snapshot.clone()),
        None => workspace
            .read(uri)
            .inspect_err(|error| tracing::debug!(%error, "left out"))
            .ok(),
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, QueryError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| QueryError::Unreadable(error.to_string()))
}

fn about_position(about: &About<'_>, asked: &Snapshot, at: ByteOffset) -> Value {
    let at = moved(about, asked, ByteRange { start: at, end: at }).start;
    json!({
        "textDocument": {"uri": about.snapshot.uri.as_str()},
        "position": wire::position(about.snapshot.text.position(at, about.encoding)),
    })
}

fn about_range(about: &About<'_>, asked: &Snapshot, range: ByteRange) -> wire::Range {
    about
        .snapshot
        .text
        .range(moved(about, asked, range), about.encoding)
        .into()
}

/// A range of the text that was asked about, in the text that the server has: the buffer may have gone on meanwhile.
fn moved(about: &About<'_>, asked: &Snapshot, range: ByteRange) -> ByteRange {
    if about.snapshot.revision == asked.revision || about.snapshot.text == asked.text {
        return range;
    }
    carried(range, &difference(&asked.text, &about.snapshot.text))
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
