//! What a server would change: actions that it offers, and the changes of files that they stand for.

use std::fmt;

use serde_json::Value;
use workspace::{DocumentUri, FileStep, Replacement, Snapshot};

use crate::server::{Had, WeakSource};

/// Something that a server offers to do.
#[derive(Clone)]
pub struct CodeAction {
    /// As shown to people.
    pub title: String,
    /// Its kind (`quickfix`).
    pub kind: Option<String>,
    /// Whether it is the one that the server would take.
    pub preferred: bool,
    /// Why it can't be applied now, if so.
    pub disabled: Option<String>,
    /// Which server offers it.
    pub server: String,
    /// The document that it was asked for.
    pub uri: DocumentUri,
    /// As it came.
    pub raw: Value,
    pub(crate) from: WeakSource,
    /// What the server had when it offered it.
    pub(crate) texts: Had,
}

impl fmt::Debug for CodeAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            title,
            kind,
            preferred,
            disabled,
            server,
            ..
        } = self;
        write!(
            f,
            "CodeAction({title:?}, {kind:?}, preferred: {preferred}, disabled: {disabled:?}, {server})"
        )
    }
}

/// Replacements in one document.
#[derive(Debug, Clone)]
pub struct FileEdit {
    /// Which document.
    pub uri: DocumentUri,
    /// In the coordinates of `snapshot`.
    pub edits: Vec<Replacement>,
    /// The text that they were made for.
    pub snapshot: Snapshot,
}

/// One step of a change of several files, in the order in which they are to be made.
#[derive(Debug, Clone)]
pub enum FileChange {
    /// Text in a document. Of one that an earlier step makes, the snapshot is empty.
    Edit(FileEdit),
    /// Something done to a whole file.
    File(FileStep),
}

impl FileChange {
    /// The documents that it is about.
    pub fn touched(&self) -> Vec<&DocumentUri> {
        match self {
            Self::Edit(file) => vec![&file.uri],
            Self::File(step) => step.touched(),
        }
    }
}
