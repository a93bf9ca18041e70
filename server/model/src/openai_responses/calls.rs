//! The items of an answer that are told of only when they are complete, calls and thoughts, in the order in which they began.
//! Which call an event belongs to is said in several ways, and by some servers in none.

use std::borrow::Cow;

use serde_json::Value;

use crate::call::new_id;
use crate::{Reasoning, StreamEvent, arguments};

/// What is not told yet, and what was.
#[derive(Default)]
pub(super) struct Calls {
    begun: Vec<Call>,
    order: Vec<Item>,
    /// So many items, from the first, have been told of.
    delivered: usize,
    /// The ids of the calls that were delivered.
    taken: Vec<String>,
}

enum Item {
    /// By its place among the calls.
    Call(usize),
    /// None while it is being thought.
    Thought(Option<Reasoning>),
}

#[derive(Default)]
struct Call {
    index: Option<u64>,
    /// The id of the item, which is not that of the call.
    item: String,
    id: String,
    name: String,
    /// What came with its beginning: nothing, or all of it.
    first: String,
    arguments: String,
    done: bool,
}

/// How an event names the call that it is about.
#[derive(Default)]
pub(super) struct Which<'a> {
    index: Option<u64>,
    item: &'a str,
    call: &'a str,
    name: &'a str,
}

impl<'a> Which<'a> {
    /// Of an event with a whole item.
    pub(super) fn of_item(event: &'a Value, item: &'a Value) -> Self {
        Self {
            index: event["output_index"].as_u64(),
            item: text(&item["id"]),
            call: text(&item["call_id"]),
            name: text(&item["name"]),
        }
    }

    /// Of an event with a piece of the arguments.
    pub(super) fn of_piece(event: &'a Value) -> Self {
        Self {
            index: event["output_index"].as_u64(),
            item: text(&event["item_id"]),
            call: text(&event["call_id"]),
            name: text(&event["name"]),
        }
    }
}

impl Which<'_> {
    /// Whether the index does not speak against it.
    fn may_be(&self, call: &Call) -> bool {
        !self.tells_index(call) || call.index == self.index
    }

    fn tells_index(&self, call: &Call) -> bool {
        self.index.is_some() && call.index.is_some()
    }
}

impl Calls {
    /// A call begins. Those before it that are whole are delivered: nothing can follow in them.
    pub(super) fn begin(&mut self, which: &Which, item: &Value, out: &mut Vec<StreamEvent>) {
        let again = |call: &Call| {
            !which.call.is_empty() && call.id == which.call && !call.done && which.may_be(call)
        };
        if self.begun.iter().any(again) {
            return;
        }
        for call in &mut self.begun {
            call.done |= call.is_whole();
        }
        self.flush(out);
        self.push(Call {
            first: written(&item["arguments"]).into_owned(),
            ..Call::of(which)
        });
    }

    /// A piece of the arguments.
    pub(super) fn piece(&mut self, which: &Which, delta: &Value) {
        let call = self.find_or_begin(which, false);
        if call.done && !text(delta).trim().is_empty() {
            tracing::warn!(call = call.id, "a piece of a call came after its end");
        }
        call.arguments.push_str(&written(delta));
    }

    /// The arguments are complete.
    pub(super) fn arguments(&mut self, which: &Which, all: &Value, out: &mut Vec<StreamEvent>) {
        let call = self.find_or_begin(which, false);
        call.complete(which, all);
        // Without a name it waits for its item.
        call.done |= !call.name.is_empty();
        self.flush(out);
    }

    /// The call is complete.
    pub(super) fn end(&mut self, which: &Which, item: &Value, out: &mut Vec<StreamEvent>) {
        let call = self.find_or_begin(which, true);
        call.complete(which, &item["arguments"]);
        call.done = true;
        self.flush(out);
    }

    /// A thought begins. It is told before what begins after it.
    pub(super) fn think(&mut self) {
        self.order.push(Item::Thought(None));
    }

    /// The thought that began is complete; if there is nothing in it, it never was.
    pub(super) fn thought(&mut self, thought: Option<Reasoning>, out: &mut Vec<StreamEvent>) {
        let is_open = |item: &Item| matches!(item, Item::Thought(None));
        match (self.order.iter().position(is_open), thought) {
            (Some(at), Some(thought)) => self.order[at] = Item::Thought(Some(thought)),
            (Some(at), None) => drop(self.order.remove(at)),
            (None, thought) => self.order.extend(thought.map(|it| Item::Thought(Some(it)))),
        }
        self.flush(out);
    }

    /// Something that is told in its place, though it is no thought that began.
    pub(super) fn remark(&mut self, remark: Reasoning, out: &mut Vec<StreamEvent>) {
        self.order.push(Item::Thought(Some(remark)));
        self.flush(out);
    }

    /// Whether there is a call of that id.
    pub(super) fn knows(&self, id: &str) -> bool {
        self.begun.iter().any(|call| call.id == id)
    }

