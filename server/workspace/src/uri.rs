//! Names of documents. Two spellings of one file are one document; the client's own spelling is what it gets back.

use std::{
    fmt,
    hash::{Hash, Hasher},
    path::{Path, PathBuf},
    sync::Arc,
};

use url::Url;

/// The name of a document: a file, or something without a path (`untitled:`, `vscode-notebook-cell:`).
///
/// Equality, order and hash go by the decoded path where there is one, else by the text.
#[derive(Clone)]
pub struct DocumentUri(Arc<Inner>);

struct Inner {
    text: Box<str>,
    path: Option<PathBuf>,
    /// The path with a Windows drive letter in one case, where that differs from `path`.
    folded: Option<PathBuf>,
}

/// Why a text is no document's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UriError {
    /// Not a URI.
    #[error("{text:?} is not a URI: {reason}")]
    Malformed {
        /// What came.
        text: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Not an absolute path.
    #[error("{} is not an absolute path", .path.display())]
    NotAbsolute {
        /// What came.
        path: PathBuf,
    },
}

impl DocumentUri {
    /// Reads a URI as a client spells it.
    pub fn parse(text: &str) -> Result<Self, UriError> {
        let malformed = |reason: String| UriError::Malformed {
            text: text.to_owned(),
            reason,
        };
        let url = parse_leniently(text).map_err(|error| malformed(error.to_string()))?;
        let path = (url.scheme() == "file")
            .then(|| url.to_file_path().ok())
            .flatten();
        let folded = path.as_deref().and_then(fold_drive);
        Ok(Self(Arc::new(Inner {
            text: text.into(),
            path,
            folded,
        })))
    }

    /// The name of the file at an absolute path.
    pub fn from_path(path: &Path) -> Result<Self, UriError> {
        let url = Url::from_file_path(path).map_err(|()| UriError::NotAbsolute {
            path: path.to_owned(),
        })?;
        Self::parse(url.as_str())
    }

    /// The spelling that it came with.
    pub fn as_str(&self) -> &str {
        &self.0.text
    }

    /// The file's path; `None` if it is no file.
    pub fn path(&self) -> Option<&Path> {
        self.0.path.as_deref()
    }

    fn identity(&self) -> Identity<'_> {
        let inner = &*self.0;
        match inner.folded.as_deref().or(inner.path.as_deref()) {
            Some(path) => Identity::File(path),
            None => Identity::Other(&inner.text),
        }
    }
}

#[derive(PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Identity<'a> {
    File(&'a Path),
    Other(&'a str),
}

/// A `file:` URI has no query and no fragment: a client that leaves `?` or `#` bare means the character.
fn parse_leniently(text: &str) -> Result<Url, url::ParseError> {
    let is_file = text
        .get(..5)
        .is_some_and(|scheme| scheme.eq_ignore_ascii_case("file:"));
    if is_file && text.contains(['?', '#']) {
        return Url::parse(&text.replace('?', "%3F").replace('#', "%23"));
    }
    Url::parse(text)
}

/// `/C:/x` and `C:\x` with a small letter, or `None` if there is nothing to fold.
fn fold_drive(path: &Path) -> Option<PathBuf> {
    let text = path.to_str()?;
    let at = usize::from(text.starts_with('/'));
    let drive = text.as_bytes().get(at..at + 2)?;
    let ends = matches!(text.as_bytes().get(at + 2), None | Some(b'/' | b'\\'));
    if !(drive[0].is_ascii_uppercase() && drive[1] == b':' && ends) {
        return None;
    }
    let mut folded = text.to_owned();
    folded[at..=at].make_ascii_lowercase();
    Some(folded.into())
}

impl PartialEq for DocumentUri {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.identity() == other.identity()
    }
}

impl Eq for DocumentUri {}

impl PartialOrd for DocumentUri {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for DocumentUri {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.identity().cmp(&other.identity())
    }
}

impl Hash for DocumentUri {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.identity().hash(state);
    }
}

impl fmt::Debug for DocumentUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.as_str())
    }
}

impl fmt::Display for DocumentUri {
    /// The path where there is one (it is what people know), else the text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path() {
            Some(path) => path.display().fmt(f),
            None => f.write_str(self.as_str()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn uri(text: &str) -> DocumentUri {
        DocumentUri::parse(text).expect("a URI")
    }

    #[test]
    fn spellings_of_one_file() {
        for (one, other) in [
            ("file:///a/%40%28x%29.rs", "file:///a/@(x).rs"),
            ("file:///a/b%20c", "file:///a/b c"),
            ("file:///C:/x/y.rs", "file:///c%3A/x/y.rs"),
            ("file:///C:/x/y.rs", "file:///c:/x/y.rs"),
            ("file:///a/%C3%A9", "file:///a/é"),
            ("file:///a/x%23y", "file:///a/x#y"),
            ("file:///a/x%3Fy", "file:///a/x?y"),
            ("file:///a/./b/../c", "file:///a/c"),
            ("file://localhost/a", "file:///a"),
            ("FILE:///a", "file:///a"),
        ] {
            assert_eq!(uri(one), uri(other), "{one} and {other}");
            assert_eq!(uri(one).cmp(&uri(other)), std::cmp::Ordering::Equal);
            assert!(
                HashSet::from([uri(one)]).contains(&uri(other)),
                "{one} and {other}"
            );
            assert_eq!(
                (uri(one).as_str(), uri(other).as_str()),
                (one, other),
                "each keeps its own spelling"
            );
        }
    }

    #[test]
    fn different_documents() {
        for (one, other) in [
            ("file:///a/B", "file:///a/b"),
            ("untitled:Untitled-1", "untitled:Untitled-2"),
            ("file:///a", "untitled:/a"),
            (
                "vscode-notebook-cell:/a.ipynb#W0",
                "vscode-notebook-cell:/a.ipynb#W1",
            ),
            ("file:///a/%2540", "file:///a/%40"),
        ] {
            assert_ne!(uri(one), uri(other));
        }
    }

    #[test]
    fn what_has_a_path() {
        assert_eq!(uri("file:///a/%40b.rs").path(), Some(Path::new("/a/@b.rs")));
        assert_eq!(uri("file:///a/x#y").path(), Some(Path::new("/a/x#y")));
        for text in [
            "untitled:Untitled-1",
            "vscode-notebook-cell:/a.ipynb#W0",
            "git:/a/b?ref=HEAD",
            "https://x.y/z",
        ] {
            assert_eq!(uri(text).path(), None, "{text}");
        }
    }

    #[test]
    fn what_is_no_uri() {
        for text in ["", "main.rs", "/a/b", "://"] {
            assert!(
                matches!(DocumentUri::parse(text), Err(UriError::Malformed { .. })),
                "{text:?}"
            );
        }
        assert!(matches!(
            DocumentUri::from_path(Path::new("a/b")),
            Err(UriError::NotAbsolute { .. })
        ));
    }

    #[test]
    fn there_and_back() {
        for path in ["/a/b c", "/a/@(x)#?%.rs", "/é/日本", "/"] {
            let name = DocumentUri::from_path(Path::new(path)).expect("absolute");
            assert_eq!(name.path(), Some(Path::new(path)));
            assert_eq!(name, uri(name.as_str()));
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_path_that_is_no_unicode() {
        use std::os::unix::ffi::OsStrExt as _;
        let path = Path::new(std::ffi::OsStr::from_bytes(b"/a/\xff.rs"));
        let name = DocumentUri::from_path(path).expect("absolute");
        assert_eq!(
            (name.as_str(), name.path()),
            ("file:///a/%FF.rs", Some(path))
        );
    }
}
