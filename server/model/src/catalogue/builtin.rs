//! The providers that are known without configuration, and what is known of their models.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::{Api, ModelConfig};

/// A provider that is built in.
#[derive(Debug)]
pub(super) struct Builtin {
    pub(super) name: &'static str,
    pub(super) api: Api,
    pub(super) base_url: &'static str,
    /// The variable that lies over `base_url`.
    pub(super) base_url_env: Option<&'static str>,
    /// The variable that holds its key; none if it needs none.
    pub(super) key_env: Option<&'static str>,
    pub(super) default_model: &'static str,
}

/// In the order in which they are tried when no model was chosen.
pub(super) static PROVIDERS: [Builtin; 4] = [
    Builtin {
        name: "anthropic",
        api: Api::Anthropic,
        base_url: "https://api.anthropic.com",
        base_url_env: Some("ANTHROPIC_BASE_URL"),
        key_env: Some("ANTHROPIC_API_KEY"),
        default_model: "claude-sonnet-4-5",
    },
    Builtin {
        name: "openai",
        api: Api::OpenaiResponses,
        base_url: "https://api.openai.com/v1",
        base_url_env: Some("OPENAI_BASE_URL"),
        key_env: Some("OPENAI_API_KEY"),
        default_model: "gpt-5",
    },
    Builtin {
        name: "openrouter",
        api: Api::OpenaiChat,
        base_url: "https://openrouter.ai/api/v1",
        base_url_env: None,
        key_env: Some("OPENROUTER_API_KEY"),
        default_model: "anthropic/claude-sonnet-4.5",
    },
    Builtin {
        name: "ollama",
        api: Api::OpenaiChat,
        base_url: "http://localhost:11434/v1",
        base_url_env: None,
        key_env: None,
        default_model: "qwen2.5-coder",
    },
];

type Models = BTreeMap<String, BTreeMap<String, ModelConfig>>;

static MODELS: LazyLock<Models> = LazyLock::new(|| {
    toml::from_str(include_str!("models.toml")).unwrap_or_else(|error| {
        // A test reads the table; a build with a broken one still talks to models.
        tracing::error!(%error, "the built-in table of models can't be read");
        Models::new()
    })
});

/// What is known of the models of a provider.
pub(super) fn models(provider: &str) -> Option<&'static BTreeMap<String, ModelConfig>> {
    MODELS.get(provider)
}

/// The provider that serves a model of that name.
pub(super) fn provider_of(model: &str) -> Option<&'static str> {
    MODELS
        .iter()
        .find(|(_, models)| models.contains_key(model))
        .map(|(provider, _)| provider.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_reads_and_knows_every_default() {
        for provider in &PROVIDERS {
            let facts = models(provider.name).and_then(|models| models.get(provider.default_model));
            assert!(
                facts.is_some_and(|facts| facts.context.is_some() && facts.cost.is_some()),
                "{}",
                provider.name
            );
        }
        let table: BTreeMap<String, BTreeMap<String, toml::Table>> =
            toml::from_str(include_str!("models.toml")).unwrap();
        for (provider, models) in table {
            assert!(
                PROVIDERS.iter().any(|builtin| builtin.name == provider),
                "{provider}"
            );
            for (model, facts) in models {
                let known =
                    |key: &String| matches!(key.as_str(), "context" | "max_output" | "cost");
                assert!(facts.keys().all(known), "{provider}/{model}: {facts:?}");
            }
        }
    }
}
