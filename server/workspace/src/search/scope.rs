//! What a search is over: folders on disk, and the open buffers that lie in them. It decides which documents are
//! visible, and never looks into one.
//!
//! Rules are ripgrep's, with `.copydeskignore` over them: `.gitignore` (in a repository or not), `.ignore`, git's own
//! excludes, hidden names; symlinks are not followed. What is asked for by name is searched whatever those say, except
//! `.copydeskignore`, which nothing overrides. A buffer is visible where its file would be.

use std::{
    collections::HashMap,
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use ignore::{DirEntry, WalkBuilder, WalkState};
use tokio_util::sync::CancellationToken;

use crate::{
    ReadError, Snapshot, Workspace,
    disk::{self, IGNORE_FILE, nearest, real_path, without_dots},
};

use super::{
    SearchError, Unsearched,
    newest::Age,
    path_glob::{PathGlob, Spellings},
};

/// How many documents that could not be searched are named.
const NAMED: usize = 10;
/// What is git's own, and never searched unless it is asked for by name.
const GIT: &str = ".git";

/// A folder that is searched.
pub(super) struct Folder {
    /// As the asker spells it, and as results are spelled.
    pub(super) spelled: PathBuf,
    /// With symlinks resolved: what is walked, so that buffers are found under every name of theirs.
    real: PathBuf,
    /// Where it lies in the workspace.
    below_root: PathBuf,
    /// Whether it is on disk, and not only in the names of buffers that were never saved.
    exists: bool,
}

/// An open buffer in the scope of a search.
pub(super) struct Open {
    pub(super) snapshot: Snapshot,
    /// Its file's path with symlinks resolved.
    real: Option<PathBuf>,
    seen: AtomicBool,
}

/// What a search is over.
pub(super) struct Scope {
    pub(super) folders: Vec<Folder>,
    /// The one file that was asked for, in place of folders.
    pub(super) file: Option<PathBuf>,
    pub(super) open: Vec<Open>,
    /// By real path. Not a `PathBuf`: to hash one takes it apart, and every file of a walk is looked up.
    by_path: HashMap<OsString, Vec<usize>>,
}

/// A file (or symlink) that a walk came upon.
pub(super) struct Entry<'a> {
    scope: &'a Scope,
    pub(super) file: &'a DirEntry,
    /// The buffers in which it is open.
    pub(super) open: &'a [usize],
}

impl<'a> Entry<'a> {
    /// Its path, as the asker would spell it.
    pub(super) fn spelled(&self) -> PathBuf {
        let (folder, inside) = self.scope.place(self.file.path());
        folder.map_or_else(|| inside.to_owned(), |folder| folder.spelled.join(inside))
    }

    pub(super) fn buffers(&self) -> impl Iterator<Item = &'a Open> {
        self.open.iter().map(|index| &self.scope.open[*index])
    }
}

impl Scope {
    /// Everything, or what lies at a path: absolute, or relative to a root of the workspace.
    pub(super) fn new(workspace: &Workspace, path: Option<&Path>) -> Result<Self, SearchError> {
        let roots = workspace.roots();
        let mut scope = Self {
            folders: Vec::new(),
            file: None,
            open: workspace
                .buffers()
                .all()
                .into_iter()
                .map(Open::new)
                .collect(),
            by_path: HashMap::new(),
        };
        if let Some(path) = path {
            scope.narrow(&absolute(path, &roots), &roots)?;
        } else {
            // The walk itself only judges what lies in a root.
            let shown = |root: &&PathBuf| root.is_dir() && !disk::is_hidden_from_model(root);
            for root in roots.iter().filter(shown) {
                scope.add_folder(root, PathBuf::new(), true);
            }
            let everywhere = roots.is_empty();
            let folders = &scope.folders;
            scope.open.retain(|open| {
                everywhere || open.real.is_none() || folders.iter().any(|folder| folder.has(open))
            });
        }
        scope.open.retain(|open| !open.is_behind_a_hidden_link());
        for (index, open) in scope.open.iter().enumerate() {
            if let Some(real) = &open.real {
                scope
                    .by_path
                    .entry(real.clone().into_os_string())
                    .or_default()
                    .push(index);
            }
        }
        Ok(scope)
    }

