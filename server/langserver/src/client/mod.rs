//! JSON-RPC with one language server: numbered requests with a deadline and a cancel, answers in any order, and an
//! answer to whatever the server asks. It knows no method but `$/cancelRequest`, and nothing that comes ends it.

mod call;

use std::{
    borrow::Cow,
    collections::HashMap,
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json, value::RawValue};
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt},
    sync::{mpsc, oneshot, watch},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

pub use self::call::as_one_call;
pub(crate) use self::call::{until_answered, until_ready};
use crate::transport::{Envelope, Frame, FrameReader, beginning, frame};

/// LSP's and JSON-RPC's error codes that mean something to us.
pub mod codes {
    pub const INVALID_REQUEST: i64 = -32600;
    pub const METHOD_NOT_FOUND: i64 = -32601;
    pub const INTERNAL_ERROR: i64 = -32603;
    pub const CONTENT_MODIFIED: i64 = -32801;
    pub const SERVER_CANCELLED: i64 = -32802;
}

/// A server that has so many bytes waiting for it does not read any more.
const MOST_WAITING: usize = 64 << 20;

/// An error as JSON-RPC carries it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{message} ({code})")]
pub struct RpcError {
    /// What kind.
    pub code: i64,
    /// In words.
    pub message: String,
}

/// Why a request has no answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RequestError {
    /// The server answered with an error.
    #[error(transparent)]
    Rpc(#[from] RpcError),
    /// The answer is not what the method's answer looks like, or could not be taken.
    #[error("{0}")]
    Unusable(String),
    /// It did not answer in time.
    #[error("no answer in time")]
    TimedOut,
    /// Nobody waits any more.
    #[error("cancelled")]
    Cancelled,
    /// The connection ended.
    #[error("the connection ended")]
    Closed,
}

/// How long to wait, and who may stop it.
#[derive(Debug, Clone)]
pub struct Patience {
    /// The moment after which an answer is of no use.
    pub until: Instant,
    /// Ends the wait at once.
    pub cancel: CancellationToken,
}

impl Patience {
    /// Waits `time` at most.
    pub fn of(time: Duration, cancel: &CancellationToken) -> Self {
        Self {
            until: Instant::now() + time,
            cancel: cancel.clone(),
        }
    }

    /// The same, but no longer than until then.
    pub fn at_most(&self, until: Instant) -> Self {
        Self {
            until: self.until.min(until),
            cancel: self.cancel.clone(),
        }
    }

    /// `future`'s value, unless the time is up or the wait is cancelled first.
    pub async fn wait<T>(&self, future: impl Future<Output = T>) -> Result<T, RequestError> {
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(RequestError::Cancelled),
            value = future => Ok(value),
            () = tokio::time::sleep_until(self.until) => Err(RequestError::TimedOut),
        }
    }
}

/// What the other side sends of its own accord. Called where messages are read, in order: never waits.
pub trait Peer: Send + Sync {
    /// A notification.
    fn notified(&self, method: &str, params: &RawValue);
    /// A request; the answer goes back at once.
    fn asked(&self, method: &str, params: &RawValue) -> Result<Value, RpcError>;
    /// A line that is no message.
    fn printed(&self, line: &str) {
        let _ = line;
    }
}

type Answer = Result<Box<RawValue>, RequestError>;

/// Our side of the connection.
#[derive(Debug)]
pub struct Client {
    name: String,
    out: mpsc::UnboundedSender<Vec<u8>>,
    queued: watch::Sender<Queue>,
    waiting: Mutex<Waiters>,
    next: AtomicI64,
    answers: watch::Sender<u64>,
}

/// What the pipe has not taken yet.
#[derive(Debug, Default)]
struct Queue {
    messages: usize,
    bytes: usize,
    /// It became too much.
    is_stuck: bool,
}

#[derive(Debug, Default)]
struct Waiters {
    answers: HashMap<i64, oneshot::Sender<Answer>>,
    closed: bool,
}

impl Client {
    /// Starts to write to `output`; [`Client::read`] is to be run for what comes. `name` is for messages.
    pub fn new(name: &str, output: impl AsyncWrite + Send + Unpin + 'static) -> Arc<Self> {
        let (out, messages) = mpsc::unbounded_channel();
        let queued = watch::Sender::new(Queue::default());
        tokio::spawn(write(output, messages, queued.clone()));
        Arc::new(Self {
            name: name.to_owned(),
            out,
            queued,
            waiting: Mutex::default(),
            next: AtomicI64::new(1),
            answers: watch::Sender::default(),
        })
    }

