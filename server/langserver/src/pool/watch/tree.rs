//! The folders that are watched, and the files in them as they were when last looked at. It compares; whom that
//! concerns it does not know.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    ffi::OsString,
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use ignore::WalkBuilder;
use notify::{ErrorKind, RecommendedWatcher, RecursiveMode, Watcher};

use crate::server::Change;

/// How many folders are watched at most.
const MOST_FOLDERS: usize = 8_000;
/// Where folders are watched one by one; elsewhere the system watches what lies below as well.
const ONE_BY_ONE: bool = cfg!(any(target_os = "linux", target_os = "android"));
/// So long is it remembered that servers were told of a file in a folder that is not watched yet.
const TOLD: Duration = Duration::from_secs(5);

/// By which a file is known again: when it was written, how long it is, which one it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp(u64);

impl Stamp {
    /// `None`: there is no such file.
    pub fn of(path: &Path) -> Option<Self> {
        let data = fs::metadata(path).ok().filter(|data| !data.is_dir())?;
        let mut hasher = DefaultHasher::new();
        (data.len(), data.modified().ok()).hash(&mut hasher);
        #[cfg(unix)]
        std::os::unix::fs::MetadataExt::ino(&data).hash(&mut hasher);
        Some(Self(hasher.finish()))
    }
}

/// Which files matter, and which of those that are seen for the first time are news.
pub(super) struct Interest<'a> {
    /// Whether somebody wants to hear of a file in this folder.
    pub wanted: &'a dyn Fn(&Path, &Path) -> bool,
    /// Whether a file that is not known yet, in a folder that was (or was not) watched already, was made just now.
    pub is_new: &'a dyn Fn(&Path, bool) -> bool,
}

pub(super) type Changes = BTreeMap<PathBuf, Change>;

#[derive(Default)]
struct Folder {
    /// Whether the folders in it are watched too.
    deep: bool,
    files: HashMap<OsString, Stamp>,
}

pub(super) struct Tree {
    watcher: Option<RecommendedWatcher>,
    folders: BTreeMap<PathBuf, Folder>,
    told: HashMap<PathBuf, (Option<Stamp>, Instant)>,
    /// Whether it was said that there is more than can be watched.
    complained: bool,
    most: usize,
}

impl Tree {
    pub fn new(watcher: Option<RecommendedWatcher>) -> Self {
        Self {
            watcher,
            folders: BTreeMap::new(),
            told: HashMap::new(),
            complained: false,
            most: MOST_FOLDERS,
        }
    }

    /// Watches the folders below `deep` that are not ignored, and those in `flat`, and no others.
    pub fn plan(
        &mut self,
        deep: &BTreeSet<PathBuf>,
        flat: &BTreeSet<PathBuf>,
        interest: &Interest<'_>,
    ) -> Changes {
        let mut changes = Changes::new();
        let mut visited = BTreeSet::new();
        for top in deep {
            if !deep.iter().any(|one| one != top && top.starts_with(one)) {
                for folder in folders(top, None) {
                    self.look(&folder, true, &mut BTreeMap::new(), interest, &mut changes);
                    visited.insert(folder);
                }
            }
        }
        // What is asked for by its name is watched though it be ignored, or elsewhere, but not what lies below it.
        for folder in flat.iter().chain(deep) {
            if !visited.contains(folder) && folder.is_dir() {
                self.look(folder, false, &mut BTreeMap::new(), interest, &mut changes);
                visited.insert(folder.clone());
            }
        }
        let others: Vec<PathBuf> = self
            .folders
            .keys()
            .filter(|folder| !visited.contains(*folder))
            .cloned()
            .collect();
        for folder in others {
            self.unwatch(&folder);
            self.folders.remove(&folder);
        }
        changes
    }

