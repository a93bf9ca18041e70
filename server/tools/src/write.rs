//! `write`: a whole file. One that exists is changed only in the lines that differ, so that an
//! editor's cursor, folds and marks stay where they are.

use schemars::JsonSchema;
use serde::Deserialize;
use similar::{Algorithm, DiffOp};
use workspace::{ByteRange, DocumentUri, ReadError, Replacement, Snapshot};

use crate::{
    context::Context,
    edit,
    tool::{Output, ToolError, Typed},
};

pub struct Write;

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Input {
    /// Absolute, or from the workspace root.
    file_path: String,
    /// The whole text.
    content: String,
}

impl Typed for Write {
    type Input = Input;
    const NAME: &'static str = "write";
    const DESCRIPTION: &'static str = include_str!("write.md");
    const IN_SHORT: Option<&'static str> = Some("Writes a whole file.");
    const ALWAYS_CHANGES: bool = true;

    fn paths(input: &Input) -> Vec<String> {
        vec![input.file_path.clone()]
    }

    fn title(input: &Input, cx: &Context) -> String {
        format!("Writing {}", cx.shown_path(&input.file_path))
    }

    async fn run(input: Input, cx: &Context) -> Result<Output, ToolError> {
        let uri = cx.document(&input.file_path)?;
        match cx.workspace.read(&uri) {
            Ok(snapshot) => replace(snapshot, &input.content, cx).await,
            Err(ReadError::NotFound { .. }) => create(&uri, &input.content, cx).await,
            Err(error) => Err(ToolError::Failed(error.to_string())),
        }
    }
}

/// Makes a file that does not exist.
pub async fn create(uri: &DocumentUri, content: &str, cx: &Context) -> Result<Output, ToolError> {
    let applied = cx
        .workspace
        .create(uri, content, &cx.label, &cx.cancel)
        .await
        .map_err(|error| ToolError::Failed(error.to_string()))?;
    // Of one that an editor holds they hear when it is there: when it is saved.
    if !applied.after.is_buffer() {
        cx.pool
            .files_created(std::slice::from_ref(&applied.after.uri));
    }
    let lines = match content.lines().count() {
        1 => "1 line".to_owned(),
        many => format!("{many} lines"),
    };
    Ok(Output {
        text: format!("{} was created ({lines})", cx.shown(uri)),
        truncated: false,
        applied: vec![applied],
        ..Output::default()
    })
}

/// Gives a document this text.
pub async fn replace(snapshot: Snapshot, content: &str, cx: &Context) -> Result<Output, ToolError> {
    let before = snapshot.text.to_string();
    if before == content {
        return Ok(Output::text(format!(
            "{} already has exactly this content: nothing was changed",
            cx.shown(&snapshot.uri)
        )));
    }
    let replacements = by_lines(&before, content);
    let edit = workspace::Edit::new(snapshot, replacements)
        .map_err(|error| ToolError::Failed(error.to_string()))?;
    edit::apply(edit, cx).await
}

fn by_lines(before: &str, after: &str) -> Vec<Replacement> {
    let old: Vec<&str> = before.split_inclusive('\n').collect();
    let new: Vec<&str> = after.split_inclusive('\n').collect();
    let starts: Vec<usize> = std::iter::once(0)
        .chain(old.iter().scan(0, |at, line| {
            *at += line.len();
            Some(*at)
        }))
        .collect();
    similar::capture_diff_slices(Algorithm::Patience, &old, &new)
        .into_iter()
        .filter(|op| !matches!(op, DiffOp::Equal { .. }))
        .map(|op| Replacement {
            range: ByteRange::new(starts[op.old_range().start], starts[op.old_range().end]),
            text: new[op.new_range()].concat(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(before: &str, after: &str, changes: usize) {
        let replacements = by_lines(before, after);
        assert_eq!(replacements.len(), changes, "{before:?} -> {after:?}");
        let mut text = before.to_owned();
        for replacement in replacements.iter().rev() {
            text.replace_range(replacement.range.as_range(), &replacement.text);
        }
        assert_eq!(text, after);
    }

    #[test]
    fn only_the_lines_that_differ_are_replaced() {
        check("a\nb\nc\n", "a\nB\nc\n", 1);
        check("a\nb\nc\nd\ne\n", "A\nb\nc\nd\nE\n", 2);
        check("a\n", "a\nb", 1);
        check("a\r\nb\r\n", "a\r\nB\r\n", 1);
        check("", "a\n", 1);
        check("a\nb", "", 1);
    }
}
