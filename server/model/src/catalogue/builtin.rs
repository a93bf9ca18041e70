//! The providers that are known without configuration, and what is known of their models.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

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
    /// Its model of the middle: what its maker offers for everyday coding, neither the dearest nor the smallest. None if it has
    /// what it was started with.
    pub(super) default_model: Option<&'static str>,
    /// The default over Chat Completions, if that must be another.
    pub(super) chat_model: Option<&'static str>,
}

/// In the order in which they are tried when no model was chosen.
pub(super) static PROVIDERS: [Builtin; 8] = [
    Builtin {
        name: "anthropic",
        api: Api::Anthropic,
        base_url: "https://api.anthropic.com",
        base_url_env: Some("ANTHROPIC_BASE_URL"),
        key_env: Some("ANTHROPIC_API_KEY"),
        // “The best combination of speed and intelligence”, between Opus and Haiku.
        default_model: Some("claude-sonnet-5-5"),
        chat_model: None,
    },
    Builtin {
        name: "openai",
        api: Api::OpenaiResponses,
        base_url: "https://api.openai.com/v1",
        base_url_env: Some("OPENAI_BASE_URL"),
        key_env: Some("OPENAI_API_KEY"),
        // “Our go-to model for everyday work, from coding to powering agents at scale”, between Astra and Luna.
        default_model: Some("gpt-6.2-sol"),
        // That one, and all from GPT-5.6 on, take tools through Responses only.
        chat_model: Some("gpt-5"),
    },
    Builtin {
        name: "openrouter",
        api: Api::OpenaiChat,
        base_url: "https://openrouter.ai/api/v1",
        base_url_env: None,
        key_env: Some("OPENROUTER_API_KEY"),
        // The same as of the first provider here.
        default_model: Some("anthropic/claude-sonnet-5.5"),
        chat_model: None,
    },
    Builtin {
        name: "ollama",
        api: Api::OpenaiChat,
        base_url: "http://localhost:11434/v1",
        base_url_env: None,
        key_env: None,
        // Made for coding with tools, and with 3 of its 30 billion parameters active quick without a large GPU.
        default_model: Some("qwen3-coder"),
        chat_model: None,
    },
    Builtin {
        name: "llamacpp",
        api: Api::OpenaiChat,
        base_url: "http://localhost:8080/v1",
        base_url_env: None,
        key_env: None,
        default_model: None,
        chat_model: None,
    },
    Builtin {
        name: "google",
        api: Api::OpenaiChat,
        base_url: "https://generativelanguage.googleapis.com/v1beta/openai",
        base_url_env: None,
        key_env: Some("GEMINI_API_KEY"),
        // “Fast, efficient everyday coding and agentic workflows”, below Argon and Carbon.
        default_model: Some("gemini-4-hydrogen"),
        chat_model: None,
    },
    Builtin {
        name: "mistral",
        api: Api::OpenaiChat,
        base_url: "https://api.mistral.ai/v1",
        base_url_env: None,
        key_env: Some("MISTRAL_API_KEY"),
        // It has taken Devstral's place in Mistral's own coding agent; Large 4 is a preview.
        default_model: Some("mistral-medium-3.5"),
        chat_model: None,
    },
    Builtin {
        name: "deepseek",
        api: Api::OpenaiChat,
        base_url: "https://api.deepseek.com",
        base_url_env: None,
        key_env: Some("DEEPSEEK_API_KEY"),
        // Of the two that there are the stronger: it costs less than what the others have in the middle.
        default_model: Some("deepseek-v4-pro"),
        chat_model: None,
    },
];

type Models = BTreeMap<String, ModelConfig>;

/// The table of what is known.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    groups: Vec<Group>,
}

/// What some sources say of models.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    provider: String,
    /// Of which day that is.
    #[cfg_attr(not(test), expect(dead_code, reason = "for those who read the table"))]
    date: String,
    /// Where it says so.
    #[cfg_attr(not(test), expect(dead_code, reason = "for those who read the table"))]
    sources: Vec<String>,
    models: Models,
}

static MODELS: LazyLock<BTreeMap<String, Models>> = LazyLock::new(|| {
    let table: Table = toml::from_str(include_str!("models.toml")).unwrap_or_else(|error| {
        // A test reads the table; a build with a broken one still talks to models.
        tracing::error!(%error, "the built-in table of models can't be read");
        Table { groups: Vec::new() }
    });
    let mut models: BTreeMap<String, Models> = BTreeMap::new();
    for group in table.groups {
        models
            .entry(group.provider)
            .or_default()
            .extend(group.models);
    }
    models
});

