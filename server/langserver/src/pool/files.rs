//! Files on disk that were changed, made, renamed or deleted by ourselves: the servers hear of it at once.

use std::{
    ffi::OsStr,
    path::PathBuf,
    sync::{Arc, Weak},
};

use tokio::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;
use workspace::DocumentUri;

use super::{Pool, watch::real};
use crate::{
    client::Patience,
    server::{Change, DiskChange, FileOperation, Server},
};

/// So many files are opened at once for a server that would not notice that they changed.
const AT_ONCE: usize = 16;
/// So long it may take to look at them, before it gets the next ones.
const ONE_TURN: Duration = Duration::from_secs(2);

impl Pool {
    /// Files were changed on disk: servers that watch them are told.
    pub fn disk_changed(&self, uris: &[DocumentUri]) {
        let change = |uri: &DocumentUri| match uri.path() {
            Some(path) if !path.exists() => Change::Deleted,
            _ => Change::Changed,
        };
        self.changed(uris.iter().map(|uri| (uri, change(uri))));
    }

    /// Files (or folders) were made by us.
    pub fn files_created(&self, uris: &[DocumentUri]) {
        let files: Vec<_> = uris
            .iter()
            .map(|uri| (uri.clone(), is_folder(uri)))
            .collect();
        for server in self.live() {
            server.operated(FileOperation::Created(&files));
        }
        self.changed(uris.iter().map(|uri| (uri, Change::Created)));
    }

    /// Files (or folders) have other names now: from, to.
    pub fn files_renamed(&self, pairs: &[(DocumentUri, DocumentUri)]) {
        let files: Vec<_> = pairs
            .iter()
            .map(|(from, to)| (from.clone(), to.clone(), is_folder(to)))
            .collect();
        for server in self.live() {
            // What it holds under the old name it is to hold under the new one.
            let moved = server.mirror().map_or_else(Vec::new, |mirror| {
                mirror.told(None, |wire| {
                    // Under a lease it is returned later, as one that is gone from the disk.
                    let moved: Vec<_> = wire
                        .borrowed()
                        .filter(|_| wire.lease().is_none())
                        .filter_map(|uri| Some((uri.clone(), renamed(uri, pairs)?)))
                        .collect();
                    for (old, _) in &moved {
                        wire.close(old);
                    }
                    moved
                })
            });
            server.operated(FileOperation::Renamed(&files));
            for (_, new) in moved {
                if let (Some(mirror), Ok(snapshot)) = (server.mirror(), self.workspace.read(&new)) {
                    mirror.told(Some(&snapshot), |_| ());
                }
            }
        }
        self.changed(
            pairs
                .iter()
                .flat_map(|(from, to)| [(from, Change::Deleted), (to, Change::Created)]),
        );
    }

    /// Files (or folders) were deleted by us.
    pub fn files_deleted(&self, uris: &[DocumentUri]) {
        // Nobody can tell any more what they were.
        let files: Vec<_> = uris.iter().map(|uri| (uri.clone(), None)).collect();
        for server in self.live() {
            if let Some(mirror) = server.mirror() {
                mirror.told(None, |wire| {
                    let gone: Vec<_> = wire
                        .borrowed()
                        .filter(|uri| is_in(uri, uris))
                        .cloned()
                        .collect();
                    for uri in gone {
                        wire.close(&uri);
                    }
                });
            }
            server.operated(FileOperation::Deleted(&files));
        }
        self.changed(uris.iter().map(|uri| (uri, Change::Deleted)));
    }

    /// Has a server that would not notice a change on disk read the files anew: by opening them, and by a save, at which it
    /// looks at everything else that depends on them. The first at once, the others in turns, in the background.
    pub(super) fn reread(&self, server: &Arc<Server>, events: &[(DocumentUri, Change)]) {
        if !server.is_blind() || events.is_empty() {
            return;
        }
        let mut all = server.rereading();
        for (uri, change) in events {
            all.waiting.insert(uri.clone(), *change);
        }
        if all.is_under_way {
            return;
        }
        drop(all);
        self.reread_some(server);
        let mut all = server.rereading();
        if !all.waiting.is_empty()
            && !all.is_under_way
            && let Some(runtime) = &self.runtime
        {
            all.is_under_way = true;
            runtime.spawn(reread_all(self.me.clone(), Arc::downgrade(server)));
        }
    }

