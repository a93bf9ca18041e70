//! What conversations are made of, in few words.

use model::{Api, Block, Message, Reasoning, Role, Sealed, ToolCall, ToolSpec};
use serde_json::{Value, json};

pub fn said(role: Role, blocks: Vec<Block>) -> Message {
    Message { role, blocks }
}

/// A call of `read`.
pub fn call(id: &str, input: Value, malformed: Option<&str>) -> Block {
    Block::ToolCall(ToolCall {
        id: id.to_owned(),
        name: "read".to_owned(),
        input,
        malformed: malformed.map(str::to_owned),
        repaired: None,
    })
}

pub fn result(id: &str, ok: bool) -> Block {
    Block::ToolResult {
        id: id.to_owned(),
        ok,
        output: format!("output of {id}"),
    }
}

/// A thought that this model sealed in this format.
pub fn thought(model: &str, api: Api, text: &str, content: Value) -> Block {
    Block::Reasoning(Reasoning {
        text: text.to_owned(),
        sealed: Some(Sealed {
            model: model.to_owned(),
            api: api.as_str().to_owned(),
            content,
        }),
    })
}

/// The tool that is called.
pub fn read() -> ToolSpec {
    let schema = json!({"type": "object", "properties": {"filePath": {"type": "string"}}, "required": ["filePath"]});
    ToolSpec {
        name: "read".to_owned(),
        description: "Reads a file.".to_owned(),
        schema,
    }
}
