//! What can be asked of the servers, one method a question. Nothing here changes a document.

#![allow(clippy::unused_async)] // of the questions that are not built yet

use serde_json::json;
use tokio_util::sync::CancellationToken;
use workspace::{ByteOffset, ByteRange, DocumentUri, Snapshot};

use super::Pool;
use crate::{
    answer::{
        Answer, Call, CodeAction, Diagnostic, FileChange, FileEdit, FoundSymbol, HierarchyItem,
        Location, QueryError, Symbol,
    },
    client::Patience,
};

impl Pool {
    /// Where what stands at `at` is defined.
    pub async fn definition(
        &self,
        uri: &DocumentUri,
        at: ByteOffset,
        cancel: &CancellationToken,
    ) -> Result<Answer<Vec<Location>>, QueryError> {
        let (document, server) = self.begin(uri, &self.until_ready(cancel)).await?;
        self.question(&server, &document, cancel)
            .locations("textDocument/definition", at, json!({}))
            .await
    }

    /// Where what stands at `at` is used.
    pub async fn references(
        &self,
        uri: &DocumentUri,
        at: ByteOffset,
        include_declaration: bool,
        cancel: &CancellationToken,
    ) -> Result<Answer<Vec<Location>>, QueryError> {
        let (document, server) = self.begin(uri, &self.until_ready(cancel)).await?;
        let context = json!({"context": {"includeDeclaration": include_declaration}});
        self.question(&server, &document, cancel)
            .locations("textDocument/references", at, context)
            .await
    }

    /// What is to be said of what stands at `at`, as Markdown.
    pub async fn hover(
        &self,
        uri: &DocumentUri,
        at: ByteOffset,
        cancel: &CancellationToken,
    ) -> Result<Answer<Option<String>>, QueryError> {
        let (document, server) = self.begin(uri, &self.until_ready(cancel)).await?;
        self.question(&server, &document, cancel).hover(at).await
    }

    /// What the server offers to do in `range` about these diagnostics.
    pub async fn code_actions(
        &self,
        uri: &DocumentUri,
        range: ByteRange,
        diagnostics: &[Diagnostic],
        cancel: &CancellationToken,
    ) -> Result<Answer<Vec<CodeAction>>, QueryError> {
        let (document, server) = self.begin(uri, &self.until_ready(cancel)).await?;
        self.question(&server, &document, cancel)
            .code_actions(range, diagnostics)
            .await
    }

    /// The edits that an action stands for. Nothing is changed.
    pub async fn resolve(
        &self,
        action: &CodeAction,
        cancel: &CancellationToken,
    ) -> Result<Vec<FileChange>, QueryError> {
        action
            .edits(&self.workspace, &Patience::of(self.limits.answer, cancel))
            .await
    }

    /// Where what stands at `at` is implemented.
    pub async fn implementation(
        &self,
        uri: &DocumentUri,
        at: ByteOffset,
        cancel: &CancellationToken,
    ) -> Result<Answer<Vec<Location>>, QueryError> {
        let _ = (uri, at, cancel);
        not_built("textDocument/implementation")
    }

    /// Where the type of what stands at `at` is defined.
    pub async fn type_definition(
        &self,
        uri: &DocumentUri,
        at: ByteOffset,
        cancel: &CancellationToken,
    ) -> Result<Answer<Vec<Location>>, QueryError> {
        let _ = (uri, at, cancel);
        not_built("textDocument/typeDefinition")
    }

    /// What a document is made of, in the order of its newest text, which comes with the answer.
    pub async fn document_symbols(
        &self,
        uri: &DocumentUri,
        cancel: &CancellationToken,
    ) -> Result<Answer<(Snapshot, Vec<Symbol>)>, QueryError> {
        let _ = (uri, cancel);
        not_built("textDocument/documentSymbol")
    }

    /// Symbols of the whole project by name. `near` is a document of the project and language that are meant.
    pub async fn workspace_symbols(
        &self,
        near: &DocumentUri,
        query: &str,
        cancel: &CancellationToken,
    ) -> Result<Answer<Vec<FoundSymbol>>, QueryError> {
        let _ = (near, query, cancel);
        not_built("workspace/symbol")
    }

    /// What stands at `at`, as the root of a call hierarchy.
    pub async fn call_hierarchy(
        &self,
        uri: &DocumentUri,
        at: ByteOffset,
        cancel: &CancellationToken,
    ) -> Result<Answer<Vec<HierarchyItem>>, QueryError> {
        let _ = (uri, at, cancel);
        not_built("textDocument/prepareCallHierarchy")
    }

    /// Who calls it.
    pub async fn incoming_calls(
        &self,
        item: &HierarchyItem,
        cancel: &CancellationToken,
    ) -> Result<Answer<Vec<Call>>, QueryError> {
        let _ = (item, cancel);
        not_built("callHierarchy/incomingCalls")
    }

    /// Whom it calls.
    pub async fn outgoing_calls(
        &self,
        item: &HierarchyItem,
        cancel: &CancellationToken,
    ) -> Result<Answer<Vec<Call>>, QueryError> {
        let _ = (item, cancel);
        not_built("callHierarchy/outgoingCalls")
    }

    /// What stands at `at`, as the root of a type hierarchy.
    pub async fn type_hierarchy(
        &self,
        uri: &DocumentUri,
        at: ByteOffset,
        cancel: &CancellationToken,
    ) -> Result<Answer<Vec<HierarchyItem>>, QueryError> {
        let _ = (uri, at, cancel);
        not_built("textDocument/prepareTypeHierarchy")
    }

    /// What it extends.
    pub async fn supertypes(
        &self,
        item: &HierarchyItem,
        cancel: &CancellationToken,
    ) -> Result<Answer<Vec<HierarchyItem>>, QueryError> {
        let _ = (item, cancel);
        not_built("typeHierarchy/supertypes")
    }

    /// What extends it.
    pub async fn subtypes(
        &self,
        item: &HierarchyItem,
        cancel: &CancellationToken,
    ) -> Result<Answer<Vec<HierarchyItem>>, QueryError> {
        let _ = (item, cancel);
        not_built("typeHierarchy/subtypes")
    }

    /// What another name for what stands at `at` would change, everywhere. Nothing is changed.
    pub async fn rename(
        &self,
        uri: &DocumentUri,
        at: ByteOffset,
        new_name: &str,
        cancel: &CancellationToken,
    ) -> Result<Answer<Vec<FileChange>>, QueryError> {
        let _ = (uri, at, new_name, cancel);
        not_built("textDocument/rename")
    }

    /// What the formatter would change in these ranges, or in the whole document if there are none. Nothing is changed.
    pub async fn format(
        &self,
        uri: &DocumentUri,
        ranges: &[ByteRange],
        cancel: &CancellationToken,
    ) -> Result<Answer<FileEdit>, QueryError> {
        let _ = (uri, ranges, cancel);
        not_built("textDocument/formatting")
    }
}

fn not_built<T>(method: &str) -> Result<T, QueryError> {
    Err(QueryError::NotSupported {
        name: "copydesk".into(),
        method: method.into(),
    })
}
