//! `copydesk/event`: every step of every run, for clients that asked for them. The same objects as
//! `copydesk run --json` prints.

use agent::Event;

use crate::connection::Connection;

/// Sends one event, if the client wants events.
pub(crate) fn send(connection: &Connection, event: &Event) {
    if connection.client.events {
        connection
            .outgoing
            .notify_as("copydesk/event", event.to_json(connection.client.encoding));
    }
}