/// What is known of the models of a provider.
pub(super) fn models(provider: &str) -> Option<&'static Models> {
    MODELS.get(provider)
}

/// What is known of a model of a provider.
pub(super) fn facts(provider: &str, model: &str) -> Option<&'static ModelConfig> {
    let models = models(provider)?;
    find(models, model).or_else(|| {
        // Of a model that runs here, what follows the colon is a size. Elsewhere it can be another offer with other prices.
        let is_local = PROVIDERS
            .iter()
            .any(|builtin| builtin.name == provider && builtin.key_env.is_none());
        let (name, _) = model.split_once(':').filter(|_| is_local)?;
        find(models, name)
    })
}

/// Whether the name says that the model is a small one, if it says how large: `qwen2.5-coder:1.5b` has 1.5 thousand million
/// weights.
pub(super) fn is_small(model: &str) -> Option<bool> {
    /// Those of more can work with every tool.
    const SMALL: f32 = 10.0;
    let words = model.split(|c: char| !c.is_ascii_alphanumeric() && c != '.');
    let sizes = words.filter_map(|word| {
        let word = word.to_ascii_lowercase();
        let number = word.strip_suffix('b')?;
        // Of some it is how many are at work.
        let number = number.strip_prefix('e').unwrap_or(number);
        number.parse::<f32>().ok().filter(|size| size.is_finite())
    });
    sizes.reduce(f32::max).map(|size| size < SMALL)
}

/// The model of that name, or else the one of which it is a dated version: `claude-sonnet-4-5` for `claude-sonnet-4-5-20250929`.
pub(super) fn find<'a>(models: &'a Models, model: &str) -> Option<&'a ModelConfig> {
    let is_version = |known: &str| model.strip_prefix(known).is_some_and(is_date);
    models.get(model).or_else(|| {
        let versions = models.iter().filter(|(known, _)| is_version(known));
        let longest = versions.max_by_key(|(known, _)| known.len());
        longest.map(|(_, facts)| facts)
    })
}

/// Whether the end of a name is a date, as providers write one: `-20250929`, `@20250929`, `-2025-08-07`, `-2512`, `-0813`.
fn is_date(end: &str) -> bool {
    let Some(date) = end.strip_prefix(['-', '@']) else {
        return false;
    };
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let within = |text: Option<&str>, least: u32, most: u32| {
        text.and_then(|text| text.parse().ok())
            .is_some_and(|number: u32| (least..=most).contains(&number))
    };
    let (year, rest) = match date.split_once('-') {
        Some((year, rest)) if year.len() == 4 && rest.len() == 5 && rest.as_bytes()[2] == b'-' => {
            (year, rest.replace('-', ""))
        }
        None if date.len() == 8 && date.is_ascii() => (&date[..4], date[4..].to_owned()),
        None if date.len() == 4 && is_number(date) => {
            let year_and_month = within(date.get(..2), 23, 39) && within(date.get(2..), 1, 12);
            let month_and_day = within(date.get(..2), 1, 12) && within(date.get(2..), 1, 31);
            return year_and_month || month_and_day;
        }
        _ => return false,
    };
    is_number(year)
        && is_number(&rest)
        && within(Some(year), 2020, 2039)
        && within(rest.get(..2), 1, 12)
        && within(rest.get(2..), 1, 31)
}

