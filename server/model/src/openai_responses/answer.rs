//! Reads an answer in every dialect that was seen: events without index or number, ids that nothing else has, items that are
//! told only at their end or only with the last event, answers that end without saying so.

use std::sync::Arc;

use serde_json::{Value, json};

use super::calls::{Calls, Which};
use crate::asked::{Asked, Said};
use crate::stream::{Decode, Stage};
use crate::{Api, ModelError, Reasoning, Sealed, Stop, StreamEvent, Usage, sse};

/// What has come of one answer.
pub(super) struct Answer {
    asked: Arc<Asked>,
    /// Who can open what it seals: the model's full name.
    model: String,
    calls: Calls,
    thinking: Option<Thinking>,
    /// The id of the thought that was taken for complete when something else began.
    thought: Option<Value>,
    text: Told,
    said: bool,
    refused: bool,
    /// A message was ended, and nothing began after it.
    settled: bool,
    over: bool,
}

/// A thought that is not complete.
#[derive(Default)]
struct Thinking {
    id: Value,
    /// What was told of it.
    told: String,
    /// So much of that belongs to parts that are complete.
    complete: usize,
    /// It comes in its own words, not as a summary.
    raw: bool,
}

/// What of what is said was told already: many say everything twice, llama.cpp the last words only the second time, and some
/// all of it.
#[derive(Default)]
struct Told {
    /// Of the part of a message that comes now.
    part: String,
    /// Of the message that comes now.
    message: String,
    /// There was any text.
    any: bool,
    /// It was the last that was told.
    last: bool,
}

impl Told {
    /// A message begins.
    fn begin(&mut self) {
        self.part.clear();
        self.message.clear();
    }
}

impl Answer {
    pub(super) fn new(asked: Arc<Asked>, model: &str) -> Self {
        Self {
            asked,
            model: model.to_owned(),
            calls: Calls::default(),
            thinking: None,
            thought: None,
            text: Told::default(),
            said: false,
            refused: false,
            settled: false,
            over: false,
        }
    }
}

impl Decode for Answer {
    fn event(&mut self, event: &sse::Event, out: &mut Vec<StreamEvent>) -> Result<(), ModelError> {
        let is_ours =
            |name: &str| matches!(name, "" | "message" | "error") || name.starts_with("response.");
        let body = match self.asked.said(event) {
            Ok(Said::Over) if self.said() => return self.finish(&Value::Null, "", out),
            Ok(Said::Nothing | Said::Over) => return Ok(()),
            Ok(Said::Json(body)) => body,
            // Some send signs of life under names of their own.
            Err(_) if !is_ours(&event.name) => return Ok(()),
            Err(error) => return Err(error),
        };
        if !body.is_object() {
            return Err(ModelError::Malformed(format!(
                "{} is no part of one",
                self.asked.quote(&body.to_string())
            )));
        }
        let kind = body["type"].as_str().unwrap_or(&event.name);
        self.take(kind, &body, out)
    }

    fn whole(&mut self, answer: &Value, out: &mut Vec<StreamEvent>) -> Result<(), ModelError> {
        let error = answer.get(0).unwrap_or(answer);
        if is_there(&error["error"]) || error["object"] == "error" || error["type"] == "error" {
            return Err(self.asked.failed(answer));
        }
        if answer["output"].is_array() || answer["status"].is_string() {
            return self.finish(answer, "", out);
        }
        let quoted = self.asked.quote(&answer.to_string());
        Err(ModelError::Malformed(format!("it has no output: {quoted}")))
    }

    fn end(&mut self, cut: Option<&str>, out: &mut Vec<StreamEvent>) -> Result<(), ModelError> {
        // A message was ended and so was the stream, only the last event is missing.
        if cut.is_none() && self.settled && self.calls.all_done() {
            return self.finish(&Value::Null, "", out);
        }
        self.end_thought(out);
        let said = self.said();
        // What is whole can be acted on, and the model goes on from there.
        if self.calls.deliver_whole(out) {
            self.close(None, Stop::ToolCalls, out);
            return Ok(());
        }
        Err(self.asked.cut_off(said, cut))
    }

