//! A model server that says what a test tells it to: a real HTTP server on this machine, speaking Chat Completions streamed
//! and whole, that can also fail in every way a provider fails. It records what it was asked, and never invents an answer:
//! a request that no script foresaw gets an error and fails the test.
//!
//! ```ignore
//! let model = ScriptedModel::start([
//!     Reply::call("read", json!({"filePath": "a.rs"})).into(),
//!     Step::from(|asked: &Asked| Reply::text(format!("{} results", asked.tool_results().len()))),
//! ]).await;
//! // ... point OPENAI_BASE_URL at model.base_url(), start a run ...
//! let second = &model.requests(2).await[1];
//! ```

mod asked;
#[cfg(test)]
mod checks;
mod gate;
mod relay;
mod reply;
mod server;
mod wire;

use std::collections::VecDeque;
use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

pub use asked::{Asked, FOLDER};
pub use gate::Gate;
pub use relay::{Passed, Relay};
pub use reply::{Ending, Reply};

/// Nothing that a test waits for takes longer.
const PATIENCE: Duration = Duration::from_secs(30);

/// What is done with one request.
pub enum Step {
    /// This is answered.
    Reply(Reply),
    /// What is answered depends on the request.
    Choose(Box<dyn FnOnce(&Asked) -> Reply + Send>),
}

impl From<Reply> for Step {
    fn from(reply: Reply) -> Self {
        Self::Reply(reply)
    }
}

impl<F: FnOnce(&Asked) -> Reply + Send + 'static> From<F> for Step {
    fn from(choose: F) -> Self {
        Self::Choose(Box::new(choose))
    }
}

/// The server. It ends when it is dropped, and then fails the test if it was asked more than the script foresaw.
pub struct ScriptedModel {
    address: std::net::SocketAddr,
    shared: Arc<Shared>,
    server: JoinHandle<()>,
    seen: AtomicBool,
}

impl ScriptedModel {
    /// A server that goes through these steps, one a request, in the order in which requests come.
    pub async fn start(script: impl IntoIterator<Item = Step>) -> Self {
        Self::serve(Script::Steps(script.into_iter().collect())).await
    }

    /// A server that answers any number of requests, for several sessions side by side.
    pub async fn answering(answer: impl FnMut(&Asked) -> Reply + Send + 'static) -> Self {
        Self::serve(Script::Always(Box::new(answer))).await
    }

    async fn serve(script: Script) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a port on this machine");
        let address = listener.local_addr().expect("a bound port has an address");
        let shared = Arc::new(Shared::new(script));
        let server = tokio::spawn(server::accept(listener, Arc::clone(&shared)));
        Self {
            address,
            shared,
            server,
            seen: AtomicBool::new(false),
        }
    }

    /// What to give as `base_url` or `OPENAI_BASE_URL`.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Cuts texts and arguments into pieces of so many characters, one an event (default 8).
    #[must_use]
    pub fn pieces(self, characters: usize) -> Self {
        self.shared
            .pieces
            .store(characters.max(1), Ordering::Relaxed);
        self
    }

    /// Cuts what is sent into writes of so many bytes, whatever they cut through (default: an event a write).
    #[must_use]
    pub fn writes(self, bytes: usize) -> Self {
        self.shared.writes.store(bytes.max(1), Ordering::Relaxed);
        self
    }

    /// Leaves no requests for the checker: a test asks what is wrong on purpose.
    #[must_use]
    pub fn unrecorded(self) -> Self {
        self.shared.recorded.store(false, Ordering::Relaxed);
        self
    }

    /// Adds a step to the script.
    pub fn then(&self, step: impl Into<Step>) {
        if let Script::Steps(steps) = &mut self.shared.state().script {
            steps.push_back(step.into());
        }
    }

    /// The requests so far, once there are so many.
    pub async fn requests(&self, at_least: usize) -> Vec<Asked> {
        let enough = |counts: &Counts| counts.requests >= at_least;
        self.wait(enough, &format!("{at_least} requests")).await;
        self.shared.state().asked.clone()
    }

    /// Waits until so many answers were left before their end: the other side closed the connection.
    pub async fn abandoned(&self, at_least: usize) {
        let enough = |counts: &Counts| counts.abandoned >= at_least;
        self.wait(enough, &format!("{at_least} abandoned answers"))
            .await;
    }

    /// How many connections were made.
    pub fn connections(&self) -> usize {
        self.shared.counts.borrow().connections
    }

    /// How many steps of the script have not been asked for.
    pub fn left(&self) -> usize {
        match &self.shared.state().script {
            Script::Steps(steps) => steps.len(),
            Script::Always(_) => 0,
        }
    }

    /// How many requests came that no script foresaw. Who asks expects them: they no longer fail the test.
    pub fn unforeseen(&self) -> usize {
        self.seen.store(true, Ordering::Relaxed);
        self.shared.counts.borrow().unforeseen
    }

    async fn wait(&self, enough: impl Fn(&Counts) -> bool, what: &str) {
        let mut counts = self.shared.counts.subscribe();
        let waited = within(counts.wait_for(|counts| enough(counts))).await;
        let reached = matches!(waited, Some(Ok(_)));
        assert!(
            reached,
            "waited {PATIENCE:?} for {what}: {:?}",
            self.shared.counts.borrow()
        );
    }
}

