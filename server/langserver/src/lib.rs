//! The client side of LSP: spawns language servers, keeps them in step with the open buffers, and asks them.
//!
//! LSP's own types stop at this crate's door: what goes out are the small types here. It knows no model and no tool,
//! and never changes a document.

pub mod process;