    fn stage(&self) -> Stage {
        match self.over {
            true => Stage::Over,
            false => Stage::Going,
        }
    }
}

impl Answer {
    fn take(
        &mut self,
        kind: &str,
        event: &Value,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), ModelError> {
        let delta = text(&event["delta"]).unwrap_or_default();
        match kind {
            "response.output_text.delta" => self.say(delta, out),
            "response.output_text.done" => self.said_part(&event["text"], out),
            "response.refusal.delta" => {
                self.refused = true;
                self.say(delta, out);
            }
            "response.refusal.done" => {
                self.refused = true;
                self.said_part(&event["refusal"], out);
            }
            "response.reasoning_text.delta" | "response.reasoning.delta" => {
                self.think(delta, true, out);
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_summary.delta" => {
                self.think(delta, false, out);
            }
            "response.reasoning_text.done" => self.thought_part(&event["text"], true, out),
            "response.reasoning_summary_text.done" => {
                self.thought_part(&event["text"], false, out);
            }
            "response.output_item.added" => self.begin(event, out),
            "response.function_call_arguments.delta" => {
                self.settled = false;
                self.close_thought(out);
                self.calls.piece(&Which::of_piece(event), &event["delta"]);
            }
            "response.function_call_arguments.done" => {
                let which = Which::of_piece(event);
                self.close_thought(out);
                self.calls.arguments(&which, &event["arguments"], out);
            }
            "response.output_item.done" => self.item(event, &event["item"], out),
            "response.completed" | "response.done" => return self.finish(event, "", out),
            "response.incomplete" => return self.finish(event, "incomplete", out),
            "response.failed" => return self.finish(event, "failed", out),
            "response.cancelled" => return self.finish(event, "cancelled", out),
            "error" | "response.error" => return Err(self.asked.failed(event)),
            // Some forget to say that it is an error.
            _ if is_there(&event["error"]) => return Err(self.asked.failed(event)),
            _ => {}
        }
        Ok(())
    }

    fn begin(&mut self, event: &Value, out: &mut Vec<StreamEvent>) {
        self.settled = false;
        self.close_thought(out);
        let item = &event["item"];
        match item["type"].as_str() {
            Some("message") => {
                self.text.begin();
            }
            Some("function_call") => {
                self.text.last = false;
                self.calls.begin(&Which::of_item(event, item), item, out);
            }
            Some("reasoning") => {
                self.end_thought(out);
                self.thinking().id = item["id"].clone();
            }
            _ => {}
        }
    }

    /// An item that is complete.
    fn item(&mut self, event: &Value, item: &Value, out: &mut Vec<StreamEvent>) {
        match item["type"].as_str() {
            Some("message") => self.message(item, out),
            Some("function_call") => {
                self.close_thought(out);
                self.calls.end(&Which::of_item(event, item), item, out);
            }
            Some("reasoning") => self.thought(item, out),
            _ => {}
        }
    }

    fn message(&mut self, item: &Value, out: &mut Vec<StreamEvent>) {
        let parts = item["content"].as_array().map_or(&[][..], Vec::as_slice);
        self.refused |= parts.iter().any(|part| part["type"] == "refusal");
        let mut all = text(&item["content"]).unwrap_or_default().to_owned();
        for part in parts {
            let words = text(&part["text"]).or_else(|| text(&part["refusal"]));
            all.push_str(words.unwrap_or_default());
        }
        let rest = all.strip_prefix(self.text.message.as_str());
        self.say(rest.unwrap_or_default(), out);
        self.text.begin();
        self.settled = true;
        // Newer models want to be told again whether what they said was on the way or the answer.
        if let Some(phase) = item["phase"].as_str() {
            let content = json!({ "type": "message", "phase": phase });
            let remark = Reasoning {
                text: String::new(),
                sealed: Some(self.seal(content)),
            };
            self.calls.remark(remark, out);
        }
    }

    fn say(&mut self, delta: &str, out: &mut Vec<StreamEvent>) {
        if delta.is_empty() {
            return;
        }
        self.close_thought(out);
        self.settled = false;
        if self.text.last && self.text.message.is_empty() {
            out.push(StreamEvent::Text("\n\n".to_owned()));
        }
        out.push(StreamEvent::Text(delta.to_owned()));
        self.text.part.push_str(delta);
        self.text.message.push_str(delta);
        self.text.last = true;
        self.text.any = true;
        self.said = true;
    }

