//! `read`: numbered lines of one document, the editor's text where it is open.

use schemars::JsonSchema;
use serde::Deserialize;
use workspace::Origin;

use crate::{
    context::Context,
    tool::{Output, ToolError, Typed},
    truncate,
};

pub struct Read;

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Input {
    /// Absolute, or from the workspace root.
    file_path: String,
    /// Lines to skip.
    #[serde(default)]
    offset: Option<u64>,
    /// Lines to read; 2000 if left out.
    #[serde(default)]
    #[schemars(range(min = 1))]
    limit: Option<u64>,
}

impl Typed for Read {
    type Input = Input;
    const NAME: &'static str = "read";
    const DESCRIPTION: &'static str = include_str!("read.md");
    const IN_SHORT: Option<&'static str> =
        Some("Shows the lines of a file, numbered. `offset` lines are skipped, `limit` shown.");

    fn paths(input: &Input) -> Vec<String> {
        vec![input.file_path.clone()]
    }

    fn title(input: &Input, cx: &Context) -> String {
        format!("Reading {}", cx.shown_path(&input.file_path))
    }

    async fn run(input: Input, cx: &Context) -> Result<Output, ToolError> {
        const LIMIT: usize = 2_000;
        let uri = cx.document(&input.file_path)?;
        let snapshot = cx.read(&uri)?;
        let shown = cx.shown(&uri);
        let state = match &snapshot.origin {
            Origin::Buffer { dirty: true } => "open in the editor, unsaved changes",
            Origin::Buffer { dirty: false } => "open in the editor",
            Origin::Disk(_) => "on disk",
        };
        let text = &snapshot.text;
        if text.is_empty() {
            return Ok(Output::text(format!("{shown} ({state}) is empty")));
        }
        let count = text.lines_to_read();
        let first = usize::try_from(input.offset.unwrap_or(0)).unwrap_or(usize::MAX);
        if first >= count {
            return Err(ToolError::Input(format!(
                "offset {first} is past the end: {shown} has {count} lines"
            )));
        }
        let limit = input
            .limit
            .map_or(LIMIT, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
        let mut body = String::new();
        let mut truncated = false;
        let mut next = first;
        while next < count && next - first < limit && body.len() < truncate::MOST {
            let (content, cut) = truncate::line(&text.line(next).unwrap_or_default());
            truncated |= cut;
            body.push_str(&format!("{:>6}\t{content}\n", next + 1));
            next += 1;
        }
        let mut out = format!("{shown} ({state}, {count} lines)\n{body}");
        if next < count {
            truncated = true;
            out.push_str(&format!(
                "[lines {} to {next} of {count}; go on with offset {next}]",
                first + 1
            ));
        }
        Ok(Output {
            text: out,
            truncated,
            ..Output::default()
        })
    }
}
