//! The body of a request as bytes, whatever the wire format.

use serde::Serialize;

use crate::{Block, Request};

/// What stands around the words of a message, and the tools: as much as it mostly is.
const MESSAGE: usize = 200;
const REST: usize = 32 * 1024;

/// The JSON of a body, which says this request.
pub(crate) fn written(body: &impl Serialize, request: &Request) -> Vec<u8> {
    let mut written = Vec::with_capacity(about(request));
    // Every key is a string and every number finite, and there is no file behind it: there is nothing that could fail.
    let _ = serde_json::to_writer(&mut written, body);
    written
}

/// So large that a long session is seldom copied while it grows, and not much larger.
fn about(request: &Request) -> usize {
    let blocks = request.messages.iter().flat_map(|message| &message.blocks);
    let said: usize = blocks.map(|block| length(block) + MESSAGE).sum();
    // Quotes and line ends take two bytes.
    request.system.len() + said + said / 6 + REST
}

fn length(block: &Block) -> usize {
    match block {
        Block::Text { text } => text.len(),
        Block::Image(image) => image.data.len(),
        Block::Reasoning(thought) => thought.text.len() + MESSAGE,
        Block::ToolCall(call) => {
            let values = call.input.as_object().into_iter().flatten();
            let texts = values.filter_map(|(_, value)| value.as_str());
            // They are written as a text within a text.
            MESSAGE + texts.map(|text| text.len() * 2).sum::<usize>()
        }
        Block::ToolResult { output, .. } => output.len(),
    }
}
