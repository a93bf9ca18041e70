//! Responses over a real connection: what is sent over a whole conversation, as the checker of requests will see it, and what is
//! made of refusals.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use model::{
    Api, Block, Image, Message, ModelError, Provider, ProviderConfig, Reasoning, Request, Role,
    Sealed, Stop, StreamEvent, ToolCall, ToolSpec, Usage,
};
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio_util::sync::CancellationToken;

use crate::server::{Answer, Seen, chunked, complete, server, status};
use crate::{KEY, answer, config, hello, provider_with};

const CREATED: &str = r#"{"type":"response.created","response":{"status":"in_progress"}}"#;
const HELLO: &str = r#"{"type":"response.output_text.delta","output_index":0,"delta":"hello"}"#;
const CALL: &str = r#"{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","id":"fc_1","call_id":"c","name":"t","arguments":""}}"#;
const CALL_ENDS: &str = r#"{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","id":"fc_1","call_id":"c","name":"t","arguments":"{}"}}"#;
const OVER: &str = r#"{"type":"response.completed","response":{"status":"completed","usage":{"input_tokens":3,"output_tokens":2}}}"#;

fn provider(url: &str) -> Arc<dyn Provider> {
    let config = ProviderConfig {
        api: Some(Api::OpenaiResponses),
        ..config(url)
    };
    provider_with(config, Duration::from_secs(120))
}

#[allow(
    clippy::unnecessary_wraps,
    reason = "it is compared with what a stream gives"
)]
fn usage() -> Result<StreamEvent, ModelError> {
    Ok(StreamEvent::Usage(Usage {
        input: 3,
        output: 2,
        ..Usage::default()
    }))
}

async fn next_request(sees: &mut UnboundedReceiver<Seen>) -> (String, Value) {
    loop {
        if let Seen::Request(request) = sees.recv().await.unwrap() {
            let (head, body) = request.split_once("\r\n\r\n").unwrap();
            return (head.to_owned(), serde_json::from_str(body).unwrap());
        }
    }
}

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
        answer(&provider(&url)).await,
        [hello(), usage(), Ok(StreamEvent::Done(Stop::End))]
    );
    let (head, body) = next_request(&mut sees).await;
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
async fn a_whole_answer_is_read_too() {
    let whole = r#"{"object":"response","status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"hello"}]}],"usage":{"input_tokens":3,"output_tokens":2}}"#;
    let json = "content-type: application/json\r\n";
    let (url, _sees) = server(vec![Answer::Bytes(status("200 OK", json, whole))]).await;
    assert_eq!(
        answer(&provider(&url)).await,
        [hello(), usage(), Ok(StreamEvent::Done(Stop::End))]
    );
}

#[tokio::test]
async fn a_connection_that_breaks_before_and_after_a_call() {
    let said = |events: &'static [&'static str]| async {
        let (url, _sees) = server(vec![Answer::Cut(chunked(events))]).await;
        answer(&provider(&url)).await
    };
    let before = said(&[CREATED, HELLO, CALL]).await;
    assert_eq!(before[0], hello());
    let Some(Err(ModelError::Stream(words))) = before.last() else {
        panic!("{before:?}")
    };
    assert!(words.contains("cut off in the middle"), "{words}");
    let after = said(&[CREATED, HELLO, CALL, CALL_ENDS]).await;
    assert!(
        matches!(&after[..], [_, Ok(StreamEvent::ToolCall(call)), Ok(StreamEvent::Done(Stop::ToolCalls))] if call.id == "c"),
        "{after:?}"
    );
}

