//! What can go wrong with a model, in words that say what to do. No text here ever holds a key.

use std::time::Duration;

/// Why a model gave no answer, or only a part of one.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The stream broke.
    #[error("{0}")]
    Stream(String),
    /// Nothing came for so long.
    #[error("nothing for {0:?}")]
    Idle(Duration),
    /// The run was cancelled.
    #[error("cancelled")]
    Cancelled,
}
