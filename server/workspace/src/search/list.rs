//! `list`: a folder as a tree of so many lines, the upper levels first. It opens no file, and looks into no more folders
//! than it shows.

use std::{
    collections::{BTreeMap, HashSet, VecDeque},
    fmt,
    path::{Path, PathBuf},
};

use ignore::{
    WalkBuilder,
    gitignore::{Gitignore, GitignoreBuilder},
};
use tokio_util::sync::CancellationToken;

use crate::{Workspace, disk::is_hidden_from_model};

use super::{
    ListQuery, SearchError, Unsearched,
    scope::{Folder, Misses, Scope, set_rules},
};

/// One file or folder of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Where it is.
    pub path: PathBuf,
    /// How many folders of the tree it lies in: 0 for the folder that was asked for.
    pub depth: usize,
    /// What it is.
    pub thing: Thing,
    /// Whether it is open with changes that are not on disk, or not on disk at all.
    pub unsaved: bool,
}

/// What stands in a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Thing {
    /// A folder.
    Folder {
        /// How many of the things in it are not shown; `None` if it was not looked into.
        unshown: Option<usize>,
    },
    /// A file.
    File,
    /// A symlink, which is not followed.
    Link {
        /// Where it leads, as it says.
        to: PathBuf,
    },
}

/// A tree: each folder is followed by what is in it, folders first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// Its lines.
    pub entries: Vec<Listed>,
    /// Whether something is not shown.
    pub truncated: bool,
    /// Folders that could not be looked into.
    pub unsearched: Unsearched,
}

impl fmt::Display for Listing {
    /// A line a thing, two spaces a level; `/` after a folder's name, `…` for what is not shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The folders that are still open, with what has to be said at their end.
        let mut ends: Vec<(usize, usize)> = Vec::new();
        let close = |f: &mut fmt::Formatter<'_>, ends: &mut Vec<(usize, usize)>, depth: usize| {
            while let Some((folder, unshown)) = ends.pop_if(|(folder, _)| *folder >= depth) {
                writeln!(f, "{:1$}… {unshown} more", "", (folder + 1) * 2)?;
            }
            Ok(())
        };
        for Listed {
            path,
            depth,
            thing,
            unsaved,
        } in &self.entries
        {
            close(f, &mut ends, *depth)?;
            let name = if *depth == 0 {
                path.as_os_str()
            } else {
                path.file_name().unwrap_or_default()
            };
            write!(f, "{:1$}{2}", "", depth * 2, name.display())?;
            match thing {
                Thing::File => {}
                Thing::Link { to } => write!(f, " -> {}", to.display())?,
                Thing::Folder { unshown } => {
                    f.write_str(if path.as_os_str() == "/" { "" } else { "/" })?;
                    match unshown {
                        None => f.write_str(" …")?,
                        Some(0) => {}
                        Some(unshown) => ends.push((*depth, *unshown)),
                    }
                }
            }
            f.write_str(if *unsaved { " (unsaved)\n" } else { "\n" })?;
        }
        close(f, &mut ends, 0)
    }
}

pub(super) fn run(
    workspace: &Workspace,
    query: &ListQuery,
    cancel: &CancellationToken,
) -> Result<Listing, SearchError> {
    let scope = Scope::new(workspace, query.path.as_deref())?;
    if let Some(path) = scope.file {
        return Err(SearchError::NotADirectory { path });
    }
    let mut tree = Tree::new(&scope, query)?;
    while tree.room > 0 && tree.grow() {
        if cancel.is_cancelled() {
            return Err(SearchError::Cancelled);
        }
    }
    Ok(tree.finish())
}

struct Tree<'a> {
    nodes: Vec<Node>,
    roots: Vec<usize>,
    /// How many more things may be shown.
    room: usize,
    /// How many of one folder are shown as long as others wait.
    share: usize,
    /// Folders that wait to be looked into.
    waiting: VecDeque<usize>,
    /// Folders of which not all is shown.
    cut: VecDeque<usize>,
    leave_out: Vec<(&'a Folder, Gitignore)>,
    /// What buffers add to the folders on disk: names, and whether each is a folder.
    unsaved: BTreeMap<PathBuf, BTreeMap<PathBuf, Thing>>,
    dirty: HashSet<PathBuf>,
    misses: Misses,
}

struct Node {
    listed: Listed,
    shown: Vec<usize>,
    unshown: VecDeque<Listed>,
}

impl<'a> Tree<'a> {
    fn new(scope: &'a Scope, query: &ListQuery) -> Result<Self, SearchError> {
        let mut leave_out = Vec::new();
        for folder in &scope.folders {
            leave_out.push((folder, left_out(&folder.spelled, &query.ignore)?));
        }
        let mut tree = Self {
            nodes: Vec::new(),
            roots: Vec::new(),
            room: query.limit,
            share: query.limit.div_ceil(3),
            waiting: VecDeque::new(),
            cut: VecDeque::new(),
            leave_out,
            unsaved: BTreeMap::new(),
            dirty: HashSet::new(),
            misses: Misses::default(),
        };
        for folder in &scope.folders {
            let root = Listed {
                path: folder.spelled.clone(),
                depth: 0,
                thing: Thing::Folder { unshown: None },
                unsaved: false,
            };
            tree.roots.push(tree.nodes.len());
            tree.waiting.push_back(tree.nodes.len());
            tree.nodes.push(Node::new(root));
        }
        tree.dirty = scope
            .open
            .iter()
            .filter(|open| open.age().1)
            .filter_map(|open| scope.spelled(open))
            .collect();
        for path in scope.unseen(None).filter_map(|open| scope.spelled(open)) {
            tree.add_unsaved(&path);
        }
        Ok(tree)
    }