    fn narrow(&mut self, path: &Path, roots: &[PathBuf]) -> Result<(), SearchError> {
        if disk::is_hidden_from_model(path) {
            return Err(ReadError::Hidden {
                path: path.to_owned(),
            }
            .into());
        }
        let on_disk = fs::metadata(path);
        let real = real_path(path);
        let is_open = self
            .open
            .iter()
            .any(|open| open.real.as_ref() == Some(&real));
        if is_open || on_disk.as_ref().is_ok_and(|metadata| !metadata.is_dir()) {
            self.open.retain(|open| open.real.as_ref() == Some(&real));
            self.file = Some(path.to_owned());
            return Ok(());
        }
        let below_root = roots
            .iter()
            .filter_map(|root| path.strip_prefix(root).ok())
            .min_by_key(|below| below.as_os_str().len())
            .unwrap_or(Path::new(""));
        self.add_folder(path, below_root.to_owned(), on_disk.is_ok());
        let folders = &self.folders;
        self.open
            .retain(|open| folders.iter().any(|folder| folder.has(open)));
        match on_disk {
            Err(error) if self.open.is_empty() => Err(missing(path, error).into()),
            _ => Ok(()),
        }
    }

    fn add_folder(&mut self, path: &Path, below_root: PathBuf, exists: bool) {
        let real = real_path(path);
        if self.folders.iter().all(|folder| folder.real != real) {
            self.folders.push(Folder {
                spelled: path.to_owned(),
                real,
                below_root,
                exists,
            });
        }
    }

    /// Walks the folders on several threads, each with a visitor of its own, and shows it every visible file (and
    /// symlink) whose path the glob takes.
    pub(super) fn walk<V>(
        &self,
        glob: Option<&PathGlob>,
        cancel: &CancellationToken,
        misses: &Misses,
        visitor: impl Fn() -> V,
    ) -> Result<(), SearchError>
    where
        V: FnMut(&Entry<'_>) + Send,
    {
        if let Some(builder) = self.walker(glob) {
            builder.build_parallel().run(|| {
                let mut visit = visitor();
                Box::new(move |entry| {
                    if cancel.is_cancelled() {
                        return WalkState::Quit;
                    }
                    match entry {
                        Ok(entry) => {
                            if let Some(entry) = self.take(&entry, glob) {
                                visit(&entry);
                            }
                        }
                        Err(error) => misses.add_walk(&error),
                    }
                    WalkState::Continue
                })
            });
        }
        if cancel.is_cancelled() {
            Err(SearchError::Cancelled)
        } else {
            Ok(())
        }
    }

    fn walker(&self, glob: Option<&PathGlob>) -> Option<WalkBuilder> {
        let there: Vec<&Path> = self
            .folders
            .iter()
            .filter(|folder| folder.exists)
            .map(|folder| &*folder.real)
            .collect();
        let mut builder = WalkBuilder::new(there.first()?);
        there.iter().skip(1).for_each(|folder| {
            builder.add(folder);
        });
        let hidden_too = glob.is_some_and(|glob| glob.names_hidden);
        set_rules(&mut builder, hidden_too);
        // A root inside another one is walked once, for itself.
        let nested: Vec<PathBuf> = there
            .iter()
            .skip(1)
            .chain(there.first())
            .map(|path| (*path).to_owned())
            .collect();
        if hidden_too || nested.len() > 1 {
            builder.filter_entry(move |entry| {
                entry.depth() == 0
                    || !(entry.file_name() == GIT
                        || nested.len() > 1 && nested.iter().any(|root| root == entry.path()))
            });
        }
        Some(builder)
    }

    fn take<'a>(&'a self, entry: &'a DirEntry, glob: Option<&PathGlob>) -> Option<Entry<'a>> {
        if entry.file_type().is_none_or(|kind| kind.is_dir()) {
            return None;
        }
        if let Some(glob) = glob {
            let taken = glob.matches_name(entry.file_name()).unwrap_or_else(|| {
                let (folder, inside) = self.place(entry.path());
                folder.is_some_and(|folder| glob.matches(folder.spellings(inside)))
            });
            if !taken {
                return None;
            }
        }
        let open = if self.by_path.is_empty() {
            None
        } else {
            self.by_path.get(entry.path().as_os_str())
        };
        let open = open.map_or(&[][..], Vec::as_slice);
        for index in open {
            self.open[*index].seen.store(true, Ordering::Relaxed);
        }
        Some(Entry {
            scope: self,
            file: entry,
            open,
        })
    }

    /// The innermost folder that holds a walked path, and the path in it.
    fn place<'a>(&'a self, path: &'a Path) -> (Option<&'a Folder>, &'a Path) {
        let places = self
            .folders
            .iter()
            .filter_map(|folder| Some((Some(folder), path.strip_prefix(&folder.real).ok()?)));
        places
            .min_by_key(|(_, inside)| inside.as_os_str().len())
            .unwrap_or((None, path))
    }

