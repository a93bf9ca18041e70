//! Anthropic's Messages, streamed: what Claude is asked in, and what several other servers answer beside Chat Completions.

mod answer;
mod blocks;
#[cfg(test)]
mod dialects;
mod request;
mod thinking;

use async_trait::async_trait;
use reqwest::header::HeaderName;
use tokio_util::sync::CancellationToken;

use self::answer::Answer;
use crate::endpoint::Wire;
use crate::target::Target;
use crate::{Api, EventStream, ModelConfig, ModelError, Provider, Request};

const MESSAGES: Wire = Wire {
    path: &["v1", "messages"],
    auth: |key| (HeaderName::from_static("x-api-key"), key.to_owned()),
    headers: &[("anthropic-version", "2023-06-01")],
};

/// The longest answer of a model of which nothing is known: the format wants a number, and every Claude that is still served
/// can say more.
const LONGEST: u32 = 16_000;

/// A model behind a Messages endpoint.
pub(crate) struct Anthropic(pub(crate) Target);

#[async_trait]
impl Provider for Anthropic {
    fn id(&self) -> &str {
        &self.0.id
    }

    fn facts(&self) -> ModelConfig {
        self.0.facts
    }

    async fn stream(
        &self,
        request: &Request,
        cancel: &CancellationToken,
    ) -> Result<EventStream, ModelError> {
        let Self(target) = self;
        let longest = longest(request.max_output, target.facts);
        let reader = target.reader(Api::Anthropic);
        let body = request::body(
            &target.model,
            reader,
            request,
            longest,
            target.facts.thinking,
        );
        target.ask(&MESSAGES, body, Answer::new, cancel).await
    }
}

/// How long the answer may be, in tokens.
fn longest(asked: Option<u32>, facts: ModelConfig) -> u32 {
    let longest = match (asked, facts.max_output) {
        (Some(asked), Some(known)) => asked.min(known),
        (Some(longest), None) | (None, Some(longest)) => longest,
        // A small model must have room for the question too.
        (None, None) => facts
            .context
            .map_or(LONGEST, |context| LONGEST.min(context / 2)),
    };
    longest.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_answer_is_the_least_that_anyone_allows() {
        let facts = |max_output, context| ModelConfig {
            context,
            max_output,
            ..ModelConfig::default()
        };
        for (asked, facts, wanted) in [
            (Some(500), facts(Some(64_000), None), 500),
            (Some(90_000), facts(Some(64_000), None), 64_000),
            (None, facts(Some(64_000), Some(200_000)), 64_000),
            (Some(90_000), facts(None, None), 90_000),
            (None, facts(None, None), LONGEST),
            (None, facts(None, Some(8192)), 4096),
            (Some(0), facts(None, None), 1),
        ] {
            assert_eq!(longest(asked, facts), wanted, "{asked:?} {facts:?}");
        }
    }
}
