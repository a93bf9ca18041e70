//! Roots, buffers, disk and the holder of the buffers, as one. It decides where a text comes from, never what it means.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::{
    Buffers, DocumentUri, Host, ReadError, Reading, Snapshot, apply::Turns, disk, roots::Roots,
};

/// The folders that we work in, and every text in them.
pub struct Workspace {
    pub(crate) roots: Roots,
    pub(crate) buffers: Arc<Buffers>,
    pub(crate) host: Arc<dyn Host>,
    pub(crate) turns: Turns,
}

impl Workspace {
    /// A workspace of these folders.
    pub fn new(roots: Vec<PathBuf>, buffers: Arc<Buffers>, host: Arc<dyn Host>) -> Arc<Self> {
        Arc::new(Self {
            roots: Roots::new(roots),
            buffers,
            host,
            turns: Turns::default(),
        })
    }

    /// The folders.
    pub fn roots(&self) -> Vec<PathBuf> {
        self.roots.get()
    }

    /// Other folders, from now on.
    pub fn set_roots(&self, roots: Vec<PathBuf>) {
        self.roots.set(roots);
    }

    /// The open buffers.
    pub const fn buffers(&self) -> &Arc<Buffers> {
        &self.buffers
    }

    /// The innermost root that a path lies in, symlinks and `..` resolved.
    pub fn root_of(&self, path: &Path) -> Option<PathBuf> {
        self.roots.holding(path)
    }

    /// Whether a path lies in one of the roots, symlinks and `..` resolved.
    pub fn contains(&self, path: &Path) -> bool {
        self.root_of(path).is_some()
    }

    /// Whether a `.copydeskignore` keeps a path from the model.
    pub fn is_ignored_for_model(&self, path: &Path) -> bool {
        disk::is_hidden_from_model(path)
    }

    /// A document's text: the buffer's if it is open, by whatever name its file has, else the disk's. It reads the disk,
    /// and so may block.
    pub fn read(&self, uri: &DocumentUri) -> Result<Snapshot, ReadError> {
        self.reading().read(uri)
    }

    /// Several documents are about to be looked at for one question.
    pub fn reading(&self) -> Reading<'_> {
        Reading::of(self)
    }
}

#[cfg(test)]
mod tests;