    /// A buffer's path as it is found below the folders.
    pub(super) fn spelled(&self, open: &Open) -> Option<PathBuf> {
        let (path, real) = (open.snapshot.uri.path()?, open.real.as_ref()?);
        let (folder, inside) = self
            .folders
            .iter()
            .find_map(|folder| folder.inside(path, real))?;
        Some(folder.spelled.join(inside))
    }

    /// The buffers that the walk did not come upon and that are visible all the same: without a file, or with one that
    /// is not on disk yet, or that is reached through a symlink.
    pub(super) fn unseen(&self, glob: Option<&PathGlob>) -> impl Iterator<Item = &Open> {
        self.open.iter().filter(move |open| {
            if open.seen.load(Ordering::Relaxed) {
                return false;
            }
            let (Some(path), Some(real)) = (open.snapshot.uri.path(), &open.real) else {
                return glob.is_none_or(|glob| {
                    glob.matches(Spellings::of_name(open.snapshot.uri.as_str()))
                });
            };
            let Some((folder, inside)) = self
                .folders
                .iter()
                .find_map(|folder| folder.inside(path, real))
            else {
                // There is no folder at all, and so no rule but the one.
                return glob.is_none_or(|glob| {
                    glob.matches(Spellings::of_name(open.snapshot.uri.as_str()))
                }) && !disk::is_hidden_from_model(path);
            };
            let was_walked = real.starts_with(&folder.real)
                && real
                    .symlink_metadata()
                    .is_ok_and(|metadata| metadata.is_file());
            !was_walked
                && glob.is_none_or(|glob| glob.matches(folder.spellings(inside)))
                && !disk::is_hidden_from_model(path)
                && !folder.ignores(inside, glob.is_some_and(|glob| glob.names_hidden))
        })
    }
}

impl Open {
    fn new(snapshot: Snapshot) -> Self {
        let real = snapshot.uri.path().map(real_path);
        Self {
            snapshot,
            real,
            seen: AtomicBool::new(false),
        }
    }

    /// Whether its file is seen by the walk, but under a name that is hidden.
    fn is_behind_a_hidden_link(&self) -> bool {
        match (self.snapshot.uri.path(), &self.real) {
            (Some(path), Some(real)) => path != real && disk::is_hidden_from_model(path),
            _ => false,
        }
    }

    /// How new it is, and whether its text is not on disk.
    pub(super) fn age(&self) -> (Age, bool) {
        let saved = self
            .real
            .as_ref()
            .and_then(|real| real.metadata().ok())
            .filter(|_| !self.snapshot.is_unsaved());
        match saved {
            Some(metadata) => (Age::Saved(metadata.modified().ok()), false),
            None => (Age::Unsaved(self.snapshot.revision), true),
        }
    }
}

impl Folder {
    fn has(&self, open: &Open) -> bool {
        let (Some(path), Some(real)) = (open.snapshot.uri.path(), &open.real) else {
            return false;
        };
        self.inside(path, real).is_some()
    }

