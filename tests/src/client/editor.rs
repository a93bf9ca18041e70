//! The editor's life and its waits: start, requests, `wait_…`, the end. Every wait is for a change of state and has one
//! deadline, generous, that fails the test with the last messages; so does anything that the server did wrong.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::process::Child;
use tokio::sync::mpsc;

use super::log::Log;
use super::progress::Run;
use super::state::{Canned, Phase, Shared, State};
use super::text::Encoding;
use super::ways::{Sync, Ways};
use super::{Setup, answers, wire};

/// After so long a wait has failed, whatever the machine.
const DEADLINE: Duration = Duration::from_secs(90);

/// A JSON-RPC error that the server answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RpcError {
    /// JSON-RPC's code.
    pub code: i64,
    /// The server's words.
    pub message: String,
}

/// A running editor. Dropped, it kills the server.
#[derive(Debug)]
pub struct Editor {
    pub(super) shared: Arc<Shared>,
    child: Option<Child>,
    closing: Option<tokio::sync::oneshot::Sender<()>>,
    /// Lives as long as the server.
    home: Option<TempDir>,
}

impl Editor {
    /// Starts the server and initializes it as this client does.
    pub async fn start(setup: Setup) -> Self {
        let editor = Self::spawn(&setup);
        editor.initialize(&setup).await;
        editor
    }

    /// Starts the server, and nothing more.
    pub fn spawn(setup: &Setup) -> Self {
        let home = TempDir::new().expect("a temporary folder");
        let mut child = setup.spawn(home.path());
        let output = child.stdout.take().expect("stdout");
        let input = child.stdin.take().expect("stdin");
        let mut stderr = child.stderr.take().expect("stderr");
        let mut editor = Self::connect(setup.ways.clone(), output, input);
        let shared = Arc::clone(&editor.shared);
        tokio::spawn(async move {
            let mut buffer = vec![0; 1 << 16];
            while let Ok(read @ 1..) = stderr.read(&mut buffer).await {
                shared
                    .look()
                    .stderr
                    .push_str(&String::from_utf8_lossy(&buffer[..read]));
            }
        });
        editor.child = Some(child);
        editor.home = Some(home);
        editor
    }

    /// An editor over any pair of streams.
    pub fn connect(
        ways: Ways,
        from_server: impl AsyncRead + Unpin + Send + 'static,
        mut to_server: impl AsyncWrite + Unpin + Send + 'static,
    ) -> Self {
        let (out, mut outgoing) = mpsc::unbounded_channel::<Vec<u8>>();
        let log = Log::new(ways.name);
        let shared = Shared::new(State::new(ways, log, out));
        let (closing, mut closed) = tokio::sync::oneshot::channel();
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    biased;
                    Some(bytes) = outgoing.recv() => {
                        // A server that went away is found by the reader.
                        if to_server.write_all(&bytes).await.is_err() || to_server.flush().await.is_err() {
                            return;
                        }
                    }
                    _ = &mut closed => return,
                }
            }
        });
        let reading = Arc::clone(&shared);
        tokio::spawn(async move {
            let mut input = BufReader::new(from_server);
            loop {
                match wire::next(&mut input).await {
                    Ok(Some(message)) => reading.with(|state| answers::receive(state, &message)),
                    Ok(None) => break,
                    Err(problem) => {
                        reading.with(|state| state.problem(problem));
                        break;
                    }
                }
            }
            reading.with(|state| state.closed = true);
        });
        Self {
            shared,
            child: None,
            closing: Some(closing),
            home: None,
        }
    }

    /// `initialize` and `initialized`, with the profile of this client's ways. The result of the first.
    pub async fn initialize(&self, setup: &Setup) -> Value {
        let (params, folders) = setup.params();
        let served = params["initializationOptions"]["client"]["requests"]
            .as_array()
            .cloned();
        let offered = params["capabilities"]["general"]["positionEncodings"].clone();
        let id = self.shared.with(|state| {
            state.capabilities = params["capabilities"].clone();
            state.settings = setup.settings.clone();
            state.folders = folders;
            let names = served
                .into_iter()
                .flatten()
                .filter_map(|n| n.as_str().map(str::to_owned));
            state.requests_served = names.collect();
            state.request("initialize", params)
        });
        let result = self.answer(id).await.expect("`initialize` is answered");
        let capabilities = &result["capabilities"];
        let encoding = capabilities["positionEncoding"]
            .as_str()
            .unwrap_or("utf-16");
        let known = encoding == "utf-16"
            || offered
                .as_array()
                .is_some_and(|offered| offered.iter().any(|e| e == encoding));
        let sync = &capabilities["textDocumentSync"];
        let change = sync["change"].as_i64().or(sync.as_i64());
        self.shared.with(|state| {
            if !known {
                state.problem(format!("the encoding {encoding:?} was not among {offered}"));
            }
            state.encoding = Encoding::named(encoding).unwrap_or(Encoding::Utf16);
            match change {
                Some(1) => state.sync = Sync::Full,
                Some(2) => {}
                _ => state.problem(format!("no way to sync text: {sync}")),
            }
            state.server = result.clone();
            state.phase = Phase::Running;
            state.notify("initialized", json!({}));
        });
        result
    }

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

    /// The server's process id.
    pub fn pid(&self) -> u32 {
        self.child
            .as_ref()
            .and_then(Child::id)
            .expect("a running process")
    }

    /// `shutdown`, `exit`, and the process's exit code.
    pub async fn shutdown(mut self) -> i32 {
        let id = self.shared.with(|state| {
            assert!(
                state.plans.is_empty(),
                "planned typing never came up: {:?}",
                state.plans
            );
            let id = state.request("shutdown", Value::Null);
            state.phase = Phase::Ending;
            id
        });
        self.answer(id).await.expect("`shutdown` is answered");
        self.notify("exit", Value::Null);
        self.exit_code().await
    }

    /// Closes the server's stdin, as an editor that died; the exit code.
    pub async fn hang_up(mut self) -> i32 {
        drop(self.closing.take());
        self.exit_code().await
    }

    /// Kills the server by SIGKILL and waits for its end.
    pub async fn kill9(mut self) {
        let mut child = self.child.take().expect("a running process");
        child.kill().await.expect("killed");
    }

    /// Waits for the process to end by itself. 128 and the signal's number if a signal ended it.
    pub async fn exit_code(&mut self) -> i32 {
        self.until_closed().await;
        let mut child = self.child.take().expect("a running process");
        let ended = tokio::time::timeout(DEADLINE, child.wait()).await;
        let status = ended
            .unwrap_or_else(|_| self.fail("the server's end"))
            .expect("a status");
        #[cfg(unix)]
        let signal = std::os::unix::process::ExitStatusExt::signal(&status);
        #[cfg(not(unix))]
        let signal = None;
        status
            .code()
            .unwrap_or_else(|| 128 + signal.unwrap_or_default())
    }

    async fn until_closed(&self) {
        self.until("the end of the server's output", |state| {
            state.closed.then_some(())
        })
        .await;
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

    fn fail(&self, what: &str) -> ! {
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

impl Drop for Editor {
    fn drop(&mut self) {
        let problems = self.take_problems();
        assert!(
            problems.is_empty() || std::thread::panicking(),
            "wrong with the server:\n  {}",
            problems.join("\n  ")
        );
    }
}
