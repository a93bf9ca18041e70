//! One model of one provider, as every wire format asks it: what it is called, what is known of it, where it is.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::asked::Asked;
use crate::endpoint::{Endpoint, Wire};
use crate::pairing::Reader;
use crate::stream::Decode;
use crate::{Api, EventStream, ModelConfig, ModelError};

/// The model that is asked.
pub(crate) struct Target {
    /// Its full name.
    pub(crate) id: String,
    /// Its name, as the provider knows it.
    pub(crate) model: String,
    pub(crate) facts: ModelConfig,
    /// The longest answer that the user's configuration allows.
    pub(crate) max_output: Option<u32>,
    pub(crate) endpoint: Arc<Endpoint>,
}

impl Target {
    /// Who it is to those who tell it the conversation.
    pub(crate) fn reader(&self, api: Api) -> Reader<'_> {
        Reader {
            model: &self.id,
            api: api.as_str(),
        }
    }

    /// The longest answer, if anyone has set a limit.
    pub(crate) fn max_output(&self, asked: Option<u32>) -> Option<u32> {
        match (asked, self.max_output) {
            (Some(asked), Some(allowed)) => Some(asked.min(allowed)),
            (asked, allowed) => asked.or(allowed),
        }
    }

    /// Sends the body, and gives the steps of the answer as `answer` makes them out, who is told whose it is.
    pub(crate) async fn ask<D: Decode>(
        &self,
        wire: &Wire,
        body: Vec<u8>,
        answer: fn(Arc<Asked>, &str) -> D,
        cancel: &CancellationToken,
    ) -> Result<EventStream, ModelError> {
        let answer = |asked| answer(asked, &self.id);
        self.endpoint
            .ask(wire, &self.model, body, answer, cancel)
            .await
    }
}
