//! Files on disk: reading them as text, replacing them whole, and knowing which the model must not see.
//!
//! This room never looks at buffers: who may touch a file that is open is decided by `Workspace`.

mod hidden;
mod in_place;
mod nearest;
mod read;
mod same;
mod write;

pub(crate) use hidden::{Hiding, holds_rules, real_path, without_dots};
pub use hidden::{IGNORE_FILE, is_hidden_from_model};
pub use nearest::nearest;
pub(crate) use read::read_shown;
pub(crate) use read::{BINARY_PROBE, open, open_without_waiting};
pub use read::{ReadError, read, read_file};
pub(crate) use same::{Linked, is_unsaved};
pub use write::{Expected, WriteError, check_writable, write};