    /// Adds a file that is not on disk, and the folders above it that are not.
    fn add_unsaved(&mut self, path: &Path) {
        let mut thing = Thing::File;
        for (below, above) in path.ancestors().zip(path.ancestors().skip(1)) {
            self.unsaved
                .entry(above.to_owned())
                .or_default()
                .insert(below.to_owned(), thing);
            if above.is_dir() {
                break;
            }
            thing = Thing::Folder { unshown: None };
        }
    }

    /// Shows some more; false if there is no more.
    fn grow(&mut self) -> bool {
        if let Some(folder) = self.waiting.pop_front() {
            self.look_into(folder);
            self.show(folder, self.share);
        } else if let Some(folder) = self.cut.pop_front() {
            self.show(folder, usize::MAX);
        } else {
            return false;
        }
        true
    }

    fn look_into(&mut self, folder: usize) {
        let Listed { path, depth, .. } = &self.nodes[folder].listed;
        let (path, depth) = (path.clone(), depth + 1);
        let mut inside: BTreeMap<PathBuf, Thing> = self.unsaved.remove(&path).unwrap_or_default();
        let mut builder = WalkBuilder::new(&path);
        set_rules(&mut builder, false);
        for entry in builder.max_depth(Some(1)).build().skip(1) {
            match entry {
                Ok(entry) => {
                    let thing = match entry.file_type() {
                        Some(kind) if kind.is_dir() => Thing::Folder { unshown: None },
                        Some(kind) if kind.is_symlink() => {
                            if is_hidden_from_model(entry.path()) {
                                continue;
                            }
                            Thing::Link {
                                to: entry.path().read_link().unwrap_or_default(),
                            }
                        }
                        _ => Thing::File,
                    };
                    inside.insert(entry.into_path(), thing);
                }
                Err(error) => self.misses.add_walk(&error),
            }
        }
        let mut inside: VecDeque<Listed> = inside
            .into_iter()
            .filter(|(path, thing)| !self.leaves_out(path, matches!(thing, Thing::Folder { .. })))
            .map(|(path, thing)| {
                let unsaved = self.dirty.contains(&path);
                Listed {
                    path,
                    depth,
                    thing,
                    unsaved,
                }
            })
            .collect();
        // A stable sort: by name within each kind.
        inside
            .make_contiguous()
            .sort_by_key(|listed| !matches!(listed.thing, Thing::Folder { .. }));
        self.nodes[folder].unshown = inside;
        self.nodes[folder].listed.thing = Thing::Folder { unshown: Some(0) };
    }

    fn leaves_out(&self, path: &Path, is_folder: bool) -> bool {
        self.leave_out
            .iter()
            .filter(|(folder, _)| path.starts_with(&folder.spelled))
            .any(|(_, globs)| globs.matched(path, is_folder).is_ignore())
    }

    fn show(&mut self, folder: usize, at_most: usize) {
        let count = self.nodes[folder].unshown.len().min(at_most).min(self.room);
        self.room -= count;
        let more: Vec<Listed> = self.nodes[folder].unshown.drain(..count).collect();
        for listed in more {
            let node = self.nodes.len();
            if matches!(listed.thing, Thing::Folder { .. }) {
                self.waiting.push_back(node);
            }
            self.nodes.push(Node::new(listed));
            self.nodes[folder].shown.push(node);
        }
        if !self.nodes[folder].unshown.is_empty() {
            self.cut.push_back(folder);
        }
    }

    fn finish(mut self) -> Listing {
        let mut listing = Listing::default();
        let mut next: Vec<usize> = self.roots.iter().rev().copied().collect();
        while let Some(node) = next.pop() {
            let Node {
                listed,
                shown,
                unshown,
            } = &mut self.nodes[node];
            if let Thing::Folder { unshown: count } = &mut listed.thing {
                if count.is_some() {
                    *count = Some(unshown.len());
                }
                listing.truncated |= *count != Some(0);
            }
            listing.entries.push(listed.clone());
            next.extend(shown.iter().rev());
        }
        listing.unsearched = self.misses.into_inner();
        listing
    }
}

impl Node {
    const fn new(listed: Listed) -> Self {
        Self {
            listed,
            shown: Vec::new(),
            unshown: VecDeque::new(),
        }
    }
}

/// The asker's own globs, as if they stood in a `.gitignore` of the folder.
fn left_out(folder: &Path, globs: &[String]) -> Result<Gitignore, SearchError> {
    let mut builder = GitignoreBuilder::new(folder);
    let wrong = |glob: &str, error: ignore::Error| SearchError::Glob {
        glob: glob.to_owned(),
        reason: error.to_string(),
    };
    for glob in globs {
        builder
            .add_line(None, glob)
            .map_err(|error| wrong(glob, error))?;
    }
    builder
        .build()
        .map_err(|error| wrong(&globs.join(" "), error))
}