    /// Reads until the connection ends; answers why. Every request still waiting is then answered as closed.
    pub async fn read(&self, input: impl AsyncRead + Unpin, peer: &dyn Peer) -> Option<io::Error> {
        let mut frames = FrameReader::new(input);
        let end = loop {
            match frames.next().await {
                Ok(Some(Frame::Message(text))) => self.take(&text, peer),
                Ok(Some(Frame::TooLarge { length, envelope })) => self.refuse(length, &envelope),
                Ok(Some(Frame::Garbage(line))) => {
                    tracing::debug!(server = self.name, line, "printed to stdout");
                    peer.printed(&line);
                }
                Ok(None) => break None,
                Err(error) => break Some(error),
            }
        };
        self.close();
        end
    }

    /// Answers every waiting and every later request as closed.
    pub fn close(&self) {
        let mut waiting = self.waiting();
        waiting.closed = true;
        for (_, answer) in waiting.answers.drain() {
            let _ = answer.send(Err(RequestError::Closed));
        }
    }

    /// Sends a notification; `None` leaves its params out.
    pub fn notify(&self, method: &str, params: Option<impl Serialize>) {
        self.send(frame(&Outgoing {
            jsonrpc: "2.0",
            id: None,
            method,
            params,
        }));
    }

    /// Sends a request now. The wait for its answer is the caller's, so that what must go before it or after it can.
    pub fn begin(
        self: &Arc<Self>,
        method: &'static str,
        params: Option<impl Serialize>,
    ) -> Waiting {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = oneshot::channel();
        {
            let mut waiting = self.waiting();
            if waiting.closed {
                let _ = sender.send(Err(RequestError::Closed));
            } else {
                waiting.answers.insert(id, sender);
            }
        }
        self.send(frame(&Outgoing {
            jsonrpc: "2.0",
            id: Some(id),
            method,
            params,
        }));
        Waiting {
            client: self.clone(),
            id,
            answer,
        }
    }

    /// Sends a request and waits for its answer.
    pub async fn request(
        self: &Arc<Self>,
        method: &'static str,
        params: Option<impl Serialize>,
        patience: &Patience,
    ) -> Answer {
        self.begin(method, params).answer(patience).await
    }

    /// How many answers have come, those included that nobody waited for any more.
    pub fn answers(&self) -> u64 {
        *self.answers.borrow()
    }

    /// Waits until there are more than so many.
    pub async fn answered_more(&self, than: u64) {
        let mut answers = self.answers.subscribe();
        // It ends with us.
        let _ = answers.wait_for(|answers| *answers > than).await;
    }

    /// Waits until everything that was sent has been taken by the server's pipe.
    pub async fn drained(&self) {
        let _ = self
            .queued
            .subscribe()
            .wait_for(|queued| queued.messages == 0)
            .await;
    }

    fn send(&self, message: Vec<u8>) {
        let mut is_stuck = false;
        self.queued.send_modify(|queued| {
            queued.is_stuck |= queued.bytes >= MOST_WAITING;
            is_stuck = queued.is_stuck;
            if !is_stuck {
                queued.messages += 1;
                queued.bytes += message.len();
            }
        });
        // Fails only when the pipe is closed, which the reader learns too.
        if !is_stuck && self.out.send(message).is_err() {
            self.queued.send_modify(Queue::clear);
        }
    }

    /// Waits until so much waits for the server that it is taken for one that does not read. It gets nothing any more.
    pub async fn stuck(&self) -> io::Error {
        let mut queued = self.queued.subscribe();
        if queued.wait_for(|queued| queued.is_stuck).await.is_err() {
            std::future::pending::<()>().await;
        }
        io::Error::other(format!(
            "it hung: it does not read, and {} MB wait for it",
            MOST_WAITING >> 20
        ))
    }

