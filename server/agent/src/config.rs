//! The part of the configuration that the loop owns.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// `[agent]`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default)]
pub struct AgentConfig {
    /// How many times the model may be asked in one run.
    pub max_steps: u32,
    /// Files with instructions for the model, searched upward from the focus to the workspace root.
    pub instructions: Vec<String>,
    /// Tools by name that are switched off (`false`).
    pub tools: BTreeMap<String, bool>,
}

impl Default for AgentConfig {
    fn default() -> Self {
        AgentConfig {
            max_steps: 100,
            instructions: vec!["AGENTS.md".into(), "CLAUDE.md".into()],
            tools: BTreeMap::new(),
        }
    }
}
