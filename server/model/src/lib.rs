//! Talking to models: a neutral conversation, the port of a provider, streaming, errors in words, and the catalogue of
//! who can be asked. This room knows HTTP and the wire formats; it knows no tool by name, no file and no editor.

#![cfg_attr(
    test,
    allow(clippy::unwrap_used, reason = "a test that can't go on fails")
)]

mod anthropic;
mod arguments;
mod asked;
mod body;
mod call;
mod catalogue;
mod conversation;
#[cfg(test)]
mod dialect_tests;
mod endpoint;
mod error;
mod estimate;
mod halves;
mod http;
mod ids;
mod key;
mod local;
mod openai_chat;
mod openai_responses;
mod pairing;
mod provider;
mod resilient;
mod rest;
mod retry_after;
mod secret;
mod sse;
mod stable_hash;
mod stream;
mod target;
mod tls;

pub use catalogue::{
    Api, Catalogue, Cost, KeySource, Long, ModelConfig, ModelInfo, ProviderConfig, ProviderState,
    QUICKFIX, Thinking,
};
pub use conversation::{
    Block, Image, Message, Reasoning, Request, Role, Sealed, ToolCall, ToolSpec,
};
pub use error::ModelError;
pub use key::{Keyring, is_variable_name};
pub use local::LocalServer;
pub use provider::{EventStream, Provider, Stop, StreamEvent, Usage};
pub use resilient::{Patience, Resilient};
pub use secret::Secret;
pub use tls::wrong_file;
