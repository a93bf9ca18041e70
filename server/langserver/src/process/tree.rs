//! Ending a process with all that descends from it: children, groups of their own, and (Linux) whatever carries the
//! tree's marker though it left both. Stopped first until no new one turns up, so that none can slip away by forking.

use std::{
    sync::{
        OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{SystemTime, UNIX_EPOCH},
};

use super::{supervisor, table::Marker};

/// A child and its descendants, for as long as this value lives.
#[derive(Debug)]
pub struct Tree {
    root: Root,
    marker: String,
    ended: AtomicBool,
}

impl Tree {
    pub(super) fn new(pid: u32, marker: String) -> Self {
        let root = Root::now(pid);
        supervisor::remember(root, &marker);
        Self {
            root,
            marker,
            ended: AtomicBool::new(false),
        }
    }

    /// The process id of the child at its root.
    pub fn pid(&self) -> u32 {
        self.root.pid
    }

    /// Ends every process of the tree; a second call does nothing. Takes some milliseconds and waits for nobody.
    pub fn end(&self) {
        if !self.ended.swap(true, Ordering::AcqRel) {
            end(&[self.root], &Marker::Tree(self.marker.clone()));
            supervisor::forget(self.root.pid);
        }
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        self.end();
    }
}

/// Ends the tree of a child that `spawn` started, by the child's process id. Any other process is left alone.
pub fn end_tree(pid: u32) {
    if let Some((root, marker)) = supervisor::remembered(pid) {
        end(&[root], &Marker::Tree(marker));
        supervisor::forget(pid);
    }
}

/// How many bytes the processes of each tree hold of their own: what they share with others, and what is a file, would
/// not be free if they ended. 0 where that can't be found out.
#[cfg(unix)]
pub fn memory(trees: &[&Tree]) -> Vec<u64> {
    use std::{cell::RefCell, collections::HashMap};

    use super::table;

    let entries = table::entries();
    let marks: RefCell<HashMap<u32, Option<String>>> = RefCell::default();
    trees
        .iter()
        .map(|tree| {
            // Each environment is read once for all trees.
            let is_marked = |pid: u32| {
                let mut marks = marks.borrow_mut();
                let mark = marks.entry(pid).or_insert_with(|| table::mark(pid));
                mark.as_deref() == Some(&tree.marker)
            };
            let members = members(&entries, &[tree.root], std::process::id(), &is_marked);
            let pids: Vec<u32> = members.into_iter().map(|(pid, _)| pid).collect();
            table::memory(&pids)
        })
        .collect()
}

/// The same: not found out here.
#[cfg(not(unix))]
pub fn memory(trees: &[&Tree]) -> Vec<u64> {
    vec![0; trees.len()]
}

/// This process's own name among markers.
pub(super) fn owner() -> &'static str {
    static OWNER: OnceLock<String> = OnceLock::new();
    OWNER.get_or_init(|| {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |time| time.as_nanos());
        format!("{}-{now:x}", std::process::id())
    })
}

