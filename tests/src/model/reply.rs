//! What the scripted model says: texts, thoughts and calls in order, and how the answer ends, or fails.

use std::time::Duration;

use serde_json::Value;

use super::Gate;

/// One answer.
#[derive(Clone, Default)]
pub struct Reply {
    pub(super) parts: Vec<Part>,
    pub(super) usage: Option<[u64; 2]>,
    pub(super) finish: Option<String>,
    pub(super) ending: Ending,
    pub(super) slow: Duration,
}

/// A piece of an answer.
#[derive(Clone)]
pub(super) enum Part {
    Text(String),
    Reasoning(String),
    Call {
        id: Option<String>,
        name: String,
        arguments: String,
    },
    Gate(Gate),
}

/// How an answer ends. `after` counts events; more than there are means after the last.
#[derive(Clone, Default)]
pub enum Ending {
    /// As it should.
    #[default]
    Complete,
    /// The connection is closed after so many events.
    Cut {
        /// The number of events.
        after: usize,
    },
    /// Nothing more comes after so many events.
    Hang {
        /// The number of events.
        after: usize,
    },
    /// An event that is no JSON comes after so many events.
    Garbage {
        /// The number of events.
        after: usize,
    },
    /// Not even a status comes.
    Silent,
    /// Another status than 200.
    Status {
        /// The status.
        code: u16,
        /// Its headers.
        headers: Vec<(String, String)>,
        /// Its body.
        body: String,
    },
}

impl Reply {
    /// Says this.
    pub fn text(text: impl Into<String>) -> Self {
        Self::default().and_text(text)
    }

    /// Calls this tool.
    pub fn call(name: &str, input: Value) -> Self {
        Self::default().and_call(name, input)
    }

    /// Thinks this, before anything else.
    pub fn reasoning(text: impl Into<String>) -> Self {
        Self::with(Part::Reasoning(text.into()))
    }

    /// Calls this tool with arguments as they are written, JSON or not.
    pub fn raw_call(name: &str, arguments: &str) -> Self {
        Self::with(Part::Call {
            id: None,
            name: name.to_owned(),
            arguments: arguments.to_owned(),
        })
    }

    /// Fails with a status, headers and a body.
    pub fn status(code: u16, headers: &[(&str, &str)], body: &str) -> Self {
        let headers = headers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        Self {
            ending: Ending::Status {
                code,
                headers,
                body: body.to_owned(),
            },
            ..Self::default()
        }
    }

    /// A web page, as a proxy or a login gives it, with status 200.
    pub fn html() -> Self {
        let page = "<!DOCTYPE html>\n<html><head><title>Sign in</title></head><body></body></html>";
        Self::status(200, &[("content-type", "text/html")], page)
    }

    /// Says nothing at all, not even a status.
    pub fn hang() -> Self {
        Self {
            ending: Ending::Silent,
            ..Self::default()
        }
    }

    /// Then says this.
    #[must_use]
    pub fn and_text(self, text: impl Into<String>) -> Self {
        self.and(Part::Text(text.into()))
    }

    /// Then calls this tool.
    #[must_use]
    pub fn and_call(self, name: &str, input: Value) -> Self {
        self.and(Part::Call {
            id: None,
            name: name.to_owned(),
            arguments: input.to_string(),
        })
    }

    /// Gives the last call this id.
    #[must_use]
    pub fn with_id(mut self, given: &str) -> Self {
        if let Some(Part::Call { id, .. }) = self.parts.last_mut() {
            *id = Some(given.to_owned());
        }
        self
    }

    /// Then waits until the gate is open.
    #[must_use]
    pub fn and_wait(self, gate: &Gate) -> Self {
        self.and(Part::Gate(gate.clone()))
    }

    /// Says nothing before the gate is open.
    #[must_use]
    pub fn after(mut self, gate: &Gate) -> Self {
        self.parts.insert(0, Part::Gate(gate.clone()));
        self
    }

    /// Reports these tokens of input and output; else they are guessed from the bytes.
    #[must_use]
    pub fn usage(mut self, input: u64, output: u64) -> Self {
        self.usage = Some([input, output]);
        self
    }

    /// Ends for this reason; else `tool_calls` or `stop`.
    #[must_use]
    pub fn finish(mut self, reason: &str) -> Self {
        self.finish = Some(reason.to_owned());
        self
    }

    /// Ends like this.
    #[must_use]
    pub fn ending(mut self, ending: Ending) -> Self {
        self.ending = ending;
        self
    }

    /// Waits so long before each event.
    #[must_use]
    pub fn slow(mut self, pause: Duration) -> Self {
        self.slow = pause;
        self
    }

    fn with(part: Part) -> Self {
        Self {
            parts: vec![part],
            ..Self::default()
        }
    }

    fn and(mut self, part: Part) -> Self {
        self.parts.push(part);
        self
    }
}
