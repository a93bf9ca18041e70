//! What a server has registered since it was started: methods, and the files that it wants to hear of. It only reads
//! what the server says; nothing here looks at the disk.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::SystemTime,
};

use globset::{GlobBuilder, GlobMatcher};
use serde::Deserialize;
use serde_json::Value;
use workspace::{DocumentUri, Snapshot};

use crate::mirror::language;

pub(super) const WATCHED_FILES: &str = "workspace/didChangeWatchedFiles";

/// What happened to a file, in LSP's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Change {
    Created = 1,
    Changed = 2,
    Deleted = 3,
}

/// All registrations of a server, by their ids.
#[derive(Debug, Default)]
pub(super) struct Registrations(BTreeMap<String, Registration>);

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Registration {
    id: String,
    method: String,
    #[serde(default)]
    register_options: Value,
    #[serde(skip)]
    patterns: Vec<Pattern>,
}

impl Registrations {
    /// Whether a method was registered, with this option if it needs one, for this document where one is named.
    pub fn has(&self, method: &str, option: Option<&str>, document: Option<&Snapshot>) -> bool {
        self.of(method).any(|registration| {
            option.is_none_or(|option| registration.register_options[option] == true)
                && registration.covers(document)
        })
    }

    /// The options of every registration of a method.
    pub fn options(&self, method: &str) -> impl Iterator<Item = &Value> {
        self.of(method)
            .map(|registration| &registration.register_options)
    }

    /// The files that it wants to hear of.
    pub fn patterns(&self) -> Vec<Pattern> {
        self.of(WATCHED_FILES)
            .flat_map(|registration| registration.patterns.iter().cloned())
            .collect()
    }

    /// Whether the files that it wants to hear of may be others now. `root` is the folder that it serves.
    pub fn register(&mut self, params: &Value, root: &Path) -> bool {
        let mut others = false;
        for registration in list(params, &["registrations"]) {
            match Registration::deserialize(registration) {
                Ok(mut registration) => {
                    if registration.method == WATCHED_FILES {
                        registration.patterns = patterns(&registration.register_options, root);
                        others = true;
                    }
                    let id = registration.id.clone();
                    let before = self.0.insert(id, registration);
                    others |= before.is_some_and(|before| before.method == WATCHED_FILES);
                }
                Err(error) => tracing::debug!(%error, %registration, "a registration that is none"),
            }
        }
        others
    }

    /// Whether the files that it wants to hear of may be others now.
    pub fn unregister(&mut self, params: &Value) -> bool {
        let mut others = false;
        // The misspelt name is LSP's own.
        for id in list(params, &["unregisterations", "unregistrations"])
            .iter()
            .filter_map(|one| one["id"].as_str())
        {
            let before = self.0.remove(id);
            others |= before.is_some_and(|before| before.method == WATCHED_FILES);
        }
        others
    }

    fn of(&self, method: &str) -> impl Iterator<Item = &Registration> {
        self.0
            .values()
            .filter(move |registration| registration.method == method)
    }
}

impl Registration {
    /// A filter by pattern counts as matching: asking once too often does no harm.
    fn covers(&self, document: Option<&Snapshot>) -> bool {
        let (Some(document), Some(filters)) = (
            document,
            self.register_options["documentSelector"].as_array(),
        ) else {
            return true;
        };
        let language = language(document);
        let scheme = document.uri.as_str().split(':').next().unwrap_or_default();
        let allows = |filter: &Value, key: &str, value: &str| {
            filter[key].as_str().is_none_or(|wanted| wanted == value)
        };
        filters
            .iter()
            .any(|filter| allows(filter, "language", language) && allows(filter, "scheme", scheme))
    }
}

pub(super) fn list<'a>(params: &'a Value, keys: &[&str]) -> &'a [Value] {
    keys.iter()
        .find_map(|key| params[*key].as_array())
        .map_or(&[], Vec::as_slice)
}

/// Files that a server wants to hear of.
#[derive(Debug, Clone)]
pub(crate) struct Pattern {
    /// Where they lie: the pattern's own folder, and as much of the glob as is spelled out.
    pub folder: PathBuf,
    /// Whether what lies in folders below is meant too.
    pub deep: bool,
    /// When it was asked for.
    pub since: SystemTime,
    /// The rest of the glob.
    glob: GlobMatcher,
    kinds: u64,
}

impl Pattern {
    /// Every file with one of these extensions below a folder.
    pub fn of_extensions(
        folder: &Path,
        extensions: impl Iterator<Item = &'static str>,
    ) -> Option<Self> {
        let mut extensions: Vec<_> = extensions.collect();
        extensions.sort_unstable();
        Self::new(folder, &format!("**/*.{{{}}}", extensions.join(",")), 7)
    }

