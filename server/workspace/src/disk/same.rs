//! Whether two things are the same: an editor's text and the file's, one file and another by a hard link. Editors that bring back what was not saved open a document with a text that
//! no disk has. It only looks.

use std::{fs, path::Path};

const BOM: &str = "\u{feff}";

/// Whether the text is known not to be what the file holds: it holds another, or it is not there.
pub(crate) fn is_unsaved(path: &Path, text: &str) -> bool {
    let Ok(metadata) = fs::metadata(path) else {
        return true;
    };
    if !metadata.is_file() {
        return false;
    }
    let Ok(bytes) = fs::read(path) else {
        return false;
    };
    // In another encoding it can't be told here, and counts as saved.
    std::str::from_utf8(&bytes).is_ok_and(|disk| disk.strip_prefix(BOM).unwrap_or(disk) != text)
}

/// A file that has several names by hard links.
pub(crate) struct Linked {
    #[cfg(unix)]
    identity: (u64, u64),
}

impl Linked {
    /// `None` if the file has one name only, or can't be looked at.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            let metadata = fs::metadata(path).ok()?;
            (metadata.is_file() && metadata.nlink() > 1).then(|| Self {
                identity: (metadata.dev(), metadata.ino()),
            })
        }
        #[cfg(not(unix))]
        {
            let _ = path;
            None
        }
    }

    /// Whether this is another of its names.
    pub(crate) fn is(&self, path: &Path) -> bool {
        #[cfg(unix)]
        {
            Self::of(path).is_some_and(|other| other.identity == self.identity)
        }
        #[cfg(not(unix))]
        {
            let _ = path;
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_held_against_the_file() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let check = |disk: Option<&[u8]>, text: &str, expected: bool| {
            let path = folder.path().join("a");
            let _ = fs::remove_file(&path);
            if let Some(disk) = disk {
                fs::write(&path, disk).expect("the file is written");
            }
            assert_eq!(is_unsaved(&path, text), expected, "{disk:?} {text:?}");
        };
        check(None, "", true);
        check(Some(b"one\n"), "one\n", false);
        check(Some(b"one\n"), "two\n", true);
        check(Some(b"one\n"), "one two three four\n", true);
        check(Some(b"one two three four\n"), "one\n", true);
        check(Some("\u{feff}one\n".as_bytes()), "one\n", false);
        check(Some("\u{feff}one\n".as_bytes()), "two\n", true);
        check(Some(b"caf\xe9 au lait\n"), "café au lait\n", false);
        check(Some(b""), "x", true);
        assert!(!is_unsaved(folder.path(), "a folder has no text"));
    }
}
