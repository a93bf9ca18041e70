//! How things stand with each provider, for a person who sets one up. It shows no key.

use tokio_util::sync::CancellationToken;

use super::{Catalogue, Entry};
use crate::ModelError;
use crate::key::{Source, is_variable_name};

/// A provider, and what it wants to be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderState {
    /// Its name in the configuration.
    pub name: String,
    /// Where its key comes from.
    pub key: KeySource,
    /// Why it can't be used, if so, and what to do about it.
    pub problem: Option<String>,
}

/// Where a key comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeySource {
    /// It is in the environment, in the variable of this name.
    Variable(String),
    /// A command will print it when it is needed.
    Command,
    /// The system's keyring has it.
    Keyring,
    /// It needs none, as far as is known.
    Unneeded,
    /// There is none.
    Missing,
}

impl Catalogue {
    /// Every provider that could be named, the built-in ones first.
    pub fn provider_states(&self) -> Vec<ProviderState> {
        let state = |entry: &Entry<'_>| {
            let key = self.source_of(entry);
            let problem = match entry.endpoint(self) {
                Ok(endpoint) if key == KeySource::Missing => Some(endpoint.key.missing()),
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

    /// Where the key of a provider comes from. Nobody is asked for it.
    pub fn key_source(&self, provider: &str) -> Result<KeySource, ModelError> {
        let entry = self.entry(provider).ok_or_else(|| self.unknown(provider))?;
        Ok(self.source_of(&entry))
    }

    /// The variable that a provider's key could be put into.
    pub fn key_variable(&self, provider: &str) -> String {
        let entry = self.entry(provider);
        let named = entry.as_ref().and_then(Entry::key_env);
        match named.filter(|name| is_variable_name(name)) {
            Some(name) => name.to_owned(),
            None => format!("a variable that api_key_env in [providers.{provider}] names"),
        }
    }

    /// Asks the keyring for the key of this model's provider, if that is where it comes from: what is wrong with that.
    pub async fn ask_keyring(&self, model: &str, cancel: &CancellationToken) -> Option<ModelError> {
        let (provider, _) = model.split_once('/')?;
        let endpoint = self.entry(provider)?.endpoint(self).ok()?;
        match endpoint.key.source() {
            Source::Keyring(_) => endpoint.key.get(cancel).await.err(),
            _ => None,
        }
    }

    fn source_of(&self, entry: &Entry<'_>) -> KeySource {
        let source = match entry.endpoint(self) {
            Ok(endpoint) => endpoint.key.source().clone(),
            Err(_) => entry.key_source(self),
        };
        match source {
            Source::Set(_) => KeySource::Variable(entry.key_env().unwrap_or_default().to_owned()),
            Source::Command(_) => KeySource::Command,
            Source::Keyring(_) => KeySource::Keyring,
            Source::Unneeded => KeySource::Unneeded,
            Source::Missing => KeySource::Missing,
        }
    }
}
