//! What there is once a client has introduced itself: the client, the rooms behind the door, and
//! the runs that it sees.

use std::sync::{Arc, Mutex, PoisonError};

use agent::{Agent, RunRequest, StartError};
use langserver::Pool;
use tower_lsp::lsp_types::notification::{LogMessage, ShowMessage};
use tower_lsp::lsp_types::{LogMessageParams, MessageType, ShowMessageParams};
use workspace::Workspace;

use crate::capabilities::Client;
use crate::observer::RunObserver;
use crate::progress::Tokens;
use crate::transport::Outgoing;
use crate::usage::Used;

/// An initialized connection.
pub(crate) struct Connection {
    pub(crate) outgoing: Outgoing,
    pub(crate) client: Client,
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) agent: Arc<Agent>,
    pub(crate) pool: Arc<Pool>,
    /// Which progress is whose.
    pub(crate) tokens: Arc<Tokens>,
    /// What all runs of this process have used.
    pub(crate) used: Used,
    /// What was wrong with the configuration, told once the client is ready to hear it.
    warnings: Mutex<Vec<String>>,
}

impl Connection {
    pub(crate) fn new(
        outgoing: Outgoing,
        client: Client,
        workspace: Arc<Workspace>,
        crate::Assembled {
            agent,
            pool,
            warnings,
        }: crate::Assembled,
    ) -> Self {
        Self {
            outgoing,
            client,
            workspace,
            agent,
            pool,
            tokens: Arc::default(),
            used: Used::default(),
            warnings: Mutex::new(warnings),
        }
    }

    /// Starts a run that this client sees the progress and the outcome of.
    pub(crate) fn start(self: &Arc<Self>, request: RunRequest) -> Result<String, StartError> {
        let observer = RunObserver::new(Arc::clone(self));
        self.agent.start(request, Arc::new(observer))
    }

    /// Shows the person a message.
    pub(crate) fn show(&self, kind: MessageType, message: String) {
        self.outgoing
            .notify::<ShowMessage>(ShowMessageParams { typ: kind, message });
    }

    /// Puts a message where the person can look it up.
    pub(crate) fn log(&self, kind: MessageType, message: String) {
        self.outgoing
            .notify::<LogMessage>(LogMessageParams { typ: kind, message });
    }

    /// Tells what was wrong with the configuration, once.
    pub(crate) fn tell_warnings(&self) {
        let warnings =
            std::mem::take(&mut *self.warnings.lock().unwrap_or_else(PoisonError::into_inner));
        for warning in warnings {
            self.show(MessageType::WARNING, warning);
        }
    }

    /// Ends all runs and all language servers.
    pub(crate) async fn end(&self) {
        tokio::join!(self.agent.shutdown(), self.pool.shutdown());
    }
}
