//! The conversation as turns in which every call has exactly one result, right after it: what all the wire formats demand
//! and what a cancelled run, a compacted session or a damaged file may have left undone. It changes nothing that was stored.

use std::borrow::Cow;

use crate::{Block, Message, Role, ToolCall};

/// Said to the model in place of a result that is not there.
const NO_RESULT: &str = "(There is no result: the run ended before this call was carried out.)";

/// One turn.
#[derive(Debug, PartialEq)]
pub(crate) enum Turn<'a> {
    /// What the person said.
    User(Vec<&'a str>),
    /// What the model said and called.
    Assistant {
        texts: Vec<&'a str>,
        calls: Vec<&'a ToolCall>,
    },
    /// What its calls gave: one for each call of the turn before, in their order.
    Results(Vec<ToolOutcome<'a>>),
}

/// The result of one call.
#[derive(Debug, PartialEq)]
pub(crate) struct ToolOutcome<'a> {
    pub(crate) id: &'a str,
    pub(crate) output: Cow<'a, str>,
}

/// The turns of a conversation. Results without a call, and empty messages, are left out.
pub(crate) fn turns(messages: &[Message]) -> Vec<Turn<'_>> {
    let mut turns = Vec::with_capacity(messages.len());
    let mut rest = messages;
    while let Some((message, after)) = rest.split_first() {
        rest = after;
        let texts = texts(message);
        if message.role == Role::User {
            if !texts.is_empty() {
                said_by_user(&mut turns, texts);
            }
            continue;
        }
        let calls = calls(message);
        if texts.is_empty() && calls.is_empty() {
            continue;
        }
        // Results may be spread over several messages of the user: all up to the model's next word belong to these calls.
        let answers = &rest[..rest
            .iter()
            .position(|next| next.role == Role::Assistant)
            .unwrap_or(rest.len())];
        let outcomes: Vec<_> = calls
            .iter()
            .map(|call| outcome(&call.id, answers))
            .collect();
        turns.push(Turn::Assistant { texts, calls });
        if !outcomes.is_empty() {
            turns.push(Turn::Results(outcomes));
        }
    }
    turns
}

fn said_by_user<'a>(turns: &mut Vec<Turn<'a>>, texts: Vec<&'a str>) {
    // Templates of local models demand that the speakers take turns.
    match turns.last_mut() {
        Some(Turn::User(before)) => before.extend(texts),
        _ => turns.push(Turn::User(texts)),
    }
}

fn texts<'a>(message: &'a Message) -> Vec<&'a str> {
    let text = |block: &'a Block| match block {
        Block::Text { text } if !text.is_empty() => Some(text.as_str()),
        _ => None,
    };
    message.blocks.iter().filter_map(text).collect()
}

fn calls(message: &Message) -> Vec<&ToolCall> {
    let mut calls: Vec<&ToolCall> = Vec::new();
    for block in &message.blocks {
        if let Block::ToolCall(call) = block
            && calls.iter().all(|earlier| earlier.id != call.id)
        {
            calls.push(call);
        }
    }
    calls
}

fn outcome<'a>(id: &'a str, answers: &'a [Message]) -> ToolOutcome<'a> {
    let output = answers
        .iter()
        .flat_map(|message| &message.blocks)
        .find_map(|block| match block {
            Block::ToolResult {
                id: answered,
                output,
                ..
            } if answered == id => Some(Cow::Borrowed(output.as_str())),
            _ => None,
        });
    ToolOutcome {
        id,
        output: output.unwrap_or(Cow::Borrowed(NO_RESULT)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// `u:text`, `a:text`, `c:id` (a call), `r:id=output`; `|` ends a message.
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
                        ("c", id) => {
                            role = Role::Assistant;
                            let input = json!({});
                            Block::ToolCall(ToolCall {
                                id: id.into(),
                                name: "t".into(),
                                input,
                                malformed: None,
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
        let shown: Vec<String> = turns(&messages)
            .iter()
            .map(|turn| match turn {
                Turn::User(texts) => format!("u:{}", texts.join("+")),
                Turn::Assistant { texts, calls } => {
                    let calls: Vec<_> = calls.iter().map(|call| call.id.as_str()).collect();
                    format!("a:{} c:{}", texts.join("+"), calls.join("+"))
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
        check("u:hi|a:hello", "u:hi | a:hello c:");
        check(
            "u:x|a:y c:1 c:2|r:1=A r:2=B|a:z",
            "u:x | a:y c:1+2 | r:1=A r:2=B | a:z c:",
        );
        check(
            "u:x|c:1 c:2|r:2=B|u:go",
            "u:x | a: c:1+2 | r:1=none r:2=B | u:go",
        );
        check(
            "u:x|c:1 c:2|r:2=B|r:1=A u:go",
            "u:x | a: c:1+2 | r:1=A r:2=B | u:go",
        );
        check("u:x|c:1", "u:x | a: c:1 | r:1=none");
        check("u:x|c:1|u:go", "u:x | a: c:1 | r:1=none | u:go");
        check("r:9=lost u:x|a:y", "u:x | a:y c:");
        check("u:x|c:1 c:1|r:1=A r:1=B", "u:x | a: c:1 | r:1=A");
        check(
            "u:x|c:0|r:0=A|c:0|r:0=B",
            "u:x | a: c:0 | r:0=A | a: c:0 | r:0=B",
        );
        check("u:a|u:b", "u:a+b");
        check("u:a|a:|u:b", "u:a+b");
        check(
            "u:x|c:1|a:late|r:1=A",
            "u:x | a: c:1 | r:1=none | a:late c:",
        );
    }
}
