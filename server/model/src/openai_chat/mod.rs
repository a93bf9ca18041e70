//! OpenAI's Chat Completions, streamed: the wire format that most servers speak, each with its own dialect.

mod answer;
mod calls;
#[cfg(test)]
mod dialects;
mod request;

use std::sync::Arc;

use async_trait::async_trait;
use reqwest::header::AUTHORIZATION;
use tokio_util::sync::CancellationToken;

use self::answer::Answer;
use crate::endpoint::{Endpoint, Wire};
use crate::pairing::Reader;
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
pub(crate) struct OpenAiChat {
    pub(crate) id: String,
    /// The model's name, as the provider knows it.
    pub(crate) model: String,
    pub(crate) facts: ModelConfig,
    /// The longest answer that the user's configuration allows.
    pub(crate) max_output: Option<u32>,
    pub(crate) endpoint: Arc<Endpoint>,
}

#[async_trait]
impl Provider for OpenAiChat {
    fn id(&self) -> &str {
        &self.id
    }

    fn facts(&self) -> ModelConfig {
        self.facts
    }

    async fn stream(
        &self,
        request: &Request,
        cancel: &CancellationToken,
    ) -> Result<EventStream, ModelError> {
        let max_output = match (request.max_output, self.max_output) {
            (Some(asked), Some(allowed)) => Some(asked.min(allowed)),
            (asked, allowed) => asked.or(allowed),
        };
        // OpenAI itself refuses the old name for its newer models; the others do not know the new one.
        let new_name = self.endpoint.base.host_str() == Some("api.openai.com");
        let reader = Reader {
            model: &self.id,
            api: Api::OpenaiChat.as_str(),
        };
        let body = request::body(&self.model, reader, request, max_output, new_name);
        let answer = |asked| Answer::new(asked, &self.id);
        self.endpoint
            .ask(&CHAT, &self.model, body, answer, cancel)
            .await
    }
}
