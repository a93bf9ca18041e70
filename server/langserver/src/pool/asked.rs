//! What can be asked of the servers, one method a question. Nothing here changes a document.

use std::time::Duration;

use tokio_util::sync::CancellationToken;
use workspace::{ByteOffset, ByteRange, DocumentUri, Snapshot};

use super::Pool;
use crate::{
    answer::{
        Answer, Call, CodeAction, Diagnostic, FileChange, FileEdit, FoundSymbol, HierarchyItem,
        Location, QueryError, Symbol,
    },
    client::Patience,
    mirror::difference,
    queries::{Places, Question, Way},
    server::{Source, carried},
};

const PREPARE_CALLS: &str = "textDocument/prepareCallHierarchy";
const PREPARE_TYPES: &str = "textDocument/prepareTypeHierarchy";
/// How often a question is put again that was overtaken.
const AGAIN: u32 = 3;

/// Which document a question is about, and of which text its places are.
#[derive(Clone, Copy)]
pub enum Of<'a> {
    /// Of its newest text.
    Newest(&'a DocumentUri),
    /// Of this text of it. The document may have gone on: then the places are carried along.
    Seen(&'a Snapshot),
}

impl<'a> From<&'a DocumentUri> for Of<'a> {
    fn from(uri: &'a DocumentUri) -> Self {
        Self::Newest(uri)
    }
}

impl<'a> From<&'a Snapshot> for Of<'a> {
    fn from(snapshot: &'a Snapshot) -> Self {
        Self::Seen(snapshot)
    }
}

impl Of<'_> {
    pub(super) const fn uri(&self) -> &DocumentUri {
        match self {
            Self::Newest(uri) => uri,
            Self::Seen(snapshot) => &snapshot.uri,
        }
    }

    /// A question whose places are of this text.
    pub(super) fn seen_by(&self, question: Question) -> Question {
        match self {
            Self::Newest(_) => question,
            Self::Seen(seen) => Question {
                seen: (*seen).clone(),
                ..question
            },
        }
    }
}

/// A place is one of the text that is given, or of the newest where only the name is.
impl Pool {
    /// Where what stands at `at` is defined.
    pub async fn definition(
        &self,
        of: impl Into<Of<'_>>,
        at: ByteOffset,
        cancel: &CancellationToken,
    ) -> Result<Answer<Vec<Location>>, QueryError> {
        self.asked(of, cancel, |question| {
            question.locations("textDocument/definition", at)
        })
        .await
    }

    /// Where what stands at `at` is implemented.
    pub async fn implementation(
        &self,
        of: impl Into<Of<'_>>,
        at: ByteOffset,
        cancel: &CancellationToken,
    ) -> Result<Answer<Vec<Location>>, QueryError> {
        self.asked(of, cancel, |question| {
            question.locations("textDocument/implementation", at)
        })
        .await
    }

    /// Where the type of what stands at `at` is defined.
    pub async fn type_definition(
        &self,
        of: impl Into<Of<'_>>,
        at: ByteOffset,
        cancel: &CancellationToken,
    ) -> Result<Answer<Vec<Location>>, QueryError> {
        self.asked(of, cancel, |question| {
            question.locations("textDocument/typeDefinition", at)
        })
        .await
    }

    /// Where what stands at `at` is used.
    pub async fn references(
        &self,
        of: impl Into<Of<'_>>,
        at: ByteOffset,
        include_declaration: bool,
        cancel: &CancellationToken,
    ) -> Result<Answer<Vec<Location>>, QueryError> {
        self.asked(of, cancel, |question| {
            question.references(at, include_declaration)
        })
        .await
    }

    /// Places that have to do with what stands at `at`. Of those outside of the workspace few are read, more if their paths
    /// have this part.
    pub async fn places(
        &self,
        of: impl Into<Of<'_>>,
        at: ByteOffset,
        what: Places,
        part: Option<&str>,
        cancel: &CancellationToken,
    ) -> Result<Answer<Vec<Location>>, QueryError> {
        self.asked(of, cancel, |question| question.places(what, at, part))
            .await
    }

    /// Whether the server of a document, started if need be, can be asked this, by LSP's name.
    pub async fn supports(
        &self,
        uri: &DocumentUri,
        method: &'static str,
        cancel: &CancellationToken,
    ) -> Result<bool, QueryError> {
        self.asked(uri, cancel, |question| async move {
            Ok(question.server.supports(method, Some(&question.document)))
        })
        .await
    }

