//! `glob`: files by their paths, the newest first. It opens none of them.

use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
};

use tokio_util::sync::CancellationToken;

use crate::{Workspace, disk::is_hidden_from_model};

use super::{
    GlobFound, GlobMatch, GlobQuery, SearchError,
    newest::{Age, Newest},
    path_glob::PathGlob,
    scope::{Entry, Misses, Open, Scope},
};

pub(super) fn run(
    workspace: &Workspace,
    query: &GlobQuery,
    cancel: &CancellationToken,
) -> Result<GlobFound, SearchError> {
    let glob = PathGlob::new(&query.pattern)?;
    let scope = Scope::new(workspace, query.path.as_deref())?;
    if let Some(path) = scope.file {
        return Err(SearchError::NotADirectory { path });
    }
    let found = Found {
        newest: Newest::new(query.limit),
        total: AtomicUsize::new(0),
    };
    let misses = Misses::default();
    scope.walk(Some(&glob), cancel, &misses, || {
        |entry: &Entry<'_>| found.walked(entry)
    })?;
    for open in scope.unseen(Some(&glob)) {
        if let Some(path) = open.snapshot.uri.path() {
            found.buffer(path, open);
        }
    }
    let total = found.total.into_inner();
    let files: Vec<GlobMatch> = found
        .newest
        .into_sorted()
        .map(|(path, unsaved)| GlobMatch { path, unsaved })
        .collect();
    Ok(GlobFound {
        truncated: total > files.len(),
        files,
        total,
        unsearched: misses.into_inner(),
    })
}

struct Found {
    newest: Newest<bool>,
    total: AtomicUsize,
}

impl Found {
    fn walked(&self, entry: &Entry<'_>) {
        if let Some(open) = entry.buffers().next() {
            return self.buffer(&entry.spelled(), open);
        }
        let path = entry.file.path();
        // A link to a file is a file to whoever looks for its name; one to a folder is not followed.
        let Some(metadata) = path.metadata().ok().filter(std::fs::Metadata::is_file) else {
            return;
        };
        if entry.file.path_is_symlink() && is_hidden_from_model(path) {
            return;
        }
        self.add(
            Age::Saved(metadata.modified().ok()),
            || entry.spelled(),
            false,
        );
    }

    fn buffer(&self, path: &Path, open: &Open) {
        let (age, unsaved) = open.age();
        self.add(age, || path.to_owned(), unsaved);
    }

    fn add(&self, age: Age, path: impl Fn() -> PathBuf, unsaved: bool) {
        self.total.fetch_add(1, Ordering::Relaxed);
        if self.newest.wants(age) {
            self.newest.add(age, path(), 1, unsaved);
        }
    }
}