/// The provider that serves a model of that name.
pub(super) fn provider_of(model: &str) -> Option<&'static str> {
    let serves =
        |builtin: &&Builtin| models(builtin.name).is_some_and(|all| find(all, model).is_some());
    PROVIDERS.iter().find(serves).map(|builtin| builtin.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        toml::from_str(include_str!("models.toml")).unwrap()
    }

    #[test]
    fn every_default_is_known_with_context_and_cost() {
        for provider in &PROVIDERS {
            for model in [provider.default_model, provider.chat_model]
                .into_iter()
                .flatten()
            {
                let facts = models(provider.name).and_then(|models| models.get(model));
                assert!(
                    facts.is_some_and(|facts| facts.context.is_some()
                        && facts.cost.is_some()
                        && facts.tools == Some(true)),
                    "{}/{model}",
                    provider.name
                );
            }
        }
    }

    #[test]
    fn every_group_says_where_it_is_from_and_when() {
        let mut seen = std::collections::BTreeSet::new();
        for group in table().groups {
            let Group {
                provider,
                date,
                sources,
                models,
            } = group;
            assert!(
                PROVIDERS.iter().any(|builtin| builtin.name == provider),
                "{provider}"
            );
            assert!(
                date.len() == 10 && is_date(&format!("-{date}")),
                "{provider}: {date}"
            );
            assert!(!sources.is_empty() && !models.is_empty(), "{provider}");
            for source in sources {
                let url: reqwest::Url = source.parse().unwrap();
                assert_eq!(url.scheme(), "https", "{source}");
            }
            for model in models.into_keys() {
                assert!(
                    seen.insert((provider.clone(), model.clone())),
                    "{provider}/{model} is there twice"
                );
            }
        }
        assert!(seen.len() > 20);
    }

    #[test]
    fn the_table_says_nothing_that_is_not_understood_or_cannot_be() {
        let table: toml::Table = toml::from_str(include_str!("models.toml")).unwrap();
        for group in table["groups"].as_array().unwrap() {
            for (model, facts) in group["models"].as_table().unwrap() {
                let known = |key: &String| {
                    [
                        "context",
                        "max_output",
                        "tools",
                        "images",
                        "reasoning",
                        "caching",
                        "compact",
                        "cost",
                    ]
                    .contains(&key.as_str())
                };
                let facts = facts.as_table().unwrap();
                assert!(facts.keys().all(known), "{model}: {facts:?}");
            }
        }
        for (model, facts) in MODELS.values().flatten() {
            if let (Some(context), Some(output)) = (facts.context, facts.max_output) {
                assert!(output < context, "{model}");
            }
            let cost = facts.cost.unwrap();
            assert!(cost.input <= cost.output, "{model}");
            assert!(
                cost.cache_read.is_none_or(|read| read < cost.input),
                "{model}"
            );
            assert!(
                cost.cache_write.is_none_or(|write| write >= cost.input),
                "{model}"
            );
            if let Some(long) = cost.long {
                assert!(
                    long.input > cost.input && long.output > cost.output,
                    "{model}"
                );
                assert_eq!(
                    long.cache_read.is_some(),
                    cost.cache_read.is_some(),
                    "{model}"
                );
            }
        }
    }

    #[test]
    fn a_dated_name_is_known_as_what_it_is_a_version_of() {
        for (provider, model, same) in [
            (
                "anthropic",
                "claude-sonnet-4-5-20250929",
                "claude-sonnet-4-5",
            ),
            ("anthropic", "claude-haiku-4-5@20251001", "claude-haiku-4-5"),
            ("anthropic", "claude-sonnet-5-20260630", "claude-sonnet-5"),
            (
                "anthropic",
                "claude-sonnet-5-5-20260928",
                "claude-sonnet-5-5",
            ),
            ("openai", "gpt-5-2025-08-07", "gpt-5"),
            ("openai", "gpt-5-mini-2025-08-07", "gpt-5-mini"),
            ("deepseek", "deepseek-v4-pro-0813", "deepseek-v4-pro"),
            ("ollama", "qwen3-coder:30b", "qwen3-coder"),
            (
                "ollama",
                "qwen2.5-coder:1.5b-instruct-q4_K_M",
                "qwen2.5-coder",
            ),
        ] {
            let known = models(provider).unwrap().get(same);
            assert!(known.is_some(), "{same}");
            assert_eq!(facts(provider, model), known, "{model}");
        }
        for (provider, model) in [
            ("anthropic", "claude-sonnet-5-6"),
            ("anthropic", "claude-sonnet-4-5-20251399"),
            ("anthropic", "claude-sonnet-4-520250929"),
            ("anthropic", "claude-sonnet-4-5-2025092"),
            ("openai", "gpt-5-codex"),
            ("openai", "gpt-5-2025-08"),
            ("openai", "gpt-5-2025-0é"),
            ("openai", "gpt-5-éééé"),
            ("openai", "gpt-5-9999"),
            ("openrouter", "openai/gpt-5:batch"),
            ("nobody", "gpt-5"),
        ] {
            assert_eq!(facts(provider, model), None, "{model}");
        }
    }

    #[test]
    fn a_bare_name_finds_who_serves_it_in_the_order_of_providers() {
        for (model, provider) in [
            ("claude-sonnet-5-5", Some("anthropic")),
            ("claude-sonnet-4-5-20250929", Some("anthropic")),
            ("gemini-4-hydrogen", Some("google")),
            ("deepseek-flash", Some("deepseek")),
            ("who-knows", None),
        ] {
            assert_eq!(provider_of(model), provider, "{model}");
        }
    }
}
