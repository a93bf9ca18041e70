//! Replacing a file whole: either all of the new text is there, or the old file is as it was. It decides nothing about
//! who may write, and knows no buffer.
//!
//! The new text goes to a temporary file in the same folder, which takes over the mode and the owner and is then renamed
//! over the old one. Symlinks stay: what they lead to is replaced. Where a rename would lose something, the file is
//! written in place, as Vim does (`backupcopy=auto`): it has several hard links or extended attributes (access control
//! lists), its owner or group can't be given to another file, its folder takes no new files, or it is a mount of its own.
//! A file that nobody may write is refused, though a rename could replace it.

use std::{
    fs::{self, File, Metadata, OpenOptions},
    io::{self, BufReader, BufWriter, Read as _, Write as _},
    path::{Path, PathBuf},
};

use tempfile::NamedTempFile;

use crate::{DiskForm, Text};

use super::{
    in_place,
    read::{BOM, open_without_waiting, special_kind},
};

/// How many symlinks a path may lead through, as Linux has it.
const LINKS: usize = 40;
/// How much is read or written at once.
const BUFFER: usize = 64 * 1024;

/// What must be on disk for a write to happen.
#[derive(Clone, Copy, Debug)]
pub enum Expected<'a> {
    /// No file.
    Absent,
    /// A file with exactly this content, to the byte. Times never count.
    Exactly {
        /// Its text.
        text: &'a Text,
        /// Whether a byte order mark stands before it.
        bom: bool,
    },
}

/// Why a file was not written. The old one is as it was.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// It is not what it was when it was read.
    #[error("{} changed on disk since it was read", .path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// It is there, and should not be.
    #[error("{} exists already", .path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// A folder.
    #[error("{} is a folder, not a file", .path.display())]
    IsDirectory {
        /// The folder.
        path: PathBuf,
    },
    /// Something on the way to it is no folder.
    #[error("{} can't be made: a part of the path is a file, not a folder", .path.display())]
    NotADirectory {
        /// The file.
        path: PathBuf,
    },
    /// A pipe, device or socket.
    #[error("{} is a {kind}, not a file with text", .path.display())]
    Special {
        /// What was to be written.
        path: PathBuf,
        /// What it is.
        kind: &'static str,
    },
    /// Symlinks that lead nowhere but to each other.
    #[error("{} is a symlink that leads back to itself", .path.display())]
    LinkLoop {
        /// The link.
        path: PathBuf,
    },
    /// The file may not be written.
    #[error("{} is read-only", .path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// The file system says no.
    #[error("no permission to write {}", .path.display())]
    Denied {
        /// The file.
        path: PathBuf,
    },
    /// Anything else that went wrong, a full disk for one.
    #[error("can't write {}: {source}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Writes a whole file, and makes the folders that it needs, if the disk is as expected.
///
/// Whether it is, is looked at last, right before the new file takes the old one's place.
pub fn write(
    path: &Path,
    text: &Text,
    bom: bool,
    expected: Expected<'_>,
) -> Result<DiskForm, WriteError> {
    let target = behind_links(path)?;
    let content = Content { text, bom };
    let there = match fs::symlink_metadata(&target) {
        Ok(there) => Some(there),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(failure(path, error)),
    };
    let written = match (there, expected) {
        (None, Expected::Absent) => create(&target, content),
        (None, Expected::Exactly { .. }) => Err(Stop::Changed),
        (Some(there), _) if there.is_dir() => {
            Err(io::Error::from(io::ErrorKind::IsADirectory).into())
        }
        (Some(_), Expected::Absent) => Err(io::Error::from(io::ErrorKind::AlreadyExists).into()),
        (Some(there), Expected::Exactly { text, bom }) => {
            if let Some(kind) = special_kind(&there) {
                return Err(WriteError::Special {
                    path: path.to_owned(),
                    kind,
                });
            }
            if !may_write(&target, &there) {
                return Err(WriteError::ReadOnly {
                    path: path.to_owned(),
                });
            }
            replace(&target, &there, content, Content { text, bom })
        }
    };
    let written = written.map_err(|stop| failure(path, stop))?;
    Ok(DiskForm::of(&written, bom))
}

