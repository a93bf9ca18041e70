//! A fix by a small model: one place after the other, each shown anew with what is known of it. The model writes lines; they
//! are put in their place, checked, and taken back if they solve nothing. After some tries the language server's own fix
//! is taken, if it has one.

use std::sync::Arc;

use langserver::{Diagnosis, Diagnostic};
use model::{Block, Message, Request, ToolCall};
use serde_json::json;
use tools::{Context, aftermath, problems::Problem};
use workspace::{DocumentUri, Snapshot};

use super::{End, LOOK, Run, calls::After};
use crate::{
    agent::Task,
    event::EventKind,
    prompt,
    quickfix::Quickfix,
    small::{self, Brief, Change, Shown},
};

/// How often the model is asked about one place, each time a little more freely.
const TRIES: [f32; 3] = [0.0, 0.4, 0.8];

/// What became of a try.
enum Tried {
    Solved,
    /// It was taken back: what the model is told.
    Wrong(String),
    /// Whether anything would solve it can't be found out.
    Refused(String),
}

impl Run {
    /// Cures these problems of the focus. `kept` gets what was said.
    pub(super) async fn fix_small(
        &mut self,
        problems: &[Diagnostic],
        kept: &mut Vec<Message>,
        cx: &Context,
    ) -> Result<(), End> {
        let Some(focus) = self.request.focus.clone() else {
            return Err(End::Failed("there is no file to fix problems in".into()));
        };
        let read = || {
            cx.read(&focus.uri)
                .map_err(|error| End::Failed(error.to_string()))
        };
        let mut open = problems.to_vec();
        let mut failures = Vec::new();
        while !open.is_empty() {
            let text = read()?;
            let Some(brief) = Brief::of(&text, &open, cx).await else {
                break;
            };
            open.retain(|problem| !brief.about.contains(problem));
            let solved = self.solve(&focus.uri, &brief, kept, cx).await?;
            if let Err(reason) = solved {
                failures.push(reason);
            }
            if !open.is_empty() {
                open = self.still_open(&focus.uri, open, cx).await;
            }
        }
        self.last_text = match failures.as_slice() {
            [] => match problems {
                [one] => format!("Fixed: {}", first_line(&one.message)),
                many => format!("Fixed {} problems.", many.len()),
            },
            failures => failures.join("\n"),
        };
        // What was denied is told as such.
        match failures.len() == 1 && problems.len() == 1 && !self.denied.any {
            true => Err(End::Failed(self.last_text.clone())),
            false => Ok(()),
        }
    }

    /// Has the problems of one place solved; else says why they are not.
    async fn solve(
        &mut self,
        uri: &DocumentUri,
        brief: &Brief,
        kept: &mut Vec<Message>,
        cx: &Context,
    ) -> Result<Result<(), String>, End> {
        let mut request = Request {
            system: small::SYSTEM.to_owned(),
            messages: vec![Message::user(brief.text.clone())],
            ..Request::default()
        };
        // So much as all lines written twice.
        let room = brief.text.len().div_ceil(3).max(300);
        request.max_output = u32::try_from(room).ok();
        let mut tried: Vec<(Vec<Change>, String)> = Vec::new();
        let mut reason = String::new();
        for temperature in TRIES {
            request.temperature = Some(temperature);
            self.session.set_step("Thinking");
            self.afford(&request)?;
            let answer = self.ask(&request).await?;
            let said = answer.text();
            let shown = Shown {
                text: &brief.whole,
                lines: brief.lines.clone(),
                wrong: brief.wrong.clone(),
            };
            let outcome = match small::changes(&said, &shown) {
                Err(error) => Tried::Wrong(error.to_string()),
                Ok(changes) => {
                    let known = tried.iter().find(|(known, _)| *known == changes);
                    if let Some((_, outcome)) = known {
                        Tried::Wrong(format!("You answered that before. {outcome}"))
                    } else {
                        let number = tried.len();
                        let outcome = self.attempt(uri, brief, &changes, number, cx).await?;
                        if let Tried::Wrong(why) = &outcome {
                            tried.push((changes, why.clone()));
                        }
                        outcome
                    }
                }
            };
            request.messages.push(Message::assistant(said));
            match outcome {
                Tried::Solved => {
                    kept.append(&mut request.messages);
                    return Ok(Ok(()));
                }
                Tried::Refused(why) => {
                    kept.append(&mut request.messages);
                    return Ok(Err(why));
                }
                Tried::Wrong(why) => {
                    request
                        .messages
                        .push(Message::user(format!("{why}\n{}", brief.again)));
                    reason = why;
                }
            }
        }
        kept.append(&mut request.messages);
        self.by_server(brief, &reason, kept, cx).await
    }

    /// Makes the changes, looks what became of the problems, and takes them back if nothing good did.
    async fn attempt(
        &mut self,
        uri: &DocumentUri,
        brief: &Brief,
        changes: &[Change],
        number: usize,
        cx: &Context,
    ) -> Result<Tried, End> {
        let before = cx
            .read(uri)
            .map_err(|error| End::Failed(error.to_string()))?;
        let call = |(at, change): (usize, &Change)| {
            edit(uri, &change.old, &change.new, &format!("{number}-{at}"))
        };
        let calls: Vec<ToolCall> = changes.iter().enumerate().map(call).collect();
        let results = self.make(&calls, After::Checked, cx).await;
        if self.cancel.is_cancelled() {
            return Err(End::Cancelled);
        }
        let told = |block: &Block| match block {
            Block::ToolResult { ok, output, .. } => Some((*ok, output.clone())),
            _ => None,
        };
        let results: Vec<(bool, String)> = results.iter().filter_map(told).collect();
        let refused = results.iter().position(|(ok, _)| !ok);
        let Some(refused) = refused else {
            let said = results.last().map_or("", |(_, output)| output.as_str());
            let wrong = self.still_wrong(brief, &before, said, cx).await;
            let Some(why) = wrong else {
                return Ok(Tried::Solved);
            };
            self.take_back(uri, changes, number, cx).await?;
            return Ok(Tried::Wrong(why));
        };
        self.take_back(uri, &changes[..refused], number, cx).await?;
        Ok(Tried::Refused(results[refused].1.clone()))
    }

