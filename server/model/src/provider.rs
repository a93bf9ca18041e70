//! The port through which the rest of the house talks to any model, and what comes back from it.
//! Nothing here knows a wire format.

use std::ops::{Add, AddAssign};
use std::pin::Pin;

use async_trait::async_trait;
use futures::Stream;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::{ModelConfig, ModelError, Reasoning, Request, ToolCall};

/// The events of one answer. It ends after [`StreamEvent::Done`] or after the first error; dropping it drops the connection.
pub type EventStream = Pin<Box<dyn Stream<Item = Result<StreamEvent, ModelError>> + Send>>;

/// One model, ready to be asked.
#[async_trait]
pub trait Provider: Send + Sync {
    /// Its full name, e.g. `openai/gpt-5`.
    fn id(&self) -> &str;

    /// What is known of its limits and prices.
    fn facts(&self) -> ModelConfig {
        ModelConfig::default()
    }

    /// Sends the request and gives its answer as it comes. Cancelling ends the wait, or the stream, with [`ModelError::Cancelled`] and closes the connection at once.
    async fn stream(
        &self,
        request: &Request,
        cancel: &CancellationToken,
    ) -> Result<EventStream, ModelError>;
}

/// One step of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum StreamEvent {
    /// The next piece of text, never empty.
    Text(String),
    /// The next piece of what the model thinks, never empty.
    Reasoning(String),
    /// A piece of what the model thought, once it is complete: all of it was told as [`StreamEvent::Reasoning`] before.
    Thought(Reasoning),
    /// A tool call, once it is complete.
    ToolCall(ToolCall),
    /// Something that a person should know: what is waited for, that another model answers.
    Notice(String),
    /// The answer broke off before anything in it was acted on, and begins anew: what came of it so far is void.
    Again,
    /// What the request cost, at most once a try.
    Usage(Usage),
    /// The answer is complete.
    Done(Stop),
}

/// Why an answer ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// The model had said all.
    End,
    /// The model waits for the results of its calls.
    ToolCalls,
    /// The answer reached its greatest length; its last call may be malformed.
    Length,
    /// The model or its provider would not answer.
    Refused,
    /// The provider stopped in the middle, and goes on when it is sent what it has said so far.
    Paused,
    /// Anything else, as the provider calls it.
    Other(String),
}

/// Tokens used. The four counts do not overlap: `input` is what was neither read from nor written to a cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Input at the full price.
    pub input: u64,
    /// Output, reasoning included.
    pub output: u64,
    /// Input read from the provider's cache.
    pub cache_read: u64,
    /// Input written to the provider's cache.
    pub cache_write: u64,
}

impl Add for Usage {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            cache_read: self.cache_read.saturating_add(other.cache_read),
            cache_write: self.cache_write.saturating_add(other.cache_write),
        }
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}