    fn waiting(&self) -> MutexGuard<'_, Waiters> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, text: &str, peer: &dyn Peer) {
        let message: Incoming = match serde_json::from_str(text) {
            Ok(message) => message,
            Err(error) => {
                let start = beginning(text, 200);
                tracing::warn!(server = self.name, %error, start, "a message that is none");
                return;
            }
        };
        let params = message.params.unwrap_or(RawValue::NULL);
        match (message.id, message.method) {
            (Some(id), Some(method)) => {
                let outcome = catch_unwind(AssertUnwindSafe(|| peer.asked(&method, params)))
                    .unwrap_or_else(|_| {
                        Err(RpcError {
                            code: codes::INTERNAL_ERROR,
                            message: "the client failed over it".into(),
                        })
                    });
                self.send(match outcome {
                    Ok(result) => frame(&json!({"jsonrpc": "2.0", "id": id, "result": result})),
                    Err(error) => frame(&json!({"jsonrpc": "2.0", "id": id, "error": error})),
                });
            }
            (None, Some(method)) => {
                if catch_unwind(AssertUnwindSafe(|| peer.notified(&method, params))).is_err() {
                    tracing::error!(server = self.name, %method, "a notification that we failed over");
                }
            }
            (Some(id), None) => {
                let outcome = match message.error {
                    Some(error) => Err(RequestError::Rpc(error_of(error))),
                    None => Ok(message.result.unwrap_or(RawValue::NULL).to_owned()),
                };
                self.settle(id.get().trim_matches('"').parse().ok(), outcome);
            }
            (None, None) => tracing::warn!(
                server = self.name,
                text,
                "neither request, answer nor notification"
            ),
        }
    }

    /// A message too large to take: if it is an answer, who waits for it must know; if it asks something, so must the server.
    fn refuse(&self, length: u64, envelope: &Envelope) {
        let (length, most) = (length >> 20, crate::transport::LARGEST >> 20);
        let id = envelope.id.as_deref();
        if envelope.has_method {
            tracing::warn!(server = self.name, "a message of {length} MB is not taken");
            if let Some(id) = id.and_then(|id| serde_json::from_str::<Value>(id).ok()) {
                let error = RpcError {
                    code: codes::INVALID_REQUEST,
                    message: format!("no more than {most} MB are taken"),
                };
                self.send(frame(&json!({"jsonrpc": "2.0", "id": id, "error": error})));
            }
            return;
        }
        let name = &self.name;
        let message = format!("{name} answered with {length} MB; no more than {most} are taken");
        tracing::warn!("{message}");
        let id = id.and_then(|id| id.trim_matches('"').parse().ok());
        self.settle(id, Err(RequestError::Unusable(message)));
    }

    fn settle(&self, id: Option<i64>, outcome: Answer) {
        self.answers.send_modify(|answers| *answers += 1);
        if let Some(answer) = id.and_then(|id| self.waiting().answers.remove(&id)) {
            let _ = answer.send(outcome);
        } else {
            tracing::trace!(server = self.name, ?id, "an answer that nobody waits for");
        }
    }
}

/// A request that was sent. Dropping it tells the server that nobody waits any more.
#[derive(Debug)]
pub struct Waiting {
    client: Arc<Client>,
    id: i64,
    answer: oneshot::Receiver<Answer>,
}

impl Waiting {
    /// Waits for the answer.
    pub async fn answer(mut self, patience: &Patience) -> Answer {
        patience
            .wait(&mut self.answer)
            .await?
            .unwrap_or(Err(RequestError::Closed))
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if self.client.waiting().answers.remove(&self.id).is_some() {
            self.client
                .notify("$/cancelRequest", Some(json!({"id": self.id})));
        }
    }
}

#[derive(Serialize)]
struct Outgoing<'a, P> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<i64>,
    method: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<P>,
}

#[derive(Deserialize)]
struct Incoming<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

/// An error in whatever shape.
fn error_of(error: &RawValue) -> RpcError {
    let value: Value = serde_json::from_str(error.get()).unwrap_or_default();
    RpcError {
        code: value["code"].as_i64().unwrap_or_default(),
        message: value["message"]
            .as_str()
            .map_or_else(|| error.get().to_owned(), str::to_owned),
    }
}

async fn write(
    mut output: impl AsyncWrite + Unpin,
    mut messages: mpsc::UnboundedReceiver<Vec<u8>>,
    queued: watch::Sender<Queue>,
) {
    while let Some(message) = messages.recv().await {
        let written = async {
            output.write_all(&message).await?;
            output.flush().await
        };
        if written.await.is_err() {
            break;
        }
        queued.send_modify(|queued| {
            queued.messages = queued.messages.saturating_sub(1);
            queued.bytes = queued.bytes.saturating_sub(message.len());
        });
    }
    messages.close();
    queued.send_modify(Queue::clear);
}

impl Queue {
    fn clear(&mut self) {
        self.messages = 0;
        self.bytes = 0;
    }
}

#[cfg(test)]
mod tests;
