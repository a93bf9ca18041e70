//! OpenAI's Chat Completions, streamed: the wire format that most servers speak, each with its own dialect.

mod answer;
mod calls;
#[cfg(test)]
mod dialects;
mod request;

use async_trait::async_trait;
use reqwest::header::AUTHORIZATION;
use tokio_util::sync::CancellationToken;

use self::answer::Answer;
use crate::endpoint::Wire;
use crate::target::Target;
use crate::{Api, EventStream, ModelConfig, ModelError, Provider, Request};

const CHAT: Wire = Wire {
    path: &["chat", "completions"],
    auth: |key| (AUTHORIZATION, format!("Bearer {key}")),
    headers: &[],
};

/// What was thought before calls: DeepSeek and others refuse a conversation in which it doesn't stand beside them again.
const REASONING_CONTENT: &str = "reasoning_content";
/// What Gemini adds to a call, and refuses the conversation without.
const EXTRA_CONTENT: &str = "extra_content";

/// A model behind a Chat Completions endpoint.
pub(crate) struct OpenAiChat(pub(crate) Target);

#[async_trait]
impl Provider for OpenAiChat {
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
        let max_output = target.max_output(request.max_output);
        // OpenAI itself refuses the old name for its newer models; the others do not know the new one.
        let new_name = target.endpoint.base.host_str() == Some("api.openai.com");
        let reader = target.reader(Api::OpenaiChat);
        let body = request::body(
            &target.model,
            reader,
            request,
            max_output,
            new_name,
            target.facts.thinking,
        );
        target.ask(&CHAT, body, Answer::new, cancel).await
    }
}
