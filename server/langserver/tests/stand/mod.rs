//! What the tests stand on: a folder, a workspace over it, a pool, and for scripted servers a script and its log.
#![allow(dead_code)]

use std::{
    fs::File,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use langserver::{Bounds, Limits, Pool, PoolConfig, Servers, process};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use workspace::{
    Buffers, ByteOffset, ContentChange, DocumentUri, Edit, Encoding, Host, HostError, Position,
    Range, Reply, Snapshot, Workspace,
};

pub const STAGE: &str = env!("CARGO_BIN_EXE_scripted-langserver");

pub struct Stand {
    pub folder: TempDir,
    pub buffers: Arc<Buffers>,
    pub workspace: Arc<Workspace>,
    pub pool: Arc<Pool>,
}

impl Stand {
    /// A folder with these files, and a pool of these servers.
    pub fn with(
        files: &[(&str, &str)],
        servers: impl FnOnce(&Path) -> Servers,
        limits: Limits,
    ) -> Self {
        Self::bounded(files, servers, limits, PoolConfig::default().bounds())
    }

    /// The same, with bounds for what the servers may cost.
    pub fn bounded(
        files: &[(&str, &str)],
        servers: impl FnOnce(&Path) -> Servers,
        limits: Limits,
        bounds: Bounds,
    ) -> Self {
        process::supervise_with(STAGE, ["__supervise".into()]);
        let folder = TempDir::new().expect("a folder");
        for (name, text) in files {
            write(&folder.path().join(name), text);
        }
        let buffers = Buffers::new();
        // Outside of the project's root, where a server would see it change.
        let root = folder.path().canonicalize().expect("a path");
        let workspace = Workspace::new(vec![root], buffers.clone(), Arc::new(Nobody));
        let pool = Pool::bounded(servers(folder.path()), workspace.clone(), limits, bounds);
        Self {
            folder,
            buffers,
            workspace,
            pool,
        }
    }

    /// A pool with one scripted server, for Rust.
    pub fn scripted(script: Value) -> Self {
        Self::scripted_within(script, Limits::default())
    }

    pub fn scripted_within(mut script: Value, limits: Limits) -> Self {
        let files = [("a.rs", "fn a() {}\n"), ("b.rs", "fn b() {}\n")];
        Self::with(
            &files,
            |folder| {
                script["log"] = json!(folder.join("log"));
                write(&folder.join("script"), &script.to_string());
                servers(
                    json!({"scripted": {"command": [STAGE, "serve", folder.join("script")], "languages": ["rust"], "ready": "initialized", "settings": {"a": {"b": 1}}}}),
                )
            },
            limits,
        )
    }

    /// With another script: for scripts that name files in the folder.
    pub fn acting(self, mut script: Value) -> Self {
        script["log"] = json!(self.folder.path().join("log"));
        write(&self.folder.path().join("script"), &script.to_string());
        self
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder
            .path()
            .canonicalize()
            .expect("a path")
            .join(name)
    }

    pub fn uri(&self, name: &str) -> DocumentUri {
        DocumentUri::from_path(&self.path(name)).expect("a uri")
    }

    /// Opens a document in the editor.
    pub fn open(&self, name: &str, text: &str) -> Snapshot {
        self.buffers.open(self.uri(name), "rust", 1, text)
    }

    /// Types: replaces the first `old` of a buffer.
    pub fn replace(&self, name: &str, old: &str, new: &str) -> Snapshot {
        let before = self.buffers.get(&self.uri(name)).expect("open");
        let start = before.text.to_string().find(old).expect("the old text");
        let place = |offset: usize| before.text.position(ByteOffset(offset), Encoding::Utf16);
        let range = Some(Range::new(place(start), place(start + old.len())));
        let version = before.version.expect("a version") + 1;
        let change = ContentChange {
            range,
            text: new.to_owned(),
        };
        self.buffers
            .change(&before.uri, version, &[change], Encoding::Utf16)
            .expect("changed")
    }

    /// Everything that scripted servers got so far, in order.
    pub fn log(&self) -> Vec<Value> {
        let log = std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
        // The last line may be being written.
        let whole = log.rfind('\n').map_or("", |end| &log[..end]);
        whole
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect()
    }

    /// The methods that came, without the greetings.
    pub fn methods(&self) -> Vec<String> {
        let greetings = [
            "initialize",
            "initialized",
            "workspace/didChangeConfiguration",
        ];
        let log = self.log();
        let methods = log.iter().filter_map(|message| message["method"].as_str());
        methods
            .filter(|method| !greetings.contains(method))
            .map(str::to_owned)
            .collect()
    }

    pub fn starts(&self) -> usize {
        self.log()
            .iter()
            .filter(|message| message.get("pid").is_some())
            .count()
    }

    /// Asks, does something when that question is with the server, and has it go on by a hover.
    pub async fn meanwhile<T>(
        &self,
        method: &str,
        ask: impl Future<Output = T>,
        act: impl FnOnce(),
    ) -> T {
        let asked = || {
            let methods = self.methods();
            methods.iter().filter(|one| *one == method).count()
        };
        let before = asked();
        let act = async {
            while asked() == before {
                tokio::task::yield_now().await;
            }
            act();
            self.hover("a.rs").await.expect("answered");
        };
        tokio::join!(ask, act).0
    }

    /// Another program writes a file, which is then as old as it says: later than now by the clock of the disk, which may stand
    /// still for some milliseconds.
    pub fn written(&self, name: &str, text: &str, when: SystemTime) {
        later(|| {
            write(&self.path(name), text);
            touch(&self.path(name), when);
            self.path(name)
        });
    }

    pub async fn hover(&self, name: &str) -> Result<Option<String>, String> {
        let hover = self
            .pool
            .hover(&self.uri(name), ByteOffset(0), &never())
            .await;
        hover
            .map(|answer| answer.value)
            .map_err(|error| error.to_string())
    }
}

pub fn servers(value: Value) -> Servers {
    serde_json::from_value(value).expect("servers")
}

pub fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    std::fs::write(path, text).expect("written");
}

/// Has a file be as old as this.
pub fn touch(path: &Path, when: SystemTime) {
    let file = File::options().write(true).open(path);
    file.and_then(|file| file.set_modified(when))
        .expect("touched");
}

/// Does it until the file that it gives has become another after now.
pub fn later(act: impl Fn() -> PathBuf) {
    let then = SystemTime::now();
    while changed(&act()) <= then {}
}

/// When the disk says that something about a file became another.
fn changed(path: &Path) -> SystemTime {
    let metadata = path.metadata().expect("there");
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let seconds = u64::try_from(metadata.ctime()).expect("after 1970");
        let rest = u32::try_from(metadata.ctime_nsec()).expect("small");
        SystemTime::UNIX_EPOCH + Duration::new(seconds, rest)
    }
    #[cfg(not(unix))]
    metadata.modified().expect("known")
}

pub fn never() -> CancellationToken {
    CancellationToken::new()
}

pub fn at(line: u32, start: u32, end: u32) -> Value {
    json!({"start": {"line": line, "character": start}, "end": {"line": line, "character": end}})
}

/// Short limits, for what must not be waited for.
pub fn short() -> Limits {
    let moment = Duration::from_millis(300);
    Limits {
        start: moment,
        ready: moment,
        answer: moment,
    }
}

pub fn position(line: u32, character: u32) -> Position {
    Position::new(line, character)
}

/// Takes no edits.
struct Nobody;

#[async_trait::async_trait]
impl Host for Nobody {
    async fn apply(&self, _edit: &Edit, _label: &str) -> Result<Reply, HostError> {
        Err(HostError::Unsupported)
    }
}
