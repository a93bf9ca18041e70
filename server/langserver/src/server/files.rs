//! What one server hears of files: those that it registered for, and operations on files that it announced. It finds
//! nothing out about the disk itself.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, MutexGuard, PoisonError},
};

use serde_json::{Value, json};
use tokio::sync::watch;
use workspace::DocumentUri;

use super::{
    Server,
    registrations::{Change, Pattern, WATCHED_FILES, concerns},
};
use crate::catalogue::extensions_of;

/// Files that a server would not notice to have changed on disk.
#[derive(Debug, Default)]
pub(crate) struct Rereading {
    pub waiting: BTreeMap<DocumentUri, Change>,
    /// Whether somebody goes on with them.
    pub is_under_way: bool,
}

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

    /// Finds out anew what it wants to hear of.
    pub(super) fn watch_anew(&self) {
        // Held to the end: what is found out first is not to be told last.
        let desk = self.desk();
        let mut patterns = desk.registrations.patterns();
        if self.is_blind() {
            let extensions = extensions_of(&self.config.languages);
            patterns.extend(Pattern::of_extensions(&self.root, extensions));
        }
        self.watching.send_replace(patterns.into());
    }

    /// Whether it goes on as if a file had not changed on disk, though it be told: only what is opened does it read.
    pub fn is_blind(&self) -> bool {
        self.traits.blind_to_disk
    }

    /// The files that it is still to read anew.
    pub fn rereading(&self) -> MutexGuard<'_, Rereading> {
        self.rereading
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until there is no lease. Another one may begin at once.
    pub async fn no_lease(&self) {
        drop(self.leases.read().await);
    }

    /// Files changed on disk, whoever did it: it hears of those that it registered for. Gives what concerns it.
    pub fn disk_changed(&self, changes: &[DiskChange]) -> Vec<(DocumentUri, Change)> {
        let patterns = self.patterns();
        let wants = |change: &DiskChange, path: &Path| {
            patterns
                .iter()
                .any(|one| one.wants(change.change) && one.has(&one.folder, path))
        };
        let events: Vec<_> = changes
            .iter()
            .filter(|change| change.paths.iter().any(|path| wants(change, path)))
            .map(|change| (change.uri.clone(), change.change))
            .collect();
        self.tell_of_files(&events);
        events
    }

    /// Tells it, in one message, of changes that it wants to hear of.
    pub fn tell_of_files(&self, events: &[(DocumentUri, Change)]) {
        let changes: Vec<Value> = events
            .iter()
            .map(|(uri, change)| json!({"uri": uri.as_str(), "type": *change as u8}))
            .collect();
        if !changes.is_empty() && self.desk().registrations.has(WATCHED_FILES, None, None) {
            self.client
                .notify(WATCHED_FILES, Some(json!({"changes": changes})));
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
