//! `.copydeskignore`: which files are never read for the model, sent to it, or shown by any tool. Never caches.
//!
//! The files are read anew for every question: that is always right, whatever the clock of the file system. A question
//! about a path eight folders deep costs 0.03 ms, and 0.2 ms where there are rules; one about many paths reads each
//! folder's rules once, and a search asks it once, since the walk carries the rules with it.

use std::{
    collections::HashMap,
    path::{Component, Path, PathBuf},
};

use ignore::{IncrementalIgnore, WalkBuilder};

/// The name of the ignore file, which may stand in any folder.
pub const IGNORE_FILE: &str = ".copydeskignore";

/// Whether a `.copydeskignore` in any folder above hides this path, or a folder that it lies in.
///
/// Where the path leads through symlinks, what they lead to is judged too: a link is no way around a rule.
pub fn is_hidden_from_model(path: &Path) -> bool {
    Hiding::default().hides(path)
}

/// One question about several paths: which of them are hidden. It lives no longer than the question.
#[derive(Default)]
pub(crate) struct Hiding {
    /// The rules that were read for it, by the root of the file system.
    rules: HashMap<PathBuf, IncrementalIgnore>,
}

impl Hiding {
    /// What [`is_hidden_from_model`] answers.
    pub fn hides(&mut self, path: &Path) -> bool {
        let Ok(path) = std::path::absolute(path) else {
            return false;
        };
        let spelled = without_dots(&path);
        if self.covers(&spelled, is_folder(&spelled)) {
            return true;
        }
        let real = real_path(&path);
        real != spelled && self.covers(&real, is_folder(&real))
    }

    /// The same of an absolute path that is no link itself, and where it really is.
    pub fn hides_plain(&mut self, path: &Path, real: &Path, is_folder: bool) -> bool {
        let spelled = without_dots(path);
        self.covers(&spelled, is_folder) || (real != spelled && self.covers(real, is_folder))
    }

    fn covers(&mut self, path: &Path, is_folder: bool) -> bool {
        let Some(root) = path.ancestors().last() else {
            return false;
        };
        let Ok(inside) = path.strip_prefix(root) else {
            return false;
        };
        if !self.rules.contains_key(root) {
            let Some(rules) = rules_below(root) else {
                return false;
            };
            self.rules.insert(root.to_owned(), rules);
        }
        let Some(rules) = self.rules.get_mut(root) else {
            return false;
        };
        let (verdict, mistake) = rules.matched_with_errors(inside, is_folder);
        if let Some(mistake) = mistake {
            tracing::warn!(%mistake, "a line of a .copydeskignore is not understood");
        }
        verdict.is_ignore()
    }
}

fn is_folder(path: &Path) -> bool {
    path.symlink_metadata()
        .is_ok_and(|metadata| metadata.is_dir())
}

fn rules_below(root: &Path) -> Option<IncrementalIgnore> {
    let mut builder = WalkBuilder::new(root);
    builder
        .standard_filters(false)
        .add_custom_ignore_filename(IGNORE_FILE);
    builder.build_matchers().pop()
}

/// Whether a path is an ignore file, by its own name or by what its links lead to. Some file systems know no case.
pub(crate) fn holds_rules(path: &Path) -> bool {
    let named = |path: &Path| {
        let name = path.file_name().unwrap_or_default();
        name.eq_ignore_ascii_case(IGNORE_FILE)
    };
    named(&without_dots(path)) || named(&real_path(path))
}

/// The path with every symlink resolved, as far as it exists; the rest is kept as it is spelled.
pub(crate) fn real_path(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    let mut missing = Vec::new();
    for above in path.ancestors() {
        if let Ok(mut real) = above.canonicalize() {
            real.extend(missing.iter().rev());
            return without_dots(&real);
        }
        missing.extend(above.components().next_back());
    }
    without_dots(path)
}

