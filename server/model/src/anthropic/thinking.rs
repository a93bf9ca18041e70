//! How a Claude is told how much to think: up to 4.5 by a budget of tokens, since then by an effort, at its own measure.

use serde::Serialize;

use crate::Thinking;

/// The least that is taken as a budget.
const LEAST: u32 = 1024;

/// What stands in the request for it.
#[derive(Default)]
pub(super) struct How {
    pub(super) thinking: Option<Mode>,
    pub(super) output_config: Option<Effort>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(super) enum Mode {
    Adaptive,
    Enabled { budget_tokens: u32 },
}

#[derive(Serialize)]
pub(super) struct Effort {
    effort: &'static str,
}

impl How {
    /// `may_think` says whether a model with a budget would take the conversation as it is.
    pub(super) fn of(
        model: &str,
        thinking: Option<Thinking>,
        max_tokens: u32,
        may_think: impl FnOnce() -> bool,
    ) -> Self {
        let Some(thinking) = thinking else {
            return Self::default();
        };
        if has_budget(model) {
            let budget = match thinking {
                Thinking::Low => 4000,
                Thinking::Medium => 10_000,
                Thinking::High => 24_000,
            };
            // The answer is within the same limit.
            let budget = budget.min(max_tokens / 2);
            let mode = Mode::Enabled {
                budget_tokens: budget,
            };
            return Self {
                thinking: (budget >= LEAST && may_think()).then_some(mode),
                output_config: None,
            };
        }
        Self {
            // Fable always thinks, and will not be told to.
            thinking: (!model.contains("fable")).then_some(Mode::Adaptive),
            output_config: Some(Effort {
                effort: thinking.as_str(),
            }),
        }
    }
}

/// Whether it is of the generations that take a budget, and know no effort. What nobody knows is a newer one.
fn has_budget(model: &str) -> bool {
    let is_dated = |rest: &str| rest.starts_with("-20") || rest.starts_with("@20");
    ["opus", "sonnet", "haiku"].iter().any(|family| {
        let versions = ["4-5", "4.5", "4-1", "4.1", "4-0", "4.0"];
        let named = |version: &&str| model.contains(&format!("{family}-{version}"));
        let first = model.split_once(&format!("{family}-4"));
        versions.iter().any(named)
            || first.is_some_and(|(_, rest)| rest.is_empty() || is_dated(rest))
    }) || model.contains("claude-3")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generations() {
        for model in [
            "claude-3-7-sonnet-20250219",
            "claude-sonnet-4-20250514",
            "claude-opus-4-1",
            "claude-opus-4-5-20251101",
            "anthropic/claude-haiku-4.5",
            "claude-opus-4",
        ] {
            assert!(has_budget(model), "{model}");
        }
        for model in [
            "claude-sonnet-4-6",
            "claude-opus-4-7",
            "claude-opus-5",
            "claude-sonnet-5-5",
            "claude-fable-5-2",
            "glm-5",
        ] {
            assert!(!has_budget(model), "{model}");
        }
    }
}
