//! The conversation as turns in which every call has exactly one result, right after it: what all the wire formats demand
//! and what a cancelled run, a compacted session or a damaged file may have left undone. It changes nothing that was stored.

use std::borrow::Cow;

use serde_json::Value;

use crate::{Block, Image, Message, Role, ToolCall};

/// Said to the model in place of a result that is not there.
const NO_RESULT: &str = "(There is no result: the run ended before this call was carried out.)";

/// Who is about to be told the conversation: what others thought means nothing to it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reader<'a> {
    /// The model's full name.
    pub(crate) model: &'a str,
    /// The wire format, by its name in the configuration.
    pub(crate) api: &'a str,
}

/// One turn.
#[derive(Debug, PartialEq)]
pub(crate) enum Turn<'a> {
    /// What the person said and showed, in order.
    User(Vec<Part<'a>>),
    /// What the model thought, said and called, in order: at least one text or call.
    Assistant(Vec<Spoken<'a>>),
    /// What its calls gave: one for each call of the turn before, in their order.
    Results(Vec<ToolOutcome<'a>>),
}

/// A piece of what the person said.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Part<'a> {
    Text(&'a str),
    Image(&'a Image),
}

/// A piece of what the model said.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Spoken<'a> {
    /// What it thought, as the reader itself sealed it; the words apart from it.
    Thought {
        text: &'a str,
        content: &'a Value,
    },
    Text(&'a str),
    Call(&'a ToolCall),
}

impl<'a> Spoken<'a> {
    pub(crate) fn call(self) -> Option<&'a ToolCall> {
        match self {
            Self::Call(call) => Some(call),
            Self::Text(_) | Self::Thought { .. } => None,
        }
    }
}

/// The result of one call.
#[derive(Debug, PartialEq)]
pub(crate) struct ToolOutcome<'a> {
    pub(crate) id: &'a str,
    /// Whether the tool did what was asked.
    pub(crate) ok: bool,
    pub(crate) output: Cow<'a, str>,
}

/// The turns of a conversation. Results without a call, empty messages, and thoughts that are not the reader's own are
/// left out.
pub(crate) fn turns<'a>(messages: &'a [Message], reader: Reader<'_>) -> Vec<Turn<'a>> {
    let mut turns = Vec::with_capacity(messages.len());
    let mut rest = messages;
    while let Some((message, after)) = rest.split_first() {
        rest = after;
        if message.role == Role::User {
            let parts = parts(message);
            if !parts.is_empty() {
                said_by_user(&mut turns, parts);
            }
            continue;
        }
        let spoken = spoken(message, reader);
        let is_thought = |one: &Spoken<'_>| matches!(one, Spoken::Thought { .. });
        if spoken.iter().all(is_thought) {
            continue;
        }
        // Results may be spread over several messages of the user: all up to the model's next word belong to these calls.
        let answers = &rest[..rest
            .iter()
            .position(|next| next.role == Role::Assistant)
            .unwrap_or(rest.len())];
        let calls = spoken.iter().filter_map(|one| one.call());
        let outcomes: Vec<_> = calls.map(|call| outcome(&call.id, answers)).collect();
        turns.push(Turn::Assistant(spoken));
        if !outcomes.is_empty() {
            turns.push(Turn::Results(outcomes));
        }
    }
    turns
}

fn said_by_user<'a>(turns: &mut Vec<Turn<'a>>, parts: Vec<Part<'a>>) {
    // Templates of local models demand that the speakers take turns.
    match turns.last_mut() {
        Some(Turn::User(before)) => before.extend(parts),
        _ => turns.push(Turn::User(parts)),
    }
}

fn parts<'a>(message: &'a Message) -> Vec<Part<'a>> {
    let part = |block: &'a Block| match block {
        Block::Text { text } if !text.is_empty() => Some(Part::Text(text)),
        Block::Image(image) => Some(Part::Image(image)),
        _ => None,
    };
    message.blocks.iter().filter_map(part).collect()
}

fn spoken<'a>(message: &'a Message, reader: Reader<'_>) -> Vec<Spoken<'a>> {
    let mut spoken: Vec<Spoken<'a>> = Vec::with_capacity(message.blocks.len());
    for block in &message.blocks {
        match block {
            Block::Text { text } if !text.is_empty() => spoken.push(Spoken::Text(text)),
            Block::Reasoning(thought) => {
                let sealed = thought.sealed.as_ref();
                let own = sealed.filter(|sealed| sealed.is_for(reader.model, reader.api));
                spoken.extend(own.map(|sealed| Spoken::Thought {
                    text: &thought.text,
                    content: &sealed.content,
                }));
            }
            Block::ToolCall(call) => {
                let mut earlier = spoken.iter().filter_map(|one| one.call());
                if earlier.all(|earlier| earlier.id != call.id) {
                    spoken.push(Spoken::Call(call));
                }
            }
            _ => {}
        }
    }
    spoken
}

