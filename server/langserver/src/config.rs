//! What a user may say about language servers: the `[language_servers.*]` tables of the configuration, and
//! `[language_server_pool]` for all of them together.

use std::{collections::BTreeMap, num::NonZeroUsize, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{pool::Bounds, process};

/// All configured servers, by name.
pub type Servers = BTreeMap<String, ServerConfig>;

/// One language server. What is left out is as the catalogue has it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServerConfig {
    /// The program and its arguments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Other programs with their arguments that do as well: the first that is found is used, `command` before all of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub alternatives: Vec<Vec<String>>,
    /// LSP language ids of the documents that it serves.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub languages: Vec<String>,
    /// What marks the root of a project, in order of preference: names of files or folders, or `NAME contains TEXT`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub root_markers: Vec<String>,
    /// Answers to `workspace/configuration`, by section.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub settings: Value,
    /// Passed as such in `initialize`.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub initialization_options: Value,
    /// Added to its environment.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// How it tells that its answers are whole; unset: when it is initialized.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready: Option<Ready>,
    /// When it is started; unset: at first use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<Start>,
    /// Whether it is used; unset: yes, if it is the first installed one for the language. `true` puts it first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Where the command is configured, for messages; unset: it is the catalogue's.
    #[serde(skip)]
    pub configured_at: Option<String>,
}

/// What all servers together may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PoolConfig {
    /// After so many seconds in which nobody asked it a server is ended; the next question starts it again. 0: never.
    pub idle_shutdown: u64,
    /// How many MB the processes of all servers may hold: over it, the one that was asked longest ago is ended. 0: any.
    /// Unset: 4096, or half of what the machine has if that is less.
    pub max_memory: Option<u64>,
    /// How many servers run at once.
    pub max_processes: NonZeroUsize,
}

impl Default for PoolConfig {
    fn default() -> Self {
        Self {
            idle_shutdown: 600,
            max_memory: None,
            max_processes: NonZeroUsize::new(16).unwrap_or(NonZeroUsize::MIN),
        }
    }
}

impl PoolConfig {
    const MB: u64 = 1 << 20;
    /// Room for rust-analyzer on half a million lines (2.8 GB) and two or three others.
    const ENOUGH: u64 = 4096 * Self::MB;
    /// A model that has asked a server asks again after it has thought about the answer.
    const RECENTLY: Duration = Duration::from_secs(30);

    /// As the pool keeps them.
    pub fn bounds(&self) -> Bounds {
        let idle = (self.idle_shutdown > 0).then(|| Duration::from_secs(self.idle_shutdown));
        let memory = match self.max_memory {
            Some(0) => None,
            Some(megabytes) => Some(megabytes.saturating_mul(Self::MB)),
            // The editor's own servers, a compiler and the editor want as much again.
            None => Some(
                process::machine_memory().map_or(Self::ENOUGH, |all| Self::ENOUGH.min(all / 2)),
            ),
        };
        Bounds {
            idle,
            memory,
            recently: Self::RECENTLY,
            processes: self.max_processes.get(),
        }
    }
}

/// When a server is started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Start {
    /// When something is first asked of it.
    #[default]
    Use,
    /// When a document of its language is opened.
    Open,
}

/// How a server tells that its answers are whole.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ready {
    /// It knows everything as soon as it is initialized.
    Initialized,
    /// A work-done progress has ended, or none began for a while after it got its first document.
    Progress,
    /// `experimental/serverStatus` says quiescent.
    Status,
    /// It gives no signal, or none is known of it: what it answers about more than one file counts once it has answered
    /// the same twice.
    #[default]
    Settled,
}

impl ServerConfig {
    /// What may be run, the preferred first.
    pub fn commands(&self) -> impl Iterator<Item = &[String]> {
        std::iter::once(&self.command)
            .chain(&self.alternatives)
            .map(Vec::as_slice)
            .filter(|command| {
                command
                    .first()
                    .is_some_and(|program| !program.trim().is_empty())
            })
    }

    /// Whether it may be used at all.
    pub fn is_enabled(&self) -> bool {
        self.enabled.unwrap_or(true)
    }

