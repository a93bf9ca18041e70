//! From a server's edits to changes of files, each in the coordinates of the text that it was made for. Nothing is
//! changed here.

use std::{
    collections::{BTreeMap, HashMap},
    path::PathBuf,
    sync::Arc,
};

use serde_json::Value;
use workspace::{
    DiskForm, DocumentUri, Edit, Encoding, FileStep, Origin, Position, Reading, Replacement,
    Revision, Snapshot, Text, Workspace,
};

use super::texts::{Missing, is_past, text_of};
use crate::{
    answer::{FileChange, FileEdit, QueryError},
    blocking::blocking,
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
            files: HashMap::new(),
            untold: Vec::new(),
        };
        let steps = match wire::read_workspace_edit(&edit) {
            Ok(steps) => steps,
            Err(reason) => return Ok(Err(reason.into())),
        };
        let steps = steps.into_iter().map(|step| making.change(step));
        let made: Result<Vec<_>, Refused> = steps.collect();
        if !making.untold.is_empty() && server.tell_by(&making.untold) {
            return Err(QueryError::Overtaken {
                name: server.name().to_owned(),
            });
        }
        Ok(made.map(|changes| changes.into_iter().flatten().collect()))
    })
    .await??;
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
    /// Files that are edited, by where they really are: by which name first, and how.
    files: HashMap<PathBuf, (DocumentUri, Vec<Replacement>)>,
    /// What the server was told of by another name alone, with that.
    untold: Vec<(DocumentUri, DocumentUri)>,
}

impl Making<'_> {
    /// `None`: an earlier step does the same.
    fn change(&mut self, step: Step) -> Result<Option<FileChange>, Refused> {
        let step = match step {
            Step::Edit(edit) => return Ok(self.edit(edit)?.map(FileChange::Edit)),
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
                    true => self.text(uri, &[])?,
                    false => None,
                };
                let text = there.or_else(|| Some(new_file(uri)));
                self.made.insert(uri.clone(), text);
            }
            FileStep::Rename { from, to, .. } => {
                let moved = self.text(from, &[])?.map(|text| Snapshot {
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
        Ok(Some(FileChange::File(step)))
    }

    fn edit(&mut self, edit: DocumentEdit) -> Result<Option<FileEdit>, Refused> {
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
        let is_made = self.made.contains_key(&uri);
        let Some(snapshot) = self.text(&uri, &edits)? else {
            return Err(format!("{uri} can't be read").into());
        };
        if let Some((place, _)) = edits
            .iter()
            .find(|(place, _)| is_past(place, &snapshot.text, self.server.encoding()))
        {
            return Err(format!(
                "its edit is of another text of {uri}: in line {} it begins behind the end",
                place.start.line + 1
            )
            .into());
        }
        let edits = replacements(edits, &snapshot.text, self.server.encoding());
        // A file that links lead to may be named by several names, and is edited once.
        if let (Some(path), false) = (uri.path(), is_made) {
            let real = self.reading.real(path);
            match self.files.get(&real) {
                Some((name, same)) if *name != uri => {
                    return match *same == edits {
                        true => Ok(None),
                        false => Err(format!(
                            "it names one file as {name} and as {uri}, and edits it in two ways"
                        )
                        .into()),
                    };
                }
                _ => drop(self.files.insert(real, (uri.clone(), edits.clone()))),
            }
        }
        let applied = Edit::new(snapshot.clone(), edits.clone())
            .map_err(|error| format!("the edits of {uri} don't go together: {error}"))?;
        let after = Snapshot {
            text: applied.result(),
            ..snapshot.clone()
        };
        self.made.insert(uri.clone(), Some(after));
        Ok(Some(FileEdit {
            // By the editor's name, if it has it open by another one.
            uri: match snapshot.is_buffer() {
                true => snapshot.uri.clone(),
                false => uri,
            },
            edits,
            snapshot,
        }))
    }

    /// A file's text after the steps so far, if it has one. Not that of one that changed since the server was asked:
    /// its edits would land elsewhere.
    fn text(&mut self, uri: &DocumentUri, edits: &[Change]) -> Result<Option<Snapshot>, String> {
        if let Some(made) = self.made.get(uri) {
            return Ok(made.clone());
        }
        let changed = || {
            format!(
                "{uri} changed while {} was asked: ask again",
                self.server.name()
            )
        };
        match text_of(&mut self.reading, self.texts, uri) {
            Ok(text) => Ok(Some(text)),
            Err(Missing::Unreadable) => Ok(None),
            Err(Missing::Untold { own }) => {
                self.untold.push((uri.clone(), own));
                Err(changed())
            }
            // Some servers make the file themselves that their edit is to fill.
            Err(Missing::Other(text))
                if text.text.is_empty() && !text.is_buffer() && edits.iter().all(is_of_nothing) =>
            {
                Ok(Some(text))
            }
            // It is never told of these: to ask again would change nothing.
            Err(Missing::Other(text))
                if text.is_buffer() && !self.server.serves(language(&text)) =>
            {
                Err(format!(
                    "{uri} is not saved, and {} knows it only as it is on disk: save it first",
                    self.server.name()
                ))
            }
            Err(Missing::Other(_)) => Err(changed()),
        }
    }
}

/// What a server would put where.
type Change = (workspace::Range, String);

/// Whether it was meant for an empty text.
fn is_of_nothing((place, _): &Change) -> bool {
    place.start == Position::default() && place.end == Position::default()
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
