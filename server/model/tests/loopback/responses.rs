//! Responses over a real connection: what is sent over a whole conversation, as the checker of requests will see it, and what is
//! made of refusals.

use std::sync::Arc;

use futures::StreamExt;
use model::{Api, Block, Image, Message, ModelError, Provider, Request, Role, Stop, StreamEvent};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::said::{call, read, result, said, thought};
use crate::server::{Answer, complete, server, status};
use crate::{KEY, answer, hello, next_request, provider_of, usage};

const CREATED: &str = r#"{"type":"response.created","response":{"status":"in_progress"}}"#;
const HELLO: &str = r#"{"type":"response.output_text.delta","output_index":0,"delta":"hello"}"#;
const OVER: &str = r#"{"type":"response.completed","response":{"status":"completed","usage":{"input_tokens":3,"output_tokens":2}}}"#;

async fn ask(
    provider: &Arc<dyn Provider>,
    request: &Request,
) -> Vec<Result<StreamEvent, ModelError>> {
    match provider.stream(request, &CancellationToken::new()).await {
        Ok(stream) => stream.collect().await,
        Err(error) => vec![Err(error)],
    }
}

#[tokio::test]
async fn asks_as_the_format_demands_and_gives_the_answer() {
    let (url, mut sees) = server(vec![Answer::Bytes(complete(&[CREATED, HELLO, OVER]))]).await;
    assert_eq!(
        answer(&provider_of(Api::OpenaiResponses, "test", &url)).await,
        [hello(), usage(), Ok(StreamEvent::Done(Stop::End))]
    );
    let (head, body, _) = next_request(&mut sees).await;
    assert!(
        head.starts_with("POST /v1/responses HTTP/1.1\r\n"),
        "{head}"
    );
    for header in [
        "authorization: Bearer sk-very-secret",
        "content-type: application/json",
        "accept: text/event-stream",
        "x-team: team-secret",
    ] {
        assert!(
            head.contains(&format!("\r\n{header}")),
            "{header} in {head}"
        );
    }
    assert_eq!(
        (&body["model"], &body["stream"], &body["store"]),
        (&json!("some/model"), &json!(true), &json!(false))
    );
}

