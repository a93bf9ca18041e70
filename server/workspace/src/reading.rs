//! Several documents, looked at for one question: each folder is resolved, and each ignore file read, once for all of them.
//! It is not kept: what it knows is of the moment.

use std::{
    collections::HashMap,
    path::{Component, Path, PathBuf},
};

use crate::{
    DocumentUri, ReadError, Snapshot, Workspace,
    disk::{self, Hiding},
    resolve,
    roots::innermost,
};

/// Looks at several documents for one question, during which links and the rules of `.copydeskignore` files count as they
/// were when they were first met. Not to be kept.
pub struct Reading<'a> {
    workspace: &'a Workspace,
    /// The roots, resolved and as they were given; once they are needed.
    roots: Option<Vec<(PathBuf, PathBuf)>>,
    /// Where folders really are.
    folders: HashMap<PathBuf, Option<PathBuf>>,
    /// What is known of paths.
    known: HashMap<PathBuf, Known>,
    hiding: Hiding,
}

/// Where a path leads.
#[derive(Clone)]
struct Known {
    real: PathBuf,
    /// Whether something is there, and it is no link: then so, whether it is a folder.
    plain: Option<bool>,
}

impl<'a> Reading<'a> {
    pub(crate) fn of(workspace: &'a Workspace) -> Self {
        Self {
            workspace,
            roots: None,
            folders: HashMap::new(),
            known: HashMap::new(),
            hiding: Hiding::default(),
        }
    }

    /// A document's text, as [`Workspace::read`] gives it.
    pub fn read(&mut self, uri: &DocumentUri) -> Result<Snapshot, ReadError> {
        let Some(path) = uri.path() else {
            let open = self.workspace.buffers().get(uri);
            return open.ok_or_else(|| ReadError::NoFile { uri: uri.clone() });
        };
        if self.is_ignored_for_model(path) {
            return Err(ReadError::Hidden {
                path: path.to_owned(),
            });
        }
        match self.open(uri) {
            Some(snapshot) => Ok(snapshot),
            None => disk::read_shown(uri),
        }
    }

    /// The buffer of a document that is open, by whatever name its file has.
    pub fn open(&mut self, uri: &DocumentUri) -> Option<Snapshot> {
        let buffers = self.workspace.buffers();
        let Some(path) = uri.path() else {
            return buffers.get(uri);
        };
        let known = self.known(path);
        let name = buffers.name_of_file(uri, &known.real)?;
        buffers.get(&name)
    }

    /// A document's text as it is on disk, whether or not it is open.
    pub fn read_disk(&mut self, uri: &DocumentUri) -> Result<Snapshot, ReadError> {
        match uri.path() {
            Some(path) if self.is_ignored_for_model(path) => Err(ReadError::Hidden {
                path: path.to_owned(),
            }),
            _ => disk::read_shown(uri),
        }
    }

    /// Where a path leads, as far as it exists.
    pub fn real(&mut self, path: &Path) -> PathBuf {
        self.known(path).real
    }

    /// Whether a path is kept from the model, as [`Workspace::is_ignored_for_model`] says.
    pub fn is_ignored_for_model(&mut self, path: &Path) -> bool {
        let known = self.known(path);
        match known.plain {
            Some(is_folder) => self.hiding.hides_plain(path, &known.real, is_folder),
            None => self.hiding.hides(path),
        }
    }

    /// Whether a path lies in one of the roots, as [`Workspace::contains`] says.
    pub fn contains(&mut self, path: &Path) -> bool {
        self.root_of(path).is_some()
    }

    /// The innermost root that a path lies in, as [`Workspace::root_of`] says.
    pub fn root_of(&mut self, path: &Path) -> Option<PathBuf> {
        let known = self.known(path);
        if known.plain.is_none() {
            return self.workspace.root_of(path);
        }
        let resolved = || {
            let roots = self.workspace.roots().into_iter();
            let resolved = roots.filter_map(|root| Some((resolve(&root)?, root)));
            resolved.collect()
        };
        let roots = self.roots.get_or_insert_with(resolved);
        innermost(&known.real, roots).map(Path::to_owned)
    }

    fn known(&mut self, path: &Path) -> Known {
        if let Some(known) = self.known.get(path) {
            return known.clone();
        }
        let known = self.plain(path).unwrap_or_else(|| Known {
            real: disk::real_path(path),
            plain: None,
        });
        self.known.insert(path.to_owned(), known.clone());
        known
    }

    /// Of what is no link: where its folder is, it is too, by the same name. Some systems know a name by other spellings.
    fn plain(&mut self, path: &Path) -> Option<Known> {
        const SPELLED_ONE_WAY: bool = cfg!(all(unix, not(target_vendor = "apple")));
        let goes_up = path.components().any(|part| part == Component::ParentDir);
        if !SPELLED_ONE_WAY || !path.is_absolute() || goes_up {
            return None;
        }
        let (folder, name) = (path.parent()?, path.file_name()?);
        let metadata = path.symlink_metadata().ok()?;
        if metadata.is_symlink() {
            return None;
        }
        if !self.folders.contains_key(folder) {
            let real = folder.canonicalize().ok();
            self.folders.insert(folder.to_owned(), real);
        }
        let real = self.folders.get(folder)?.as_ref()?;
        Some(Known {
            real: real.join(name),
            plain: Some(metadata.is_dir()),
        })
    }
}
