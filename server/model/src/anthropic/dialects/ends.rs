//! How answers end: said, cut off, failed, or none at all.

use super::*;

#[test]
fn the_end_has_many_names() {
    for (reason, wanted) in [
        ("end_turn", "done End"),
        ("stop_sequence", "done End"),
        ("tool_use", "done End"),
        ("max_tokens", "done Length"),
        ("pause_turn", "done Paused"),
        ("refusal", "done Refused"),
        ("compaction", "done Other(\"compaction\")"),
    ] {
        let stream = events(&[TEXT, HI, "0-", &format!(".{reason}")]);
        check(&stream, &format!("text hi\nusage 0 7 0 0\n{wanted}"));
    }
    // Said to be no call, but it is one.
    check(
        &events(&[CALL, "1-", ".end_turn"]),
        "call toolu_1 read {}\nusage 0 7 0 0\ndone ToolCalls",
    );
    check(
        &events(&[TEXT, HI, ".model_context_window_exceeded"]),
        "text hi\nnotice the conversation fills the context of m: start a new session, narrow the request, or choose a model \
         with a larger context\nusage 0 7 0 0\ndone Length",
    );
    check(
        "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"refusal\",\"stop_details\":{\"type\":\"refusal\",\"category\":\"cyber\",\
         \"explanation\":\"It asks for\\nan exploit.\"}},\"usage\":{\"output_tokens\":1}}\n\ndata: {\"type\":\"message_stop\"}\n\n",
        "notice p would not answer: It asks for an exploit\nusage 0 1 0 0\ndone Refused",
    );
    // Some gateways end as Chat Completions do.
    check(
        &events(&[TEXT, HI, "data: [DONE]", "data: {garbage"]),
        "text hi\ndone End",
    );
}

