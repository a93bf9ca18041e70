//! How an edit gets into a document: through the editor if it is open there, else onto the disk. It is booked when its
//! text stands, never because somebody said so. Which edits may be made is decided elsewhere.

mod into_buffer;
mod judge;
mod onto_disk;
mod together;
mod turns;

use std::{path::PathBuf, sync::Arc, time::Instant};

use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use crate::{
    Buffers, ByteRange, DocumentUri, Edit, Host, HostError, ReadError, Replacement, Snapshot, Text,
    Workspace, WriteError, disk,
};

pub use together::{FileStep, Step, StepError, Together, TogetherError};
pub(crate) use turns::Turns;

/// One stretch that an edit changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hunk {
    /// Where the new text stands, in the text after.
    pub range: ByteRange,
    /// What was there before.
    pub removed: String,
    /// What is there now.
    pub added: String,
}

/// An edit that stands.
#[derive(Clone, Debug)]
pub struct Applied {
    /// The text that the edit was made against in the end.
    pub before: Snapshot,
    /// The first text in which it stood, with whatever the user typed meanwhile.
    pub after: Snapshot,
    /// What the edit changed, in ascending order; empty if there was nothing to change.
    pub hunks: Vec<Hunk>,
}

/// Why an edit was not made, or is not known to be.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// The region was changed by someone else. What stands there now is in `fresh`.
    #[error("{uri} was changed in the same place meanwhile")]
    Conflict {
        /// Which document.
        uri: DocumentUri,
        /// The text as it is now.
        fresh: Snapshot,
        /// The region, in the last text that the edit was made against.
        region: ByteRange,
    },
    /// The editor would not take it.
    #[error("the editor refused the edit of {uri}: {}", .reason.as_deref().unwrap_or("it gave no reason"))]
    Refused {
        /// Which document.
        uri: DocumentUri,
        /// The editor's own reason.
        reason: Option<String>,
    },
    /// The editor said that it applied the edit, and the text never came.
    #[error(
        "the editor said that it applied the edit of {uri}, but its text never came ({attempts} attempts)"
    )]
    NotApplied {
        /// Which document.
        uri: DocumentUri,
        /// How often it was tried.
        attempts: usize,
    },
    /// The editor never answered, and the text never came.
    #[error("the editor did not answer the edit of {uri}; it may still make it")]
    NoAnswer {
        /// Which document.
        uri: DocumentUri,
    },
    /// The editor put the edit where it does not belong.
    #[error(
        "the editor applied the edit of {uri} to a newer text than it was made for, and so in the wrong place"
    )]
    Misapplied {
        /// Which document.
        uri: DocumentUri,
        /// The text that the edit was to make of the one that it was made against.
        meant: Text,
        /// The text as it is now.
        fresh: Snapshot,
    },
    /// The editor has no way to take edits.
    #[error("the editor takes no edits from a server, so {uri} can't be changed while it is open")]
    Unsupported {
        /// Which document.
        uri: DocumentUri,
    },
    /// The buffer's text is not known to be the editor's.
    #[error("{uri} is out of step with the editor: {reason}")]
    OutOfStep {
        /// Which document.
        uri: DocumentUri,
        /// The first change that was refused.
        reason: String,
    },
    /// The document was closed while the edit was under way.
    #[error("{uri} was closed while it was being edited; whether the edit was made is not known")]
    ClosedMeanwhile {
        /// Which document.
        uri: DocumentUri,
    },
    /// A file with the rules of what is kept from the model. Whoever could change it could read everything.
    #[error("{} says what is kept from the model, so only a person changes it", .path.display())]
    Rules {
        /// The file.
        path: PathBuf,
    },
    /// The connection to the editor is closed.
    #[error("{}", HostError::Closed)]
    HostClosed,
    /// Cancelled before the edit was sent, or between two attempts.
    #[error("cancelled")]
    Cancelled,
    /// The file could not be read again before it was written.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The file could not be written.
    #[error(transparent)]
    Disk(#[from] WriteError),
}

impl Workspace {
    /// Makes an edit in the document's newest text, whoever holds it.
    ///
    /// One edit is under way in a document; the next one waits. One that was sent is waited for though the run is
    /// cancelled or this future dropped, so that no other is sent into it.
    pub async fn apply(
        &self,
        edit: Edit,
        label: &str,
        cancel: &CancellationToken,
    ) -> Result<Applied, ApplyError> {
        let uri = edit.snapshot().uri.clone();
        self.in_turn(&uri, label, cancel, |errand| async move {
            errand.edit(edit).await
        })
        .await
    }

    /// Makes a file that does not exist, with the folders above it. If a buffer is open under that name, its whole text
    /// is replaced.
    pub async fn create(
        &self,
        uri: &DocumentUri,
        content: &str,
        label: &str,
        cancel: &CancellationToken,
    ) -> Result<Applied, ApplyError> {
        let content = content.to_owned();
        self.in_turn(uri, label, cancel, |errand| async move {
            errand.create(&content).await
        })
        .await
    }

