//! What the rooms above get: small types with byte ranges and snapshots, none of LSP's. They only hold.

mod caution;
mod change;
mod diagnosis;
mod status;
mod symbol;

use std::time::Duration;

use workspace::{ByteRange, Snapshot};

pub(crate) use self::caution::Trouble;
pub use self::{
    caution::Caution,
    change::{CodeAction, FileChange, FileEdit},
    diagnosis::{Consequences, Diagnosis, Diagnostic, Severity},
    status::{ServerState, ServerStatus},
    symbol::{Call, FoundSymbol, HierarchyItem, Symbol, SymbolKind},
};

/// An answer, and how far it can be trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer<T> {
    /// What was asked for.
    pub value: T,
    /// `false`: the server was still indexing, so there may be more; or it is `from_disk`, or a `caution` says why.
    pub complete: bool,
    /// The server takes other documents from disk, and some of its language are not saved: places in them may be wrong.
    pub from_disk: bool,
    /// What keeps the server from knowing everything, though it is at rest.
    pub caution: Option<Caution>,
    /// Which server said it.
    pub server: String,
    /// How many results lie in documents that can't be read here or are not to be shown.
    pub left_out: usize,
    /// How many of those lie in documents that changed since the server was asked.
    pub changed: usize,
    /// How many more lie outside of the workspace, and were not read for being so many.
    pub outside: usize,
}

impl<T> Answer<T> {
    /// Whether the server may know more in a moment.
    pub fn is_early(&self) -> bool {
        let is_held_up = self.caution.as_ref().is_some_and(|one| one.is_partial);
        !self.complete && !self.from_disk && !is_held_up
    }
}

/// A place in a document.
#[derive(Debug, Clone)]
pub struct Location {
    /// The text that the range is in.
    pub snapshot: Snapshot,
    /// Where in it.
    pub range: ByteRange,
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
    /// There is one, and the configuration switches it off.
    #[error("{}", switched_off(.names, .language))]
    Disabled {
        /// All that there are for it.
        names: Vec<String>,
        /// The language id.
        language: String,
    },
    /// There is one, but not on this machine.
    #[error("{}", not_there(.name, .command, .configured_at.as_deref(), .install.as_deref()))]
    NotInstalled {
        /// The server.
        name: String,
        /// What was looked for.
        command: String,
        /// What installs it.
        install: Option<String>,
        /// Where the command is configured, if it is not the catalogue's.
        configured_at: Option<String>,
    },
    /// What is configured to be run can't be.
    #[error("{name} can't be started: {command} {reason}")]
    Unusable {
        /// The server.
        name: String,
        /// What was to be run.
        command: String,
        /// What is wrong with it.
        reason: String,
    },
    /// It has not introduced itself yet.
    #[error("{name} is still starting{}; ask again later", .since.map(|since| format!(": it has not answered `initialize` for {}", seconds(since))).unwrap_or_default())]
    NotReady {
        /// The server.
        name: String,
        /// For how long it has been asked to introduce itself, if it has been.
        since: Option<Duration>,
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
    #[error("{name} did not answer {method} {}{}", within(*.waited), .silent.map(|silent| format!("; it has answered nothing for {}", seconds(silent))).unwrap_or_default())]
    TimedOut {
        /// The server.
        name: String,
        /// LSP's name for what was asked.
        method: String,
        /// How long it was waited for, as far as that is known.
        waited: Option<Duration>,
        /// For how long it has answered nothing at all, if it was not waited for in full for that.
        silent: Option<Duration>,
    },
    /// Nobody wants the answer any more.
    #[error("cancelled")]
    Cancelled,
    /// What it said is of another text than there is now.
    #[error("{name} was overtaken by a change: ask again")]
    Overtaken {
        /// The server.
        name: String,
    },
    /// The document to be asked about can't be read.
    #[error("{0}")]
    Unreadable(String),
    /// What it would change is kept from the model.
    #[error("{name} failed: it would change a file that is hidden by a .copydeskignore file")]
    Hidden {
        /// The server.
        name: String,
    },
    /// It answered with an error, or with something that can't be used.
    #[error("{name} failed: {message}")]
    Failed {
        /// The server.
        name: String,
        /// Its own words.
        message: String,
    },
}

fn switched_off(names: &[String], language: &str) -> String {
    match names {
        [name] => format!(
            "{name} is switched off by the configuration ([language_servers.{name}] has enabled = false), and no other language server for {language} is known"
        ),
        names => format!(
            "all language servers that are known for {language} are switched off by the configuration (enabled = false in [language_servers.NAME]): {}",
            names.join(", ")
        ),
    }
}

/// Who has configured a command is told of that first: the server may be there, and called otherwise.
fn not_there(name: &str, command: &str, place: Option<&str>, install: Option<&str>) -> String {
    let mut text = match place {
        Some(place) => format!(
            "the command that is configured for {name} was not found: {command} (`language_servers.{name}.command`, {place}). Mend it there"
        ),
        None => format!("{name} is not installed ({command} was not found)"),
    };
    if let Some(install) = install {
        text.push_str(match place {
            Some(_) => ", or take it out and install the server with: ",
            None => "; install it with: ",
        });
        text.push_str(install);
    }
    text
}

/// "within 30 s".
fn within(waited: Option<Duration>) -> String {
    waited.map_or_else(
        || "in time".to_owned(),
        |waited| format!("within {}", seconds(waited)),
    )
}

/// A time as people are told it: whole seconds, and of a short one a part.
pub(crate) fn seconds(time: Duration) -> String {
    match time.as_secs() {
        0..10 => format!("{} s", (time.as_secs_f64() * 10.0).round() / 10.0),
        whole => format!("{whole} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        for (millis, expected) in [
            (0, "0 s"),
            (301, "0.3 s"),
            (2000, "2 s"),
            (9990, "10 s"),
            (30_002, "30 s"),
        ] {
            assert_eq!(seconds(Duration::from_millis(millis)), expected);
        }
    }
}
