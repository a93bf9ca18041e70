//! Messages over a real connection: what is sent over a whole conversation, as the checker of requests will see it, and what is
//! made of each refusal.

use futures::StreamExt;
use model::{Api, Block, Image, Message, Request, Role, Stop, StreamEvent};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::said::{call, read, result, said, thought};
use crate::server::{Answer, complete, server, status};
use crate::{KEY, answer, hello, next_request, provider_of, usage};

const START: &str = r#"{"type":"message_start","message":{"id":"msg_1","role":"assistant","content":[],"usage":{"input_tokens":3,"output_tokens":1}}}"#;
const TEXT: &str =
    r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#;
const HELLO: &str =
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hello"}}"#;
const END: &str =
    r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}"#;
const OVER: &str = r#"{"type":"message_stop"}"#;

#[tokio::test]
async fn asks_as_the_format_demands_and_gives_the_answer() {
    let answers = [START, TEXT, HELLO, END, OVER];
    let (url, mut sees) = server(vec![Answer::Bytes(complete(&answers))]).await;
    assert_eq!(
        answer(&provider_of(Api::Anthropic, "test", &url)).await,
        [hello(), usage(), Ok(StreamEvent::Done(Stop::End))]
    );
    let (head, body, _) = next_request(&mut sees).await;
    assert!(head.starts_with("POST /v1/messages HTTP/1.1\r\n"), "{head}");
    for header in [
        "x-api-key: sk-very-secret",
        "anthropic-version: 2023-06-01",
        "content-type: application/json",
        "accept: text/event-stream",
        "x-team: team-secret",
    ] {
        assert!(
            head.contains(&format!("\r\n{header}")),
            "{header} in {head}"
        );
    }
    assert!(!head.contains("authorization"), "{head}");
    assert_eq!(
        (&body["model"], &body["stream"]),
        (&json!("some/model"), &json!(true))
    );
    assert!(body["max_tokens"].as_u64().unwrap() > 1000, "{body}");
}

#[tokio::test]
async fn each_refusal_is_told_and_never_the_key() {
    let refusal = |kind: &str, message: &str| {
        format!(
            r#"{{"type":"error","error":{{"type":"{kind}","message":"{message}"}},"request_id":"req_1"}}"#
        )
    };
    let echo = format!("invalid x-api-key {KEY}");
    for (line, headers, body, wanted) in [
        (
            "401 Unauthorized",
            "",
            refusal("authentication_error", &echo),
            "test refused access (401): invalid x-api-key [key]. Check the key in TEST_KEY",
        ),
        (
            "404 Not Found",
            "",
            refusal("not_found_error", "model: some/model"),
            "test does not know the model “some/model” (404): model: some/model. ",
        ),
        (
            "429 Too Many Requests",
            "retry-after: 7\r\n",
            refusal("rate_limit_error", "This would exceed your rate limit"),
            "test limits the rate of requests (429): This would exceed your rate limit. Try again in 7 s",
        ),
        (
            "529 Overloaded",
            "",
            refusal("overloaded_error", "Overloaded"),
            "test is overloaded or down (529): Overloaded. Try again later",
        ),
        (
            "413 Request Entity Too Large",
            "",
            refusal("request_too_large", "Request exceeds the maximum size"),
            "the conversation is too long for some/model: Request exceeds the maximum size. ",
        ),
        (
            "400 Bad Request",
            "",
            refusal(
                "invalid_request_error",
                "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000",
            ),
            "the conversation is too long for some/model: input length and `max_tokens`",
        ),
        (
            "400 Bad Request",
            "",
            refusal("invalid_request_error", "Your credit balance is too low."),
            "test refused the request (400): Your credit balance is too low",
        ),
        (
            "200 OK",
            "",
            refusal("overloaded_error", "Overloaded"),
            "test is overloaded or down (529): Overloaded",
        ),
    ] {
        let (url, _sees) = server(vec![Answer::Bytes(status(line, headers, &body))]).await;
        let said = answer(&provider_of(Api::Anthropic, "test", &url)).await;
        let [Err(error)] = &said[..] else {
            panic!("{line}: {said:?}")
        };
        assert!(error.to_string().starts_with(wanted), "{line}: {error}");
        assert!(
            !format!("{error} {error:?}").contains(KEY),
            "{line}: {error:?}"
        );
    }
}