    /// `self` with what `over` says in its place; tables merge by key.
    #[must_use]
    pub fn merged_with(mut self, over: &Self) -> Self {
        // Whoever names a command means that one and no other.
        if !over.command.is_empty() || !over.alternatives.is_empty() {
            self.alternatives.clone_from(&over.alternatives);
        }
        for (mine, other) in [
            (&mut self.command, &over.command),
            (&mut self.languages, &over.languages),
            (&mut self.root_markers, &over.root_markers),
        ] {
            if !other.is_empty() {
                mine.clone_from(other);
            }
        }
        merge(&mut self.settings, &over.settings);
        merge(
            &mut self.initialization_options,
            &over.initialization_options,
        );
        self.env.extend(over.env.clone());
        self.configured_at = over.configured_at.clone().or(self.configured_at);
        self.ready = over.ready.or(self.ready);
        self.start = over.start.or(self.start);
        self.enabled = over.enabled.or(self.enabled);
        self
    }

    /// The settings of a dotted section, as `workspace/configuration` asks for them; null if there are none.
    pub fn section(&self, section: &str) -> Value {
        if section.is_empty() {
            return if self.settings.is_null() {
                Value::Object(Map::new())
            } else {
                self.settings.clone()
            };
        }
        if let Some(whole) = self.settings.get(section) {
            return whole.clone();
        }
        section
            .split('.')
            .try_fold(&self.settings, |at, key| at.get(key))
            .cloned()
            .unwrap_or_default()
    }
}

/// Puts `over` over `under`, key by key where both are tables.
fn merge(under: &mut Value, over: &Value) {
    match (under, over) {
        (_, Value::Null) => {}
        (Value::Object(under), Value::Object(over)) => {
            for (key, value) in over {
                merge(under.entry(key.as_str()).or_insert(Value::Null), value);
            }
        }
        (under, over) => *under = over.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sections_by_dots() {
        let config = ServerConfig {
            settings: json!({"python": {"analysis": {"mode": 1}, "path": "p"}, "js.x": 2, "null": null}),
            ..ServerConfig::default()
        };
        for (section, expected) in [
            ("python", json!({"analysis": {"mode": 1}, "path": "p"})),
            ("python.analysis", json!({"mode": 1})),
            ("python.analysis.mode", json!(1)),
            ("python.analysis.mode.deeper", json!(null)),
            ("js.x", json!(2)),
            ("js", json!(null)),
            ("null", json!(null)),
            ("", config.settings.clone()),
        ] {
            assert_eq!(config.section(section), expected, "{section:?}");
        }
        assert_eq!(ServerConfig::default().section(""), json!({}));
        assert_eq!(ServerConfig::default().section("a.b"), json!(null));
    }

    #[test]
    fn what_servers_may_cost() {
        let config = |value| serde_json::from_value::<PoolConfig>(value);
        let bounds = |value| config(value).expect("a config").bounds();
        let default = bounds(json!({}));
        assert_eq!(
            (default.idle, default.processes),
            (Some(Duration::from_secs(600)), 16)
        );
        assert!(
            default
                .memory
                .is_some_and(|most| most > 0 && most <= PoolConfig::ENOUGH)
        );
        let none = bounds(json!({"idle_shutdown": 0, "max_memory": 0, "max_processes": 1}));
        assert_eq!((none.idle, none.memory, none.processes), (None, None, 1));
        let some = bounds(json!({"idle_shutdown": 5, "max_memory": 100}));
        assert_eq!(
            (some.idle, some.memory),
            (Some(Duration::from_secs(5)), Some(100 << 20))
        );
        assert!(
            config(json!({"max_processes": 0})).is_err(),
            "nothing would ever start"
        );
    }

    #[test]
    fn a_user_s_table_goes_over_the_catalogue_s() {
        let under: ServerConfig = serde_json::from_value(json!({
            "command": ["a"], "alternatives": [["a2"]], "ready": "progress", "languages": ["x"], "settings": {"s": {"one": 1, "two": 2}}, "env": {"A": "1", "B": "1"}
        }))
        .expect("a config");
        let over: ServerConfig = serde_json::from_value(json!({
            "command": ["b", "c"], "settings": {"s": {"two": 3}, "t": []}, "env": {"B": "2"}, "start": "open", "enabled": false
        }))
        .expect("a config");
        let merged = serde_json::to_value(under.clone().merged_with(&over)).expect("JSON");
        let expected = json!({
            "command": ["b", "c"], "languages": ["x"], "settings": {"s": {"one": 1, "two": 3}, "t": []},
            "ready": "progress", "env": {"A": "1", "B": "2"}, "start": "open", "enabled": false
        });
        assert_eq!(merged, expected);
        assert_eq!(under.clone().merged_with(&ServerConfig::default()), under);
        assert_eq!(under.commands().collect::<Vec<_>>(), [["a"], ["a2"]]);
    }
}