    fn inside<'a>(&'a self, path: &'a Path, real: &'a Path) -> Option<(&'a Self, &'a Path)> {
        let inside = path
            .strip_prefix(&self.spelled)
            .or_else(|_| real.strip_prefix(&self.real))
            .ok()?;
        Some((self, inside))
    }

    fn spellings<'a>(&'a self, inside: &'a Path) -> Spellings<'a> {
        Spellings {
            inside,
            below_root: &self.below_root,
            folder: &self.spelled,
        }
    }

    /// Whether the rules would keep a walk from a file that is not there.
    fn ignores(&self, inside: &Path, hidden_too: bool) -> bool {
        if inside.iter().any(|name| name == GIT) {
            return true;
        }
        let Some(there) = self.real.ancestors().find(|above| above.is_dir()) else {
            return false;
        };
        let Ok(missing) = self.real.strip_prefix(there) else {
            return false;
        };
        let mut builder = WalkBuilder::new(there);
        set_rules(&mut builder, hidden_too);
        let Some(mut rules) = builder.build_matchers().pop() else {
            return false;
        };
        rules.matched(missing.join(inside), false).is_ignore()
    }
}

impl<'a> Spellings<'a> {
    /// Those of something that lies nowhere.
    fn of_name(uri: &'a str) -> Self {
        let name = uri.rsplit_once(['/', ':']).map_or(uri, |(_, name)| name);
        Self {
            inside: Path::new(name),
            below_root: Path::new(""),
            folder: Path::new(""),
        }
    }
}

/// The rules of every walk.
pub(super) fn set_rules(builder: &mut WalkBuilder, hidden_too: bool) {
    builder
        .standard_filters(true)
        .require_git(false)
        .add_custom_ignore_filename(IGNORE_FILE)
        .follow_links(false);
    builder.hidden(!hidden_too);
}

/// A path as it is meant: a relative one is below the first root that has it.
pub(super) fn absolute(path: &Path, roots: &[PathBuf]) -> PathBuf {
    let below_root = || {
        let in_roots = roots.iter().map(|root| root.join(path));
        in_roots
            .clone()
            .find(|path| path.exists())
            .or_else(|| in_roots.clone().next())
    };
    let path = if path.is_absolute() {
        path.to_owned()
    } else {
        below_root().unwrap_or_else(|| path.to_owned())
    };
    // Only what exists tells where `link/..` leads.
    let leads_up = path
        .components()
        .any(|component| component == std::path::Component::ParentDir);
    if leads_up {
        real_path(&path)
    } else {
        without_dots(&path)
    }
}

pub(super) fn missing(path: &Path, error: io::Error) -> ReadError {
    let path = path.to_owned();
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            let near = nearest(&path);
            ReadError::NotFound { path, near }
        }
        io::ErrorKind::PermissionDenied => ReadError::Denied { path },
        _ => ReadError::Io {
            path,
            source: error,
        },
    }
}

/// What could not be looked at.
#[derive(Default)]
pub(super) struct Misses(Mutex<Unsearched>);

impl Misses {
    pub(super) fn add(&self, path: &Path, reason: &dyn std::fmt::Display) {
        let mut misses = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        misses.count += 1;
        if misses.named.len() < NAMED {
            misses.named.push((path.to_owned(), reason.to_string()));
        }
    }

    pub(super) fn add_walk(&self, error: &ignore::Error) {
        // What is gone by the time that it is looked at was not there.
        if error
            .io_error()
            .is_some_and(|error| error.kind() == io::ErrorKind::NotFound)
        {
            return;
        }
        match error {
            ignore::Error::WithDepth { err, .. } => self.add_walk(err),
            ignore::Error::WithPath { path, err } => self.add(path, err),
            other => self.add(Path::new(""), other),
        }
    }

    pub(super) fn into_inner(self) -> Unsearched {
        let mut misses = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        misses.named.sort();
        misses
    }
}