    /// A part of a message is complete, and said once more.
    fn said_part(&mut self, all: &Value, out: &mut Vec<StreamEvent>) {
        let all = text(all).unwrap_or_default();
        let told = std::mem::take(&mut self.text.part);
        let again = told.is_empty() && self.text.message.ends_with(all);
        let rest = all.strip_prefix(told.as_str()).filter(|_| !again);
        self.say(rest.unwrap_or_default(), out);
        self.text.part.clear();
    }

    fn thinking(&mut self) -> &mut Thinking {
        if self.thinking.is_none() {
            self.calls.think();
        }
        self.thinking.get_or_insert_default()
    }

    fn think(&mut self, delta: &str, raw: bool, out: &mut Vec<StreamEvent>) {
        if delta.is_empty() {
            return;
        }
        self.said = true;
        self.settled = false;
        self.text.last = false;
        let thinking = self.thinking();
        thinking.raw |= raw;
        let begins = thinking.complete > 0 && thinking.complete == thinking.told.len();
        for piece in begins.then_some("\n\n").into_iter().chain([delta]) {
            thinking.told.push_str(piece);
            out.push(StreamEvent::Reasoning(piece.to_owned()));
        }
    }

    /// A part of a thought is complete, and said once more.
    fn thought_part(&mut self, all: &Value, raw: bool, out: &mut Vec<StreamEvent>) {
        // After the thought's own end there is nothing to add.
        if self.thought.is_some() && self.thinking.is_none() {
            return;
        }
        let thinking = self.thinking();
        let told = &thinking.told[thinking.complete..];
        let told = told.strip_prefix("\n\n").unwrap_or(told);
        let rest = text(all).unwrap_or_default().strip_prefix(told);
        self.think(rest.unwrap_or_default(), raw, out);
        let thinking = self.thinking();
        thinking.complete = thinking.told.len();
    }

    /// Something else begins. What was thought in its own words is then complete: llama.cpp says so only at the very end, and
    /// it belongs before what follows from it.
    fn close_thought(&mut self, out: &mut Vec<StreamEvent>) {
        if let Some(thinking) = self.thinking.take_if(|thinking| thinking.raw) {
            let content = json!([{ "type": "reasoning_text", "text": thinking.told }]);
            let mut item = json!({ "type": "reasoning", "summary": [], "content": content });
            if thinking.id.is_string() {
                item["id"] = thinking.id.clone();
            }
            self.thought = Some(thinking.id);
            let thought = Reasoning {
                text: thinking.told,
                sealed: Some(self.seal(item)),
            };
            self.calls.thought(Some(thought), out);
        }
    }

    /// The answer ends, and with it what was thought.
    fn end_thought(&mut self, out: &mut Vec<StreamEvent>) {
        self.close_thought(out);
        if let Some(thinking) = self.thinking.take() {
            let thought = (!thinking.told.is_empty()).then_some(Reasoning {
                text: thinking.told,
                sealed: None,
            });
            self.calls.thought(thought, out);
        }
    }

    /// A thought that is complete.
    fn thought(&mut self, item: &Value, out: &mut Vec<StreamEvent>) {
        if self.thinking.is_none() && self.thought.take_if(|id| *id == item["id"]).is_some() {
            return;
        }
        let words = |key: &str| {
            let parts = item[key].as_array().into_iter().flatten();
            let texts: Vec<_> = parts.filter_map(|part| text(&part["text"])).collect();
            texts.join("\n\n")
        };
        let (summary, raw) = (words("summary"), words("content"));
        let words = if summary.is_empty() { raw } else { summary };
        let thinking = self.thinking();
        thinking.complete = 0;
        let rest = words.strip_prefix(thinking.told.as_str());
        self.think(rest.unwrap_or_default(), false, out);
        let told = self.thinking.take().unwrap_or_default().told;
        // What can't be opened again is nothing to send back: without its contents it would be looked for where it was never stored.
        let has_contents = text(&item["encrypted_content"]).is_some()
            || item["content"]
                .as_array()
                .is_some_and(|parts| !parts.is_empty());
        let sealed = has_contents.then(|| self.seal(item.clone()));
        let thought =
            (sealed.is_some() || !told.is_empty()).then_some(Reasoning { text: told, sealed });
        self.said |= thought.is_some();
        self.calls.thought(thought, out);
    }

