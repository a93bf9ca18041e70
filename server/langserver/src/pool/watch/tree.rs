//! The folders that are watched, and the files in them as they were when last looked at. It compares; whom that
//! concerns it does not know. Folders that were asked for and are gone (a project that is checked out anew) are looked out
//! for from above.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    ffi::OsString,
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
    time::{Duration, Instant, SystemTime},
};

use ignore::WalkBuilder;
use notify::{ErrorKind, RecommendedWatcher, RecursiveMode, Watcher};

use crate::server::{Change, file_time};

/// How many folders are watched at most.
const MOST_FOLDERS: usize = 8_000;
/// Where folders are watched one by one; elsewhere the system watches what lies below as well.
const ONE_BY_ONE: bool = cfg!(any(target_os = "linux", target_os = "android"));
/// How often it is planned again because something that was asked for came in the middle of it.
const PASSES: usize = 3;
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

/// What became of a file or folder since then: it was made or put where it is, or changed, or nothing that one could see.
pub(super) fn became(data: &fs::Metadata, then: SystemTime) -> Option<Change> {
    let is_since = |time: &SystemTime| *time >= then;
    let is_old = data.created().is_ok_and(|time| !is_since(&time));
    let is_written = data.modified().is_ok_and(|time| is_since(&time));
    match (
        is_written,
        put_there(data).is_some_and(|time| is_since(&time)),
    ) {
        (true, _) if is_old => Some(Change::Changed),
        (false, false) => None,
        _ => Some(Change::Created),
    }
}

/// What was moved keeps the time at which it was written; not so its entry.
#[cfg(unix)]
fn put_there(data: &fs::Metadata) -> Option<SystemTime> {
    use std::os::unix::fs::MetadataExt;
    let seconds = u64::try_from(data.ctime()).ok()?;
    let rest = u32::try_from(data.ctime_nsec()).ok()?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::new(seconds, rest))
}

#[cfg(not(unix))]
fn put_there(data: &fs::Metadata) -> Option<SystemTime> {
    data.created().ok()
}

