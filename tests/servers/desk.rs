//! A project with one real server and our tools over it. The editor is played by a host that puts each edit into the buffer at
//! once, as a well-behaved one does. It judges no answer but for the two things that hold for all: see [`Said`].

use std::{collections::BTreeSet, path::Path, sync::Arc, time::Duration};

use async_trait::async_trait;
use langserver::{Limits, Pool, Servers, process};
use serde_json::{Value, json};
use tests::{client, fixtures::Project};
use tokio_util::sync::CancellationToken;
use tools::{Context, Registry};
use workspace::{
    Buffers, ContentChange, DocumentUri, Edit, Encoding, Host, HostError, Reply, Workspace,
};

use crate::{samples::Spot, servers::Real};

/// Slow machines are no fault of ours.
pub fn patient() -> Limits {
    let minute = Duration::from_secs(60);
    Limits {
        ready: minute,
        answer: minute,
        ..Limits::default()
    }
}

pub struct Desk {
    pub project: Project,
    pub cx: Context,
    tools: Registry,
}

impl Desk {
    /// One server over these files.
    pub fn new(real: Real, files: &[(&str, &str)]) -> Self {
        Self::over(real, Self::project(files))
    }

    /// These files, told where they are.
    pub fn project(files: &[(&str, &str)]) -> Project {
        let project = Project::new();
        let root = project.root().display().to_string();
        for (name, text) in files {
            project.write(name, &text.replace("ROOT", &root));
        }
        project
    }

    /// The same over a project that is there.
    pub fn over(real: Real, project: Project) -> Self {
        Self::within(real, project, patient())
    }

    /// The same with other limits.
    pub fn within(real: Real, project: Project, limits: Limits) -> Self {
        Self::of(real.alone(), project, limits)
    }

    /// The same with any servers.
    pub fn of(servers: Servers, project: Project, limits: Limits) -> Self {
        process::supervise_with(client::binary(), ["__supervise".into()]);
        let buffers = Buffers::new();
        let host = Editor::over(buffers.clone());
        let workspace = Workspace::new(vec![project.root().to_owned()], buffers, host);
        let pool = Pool::with_limits(servers, workspace.clone(), limits);
        let cx = Context {
            pool,
            workspace,
            cancel: CancellationToken::new(),
            label: "test".into(),
            own: tools::OwnEdits::default(),
        };
        Self {
            project,
            cx,
            tools: Registry::builtin(),
        }
    }

    /// What the model would be told by a call of the `lsp` tool.
    pub async fn lsp(&self, operation: &str, file: &str, more: Value) -> Said {
        let mut input = json!({ "operation": operation, "filePath": file });
        for (key, value) in more.as_object().into_iter().flatten() {
            input[key] = value.clone();
        }
        self.call("lsp", input).await
    }

    /// What the model would be told by a call of any tool.
    pub async fn call(&self, tool: &str, input: Value) -> Said {
        let prepared = match self.tools.prepare(tool, input) {
            Ok(prepared) => prepared,
            Err(why) => panic!("{tool}: {why}"),
        };
        match prepared.tool.call(prepared.input, &self.cx).await {
            Ok(output) => Said {
                text: output.text,
                well: true,
            },
            Err(why) => Said {
                text: why.to_string(),
                well: false,
            },
        }
    }

    /// The same about a place, wherever it is by now.
    pub async fn at(&self, operation: &str, spot: Spot, more: Value) -> Said {
        let (line, character) = spot.place(&self.text(spot.file));
        let mut input = json!({ "line": line, "character": character });
        for (key, value) in more.as_object().into_iter().flatten() {
            input[key] = value.clone();
        }
        self.lsp(operation, spot.file, input).await
    }

    /// `file:line` of a place, wherever it is by now.
    pub fn place(&self, spot: Spot) -> (&'static str, u32) {
        (spot.file, spot.place(&self.text(spot.file)).0)
    }

    pub fn uri(&self, name: &str) -> DocumentUri {
        DocumentUri::from_path(&self.project.path(name)).expect("a uri")
    }

    /// A file's newest text.
    pub fn text(&self, name: &str) -> String {
        let read = self.cx.workspace.read(&self.uri(name));
        read.expect("a text").text.to_string()
    }

    /// Opens a file in the editor.
    pub fn open(&self, name: &str) {
        let language = langserver::catalogue::language_of(Path::new(name)).unwrap_or("plaintext");
        let text = self.project.read(name);
        let buffers = self.cx.workspace.buffers();
        buffers.open(self.uri(name), language, 1, &text);
    }

    /// Types: replaces the only `old` of a buffer. Nothing is saved.
    pub fn replace(&self, name: &str, old: &str, new: &str) {
        let before = self
            .cx
            .workspace
            .buffers()
            .get(&self.uri(name))
            .expect("open");
        let text = before.text.to_string();
        assert_eq!(text.matches(old).count(), 1, "{old:?} in {text}");
        let start = text.find(old).expect("counted");
        let range = workspace::ByteRange::new(start, start + old.len());
        let change = ContentChange {
            range: Some(before.text.range(range, Encoding::Utf16)),
            text: new.to_owned(),
        };
        let version = before.version.unwrap_or(0) + 1;
        let buffers = self.cx.workspace.buffers();
        buffers
            .change(&before.uri, version, &[change], Encoding::Utf16)
            .expect("changed");
    }

