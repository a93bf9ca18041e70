//! What a call is given of the world: the text, the language servers, a way to be stopped; and how
//! a path in a call is understood.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use langserver::Pool;
use tokio_util::sync::CancellationToken;
use workspace::{DocumentUri, Snapshot, Workspace};

use crate::{own::OwnEdits, tool::ToolError};

/// What a call is given.
#[derive(Clone)]
pub struct Context {
    /// The text.
    pub workspace: Arc<Workspace>,
    /// The language servers.
    pub pool: Arc<Pool>,
    /// Cancelled when the run is.
    pub cancel: CancellationToken,
    /// What the run is called, for the editor's undo list.
    pub label: String,
    /// What the run has changed so far.
    pub own: OwnEdits,
}

impl Context {
    /// The document that a call means: an absolute path, a path from a workspace root, or a uri.
    pub fn document(&self, path: &str) -> Result<DocumentUri, ToolError> {
        let named = path.trim();
        if named.is_empty() {
            return Err(ToolError::Input("filePath is empty: name a file".into()));
        }
        if is_uri(named) {
            return DocumentUri::parse(named)
                .map_err(|error| ToolError::Input(format!("filePath: {error}")));
        }
        let path = self.path(named)?;
        DocumentUri::from_path(&path)
            .map_err(|error| ToolError::Input(format!("filePath: {error}")))
    }

    /// The absolute path that a call means. A relative one is looked for in every root, buffers
    /// included; where it is in none, it is meant in the first.
    pub fn path(&self, path: &str) -> Result<PathBuf, ToolError> {
        let path = PathBuf::from(path.trim());
        if path.is_absolute() {
            return Ok(path);
        }
        let roots = self.workspace.roots();
        let here = |root: &PathBuf| {
            let whole = root.join(&path);
            let open = DocumentUri::from_path(&whole)
                .is_ok_and(|uri| self.workspace.buffers().get(&uri).is_some());
            open || whole.exists()
        };
        let root = roots.iter().find(|root| here(root)).or(roots.first());
        match root {
            Some(root) => Ok(root.join(path)),
            None => Err(ToolError::Input(format!(
                "{}: there is no workspace folder, so give an absolute path",
                path.display()
            ))),
        }
    }

    /// Reads a document, buffer first; the error says what to do.
    pub fn read(&self, uri: &DocumentUri) -> Result<Snapshot, ToolError> {
        self.workspace
            .read(uri)
            .map_err(|error| ToolError::Failed(error.to_string()))
    }

    /// Whether a call may change a document that it did not name, or why not; `asked` is the one that it named. The judge
    /// only knows of what a call names.
    pub fn may_change(&self, uri: &DocumentUri, asked: &DocumentUri) -> Result<(), String> {
        if uri == asked {
            return Ok(());
        }
        let shown = || self.shown(uri);
        let Some(path) = uri.path() else {
            return match self.workspace.buffers().get(uri) {
                Some(_) => Ok(()),
                None => Err(format!("it would change {}, which is not open", shown())),
            };
        };
        if !self.workspace.contains(path) {
            return Err(format!(
                "it would change {}, which is outside the workspace",
                shown()
            ));
        }
        if is_guarded(path) {
            return Err(format!(
                "it would change {}, which lies in a .git or .copydesk folder",
                shown()
            ));
        }
        if self.workspace.is_ignored_for_model(path) {
            return Err("it would change a file that a .copydeskignore hides".to_owned());
        }
        Ok(())
    }

    /// A document's name for model and person: from the root if it is in one.
    pub fn shown(&self, uri: &DocumentUri) -> String {
        match uri.path() {
            Some(path) => self.shown_file(path),
            None => uri.as_str().to_owned(),
        }
    }

    /// The same for an absolute path.
    pub fn shown_file(&self, path: &Path) -> String {
        let root = self.workspace.root_of(path);
        let relative = root
            .as_deref()
            .and_then(|root| path.strip_prefix(root).ok());
        relative.unwrap_or(path).display().to_string()
    }

    /// The same for a path as a call wrote it.
    pub fn shown_path(&self, path: &str) -> String {
        self.document(path)
            .map_or_else(|_| path.to_owned(), |uri| self.shown(&uri))
    }
}

/// Whether a path lies in a folder whose files start programs (hooks, servers): by its own words, or by where its symlinks
/// lead.
pub fn is_guarded(path: &Path) -> bool {
    const FOLDERS: [&str; 2] = [".git", ".copydesk"];
    let holds = |path: &Path| {
        path.components().any(|part| {
            FOLDERS
                .iter()
                .any(|name| part.as_os_str().eq_ignore_ascii_case(name))
        })
    };
    // What does not exist yet may still be led to: a link is followed to what a write would make.
    holds(path) || workspace::resolve(path).is_some_and(|real| holds(&real))
}

/// `C:\x` is a path; `untitled:Untitled-1` and `file:///x` are uris.
fn is_uri(text: &str) -> bool {
    let Some((scheme, _)) = text.split_once(':') else {
        return false;
    };
    scheme.len() > 1
        && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
}