#[tokio::test]
async fn refusals_are_told_in_words_and_never_with_the_key() {
    let body = format!(r#"{{"error":{{"message":"bad key {KEY}","code":"invalid_api_key"}}}}"#);
    let (url, _sees) = server(vec![Answer::Bytes(status("401 Unauthorized", "", &body))]).await;
    let said = answer(&provider(&url)).await;
    let [Err(error)] = &said[..] else {
        panic!("{said:?}")
    };
    assert_eq!(
        error.to_string(),
        "test refused access (401): bad key [key]. Check the key in TEST_KEY"
    );
}

/// Its first answer, as the conversation keeps it.
fn thought(id: &str) -> Block {
    Block::Reasoning(Reasoning {
        text: "hm".to_owned(),
        sealed: Some(Sealed {
            model: "test/some/model".to_owned(),
            api: "openai-responses".to_owned(),
            content: json!({"type": "reasoning", "id": id, "encrypted_content": "gAAA", "summary": [{"type": "summary_text", "text": "hm"}]}),
        }),
    })
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
    let provider = provider(&url);
    let blocks = vec![thought("rs_1"), Block::text("I look.")];
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
        let (_, body) = next_request(&mut sees).await;
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

fn call(id: &str, malformed: Option<&str>) -> Block {
    Block::ToolCall(ToolCall {
        id: id.to_owned(),
        name: "read".to_owned(),
        input: match malformed {
            Some(_) => Value::Null,
            None => json!({"filePath": "a.rs"}),
        },
        malformed: malformed.map(str::to_owned),
        repaired: None,
    })
}

fn result(id: &str) -> Block {
    Block::ToolResult {
        id: id.to_owned(),
        ok: true,
        output: format!("output of {id}"),
    }
}

#[tokio::test]
async fn every_prefix_of_a_conversation_is_a_valid_request() {
    let said = |role, blocks| Message { role, blocks };
    let phase = Block::Reasoning(Reasoning {
        text: String::new(),
        sealed: Some(Sealed {
            model: "test/some/model".to_owned(),
            api: "openai-responses".to_owned(),
            content: json!({"type": "message", "phase": "commentary"}),
        }),
    });
    let foreign = Block::Reasoning(Reasoning {
        text: "elsewhere".to_owned(),
        sealed: Some(Sealed {
            model: "anthropic/x".to_owned(),
            api: "anthropic".to_owned(),
            content: json!({"type": "thinking", "signature": "s"}),
        }),
    });
    let image = Image {
        media_type: "image/png".to_owned(),
        data: "QUJD".to_owned(),
    };
    let messages = [
        said(Role::User, vec![Block::text("fix it"), Block::Image(image)]),
        said(
            Role::Assistant,
            vec![
                thought("rs_1"),
                Block::text("I look."),
                phase,
                call("a", None),
            ],
        ),
        said(Role::User, vec![result("a")]),
        said(
            Role::Assistant,
            vec![
                foreign,
                call("toolu|ü.1", None),
                call("c", Some("{\"filePath\": ")),
            ],
        ),
        said(
            Role::User,
            vec![
                result("c"),
                result("toolu|ü.1"),
                Block::text("and be quick"),
            ],
        ),
        // A run that was cancelled in the middle of its calls, and a server that counts anew.
        said(
            Role::Assistant,
            vec![thought("rs_2"), call("a", None), call("e", None)],
        ),
        said(Role::User, vec![result("a")]),
        Message::user("go on"),
        Message::assistant("done"),
        said(Role::Assistant, vec![thought("rs_3")]),
        Message::user("thanks"),
    ];
    let schema = json!({"type": "object", "properties": {"filePath": {"type": "string"}}, "required": ["filePath"]});
    let tool = ToolSpec {
        name: "read".to_owned(),
        description: "Reads a file.".to_owned(),
        schema,
    };
    let good = Answer::Bytes(complete(&[CREATED, HELLO, OVER]));
    let (url, mut sees) = server(vec![good; messages.len()]).await;
    let provider = provider(&url);
    let mut last = Value::Null;
    for length in 1..=messages.len() {
        let request = Request {
            system: "You fix code.".to_owned(),
            messages: messages[..length].to_vec(),
            tools: vec![tool.clone()],
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
        let (_, body) = next_request(&mut sees).await;
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
