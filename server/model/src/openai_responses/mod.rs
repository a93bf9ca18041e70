//! OpenAI's Responses, streamed: items in place of messages, and thoughts that go back sealed, without anything being stored
//! on the other side.

mod answer;
mod calls;
#[cfg(test)]
mod dialects;
mod request;

use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use reqwest::header::AUTHORIZATION;
use tokio_util::sync::CancellationToken;

use self::answer::Answer;
use self::request::Without;
use crate::endpoint::Wire;
use crate::target::Target;
use crate::{Api, EventStream, ModelConfig, ModelError, Provider, Request};

const RESPONSES: Wire = Wire {
    path: &["responses"],
    auth: |key| (AUTHORIZATION, format!("Bearer {key}")),
    headers: &[],
};

/// A model behind a Responses endpoint.
pub(crate) struct OpenAiResponses {
    target: Target,
    /// What it has refused so far.
    without: Mutex<Without>,
}

impl OpenAiResponses {
    pub(crate) fn new(target: Target) -> Self {
        Self {
            target,
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
        tracing::info!(model = self.target.id, ?more, "asked again with less");
        *self.without.lock().unwrap_or_else(PoisonError::into_inner) = more;
        true
    }
}

#[async_trait]
impl Provider for OpenAiResponses {
    fn id(&self) -> &str {
        &self.target.id
    }

    fn facts(&self) -> ModelConfig {
        self.target.facts
    }

    async fn stream(
        &self,
        request: &Request,
        cancel: &CancellationToken,
    ) -> Result<EventStream, ModelError> {
        let target = &self.target;
        let max_output = target.max_output(request.max_output);
        let reader = target.reader(Api::OpenaiResponses);
        loop {
            let without = self.without();
            let body = request::body(
                &target.model,
                reader,
                request,
                max_output,
                without,
                target.facts.thinking,
            );
            match target.ask(&RESPONSES, body, Answer::new, cancel).await {
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
