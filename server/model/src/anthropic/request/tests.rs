use serde_json::json;

use super::*;
use crate::{Block, Message, Reasoning, Request, Role, Sealed, ToolCall};

const READER: Reader<'_> = Reader {
    model: "p/m",
    api: "anthropic",
};
/// A mark, as it is sent.
const MARK: &str = r#","cache_control":{"type":"ephemeral"}"#;

fn text(request: &Request) -> String {
    String::from_utf8(body("m", READER, request, 1000, None)).unwrap()
}

fn sent(request: &Request) -> Value {
    serde_json::from_str(&text(request)).unwrap()
}

/// The messages as they are sent, without their marks.
fn said(messages: Vec<Message>) -> Value {
    let request = Request {
        messages,
        ..Request::default()
    };
    serde_json::from_str::<Value>(&text(&request).replace(MARK, "")).unwrap()["messages"].clone()
}

fn user(blocks: Vec<Block>) -> Message {
    Message {
        role: Role::User,
        blocks,
    }
}

fn assistant(blocks: Vec<Block>) -> Message {
    Message {
        role: Role::Assistant,
        blocks,
    }
}

fn call(id: &str, input: Value) -> Block {
    Block::ToolCall(ToolCall {
        id: id.into(),
        name: "read".into(),
        input,
        malformed: None,
        repaired: None,
    })
}

fn result(id: &str, ok: bool, output: &str) -> Block {
    Block::ToolResult {
        id: id.into(),
        ok,
        output: output.into(),
    }
}

fn thought(model: &str, text: &str, content: Value) -> Block {
    Block::Reasoning(Reasoning {
        text: text.into(),
        sealed: Some(Sealed {
            model: model.into(),
            api: READER.api.into(),
            content,
        }),
    })
}

fn signed(text: &str) -> Block {
    thought(
        "p/m",
        text,
        json!({"type": "thinking", "signature": "sig=="}),
    )
}

fn tool(name: &str, schema: Value) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: "Reads.".into(),
        schema,
    }
}

#[test]
fn a_conversation_with_tools() {
    let request = Request {
        system: "You fix code.".into(),
        messages: vec![
            Message::user("fix it"),
            assistant(vec![
                Block::text("I look."),
                call("toolu_1", json!({"filePath": "a.rs"})),
                call("toolu_2", json!({"filePath": "b.rs"})),
            ]),
            user(vec![
                result("toolu_2", false, "no such file"),
                result("toolu_1", true, "1\tfn a"),
            ]),
        ],
        tools: vec![
            tool("read", json!({"type": "object"})),
            tool("list", json!({"type": "object"})),
        ],
        max_output: None,
        temperature: None,
    };
    let mark = json!({"type": "ephemeral"});
    assert_eq!(
        sent(&request),
        json!({
            "model": "m",
            "max_tokens": 1000,
            "stream": true,
            "system": [{"type": "text", "text": "You fix code.", "cache_control": mark}],
            "tools": [
                {"name": "read", "description": "Reads.", "input_schema": {"type": "object"}},
                {"name": "list", "description": "Reads.", "input_schema": {"type": "object"}, "cache_control": mark},
            ],
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "fix it", "cache_control": mark}]},
                {"role": "assistant", "content": [
                    {"type": "text", "text": "I look."},
                    {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"filePath": "a.rs"}},
                    {"type": "tool_use", "id": "toolu_2", "name": "read", "input": {"filePath": "b.rs"}},
                ]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "toolu_1", "content": "1\tfn a"},
                    {"type": "tool_result", "tool_use_id": "toolu_2", "content": "no such file", "is_error": true, "cache_control": mark},
                ]},
            ],
        })
    );
}

#[test]
fn pictures_stand_where_they_were_shown() {
    let image = Image {
        media_type: "image/png".into(),
        data: "QUJD".into(),
    };
    assert_eq!(
        said(vec![user(vec![
            Block::text("this"),
            Block::Image(image),
            Block::text("is wrong")
        ])]),
        json!([{"role": "user", "content": [
            {"type": "text", "text": "this"},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD"}},
            {"type": "text", "text": "is wrong"},
        ]}])
    );
}

#[test]
fn thoughts_go_back_unchanged_to_where_they_were() {
    let redacted = json!({"type": "redacted_thinking", "data": "opaque"});
    let messages = vec![
        Message::user("go"),
        assistant(vec![
            signed("  Hm.\n"),
            Block::text("I look."),
            thought("p/m", "", redacted),
            // The words are withheld, the signature is not.
            signed(""),
            call("a", json!({})),
            // What came of a thought when the answer reached its greatest length.
            signed("And th"),
        ]),
        user(vec![result("a", true, "x")]),
        assistant(vec![
            thought(
                "other/m",
                "foreign",
                json!({"type": "thinking", "signature": "s"}),
            ),
            thought("p/m", "damaged", json!({"type": "thinking"})),
            Block::text("Done. \n"),
        ]),
    ];
    let thinking = |text: &str| json!({"type": "thinking", "thinking": text, "signature": "sig=="});
    assert_eq!(
        said(messages),
        json!([
            {"role": "user", "content": [{"type": "text", "text": "go"}]},
            {"role": "assistant", "content": [
                thinking("  Hm.\n"),
                {"type": "text", "text": "I look."},
                {"type": "redacted_thinking", "data": "opaque"},
                thinking(""),
                {"type": "tool_use", "id": "a", "name": "read", "input": {}},
            ]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "x"}]},
            // Nor does a conversation end with a blank.
            {"role": "assistant", "content": [{"type": "text", "text": "Done."}]},
        ])
    );
}

