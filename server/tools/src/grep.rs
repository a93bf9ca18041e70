//! `grep`: lines by regular expression, over the disk and the buffers that stand over it.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use workspace::GrepQuery;

use crate::{
    context::Context,
    search,
    tool::{Output, ToolError, Typed},
    truncate,
};

pub struct Grep;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// A regular expression (Rust's syntax).
    pattern: String,
    /// The folder or file to search; the workspace if left out.
    #[serde(default)]
    path: Option<String>,
    /// A glob that file names must match: `*.rs`, `*.{ts,tsx}`.
    #[serde(default)]
    include: Option<String>,
}

impl Typed for Grep {
    type Input = Input;
    const NAME: &'static str = "grep";
    const DESCRIPTION: &'static str = include_str!("grep.md");
    const IN_SHORT: Option<&'static str> = Some("Searches the files for a regular expression.");

    fn paths(input: &Input) -> Vec<String> {
        input.path.iter().cloned().collect()
    }

    fn title(input: &Input, cx: &Context) -> String {
        let place = search::place(input.path.as_deref(), cx);
        format!("Searching for {:?}{place}", input.pattern)
    }

    async fn run(input: Input, cx: &Context) -> Result<Output, ToolError> {
        let query = GrepQuery {
            path: search::path(input.path.as_deref(), cx)?,
            include: input.include.clone(),
            ..GrepQuery::new(&input.pattern)
        };
        let workspace = Arc::clone(&cx.workspace);
        let found = search::aside(cx, move |cancel| workspace.grep(&query, cancel)).await?;
        let unsearched = search::unsearched(&found.unsearched, cx);
        if found.matches.is_empty() {
            return Ok(Output::text(format!(
                "No matches for {:?}{unsearched}",
                input.pattern
            )));
        }
        let mut text = format!(
            "{} in {}",
            count(found.total, "match", "es"),
            count(found.files, "file", "s")
        );
        if found.truncated {
            text.push_str(&format!(
                ", the first {} of them (narrow the pattern, path or include for the rest)",
                found.matches.len()
            ));
        }
        text.push_str(":\n");
        let mut file = None;
        for one in &found.matches {
            if file != Some(&one.uri) {
                let unsaved = if one.unsaved { " (unsaved)" } else { "" };
                text.push_str(&format!("{}{unsaved}:\n", cx.shown(&one.uri)));
                file = Some(&one.uri);
            }
            let (line, _) = truncate::line(&one.text);
            text.push_str(&format!("{:>6}\t{line}\n", one.line));
        }
        text.push_str(&unsearched);
        let (text, cut) = truncate::text(text, "narrow the pattern, path or include");
        Ok(Output {
            text,
            truncated: cut || found.truncated,
            ..Output::default()
        })
    }
}

fn count(number: usize, one: &str, plural: &str) -> String {
    let ending = if number == 1 { "" } else { plural };
    format!("{number} {one}{ending}")
}