/// Which files matter, and which of those that are seen for the first time are news.
pub(super) struct Interest<'a> {
    /// Whether somebody wants to hear of a file in this folder.
    pub wanted: &'a dyn Fn(&Path, &Path) -> bool,
    /// What became of a file that is not known yet, in a folder that was (or was not) watched already; `None` if it is as it
    /// was when somebody began to want to hear of it.
    pub news: &'a dyn Fn(&Path, bool) -> Option<Change>,
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
    /// What was asked for.
    tops: BTreeSet<PathBuf>,
    /// Watched only to see those come again.
    above: BTreeSet<PathBuf>,
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
            tops: BTreeSet::new(),
            above: BTreeSet::new(),
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
        for _ in 0..PASSES {
            self.pass(deep, flat, interest, &mut changes);
            self.look_out(deep.union(flat).cloned().collect());
            // What came before there was anybody to see it come.
            if !self.tops.iter().any(|top| self.has_come(top)) {
                break;
            }
        }
        changes
    }

    fn pass(
        &mut self,
        deep: &BTreeSet<PathBuf>,
        flat: &BTreeSet<PathBuf>,
        interest: &Interest<'_>,
        changes: &mut Changes,
    ) {
        // What was asked for before and was gone: all of it is new.
        let tops = std::mem::take(&mut self.tops);
        let back: Vec<PathBuf> = tops.into_iter().filter(|top| self.has_come(top)).collect();
        let is_back = |path: &Path| back.iter().any(|top| path.starts_with(top));
        let interest = Interest {
            wanted: interest.wanted,
            news: &|path, was_known| match is_back(path) {
                true => Some(Change::Created),
                false => (interest.news)(path, was_known),
            },
        };
        let mut visited = BTreeSet::new();
        for top in deep {
            if deep.iter().any(|one| one != top && top.starts_with(one)) {
                continue;
            }
            let walk = || folders(top, None);
            visited.append(&mut self.look_below(walk, &mut BTreeMap::new(), &interest, changes));
        }
        // What is asked for by its name is watched though it be ignored, or elsewhere, but not what lies below it.
        for folder in flat.iter().chain(deep) {
            if !visited.contains(folder) && folder.is_dir() {
                self.look(folder, None, &mut BTreeMap::new(), &interest, changes);
                visited.insert(folder.clone());
            }
        }
        for folder in visited.iter().filter(|folder| is_back(folder)) {
            changes.insert(folder.clone(), Change::Created);
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
    }

    /// Watches the nearest folder above each that was asked for: there it is seen to come again.
    fn look_out(&mut self, tops: BTreeSet<PathBuf>) {
        let mut above = BTreeSet::new();
        for top in tops.iter().filter(|top| is_to_be_seen_from_above(top)) {
            for folder in top.ancestors().skip(1) {
                let is_watched = self.folders.contains_key(folder)
                    || above.contains(folder)
                    || (folder.is_dir() && self.ask_for(folder, RecursiveMode::NonRecursive));
                if is_watched {
                    above.insert(folder.to_owned());
                    break;
                }
            }
        }
        above.retain(|folder| !self.folders.contains_key(folder));
        for folder in std::mem::take(&mut self.above) {
            if !above.contains(&folder) && !self.folders.contains_key(&folder) {
                self.unwatch(&folder);
            }
        }
        (self.tops, self.above) = (tops, above);
    }

    /// Whether something that was asked for is there and not watched.
    fn has_come(&self, top: &Path) -> bool {
        !self.folders.contains_key(top) && self.folders.len() < self.most && top.is_dir()
    }

    /// Whether what happened to a path may be of interest.
    pub fn concerns(&self, path: &Path) -> bool {
        let is_known = |path| self.folders.contains_key(path);
        is_known(path)
            || path.parent().is_some_and(is_known)
            || self.tops.iter().any(|top| top.starts_with(path))
    }

    /// Whether it is to be planned anew: something that was asked for has come again, or that from which one would see
    /// it come is another.
    pub fn is_outdated<'a>(&self, mut seen: impl Iterator<Item = &'a PathBuf>) -> bool {
        seen.any(|path| {
            let mut tops = self.tops.iter().filter(|top| top.starts_with(path));
            tops.any(|top| {
                let nearest = top.ancestors().skip(1).find(|folder| folder.is_dir());
                let is_seen = |folder: &Path| {
                    self.folders.contains_key(folder) || self.above.contains(folder)
                };
                self.has_come(top)
                    || (is_to_be_seen_from_above(top) && !nearest.is_none_or(is_seen))
            })
        })
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
                    if lost[path].deep {
                        let walk = || folders(path, None);
                        self.look_below(walk, &mut lost, interest, &mut changes);
                    } else {
                        self.look(path, None, &mut lost, interest, &mut changes);
                    }
                }
                _ => {}
            }
        }
        for (parent, names) in appeared {
            let before: BTreeSet<PathBuf> = lost.keys().cloned().collect();
            let walk = || folders(parent, Some(&names));
            for folder in self.look_below(walk, &mut lost, interest, &mut changes) {
                if !before.contains(&folder) {
                    changes.insert(folder, Change::Created);
                }
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

    /// Looks at all folders that a walk finds, and at those that were made when it had passed, before anybody watched.
    fn look_below(
        &mut self,
        walk: impl FnOnce() -> Vec<PathBuf>,
        lost: &mut BTreeMap<PathBuf, Folder>,
        interest: &Interest<'_>,
        changes: &mut Changes,
    ) -> BTreeSet<PathBuf> {
        let begun = file_time();
        let mut found = VecDeque::from(walk());
        let walked: BTreeSet<PathBuf> = found.iter().cloned().collect();
        let mut visited = BTreeSet::new();
        while let Some(folder) = found.pop_front() {
            let mut young = self.look(&folder, Some(begun), lost, interest, changes);
            young.retain(|name| !walked.contains(&folder.join(name)));
            if !young.is_empty() {
                found.extend(folders(&folder, Some(&young)));
            }
            visited.insert(folder);
        }
        visited
    }

    /// Watches a folder from now on, and compares what is in it with what was: `lost` are folders that were known under
    /// their names and may be others now. With what lies below it (and then those folders in it are given that were made
    /// since the walk below it has begun), or without.
    fn look(
        &mut self,
        path: &Path,
        walk_begun: Option<SystemTime>,
        lost: &mut BTreeMap<PathBuf, Folder>,
        interest: &Interest<'_>,
        changes: &mut Changes,
    ) -> BTreeSet<OsString> {
        let deep = walk_begun.is_some();
        let mut young = BTreeSet::new();
        let was_watched = self.folders.contains_key(path);
        if !was_watched && !self.watch(path, deep) {
            return young;
        }
        let known = self.folders.remove(path).or_else(|| lost.remove(path));
        let was_known = known.is_some();
        let mut before = known.unwrap_or_default().files;
        let mut files = HashMap::new();
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        for entry in entries {
            let file = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                let is_young = |begun| {
                    entry
                        .metadata()
                        .is_ok_and(|data| became(&data, begun).is_some())
                };
                if walk_begun.is_some_and(is_young) {
                    young.insert(entry.file_name());
                }
                continue;
            }
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
                None => (interest.news)(&file, was_known),
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
        young
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
        self.ask_for(
            path,
            if deep && !ONE_BY_ONE {
                RecursiveMode::Recursive
            } else {
                RecursiveMode::NonRecursive
            },
        )
    }

    fn ask_for(&mut self, path: &Path, mode: RecursiveMode) -> bool {
        let Some(watcher) = &mut self.watcher else {
            return false;
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

/// What is there says itself that it goes, but not that what is above it gets another name. Where the system watches all
/// that lies below, everything beside it would be watched as well: there it is only looked out for when it is gone.
fn is_to_be_seen_from_above(top: &Path) -> bool {
    ONE_BY_ONE || !top.is_dir()
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
mod tests;
