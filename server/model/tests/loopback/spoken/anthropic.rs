//! In Messages.

use serde_json::{Value, json};

use super::{Event, Manner, Step, pieces, steps};
use crate::script::{Call, Ends, Said, Turn};

pub fn events(turn: &Turn, manner: Manner) -> Vec<Event> {
    let mut events = vec![(
        "message_start",
        json!({"type": "message_start", "message": {
            "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": null,
            "stop_sequence": null, "usage": usage(turn, 1),
        }}),
    )];
    let mut say = |kind: &'static str, mut event: Value| {
        event["type"] = kind.into();
        events.push((kind, event));
    };
    for step in steps(turn.said.iter(), manner) {
        let (at, begin, deltas) = match step {
            Step::Thought(at, text) => {
                let begin = json!({"type": "thinking", "thinking": "", "signature": ""});
                let deltas = pieces(text, manner.piece)
                    .map(|piece| json!({"type": "thinking_delta", "thinking": piece}));
                let signature = json!({"type": "signature_delta", "signature": seal(text)});
                (at, begin, deltas.chain([signature]).collect::<Vec<_>>())
            }
            Step::Text(at, text) => {
                let deltas = pieces(text, manner.piece)
                    .map(|piece| json!({"type": "text_delta", "text": piece}));
                (at, json!({"type": "text", "text": ""}), deltas.collect())
            }
            Step::Begin(at, Call { id, name, .. }) => {
                let block = json!({"type": "tool_use", "id": id, "name": name, "input": {}});
                say(
                    "content_block_start",
                    json!({"index": at, "content_block": block}),
                );
                let empty = json!({"type": "input_json_delta", "partial_json": ""});
                say("content_block_delta", json!({"index": at, "delta": empty}));
                continue;
            }
            Step::Piece(at, piece) => {
                let delta = json!({"type": "input_json_delta", "partial_json": piece});
                say("content_block_delta", json!({"index": at, "delta": delta}));
                continue;
            }
            Step::End(at, _) => {
                say("content_block_stop", json!({"index": at}));
                continue;
            }
        };
        say(
            "content_block_start",
            json!({"index": at, "content_block": begin}),
        );
        for delta in deltas {
            say("content_block_delta", json!({"index": at, "delta": delta}));
        }
        say("content_block_stop", json!({"index": at}));
    }
    let delta = json!({"stop_reason": stop_reason(turn), "stop_sequence": null});
    let output = json!({"output_tokens": turn.usage.output});
    say("message_delta", json!({"delta": delta, "usage": output}));
    say("message_stop", json!({}));
    events
}

pub fn whole(turn: &Turn) -> Value {
    let content: Vec<_> = turn.said.iter().map(block).collect();
    json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": content,
        "stop_reason": stop_reason(turn), "stop_sequence": null, "usage": usage(turn, turn.usage.output),
    })
}

fn block(said: &Said) -> Value {
    match said {
        Said::Thought(text) => {
            json!({"type": "thinking", "thinking": text, "signature": seal(text)})
        }
        Said::Text(text) => json!({"type": "text", "text": text}),
        Said::Call(Call {
            id, name, written, ..
        }) => {
            // The format has no place for what is no JSON; servers that have it from a model say it as a text.
            let input: Value = match written.as_str() {
                "" => json!({}),
                text => serde_json::from_str(text).unwrap_or_else(|_| text.into()),
            };
            json!({"type": "tool_use", "id": id, "name": name, "input": input})
        }
    }
}

pub fn sealed(thought: &str) -> Value {
    json!({"type": "thinking", "signature": seal(thought)})
}

fn seal(thought: &str) -> String {
    format!("sealed-by-anthropic/{}==", thought.len())
}

fn stop_reason(turn: &Turn) -> &'static str {
    match turn.ends {
        Ends::Calls => "tool_use",
        Ends::Prompt(_) => "end_turn",
        Ends::Pause => "pause_turn",
    }
}

fn usage(turn: &Turn, output: u64) -> Value {
    json!({
        "input_tokens": turn.usage.input, "output_tokens": output,
        "cache_read_input_tokens": turn.usage.cache_read, "cache_creation_input_tokens": turn.usage.cache_write,
    })
}