#[test]
fn what_says_nothing_is_left_out_and_the_speakers_take_turns() {
    let text = |role: &str, texts: &[&str]| {
        let content: Vec<_> = texts
            .iter()
            .map(|text| json!({"type": "text", "text": text}))
            .collect();
        json!({"role": role, "content": content})
    };
    assert_eq!(
        said(vec![
            user(vec![Block::text(""), Block::text("a"), Block::text(" \n")]),
            assistant(vec![signed("hm"), Block::text("\n\n")]),
            Message::user("b"),
            // It paused, and went on.
            Message::assistant("c "),
            Message::assistant("d"),
            Message::user("\t"),
        ]),
        json!([text("user", &["a", "b"]), text("assistant", &["c ", "d"])])
    );
    let blank = Request {
        system: " ".into(),
        messages: vec![Message::user("a")],
        ..Request::default()
    };
    assert_eq!(sent(&blank)["system"], Value::Null);
}

#[test]
fn results_come_first_and_alone_and_an_error_always_says_something() {
    assert_eq!(
        said(vec![
            assistant(vec![
                call("a", json!({})),
                call("b", json!({})),
                call("c", json!({}))
            ]),
            user(vec![
                Block::text("and be quick"),
                result("b", false, " "),
                result("a", true, ""),
            ]),
            Message::user("now"),
        ]),
        json!([
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": "a", "name": "read", "input": {}},
                {"type": "tool_use", "id": "b", "name": "read", "input": {}},
                {"type": "tool_use", "id": "c", "name": "read", "input": {}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "a"},
                {"type": "tool_result", "tool_use_id": "b", "content": "(It failed and said nothing.)", "is_error": true},
                {"type": "tool_result", "tool_use_id": "c", "content": "(There is no result: the run ended before this call was carried out.)", "is_error": true},
            ]},
            {"role": "user", "content": [
                {"type": "text", "text": "and be quick"},
                {"type": "text", "text": "now"},
            ]},
        ])
    );
}

#[test]
fn other_providers_ids_are_changed_for_call_and_result() {
    let said = said(vec![
        Message::user("go"),
        assistant(vec![
            call("functions.read:0", json!({})),
            call("functions.read:1", json!({})),
        ]),
        user(vec![
            result("functions.read:1", true, "one"),
            result("functions.read:0", true, "null"),
        ]),
        assistant(vec![call("functions.read:0", json!({}))]),
        user(vec![result("functions.read:0", true, "again")]),
    ]);
    let ids = |at: usize, key: &str| -> Vec<&str> {
        let pieces = said[at]["content"].as_array().unwrap();
        pieces
            .iter()
            .map(|piece| piece[key].as_str().unwrap())
            .collect()
    };
    let sent = [ids(1, "id"), ids(3, "id")].concat();
    let is_plain = |id: &&str| {
        id.chars()
            .all(|c| c.is_ascii_alphanumeric() || "_-".contains(c))
    };
    assert!(sent.iter().all(is_plain), "{sent:?}");
    let distinct: std::collections::BTreeSet<_> = sent.iter().collect();
    assert_eq!(distinct.len(), 3, "{sent:?}");
    assert_eq!(ids(2, "tool_use_id"), ids(1, "id"));
    assert_eq!(ids(2, "content"), ["null", "one"]);
    assert_eq!(ids(4, "tool_use_id"), ids(3, "id"));
}

#[test]
fn arguments_are_always_an_object() {
    for (input, malformed, wanted) in [
        (json!({"a": [1, "ü"]}), None, json!({"a": [1, "ü"]})),
        (Value::Null, None, json!({})),
        (json!([1]), None, json!({})),
        (
            Value::Null,
            Some("{\"a\": "),
            json!({"malformed": "{\"a\": "}),
        ),
    ] {
        let call = Block::ToolCall(ToolCall {
            id: "c".into(),
            name: "a tool".into(),
            input,
            malformed: malformed.map(str::to_owned),
            repaired: None,
        });
        let said = said(vec![Message::user("go"), assistant(vec![call])]);
        let piece = &said[1]["content"][0];
        assert_eq!(
            (&piece["input"], &piece["name"]),
            (&wanted, &json!("a_tool"))
        );
        assert_eq!(said[2]["content"][0]["type"], "tool_result");
    }
}