/// The path without `.` and `..`, by its spelling alone.
pub(crate) fn without_dots(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                clean.pop();
            }
            other => clean.push(other),
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// `files` of a tree (a name that ends in `/` is a folder), and what is asked: hidden or not.
    fn check(files: &[(&str, &str)], hidden: &[&str], shown: &[&str]) {
        let tree = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            let path = tree.path().join(name);
            if name.ends_with('/') {
                fs::create_dir_all(&path).expect("a folder");
            } else {
                fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
                fs::write(&path, text).expect("a file");
            }
        }
        for name in hidden {
            assert!(
                is_hidden_from_model(&tree.path().join(name)),
                "{name} must be hidden"
            );
        }
        for name in shown {
            assert!(
                !is_hidden_from_model(&tree.path().join(name)),
                "{name} must not be hidden"
            );
        }
    }

    #[test]
    fn nothing_is_hidden_without_rules() {
        check(&[("a/b.txt", "")], &[], &["a/b.txt", "a", "", "not/there"]);
    }

    #[test]
    fn names_folders_and_globs() {
        check(
            &[
                (IGNORE_FILE, "*.key\n/top.txt\nsecret/\n# comment\n"),
                ("secret/deep/x.rs", ""),
                ("a/secret", ""),
                ("a/top.txt", ""),
            ],
            &[
                "x.key",
                "a/b/x.key",
                "top.txt",
                "secret",
                "secret/deep/x.rs",
                "secret/not/there",
            ],
            &["a/top.txt", "a/secret", "x.keys", IGNORE_FILE],
        );
    }

    #[test]
    fn a_nearer_file_has_the_last_word_but_cannot_open_a_hidden_folder() {
        check(
            &[
                (IGNORE_FILE, "*.key\nclosed/\n"),
                ("a/.copydeskignore", "!ok.key\n"),
                ("closed/.copydeskignore", "!*\n"),
            ],
            &["a/no.key", "closed/x", "ok.key"],
            &["a/ok.key", "a/b/ok.key"],
        );
    }

    #[test]
    fn rules_of_git_are_another_matter() {
        check(
            &[(".gitignore", "a\n"), (".ignore", "b\n")],
            &[],
            &["a", "b"],
        );
    }

    #[test]
    fn dots_are_no_way_around() {
        check(
            &[(IGNORE_FILE, "secret/\n"), ("secret/x", ""), ("a/", "")],
            &["a/../secret/x", "./secret/./x", "nowhere/../secret/x"],
            &["secret/../a"],
        );
    }

    #[test]
    fn a_broken_line_does_not_turn_off_the_others() {
        check(&[(IGNORE_FILE, "a{b\n*.key\n")], &["x.key"], &["x"]);
    }

    #[test]
    fn a_change_of_the_rules_counts_at_once() {
        let tree = tempfile::tempdir().expect("a folder");
        let file = tree.path().join("x");
        for (rules, hidden) in [("y\n", false), ("x\n", true), ("z\n", false)] {
            fs::write(tree.path().join(IGNORE_FILE), rules).expect("a file");
            assert_eq!(is_hidden_from_model(&file), hidden, "with {rules:?}");
        }
        fs::remove_file(tree.path().join(IGNORE_FILE)).expect("removed");
        assert!(!is_hidden_from_model(&file));
    }

    #[cfg(unix)]
    #[test]
    fn the_rules_are_known_by_every_name() {
        let tree = tempfile::tempdir().expect("a folder");
        let at = |name: &str| tree.path().join(name);
        fs::write(at(IGNORE_FILE), "").expect("a file");
        std::os::unix::fs::symlink(IGNORE_FILE, at("link")).expect("a link");
        for name in [IGNORE_FILE, "link", "a/.copydeskignore", ".CopydeskIgnore"] {
            assert!(holds_rules(&at(name)), "{name}");
        }
        for name in ["copydeskignore", ".gitignore", "a"] {
            assert!(!holds_rules(&at(name)), "{name}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_are_no_way_around() {
        use std::os::unix::fs::symlink;
        let tree = tempfile::tempdir().expect("a folder");
        let at = |name: &str| tree.path().join(name);
        fs::create_dir(at("secret")).expect("a folder");
        fs::write(at("secret/x"), "").expect("a file");
        fs::write(at(IGNORE_FILE), "secret/\n").expect("a file");
        symlink("secret", at("door")).expect("a link");
        symlink("secret/x", at("window")).expect("a link");
        symlink("nowhere", at("dangling")).expect("a link");
        assert!(is_hidden_from_model(&at("door/x")));
        assert!(is_hidden_from_model(&at("door/new")));
        assert!(is_hidden_from_model(&at("door")));
        assert!(is_hidden_from_model(&at("window")));
        assert!(!is_hidden_from_model(&at("dangling")));
    }
}
