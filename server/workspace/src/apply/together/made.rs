//! Making a planned change, with what takes each part of it back. What could not be taken back is said, not hidden.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::{
    Crew, StepError, Together, TogetherError,
    plan::{Operation, Plan, exists, path_of},
};
use crate::{
    Applied, ApplyError, ByteRange, DocumentUri, Edit, FileOperation, HostError, Replacement,
    Reply, Snapshot, Text,
    apply::{Errand, onto_disk::blocking},
    disk,
};

/// How long after its answer the editor may take to show that it renamed or deleted a file.
const ECHO: Duration = Duration::from_secs(2);

/// What was made so far.
pub(super) struct Made {
    crew: Crew,
    done: Together,
    back: Vec<Back>,
}

/// What takes one part back.
enum Back {
    /// The edit's inverse.
    Edit(Applied),
    /// A file that was made.
    Created(DocumentUri),
    /// Folders that were made for what is in them, the innermost first.
    Folders(Vec<PathBuf>),
    Renamed {
        from: PathBuf,
        to: PathBuf,
        by_editor: bool,
    },
    /// What stood in the way was put aside.
    Aside { path: PathBuf, aside: PathBuf },
    /// What the editor deleted had this content.
    Deleted {
        path: PathBuf,
        bytes: Vec<u8>,
        permissions: fs::Permissions,
    },
}

impl Made {
    pub(super) async fn all_of(plan: Plan, crew: Crew) -> Result<Together, TogetherError> {
        let mut made = Self {
            crew,
            done: Together::default(),
            back: Vec::new(),
        };
        match made.make(plan).await {
            Ok(()) => Ok(made.finish().await),
            Err(cause) => {
                let begun = !made.back.is_empty();
                let left = made.take_back().await;
                Err(TogetherError { cause, begun, left })
            }
        }
    }

    async fn make(&mut self, plan: Plan) -> Result<(), StepError> {
        for edit in plan.edits {
            self.edit(edit).await?;
        }
        for operation in plan.operations {
            if self.crew.cancel.is_cancelled() {
                return Err(ApplyError::Cancelled.into());
            }
            match operation {
                Operation::Create { uri, content } => self.create(uri, content).await?,
                Operation::Rename {
                    from,
                    to,
                    replaces,
                    open,
                } => self.rename(from, to, replaces, open).await?,
                Operation::Delete { uri, open } => self.delete(uri, open).await?,
            }
        }
        for edit in plan.after {
            self.edit(edit).await?;
        }
        Ok(())
    }

    async fn edit(&mut self, edit: Edit) -> Result<(), StepError> {
        let errand = errand(&self.crew, &edit.snapshot().uri);
        let applied = errand.edit(edit).await?;
        self.back.push(Back::Edit(applied.clone()));
        self.done.applied.push(applied);
        Ok(())
    }

    async fn create(&mut self, uri: DocumentUri, content: String) -> Result<(), StepError> {
        self.make_folders(path_of(&uri)?).await?;
        let applied = errand(&self.crew, &uri).create_on_disk(&content).await?;
        self.back.push(Back::Created(uri.clone()));
        self.done.created.push(uri);
        self.done.applied.push(applied);
        Ok(())
    }

    async fn rename(
        &mut self,
        from: DocumentUri,
        to: DocumentUri,
        replaces: bool,
        open: Vec<DocumentUri>,
    ) -> Result<(), StepError> {
        let (old, new) = (path_of(&from)?.to_owned(), path_of(&to)?.to_owned());
        self.make_folders(&new).await?;
        if replaces {
            self.put_aside(&new).await?;
        }
        let was = self.text_of(&from).await;
        let by_editor = !open.is_empty();
        if by_editor {
            let operation = FileOperation::Rename {
                from: from.clone(),
                to: to.clone(),
            };
            self.ask_editor(&operation, &from, &open).await?;
        } else {
            let (old, new) = (old.clone(), new.clone());
            blocking(move || move_to_nothing(&old, &new)).await?;
        }
        self.back.push(Back::Renamed {
            from: old,
            to: new,
            by_editor,
        });
        if let Some(was) = was {
            let nothing = Snapshot {
                uri: to.clone(),
                text: Text::new(""),
                ..was.clone()
            };
            self.done.before.extend([was, nothing]);
        }
        self.done.renamed.push((from, to));
        Ok(())
    }

    async fn delete(&mut self, uri: DocumentUri, open: bool) -> Result<(), StepError> {
        let path = path_of(&uri)?.to_owned();
        let was = self.text_of(&uri).await;
        if open {
            let read = {
                let path = path.clone();
                blocking(move || Ok((fs::read(&path)?, fs::metadata(&path)?.permissions())))
            };
            let (bytes, permissions) = read.await.map_err(|source| StepError::Io {
                what: "read",
                path: path.clone(),
                source,
            })?;
            let operation = FileOperation::Delete { uri: uri.clone() };
            let names: Vec<_> = self.crew.buffers.name_of(&uri).into_iter().collect();
            if let Some(typed) = names.iter().find(|name| {
                let buffer = self.crew.buffers.get(name);
                buffer.is_some_and(|buffer| buffer.is_unsaved())
            }) {
                return Err(StepError::Unsaved { uri: typed.clone() });
            }
            self.ask_editor(&operation, &uri, &names).await?;
            self.back.push(Back::Deleted {
                path,
                bytes,
                permissions,
            });
        } else {
            // Somebody may have opened it meanwhile.
            if let Some(open) = self.crew.buffers.name_of(&uri) {
                return Err(StepError::Open {
                    uri: open,
                    what: "delete",
                });
            }
            self.put_aside(&path).await?;
        }
        self.done.before.extend(was);
        self.done.deleted.push(uri);
        Ok(())
    }

