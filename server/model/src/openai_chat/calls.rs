//! Puts tool calls together from their pieces, and says which are whole.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::{EXTRA_CONTENT, REASONING_CONTENT};
use crate::call::new_id;
use crate::{Api, Reasoning, Sealed, StreamEvent, arguments};

/// The calls of one answer, in the order in which they began.
pub(super) struct Calls {
    /// The full name of who calls.
    model: String,
    /// What was thought before the next call, if the server calls it as those do who want it back.
    thought: Option<String>,
    open: Vec<Open>,
    /// So many of them, from the first, have been delivered.
    delivered: usize,
}

struct Open {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    /// What Gemini wants back with the call: the signature of its thoughts.
    extra: Option<Value>,
}

/// A piece of a call, as it came.
pub(super) struct Piece<'a> {
    index: Option<u64>,
    id: &'a str,
    name: &'a str,
    arguments: Cow<'a, str>,
    extra: Option<&'a Value>,
    /// It is no piece, but the call.
    whole: bool,
}

impl<'a> Piece<'a> {
    pub(super) fn of(wire: &'a Value, whole: bool) -> Self {
        let function = &wire["function"];
        let arguments = match &function["arguments"] {
            Value::String(text) => Cow::Borrowed(text.as_str()),
            Value::Null => Cow::Borrowed(""),
            // Some servers parse them first.
            other => Cow::Owned(other.to_string()),
        };
        let text = |value: &'a Value| value.as_str().unwrap_or("");
        Self {
            index: wire["index"].as_u64(),
            id: text(&wire["id"]),
            name: text(&function["name"]),
            arguments,
            extra: wire.get(EXTRA_CONTENT).filter(|extra| !extra.is_null()),
            whole,
        }
    }
}

impl Calls {
    pub(super) fn new(model: &str) -> Self {
        Self {
            model: model.to_owned(),
            thought: None,
            open: Vec::new(),
            delivered: 0,
        }
    }

    /// Takes the next piece of what was thought, which may be empty.
    pub(super) fn thought(&mut self, text: &str) {
        self.thought.get_or_insert_default().push_str(text);
    }

    /// Takes the next piece. When it begins a call, those before it that are whole are delivered.
    pub(super) fn take(&mut self, piece: &Piece, out: &mut Vec<StreamEvent>) {
        let Some(at) = self.position(piece) else {
            while self.open.get(self.delivered).is_some_and(Open::is_whole) {
                self.deliver_next(out);
            }
            self.open.push(Open {
                index: piece.index,
                id: piece.id.to_owned(),
                name: piece.name.to_owned(),
                arguments: piece.arguments.clone().into_owned(),
                extra: piece.extra.cloned(),
            });
            return;
        };
        if at < self.delivered {
            if !piece.arguments.trim().is_empty() {
                tracing::warn!(
                    call = self.open[at].id,
                    "a piece of a call came after its end"
                );
            }
            return;
        }
        let call = &mut self.open[at];
        if call.id.is_empty() {
            piece.id.clone_into(&mut call.id);
        }
        // Some repeat the name with every piece, a few cut it.
        if call.name.is_empty() || (call.arguments.is_empty() && call.name != piece.name) {
            call.name.push_str(piece.name);
        }
        call.arguments.push_str(&piece.arguments);
        if let Some(extra) = piece.extra {
            call.extra = Some(extra.clone());
        }
    }

    /// Delivers what is left, whole or not: the model has ended. Whether there was any call at all.
    pub(super) fn deliver_all(&mut self, out: &mut Vec<StreamEvent>) -> bool {
        while self.delivered < self.open.len() {
            self.deliver_next(out);
        }
        self.open.iter().any(|call| !call.is_nothing())
    }

    /// Delivers what is whole: the stream was cut. Whether any was delivered, now or before.
    pub(super) fn deliver_whole(&mut self, out: &mut Vec<StreamEvent>) -> bool {
        let mut at = 0;
        self.open.retain(|call| {
            at += 1;
            at <= self.delivered || call.is_whole()
        });
        self.deliver_all(out)
    }

    /// The call that the piece belongs to, if it has begun.
    fn position(&self, piece: &Piece) -> Option<usize> {
        let last = self.open.last()?;
        if piece.whole {
            return None;
        }
        let begins = !piece.name.is_empty();
        if let Some(index) = piece.index {
            let at = self
                .open
                .iter()
                .rposition(|call| call.index == Some(index))?;
            // Gemini gives every call the index 0; vLLM gave every piece a new id, but a name only to the first.
            let another = begins
                && !piece.id.is_empty()
                && !self.open[at].id.is_empty()
                && piece.id != self.open[at].id;
            return (!another).then_some(at);
        }
        if !piece.id.is_empty() {
            let same = self.open.iter().rposition(|call| call.id == piece.id);
            return same.or_else(|| (!begins).then(|| self.open.len() - 1));
        }
        let another =
            begins && (last.is_whole() || last.name != piece.name && !last.arguments.is_empty());
        (!another).then(|| self.open.len() - 1)
    }

    fn deliver_next(&mut self, out: &mut Vec<StreamEvent>) {
        let (before, rest) = self.open.split_at_mut(self.delivered);
        self.delivered += 1;
        let Some(call) = rest.first_mut().filter(|call| !call.is_nothing()) else {
            return;
        };
        if call.id.is_empty() || before.iter().any(|earlier| earlier.id == call.id) {
            call.id = new_id(self.delivered);
        }
        let mut content = Map::new();
        let text = self.thought.take();
        if let Some(text) = &text {
            content.insert(REASONING_CONTENT.to_owned(), text.as_str().into());
        }
        if let Some(extra) = call.extra.take() {
            content.insert(EXTRA_CONTENT.to_owned(), extra);
        }
        if !content.is_empty() {
            out.push(StreamEvent::Thought(Reasoning {
                text: text.unwrap_or_default(),
                sealed: Some(Sealed {
                    model: self.model.clone(),
                    api: Api::OpenaiChat.as_str().to_owned(),
                    content: Value::Object(content),
                }),
            }));
        }
        out.push(StreamEvent::ToolCall(arguments::call(
            call.id.clone(),
            call.name.clone(),
            call.arguments.clone(),
        )));
    }
}

impl Open {
    /// Its arguments are an object: nothing can follow.
    fn is_whole(&self) -> bool {
        !self.name.is_empty() && arguments::is_whole(&self.arguments)
    }

    /// An artefact: neither a name nor arguments ever came.
    fn is_nothing(&self) -> bool {
        self.name.is_empty() && self.arguments.trim().is_empty()
    }
}