/// A conversation with everything that there is, the beginning of it with another provider.
fn conversation() -> Vec<Message> {
    let picture = Block::Image(Image {
        media_type: "image/png".to_owned(),
        data: "iVBORw0KGgo=".to_owned(),
    });
    vec![
        said(Role::User, vec![Block::text("fix it"), picture]),
        said(
            Role::Assistant,
            vec![
                thought("other/m", Api::Anthropic, "foreign", json!({"id": "rs_1"})),
                Block::text("I look."),
                call("functions.read:0", json!({"filePath": "a.rs"}), None),
            ],
        ),
        said(Role::User, vec![result("functions.read:0", true)]),
        said(
            Role::Assistant,
            vec![
                thought(
                    "test/some/model",
                    Api::Anthropic,
                    "hm",
                    json!({"type": "thinking", "signature": "EqQB"}),
                ),
                thought(
                    "test/some/model",
                    Api::Anthropic,
                    "",
                    json!({"type": "redacted_thinking", "data": "opaque"}),
                ),
                call("b", json!({}), None),
                call("c", Value::Null, Some("{\"filePath\": ")),
            ],
        ),
        said(
            Role::User,
            vec![
                result("c", false),
                result("b", true),
                Block::text("and be quick"),
            ],
        ),
        // A run that was cancelled in the middle of its calls.
        said(
            Role::Assistant,
            vec![
                call("functions.read:0", json!({"filePath": "d"}), None),
                call("e", json!({}), None),
            ],
        ),
        said(Role::User, vec![result("functions.read:0", true)]),
        Message::user("go on"),
        Message::assistant("done \n"),
        said(Role::Assistant, vec![Block::text(" ")]),
        Message::user("thanks"),
    ]
}

#[tokio::test]
async fn every_prefix_of_a_conversation_is_a_valid_request() {
    let messages = conversation();
    let hello = Answer::Bytes(complete(&[START, TEXT, HELLO, END, OVER]));
    let answers = std::iter::repeat_n(hello, messages.len()).collect();
    let (url, mut sees) = server(answers).await;
    let provider = provider_of(Api::Anthropic, "test", &url);
    let (mut bodies, mut connections) = (Vec::new(), 0);
    for length in 1..=messages.len() {
        let request = Request {
            system: "You fix code.".to_owned(),
            messages: messages[..length].to_vec(),
            // Without tools in the end, as for a summary.
            tools: (length < messages.len()).then(read).into_iter().collect(),
            max_output: (length % 2 == 0).then_some(1000),
            temperature: (length % 3 == 0).then_some(0.5),
        };
        let stream = provider
            .stream(&request, &CancellationToken::new())
            .await
            .unwrap();
        let events: Vec<_> = stream.collect().await;
        assert_eq!(events.last(), Some(&Ok(StreamEvent::Done(Stop::End))));
        let (_, body, new) = next_request(&mut sees).await;
        connections += new;
        bodies.push(body);
    }
    assert_eq!(connections, 1, "one after the other over one connection");
    let last = bodies.last().unwrap();
    let shown: Vec<_> = last["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(brief)
        .collect();
    assert_eq!(
        shown,
        [
            "user: text image",
            "assistant: text tool_use",
            "user: tool_result",
            "assistant: thinking redacted_thinking tool_use tool_use",
            "user: tool_result tool_result failed",
            "user: text",
            "assistant: tool_use tool_use",
            "user: tool_result tool_result failed",
            "user: text",
            "assistant: text",
            "user: text",
        ]
    );
    let ids = |key: &str| -> Vec<_> {
        let messages = last["messages"].as_array().unwrap().iter();
        let pieces = messages.flat_map(|said| said["content"].as_array().unwrap());
        let ids = pieces.filter_map(|piece| piece[key].as_str());
        ids.map(str::to_owned).collect()
    };
    assert_eq!(ids("id"), ids("tool_use_id"));
    let distinct: std::collections::BTreeSet<_> = ids("id").into_iter().collect();
    assert_eq!(distinct.len(), 5, "{distinct:?}");
    assert_eq!(
        (&last["tools"][0]["name"], &last["tool_choice"]["type"]),
        (&json!("read"), &json!("none"))
    );
}

/// A message in one line.
fn brief(message: &Value) -> String {
    let mut shown = format!("{}:", message["role"].as_str().unwrap());
    for piece in message["content"].as_array().unwrap() {
        shown = format!("{shown} {}", piece["type"].as_str().unwrap());
        if piece["is_error"] == true {
            shown.push_str(" failed");
        }
    }
    shown
}
