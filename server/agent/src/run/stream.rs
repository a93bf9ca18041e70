//! What comes from the model, and what goes out as events.

use std::sync::{Arc, Mutex};

use futures::StreamExt;
use model::{ModelError, Request, Stop, StreamEvent, ToolCall};

use super::{End, Run};
use crate::{
    event::{Event, EventKind, Observer},
    session::{Session, lock},
};

/// Numbers the events of one run, on from those of the session's runs before.
pub struct Outlet {
    session: Arc<Session>,
    observer: Arc<dyn Observer>,
    /// The documents that this run changed.
    files: Mutex<Vec<String>>,
}

impl Outlet {
    pub fn new(session: Arc<Session>, observer: Arc<dyn Observer>) -> Self {
        Outlet {
            session,
            observer,
            files: Mutex::default(),
        }
    }

    /// The documents that this run changed, in the order of their first change.
    pub fn files(&self) -> Vec<String> {
        lock(&self.files).clone()
    }

    pub fn emit(&self, kind: EventKind) {
        if let EventKind::Edit { applied } = &kind {
            let uri = applied.after.uri.as_str();
            self.session.changed(uri);
            let mut files = lock(&self.files);
            if !files.iter().any(|known| known == uri) {
                files.push(uri.to_owned());
            }
        }
        self.observer.event(&Event {
            session: self.session.id.clone(),
            seq: self.session.next_seq(),
            kind,
        });
    }
}

/// One answer, whole.
pub struct Answer {
    pub text: String,
    pub calls: Vec<ToolCall>,
    pub stop: Stop,
}

impl Run {
    /// Asks the model once, telling of its answer as it comes.
    pub(super) async fn ask(&mut self, request: &Request) -> Result<Answer, End> {
        let cancel = self.cancel.clone();
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(End::Cancelled),
            answer = self.listen(request) => answer.map_err(|error| match error {
                ModelError::Cancelled => End::Cancelled,
                other => End::Failed(other.to_string()),
            }),
        }
    }

    async fn listen(&mut self, request: &Request) -> Result<Answer, ModelError> {
        let mut stream = self.provider.stream(request, &self.cancel).await?;
        let mut answer = Answer {
            text: String::new(),
            calls: Vec::new(),
            stop: Stop::End,
        };
        while let Some(event) = stream.next().await {
            match event? {
                StreamEvent::Text(delta) => {
                    answer.text.push_str(&delta);
                    self.outlet.emit(EventKind::Text { delta });
                }
                StreamEvent::Reasoning(delta) => {
                    self.outlet.emit(EventKind::Reasoning { delta });
                }
                StreamEvent::ToolCall(call) => answer.calls.push(call),
                StreamEvent::Usage(usage) => {
                    self.usage += usage;
                    self.outlet.emit(EventKind::Usage(self.usage));
                }
                StreamEvent::Done(stop) => {
                    answer.stop = stop;
                    break;
                }
            }
        }
        unique(&mut answer.calls, request.messages.len());
        Ok(answer)
    }
}

/// Some servers give calls no id, or the same to all; results must find their calls.
fn unique(calls: &mut [ToolCall], turn: usize) {
    for index in 0..calls.len() {
        let taken = calls[..index]
            .iter()
            .any(|other| other.id == calls[index].id);
        if taken || calls[index].id.is_empty() {
            calls[index].id = format!("call_{turn}_{index}");
        }
    }
}
