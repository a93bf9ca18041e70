//! Puts the blocks of an answer together from their pieces, and gives them in the order in which they began, each as soon as
//! those before it are complete. Text and thoughts go out as they come.

use serde_json::{Map, Value, json};

use crate::call::new_id;
use crate::{Api, Reasoning, Sealed, StreamEvent, ToolCall, arguments};

/// The blocks of one answer.
pub(super) struct Blocks {
    /// The full name of the model that answers.
    model: String,
    all: Vec<Block>,
    /// So many of them, from the first, have been given.
    given: usize,
    /// The ids of the calls among those.
    ids: Vec<String>,
}

struct Block {
    index: Option<u64>,
    kind: Kind,
    /// Nothing of it is to come, as far as is known.
    closed: bool,
    /// Its end was told.
    stopped: bool,
}

enum Kind {
    /// What of it was not given yet.
    Text(String),
    Thinking {
        text: String,
        /// So many bytes of it were given.
        told: usize,
        signature: String,
    },
    /// Thoughts that only the provider can read.
    Redacted(String),
    Call {
        id: String,
        name: String,
        arguments: String,
        /// The arguments, if they came with the beginning.
        input: Value,
    },
    /// Something that we did not ask for: its pieces are not mistaken for another's.
    Unknown,
}

impl Blocks {
    pub(super) fn new(model: &str) -> Self {
        Self {
            model: model.to_owned(),
            all: Vec::new(),
            given: 0,
            ids: Vec::new(),
        }
    }

    /// Whether anything has begun.
    pub(super) fn any(&self) -> bool {
        !self.all.is_empty()
    }

    /// Whether a call was given.
    pub(super) fn called(&self) -> bool {
        !self.ids.is_empty()
    }

    /// A block begins.
    pub(super) fn start(&mut self, index: Option<u64>, wire: &Value, out: &mut Vec<StreamEvent>) {
        let kind = Kind::of(wire);
        if !self.goes_on(index, &kind) {
            self.begin(index, kind);
            self.give(out);
        }
    }

    /// The next piece of a block. Which kind of piece it is, its fields say.
    pub(super) fn delta(&mut self, index: Option<u64>, wire: &Value, out: &mut Vec<StreamEvent>) {
        let is_its = |block: &&Block| index.is_none() || block.index == index;
        let latest = self.all.iter().rev().find(is_its);
        if latest.is_some_and(|block| matches!(block.kind, Kind::Unknown)) {
            return;
        }
        if let Some(piece) = text(&wire["text"]) {
            match self.find(index, |kind| matches!(kind, Kind::Text(_))) {
                Some(Kind::Text(text)) => text.push_str(piece),
                _ => self.begin(index, Kind::Text(piece.to_owned())),
            }
        }
        if let Some(piece) = text(&wire["thinking"]) {
            match self.find(index, |kind| matches!(kind, Kind::Thinking { .. })) {
                Some(Kind::Thinking { text, .. }) => text.push_str(piece),
                _ => self.begin(index, Kind::thinking(piece, "")),
            }
        }
        if let Some(piece) = text(&wire["signature"])
            && let Some(Kind::Thinking { signature, .. }) =
                self.find(index, |kind| matches!(kind, Kind::Thinking { .. }))
        {
            signature.push_str(piece);
        }
        let piece = &wire["partial_json"];
        if !piece.is_null() {
            let call = self.find(index, |kind| matches!(kind, Kind::Call { .. }));
            if let Some(Kind::Call { arguments, .. }) = call {
                match piece.as_str() {
                    Some(piece) => arguments.push_str(piece),
                    // Some servers parse them first.
                    None => arguments.push_str(&piece.to_string()),
                }
            } else {
                tracing::warn!(index, "arguments came that are of no call");
            }
        }
        self.give(out);
    }

    /// A block ends.
    pub(super) fn stop(&mut self, index: Option<u64>, out: &mut Vec<StreamEvent>) {
        let is_its = |block: &&mut Block| index.is_none() || block.index == index;
        if let Some(block) = self.all.iter_mut().rev().find(is_its) {
            block.closed = true;
            block.stopped = true;
        }
        self.give(out);
    }

    /// Gives all that is left, whole or not: the model has ended.
    pub(super) fn end(&mut self, out: &mut Vec<StreamEvent>) {
        for block in &mut self.all {
            block.closed = true;
        }
        self.give(out);
    }

    /// Gives what is whole, if there is a call among it: the answer was cut. Whether a call was given, now or before.
    pub(super) fn cut(&mut self, out: &mut Vec<StreamEvent>) -> bool {
        let mut at = 0;
        let given = self.given;
        self.all.retain(|block| {
            at += 1;
            at <= given || block.is_whole()
        });
        let left = self.all.iter().skip(self.given);
        let calls = left.filter(|block| matches!(block.kind, Kind::Call { .. }));
        if self.called() || calls.count() > 0 {
            self.end(out);
        }
        self.called()
    }

    /// Whether a beginning is one of a block that is there: llama.cpp begins again what its last chunk goes on with.
    fn goes_on(&self, index: Option<u64>, again: &Kind) -> bool {
        let mut blocks = self.all.iter().rev();
        let there = blocks.find(|block| index.is_some() && block.index == index);
        let kind = there
            .filter(|block| !block.stopped)
            .map(|block| &block.kind);
        match (kind, again) {
            (Some(Kind::Text(_)), Kind::Text(text)) => text.is_empty(),
            (
                Some(Kind::Thinking { signature, .. }),
                Kind::Thinking {
                    text,
                    signature: new,
                    ..
                },
            ) => text.is_empty() && new.is_empty() && signature.is_empty(),
            (Some(Kind::Call { id, .. }), Kind::Call { id: new, .. }) => {
                !id.is_empty() && id == new
            }
            _ => false,
        }
    }