    /// The text of a file that is about to go; `None`: it has none, as a folder.
    async fn text_of(&self, uri: &DocumentUri) -> Option<Snapshot> {
        let (buffers, uri) = (self.crew.buffers.clone(), uri.clone());
        blocking(move || {
            let open = buffers.name_of(&uri).and_then(|name| buffers.get(&name));
            let text = open.or_else(|| disk::read(&uri).ok())?;
            Some(Snapshot { uri, ..text })
        })
        .await
    }

    /// Has the editor do it, and looks whether it did: the disk says so.
    async fn ask_editor(
        &self,
        operation: &FileOperation,
        uri: &DocumentUri,
        open: &[DocumentUri],
    ) -> Result<(), StepError> {
        let (what, new) = match operation {
            FileOperation::Rename { to, .. } => ("rename", to.path().map(Path::to_owned)),
            FileOperation::Delete { .. } => ("delete", None),
        };
        let refused = |reason: String| StepError::Refused {
            uri: uri.clone(),
            what,
            reason,
        };
        let ends: Vec<_> = open
            .iter()
            .filter_map(|name| self.crew.buffers.watch(name))
            .collect();
        match self.crew.host.operate(operation, &self.crew.label).await {
            Ok(Reply::Applied) => {}
            Ok(Reply::Refused { reason }) => {
                return Err(refused(
                    reason.unwrap_or_else(|| "it gave no reason".to_owned()),
                ));
            }
            Err(HostError::Closed) => return Err(ApplyError::HostClosed.into()),
            Err(error) => return Err(refused(error.to_string())),
        }
        // It closes the old name; editors that do not are judged by the disk alone.
        let closed = async {
            for mut end in ends {
                while end.changed().await.is_ok() {}
            }
        };
        let _ = timeout(ECHO, closed).await;
        let old = path_of(uri)?.to_owned();
        let is_done = blocking(move || {
            let is_there = |path: &Path| fs::symlink_metadata(path).is_ok();
            !is_there(&old) && new.is_none_or(|new| is_there(&new))
        });
        match is_done.await {
            true => Ok(()),
            false => Err(refused(
                "it said that it did, and the disk says that it did not".to_owned(),
            )),
        }
    }

    /// The folders above a name, which are gone again if the change is taken back.
    async fn make_folders(&mut self, path: &Path) -> Result<(), StepError> {
        let Some(parent) = path.parent().map(Path::to_owned) else {
            return Ok(());
        };
        let missing: Vec<PathBuf> = parent
            .ancestors()
            .take_while(|above| !above.exists())
            .map(Path::to_owned)
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        self.back.push(Back::Folders(missing));
        let made = {
            let parent = parent.clone();
            blocking(move || fs::create_dir_all(parent)).await
        };
        made.map_err(|source| StepError::Io {
            what: "make",
            path: parent,
            source,
        })
    }

    /// Out of the way, beside where it is: that is one rename, forth and back.
    async fn put_aside(&mut self, path: &Path) -> Result<(), StepError> {
        let put = {
            let path = path.to_owned();
            blocking(move || {
                let folder = path.parent().unwrap_or(Path::new("/"));
                let place = tempfile::Builder::new()
                    .prefix(".copydesk-")
                    .suffix(".tmp")
                    .tempdir_in(folder)?;
                let aside = place.path().join("aside");
                fs::rename(&path, &aside)?;
                let _ = place.keep();
                Ok(aside)
            })
        };
        let aside = put.await.map_err(|source: io::Error| StepError::Io {
            what: "remove",
            path: path.to_owned(),
            source,
        })?;
        self.back.push(Back::Aside {
            path: path.to_owned(),
            aside,
        });
        Ok(())
    }

    /// All of it stands: what was put aside goes.
    async fn finish(self) -> Together {
        let back = self.back;
        blocking(move || {
            for part in back {
                if let Back::Aside { aside, .. } = part
                    && let Err(error) = forget(&aside)
                {
                    tracing::warn!(aside = %aside.display(), %error, "what was deleted is still there");
                }
            }
        })
        .await;
        self.done
    }

    /// Takes everything back, the last part first; gives what could not be.
    async fn take_back(mut self) -> Vec<String> {
        // Whoever cancelled wants it undone, too.
        self.crew.cancel = CancellationToken::new();
        let mut left = Vec::new();
        while let Some(part) = self.back.pop() {
            if let Err(what) = self.take_one_back(part).await {
                left.push(what);
            }
        }
        left
    }