/// Whether a file that is there could be written now. The disk may still say no when it is.
pub fn check_writable(path: &Path) -> Result<(), WriteError> {
    let target = behind_links(path)?;
    let there = fs::metadata(&target).map_err(|error| failure(path, error))?;
    if there.is_dir() {
        return Err(failure(path, io::Error::from(io::ErrorKind::IsADirectory)));
    }
    if let Some(kind) = special_kind(&there) {
        return Err(WriteError::Special {
            path: path.to_owned(),
            kind,
        });
    }
    if !may_write(&target, &there) {
        return Err(WriteError::ReadOnly {
            path: path.to_owned(),
        });
    }
    Ok(())
}

/// What a file is to hold, or held.
#[derive(Clone, Copy)]
struct Content<'a> {
    text: &'a Text,
    bom: bool,
}

impl Content<'_> {
    fn mark(self) -> &'static [u8] {
        if self.bom { BOM } else { &[] }
    }

    fn write_to(self, file: &File) -> io::Result<()> {
        let mut file = BufWriter::with_capacity(BUFFER, file);
        file.write_all(self.mark())?;
        self.text
            .chunks()
            .try_for_each(|chunk| file.write_all(chunk.as_bytes()))?;
        file.flush()
    }

    fn to_bytes(self) -> Vec<u8> {
        let mut bytes = self.mark().to_vec();
        self.text
            .chunks()
            .for_each(|chunk| bytes.extend_from_slice(chunk.as_bytes()));
        bytes
    }

    /// Whether exactly this, and no more, is read from there.
    fn is_all_of(self, file: impl io::Read) -> io::Result<bool> {
        let mut file = BufReader::with_capacity(BUFFER, file);
        let mut buffer = Vec::new();
        for chunk in std::iter::once(self.mark()).chain(self.text.chunks().map(str::as_bytes)) {
            buffer.clear();
            file.by_ref()
                .take(chunk.len() as u64)
                .read_to_end(&mut buffer)?;
            if buffer != chunk {
                return Ok(false);
            }
        }
        buffer.clear();
        file.take(1).read_to_end(&mut buffer)?;
        Ok(buffer.is_empty())
    }
}

/// Why a write stopped, before the path is put to it.
enum Stop {
    Changed,
    Io(io::Error),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

fn replace(
    target: &Path,
    old: &Metadata,
    new: Content<'_>,
    believed: Content<'_>,
) -> Result<Metadata, Stop> {
    if must_stay(target, old) {
        return write_in_place(target, new, believed);
    }
    let file = match temporary_beside(target) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            return write_in_place(target, new, believed);
        }
        Err(error) => return Err(error.into()),
    };
    new.write_to(file.as_file())?;
    if !take_owner(file.as_file(), old)? {
        drop(file);
        return write_in_place(target, new, believed);
    }
    file.as_file().set_permissions(old.permissions())?;
    let metadata = file.as_file().metadata()?;
    match open_without_waiting(target) {
        Ok(current) if believed.is_all_of(&current)? => {}
        Ok(_) => return Err(Stop::Changed),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(Stop::Changed),
        Err(error) => return Err(error.into()),
    }
    match file.persist(target) {
        Ok(_) => Ok(metadata),
        // A mount point (a single file that a container brings in) can't be renamed over.
        Err(refused) if refused.error.kind() == io::ErrorKind::ResourceBusy => {
            drop(refused);
            write_in_place(target, new, believed)
        }
        Err(refused) => Err(refused.error.into()),
    }
}

fn write_in_place(
    target: &Path,
    new: Content<'_>,
    believed: Content<'_>,
) -> Result<Metadata, Stop> {
    let mut file = OpenOptions::new().read(true).write(true).open(target)?;
    let old = in_place::content(&mut file)?;
    if !believed.is_all_of(&*old)? {
        return Err(Stop::Changed);
    }
    in_place::overwrite(&mut file, &old, &new.to_bytes())?;
    Ok(file.metadata()?)
}

/// A new file, with the folders above it; neither is left if something fails.
fn create(target: &Path, content: Content<'_>) -> Result<Metadata, Stop> {
    let parent = target.parent().unwrap_or(Path::new(""));
    let missing: Vec<&Path> = parent
        .ancestors()
        .take_while(|above| !above.exists())
        .collect();
    let made = || -> io::Result<Metadata> {
        fs::create_dir_all(parent)?;
        let mut builder = tempfile::Builder::new();
        // What the user's mask leaves of this, as for every new file.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let file = named(&mut builder).tempfile_in(parent)?;
        content.write_to(file.as_file())?;
        let metadata = file.as_file().metadata()?;
        // Somebody may have been faster: theirs stays.
        file.persist_noclobber(target)?;
        Ok(metadata)
    };
    made().map_err(|error| {
        for folder in missing {
            // Only an empty folder goes, and so only what was made here.
            let _ = fs::remove_dir(folder);
        }
        Stop::Io(error)
    })
}

