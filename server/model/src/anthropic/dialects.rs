//! Answers as servers really give them, each fed whole, cut in two at every byte, and byte by byte: it must read the same.

mod ends;

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;

use super::answer::Answer;
use crate::asked::Asked;
use crate::dialect_tests::{self, Outcome, shown};
use crate::stream::Reader;
use crate::{Reasoning, Sealed, StreamEvent};

fn answer(asked: Arc<Asked>) -> Answer {
    Answer::new(asked, "p/m")
}

fn read(chunks: &[&[u8]], cut: Option<&str>) -> Outcome {
    dialect_tests::read(answer, chunks, cut)
}

/// What has been read when no more has come.
fn so_far(stream: &str) -> String {
    let asked = Arc::new(dialect_tests::asked());
    let mut reader = Reader::new(answer(asked.clone()), asked);
    let mut out = Vec::new();
    reader.push(stream.as_bytes(), &mut out).unwrap();
    shown((out, None))
}

fn check_cut(stream: &str, cut: Option<&str>, wanted: &str) {
    dialect_tests::check_cut(answer, stream, cut, wanted);
}

fn check(stream: &str, wanted: &str) {
    check_cut(stream, None, wanted);
}

/// A stream of these events. `INDEX+{…}` begins a block, `INDEX {…}` is a piece of it, `INDEX-` ends it; `.reason` is why the
/// model ended; what begins with a brace is an event, anything else a line of its own.
fn events(lines: &[&str]) -> String {
    let say = |name: &str, data: &str| format!("event: {name}\ndata: {data}\n\n");
    let event = |line: &&str| {
        let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
        let index = &line[..line.len() - rest.len()];
        if let Some(reason) = line.strip_prefix('.') {
            let delta = format!(
                r#"{{"type":"message_delta","delta":{{"stop_reason":"{reason}","stop_sequence":null}},"usage":{{"output_tokens":7}}}}"#
            );
            return say("message_delta", &delta)
                + &say("message_stop", r#"{"type":"message_stop"}"#);
        }
        let (kind, field) = match rest {
            _ if index.is_empty() => return format!("{line}\n\n"),
            "-" => ("content_block_stop", String::new()),
            begin if begin.starts_with('+') => (
                "content_block_start",
                format!(r#","content_block":{}"#, &begin[1..]),
            ),
            piece => ("content_block_delta", format!(r#","delta":{piece}"#)),
        };
        say(
            kind,
            &format!(r#"{{"type":"{kind}","index":{index}{field}}}"#),
        )
    };
    lines.iter().map(event).collect()
}

const START: &str = r#"data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"stop_reason":null,"usage":{"input_tokens":9,"cache_creation_input_tokens":20,"cache_read_input_tokens":30,"output_tokens":1}}}"#;
const TEXT: &str = r#"0+{"type":"text","text":""}"#;
const HI: &str = r#"0 {"type":"text_delta","text":"hi"}"#;
const CALL: &str = r#"1+{"type":"tool_use","id":"toolu_1","name":"read","input":{}}"#;

fn json_piece(index: usize, piece: &str) -> String {
    let piece = serde_json::to_string(piece).unwrap();
    format!(r#"{index} {{"type":"input_json_delta","partial_json":{piece}}}"#)
}

#[test]
fn anthropic() {
    check(
        &events(&[
            START,
            TEXT,
            r#"data: {"type": "ping"}"#,
            r#"0 {"type":"text_delta","text":"Grüß "}"#,
            "event: ping\ndata: {\"type\": \"ping\"}",
            r#"0 {"type":"text_delta","text":"dich 🦀"}"#,
            "0-",
            CALL,
            &json_piece(1, ""),
            &json_piece(1, "{\"filePath\": \"ü"),
            &json_piece(1, ""),
            &json_piece(1, ".rs\"}"),
            "1-",
            r#"2+{"type":"tool_use","id":"toolu_2","name":"list","input":{}}"#,
            &json_piece(2, ""),
            "2-",
            ".tool_use",
        ]),
        "text Grüß dich 🦀\ncall toolu_1 read {\"filePath\":\"ü.rs\"}\ncall toolu_2 list {}\nusage 9 7 30 20\ndone ToolCalls",
    );
}

#[test]
fn line_ends_comments_and_what_is_not_known() {
    let stream = events(&[
        ": keep-alive",
        START,
        r#"0+{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}"#,
        &json_piece(0, "{\"query\": \"x\"}"),
        "0-",
        r#"1+{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]}"#,
        r#"1 {"type":"later_delta","text":"no"}"#,
        "1-",
        ":",
        r#"2+{"type":"text","text":"","citations":null}"#,
        r#"2 {"type":"citations_delta","citation":{"cited_text":"no"}}"#,
        r#"2 {"type":"text_delta","text":"hi"}"#,
        "event: message_annotation\ndata: {\"type\":\"message_annotation\",\"text\":\"no\"}",
        "2-",
        ".end_turn",
    ]);
    for stream in [
        stream.clone(),
        stream.replace('\n', "\r\n"),
        stream.replace('\n', "\r"),
    ] {
        check(&stream, "text hi\nusage 9 7 30 20\ndone End");
    }
}

#[test]
fn thoughts_come_with_what_the_provider_wants_back() {
    let stream = events(&[
        r#"0+{"type":"thinking","thinking":"","signature":""}"#,
        r#"0 {"type":"thinking_delta","thinking":"Let me "}"#,
        r#"0 {"type":"thinking_delta","thinking":"see."}"#,
        r#"0 {"type":"signature_delta","signature":"EqQB"}"#,
        r#"0 {"type":"signature_delta","signature":"Cg=="}"#,
        "0-",
        r#"1+{"type":"redacted_thinking","data":"opaque"}"#,
        "1-",
        // Only the signature: the words are withheld.
        r#"2+{"type":"thinking","thinking":"","signature":""}"#,
        r#"2 {"type":"thinking_delta","thinking":""}"#,
        r#"2 {"type":"signature_delta","signature":"Ei=="}"#,
        "2-",
        r#"3+{"type":"text","text":""}"#,
        r#"3 {"type":"text_delta","text":"hi"}"#,
        "3-",
        ".end_turn",
    ]);
    check(
        &stream,
        "thinks Let me see.\n\
         thought Let me see. {\"signature\":\"EqQBCg==\",\"type\":\"thinking\"}\n\
         thought  {\"data\":\"opaque\",\"type\":\"redacted_thinking\"}\n\
         thought  {\"signature\":\"Ei==\",\"type\":\"thinking\"}\n\
         text hi\nusage 0 7 0 0\ndone End",
    );
    let (events, _) = read(&[stream.as_bytes()], None);
    assert!(events.contains(&StreamEvent::Thought(Reasoning {
        text: String::new(),
        sealed: Some(Sealed {
            model: "p/m".into(),
            api: "anthropic".into(),
            content: json!({"type": "redacted_thinking", "data": "opaque"}),
        }),
    })));
}

#[test]
fn llama_cpp_ends_all_blocks_at_the_end() {
    check(
        &events(&[
            r#"data: {"type":"message_start","message":{"id":"chatcmpl-x9","type":"message","role":"assistant","content":[],"usage":{"cache_read_input_tokens":3,"input_tokens":12,"output_tokens":0}}}"#,
            r#"0+{"type":"thinking","thinking":""}"#,
            r#"0 {"type":"thinking_delta","thinking":"hm"}"#,
            r#"1+{"type":"text","text":""}"#,
            r#"1 {"type":"text_delta","text":"I look."}"#,
            r#"2+{"type":"tool_use","id":"x1","name":"read"}"#,
            &json_piece(2, "{\"filePath\":"),
            &json_piece(2, "\"a.rs\"}"),
            r#"3+{"type":"tool_use","id":"x2","name":"list"}"#,
            &json_piece(3, "{}"),
            r#"0 {"type":"signature_delta","signature":""}"#,
            "0-",
            "1-",
            "2-",
            "3-",
            ".tool_use",
        ]),
        "thinks hm\nthought hm\ntext I look.\ncall x1 read {\"filePath\":\"a.rs\"}\ncall x2 list {}\nusage 12 7 3 0\ndone ToolCalls",
    );
}

#[test]
fn llama_cpp_begins_again_what_its_last_chunk_goes_on_with() {
    check(
        &events(&[
            r#"0+{"type":"thinking","thinking":""}"#,
            r#"0 {"type":"thinking_delta","thinking":"h"}"#,
            r#"0+{"type":"thinking","thinking":""}"#,
            r#"0 {"type":"thinking_delta","thinking":"m"}"#,
            r#"1+{"type":"text","text":""}"#,
            r#"1 {"type":"text_delta","text":"I "}"#,
            r#"1+{"type":"text","text":""}"#,
            r#"1 {"type":"text_delta","text":"look."}"#,
            r#"2+{"type":"tool_use","id":"x1","name":"read"}"#,
            &json_piece(2, "{\"filePath\":\"a.rs"),
            r#"2+{"type":"tool_use","id":"x1","name":"read"}"#,
            &json_piece(2, "\"}"),
            "0-",
            "1-",
            "2-",
            ".tool_use",
        ]),
        "thinks hm\nthought hm\ntext I look.\ncall x1 read {\"filePath\":\"a.rs\"}\nusage 0 7 0 0\ndone ToolCalls",
    );
    // Not so what was ended, or has another id.
    check(
        &events(&[
            r#"0+{"type":"tool_use","id":"x","name":"t"}"#,
            &json_piece(0, "{}"),
            "0-",
            r#"0+{"type":"tool_use","id":"x","name":"t"}"#,
            &json_piece(0, "{}"),
            r#"0+{"type":"tool_use","id":"y","name":"t"}"#,
            ".tool_use",
        ]),
        "call x t {}\ncall * t {}\ncall y t {}\nusage 0 7 0 0\ndone ToolCalls",
    );
}

#[test]
fn text_goes_out_as_it_comes_also_behind_a_block_whose_end_was_not_told() {
    let stream = events(&[
        r#"0+{"type":"thinking","thinking":"hm"}"#,
        r#"1+{"type":"text","text":"a"}"#,
        r#"1 {"type":"text_delta","text":"b"}"#,
    ]);
    assert_eq!(so_far(&stream), "thinks hm\nthought hm\ntext ab");
}

#[test]
fn missing_fields() {
    for (lines, wanted) in [
        // No index anywhere.
        (
            vec![
                r#"data: {"type":"content_block_start","content_block":{"type":"text","text":"a"}}"#,
                r#"data: {"type":"content_block_delta","delta":{"type":"text_delta","text":"b"}}"#,
                r#"data: {"type":"content_block_stop"}"#,
                r#"data: {"type":"content_block_start","content_block":{"type":"tool_use","id":"x","name":"t"}}"#,
                r#"data: {"type":"content_block_delta","delta":{"partial_json":"{\"a\":1}"}}"#,
                r#"data: {"type":"content_block_stop"}"#,
            ],
            "text ab\ncall x t {\"a\":1}\ndone ToolCalls",
        ),
        // Every index 0, and no end of a block.
        (
            vec![
                r#"0+{"type":"text","text":"a"}"#,
                r#"0+{"type":"tool_use","id":"x","name":"t","input":{}}"#,
                r#"0 {"type":"input_json_delta","partial_json":"{\"a\":1}"}"#,
                r#"0+{"type":"tool_use","id":"y","name":"t","input":{}}"#,
                r#"0 {"type":"input_json_delta","partial_json":"{\"a\":2}"}"#,
            ],
            "text a\ncall x t {\"a\":1}\ncall y t {\"a\":2}\ndone ToolCalls",
        ),
        // No beginning, no type of a piece, names only beside the data.
        (
            vec![
                "event: content_block_delta\ndata: {\"index\":0,\"delta\":{\"thinking\":\"hm\"}}",
                "event: content_block_delta\ndata: {\"index\":1,\"delta\":{\"text\":\"a\"}}",
                r#"1 {"type":"input_json_delta","partial_json":"{}"}"#,
            ],
            "thinks hm\nthought hm\ntext a\ndone End",
        ),
        // The arguments with the beginning, as an object or as its text; no id, or the same twice; an artefact.
        (
            vec![
                r#"0+{"type":"tool_use","name":"t","input":{"a":1}}"#,
                "0-",
                r#"1+{"type":"tool_use","id":"x","name":"t","input":"{\"a\":2}"}"#,
                "1-",
                r#"2+{"type":"tool_use","id":"x","name":"t","input":null}"#,
                "2-",
                r#"3+{"type":"tool_use","id":"z","name":"","input":{}}"#,
                "3-",
                r#"4+{"type":"tool_use","id":"w","name":"t","input":{}}"#,
                r#"4 {"type":"input_json_delta","partial_json":{"a":[3]}}"#,
                "4-",
            ],
            "call * t {\"a\":1}\ncall x t {\"a\":2}\ncall * t {}\ncall w t {\"a\":[3]}\ndone ToolCalls",
        ),
        // Wrong types are as good as missing ones.
        (
            vec![
                r#"data: {"type":"message_start","message":7}"#,
                r#"data: {"type":"content_block_start","index":"0","content_block":[]}"#,
                r#"data: {"type":"content_block_delta","index":0,"delta":"x"}"#,
                r#"data: {"type":7}"#,
                r#"data: {"type":"message_delta","delta":null,"usage":[]}"#,
                "data: {}",
                "data:",
            ],
            "done End",
        ),
    ] {
        let stream = events(&lines) + "data: {\"type\":\"message_stop\"}\n\n";
        check(&stream, wanted);
    }
}

#[test]
fn interleaved_calls_come_in_the_order_in_which_they_began() {
    check(
        &events(&[
            r#"0+{"type":"tool_use","id":"a","name":"one","input":{}}"#,
            r#"1+{"type":"tool_use","id":"b","name":"two","input":{}}"#,
            &json_piece(1, "{\"x\":"),
            &json_piece(0, "{\"y\":"),
            &json_piece(1, "1}"),
            "1-",
            r#"2+{"type":"text","text":"and"}"#,
            &json_piece(0, "2}"),
            "0-",
            "2-",
            ".tool_use",
        ]),
        "call a one {\"y\":2}\ncall b two {\"x\":1}\ntext and\nusage 0 7 0 0\ndone ToolCalls",
    );
}

#[test]
fn a_call_is_given_as_soon_as_it_ends() {
    let stream = events(&[CALL, &json_piece(1, "{}"), "1-"]);
    assert_eq!(so_far(&stream), "call toolu_1 read {}");
}

#[test]
fn arguments_that_are_no_object() {
    for (arguments, wanted) in [
        ("", "{}"),
        (" ", "{}"),
        (
            "{\"a\": 1,}",
            "{\"a\":1} repaired: a comma before a closing bracket",
        ),
        ("[1]", "malformed [1]"),
        ("{\"a\":", "malformed {\"a\":"),
    ] {
        let stream = events(&[CALL, &json_piece(1, arguments), "1-", ".max_tokens"]);
        let wanted = format!("call toolu_1 read {wanted}\nusage 0 7 0 0\ndone Length");
        check(&stream, &wanted);
    }
}

#[test]
fn a_whole_answer_in_place_of_a_stream() {
    check(
        r#"{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"thinking","thinking":"hm","signature":"s"},
        {"type":"redacted_thinking","data":"d"},{"type":"text","text":""},{"type":"text","text":"hi"},{"type":"later","x":1},
        {"type":"tool_use","id":"a","name":"t","input":{"x":1}},{"type":"tool_use","name":"t"}],
        "stop_reason":"tool_use","usage":{"input_tokens":5,"output_tokens":2,"cache_read_input_tokens":4}}"#,
        "thinks hm\nthought hm {\"signature\":\"s\",\"type\":\"thinking\"}\nthought  {\"data\":\"d\",\"type\":\"redacted_thinking\"}\n\
         text hi\ncall a t {\"x\":1}\ncall * t {}\nusage 5 2 4 0\ndone ToolCalls",
    );
    check(
        r#" {"type":"message","content":"hi","stop_reason":"max_tokens"}"#,
        "text hi\ndone Length",
    );
    check(
        "data: {\"type\":\"message\",\"content\":[{\"type\":\"text\",\"text\":\"hi\"}],\"stop_reason\":\"end_turn\"}\n\n",
        "text hi\ndone End",
    );
    check(
        "{\"type\":\"message\",\"content\":[{\"ty",
        "error the answer of p was cut off before it said anything. Try again",
    );
    for answer in ["{\"hello\":1}", "{\"content\":null}"] {
        check(
            answer,
            &format!(
                "error the model's answer can't be understood: it has no content: {answer}. Check that the provider's api and base_url are right"
            ),
        );
    }
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400), at in 0usize..400) {
        let at = at.min(bytes.len());
        let (events, error) = read(&[&bytes[..at], &bytes[at..]], None);
        prop_assert!(error.is_some() || matches!(events.last(), Some(StreamEvent::Done(_))));
    }

    #[test]
    fn no_events_make_it_panic(
        lines in proptest::collection::vec(
            "[012]\\+\\{\"type\":\"(text|thinking|tool_use|redacted_thinking|x)\"(,\"id\":\"[ab]\")?(,\"name\":\"[tu]?\")?(,\"(text|thinking|signature|data)\":\"y\")?(,\"input\":(\\{\\}|\\{\"a\":1\\}|7))?\\}|[012] \\{\"(text|thinking|signature|partial_json)\":\"(\\{|\\}|1)?\"\\}|[012]-",
            0..12,
        ),
        cut in any::<bool>(),
    ) {
        let mut lines: Vec<_> = lines.iter().map(String::as_str).collect();
        if !cut {
            lines.push(".end_turn");
        }
        let stream = events(&lines);
        let (whole, error) = read(&[stream.as_bytes()], None);
        prop_assert!(cut || error.is_none());
        let ids: Vec<_> = whole.iter().filter_map(|event| match event {
            StreamEvent::ToolCall(call) => Some(&call.id),
            _ => None,
        }).collect();
        let distinct: std::collections::BTreeSet<_> = ids.iter().collect();
        prop_assert_eq!(ids.len(), distinct.len(), "every call has its own id");
        // All that is given as a thought was told as one before.
        let mut told = String::new();
        for event in &whole {
            match event {
                StreamEvent::Reasoning(text) => told.push_str(text),
                StreamEvent::Thought(thought) => prop_assert!(told.ends_with(&thought.text)),
                _ => {}
            }
        }
        // However it is cut into chunks.
        let single: Vec<_> = stream.as_bytes().chunks(1).collect();
        prop_assert_eq!(shown(read(&single, None)), shown((whole, error)));
    }
}