    fn begin(&mut self, index: Option<u64>, kind: Kind) {
        // Blocks of text and thoughts come one after the other. Several servers end each only when all is said, or never.
        for block in self.all.iter_mut().skip(self.given) {
            block.closed |= match &block.kind {
                Kind::Text(_) | Kind::Thinking { .. } => true,
                Kind::Call { .. } => block.is_whole(),
                Kind::Redacted(_) | Kind::Unknown => false,
            };
        }
        let closed = matches!(kind, Kind::Redacted(_) | Kind::Unknown);
        self.all.push(Block {
            index,
            kind,
            closed,
            stopped: false,
        });
    }

    /// The block that a piece belongs to, unless it was given.
    fn find(&mut self, index: Option<u64>, fits: impl Fn(&Kind) -> bool) -> Option<&mut Kind> {
        let open = self.all.iter_mut().skip(self.given);
        let kinds = open.filter(|block| index.is_none() || block.index == index);
        kinds
            .map(|block| &mut block.kind)
            .filter(|kind| fits(kind))
            .last()
    }

    fn give(&mut self, out: &mut Vec<StreamEvent>) {
        while let Some(block) = self.all.get_mut(self.given) {
            block.kind.tell(out);
            if !block.closed {
                return;
            }
            self.given += 1;
            match &block.kind {
                Kind::Text(_) | Kind::Unknown => {}
                Kind::Thinking {
                    text, signature, ..
                } => {
                    // Without a signature nobody wants it back.
                    let sealed = (!signature.is_empty())
                        .then(|| json!({ "type": "thinking", "signature": signature }));
                    if sealed.is_some() || !text.is_empty() {
                        let thought = thought(&self.model, text.clone(), sealed);
                        out.push(StreamEvent::Thought(thought));
                    }
                }
                Kind::Redacted(data) => {
                    let sealed = json!({ "type": "redacted_thinking", "data": data });
                    let thought = thought(&self.model, String::new(), Some(sealed));
                    out.push(StreamEvent::Thought(thought));
                }
                Kind::Call {
                    id,
                    name,
                    arguments,
                    input,
                } => {
                    if let Some(call) = call(id, name, arguments, input, self.given, &self.ids) {
                        self.ids.push(call.id.clone());
                        out.push(StreamEvent::ToolCall(call));
                    }
                }
            }
        }
    }
}

impl Block {
    /// Nothing has to follow, whether its end was told or not.
    fn is_whole(&self) -> bool {
        match &self.kind {
            _ if self.closed => true,
            Kind::Text(_) | Kind::Redacted(_) | Kind::Unknown => true,
            Kind::Thinking { .. } => false,
            Kind::Call {
                name,
                arguments,
                input,
                ..
            } => {
                let came_with_beginning = input.as_object().is_some_and(|input| !input.is_empty());
                !name.is_empty()
                    && (arguments::is_whole(arguments)
                        || (arguments.trim().is_empty() && came_with_beginning))
            }
        }
    }
}

impl Kind {
    fn of(wire: &Value) -> Self {
        let string = |key: &str| wire[key].as_str().unwrap_or_default().to_owned();
        match wire["type"].as_str() {
            Some("text") => Self::Text(string("text")),
            Some("thinking") => Self::thinking(&string("thinking"), &string("signature")),
            Some("redacted_thinking") => match text(&wire["data"]) {
                Some(data) => Self::Redacted(data.to_owned()),
                None => Self::Unknown,
            },
            Some("tool_use") => Self::Call {
                id: string("id"),
                name: string("name"),
                arguments: String::new(),
                input: wire["input"].clone(),
            },
            _ => Self::Unknown,
        }
    }

    fn thinking(text: &str, signature: &str) -> Self {
        Self::Thinking {
            text: text.to_owned(),
            told: 0,
            signature: signature.to_owned(),
        }
    }

    /// Gives what was not given of texts.
    fn tell(&mut self, out: &mut Vec<StreamEvent>) {
        match self {
            Self::Text(text) if !text.is_empty() => {
                out.push(StreamEvent::Text(std::mem::take(text)));
            }
            Self::Thinking { text, told, .. } if text.len() > *told => {
                let new = text.get(*told..).unwrap_or_default().to_owned();
                *told = text.len();
                out.push(StreamEvent::Reasoning(new));
            }
            _ => {}
        }
    }
}

fn thought(model: &str, text: String, sealed: Option<Value>) -> Reasoning {
    Reasoning {
        text,
        sealed: sealed.map(|content| Sealed {
            model: model.to_owned(),
            api: Api::Anthropic.as_str().to_owned(),
            content,
        }),
    }
}

/// The call, unless it is an artefact: neither a name nor arguments ever came.
fn call(
    id: &str,
    name: &str,
    pieces: &str,
    input: &Value,
    number: usize,
    taken: &[String],
) -> Option<ToolCall> {
    let is_own = !id.is_empty() && taken.iter().all(|earlier| earlier != id);
    let id = if is_own {
        id.to_owned()
    } else {
        new_id(number)
    };
    let has_pieces = !pieces.trim().is_empty();
    let written = match input {
        _ if has_pieces => pieces.to_owned(),
        Value::String(text) => text.clone(),
        Value::Null | Value::Object(_) => String::new(),
        other => other.to_string(),
    };
    let mut call = arguments::call(id, name.to_owned(), written);
    if !has_pieces && input.is_object() {
        call.input = input.clone();
    }
    let is_empty = call.malformed.is_none() && call.input.as_object().is_none_or(Map::is_empty);
    (!name.is_empty() || !is_empty).then_some(call)
}

fn text(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| !text.is_empty())
}
