//! A change of several files: all of it or nothing. Everything is checked before anything is made; what was made is
//! taken back if a later part fails, and whatever could not be is named. Which files may be changed is decided
//! elsewhere, but for what is kept from the model.

mod made;
mod plan;

use std::{fmt, io, path::PathBuf, sync::Arc};

use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use self::{made::Made, plan::Plan};
use super::{Applied, ApplyError};
use crate::{Buffers, DocumentUri, Edit, Host, ReadError, Snapshot, Workspace, WriteError};

/// One step of a change, in the order in which the steps are meant.
#[derive(Clone, Debug)]
pub enum Step {
    /// Text in a document. One that an earlier step makes is edited as the empty text that it is then, one that an
    /// earlier step renames under its new name.
    Edit(Edit),
    /// Something done to a whole file.
    File(FileStep),
}

/// What is done to a whole file, or a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileStep {
    /// A new, empty file.
    Create {
        /// Which.
        uri: DocumentUri,
        /// Whether one that is there is emptied.
        overwrite: bool,
        /// Whether one that is there is left as it is. `overwrite` counts more.
        ignore_if_exists: bool,
    },
    /// Another name for a file or a folder.
    Rename {
        /// The old name.
        from: DocumentUri,
        /// The new one.
        to: DocumentUri,
        /// Whether a file that is there under the new name is replaced.
        overwrite: bool,
        /// Whether nothing is done if something is there under the new name. `overwrite` counts more.
        ignore_if_exists: bool,
    },
    /// Away with a file or a folder.
    Delete {
        /// Which.
        uri: DocumentUri,
        /// Whether a folder may have something in it.
        recursive: bool,
        /// Whether it is well if there is none.
        ignore_if_absent: bool,
    },
}

impl FileStep {
    /// The names that it is about.
    pub fn touched(&self) -> Vec<&DocumentUri> {
        match self {
            Self::Create { uri, .. } | Self::Delete { uri, .. } => vec![uri],
            Self::Rename { from, to, .. } => vec![from, to],
        }
    }
}

/// A change that stands.
#[derive(Clone, Debug, Default)]
pub struct Together {
    /// The texts that were changed, those of new files included.
    pub applied: Vec<Applied>,
    /// The files that were made.
    pub created: Vec<DocumentUri>,
    /// What has another name now: the old, the new.
    pub renamed: Vec<(DocumentUri, DocumentUri)>,
    /// What is gone.
    pub deleted: Vec<DocumentUri>,
    /// The files that are gone or have another name, as they were; and by their new names, empty. Of folders nothing.
    pub before: Vec<Snapshot>,
}

impl Together {
    /// How many files were changed, made, renamed or deleted.
    pub fn is_empty(&self) -> bool {
        self.applied.is_empty() && self.renamed.is_empty() && self.deleted.is_empty()
    }

