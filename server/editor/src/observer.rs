//! What a client sees of one run: its events, its progress, its outcome. It notes and returns: a
//! run never waits for an editor.

use std::sync::{Arc, Mutex, PoisonError};

use agent::{Event, EventKind, Observer, Spent};

use crate::connection::Connection;
use crate::progress::Progress;
use crate::{events, outcome};

/// Watches one run for one connection.
pub(crate) struct RunObserver {
    connection: Arc<Connection>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    progress: Option<Progress>,
    used: Spent,
}

impl RunObserver {
    pub(crate) fn new(connection: Arc<Connection>) -> Self {
        Self {
            connection,
            state: Mutex::default(),
        }
    }

    fn begin(&self, session: &str) -> Option<Progress> {
        let Connection {
            client,
            outgoing,
            tokens,
            agent,
            ..
        } = &*self.connection;
        let (agent, wanted) = (Arc::clone(agent), session.to_owned());
        let title = move || {
            let mut all = agent.sessions().into_iter();
            all.find(|known| known.session == wanted)
                .map(|known| known.title)
        };
        client
            .progress
            .then(|| Progress::begin(outgoing, tokens, session, title))
    }
}

impl Observer for RunObserver {
    fn event(&self, event: &Event) {
        events::send(&self.connection, event);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let EventKind::Usage(used) | EventKind::Finished { usage: used, .. } = &event.kind {
            self.connection.used.grow(&mut state.used, *used);
        }
        match &event.kind {
            EventKind::Started { .. } => {
                state.progress = self.begin(&event.session);
            }
            EventKind::ToolCall { title: step, .. } | EventKind::Notice { message: step } => {
                if let Some(progress) = &state.progress {
                    progress.step(step);
                }
            }
            EventKind::Finished {
                status,
                message,
                files,
                ..
            } => {
                if let Some(progress) = state.progress.take() {
                    progress.end(&outcome::line(*status, message));
                }
                if files.is_empty() {
                    outcome::answer(&self.connection, *status, message);
                } else {
                    outcome::show(&self.connection, *status, message);
                }
            }
            EventKind::Text { .. }
            | EventKind::Reasoning { .. }
            | EventKind::ToolResult { .. }
            | EventKind::Edit { .. }
            | EventKind::Usage(_) => {}
        }
    }
}
