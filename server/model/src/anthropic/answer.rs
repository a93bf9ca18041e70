//! Reads an answer in every dialect that was seen: blocks whose end is told late or never, fields that are missing or null,
//! errors in the middle, answers that end without saying so.

use std::sync::Arc;

use serde_json::Value;

use super::blocks::Blocks;
use crate::asked::{Asked, Said};
use crate::stream::{Decode, Stage};
use crate::{ModelError, Stop, StreamEvent, Usage, sse};

/// What has come of one answer.
pub(super) struct Answer {
    asked: Arc<Asked>,
    blocks: Blocks,
    usage: Option<Usage>,
    stop: Option<String>,
    /// Why it was refused, in the provider's words.
    explanation: Option<String>,
    over: bool,
}

impl Answer {
    /// `model` is the full name of the model that was asked.
    pub(super) fn new(asked: Arc<Asked>, model: &str) -> Self {
        Self {
            asked,
            blocks: Blocks::new(model),
            usage: None,
            stop: None,
            explanation: None,
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
        // Of an error in some dialects, the type says which it is.
        let kind = match chunk["type"].as_str() {
            Some(kind) if event.name != "error" => kind.to_owned(),
            _ => event.name.clone(),
        };
        self.fail(&kind, &chunk, out)?;
        let index = chunk["index"].as_u64();
        match kind.as_str() {
            "message_start" => self.count(&chunk["message"]["usage"]),
            "content_block_start" => self.blocks.start(index, &chunk["content_block"], out),
            "content_block_delta" => self.blocks.delta(index, &chunk["delta"], out),
            "content_block_stop" => self.blocks.stop(index, out),
            "message_delta" => {
                self.count(&chunk["usage"]);
                self.stopped(&chunk["delta"]);
            }
            "message_stop" => self.finish(out),
            "message" if !self.blocks.any() => self.message(&chunk, out),
            _ => {}
        }
        Ok(())
    }

    fn whole(&mut self, answer: &Value, out: &mut Vec<StreamEvent>) -> Result<(), ModelError> {
        let kind = answer["type"].as_str().unwrap_or_default();
        self.fail(kind, answer, out)?;
        if answer["content"].is_array() || answer["content"].is_string() {
            self.message(answer, out);
            self.finish(out);
            return Ok(());
        }
        let quoted = self.asked.quote(&answer.to_string());
        Err(ModelError::Malformed(format!(
            "it has no content: {quoted}"
        )))
    }

    fn end(&mut self, cut: Option<&str>, out: &mut Vec<StreamEvent>) -> Result<(), ModelError> {
        if self.stop.is_some() {
            self.finish(out);
            return Ok(());
        }
        let has_begun = self.blocks.any();
        // What is whole can be acted on, and the model goes on from there.
        if self.blocks.cut(out) {
            self.close(Stop::ToolCalls, out);
            return Ok(());
        }
        out.extend(self.usage.take().map(StreamEvent::Usage));
        Err(self.asked.cut_off(has_begun, cut))
    }

    fn stage(&self) -> Stage {
        match (self.over, &self.stop) {
            (true, _) => Stage::Over,
            (false, Some(_)) => Stage::Tail,
            (false, None) => Stage::Going,
        }
    }
}

impl Answer {
    /// An error in place of an event or an answer, and what is neither.
    fn fail(
        &mut self,
        kind: &str,
        chunk: &Value,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), ModelError> {
        let first = chunk.get(0).unwrap_or(chunk);
        let has_error = first.get("error").is_some_and(|error| !error.is_null());
        if has_error || kind == "error" {
            // What was read until then is paid for.
            out.extend(self.usage.take().map(StreamEvent::Usage));
            return Err(self.asked.failed(chunk));
        }
        if !chunk.is_object() || chunk.get("choices").is_some() {
            return Err(ModelError::Malformed(format!(
                "{} is no part of one",
                self.asked.quote(&chunk.to_string())
            )));
        }
        Ok(())
    }

    /// A message that came whole.
    fn message(&mut self, message: &Value, out: &mut Vec<StreamEvent>) {
        self.count(&message["usage"]);
        match &message["content"] {
            Value::String(_) => {
                let text = serde_json::json!({ "type": "text", "text": message["content"] });
                self.blocks.start(None, &text, out);
            }
            content => {
                for block in content.as_array().into_iter().flatten() {
                    self.blocks.start(None, block, out);
                    self.blocks.stop(None, out);
                }
            }
        }
        self.stopped(message);
    }

    fn stopped(&mut self, wire: &Value) {
        if let Some(reason) = text(&wire["stop_reason"]) {
            self.stop = Some(reason.to_owned());
        }
        if let Some(explanation) = text(&wire["stop_details"]["explanation"]) {
            self.explanation = Some(self.asked.quote(explanation));
        }
    }

    /// Every count is of the whole answer so far, and some servers leave those out, or at zero, that they gave before.
    fn count(&mut self, wire: &Value) {
        let count = |key: &str| wire[key].as_u64();
        let written = count("cache_creation_input_tokens").or_else(|| {
            let by_age = wire["cache_creation"].as_object()?;
            Some(by_age.values().filter_map(Value::as_u64).sum())
        });
        let counts = [
            count("input_tokens"),
            count("output_tokens"),
            count("cache_read_input_tokens"),
            written,
        ];
        if counts.iter().all(Option::is_none) {
            return;
        }
        let [input, output, cache_read, cache_write] = counts.map(Option::unwrap_or_default);
        let before = self.usage.unwrap_or_default();
        self.usage = Some(Usage {
            input: before.input.max(input),
            output: before.output.max(output),
            cache_read: before.cache_read.max(cache_read),
            cache_write: before.cache_write.max(cache_write),
        });
    }

    fn finish(&mut self, out: &mut Vec<StreamEvent>) {
        self.blocks.end(out);
        let stop = match self.stop.as_deref() {
            Some("max_tokens") => Stop::Length,
            Some("model_context_window_exceeded") => {
                out.push(StreamEvent::Notice(format!(
                    "the conversation fills the context of {}: start a new session, narrow the request, or choose a model \
                     with a larger context",
                    self.asked.model
                )));
                Stop::Length
            }
            Some("refusal") => {
                let provider = &self.asked.provider;
                let explanation = self.explanation.take();
                out.extend(explanation.map(|explanation| {
                    StreamEvent::Notice(format!("{provider} would not answer: {explanation}"))
                }));
                Stop::Refused
            }
            Some("pause_turn") => Stop::Paused,
            // Some servers say that the model's turn ended though it called, and the other way round.
            _ if self.blocks.called() => Stop::ToolCalls,
            None | Some("end_turn" | "stop_sequence" | "tool_use") => Stop::End,
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
