//! What a change comes to, step by step over what is there now: found out before anything is made. It only looks.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use super::{Crew, FileStep, Step, StepError};
use crate::{
    Buffers, ByteRange, Conflict, DocumentUri, Edit, FileOperation, Replacement, Snapshot,
    apply::{ApplyError, refuse_what_is_kept},
    compare::compare,
    disk,
};

/// How many things a folder may hold that is renamed or deleted: each is looked at.
const MOST_IN_A_FOLDER: usize = 2_000;

/// A change, in the order in which it is made.
#[derive(Default)]
pub(super) struct Plan {
    /// Edits of documents as they are named now.
    pub(super) edits: Vec<Edit>,
    /// What is done to whole files.
    pub(super) operations: Vec<Operation>,
    /// Edits of documents that the editor renames before: it must not find them unsaved.
    pub(super) after: Vec<Edit>,
}

/// What is done to a whole file.
pub(super) enum Operation {
    Create {
        uri: DocumentUri,
        content: String,
    },
    Rename {
        from: DocumentUri,
        to: DocumentUri,
        /// Something is under the new name, and goes.
        replaces: bool,
        /// The editor has it open.
        open: Vec<DocumentUri>,
    },
    Delete {
        uri: DocumentUri,
        open: bool,
    },
}

/// The documents that a change is about, in the order in which their turns are taken.
pub(super) fn names(steps: &[Step], buffers: &Buffers) -> Vec<DocumentUri> {
    let mut names = Vec::new();
    let mut add = |uri: &DocumentUri| {
        names.push(buffers.name_of(uri).unwrap_or_else(|| uri.clone()));
        names.extend(inside(uri, buffers).into_iter().map(|open| open.uri));
    };
    for step in steps {
        match step {
            Step::Edit(edit) => add(&edit.snapshot().uri),
            Step::File(step) => step.touched().into_iter().for_each(&mut add),
        }
    }
    names.sort_unstable();
    names.dedup();
    names
}

/// The open documents in a folder.
fn inside(folder: &DocumentUri, buffers: &Buffers) -> Vec<Snapshot> {
    let Some(folder) = folder.path() else {
        return Vec::new();
    };
    let is_inside = |open: &Snapshot| {
        let path = open.uri.path();
        path.is_some_and(|path| path != folder && path.starts_with(folder))
    };
    buffers.all().into_iter().filter(is_inside).collect()
}

/// What is under a name at some moment of the change.
enum Found {
    Nothing,
    /// What the change itself makes: the operation.
    Made(usize),
    /// What was there before the change, under this name.
    There(DocumentUri),
    /// A folder that is there because of what the change puts in it.
    Folder,
}

struct Draft {
    first: Snapshot,
    now: Snapshot,
    edits: Vec<Edit>,
}

struct Drafts<'a> {
    crew: &'a Crew,
    documents: BTreeMap<DocumentUri, Draft>,
    operations: Vec<Operation>,
}

impl Plan {
    /// What the steps come to, or why they can't be made.
    pub(super) fn of(steps: Vec<Step>, crew: &Crew) -> Result<Self, StepError> {
        let mut drafts = Drafts {
            crew,
            documents: BTreeMap::new(),
            operations: Vec::new(),
        };
        for step in steps {
            match step {
                Step::Edit(edit) => drafts.edit(&edit)?,
                Step::File(FileStep::Create {
                    uri,
                    overwrite,
                    ignore_if_exists,
                }) => drafts.create(&uri, overwrite, ignore_if_exists)?,
                Step::File(FileStep::Rename {
                    from,
                    to,
                    overwrite,
                    ignore_if_exists,
                }) => drafts.rename(from, to, overwrite, ignore_if_exists)?,
                Step::File(FileStep::Delete {
                    uri,
                    recursive,
                    ignore_if_absent,
                }) => drafts.delete(uri, recursive, ignore_if_absent)?,
            }
        }
        drafts.into_plan()
    }
}

