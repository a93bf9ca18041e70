//! Where the editor lets its own language servers be asked, they are, and none of ours is started for what they answer.

use std::{sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;
use workspace::{DocumentUri, Snapshot};

use super::Pool;
use crate::{
    answer::{Diagnosis, Diagnostic, QueryError},
    client::Patience,
    queries::Question,
    server::{Editor, EditorServers, Freshness, NAME_OF_EDITOR, Source},
};

const IN_THE_BACKGROUND: Duration = Duration::from_secs(10);

impl Pool {
    /// From now on what the editor's own servers answer is not asked of servers of ours. Counts once.
    pub fn use_editor(&self, servers: Arc<dyn EditorServers>) {
        let editor = Editor::new(servers, self.workspace.buffers().clone());
        let _ = self.editor.set(Arc::new(editor));
    }

    /// Puts a question to the editor's server. `None`: a server of ours is to be asked.
    pub(super) async fn asked_of_editor<T, F: Future<Output = Result<T, QueryError>>>(
        &self,
        uri: &DocumentUri,
        cancel: &CancellationToken,
        put: &impl Fn(Question) -> F,
    ) -> Option<Result<T, QueryError>> {
        let editor = self.editor.get()?.clone();
        let document = match self.read(uri).await {
            Ok(document) => document,
            Err(error) => return Some(Err(error)),
        };
        let question = self.question(Source::Editor(editor), document, cancel);
        match put(question).await {
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

    /// What the editor's servers last said of a document; what they say now is asked for, for the next time.
    pub(super) fn known_to_editor(&self, newest: &Snapshot) -> Option<Vec<Diagnostic>> {
        let editor = self.editor_for(newest)?;
        if let Some(runtime) = &self.runtime {
            let (editor, document) = (editor.clone(), newest.clone());
            runtime.spawn(async move {
                let patience = Patience::of(IN_THE_BACKGROUND, &CancellationToken::new());
                editor.refresh(&document, &patience).await;
            });
        }
        Some(editor.diagnostics(newest))
    }

    fn editor_for(&self, document: &Snapshot) -> Option<Arc<Editor>> {
        self.editor
            .get()
            .filter(|editor| editor.diagnoses(document))
            .cloned()
    }
}
