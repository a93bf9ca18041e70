//! The calls of one answer: prepared, judged, made. Side by side where none changes anything, else
//! one after the other. Each call gets exactly one result, whatever becomes of it.

use std::{collections::VecDeque, fmt::Write as _, sync::Arc, time::Duration};

use model::{Block, ToolCall};
use serde_json::Value;
use tokio::{
    runtime::Handle,
    task::{JoinHandle, coop::consume_budget, spawn_blocking},
    time::{Instant, timeout_at},
};
use tools::{
    Context, Output, Prepared, ToolError,
    aftermath::{self, Aftermath},
};
use workspace::Snapshot;

use super::{
    Run,
    later::{BETWEEN, Open},
};
use crate::{
    event::EventKind,
    judge::{Judge, Verdict},
};

/// How long all calls together may take to wind up once the run is cancelled. An edit that is still
/// under way then goes on by itself: it is never torn in the middle.
const GRACE: Duration = Duration::from_millis(120);
/// How many calls are under way side by side. A model may ask for thousands at once.
const AT_ONCE: usize = 16;

/// A call that has passed the gate, or the reason why not.
struct Ready<'a> {
    call: &'a ToolCall,
    title: String,
    prepared: Result<Prepared, String>,
}

/// What came of a call.
struct Ended {
    ok: bool,
    output: Output,
}

/// What follows changes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum After {
    /// What they did to the problems is told with the last of them.
    Checked,
    /// Nothing: they only take back what was checked.
    Unasked,
}

impl Run {
    pub(super) async fn make(
        &mut self,
        calls: &[ToolCall],
        after: After,
        cx: &Context,
    ) -> Vec<Block> {
        let mut ready = Vec::with_capacity(calls.len());
        for call in calls {
            if self.cancel.is_cancelled() {
                break;
            }
            ready.push(self.ready(call, cx));
            // Paths are looked up on disk for it, and editors want their answers meanwhile.
            consume_budget().await;
        }
        let changes = |one: &Ready| {
            let prepared = one.prepared.as_ref();
            prepared.is_ok_and(|prepared| prepared.tool.changes(&prepared.input))
        };
        // When this has been made, nothing changes any more.
        let last_change = ready.iter().rposition(changes);
        // Before anything changes again it is called off; nobody else waits for it.
        let known = match last_change.is_some() || self.has_looked() {
            true => self.known_by_now(BETWEEN).await,
            false => None,
        };
        let mut news = known.and_then(|known| known.text);
        let at_once = match last_change {
            Some(_) => 1,
            None => AT_ONCE,
        };
        let mut before = Vec::new();
        let mut wind_up = None;
        let mut results = Vec::with_capacity(calls.len());
        let mut waiting = ready.iter();
        let mut begun = VecDeque::new();
        loop {
            let free = match self.cancel.is_cancelled() {
                true => 0,
                false => at_once - begun.len(),
            };
            let next = waiting.by_ref().take(free);
            begun.extend(next.map(|one| (one, self.begin(one, cx))));
            let Some((one, task)) = begun.pop_front() else {
                break;
            };
            let mut ended = self.end(one, task, &mut wind_up).await;
            let changed = ended.output.applied.iter();
            let changed = changed.filter(|applied| !applied.hunks.is_empty());
            let changed = changed.map(|applied| &applied.before);
            for text in changed.chain(&ended.output.before) {
                let is_known = |known: &Snapshot| known.uri == text.uri;
                if !before.iter().any(is_known) {
                    before.push(text.clone());
                }
            }
            let is_last = last_change == Some(results.len());
            let aftermath = match after {
                After::Checked if is_last => self.aftermath(std::mem::take(&mut before), cx).await,
                _ => None,
            };
            for told in news.take().into_iter().chain(aftermath) {
                ended.output.text.push_str("\n\n");
                ended.output.text.push_str(&told);
            }
            results.push(self.tell(one, ended));
            consume_budget().await;
        }
        match after {
            After::Checked => self.look_on(cx),
            // What was not known yet of what is no more.
            After::Unasked => self.open = None,
        }
        // Nobody has to hear of calls that never began, but a conversation has an answer to each.
        let never_begun = calls.iter().skip(results.len());
        results.extend(never_begun.map(|call| Block::ToolResult {
            id: call.id.clone(),
            ok: false,
            output: ToolError::Cancelled.to_string(),
        }));
        results
    }