pub(super) fn new_marker() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    format!("{}.{}", owner(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// The first process of a tree, and since when it runs; `None`: it was gone before we looked, so that a living process
/// of this number is someone else's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Root {
    pub pid: u32,
    pub start: Option<u64>,
}

impl Root {
    #[cfg(unix)]
    pub fn now(pid: u32) -> Self {
        Self {
            pid,
            start: super::table::entry(pid).map(|entry| entry.start),
        }
    }

    #[cfg(not(unix))]
    pub fn now(pid: u32) -> Self {
        Self { pid, start: None }
    }
}

#[cfg(unix)]
pub(super) fn end(roots: &[Root], marker: &Marker) {
    use std::collections::BTreeSet;

    use super::{signals, table};

    // Each round stops what the one before had overlooked. A tree that outruns this many rounds is killed as found.
    const ROUNDS: usize = 64;
    // A process shows no marks for a moment while it becomes another program: one quiet round may be that moment.
    const QUIET_ROUNDS: usize = 2;
    let mut stopped = BTreeSet::new();
    let mut quiet = 0;
    for _ in 0..ROUNDS {
        let entries = table::entries();
        let found = members(&entries, roots, std::process::id(), &|pid| {
            table::is_marked(pid, marker)
        });
        let fresh: Vec<_> = found
            .into_iter()
            .filter(|member| !stopped.contains(member))
            .collect();
        quiet = if fresh.is_empty() { quiet + 1 } else { 0 };
        if quiet == QUIET_ROUNDS {
            break;
        }
        for member in fresh {
            signals::stop(member.0);
            stopped.insert(member);
        }
    }
    for (pid, start) in stopped {
        // The number may have gone to another process since: a stopped one that someone else killed.
        if table::entry(pid).is_some_and(|entry| entry.start == start) {
            signals::kill(pid);
        }
    }
}

#[cfg(not(unix))]
pub(super) fn end(roots: &[Root], _marker: &Marker) {
    for root in roots {
        let _ = std::process::Command::new("taskkill")
            .args(["/F", "/T", "/PID", &root.pid.to_string()])
            .output();
    }
}

/// Who belongs to the trees, as `(pid, start)`: the roots, their descendants, the groups of each, and the marked.
#[cfg(unix)]
fn members(
    entries: &[super::table::Entry],
    roots: &[Root],
    own: u32,
    is_marked: &dyn Fn(u32) -> bool,
) -> Vec<(u32, u64)> {
    use std::collections::HashSet;

    let mut groups: HashSet<u32> = HashSet::new();
    let mut inside: HashSet<u32> = HashSet::new();
    let mut earliest = if roots.is_empty() { 0 } else { u64::MAX };
    for root in roots {
        let living = entries.iter().find(|entry| entry.pid == root.pid);
        // Another process has the number now: the tree of the old one is found by its marks alone.
        earliest = earliest.min(root.start.unwrap_or(0));
        if living.is_none_or(|entry| Some(entry.start) == root.start) {
            groups.insert(root.pid);
        }
    }
    let mut looked_at: HashSet<u32> = HashSet::new();
    loop {
        let before = inside.len();
        for entry in entries {
            if entry.pid == own || entry.pid <= 1 || inside.contains(&entry.pid) {
                continue;
            }
            let belongs = inside.contains(&entry.parent)
                || groups.contains(&entry.group)
                || groups.contains(&entry.pid)
                || (looked_at.insert(entry.pid) && entry.start >= earliest && is_marked(entry.pid));
            if belongs {
                inside.insert(entry.pid);
                if entry.group == entry.pid {
                    groups.insert(entry.pid);
                }
            }
        }
        if inside.len() == before {
            break;
        }
    }
    entries
        .iter()
        .filter(|entry| inside.contains(&entry.pid))
        .map(|entry| (entry.pid, entry.start))
        .collect()
}

#[cfg(all(test, unix))]
mod tests {
    use super::{super::table::Entry, *};

    /// `pid parent group start`, one process a line.
    fn table(text: &str) -> Vec<Entry> {
        text.lines()
            .map(|line| {
                let fields: Vec<u64> = line
                    .split_whitespace()
                    .map(|field| field.parse().expect("a number"))
                    .collect();
                Entry {
                    pid: fields[0] as u32,
                    parent: fields[1] as u32,
                    group: fields[2] as u32,
                    start: fields[3],
                }
            })
            .collect()
    }

    #[test]
    fn who_belongs_to_a_tree() {
        let everyone = table(
            "1 0 1 0\n50 1 50 5\n100 50 100 10\n101 100 100 11\n102 101 102 12\n103 102 102 13\n104 1 102 14\n\
             105 1 105 15\n107 1 106 17",
        );
        for (name, root, marked, expected) in [
            (
                "descendants, their groups, orphans in them",
                (100, Some(10)),
                vec![],
                vec![100, 101, 102, 103, 104],
            ),
            (
                "a marked one that left group and parent",
                (100, Some(10)),
                vec![105],
                vec![100, 101, 102, 103, 104, 105],
            ),
            (
                "and what that one started",
                (105, Some(15)),
                vec![107],
                vec![105, 107],
            ),
            (
                "the number now belongs to another",
                (100, Some(9)),
                vec![],
                vec![],
            ),
            (
                "the root was gone at once, its number belongs to another",
                (100, None),
                vec![],
                vec![],
            ),
            (
                "the root is gone, its group is not",
                (106, None),
                vec![],
                vec![107],
            ),
            (
                "the root is gone, its mark is not",
                (99, None),
                vec![107],
                vec![107],
            ),
            (
                "a mark on an older process is not ours",
                (106, Some(16)),
                vec![105],
                vec![107],
            ),
            ("never ourselves", (50, Some(5)), vec![], vec![]),
        ] {
            let roots = [Root {
                pid: root.0,
                start: root.1,
            }];
            let mut found: Vec<u32> = members(&everyone, &roots, 50, &|pid| marked.contains(&pid))
                .into_iter()
                .map(|found| found.0)
                .collect();
            found.sort_unstable();
            let expected: Vec<u32> = expected;
            assert_eq!(found, expected, "{name}");
        }
    }
}
