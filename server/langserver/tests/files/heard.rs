//! A scripted server that asks to hear of files, and what it has heard.

use std::{
    fs,
    path::Path,
    time::{Duration, Instant, SystemTime},
};

use langserver::Limits;
use serde_json::{Value, json};
use workspace::DocumentUri;

use crate::stand::{STAGE, Stand, servers, write};

/// A server that wants to hear of what these watchers name, and has heard of one file.
pub async fn watching(files: &[(&str, &str)], watchers: impl Fn(&Path) -> Value) -> Stand {
    let stand = asked(
        files,
        json!({"hoverProvider": true, "textDocumentSync": 1}),
        |folder| {
            json!([{"ask": ["client/registerCapability", {"registrations": [
                {"id": "1", "method": "workspace/didChangeWatchedFiles", "registerOptions": {"watchers": watchers(folder)}}
            ]}]}])
        },
    );
    stand.hover("a.rs").await.expect("an answer");
    stand.probe("probe").await;
    stand
}

pub fn asked(files: &[(&str, &str)], capabilities: Value, first: impl Fn(&Path) -> Value) -> Stand {
    let files = [&[("a.rs", "fn a() {}\n")], files].concat();
    Stand::with(
        &files,
        |folder| {
            let folder = folder.canonicalize().expect("a path");
            // Outside of what is watched, or it would be watched being written.
            let script = json!({
                "log": folder.join(".log/log"), "capabilities": capabilities, "on": {"initialized": [first(&folder)]}
            });
            write(&folder.join(".log/log"), "");
            write(&folder.join(".log/script"), &script.to_string());
            later(&folder.join(".log"));
            let command = json!([STAGE, "serve", folder.join(".log/script")]);
            servers(json!({"scripted": {"command": command, "languages": ["rust"]}}))
        },
        Limits::default(),
    )
}

/// Waits until all files that are there are older than whatever somebody asks for from now on. Files are dated in steps, or
/// more finely when somebody looks at them; what is asked for is dated by the clock that goes in steps.
fn later(folder: &Path) {
    let last = folder.join("last");
    write(&last, "");
    let data = fs::metadata(last).expect("data");
    let date = data.modified().expect("a date");
    while stepping() <= date {
        std::thread::yield_now();
    }
}

#[cfg(target_os = "linux")]
fn stepping() -> SystemTime {
    use rustix::time::{ClockId, clock_gettime};
    let now = clock_gettime(ClockId::RealtimeCoarse);
    let seconds = u64::try_from(now.tv_sec).expect("after 1970");
    let rest = u32::try_from(now.tv_nsec).expect("small");
    SystemTime::UNIX_EPOCH + Duration::new(seconds, rest)
}

#[cfg(not(target_os = "linux"))]
fn stepping() -> SystemTime {
    SystemTime::now()
}

pub trait Heard {
    fn said(&self) -> Vec<Value>;
    fn notices(&self) -> Vec<Vec<(String, u64)>>;
    fn heard(&self) -> Vec<(String, u64)>;
    fn count(&self, one: &(String, u64)) -> usize;
    fn put(&self, name: &str, text: &str);
    async fn until(&self, what: &str, is_so: impl Fn(&[(String, u64)]) -> bool);
    async fn probe(&self, name: &str);
}

impl Heard for Stand {
    fn said(&self) -> Vec<Value> {
        let log = fs::read_to_string(self.path(".log/log")).expect("a log");
        let whole = log.rfind('\n').map_or("", |end| &log[..end]);
        let lines = whole.lines();
        lines
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect()
    }

    /// What it was told of files, by message.
    fn notices(&self) -> Vec<Vec<(String, u64)>> {
        let root = DocumentUri::from_path(&self.path("")).expect("a uri");
        let root = format!("{}/", root.as_str().trim_end_matches('/'));
        let name = |change: &Value| {
            let uri = change["uri"].as_str().expect("a uri");
            let name = uri.strip_prefix(&root).unwrap_or(uri).to_owned();
            (name, change["type"].as_u64().expect("a type"))
        };
        let said = self.said();
        let notices = said
            .iter()
            .filter(|message| message["method"] == "workspace/didChangeWatchedFiles");
        notices
            .map(|notice| {
                let changes = notice["params"]["changes"].as_array().expect("changes");
                changes.iter().map(name).collect()
            })
            .collect()
    }

    /// The same in one list, without probes.
    fn heard(&self) -> Vec<(String, u64)> {
        let mut heard = self.notices().concat();
        heard.retain(|(name, _)| !name.contains("probe"));
        heard
    }

    /// How often it was told this.
    fn count(&self, one: &(String, u64)) -> usize {
        count(&self.notices().concat(), one)
    }

    fn put(&self, name: &str, text: &str) {
        write(&self.path(name), text);
    }

    async fn until(&self, what: &str, is_so: impl Fn(&[(String, u64)]) -> bool) {
        let deadline = Instant::now() + Duration::from_secs(30);
        while !is_so(&self.notices().concat()) {
            assert!(Instant::now() < deadline, "{what}: {:?}", self.notices());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Until a change of a file has been heard of, and with it all that came before.
    async fn probe(&self, name: &str) {
        let name = format!("{name}.rs");
        let deadline = Instant::now() + Duration::from_secs(30);
        let mut text = String::new();
        // The first ones may come before anything is watched.
        while !self.notices().concat().iter().any(|(one, _)| *one == name) {
            assert!(Instant::now() < deadline, "{:?}", self.said());
            text.push('x');
            self.put(&name, &text);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

pub fn count(heard: &[(String, u64)], one: &(String, u64)) -> usize {
    heard.iter().filter(|event| *event == one).count()
}

pub fn events(list: &[(&str, u64)]) -> Vec<(String, u64)> {
    let mut list: Vec<_> = list
        .iter()
        .map(|(name, kind)| ((*name).to_owned(), *kind))
        .collect();
    list.sort();
    list
}

pub fn sorted(mut list: Vec<(String, u64)>) -> Vec<(String, u64)> {
    list.sort();
    list
}
