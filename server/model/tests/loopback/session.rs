//! A session as the script has it, played with a provider: each answer is put into the conversation as the agent does it, and the
//! next is asked for with all that was said.

use std::sync::Arc;

use futures::StreamExt;
use model::{
    Api, Block, Message, Provider, Reasoning, Request, Role, Sealed, Stop, StreamEvent, Usage,
};
use tokio_util::sync::CancellationToken;

use crate::script::{Ends, Said, Turn, reply, tools};
use crate::spoken;

/// Asks for each turn in its order, and adds it to the conversation. What all of it used.
pub async fn play(
    provider: &Arc<dyn Provider>,
    turns: &[Turn],
    messages: &mut Vec<Message>,
) -> Usage {
    let mut used = Usage::default();
    for turn in turns {
        let request = Request {
            system: "You fix code – größer.".to_owned(),
            messages: messages.clone(),
            tools: tools(),
            ..Request::default()
        };
        let (blocks, stop) = listen(provider, &request, &mut used).await;
        let due = match turn.ends {
            Ends::Calls => Stop::ToolCalls,
            Ends::Prompt(_) => Stop::End,
            Ends::Pause => Stop::Paused,
        };
        assert_eq!(stop, due, "{}: {blocks:?}", provider.id());
        messages.push(Message {
            role: Role::Assistant,
            blocks,
        });
        messages.extend(reply(turn));
    }
    used
}

async fn listen(
    provider: &Arc<dyn Provider>,
    request: &Request,
    used: &mut Usage,
) -> (Vec<Block>, Stop) {
    let cancel = CancellationToken::new();
    let mut stream = provider.stream(request, &cancel).await.unwrap();
    let (mut blocks, mut thinks) = (Vec::new(), String::new());
    while let Some(step) = stream.next().await {
        match step.unwrap() {
            StreamEvent::Text(more) => match blocks.last_mut() {
                Some(Block::Text { text }) => text.push_str(&more),
                _ => blocks.push(Block::text(more)),
            },
            StreamEvent::Reasoning(more) => thinks.push_str(&more),
            StreamEvent::Thought(thought) => {
                assert!(
                    thinks.contains(&thought.text),
                    "it is told before: {thinks} {thought:?}"
                );
                blocks.push(Block::Reasoning(thought));
            }
            StreamEvent::ToolCall(call) => blocks.push(Block::ToolCall(call)),
            StreamEvent::Usage(usage) => *used += usage,
            StreamEvent::Done(stop) => return (blocks, stop),
            other => panic!("{other:?}"),
        }
    }
    panic!("{} ended without its end", provider.id());
}

/// The turns as this format can say them. Only Anthropic's pauses: what the others say is one answer, where it says two.
pub fn sayable(api: Api, turns: Vec<Turn>) -> Vec<Turn> {
    let mut sayable: Vec<Turn> = Vec::new();
    for turn in turns {
        match sayable.last_mut() {
            Some(before) if before.ends == Ends::Pause && api != Api::Anthropic => {
                before.said.extend(turn.said);
                before.usage += turn.usage;
                before.ends = turn.ends;
            }
            _ => sayable.push(turn),
        }
    }
    sayable
}

/// What the conversation has of an answer. Messages and Responses hold all of it, in its order. Chat Completions have no order: text
/// first, then what was thought, which is kept where calls follow from it and nowhere else, then the calls.
pub fn held(api: Api, model: &str, turn: &Turn) -> Vec<Block> {
    let thought = |at: usize, text: &str| {
        Block::Reasoning(Reasoning {
            text: text.to_owned(),
            sealed: Some(Sealed {
                model: model.to_owned(),
                api: api.as_str().to_owned(),
                content: spoken::sealed(api, at, text),
            }),
        })
    };
    if api == Api::OpenaiChat {
        let (texts, thoughts) = (turn.texts(), turn.thoughts());
        let text = (!texts.is_empty()).then(|| Block::text(texts.join("\n\n")));
        let calls: Vec<_> = turn
            .calls()
            .map(|call| Block::ToolCall(call.made()))
            .collect();
        let thought =
            (!thoughts.is_empty() && !calls.is_empty()).then(|| thought(0, &thoughts.concat()));
        return text.into_iter().chain(thought).chain(calls).collect();
    }
    let said = turn.said.iter().enumerate();
    let block = |(at, said): (usize, &Said)| match said {
        Said::Thought(text) => thought(at, text),
        Said::Text(text) => Block::text(text),
        Said::Call(call) => Block::ToolCall(call.made()),
    };
    said.map(block).collect()
}
