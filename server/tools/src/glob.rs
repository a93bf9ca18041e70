//! `glob`: files by name, buffers that have no file yet included.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use workspace::GlobQuery;

use crate::{
    context::Context,
    search,
    tool::{Output, ToolError, Typed},
};

pub struct Glob;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// `src/**/*.rs`, `*.toml`.
    pattern: String,
    /// The folder to search; the workspace if left out.
    #[serde(default)]
    path: Option<String>,
}

impl Typed for Glob {
    type Input = Input;
    const NAME: &'static str = "glob";
    const DESCRIPTION: &'static str = include_str!("glob.md");

    fn paths(input: &Input) -> Vec<String> {
        input.path.iter().cloned().collect()
    }

    fn title(input: &Input, cx: &Context) -> String {
        let place = search::place(input.path.as_deref(), cx);
        format!("Looking for files {:?}{place}", input.pattern)
    }

    async fn run(input: Input, cx: &Context) -> Result<Output, ToolError> {
        let query = GlobQuery {
            path: search::path(input.path.as_deref(), cx)?,
            ..GlobQuery::new(&input.pattern)
        };
        let workspace = Arc::clone(&cx.workspace);
        let found = search::aside(cx, move |cancel| workspace.glob(&query, cancel)).await?;
        let unsearched = search::unsearched(&found.unsearched, cx);
        if found.files.is_empty() {
            return Ok(Output::text(format!(
                "No files match {:?}{unsearched}",
                input.pattern
            )));
        }
        let mut text = String::new();
        for file in &found.files {
            text.push_str(&cx.shown_file(&file.path));
            text.push_str(if file.unsaved { " (unsaved)\n" } else { "\n" });
        }
        if found.truncated {
            text.push_str(&format!(
                "[the newest {} of {}: narrow the pattern or the path for the rest]",
                found.files.len(),
                found.total
            ));
        }
        text.push_str(&unsearched);
        Ok(Output {
            text,
            truncated: found.truncated,
            ..Output::default()
        })
    }
}