impl Drafts<'_> {
    fn edit(&mut self, edit: &Edit) -> Result<(), StepError> {
        let uri = &edit.snapshot().uri;
        refuse_what_is_kept(uri)?;
        match self.find(uri) {
            Found::Nothing => Err(missing(uri)),
            Found::Folder => Err(folder(uri)),
            Found::Made(at) => {
                let Operation::Create { content, .. } = &mut self.operations[at] else {
                    return Err(missing(uri));
                };
                let mut now = edit.snapshot().clone();
                now.text = crate::Text::new(content);
                let edit = edit
                    .rebase(&now)
                    .map_err(|conflict| conflicted(&conflict, &now))?;
                *content = edit.result().to_string();
                Ok(())
            }
            Found::There(before) => {
                let buffers = self.crew.buffers.clone();
                let draft = self.draft(&before)?;
                let (from, now) = (edit.snapshot().revision, &draft.now);
                // What this change does itself to the text is no step of its editor's.
                let steps = match draft.edits.is_empty() {
                    true => buffers.steps(&now.uri, from, now.revision),
                    false => None,
                };
                let edit = edit
                    .rebase_along(steps.as_deref(), now)
                    .map_err(|conflict| conflicted(&conflict, now))?;
                draft.now.text = edit.result();
                draft.edits.push(edit);
                Ok(())
            }
        }
    }

    fn create(
        &mut self,
        uri: &DocumentUri,
        overwrite: bool,
        ignore_if_exists: bool,
    ) -> Result<(), StepError> {
        refuse_what_is_kept(uri)?;
        let path = path_of(uri)?;
        match self.find(uri) {
            Found::Nothing => {
                check_parent(path)?;
                self.operations.push(Operation::Create {
                    uri: uri.clone(),
                    content: String::new(),
                });
                Ok(())
            }
            Found::Folder => Err(folder(uri)),
            Found::Made(at) if overwrite => {
                if let Operation::Create { content, .. } = &mut self.operations[at] {
                    content.clear();
                }
                Ok(())
            }
            Found::There(before) if overwrite => {
                let draft = self.draft(&before)?;
                let edit = Edit::whole(draft.now.clone(), "");
                draft.now.text = edit.result();
                draft.edits.push(edit);
                Ok(())
            }
            _ if ignore_if_exists => Ok(()),
            _ => Err(exists(path)),
        }
    }

    fn rename(
        &mut self,
        from: DocumentUri,
        to: DocumentUri,
        overwrite: bool,
        ignore_if_exists: bool,
    ) -> Result<(), StepError> {
        refuse_what_is_kept(&from)?;
        refuse_what_is_kept(&to)?;
        let (old, new) = (path_of(&from)?.to_owned(), path_of(&to)?.to_owned());
        if old == new {
            return Ok(());
        }
        if new.starts_with(&old) {
            return Err(StepError::IntoItself { path: old });
        }
        let open = match self.find(&from) {
            Found::Nothing | Found::Folder => return Err(missing(&from)),
            Found::Made(_) => Vec::new(),
            Found::There(before) => {
                let path = path_of(&before)?;
                let there = fs::symlink_metadata(path).map_err(|_| missing(&from))?;
                check_folder(path, there.is_dir())?;
                check_may_leave(path)?;
                self.open_at(&before)
            }
        };
        let replaces = match self.find(&to) {
            Found::Nothing => false,
            Found::There(before) if overwrite => {
                if let Some(open) = self.open_at(&before).into_iter().next() {
                    return Err(StepError::Open {
                        uri: open.uri,
                        what: "replace",
                    });
                }
                if path_of(&before)?.is_dir() {
                    return Err(folder(&to));
                }
                true
            }
            _ if ignore_if_exists && !overwrite => return Ok(()),
            _ => return Err(exists(&new)),
        };
        check_parent(&new)?;
        if let Some(first) = open.first() {
            let operation = FileOperation::Rename {
                from: from.clone(),
                to: to.clone(),
            };
            if !self.crew.host.can(&operation) {
                return Err(StepError::Open {
                    uri: first.uri.clone(),
                    what: "rename",
                });
            }
        }
        self.operations.push(Operation::Rename {
            from,
            to,
            replaces,
            open: open.into_iter().map(|open| open.uri).collect(),
        });
        Ok(())
    }

    fn delete(
        &mut self,
        uri: DocumentUri,
        recursive: bool,
        ignore_if_absent: bool,
    ) -> Result<(), StepError> {
        refuse_what_is_kept(&uri)?;
        let path = path_of(&uri)?.to_owned();
        let mut is_open = false;
        match self.find(&uri) {
            Found::Nothing if ignore_if_absent => return Ok(()),
            Found::Nothing => return Err(missing(&uri)),
            Found::Folder => return Err(StepError::NotEmpty { path }),
            Found::Made(_) => {}
            Found::There(before) => {
                let there = path_of(&before)?;
                let metadata = fs::symlink_metadata(there).map_err(|_| missing(&uri))?;
                if metadata.is_dir() {
                    let is_empty = fs::read_dir(there).is_ok_and(|mut all| all.next().is_none());
                    if !recursive && !is_empty {
                        return Err(StepError::NotEmpty { path });
                    }
                }
                check_folder(there, metadata.is_dir())?;
                check_may_leave(there)?;
                let open = self.open_at(&before);
                if let Some(unsaved) = open.iter().find(|open| open.is_unsaved()) {
                    return Err(StepError::Unsaved {
                        uri: unsaved.uri.clone(),
                    });
                }
                if let Some(first) = open.first() {
                    let operation = FileOperation::Delete { uri: uri.clone() };
                    if metadata.is_dir() || !self.crew.host.can(&operation) {
                        return Err(StepError::Open {
                            uri: first.uri.clone(),
                            what: "delete",
                        });
                    }
                    is_open = true;
                }
                // What goes needs no other text.
                self.documents
                    .retain(|name, _| name.path().is_none_or(|path| !path.starts_with(there)));
            }
        }
        self.operations
            .push(Operation::Delete { uri, open: is_open });
        Ok(())
    }

    /// What is under a name after the steps so far.
    fn find(&self, uri: &DocumentUri) -> Found {
        let Some(path) = uri.path() else {
            return match self.crew.buffers.get(uri) {
                Some(_) => Found::There(uri.clone()),
                None => Found::Nothing,
            };
        };
        let mut path = path.to_owned();
        for (at, operation) in self.operations.iter().enumerate().rev() {
            match operation {
                Operation::Create { uri, .. } => match uri.path() {
                    Some(made) if made == path => return Found::Made(at),
                    Some(made) if made.starts_with(&path) && !path.exists() => {
                        return Found::Folder;
                    }
                    _ => {}
                },
                Operation::Rename { from, to, .. } => {
                    let (Some(from), Some(to)) = (from.path(), to.path()) else {
                        continue;
                    };
                    if let Ok(rest) = path.strip_prefix(to) {
                        path = joined(from, rest);
                    } else if path.starts_with(from) {
                        return Found::Nothing;
                    } else if to.starts_with(&path) && !path.exists() {
                        return Found::Folder;
                    }
                }
                Operation::Delete { uri, .. } => {
                    if uri.path().is_some_and(|gone| path.starts_with(gone)) {
                        return Found::Nothing;
                    }
                }
            }
        }
        let before = match uri.path() {
            Some(same) if same == path => uri.clone(),
            _ => match DocumentUri::from_path(&path) {
                Ok(before) => before,
                Err(_) => return Found::Nothing,
            },
        };
        let is_there =
            fs::symlink_metadata(&path).is_ok() || self.crew.buffers.name_of(&before).is_some();
        match is_there {
            true => Found::There(before),
            false => Found::Nothing,
        }
    }

    /// The open documents that a name leads to: itself, and what is in it.
    fn open_at(&self, before: &DocumentUri) -> Vec<Snapshot> {
        let buffers = &self.crew.buffers;
        let own = buffers.name_of(before).and_then(|name| buffers.get(&name));
        let mut open: Vec<Snapshot> = own.into_iter().collect();
        open.extend(inside(before, buffers));
        open
    }

    fn draft(&mut self, before: &DocumentUri) -> Result<&mut Draft, StepError> {
        let buffers = &self.crew.buffers;
        let name = buffers.name_of(before);
        let key = name.clone().unwrap_or_else(|| before.clone());
        if !self.documents.contains_key(&key) {
            let open = name.and_then(|name| buffers.get(&name));
            let first = if let Some(open) = open {
                if let Some(reason) = buffers.out_of_step(&open.uri) {
                    let uri = open.uri;
                    return Err(ApplyError::OutOfStep { uri, reason }.into());
                }
                open
            } else {
                disk::check_writable(path_of(before)?)?;
                disk::read(before)?
            };
            let draft = Draft {
                now: first.clone(),
                first,
                edits: Vec::new(),
            };
            self.documents.insert(key.clone(), draft);
        }
        self.documents.get_mut(&key).ok_or_else(|| missing(before))
    }

    fn into_plan(self) -> Result<Plan, StepError> {
        let mut plan = Plan::default();
        let (mut on_disk, mut open) = (Vec::new(), Vec::new());
        for (name, draft) in self.documents {
            let edit = draft.into_edit();
            if edit.replacements().is_empty() {
                continue;
            }
            let renamed = self.operations.iter().any(
                |operation| matches!(operation, Operation::Rename { open, .. } if open.contains(&name)),
            );
            if renamed {
                let mut snapshot = edit.snapshot().clone();
                snapshot.uri = renamed_to(&name, &self.operations)?;
                let edit = Edit::new(snapshot, edit.replacements().to_vec());
                plan.after.push(edit.map_err(|_| missing(&name))?);
            } else if edit.snapshot().is_buffer() {
                open.push(edit);
            } else {
                on_disk.push(edit);
            }
        }
        plan.edits = open;
        plan.edits.append(&mut on_disk);
        plan.operations = self.operations;
        Ok(plan)
    }
}

