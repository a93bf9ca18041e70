//! A reply in the words of Chat Completions: as events, or whole.

use std::sync::atomic::Ordering;

use serde_json::{Value, json};

use super::reply::Part;
use super::{Asked, Gate, Reply, Shared};

/// One thing to do on the way.
pub(super) enum Action {
    /// Send this as the data of an event.
    Event(String),
    /// Wait here.
    Wait(Gate),
}

/// A streamed answer.
pub(super) fn events(reply: &Reply, asked: &Asked, shared: &Shared) -> Vec<Action> {
    let size = shared.pieces.load(Ordering::Relaxed);
    let head = json!({"id": "chatcmpl-scripted", "object": "chat.completion.chunk", "created": 0, "model": asked.body["model"]});
    let chunk = |choices: Value| {
        let mut chunk = head.clone();
        chunk["choices"] = choices;
        chunk
    };
    let delta = |delta: Value| {
        Action::Event(
            chunk(json!([{"index": 0, "delta": delta, "finish_reason": null}])).to_string(),
        )
    };
    let mut actions = vec![delta(json!({"role": "assistant", "content": ""}))];
    let mut calls = 0;
    for part in &reply.parts {
        match part {
            Part::Text(text) => {
                actions.extend(pieces(text, size).map(|piece| delta(json!({"content": piece}))));
            }
            Part::Reasoning(text) => {
                actions.extend(
                    pieces(text, size).map(|piece| delta(json!({"reasoning_content": piece}))),
                );
            }
            Part::Call {
                id,
                name,
                arguments,
            } => {
                let index = calls;
                calls += 1;
                let id = id.clone().unwrap_or_else(|| shared.call_id());
                let function = json!({"name": name, "arguments": ""});
                actions.push(delta(json!({"tool_calls": [{"index": index, "id": id, "type": "function", "function": function}]})));
                let piece = |piece| {
                    delta(
                        json!({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}),
                    )
                };
                actions.extend(pieces(arguments, size).map(piece));
            }
            Part::Gate(gate) => actions.push(Action::Wait(gate.clone())),
        }
    }
    let end = json!([{"index": 0, "delta": {}, "finish_reason": finish(reply)}]);
    actions.push(Action::Event(chunk(end).to_string()));
    if asked.body["stream_options"]["include_usage"] == true {
        let mut last = chunk(json!([]));
        last["usage"] = usage(reply, asked);
        actions.push(Action::Event(last.to_string()));
    }
    actions.push(Action::Event("[DONE]".to_owned()));
    actions
}

/// An answer in one piece. Its gates are the caller's to wait for.
pub(super) fn whole(reply: &Reply, asked: &Asked, shared: &Shared) -> Value {
    let (mut content, mut reasoning, mut calls) = (String::new(), String::new(), Vec::new());
    for part in &reply.parts {
        match part {
            Part::Text(text) => content += text,
            Part::Reasoning(text) => reasoning += text,
            Part::Call {
                id,
                name,
                arguments,
            } => {
                let id = id.clone().unwrap_or_else(|| shared.call_id());
                calls.push(json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}));
            }
            Part::Gate(_) => {}
        }
    }
    let mut message =
        json!({"role": "assistant", "content": (!content.is_empty()).then_some(content)});
    if !reasoning.is_empty() {
        message["reasoning_content"] = reasoning.into();
    }
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    json!({
        "id": "chatcmpl-scripted", "object": "chat.completion", "created": 0, "model": asked.body["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": finish(reply)}],
        "usage": usage(reply, asked),
    })
}

fn finish(reply: &Reply) -> &str {
    let called = reply
        .parts
        .iter()
        .any(|part| matches!(part, Part::Call { .. }));
    reply
        .finish
        .as_deref()
        .unwrap_or(if called { "tool_calls" } else { "stop" })
}

fn usage(reply: &Reply, asked: &Asked) -> Value {
    let said = |part: &Part| match part {
        Part::Text(text) | Part::Reasoning(text) => text.len(),
        Part::Call {
            name, arguments, ..
        } => name.len() + arguments.len(),
        Part::Gate(_) => 0,
    };
    // Four bytes a token is what most models come to.
    let guess = || {
        [
            asked.body.to_string().len() as u64 / 4,
            reply.parts.iter().map(said).sum::<usize>() as u64 / 4,
        ]
    };
    let [input, output] = reply.usage.unwrap_or_else(guess);
    json!({"prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output})
}

/// The text in pieces of so many characters.
fn pieces(text: &str, size: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = rest
            .char_indices()
            .nth(size)
            .map_or(rest.len(), |(at, _)| at);
        let (piece, after) = rest.split_at(end);
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}
