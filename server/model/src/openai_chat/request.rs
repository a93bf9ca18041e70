//! The body of a request. The same conversation gives the same bytes, and a longer one begins with them, so that a
//! provider's prompt cache hits.

use std::borrow::Cow;

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::{EXTRA_CONTENT, REASONING_CONTENT};
use crate::body::written;
use crate::call::{arguments, callable};
use crate::ids::Ids;
use crate::pairing::{Part, Reader, Spoken, Turn, turns};
use crate::{Request, Thinking, ToolCall, ToolSpec};

/// What to ask, as JSON.
pub(super) fn body(
    model: &str,
    reader: Reader<'_>,
    request: &Request,
    max_output: Option<u32>,
    new_name: bool,
    thinking: Option<Thinking>,
) -> Vec<u8> {
    let body = Body {
        model,
        messages: messages(request, reader),
        tools: request.tools.iter().map(Tool::from).collect(),
        stream: true,
        stream_options: StreamOptions {
            include_usage: true,
        },
        max_tokens: max_output.filter(|_| !new_name),
        max_completion_tokens: max_output.filter(|_| new_name),
        temperature: request.temperature,
        reasoning_effort: thinking.map(Thinking::as_str),
    };
    written(&body, request)
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: Vec<Said<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    stream: bool,
    stream_options: StreamOptions,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'static str>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum Said<'a> {
    System {
        content: &'a str,
    },
    User {
        content: Content<'a>,
    },
    Assistant {
        /// Null beside calls, as OpenAI itself writes it.
        content: Option<Cow<'a, str>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_content: Option<String>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<Call<'a>>,
    },
    Tool {
        tool_call_id: String,
        content: Cow<'a, str>,
    },
}

/// What a person says: a text, which every server takes, or where pictures are among it a list.
#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<Piece<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Piece<'a> {
    Text { text: &'a str },
    ImageUrl { image_url: Url },
}

#[derive(Serialize)]
struct Url {
    url: String,
}

fn content<'a>(parts: &[Part<'a>]) -> Content<'a> {
    let text = |part: &Part<'a>| match part {
        Part::Text(text) => Some(*text),
        Part::Image(_) => None,
    };
    let texts: Option<Vec<_>> = parts.iter().map(text).collect();
    match texts {
        Some(texts) => Content::Text(joined(&texts)),
        None => Content::Parts(parts.iter().map(piece).collect()),
    }
}

fn piece<'a>(part: &Part<'a>) -> Piece<'a> {
    match part {
        Part::Text(text) => Piece::Text { text },
        Part::Image(image) => Piece::ImageUrl {
            image_url: Url {
                url: format!("data:{};base64,{}", image.media_type, image.data),
            },
        },
    }
}

#[derive(Serialize)]
struct Call<'a> {
    id: String,
    r#type: &'static str,
    function: Function<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_content: Option<&'a Value>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: Cow<'a, str>,
    /// A JSON object, as text.
    arguments: String,
}

struct Tool<'a>(&'a ToolSpec);

impl<'a> From<&'a ToolSpec> for Tool<'a> {
    fn from(spec: &'a ToolSpec) -> Self {
        Self(spec)
    }
}

impl Serialize for Tool<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Wire<'a> {
            r#type: &'static str,
            function: Described<'a>,
        }
        #[derive(Serialize)]
        struct Described<'a> {
            name: &'a str,
            description: &'a str,
            parameters: &'a Value,
        }
        let ToolSpec {
            name,
            description,
            schema,
        } = self.0;
        Wire {
            r#type: "function",
            function: Described {
                name,
                description,
                parameters: schema,
            },
        }
        .serialize(serializer)
    }
}

fn messages<'a>(request: &'a Request, reader: Reader<'_>) -> Vec<Said<'a>> {
    let mut said = Vec::with_capacity(request.messages.len() + 1);
    if !request.system.is_empty() {
        said.push(Said::System {
            content: &request.system,
        });
    }
    let mut ids = Ids::default();
    for turn in turns(&request.messages, reader) {
        match turn {
            Turn::User(parts) => said.push(Said::User {
                content: content(&parts),
            }),
            Turn::Assistant(spoken) => {
                let text = |one: &Spoken<'a>| match one {
                    Spoken::Text(text) => Some(*text),
                    Spoken::Thought { .. } | Spoken::Call(_) => None,
                };
                let texts: Vec<_> = spoken.iter().filter_map(text).collect();
                let mut thought: Option<String> = None;
                let mut extra = None;
                let mut tool_calls = Vec::new();
                for one in &spoken {
                    match one {
                        Spoken::Text(_) => {}
                        // It stands before the call that it came with.
                        Spoken::Thought { content, .. } => {
                            if let Some(text) = content[REASONING_CONTENT].as_str() {
                                thought.get_or_insert_default().push_str(text);
                            }
                            extra = content.get(EXTRA_CONTENT);
                        }
                        Spoken::Call(one) => {
                            tool_calls.push(call(one, ids.call(&one.id), extra.take()));
                        }
                    }
                }
                said.push(Said::Assistant {
                    content: (!texts.is_empty()).then(|| joined(&texts)),
                    reasoning_content: thought,
                    tool_calls,
                });
            }
            Turn::Results(outcomes) => {
                said.extend(outcomes.into_iter().map(|outcome| Said::Tool {
                    tool_call_id: ids.result(outcome.id),
                    content: outcome.output,
                }));
            }
        }
    }
    said
}

