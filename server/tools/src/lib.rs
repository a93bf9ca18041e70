//! What one call of the model does: one file a tool, its words for the model in a Markdown file
//! beside it. Tools ask `workspace` and `langserver`; they never speak to an editor.

pub mod aftermath;
mod context;
mod diff;
mod edit;
mod glob;
mod grep;
pub mod hints;
mod invalid;
mod list;
mod lsp;
mod own;
pub mod problems;
mod read;
mod registry;
mod search;
mod tool;
mod truncate;
mod write;

pub use context::{Context, is_guarded};
pub use diff::unified;
pub use invalid::nearest;
pub use own::OwnEdits;
pub use registry::{Prepared, Registry, Spec};
pub use tool::{Output, Tool, ToolError};

#[cfg(test)]
mod tests;
