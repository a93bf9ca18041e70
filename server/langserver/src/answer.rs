//! What the rooms above get: small types with byte ranges and snapshots, none of LSP's. They only hold.

use std::{
    fmt,
    path::PathBuf,
    sync::{Arc, Weak},
};

use serde_json::Value;
use workspace::{ByteRange, DocumentUri, Replacement, Snapshot};

use crate::{mirror::Texts, server::Server};

/// An answer, and how far it can be trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer<T> {
    /// What was asked for.
    pub value: T,
    /// `false`: the server was still indexing, so there may be more.
    pub complete: bool,
    /// Which server said it.
    pub server: String,
    /// How many results lie in documents that can't be read here or are not to be shown.
    pub left_out: usize,
}

/// A place in a document.
#[derive(Debug, Clone)]
pub struct Location {
    /// The text that the range is in.
    pub snapshot: Snapshot,
    /// Where in it.
    pub range: ByteRange,
}

/// How bad a diagnostic is; worse ones are smaller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// It does not work.
    Error,
    /// It may not.
    Warning,
    /// Worth knowing.
    Information,
    /// A suggestion.
    Hint,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Information => "information",
            Self::Hint => "hint",
        })
    }
}

/// What a server has to say of a stretch of text.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnostic {
    /// Where, in the newest text.
    pub range: ByteRange,
    /// How bad.
    pub severity: Severity,
    /// Its code, if it has one (`E0308`).
    pub code: Option<String>,
    /// What found it (`rustc`).
    pub source: Option<String>,
    /// In words.
    pub message: String,
    /// The server of ours that said it; `None`: someone else's.
    pub server: Option<String>,
    /// As it came.
    pub raw: Value,
}

/// What is known of a document's diagnostics. No answer is never a clean one.
#[derive(Debug, Clone, PartialEq)]
pub enum Diagnosis {
    /// Of the text as it was when asked (or newer).
    Fresh(Vec<Diagnostic>),
    /// The server had not finished in time: what it last said.
    Pending(Vec<Diagnostic>),
    /// There will be none, for this reason.
    Unavailable(String),
}

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
    pub(crate) from: Weak<Server>,
    /// What the server had when it offered it.
    pub(crate) texts: Arc<Texts>,
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

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// No server is configured for the language.
    #[error("no language server is known for {language}")]
    NoServer {
        /// The language id.
        language: String,
    },
    /// There is one, but not on this machine.
    #[error("{name} is not installed ({command} was not found){}", .install.as_ref().map(|install| format!("; install it with: {install}")).unwrap_or_default())]
    NotInstalled {
        /// The server.
        name: String,
        /// What was looked for.
        command: String,
        /// What installs it.
        install: Option<String>,
    },
    /// It has not introduced itself yet.
    #[error("{name} is still starting; ask again later")]
    NotReady {
        /// The server.
        name: String,
    },
    /// It ended while it was asked, or at every attempt to start it.
    #[error("{name} died: {detail}")]
    Died {
        /// The server.
        name: String,
        /// How, and the last that it said.
        detail: String,
    },
    /// It can't do this.
    #[error("{name} does not support {method}")]
    NotSupported {
        /// The server.
        name: String,
        /// LSP's name for it.
        method: String,
    },
    /// It did not answer in time.
    #[error("{name} did not answer {method} in time")]
    TimedOut {
        /// The server.
        name: String,
        /// LSP's name for what was asked.
        method: String,
    },
    /// Nobody wants the answer any more.
    #[error("cancelled")]
    Cancelled,
    /// The document to be asked about can't be read.
    #[error("{0}")]
    Unreadable(String),
    /// It answered with an error, or with something that can't be used.
    #[error("{name} failed: {message}")]
    Failed {
        /// The server.
        name: String,
        /// Its own words.
        message: String,
    },
}
