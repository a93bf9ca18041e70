//! How a server is.

use std::{fmt, path::PathBuf};

/// How a server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerStatus {
    /// Its name in the configuration.
    pub name: String,
    /// The root of the project that it serves.
    pub root: PathBuf,
    /// What it does.
    pub state: ServerState,
    /// Its process, if it runs.
    pub pid: Option<u32>,
    /// The last lines that it wrote to its stderr, if it runs; how it failed says them too.
    pub said: String,
    /// What it says of its own health, if it is not well.
    pub trouble: Option<String>,
}

/// What a server does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerState {
    /// It was started and has not introduced itself.
    Starting,
    /// It answers, but does not know everything yet.
    Indexing,
    /// It knows what it can know.
    Ready,
    /// It could not be started, or it died; the next use tries again.
    Failed(String),
}

impl fmt::Display for ServerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Starting => f.write_str("starting"),
            Self::Indexing => f.write_str("indexing"),
            Self::Ready => f.write_str("ready"),
            Self::Failed(reason) => write!(f, "failed: {reason}"),
        }
    }
}