    /// Looks where something happened. `gone`: what was there may be another by now.
    pub fn compare<'a>(
        &mut self,
        seen: impl Iterator<Item = (&'a PathBuf, bool)>,
        interest: &Interest<'_>,
    ) -> Changes {
        let mut changes = Changes::new();
        let mut lost = BTreeMap::new();
        let mut appeared: BTreeMap<&Path, BTreeSet<OsString>> = BTreeMap::new();
        for (path, gone) in seen {
            let is_folder = fs::symlink_metadata(path).is_ok_and(|data| data.is_dir());
            if self.folders.contains_key(path) && (gone || !is_folder) {
                lost.append(&mut self.take(path));
            }
            let parent = path.parent().zip(path.file_name());
            match parent.filter(|(parent, _)| self.folders.contains_key(*parent)) {
                Some((parent, name))
                    if is_folder
                        && self.folders[parent].deep
                        && !self.folders.contains_key(path) =>
                {
                    appeared.entry(parent).or_default().insert(name.to_owned());
                }
                Some((parent, name)) if (interest.wanted)(parent, path) => {
                    self.file(parent, name, &mut changes);
                }
                // One that was asked for by its name.
                None if is_folder && lost.contains_key(path) => {
                    let deep = lost[path].deep;
                    let below = if deep {
                        folders(path, None)
                    } else {
                        vec![path.clone()]
                    };
                    for folder in below {
                        self.look(&folder, deep, &mut lost, interest, &mut changes);
                    }
                }
                _ => {}
            }
        }
        for (parent, names) in appeared {
            for folder in folders(parent, Some(&names)) {
                if !lost.contains_key(&folder) {
                    changes.insert(folder.clone(), Change::Created);
                }
                self.look(&folder, true, &mut lost, interest, &mut changes);
            }
        }
        for (folder, Folder { files, .. }) in lost {
            for name in files.into_keys() {
                changes.insert(folder.join(name), Change::Deleted);
            }
            changes.insert(folder, Change::Deleted);
        }
        changes
    }

    /// Somebody was told of a file as it is.
    pub fn told(&mut self, path: PathBuf, stamp: Option<Stamp>) {
        let known = path
            .parent()
            .and_then(|parent| self.folders.get_mut(parent));
        match (known, path.file_name(), stamp) {
            (Some(folder), Some(name), Some(stamp)) => {
                folder.files.insert(name.to_owned(), stamp);
            }
            (Some(folder), Some(name), None) => {
                folder.files.remove(name);
            }
            _ => {
                self.told.retain(|_, (_, when)| when.elapsed() < TOLD);
                self.told.insert(path, (stamp, Instant::now()));
            }
        }
    }

    /// Compares one file.
    fn file(&mut self, parent: &Path, name: &std::ffi::OsStr, changes: &mut Changes) {
        let path = parent.join(name);
        let Some(folder) = self.folders.get_mut(parent) else {
            return;
        };
        let change = match (folder.files.get(name).copied(), Stamp::of(&path)) {
            (None, Some(stamp)) => {
                folder.files.insert(name.to_owned(), stamp);
                Change::Created
            }
            (Some(before), Some(stamp)) if before != stamp => {
                folder.files.insert(name.to_owned(), stamp);
                Change::Changed
            }
            (Some(_), None) => {
                folder.files.remove(name);
                Change::Deleted
            }
            _ => return,
        };
        changes.insert(path, change);
    }

    /// Watches a folder from now on, and compares what is in it with what was: `lost` are folders that were known under
    /// their names and may be others now.
    fn look(
        &mut self,
        path: &Path,
        deep: bool,
        lost: &mut BTreeMap<PathBuf, Folder>,
        interest: &Interest<'_>,
        changes: &mut Changes,
    ) {
        let was_watched = self.folders.contains_key(path);
        if !was_watched && !self.watch(path, deep) {
            return;
        }
        let known = self.folders.remove(path).or_else(|| lost.remove(path));
        let was_known = known.is_some();
        let mut before = known.unwrap_or_default().files;
        let mut files = HashMap::new();
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        for entry in entries {
            let file = entry.path();
            if !(interest.wanted)(path, &file) {
                continue;
            }
            let Some(stamp) = Stamp::of(&file) else {
                continue;
            };
            let name = entry.file_name();
            let told = self.told.remove(&file);
            let is_told = told.is_some_and(|(told, _)| told == Some(stamp));
            let change = match before.remove(&name) {
                Some(known) => (known != stamp).then_some(Change::Changed),
                None => (interest.is_new)(&file, was_known).then_some(Change::Created),
            };
            if let Some(change) = change.filter(|_| !is_told) {
                changes.insert(file, change);
            }
            files.insert(name, stamp);
        }
        for name in before.into_keys() {
            let file = path.join(name);
            if (interest.wanted)(path, &file) {
                changes.insert(file, Change::Deleted);
            }
        }
        self.folders.insert(path.to_owned(), Folder { deep, files });
    }

