//! Answers as servers really give them, each fed whole, cut in two at every byte, and byte by byte: it must read the same.

use proptest::prelude::*;

use std::sync::Arc;

use super::answer::Answer;
use crate::StreamEvent;
use crate::asked::Asked;
use crate::dialect_tests::{self, Outcome, shown};

fn answer(asked: Arc<Asked>) -> Answer {
    Answer::new(asked, "test/model")
}

fn read(chunks: &[&[u8]], cut: Option<&str>) -> Outcome {
    dialect_tests::read(answer, chunks, cut)
}

fn check_cut(stream: &str, cut: Option<&str>, wanted: &str) {
    dialect_tests::check_cut(answer, stream, cut, wanted);
}

fn check(stream: &str, wanted: &str) {
    check_cut(stream, None, wanted);
}

/// A stream of these deltas; what is no object is a line of its own.
fn deltas(lines: &[&str]) -> String {
    lines
        .iter()
        .map(|line| match line.strip_prefix('{') {
            Some(_) => format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{line}}}]}}\n\n"),
            None => format!("{line}\n\n"),
        })
        .collect()
}

const STOP: &str = r#"data: {"choices":[{"delta":{},"finish_reason":"stop"}]}"#;
const CALLS: &str = r#"data: {"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#;
const DONE: &str = "data: [DONE]";

#[test]
fn openai() {
    check(
        "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\",\"refusal\":null},\"finish_reason\":null}],\"usage\":null}\n\n\
         data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Grüß \"},\"finish_reason\":null}],\"usage\":null}\n\n\
         data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"dich 🦀\"},\"finish_reason\":null}],\"usage\":null}\n\n\
         data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":null}\n\n\
         data: {\"choices\":[],\"usage\":{\"prompt_tokens\":100,\"completion_tokens\":7,\"prompt_tokens_details\":{\"cached_tokens\":60}}}\n\n\
         data: [DONE]\n\n",
        "text Grüß dich 🦀\nusage 40 7 60 0\ndone End",
    );
}

#[test]
fn openrouter_and_gateways() {
    check(
        ": OPENROUTER PROCESSING\r\n\r\n: OPENROUTER PROCESSING\r\n\r\ndata: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\",\"reasoning\":\"hm\"}}]}\r\n\r\n\
         event: ping\r\ndata: {\"type\":\"ping\"}\r\n\r\ndata: {\"choices\":[{\"delta\":{\"content\":\"x\",\"reasoning\":null},\"finish_reason\":\"stop\",\"native_finish_reason\":\"end_turn\"}]}\r\n\r\n\
         data: {\"choices\":[{\"delta\":{\"content\":\"\"},\"finish_reason\":null}],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":1,\"prompt_tokens_details\":{\"cached_tokens\":2,\"cache_write_tokens\":3}}}\r\n\r\ndata: [DONE]\r\n\r\n",
        "thinks hm\ntext x\nusage 4 1 2 3\ndone End",
    );
}

#[test]
fn reasoning_has_several_names_and_is_said_once() {
    let stream = deltas(&[
        r#"{"content":null,"reasoning_content":"a"}"#,
        r#"{"reasoning":"b"}"#,
        r#"{"reasoning":"c","reasoning_content":"c"}"#,
        r#"{"content":[{"type":"thinking","thinking":[{"type":"text","text":"d"}]},{"type":"text","text":"e"}]}"#,
        STOP,
        DONE,
    ]);
    check(&stream, "thinks abcd\ntext e\ndone End");
}