    fn seal(&self, content: Value) -> Sealed {
        Sealed {
            model: self.model.clone(),
            api: Api::OpenaiResponses.as_str().to_owned(),
            content,
        }
    }

    fn said(&self) -> bool {
        self.said || self.calls.any()
    }

    /// The last event, or the whole answer. Its status is what the event's name says, if that says anything.
    fn finish(
        &mut self,
        event: &Value,
        status: &str,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), ModelError> {
        let response = event
            .get("response")
            .filter(|it| it.is_object())
            .unwrap_or(event);
        let status = match status {
            "" => response["status"].as_str().unwrap_or("completed"),
            status => status,
        };
        if status == "failed" || is_there(&response["error"]) {
            return Err(self.asked.failed(response));
        }
        if status == "cancelled" {
            let provider = &self.asked.provider;
            let words = format!("{provider} cancelled its answer. Try again");
            return Err(ModelError::Stream(words));
        }
        self.catch_up(&response["output"], out);
        self.end_thought(out);
        self.calls.deliver_all(out);
        let reason = response["incomplete_details"]["reason"].as_str();
        let stop = match reason.filter(|_| status == "incomplete") {
            Some("max_output_tokens" | "max_tokens" | "length") => Stop::Length,
            Some("content_filter") => Stop::Refused,
            Some(other) => Stop::Other(other.to_owned()),
            None if status == "incomplete" => Stop::Other(status.to_owned()),
            None if self.calls.any() => Stop::ToolCalls,
            None if self.refused => Stop::Refused,
            None => Stop::End,
        };
        self.close(usage(&response["usage"]), stop, out);
        Ok(())
    }

    /// The items that were told only with the last event.
    fn catch_up(&mut self, output: &Value, out: &mut Vec<StreamEvent>) {
        let (said, spoke, called) = (self.said(), self.text.any, self.calls.any());
        for item in output.as_array().into_iter().flatten() {
            let is_new = match item["type"].as_str() {
                Some("message") => !spoke,
                Some("function_call") => match text(&item["call_id"]) {
                    Some(id) => !self.calls.knows(id),
                    None => !called,
                },
                // Behind what follows from it there is no place for a thought.
                Some("reasoning") => !said,
                _ => false,
            };
            if is_new {
                self.item(&Value::Null, item, out);
            }
        }
    }

    fn close(&mut self, usage: Option<Usage>, stop: Stop, out: &mut Vec<StreamEvent>) {
        out.extend(usage.map(StreamEvent::Usage));
        out.push(StreamEvent::Done(stop));
        self.over = true;
    }
}

fn is_there(value: &Value) -> bool {
    !value.is_null()
}

fn text(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| !text.is_empty())
}

fn usage(wire: &Value) -> Option<Usage> {
    let (input, output) = (
        wire["input_tokens"].as_u64(),
        wire["output_tokens"].as_u64(),
    );
    if input.is_none() && output.is_none() {
        return None;
    }
    let (input, output) = (input.unwrap_or(0), output.unwrap_or(0));
    let details = &wire["input_tokens_details"];
    let read = details["cached_tokens"].as_u64().unwrap_or(0);
    let write = details["cache_write_tokens"].as_u64().unwrap_or(0);
    // Thoughts are a part of the output; where they are not, the total tells.
    let thought = wire["output_tokens_details"]["reasoning_tokens"].as_u64();
    let apart = thought.filter(|thought| {
        wire["total_tokens"].as_u64() == Some(input.saturating_add(output).saturating_add(*thought))
    });
    Some(Usage {
        input: input.saturating_sub(read.saturating_add(write)),
        output: output.saturating_add(apart.unwrap_or(0)),
        cache_read: read,
        cache_write: write,
    })
}