#[tokio::test]
async fn refusals_are_told_in_words_and_never_with_the_key() {
    let body = format!(r#"{{"error":{{"message":"bad key {KEY}","code":"invalid_api_key"}}}}"#);
    let (url, _sees) = server(vec![Answer::Bytes(status("401 Unauthorized", "", &body))]).await;
    let said = answer(&provider_of(Api::OpenaiResponses, "test", &url)).await;
    let [Err(error)] = &said[..] else {
        panic!("{said:?}")
    };
    assert_eq!(
        error.to_string(),
        "test refused access (401): bad key [key]. Check the key in TEST_KEY"
    );
}

/// A thought of the model that is asked, as the conversation keeps it.
fn own_thought(id: &str) -> Block {
    let summary = json!([{"type": "summary_text", "text": "hm"}]);
    let item =
        json!({"type": "reasoning", "id": id, "encrypted_content": "gAAA", "summary": summary});
    thought("test/some/model", Api::OpenaiResponses, "hm", item)
}

#[tokio::test]
async fn what_a_provider_will_not_take_is_left_out_from_then_on() {
    let refused = |message: &str| {
        let body =
            json!({"error": {"message": message, "type": "invalid_request_error", "code": null}});
        Answer::Bytes(status("400 Bad Request", "", &body.to_string()))
    };
    let good = || Answer::Bytes(complete(&[HELLO, OVER]));
    let another_key = "The encrypted content for item rs_1 could not be verified.";
    let (url, mut sees) = server(vec![
        refused("Encrypted content is not supported with this model."),
        refused(another_key),
        good(),
        good(),
        refused(another_key),
    ])
    .await;
    let provider = provider_of(Api::OpenaiResponses, "test", &url);
    let blocks = vec![own_thought("rs_1"), Block::text("I look.")];
    let request = Request {
        messages: vec![
            Message::user("x"),
            Message {
                role: Role::Assistant,
                blocks,
            },
            Message::user("y"),
        ],
        ..Request::default()
    };
    for _ in 0..2 {
        assert_eq!(
            ask(&provider, &request).await.last(),
            Some(&Ok(StreamEvent::Done(Stop::End)))
        );
    }
    let mut sent = Vec::new();
    for _ in 0..4 {
        let (_, body, _) = next_request(&mut sees).await;
        let kinds = body["input"].as_array().unwrap().iter();
        let kinds: Vec<_> = kinds.map(|item| item["type"].as_str().unwrap()).collect();
        sent.push((body["include"].is_array(), kinds.join(" ")));
    }
    let with = "message reasoning message message".to_owned();
    let without = "message message message".to_owned();
    assert_eq!(
        sent,
        [
            (true, with.clone()),
            (false, with),
            (false, without.clone()),
            (false, without)
        ]
    );
    // Nothing more can be left out: the refusal is told.
    let last = ask(&provider, &request).await;
    assert!(
        matches!(&last[..], [Err(ModelError::Status { status: 400, .. })]),
        "{last:?}"
    );
}

#[tokio::test]
async fn every_prefix_of_a_conversation_is_a_valid_request() {
    let phase = json!({"type": "message", "phase": "commentary"});
    let phase = thought("test/some/model", Api::OpenaiResponses, "", phase);
    let foreign = json!({"type": "thinking", "signature": "s"});
    let foreign = thought("anthropic/x", Api::Anthropic, "elsewhere", foreign);
    let image = Image {
        media_type: "image/png".to_owned(),
        data: "QUJD".to_owned(),
    };
    let messages = [
        said(Role::User, vec![Block::text("fix it"), Block::Image(image)]),
        said(
            Role::Assistant,
            vec![
                own_thought("rs_1"),
                Block::text("I look."),
                phase,
                call("a", json!({"filePath": "a.rs"}), None),
            ],
        ),
        said(Role::User, vec![result("a", true)]),
        said(
            Role::Assistant,
            vec![
                foreign,
                call("toolu|ü.1", json!({"filePath": "a.rs"}), None),
                call("c", Value::Null, Some("{\"filePath\": ")),
            ],
        ),
        said(
            Role::User,
            vec![
                result("c", true),
                result("toolu|ü.1", true),
                Block::text("and be quick"),
            ],
        ),
        // A run that was cancelled in the middle of its calls, and a server that counts anew.
        said(
            Role::Assistant,
            vec![
                own_thought("rs_2"),
                call("a", json!({"filePath": "a.rs"}), None),
                call("e", json!({"filePath": "a.rs"}), None),
            ],
        ),
        said(Role::User, vec![result("a", true)]),
        Message::user("go on"),
        Message::assistant("done"),
        said(Role::Assistant, vec![own_thought("rs_3")]),
        Message::user("thanks"),
    ];
    let good = Answer::Bytes(complete(&[CREATED, HELLO, OVER]));
    let (url, mut sees) = server(vec![good; messages.len()]).await;
    let provider = provider_of(Api::OpenaiResponses, "test", &url);
    let mut last = Value::Null;
    for length in 1..=messages.len() {
        let request = Request {
            system: "You fix code.".to_owned(),
            messages: messages[..length].to_vec(),
            tools: vec![read()],
            max_output: (length % 2 == 0).then_some(1000),
            temperature: (length % 3 == 0).then_some(0.5),
        };
        // What is stored in a session and read again is the same.
        let stored = serde_json::to_string(&request).unwrap();
        let stored: Request = serde_json::from_str(&stored).unwrap();
        assert_eq!(stored, request);
        assert_eq!(
            ask(&provider, &stored).await.last(),
            Some(&Ok(StreamEvent::Done(Stop::End)))
        );
        let (_, body, _) = next_request(&mut sees).await;
        if let (Some(before), Some(now)) = (last["input"].as_array(), body["input"].as_array()) {
            // What the person says is one item until the model answers, and a call without result gets one.
            let same = before
                .iter()
                .zip(now)
                .take_while(|(before, now)| before == now)
                .count();
            assert!(same + 2 >= before.len(), "{before:?}\n{now:?}");
            assert_eq!(last["prompt_cache_key"], body["prompt_cache_key"]);
        }
        last = body;
    }
    let kinds = last["input"].as_array().unwrap().iter().map(|item| {
        item["role"]
            .as_str()
            .or(item["type"].as_str())
            .unwrap()
            .trim_start_matches("function_")
    });
    assert_eq!(
        kinds.collect::<Vec<_>>().join(" "),
        "user reasoning assistant call call_output call call call_output call_output user reasoning call call call_output call_output \
         user assistant user"
    );
}