    /// What is to be said of what stands at `at`, as Markdown.
    pub async fn hover(
        &self,
        of: impl Into<Of<'_>>,
        at: ByteOffset,
        cancel: &CancellationToken,
    ) -> Result<Answer<Option<String>>, QueryError> {
        self.asked(of, cancel, |question| question.hover(at)).await
    }

    /// Whether what stands at `at` is defined in a file that is not to be shown: its hover would show what is in it.
    pub async fn is_of_hidden(
        &self,
        of: impl Into<Of<'_>>,
        at: ByteOffset,
        cancel: &CancellationToken,
    ) -> Result<bool, QueryError> {
        self.asked(of, cancel, |question| async move {
            question.is_of_hidden(at).await
        })
        .await
    }

    /// What a document is made of, in the order of its newest text, which comes with the answer.
    pub async fn document_symbols(
        &self,
        uri: &DocumentUri,
        cancel: &CancellationToken,
    ) -> Result<Answer<(Snapshot, Vec<Symbol>)>, QueryError> {
        self.asked(uri, cancel, Question::document_symbols).await
    }

    /// Symbols of the whole project by name. `near` is a document of the project and language that are meant.
    pub async fn workspace_symbols(
        &self,
        near: &DocumentUri,
        query: &str,
        cancel: &CancellationToken,
    ) -> Result<Answer<Vec<FoundSymbol>>, QueryError> {
        self.asked(near, cancel, |question| question.workspace_symbols(query))
            .await
    }

    /// What stands at `at`, as the root of a call hierarchy.
    pub async fn call_hierarchy(
        &self,
        of: impl Into<Of<'_>>,
        at: ByteOffset,
        cancel: &CancellationToken,
    ) -> Result<Answer<Vec<HierarchyItem>>, QueryError> {
        self.asked(of, cancel, |question| question.roots(PREPARE_CALLS, at))
            .await
    }

    /// Who calls it.
    pub async fn incoming_calls(
        &self,
        item: &HierarchyItem,
        cancel: &CancellationToken,
    ) -> Result<Answer<Vec<Call>>, QueryError> {
        self.asked_of(PREPARE_CALLS, item, cancel, |question, item| {
            question.calls(Way::Incoming, item)
        })
        .await
    }

    /// Whom it calls.
    pub async fn outgoing_calls(
        &self,
        item: &HierarchyItem,
        cancel: &CancellationToken,
    ) -> Result<Answer<Vec<Call>>, QueryError> {
        self.asked_of(PREPARE_CALLS, item, cancel, |question, item| {
            question.calls(Way::Outgoing, item)
        })
        .await
    }

    /// What stands at `at`, as the root of a type hierarchy.
    pub async fn type_hierarchy(
        &self,
        of: impl Into<Of<'_>>,
        at: ByteOffset,
        cancel: &CancellationToken,
    ) -> Result<Answer<Vec<HierarchyItem>>, QueryError> {
        self.asked(of, cancel, |question| question.roots(PREPARE_TYPES, at))
            .await
    }

    /// What it extends.
    pub async fn supertypes(
        &self,
        item: &HierarchyItem,
        cancel: &CancellationToken,
    ) -> Result<Answer<Vec<HierarchyItem>>, QueryError> {
        self.asked_of(PREPARE_TYPES, item, cancel, |question, item| {
            question.types("typeHierarchy/supertypes", item)
        })
        .await
    }

    /// What extends it.
    pub async fn subtypes(
        &self,
        item: &HierarchyItem,
        cancel: &CancellationToken,
    ) -> Result<Answer<Vec<HierarchyItem>>, QueryError> {
        self.asked_of(PREPARE_TYPES, item, cancel, |question, item| {
            question.types("typeHierarchy/subtypes", item)
        })
        .await
    }

    /// What the server offers to do in `range` about these diagnostics.
    pub async fn code_actions(
        &self,
        of: impl Into<Of<'_>>,
        range: ByteRange,
        diagnostics: &[Diagnostic],
        cancel: &CancellationToken,
    ) -> Result<Answer<Vec<CodeAction>>, QueryError> {
        self.asked(of, cancel, |question| {
            question.code_actions(range, diagnostics)
        })
        .await
    }