/// DeepSeek refuses calls without the thoughts that came before them, be they empty; Gemini calls without the signature.
#[test]
fn what_must_come_back_beside_a_call_is_kept_before_it() {
    let call = |id: &str, more: &str| {
        format!(
            r#"{{"tool_calls":[{{"index":0,"id":"{id}","function":{{"name":"t","arguments":"{{}}"}}{more}}}]}}"#
        )
    };
    let signed = call(
        "a",
        r#","extra_content":{"google":{"thought_signature":"s"}}"#,
    );
    let (a, b) = (call("a", ""), call("b", ""));
    check(
        &deltas(&[
            r#"{"reasoning_content":"h","content":null}"#,
            r#"{"reasoning_content":"m"}"#,
            r#"{"reasoning_content":null,"content":"x"}"#,
            &a,
            &b,
            CALLS,
            "data: [DONE]",
        ]),
        r#"
        thinks hm
        text x
        thought hm {"reasoning_content":"hm"}
        call a t {}
        call b t {}
        done ToolCalls"#,
    );
    check(
        &deltas(&[r#"{"reasoning_content":""}"#, &a, CALLS, "data: [DONE]"]),
        "thought  {\"reasoning_content\":\"\"}\ncall a t {}\ndone ToolCalls",
    );
    check(
        &deltas(&[&signed, &b, CALLS, "data: [DONE]"]),
        r#"
        thought  {"extra_content":{"google":{"thought_signature":"s"}}}
        call a t {}
        call b t {}
        done ToolCalls"#,
    );
    // What no call follows needn't come back.
    check(
        &deltas(&[
            r#"{"reasoning_content":"hm"}"#,
            r#"{"content":"x"}"#,
            STOP,
            "data: [DONE]",
        ]),
        "thinks hm\ntext x\ndone End",
    );
}

#[test]
fn calls_in_pieces() {
    let stream = deltas(&[
        r#"{"content":null,"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"read","arguments":""}}]}"#,
        r#"{"tool_calls":[{"index":0,"function":{"arguments":""}}]}"#,
        r#"{"tool_calls":[{"index":0,"function":{"arguments":"{\"path"}}]}"#,
        r#"{"tool_calls":[{"index":0,"id":null,"function":{"name":null,"arguments":"\":\"ü.rs\"}"}}]}"#,
        r#"{"tool_calls":[{"index":1,"id":"c2","type":"function","function":{"name":"list","arguments":""}}]}"#,
        r#"{"tool_calls":[{"index":1,"function":{"arguments":"{}"}}]}"#,
        CALLS,
        DONE,
    ]);
    check(
        &stream,
        "call c1 read {\"path\":\"ü.rs\"}\ncall c2 list {}\ndone ToolCalls",
    );
}

#[test]
fn a_call_is_delivered_as_soon_as_the_next_begins() {
    let first = deltas(&[
        r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"t","arguments":"{}"}}]}"#,
        r#"{"tool_calls":[{"index":1,"id":"b","function":{"name":"t","arguments":"{\"x\""}}]}"#,
    ]);
    let (events, _) = read(&[first.as_bytes()], None);
    assert_eq!(
        events
            .iter()
            .filter(|event| matches!(event, StreamEvent::ToolCall(_)))
            .count(),
        1
    );
}

#[test]
fn interleaved_calls() {
    let stream = deltas(&[
        r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"one"}},{"index":1,"id":"b","function":{"name":"two"}}]}"#,
        r#"{"tool_calls":[{"index":1,"function":{"arguments":"{\"x\":"}}]}"#,
        r#"{"tool_calls":[{"index":0,"function":{"arguments":"{\"y\":"}}]}"#,
        r#"{"tool_calls":[{"index":1,"function":{"arguments":"1}"}},{"index":0,"function":{"arguments":"2}"}}]}"#,
        CALLS,
    ]);
    check(
        &stream,
        "call a one {\"y\":2}\ncall b two {\"x\":1}\ndone ToolCalls",
    );
}

#[test]
fn calls_without_index_or_id() {
    for (lines, wanted) in [
        // Neither: a name begins a call.
        (
            vec![
                r#"{"tool_calls":[{"function":{"name":"one","arguments":"{\"a\":1}"}}]}"#,
                r#"{"tool_calls":[{"function":{"name":"one","arguments":"{\"a\":2}"}}]}"#,
            ],
            "call * one {\"a\":1}\ncall * one {\"a\":2}\ndone ToolCalls",
        ),
        // No index: the id tells them apart.
        (
            vec![
                r#"{"tool_calls":[{"id":"a","function":{"name":"one","arguments":"{\"a\""}}]}"#,
                r#"{"tool_calls":[{"function":{"arguments":":1}"}}]}"#,
                r#"{"tool_calls":[{"id":"b","function":{"name":"two","arguments":"{"}},{"id":"b","function":{"arguments":"}"}}]}"#,
            ],
            "call a one {\"a\":1}\ncall b two {}\ndone ToolCalls",
        ),
        // Every index 0.
        (
            vec![
                r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"one","arguments":"{}"}}]}"#,
                r#"{"tool_calls":[{"index":0,"id":"b","function":{"name":"one","arguments":"{}"}}]}"#,
            ],
            "call a one {}\ncall b one {}\ndone ToolCalls",
        ),
        // A new id with every piece, a name only once.
        (
            vec![
                r#"{"tool_calls":[{"index":0,"id":"r1","function":{"name":"one"}}]}"#,
                r#"{"tool_calls":[{"index":0,"id":"r2","function":{"arguments":"{}"}}]}"#,
            ],
            "call r1 one {}\ndone ToolCalls",
        ),
        // The name again with every piece.
        (
            vec![
                r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"one","arguments":"{\"a\""}}]}"#,
                r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"one","arguments":":1}"}}]}"#,
            ],
            "call a one {\"a\":1}\ndone ToolCalls",
        ),
        // The same id twice: pairs need their own.
        (
            vec![
                r#"{"tool_calls":[{"index":0,"id":"x","function":{"name":"one","arguments":"{}"}},{"index":1,"id":"x","function":{"name":"two","arguments":"{}"}}]}"#,
            ],
            "call x one {}\ncall * two {}\ndone ToolCalls",
        ),
        // Arguments already parsed; an empty artefact.
        (
            vec![
                r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"one","arguments":{"a":[1]}}},{"index":1,"function":{}}]}"#,
            ],
            "call a one {\"a\":[1]}\ndone ToolCalls",
        ),
    ] {
        for end in [STOP, CALLS] {
            let stream = deltas(&[lines.as_slice(), &[end, DONE]].concat());
            check(&stream, wanted);
        }
    }
}