    fn watch(&mut self, path: &Path, deep: bool) -> bool {
        if self.folders.len() >= self.most {
            let most = self.most;
            self.complain(&format!(
                "more than {most} folders: changes on disk in the others are not seen"
            ));
            return false;
        }
        let above = path.parent().and_then(|parent| self.folders.get(parent));
        if !ONE_BY_ONE && deep && above.is_some_and(|above| above.deep) {
            return true;
        }
        let Some(watcher) = &mut self.watcher else {
            return false;
        };
        let mode = if deep && !ONE_BY_ONE {
            RecursiveMode::Recursive
        } else {
            RecursiveMode::NonRecursive
        };
        match watcher.watch(path, mode) {
            Ok(()) => true,
            Err(error) => {
                if matches!(error.kind, ErrorKind::MaxFilesWatch) {
                    self.complain(
                        "the system's limit of watches is reached (fs.inotify.max_user_watches): changes on disk in other folders are not seen",
                    );
                } else {
                    tracing::debug!(folder = %path.display(), %error, "is not watched");
                }
                false
            }
        }
    }

    fn complain(&mut self, message: &str) {
        if !std::mem::replace(&mut self.complained, true) {
            tracing::warn!(watched = self.folders.len(), "{message}");
        }
    }

    fn unwatch(&mut self, path: &Path) {
        if let Some(watcher) = &mut self.watcher {
            // One that is gone is not watched any more, which is as good.
            let _ = watcher.unwatch(path);
        }
    }

    /// Forgets a folder and all below it.
    fn take(&mut self, path: &Path) -> BTreeMap<PathBuf, Folder> {
        let below: Vec<PathBuf> = self
            .folders
            .range(path.to_owned()..)
            .map(|(folder, _)| folder)
            .take_while(|folder| folder.starts_with(path))
            .cloned()
            .collect();
        below
            .into_iter()
            .filter_map(|folder| {
                self.unwatch(&folder);
                let known = self.folders.remove(&folder)?;
                Some((folder, known))
            })
            .collect()
    }
}

