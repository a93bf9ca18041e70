//! Another name for something, and where a server wants that to be asked.

use serde_json::json;
use workspace::{ByteOffset, ByteRange, Snapshot};

use super::{Question, about_position, change::changes};
use crate::{
    answer::{Answer, FileChange, QueryError},
    wire,
};

const PREPARE: &str = "textDocument/prepareRename";

impl Question {
    pub async fn rename(
        self,
        at: ByteOffset,
        new_name: &str,
    ) -> Result<Answer<Vec<FileChange>>, QueryError> {
        let (question, at) = self.at_definition(at, Same::Name).await?;
        question.rename_here(at, new_name).await
    }

    async fn rename_here(
        &self,
        at: ByteOffset,
        new_name: &str,
    ) -> Result<Answer<Vec<FileChange>>, QueryError> {
        const METHOD: &str = "textDocument/rename";
        let refused = || self.failed("what stands there can't be renamed".into());
        if self.server.supports(PREPARE, Some(&self.document)) {
            self.complete().await?;
            match self
                .ask_alone(PREPARE, |about| about_position(about, &self.document, at))
                .await
            {
                Ok(prepared) if prepared.answer.get() == "null" => return Err(refused()),
                Ok(_) | Err(QueryError::NotSupported { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        let (asked, complete) = self
            .ask(METHOD, |about| {
                let mut params = about_position(about, &self.document, at);
                params["newName"] = json!(new_name);
                params
            })
            .await?;
        let edit = self.fit(METHOD, wire::read_tree(&asked.answer))?;
        if edit.is_null() {
            return Err(refused());
        }
        let changes = changes(edit, &self.workspace, asked.texts, self.server.encoding())
            .await?
            .map_err(|error| self.failed(error))?;
        Ok(self.answered(changes, complete, 0))
    }

    /// The same question at the definition of what stands at a place, for servers that would take a mere alias of it for
    /// what is meant.
    pub(super) async fn at_definition(
        self,
        at: ByteOffset,
        same: Same,
    ) -> Result<(Self, ByteOffset), QueryError> {
        if !self.server.acts_at_definition() {
            return Ok((self, at));
        }
        let found = match self.locations("textDocument/definition", at).await {
            Ok(found) => found.value,
            Err(QueryError::NotSupported { .. }) => return Ok((self, at)),
            Err(error) => return Err(error),
        };
        let Some(place) = found.into_iter().next() else {
            return Ok((self, at));
        };
        let is_here = place.snapshot.uri == self.document.uri
            && place.range.start <= at
            && at <= place.range.end;
        let has_its_name = || {
            let word = word_at(&self.document, at);
            place.snapshot.text.slice(place.range) == word
        };
        // Who gave it a name of his own in an import renames that one.
        if is_here || (same == Same::Name && !has_its_name()) {
            return Ok((self, at));
        }
        let question = Self {
            document: place.snapshot,
            ..self
        };
        Ok((question, place.range.start))
    }
}

/// What a definition must have in common with the place that leads to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Same {
    Name,
    Nothing,
}

/// The identifier at a place.
fn word_at(document: &Snapshot, at: ByteOffset) -> String {
    let text = &document.text;
    let line = text.position(at, workspace::Encoding::Utf8).line as usize;
    let (start, end) = (text.line_start(line), text.line_end(line));
    let content = text.slice(ByteRange { start, end });
    let column = at.0.saturating_sub(start.0).min(content.len());
    let is_word = |char: char| char.is_alphanumeric() || char == '_' || char == '$';
    let before = content[..column].rfind(|char| !is_word(char));
    let from = before.map_or(0, |at| {
        at + content[at..].chars().next().map_or(0, char::len_utf8)
    });
    let to = content[column..]
        .find(|char| !is_word(char))
        .map_or(content.len(), |at| column + at);
    content[from..to].to_owned()
}
