//! The body of a request. The same conversation gives the same bytes, and a longer one begins with them but for the marks up to
//! which the provider keeps it in its cache: those move along with its end.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::body::written;
use crate::call::{callable, input};
use crate::ids::Ids;
use crate::pairing::{Part, Reader, Spoken, ToolOutcome, Turn, turns};
use crate::{Image, Request, Thinking, ToolSpec};

use super::thinking::{Effort, How, Mode};

/// What to ask, as JSON.
pub(super) fn body(
    model: &str,
    reader: Reader<'_>,
    request: &Request,
    max_tokens: u32,
    thinking: Option<Thinking>,
) -> Vec<u8> {
    let messages = messages(request, reader);
    let (tools, tool_choice) = tools(request, &messages);
    let how = How::of(model, thinking, max_tokens, || thinks_on(&messages));
    let body = Body {
        model,
        max_tokens,
        // A model that thinks takes none.
        stream: true,
        system: Piece::text(&request.system)
            .map(Piece::kept)
            .into_iter()
            .collect(),
        tools,
        tool_choice,
        thinking: how.thinking,
        output_config: how.output_config,
        messages,
    };
    written(&body, request)
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    max_tokens: u32,
    stream: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Piece<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Choice>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Mode>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<Effort>,
    /// Last, so that nothing stands behind what grows.
    messages: Vec<Said<'a>>,
}

/// Whether the calls that are waited for came with thoughts, if any are.
fn thinks_on(messages: &[Said<'_>]) -> bool {
    let mut said = messages.iter().rev();
    let last = said.find(|said| said.role == Role::Assistant);
    last.is_none_or(|said| {
        let calls = |piece: &Piece<'_>| matches!(piece, Piece::ToolUse { .. });
        let is_thought = |piece: &Piece<'_>| {
            matches!(
                piece,
                Piece::Thinking { .. } | Piece::RedactedThinking { .. }
            )
        };
        !said.content.iter().any(calls) || said.content.first().is_some_and(is_thought)
    })
}

#[derive(Serialize)]
struct Said<'a> {
    role: Role,
    content: Vec<Piece<'a>>,
}

#[derive(Serialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Role {
    User,
    Assistant,
}

/// Always one of a list, also where a text alone would do: a mark is then a field more, and nothing else.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Piece<'a> {
    Text {
        text: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<Mark>,
    },
    Image {
        source: Source<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<Mark>,
    },
    Thinking {
        thinking: &'a str,
        signature: &'a str,
    },
    RedactedThinking {
        data: &'a str,
    },
    ToolUse {
        id: String,
        name: Cow<'a, str>,
        input: Cow<'a, Value>,
    },
    ToolResult {
        tool_use_id: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        content: Option<Cow<'a, str>>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<Mark>,
    },
}

/// The provider keeps what it has read up to here for some minutes.
#[derive(Serialize, Clone, Copy)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Mark {
    Ephemeral,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Source<'a> {
    Base64 { media_type: &'a str, data: &'a str },
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Choice {
    None,
}

#[derive(Serialize)]
struct Tool<'a> {
    name: Cow<'a, str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    input_schema: Cow<'a, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<Mark>,
}

impl Said<'_> {
    fn has_results(&self) -> bool {
        let mut pieces = self.content.iter();
        pieces.any(|piece| matches!(piece, Piece::ToolResult { .. }))
    }
}

impl<'a> Piece<'a> {
    /// The format refuses texts of blanks alone.
    fn text(text: &'a str) -> Option<Self> {
        (!text.trim().is_empty()).then_some(Self::Text {
            text,
            cache_control: None,
        })
    }

    fn part(part: Part<'a>) -> Option<Self> {
        match part {
            Part::Text(text) => Self::text(text),
            Part::Image(Image { media_type, data }) => Some(Self::Image {
                source: Source::Base64 { media_type, data },
                cache_control: None,
            }),
        }
    }

    fn spoken(spoken: Spoken<'a>, ids: &mut Ids<'a>) -> Option<Self> {
        match spoken {
            Spoken::Text(text) => Self::text(text),
            Spoken::Thought { text, content } => match content["type"].as_str()? {
                "thinking" => Some(Self::Thinking {
                    thinking: text,
                    signature: content["signature"].as_str()?,
                }),
                "redacted_thinking" => Some(Self::RedactedThinking {
                    data: content["data"].as_str()?,
                }),
                _ => None,
            },
            Spoken::Call(call) => Some(Self::ToolUse {
                id: ids.call(&call.id),
                name: callable(&call.name),
                input: input(call),
            }),
        }
    }

    fn outcome(id: String, outcome: ToolOutcome<'a>) -> Self {
        let says_nothing = outcome.output.trim().is_empty();
        Self::ToolResult {
            tool_use_id: id,
            content: match (says_nothing, outcome.ok) {
                (false, _) => Some(outcome.output),
                (true, true) => None,
                // An error has to say something.
                (true, false) => Some(Cow::Borrowed("(It failed and said nothing.)")),
            },
            is_error: !outcome.ok,
            cache_control: None,
        }
    }

