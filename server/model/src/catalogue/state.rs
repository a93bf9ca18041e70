//! How things stand with each provider, for a person who sets one up. It shows no key.

use super::{Catalogue, Entry};
use crate::key::Source;

/// A provider, and what it wants to be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderState {
    /// Its name in the configuration.
    pub name: String,
    /// What is with its key.
    pub key: KeyState,
    /// Why it can't be used, if so, and what to do about it.
    pub problem: Option<String>,
}

/// What is with a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyState {
    /// It is in the environment.
    Set,
    /// A command will print it when it is needed.
    Command,
    /// It needs none, as far as is known.
    Unneeded,
    /// There is none.
    Missing,
}

impl Catalogue {
    /// Every provider that could be named, the built-in ones first.
    pub fn provider_states(&self) -> Vec<ProviderState> {
        let state = |entry: &Entry<'_>| {
            let endpoint = entry.endpoint(self);
            let source = match &endpoint {
                Ok(endpoint) => endpoint.key.source().clone(),
                Err(_) => entry.key_source(self),
            };
            let key = match source {
                Source::Set(_) => KeyState::Set,
                Source::Command(_) => KeyState::Command,
                Source::Unneeded => KeyState::Unneeded,
                Source::Missing => KeyState::Missing,
            };
            let problem = match endpoint {
                Ok(endpoint) if key == KeyState::Missing => Some(endpoint.key.missing()),
                Ok(_) => None,
                Err(error) => Some(error),
            };
            ProviderState {
                name: entry.name.to_owned(),
                key,
                problem: problem.map(|problem| problem.to_string()),
            }
        };
        self.providers().iter().map(state).collect()
    }
}
