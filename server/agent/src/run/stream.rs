//! What comes from the model, and what goes out as events.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use futures::StreamExt;
use model::{Block, ModelError, Request, Stop, StreamEvent, ToolCall};

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
    /// How many changes it made.
    edits: AtomicUsize,
}

impl Outlet {
    pub fn new(session: Arc<Session>, observer: Arc<dyn Observer>) -> Self {
        Outlet {
            session,
            observer,
            files: Mutex::default(),
            edits: AtomicUsize::new(0),
        }
    }

    /// How many changes this run has made so far.
    pub fn edits(&self) -> usize {
        self.edits.load(Ordering::Relaxed)
    }

    /// The documents that this run changed, in the order of their first change.
    pub fn files(&self) -> Vec<String> {
        lock(&self.files).clone()
    }

    pub fn emit(&self, kind: EventKind) {
        if let EventKind::Edit { applied } = &kind {
            let uri = applied.after.uri.as_str();
            self.session.changed(uri);
            self.edits.fetch_add(1, Ordering::Relaxed);
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
    /// What was thought, said and called, in order.
    pub blocks: Vec<Block>,
    pub stop: Stop,
}

impl Answer {
    pub fn text(&self) -> String {
        let texts = self.blocks.iter().filter_map(|block| match block {
            Block::Text { text } => Some(text.as_str()),
            _ => None,
        });
        texts.collect::<Vec<_>>().join("\n\n")
    }

    pub fn calls(&self) -> Vec<ToolCall> {
        let calls = self.blocks.iter().filter_map(|block| match block {
            Block::ToolCall(call) => Some(call.clone()),
            _ => None,
        });
        calls.collect()
    }

    fn say(&mut self, delta: &str) {
        match self.blocks.last_mut() {
            Some(Block::Text { text }) => text.push_str(delta),
            _ => self.blocks.push(Block::text(delta)),
        }
    }
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
            blocks: Vec::new(),
            stop: Stop::End,
        };
        while let Some(event) = stream.next().await {
            match event? {
                StreamEvent::Text(delta) => {
                    answer.say(&delta);
                    self.outlet.emit(EventKind::Text { delta });
                }
                StreamEvent::Reasoning(delta) => {
                    self.outlet.emit(EventKind::Reasoning { delta });
                }
                StreamEvent::Thought(thought) => answer.blocks.push(Block::Reasoning(thought)),
                StreamEvent::ToolCall(call) => answer.blocks.push(Block::ToolCall(call)),
                StreamEvent::Notice(message) => self.outlet.emit(EventKind::Notice { message }),
                StreamEvent::Again => answer.blocks.clear(),
                StreamEvent::Usage(usage) => {
                    self.cached = usage.cache_read + usage.cache_write;
                    self.spent.add(usage, self.provider.facts().cost);
                    self.outlet.emit(EventKind::Usage(self.spent));
                }
                StreamEvent::Done(stop) => {
                    answer.stop = stop;
                    break;
                }
            }
        }
        unique(&mut answer.blocks, request.messages.len());
        Ok(answer)
    }
}

/// Some servers give calls no id, or the same to all; results must find their calls.
fn unique(blocks: &mut [Block], turn: usize) {
    let mut taken: Vec<String> = Vec::new();
    for block in blocks {
        let Block::ToolCall(call) = block else {
            continue;
        };
        if call.id.is_empty() || taken.contains(&call.id) {
            call.id = format!("call_{turn}_{}", taken.len());
        }
        taken.push(call.id.clone());
    }
}
