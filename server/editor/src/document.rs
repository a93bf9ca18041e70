//! Reads a document that a request names: its buffer at once, a file off the thread that reads
//! messages.

use workspace::{DocumentUri, Snapshot};

use crate::connection::Connection;

/// The document's text as it is now, or what a person should know about why not.
pub(crate) async fn read(connection: &Connection, uri: &DocumentUri) -> Result<Snapshot, String> {
    if let Some(snapshot) = connection.workspace.buffers().get(uri) {
        return Ok(snapshot);
    }
    let (workspace, uri) = (connection.workspace.clone(), uri.clone());
    let read = tokio::task::spawn_blocking(move || workspace.read(&uri)).await;
    match read {
        Ok(Ok(snapshot)) => Ok(snapshot),
        Ok(Err(error)) => Err(error.to_string()),
        Err(error) => Err(error.to_string()),
    }
}
