//! Where the editor lets its own language servers be asked, they are, and none of ours is started for what they answer.

use std::sync::Arc;

use futures::future::join_all;
use tokio_util::sync::CancellationToken;
use workspace::{DocumentUri, Snapshot};

use super::{
    Pool,
    asked::Of,
    consequences::{compared, counted},
};
use crate::{
    answer::{Consequences, Diagnosis, Diagnostic, QueryError},
    client::Patience,
    queries::Question,
    server::{Editor, EditorServers, Freshness, NAME_OF_EDITOR, Source, keep_editor_asked},
};

/// So many documents beside the edited one are looked at.
const MOST_OTHERS: usize = 20;

impl Pool {
    /// From now on what the editor's own servers answer is not asked of servers of ours. Counts once.
    pub fn use_editor(&self, servers: Arc<dyn EditorServers>) {
        let editor = Editor::new(servers, self.workspace.buffers().clone());
        let editor = Arc::new(editor);
        let asked = Arc::downgrade(&editor);
        if self.editor.set(editor).is_ok()
            && let Some(runtime) = &self.runtime
        {
            runtime.spawn(keep_editor_asked(asked));
        }
    }

    /// Puts a question to the editor's server. `None`: a server of ours is to be asked.
    pub(super) async fn asked_of_editor<T, F: Future<Output = Result<T, QueryError>>>(
        &self,
        of: Of<'_>,
        cancel: &CancellationToken,
        put: &impl Fn(Question) -> F,
    ) -> Option<Result<T, QueryError>> {
        let editor = self.editor.get()?.clone();
        let document = match self.read(of.uri()).await {
            Ok(document) => document,
            Err(error) => return Some(Err(error)),
        };
        let question = self.question(Source::Editor(editor), document, cancel);
        match put(of.seen_by(question)).await {
            Err(QueryError::NotSupported { name, .. }) if name == NAME_OF_EDITOR => None,
            outcome => Some(outcome),
        }
    }

    /// What the editor's servers say of a document's newest text. `None`: a server of ours is to say it.
    pub(super) async fn diagnosed_by_editor(
        &self,
        uri: &DocumentUri,
        patience: &Patience,
    ) -> Option<Diagnosis> {
        self.editor.get()?;
        let document = self.read(uri).await.ok()?;
        let editor = self.editor_for(&document)?;
        let freshness = editor.freshen(&document, patience).await;
        let newest = self.newest(uri).unwrap_or(document);
        let found = || editor.diagnostics(&newest);
        match freshness {
            Freshness::Fresh => Some(Diagnosis::Fresh(found())),
            Freshness::Pending => Some(Diagnosis::Pending(found())),
            Freshness::Unavailable(reason) => {
                tracing::debug!(%uri, reason, "the editor's diagnostics are not used");
                None
            }
        }
    }

    /// What the editor's servers last said of a document. `None`: what a server of ours said counts.
    pub(super) fn known_to_editor(&self, newest: &Snapshot) -> Option<Vec<Diagnostic>> {
        Some(self.editor_for(newest)?.diagnostics(newest))
    }

    /// What edits did to what the editor's servers say of the edited documents, and of others that are open. Gives also
    /// those of which a server of ours is to say it.
    pub(super) async fn consequences_in_editor<'a>(
        &self,
        edited: &'a [Snapshot],
        patience: &Patience,
    ) -> (Consequences, Vec<&'a Snapshot>) {
        let mut all = Consequences::default();
        let Some(editor) = self.editor.get() else {
            return (all, edited.iter().collect());
        };
        let is_edited = |one: &Snapshot| edited.iter().any(|edited| edited.uri == one.uri);
        let buffers = self.unhidden(self.workspace.buffers().all()).await;
        let others: Vec<Snapshot> = buffers
            .into_iter()
            .filter(|one| !is_edited(one) && editor.diagnoses(one))
            .collect();
        let count = others.len();
        let others: Vec<(Snapshot, Vec<Diagnostic>)> = others
            .into_iter()
            .filter_map(|one| Some((one.clone(), editor.said_of(&one)?)))
            .take(MOST_OTHERS)
            .collect();
        let mut rest = Vec::new();
        let each = edited
            .iter()
            .map(|before| self.consequence_in_editor(before, patience));
        for (before, one) in edited.iter().zip(join_all(each).await) {
            match one {
                Some(one) => all.add(one),
                None => rest.push(before),
            }
        }
        if rest.len() == edited.len() {
            return (all, rest);
        }
        let mut looked = 0;
        for (text, old) in others {
            let asked = patience.wait(editor.fetch(&text, patience)).await;
            if let (Ok(Ok(_)), Some(new)) = (asked, editor.said_of(&text)) {
                all.add(difference((&text, old), (&text, new)));
                looked += 1;
            }
        }
        // Which files depend on the edited ones it is not asked: it only tells of those that it has open.
        let mut unlooked = vec!["files that are not open in the editor".to_owned()];
        if looked < count {
            unlooked.push(format!("{} of {count} other open files", count - looked));
        }
        all.unlooked.append(&mut unlooked);
        (all, rest)
    }

    async fn consequence_in_editor(
        &self,
        before: &Snapshot,
        patience: &Patience,
    ) -> Option<Consequences> {
        let editor = self.editor_for(before)?;
        let uri = &before.uri;
        let old = match before.text.is_empty() {
            // Of an empty text there is nothing to say.
            true => Some(Vec::new()),
            false => editor.said_of(before),
        };
        let mut all = Consequences::default();
        let Ok(now) = self.read(uri).await else {
            // A document that is gone has no problems.
            all.cured = old.map_or(0, |old| old.len());
            return Some(all);
        };
        let freshness = editor.freshen(&now, patience).await;
        let why = match (freshness, old) {
            (Freshness::Fresh, Some(old)) => {
                let newest = self.newest(uri).unwrap_or(now);
                let new = editor.diagnostics(&newest);
                return Some(difference((before, old), (&newest, new)));
            }
            (Freshness::Unavailable(reason), _) => {
                tracing::debug!(%uri, reason, "the editor's diagnostics are not used");
                return None;
            }
            (Freshness::Pending, _) => "has not finished",
            (Freshness::Fresh, None) => "had not been asked before the edit",
        };
        all.pending
            .push((uri.clone(), format!("{NAME_OF_EDITOR} {why}")));
        Some(all)
    }

    fn editor_for(&self, document: &Snapshot) -> Option<Arc<Editor>> {
        self.editor
            .get()
            .filter(|editor| editor.diagnoses(document))
            .cloned()
    }
}

fn difference(
    (before, old): (&Snapshot, Vec<Diagnostic>),
    (now, new): (&Snapshot, Vec<Diagnostic>),
) -> Consequences {
    let (added, cured) = compared((&before.text, counted(old)), (&now.text, counted(new)));
    Consequences {
        added: added.into_iter().map(|one| (now.clone(), one)).collect(),
        cured,
        ..Consequences::default()
    }
}
