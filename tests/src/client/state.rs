//! Everything that the client knows at a moment, behind one lock: a message is sent in the same breath as the change
//! of state that it tells of, so that what the server sees is in order. It never waits.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};

use super::document::{Document, Spot};
use super::events::Events;
use super::log::{From, Log};
use super::progress::Progress;
use super::text::Encoding;
use super::ways::{Sync, Ways};
use super::wire;

/// When planned typing happens, around the next edit of the server to that document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// The edit has arrived and is not applied yet: it is stale when it is looked at.
    BeforeApply,
    /// Applied, not answered yet.
    BeforeReply,
    /// Applied and answered, the typing after the edit as a change of its own (clients that re-diff may merge them all the same).
    AfterReply,
    /// Applied; edit and typing reach the server as one `didChange`.
    Merged,
}

/// Typing to come.
#[derive(Debug)]
pub struct Plan {
    pub uri: String,
    pub moment: Moment,
    pub spot: Spot,
    pub text: String,
}

/// An answer that a test gives in place of the client's own.
#[derive(Clone, Debug)]
pub enum Canned {
    /// This result.
    Result(Value),
    /// This error.
    Error(i64, String),
    /// None, until the test calls `Editor::reply`.
    Hold,
}

/// How far the connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// `initialize` is not answered yet.
    Starting,
    /// In use.
    Running,
    /// `shutdown` was sent.
    Ending,
}

/// The state.
#[derive(Debug)]
pub struct State {
    pub ways: Ways,
    /// The client's capabilities, as `initialize` sent them.
    pub capabilities: Value,
    /// The answer to `initialize`.
    pub server: Value,
    pub phase: Phase,
    pub encoding: Encoding,
    pub sync: Sync,
    pub folders: Vec<Value>,
    pub settings: Value,
    pub requests_served: Vec<String>,
    pub documents: BTreeMap<String, Document>,
    pub log: Log,
    /// Our requests without an answer yet: the method and the params.
    pub asked: HashMap<i64, (String, Value)>,
    pub answered: HashMap<i64, Value>,
    pub raw_sent: bool,
    /// Ids of the server's requests that are not answered yet.
    pub owed: Vec<Value>,
    pub canned: HashMap<String, VecDeque<Canned>>,
    pub plans: Vec<Plan>,
    pub progress: Progress,
    pub events: Events,
    pub registrations: BTreeMap<String, Value>,
    /// What the server did wrong.
    pub problems: Vec<String>,
    /// Set when the test has killed the server.
    pub killed: bool,
    /// Set when the server's output has ended.
    pub closed: bool,
    pub stderr: String,
    next_id: i64,
    waiting: BTreeSet<String>,
    later: Vec<(String, Duration)>,
    out: mpsc::UnboundedSender<Vec<u8>>,
}

impl State {
    pub fn new(ways: Ways, log: Log, out: mpsc::UnboundedSender<Vec<u8>>) -> Self {
        Self {
            sync: ways.sync,
            ways,
            capabilities: Value::Null,
            server: Value::Null,
            phase: Phase::Starting,
            encoding: Encoding::Utf16,
            folders: Vec::new(),
            settings: Value::Null,
            requests_served: Vec::new(),
            documents: BTreeMap::new(),
            log,
            asked: HashMap::new(),
            answered: HashMap::new(),
            raw_sent: false,
            owed: Vec::new(),
            canned: HashMap::new(),
            plans: Vec::new(),
            progress: Progress::default(),
            events: Events::default(),
            registrations: BTreeMap::new(),
            problems: Vec::new(),
            killed: false,
            closed: false,
            stderr: String::new(),
            next_id: 1,
            waiting: BTreeSet::new(),
            later: Vec::new(),
            out,
        }
    }

    /// Books what the server did wrong.
    pub fn problem(&mut self, what: impl Into<String>) {
        self.problems.push(what.into());
    }

    /// A capability of the client, by JSON pointer.
    pub fn capability(&self, pointer: &str) -> Option<&Value> {
        self.capabilities
            .pointer(pointer)
            .filter(|value| !value.is_null())
    }

    /// Whether a boolean capability is set.
    pub fn can(&self, pointer: &str) -> bool {
        self.capability(pointer) == Some(&json!(true))
    }

    /// Sends a message.
    pub fn send(&mut self, message: Value) {
        // The receiver goes away with the server; what is sent then is only logged.
        let _ = self.out.send(wire::frame(&message));
        self.log.push(From::Client, message);
    }

