//! Finding text and files on disk and in the open buffers. It reads and never changes; it judges no path but by
//! `.copydeskignore`.
//!
//! Everything here blocks: call it where that may be. A search looks at the buffer where a file is open, and at the disk
//! elsewhere, and ends soon after it is cancelled.

mod glob;
mod grep;
mod line;
mod list;
mod newest;
mod path_glob;
mod pattern;
mod scope;

use std::path::PathBuf;

use tokio_util::sync::CancellationToken;

use crate::{DocumentUri, ReadError, Workspace};

pub use list::{Listed, Listing, Thing};
pub use pattern::Case;

/// How many matches, or paths, are given if the asker does not say.
pub const LIMIT: usize = 100;
/// How many lines of a tree are given if the asker does not say.
pub const LIST_LIMIT: usize = 300;

/// What to search the texts for.
#[derive(Clone, Debug)]
pub struct GrepQuery {
    /// A regular expression in Rust's syntax.
    pub pattern: String,
    /// The file or folder to search, absolute or relative to a root; all roots, and buffers without a file, if `None`.
    pub path: Option<PathBuf>,
    /// A glob that the path of a document must match.
    pub include: Option<String>,
    /// How letters are compared.
    pub case: Case,
    /// How many matches are given; the others are counted.
    pub limit: usize,
}

impl GrepQuery {
    /// A search of everything for a pattern.
    pub fn new(pattern: impl Into<String>) -> Self {
        Self {
            pattern: pattern.into(),
            path: None,
            include: None,
            case: Case::default(),
            limit: LIMIT,
        }
    }
}

/// What a search found: the newest documents first (those with unsaved changes before all), each from the top down.
#[derive(Clone, Debug, Default)]
pub struct GrepFound {
    /// The matches that are given.
    pub matches: Vec<GrepMatch>,
    /// How many there are, given or not: lines with a match, or stretches of lines that one match spans.
    pub total: usize,
    /// How many documents have one.
    pub files: usize,
    /// Whether there are more than are given.
    pub truncated: bool,
    /// What could not be searched.
    pub unsearched: Unsearched,
}

/// A line (or the lines) with a match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrepMatch {
    /// The document.
    pub uri: DocumentUri,
    /// The line in which the first match begins, from 1.
    pub line: usize,
    /// Where it begins there, in characters from 1.
    pub column: usize,
    /// The line, or all lines of a match over several, without the last line end. At most 2000 characters around the
    /// match are kept; `…` stands where some were cut off.
    pub text: String,
    /// Whether the text is a buffer's that differs from the disk.
    pub unsaved: bool,
}

/// Which files to find by name.
#[derive(Clone, Debug)]
pub struct GlobQuery {
    /// A glob: without a slash for names anywhere, with one for paths below `path`.
    pub pattern: String,
    /// The folder to look in, absolute or relative to a root; all roots if `None`.
    pub path: Option<PathBuf>,
    /// How many are given; the others are counted.
    pub limit: usize,
}

impl GlobQuery {
    /// A look through everything for a glob.
    pub fn new(pattern: impl Into<String>) -> Self {
        Self {
            pattern: pattern.into(),
            path: None,
            limit: LIMIT,
        }
    }
}

/// Which files there are, the newest first.
#[derive(Clone, Debug, Default)]
pub struct GlobFound {
    /// The files that are given.
    pub files: Vec<GlobMatch>,
    /// How many there are, given or not.
    pub total: usize,
    /// Whether there are more than are given.
    pub truncated: bool,
    /// Folders that could not be looked into.
    pub unsearched: Unsearched,
}

/// A file that a glob matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GlobMatch {
    /// Where it is.
    pub path: PathBuf,
    /// Whether it is open with changes that are not on disk, or not on disk at all.
    pub unsaved: bool,
}

/// Which folder to show as a tree.
#[derive(Clone, Debug)]
pub struct ListQuery {
    /// The folder, absolute or relative to a root; all roots if `None`.
    pub path: Option<PathBuf>,
    /// Globs, in the syntax of `.gitignore`, of what to leave out.
    pub ignore: Vec<String>,
    /// How many files and folders are given at most.
    pub limit: usize,
}

impl Default for ListQuery {
    fn default() -> Self {
        Self {
            path: None,
            ignore: Vec::new(),
            limit: LIST_LIMIT,
        }
    }
}

/// Documents and folders that a search could not look at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unsearched {
    /// How many.
    pub count: usize,
    /// The first of them, and why.
    pub named: Vec<(PathBuf, String)>,
}

/// Why a search gave nothing.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// The pattern is no regular expression.
    #[error("the pattern is not a regular expression that can be searched for: {reason}")]
    Pattern {
        /// As it was given.
        pattern: String,
        /// What is wrong with it, and where.
        reason: String,
    },
    /// The glob is none.
    #[error("{glob:?} is no glob: {reason}")]
    Glob {
        /// As it was given.
        glob: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The path can't be searched.
    #[error(transparent)]
    Path(#[from] ReadError),
    /// Something other than a folder was to be shown as a tree, or looked through by a glob.
    #[error("{} is a file, not a folder", .path.display())]
    NotADirectory {
        /// What was asked for.
        path: PathBuf,
    },
    /// It was cancelled.
    #[error("cancelled")]
    Cancelled,
}

impl Workspace {
    /// Searches texts for a pattern. Blocks.
    pub fn grep(
        &self,
        query: &GrepQuery,
        cancel: &CancellationToken,
    ) -> Result<GrepFound, SearchError> {
        grep::run(self, query, cancel)
    }

    /// Finds files by their paths. Blocks.
    pub fn glob(
        &self,
        query: &GlobQuery,
        cancel: &CancellationToken,
    ) -> Result<GlobFound, SearchError> {
        glob::run(self, query, cancel)
    }

    /// Shows a folder as a tree. Blocks.
    pub fn list(
        &self,
        query: &ListQuery,
        cancel: &CancellationToken,
    ) -> Result<Listing, SearchError> {
        list::run(self, query, cancel)
    }
}

#[cfg(test)]
mod tests;
