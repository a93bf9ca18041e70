//! A command that a server itself offered, run by it: what it wants edited meanwhile is taken, at no other time.

use std::sync::Arc;

use serde_json::Value;
use workspace::Snapshot;

use super::{Had, Server};
use crate::{answer::QueryError, client::Patience, mirror::Texts};

/// The edits that a server wants made, in order, each with the texts that it had then.
pub(crate) type Wanted = Vec<(Value, Arc<Texts>)>;

const METHOD: &str = "workspace/executeCommand";

impl Server {
    /// Whether a command is its own to run, and not one of an editor.
    pub fn knows_command(&self, name: &str) -> bool {
        let lists = |options: &Value| {
            let commands = options["commands"].as_array();
            commands.is_some_and(|commands| commands.iter().any(|one| one == name))
        };
        let announced = self
            .introduced
            .get()
            .is_some_and(|introduced| lists(&introduced.capabilities["executeCommandProvider"]));
        announced || self.desk().registrations.options(METHOD).any(lists)
    }

    /// Runs a command, and answers what edits the server wanted made until it had run, and what it had when it began.
    pub async fn run(
        self: &Arc<Self>,
        document: &Snapshot,
        command: Value,
        patience: &Patience,
    ) -> Result<(Wanted, Had), QueryError> {
        // One at a time: an edit does not say which command wants it.
        let _turn = patience
            .wait(self.commands.lock())
            .await
            .map_err(|error| self.error(METHOD, error))?;
        self.desk().wanted = Some(Vec::new());
        let window = Window(self);
        let asked = self
            .ask(METHOD, document, patience, |_| command.clone())
            .await?;
        Ok((window.close(), asked.texts))
    }

    /// An edit that the server wants made: whether it is taken.
    pub(super) fn takes(&self, edit: &Value) -> bool {
        // Before the desk is taken: whoever has the wire may want the desk.
        let texts = self.mirror().map(|mirror| mirror.wire().all());
        match (&mut self.desk().wanted, texts) {
            (Some(wanted), Some(texts)) => {
                wanted.push((edit.clone(), texts));
                true
            }
            _ => false,
        }
    }
}

/// Closed when the command has run, or nobody waits for it any more.
struct Window<'a>(&'a Server);

impl Window<'_> {
    fn close(self) -> Wanted {
        self.0.desk().wanted.take().unwrap_or_default()
    }
}

impl Drop for Window<'_> {
    fn drop(&mut self) {
        self.0.desk().wanted = None;
    }
}
