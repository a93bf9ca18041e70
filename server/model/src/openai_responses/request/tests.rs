use serde_json::json;

use super::*;
use crate::{Message, Reasoning, Role, Sealed, ToolCall};

const READER: Reader<'_> = Reader {
    model: "p/m",
    api: "openai-responses",
};

fn bytes(request: &Request, without: Without) -> String {
    String::from_utf8(body(
        "m",
        READER,
        request,
        request.max_output,
        without,
        None,
    ))
    .unwrap()
}

fn sent(request: &Request) -> Value {
    serde_json::from_str(&bytes(request, Without::default())).unwrap()
}

fn input_of(messages: &[Message], without: Without) -> Value {
    let request = Request {
        messages: messages.to_vec(),
        ..Request::default()
    };
    let body: Value = serde_json::from_str(&bytes(&request, without)).unwrap();
    body["input"].clone()
}

fn said(role: Role, blocks: Vec<Block>) -> Message {
    Message { role, blocks }
}

fn call(id: &str, name: &str, input: Value, malformed: Option<&str>) -> Block {
    Block::ToolCall(ToolCall {
        id: id.into(),
        name: name.into(),
        input,
        malformed: malformed.map(str::to_owned),
        repaired: None,
    })
}

fn result(id: &str) -> Block {
    Block::ToolResult {
        id: id.into(),
        ok: true,
        output: "1\tfn a".into(),
    }
}

fn thought(model: &str, content: Value) -> Block {
    Block::Reasoning(Reasoning {
        text: "hm".into(),
        sealed: Some(Sealed {
            model: model.into(),
            api: READER.api.into(),
            content,
        }),
    })
}

fn sealed(id: &str) -> Value {
    json!({"type": "reasoning", "id": id, "encrypted_content": format!("gAAA{id}"), "summary": [{"type": "summary_text", "text": "hm"}], "content": null, "status": null})
}

#[test]
fn a_conversation_with_tools() {
    let request = Request {
        system: "You fix code.".into(),
        messages: vec![
            Message::user("fix it"),
            said(
                Role::Assistant,
                vec![
                    thought("p/m", sealed("rs_1")),
                    Block::text("I look."),
                    thought("p/m", json!({"type": "message", "phase": "commentary"})),
                    thought("p/m", sealed("rs_2")),
                    call("c1", "read", json!({"filePath": "a.rs"}), None),
                ],
            ),
            said(Role::User, vec![result("c1")]),
        ],
        tools: vec![ToolSpec {
            name: "read".into(),
            description: "Reads.".into(),
            schema: json!({"type": "object"}),
        }],
        max_output: Some(1000),
        temperature: Some(0.5),
    };
    let body = sent(&request);
    let back = |id: &str| json!({"type": "reasoning", "id": id, "encrypted_content": format!("gAAA{id}"), "summary": [{"type": "summary_text", "text": "hm"}]});
    assert_eq!(
        body,
        json!({
            "model": "m",
            "instructions": "You fix code.",
            "tools": [{"type": "function", "name": "read", "description": "Reads.", "parameters": {"type": "object"}, "strict": false}],
            "store": false,
            "include": ["reasoning.encrypted_content"],
            "prompt_cache_key": body["prompt_cache_key"],
            "max_output_tokens": 1000,
            "temperature": 0.5,
            "stream": true,
            "input": [
                {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "fix it"}]},
                back("rs_1"),
                {"type": "message", "id": "msg_2", "role": "assistant", "status": "completed", "phase": "commentary",
                    "content": [{"type": "output_text", "text": "I look.", "annotations": []}]},
                back("rs_2"),
                {"type": "function_call", "call_id": "c1", "name": "read", "arguments": "{\"filePath\":\"a.rs\"}"},
                {"type": "function_call_output", "call_id": "c1", "output": "1\tfn a"},
            ],
        })
    );
}

#[test]
fn a_bare_request_says_no_more_than_it_must() {
    let body = sent(&Request {
        messages: vec![Message::user("hi")],
        max_output: Some(5),
        ..Request::default()
    });
    for key in ["instructions", "tools"] {
        assert_eq!(body[key], Value::Null, "{key}");
    }
    assert_eq!(body["max_output_tokens"], json!(16), "OpenAI takes no less");
}

