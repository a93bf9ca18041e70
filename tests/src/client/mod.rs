//! The strict editor: it starts the real binary over stdio, keeps its own buffers, plays one editor's [`Ways`], and holds every
//! message of the server against what the protocol, the interface and the client's own capabilities allow. What is wrong
//! fails the test at the next wait, with the last messages. It shares no code with the server.
//!
//! ```no_run
//! # async fn test() {
//! use tests::client::{Editor, Setup, Ways, over};
//! use serde_json::json;
//!
//! let setup = Setup { ways: Ways::neovim(), root: "/project".into(), ..Setup::default() };
//! let editor = Editor::start(setup).await;
//! let uri = editor.open("/project/src/lib.rs".as_ref());
//! editor.type_at(&uri, &over("Ok(())"), "()");
//! let answer = editor.execute("copydesk.ask", json!({"prompt": "mend it"})).await;
//! let finished = editor.wait_finished(&answer["session"]).await;
//! assert_eq!(finished["status"], "done");
//! assert_eq!(editor.shutdown().await, 0);
//! # }
//! ```

mod actions;
mod answers;
mod apply;
mod buffers;
mod document;
mod editor;
mod events;
mod log;
mod process;
mod progress;
#[cfg(test)]
mod selftest;
mod state;
mod text;
mod waits;
mod ways;
mod wire;

pub use actions::{Asking, titled};
pub use document::{Spot, after, before, over};
pub use editor::Editor;
pub(crate) use process::CLEARED;
pub use process::{Setup, binary, gone, profile, tree, uri};
pub use progress::Run;
pub use state::{Canned, Moment};
pub use text::{Encoding, Position, Range};
pub use waits::RpcError;
pub use ways::{Echo, Stale, Sync, Ways};
