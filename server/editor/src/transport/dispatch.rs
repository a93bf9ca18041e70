//! Acts on messages in the order in which they came. Each call's future is **polled once right
//! here**, so whatever a handler does before its first await is done before the next message is
//! looked at; only what must wait goes to a task of its own. Hence no slots that could all be
//! taken, and no way for a queued message to block an answer. A panic costs its own request and
//! nothing else. This knows the life cycle of the protocol, and no other method.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt;
use serde_json::{Value, json};
use tokio::io::AsyncRead;
use tokio_util::sync::CancellationToken;
use tower_lsp::jsonrpc::{Error, ErrorCode, Id, Request, Response};
use tower_lsp::{ExitedError, LanguageServer, LspService};
use tower_service::Service;

use super::framing::Frame;
use super::message::{Call, Incoming, sort};
use super::outgoing::Outgoing;
use super::reader::Reader;

/// A method that is served. One without a route is not found, whatever its parameters.
#[derive(Clone, Copy)]
pub(crate) struct Route {
    /// The method, as the client calls it.
    pub(crate) method: &'static str,
    /// Its name in the router. It differs from `method` where we read the parameters ourselves: the
    /// router's typed routes can't be replaced, and drop a whole notification for one field that
    /// `lsp-types` does not like.
    pub(crate) name: &'static str,
    /// What is done to the parameters before they are typed.
    pub(crate) repair: fn(Value) -> Value,
}

impl Route {
    /// A route of the typed trait, or a method of our own.
    pub(crate) const fn plain(method: &'static str) -> Self {
        Self {
            method,
            name: method,
            repair: std::convert::identity,
        }
    }

    /// A method of the protocol whose parameters we read ourselves.
    pub(crate) const fn own(method: &'static str, name: &'static str) -> Self {
        Self {
            method,
            name,
            repair: std::convert::identity,
        }
    }

    /// A route of the typed trait whose parameters are put right first.
    pub(crate) const fn repaired(method: &'static str, repair: fn(Value) -> Value) -> Self {
        Self {
            method,
            name: method,
            repair,
        }
    }
}

/// Why no more messages are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// `exit`.
    Exit,
    /// The input ended.
    InputEnded,
    /// The output broke.
    ClientGone,
    /// We were told to stop from inside: the editor's process is dead.
    Stopped,
}

/// Routes messages to a service until the end.
pub(crate) struct Dispatch<S> {
    service: LspService<S>,
    outgoing: Outgoing,
    routes: &'static [Route],
    phase: Phase,
    /// Requests that ended in a panic: the service still has their ids on its books.
    panicked: Arc<Mutex<Vec<Id>>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    New,
    Initialized,
    ShutDown,
}

type Answered = Result<Result<Option<Response>, ExitedError>, Box<dyn Any + Send>>;

impl<S: LanguageServer> Dispatch<S> {
    /// `routes` names every method that is served, but for `exit`, which ends the loop itself.
    pub(crate) fn new(
        service: LspService<S>,
        outgoing: Outgoing,
        routes: &'static [Route],
    ) -> Self {
        Self {
            service,
            outgoing,
            routes,
            phase: Phase::New,
            panicked: Arc::default(),
        }
    }