    async fn in_turn<F>(
        &self,
        uri: &DocumentUri,
        label: &str,
        cancel: &CancellationToken,
        go: impl FnOnce(Errand) -> F,
    ) -> Result<Applied, ApplyError>
    where
        F: Future<Output = Result<Applied, ApplyError>> + Send + 'static,
    {
        refuse_what_is_kept(uri)?;
        // Two names of one open file share its turns, and lead into its buffer.
        let uri = &self.buffers.name_of(uri).unwrap_or_else(|| uri.clone());
        let Some(turn) = cancel.run_until_cancelled(self.turns.wait(uri)).await else {
            return Err(ApplyError::Cancelled);
        };
        let errand = Errand {
            uri: uri.clone(),
            label: label.to_owned(),
            buffers: self.buffers.clone(),
            host: self.host.clone(),
            cancel: cancel.clone(),
        };
        let going = go(errand);
        let span = tracing::debug_span!("apply", %uri);
        // A task of its own: whoever asked may go away, the turn is over only when the edit is.
        let task = tokio::spawn(
            async move {
                let result = going.await;
                drop(turn);
                result
            }
            .instrument(span),
        );
        match task.await {
            Ok(result) => result,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => Err(ApplyError::Cancelled),
            },
        }
    }
}

/// An edit answers with what stands around it, and may come from elsewhere than a call that names its file: from a
/// language server's action. So what is kept from the model is kept here too, and the rules themselves with it.
fn refuse_what_is_kept(uri: &DocumentUri) -> Result<(), ApplyError> {
    let Some(path) = uri.path() else {
        return Ok(());
    };
    if disk::holds_rules(path) {
        return Err(ApplyError::Rules {
            path: path.to_owned(),
        });
    }
    if disk::is_hidden_from_model(path) {
        let path = path.to_owned();
        return Err(ReadError::Hidden { path }.into());
    }
    Ok(())
}

/// One edit's way into one document.
struct Errand {
    uri: DocumentUri,
    label: String,
    buffers: Arc<Buffers>,
    host: Arc<dyn Host>,
    cancel: CancellationToken,
}

impl Errand {
    async fn edit(self, edit: Edit) -> Result<Applied, ApplyError> {
        match self.follow() {
            Some((newest, texts)) => self.edit_buffer(edit, newest, texts).await,
            None => self.edit_disk(edit).await,
        }
    }

    async fn create(self, content: &str) -> Result<Applied, ApplyError> {
        match self.follow() {
            Some((newest, texts)) => {
                let whole = Edit::whole(newest.clone(), content);
                self.edit_buffer(whole, newest, texts).await
            }
            None => self.create_on_disk(content).await,
        }
    }

    /// The buffer as it is now and every text that it has from then on, if the file is open by any name.
    fn follow(&self) -> Option<(Snapshot, into_buffer::Texts)> {
        let name = self.buffers.name_of(&self.uri)?;
        self.buffers.follow(&name)
    }

    fn refuse_if_cancelled(&self) -> Result<(), ApplyError> {
        if self.cancel.is_cancelled() {
            Err(ApplyError::Cancelled)
        } else {
            Ok(())
        }
    }

    /// The edit in the newest text. To compare texts takes time, so it is no work for a thread that others wait for.
    async fn rebase(&self, edit: Edit, newest: &Snapshot) -> Result<Edit, ApplyError> {
        let (buffers, fresh) = (self.buffers.clone(), newest.clone());
        let rebased = onto_disk::blocking(move || {
            let before = edit.snapshot();
            let steps = buffers.steps(&fresh.uri, before.revision, fresh.revision);
            edit.rebase_along(steps.as_deref(), &fresh)
        });
        rebased.await.map_err(|conflict| ApplyError::Conflict {
            uri: self.uri.clone(),
            fresh: newest.clone(),
            region: conflict.region,
        })
    }
}

impl Applied {
    /// An edit that changes nothing.
    fn nothing(snapshot: Snapshot) -> Self {
        Self {
            before: snapshot.clone(),
            after: snapshot,
            hunks: Vec::new(),
        }
    }

    /// The edit as it stands in `after`; `None` if it does not.
    fn book(edit: &Edit, after: &Snapshot) -> Option<Self> {
        Self::book_until(edit, after, None)
    }

    /// The same, where nobody waits longer for it than until then.
    fn book_until(edit: &Edit, after: &Snapshot, deadline: Option<Instant>) -> Option<Self> {
        let places = edit.places_until(&after.text, deadline)?;
        let hunk = |(replacement, range): (&Replacement, ByteRange)| Hunk {
            range,
            removed: edit.snapshot().text.slice(replacement.range),
            added: replacement.text.clone(),
        };
        let hunks = edit.replacements().iter().zip(places).map(hunk).collect();
        Some(Self {
            before: edit.snapshot().clone(),
            after: after.clone(),
            hunks,
        })
    }
}

#[cfg(test)]
mod tests;