    /// Whether anything was called.
    pub(super) fn any(&self) -> bool {
        self.begun.iter().any(|call| !call.is_nothing())
    }

    /// Whether every call that began is complete.
    pub(super) fn all_done(&self) -> bool {
        self.begun.iter().all(|call| call.done)
    }

    /// Delivers what is left, whole or not: the model has ended.
    pub(super) fn deliver_all(&mut self, out: &mut Vec<StreamEvent>) {
        for call in &mut self.begun {
            call.done = true;
        }
        self.thought(None, out);
    }

    /// Delivers what is whole: the stream was cut. Whether any call was delivered, now or before.
    pub(super) fn deliver_whole(&mut self, out: &mut Vec<StreamEvent>) -> bool {
        for call in &mut self.begun {
            if !call.done && !call.is_whole() {
                *call = Call::default();
            }
        }
        self.deliver_all(out);
        self.any()
    }

    fn push(&mut self, call: Call) {
        self.order.push(Item::Call(self.begun.len()));
        self.begun.push(call);
    }

    /// The call that is meant; a new one if none can be.
    fn find_or_begin(&mut self, which: &Which, ends: bool) -> &mut Call {
        let at = self.position(which, ends).unwrap_or_else(|| {
            self.push(Call::of(which));
            self.begun.len() - 1
        });
        &mut self.begun[at]
    }

    fn position(&self, which: &Which, ends: bool) -> Option<usize> {
        let begun = || self.begun.iter();
        let same = |known: &str, said: &str| !said.is_empty() && known == said;
        // The id of the call is the surest, unless it is given to all. llama.cpp gives it as that of the item.
        let by_id = |call: &Call| same(&call.id, which.call) || same(&call.id, which.item);
        // Another id is another call, whatever else they share.
        let can_be = |call: &Call| which.call.is_empty() || call.id.is_empty();
        let by_index =
            |call: &Call| which.index.is_some() && call.index == which.index && can_be(call);
        let by_item = |call: &Call| same(&call.item, which.item) && can_be(call);
        // Nothing tells: a piece is of the last call that has begun, an end of the first with that name.
        let untold = |call: &Call| !call.done && can_be(call) && !which.tells_index(call);
        let named = |call: &Call| call.name.is_empty() || call.name == which.name;
        let found = begun().rposition(|call| by_id(call) && which.may_be(call));
        found
            .or_else(|| begun().rposition(by_index))
            .or_else(|| begun().rposition(by_item))
            .or_else(|| begun().rposition(|call| by_id(call) && !call.done))
            .or_else(|| match ends {
                true => begun().position(|call| untold(call) && named(call)),
                false => begun().rposition(untold),
            })
    }

    fn flush(&mut self, out: &mut Vec<StreamEvent>) {
        while let Some(item) = self.order.get(self.delivered) {
            match item {
                Item::Thought(None) => return,
                Item::Thought(Some(thought)) => out.push(StreamEvent::Thought(thought.clone())),
                Item::Call(at) => {
                    let call = &mut self.begun[*at];
                    if !call.done {
                        return;
                    }
                    if !call.is_nothing() {
                        // Calls and results are paired by the id: without one, or with another's, there would be no pair.
                        if call.id.is_empty() || self.taken.contains(&call.id) {
                            call.id = new_id(self.delivered);
                        }
                        self.taken.push(call.id.clone());
                        out.push(StreamEvent::ToolCall(arguments::call(
                            call.id.clone(),
                            call.name.clone(),
                            call.written().to_owned(),
                        )));
                    }
                }
            }
            self.delivered += 1;
        }
    }
}

impl Call {
    fn of(which: &Which) -> Self {
        Self {
            index: which.index,
            item: which.item.to_owned(),
            id: which.call.to_owned(),
            name: which.name.to_owned(),
            ..Self::default()
        }
    }

    /// Takes what comes with its end: that is said once more and whole, or not at all.
    fn complete(&mut self, which: &Which, all: &Value) {
        if self.done {
            return;
        }
        if self.id.is_empty() {
            which.call.clone_into(&mut self.id);
        }
        if !which.name.is_empty() {
            which.name.clone_into(&mut self.name);
        }
        let all = written(all);
        if !all.is_empty() {
            self.arguments = all.into_owned();
        }
    }

    fn written(&self) -> &str {
        match self.arguments.is_empty() {
            true => &self.first,
            false => &self.arguments,
        }
    }

    /// Its arguments are an object: nothing can follow.
    fn is_whole(&self) -> bool {
        !self.name.is_empty() && arguments::is_whole(self.written())
    }

    /// An artefact: neither a name nor arguments ever came.
    fn is_nothing(&self) -> bool {
        self.name.is_empty() && self.written().trim().is_empty()
    }
}

/// Arguments, which some servers parse first.
fn written(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        Value::Null => Cow::Borrowed(""),
        other => Cow::Owned(other.to_string()),
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("")
}
