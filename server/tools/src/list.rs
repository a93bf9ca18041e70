//! `list`: a folder as a tree.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use workspace::ListQuery;

use crate::{
    context::Context,
    search,
    tool::{Output, ToolError, Typed},
    truncate,
};

pub struct List;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The folder; the workspace if left out.
    #[serde(default)]
    path: Option<String>,
    /// Globs of what to leave out.
    #[serde(default)]
    ignore: Option<Vec<String>>,
}

impl Typed for List {
    type Input = Input;
    const NAME: &'static str = "list";
    const DESCRIPTION: &'static str = include_str!("list.md");

    fn paths(input: &Input) -> Vec<String> {
        input.path.iter().cloned().collect()
    }

    fn title(input: &Input, cx: &Context) -> String {
        match &input.path {
            Some(path) => format!("Listing {}", cx.shown_path(path)),
            None => "Listing the workspace".to_owned(),
        }
    }

    async fn run(input: Input, cx: &Context) -> Result<Output, ToolError> {
        let query = ListQuery {
            path: search::path(input.path.as_deref(), cx)?,
            ignore: input.ignore.unwrap_or_default(),
            ..ListQuery::default()
        };
        let workspace = Arc::clone(&cx.workspace);
        let listing = search::aside(cx, move |cancel| workspace.list(&query, cancel)).await?;
        let mut text = listing.to_string();
        text.push_str(&search::unsearched(&listing.unsearched, cx));
        let (text, cut) = truncate::text(text, "list a folder below");
        Ok(Output {
            text,
            truncated: cut || listing.truncated,
            ..Output::default()
        })
    }
}
