//! The port to whoever holds the buffers: each door implements it. It never decides whether an edit stands.

use async_trait::async_trait;

use crate::{DocumentUri, Edit};

/// Who holds the open buffers.
#[async_trait]
pub trait Host: Send + Sync {
    /// Hands one edit of one document to the holder of its buffer, and gives what it answered.
    ///
    /// The edit is against the newest snapshot that we know. An answer proves nothing: the caller
    /// compares the texts that come back.
    async fn apply(&self, edit: &Edit, label: &str) -> Result<Reply, HostError>;

    /// Whether the holder would do this to a file that it has open. Most can't.
    fn can(&self, operation: &FileOperation) -> bool {
        let _ = operation;
        false
    }

    /// Has the holder do something to a file that it has open, on disk and in its buffers. Again an answer proves nothing.
    async fn operate(&self, operation: &FileOperation, label: &str) -> Result<Reply, HostError> {
        let _ = (operation, label);
        Err(HostError::Unsupported)
    }
}

/// What is done to a whole file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileOperation {
    /// Another name, under which there is nothing yet.
    Rename {
        /// The old one.
        from: DocumentUri,
        /// The new one.
        to: DocumentUri,
    },
    /// Away with it.
    Delete {
        /// Which.
        uri: DocumentUri,
    },
}

/// What the holder said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// It says that it applied the edit.
    Applied,
    /// It says that it did not.
    Refused {
        /// Its reason, if it gave one.
        reason: Option<String>,
    },
}

/// Why there was no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// The holder has no way to take edits.
    #[error("the editor takes no edits from a server")]
    Unsupported,
    /// It answered with an error.
    #[error("the editor answered the edit with an error: {0}")]
    Failed(String),
    /// It is gone.
    #[error("the connection to the editor is closed")]
    Closed,
}