impl Drop for ScriptedModel {
    fn drop(&mut self) {
        self.server.abort();
        let unforeseen = self.shared.counts.borrow().unforeseen;
        let excused = unforeseen == 0 || *self.seen.get_mut() || std::thread::panicking();
        assert!(
            excused,
            "the model was asked {unforeseen} times more than the script foresaw"
        );
    }
}

async fn within<F: Future>(waiting: F) -> Option<F::Output> {
    tokio::time::timeout(PATIENCE, waiting).await.ok()
}

/// Where the answers come from.
enum Script {
    Steps(VecDeque<Step>),
    Always(Box<dyn FnMut(&Asked) -> Reply + Send>),
}

/// What all connections share.
struct Shared {
    state: Mutex<State>,
    counts: watch::Sender<Counts>,
    pieces: AtomicUsize,
    writes: AtomicUsize,
    calls: AtomicUsize,
    recorded: AtomicBool,
}

struct State {
    script: Script,
    asked: Vec<Asked>,
}

#[derive(Debug, Default)]
struct Counts {
    connections: usize,
    requests: usize,
    abandoned: usize,
    unforeseen: usize,
}

impl Shared {
    fn new(script: Script) -> Self {
        Self {
            state: Mutex::new(State {
                script,
                asked: Vec::new(),
            }),
            counts: watch::Sender::default(),
            pieces: AtomicUsize::new(8),
            writes: AtomicUsize::new(usize::MAX),
            calls: AtomicUsize::new(0),
            recorded: AtomicBool::new(true),
        }
    }

    /// A script that panicked has failed its test already.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self, change: impl FnOnce(&mut Counts)) {
        self.counts.send_modify(change);
    }

    /// Records the request and takes its answer from the script.
    fn answer(&self, asked: Asked) -> Reply {
        if self.recorded.load(Ordering::Relaxed) {
            asked.record();
        }
        let mut state = self.state();
        state.asked.push(asked.clone());
        let reply = match &mut state.script {
            Script::Always(answer) => Some(answer(&asked)),
            Script::Steps(steps) => steps.pop_front().map(|step| match step {
                Step::Reply(reply) => reply,
                Step::Choose(choose) => choose(&asked),
            }),
        };
        drop(state);
        self.count(|counts| {
            counts.requests += 1;
            counts.unforeseen += usize::from(reply.is_none());
        });
        reply.unwrap_or_else(|| {
            Reply::status(
                500,
                &[],
                r#"{"error":{"message":"the script of this test has no step for this request"}}"#,
            )
        })
    }

    /// An id that no call of this server had before.
    fn call_id(&self) -> String {
        format!("call_{}", self.calls.fetch_add(1, Ordering::Relaxed) + 1)
    }
}
