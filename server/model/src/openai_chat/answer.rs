//! Reads an answer in every dialect that was seen: fields that are missing or null, calls that come in pieces, interleaved,
//! without index or id, answers that end without saying so.

use std::sync::Arc;

use serde_json::Value;

use super::calls::{Calls, Piece};
use crate::asked::{Asked, Said};
use crate::stream::{Decode, Stage};
use crate::{ModelError, Stop, StreamEvent, Usage, sse};

/// What has come of one answer.
pub(super) struct Answer {
    asked: Arc<Asked>,
    calls: Calls,
    usage: Option<Usage>,
    finish: Option<String>,
    refused: bool,
    said: bool,
    over: bool,
}

impl Answer {
    /// `model` is the full name of who answers.
    pub(super) fn new(asked: Arc<Asked>, model: &str) -> Self {
        Self {
            asked,
            calls: Calls::new(model),
            usage: None,
            finish: None,
            refused: false,
            said: false,
            over: false,
        }
    }
}

impl Decode for Answer {
    fn event(&mut self, event: &sse::Event, out: &mut Vec<StreamEvent>) -> Result<(), ModelError> {
        let chunk = match self.asked.said(event)? {
            Said::Nothing => return Ok(()),
            Said::Over => {
                self.finish(out);
                return Ok(());
            }
            Said::Json(chunk) => chunk,
        };
        if event.name == "error" {
            return Err(self.asked.failed(&chunk));
        }
        self.chunk(&chunk, out)
    }

    fn whole(&mut self, answer: &Value, out: &mut Vec<StreamEvent>) -> Result<(), ModelError> {
        self.chunk(answer, out)?;
        if self.said || self.finish.is_some() || self.usage.is_some() {
            self.finish(out);
            return Ok(());
        }
        let quoted = self.asked.quote(&answer.to_string());
        Err(ModelError::Malformed(format!(
            "it has no choices: {quoted}"
        )))
    }

    fn end(&mut self, cut: Option<&str>, out: &mut Vec<StreamEvent>) -> Result<(), ModelError> {
        if self.finish.is_some() {
            self.finish(out);
            return Ok(());
        }
        // What is whole can be acted on, and the model goes on from there.
        if self.calls.deliver_whole(out) {
            self.close(Stop::ToolCalls, out);
            return Ok(());
        }
        Err(self.asked.cut_off(self.said, cut))
    }

    fn stage(&self) -> Stage {
        match (self.over, &self.finish) {
            (true, _) => Stage::Over,
            (false, Some(_)) => Stage::Tail,
            (false, None) => Stage::Going,
        }
    }
}

impl Answer {
    /// One event of a stream, or a whole answer: they differ in little.
    fn chunk(&mut self, chunk: &Value, out: &mut Vec<StreamEvent>) -> Result<(), ModelError> {
        let has_error = chunk.get("error").is_some_and(|error| !error.is_null());
        if has_error
            || chunk["object"] == "error"
            || chunk
                .get(0)
                .is_some_and(|first| first.get("error").is_some())
        {
            return Err(self.asked.failed(chunk));
        }
        if !chunk.is_object() {
            return Err(ModelError::Malformed(format!(
                "{} is no part of one",
                self.asked.quote(&chunk.to_string())
            )));
        }
        if let Some(usage) = usage(&chunk["usage"]) {
            self.usage = Some(usage);
        }
        let choice = &chunk["choices"][0];
        if let Some(error) = choice.get("error").filter(|error| !error.is_null()) {
            return Err(self.asked.failed(error));
        }
        match (&choice["delta"], &choice["message"]) {
            (delta @ Value::Object(_), _) => self.delta(delta, false, out),
            // Some servers close a stream with the whole message once more.
            (_, message @ Value::Object(_)) if !self.said => self.delta(message, true, out),
            _ => {}
        }
        if let Some(reason) = text(&choice["finish_reason"]) {
            self.finish = Some(reason.to_owned());
        }
        Ok(())
    }

    fn delta(&mut self, delta: &Value, whole: bool, out: &mut Vec<StreamEvent>) {
        if let Some(reasoning) = delta["reasoning_content"].as_str() {
            self.calls.thought(reasoning);
        }
        // Some send both, with the same text.
        if let Some(reasoning) =
            text(&delta["reasoning_content"]).or_else(|| text(&delta["reasoning"]))
        {
            self.say(StreamEvent::Reasoning(reasoning.to_owned()), out);
        }
        match &delta["content"] {
            Value::Array(parts) => parts.iter().for_each(|part| self.part(part, out)),
            content => self.text(content, out),
        }
        if text(&delta["refusal"]).is_some() {
            self.refused = true;
            self.text(&delta["refusal"], out);
        }
        for piece in delta["tool_calls"].as_array().into_iter().flatten() {
            self.said = true;
            self.calls.take(&Piece::of(piece, whole), out);
        }
    }

    fn part(&mut self, part: &Value, out: &mut Vec<StreamEvent>) {
        match &part["thinking"] {
            Value::Array(thoughts) => {
                for thought in thoughts.iter().filter_map(|thought| text(&thought["text"])) {
                    self.say(StreamEvent::Reasoning(thought.to_owned()), out);
                }
            }
            _ => self.text(&part["text"], out),
        }
    }

    fn text(&mut self, value: &Value, out: &mut Vec<StreamEvent>) {
        if let Some(text) = text(value) {
            self.say(StreamEvent::Text(text.to_owned()), out);
        }
    }

    fn say(&mut self, event: StreamEvent, out: &mut Vec<StreamEvent>) {
        self.said = true;
        out.push(event);
    }

    fn finish(&mut self, out: &mut Vec<StreamEvent>) {
        let called = self.calls.deliver_all(out);
        let stop = match self.finish.as_deref() {
            Some("length" | "max_tokens") => Stop::Length,
            Some("content_filter" | "refusal") => Stop::Refused,
            // Many say `stop` though they called, and some say `tool_calls` though they did not.
            _ if called => Stop::ToolCalls,
            _ if self.refused => Stop::Refused,
            None | Some("stop" | "eos" | "end_turn" | "tool_calls" | "function_call") => Stop::End,
            Some(other) => Stop::Other(other.to_owned()),
        };
        self.close(stop, out);
    }

    fn close(&mut self, stop: Stop, out: &mut Vec<StreamEvent>) {
        out.extend(self.usage.take().map(StreamEvent::Usage));
        out.push(StreamEvent::Done(stop));
        self.over = true;
    }
}

fn text(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| !text.is_empty())
}

fn usage(wire: &Value) -> Option<Usage> {
    let prompt = wire["prompt_tokens"].as_u64();
    let output = wire["completion_tokens"].as_u64();
    if prompt.is_none() && output.is_none() {
        return None;
    }
    let details = &wire["prompt_tokens_details"];
    let read = details["cached_tokens"]
        .as_u64()
        .or_else(|| wire["prompt_cache_hit_tokens"].as_u64())
        .unwrap_or(0);
    let write = details["cache_write_tokens"].as_u64().unwrap_or(0);
    Some(Usage {
        input: prompt
            .unwrap_or(0)
            .saturating_sub(read.saturating_add(write)),
        output: output.unwrap_or(0),
        cache_read: read,
        cache_write: write,
    })
}
