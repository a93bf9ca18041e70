//! What is sent over a whole conversation with tools, as the checker of requests will see it.

use futures::StreamExt;
use model::{Api, Block, Message, Request, Role, Stop, StreamEvent};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::provider;
use crate::said::{call, read, result, said, thought};
use crate::server::{Answer, DONE, HELLO, Seen, complete, server};

/// As DeepSeek and Gemini give them, and want them back.
fn own_thought() -> Block {
    let extra = json!({"google": {"thought_signature": "s"}});
    let content = json!({"reasoning_content": "hm", "extra_content": extra});
    thought("test/some/model", Api::OpenaiChat, "hm", content)
}

#[tokio::test]
async fn every_prefix_of_a_conversation_is_a_valid_request() {
    let messages = [
        Message::user("fix it"),
        said(
            Role::Assistant,
            vec![
                Block::text("I look."),
                call("a", json!({"filePath": "a.rs"}), None),
            ],
        ),
        said(Role::User, vec![result("a", true)]),
        said(
            Role::Assistant,
            vec![
                own_thought(),
                call("b", json!({}), None),
                call("c", Value::Null, Some("{\"filePath\": ")),
            ],
        ),
        said(
            Role::User,
            vec![
                result("c", true),
                result("b", true),
                Block::text("and be quick"),
            ],
        ),
        // A run that was cancelled in the middle of its calls.
        said(
            Role::Assistant,
            vec![
                call("d", json!({"filePath": "d"}), None),
                call("e", json!({}), None),
            ],
        ),
        said(Role::User, vec![result("d", true)]),
        Message::user("go on"),
        Message::assistant("done"),
        said(Role::Assistant, vec![]),
        Message::user("thanks"),
    ];
    let (url, mut sees) = server(
        (0..messages.len())
            .map(|_| Answer::Bytes(complete(&[HELLO, DONE])))
            .collect(),
    )
    .await;
    let provider = provider(&url);
    let (mut bodies, mut connections) = (Vec::new(), 0);
    for length in 1..=messages.len() {
        let request = Request {
            system: "You fix code.".to_owned(),
            messages: messages[..length].to_vec(),
            tools: vec![read()],
            max_output: (length % 2 == 0).then_some(1000),
            temperature: (length % 3 == 0).then_some(0.5),
        };
        // What is stored in a session and read again is the same.
        let stored: Request =
            serde_json::from_str(&serde_json::to_string(&request).unwrap()).unwrap();
        assert_eq!(stored, request);
        let stream = provider
            .stream(&stored, &CancellationToken::new())
            .await
            .unwrap();
        let events: Vec<_> = stream.collect().await;
        assert_eq!(events.last(), Some(&Ok(StreamEvent::Done(Stop::End))));
        let body = loop {
            match sees.recv().await.unwrap() {
                Seen::Request(request) => {
                    break request.split_once("\r\n\r\n").unwrap().1.to_owned();
                }
                _ => connections += 1,
            }
        };
        bodies.push(serde_json::from_str::<Value>(&body).unwrap());
    }
    assert_eq!(connections, 1, "one after the other over one connection");
    let last = &bodies[messages.len() - 1]["messages"];
    let roles: Vec<_> = last
        .as_array()
        .unwrap()
        .iter()
        .map(|said| said["role"].as_str().unwrap())
        .collect();
    let wanted = "system user assistant tool assistant tool tool user assistant tool tool user assistant user";
    assert_eq!(roles.join(" "), wanted);
    assert_eq!(
        [&last[5]["tool_call_id"], &last[6]["tool_call_id"]],
        ["b", "c"]
    );
    assert_eq!(
        (
            &last[4]["reasoning_content"],
            &last[4]["tool_calls"][0]["extra_content"]
        ),
        (&json!("hm"), &json!({"google": {"thought_signature": "s"}}))
    );
    assert!(
        last[10]["content"].as_str().unwrap().contains("no result"),
        "{}",
        last[10]
    );
}
