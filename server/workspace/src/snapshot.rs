//! One document as it was at one moment, with where the text came from. Never changes after it was taken.

use std::{
    fmt,
    fs::Metadata,
    sync::Arc,
    time::{Duration, SystemTime},
};

use crate::{DocumentUri, Text};

/// A moment in the life of the buffers: it rises over the whole process at every change of any buffer.
///
/// A text that was read from disk has [`Revision::DISK`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision(pub u64);

impl Revision {
    /// The revision of every text that came from disk: older than any buffer's.
    pub const DISK: Self = Self(0);
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "r{}", self.0)
    }
}

/// How a file looked on disk, beyond its text: what has to be kept when it is written again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskForm {
    /// Whether the file began with a byte order mark (which is no part of the text).
    pub bom: bool,
    /// When it was last written; `None` if the file system does not say, or if there is no file yet.
    pub modified: Option<SystemTime>,
    /// When anything about it was last another: what it holds, its name, its rights. Where the system says so, nobody can set
    /// it: what is moved here from elsewhere is as old as it says by `modified`, and yet new here.
    pub changed: Option<SystemTime>,
}

impl DiskForm {
    /// As a file's metadata say.
    pub(crate) fn of(metadata: &Metadata, bom: bool) -> Self {
        let modified = metadata.modified().ok();
        Self {
            bom,
            modified,
            changed: changed(metadata).or(modified),
        }
    }
}

#[cfg(unix)]
fn changed(metadata: &Metadata) -> Option<SystemTime> {
    use std::os::unix::fs::MetadataExt as _;
    let seconds = u64::try_from(metadata.ctime()).ok()?;
    let rest = u32::try_from(metadata.ctime_nsec()).ok()?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::new(seconds, rest))
}

#[cfg(not(unix))]
fn changed(_: &Metadata) -> Option<SystemTime> {
    None
}

/// Where a snapshot's text came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The editor's open buffer.
    Buffer {
        /// Whether it changed since it was opened or last saved.
        dirty: bool,
    },
    /// The file on disk.
    Disk(DiskForm),
}

/// One document as it was at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Which document, in its owner's spelling.
    pub uri: DocumentUri,
    /// The text, without a byte order mark.
    pub text: Text,
    /// When, in our count.
    pub revision: Revision,
    /// When, in the editor's count; `None` for a text from disk.
    pub version: Option<i32>,
    /// The editor's language id; `None` for a text from disk.
    pub language: Option<Arc<str>>,
    /// Buffer or disk.
    pub origin: Origin,
}

impl Snapshot {
    /// Whether the text is that of an open buffer.
    pub const fn is_buffer(&self) -> bool {
        matches!(self.origin, Origin::Buffer { .. })
    }

    /// Whether the text is known to differ from what is on disk: a buffer with unsaved changes.
    pub const fn is_unsaved(&self) -> bool {
        matches!(self.origin, Origin::Buffer { dirty: true })
    }
}