    /// Sends bytes as they are; a whole JSON body in them is logged as a message too, so that its answer is known.
    pub fn send_raw(&mut self, bytes: &[u8], message: Option<Value>) {
        self.raw_sent = true;
        let _ = self.out.send(bytes.to_vec());
        if let Some(id) = message.as_ref().and_then(|m| m["id"].as_i64()) {
            let method = message
                .as_ref()
                .and_then(|m| m["method"].as_str())
                .unwrap_or_default();
            self.asked.insert(id, (method.to_owned(), Value::Null));
        }
        let raw = json!({"raw": String::from_utf8_lossy(bytes)});
        for logged in [Some(raw), message].into_iter().flatten() {
            self.log.push(From::Client, logged);
        }
    }

    /// Sends a notification.
    pub fn notify(&mut self, method: &str, params: Value) {
        let mut message = json!({"jsonrpc": "2.0", "method": method, "params": params});
        if params_absent(&message) {
            message.as_object_mut().expect("an object").remove("params");
        }
        self.send(message);
    }

    /// Sends a request, after telling the server all changes, as editors do.
    pub fn request(&mut self, method: &str, params: Value) -> i64 {
        self.tell_all();
        let id = self.next_id;
        self.next_id += 1;
        self.asked.insert(id, (method.to_owned(), params.clone()));
        let mut message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        if params_absent(&message) {
            message.as_object_mut().expect("an object").remove("params");
        }
        self.send(message);
        id
    }

    /// Answers a request of the server.
    pub fn reply(&mut self, id: &Value, outcome: Result<Value, (i64, String)>) {
        self.owed.retain(|owed| owed != id);
        self.send(match outcome {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err((code, message)) => {
                json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
            }
        });
    }

    /// The user types, in the way of this client: told at once, or after a while.
    pub fn type_in(&mut self, uri: &str, spot: &Spot, text: &str) {
        let ways = self.ways.clone();
        let document = self.document(uri);
        let bytes = document.find(spot);
        document.change(vec![(bytes, text.to_owned())], &ways);
        match ways.debounce {
            Some(wait) => self.tell_after(uri, wait),
            None => self.tell(uri),
        }
    }

    /// The open document of that uri.
    pub fn document(&mut self, uri: &str) -> &mut Document {
        self.documents
            .get_mut(uri)
            .unwrap_or_else(|| panic!("{uri} is not open in the client"))
    }

    /// Tells the server what was done to a document.
    pub fn tell(&mut self, uri: &str) {
        let (ways, sync) = (self.ways.clone(), self.sync);
        self.waiting.remove(uri);
        // A document that was closed in the meantime has nothing to tell.
        let Some(document) = self.documents.get_mut(uri) else {
            return;
        };
        if let Some(change) = document.tell(&ways, sync) {
            self.notify("textDocument/didChange", change);
        }
    }

    /// Tells the server everything.
    pub fn tell_all(&mut self) {
        let behind = self
            .documents
            .values()
            .filter(|d| d.is_behind())
            .map(|d| d.uri.clone());
        for uri in behind.collect::<Vec<_>>() {
            self.tell(&uri);
        }
    }

    /// Tells it after a while. The first change sets the time.
    pub fn tell_after(&mut self, uri: &str, wait: Duration) {
        if self.waiting.insert(uri.to_owned()) {
            self.later.push((uri.to_owned(), wait));
        }
    }
}

/// `shutdown` and `exit` have no params, not even null.
fn params_absent(message: &Value) -> bool {
    message["params"].is_null()
}

/// The state, shared by the reader, the timers and the test.
#[derive(Debug)]
pub struct Shared {
    state: Mutex<State>,
    tick: watch::Sender<u64>,
}

impl Shared {
    pub fn new(state: State) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(state),
            tick: watch::Sender::new(0),
        })
    }

    /// Wakes at every change.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.tick.subscribe()
    }

    /// Looks at the state.
    pub fn look(&self) -> MutexGuard<'_, State> {
        // A test that failed while it held the lock has said so already.
        self.state
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Changes the state; what it left for later gets its timer, and waits wake.
    pub fn with<R>(self: &Arc<Self>, act: impl FnOnce(&mut State) -> R) -> R {
        let (result, later) = {
            let mut state = self.look();
            let result = act(&mut state);
            (result, std::mem::take(&mut state.later))
        };
        for (uri, wait) in later {
            let shared = Arc::clone(self);
            tokio::spawn(async move {
                tokio::time::sleep(wait).await;
                shared.look().tell(&uri);
                shared.tick.send_modify(|count| *count += 1);
            });
        }
        self.tick.send_modify(|count| *count += 1);
        result
    }
}