#[test]
fn arguments_that_are_no_object() {
    for (arguments, wanted) in [
        ("", "{}"),
        (" ", "{}"),
        (
            "{\\\"a\\\": 1,}",
            "{\"a\":1} repaired: a comma before a closing bracket",
        ),
        ("[1]", "malformed [1]"),
        ("null", "malformed null"),
        ("{\\\"a\\\":", "malformed {\"a\":"),
        ("a: 1", "malformed a: 1"),
    ] {
        let call = format!(
            r#"{{"tool_calls":[{{"index":0,"id":"c","function":{{"name":"t","arguments":"{arguments}"}}}}]}}"#
        );
        check(
            &deltas(&[&call, CALLS, DONE]),
            &format!("call c t {wanted}\ndone ToolCalls"),
        );
    }
}

#[test]
fn the_end_has_many_names() {
    for (reason, wanted) in [
        ("stop", "End"),
        ("length", "Length"),
        ("content_filter", "Refused"),
        ("tool_calls", "End"),
        (
            "model_context_window_exceeded",
            "Other(\"model_context_window_exceeded\")",
        ),
    ] {
        let end = format!(r#"data: {{"choices":[{{"delta":{{}},"finish_reason":"{reason}"}}]}}"#);
        for tail in [vec![], vec![DONE]] {
            let stream = deltas(&[&[r#"{"content":"x"}"#, end.as_str()], tail.as_slice()].concat());
            check(&stream, &format!("text x\ndone {wanted}"));
        }
    }
    check(&deltas(&[r#"{"content":"x"}"#, DONE]), "text x\ndone End");
    check(
        &deltas(&[r#"{"refusal":"I won't"}"#, STOP, DONE]),
        "text I won't\ndone Refused",
    );
    check(
        deltas(&[r#"{"content":"x"}"#, STOP, DONE]).trim_end(),
        "text x\ndone End",
    );
}

#[test]
fn what_follows_the_last_event_is_not_read() {
    check(
        &deltas(&[r#"{"content":"x"}"#, STOP, DONE, "data: {garbage"]),
        "text x\ndone End",
    );
}

#[test]
fn a_cut_stream_gives_what_was_whole_or_says_so() {
    let whole = r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"t","arguments":"{}"}}]}"#;
    let half =
        r#"{"tool_calls":[{"index":1,"id":"b","function":{"name":"t","arguments":"{\"x\""}}]}"#;
    let reset = Some("connection reset");
    check_cut(
        &deltas(&[whole, half]),
        reset,
        "call a t {}\ndone ToolCalls",
    );
    check_cut(
        deltas(&[whole, "data: {\"choices\":[{\"del"]).trim_end(),
        None,
        "call a t {}\ndone ToolCalls",
    );
    check_cut(
        &deltas(&[half]),
        reset,
        "error the answer of p was cut off in the middle (connection reset). Try again",
    );
    check_cut(
        &deltas(&[r#"{"content":"x"}"#]),
        None,
        "text x\nerror the answer of p was cut off in the middle. Try again",
    );
    check_cut(
        "",
        None,
        "error the answer of p was cut off before it said anything. Try again",
    );
    check_cut(
        ": ping\n\n",
        reset,
        "error the answer of p was cut off before it said anything (connection reset). Try again",
    );
    // Cut after the model ended, but before the last event: nothing is lost.
    check_cut(
        &deltas(&[r#"{"content":"x"}"#, STOP]),
        reset,
        "text x\ndone End",
    );
}

#[test]
fn a_whole_answer_in_place_of_a_stream() {
    check(
        r#"{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"hi","reasoning_content":"hm",
        "tool_calls":[{"id":"a","type":"function","function":{"name":"t","arguments":"{\"x\":1}"}},{"type":"function","function":{"name":"t","arguments":""}}]},
        "finish_reason":"tool_calls"}],"usage":{"prompt_tokens":5,"completion_tokens":2,"prompt_cache_hit_tokens":4}}"#,
        "thinks hm\ntext hi\nthought hm {\"reasoning_content\":\"hm\"}\ncall a t {\"x\":1}\ncall * t {}\nusage 1 2 4 0\ndone ToolCalls",
    );
    check(
        r#" {"choices":[{"message":{"content":null},"finish_reason":"stop"}]}"#,
        "done End",
    );
    check(
        "{\"choices\":[{\"message\":{\"cont",
        "error the answer of p was cut off before it said anything. Try again",
    );
    check(
        "{\"hello\": 1}",
        "error the model's answer can't be understood: it has no choices: {\"hello\":1}. Check that the provider's api and base_url are right",
    );
    check_cut(
        "{}}",
        None,
        "error the model's answer can't be understood: trailing characters at line 1 column 3 in {}}. Check that the provider's api and base_url are right",
    );
}

#[test]
fn errors_inside_a_good_answer() {
    let text = r#"{"content":"x"}"#;
    for (line, wanted) in [
        (
            "data: {\"error\":{\"message\":\"slow down, sk-secret\",\"code\":429}}",
            "p limits the rate of requests (429): slow down, [key]. Try again later, or choose another model",
        ),
        (
            "event: error\ndata: {\"message\":\"boom\"}",
            "p failed in the middle of its answer: boom",
        ),
        (
            "data: {\"error\":\"boom\"}",
            "p failed in the middle of its answer: boom",
        ),
        (
            "data: {\"object\":\"error\",\"message\":\"boom\",\"code\":500}",
            "p failed (500): boom. Try again later, or choose another model",
        ),
        (
            "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"error\"}],\"error\":{\"code\":502,\"message\":\"boom\"}}",
            "p is overloaded or down (502): boom. Try again later, or choose another model",
        ),
        (
            "data: {\"choices\":[{\"delta\":{},\"error\":{\"message\":\"boom\"},\"finish_reason\":\"error\"}]}",
            "p failed in the middle of its answer: boom",
        ),
    ] {
        check(&deltas(&[text, line]), &format!("text x\nerror {wanted}"));
    }
    check(
        "{\"error\":{\"message\":\"boom\"}}",
        "error p failed in the middle of its answer: boom",
    );
    check(
        "[{\"error\":{\"message\":\"boom\",\"code\":503}}]",
        "error p is overloaded or down (503): boom. Try again later, or choose another model",
    );
}

#[test]
fn what_is_no_answer() {
    let check_whole = |stream: &str, wanted: &str| {
        assert_eq!(shown(read(&[stream.as_bytes()], None)), wanted, "{stream}");
    };
    check_whole(
        "\u{feff}\n<!doctype html><title>Log in</title>",
        "error http://h/v1/chat/completions answered with a web page (200, “Log in”), not with a model's answer: a proxy or a login page is in between, or base_url is wrong",
    );
    check(
        "hello there",
        "error the model's answer can't be understood: it is no event stream: hello there. Check that the provider's api and base_url are right",
    );
    let garbage = deltas(&[r#"{"content":"x"}"#, "data: {\"choices\": garbage", STOP]);
    check(
        &garbage,
        "text x\nerror the model's answer can't be understood: expected value at line 1 column 13 in {\"choices\": garbage. Check that the provider's api and base_url are right",
    );
    check(
        &deltas(&["data: 17", STOP]),
        "error the model's answer can't be understood: 17 is no part of one. Check that the provider's api and base_url are right",
    );
    // Wrong types are as good as missing ones.
    check(
        "data: {\"choices\":{},\"usage\":[]}\n\ndata: {\"choices\":null}\n\ndata: {\"choices\":[{\"delta\":[]}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":7,\"tool_calls\":{}}}]}\n\ndata: [DONE]\n\n",
        "done End",
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
    fn no_json_makes_it_panic(
        chunks in proptest::collection::vec("\\{\"choices\":\\[\\{\"delta\":\\{\"tool_calls\":\\[\\{(\"index\":[01],)?(\"id\":\"[ab]\",)?\"function\":\\{(\"name\":\"[tu]?\",)?\"arguments\":\"(\\{|\\}|\\{\\}|1)?\"\\}\\}\\]\\}\\}\\]\\}", 0..8),
    ) {
        let stream: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).chain([format!("{CALLS}\n\n")]).collect();
        let (events, error) = read(&[stream.as_bytes()], None);
        prop_assert_eq!(error, None);
        let ids: Vec<_> = events.iter().filter_map(|event| match event {
            StreamEvent::ToolCall(call) => Some(&call.id),
            _ => None,
        }).collect();
        let distinct: std::collections::BTreeSet<_> = ids.iter().collect();
        prop_assert_eq!(ids.len(), distinct.len(), "every call has its own id");
    }
}
