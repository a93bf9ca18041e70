//! In Responses.

use serde_json::{Value, json};

use super::{Event, Manner, Step, pieces, steps};
use crate::script::{Call, Said, Turn};

pub fn events(turn: &Turn, manner: Manner) -> Vec<Event> {
    let mut events: Vec<Event> = Vec::new();
    let mut say = |kind: &'static str, mut event: Value| {
        event["type"] = kind.into();
        event["sequence_number"] = events.len().into();
        events.push((kind, event));
    };
    let begun =
        json!({"id": "resp_1", "object": "response", "status": "in_progress", "output": []});
    say("response.created", json!({"response": begun}));
    say("response.in_progress", json!({"response": begun}));
    for step in steps(turn.said.iter(), manner) {
        match step {
            Step::Thought(at, text) => {
                let (id, done) = (format!("rs_{at}"), item(at, &turn.said[at]));
                let begun = json!({"type": "reasoning", "id": id, "summary": [], "encrypted_content": null});
                say(
                    "response.output_item.added",
                    json!({"output_index": at, "item": begun}),
                );
                let part = |text: &str| {
                    let part = json!({"type": "summary_text", "text": text});
                    json!({"item_id": id, "output_index": at, "summary_index": 0, "part": part})
                };
                say("response.reasoning_summary_part.added", part(""));
                for piece in pieces(text, manner.piece) {
                    let delta = json!({"item_id": id, "output_index": at, "summary_index": 0, "delta": piece});
                    say("response.reasoning_summary_text.delta", delta);
                }
                let all =
                    json!({"item_id": id, "output_index": at, "summary_index": 0, "text": text});
                say("response.reasoning_summary_text.done", all);
                say("response.reasoning_summary_part.done", part(text));
                say(
                    "response.output_item.done",
                    json!({"output_index": at, "item": done}),
                );
            }
            Step::Text(at, text) => {
                let (id, done) = (format!("msg_{at}"), item(at, &turn.said[at]));
                let begun = json!({"type": "message", "id": id, "status": "in_progress", "role": "assistant", "content": []});
                say(
                    "response.output_item.added",
                    json!({"output_index": at, "item": begun}),
                );
                let part = |text: &str| {
                    let part = json!({"type": "output_text", "text": text, "annotations": []});
                    json!({"item_id": id, "output_index": at, "content_index": 0, "part": part})
                };
                say("response.content_part.added", part(""));
                for piece in pieces(text, manner.piece) {
                    let delta = json!({"item_id": id, "output_index": at, "content_index": 0, "delta": piece});
                    say("response.output_text.delta", delta);
                }
                let all =
                    json!({"item_id": id, "output_index": at, "content_index": 0, "text": text});
                say("response.output_text.done", all);
                say("response.content_part.done", part(text));
                say(
                    "response.output_item.done",
                    json!({"output_index": at, "item": done}),
                );
            }
            Step::Begin(at, Call { id, name, .. }) => {
                let begun = json!({
                    "type": "function_call", "id": format!("fc_{at}"), "call_id": id, "name": name, "arguments": "",
                    "status": "in_progress",
                });
                say(
                    "response.output_item.added",
                    json!({"output_index": at, "item": begun}),
                );
            }
            Step::Piece(at, piece) => {
                let delta =
                    json!({"item_id": format!("fc_{at}"), "output_index": at, "delta": piece});
                say("response.function_call_arguments.delta", delta);
            }
            Step::End(at, call) => {
                let all = json!({"item_id": format!("fc_{at}"), "output_index": at, "arguments": call.written});
                say("response.function_call_arguments.done", all);
                let done = item(at, &turn.said[at]);
                say(
                    "response.output_item.done",
                    json!({"output_index": at, "item": done}),
                );
            }
        }
    }
    say("response.completed", json!({"response": whole(turn)}));
    events
}

pub fn whole(turn: &Turn) -> Value {
    let output: Vec<_> = turn
        .said
        .iter()
        .enumerate()
        .map(|(at, said)| item(at, said))
        .collect();
    let usage = turn.usage;
    let input = usage.input + usage.cache_read + usage.cache_write;
    let details =
        json!({"cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write});
    json!({
        "id": "resp_1", "object": "response", "status": "completed", "error": null, "incomplete_details": null,
        "output": output, "usage": {
            "input_tokens": input, "input_tokens_details": details,
            "output_tokens": usage.output, "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": input + usage.output,
        },
    })
}

/// The whole item goes back.
pub fn sealed(at: usize, thought: &str) -> Value {
    json!({
        "type": "reasoning", "id": format!("rs_{at}"), "summary": [{"type": "summary_text", "text": thought}],
        "encrypted_content": format!("sealed-by-responses/{}==", thought.len()),
    })
}

fn item(at: usize, said: &Said) -> Value {
    match said {
        Said::Thought(text) => sealed(at, text),
        Said::Text(text) => json!({
            "type": "message", "id": format!("msg_{at}"), "status": "completed", "role": "assistant",
            "content": [{"type": "output_text", "text": text, "annotations": []}],
        }),
        Said::Call(Call {
            id, name, written, ..
        }) => json!({
            "type": "function_call", "id": format!("fc_{at}"), "call_id": id, "name": name, "arguments": written,
            "status": "completed",
        }),
    }
}
