//! The texts that an answer is about: those that the server was told, else the disk's, each read once.

use std::{collections::BTreeMap, num::NonZero, path::Component, thread};

use workspace::{DocumentUri, Encoding, Origin, Reading, Snapshot, Workspace};

use super::{Question, blocking};
use crate::{
    answer::{Location, QueryError},
    server::Had,
    wire::Place,
};

/// From so many files on that are on disk alone, several are read at a time.
const MANY: usize = 16;

/// Texts by name.
pub(super) struct Shelf {
    pub encoding: Encoding,
    read: Texts,
}

type Texts = BTreeMap<DocumentUri, Result<Snapshot, Missing>>;

impl Shelf {
    pub fn text(&self, uri: &DocumentUri) -> Option<&Snapshot> {
        self.read.get(uri)?.as_ref().ok()
    }

    /// Whether a text is missing because there is another by now.
    pub fn has_changed(&self, uri: &DocumentUri) -> bool {
        matches!(self.read.get(uri), Some(Err(Missing::Other(_))))
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
        texts: Had,
        uris: Vec<DocumentUri>,
        work: impl FnOnce(&Shelf) -> T + Send + 'static,
    ) -> Result<T, QueryError> {
        self.with_texts_of(texts, |_| (uris, ()), |(), shelf| work(shelf))
            .await
    }

    /// The same of what is first chosen among what it names.
    pub(super) async fn with_texts_of<C: Send + 'static, T: Send + 'static>(
        &self,
        texts: Had,
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
    texts: &Had,
    uris: Vec<DocumentUri>,
) -> Texts {
    let unread = |uri| (uri, Err(Missing::Unreadable));
    let mut all: Texts = uris.into_iter().map(unread).collect();
    let mut wanted: Vec<_> = all.iter_mut().collect();
    let read = |reading: &mut Reading<'_>,
                part: &mut [(&DocumentUri, &mut Result<Snapshot, Missing>)]| {
        for (uri, text) in part {
            **text = match text_of(reading, texts, uri) {
                Err(Missing::Other(new)) if may_be_unpacked(workspace, reading, &new) => Ok(new),
                meant => meant,
            };
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

/// Why there is no text that a server meant.
pub(super) enum Missing {
    /// There is none, or none to be shown.
    Unreadable,
    /// What is there now is not what the server had.
    Other(Snapshot),
}

/// The text that a server meant: the one that it was told, else the disk's, which it reads itself. What changed on disk
/// after it was asked it may have read before, and a buffer that it was not told of and that is not saved it has not.
///
/// Strictly later: what we wrote ourselves just before the question counts. Where the clock of a network disk is ahead
/// of ours, what changed there within the difference is taken for later; where it is behind, a change within it is missed.
pub(super) fn text_of(
    reading: &mut Reading<'_>,
    texts: &Had,
    uri: &DocumentUri,
) -> Result<Snapshot, Missing> {
    if let Some((snapshot, _)) = texts.get(uri) {
        let hidden = uri
            .path()
            .is_some_and(|path| reading.is_ignored_for_model(path));
        return match hidden {
            true => Err(Missing::Unreadable),
            false => Ok(snapshot.clone()),
        };
    }
    let snapshot = reading.read(uri).map_err(|error| {
        tracing::debug!(%error, "left out");
        Missing::Unreadable
    })?;
    // It may have been told of it by another name of the file.
    let is_told = |now: &Snapshot| {
        let told = texts.get(&now.uri);
        told.is_some_and(|(told, _)| told.text == now.text)
    };
    let is_other = match snapshot.origin {
        // Some servers make the file themselves that their edit is to fill; where there is no text, none can be hit.
        Origin::Disk(form) => {
            form.modified.is_some_and(|modified| modified > texts.when) && !snapshot.text.is_empty()
        }
        Origin::Buffer { dirty } => dirty && !is_told(&snapshot),
    };
    match is_other {
        true => Err(Missing::Other(snapshot)),
        false => Ok(snapshot),
    }
}

/// Whether a file may be one that a server itself wrote to answer: some unpack the source of a library where it is
/// asked for, outside of the project or in a folder of their own in it (`.metals`). Nobody else writes there.
fn may_be_unpacked(workspace: &Workspace, reading: &mut Reading<'_>, file: &Snapshot) -> bool {
    let Some(path) = file.uri.path().filter(|_| !file.is_buffer()) else {
        return false;
    };
    let is_own = |part: Component<'_>| part.as_os_str().as_encoded_bytes().starts_with(b".");
    let roots = workspace.roots();
    let mut folders = roots
        .iter()
        .map(|root| path.strip_prefix(root).ok()?.parent());
    let inside = folders.find_map(|folder| folder);
    !reading.contains(path) || inside.is_some_and(|folder| folder.components().any(is_own))
}
