//! From a server's edits to changes of files, each in the coordinates of the text that it was made for. Nothing is
//! changed here.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::Value;
use workspace::{
    DiskForm, DocumentUri, Edit, Encoding, FileStep, Origin, Reading, Replacement, Revision,
    Snapshot, Text, Workspace,
};

use super::{
    blocking,
    texts::{Missing, text_of},
};
use crate::{
    answer::{FileChange, FileEdit, QueryError},
    mirror::language,
    server::{Had, Source},
    wire::{self, DocumentEdit, Step},
};

/// What a `WorkspaceEdit` does, in the coordinates of the texts that the server had.
pub(super) async fn changes(
    edit: Value,
    workspace: &Arc<Workspace>,
    texts: Had,
    server: &Source,
) -> Result<Vec<FileChange>, QueryError> {
    let (workspace, server) = (workspace.clone(), server.clone());
    let name = server.name().to_owned();
    let made: Result<Vec<FileChange>, Refused> = blocking(move || {
        let mut making = Making {
            reading: workspace.reading(),
            texts: &texts,
            server: &server,
            made: BTreeMap::new(),
        };
        wire::read_workspace_edit(&edit)?
            .into_iter()
            .map(|step| making.change(step))
            .collect()
    })
    .await?;
    made.map_err(|refused| match refused {
        Refused::Hidden => QueryError::Hidden { name },
        Refused::Because(message) => QueryError::Failed { name, message },
    })
}

/// Why an edit is none that could be made.
enum Refused {
    /// It is of a file that is kept from the model. Only the server has named it.
    Hidden,
    Because(String),
}

impl From<String> for Refused {
    fn from(why: String) -> Self {
        Self::Because(why)
    }
}

/// The files as they are after the steps so far.
struct Making<'a> {
    reading: Reading<'a>,
    texts: &'a Had,
    server: &'a Source,
    /// What earlier steps made of files: `None` if it is gone.
    made: BTreeMap<DocumentUri, Option<Snapshot>>,
}

impl Making<'_> {
    fn change(&mut self, step: Step) -> Result<FileChange, Refused> {
        let step = match step {
            Step::Edit(edit) => return Ok(FileChange::Edit(self.edit(edit)?)),
            Step::File(step) => step,
        };
        match &step {
            FileStep::Create {
                uri,
                overwrite,
                ignore_if_exists,
            } => {
                let stays = *ignore_if_exists && !overwrite;
                let there = match stays {
                    true => self.text(uri)?,
                    false => None,
                };
                let text = there.or_else(|| Some(new_file(uri)));
                self.made.insert(uri.clone(), text);
            }
            FileStep::Rename { from, to, .. } => {
                let moved = self.text(from)?.map(|text| Snapshot {
                    uri: to.clone(),
                    ..text
                });
                self.made.insert(from.clone(), None);
                self.made.insert(to.clone(), moved);
            }
            FileStep::Delete { uri, .. } => {
                self.made.insert(uri.clone(), None);
            }
        }
        Ok(FileChange::File(step))
    }

    fn edit(&mut self, edit: DocumentEdit) -> Result<FileEdit, Refused> {
        let DocumentEdit {
            uri,
            version,
            edits,
        } = edit;
        let path = uri.path();
        if path.is_some_and(|path| self.reading.is_ignored_for_model(path)) {
            return Err(Refused::Hidden);
        }
        if !self.made.contains_key(&uri)
            && let (Some(wanted), Some((_, had))) = (version, self.texts.get(&uri))
            && wanted != *had
        {
            return Err(format!(
                "the edit of {uri} is for another version of it ({wanted}, not {had})"
            )
            .into());
        }
        let snapshot = self
            .text(&uri)?
            .ok_or_else(|| format!("{uri} can't be read"))?;
        let edits = replacements(edits, &snapshot.text, self.server.encoding());
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

    /// A file's text after the steps so far, if it has one. Not that of one that changed since the server was asked:
    /// its edits would land elsewhere.
    fn text(&mut self, uri: &DocumentUri) -> Result<Option<Snapshot>, String> {
        if let Some(made) = self.made.get(uri) {
            return Ok(made.clone());
        }
        match text_of(&mut self.reading, self.texts, uri) {
            Ok(text) => Ok(Some(text)),
            Err(Missing::Unreadable) => Ok(None),
            // It is never told of these: to ask again would change nothing.
            Err(Missing::Other(text))
                if text.is_buffer() && !self.server.serves(language(&text)) =>
            {
                Err(format!(
                    "{uri} is not saved, and {} knows it only as it is on disk: save it first",
                    self.server.name()
                ))
            }
            Err(Missing::Other(_)) => Err(format!(
                "{uri} changed while {} was asked: ask again",
                self.server.name()
            )),
        }
    }
}

/// A file that is only made by an earlier step.
fn new_file(uri: &DocumentUri) -> Snapshot {
    Snapshot {
        uri: uri.clone(),
        text: Text::default(),
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
