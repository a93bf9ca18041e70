//! The body of a request. What stays the same over a session comes first and the conversation last, so that a longer
//! conversation begins with the bytes of the shorter and a provider's prompt cache hits.

use std::borrow::Cow;

use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::body::written;
use crate::call::{arguments, callable};
use crate::ids::Ids;
use crate::pairing::{Part, Reader, Spoken, Turn, turns};
use crate::stable_hash::StableHash;
use crate::{Block, Image, Request, Thinking, ToolSpec};

/// OpenAI refuses a lower limit.
const SHORTEST_LIMIT: u32 = 16;

/// What the provider, or the model, has shown that it will not take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Without {
    /// The wish for sealed thoughts: a model that does not think knows none.
    pub(super) sealed: bool,
    /// The ids of items: some look for them among what they stored, and we have nothing stored.
    pub(super) ids: bool,
    /// Thoughts: the key, or the place, is another than when they were sealed.
    pub(super) thoughts: bool,
}

/// What to ask, as JSON.
pub(super) fn body(
    model: &str,
    reader: Reader<'_>,
    request: &Request,
    max_output: Option<u32>,
    without: Without,
    thinking: Option<Thinking>,
) -> Vec<u8> {
    let body = Body {
        model,
        instructions: &request.system,
        tools: request.tools.iter().map(Tool::from).collect(),
        store: false,
        include: if without.sealed {
            &[]
        } else {
            &["reasoning.encrypted_content"]
        },
        prompt_cache_key: cache_key(request),
        max_output_tokens: max_output.map(|most| most.max(SHORTEST_LIMIT)),
        temperature: request.temperature,
        reasoning: thinking.map(|thinking| Effort {
            effort: thinking.as_str(),
        }),
        stream: true,
        input: items(request, reader, without),
    };
    written(&body, request)
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    instructions: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    /// What was said stays here, and goes along whole each time: nothing has to be there still when a session is resumed.
    store: bool,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    include: &'static [&'static str],
    prompt_cache_key: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Effort>,
    stream: bool,
    input: Vec<Item<'a>>,
}

#[derive(Serialize)]
struct Effort {
    effort: &'static str,
}

#[derive(Serialize)]
struct Tool<'a> {
    r#type: &'static str,
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
    /// True would forbid optional parameters, and it is what is taken if nothing is said.
    strict: bool,
}

impl<'a> From<&'a ToolSpec> for Tool<'a> {
    fn from(spec: &'a ToolSpec) -> Self {
        Self {
            r#type: "function",
            name: &spec.name,
            description: &spec.description,
            parameters: &spec.schema,
            strict: false,
        }
    }
}

/// Requests with the same key are sent to the same machine, where what they begin with is in the cache: one key a session.
/// A request knows no session, but what a session begins with is its own and never changes while the cache could still hit:
/// the system prompt, the tools and the first message.
fn cache_key(request: &Request) -> String {
    let mut hash = StableHash::default();
    hash.add(request.system.as_bytes());
    for tool in &request.tools {
        hash.add(tool.name.as_bytes());
        hash.add(tool.description.as_bytes());
        hash.add(tool.schema.to_string().as_bytes());
    }
    for block in request
        .messages
        .first()
        .into_iter()
        .flat_map(|first| &first.blocks)
    {
        match block {
            Block::Text { text } => hash.add(text.as_bytes()),
            // Megabytes, of which the length says as much.
            Block::Image(image) => hash.add(&image.data.len().to_le_bytes()),
            _ => {}
        }
    }
    format!("copydesk-{:016x}", hash.finish())
}

