//! The way to the client: answers, notifications, and requests with our own table of who waits for
//! what. Nothing here blocks a caller: frames are queued, and one task writes them whole. A client
//! that can no longer be written to is gone.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use serde::Serialize;
use serde_json::{Value, json};
use thiserror::Error;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tower_lsp::jsonrpc::{self, Response};
use tower_lsp::lsp_types::notification::Notification;

/// How much is gathered into one write.
const WRITE_AT_ONCE: usize = 64 << 10;

/// A handle on the client. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Outgoing(Arc<Shared>);

struct Shared {
    queue: mpsc::UnboundedSender<Queued>,
    waiting: Mutex<HashMap<i64, oneshot::Sender<Outcome>>>,
    next_id: AtomicI64,
    gone: CancellationToken,
}

enum Queued {
    Frame(Vec<u8>),
    /// Nothing that is queued later is written. Answered when all before it is.
    Close(oneshot::Sender<()>),
}

type Outcome = Result<Value, jsonrpc::Error>;

/// Why a request has no result.
#[derive(Debug, Error)]
pub(crate) enum RequestError {
    /// The client answered with an error.
    #[error("{message} ({code})")]
    Refused {
        /// JSON-RPC's.
        code: i64,
        /// The client's own words.
        message: String,
    },
    /// The client is gone, or we are about to go.
    #[error("the editor is gone")]
    Gone,
}

impl Outgoing {
    /// A handle, and the task that writes. The task ends when the client is gone or the handle is
    /// closed.
    pub(crate) fn new(
        output: impl AsyncWrite + Unpin + Send + 'static,
    ) -> (Self, impl Future<Output = ()> + Send) {
        let (queue, frames) = mpsc::unbounded_channel();
        let gone = CancellationToken::new();
        let outgoing = Self(Arc::new(Shared {
            queue,
            waiting: Mutex::default(),
            next_id: AtomicI64::new(1),
            gone: gone.clone(),
        }));
        let shared = Arc::downgrade(&outgoing.0);
        let writer = async move {
            if let Err(error) = write(output, frames).await {
                tracing::info!("the editor can't be written to: {error}");
            }
            gone.cancel();
            if let Some(shared) = shared.upgrade() {
                shared.waiting().clear();
            }
        };
        (outgoing, writer)
    }

    /// Cancelled when the client can't be reached any more.
    pub(crate) fn gone(&self) -> &CancellationToken {
        &self.0.gone
    }

    /// Answers a request of the client.
    pub(crate) fn respond(&self, response: &Response) {
        self.0.send(response);
    }

    /// Sends a notification of LSP.
    pub(crate) fn notify<N: Notification>(&self, params: N::Params) {
        self.notify_as(N::METHOD, params);
    }

    /// Sends a notification of our own making, or of a newer LSP than our types.
    pub(crate) fn notify_as(&self, method: &str, params: impl Serialize) {
        self.0.send(&Notice {
            jsonrpc: "2.0",
            method,
            params,
        });
    }

    /// Sends a request. It is on its way when this returns; dropping the wait cancels it.
    pub(crate) fn request(&self, method: &str, params: impl Serialize) -> Wait {
        let id = self.0.next_id.fetch_add(1, Ordering::Relaxed);
        let (sender, receiver) = oneshot::channel();
        self.0.waiting().insert(id, sender);
        self.0.send(&Request {
            jsonrpc: "2.0",
            id,
            method,
            params,
        });
        if self.0.gone.is_cancelled() {
            self.0.waiting().remove(&id);
        }
        Wait {
            id,
            receiver,
            shared: Arc::clone(&self.0),
        }
    }

    /// Hands an answer of the client to whoever waits for it. One that comes too late is nobody's.
    pub(crate) fn answered(&self, id: Option<i64>, outcome: Outcome) {
        let waiting = id.and_then(|id| self.0.waiting().remove(&id));
        if let Some(sender) = waiting {
            let _ = sender.send(outcome);
        } else {
            tracing::debug!("an answer that nobody waits for: {id:?}");
        }
    }

    /// Ends all waits and writes what is queued. Later messages go nowhere.
    pub(crate) async fn close(&self) {
        self.0.waiting().clear();
        let (done, written) = oneshot::channel();
        if self.0.queue.send(Queued::Close(done)).is_ok() {
            // An error says that the writer is no more, which is as good.
            let _ = written.await;
        }
    }

    #[cfg(test)]
    pub(crate) fn waits(&self) -> usize {
        self.0.waiting().len()
    }
}

impl Shared {
    fn waiting(&self) -> MutexGuard<'_, HashMap<i64, oneshot::Sender<Outcome>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, message: &impl Serialize) {
        match serde_json::to_vec(message) {
            Ok(body) => {
                let mut frame = format!("Content-Length: {}\r\n\r\n", body.len()).into_bytes();
                frame.extend_from_slice(&body);
                // Without a writer the client is gone, and whoever must know is told by `gone`.
                let _ = self.queue.send(Queued::Frame(frame));
            }
            Err(error) => tracing::error!("a message that can't be written as JSON: {error}"),
        }
    }
}

/// The wait for the answer to one request. Dropped before the answer, it tells the client not to
/// bother.
pub(crate) struct Wait {
    id: i64,
    receiver: oneshot::Receiver<Outcome>,
    shared: Arc<Shared>,
}

impl Future for Wait {
    type Output = Result<Value, RequestError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.receiver)
            .poll(context)
            .map(|outcome| match outcome {
                Ok(Ok(value)) => Ok(value),
                Ok(Err(error)) => Err(RequestError::Refused {
                    code: error.code.code(),
                    message: error.message.into_owned(),
                }),
                Err(_) => Err(RequestError::Gone),
            })
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        let unanswered = self.shared.waiting().remove(&self.id).is_some();
        if unanswered {
            let params = json!({ "id": self.id });
            self.shared.send(&Notice {
                jsonrpc: "2.0",
                method: "$/cancelRequest",
                params,
            });
        }
    }
}

#[derive(Serialize)]
struct Notice<'a, P> {
    jsonrpc: &'static str,
    method: &'a str,
    params: P,
}

#[derive(Serialize)]
struct Request<'a, P> {
    jsonrpc: &'static str,
    id: i64,
    method: &'a str,
    params: P,
}

async fn write(
    mut output: impl AsyncWrite + Unpin,
    mut frames: mpsc::UnboundedReceiver<Queued>,
) -> std::io::Result<()> {
    let mut pending = Vec::new();
    while let Some(first) = frames.recv().await {
        let mut next = Some(first);
        let mut closed = None;
        while let Some(queued) = next {
            match queued {
                Queued::Frame(frame) if pending.is_empty() => pending = frame,
                Queued::Frame(frame) => pending.extend_from_slice(&frame),
                Queued::Close(done) => closed = Some(done),
            }
            let more = closed.is_none() && pending.len() < WRITE_AT_ONCE;
            next = if more { frames.try_recv().ok() } else { None };
        }
        output.write_all(&pending).await?;
        output.flush().await?;
        pending = Vec::new();
        if let Some(done) = closed {
            let _ = done.send(());
            break;
        }
    }
    Ok(())
}
