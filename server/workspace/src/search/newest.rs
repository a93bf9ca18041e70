//! The newest so many of many: kept while a walk goes on, so that no more is held than is shown. Knows no files.

use std::{
    cmp::Reverse,
    collections::BTreeMap,
    path::PathBuf,
    sync::{Mutex, MutexGuard, PoisonError},
    time::SystemTime,
};

use crate::Revision;

/// How new a document is. What was never saved is newer than any file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Age {
    /// A file, as it was last written; `None` if the file system does not say.
    Saved(Option<SystemTime>),
    /// A buffer with unsaved changes.
    Unsaved(Revision),
}

/// Documents with what was found in each (a weight a document), the newest first, up to a total weight.
pub(super) struct Newest<T> {
    limit: usize,
    kept: Mutex<Kept<T>>,
}

struct Kept<T> {
    documents: BTreeMap<(Reverse<Age>, PathBuf), (usize, T)>,
    weight: usize,
}

impl<T> Newest<T> {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            kept: Mutex::new(Kept {
                documents: BTreeMap::new(),
                weight: 0,
            }),
        }
    }

    /// Whether a document of this age can still be among the newest: ask before taking pains over it.
    pub(super) fn wants(&self, age: Age) -> bool {
        let kept = self.lock();
        kept.weight < self.limit
            || kept
                .documents
                .last_key_value()
                .is_some_and(|((Reverse(oldest), _), _)| age >= *oldest)
    }

    pub(super) fn add(&self, age: Age, name: PathBuf, weight: usize, found: T) {
        let mut kept = self.lock();
        kept.weight += weight;
        if let Some((replaced, _)) = kept.documents.insert((Reverse(age), name), (weight, found)) {
            kept.weight -= replaced;
        }
        // The oldest goes as soon as the others are enough without it.
        while let Some(oldest) = kept.documents.last_entry() {
            let weight = oldest.get().0;
            if kept.weight - weight < self.limit {
                break;
            }
            kept.documents.pop_last();
            kept.weight -= weight;
        }
    }

    /// The newest first; equally new ones by name. The last may go over the limit.
    pub(super) fn into_sorted(self) -> impl Iterator<Item = (PathBuf, T)> {
        let kept = self
            .kept
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        kept.documents
            .into_iter()
            .map(|((_, name), (_, found))| (name, found))
    }

    fn lock(&self) -> MutexGuard<'_, Kept<T>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn saved(seconds: u64) -> Age {
        Age::Saved(Some(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)))
    }

    fn names<T>(newest: Newest<T>) -> Vec<String> {
        newest
            .into_sorted()
            .map(|(name, _)| name.display().to_string())
            .collect()
    }

    #[test]
    fn the_newest_stay_whatever_the_order() {
        let ages = [3, 9, 1, 7, 5, 8, 2, 6, 4, 0];
        for turn in 0..ages.len() {
            let newest = Newest::new(3);
            for seconds in ages.iter().cycle().skip(turn).take(ages.len()) {
                newest.add(saved(*seconds), seconds.to_string().into(), 1, ());
            }
            assert_eq!(names(newest), ["9", "8", "7"]);
        }
    }

    #[test]
    fn weights_count_and_equals_go_by_name() {
        let newest = Newest::new(5);
        for (name, weight) in [("c", 2), ("a", 2), ("d", 2), ("b", 2)] {
            newest.add(saved(1), name.into(), weight, ());
        }
        assert_eq!(names(newest), ["a", "b", "c"]);
        let newest = Newest::new(5);
        newest.add(saved(2), "small".into(), 1, ());
        newest.add(saved(1), "large".into(), 100, ());
        assert!(!newest.wants(saved(0)));
        assert!(newest.wants(saved(1)));
        newest.add(saved(3), "new".into(), 4, ());
        assert_eq!(names(newest), ["new", "small"]);
    }

    #[test]
    fn what_was_never_saved_comes_first() {
        let newest = Newest::new(9);
        newest.add(Age::Saved(None), "unknown".into(), 1, ());
        newest.add(Age::Unsaved(Revision(1)), "first".into(), 1, ());
        newest.add(saved(u64::from(u32::MAX)), "disk".into(), 1, ());
        newest.add(Age::Unsaved(Revision(2)), "second".into(), 1, ());
        assert_eq!(names(newest), ["second", "first", "disk", "unknown"]);
    }

    #[test]
    fn nothing_is_wanted_of_nothing() {
        let newest = Newest::new(0);
        newest.add(saved(1), "a".into(), 1, ());
        assert_eq!(names(newest), [""; 0]);
    }
}
