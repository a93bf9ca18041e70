//! How answers end: in their own words, cut off, with an error; and what is no answer at all.

use serde_json::json;

use super::{bare, begins, call, check, check_cut, created, delta, ends, message, piece, stream};

#[test]
fn the_end_has_many_names() {
    let end = |status: &str, reason: &str| json!({"type": status, "response": {"status": status, "incomplete_details": {"reason": reason}, "usage": null}});
    for (last, wanted) in [
        (end("incomplete", "max_output_tokens"), "Length"),
        (end("incomplete", "content_filter"), "Refused"),
        (end("incomplete", "weather"), "Other(\"weather\")"),
        (json!({"type": "incomplete"}), "Other(\"incomplete\")"),
        (json!({"type": "completed"}), "End"),
        (
            json!({"type": "done", "response": {"status": "completed"}}),
            "End",
        ),
        (
            json!({"type": "done", "response": {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}}),
            "Length",
        ),
    ] {
        check(
            &stream(&[delta("x"), last]),
            &format!("text x\ndone {wanted}"),
        );
    }
    check(
        &(stream(&[delta("x")]) + "data: [DONE]\n\n"),
        "text x\ndone End",
    );
    // A call that the limit cut off is told as it is.
    let half = [begins(0, call("c", "t", "")), piece(0, "c", "{\"a\": \"b")];
    check(
        &(stream(&half) + &stream(&[end("incomplete", "max_output_tokens")])),
        "call c t malformed {\"a\": \"b\ndone Length",
    );
}

#[test]
fn a_cut_stream_gives_what_was_whole_or_says_so() {
    let whole = [
        begins(0, call("a", "t", "")),
        piece(0, "a", "{}"),
        ends(0, call("a", "t", "{}")),
    ];
    let half = [begins(1, call("b", "t", "")), piece(1, "b", "{\"x\"")];
    let reset = Some("connection reset");
    let both = [&whole[..], &half[..]].concat();
    let wanted = "call a t {}\ndone ToolCalls";
    check_cut(&stream(&both), reset, wanted);
    check_cut(&stream(&whole[..2]), reset, wanted);
    check_cut(&bare(&both), None, wanted);
    check_cut(&(stream(&both) + "data: {\"type\":\"respon"), None, wanted);
    check_cut(
        &stream(&half),
        reset,
        "error the answer of p was cut off in the middle (connection reset). Try again",
    );
    check_cut(
        &stream(&[delta("x")]),
        None,
        "text x\nerror the answer of p was cut off in the middle. Try again",
    );
    check_cut(
        &stream(&[created()]),
        None,
        "error the answer of p was cut off before it said anything. Try again",
    );
    check_cut(
        "",
        None,
        "error the answer of p was cut off before it said anything. Try again",
    );
    // The message was ended, and so was the stream: only the last event is missing.
    let said = stream(&[delta("x"), ends(0, message("x"))]);
    check_cut(&said, None, "text x\ndone End");
    // Broken off, it may have been going to call.
    check_cut(
        &said,
        reset,
        "text x\nerror the answer of p was cut off in the middle (connection reset). Try again",
    );
    check_cut(
        &(said + &stream(&[begins(1, call("b", "t", ""))])),
        None,
        "text x\nerror the answer of p was cut off in the middle. Try again",
    );
}

