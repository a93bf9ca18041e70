//! The neutral conversation: what is said to a model and what it said, in no provider's wire format.
//! It is stored in sessions as it is here (serde), and never holds a key, a URL or a header.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Everything that one request to a model says.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// The system prompt; empty for none.
    pub system: String,
    /// The conversation so far, oldest first.
    pub messages: Vec<Message>,
    /// The tools that the model may call.
    pub tools: Vec<ToolSpec>,
    /// The most tokens that the answer may have; the provider's own limit if unset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output: Option<u32>,
    /// How freely the model chooses its words, from 0; the provider's own way if unset. Messages has no
    /// such field any more, and is not told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f32>,
}

/// Who said a [`Message`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The person, and the results of tools.
    User,
    /// The model.
    Assistant,
}

/// One turn of the conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Who said it.
    pub role: Role,
    /// What was said, in order.
    pub blocks: Vec<Block>,
}

impl Message {
    /// A message of the person with one text.
    pub fn user(text: impl Into<String>) -> Self {
        Self {
            role: Role::User,
            blocks: vec![Block::text(text)],
        }
    }

    /// A message of the model with one text.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self {
            role: Role::Assistant,
            blocks: vec![Block::text(text)],
        }
    }
}

/// One piece of a [`Message`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    /// Plain text.
    Text {
        /// The text itself.
        text: String,
    },
    /// A picture; only in a message of the user.
    Image(Image),
    /// What the model thought; only in a message of the assistant.
    Reasoning(Reasoning),
    /// The model asks for a tool; only in a message of the assistant.
    ToolCall(ToolCall),
    /// What a tool answered; only in a message of the user.
    ToolResult {
        /// The id of the call that it answers.
        id: String,
        /// Whether the tool did what was asked.
        ok: bool,
        /// What the model is told.
        output: String,
    },
}

impl Block {
    /// A text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}

/// A picture, as it is sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// What it is: `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
    pub media_type: String,
    /// The file's bytes in base64.
    pub data: String,
}

/// One piece of what the model thought. It is kept where it stood among the texts and calls: providers want it back there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reasoning {
    /// In words, if the provider shows them: often only a summary.
    pub text: String,
    /// What the provider wants back of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sealed: Option<Sealed>,
}

/// What goes back to a provider unchanged (a signature, encrypted thoughts), and means nothing to any other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sealed {
    /// Who can open it: the model's full name (`anthropic/claude-sonnet-4-5`).
    pub model: String,
    /// The wire format that it is a part of, by its name in the configuration.
    pub api: String,
    /// The part itself, as it came.
    pub content: Value,
}

impl Sealed {
    /// Whether this model, asked in this wire format, can open it.
    pub fn is_for(&self, model: &str, api: &str) -> bool {
        self.model == model && self.api == api
    }
}

/// A tool call, whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Pairs the call with its result; unique within one answer.
    pub id: String,
    /// The tool's name as the model wrote it; there may be no such tool.
    pub name: String,
    /// The arguments, a JSON object; null if they were none (see `malformed`).
    pub input: Value,
    /// The arguments as the model wrote them, if they were no JSON object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub malformed: Option<String>,
    /// What was wrong with the arguments as the model wrote them, though they could only be meant as `input` is; the model
    /// is told with the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repaired: Option<String>,
}

/// A tool as the model is told of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// The name by which the model calls it.
    pub name: String,
    /// What it does and when to use it.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub schema: Value,
}
