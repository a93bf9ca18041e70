//! The editor's door: the server side of LSP. It turns what a client says into calls of the rooms
//! below, and what they do into messages; LSP's types stop here. It never decides what the agent
//! does, and never writes a document itself: the client holds them.

mod capabilities;
mod commands;
mod connection;
mod document;
mod events;
#[cfg(test)]
mod fake_client;
mod host;
mod notifications;
mod observer;
mod outcome;
mod params;
mod progress;
mod repair;
mod requests;
mod server;
mod servers;
mod sync;
mod transport;
mod usage;
mod wire;

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use agent::Agent;
use langserver::Pool;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;
use workspace::Workspace;

use transport::{Dispatch, Outgoing};

/// How long runs and language servers have to end when the client is gone.
const ENDING: Duration = Duration::from_millis(850);
/// How long the client has to take what was still to be said.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// What a client says of itself, for whoever builds the rooms.
pub struct Opening {
    /// The folders that are open.
    pub roots: Vec<PathBuf>,
    /// `initializationOptions`, without the part that is about the client.
    pub options: Value,
    /// The text, held by the client.
    pub workspace: Arc<Workspace>,
}

/// The rooms behind this door.
pub struct Assembled {
    /// Who runs.
    pub agent: Arc<Agent>,
    /// The language servers.
    pub pool: Arc<Pool>,
    /// What was wrong with the configuration, each for a person to read.
    pub warnings: Vec<String>,
}

/// Builds the rooms once the client has introduced itself.
pub trait Assembly: Send + Sync {
    /// Called once, while the client waits: it must be quick and start nothing.
    fn assemble(&self, opening: Opening) -> Assembled;
}

/// Serves one client until it is gone, and gives LSP's exit code: 0 if it asked for a shutdown
/// before, else 1. All that was started has ended by then, or was given up after a second.
pub async fn serve(
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin + Send + 'static,
    assembly: Arc<dyn Assembly>,
) -> i32 {
    let (outgoing, writer) = Outgoing::new(output);
    tokio::spawn(writer);
    let stop = CancellationToken::new();
    let connection = Arc::new(OnceLock::new());
    let server = server::Server::new(
        outgoing.clone(),
        assembly,
        stop.clone(),
        Arc::clone(&connection),
    );
    let dispatch = Dispatch::new(server.into_service(), outgoing.clone(), server::ROUTES);
    let (end, code) = dispatch.run(input, stop).await;
    tracing::info!(?end, code, "the client is gone");
    if let Some(connection) = connection.get()
        && tokio::time::timeout(ENDING, connection.end())
            .await
            .is_err()
    {
        tracing::warn!("not everything ended in time");
    }
    if tokio::time::timeout(LAST_WORDS, outgoing.close())
        .await
        .is_err()
    {
        tracing::debug!("the client did not take our last words");
    }
    code
}
