//! Calls in pieces, interleaved, without what would tell them apart; and any order of events.

use proptest::prelude::*;
use serde_json::json;

use super::{
    arguments, bare, begins, call, check, completed, created, delta, ends, message, piece, read,
    stream,
};
use crate::StreamEvent;

#[test]
fn calls_in_pieces_and_interleaved() {
    let events = [
        created(),
        begins(0, call("a", "one", "")),
        begins(1, call("b", "two", "")),
        piece(1, "b", "{\"x\":"),
        piece(0, "a", "{\"y\":"),
        piece(0, "a", ""),
        piece(1, "b", "1}"),
        arguments(1, "b", "{\"x\":1}"),
        ends(1, call("b", "two", "{\"x\":1}")),
        piece(0, "a", "\"ü\"}"),
        arguments(0, "a", "{\"y\":\"ü\"}"),
        ends(0, call("a", "one", "{\"y\":\"ü\"}")),
        completed(),
    ];
    let wanted = "call a one {\"y\":\"ü\"}\ncall b two {\"x\":1}\ndone ToolCalls";
    check(&stream(&events), wanted);
    check(&bare(&events).replace('\n', "\r\n"), wanted);
    // Without the events that say it all again.
    let pieces: Vec<_> = events
        .iter()
        .filter(|event| !event["type"].as_str().unwrap().contains(".done"))
        .cloned()
        .collect();
    check(&stream(&pieces), wanted);
    check(&bare(&pieces), wanted);
    // Only what says it all.
    let ends: Vec<_> = events
        .iter()
        .filter(|event| event["type"] == "output_item.done")
        .cloned()
        .collect();
    let wanted = "call b two {\"x\":1}\ncall a one {\"y\":\"ü\"}\ndone ToolCalls";
    check(&(stream(&ends) + &stream(&[completed()])), wanted);
}

#[test]
fn a_call_is_delivered_as_soon_as_it_is_complete() {
    let first = [begins(0, call("a", "one", "")), piece(0, "a", "{}")];
    let then = [delta("x"), completed()];
    // Because the next begins.
    let next = [begins(1, call("b", "two", "")), piece(1, "b", "{")];
    check(
        &stream(&[&first[..], &next, &then].concat()),
        "call a one {}\ntext x\ncall b two malformed {\ndone ToolCalls",
    );
    // Because its arguments are.
    check(
        &stream(&[&first[..], &[arguments(0, "a", "{}")], &then].concat()),
        "call a one {}\ntext x\ndone ToolCalls",
    );
}

#[test]
fn ids_and_indexes_that_tell_nothing() {
    let first = |id: &str, index: u64| {
        let mut event = begins(
            index,
            json!({"type": "function_call", "name": "one", "arguments": ""}),
        );
        if !id.is_empty() {
            event["item"]["id"] = id.into();
        }
        event
    };
    let other = |id: &str, delta: &str| json!({"type": "function_call_arguments.delta", "item_id": id, "delta": delta});
    for (events, wanted) in [
        // Every event has another id.
        (
            vec![
                first("x1", 0),
                json!({"type": "function_call_arguments.delta", "item_id": "x2", "output_index": 0, "delta": "{}"}),
                json!({"type": "output_item.done", "output_index": 0, "item": {"type": "function_call", "id": "x3", "call_id": "c", "name": "one", "arguments": "{}"}}),
            ],
            "call c one {}",
        ),
        // Not even an index.
        (
            vec![
                json!({"type": "output_item.added", "item": {"type": "function_call", "id": "x1", "name": "one"}}),
                other("x2", "{\"a\":"),
                other("x3", "1}"),
                json!({"type": "output_item.done", "item": {"type": "function_call", "name": "one"}}),
                json!({"type": "output_item.added", "item": {"type": "function_call", "name": "two", "call_id": "c2"}}),
                other("", "{}"),
            ],
            "call * one {\"a\":1}\ncall c2 two {}",
        ),
        // Every index 0.
        (
            vec![
                begins(0, call("a", "one", "")),
                piece(0, "a", "{\"a\":1}"),
                begins(0, call("b", "one", "")),
                piece(0, "b", "{\"b\":1}"),
                ends(0, call("a", "one", "{\"a\":1}")),
                ends(0, call("b", "one", "{\"b\":1}")),
            ],
            "call a one {\"a\":1}\ncall b one {\"b\":1}",
        ),
        // The same id for all.
        (
            vec![
                begins(0, call("a", "one", "")),
                ends(0, call("a", "one", "{\"a\":1}")),
                begins(1, call("a", "one", "")),
                ends(1, call("a", "one", "{\"a\":2}")),
            ],
            "call a one {\"a\":1}\ncall * one {\"a\":2}",
        ),
        // No index, and the id of the call for that of the item.
        (
            vec![
                json!({"type": "output_item.added", "item": {"type": "function_call", "name": "one", "call_id": "a"}}),
                json!({"type": "output_item.added", "item": {"type": "function_call", "name": "two", "call_id": "b"}}),
                other("a", "{\"a\":1}"),
                other("b", "{\"b\":1}"),
            ],
            "call a one {\"a\":1}\ncall b two {\"b\":1}",
        ),
        // The arguments with the beginning, or parsed already.
        (
            vec![
                begins(0, call("a", "one", "{\"a\":1}")),
                begins(1, call("b", "two", "")),
            ],
            "call a one {\"a\":1}\ncall b two {}",
        ),
        (
            vec![
                json!({"type": "output_item.done", "item": {"type": "function_call", "call_id": "a", "name": "one", "arguments": {"a": [1]}}}),
            ],
            "call a one {\"a\":[1]}",
        ),
        // The name only at the end.
        (
            vec![
                piece(0, "a", "{"),
                piece(0, "a", "}"),
                arguments(0, "a", "{}"),
                ends(0, call("a", "one", "{}")),
            ],
            "call a one {}",
        ),
        // The same call begun twice, and an artefact.
        (
            vec![
                begins(0, call("a", "one", "")),
                begins(0, call("a", "one", "")),
                piece(0, "a", "{}"),
                begins(1, json!({"type": "function_call"})),
            ],
            "call a one {}",
        ),
    ] {
        let events = [events.as_slice(), &[completed()]].concat();
        check(&stream(&events), &format!("{wanted}\ndone ToolCalls"));
    }
}