    /// A glob below a folder; one that is a whole path is below none. `None` if it can't be read.
    fn new(base: &Path, glob: &str, kinds: u64) -> Option<Self> {
        let is_whole = Path::new(glob).is_absolute();
        let mut folder = if is_whole {
            Path::new(glob).ancestors().last()?.to_owned()
        } else {
            base.to_owned()
        };
        let mut rest = if is_whole {
            glob.get(folder.to_str()?.len()..)?
        } else {
            glob.trim_start_matches("./")
        };
        while let Some((first, others)) = rest.split_once('/') {
            if first.contains(['*', '?', '{', '}', '[', ']']) {
                break;
            }
            folder.push(first);
            rest = others;
        }
        Some(Self {
            folder,
            deep: rest.contains('/') || rest.contains("**"),
            since: file_time(),
            glob: compile(rest, cfg!(any(windows, target_os = "macos")))?,
            kinds,
        })
    }

    /// Whether it is about this file, `folder` being the pattern's own as the path spells it.
    pub fn has(&self, folder: &Path, path: &Path) -> bool {
        path.strip_prefix(folder)
            .is_ok_and(|rest| self.glob.is_match(rest))
    }

    /// Whether such a change is to be told.
    pub fn wants(&self, change: Change) -> bool {
        self.kinds & (1 << (change as u64 - 1)) != 0
    }
}

/// Now, as the times of files are told: in steps, and so never after what is made from now on.
pub(crate) fn file_time() -> SystemTime {
    #[cfg(target_os = "linux")]
    {
        use rustix::time::{ClockId, clock_gettime};
        let now = clock_gettime(ClockId::RealtimeCoarse);
        let (seconds, rest) = (u64::try_from(now.tv_sec), u32::try_from(now.tv_nsec));
        let since_epoch = seconds.ok().zip(rest.ok());
        let now = since_epoch.and_then(|(seconds, rest)| {
            SystemTime::UNIX_EPOCH.checked_add(std::time::Duration::new(seconds, rest))
        });
        if let Some(now) = now {
            return now;
        }
    }
    SystemTime::now()
}

fn compile(glob: &str, ignore_case: bool) -> Option<GlobMatcher> {
    let glob = GlobBuilder::new(glob)
        .literal_separator(true)
        .empty_alternates(true)
        .case_insensitive(ignore_case)
        .build();
    glob.inspect_err(|error| tracing::debug!(%error, "a glob that is none"))
        .ok()
        .map(|glob| glob.compile_matcher())
}

/// What the options of `workspace/didChangeWatchedFiles` name.
fn patterns(options: &Value, root: &Path) -> Vec<Pattern> {
    let read = |watcher: &Value| {
        let kinds = watcher["kind"].as_u64().unwrap_or(7);
        match &watcher["globPattern"] {
            Value::String(glob) => Pattern::new(root, glob, kinds),
            relative => {
                let base = &relative["baseUri"];
                // A uri, or a workspace folder.
                let uri = base.as_str().or_else(|| base["uri"].as_str())?;
                let base = DocumentUri::parse(uri).ok()?.path()?.to_owned();
                Pattern::new(&base, relative["pattern"].as_str()?, kinds)
            }
        }
    };
    list(options, &["watchers"])
        .iter()
        .filter_map(read)
        .collect()
}

