//! The texts that an answer is about: those that the server was told, else the disk's, each read once.

use std::{collections::BTreeMap, num::NonZero, sync::Arc, thread};

use workspace::{DocumentUri, Encoding, Reading, Snapshot, Workspace};

use super::{Question, blocking};
use crate::{
    answer::{Location, QueryError},
    mirror::Texts,
    wire::Place,
};

/// From so many files on that are on disk alone, several are read at a time.
const MANY: usize = 16;

/// Texts by name; what can't be read or is not to be shown is `None`.
pub(super) struct Shelf {
    pub encoding: Encoding,
    read: BTreeMap<DocumentUri, Option<Snapshot>>,
}

impl Shelf {
    pub fn text(&self, uri: &DocumentUri) -> Option<&Snapshot> {
        self.read.get(uri)?.as_ref()
    }

    pub fn place(&self, (uri, range): &Place) -> Option<Location> {
        let snapshot = self.text(uri)?;
        Some(Location {
            snapshot: snapshot.clone(),
            range: snapshot.text.byte_range(*range, self.encoding),
        })
    }
}

impl Question {
    /// Works on an answer with the texts of these documents at hand.
    pub(super) async fn with_texts<T: Send + 'static>(
        &self,
        texts: Arc<Texts>,
        uris: Vec<DocumentUri>,
        work: impl FnOnce(&Shelf) -> T + Send + 'static,
    ) -> Result<T, QueryError> {
        self.with_texts_of(texts, |_| (uris, ()), |(), shelf| work(shelf))
            .await
    }

    /// The same of what is first chosen among what it names.
    pub(super) async fn with_texts_of<C: Send + 'static, T: Send + 'static>(
        &self,
        texts: Arc<Texts>,
        choose: impl FnOnce(&mut Reading<'_>) -> (Vec<DocumentUri>, C) + Send + 'static,
        work: impl FnOnce(C, &Shelf) -> T + Send + 'static,
    ) -> Result<T, QueryError> {
        let (workspace, encoding) = (self.workspace.clone(), self.server.encoding());
        blocking(move || {
            let mut reading = workspace.reading();
            let (uris, chosen) = choose(&mut reading);
            let read = read_all(&workspace, &mut reading, &texts, uris);
            work(chosen, &Shelf { encoding, read })
        })
        .await
    }
}

fn read_all(
    workspace: &Workspace,
    reading: &mut Reading<'_>,
    texts: &Texts,
    uris: Vec<DocumentUri>,
) -> BTreeMap<DocumentUri, Option<Snapshot>> {
    let mut all: BTreeMap<DocumentUri, Option<Snapshot>> =
        uris.into_iter().map(|uri| (uri, None)).collect();
    let mut wanted: Vec<_> = all.iter_mut().collect();
    let read = |reading: &mut Reading<'_>, part: &mut [(&DocumentUri, &mut Option<Snapshot>)]| {
        for (uri, text) in part {
            **text = text_of(reading, texts, uri);
        }
    };
    let on_disk = wanted.iter().filter(|(uri, _)| texts.get(uri).is_none());
    let readers = match on_disk.count() {
        few if few < MANY => 1,
        // What is allowed is read from several files, each time.
        _ => thread::available_parallelism()
            .map_or(1, NonZero::get)
            .min(8),
    };
    let share = wanted.len().div_ceil(readers);
    let (ours, theirs) = wanted.split_at_mut(share);
    thread::scope(|scope| {
        for part in theirs.chunks_mut(share.max(1)) {
            scope.spawn(|| read(&mut workspace.reading(), part));
        }
        read(reading, ours);
    });
    all
}

/// The text that a server meant: the one that it was told, else the disk's, which it reads itself.
pub(super) fn text_of(
    reading: &mut Reading<'_>,
    texts: &Texts,
    uri: &DocumentUri,
) -> Option<Snapshot> {
    match texts.get(uri) {
        Some((snapshot, _)) => {
            let hidden = uri
                .path()
                .is_some_and(|path| reading.is_ignored_for_model(path));
            (!hidden).then(|| snapshot.clone())
        }
        None => reading
            .read(uri)
            .inspect_err(|error| tracing::debug!(%error, "left out"))
            .ok(),
    }
}
