//! What servers have to say of a text, and how far that can be trusted.

use std::fmt;

use serde_json::Value;
use workspace::{ByteRange, DocumentUri, Snapshot};

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

/// What edits did to the diagnostics of the edited documents and of those that depend on them.
#[derive(Debug, Clone, Default)]
pub struct Consequences {
    /// What was not there before the edits, worst first: the newest text of the document, and the diagnostic in it.
    pub added: Vec<(Snapshot, Diagnostic)>,
    /// How many that were there before are gone.
    pub cured: usize,
    /// Documents about which the servers could not say it in time, and why.
    pub pending: Vec<(DocumentUri, String)>,
    /// Documents about which no server can say anything, and why.
    pub unavailable: Vec<(DocumentUri, String)>,
    /// Sources that follow saves (`rustc`), of which nothing is told here: that they are not named above means nothing.
    pub not_asked: Vec<String>,
    /// What else may have changed and was not looked at, in words that go on from "not looked at:".
    pub unlooked: Vec<String>,
    /// What the servers say that keeps them from knowing the project ("rust-analyzer says: Failed to load workspace").
    pub cautions: Vec<String>,
}
