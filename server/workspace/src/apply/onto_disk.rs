//! Edits of files that no editor has open. A buffer that is opened in the middle of it wins.

use std::path::{Path, PathBuf};

use tokio::task::spawn_blocking;

use super::{Applied, ApplyError, Edit, Errand};
use crate::{
    DiskForm, DocumentUri, Origin, ReadError, Revision, Snapshot, Text, WriteError,
    disk::{self, Expected},
};

/// How often a file that others write at the same time is tried.
const ATTEMPTS: usize = 3;

impl Errand {
    pub(super) async fn edit_disk(self, edit: Edit) -> Result<Applied, ApplyError> {
        let path = self.path()?;
        let mut edit = edit;
        let mut attempt = 0;
        loop {
            attempt += 1;
            self.refuse_if_cancelled()?;
            let uri = self.uri.clone();
            let fresh = blocking(move || disk::read(&uri)).await?;
            edit = self.rebase(edit, &fresh).await?;
            if edit.replacements().is_empty() {
                return Ok(Applied::nothing(fresh));
            }
            if let Some((newest, texts)) = self.follow() {
                return self.edit_buffer(edit, newest, texts).await;
            }
            let bom = matches!(fresh.origin, Origin::Disk(DiskForm { bom: true, .. }));
            let (path, result) = (path.clone(), edit.result());
            let written = blocking({
                let result = result.clone();
                move || {
                    disk::write(
                        &path,
                        &result,
                        bom,
                        Expected::Exactly {
                            text: &fresh.text,
                            bom,
                        },
                    )
                }
            });
            match written.await {
                Ok(form) => {
                    let after = on_disk(self.uri.clone(), result, form);
                    return self.after_write(edit, after).await;
                }
                Err(WriteError::Changed { .. }) if attempt < ATTEMPTS => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    pub(super) async fn create_on_disk(self, content: &str) -> Result<Applied, ApplyError> {
        self.refuse_if_cancelled()?;
        let path = self.path()?;
        let bom = content.starts_with('\u{feff}');
        let content = content.strip_prefix('\u{feff}').unwrap_or(content);
        let nothing = on_disk(
            self.uri.clone(),
            Text::default(),
            DiskForm {
                bom,
                ..DiskForm::default()
            },
        );
        let edit = Edit::whole(nothing, content);
        let text = edit.result();
        let form = blocking({
            let text = text.clone();
            move || disk::write(&path, &text, bom, Expected::Absent)
        });
        let after = on_disk(self.uri.clone(), text, form.await?);
        self.after_write(edit, after).await
    }

    fn path(&self) -> Result<PathBuf, ReadError> {
        let path = self.uri.path().map(Path::to_owned);
        path.ok_or_else(|| ReadError::NoFile {
            uri: self.uri.clone(),
        })
    }

    /// The file is written. If an editor opened it before that, its buffer has the old text, and that is what counts.
    async fn after_write(self, edit: Edit, after: Snapshot) -> Result<Applied, ApplyError> {
        if let Some((newest, texts)) = self.follow() {
            let (written, text) = (edit.clone(), newest.text.clone());
            if !blocking(move || written.stands_in(&text)).await {
                return self.edit_buffer(edit, newest, texts).await;
            }
        }
        let (written, on_disk) = (edit, after.clone());
        let booked = blocking(move || Applied::book(&written, &on_disk)).await;
        Ok(booked.unwrap_or_else(|| Applied::nothing(after)))
    }
}

fn on_disk(uri: DocumentUri, text: Text, form: DiskForm) -> Snapshot {
    Snapshot {
        uri,
        text,
        revision: Revision::DISK,
        version: None,
        language: None,
        origin: Origin::Disk(form),
    }
}

pub(super) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime is ending, and this task with it.
            Err(_) => std::future::pending().await,
        },
    }
}
