//! What one server hears of files: those that it registered for, and operations on files that it announced. It finds
//! nothing out about the disk itself.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::{Value, json};
use tokio::sync::watch;
use workspace::DocumentUri;

use super::{
    Server,
    registrations::{Change, Pattern, concerns},
};

/// A file that was changed on disk.
#[derive(Debug)]
pub(crate) struct DiskChange {
    pub uri: DocumentUri,
    /// Its path, and the same with symlinks resolved.
    pub paths: [PathBuf; 2],
    pub change: Change,
}

/// What was done to files, whose names have been told apart as files and folders.
#[derive(Debug, Clone, Copy)]
pub(crate) enum FileOperation<'a> {
    Created(&'a [(DocumentUri, Option<bool>)]),
    /// The old names, and the new ones.
    Renamed(&'a [(DocumentUri, DocumentUri, Option<bool>)]),
    Deleted(&'a [(DocumentUri, Option<bool>)]),
}

impl Server {
    /// The files that it wants to hear of, now and whenever they are others.
    pub fn watching(&self) -> watch::Receiver<Arc<[Pattern]>> {
        self.watching.subscribe()
    }

    /// The files that it wants to hear of.
    pub fn patterns(&self) -> Arc<[Pattern]> {
        self.watching.borrow().clone()
    }

    pub(super) fn watch_anew(&self) {
        let patterns = self.desk().registrations.patterns();
        self.watching.send_replace(patterns.into());
    }

    /// Files changed on disk, whoever did it: it hears of those that it registered for.
    pub fn disk_changed(&self, changes: &[DiskChange]) {
        let patterns = self.patterns();
        let wants = |change: &DiskChange, path: &Path| {
            patterns
                .iter()
                .any(|one| one.wants(change.change) && one.has(&one.folder, path))
        };
        let events = changes
            .iter()
            .filter(|change| change.paths.iter().any(|path| wants(change, path)))
            .map(|change| (change.uri.clone(), change.change));
        self.tell_of_files(events);
    }

    /// Tells it, in one message, of changes that it wants to hear of.
    pub fn tell_of_files(&self, events: impl Iterator<Item = (DocumentUri, Change)>) {
        let changes: Vec<Value> = events
            .map(|(uri, change)| json!({"uri": uri.as_str(), "type": change as u8}))
            .collect();
        if !changes.is_empty() {
            self.client.notify(
                "workspace/didChangeWatchedFiles",
                Some(json!({"changes": changes})),
            );
        }
    }

    /// Files were made, renamed or deleted by us: it hears of it if it said that it wants to.
    pub fn operated(&self, operation: FileOperation<'_>) {
        let (method, key) = match operation {
            FileOperation::Created(_) => ("workspace/didCreateFiles", "didCreate"),
            FileOperation::Renamed(_) => ("workspace/didRenameFiles", "didRename"),
            FileOperation::Deleted(_) => ("workspace/didDeleteFiles", "didDelete"),
        };
        let mut options: Vec<Value> = self.desk().registrations.options(method).cloned().collect();
        if let Some(introduced) = self.introduced.get() {
            let operations = &introduced.capabilities["workspace"]["fileOperations"];
            options.push(operations[key].clone());
        }
        let is_wanted = |uri: &DocumentUri, is_folder: Option<bool>| {
            options
                .iter()
                .any(|options| concerns(options, uri, is_folder))
        };
        let files: Vec<Value> = match operation {
            FileOperation::Created(files) | FileOperation::Deleted(files) => files
                .iter()
                .filter(|(uri, is_folder)| is_wanted(uri, *is_folder))
                .map(|(uri, _)| json!({"uri": uri.as_str()}))
                .collect(),
            FileOperation::Renamed(files) => files
                .iter()
                .filter(|(from, _, is_folder)| is_wanted(from, *is_folder))
                .map(|(from, to, _)| json!({"oldUri": from.as_str(), "newUri": to.as_str()}))
                .collect(),
        };
        if !files.is_empty() {
            self.client.notify(method, Some(json!({"files": files})));
        }
    }
}
