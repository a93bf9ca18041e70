//! Sessions that change their provider half way, and back: what the other thought is not told, ids are such as every provider
//! takes, each call has its result, and nothing that was said is lost. The checker of requests sees all of it.

use std::collections::{BTreeSet, VecDeque};

use model::{Api, Block};
use serde_json::Value;
use tokio::sync::mpsc::UnboundedReceiver;

use crate::provider_of;
use crate::script::{Turn, opening, script};
use crate::server::{Answer, Seen, chunks, server};
use crate::session::{held, play, sayable};
use crate::spoken::{FORMATS, Manner, streamed};

/// The turns of each part: the first ends in the middle of calls.
const PARTS: [std::ops::Range<usize>; 3] = [0..10, 10..22, 22..30];

#[tokio::test]
async fn from_each_format_to_each_and_back() {
    for from in FORMATS {
        for to in FORMATS {
            there_and_back(from, to).await;
        }
    }
}

async fn there_and_back(from: Api, to: Api) {
    let parts = PARTS.map(|part| {
        let mut turns: Vec<_> = script();
        turns.truncate(part.end);
        turns.split_off(part.start)
    });
    let [first, second, third] = parts;
    let parts = [
        (from, "one", first),
        (to, "two", second),
        (from, "one", third),
    ];
    let parts = parts.map(|(api, name, turns)| (api, name, sayable(api, turns)));
    let answers = parts.iter().flat_map(|(api, _, turns)| {
        turns.iter().map(|turn| {
            let body = streamed(*api, turn, Manner::default());
            Answer::Raw(chunks(&body, []))
        })
    });
    let (url, mut sees) = server(answers.collect()).await;
    let mut messages = vec![opening()];
    // What each has thought, as far as it is kept.
    let mut thoughts: Vec<(&str, String)> = Vec::new();
    for (api, name, turns) in &parts {
        let provider = provider_of(*api, name, &url);
        play(&provider, turns, &mut messages).await;
        let bodies = bodies(&mut sees);
        assert_eq!(bodies.len(), turns.len());
        for body in &bodies {
            let calls = paired(*api, body);
            assert!(calls.iter().all(|id| fits(id)), "{calls:?}");
            let distinct: BTreeSet<_> = calls.iter().collect();
            assert_eq!(distinct.len(), calls.len(), "{calls:?}");
            let body = body.to_string();
            for (thinker, thought) in &thoughts {
                assert_eq!(
                    body.contains(thought),
                    thinker == name,
                    "{from:?} to {to:?}: “{thought}” of {thinker} is told to {name}"
                );
            }
        }
        for turn in turns {
            // A text that was thought can't be in what is said, for it begins with its number.
            let held = held(*api, provider.id(), turn);
            let is_kept = held
                .iter()
                .any(|block| matches!(block, Block::Reasoning(_)));
            let texts = turn.thoughts().into_iter().filter(|_| is_kept);
            thoughts.extend(texts.map(|text| (*name, text[.."thought-00".len()].to_owned())));
        }
        let last = bodies.last().unwrap();
        let so_far = messages.iter().flat_map(|message| &message.blocks);
        let called = so_far
            .filter(|block| matches!(block, Block::ToolCall(_)))
            .count();
        let just_now = turns.last().map_or(0, |turn| turn.calls().count());
        assert_eq!(paired(*api, last).len(), called - just_now, "none is lost");
    }
    let all: Vec<Turn> = script();
    let texts = all.iter().flat_map(|turn| turn.texts());
    let said = serde_json::to_string(&messages).unwrap();
    for text in texts {
        let text = serde_json::to_string(text).unwrap();
        assert!(said.contains(text.trim_matches('"')), "{text} is lost");
    }
}

fn bodies(sees: &mut UnboundedReceiver<Seen>) -> Vec<Value> {
    let mut bodies = Vec::new();
    while let Ok(seen) = sees.try_recv() {
        if let Seen::Request(request) = seen {
            let (_, body) = request.split_once("\r\n\r\n").unwrap();
            bodies.push(serde_json::from_str(body).unwrap());
        }
    }
    bodies
}

/// What every provider takes for an id.
fn fits(id: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    !id.is_empty() && id.len() <= 40 && id.chars().all(fits)
}

/// The ids of all calls in a request, each of which must be answered right behind its answer, and in its order.
fn paired(api: Api, body: &Value) -> Vec<String> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    // Of each message or item: the calls that it makes, and those that it answers.
    let items: Vec<(Vec<Value>, Vec<Value>)> = match api {
        Api::Anthropic => {
            let ids = |said: &Value, kind: &str, key: &str| {
                let pieces = list(&said["content"]).into_iter();
                let pieces = pieces.filter(|piece| piece["type"] == kind);
                pieces.map(|piece| piece[key].clone()).collect()
            };
            let said = list(&body["messages"]).into_iter();
            said.map(|said| {
                (
                    ids(&said, "tool_use", "id"),
                    ids(&said, "tool_result", "tool_use_id"),
                )
            })
            .collect()
        }
        Api::OpenaiChat => {
            let said = list(&body["messages"]).into_iter();
            said.map(|said| {
                let calls = list(&said["tool_calls"]).into_iter();
                let answered = Some(said["tool_call_id"].clone()).filter(Value::is_string);
                (
                    calls.map(|call| call["id"].clone()).collect(),
                    answered.into_iter().collect(),
                )
            })
            .collect()
        }
        Api::OpenaiResponses => {
            let items = list(&body["input"]).into_iter();
            items
                .map(|item| {
                    let id = |kind: &str| {
                        let is_it = item["type"] == kind;
                        is_it.then(|| item["call_id"].clone()).into_iter().collect()
                    };
                    (id("function_call"), id("function_call_output"))
                })
                .collect()
        }
    };
    let (mut open, mut all) = (VecDeque::new(), Vec::new());
    for (calls, answered) in items {
        for id in answered {
            assert_eq!(Some(id), open.pop_front(), "{body}");
        }
        all.extend(calls.iter().map(|id| id.as_str().unwrap().to_owned()));
        open.extend(calls);
    }
    assert!(open.is_empty(), "{open:?}: {body}");
    all
}
