//! Questions whose answer is a list of places, and the hover.

use std::{collections::BTreeSet, sync::Arc};

use serde_json::json;
use workspace::ByteOffset;

use super::{Question, about_position, blocking};
use crate::{
    answer::{Answer, Location, QueryError},
    mirror::Texts,
    wire::{self, Place, Read},
};

impl Question {
    /// Any question about a place that is answered with places.
    pub async fn locations(
        &self,
        method: &'static str,
        at: ByteOffset,
    ) -> Result<Answer<Vec<Location>>, QueryError> {
        let (asked, complete) = self.ask_at(method, at).await?;
        let read = self.fit(method, wire::read_locations(&asked.answer))?;
        let (value, left_out) = self.locate(read, asked.texts).await?;
        Ok(self.answered(value, complete, left_out))
    }

    pub async fn references(
        &self,
        at: ByteOffset,
        include_declaration: bool,
    ) -> Result<Answer<Vec<Location>>, QueryError> {
        const METHOD: &str = "textDocument/references";
        let (asked, complete) = self
            .ask(METHOD, |about| {
                let mut params = about_position(about, &self.document, at);
                params["context"] = json!({"includeDeclaration": include_declaration});
                params
            })
            .await?;
        let read = self.fit(METHOD, wire::read_locations(&asked.answer))?;
        let (value, left_out) = self.locate(read, asked.texts).await?;
        Ok(self.answered(value, complete, left_out))
    }

    pub async fn hover(&self, at: ByteOffset) -> Result<Answer<Option<String>>, QueryError> {
        const METHOD: &str = "textDocument/hover";
        let (asked, complete) = self.ask_at(METHOD, at).await?;
        let hover = self.fit(METHOD, wire::read_tree(&asked.answer))?;
        Ok(self.answered_with(self.trouble(), wire::read_hover(&hover), complete, 0))
    }

    /// Whether what stands at a place is defined in a file that is not to be shown: then its signature, its value and its
    /// comment are not, either.
    pub async fn is_of_hidden(&self, at: ByteOffset) -> Result<bool, QueryError> {
        const METHOD: &str = "textDocument/definition";
        if !self.server.supports(METHOD, Some(&self.document)) {
            return Ok(false);
        }
        let asked = self
            .ask_alone(METHOD, |about| about_position(about, &self.document, at))
            .await;
        let asked = match asked {
            Ok(asked) => asked,
            // Some fail where there is none.
            Err(QueryError::Failed { .. } | QueryError::NotSupported { .. }) => return Ok(false),
            Err(error) => return Err(error),
        };
        let Ok(Read { found, .. }) = wire::read_locations(&asked.answer) else {
            return Ok(false);
        };
        let workspace = self.workspace.clone();
        blocking(move || {
            found
                .iter()
                .filter_map(|(uri, _)| uri.path())
                .any(|path| workspace.is_ignored_for_model(path))
        })
        .await
    }

    /// Ranges in the texts that the server had, or else in what is read now, each once; and how many could not be read.
    async fn locate(
        &self,
        Read { found, broken }: Read<Place>,
        texts: Arc<Texts>,
    ) -> Result<(Vec<Location>, usize), QueryError> {
        let uris = found.iter().map(|(uri, _)| uri.clone()).collect();
        self.with_texts(texts, uris, move |shelf| {
            let mut known = BTreeSet::new();
            let mut left_out = broken;
            let mut locations = Vec::with_capacity(found.len());
            for place in &found {
                let Some(location) = shelf.place(place) else {
                    left_out += 1;
                    continue;
                };
                if known.insert((&place.0, location.range)) {
                    locations.push(location);
                }
            }
            (locations, left_out)
        })
        .await
    }
}