    /// The pid of the server.
    pub fn pid(&self) -> u32 {
        self.cx.pool.status()[0].pid.expect("it runs")
    }

    /// Ends the server; no process of it is left.
    pub async fn end(self) {
        let pids: Vec<u32> = self
            .cx
            .pool
            .status()
            .iter()
            .filter_map(|one| one.pid)
            .collect();
        let trees: Vec<_> = pids.iter().flat_map(|pid| client::tree(*pid)).collect();
        self.cx.pool.shutdown().await;
        all_gone(&trees).await;
    }
}

/// The processes are gone, or go within LSP's patience.
pub async fn all_gone(processes: &[(u32, String)]) {
    let gone = async {
        while !processes.iter().all(|(pid, _)| client::gone(*pid)) {
            tokio::task::yield_now().await;
        }
    };
    let in_time = tokio::time::timeout(Duration::from_secs(5), gone).await;
    let left = processes.iter().filter(|(pid, _)| !client::gone(*pid));
    let left: Vec<_> = left.collect();
    assert!(in_time.is_ok(), "left behind: {left:?}");
}

/// An answer of the tool.
#[derive(Clone, Debug)]
pub struct Said {
    pub text: String,
    /// Whether it is an answer, not an error.
    pub well: bool,
}

impl Said {
    /// Whether it names a line of a file: as `file:line`, or as a line that begins with its number under the file's name.
    pub fn names(&self, (file, line): (&str, u32)) -> bool {
        let number = line.to_string();
        let begins = |rest: &str| {
            rest.strip_prefix(&number)
                .is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
        };
        let mut within = false;
        for shown in self.text.lines() {
            let places = shown.match_indices(file);
            let mut named = false;
            for (at, _) in places {
                named = true;
                let rest = &shown[at + file.len()..];
                if rest.strip_prefix(':').is_some_and(begins) {
                    return true;
                }
            }
            if named {
                within = true;
            } else if within
                && begins(shown.trim_start_matches([' ', '-', '\t', '└', '├', '│', '─']))
            {
                return true;
            } else if !shown.starts_with([' ', '\t', '-'])
                && !shown.starts_with(|c: char| c.is_ascii_digit())
            {
                within = false;
            }
        }
        false
    }

    /// Every line of these files that it names: as `file:line`, as a number under the file's name, as "calls in" lines.
    pub fn places<'a>(&self, files: &[&'a str]) -> BTreeSet<(&'a str, u32)> {
        let mut found = BTreeSet::new();
        let mut under = None;
        for shown in self.text.lines() {
            let mut named = None;
            for &file in files {
                for (at, _) in shown.match_indices(file) {
                    let rest = shown[at + file.len()..].strip_prefix(':');
                    if let Some(line) = rest.and_then(number) {
                        found.insert((file, line));
                        named = Some(file);
                    }
                }
            }
            if let Some((file, calls)) = named.zip(shown.split_once(", calls in ")) {
                let lines = calls.1.split(", ").map_while(number);
                found.extend(lines.map(|line| (file, line)));
            }
            let heading = files.iter().find(|file| shown.trim() == **file);
            if let Some(&file) = heading {
                under = Some(file);
            } else if let Some((file, line)) = under.zip(number(shown.trim_start())) {
                found.insert((file, line));
            } else if !shown.starts_with(' ') {
                under = None;
            }
        }
        found
    }

    /// Whether it says that there may be more, or that it may be wrong, for want of time.
    pub fn is_incomplete(&self) -> bool {
        let text = self.text.to_lowercase();
        ["incomplete", "still indexing", "still starting", "pending"]
            .iter()
            .any(|word| text.contains(word))
    }

    /// Whether it says that this server has no such thing.
    pub fn is_unsupported(&self) -> bool {
        self.text.contains("not support")
    }
}

/// The number that a text begins with.
fn number(text: &str) -> Option<u32> {
    let end = text.find(|c: char| !c.is_ascii_digit());
    text[..end.unwrap_or(text.len())].parse().ok()
}

/// Whoever holds the buffers.
pub struct Editor(Arc<Buffers>);

impl Editor {
    pub fn over(buffers: Arc<Buffers>) -> Arc<Self> {
        Arc::new(Self(buffers))
    }
}

#[async_trait]
impl Host for Editor {
    async fn apply(&self, edit: &Edit, _label: &str) -> Result<Reply, HostError> {
        let snapshot = edit.snapshot();
        let change = ContentChange {
            range: None,
            text: edit.result().to_string(),
        };
        let version = snapshot.version.unwrap_or(0) + 1;
        self.0
            .change(&snapshot.uri, version, &[change], Encoding::Utf8)
            .map_err(|error| HostError::Failed(error.to_string()))?;
        Ok(Reply::Applied)
    }
}
