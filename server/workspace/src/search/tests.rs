//! Searches over trees made on the spot, with buffers over them.

mod buffers;
mod disk;
mod rules;
mod tree;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::{Buffers, ContentChange, Edit, Encoding, Host, HostError, Reply};

/// A workspace over a folder of its own. Each file that is added is newer than those before.
struct World {
    tree: TempDir,
    buffers: Arc<Buffers>,
    workspace: Arc<Workspace>,
    files: u64,
}

struct NoHost;

#[async_trait::async_trait]
impl Host for NoHost {
    async fn apply(&self, _edit: &Edit, _label: &str) -> Result<Reply, HostError> {
        Err(HostError::Unsupported)
    }
}

impl World {
    fn new(files: &[(&str, &str)]) -> Self {
        Self::with_roots(files, &[""])
    }

    fn with_roots(files: &[(&str, &str)], roots: &[&str]) -> Self {
        let tree = tempfile::tempdir().expect("a folder");
        let buffers = Buffers::new();
        let roots = roots.iter().map(|root| join(tree.path(), root)).collect();
        let workspace = Workspace::new(roots, Arc::clone(&buffers), Arc::new(NoHost));
        let mut world = Self {
            tree,
            buffers,
            workspace,
            files: 0,
        };
        for (name, text) in files {
            world.file(name, text.as_bytes());
        }
        world
    }

    fn at(&self, name: &str) -> PathBuf {
        join(self.tree.path(), name)
    }

    fn file(&mut self, name: &str, bytes: &[u8]) {
        let path = self.at(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(&path, bytes).expect("written");
        self.files += 1;
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 + self.files);
        fs::File::options()
            .write(true)
            .open(&path)
            .and_then(|file| file.set_modified(time))
            .expect("touched");
    }

    /// Opens a file as an editor does, saved as yet.
    fn open(&self, name: &str, text: &str) {
        self.buffers.open(self.uri(name), "text", 1, text);
    }

    /// Opens a file and changes it.
    fn open_and_type(&self, name: &str, text: &str) {
        self.open(name, "");
        let change = ContentChange {
            range: None,
            text: text.to_owned(),
        };
        self.buffers
            .change(&self.uri(name), 2, &[change], Encoding::Utf8)
            .expect("changed");
    }

    fn uri(&self, name: &str) -> DocumentUri {
        if name.contains(':') {
            return DocumentUri::parse(name).expect("a uri");
        }
        DocumentUri::from_path(&self.at(name)).expect("a path")
    }

    /// A path without the folder of this world.
    fn short(&self, path: &Path) -> String {
        let short = path.strip_prefix(self.tree.path()).unwrap_or(path);
        short.display().to_string().replace('\\', "/")
    }

    fn grep(&self, query: &GrepQuery) -> String {
        match self.workspace.grep(query, &CancellationToken::new()) {
            Ok(found) => {
                let mut said = String::new();
                for GrepMatch {
                    uri,
                    line,
                    column,
                    text,
                    unsaved,
                } in &found.matches
                {
                    let name = uri
                        .path()
                        .map_or_else(|| uri.to_string(), |path| self.short(path));
                    let star = if *unsaved { "*" } else { "" };
                    said += &format!("{name}{star}:{line}:{column}:{}\n", text.replace('\r', "␍"));
                }
                assert_eq!(found.truncated, found.total > found.matches.len());
                if found.truncated {
                    said += &format!("of {} in {}\n", found.total, found.files);
                }
                said + &self.misses(&found.unsearched)
            }
            Err(error) => self.complaint(&error),
        }
    }

    fn glob(&self, query: &GlobQuery) -> String {
        match self.workspace.glob(query, &CancellationToken::new()) {
            Ok(found) => {
                let mut said = String::new();
                for GlobMatch { path, unsaved } in &found.files {
                    said += &format!("{}{} ", self.short(path), if *unsaved { "*" } else { "" });
                }
                assert_eq!(found.truncated, found.total > found.files.len());
                if found.truncated {
                    said += &format!("of {}", found.total);
                }
                said.trim_end().to_owned() + &self.misses(&found.unsearched)
            }
            Err(error) => self.complaint(&error),
        }
    }

    fn list(&self, query: &ListQuery) -> String {
        match self.workspace.list(query, &CancellationToken::new()) {
            Ok(found) => {
                assert_eq!(found.truncated, found.to_string().contains('…'));
                let tree = self.tree.path().display().to_string();
                found.to_string().replace(&tree, "") + &self.misses(&found.unsearched)
            }
            Err(error) => self.complaint(&error),
        }
    }

    fn misses(&self, unsearched: &Unsearched) -> String {
        unsearched
            .named
            .iter()
            .map(|(path, reason)| format!("not {}: {reason}\n", self.short(path)))
            .collect()
    }

    fn complaint(&self, error: &SearchError) -> String {
        error
            .to_string()
            .replace(&format!("{}/", self.tree.path().display()), "")
    }
}

fn join(tree: &Path, name: &str) -> PathBuf {
    if name.is_empty() {
        tree.to_owned()
    } else {
        tree.join(name)
    }
}

fn pattern(pattern: &str) -> GrepQuery {
    GrepQuery::new(pattern)
}

fn pattern_in(pattern: &str, path: &str) -> GrepQuery {
    GrepQuery {
        path: Some(path.into()),
        ..GrepQuery::new(pattern)
    }
}

fn pattern_with(pattern: &str, include: &str) -> GrepQuery {
    GrepQuery {
        include: Some(include.to_owned()),
        ..GrepQuery::new(pattern)
    }
}

fn glob_in(glob: &str, path: &str) -> GlobQuery {
    GlobQuery {
        path: Some(path.into()),
        ..GlobQuery::new(glob)
    }
}
