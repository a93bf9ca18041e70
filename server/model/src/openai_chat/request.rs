//! The body of a request. The same conversation gives the same bytes, and a longer one begins with them, so that a
//! provider's prompt cache hits.

use std::borrow::Cow;

use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::pairing::{Turn, turns};
use crate::{Request, ToolCall, ToolSpec};

/// What to ask, as JSON.
pub(super) fn body(
    model: &str,
    request: &Request,
    max_output: Option<u32>,
    new_name: bool,
) -> Vec<u8> {
    let body = Body {
        model,
        messages: messages(request),
        tools: request.tools.iter().map(Tool::from).collect(),
        stream: true,
        stream_options: StreamOptions {
            include_usage: true,
        },
        max_tokens: max_output.filter(|_| !new_name),
        max_completion_tokens: max_output.filter(|_| new_name),
    };
    // Every key is a string and every number finite: there is nothing that could fail.
    serde_json::to_vec(&body).unwrap_or_default()
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
        content: Cow<'a, str>,
    },
    Assistant {
        /// Null beside calls, as OpenAI itself writes it.
        content: Option<Cow<'a, str>>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<Call<'a>>,
    },
    Tool {
        tool_call_id: &'a str,
        content: Cow<'a, str>,
    },
}

#[derive(Serialize)]
struct Call<'a> {
    id: &'a str,
    r#type: &'static str,
    function: Function<'a>,
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

fn messages(request: &Request) -> Vec<Said<'_>> {
    let mut said = Vec::with_capacity(request.messages.len() + 1);
    if !request.system.is_empty() {
        said.push(Said::System {
            content: &request.system,
        });
    }
    for turn in turns(&request.messages) {
        match turn {
            Turn::User(texts) => said.push(Said::User {
                content: joined(&texts),
            }),
            Turn::Assistant { texts, calls } => said.push(Said::Assistant {
                content: (!texts.is_empty()).then(|| joined(&texts)),
                tool_calls: calls.into_iter().map(call).collect(),
            }),
            Turn::Results(outcomes) => {
                said.extend(outcomes.into_iter().map(|outcome| Said::Tool {
                    tool_call_id: outcome.id,
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

fn call(call: &ToolCall) -> Call<'_> {
    let arguments = match (&call.malformed, &call.input) {
        // Servers parse the arguments of old calls and fail on text that is no JSON object; the model must still see its own words.
        (Some(malformed), _) => json!({ "malformed": malformed }).to_string(),
        (None, input @ Value::Object(_)) => input.to_string(),
        (None, _) => "{}".to_owned(),
    };
    Call {
        id: &call.id,
        r#type: "function",
        function: Function {
            name: callable(&call.name),
            arguments,
        },
    }
}

/// A name that every server takes: the model may have called a tool that never was.
fn callable(name: &str) -> Cow<'_, str> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if !name.is_empty() && name.len() <= 64 && name.chars().all(fits) {
        return Cow::Borrowed(name);
    }
    let name: String = name
        .chars()
        .take(64)
        .map(|c| if fits(c) { c } else { '_' })
        .collect();
    Cow::Owned(if name.is_empty() {
        "unnamed".to_owned()
    } else {
        name
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Block, Message, Role};

    fn sent(request: &Request) -> Value {
        serde_json::from_slice(&body("m", request, None, false)).unwrap()
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
    fn the_limit_has_two_names() {
        let limit = |new_name| -> Value {
            serde_json::from_slice(&body("m", &Request::default(), Some(9), new_name)).unwrap()
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
    fn a_tools_name_is_made_to_fit() {
        for (name, wanted) in [
            ("read", "read"),
            ("", "unnamed"),
            ("a.b c", "a_b_c"),
            ("ü", "_"),
        ] {
            assert_eq!(callable(name), wanted);
        }
        assert_eq!(callable(&"x".repeat(100)).len(), 64);
    }

    #[test]
    fn a_longer_conversation_begins_with_the_bytes_of_the_shorter() {
        let mut request = Request {
            system: "s".into(),
            messages: vec![Message::user("a")],
            ..Request::default()
        };
        let text = |request: &Request| String::from_utf8(body("m", request, None, false)).unwrap();
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
}