/// Whether the options of an operation on files (`workspace/didRenameFiles`) are about this one. `is_folder` is `None`
/// where nobody knows any more.
pub(super) fn concerns(options: &Value, uri: &DocumentUri, is_folder: Option<bool>) -> bool {
    let scheme = uri.as_str().split(':').next().unwrap_or_default();
    list(options, &["filters"]).iter().any(|filter| {
        let pattern = &filter["pattern"];
        let kind = pattern["matches"].as_str();
        let glob = pattern["glob"].as_str().and_then(|glob| {
            let ignore_case = pattern["options"]["ignoreCase"] == true;
            compile(glob, ignore_case)
        });
        filter["scheme"].as_str().is_none_or(|one| one == scheme)
            && is_folder
                .zip(kind)
                .is_none_or(|(is_folder, kind)| is_folder == (kind == "folder"))
            && uri
                .path()
                .zip(glob)
                .is_some_and(|(path, glob)| glob.is_match(path))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(watcher: &Value) -> Vec<Pattern> {
        patterns(&json!({"watchers": [watcher]}), Path::new("/top"))
    }

    #[test]
    fn globs_as_lsp_has_them() {
        for (glob, path, expected) in [
            ("**/*.rs", "/top/a.rs", true),
            ("**/*.rs", "/top/x/y/a.rs", true),
            ("**/*.rs", "/top/x/a.rsx", false),
            ("**/*.rs", "/other/a.rs", false),
            ("*.rs", "/top/a.rs", true),
            ("*.rs", "/top/x/a.rs", false),
            ("./x/*.rs", "/top/x/a.rs", true),
            ("x/?.rs", "/top/x/ab.rs", false),
            ("x/?.rs", "/top/x/a.rs", true),
            ("**/*.{ts,tsx}", "/top/x/a.tsx", true),
            ("**/{a,b}/*.c", "/top/x/b/y.c", true),
            ("**/{a,b}/*.c", "/top/x/c/y.c", false),
            ("{x/**,*.toml}", "/top/x/y/z", true),
            ("{x/**,*.toml}", "/top/y.toml", true),
            ("{x/**,*.toml}", "/top/y/y.toml", false),
            ("a.min{,.js}", "/top/a.min", true),
            ("**/[a-c]?.py", "/top/b1.py", true),
            ("**/[!a-c]?.py", "/top/b1.py", false),
            ("**", "/top/any/thing", true),
            ("x/**", "/top/x/any/thing", true),
            ("Cargo.toml", "/top/Cargo.toml", true),
            ("Cargo.toml", "/top/x/Cargo.toml", false),
            ("/top/sub/**/*.go", "/top/sub/x/a.go", true),
            ("/top/sub/**/*.go", "/top/x/a.go", false),
            ("/etc/x.conf", "/etc/x.conf", true),
        ] {
            let patterns = read(&json!({"globPattern": glob}));
            let has = patterns
                .iter()
                .any(|one| one.has(&one.folder, Path::new(path)));
            assert_eq!(has, expected, "{glob} {path}");
        }
        for broken in [
            json!("**/{a"),
            json!(5),
            json!({"pattern": "*"}),
            json!({"baseUri": "x", "pattern": "*"}),
        ] {
            assert!(read(&json!({"globPattern": broken})).is_empty(), "{broken}");
        }
    }

    #[test]
    fn where_they_lie() {
        for (glob, folder, deep) in [
            (json!("**/*.rs"), "/top", true),
            (json!("a/b/*.rs"), "/top/a/b", false),
            (json!("a/Cargo.toml"), "/top/a", false),
            (json!("a/*/x"), "/top/a", true),
            (json!("/x/y/**"), "/x/y", true),
            (
                json!({"baseUri": "file:///base", "pattern": "**/*"}),
                "/base",
                true,
            ),
            (
                json!({"baseUri": {"uri": "file:///base/", "name": "b"}, "pattern": "x/*.c"}),
                "/base/x",
                false,
            ),
        ] {
            let patterns = read(&json!({"globPattern": glob}));
            let found: Vec<_> = patterns
                .iter()
                .map(|one| (one.folder.as_path(), one.deep))
                .collect();
            assert_eq!(found, [(Path::new(folder), deep)], "{glob}");
        }
    }

    #[test]
    fn kinds_of_changes() {
        let all = [Change::Created, Change::Changed, Change::Deleted];
        for (kind, expected) in [
            (json!(null), [true, true, true]),
            (json!(1), [true, false, false]),
            (json!(2), [false, true, false]),
            (json!(4), [false, false, true]),
            (json!(5), [true, false, true]),
        ] {
            let patterns = read(&json!({"globPattern": "*", "kind": kind}));
            assert_eq!(all.map(|one| patterns[0].wants(one)), expected, "{kind}");
        }
    }

    #[test]
    fn operations_by_filters() {
        let filter = |pattern: Value| json!({"filters": [{"scheme": "file", "pattern": pattern}]});
        for (options, uri, is_folder, expected) in [
            (
                filter(json!({"glob": "**/*.ts"})),
                "file:///a/b.ts",
                Some(false),
                true,
            ),
            (
                filter(json!({"glob": "**/*.ts"})),
                "untitled:b.ts",
                Some(false),
                false,
            ),
            (
                filter(json!({"glob": "**/*.ts"})),
                "file:///a/b.TS",
                Some(false),
                false,
            ),
            (
                filter(json!({"glob": "**/*.ts", "options": {"ignoreCase": true}})),
                "file:///a/b.TS",
                Some(false),
                true,
            ),
            (
                filter(json!({"glob": "**", "matches": "folder"})),
                "file:///a/b",
                Some(false),
                false,
            ),
            (
                filter(json!({"glob": "**", "matches": "folder"})),
                "file:///a/b",
                Some(true),
                true,
            ),
            (
                filter(json!({"glob": "**", "matches": "folder"})),
                "file:///a/b",
                None,
                true,
            ),
            (
                filter(json!({"glob": "**", "matches": "file"})),
                "file:///a/b",
                Some(true),
                false,
            ),
            (
                json!({"filters": [{"pattern": {"glob": "/a/**"}}]}),
                "file:///a/b",
                Some(false),
                true,
            ),
            (json!({}), "file:///a/b", Some(false), false),
            (json!(true), "file:///a/b", Some(false), false),
        ] {
            let uri = DocumentUri::parse(uri).expect("a uri");
            assert_eq!(
                concerns(&options, &uri, is_folder),
                expected,
                "{options} {uri:?} {is_folder:?}"
            );
        }
    }
}