    /// Runs until one of the ends, and gives LSP's exit code with it: 0 after `shutdown`, else 1.
    /// The handler of `initialize` must not await: only if it is done at once are the messages
    /// behind it let in.
    pub(crate) async fn run(
        mut self,
        input: impl AsyncRead + Unpin,
        stop: CancellationToken,
    ) -> (End, i32) {
        let mut reader = Reader::new(input);
        let gone = self.outgoing.gone().clone();
        let end = loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => break End::Stopped,
                () = gone.cancelled() => break End::ClientGone,
                frame = reader.next() => match frame {
                    Some(frame) => if let Some(end) = self.take(frame) { break end },
                    None => break End::InputEnded,
                },
            }
        };
        // Whatever still waits in a handler is dropped.
        self.call(
            Call {
                id: None,
                method: "exit".to_owned(),
                params: None,
            },
            "exit",
        );
        (end, i32::from(self.phase != Phase::ShutDown))
    }

    fn take(&mut self, frame: Frame) -> Option<End> {
        match frame {
            Frame::Damaged(what) => {
                tracing::warn!("damage in the input: {what}");
                self.refuse(Id::Null, ErrorCode::ParseError, what);
                None
            }
            Frame::Message(Value::Array(batch)) if !batch.is_empty() => batch
                .into_iter()
                .find_map(|message| self.act(sort(message))),
            Frame::Message(message) => self.act(sort(message)),
        }
    }

    fn act(&mut self, message: Incoming) -> Option<End> {
        match message {
            Incoming::Call(call) if call.method == "exit" => return Some(End::Exit),
            Incoming::Call(call) => self.admit(call),
            Incoming::Answer { id, outcome } => self.outgoing.answered(id, outcome),
            Incoming::Invalid { id, reason } => {
                tracing::warn!("no JSON-RPC message: {reason}");
                self.refuse(
                    id,
                    ErrorCode::InvalidRequest,
                    format!("Invalid request: {reason}"),
                );
            }
        }
        None
    }

    /// What may come when. Notifications that may not are dropped, as LSP says.
    fn admit(&mut self, call: Call) {
        let method = call.method.as_str();
        let route = self.routes.iter().find(|route| route.method == method);
        let refusal = match (self.phase, route) {
            (Phase::New, _) if method != "initialize" => (
                ErrorCode::ServerError(-32002),
                format!("Server not initialized: {method} came before initialize"),
            ),
            (Phase::ShutDown, _) => (
                ErrorCode::InvalidRequest,
                format!("Invalid request: {method} came after shutdown"),
            ),
            (_, None) => (
                ErrorCode::MethodNotFound,
                format!("Method not found: {method}"),
            ),
            (_, Some(route)) => return self.accept(call, *route),
        };
        if let Some(id) = call.id {
            self.refuse(id, refusal.0, refusal.1);
        }
    }

    fn accept(&mut self, mut call: Call, route: Route) {
        match call.method.as_str() {
            // Its params are void, and some clients send `null` or `{}`.
            "shutdown" => {
                call.params = None;
                if call.id.is_some() {
                    self.phase = Phase::ShutDown;
                }
            }
            "initialize" if call.id.is_none() => return,
            _ => call.params = Some((route.repair)(call.params.unwrap_or_else(|| json!({})))),
        }
        self.call(call, route.name);
    }

    fn call(&mut self, Call { id, method, params }: Call, name: &'static str) {
        self.forget_panicked();
        let outgoing = self.outgoing.clone();
        let opens = method == "initialize" && self.phase == Phase::New;
        let answer = Answer {
            id: id.clone(),
            method,
            panicked: Arc::clone(&self.panicked),
            outgoing,
        };
        let mut request = Request::build(name);
        if let Some(params) = params {
            request = request.params(params);
        }
        if let Some(id) = id {
            request = request.id(id);
        }
        // `poll_ready` is never anything but ready here: this service has no back pressure of its
        // own.
        let future = match catch_unwind(AssertUnwindSafe(|| self.service.call(request.finish()))) {
            Ok(future) => future,
            Err(panic) => {
                answer.send(Err(panic));
                return;
            }
        };
        let mut future = AssertUnwindSafe(future).catch_unwind();
        match (&mut future).now_or_never() {
            Some(answered) => {
                if answer.send(answered) && opens {
                    self.phase = Phase::Initialized;
                }
            }
            None => drop(tokio::spawn(async move { answer.send(future.await) })),
        }
    }

    fn forget_panicked(&mut self) {
        let panicked =
            std::mem::take(&mut *self.panicked.lock().unwrap_or_else(PoisonError::into_inner));
        for id in panicked {
            let id = match id {
                Id::Number(number) => json!(number),
                Id::String(text) => json!(text),
                Id::Null => continue,
            };
            let cancel = Request::build("$/cancelRequest")
                .params(json!({ "id": id }))
                .finish();
            let _ = self.service.call(cancel).now_or_never();
        }
    }

    fn refuse(&self, id: Id, code: ErrorCode, message: String) {
        self.outgoing.respond(&Response::from_error(
            id,
            Error {
                code,
                message: message.into(),
                data: None,
            },
        ));
    }
}

/// What is owed to the client for one call.
struct Answer {
    id: Option<Id>,
    method: String,
    panicked: Arc<Mutex<Vec<Id>>>,
    outgoing: Outgoing,
}

impl Answer {
    /// Whether the call went well.
    fn send(self, answered: Answered) -> bool {
        let response = match answered {
            Ok(Ok(response)) => response,
            Ok(Err(ExitedError { .. })) => return false,
            Err(panic) => {
                tracing::error!("{} panicked: {}", self.method, panic_text(panic.as_ref()));
                let Some(id) = self.id else { return false };
                self.panicked
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(id.clone());
                let message = format!("Internal error: {} failed by a fault of ours", self.method);
                let error = Error {
                    code: ErrorCode::InternalError,
                    message: message.into(),
                    data: None,
                };
                self.outgoing.respond(&Response::from_error(id, error));
                return false;
            }
        };
        let Some(response) = response else {
            return true;
        };
        self.outgoing.respond(&response);
        response.is_ok()
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}
