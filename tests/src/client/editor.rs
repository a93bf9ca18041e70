//! The editor's life: start, `initialize`, the two tasks that read and write, the end. It judges nothing itself; what the server
//! did wrong fails the test at the next wait, or when the editor is dropped.

use std::sync::Arc;

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::process::Child;
use tokio::sync::mpsc;

use super::log::Log;
use super::state::{Phase, Shared, State};
use super::text::Encoding;
use super::waits::DEADLINE;
use super::ways::{Sync, Ways};
use super::{Setup, answers, wire};

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
        let mut editor = Self::over(
            setup.ways.clone(),
            Log::kept(setup.ways.name),
            output,
            input,
        );
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

    /// An editor over any pair of streams. Its log is not kept for the conformance checker.
    pub fn connect(
        ways: Ways,
        from_server: impl AsyncRead + Unpin + Send + 'static,
        to_server: impl AsyncWrite + Unpin + Send + 'static,
    ) -> Self {
        Self::over(ways, Log::default(), from_server, to_server)
    }

    fn over(
        ways: Ways,
        log: Log,
        from_server: impl AsyncRead + Unpin + Send + 'static,
        mut to_server: impl AsyncWrite + Unpin + Send + 'static,
    ) -> Self {
        let (out, mut outgoing) = mpsc::unbounded_channel::<Vec<u8>>();
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
                        reading.with(|state| {
                            // Who is killed in the middle of a message can't end it.
                            if !state.killed {
                                state.problem(problem);
                            }
                        });
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
        self.shared.with(|state| state.killed = true);
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
