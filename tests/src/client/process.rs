//! Starting the server's process, its surroundings (nothing of this machine's keys and settings reaches it), and its
//! process tree. It never speaks the protocol.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::process::{Child, Command};

use super::ways::Ways;

/// The binary under test.
const BIN: &str = "COPYDESK_BIN";

/// Variables that would let the person's own settings into a test.
pub(crate) const CLEARED: [&str; 16] = [
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_BASE_URL",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "OPENROUTER_API_KEY",
    "COPYDESK_MODEL",
    "COPYDESK_CONFIG_DIR",
    "COPYDESK_STATE_DIR",
    "http_proxy",
    "https_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "all_proxy",
    "RUSTUP_TOOLCHAIN",
    "CARGO_TARGET_DIR",
];

/// What an [`super::Editor`] starts with.
#[derive(Debug)]
pub struct Setup {
    /// Whose ways are played.
    pub ways: Ways,
    /// The workspace folder. An empty path starts without one.
    pub root: PathBuf,
    /// `initializationOptions`; `client.events` is set unless it is given.
    pub options: Value,
    /// What `workspace/configuration` finds, by section.
    pub settings: Value,
    /// The environment, over a cleared one.
    pub env: Vec<(String, String)>,
    /// The folder of `config.toml`; an empty one if there is none.
    pub config_dir: Option<PathBuf>,
    /// The folder of transcripts; an empty one if there is none.
    pub state_dir: Option<PathBuf>,
    /// Arguments of the binary.
    pub args: Vec<String>,
    /// Changes `initialize`'s params last of all.
    pub initialize: fn(&mut Value),
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            ways: Ways::vscode(),
            root: PathBuf::new(),
            options: json!({}),
            settings: json!({}),
            env: Vec::new(),
            config_dir: None,
            state_dir: None,
            args: Vec::new(),
            initialize: |_| {},
        }
    }
}

impl Setup {
    /// The params of `initialize`, and the folders in them.
    pub(super) fn params(&self) -> (Value, Vec<Value>) {
        let mut params = profile(self.ways.profile);
        let mut folders = Vec::new();
        params["processId"] = json!(std::process::id());
        params["rootUri"] = Value::Null;
        if !self.root.as_os_str().is_empty() {
            let name = self.root.file_name().unwrap_or_default().to_string_lossy();
            let uri = uri(&self.root);
            params["rootUri"] = json!(uri);
            folders.push(json!({"uri": uri, "name": name}));
        }
        if params["capabilities"]["workspace"]["workspaceFolders"] == true {
            params["workspaceFolders"] = json!(folders);
        }
        let mut options = self.options.clone();
        if options["client"]["events"].is_null() {
            options["client"]["events"] = json!(true);
        }
        params["initializationOptions"] = options;
        (self.initialize)(&mut params);
        (params, folders)
    }

    /// Starts the binary. `home` holds the folders that were not given.
    pub(super) fn spawn(&self, home: &Path) -> Child {
        let folder = |given: &Option<PathBuf>, name: &str| {
            let path = given.clone().unwrap_or_else(|| home.join(name));
            std::fs::create_dir_all(&path).expect("a folder for the server");
            path
        };
        let binary = binary();
        let mut command = Command::new(&binary);
        for name in CLEARED {
            command.env_remove(name);
        }
        command
            .args(&self.args)
            .env("COPYDESK_CONFIG_DIR", folder(&self.config_dir, "config"))
            .env("COPYDESK_STATE_DIR", folder(&self.state_dir, "state"))
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
            .spawn()
            .unwrap_or_else(|why| panic!("{} does not start: {why}", binary.display()))
    }
}

/// The binary under test: `COPYDESK_BIN`, else the one beside this test's own.
pub fn binary() -> PathBuf {
    let path = std::env::var_os(BIN).map_or_else(
        || {
            let test = std::env::current_exe().expect("this test's path");
            let folder = test.ancestors().nth(2).expect("target/debug").to_owned();
            folder.join(format!("copydesk{}", std::env::consts::EXE_SUFFIX))
        },
        PathBuf::from,
    );
    assert!(
        path.is_file(),
        "{} is not there: `cargo build -p copydesk` first (or run `cargo xtask test`)",
        path.display()
    );
    path
}

/// What a real editor sent as `clientInfo` and `capabilities`, by the name of its file in `tests/profiles`.
pub fn profile(name: &str) -> Value {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("profiles");
    let path = folder.join(format!("{name}.json"));
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|why| panic!("no profile {}: {why}", path.display()));
    let mut profile: Value = serde_json::from_str(&text).expect("a profile is JSON");
    if profile["clientInfo"].is_null() {
        profile
            .as_object_mut()
            .expect("an object")
            .remove("clientInfo");
    }
    profile
}

/// A file's uri as editors write it: everything but the plain characters as `%XX`.
pub fn uri(path: &Path) -> String {
    let mut uri = String::from("file://");
    for byte in path.to_str().expect("test paths are text").bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
                uri.push(char::from(byte));
            }
            _ => write!(uri, "%{byte:02X}").expect("a String takes all"),
        }
    }
    uri
}

/// All processes below `pid`, it included, with the commands they run. Linux only (elsewhere: `pid` alone).
pub fn tree(pid: u32) -> Vec<(u32, String)> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Ok(found) = entry.file_name().to_string_lossy().parse::<u32>() else {
            continue;
        };
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else {
            continue;
        };
        // The name stands in brackets and may hold anything; the parent is the second field after it.
        let parent = stat
            .rsplit_once(") ")
            .and_then(|(_, rest)| rest.split(' ').nth(1)?.parse().ok());
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        all.push((found, parent.unwrap_or(0), line));
    }
    let mut inside = vec![pid];
    let mut at = 0;
    while let Some(parent) = inside.get(at).copied() {
        inside.extend(
            all.iter()
                .filter(|(_, p, _)| *p == parent)
                .map(|(found, _, _)| *found),
        );
        at += 1;
    }
    let line = |pid: u32| {
        all.iter()
            .find(|(found, _, _)| *found == pid)
            .map(|(_, _, l)| l.clone())
    };
    inside
        .into_iter()
        .map(|pid| (pid, line(pid).unwrap_or_default()))
        .collect()
}

/// Whether no process of that id runs any more (a zombie does not run).
pub fn gone(pid: u32) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else {
        return true;
    };
    stat.rsplit_once(") ")
        .is_none_or(|(_, rest)| rest.starts_with('Z') || rest.starts_with('X'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_is_percent_encoded() {
        assert_eq!(uri(Path::new("/a b/é.rs")), "file:///a%20b/%C3%A9.rs");
    }

    #[test]
    fn every_way_has_its_profile() {
        for ways in Ways::all() {
            assert!(
                profile(ways.profile)["capabilities"].is_object(),
                "{}",
                ways.name
            );
        }
    }

    #[tokio::test]
    async fn a_tree_holds_the_children() {
        let mut child = Command::new("sleep")
            .arg("60")
            .kill_on_drop(true)
            .spawn()
            .expect("sleep");
        let pid = child.id().expect("a pid");
        let found = tree(std::process::id());
        assert!(
            found
                .iter()
                .any(|(found, line)| *found == pid && line.contains("sleep 60"))
        );
        assert!(!gone(pid));
        child.kill().await.expect("killed");
        assert!(gone(pid));
    }
}
