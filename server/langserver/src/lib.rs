//! The client side of LSP: spawns language servers, keeps them in step with the open buffers, and asks them.
//!
//! LSP's own types stop at this crate's door: what goes out are the small types here. It knows no model and no tool,
//! and never changes a document.

mod answer;
mod blocking;
pub mod catalogue;
mod client;
mod config;
mod mirror;
mod pool;
pub mod process;
mod queries;
mod roots;
mod server;
mod transport;
mod wire;

pub use answer::{
    Answer, Call, Caution, CodeAction, Consequences, Diagnosis, Diagnostic, FileChange, FileEdit,
    FoundSymbol, HierarchyItem, Location, QueryError, ServerState, ServerStatus, Severity, Symbol,
    SymbolKind,
};
pub use client::as_one_call;
pub use config::{PoolConfig, Ready, ServerConfig, Servers, Start};
pub use pool::{Bounds, Lease, Limits, Of, Pool, Problems};
pub use queries::Places;
pub use server::{EditorServers, Trial, introduction, try_out};