    /// One turn. Gives those that were read; what came under a lease waits for its end.
    fn reread_some(&self, server: &Server) -> Vec<DocumentUri> {
        let Some(mirror) = server.mirror() else {
            return Vec::new();
        };
        let mut turn = Vec::new();
        {
            let waiting = &mut server.rereading().waiting;
            while turn.len() < AT_ONCE
                && let Some(event) = waiting.pop_first()
            {
                turn.push(event);
            }
        }
        let mut read = Vec::new();
        for (uri, change) in turn {
            if self.workspace.buffers().name_of(&uri).is_some() {
                continue;
            }
            let text = match change {
                Change::Deleted => None,
                _ => self.workspace.read(&uri).ok(),
            };
            if mirror.told(None, |wire| wire.reread(&uri, text.as_ref())) {
                read.push(uri);
            } else {
                // What came later of the same file counts.
                server.rereading().waiting.entry(uri).or_insert(change);
            }
        }
        read
    }

    fn changed<'a>(&self, changes: impl Iterator<Item = (&'a DocumentUri, Change)>) {
        let servers = self.live();
        if !self.watch.is_on() && servers.iter().all(|server| server.patterns().is_empty()) {
            return;
        }
        let changes: Vec<DiskChange> = changes
            .filter_map(|(uri, change)| {
                let path = uri.path()?;
                // The file itself may be a link, which is a file of its own; and it may be gone.
                let real = real(path.parent()?).join(path.file_name().unwrap_or(OsStr::new("")));
                Some(DiskChange {
                    uri: uri.clone(),
                    paths: [path.to_owned(), real],
                    change,
                })
            })
            .collect();
        for server in servers {
            let events = server.disk_changed(&changes);
            self.reread(&server, &events);
        }
        for DiskChange {
            paths: [_, real], ..
        } in &changes
        {
            self.watch.told(real);
        }
    }
}

/// Goes on with what is to be read anew until nothing is left of it.
async fn reread_all(pool: Weak<Pool>, server: Weak<Server>) {
    let mut last = (Vec::new(), Instant::now());
    loop {
        let Some(server) = server.upgrade() else {
            return;
        };
        let patience = Patience::of(ONE_TURN, &CancellationToken::new());
        server.has_spoken_of(&last.0, last.1, &patience).await;
        server.no_lease().await;
        let (Some(pool), true) = (pool.upgrade(), server.is_alive()) else {
            return;
        };
        {
            let mut all = server.rereading();
            if all.waiting.is_empty() {
                all.is_under_way = false;
                return;
            }
        }
        let since = Instant::now();
        let read = tokio::task::spawn_blocking(move || pool.reread_some(&server)).await;
        last = (read.unwrap_or_default(), since);
    }
}

fn is_folder(uri: &DocumentUri) -> Option<bool> {
    Some(uri.path()?.metadata().ok()?.is_dir())
}

/// The new name of a document that was renamed, or that lies in a folder that was.
fn renamed(uri: &DocumentUri, pairs: &[(DocumentUri, DocumentUri)]) -> Option<DocumentUri> {
    pairs.iter().find_map(|(from, to)| {
        let inside = uri.path()?.strip_prefix(from.path()?).ok()?;
        let mut path: PathBuf = to.path()?.to_owned();
        if !inside.as_os_str().is_empty() {
            path.push(inside);
        }
        DocumentUri::from_path(&path).ok()
    })
}

/// Whether a document is one of these, or lies in one.
fn is_in(uri: &DocumentUri, uris: &[DocumentUri]) -> bool {
    uri.path().is_some_and(|path| {
        uris.iter()
            .filter_map(DocumentUri::path)
            .any(|one| path.starts_with(one))
    })
}
