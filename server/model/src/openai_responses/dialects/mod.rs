//! Answers as servers really give them, each fed whole, cut in two at every byte, and byte by byte: it must read the same.

mod calls;
mod ends;

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::answer::Answer;
use crate::dialect_tests::{self, Outcome, shown};

fn read(chunks: &[&[u8]], cut: Option<&str>) -> Outcome {
    dialect_tests::read(|asked| Answer::new(asked, "p/m"), chunks, cut)
}

fn check_cut(stream: &str, cut: Option<&str>, wanted: &str) {
    dialect_tests::check_cut(|asked| Answer::new(asked, "p/m"), stream, cut, wanted);
}

fn check(stream: &str, wanted: &str) {
    check_cut(stream, None, wanted);
}

/// A stream as OpenAI writes it: every event named twice and numbered.
fn stream(events: &[Value]) -> String {
    let mut stream = String::new();
    for (number, event) in events.iter().enumerate() {
        let mut event = event.clone();
        event["type"] = format!("response.{}", event["type"].as_str().unwrap()).into();
        event["sequence_number"] = number.into();
        let _ = write!(
            stream,
            "event: {}\ndata: {event}\n\n",
            event["type"].as_str().unwrap()
        );
    }
    stream
}

/// The same without what llama.cpp leaves out.
fn bare(events: &[Value]) -> String {
    let mut stream = String::new();
    for event in events {
        let mut event = event.clone();
        event["type"] = format!("response.{}", event["type"].as_str().unwrap()).into();
        event.as_object_mut().unwrap().remove("output_index");
        let _ = write!(stream, "data: {event}\n\n");
    }
    stream
}

fn created() -> Value {
    json!({"type": "created", "response": {"id": "resp_1", "object": "response", "status": "in_progress", "error": null, "incomplete_details": null, "output": [], "usage": null}})
}

fn delta(text: &str) -> Value {
    json!({"type": "output_text.delta", "item_id": "msg_1", "output_index": 0, "content_index": 0, "delta": text, "logprobs": []})
}

fn begins(index: u64, item: Value) -> Value {
    json!({"type": "output_item.added", "output_index": index, "item": item})
}

fn ends(index: u64, item: Value) -> Value {
    json!({"type": "output_item.done", "output_index": index, "item": item})
}

fn call(id: &str, name: &str, arguments: &str) -> Value {
    json!({"id": format!("fc_{id}"), "type": "function_call", "status": "completed", "arguments": arguments, "call_id": id, "name": name})
}

fn piece(index: u64, id: &str, delta: &str) -> Value {
    json!({"type": "function_call_arguments.delta", "item_id": format!("fc_{id}"), "output_index": index, "delta": delta})
}

fn arguments(index: u64, id: &str, all: &str) -> Value {
    json!({"type": "function_call_arguments.done", "item_id": format!("fc_{id}"), "output_index": index, "arguments": all})
}

fn message(text: &str) -> Value {
    json!({"id": "msg_1", "type": "message", "status": "completed", "role": "assistant", "content": [{"type": "output_text", "annotations": [], "text": text}]})
}

fn completed() -> Value {
    json!({"type": "completed", "response": {"id": "resp_1", "object": "response", "status": "completed", "error": null, "incomplete_details": null, "output": []}})
}

