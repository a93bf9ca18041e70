//! Globs over paths as models write them: `*.rs`, `src/**/*.ts`, `*.{js,jsx}`, `/top.txt`, `!*.lock`. Reads no folder.

use std::{ffi::OsStr, path::Path};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use super::SearchError;

/// A glob: one without a slash is about names, one with a slash about paths below the folder that is searched (or
/// below the workspace's root, since models mix them up), and one that begins with `!` is about all others.
#[derive(Clone, Debug)]
pub(super) struct PathGlob {
    set: GlobSet,
    about: About,
    others: bool,
    /// Whether it names something hidden (`.github/**`), which is then looked into.
    pub(super) names_hidden: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum About {
    Names,
    Paths,
    /// Paths from the root of the file system, or, as git writes it, from the folder that is searched.
    WholePaths,
}

/// The ways to write one file's path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spellings<'a> {
    /// From the folder that is searched.
    pub(super) inside: &'a Path,
    /// Where that folder lies in the workspace; empty for the root itself.
    pub(super) below_root: &'a Path,
    /// The whole path of the folder.
    pub(super) folder: &'a Path,
}

impl PathGlob {
    pub(super) fn new(glob: &str) -> Result<Self, SearchError> {
        let wrong = |error: globset::Error| SearchError::Glob {
            glob: glob.to_owned(),
            reason: error.kind().to_string(),
        };
        let (text, others) = glob
            .strip_prefix('!')
            .map_or((glob, false), |rest| (rest, true));
        let text = text.trim_start_matches("./");
        let about = match (text.starts_with('/'), text.contains('/')) {
            (true, _) => About::WholePaths,
            (_, true) => About::Paths,
            _ => About::Names,
        };
        let mut set = GlobSetBuilder::new();
        let mut add = |text: &str| -> Result<(), SearchError> {
            let glob = GlobBuilder::new(text)
                .literal_separator(true)
                .build()
                .map_err(wrong)?;
            set.add(glob);
            Ok(())
        };
        // `src/` is everything in it.
        let all = if text.ends_with('/') {
            format!("{text}**")
        } else {
            text.to_owned()
        };
        add(&all)?;
        if about == About::WholePaths {
            add(all.trim_start_matches('/'))?;
        }
        let names_hidden = !others
            && text
                .split(['/', '{', ','])
                .any(|part| part.len() > 1 && part.starts_with('.') && !part.starts_with(".."));
        Ok(Self {
            set: set.build().map_err(wrong)?,
            about,
            others,
            names_hidden,
        })
    }

    /// Whether it matches every file of this name, and only those; `None` if the name alone does not tell.
    pub(super) fn matches_name(&self, name: &OsStr) -> Option<bool> {
        (self.about == About::Names).then(|| self.set.is_match(name) != self.others)
    }

    pub(super) fn matches(&self, path: Spellings<'_>) -> bool {
        let found = match self.about {
            About::Names => {
                let name = path.inside.file_name();
                return name
                    .and_then(|name| self.matches_name(name))
                    .unwrap_or(self.others);
            }
            About::Paths => self.set.is_match(path.inside) || self.below_root(path),
            About::WholePaths => {
                self.set.is_match(path.inside)
                    || self.set.is_match(path.folder.join(path.inside))
                    || self.below_root(path)
            }
        };
        found != self.others
    }

    fn below_root(&self, path: Spellings<'_>) -> bool {
        !path.below_root.as_os_str().is_empty()
            && self.set.is_match(path.below_root.join(path.inside))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Paths below `/ws/src`, which is searched, in a workspace at `/ws`.
    fn check(glob: &str, matched: &[&str], not: &[&str]) {
        let compiled = PathGlob::new(glob).expect("a glob");
        let matches = |inside: &str| {
            compiled.matches(Spellings {
                inside: Path::new(inside),
                below_root: Path::new("src"),
                folder: Path::new("/ws/src"),
            })
        };
        for inside in matched {
            assert!(matches(inside), "{glob} must match {inside}");
        }
        for inside in not {
            assert!(!matches(inside), "{glob} must not match {inside}");
        }
    }

    #[test]
    fn names_and_paths() {
        check("*.rs", &["a.rs", "deep/er/a.rs"], &["a.rsx", "rs"]);
        check("*.{ts,tsx}", &["a.ts", "b/a.tsx"], &["a.js"]);
        check("mod.rs", &["mod.rs", "a/mod.rs"], &["amod.rs"]);
        check("a/*.rs", &["a/x.rs"], &["a/b/x.rs", "x.rs", "b/a/x.rs"]);
        check("a/**/*.rs", &["a/x.rs", "a/b/c/x.rs"], &["x.rs"]);
        check("**/a/*.rs", &["a/x.rs", "b/a/x.rs"], &["x.rs"]);
        check("a/", &["a/x", "a/b/x"], &["a", "b/a/x"]);
        check("./*.rs", &["a.rs"], &["a.ts"]);
        check("!*.lock", &["a.rs"], &["Cargo.lock", "b/x.lock"]);
        check("[ab].rs", &["a.rs"], &["c.rs"]);
        check("?.rs", &["a.rs", "b/b.rs"], &["ab.rs"]);
    }

    #[test]
    fn paths_from_elsewhere() {
        check("src/*.rs", &["a.rs", "src/a.rs"], &["b/a.rs"]);
        check("/ws/src/**/*.rs", &["a.rs", "b/a.rs"], &["a.ts"]);
        check("/a.rs", &["a.rs"], &["b/a.rs"]);
        check("/ws/other/*.rs", &[], &["a.rs"]);
    }

    #[test]
    fn hidden_names() {
        for (glob, hidden) in [
            ("*.rs", false),
            (".env", true),
            (".github/**", true),
            ("**/.config/*", true),
            ("{.a,b}", true),
            ("../x", false),
            ("./x", false),
            ("!.env", false),
            ("a.b/c", false),
        ] {
            assert_eq!(
                PathGlob::new(glob).expect("a glob").names_hidden,
                hidden,
                "{glob}"
            );
        }
    }

    #[test]
    fn what_is_no_glob_is_told() {
        let said = |glob: &str| PathGlob::new(glob).expect_err("no glob").to_string();
        expect_test::expect![[r#""a{b" is no glob: unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)"#]]
            .assert_eq(&said("a{b"));
        expect_test::expect![[r#""[b" is no glob: unclosed character class; missing ']'"#]]
            .assert_eq(&said("[b"));
    }
}