impl Draft {
    /// All edits of the document as one.
    fn into_edit(mut self) -> Edit {
        if self.edits.len() == 1
            && let Some(edit) = self.edits.pop()
        {
            return edit;
        }
        let changes = compare(&self.first.text, &self.now.text).changes;
        let replacements = changes.into_iter().map(|change| Replacement {
            range: ByteRange::new(change.old.start, change.old.end),
            text: self
                .now
                .text
                .slice(ByteRange::new(change.new.start, change.new.end)),
        });
        let replacements = replacements.collect();
        let whole = self.now.text.to_string();
        Edit::new(self.first.clone(), replacements)
            .unwrap_or_else(|_| Edit::whole(self.first, &whole))
    }
}

/// The name that a document has when all operations are done.
fn renamed_to(name: &DocumentUri, operations: &[Operation]) -> Result<DocumentUri, StepError> {
    let mut path = path_of(name)?.to_owned();
    for operation in operations {
        if let Operation::Rename { from, to, .. } = operation
            && let Ok(rest) = path.strip_prefix(path_of(from)?)
        {
            path = joined(path_of(to)?, rest);
        }
    }
    DocumentUri::from_path(&path).map_err(|_| missing(name))
}

fn joined(folder: &Path, rest: &Path) -> PathBuf {
    // An empty rest would leave a slash at the end.
    match rest.as_os_str().is_empty() {
        true => folder.to_owned(),
        false => folder.join(rest),
    }
}

