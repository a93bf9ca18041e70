//! One request as the scripted model got it, and where it is left for the checker.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

/// The environment variable that names a folder for the bodies of all requests, one a file, `*.KIND.json`;
/// `tests/conformance/check_requests.py` holds them against the official types.
pub const FOLDER: &str = "COPYDESK_TEST_MODEL_LOGS";

/// One request.
#[derive(Debug, Clone)]
pub struct Asked {
    /// Its body.
    pub body: Value,
    /// Its headers, the names in lower case.
    pub headers: BTreeMap<String, String>,
}

impl Asked {
    /// The system prompt.
    pub fn system(&self) -> &str {
        self.said("system").next().unwrap_or_default()
    }

    /// What the person said last.
    pub fn prompt(&self) -> &str {
        self.said("user").last().unwrap_or_default()
    }

    /// The results of tools since the model last spoke, as (id of the call, output), in order.
    pub fn tool_results(&self) -> Vec<(&str, &str)> {
        let messages = self.messages();
        let since = messages
            .iter()
            .rposition(|message| message["role"] == "assistant")
            .map_or(0, |at| at + 1);
        messages[since..]
            .iter()
            .filter(|message| message["role"] == "tool")
            .map(|message| (text(&message["tool_call_id"]), text(&message["content"])))
            .collect()
    }

    /// The names of the tools that it offers.
    pub fn tools(&self) -> Vec<&str> {
        self.body["tools"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|tool| text(&tool["function"]["name"]))
            .collect()
    }

    fn messages(&self) -> &[Value] {
        self.body["messages"].as_array().map_or(&[], Vec::as_slice)
    }

    fn said<'a>(&'a self, role: &'a str) -> impl Iterator<Item = &'a str> {
        self.messages()
            .iter()
            .filter(move |message| message["role"] == role)
            .map(|message| text(&message["content"]))
    }

    pub(super) fn record(&self) {
        record("chat", &self.body.to_string());
    }
}

/// Leaves a body for the checker, which knows these kinds of them: `chat`, `responses`, `anthropic`.
pub(super) fn record(kind: &str, body: &str) {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let Some(folder) = std::env::var_os(FOLDER) else {
        return;
    };
    let folder = Path::new(&folder);
    let started = std::time::SystemTime::UNIX_EPOCH
        .elapsed()
        .map_or(0, |time| time.as_micros());
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("{started}-{}-{number:04}.{kind}.json", std::process::id());
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(folder.join(name), body))
        .unwrap_or_else(|error| panic!("{FOLDER}: {}: {error}", folder.display()));
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
