//! What a server would change: actions and the edits that they stand for. Nothing is changed here.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Value, json};
use workspace::{
    ByteRange, DiskForm, DocumentUri, Edit, Encoding, Origin, Replacement, Revision, Snapshot,
    Text, Workspace,
};

use super::{Question, about_range, blocking, texts::text_of};
use crate::{
    answer::{Answer, CodeAction, Diagnostic, FileChange, FileEdit, QueryError},
    client::Patience,
    mirror::Texts,
    server::{Source, Turn},
    wire::{self, DocumentEdit, Read, Step},
};

impl Question {
    pub async fn code_actions(
        &self,
        range: ByteRange,
        diagnostics: &[Diagnostic],
    ) -> Result<Answer<Vec<CodeAction>>, QueryError> {
        const METHOD: &str = "textDocument/codeAction";
        let complete = self.complete().await?;
        let asked = self
            .ask_alone(METHOD, |about| {
                let place = |range| about_range(about, &self.document, range);
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
        let mut left_out = broken;
        let actions = found
            .into_iter()
            .filter(|raw| !is_stale(raw))
            .filter_map(|raw| {
                let action = self.action(raw, &asked.texts);
                left_out += usize::from(action.is_none());
                action
            })
            .collect();
        Ok(self.answered(actions, complete, left_out))
    }

    fn action(&self, raw: Value, texts: &Arc<Texts>) -> Option<CodeAction> {
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
            .filter(Source::is_alive)
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
                .ask_in(
                    &Turn::Ordinary,
                    "codeAction/resolve",
                    &document,
                    patience,
                    |_| self.raw.clone(),
                )
                .await?;
            texts = asked.texts;
            let resolved = wire::read_tree(&asked.answer).unwrap_or_default();
            edit = resolved.get("edit").filter(|edit| !edit.is_null()).cloned();
        }
        let Some(edit) = edit else {
            return Err(QueryError::NotSupported {
                name: self.server.clone(),
                method: "an action without an edit (workspace/executeCommand)".into(),
            });
        };
        changes(edit, workspace, texts, server.encoding())
            .await?
            .map_err(failed)
    }
}

/// What a `WorkspaceEdit` does, in the coordinates of the texts that the server had.
async fn changes(
    edit: Value,
    workspace: &Arc<Workspace>,
    texts: Arc<Texts>,
    encoding: Encoding,
) -> Result<Result<Vec<FileChange>, String>, QueryError> {
    let workspace = workspace.clone();
    blocking(move || {
        let mut making = Making {
            workspace: &workspace,
            texts: &texts,
            encoding,
            made: BTreeMap::new(),
        };
        wire::read_workspace_edit(&edit)?
            .into_iter()
            .map(|step| making.change(step))
            .collect()
    })
    .await
}

/// The files as they are after the steps so far.
struct Making<'a> {
    workspace: &'a Workspace,
    texts: &'a Texts,
    encoding: Encoding,
    /// What earlier steps made of files: `None` if it is gone.
    made: BTreeMap<DocumentUri, Option<Snapshot>>,
}

impl Making<'_> {
    fn change(&mut self, step: Step) -> Result<FileChange, String> {
        Ok(match step {
            Step::Edit(edit) => FileChange::Edit(self.edit(edit)?),
            Step::Create {
                uri,
                overwrite,
                ignore_if_exists,
            } => {
                let stays = ignore_if_exists && !overwrite;
                let there = self.text(&uri).filter(|_| stays);
                let text = there.or_else(|| Some(named(None, &uri)));
                self.made.insert(uri.clone(), text);
                FileChange::Create {
                    uri,
                    overwrite,
                    ignore_if_exists,
                }
            }
            Step::Rename {
                from,
                to,
                overwrite,
                ignore_if_exists,
            } => {
                let moved = self.text(&from).map(|text| named(Some(text), &to));
                self.made.insert(from.clone(), None);
                self.made.insert(to.clone(), moved);
                FileChange::Rename {
                    from,
                    to,
                    overwrite,
                    ignore_if_exists,
                }
            }
            Step::Delete {
                uri,
                recursive,
                ignore_if_absent,
            } => {
                self.made.insert(uri.clone(), None);
                FileChange::Delete {
                    uri,
                    recursive,
                    ignore_if_absent,
                }
            }
        })
    }

    fn edit(&mut self, edit: DocumentEdit) -> Result<FileEdit, String> {
        let DocumentEdit {
            uri,
            version,
            edits,
        } = edit;
        if !self.made.contains_key(&uri)
            && let (Some(wanted), Some((_, had))) = (version, self.texts.get(&uri))
            && wanted != *had
        {
            return Err(format!(
                "the edit of {uri} is for another version of it ({wanted}, not {had})"
            ));
        }
        let snapshot = self
            .text(&uri)
            .ok_or_else(|| format!("{uri} can't be read"))?;
        let edits = replacements(edits, &snapshot.text, self.encoding);
        let applied = Edit::new(snapshot.clone(), edits.clone())
            .map_err(|error| format!("the edits of {uri} don't go together: {error}"))?;
        let after = Snapshot {
            text: applied.result(),
            ..snapshot.clone()
        };
        self.made.insert(uri.clone(), Some(after));
        Ok(FileEdit {
            uri,
            edits,
            snapshot,
        })
    }

    fn text(&self, uri: &DocumentUri) -> Option<Snapshot> {
        match self.made.get(uri) {
            Some(made) => made.clone(),
            None => text_of(self.workspace, self.texts, uri),
        }
    }
}

/// A file that is only made by an earlier step: with this text, or empty.
fn named(text: Option<Snapshot>, uri: &DocumentUri) -> Snapshot {
    Snapshot {
        uri: uri.clone(),
        text: text.map(|snapshot| snapshot.text).unwrap_or_default(),
        revision: Revision::DISK,
        version: None,
        language: None,
        origin: Origin::Disk(DiskForm::default()),
    }
}

/// A server's edits as replacements.
pub(super) fn replacements(
    edits: Vec<(workspace::Range, String)>,
    text: &Text,
    encoding: Encoding,
) -> Vec<Replacement> {
    edits
        .into_iter()
        .map(|(range, new)| Replacement {
            range: text.byte_range(range, encoding),
            text: new,
        })
        .collect()
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
