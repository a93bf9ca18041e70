//! OpenAI's Responses, streamed: items in place of messages, and thoughts that go back sealed, without anything being stored
//! on the other side.

mod answer;
mod calls;
#[cfg(test)]
mod dialects;
mod request;

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use reqwest::header::AUTHORIZATION;
use tokio_util::sync::CancellationToken;

use self::answer::Answer;
use self::request::Without;
use crate::endpoint::{Endpoint, Wire};
use crate::pairing::Reader;
use crate::{Api, EventStream, ModelConfig, ModelError, Provider, Request};

const RESPONSES: Wire = Wire {
    path: &["responses"],
    auth: |key| (AUTHORIZATION, format!("Bearer {key}")),
    headers: &[],
};

/// A model behind a Responses endpoint.
pub(crate) struct OpenAiResponses {
    id: String,
    /// The model's name, as the provider knows it.
    model: String,
    facts: ModelConfig,
    /// The longest answer that the user's configuration allows.
    max_output: Option<u32>,
    endpoint: Arc<Endpoint>,
    /// What it has refused so far.
    without: Mutex<Without>,
}

impl OpenAiResponses {
    pub(crate) fn new(
        id: String,
        model: String,
        facts: ModelConfig,
        max_output: Option<u32>,
        endpoint: Arc<Endpoint>,
    ) -> Self {
        Self {
            id,
            model,
            facts,
            max_output,
            endpoint,
            without: Mutex::default(),
        }
    }

    fn without(&self) -> Without {
        *self.without.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether something was learned from a refusal, so that it is worth asking again at once.
    fn learn(&self, tried: Without, refused: &ModelError) -> bool {
        let Some(more) = more(tried, refused) else {
            return false;
        };
        tracing::info!(model = self.id, ?more, "asked again with less");
        *self.without.lock().unwrap_or_else(PoisonError::into_inner) = more;
        true
    }
}

#[async_trait]
impl Provider for OpenAiResponses {
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
        let reader = Reader {
            model: &self.id,
            api: Api::OpenaiResponses.as_str(),
        };
        loop {
            let without = self.without();
            let body = request::body(&self.model, reader, request, max_output, without);
            let answer = |asked| Answer::new(asked, self.id.clone());
            let asking = self
                .endpoint
                .ask(&RESPONSES, &self.model, body, answer, cancel);
            match asking.await {
                Err(refused) if self.learn(without, &refused) => {}
                answered => return answered,
            }
        }
    }
}

/// What else to leave out after a refusal, if it is for one of these reasons. Which models think is not known of all, and
/// whether thoughts can still be opened only their provider knows.
fn more(tried: Without, refused: &ModelError) -> Option<Without> {
    let (ModelError::Status {
        status: 400 | 422,
        message,
        ..
    }
    | ModelError::NotFound { message, .. }) = refused
    else {
        return None;
    };
    let message = message.to_lowercase();
    let says = |words: &str| message.contains(words);
    let mut more = tried;
    if says("encrypted content is not supported") || says("reasoning.encrypted_content") {
        more.sealed = true;
    } else if says("not persisted") {
        more.ids = true;
    } else if says("encrypted content")
        || says("encrypted_content")
        || says("required following item")
        // llama.cpp, of a thought that another server sealed.
        || says("item['content']")
    {
        more.thoughts = true;
    }
    (more != tried).then_some(more)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_teaches_one_thing_once() {
        let refused = |status, message: &str| {
            let (provider, message) = ("p".to_owned(), message.to_owned());
            match status {
                404 => ModelError::NotFound {
                    provider,
                    model: "m".into(),
                    url: "u".into(),
                    message,
                },
                _ => ModelError::Status {
                    provider,
                    status,
                    message,
                    passes: false,
                    retry_after: None,
                },
            }
        };
        let none = Without::default();
        for (status, message, wanted) in [
            (
                400,
                "Encrypted content is not supported with this model",
                Without {
                    sealed: true,
                    ..none
                },
            ),
            (
                404,
                "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false",
                Without { ids: true, ..none },
            ),
            (
                400,
                "The encrypted content for item rs_1 could not be verified",
                Without {
                    thoughts: true,
                    ..none
                },
            ),
            (
                400,
                "Item 'rs_1' of type 'reasoning' was provided without its required following item",
                Without {
                    thoughts: true,
                    ..none
                },
            ),
        ] {
            let refused = refused(status, message);
            assert_eq!(more(none, &refused), Some(wanted), "{message}");
            assert_eq!(more(wanted, &refused), None, "{message}");
        }
        for (status, message) in [
            (400, "no"),
            (404, "no such model"),
            (500, "encrypted content is not supported"),
        ] {
            assert_eq!(more(none, &refused(status, message)), None, "{message}");
        }
    }
}