#[test]
fn openai() {
    let begun = json!({"id": "msg_1", "type": "message", "status": "in_progress", "role": "assistant", "content": []});
    let usage = json!({"input_tokens": 100, "input_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 5}, "output_tokens": 7, "output_tokens_details": {"reasoning_tokens": 2}, "total_tokens": 107});
    let mut last = completed();
    last["response"]["usage"] = usage;
    last["response"]["output"] = json!([message("Grüß dich 🦀")]);
    check(
        &stream(&[
            created(),
            json!({"type": "in_progress", "response": {"status": "in_progress"}}),
            begins(0, begun),
            json!({"type": "content_part.added", "item_id": "msg_1", "output_index": 0, "content_index": 0, "part": {"type": "output_text", "annotations": [], "text": ""}}),
            delta("Grüß "),
            delta(""),
            delta("dich 🦀"),
            json!({"type": "output_text.done", "item_id": "msg_1", "output_index": 0, "content_index": 0, "text": "Grüß dich 🦀"}),
            json!({"type": "content_part.done", "item_id": "msg_1", "output_index": 0, "content_index": 0, "part": {"type": "output_text", "annotations": [], "text": "Grüß dich 🦀"}}),
            ends(0, message("Grüß dich 🦀")),
            last,
        ]),
        "text Grüß dich 🦀\nusage 35 7 60 5\ndone End",
    );
}

#[test]
fn thoughts_are_sealed_as_they_came_and_stay_in_their_place() {
    let sealed = json!({"id": "rs_1", "type": "reasoning", "encrypted_content": "gAAA", "summary": [{"type": "summary_text", "text": "I look."}, {"type": "summary_text", "text": "I find."}]});
    let summary = |index: u64, kind: &str, key: &str, text: &str| {
        let mut event = json!({"type": format!("reasoning_summary_text.{kind}"), "item_id": "rs_1", "output_index": 0, "summary_index": index});
        event[key] = text.into();
        event
    };
    let empty =
        json!({"id": "rs_1", "type": "reasoning", "encrypted_content": "gA", "summary": []});
    let events = [
        created(),
        begins(0, empty),
        json!({"type": "reasoning_summary_part.added", "item_id": "rs_1", "output_index": 0, "summary_index": 0, "part": {"type": "summary_text", "text": ""}}),
        summary(0, "delta", "delta", "I "),
        summary(0, "delta", "delta", "look."),
        summary(0, "done", "text", "I look."),
        summary(1, "delta", "delta", "I find."),
        summary(1, "done", "text", "I find."),
        ends(0, sealed.clone()),
        begins(1, call("c1", "read", "")),
        piece(1, "c1", "{}"),
        arguments(1, "c1", "{}"),
        ends(1, call("c1", "read", "{}")),
        completed(),
    ];
    let wanted = format!(
        "thinks I look.\n\nI find.\nthought I look.\n\nI find. {sealed}\ncall c1 read {{}}\ndone ToolCalls"
    );
    let read = shown(read(&[stream(&events).as_bytes()], None));
    assert_eq!(read, wanted);
    // Without a word of it, and only with the end.
    let silent =
        json!({"id": "rs_1", "type": "reasoning", "encrypted_content": "gAAA", "summary": []});
    check(
        &stream(&[
            ends(0, silent.clone()),
            ends(1, call("c1", "read", "{}")),
            completed(),
        ]),
        &format!("thought  {silent}\ncall c1 read {{}}\ndone ToolCalls"),
    );
    // Its words only with the end.
    let late = json!({"id": "rs_1", "type": "reasoning", "encrypted_content": "gAAA", "summary": [{"type": "summary_text", "text": "hm"}]});
    check(
        &stream(&[ends(0, late.clone()), ends(1, message("x")), completed()]),
        &format!("thinks hm\nthought hm {late}\ntext x\ndone End"),
    );
}

#[test]
fn a_thought_that_cannot_be_opened_again_is_only_told() {
    for contents in [json!(null), json!("")] {
        let item = json!({"id": "rs_1", "type": "reasoning", "encrypted_content": contents, "summary": [{"type": "summary_text", "text": "hm"}]});
        check(
            &stream(&[ends(0, item), ends(1, message("x")), completed()]),
            "thinks hm\nthought hm\ntext x\ndone End",
        );
    }
    let nothing = json!({"id": "rs_1", "type": "reasoning", "summary": []});
    check(
        &stream(&[
            begins(0, nothing.clone()),
            ends(0, nothing),
            ends(1, message("x")),
            completed(),
        ]),
        "text x\ndone End",
    );
}

#[test]
fn the_last_words_come_only_with_the_end() {
    // llama.cpp holds back what could begin a call, and gives its last piece to no event of its own.
    let done = json!({"type": "output_text.done", "item_id": "msg_1", "text": "a < b"});
    let whole = message("a < b");
    let thought = json!({"id": "rs_1", "type": "reasoning", "encrypted_content": "g", "summary": [{"type": "summary_text", "text": "hm, so"}]});
    let summary = json!({"type": "reasoning_summary_text.delta", "item_id": "rs_1", "output_index": 0, "delta": "hm"});
    for last in [
        &[done.clone(), ends(1, whole.clone())][..],
        &[ends(1, whole)],
        &[done.clone(), done],
    ] {
        let first = [summary.clone(), ends(0, thought.clone()), delta("a ")];
        check(
            &stream(&[&first[..], last, &[completed()]].concat()),
            &format!("thinks hm, so\nthought hm, so {thought}\ntext a < b\ndone End"),
        );
    }
}

#[test]
fn what_a_message_is_for_is_told_after_it() {
    let mut said = message("I look.");
    said["phase"] = "commentary".into();
    check(
        &stream(&[
            delta("I look."),
            ends(0, said),
            ends(1, call("c", "t", "{}")),
            completed(),
        ]),
        "text I look.\nthought  {\"phase\":\"commentary\",\"type\":\"message\"}\ncall c t {}\ndone ToolCalls",
    );
}

#[test]
fn llama_cpp() {
    let thought = json!({"id": "rs_x", "summary": [], "type": "reasoning", "content": [], "encrypted_content": "", "status": "in_progress"});
    let mut whole = thought.clone();
    whole["content"] = json!([{"text": "I think.", "type": "reasoning_text"}]);
    let begun = |id: &str| json!({"arguments": "", "call_id": format!("fc_{id}"), "name": "read", "type": "function_call", "status": "in_progress"});
    let piece = |id: &str, delta: &str| json!({"type": "function_call_arguments.delta", "delta": delta, "item_id": format!("fc_{id}")});
    let ended = |id: &str, all: &str| {
        let mut item = begun(id);
        item["arguments"] = all.into();
        ends(0, item)
    };
    let composed = r#"{"content":[{"text":"I think.","type":"reasoning_text"}],"id":"rs_x","summary":[],"type":"reasoning"}"#;
    let usage = json!({"input_tokens": 9, "output_tokens": 4, "total_tokens": 13, "input_tokens_details": {"cached_tokens": 2}});
    let mut last = completed();
    last["response"]["usage"] = usage;
    check(
        &bare(&[
            created(),
            begins(0, thought),
            json!({"type": "reasoning_text.delta", "delta": "I ", "item_id": "rs_x"}),
            json!({"type": "reasoning_text.delta", "delta": "think.", "item_id": "rs_x"}),
            begins(
                0,
                json!({"content": [], "id": "chatcmpl-1", "role": "assistant", "status": "in_progress", "type": "message"}),
            ),
            json!({"type": "output_text.delta", "item_id": "chatcmpl-1", "delta": "I look."}),
            begins(0, begun("1")),
            piece("1", "{\"a\""),
            piece("1", ":1}"),
            begins(0, begun("2")),
            piece("2", "{}"),
            ends(0, whole),
            json!({"type": "output_text.done", "item_id": "chatcmpl-1", "text": "I look."}),
            ends(
                0,
                json!({"type": "message", "status": "completed", "id": "chatcmpl-1", "content": [{"type": "output_text", "annotations": [], "text": "I look."}], "role": "assistant"}),
            ),
            ended("1", "{\"a\":1}"),
            ended("2", "{}"),
            last,
        ]),
        &format!(
            "thinks I think.\nthought I think. {composed}\ntext I look.\ncall fc_1 read {{\"a\":1}}\ncall fc_2 read {{}}\nusage 7 4 2 0\ndone ToolCalls"
        ),
    );
}

#[test]
fn refusals() {
    let refusal = json!({"id": "msg_1", "type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "I won't"}]});
    let delta =
        json!({"type": "refusal.delta", "item_id": "msg_1", "output_index": 0, "delta": "I won't"});
    let done = json!({"type": "refusal.done", "item_id": "msg_1", "output_index": 0, "refusal": "I won't"});
    let wanted = "text I won't\ndone Refused";
    check(
        &stream(&[delta, done.clone(), ends(0, refusal.clone()), completed()]),
        wanted,
    );
    check(&stream(&[done, completed()]), wanted);
    check(&stream(&[ends(0, refusal), completed()]), wanted);
}

#[test]
fn usage_counts_thoughts_once() {
    let with = |usage: Value| {
        let mut last = completed();
        last["response"]["usage"] = usage;
        stream(&[delta("x"), last])
    };
    for (usage, wanted) in [
        (
            json!({"input_tokens": 10, "output_tokens": 7, "output_tokens_details": {"reasoning_tokens": 5}, "total_tokens": 17}),
            "10 7 0 0",
        ),
        (
            json!({"input_tokens": 10, "output_tokens": 7, "output_tokens_details": {"reasoning_tokens": 5}, "total_tokens": 22}),
            "10 12 0 0",
        ),
        (
            json!({"input_tokens": 10, "input_tokens_details": null, "output_tokens": 7}),
            "10 7 0 0",
        ),
        (
            json!({"input_tokens": 10, "input_tokens_details": {"cached_tokens": 20}}),
            "0 0 20 0",
        ),
    ] {
        check(&with(usage), &format!("text x\nusage {wanted}\ndone End"));
    }
    check(&with(json!({"input_tokens": "many"})), "text x\ndone End");
}

#[test]
fn gateways() {
    let events =
        stream(&[created(), delta("x"), ends(0, message("x")), completed()]).replace('\n', "\r\n");
    let noise = format!(
        ": PROCESSING\r\n\r\nevent: ping\r\ndata: {{\"type\":\"ping\"}}\r\n\r\nevent: keepalive\r\ndata: still here\r\n\r\ndata: {{\"type\":\"codex.rate_limits\",\"x\":1}}\r\n\r\n{events}"
    );
    check(&noise, "text x\ndone End");
    // The name only outside, or only inside.
    let outside = "event: response.output_text.delta\ndata: {\"delta\":\"x\"}\n\nevent: response.completed\ndata: {}\n\n";
    check(outside, "text x\ndone End");
    check(&bare(&[delta("x"), completed()]), "text x\ndone End");
    check(
        bare(&[delta("x"), completed()]).trim_end(),
        "text x\ndone End",
    );
    // What follows the last event is not read.
    check(
        &(stream(&[delta("x"), completed()]) + "data: {garbage\n\n"),
        "text x\ndone End",
    );
    // Things of other tools.
    check(
        &stream(&[
            begins(0, json!({"type": "web_search_call", "id": "ws_1"})),
            json!({"type": "web_search_call.searching", "item_id": "ws_1"}),
            ends(0, json!({"type": "web_search_call", "id": "ws_1"})),
            json!({"type": "output_text.annotation.added", "annotation": {}}),
            delta("x"),
            completed(),
        ]),
        "text x\ndone End",
    );
}