#[test]
fn a_schema_says_that_it_is_of_an_object() {
    for (given, wanted) in [
        (
            json!({"type": "object", "properties": {}}),
            json!({"type": "object", "properties": {}}),
        ),
        (
            json!({"properties": {}}),
            json!({"type": "object", "properties": {}}),
        ),
        (
            json!({"type": ["object", "null"]}),
            json!({"type": "object"}),
        ),
        (json!(true), json!({"type": "object"})),
    ] {
        let request = Request {
            tools: vec![tool("t", given)],
            ..Request::default()
        };
        assert_eq!(sent(&request)["tools"][0]["input_schema"], wanted);
    }
}

#[test]
fn old_calls_need_tools_where_no_new_one_is_wanted() {
    let calls = || assistant(vec![call("a", json!({})), call("b", json!({}))]);
    let request = Request {
        messages: vec![Message::user("go"), calls()],
        ..Request::default()
    };
    let sent = sent(&request);
    let mark = json!({"type": "ephemeral"});
    assert_eq!(
        (&sent["tools"], &sent["tool_choice"]),
        (
            &json!([{"name": "read", "input_schema": {"type": "object"}, "cache_control": mark}]),
            &json!({"type": "none"})
        )
    );
    let without = Request {
        messages: vec![Message::user("go")],
        ..Request::default()
    };
    assert!(!text(&without).contains("\"tool"));
}

#[test]
fn a_longer_conversation_begins_with_the_bytes_of_the_shorter_but_for_the_marks() {
    let mut request = Request {
        system: "s".into(),
        messages: vec![Message::user("a")],
        tools: vec![tool("read", json!({"type": "object"}))],
        max_output: None,
        temperature: None,
    };
    for turn in 0..20 {
        let before = text(&request);
        let id = format!("read:{}", turn % 3);
        request.messages.push(assistant(vec![
            signed("hm"),
            Block::text("so"),
            call(&id, json!({"b": turn, "a": 1})),
            call("x", json!({})),
        ]));
        let mut answers = vec![result("x", false, ""), result(&id, true, "out")];
        if turn % 4 == 0 {
            answers.push(Block::text("and the person says"));
        }
        request.messages.push(user(answers));
        let after = text(&request);
        let marks = after.matches(MARK).count();
        assert_eq!(marks, 4, "in turn {turn}: {after}");
        // The end of what was sent before is marked in what is sent now.
        let marked = before.strip_suffix("]}]}").unwrap();
        let last = &marked[marked.rfind("\"role\"").unwrap()..];
        assert!(
            last.ends_with(&format!("{MARK}}}")) && after.contains(last),
            "{last}\n{after}"
        );
        let (before, after) = (before.replace(MARK, ""), after.replace(MARK, ""));
        let before = before.strip_suffix("]}").unwrap();
        assert!(after.starts_with(before), "{before}\n{after}");
    }
}

#[test]
fn nothing_else_asks_for_thoughts() {
    assert!(!text(&Request::default()).contains("thinking"));
}

#[test]
fn how_much_to_think_is_said_as_the_model_takes_it() {
    let think = |model: &str, request: &Request, longest| {
        let sent = body(model, READER, request, longest, Some(Thinking::Medium));
        let sent: Value = serde_json::from_slice(&sent).unwrap();
        [sent["thinking"].clone(), sent["output_config"].clone()]
    };
    let plain = Request {
        messages: vec![Message::user("hi")],
        ..Request::default()
    };
    let effort = json!({"effort": "medium"});
    assert_eq!(
        think("claude-sonnet-5-5", &plain, 16_000),
        [json!({"type": "adaptive"}), effort.clone()]
    );
    assert_eq!(
        think("claude-fable-5-2", &plain, 16_000),
        [Value::Null, effort]
    );
    let budget = json!({"type": "enabled", "budget_tokens": 10_000});
    assert_eq!(
        think("claude-sonnet-4-5", &plain, 64_000),
        [budget, Value::Null]
    );
    // It must leave room for the answer, and of an answer that is short nothing is left.
    let budget = json!({"type": "enabled", "budget_tokens": 4000});
    assert_eq!(
        think("claude-sonnet-4-5", &plain, 8000),
        [budget, Value::Null]
    );
    assert_eq!(
        think("claude-sonnet-4-5", &plain, 2000),
        [Value::Null, Value::Null]
    );
    // Where calls came without thoughts (another model made them), that model would refuse to think on.
    let called = Request {
        messages: vec![
            Message::user("hi"),
            assistant(vec![call("c", json!({}))]),
            user(vec![result("c", true, "x")]),
        ],
        tools: vec![ToolSpec {
            name: "read".into(),
            description: "Reads.".into(),
            schema: json!({"type": "object"}),
        }],
        ..Request::default()
    };
    assert_eq!(
        think("claude-sonnet-4-5", &called, 64_000),
        [Value::Null, Value::Null]
    );
    assert_eq!(
        think("claude-sonnet-5-5", &called, 64_000)[0],
        json!({"type": "adaptive"})
    );
}
