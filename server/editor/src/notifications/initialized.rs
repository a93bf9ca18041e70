//! `initialized`: the client hears us from now on, so it is told what was wrong with the
//! configuration.

use crate::connection::Connection;

pub(crate) fn handle(connection: &Connection) {
    connection.tell_warnings();
}
