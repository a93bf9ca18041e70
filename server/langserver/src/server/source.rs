//! Who is asked: a server of ours, or the editor's own through it. Whoever asks need not know.

use std::{
    collections::BTreeSet,
    path::Path,
    sync::{Arc, Weak},
};

use serde_json::Value;
use workspace::{DocumentUri, Encoding, Snapshot};

use super::{About, Asked, Editor, Server, Turn, Used, editor};
use crate::{
    answer::{QueryError, Trouble},
    client::Patience,
};

/// Somebody who answers questions.
#[derive(Clone)]
pub(crate) enum Source {
    Server(Used),
    Editor(Arc<Editor>),
}

/// The same, without keeping it.
#[derive(Clone)]
pub(crate) enum WeakSource {
    Server(Weak<Server>),
    Editor(Weak<Editor>),
}

impl Source {
    pub fn name(&self) -> &str {
        match self {
            Self::Server(server) => server.name(),
            Self::Editor(_) => editor::NAME,
        }
    }

    pub fn downgrade(&self) -> WeakSource {
        match self {
            Self::Server(server) => WeakSource::Server(Arc::downgrade(server)),
            Self::Editor(editor) => WeakSource::Editor(Arc::downgrade(editor)),
        }
    }

    /// What it counts columns in.
    pub fn encoding(&self) -> Encoding {
        match self {
            Self::Server(server) => server.encoding(),
            Self::Editor(editor) => editor.encoding(),
        }
    }

    pub fn is_alive(&self) -> bool {
        match self {
            Self::Server(server) => server.is_alive(),
            Self::Editor(_) => true,
        }
    }

    /// Whether it can be asked this.
    pub fn supports(&self, method: &str, document: Option<&Snapshot>) -> bool {
        match self {
            Self::Server(server) => server.supports(method, document),
            Self::Editor(editor) => {
                document.is_none_or(|document| editor.answers(method, document))
            }
        }
    }

    /// Makes sure that it has a document.
    pub fn show(&self, document: &Snapshot) {
        if let Self::Server(server) = self {
            server.show(document);
        }
    }

    /// Waits until its answers are whole: `Ok(false)` if they are not yet when the time is up.
    pub async fn ready(&self, patience: &Patience) -> Result<bool, QueryError> {
        match self {
            Self::Server(server) => server.ready(patience).await,
            // It gives no sign but its answers.
            Self::Editor(_) => Ok(true),
        }
    }

    /// Whether its answers are whole as far as they themselves can tell.
    pub fn has_settled(&self, method: &str, document: &Snapshot) -> bool {
        match self {
            Self::Server(server) => server.has_settled(),
            Self::Editor(editor) => editor.has_settled(method, document),
        }
    }

    /// Whether renames and calls are to be asked for at a definition.
    pub fn acts_at_definition(&self) -> bool {
        match self {
            Self::Server(server) => server.acts_at_definition(),
            Self::Editor(_) => false,
        }
    }

    /// Whether it knows of other documents than the one that it is asked about only what is on disk.
    pub fn reads_disk(&self) -> bool {
        match self {
            Self::Server(server) => server.reads_disk(),
            Self::Editor(_) => false,
        }
    }

    /// What it last said of its own health, if it is not well. The editor tells its person itself.
    pub fn trouble(&self) -> Option<Trouble> {
        match self {
            Self::Server(server) => server.trouble(),
            Self::Editor(_) => None,
        }
    }

    /// Why it knows no more of a file's project than what is open.
    pub fn part_only(&self, file: Option<&Path>) -> Option<&'static str> {
        match self {
            Self::Server(server) => server.part_only(file),
            Self::Editor(_) => None,
        }
    }

    /// Has it know editors' documents by these other names too, which are its own for the files: whether it now knows any of
    /// them so.
    pub fn tell_by<'a>(
        &self,
        names: impl IntoIterator<Item = &'a (DocumentUri, DocumentUri)>,
    ) -> bool {
        let Self::Server(server) = self else {
            return false;
        };
        let Some(mirror) = server.mirror() else {
            return false;
        };
        mirror.told(None, |wire| {
            let mut is_told = false;
            for (other, own) in names {
                is_told |= wire.tell_by(other, own);
            }
            is_told
        })
    }

    /// Whether documents of this language are for it.
    pub fn serves(&self, language: &str) -> bool {
        match self {
            Self::Server(server) => server.serves(language),
            Self::Editor(_) => true,
        }
    }

    /// Asks what the document alone answers. The editor's servers are under no lease.
    pub async fn ask_in(
        &self,
        turn: &Turn,
        method: &'static str,
        document: &Snapshot,
        patience: &Patience,
        params: impl Fn(&About<'_>) -> Value,
    ) -> Result<Asked, QueryError> {
        match self {
            Self::Server(server) => {
                let patience = server.for_one(patience);
                server
                    .ask_in(turn, method, document, &patience, params)
                    .await
            }
            Self::Editor(editor) => editor.ask(method, document, patience, params).await,
        }
    }

    /// Asks what may concern the whole project.
    pub async fn ask_whole(
        &self,
        turn: &Turn,
        method: &'static str,
        document: &Snapshot,
        patience: &Patience,
        params: impl Fn(&About<'_>) -> Value,
    ) -> Result<Asked, QueryError> {
        match self {
            Self::Server(server) => {
                let patience = server.for_one(patience);
                server
                    .ask_in(turn, method, document, &patience, params)
                    .await
            }
            Self::Editor(editor) => editor.ask_whole(method, document, patience, params).await,
        }
    }

    /// The titles of fixes that are of another text than this.
    pub fn stale_fixes(&self, document: &Snapshot) -> BTreeSet<String> {
        match self {
            Self::Server(server) => server.stale_fixes(document),
            Self::Editor(_) => BTreeSet::new(),
        }
    }
}

impl From<Used> for Source {
    fn from(server: Used) -> Self {
        Self::Server(server)
    }
}

impl WeakSource {
    pub fn upgrade(&self) -> Option<Source> {
        match self {
            Self::Server(server) => server.upgrade().map(|server| Source::Server(server.used())),
            Self::Editor(editor) => editor.upgrade().map(Source::Editor),
        }
    }
}