#[derive(Serialize)]
#[serde(untagged)]
enum Item<'a> {
    User(User<'a>),
    Assistant(Assistant<'a>),
    Call(Called<'a>),
    Output(Answered<'a>),
    /// As it came.
    #[serde(serialize_with = "as_object")]
    Thought(Vec<(&'a str, &'a Value)>),
}

#[derive(Serialize)]
struct User<'a> {
    r#type: &'static str,
    role: &'static str,
    content: Vec<Content<'a>>,
}

/// In the long form that a server gives, for older ones of the local kind know no shorter; but in that there is no place
/// for an id.
#[derive(Serialize)]
struct Assistant<'a> {
    r#type: &'static str,
    role: &'static str,
    #[serde(flatten)]
    words: Words<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    phase: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Words<'a> {
    Long {
        id: String,
        status: &'static str,
        content: [Content<'a>; 1],
    },
    Short {
        content: &'a str,
    },
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Content<'a> {
    InputText {
        text: &'a str,
    },
    InputImage {
        detail: &'static str,
        image_url: String,
    },
    OutputText {
        text: &'a str,
        annotations: [&'a str; 0],
    },
}

#[derive(Serialize)]
struct Called<'a> {
    r#type: &'static str,
    call_id: String,
    name: Cow<'a, str>,
    /// A JSON object, as text.
    arguments: String,
}

#[derive(Serialize)]
struct Answered<'a> {
    r#type: &'static str,
    call_id: String,
    output: Cow<'a, str>,
}

fn items<'a>(request: &'a Request, reader: Reader<'_>, without: Without) -> Vec<Item<'a>> {
    let mut items = Vec::with_capacity(request.messages.len() * 2);
    let mut ids = Ids::default();
    for turn in turns(&request.messages, reader) {
        match turn {
            Turn::User(parts) => items.push(Item::User(User {
                r#type: "message",
                role: "user",
                content: parts.into_iter().map(content).collect(),
            })),
            Turn::Assistant(spoken) => {
                for one in spoken {
                    speak(one, &mut items, &mut ids, without);
                }
                // A thought that led to nothing, because the answer was cut off: it is refused without what follows from it.
                while matches!(items.last(), Some(Item::Thought(_))) {
                    items.pop();
                }
            }
            Turn::Results(outcomes) => items.extend(outcomes.into_iter().map(|outcome| {
                Item::Output(Answered {
                    r#type: "function_call_output",
                    call_id: ids.result(outcome.id),
                    output: outcome.output,
                })
            })),
        }
    }
    items
}

fn speak<'a>(one: Spoken<'a>, items: &mut Vec<Item<'a>>, ids: &mut Ids<'a>, without: Without) {
    match one {
        Spoken::Text(text) => {
            let words = match without.ids {
                true => Words::Short { content: text },
                false => Words::Long {
                    // Any id does that no other item has.
                    id: format!("msg_{}", items.len()),
                    status: "completed",
                    content: [Content::OutputText {
                        text,
                        annotations: [],
                    }],
                },
            };
            items.push(Item::Assistant(Assistant {
                r#type: "message",
                role: "assistant",
                words,
                phase: None,
            }));
        }
        Spoken::Call(call) => items.push(Item::Call(Called {
            r#type: "function_call",
            call_id: ids.call(&call.id),
            name: callable(&call.name),
            arguments: arguments(call),
        })),
        Spoken::Thought { content, .. } if content["type"] == "message" => {
            if let Some(Item::Assistant(said)) = items.last_mut() {
                said.phase = content["phase"].as_str();
            }
        }
        Spoken::Thought { .. } if without.thoughts => {}
        Spoken::Thought { content, .. } => items.extend(thought(content, without)),
    }
}

fn thought(content: &Value, without: Without) -> Option<Item<'_>> {
    static NO_SUMMARY: Value = Value::Array(Vec::new());
    // What comes as null may not be sent as null.
    let is_sent =
        |(key, value): &(&String, &Value)| !(value.is_null() || without.ids && *key == "id");
    let item = content.as_object()?;
    let fields = item
        .iter()
        .filter(is_sent)
        .map(|(key, value)| (key.as_str(), value));
    let mut fields: Vec<_> = fields.collect();
    if fields.iter().all(|(key, _)| *key != "summary") {
        fields.push(("summary", &NO_SUMMARY));
    }
    Some(Item::Thought(fields))
}

fn as_object<S: Serializer>(fields: &[(&str, &Value)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(fields.iter().copied())
}

fn content(part: Part<'_>) -> Content<'_> {
    match part {
        Part::Text(text) => Content::InputText { text },
        Part::Image(Image { media_type, data }) => Content::InputImage {
            detail: "auto",
            image_url: format!("data:{media_type};base64,{data}"),
        },
    }
}

#[cfg(test)]
mod tests;