    /// What is still wrong after a change, for the model; `None`: nothing that one knows of.
    async fn still_wrong(
        &mut self,
        brief: &Brief,
        before: &Snapshot,
        said: &str,
        cx: &Context,
    ) -> Option<String> {
        let added: Vec<Problem> = aftermath::added(said)
            .into_iter()
            .filter(|problem| problem.severity == "error")
            .collect();
        // In a line that was changed it counts as another; and servers and compilers say the same in other words.
        let is_same = |now: &&Problem| {
            brief.about.iter().any(|before| {
                first_line(&before.message) == first_line(&now.message)
                    || (before.code.is_some() && before.code == now.code)
            })
        };
        if let Some(same) = added.iter().find(is_same) {
            return Some(still_there(&same.message));
        }
        if !added.is_empty() {
            const SHOWN: usize = 3;
            let lines = added.iter().take(SHOWN);
            let lines = lines.map(|one| format!("line {}: {}", one.line, one.message));
            let lines: Vec<String> = lines.collect();
            return Some(format!(
                "With that there are new problems:\n{}",
                lines.join("\n")
            ));
        }
        self.session.set_step("Checking what is left");
        let patience = match before.is_buffer() {
            true => aftermath::DEADLINE,
            false => LOOK,
        };
        let left = self
            .agent
            .pool
            .left_of(&brief.about, before, patience, &cx.cancel)
            .await;
        // What nobody can say is not held against it.
        if left.unwrap_or(0) == 0 {
            return None;
        }
        let first = brief.about.first()?;
        Some(still_there(&small::message(first)))
    }

    /// Undoes changes that solved nothing.
    async fn take_back(
        &mut self,
        uri: &DocumentUri,
        changes: &[Change],
        number: usize,
        cx: &Context,
    ) -> Result<(), End> {
        let call = |(at, change): (usize, &Change)| {
            edit(
                uri,
                &change.new,
                &change.old,
                &format!("{number}-{at}-back"),
            )
        };
        let calls: Vec<ToolCall> = changes.iter().enumerate().rev().map(call).collect();
        let results = self.make(&calls, After::Unasked, cx).await;
        if self.cancel.is_cancelled() {
            return Err(End::Cancelled);
        }
        let failed = results.into_iter().find_map(|block| match block {
            Block::ToolResult {
                ok: false, output, ..
            } => Some(output),
            _ => None,
        });
        match failed {
            None => Ok(()),
            Some(output) => Err(End::Failed(format!(
                "a change that solved nothing could not be taken back: {output}"
            ))),
        }
    }

    /// The language server's own fix, where the model knew none.
    async fn by_server(
        &mut self,
        brief: &Brief,
        reason: &str,
        kept: &mut Vec<Message>,
        cx: &Context,
    ) -> Result<Result<(), String>, End> {
        let id = self.provider.id().to_owned();
        self.outlet.emit(EventKind::Notice {
            message: format!(
                "{id} did not solve it in {} tries: the language server's own fix is tried",
                TRIES.len()
            ),
        });
        let asked = prompt::request(
            &Task::Fix(brief.about.clone()),
            &brief.about,
            self.request.focus.as_ref(),
            cx,
        );
        let mut request = Request {
            messages: vec![Message::user(asked)],
            ..Request::default()
        };
        let model = std::mem::replace(&mut self.provider, Arc::new(Quickfix::instead()));
        let before = self.outlet.edits();
        let ended = self.converse(&mut request, cx).await;
        self.provider = model;
        kept.append(&mut request.messages);
        match ended {
            Ok(()) if self.outlet.edits() > before => Ok(Ok(())),
            Ok(()) | Err(End::Failed(_)) => Ok(Err(format!(
                "{id} did not solve it in {} tries, and the text is as it was. {reason}",
                TRIES.len()
            ))),
            Err(other) => Err(other),
        }
    }

    /// Those of some problems that are still there, where they are now.
    async fn still_open(
        &mut self,
        uri: &DocumentUri,
        open: Vec<Diagnostic>,
        cx: &Context,
    ) -> Vec<Diagnostic> {
        self.session.set_step("Checking what is left");
        let found = self
            .agent
            .pool
            .diagnostics(uri, aftermath::DEADLINE, &cx.cancel)
            .await;
        let Diagnosis::Fresh(mut found) = found else {
            return open;
        };
        let head = |problem: &Diagnostic| first_line(&problem.message).to_owned();
        found.retain(|now| {
            open.iter()
                .any(|before| head(before) == head(now) && before.code == now.code)
        });
        found
    }
}

fn edit(uri: &DocumentUri, old: &str, new: &str, id: &str) -> ToolCall {
    let path = uri.path().map_or_else(
        || uri.as_str().to_owned(),
        |path| path.display().to_string(),
    );
    ToolCall {
        id: format!("small-{id}"),
        name: "edit".to_owned(),
        input: json!({ "filePath": path, "oldString": old, "newString": new }),
        malformed: None,
        repaired: None,
    }
}

fn still_there(message: &str) -> String {
    format!("With that the problem is still there: {message}")
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