    /// The edits that an action stands for, as far as that is known without a command being run; `None` if only one would
    /// tell. Neither a document nor anything else is changed.
    pub async fn preview(
        &self,
        action: &CodeAction,
        deadline: Duration,
        cancel: &CancellationToken,
    ) -> Result<Option<Vec<FileChange>>, QueryError> {
        action
            .preview(&self.workspace, &Patience::of(deadline, cancel))
            .await
    }

    /// The edits that an action stands for. No document is changed, but the server runs the action's command if it has one
    /// in place of edits: only for an action that is to be made.
    pub async fn resolve(
        &self,
        action: &CodeAction,
        cancel: &CancellationToken,
    ) -> Result<Vec<FileChange>, QueryError> {
        action
            .edits(&self.workspace, &Patience::of(self.limits.answer, cancel))
            .await
    }

    /// What another name for what stands at `at` would change, everywhere. Nothing is changed.
    pub async fn rename(
        &self,
        of: impl Into<Of<'_>>,
        at: ByteOffset,
        new_name: &str,
        cancel: &CancellationToken,
    ) -> Result<Answer<Vec<FileChange>>, QueryError> {
        self.asked(of, cancel, |question| question.rename(at, new_name))
            .await
    }

    /// What the formatter would change in these ranges, or in the whole document if there are none. Nothing is changed.
    pub async fn format(
        &self,
        of: impl Into<Of<'_>>,
        ranges: &[ByteRange],
        cancel: &CancellationToken,
    ) -> Result<Answer<FileEdit>, QueryError> {
        self.asked(of, cancel, |question| question.format(ranges))
            .await
    }

    /// Puts a question to a document's server, started if need be. One that the server died over is put once more, to its
    /// successor, and one that was overtaken some times.
    async fn asked<T, F: Future<Output = Result<T, QueryError>>>(
        &self,
        of: impl Into<Of<'_>>,
        cancel: &CancellationToken,
        put: impl Fn(Question) -> F,
    ) -> Result<T, QueryError> {
        let of = of.into();
        if let Some(outcome) = self.asked_of_editor(of, cancel, &put).await {
            return outcome;
        }
        let mut is_first = true;
        let mut overtaken = 0;
        loop {
            let (document, server) = self.begin(of.uri(), &self.until_ready(cancel)).await?;
            let question = self.question(server, document, cancel);
            let outcome = put(of.seen_by(question)).await;
            match outcome {
                Err(QueryError::Died { .. }) if is_first && !self.is_closed() => is_first = false,
                Err(QueryError::Overtaken { .. }) if overtaken < AGAIN => overtaken += 1,
                outcome => return outcome,
            }
        }
    }

    /// Puts a question about a node of a hierarchy to the server that it is from, which alone understands it. Died the server
    /// over it, its successor is asked for the node by its place first.
    async fn asked_of<T, F: Future<Output = Result<T, QueryError>>>(
        &self,
        prepare: &'static str,
        item: &HierarchyItem,
        cancel: &CancellationToken,
        put: impl Fn(Question, HierarchyItem) -> F,
    ) -> Result<T, QueryError> {
        let place = &item.place;
        let uri = &place.snapshot.uri;
        let ended = || QueryError::Failed {
            name: item.server.clone(),
            message: format!(
                "{} is from a server that has ended since; the hierarchy is to be asked for anew",
                item.name
            ),
        };
        let server = item
            .from
            .upgrade()
            .filter(Source::is_alive)
            .ok_or_else(ended)?;
        let mut overtaken = 0;
        let outcome = loop {
            let document = self.read(uri).await?;
            let question = self.question(server.clone(), document, cancel);
            match put(question, item.clone()).await {
                Err(QueryError::Overtaken { .. }) if overtaken < AGAIN => overtaken += 1,
                outcome => break outcome,
            }
        };
        if !matches!(outcome, Err(QueryError::Died { .. })) || self.is_closed() {
            return outcome;
        }
        let (document, server) = self.begin(uri, &self.until_ready(cancel)).await?;
        let change = difference(&place.snapshot.text, &document.text);
        let at = carried(place.range, &change).start;
        let question = self.question(server, document, cancel);
        let roots = question.clone().roots(prepare, at).await?.value;
        let again = roots.into_iter().find(|root| root.name == item.name);
        put(question, again.ok_or_else(ended)?).await
    }
}
