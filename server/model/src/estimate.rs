//! How many tokens a request has, before a provider has counted them.

use crate::{Block, Request};

/// Bytes of a token, over prose and code alike. Tokens of languages with long characters have about as many bytes.
const BYTES: f64 = 3.6;
/// A picture, wherever it is not known better.
const PICTURE: u64 = 1_500;
/// What every message costs for being one.
const MESSAGE: u64 = 4;

impl Request {
    /// About how many tokens it has.
    pub fn estimated_tokens(&self) -> u64 {
        let mut bytes = self.system.len();
        let mut more = 0;
        for tool in &self.tools {
            bytes += tool.name.len() + tool.description.len() + tool.schema.to_string().len();
        }
        for message in &self.messages {
            more += MESSAGE;
            for block in &message.blocks {
                match block {
                    Block::Text { text } => bytes += text.len(),
                    Block::Image(_) => more += PICTURE,
                    Block::Reasoning(thought) => bytes += thought.text.len(),
                    Block::ToolCall(call) => {
                        bytes += call.name.len() + call.input.to_string().len();
                    }
                    Block::ToolResult { output, .. } => bytes += output.len(),
                }
            }
        }
        #[allow(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "bytes in memory are far below 2^52"
        )]
        let tokens = (bytes as f64 / BYTES).ceil() as u64;
        tokens + more
    }
}