/// A folder and those below it that are not ignored, by the rules that searches have; or only those of these names in
/// it, and what lies below them.
fn folders(top: &Path, names: Option<&BTreeSet<OsString>>) -> Vec<PathBuf> {
    let names = names.cloned();
    let is_limited = names.is_some();
    let walk = WalkBuilder::new(top)
        .require_git(false)
        .filter_entry(move |entry| {
            let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
            let is_named = names
                .as_ref()
                .is_none_or(|names| entry.depth() != 1 || names.contains(entry.file_name()));
            is_folder && is_named
        })
        .build();
    walk.filter_map(Result::ok)
        .filter(|entry| !is_limited || entry.depth() > 0)
        .map(ignore::DirEntry::into_path)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Wood {
        folder: tempfile::TempDir,
        tree: Tree,
    }

    impl Wood {
        fn of(files: &[&str], most: usize) -> Self {
            let folder = tempfile::tempdir().expect("a folder");
            let mut tree = Tree::new(notify::recommended_watcher(|_| ()).ok());
            tree.most = most;
            let mut wood = Self { folder, tree };
            for name in files {
                wood.write(name, "1");
            }
            let top = BTreeSet::from([wood.folder.path().to_owned()]);
            let interest = Interest {
                wanted: &|_, path| path.extension().is_some_and(|one| one == "rs"),
                is_new: &|_, _| false,
            };
            assert_eq!(
                wood.tree.plan(&top, &BTreeSet::new(), &interest),
                Changes::new()
            );
            wood
        }

        fn path(&self, name: &str) -> PathBuf {
            self.folder.path().join(name)
        }

        fn write(&self, name: &str, text: &str) {
            let path = self.path(name);
            fs::create_dir_all(path.parent().expect("a parent")).expect("made");
            fs::write(path, text).expect("written");
        }

        fn check(&mut self, seen: &[(&str, bool)], expected: &[(&str, Change)]) {
            let seen: Vec<_> = seen
                .iter()
                .map(|(name, gone)| (self.path(name), *gone))
                .collect();
            let interest = Interest {
                wanted: &|_, path| path.extension().is_some_and(|one| one == "rs"),
                is_new: &|_, _| true,
            };
            let seen = seen.iter().map(|(path, gone)| (path, *gone));
            let changes = self.tree.compare(seen, &interest);
            let expected: Changes = expected
                .iter()
                .map(|(name, change)| (self.path(name), *change))
                .collect();
            assert_eq!(changes, expected);
        }
    }

    #[test]
    fn what_happened_in_one_batch_is_one_change_or_none() {
        let mut wood = Wood::of(&["a.rs", "b.rs", "x/c.rs", "x/d.rs"], 99);
        wood.write("new.rs", "");
        fs::remove_file(wood.path("new.rs")).expect("removed");
        fs::remove_file(wood.path("a.rs")).expect("removed");
        wood.write("a.rs", "other");
        // Made and deleted, deleted and made, nothing at all, of no interest.
        wood.write("a.txt", "");
        wood.check(
            &[
                ("new.rs", true),
                ("a.rs", true),
                ("b.rs", false),
                ("a.txt", false),
            ],
            &[("a.rs", Change::Changed)],
        );
        // A folder that is another one under the same name.
        fs::rename(wood.path("x"), wood.path("y")).expect("renamed");
        wood.write("x/c.rs", "other");
        wood.write("x/e.rs", "");
        fs::remove_dir_all(wood.path("y")).expect("removed");
        wood.check(
            &[("x", true), ("y", true)],
            &[
                ("x/c.rs", Change::Changed),
                ("x/d.rs", Change::Deleted),
                ("x/e.rs", Change::Created),
            ],
        );
        // And one that is gone.
        fs::remove_dir_all(wood.path("x")).expect("removed");
        wood.check(
            &[("x", true), ("x/c.rs", true)],
            &[
                ("x", Change::Deleted),
                ("x/c.rs", Change::Deleted),
                ("x/e.rs", Change::Deleted),
            ],
        );
    }

    /// As after events were lost.
    #[test]
    fn what_was_missed_is_found_by_looking_at_everything() {
        let mut wood = Wood::of(&["a.rs", "b.rs", "c.rs", "x/d.rs"], 99);
        wood.write("a.rs", "other");
        fs::remove_file(wood.path("b.rs")).expect("removed");
        wood.write("x/e.rs", "");
        wood.write("new/f.rs", "");
        let top = BTreeSet::from([wood.folder.path().to_owned()]);
        let interest = Interest {
            wanted: &|_, path| path.extension().is_some_and(|one| one == "rs"),
            is_new: &|_, _| true,
        };
        let changes = wood.tree.plan(&top, &BTreeSet::new(), &interest);
        let expected = [
            ("a.rs", Change::Changed),
            ("b.rs", Change::Deleted),
            ("x/e.rs", Change::Created),
            ("new/f.rs", Change::Created),
        ];
        let expected = expected.map(|(name, change)| (wood.path(name), change));
        assert_eq!(changes, Changes::from(expected));
    }

    #[test]
    fn there_is_an_end_to_what_is_watched() {
        let mut wood = Wood::of(&["a/a.rs", "b/b.rs", "c/c.rs", "d/d.rs"], 3);
        assert_eq!(wood.tree.folders.len(), 3);
        assert!(wood.tree.complained);
        wood.write("e/e.rs", "");
        wood.check(&[("e", false)], &[("e", Change::Created)]);
        assert_eq!(wood.tree.folders.len(), 3);
    }
}
