//! `lsp`: what a language server knows. The operations of the first cut; each answer says which
//! server gave it and whether it is complete. Never answers from a guess.

mod actions;
mod diagnostics;
mod places;

use std::time::Duration;

use langserver::QueryError;
use schemars::JsonSchema;
use serde::Deserialize;
use workspace::{ByteOffset, DocumentUri, Encoding, Position, Snapshot};

use crate::{
    context::Context,
    tool::{Output, ToolError, Typed},
};

pub struct Lsp;

/// How long an answer about diagnostics may take, a cold start included.
const DEADLINE: Duration = Duration::from_secs(30);

#[derive(Clone, Copy, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub enum Operation {
    GoToDefinition,
    FindReferences,
    Hover,
    Diagnostics,
    CodeActions,
    ApplyCodeAction,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Input {
    operation: Operation,
    /// Absolute, or from the workspace root.
    file_path: String,
    /// From 1. Needed by all but `diagnostics`.
    #[serde(default)]
    #[schemars(range(min = 1))]
    line: Option<u32>,
    /// From 1, in characters; the line's first word if left out.
    #[serde(default)]
    #[schemars(range(min = 1))]
    character: Option<u32>,
    /// For `applyCodeAction`: the title as `codeActions` gave it.
    #[serde(default)]
    action: Option<String>,
}

impl Typed for Lsp {
    type Input = Input;
    const NAME: &'static str = "lsp";
    const DESCRIPTION: &'static str = include_str!("lsp.md");

    fn changes(input: &Input) -> bool {
        input.operation == Operation::ApplyCodeAction
    }

    fn paths(input: &Input) -> Vec<String> {
        vec![input.file_path.clone()]
    }

    fn title(input: &Input, cx: &Context) -> String {
        let shown = cx.shown_path(&input.file_path);
        let place = input
            .line
            .map_or_else(String::new, |line| format!(":{line}"));
        match (input.operation, &input.action) {
            (Operation::GoToDefinition, _) => {
                format!("Looking up the definition at {shown}{place}")
            }
            (Operation::FindReferences, _) => format!("Finding references of {shown}{place}"),
            (Operation::Hover, _) => format!("Looking at {shown}{place}"),
            (Operation::Diagnostics, _) => format!("Checking {shown}"),
            (Operation::CodeActions, _) => format!("Asking for code actions at {shown}{place}"),
            (Operation::ApplyCodeAction, Some(action)) => format!("Applying \"{action}\""),
            (Operation::ApplyCodeAction, None) => {
                format!("Applying a code action at {shown}{place}")
            }
        }
    }

    async fn run(input: Input, cx: &Context) -> Result<Output, ToolError> {
        let uri = cx.document(&input.file_path)?;
        let snapshot = cx.read(&uri)?;
        let at = Place {
            // The name under which it is open, which may be another: by that the servers know its text.
            uri: &snapshot.uri,
            snapshot: &snapshot,
            shown: cx.shown(&uri),
        };
        match input.operation {
            Operation::Diagnostics => diagnostics::all(&at, cx).await,
            Operation::GoToDefinition => places::definition(&at, at.offset(&input)?, cx).await,
            Operation::FindReferences => places::references(&at, at.offset(&input)?, cx).await,
            Operation::Hover => places::hover(&at, at.offset(&input)?, cx).await,
            Operation::CodeActions => actions::list(&at, at.offset(&input)?, cx).await,
            Operation::ApplyCodeAction => {
                let title = input.action.as_deref().ok_or_else(|| {
                    ToolError::Input(
                        "applyCodeAction needs `action`: a title as `codeActions` gave it".into(),
                    )
                })?;
                actions::apply(&at, at.offset(&input)?, title, cx).await
            }
        }
    }
}

/// The document that a call asks about.
pub struct Place<'a> {
    uri: &'a DocumentUri,
    snapshot: &'a Snapshot,
    shown: String,
}

impl Place<'_> {
    fn offset(&self, input: &Input) -> Result<ByteOffset, ToolError> {
        let Some(line) = input.line else {
            return Err(ToolError::Input(
                "this operation needs `line` (from 1), and `character` (from 1) unless the line's first word is meant".into(),
            ));
        };
        let text = &self.snapshot.text;
        let index = line.saturating_sub(1);
        let content = usize::try_from(index)
            .ok()
            .and_then(|index| text.line(index));
        let Some(content) = content else {
            return Err(ToolError::Input(format!(
                "line {line} is past the end: {} has {} lines",
                self.shown,
                text.line_count()
            )));
        };
        let indent = content.chars().take_while(|c| c.is_whitespace()).count();
        let character = input
            .character
            .map_or(u32::try_from(indent).unwrap_or(0), |character| {
                character.saturating_sub(1)
            });
        let position = Position {
            line: index,
            character,
        };
        Ok(text.offset(position, Encoding::Utf32))
    }

    /// `path:line:character` of an offset.
    fn name(&self, at: ByteOffset) -> String {
        let position = self.snapshot.text.position(at, Encoding::Utf32);
        format!(
            "{}:{}:{}",
            self.shown,
            position.line + 1,
            position.character + 1
        )
    }
}

/// What the model is told when a server can't answer.
fn unanswered(error: QueryError) -> ToolError {
    match error {
        QueryError::Cancelled => ToolError::Cancelled,
        other => ToolError::Failed(other.to_string()),
    }
}

/// A note for answers that were given before the server had read everything.
fn completeness(complete: bool) -> &'static str {
    if complete {
        ""
    } else {
        " (still indexing: may be incomplete)"
    }
}