#[test]
fn every_count_is_of_the_whole_answer() {
    let usage = |start: &str, deltas: &[&str]| {
        let start = format!(r#"data: {{"type":"message_start","message":{{"usage":{start}}}}}"#);
        let delta = |usage: &&str| {
            format!(r#"data: {{"type":"message_delta","delta":{{}},"usage":{usage}}}"#)
        };
        let deltas = deltas.iter().map(delta);
        let end = r#"data: {"type":"message_stop"}"#.to_owned();
        let lines: Vec<_> = [start].into_iter().chain(deltas).chain([end]).collect();
        events(&lines.iter().map(String::as_str).collect::<Vec<_>>())
    };
    for (start, deltas, wanted) in [
        (
            r#"{"input_tokens":10,"output_tokens":3,"cache_read_input_tokens":5}"#,
            vec![r#"{"output_tokens":8}"#, r#"{"output_tokens":20}"#],
            "usage 10 20 5 0",
        ),
        // All again at the end.
        (
            r#"{"input_tokens":10,"output_tokens":3,"cache_creation_input_tokens":4}"#,
            vec![
                r#"{"input_tokens":10,"output_tokens":8,"cache_creation_input_tokens":4,"cache_read_input_tokens":0}"#,
            ],
            "usage 10 8 0 4",
        ),
        // Known only at the end, or only at the beginning.
        (
            r#"{"input_tokens":0,"output_tokens":0}"#,
            vec![r#"{"input_tokens":11,"output_tokens":2}"#],
            "usage 11 2 0 0",
        ),
        (
            r#"{"input_tokens":11}"#,
            vec![r#"{"input_tokens":0,"output_tokens":2}"#],
            "usage 11 2 0 0",
        ),
        (
            r#"{"input_tokens":1,"cache_creation_input_tokens":null,"cache_creation":{"ephemeral_5m_input_tokens":2,"ephemeral_1h_input_tokens":3}}"#,
            vec![r#"{"output_tokens":null}"#],
            "usage 1 0 0 5",
        ),
    ] {
        check(&usage(start, &deltas), &format!("{wanted}\ndone End"));
    }
    check(&usage("null", &["{}"]), "done End");
}

#[test]
fn a_cut_stream_gives_what_was_whole_or_says_so() {
    let reset = Some("connection reset");
    let arguments = json_piece(1, "{\"a\":1}");
    let half = [
        r#"2+{"type":"tool_use","id":"b","name":"t","input":{}}"#,
        &json_piece(2, "{\"x\""),
    ];
    // Its end was told, or its arguments are an object.
    check_cut(
        &events(&[START, TEXT, HI, "0-", CALL, "1-", half[0], half[1]]),
        reset,
        "text hi\ncall toolu_1 read {}\nusage 9 1 30 20\ndone ToolCalls",
    );
    check_cut(
        &events(&[CALL, &arguments]),
        reset,
        "call toolu_1 read {\"a\":1}\ndone ToolCalls",
    );
    check_cut(
        events(&[CALL, &arguments, "data: {\"type\":\"content_blo"]).trim_end(),
        None,
        "call toolu_1 read {\"a\":1}\ndone ToolCalls",
    );
    // What followed a call and is whole belongs to the answer; half a thought does not.
    check_cut(
        &events(&[
            CALL,
            "1-",
            r#"2+{"type":"thinking","thinking":"so","signature":"s"}"#,
            "2-",
            r#"3+{"type":"thinking","thinking":"and"}"#,
        ]),
        reset,
        "call toolu_1 read {}\nthinks so\nthought so {\"signature\":\"s\",\"type\":\"thinking\"}\nthinks and\ndone ToolCalls",
    );
    // Nothing to act on; what was read is paid for.
    check_cut(
        &events(&[START, TEXT, HI, "0-", half[0], half[1]]),
        reset,
        "text hi\nusage 9 1 30 20\nerror the answer of p was cut off in the middle (connection reset). Try again",
    );
    check_cut(
        &events(&[CALL]),
        None,
        "error the answer of p was cut off in the middle. Try again",
    );
    check_cut(
        &events(&[START]),
        None,
        "usage 9 1 30 20\nerror the answer of p was cut off before it said anything. Try again",
    );
    check_cut(
        ": ping\n\n",
        reset,
        "error the answer of p was cut off before it said anything (connection reset). Try again",
    );
    // Cut after the model ended, but before the last event: nothing is lost.
    let whole = events(&[TEXT, HI, "0-", ".end_turn"]);
    let until_stop = &whole[..whole.find("event: message_stop").unwrap()];
    for cut in [None, reset] {
        check_cut(until_stop, cut, "text hi\nusage 0 7 0 0\ndone End");
    }
}

#[test]
fn errors_inside_a_good_answer() {
    for (line, wanted) in [
        (
            "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}",
            "p is overloaded or down (529): Overloaded. Try again later, or choose another model",
        ),
        (
            "data: {\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\",\"message\":\"slow down, sk-secret\"},\"request_id\":\"req_1\"}",
            "p limits the rate of requests (429): slow down, [key]. Try again later, or choose another model",
        ),
        (
            "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"Internal server error\"}}",
            "p failed (500): Internal server error. Try again later, or choose another model",
        ),
        (
            "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"timeout_error\",\"message\":\"too slow\"}}",
            "p took too long (504): too slow. Try again later, or choose another model",
        ),
        (
            "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"billing_error\",\"message\":\"no credit\"}}",
            "p wants to be paid first (402): no credit",
        ),
        (
            "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"prompt is too long: 250000 tokens > 200000 maximum\"}}",
            "the conversation is too long for m: prompt is too long: 250000 tokens > 200000 maximum. Start a new session, narrow the request, or choose a model with a larger context",
        ),
        (
            "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"request_too_large\",\"message\":\"32 MB\"}}",
            "the conversation is too long for m: 32 MB. Start a new session, narrow the request, or choose a model with a larger context",
        ),
        // llama.cpp.
        (
            "event: error\ndata: {\"code\":500,\"message\":\"boom\",\"type\":\"server_error\"}",
            "p failed (500): boom. Try again later, or choose another model",
        ),
        (
            "data: {\"error\":\"boom\"}",
            "p failed in the middle of its answer: boom",
        ),
    ] {
        check(
            &events(&[START, TEXT, HI, line, "0-", ".end_turn"]),
            &format!("text hi\nusage 9 1 30 20\nerror {wanted}"),
        );
    }
    check(
        "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}",
        "error p is overloaded or down (529): Overloaded. Try again later, or choose another model",
    );
    check(
        "[{\"error\":{\"message\":\"boom\",\"code\":503}}]",
        "error p is overloaded or down (503): boom. Try again later, or choose another model",
    );
}

#[test]
fn what_is_no_answer() {
    let malformed = |what: &str| {
        format!(
            "text hi\nerror the model's answer can't be understood: {what}. Check that the provider's api and base_url are right"
        )
    };
    check(
        &events(&[TEXT, HI, "data: {\"type\": garbage", "0-", ".end_turn"]),
        &malformed("expected value at line 1 column 10 in {\"type\": garbage"),
    );
    check(
        &events(&[TEXT, HI, "data: 17"]),
        &malformed("17 is no part of one"),
    );
    // The other wire format.
    check(
        "data: {\"choices\":[]}\n\n",
        &malformed("{\"choices\":[]} is no part of one").replace("text hi\n", ""),
    );
}
