//! Roots, buffers, disk and the holder of the buffers, as one. It decides where a text comes from, never what it means.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::{
    Buffers, DocumentUri, Host, ReadError, Snapshot,
    apply::Turns,
    disk::{self, Hiding},
    roots::Roots,
};

/// The folders that we work in, and every text in them.
pub struct Workspace {
    roots: Roots,
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

    /// Several documents are about to be read for one question.
    pub fn reading(&self) -> Reading<'_> {
        Reading {
            buffers: &self.buffers,
            hiding: Hiding::default(),
        }
    }
}

/// Reads several documents for one question, in which the rules of `.copydeskignore` files do not change. Not to be kept.
pub struct Reading<'a> {
    buffers: &'a Buffers,
    hiding: Hiding,
}

impl Reading<'_> {
    /// A document's text, as [`Workspace::read`] gives it.
    pub fn read(&mut self, uri: &DocumentUri) -> Result<Snapshot, ReadError> {
        let Some(path) = uri.path() else {
            let open = self.buffers.get(uri);
            return open.ok_or_else(|| ReadError::NoFile { uri: uri.clone() });
        };
        let real = disk::real_path(path);
        if self.hiding.hides_leading_to(path, &real) {
            return Err(ReadError::Hidden {
                path: path.to_owned(),
            });
        }
        let open = self.buffers.name_of_file(uri, &real);
        match open.and_then(|name| self.buffers.get(&name)) {
            Some(snapshot) => Ok(snapshot),
            None => disk::read_shown(uri),
        }
    }

    /// Whether a path is kept from the model, as [`Workspace::is_ignored_for_model`] says.
    pub fn is_ignored_for_model(&mut self, path: &Path) -> bool {
        self.hiding.hides(path)
    }
}

#[cfg(test)]
mod tests;
