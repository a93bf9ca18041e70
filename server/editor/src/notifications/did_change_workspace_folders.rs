//! `workspace/didChangeWorkspaceFolders`: folders come and go, and with those that go their
//! language servers. The configuration stays that of the folders at the start.

use serde_json::Value;

use crate::connection::Connection;
use crate::repair::folders;

pub(crate) fn handle(connection: &Connection, params: &Value) {
    let event = &params["event"];
    let removed = folders(&event["removed"]);
    let mut roots = connection.workspace.roots();
    roots.retain(|root| !removed.contains(root));
    for added in folders(&event["added"]) {
        if !roots.contains(&added) {
            roots.push(added);
        }
    }
    connection.workspace.set_roots(roots);
    connection.pool.roots_changed();
}