fn temporary_beside(target: &Path) -> io::Result<NamedTempFile> {
    named(&mut tempfile::Builder::new()).tempfile_in(target.parent().unwrap_or(Path::new("")))
}

fn named<'a, 'b>(builder: &'a mut tempfile::Builder<'b, 'b>) -> &'a tempfile::Builder<'b, 'b> {
    builder.prefix(".copydesk-").suffix(".tmp").rand_bytes(8)
}

/// The path itself, or what its chain of symlinks leads to, which need not exist.
fn behind_links(path: &Path) -> Result<PathBuf, WriteError> {
    let mut target = path.to_owned();
    for _ in 0..LINKS {
        let Ok(next) = fs::read_link(&target) else {
            return Ok(target);
        };
        // `..` is left to the system, which resolves the folders that lead there first.
        target = target.parent().unwrap_or(Path::new("")).join(next);
    }
    Err(WriteError::LinkLoop {
        path: path.to_owned(),
    })
}

/// Whether we may write to the file itself, and anybody may: root is asked too.
fn may_write(target: &Path, metadata: &Metadata) -> bool {
    #[cfg(unix)]
    let allowed =
        rustix::fs::access(target, rustix::fs::Access::WRITE_OK) != Err(rustix::io::Errno::ACCESS);
    #[cfg(not(unix))]
    let allowed = target.as_os_str().len() > 0;
    allowed && !metadata.permissions().readonly()
}

/// Whether a rename would lose something that belongs to this very file.
#[cfg(unix)]
fn must_stay(target: &Path, metadata: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    metadata.nlink() > 1 || has_attributes(target)
}

#[cfg(not(unix))]
fn must_stay(_target: &Path, _metadata: &Metadata) -> bool {
    false
}

/// Whether somebody gave the file attributes. The security label does not count: the folder gives the same to a new file.
#[cfg(target_os = "linux")]
fn has_attributes(target: &Path) -> bool {
    let mut names = Vec::with_capacity(1024);
    match rustix::fs::listxattr(target, rustix::buffer::spare_capacity(&mut names)) {
        Ok(_) => names
            .split(|byte| *byte == 0)
            .any(|name| !name.is_empty() && name != b"security.selinux"),
        // More than fits: somebody did.
        Err(error) => error == rustix::io::Errno::RANGE,
    }
}

#[cfg(all(unix, not(target_os = "linux")))]
fn has_attributes(_target: &Path) -> bool {
    // macOS gives nearly every file some of its own.
    false
}

/// Gives a new file the owner and group of the old one; false if we may not.
#[cfg(unix)]
fn take_owner(file: &File, old: &Metadata) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;
    let new = file.metadata()?;
    let owner = (new.uid() != old.uid()).then_some(old.uid());
    let group = (new.gid() != old.gid()).then_some(old.gid());
    if owner.is_none() && group.is_none() {
        return Ok(true);
    }
    Ok(std::os::unix::fs::fchown(file, owner, group).is_ok())
}

#[cfg(not(unix))]
fn take_owner(_file: &File, _old: &Metadata) -> io::Result<bool> {
    Ok(true)
}

fn failure(path: &Path, stop: impl Into<Stop>) -> WriteError {
    let path = path.to_owned();
    let error = match stop.into() {
        Stop::Changed => return WriteError::Changed { path },
        Stop::Io(error) => error,
    };
    match error.kind() {
        io::ErrorKind::AlreadyExists => WriteError::Exists { path },
        io::ErrorKind::NotADirectory => WriteError::NotADirectory { path },
        io::ErrorKind::IsADirectory => WriteError::IsDirectory { path },
        io::ErrorKind::PermissionDenied => WriteError::Denied { path },
        io::ErrorKind::ReadOnlyFilesystem => WriteError::ReadOnly { path },
        _ => WriteError::Io {
            path,
            source: error,
        },
    }
}

#[cfg(test)]
mod tests;
