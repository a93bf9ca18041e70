//! What a run says of itself. Every step is an [`Event`]; doors only read them, and the wire form is
//! the same for `copydesk/event` and `copydesk run --json`. Nothing here knows who listens.

use serde_json::{Map, Value, json};
use workspace::{Applied, ByteRange, Encoding, Position};

use crate::spent::Spent;

/// Listens to one run. Called in order, from the run's own task: it must note and return.
pub trait Observer: Send + Sync {
    /// One step of the run.
    fn event(&self, event: &Event);
}

/// One step of a run.
#[derive(Clone, Debug)]
pub struct Event {
    /// The session that the run belongs to.
    pub session: String,
    /// From 1 in each session, without gaps.
    pub seq: u64,
    /// What happened.
    pub kind: EventKind,
}

/// What happened.
#[derive(Clone, Debug)]
pub enum EventKind {
    /// The run began.
    Started {
        /// What was asked.
        prompt: String,
        /// Which model answers, as `provider/model`.
        model: String,
    },
    /// A piece of the model's answer.
    Text {
        /// The piece.
        delta: String,
    },
    /// A piece of the model's thinking.
    Reasoning {
        /// The piece.
        delta: String,
    },
    /// The model calls a tool.
    ToolCall {
        /// The call's id in the conversation.
        id: String,
        /// The tool's name.
        name: String,
        /// Its parameters.
        input: Value,
        /// One line for a person: "Reading src/lib.rs".
        title: String,
    },
    /// A tool answered.
    ToolResult {
        /// The call's id.
        id: String,
        /// Whether the call did what was asked.
        ok: bool,
        /// The call's title.
        title: String,
        /// What the model is given.
        output: String,
        /// Whether the output was cut.
        truncated: bool,
    },
    /// A document was changed by the run.
    Edit {
        /// The change as it was booked.
        applied: Applied,
    },
    /// What the run has used so far.
    Usage(
        /// Tokens and money so far.
        Spent,
    ),
    /// Something that a person should know.
    Notice {
        /// The message.
        message: String,
    },
    /// The run ended. Exactly one of these ends a run.
    Finished {
        /// How.
        status: Status,
        /// One line or more for a person: the model's last words, or what went wrong.
        message: String,
        /// The documents that the run changed.
        files: Vec<String>,
        /// What the run used.
        usage: Spent,
        /// What became of the problems, of a run that was to fix some and was done. Doors of people tell it by their own
        /// means: it has no wire form.
        cure: Option<Cure>,
    },
}

/// What became of the problems that a run was to fix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cure {
    /// None is left.
    Whole,
    /// Some are.
    Part {
        /// How many are left.
        left: usize,
        /// Of how many.
        of: usize,
    },
    /// The language server has not said in time.
    Unchecked,
}

/// How a run stands or ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It works.
    Running,
    /// It did what it could.
    Done,
    /// It could not go on.
    Failed,
    /// A person cancelled it.
    Cancelled,
    /// It changed nothing, and what it tried to change was denied; of a fix, anything that it tried.
    Denied,
}

impl Status {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Running => "running",
            Status::Done => "done",
            Status::Failed => "failed",
            Status::Cancelled => "cancelled",
            Status::Denied => "denied",
        }
    }
}

impl Event {
    /// The wire form: `{session, seq, type, …}`, positions in the given encoding.
    pub fn to_json(&self, encoding: Encoding) -> Value {
        let (name, body) = self.kind.to_json(encoding);
        let mut object = Map::new();
        object.insert("session".into(), json!(self.session));
        object.insert("seq".into(), json!(self.seq));
        object.insert("type".into(), json!(name));
        if let Value::Object(body) = body {
            object.extend(body);
        }
        Value::Object(object)
    }
}

impl EventKind {
    fn to_json(&self, encoding: Encoding) -> (&'static str, Value) {
        match self {
            EventKind::Started { prompt, model } => {
                ("started", json!({ "prompt": prompt, "model": model }))
            }
            EventKind::Text { delta } => ("text", json!({ "delta": delta })),
            EventKind::Reasoning { delta } => ("reasoning", json!({ "delta": delta })),
            EventKind::ToolCall {
                id,
                name,
                input,
                title,
            } => (
                "tool_call",
                json!({ "id": id, "name": name, "input": input, "title": title }),
            ),
            EventKind::ToolResult {
                id,
                ok,
                title,
                output,
                truncated,
            } => (
                "tool_result",
                json!({ "id": id, "ok": ok, "title": title, "output": output, "truncated": truncated }),
            ),
            EventKind::Edit { applied } => ("edit", edit_json(applied, encoding)),
            EventKind::Usage(usage) => ("usage", usage.to_json()),
            EventKind::Notice { message } => ("notice", json!({ "message": message })),
            EventKind::Finished {
                status,
                message,
                files,
                usage,
                cure: _,
            } => (
                "finished",
                json!({ "status": status.as_str(), "message": message, "files": files, "usage": usage.to_json() }),
            ),
        }
    }
}

fn edit_json(applied: &Applied, encoding: Encoding) -> Value {
    let text = &applied.after.text;
    let hunks: Vec<Value> = applied
        .hunks
        .iter()
        .map(|hunk| {
            json!({
                "range": range_json(text.range(hunk.range, encoding)),
                "added": hunk.added,
                "removed": hunk.removed,
            })
        })
        .collect();
    json!({ "uri": applied.after.uri.as_str(), "hunks": hunks })
}

/// A range as LSP writes it.
pub fn range_json(range: workspace::Range) -> Value {
    let position = |at: Position| json!({ "line": at.line, "character": at.character });
    json!({ "start": position(range.start), "end": position(range.end) })
}

/// Where a run looks: a document, and a part of it.
#[derive(Clone, Debug)]
pub struct Focus {
    /// The document.
    pub uri: workspace::DocumentUri,
    /// The selection or the place, in the document's text when the run was asked for.
    pub range: Option<ByteRange>,
}