#[test]
fn a_whole_answer_in_place_of_a_stream() {
    let answer = json!({"id": "resp_1", "object": "response", "status": "completed", "error": null, "incomplete_details": null,
        "output": [{"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "g"}, message("hi"), call("a", "t", "{\"x\":1}"), {"type": "function_call", "name": "t"}],
        "usage": {"input_tokens": 5, "output_tokens": 2, "input_tokens_details": {"cached_tokens": 4}}});
    check(
        &serde_json::to_string_pretty(&answer).unwrap(),
        "thinks hm\nthought hm {\"encrypted_content\":\"g\",\"id\":\"rs_1\",\"summary\":[{\"text\":\"hm\",\"type\":\"summary_text\"}],\"type\":\"reasoning\"}\n\
         text hi\ncall a t {\"x\":1}\ncall * t {}\nusage 1 2 4 0\ndone ToolCalls",
    );
    check("{\"output\": []}", "done End");
    check(
        "{\"status\":\"incomplete\",\"incomplete_details\":{\"reason\":\"max_output_tokens\"},\"output\":[]}",
        "done Length",
    );
    check(
        "{\"output\":[{\"type\":\"mess",
        "error the answer of p was cut off before it said anything. Try again",
    );
    check(
        "{\"hello\": 1}",
        "error the model's answer can't be understood: it has no output: {\"hello\":1}. Check that the provider's api and base_url are right",
    );
    check(
        "{\"choices\": []}",
        "error the model's answer can't be understood: it has no output: {\"choices\":[]}. Check that the provider's api and base_url are right",
    );
}

#[test]
fn errors_inside_a_good_answer() {
    for (event, wanted) in [
        (
            "event: error\ndata: {\"type\":\"error\",\"code\":\"rate_limit_exceeded\",\"message\":\"slow down, sk-secret. Please try again in 6.57s.\",\"param\":null,\"sequence_number\":3}",
            "p limits the rate of requests (429): slow down, [key]. Please try again in 6.57s. Try again in 7 s",
        ),
        (
            "data: {\"type\":\"error\",\"error\":{\"type\":\"too_many_requests\",\"code\":\"too_many_requests\",\"message\":\"slow down\",\"param\":null}}",
            "p limits the rate of requests (429): slow down. Try again later, or choose another model",
        ),
        (
            "data: {\"type\":\"response.failed\",\"response\":{\"status\":\"failed\",\"error\":{\"code\":\"server_error\",\"message\":\"boom\"},\"output\":[]}}",
            "p failed (500): boom. Try again later, or choose another model",
        ),
        (
            "data: {\"type\":\"response.failed\",\"response\":{\"status\":\"failed\",\"error\":{\"code\":\"server_is_overloaded\",\"message\":\"boom\"}}}",
            "p is overloaded or down (503): boom. Try again later, or choose another model",
        ),
        (
            "data: {\"type\":\"response.failed\",\"response\":{\"error\":{\"code\":\"context_length_exceeded\",\"message\":\"Your input exceeds the context window of this model.\"}}}",
            "the conversation is too long for m: Your input exceeds the context window of this model. Start a new session, narrow the request, or choose a model with a larger context",
        ),
        (
            "data: {\"type\":\"response.failed\"}",
            "p failed in the middle of its answer: it gave no reason",
        ),
        (
            "data: {\"type\":\"response.cancelled\",\"response\":{}}",
            "p cancelled its answer. Try again",
        ),
        (
            "event: error\ndata: {\"message\":\"boom\"}",
            "p failed in the middle of its answer: boom",
        ),
        (
            "data: {\"error\":\"boom\"}",
            "p failed in the middle of its answer: boom",
        ),
    ] {
        check(
            &(stream(&[created(), delta("x")]) + event + "\n\n"),
            &format!("text x\nerror {wanted}"),
        );
    }
    for (answer, wanted) in [
        (
            "{\"error\":{\"message\":\"boom\"}}",
            "p failed in the middle of its answer: boom",
        ),
        (
            "[{\"error\":{\"message\":\"boom\",\"code\":503}}]",
            "p is overloaded or down (503): boom. Try again later, or choose another model",
        ),
        (
            "{\"status\":\"failed\",\"output\":[],\"error\":{\"code\":\"server_error\",\"message\":\"boom\"}}",
            "p failed (500): boom. Try again later, or choose another model",
        ),
    ] {
        check(answer, &format!("error {wanted}"));
    }
}

#[test]
fn what_is_no_answer() {
    check(
        "hello there",
        "error the model's answer can't be understood: it is no event stream: hello there. Check that the provider's api and base_url are right",
    );
    check(
        &(stream(&[delta("x")]) + "data: {\"type\": garbage\n\n"),
        "text x\nerror the model's answer can't be understood: expected value at line 1 column 10 in {\"type\": garbage. Check that the provider's api and base_url are right",
    );
    check(
        "data: 17\n\n",
        "error the model's answer can't be understood: 17 is no part of one. Check that the provider's api and base_url are right",
    );
    // Wrong types are as good as missing ones.
    check(
        &stream(&[
            json!({"type": "output_text.delta", "delta": 7}),
            json!({"type": "output_item.added", "item": "x", "output_index": "y"}),
            json!({"type": "output_item.done", "item": {"type": "message", "content": {"a": 1}}}),
            json!({"type": "output_item.done", "item": {"type": "reasoning", "summary": 7, "content": "x"}}),
            json!({"type": "completed", "response": {"status": "completed", "output": {}, "usage": []}}),
        ]),
        "done End",
    );
}