/// One text: many servers take no list of parts.
fn joined<'a>(texts: &[&'a str]) -> Cow<'a, str> {
    match texts {
        [text] => Cow::Borrowed(text),
        texts => Cow::Owned(texts.join("\n\n")),
    }
}

fn call<'a>(call: &'a ToolCall, id: String, extra_content: Option<&'a Value>) -> Call<'a> {
    Call {
        id,
        r#type: "function",
        function: Function {
            name: callable(&call.name),
            arguments: arguments(call),
        },
        extra_content,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{Block, Image, Message, Reasoning, Role, Sealed};

    const READER: Reader<'_> = Reader {
        model: "p/m",
        api: "openai-chat",
    };

    fn sent(request: &Request) -> Value {
        serde_json::from_slice(&body("m", READER, request, None, false, None)).unwrap()
    }

    fn said(messages: Vec<Message>) -> Value {
        sent(&Request {
            messages,
            ..Request::default()
        })["messages"]
            .clone()
    }

    fn tool_call(id: &str, name: &str, input: Value, malformed: Option<&str>) -> Block {
        Block::ToolCall(ToolCall {
            id: id.into(),
            name: name.into(),
            input,
            malformed: malformed.map(str::to_owned),
            repaired: None,
        })
    }

    #[test]
    fn a_conversation_with_tools() {
        let request = Request {
            system: "You fix code.".into(),
            messages: vec![
                Message::user("fix it"),
                Message {
                    role: Role::Assistant,
                    blocks: vec![
                        Block::text("I look."),
                        tool_call("c1", "read", json!({"filePath": "a.rs"}), None),
                    ],
                },
                Message {
                    role: Role::User,
                    blocks: vec![Block::ToolResult {
                        id: "c1".into(),
                        ok: true,
                        output: "1\tfn a".into(),
                    }],
                },
            ],
            tools: vec![ToolSpec {
                name: "read".into(),
                description: "Reads.".into(),
                schema: json!({"type": "object"}),
            }],
            max_output: None,
            temperature: None,
        };
        assert_eq!(
            sent(&request),
            json!({
                "model": "m",
                "messages": [
                    {"role": "system", "content": "You fix code."},
                    {"role": "user", "content": "fix it"},
                    {"role": "assistant", "content": "I look.", "tool_calls": [
                        {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{\"filePath\":\"a.rs\"}"}},
                    ]},
                    {"role": "tool", "tool_call_id": "c1", "content": "1\tfn a"},
                ],
                "tools": [{"type": "function", "function": {"name": "read", "description": "Reads.", "parameters": {"type": "object"}}}],
                "stream": true,
                "stream_options": {"include_usage": true},
            })
        );
    }

    #[test]
    fn thoughts_stand_beside_the_calls_that_they_came_with() {
        let thought = |model: &str, content: Value| {
            Block::Reasoning(Reasoning {
                text: "hm".into(),
                sealed: Some(Sealed {
                    model: model.into(),
                    api: "openai-chat".into(),
                    content,
                }),
            })
        };
        let signature = json!({"google": {"thought_signature": "s"}});
        let said = |model: &str| {
            said(vec![Message {
                role: Role::Assistant,
                blocks: vec![
                    tool_call("c1", "read", json!({}), None),
                    thought(
                        model,
                        json!({"reasoning_content": "hm", "extra_content": signature}),
                    ),
                    tool_call("c2", "read", json!({}), None),
                    tool_call("c3", "read", json!({}), None),
                ],
            }])[0]
                .clone()
        };
        let call = |id: &str| json!({"id": id, "type": "function", "function": {"name": "read", "arguments": "{}"}});
        let mut signed = call("c2");
        signed["extra_content"] = signature.clone();
        assert_eq!(
            said("p/m"),
            json!({"role": "assistant", "content": null, "reasoning_content": "hm", "tool_calls": [call("c1"), signed, call("c3")]})
        );
        // Another's.
        assert_eq!(
            said("p/other"),
            json!({"role": "assistant", "content": null, "tool_calls": [call("c1"), call("c2"), call("c3")]})
        );
    }

    #[test]
    fn pictures_make_a_list_of_what_is_else_a_text() {
        let image = Image {
            media_type: "image/png".into(),
            data: "QUJD".into(),
        };
        let said = said(vec![Message {
            role: Role::User,
            blocks: vec![Block::text("this"), Block::Image(image)],
        }]);
        assert_eq!(
            said[0]["content"],
            json!([
                {"type": "text", "text": "this"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}},
            ])
        );
    }

    #[test]
    fn the_limit_has_two_names() {
        let limit = |new_name| -> Value {
            serde_json::from_slice(&body(
                "m",
                READER,
                &Request::default(),
                Some(9),
                new_name,
                None,
            ))
            .unwrap()
        };
        assert_eq!(
            (
                &limit(true)["max_completion_tokens"],
                &limit(true)["max_tokens"]
            ),
            (&json!(9), &Value::Null)
        );
        assert_eq!(
            (
                &limit(false)["max_completion_tokens"],
                &limit(false)["max_tokens"]
            ),
            (&Value::Null, &json!(9))
        );
    }

    #[test]
    fn arguments_are_always_the_text_of_an_object() {
        for (input, malformed, wanted) in [
            (json!({"a": [1, "ü"]}), None, "{\"a\":[1,\"ü\"]}"),
            (Value::Null, None, "{}"),
            (json!([1]), None, "{}"),
            (
                Value::Null,
                Some("{\"a\": "),
                "{\"malformed\":\"{\\\"a\\\": \"}",
            ),
        ] {
            let blocks = vec![tool_call("c", "t", input, malformed)];
            let said = said(vec![Message {
                role: Role::Assistant,
                blocks,
            }]);
            assert_eq!(
                said[0]["tool_calls"][0]["function"]["arguments"],
                json!(wanted)
            );
            assert_eq!(said[0]["content"], Value::Null);
            assert_eq!(
                said[1]["role"],
                json!("tool"),
                "a call never stands without a result"
            );
        }
    }

    #[test]
    fn an_id_from_elsewhere_is_made_to_fit_and_still_pairs() {
        let turn = |id: &str| {
            let called = vec![tool_call(id, "t", json!({}), None)];
            let output = String::from("x");
            let answered = vec![Block::ToolResult {
                id: id.into(),
                ok: true,
                output,
            }];
            [(Role::Assistant, called), (Role::User, answered)]
                .map(|(role, blocks)| Message { role, blocks })
        };
        let long = "é|".repeat(40);
        let said = said([turn(&long), turn("call_0"), turn("call_0")].concat());
        for at in [0, 2, 4] {
            let id = &said[at]["tool_calls"][0]["id"];
            assert_eq!(id, &said[at + 1]["tool_call_id"]);
            assert!(
                id.as_str()
                    .is_some_and(|id| id.len() <= 40 && id.is_ascii()),
                "{id}"
            );
        }
        assert_ne!(
            said[2]["tool_calls"][0]["id"],
            said[4]["tool_calls"][0]["id"]
        );
    }

    #[test]
    fn a_longer_conversation_begins_with_the_bytes_of_the_shorter() {
        let mut request = Request {
            system: "s".into(),
            messages: vec![Message::user("a")],
            ..Request::default()
        };
        let text = |request: &Request| {
            String::from_utf8(body("m", READER, request, None, false, None)).unwrap()
        };
        for turn in 0..20 {
            let before = text(&request);
            let id = format!("c{turn}");
            let blocks = vec![tool_call(&id, "read", json!({"b": turn, "a": 1}), None)];
            request.messages.push(Message {
                role: Role::Assistant,
                blocks,
            });
            let blocks = vec![Block::ToolResult {
                id,
                ok: true,
                output: "x".into(),
            }];
            request.messages.push(Message {
                role: Role::User,
                blocks,
            });
            let (messages, _) = before.split_once("],\"stream\"").unwrap();
            assert!(text(&request).starts_with(messages));
        }
    }

    #[test]
    fn how_much_to_think_is_said_where_somebody_has_set_it() {
        let sent = |thinking| {
            let sent = body("m", READER, &Request::default(), None, false, thinking);
            serde_json::from_slice::<Value>(&sent).unwrap()["reasoning_effort"].clone()
        };
        assert_eq!(sent(None), Value::Null);
        assert_eq!(sent(Some(Thinking::Medium)), "medium");
    }
}