    /// Every name under which the disk may be another now.
    pub fn on_disk(&self) -> Vec<DocumentUri> {
        let edited = self
            .applied
            .iter()
            .filter(|applied| !applied.after.is_buffer());
        let edited = edited.map(|applied| applied.after.uri.clone());
        let renamed = self.renamed.iter().flat_map(|(from, to)| [from, to]);
        let mut names: Vec<_> = edited
            .chain(self.created.iter().cloned())
            .chain(renamed.cloned())
            .chain(self.deleted.iter().cloned())
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

/// Why one step can't be made.
#[derive(Debug, thiserror::Error)]
pub enum StepError {
    /// An edit could not be made.
    #[error(transparent)]
    Apply(#[from] ApplyError),
    /// There is something under that name.
    #[error("{} is there already", .path.display())]
    Exists {
        /// The name.
        path: PathBuf,
    },
    /// There is nothing under that name.
    #[error("{} does not exist", .path.display())]
    Missing {
        /// The name.
        path: PathBuf,
    },
    /// Not a thing on a disk.
    #[error("{uri} is no file")]
    NoFile {
        /// Which.
        uri: DocumentUri,
    },
    /// The editor has it open, and can't be told.
    #[error("{uri} is open in the editor, which can't be told to {what} it: close it first")]
    Open {
        /// Which.
        uri: DocumentUri,
        /// What was to be done.
        what: &'static str,
    },
    /// What was typed there would be lost.
    #[error("{uri} has unsaved changes, which would be lost: save it first")]
    Unsaved {
        /// Which.
        uri: DocumentUri,
    },
    /// A folder with something in it, and only an empty one was to go.
    #[error("{} is a folder that is not empty", .path.display())]
    NotEmpty {
        /// The folder.
        path: PathBuf,
    },
    /// A folder, where a file is due.
    #[error("{} is a folder", .path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
    },
    /// A folder that holds what is kept from the model, or too much to be looked through.
    #[error("{} holds {what}", .path.display())]
    Holds {
        /// The folder.
        path: PathBuf,
        /// What it holds.
        what: String,
    },
    /// A folder can't be put into itself.
    #[error("{} can't be put into itself", .path.display())]
    IntoItself {
        /// The folder.
        path: PathBuf,
    },
    /// The editor would not do it.
    #[error("the editor did not {what} {uri}: {reason}")]
    Refused {
        /// Which.
        uri: DocumentUri,
        /// What was to be done.
        what: &'static str,
        /// Why, as far as that is known.
        reason: String,
    },
    /// The file system would not do it.
    #[error("can't {what} {}: {source}", .path.display())]
    Io {
        /// What was to be done.
        what: &'static str,
        /// To what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl From<ReadError> for StepError {
    fn from(error: ReadError) -> Self {
        Self::Apply(error.into())
    }
}

impl From<WriteError> for StepError {
    fn from(error: WriteError) -> Self {
        Self::Apply(error.into())
    }
}

/// Why a change was not made, and how far that is true.
#[derive(Debug)]
pub struct TogetherError {
    /// What stood in its way.
    pub cause: StepError,
    /// Whether some of it had been made when it failed.
    pub begun: bool,
    /// What had been made and could not be taken back: what is how now, in words.
    pub left: Vec<String>,
}

impl fmt::Display for TogetherError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; ", self.cause)?;
        match (self.begun, self.left.as_slice()) {
            (false, _) => f.write_str("nothing was changed"),
            (true, []) => f.write_str("what had been changed was taken back"),
            (true, left) => write!(
                f,
                "what had been changed was taken back, BUT NOT ALL: {}",
                left.join("; ")
            ),
        }
    }
}

impl std::error::Error for TogetherError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.cause)
    }
}

/// What the parts of a change share.
#[derive(Clone)]
struct Crew {
    label: String,
    buffers: Arc<Buffers>,
    host: Arc<dyn Host>,
    cancel: CancellationToken,
}

impl Workspace {
    /// Makes a change of several files, whoever holds them: all of it, or nothing.
    ///
    /// Open buffers are changed first, since they are the likeliest to refuse; then files on disk; then files are made,
    /// renamed and deleted. It is in turn in every document at once. Once something is made, the change goes on though
    /// this future is dropped.
    pub async fn apply_all(
        &self,
        steps: Vec<Step>,
        label: &str,
        cancel: &CancellationToken,
    ) -> Result<Together, TogetherError> {
        let refused = |cause| TogetherError {
            cause,
            begun: false,
            left: Vec::new(),
        };
        let cancelled = || refused(ApplyError::Cancelled.into());
        let crew = Crew {
            label: label.to_owned(),
            buffers: self.buffers.clone(),
            host: self.host.clone(),
            cancel: cancel.clone(),
        };
        // One order for all, so that no two changes wait for each other.
        let names = plan::names(&steps, &self.buffers);
        let mut turns = Vec::with_capacity(names.len());
        for name in &names {
            let Some(turn) = cancel.run_until_cancelled(self.turns.wait(name)).await else {
                return Err(cancelled());
            };
            turns.push(turn);
        }
        let going = async move {
            let plan = {
                let crew = crew.clone();
                super::onto_disk::blocking(move || Plan::of(steps, &crew)).await
            };
            let result = match plan {
                Ok(plan) => Made::all_of(plan, crew).await,
                Err(cause) => Err(refused(cause)),
            };
            drop(turns);
            result
        };
        let task = tokio::spawn(going.instrument(tracing::debug_span!("apply together")));
        match task.await {
            Ok(result) => result,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => Err(cancelled()),
            },
        }
    }
}