fn conflicted(conflict: &Conflict, newest: &Snapshot) -> StepError {
    ApplyError::Conflict {
        uri: newest.uri.clone(),
        fresh: newest.clone(),
        region: conflict.region,
    }
    .into()
}

/// Whether something can be put into the folder above a name, which may have to be made.
fn check_parent(path: &Path) -> Result<(), StepError> {
    let above = path.ancestors().skip(1).find(|above| above.exists());
    let Some(above) = above else {
        return Ok(());
    };
    if !above.is_dir() {
        return Err(crate::WriteError::NotADirectory {
            path: path.to_owned(),
        }
        .into());
    }
    check_folder_takes(above, path)
}

/// A folder takes what is in it along: nothing may be there that the model must not touch.
fn check_folder(folder: &Path, is_folder: bool) -> Result<(), StepError> {
    if !is_folder {
        return Ok(());
    }
    let holds = |what: String| StepError::Holds {
        path: folder.to_owned(),
        what,
    };
    let mut waiting = vec![folder.to_owned()];
    let mut seen = 0;
    while let Some(next) = waiting.pop() {
        let all = fs::read_dir(&next).map_err(|source| StepError::Io {
            what: "look through",
            path: next.clone(),
            source,
        })?;
        for entry in all.flatten() {
            seen += 1;
            if seen > MOST_IN_A_FOLDER {
                return Err(holds(format!(
                    "more than {MOST_IN_A_FOLDER} files, too many for one change"
                )));
            }
            let path = entry.path();
            if disk::holds_rules(&path) || disk::is_hidden_from_model(&path) {
                return Err(holds("files that are kept from the model".to_owned()));
            }
            if entry.file_name().eq_ignore_ascii_case(".git") {
                return Err(holds("a .git folder".to_owned()));
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                waiting.push(path);
            }
        }
    }
    Ok(())
}

/// Whether a thing may be taken out of its folder.
fn check_may_leave(path: &Path) -> Result<(), StepError> {
    match path.parent() {
        Some(folder) => check_folder_takes(folder, path),
        None => Ok(()),
    }
}

fn check_folder_takes(folder: &Path, path: &Path) -> Result<(), StepError> {
    #[cfg(unix)]
    let may = rustix::fs::access(folder, rustix::fs::Access::WRITE_OK).is_ok();
    #[cfg(not(unix))]
    let may = folder.is_dir();
    match may {
        true => Ok(()),
        false => Err(crate::WriteError::Denied {
            path: path.to_owned(),
        }
        .into()),
    }
}

pub(super) fn path_of(uri: &DocumentUri) -> Result<&Path, StepError> {
    uri.path()
        .ok_or_else(|| StepError::NoFile { uri: uri.clone() })
}

pub(super) fn exists(path: &Path) -> StepError {
    StepError::Exists {
        path: path.to_owned(),
    }
}

fn missing(uri: &DocumentUri) -> StepError {
    match uri.path() {
        Some(path) => StepError::Missing {
            path: path.to_owned(),
        },
        None => StepError::NoFile { uri: uri.clone() },
    }
}

fn folder(uri: &DocumentUri) -> StepError {
    match uri.path() {
        Some(path) => StepError::Folder {
            path: path.to_owned(),
        },
        None => StepError::NoFile { uri: uri.clone() },
    }
}