    /// The same with a mark: what is up to here is kept. Thoughts and calls take none.
    fn kept(mut self) -> Self {
        self.keep();
        self
    }

    fn keep(&mut self) {
        match self {
            Self::Text { cache_control, .. }
            | Self::Image { cache_control, .. }
            | Self::ToolResult { cache_control, .. } => *cache_control = Some(Mark::Ephemeral),
            Self::Thinking { .. } | Self::RedactedThinking { .. } | Self::ToolUse { .. } => {}
        }
    }

    fn is_thought(&self) -> bool {
        matches!(self, Self::Thinking { .. } | Self::RedactedThinking { .. })
    }
}

fn messages<'a>(request: &'a Request, reader: Reader<'_>) -> Vec<Said<'a>> {
    let mut messages: Vec<Said<'a>> = Vec::with_capacity(request.messages.len());
    let mut ids = Ids::default();
    for turn in turns(&request.messages, reader) {
        let (role, pieces): (_, Vec<_>) = match turn {
            Turn::User(parts) => (
                Role::User,
                parts.into_iter().filter_map(Piece::part).collect(),
            ),
            Turn::Assistant(spoken) => {
                let pieces = spoken.into_iter();
                let pieces = pieces.filter_map(|one| Piece::spoken(one, &mut ids));
                (Role::Assistant, pieces.collect())
            }
            Turn::Results(outcomes) => {
                let pieces = outcomes.into_iter();
                let pieces = pieces.map(|outcome| Piece::outcome(ids.result(outcome.id), outcome));
                (Role::User, pieces.collect())
            }
        };
        if pieces.iter().all(Piece::is_thought) {
            continue;
        }
        // The speakers take turns. What the person said after results stays apart from them: the provider puts both together,
        // but llama.cpp would move the results behind it.
        match messages.last_mut() {
            Some(last) if last.role == role && !last.has_results() => last.content.extend(pieces),
            _ => messages.push(Said {
                role,
                content: pieces,
            }),
        }
    }
    close(&mut messages);
    mark(&mut messages);
    messages
}

/// Marks the end of the conversation, and that of the request before: whoever looks for what is kept goes back only some twenty
/// pieces from a mark, and one turn may have more.
fn mark(messages: &mut [Said<'_>]) {
    let answer = messages
        .iter()
        .rposition(|said| said.role == Role::Assistant);
    for end in [messages.len(), answer.unwrap_or(0)] {
        let said = messages[..end].iter_mut();
        let of_user = said.rev().find(|said| said.role == Role::User);
        if let Some(last) = of_user.and_then(|said| said.content.last_mut()) {
            last.keep();
        }
    }
}

/// No message of the model may end with a thought, and the conversation not with a blank.
fn close(messages: &mut [Said<'_>]) {
    for said in messages.iter_mut() {
        while said.content.last().is_some_and(Piece::is_thought) {
            said.content.pop();
        }
    }
    if let Some(last) = messages.last_mut()
        && last.role == Role::Assistant
        && let Some(Piece::Text { text, .. }) = last.content.last_mut()
    {
        *text = text.trim_end();
    }
}

fn tools<'a>(request: &'a Request, messages: &[Said<'a>]) -> (Vec<Tool<'a>>, Option<Choice>) {
    let mut tools: Vec<_> = request.tools.iter().map(Tool::from).collect();
    let mut choice = None;
    if tools.is_empty() {
        // Old calls need tools, also where no new one is wanted.
        for piece in messages.iter().flat_map(|said| &said.content) {
            if let Piece::ToolUse { name, .. } = piece
                && tools.iter().all(|tool: &Tool<'_>| tool.name != *name)
            {
                choice = Some(Choice::None);
                tools.push(Tool {
                    name: name.clone(),
                    description: "",
                    input_schema: Cow::Owned(json!({ "type": "object" })),
                    cache_control: None,
                });
            }
        }
    }
    // The tools come before the system prompt, and are the same in every project.
    if let Some(last) = tools.last_mut() {
        last.cache_control = Some(Mark::Ephemeral);
    }
    (tools, choice)
}

impl<'a> From<&'a ToolSpec> for Tool<'a> {
    fn from(spec: &'a ToolSpec) -> Self {
        Self {
            name: Cow::Borrowed(&spec.name),
            description: &spec.description,
            input_schema: schema(&spec.schema),
            cache_control: None,
        }
    }
}

/// The format refuses a schema that does not say that it is of an object.
fn schema(schema: &Value) -> Cow<'_, Value> {
    match schema {
        Value::Object(fields) if fields.get("type").is_some_and(|kind| kind == "object") => {
            Cow::Borrowed(schema)
        }
        other => {
            let mut fields = Map::from_iter([("type".to_owned(), json!("object"))]);
            let others = other.as_object().cloned().unwrap_or_default();
            fields.extend(others.into_iter().filter(|(key, _)| key != "type"));
            Cow::Owned(Value::Object(fields))
        }
    }
}

#[cfg(test)]
mod tests;
