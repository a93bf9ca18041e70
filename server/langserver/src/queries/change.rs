//! From a server's edits to changes of files, each in the coordinates of the text that it was made for. Nothing is
//! changed here.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::Value;
use workspace::{
    DiskForm, DocumentUri, Edit, Encoding, FileStep, Origin, Reading, Replacement, Revision,
    Snapshot, Text, Workspace,
};

use super::{blocking, texts::text_of};
use crate::{
    answer::{FileChange, FileEdit, QueryError},
    mirror::Texts,
    wire::{self, DocumentEdit, Step},
};

/// What a `WorkspaceEdit` does, in the coordinates of the texts that the server had.
pub(super) async fn changes(
    edit: Value,
    workspace: &Arc<Workspace>,
    texts: Arc<Texts>,
    encoding: Encoding,
) -> Result<Result<Vec<FileChange>, String>, QueryError> {
    let workspace = workspace.clone();
    blocking(move || {
        let mut making = Making {
            reading: workspace.reading(),
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
    reading: Reading<'a>,
    texts: &'a Texts,
    encoding: Encoding,
    /// What earlier steps made of files: `None` if it is gone.
    made: BTreeMap<DocumentUri, Option<Snapshot>>,
}

impl Making<'_> {
    fn change(&mut self, step: Step) -> Result<FileChange, String> {
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
                let there = self.text(uri).filter(|_| stays);
                let text = there.or_else(|| Some(new_file(uri)));
                self.made.insert(uri.clone(), text);
            }
            FileStep::Rename { from, to, .. } => {
                let moved = self.text(from).map(|text| Snapshot {
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

    fn edit(&mut self, edit: DocumentEdit) -> Result<FileEdit, String> {
        let DocumentEdit {
            uri,
            version,
            edits,
        } = edit;
        let path = uri.path();
        if path.is_some_and(|path| self.reading.is_ignored_for_model(path)) {
            // Only the server has named it.
            return Err("it would change a file that is hidden by a .copydeskignore file".into());
        }
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

    fn text(&mut self, uri: &DocumentUri) -> Option<Snapshot> {
        match self.made.get(uri) {
            Some(made) => made.clone(),
            None => text_of(&mut self.reading, self.texts, uri),
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
