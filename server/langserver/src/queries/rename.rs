//! Another name for something, and where a server wants that to be asked.

use std::{ffi::OsStr, path::Path};

use serde_json::json;
use workspace::{ByteOffset, ByteRange, Snapshot};

use super::{Question, about_position, change::changes, renamed::Names};
use crate::{
    answer::{Answer, Caution, FileChange, Location, QueryError},
    server::Asked,
    wire::{self, Read},
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
        if let Some(other) = self.unsaved_beside() {
            let path = other.uri.path();
            let is_hidden = path.is_some_and(|path| self.workspace.is_ignored_for_model(path));
            let other = match is_hidden {
                true => "another one".to_owned(),
                false => other.uri.to_string(),
            };
            return Err(self.failed(format!(
                "it reads other files from disk, and {other} is not saved: its edits would be of another text than the \
                 editor's. It can rename when that is saved"
            )));
        }
        // Only then has it said how it is.
        self.complete().await?;
        if let Some(trouble) = self.server.trouble().filter(|trouble| trouble.is_error) {
            return Err(self.failed(format!(
                "it says: {}. A rename would miss places",
                trouble.said
            )));
        }
        let mut old = vec![word_at(&self.seen, at)];
        if self.server.supports(PREPARE, Some(&self.document)) {
            match self
                .ask_alone(PREPARE, |about| about_position(about, &self.seen, at))
                .await
            {
                Ok(prepared) if prepared.answer.get() == "null" => return Err(refused()),
                Ok(prepared) => old.extend(self.prepared(&prepared)),
                Err(QueryError::NotSupported { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        let (asked, complete) = self
            .ask(METHOD, |about| {
                let mut params = about_position(about, &self.seen, at);
                params["newName"] = json!(new_name);
                params
            })
            .await?;
        let edit = self.fit(METHOD, wire::read_tree(&asked.answer))?;
        if edit.is_null() {
            return Err(refused());
        }
        let changes = changes(edit, &self.workspace, asked.texts, &self.server).await?;
        // Of a name that is no word, as an operator, this can't be told.
        let names = Names::new(old.iter().map(String::as_str), new_name);
        if let Some((file, miss)) = names.as_ref().and_then(|names| names.missed(&changes)) {
            let path = file.uri.path();
            let is_inside = path.is_none_or(|path| self.workspace.contains(path));
            // What lies outside is nobody's to read.
            let which = match is_inside {
                true => format!(", which is `{}`", miss.text),
                false => " (outside the workspace)".to_owned(),
            };
            return Err(self.failed(format!(
                "its rename would change what is not that name: line {} of {}{which}. It may know another text of that file",
                miss.line, file.uri
            )));
        }
        let caution = match self.caution() {
            Some(part) if part.is_partial => {
                let is_alone = changes.iter().all(|change| {
                    matches!(change, FileChange::Edit(file) if file.uri == self.document.uri)
                });
                if !is_alone || self.is_for_others(at).await? {
                    return Err(self.failed(format!(
                        "{}: other files may use it, and would be missed",
                        part.words
                    )));
                }
                // Nobody else uses it, as far as can be told.
                Some(Caution {
                    is_partial: false,
                    ..part
                })
            }
            other => other,
        };
        Ok(self.answered_with(caution, changes, complete, 0))
    }

    /// Whether what stands at a place is for other files to use: it is declared in a header, or elsewhere.
    async fn is_for_others(&self, at: ByteOffset) -> Result<bool, QueryError> {
        if is_header(self.document.uri.path()) {
            return Ok(true);
        }
        for method in ["textDocument/definition", "textDocument/declaration"] {
            if !self.server.supports(method, Some(&self.document)) {
                continue;
            }
            let asked = self
                .ask_alone(method, |about| about_position(about, &self.seen, at))
                .await;
            let asked = match asked {
                Ok(asked) => asked,
                Err(QueryError::Failed { .. } | QueryError::NotSupported { .. }) => continue,
                Err(error) => return Err(error),
            };
            let Read { found, .. } = self.fit(method, wire::read_locations(&asked.answer))?;
            if found.iter().any(|(uri, _)| *uri != self.document.uri) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// What a server says that is to be renamed.
    fn prepared(&self, prepared: &Asked) -> Vec<String> {
        let Ok(answer) = wire::read_tree(&prepared.answer) else {
            return Vec::new();
        };
        let text = prepared
            .texts
            .get(&self.document.uri)
            .map_or(&self.document.text, |(had, _)| &had.text);
        let range = wire::read_range(answer.get("range").unwrap_or(&answer));
        let here = range.map(|range| text.slice(text.byte_range(range, self.server.encoding())));
        let placeholder = answer["placeholder"].as_str().map(str::to_owned);
        here.into_iter().chain(placeholder).collect()
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
        let found = match self.clone().locations("textDocument/definition", at).await {
            Ok(found) => found.value,
            Err(QueryError::NotSupported { .. }) => return Ok((self, at)),
            Err(error) => return Err(error),
        };
        let word = word_at(&self.seen, at);
        // Who gave it a name of his own in an import renames that one; what lies outside is not to be renamed.
        let is_fit = |place: &Location| {
            let text = &place.snapshot.text;
            let path = place.snapshot.uri.path();
            let is_inside = path.is_none_or(|path| self.workspace.contains(path));
            same == Same::Nothing || (is_inside && text.slice(place.range) == word)
        };
        if !found.iter().all(is_fit) {
            return Ok((self, at));
        }
        let Some(place) = found.into_iter().next() else {
            return Ok((self, at));
        };
        let is_here = place.snapshot.uri == self.document.uri
            && place.range.start <= at
            && at <= place.range.end;
        if is_here {
            return Ok((self, at));
        }
        let question = Self {
            document: place.snapshot.clone(),
            seen: place.snapshot,
            ..self
        };
        Ok((question, place.range.start))
    }
}

/// Whether a file is there to be included by others.
fn is_header(path: Option<&Path>) -> bool {
    const SOURCES: [&str; 8] = ["c", "cc", "cpp", "cxx", "c++", "m", "mm", "cu"];
    let extension = path.and_then(Path::extension).and_then(OsStr::to_str);
    extension.is_none_or(|one| !SOURCES.contains(&one.to_ascii_lowercase().as_str()))
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