#[test]
fn pictures_are_sent_beside_the_words() {
    let image = Image {
        media_type: "image/png".into(),
        data: "QUJD".into(),
    };
    let message = said(Role::User, vec![Block::text("this"), Block::Image(image)]);
    assert_eq!(
        input_of(&[message], Without::default())[0]["content"],
        json!([
            {"type": "input_text", "text": "this"},
            {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,QUJD"},
        ])
    );
}

#[test]
fn what_others_thought_and_what_led_to_nothing_stays_here() {
    let spoken = said(
        Role::Assistant,
        vec![
            thought("other/m", sealed("rs_0")),
            call("c1", "t", Value::Null, Some("{\"a\":")),
            thought("p/m", sealed("rs_1")),
        ],
    );
    let input = input_of(&[Message::user("x"), spoken], Without::default());
    assert_eq!(input[2]["type"], json!("function_call_output"), "{input}");
    assert_eq!(
        input[1],
        json!({"type": "function_call", "call_id": "c1", "name": "t", "arguments": "{\"malformed\":\"{\\\"a\\\":\"}"})
    );
}

#[test]
fn ids_of_other_providers_are_made_to_fit_and_still_pair() {
    let long = "chatcmpl/tool|".repeat(9);
    let turn = |id: &str| {
        [
            said(Role::Assistant, vec![call(id, "a.b", json!({}), None)]),
            said(Role::User, vec![result(id)]),
        ]
    };
    let input = input_of(
        &[turn(&long), turn("0"), turn("0")].concat(),
        Without::default(),
    );
    for at in [0, 2, 4] {
        let id = &input[at]["call_id"];
        assert_eq!(id, &input[at + 1]["call_id"]);
        assert!(id.as_str().is_some_and(|id| id.len() <= 64), "{id}");
    }
    assert_ne!(input[2]["call_id"], input[4]["call_id"]);
    assert_eq!(input[0]["name"], json!("a_b"));
}

#[test]
fn a_thought_always_has_a_summary_to_go_back() {
    for content in [
        json!({"type": "reasoning", "id": "rs_1", "encrypted_content": "g"}),
        json!({"type": "reasoning", "id": "rs_1", "encrypted_content": "g", "summary": null}),
    ] {
        let spoken = vec![thought("p/m", content), Block::text("y")];
        let input = input_of(&[said(Role::Assistant, spoken)], Without::default());
        assert_eq!(
            input[0],
            json!({"type": "reasoning", "id": "rs_1", "encrypted_content": "g", "summary": []})
        );
    }
}

#[test]
fn what_was_refused_is_left_out() {
    let spoken = vec![thought("p/m", sealed("rs_1")), Block::text("y")];
    let messages = [Message::user("x"), said(Role::Assistant, spoken)];
    let none = Without::default();
    let input = input_of(&messages, Without { ids: true, ..none });
    assert_eq!(input[1]["encrypted_content"], json!("gAAArs_1"));
    assert_eq!(input[1]["id"], Value::Null);
    assert_eq!(
        input[2],
        json!({"type": "message", "role": "assistant", "content": "y"})
    );
    let input = input_of(
        &messages,
        Without {
            thoughts: true,
            ..none
        },
    );
    assert_eq!(input[1]["role"], json!("assistant"));
    let request = Request::default();
    assert!(
        !bytes(
            &request,
            Without {
                sealed: true,
                ..none
            }
        )
        .contains("include")
    );
}

#[test]
fn the_key_of_the_cache_is_one_for_a_session() {
    let key = |system: &str, messages: &[&str]| {
        let request = Request {
            system: system.into(),
            messages: messages.iter().map(|text| Message::user(*text)).collect(),
            ..Request::default()
        };
        sent(&request)["prompt_cache_key"].clone()
    };
    assert_eq!(key("s", &["a"]), key("s", &["a", "b"]));
    assert_ne!(key("s", &["a"]), key("s", &["b"]));
    assert_ne!(key("s", &["a"]), key("t", &["a"]));
    // What was computed once is computed by every later version, or sessions that go on would find no cache.
    assert_eq!(key("s", &["a"]), json!("copydesk-69fc86bbfb3cfde7"));
}

#[test]
fn over_twenty_turns_only_the_tail_differs() {
    let mut request = Request {
        system: "s".into(),
        messages: vec![Message::user("a")],
        tools: vec![ToolSpec {
            name: "read".into(),
            description: "Reads.".into(),
            schema: json!({"type": "object", "properties": {"b": {"type": "integer"}}}),
        }],
        max_output: None,
        temperature: None,
    };
    let text = |request: &Request| bytes(request, Without::default());
    for turn in 0..20 {
        let before = text(&request);
        // The same id every time, as some local servers do.
        let id = format!("call_{}", turn % 3);
        let mut blocks = vec![thought("p/m", sealed(&format!("rs_{turn}")))];
        if turn % 2 == 0 {
            blocks.push(Block::text("I look."));
            blocks.push(thought(
                "p/m",
                json!({"type": "message", "phase": "commentary"}),
            ));
        }
        blocks.push(call(&id, "read", json!({"b": turn, "a": 1}), None));
        request.messages.push(said(Role::Assistant, blocks));
        request.messages.push(said(Role::User, vec![result(&id)]));
        let shorter = before.strip_suffix("]}").unwrap();
        assert!(
            text(&request).starts_with(&format!("{shorter},")),
            "turn {turn}"
        );
    }
}

#[test]
fn how_much_to_think_is_said_where_somebody_has_set_it() {
    let sent = |thinking| {
        let sent = body(
            "m",
            READER,
            &Request::default(),
            None,
            Without::default(),
            thinking,
        );
        serde_json::from_slice::<Value>(&sent).unwrap()["reasoning"].clone()
    };
    assert_eq!(sent(None), Value::Null);
    assert_eq!(sent(Some(Thinking::Low)), json!({"effort": "low"}));
    assert_eq!(sent(Some(Thinking::High)), json!({"effort": "high"}));
}