    async fn take_one_back(&self, part: Back) -> Result<(), String> {
        match part {
            Back::Edit(applied) => {
                let uri = applied.after.uri.clone();
                let kept = |error: String| format!("{uri} keeps its edit ({error})");
                let inverse = inverse(&applied).map_err(|error| kept(error.to_string()))?;
                let back = errand(&self.crew, &uri).edit(inverse).await;
                back.map(drop).map_err(|error| kept(error.to_string()))
            }
            Back::Created(uri) => {
                let path = path_of(&uri).map_err(|error| error.to_string())?.to_owned();
                let written = self
                    .done
                    .applied
                    .iter()
                    .find(|applied| applied.after.uri == uri)
                    .map(|applied| applied.after.text.clone());
                let name = uri.clone();
                let gone = blocking(move || {
                    let now = disk::read(&name).map_err(|error| error.to_string())?;
                    if written.is_some_and(|written| written != now.text) {
                        return Err("it was changed since it was made".to_owned());
                    }
                    fs::remove_file(path).map_err(|error| error.to_string())
                });
                gone.await
                    .map_err(|error| format!("{uri}, which is new, is still there ({error})"))
            }
            Back::Folders(folders) => {
                blocking(move || {
                    for folder in folders {
                        // Only an empty one goes.
                        let _ = fs::remove_dir(folder);
                    }
                })
                .await;
                Ok(())
            }
            Back::Renamed {
                from,
                to,
                by_editor,
            } => {
                let result = if by_editor {
                    self.rename_back(&from, &to).await
                } else {
                    let (from, to) = (from.clone(), to.clone());
                    blocking(move || move_to_nothing(&to, &from)).await
                };
                result.map_err(|error| {
                    format!(
                        "{} is now called {} ({error})",
                        from.display(),
                        to.display()
                    )
                })
            }
            Back::Aside { path, aside } => {
                let back = {
                    let (path, aside) = (path.clone(), aside.clone());
                    blocking(move || {
                        move_to_nothing(&aside, &path)?;
                        let _ = aside.parent().map(fs::remove_dir);
                        Ok::<_, StepError>(())
                    })
                };
                back.await.map_err(|error| {
                    format!(
                        "what was {} is in {} ({error})",
                        path.display(),
                        aside.display()
                    )
                })
            }
            Back::Deleted {
                path,
                bytes,
                permissions,
            } => {
                let shown = path.display().to_string();
                let back = blocking(move || {
                    let mut file = fs::File::create_new(&path)?;
                    io::Write::write_all(&mut file, &bytes)?;
                    file.set_permissions(permissions)
                });
                back.await
                    .map_err(|error| format!("{shown} is deleted ({error})"))
            }
        }
    }

    async fn rename_back(&self, from: &Path, to: &Path) -> Result<(), StepError> {
        let uri = |path: &Path| {
            DocumentUri::from_path(path).map_err(|_| StepError::Missing {
                path: path.to_owned(),
            })
        };
        let (from, to) = (uri(from)?, uri(to)?);
        let open: Vec<_> = self.crew.buffers.name_of(&to).into_iter().collect();
        let operation = FileOperation::Rename {
            from: to.clone(),
            to: from,
        };
        self.ask_editor(&operation, &to, &open).await
    }
}

fn errand(crew: &Crew, uri: &DocumentUri) -> Errand {
    Errand {
        uri: crew.buffers.name_of(uri).unwrap_or_else(|| uri.clone()),
        label: crew.label.clone(),
        buffers: crew.buffers.clone(),
        host: crew.host.clone(),
        cancel: crew.cancel.clone(),
    }
}

fn inverse(applied: &Applied) -> Result<Edit, crate::EditError> {
    let back = applied.hunks.iter().map(|hunk| Replacement {
        range: ByteRange {
            start: hunk.range.start,
            end: hunk.range.end,
        },
        text: hunk.removed.clone(),
    });
    Edit::new(applied.after.clone(), back.collect())
}

/// Another name, under which there must be nothing.
fn move_to_nothing(from: &Path, to: &Path) -> Result<(), StepError> {
    let failed = |source: io::Error| match source.kind() {
        io::ErrorKind::AlreadyExists => exists(to),
        _ => StepError::Io {
            what: "rename",
            path: from.to_owned(),
            source,
        },
    };
    #[cfg(target_os = "linux")]
    {
        use rustix::{
            fs::{CWD, RenameFlags, renameat_with},
            io::Errno,
        };
        match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            // Not every file system knows how to.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {}
            Err(error) => return Err(failed(error.into())),
            Ok(()) => return Ok(()),
        }
    }
    if fs::symlink_metadata(to).is_ok() {
        return Err(exists(to));
    }
    fs::rename(from, to).map_err(failed)
}

fn forget(aside: &Path) -> io::Result<()> {
    match fs::symlink_metadata(aside)?.is_dir() {
        true => fs::remove_dir_all(aside)?,
        false => fs::remove_file(aside)?,
    }
    aside.parent().map_or(Ok(()), fs::remove_dir)
}