fn outcome<'a>(id: &'a str, answers: &'a [Message]) -> ToolOutcome<'a> {
    let result = answers
        .iter()
        .flat_map(|message| &message.blocks)
        .find_map(|block| match block {
            Block::ToolResult {
                id: answered,
                ok,
                output,
            } if answered == id => Some((*ok, output.as_str())),
            _ => None,
        });
    let (ok, output) = result.unwrap_or((false, NO_RESULT));
    ToolOutcome {
        id,
        ok,
        output: Cow::Borrowed(output),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{Reasoning, Sealed};

    const READER: Reader<'_> = Reader {
        model: "p/m",
        api: "api",
    };

    /// `u:text`, `a:text`, `t:text@model` (a thought), `c:id` (a call), `r:id=output`; `|` ends a message.
    fn conversation(short: &str) -> Vec<Message> {
        short
            .split('|')
            .map(|message| {
                let mut role = Role::User;
                let blocks = message
                    .split_whitespace()
                    .map(|block| match block.split_once(':').unwrap() {
                        ("u", text) => Block::text(text),
                        ("a", text) => {
                            role = Role::Assistant;
                            Block::text(text)
                        }
                        ("t", thought) => {
                            role = Role::Assistant;
                            let (text, model) = thought.split_once('@').unwrap();
                            Block::Reasoning(Reasoning {
                                text: text.into(),
                                sealed: Some(Sealed {
                                    model: model.into(),
                                    api: READER.api.into(),
                                    content: json!(text),
                                }),
                            })
                        }
                        ("c", id) => {
                            role = Role::Assistant;
                            let input = json!({});
                            Block::ToolCall(ToolCall {
                                id: id.into(),
                                name: "t".into(),
                                input,
                                malformed: None,
                                repaired: None,
                            })
                        }
                        ("r", result) => {
                            let (id, output) = result.split_once('=').unwrap();
                            Block::ToolResult {
                                id: id.into(),
                                ok: true,
                                output: output.into(),
                            }
                        }
                        other => panic!("{other:?}"),
                    })
                    .collect();
                Message { role, blocks }
            })
            .collect()
    }

    fn check(short: &str, wanted: &str) {
        let messages = conversation(short);
        let shown: Vec<String> = turns(&messages, READER)
            .iter()
            .map(|turn| match turn {
                Turn::User(parts) => {
                    let shown = parts.iter().map(|part| match part {
                        Part::Text(text) => *text,
                        Part::Image(_) => "image",
                    });
                    format!("u:{}", shown.collect::<Vec<_>>().join("+"))
                }
                Turn::Assistant(spoken) => {
                    let shown = spoken.iter().map(|one| match one {
                        Spoken::Thought { text, .. } => format!("t:{text}"),
                        Spoken::Text(text) => format!("a:{text}"),
                        Spoken::Call(call) => format!("c:{}", call.id),
                    });
                    shown.collect::<Vec<_>>().join(" ")
                }
                Turn::Results(outcomes) => outcomes
                    .iter()
                    .map(|outcome| {
                        format!(
                            "r:{}={}",
                            outcome.id,
                            outcome.output.replace(NO_RESULT, "none")
                        )
                    })
                    .collect::<Vec<_>>()
                    .join(" "),
            })
            .collect();
        assert_eq!(shown.join(" | "), wanted, "{short}");
    }

    #[test]
    fn every_call_has_its_result_right_after_it() {
        check("u:hi|a:hello", "u:hi | a:hello");
        check(
            "u:x|a:y c:1 c:2|r:1=A r:2=B|a:z",
            "u:x | a:y c:1 c:2 | r:1=A r:2=B | a:z",
        );
        check(
            "u:x|c:1 c:2|r:2=B|u:go",
            "u:x | c:1 c:2 | r:1=none r:2=B | u:go",
        );
        check(
            "u:x|c:1 c:2|r:2=B|r:1=A u:go",
            "u:x | c:1 c:2 | r:1=A r:2=B | u:go",
        );
        check("u:x|c:1", "u:x | c:1 | r:1=none");
        check("u:x|c:1|u:go", "u:x | c:1 | r:1=none | u:go");
        check("r:9=lost u:x|a:y", "u:x | a:y");
        check("u:x|c:1 c:1|r:1=A r:1=B", "u:x | c:1 | r:1=A");
        check("u:x|c:0|r:0=A|c:0|r:0=B", "u:x | c:0 | r:0=A | c:0 | r:0=B");
        check("u:a|u:b", "u:a+b");
        check("u:a|a:|u:b", "u:a+b");
        check("u:x|c:1|a:late|r:1=A", "u:x | c:1 | r:1=none | a:late");
    }

    #[test]
    fn what_was_thought_stays_where_it_was_and_goes_to_no_other() {
        check("u:x|t:hm@p/m a:y", "u:x | t:hm a:y");
        check(
            "u:x|a:y t:hm@p/m c:1 t:so@p/m c:2|r:1=A r:2=B",
            "u:x | a:y t:hm c:1 t:so c:2 | r:1=A r:2=B",
        );
        check("u:x|t:hm@p/other a:y", "u:x | a:y");
        check("u:x|t:hm@p/m|u:go", "u:x+go");
    }
}
