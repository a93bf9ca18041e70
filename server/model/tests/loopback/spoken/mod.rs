//! What a script says, in the words of each wire format as its provider documents them, streamed and whole.

mod anthropic;
mod chat;
mod responses;

use model::Api;
use serde_json::Value;

use crate::script::{Call, Said, Turn};

/// In which a model is asked and answers.
pub const FORMATS: [Api; 3] = [Api::Anthropic, Api::OpenaiResponses, Api::OpenaiChat];

/// An event: its name, if the format gives it one, and what it says.
pub type Event = (&'static str, Value);

/// How a server streams.
#[derive(Debug, Clone, Copy)]
pub struct Manner {
    /// Characters in one piece of a text or of arguments.
    pub piece: usize,
    /// What ends a line.
    pub line: &'static str,
    /// Whether calls that stand side by side come side by side, too: a piece of one, a piece of the next.
    pub side_by_side: bool,
    /// Whether signs of life come between the events.
    pub alive: bool,
}

impl Default for Manner {
    fn default() -> Self {
        Self {
            piece: 6,
            line: "\n",
            side_by_side: false,
            alive: false,
        }
    }
}

/// The body of a streamed answer.
pub fn streamed(api: Api, turn: &Turn, manner: Manner) -> Vec<u8> {
    let mut body = String::new();
    let line = manner.line;
    for (name, data) in events(api, turn, manner) {
        if manner.alive {
            body.push_str(&format!(
                ": alive{line}{line}event: ping{line}data: {{\"type\": \"ping\"}}{line}{line}"
            ));
        }
        if !name.is_empty() {
            body.push_str(&format!("event: {name}{line}"));
        }
        body.push_str(&format!("data: {data}{line}{line}"));
    }
    if api == Api::OpenaiChat {
        body.push_str(&format!("data: [DONE]{line}{line}"));
    }
    body.into_bytes()
}

/// The events of a streamed answer; what is no JSON at its end is left out.
pub fn events(api: Api, turn: &Turn, manner: Manner) -> Vec<Event> {
    match api {
        Api::Anthropic => anthropic::events(turn, manner),
        Api::OpenaiResponses => responses::events(turn, manner),
        Api::OpenaiChat => chat::events(turn, manner),
    }
}

/// An answer in one piece.
pub fn whole(api: Api, turn: &Turn) -> Value {
    match api {
        Api::Anthropic => anthropic::whole(turn),
        Api::OpenaiResponses => responses::whole(turn),
        Api::OpenaiChat => chat::whole(turn),
    }
}

/// What the format wants back of a thought, which is the piece of that number in its answer.
pub fn sealed(api: Api, at: usize, thought: &str) -> Value {
    match api {
        Api::Anthropic => anthropic::sealed(thought),
        Api::OpenaiResponses => responses::sealed(at, thought),
        Api::OpenaiChat => chat::sealed(thought),
    }
}

/// What a streamed answer does next; the number is that of the block, or of the item.
enum Step<'a> {
    Thought(usize, &'a str),
    Text(usize, &'a str),
    Begin(usize, &'a Call),
    Piece(usize, &'a str),
    End(usize, &'a Call),
}

fn steps<'a>(said: impl Iterator<Item = &'a Said>, manner: Manner) -> Vec<Step<'a>> {
    let mut steps = Vec::new();
    let mut together: Vec<(usize, &Call)> = Vec::new();
    for (at, said) in said.enumerate() {
        if let Said::Call(call) = said {
            together.push((at, call));
            if !manner.side_by_side {
                calls(&mut together, manner, &mut steps);
            }
            continue;
        }
        calls(&mut together, manner, &mut steps);
        steps.push(match said {
            Said::Thought(text) => Step::Thought(at, text),
            Said::Text(text) => Step::Text(at, text),
            Said::Call(_) => unreachable!("dealt with"),
        });
    }
    calls(&mut together, manner, &mut steps);
    steps
}

fn calls<'a>(together: &mut Vec<(usize, &'a Call)>, manner: Manner, steps: &mut Vec<Step<'a>>) {
    let together = std::mem::take(together);
    steps.extend(together.iter().map(|(at, call)| Step::Begin(*at, call)));
    let mut pieces: Vec<_> = together
        .iter()
        .map(|(at, call)| (*at, pieces(&call.written, manner.piece)))
        .collect();
    while !pieces.is_empty() {
        pieces.retain_mut(|(at, rest)| {
            let next = rest.next();
            steps.extend(next.map(|piece| Step::Piece(*at, piece)));
            next.is_some()
        });
    }
    steps.extend(together.iter().map(|(at, call)| Step::End(*at, call)));
}

/// The text in pieces of so many characters.
fn pieces(text: &str, size: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = rest.char_indices().nth(size);
        let (piece, after) = rest.split_at(end.map_or(rest.len(), |(at, _)| at));
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}