#[test]
fn what_comes_only_with_the_last_event() {
    let thought =
        json!({"id": "rs_1", "type": "reasoning", "encrypted_content": "g", "summary": []});
    let mut last = completed();
    last["response"]["output"] = json!([thought, message("hi"), call("c", "t", "{}")]);
    let all = format!("thought  {thought}\ntext hi\ncall c t {{}}\ndone ToolCalls");
    check(&stream(&[created(), last.clone()]), &all);
    check(&last["response"].to_string(), &all);
    // The rest of it came before.
    check(
        &stream(&[delta("hi"), last.clone()]),
        "text hi\ncall c t {}\ndone ToolCalls",
    );
    check(
        &stream(&[ends(0, call("c", "t", "{}")), last]),
        "call c t {}\ntext hi\ndone ToolCalls",
    );
    // Only the text's own end.
    check(
        &stream(&[
            json!({"type": "output_text.done", "text": "hi"}),
            ends(0, message("hi")),
            completed(),
        ]),
        "text hi\ndone End",
    );
    check(
        &stream(&[ends(0, message("hi")), ends(1, message("you")), completed()]),
        "text hi\n\nyou\ndone End",
    );
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400), at in 0usize..400) {
        let at = at.min(bytes.len());
        let (events, error) = read(&[&bytes[..at], &bytes[at..]], None);
        prop_assert!(error.is_some() || matches!(events.last(), Some(StreamEvent::Done(_))));
    }

    #[test]
    fn no_order_of_events_makes_it_panic(
        kinds in proptest::collection::vec((0usize..9, 0u64..3, "[abc]?", "(\\{|\\}|\\{\\}|1)?"), 0..14), numbered in any::<bool>(),
    ) {
        let event = |(kind, index, id, text): &(usize, u64, String, String)| match kind {
            0 => begins(*index, call(id, "t", "")),
            1 => piece(*index, id, text),
            2 => arguments(*index, id, text),
            3 => ends(*index, call(id, "t", text)),
            4 => delta(text),
            5 => ends(*index, message(text)),
            6 => begins(*index, json!({"type": "reasoning", "id": id})),
            7 => json!({"type": "reasoning_text.delta", "delta": text}),
            _ => ends(*index, json!({"type": "reasoning", "id": id, "encrypted_content": text})),
        };
        let events: Vec<_> = kinds.iter().map(event).chain([completed()]).collect();
        let text = if numbered { stream(&events) } else { bare(&events) };
        let (events, error) = read(&[text.as_bytes()], None);
        prop_assert_eq!(error, None);
        prop_assert!(matches!(events.last(), Some(StreamEvent::Done(_))));
        let ids: Vec<_> = events.iter().filter_map(|event| match event {
            StreamEvent::ToolCall(call) => Some(&call.id),
            _ => None,
        }).collect();
        let distinct: std::collections::BTreeSet<_> = ids.iter().collect();
        prop_assert_eq!(ids.len(), distinct.len(), "every call has its own id");
        // Every thought was told before, and the words of a call belong to one call.
        let told: String = events.iter().filter_map(|event| match event {
            StreamEvent::Reasoning(delta) => Some(delta.as_str()),
            _ => None,
        }).collect();
        let thought: String = events.iter().filter_map(|event| match event {
            StreamEvent::Thought(thought) => Some(thought.text.as_str()),
            _ => None,
        }).collect();
        prop_assert_eq!(told, thought);
    }
}
