//! `shutdown`: cancels all runs, so that each can still say how it ended. The language servers are
//! ended with the connection.

use std::time::Duration;

use crate::connection::Connection;

/// How long the answer waits for runs to end. Editors do not wait for ever.
const PATIENCE: Duration = Duration::from_millis(300);

pub(crate) async fn handle(connection: &Connection) {
    if tokio::time::timeout(PATIENCE, connection.agent.shutdown())
        .await
        .is_err()
    {
        tracing::warn!("a run did not end in time");
    }
}
