//! `[providers.*]` of the configuration, as this room reads it. Unset and empty are told apart, so that what a user sets lies over what is built in.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{Secret, Usage};

/// The wire format that a provider speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Api {
    /// Anthropic's Messages.
    Anthropic,
    /// OpenAI's Responses.
    OpenaiResponses,
    /// OpenAI's Chat Completions, which most others speak too.
    OpenaiChat,
}

impl Api {
    /// Its name in the configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenaiResponses => "openai-responses",
            Self::OpenaiChat => "openai-chat",
        }
    }
}

/// One `[providers.NAME]` table.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ProviderConfig {
    /// The wire format; `openai-chat` for a provider that is not built in.
    pub api: Option<Api>,
    /// Where it is: anthropic without `/v1`, the others with it.
    pub base_url: Option<String>,
    /// The environment variable that holds its key.
    pub api_key_env: Option<String>,
    /// A command whose first line of output is its key.
    pub api_key_command: Option<Vec<String>>,
    /// A PEM file with the certificate that is shown to the server, and its chain.
    pub client_certificate: Option<PathBuf>,
    /// A PEM file with its private key, if that is not in the same.
    pub client_key: Option<PathBuf>,
    /// A PEM file with further roots to trust, beside the system's.
    pub ca_file: Option<PathBuf>,
    /// Further headers of every request. They may hold keys, so they are never shown.
    pub headers: BTreeMap<String, Secret>,
    /// What is known of its models, over what is built in.
    pub models: BTreeMap<String, ModelConfig>,
}

/// How much a model thinks before it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Thinking {
    /// Quick and cheap.
    Low,
    /// In between.
    Medium,
    /// As much as it takes.
    High,
}

impl Thinking {
    /// Its name, which all formats share.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// One `[providers.NAME.models.MODEL]` table: what is known of a model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelConfig {
    /// Its context, in tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<u32>,
    /// The most tokens of one answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output: Option<u32>,
    /// Whether it can call tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<bool>,
    /// Whether it sees images.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub images: Option<bool>,
    /// Whether it can think before it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<bool>,
    /// How much it is to think; unset: as its provider has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking: Option<Thinking>,
    /// Whether its provider keeps what was sent before, for less.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caching: Option<bool>,
    /// Whether it is to be asked in the way of small models: few tools, short words, and as much as can be done for it.
    /// Unset: if its context is small.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compact: Option<bool>,
    /// Its prices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
}

/// A context below this is too small for every tool and long conversations.
const SMALL_CONTEXT: u32 = 16_000;

impl ModelConfig {
    /// These facts, and where they say nothing, those of `under`.
    #[must_use]
    pub fn over(self, under: Self) -> Self {
        Self {
            context: self.context.or(under.context),
            max_output: self.max_output.or(under.max_output),
            tools: self.tools.or(under.tools),
            images: self.images.or(under.images),
            reasoning: self.reasoning.or(under.reasoning),
            thinking: self.thinking.or(under.thinking),
            caching: self.caching.or(under.caching),
            compact: self.compact.or(under.compact),
            cost: self.cost.or(under.cost),
        }
    }

    /// Whether it is to be asked in the way of small models.
    pub fn is_compact(&self) -> bool {
        let is_small = || self.context.is_some_and(|context| context < SMALL_CONTEXT);
        self.compact.unwrap_or_else(is_small)
    }
}

/// Prices in USD per million tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cost {
    /// Input at the full price.
    pub input: f64,
    /// Output.
    pub output: f64,
    /// Input read from the cache; unset means the full price.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<f64>,
    /// Input written to the cache; unset means the full price.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
    /// The prices of a request with a long input, if they are others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub long: Option<Long>,
}

/// Prices in USD per million tokens, for the whole of a request whose input is longer than some length.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Long {
    /// The longest input at the ordinary price, in tokens.
    pub above: u64,
    /// Input at the full price.
    pub input: f64,
    /// Output.
    pub output: f64,
    /// Input read from the cache; unset means the full price.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<f64>,
    /// Input written to the cache; unset means the full price.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
}

impl Cost {
    /// What one request costs that used so much, in USD. Of a sum over several requests it can't be told whether one of
    /// them was long: add up their costs.
    #[allow(
        clippy::cast_precision_loss,
        reason = "token counts are far below 2^52"
    )]
    pub fn of(&self, usage: &Usage) -> f64 {
        let asked = usage
            .input
            .saturating_add(usage.cache_read)
            .saturating_add(usage.cache_write);
        let (input, output, cache_read, cache_write) = match self.long {
            Some(long) if asked > long.above => {
                (long.input, long.output, long.cache_read, long.cache_write)
            }
            _ => (self.input, self.output, self.cache_read, self.cache_write),
        };
        let tokens = |count: u64, price: f64| count as f64 * price / 1e6;
        tokens(usage.input, input)
            + tokens(usage.output, output)
            + tokens(usage.cache_read, cache_read.unwrap_or(input))
            + tokens(usage.cache_write, cache_write.unwrap_or(input))
    }
}
