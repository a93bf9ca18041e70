//! What the three searching tools share: the place that is meant, and searching on a thread where
//! blocking hurts nobody.

use std::path::PathBuf;

use tokio_util::sync::CancellationToken;
use workspace::{SearchError, Unsearched};

use crate::{context::Context, tool::ToolError};

/// The folder or file that a call names.
pub fn path(named: Option<&str>, cx: &Context) -> Result<Option<PathBuf>, ToolError> {
    named
        .filter(|path| !path.trim().is_empty())
        .map(|path| cx.path(path))
        .transpose()
}

/// ` in src`, for a title; nothing where the whole workspace is meant.
pub fn place(named: Option<&str>, cx: &Context) -> String {
    named.map_or_else(String::new, |path| format!(" in {}", cx.shown_path(path)))
}

/// Says what a search could not look at; nothing if that was nothing.
pub fn unsearched(unsearched: &Unsearched, cx: &Context) -> String {
    if unsearched.count == 0 {
        return String::new();
    }
    let mut text = format!("\n[{} could not be searched:", unsearched.count);
    for (path, reason) in &unsearched.named {
        text.push_str(&format!(" {}: {reason};", cx.shown_file(path)));
    }
    text.push(']');
    text
}

/// Searches aside from the runtime's own threads.
pub async fn aside<T: Send + 'static>(
    cx: &Context,
    search: impl FnOnce(&CancellationToken) -> Result<T, SearchError> + Send + 'static,
) -> Result<T, ToolError> {
    let cancel = cx.cancel.clone();
    let found = tokio::task::spawn_blocking(move || search(&cancel)).await;
    match found {
        Ok(Ok(found)) => Ok(found),
        Ok(Err(SearchError::Cancelled)) => Err(ToolError::Cancelled),
        Ok(Err(error)) => Err(ToolError::Failed(error.to_string())),
        Err(error) => Err(ToolError::Failed(format!(
            "the search failed inside: {error}"
        ))),
    }
}
