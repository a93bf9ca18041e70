//! Requests and waits. Every wait is for a change of state and has one deadline, generous, that fails the test with the
//! last messages; so does anything that the server did wrong. Nothing here waits by the clock.

use std::time::Duration;

use serde_json::{Value, json};

use super::editor::Editor;
use super::progress::Run;
use super::state::{Canned, State};

/// After so long a wait has failed, whatever the machine.
pub(super) const DEADLINE: Duration = Duration::from_secs(90);

/// A JSON-RPC error that the server answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RpcError {
    /// JSON-RPC's code.
    pub code: i64,
    /// The server's words.
    pub message: String,
}

impl Editor {
    /// Sends a request and waits for its answer.
    pub async fn request(&self, method: &str, params: Value) -> Result<Value, RpcError> {
        let id = self.start_request(method, params);
        self.answer(id).await
    }

    /// Sends a request; [`Self::answer`] waits for what comes back.
    pub fn start_request(&self, method: &str, params: Value) -> i64 {
        self.shared.with(|state| state.request(method, params))
    }

    /// The answer to a request.
    pub async fn answer(&self, id: i64) -> Result<Value, RpcError> {
        let what = format!("the answer to request {id}");
        let message = self.until(&what, |state| state.answered.remove(&id)).await;
        match message.get("error") {
            None => Ok(message["result"].clone()),
            Some(error) => Err(RpcError {
                code: error["code"].as_i64().unwrap_or_default(),
                message: error["message"].as_str().unwrap_or_default().to_owned(),
            }),
        }
    }

    /// Sends a notification.
    pub fn notify(&self, method: &str, params: Value) {
        self.shared.with(|state| state.notify(method, params));
    }

    /// Sends bytes as they are, framed or not.
    pub fn send_raw(&self, bytes: &[u8]) {
        let body = bytes
            .windows(4)
            .position(|w| w == b"\r\n\r\n")
            .map(|at| &bytes[at + 4..]);
        let message = body.and_then(|body| serde_json::from_slice::<Value>(body).ok());
        let message = message.filter(|m| m.is_object() && m["method"].is_string());
        self.shared.with(|state| state.send_raw(bytes, message));
    }

    /// Answers the next request of that method by this, in place of what the client would.
    pub fn answer_next(&self, method: &str, canned: Canned) {
        self.shared.with(|state| {
            state
                .canned
                .entry(method.to_owned())
                .or_default()
                .push_back(canned);
        });
    }

    /// Answers a request of the server that was held.
    pub fn reply(&self, id: &Value, result: Value) {
        self.shared.with(|state| state.reply(id, Ok(result)));
    }

    /// Waits for the first message of the server, of all that came so far and will come, that matches.
    pub async fn wait_for(&self, what: &str, matches: impl Fn(&Value) -> bool) -> Value {
        self.until(what, |state| {
            state
                .log
                .received()
                .find(|message| matches(message))
                .cloned()
        })
        .await
    }

    /// What the server sent so far, in order.
    pub fn received(&self) -> Vec<Value> {
        self.shared.look().log.received().cloned().collect()
    }

    /// What the client sent so far, in order.
    pub fn sent(&self) -> Vec<Value> {
        self.shared.look().log.sent().cloned().collect()
    }

    /// The events so far.
    pub fn events(&self) -> Vec<Value> {
        self.shared.look().events.all().to_vec()
    }

    /// Waits for the first event that matches.
    pub async fn wait_event(&self, what: &str, matches: impl Fn(&Value) -> bool) -> Value {
        self.until(what, |state| {
            state
                .events
                .all()
                .iter()
                .find(|event| matches(event))
                .cloned()
        })
        .await
    }

    /// Waits for the `finished` event of a session's first run.
    pub async fn wait_finished(&self, session: &Value) -> Value {
        let what = format!("the end of the run {session}");
        self.wait_event(&what, |e| {
            e["type"] == "finished" && e["session"] == *session
        })
        .await
    }

    /// All progress so far, oldest first.
    pub fn progress(&self) -> Vec<Run> {
        self.shared.look().progress.all().cloned().collect()
    }

    /// Waits until progress is as wanted.
    pub async fn wait_progress(&self, what: &str, matches: impl Fn(&Run) -> bool) -> Run {
        self.until(what, |state| {
            state.progress.all().find(|run| matches(run)).cloned()
        })
        .await
    }

    /// Waits until a run's progress has begun, and cancels it as the user would.
    pub async fn cancel_progress(&self) -> Value {
        let begun = |run: &Run| run.title.is_some() && !run.ended;
        let run = self
            .wait_progress("progress that can be cancelled", begun)
            .await;
        assert!(run.cancellable, "no cancel button: {run:?}");
        self.notify(
            "window/workDoneProgress/cancel",
            json!({"token": run.token}),
        );
        run.token
    }

    /// The answer to `initialize`.
    pub fn server(&self) -> Value {
        self.shared.look().server.clone()
    }

    /// What the server wrote to stderr so far.
    pub fn stderr(&self) -> String {
        self.shared.look().stderr.clone()
    }

    /// What the server did wrong so far; a test that means to provoke it takes it away here.
    pub fn take_problems(&self) -> Vec<String> {
        std::mem::take(&mut self.shared.look().problems)
    }

    /// Waits until `find` finds something in the state.
    pub(super) async fn until<R>(
        &self,
        what: &str,
        mut find: impl FnMut(&mut State) -> Option<R>,
    ) -> R {
        let mut changes = self.shared.changes();
        let deadline = tokio::time::sleep(DEADLINE);
        tokio::pin!(deadline);
        loop {
            changes.mark_unchanged();
            let (found, closed, problems) = {
                let mut state = self.shared.look();
                (find(&mut state), state.closed, !state.problems.is_empty())
            };
            if problems {
                self.fail(what);
            }
            match found {
                Some(found) => return found,
                None if closed => self.fail(&format!("{what} (the server's output has ended)")),
                None => {}
            }
            tokio::select! {
                _ = changes.changed() => {}
                () = &mut deadline => self.fail(&format!("{what} (waited {DEADLINE:?})")),
            }
        }
    }

    pub(super) fn fail(&self, what: &str) -> ! {
        let state = self.shared.look();
        let problems = state.problems.join("\n  ");
        let (report, stderr) = (state.log.report(), tail(&state.stderr).to_owned());
        drop(state);
        panic!(
            "waiting for {what}\nwrong with the server: {problems}\n{report}\nstderr:\n{stderr}"
        );
    }
}

/// The last of a long text.
fn tail(text: &str) -> &str {
    let mut from = text.len().saturating_sub(4000);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    &text[from..]
}
