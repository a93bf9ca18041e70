//! The text: open buffers over disk, positions, search, edits, and the port to whoever holds the text.
//!
//! Everything that reads or changes a document goes through here, so that an open buffer is always the truth.
//! This crate never speaks a protocol, never talks to a model, and never opens a socket.

mod apply;
mod buffers;
mod compare;
mod disk;
mod edit;
mod host;
mod position;
mod reading;
mod roots;
mod search;
mod snapshot;
mod text;
mod uri;
mod workspace;

pub use apply::{Applied, ApplyError, FileStep, Hunk, Step, StepError, Together, TogetherError};
pub use buffers::{Buffers, ChangeError, ContentChange, Listener};
pub use disk::{ReadError, WriteError, read_file};
pub use edit::{Conflict, Edit, EditError, Replacement};
pub use host::{FileOperation, Host, HostError, Reply};
pub use position::{ByteOffset, ByteRange, Encoding, Position, Range};
pub use reading::Reading;
pub use roots::resolve;
pub use search::{
    Case, GlobFound, GlobMatch, GlobQuery, GrepFound, GrepMatch, GrepQuery, LIMIT, LIST_LIMIT,
    ListQuery, Listed, Listing, SearchError, Thing, Unsearched,
};
pub use snapshot::{DiskForm, Origin, Revision, Snapshot};
pub use text::Text;
pub use uri::{DocumentUri, UriError};
pub use workspace::Workspace;
