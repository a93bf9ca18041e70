//! A file on disk becomes a `Snapshot`, or a clear reason why not. It keeps every byte of the text as it is, and never
//! waits: not for a pipe, a device or a socket.

use std::{
    fmt::Write as _,
    fs::{self, File, Metadata, OpenOptions},
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use crate::{DiskForm, DocumentUri, Origin, Revision, Snapshot, Text};

use super::{is_hidden_from_model, nearest};

/// The largest file that is read whole, in bytes.
const SIZE_LIMIT: u64 = 10 * 1024 * 1024;
/// A NUL among so many first bytes makes a file binary; further on it is taken for a text's own.
pub(crate) const BINARY_PROBE: usize = 8 * 1024;
/// What UTF-8 files of some editors begin with.
pub(crate) const BOM: &[u8] = "\u{feff}".as_bytes();

/// Why a document can't be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Nothing there.
    #[error("{} does not exist{}", .path.display(), did_you_mean(.near))]
    NotFound {
        /// What was asked for.
        path: PathBuf,
        /// Existing paths that are spelled much like it.
        near: Vec<PathBuf>,
    },
    /// A folder.
    #[error("{} is a folder, not a file", .path.display())]
    IsDirectory {
        /// What was asked for.
        path: PathBuf,
    },
    /// A pipe, device or socket.
    #[error("{} is a {kind}, not a file with text", .path.display())]
    Special {
        /// What was asked for.
        path: PathBuf,
        /// What it is.
        kind: &'static str,
    },
    /// Not text.
    #[error("{} is a binary file (a NUL byte at offset {offset})", .path.display())]
    Binary {
        /// What was asked for.
        path: PathBuf,
        /// Where the first NUL is, in bytes from the start of the file.
        offset: usize,
    },
    /// Text, perhaps, but not in UTF-8.
    #[error("{} is not UTF-8 (the byte at offset {offset} is no part of a character){}", .path.display(), perhaps(*.looks_like))]
    NotUtf8 {
        /// What was asked for.
        path: PathBuf,
        /// Where the first wrong byte is, in bytes from the start of the file.
        offset: usize,
        /// The encoding that its first bytes speak for.
        looks_like: Option<&'static str>,
    },
    /// More than is read whole.
    #[error("{} is too large to be read whole: {size} bytes, {limit} at most", .path.display())]
    TooLarge {
        /// What was asked for.
        path: PathBuf,
        /// How many bytes it has at least.
        size: u64,
        /// How many are read at most.
        limit: u64,
    },
    /// Kept from the model by a `.copydeskignore`.
    #[error("{} is hidden by a .copydeskignore file", .path.display())]
    Hidden {
        /// What was asked for.
        path: PathBuf,
    },
    /// The file system says no.
    #[error("no permission to read {}", .path.display())]
    Denied {
        /// What was asked for.
        path: PathBuf,
    },
    /// A document without a file, and no buffer of it is open.
    #[error("{uri} is not open, and it is no file")]
    NoFile {
        /// What was asked for.
        uri: DocumentUri,
    },
    /// Anything else that went wrong.
    #[error("can't read {}: {source}", .path.display())]
    Io {
        /// What was asked for.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Reads a document's file, whether or not a buffer of it is open.
pub fn read(uri: &DocumentUri) -> Result<Snapshot, ReadError> {
    let path = uri
        .path()
        .ok_or_else(|| ReadError::NoFile { uri: uri.clone() })?;
    if is_hidden_from_model(path) {
        return Err(ReadError::Hidden {
            path: path.to_owned(),
        });
    }
    read_shown(uri)
}

/// The same of a document that is known not to be hidden.
pub(crate) fn read_shown(uri: &DocumentUri) -> Result<Snapshot, ReadError> {
    let path = uri
        .path()
        .ok_or_else(|| ReadError::NoFile { uri: uri.clone() })?;
    let (text, form) = read_text(path)?;
    Ok(Snapshot {
        uri: uri.clone(),
        text,
        revision: Revision::DISK,
        version: None,
        language: None,
        origin: Origin::Disk(form),
    })
}

/// Reads a file that is no document and whatever the model may see: a configuration. Only a regular file of moderate
/// size, as documents are.
pub fn read_file(path: &Path) -> Result<String, ReadError> {
    read_text(path).map(|(text, _)| text.to_string())
}

fn read_text(path: &Path) -> Result<(Text, DiskForm), ReadError> {
    let (file, metadata) = open(path)?;
    let too_large = |size| ReadError::TooLarge {
        path: path.to_owned(),
        size,
        limit: SIZE_LIMIT,
    };
    if metadata.len() > SIZE_LIMIT {
        return Err(too_large(metadata.len()));
    }
    // One byte more than the limit: files may grow while they are read, and those of /proc say that they are empty.
    let mut bytes = Vec::with_capacity(metadata.len() as usize + 1);
    file.take(SIZE_LIMIT + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| failure(path, error))?;
    if bytes.len() as u64 > SIZE_LIMIT {
        return Err(too_large(bytes.len() as u64));
    }
    let text = decode(path, &bytes)?;
    let bom = bytes.starts_with(BOM);
    Ok((Text::new(text), DiskForm::of(&metadata, bom)))
}

/// Opens a regular file, and only that, without ever waiting.
pub(crate) fn open(path: &Path) -> Result<(File, Metadata), ReadError> {
    // Asked before it is opened: to open a device can already do something.
    regular(
        path,
        &fs::metadata(path).map_err(|error| failure(path, error))?,
    )?;
    let file = open_without_waiting(path).map_err(|error| failure(path, error))?;
    let metadata = file.metadata().map_err(|error| failure(path, error))?;
    regular(path, &metadata)?;
    Ok((file, metadata))
}

/// `File::open`, but a pipe that took the file's place is not waited for.
pub(crate) fn open_without_waiting(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    }
    options.open(path)
}

/// The text of a file's bytes, without its mark; an error if it is none.
fn decode<'a>(path: &Path, bytes: &'a [u8]) -> Result<&'a str, ReadError> {
    let looks_like = match bytes {
        [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => Some("UTF-32"),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Some("UTF-16"),
        _ => None,
    };
    if looks_like.is_none()
        && let Some(offset) = bytes.iter().take(BINARY_PROBE).position(|byte| *byte == 0)
    {
        return Err(ReadError::Binary {
            path: path.to_owned(),
            offset,
        });
    }
    let text = std::str::from_utf8(bytes).map_err(|error| ReadError::NotUtf8 {
        path: path.to_owned(),
        offset: error.valid_up_to(),
        looks_like,
    })?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

fn regular(path: &Path, metadata: &Metadata) -> Result<(), ReadError> {
    let path = || path.to_owned();
    match special_kind(metadata) {
        _ if metadata.is_dir() => Err(ReadError::IsDirectory { path: path() }),
        Some(kind) => Err(ReadError::Special { path: path(), kind }),
        None => Ok(()),
    }
}

/// What a thing that is neither file nor folder is.
pub(crate) fn special_kind(metadata: &Metadata) -> Option<&'static str> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt as _;
        let kind = metadata.file_type();
        if kind.is_fifo() {
            return Some("named pipe");
        }
        if kind.is_socket() {
            return Some("socket");
        }
        if kind.is_char_device() || kind.is_block_device() {
            return Some("device");
        }
    }
    (!metadata.is_file() && !metadata.is_dir()).then_some("special file")
}

fn failure(path: &Path, error: io::Error) -> ReadError {
    let path = path.to_owned();
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            let near = nearest(&path);
            ReadError::NotFound { path, near }
        }
        io::ErrorKind::PermissionDenied => ReadError::Denied { path },
        io::ErrorKind::IsADirectory => ReadError::IsDirectory { path },
        _ => ReadError::Io {
            path,
            source: error,
        },
    }
}

/// The end of a sentence that says that something is missing.
pub(crate) fn did_you_mean(near: &[PathBuf]) -> String {
    let mut text = String::new();
    for (index, path) in near.iter().enumerate() {
        let lead = match index {
            0 => ". Did you mean ",
            _ if index + 1 == near.len() => " or ",
            _ => ", ",
        };
        // Writing to a string can't fail.
        let _ = write!(text, "{lead}{}", path.display());
    }
    if !text.is_empty() {
        text.push('?');
    }
    text
}

fn perhaps(encoding: Option<&str>) -> String {
    encoding
        .map(|encoding| format!(": it looks like {encoding}"))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests;
