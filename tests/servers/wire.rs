//! What goes between us and a real server, written down on its way. It changes nothing of it.

use std::{path::PathBuf, time::Duration};

use langserver::Servers;
use serde_json::Value;

pub struct Wire {
    folder: PathBuf,
}

impl Wire {
    /// Has it written down in a folder: the server stays the process that is started.
    pub fn of(servers: &mut Servers, name: &str, folder: PathBuf) -> Self {
        let recorded =
            r#"folder="$1"; shift; exec "$@" < <(tee "$folder/asked") > >(tee "$folder/said")"#;
        let config = servers.get_mut(name).expect("a server of that name");
        let mut command = ["bash", "-c", recorded, "bash"].map(str::to_owned).to_vec();
        command.push(folder.display().to_string());
        command.append(&mut config.command);
        config.command = command;
        std::fs::create_dir_all(&folder).expect("a folder");
        Self { folder }
    }

    /// What the server was told and asked so far.
    pub fn asked(&self) -> Vec<Value> {
        self.messages("asked")
    }

    /// What it said.
    pub fn said(&self) -> Vec<Value> {
        self.messages("said")
    }

    /// Waits until it has been asked this so often.
    pub async fn until_asked(&self, method: &str, times: usize) {
        let count = || {
            let asked = self.asked();
            asked.iter().filter(|one| one["method"] == method).count()
        };
        let waiting = async {
            while count() < times {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let in_time = tokio::time::timeout(Duration::from_secs(30), waiting).await;
        assert!(in_time.is_ok(), "{method} came {} times", count());
    }

    fn messages(&self, side: &str) -> Vec<Value> {
        let all = std::fs::read(self.folder.join(side)).unwrap_or_default();
        let mut rest = &all[..];
        let mut messages = Vec::new();
        // The last may not be whole yet.
        while let Some((message, after)) = first(rest) {
            messages.push(message);
            rest = after;
        }
        messages
    }
}

fn first(bytes: &[u8]) -> Option<(Value, &[u8])> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&bytes[..end]).expect("a header");
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("Content-Length: "))
        .expect("a length");
    let (start, length) = (end + 4, length.parse::<usize>().expect("a number"));
    let body = bytes.get(start..start + length)?;
    let message = serde_json::from_slice(body).expect("JSON");
    Some((message, &bytes[start + length..]))
}