    fn ready<'a>(&mut self, call: &'a ToolCall, cx: &Context) -> Ready<'a> {
        let tools = &self.agent.tools;
        let prepared = match &call.malformed {
            Some(arguments) => Err(tools.malformed(&call.name, arguments)),
            None => tools.prepare(&call.name, call.input.clone()),
        };
        let title = match &prepared {
            Ok(prepared) => prepared.tool.title(&prepared.input, cx),
            Err(_) => format!("Invalid call of {}", call.name),
        };
        let judge = Judge {
            context: cx,
            read_only: self.request.read_only,
            focus: self.request.focus.as_ref().map(|focus| &focus.uri),
        };
        let prepared = prepared.and_then(|prepared| match judge.judge(&prepared) {
            Verdict::Allow => Ok(prepared),
            Verdict::Deny(reason) => {
                self.denied.any = true;
                self.denied.change |= prepared.tool.changes(&prepared.input);
                Err(reason)
            }
        });
        Ready {
            call,
            title,
            prepared,
        }
    }

    fn begin(&self, ready: &Ready, cx: &Context) -> Option<JoinHandle<Result<Output, ToolError>>> {
        self.outlet.emit(EventKind::ToolCall {
            id: ready.call.id.clone(),
            name: ready.call.name.clone(),
            input: match &ready.call.malformed {
                Some(arguments) => Value::String(arguments.clone()),
                None => ready.call.input.clone(),
            },
            title: ready.title.clone(),
        });
        self.session.set_step(&ready.title);
        if self.cancel.is_cancelled() {
            return None;
        }
        let prepared = ready.prepared.as_ref().ok()?;
        let (tool, input) = (Arc::clone(&prepared.tool), prepared.input.clone());
        let cx = cx.clone();
        // Tools read files, and a disk may be slow or gone: on a thread of its own a call holds up nobody.
        let runtime = Handle::current();
        Some(spawn_blocking(move || {
            runtime.block_on(tool.call(input, &cx))
        }))
    }

    /// What came of a call, once it has ended.
    async fn end(
        &mut self,
        ready: &Ready<'_>,
        task: Option<JoinHandle<Result<Output, ToolError>>>,
        wind_up: &mut Option<Instant>,
    ) -> Ended {
        let result = match (task, &ready.prepared) {
            (_, Err(reason)) => Err(reason.clone()),
            (None, Ok(_)) => Err(ToolError::Cancelled.to_string()),
            (Some(task), Ok(prepared)) => {
                let changes = prepared.tool.changes(&prepared.input);
                self.wait(task, changes.then_some(ready.title.as_str()), wind_up)
                    .await
            }
        };
        let (ok, output) = match result {
            Ok(output) => (true, output),
            Err(text) => (false, Output::text(text)),
        };
        for applied in &output.applied {
            self.outlet.emit(EventKind::Edit {
                applied: applied.clone(),
            });
        }
        Ended { ok, output }
    }

    /// What the changes of this step, of documents that were like this before, did to the problems.
    async fn aftermath(&mut self, before: Vec<Snapshot>, cx: &Context) -> Option<String> {
        if before.is_empty() || self.cancel.is_cancelled() {
            return None;
        }
        self.session.set_step("Checking what changed");
        let (cx, runtime) = (cx.clone(), Handle::current());
        let earlier = self.open.as_ref().map(|open| open.unfinished().clone());
        let asked = spawn_blocking(move || {
            runtime.block_on(aftermath::told(&before, earlier.as_ref(), &cx))
        });
        let told = tokio::select! {
            biased;
            () = self.cancel.cancelled() => return None,
            told = asked => told.unwrap_or_else(|error| {
                tracing::error!(%error, "what changed could not be looked at");
                Aftermath::default()
            }),
        };
        self.open = told.unfinished.map(Open::new);
        told.text
    }

    /// Says what came of a call: the same to whoever watches and to the model.
    fn tell(&self, ready: &Ready<'_>, Ended { ok, mut output }: Ended) -> Block {
        if let Some(wrong) = &ready.call.repaired {
            // Else it would go on writing them like that, and the next may have no single reading.
            let _ = write!(
                output.text,
                "\n\n(The arguments of this call were no valid JSON and had to be repaired: {wrong}.)"
            );
        }
        self.outlet.emit(EventKind::ToolResult {
            id: ready.call.id.clone(),
            ok,
            title: ready.title.clone(),
            output: output.text.clone(),
            truncated: output.truncated,
        });
        Block::ToolResult {
            id: ready.call.id.clone(),
            ok,
            output: output.text,
        }
    }

    async fn wait(
        &self,
        mut task: JoinHandle<Result<Output, ToolError>>,
        change: Option<&str>,
        wind_up: &mut Option<Instant>,
    ) -> Result<Output, String> {
        let joined = tokio::select! {
            joined = &mut task => joined,
            () = self.cancel.cancelled() => {
                let end = *wind_up.get_or_insert_with(|| Instant::now() + GRACE);
                match timeout_at(end, task).await {
                    Ok(joined) => joined,
                    Err(_) => return Err(self.left_under_way(change)),
                }
            }
        };
        match joined {
            Ok(result) => result.map_err(|error| error.to_string()),
            Err(error) => {
                tracing::error!(%error, "a tool panicked");
                Err(
                    "an internal error ended this call; nothing more is known. Try another way"
                        .into(),
                )
            }
        }
    }

    /// What is said of a call that is not waited for any longer. An edit may still be made after the run's end: the person is
    /// told, for no event will.
    fn left_under_way(&self, change: Option<&str>) -> String {
        match change {
            None => ToolError::Cancelled.to_string(),
            Some(title) => {
                let message = format!("cancelled while under way, and may still be made: {title}");
                self.outlet.emit(EventKind::Notice {
                    message: message.clone(),
                });
                message
            }
        }
    }
}
