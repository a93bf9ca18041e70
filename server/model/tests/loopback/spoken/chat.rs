//! In Chat Completions. The format has one place for thoughts, one for text and one for calls: what was said between calls stands
//! with all other text, and what was thought before everything.

use serde_json::{Value, json};

use super::{Event, Manner, Step, pieces, steps};
use crate::script::{Call, Said, Turn};

pub fn events(turn: &Turn, manner: Manner) -> Vec<Event> {
    let mut events = Vec::new();
    let mut chunk = |choices: Value| {
        let chunk = json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices});
        events.push(("", chunk));
    };
    let choice = |delta: Value| json!([{"index": 0, "delta": delta, "logprobs": null, "finish_reason": null}]);
    chunk(choice(json!({"role": "assistant", "content": ""})));
    for piece in pieces(&turn.thoughts().concat(), manner.piece) {
        chunk(choice(json!({"reasoning_content": piece})));
    }
    for piece in pieces(&turn.texts().join("\n\n"), manner.piece) {
        chunk(choice(json!({"content": piece})));
    }
    let only_calls = turn
        .said
        .iter()
        .filter(|said| matches!(said, Said::Call(_)));
    for step in steps(only_calls, manner) {
        let piece = match step {
            Step::Begin(at, Call { id, name, .. }) => {
                json!({"index": at, "id": id, "type": "function", "function": {"name": name, "arguments": ""}})
            }
            Step::Piece(at, piece) => json!({"index": at, "function": {"arguments": piece}}),
            Step::End(..) | Step::Text(..) | Step::Thought(..) => continue,
        };
        chunk(choice(json!({"tool_calls": [piece]})));
    }
    chunk(
        json!([{"index": 0, "delta": {}, "logprobs": null, "finish_reason": finish_reason(turn)}]),
    );
    chunk(json!([]));
    if let Some((_, last)) = events.last_mut() {
        last["usage"] = usage(turn);
    }
    events
}

pub fn whole(turn: &Turn) -> Value {
    let texts = turn.texts();
    let content = (!texts.is_empty()).then(|| texts.join("\n\n"));
    let mut message = json!({"role": "assistant", "content": content, "refusal": null});
    if !turn.thoughts().is_empty() {
        message["reasoning_content"] = turn.thoughts().concat().into();
    }
    let calls: Vec<_> = turn
        .calls()
        .map(|Call { id, name, written, .. }| {
            json!({"id": id, "type": "function", "function": {"name": name, "arguments": written}})
        })
        .collect();
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    json!({
        "id": "c", "object": "chat.completion", "created": 1, "model": "m", "usage": usage(turn),
        "choices": [{"index": 0, "message": message, "logprobs": null, "finish_reason": finish_reason(turn)}],
    })
}

pub fn sealed(thought: &str) -> Value {
    json!({"reasoning_content": thought})
}

fn finish_reason(turn: &Turn) -> &'static str {
    match turn.calls().next() {
        Some(_) => "tool_calls",
        None => "stop",
    }
}

fn usage(turn: &Turn) -> Value {
    let usage = turn.usage;
    let input = usage.input + usage.cache_read + usage.cache_write;
    json!({
        "prompt_tokens": input, "completion_tokens": usage.output, "total_tokens": input + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write},
    })
}
