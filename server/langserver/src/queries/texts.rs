//! The texts that an answer is about: those that the server was told, else the disk's, each read once.

use std::{
    collections::{BTreeMap, HashMap},
    num::NonZero,
    path::{Component, PathBuf},
    thread,
};

use workspace::{
    DiskForm, DocumentUri, Encoding, Origin, Range, Reading, Snapshot, Text, Workspace,
};

use super::Question;
use crate::{
    answer::{Location, QueryError},
    blocking::blocking,
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
        matches!(
            self.read.get(uri),
            Some(Err(Missing::Other(_) | Missing::Untold { .. }))
        )
    }

    pub fn place(&self, (uri, range): &Place) -> Option<Location> {
        let snapshot = self.text(uri)?;
        if is_past(range, &snapshot.text, self.encoding) {
            return None;
        }
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
        let server = self.server.clone();
        blocking(move || {
            let mut reading = workspace.reading();
            let (uris, chosen) = choose(&mut reading);
            let mut read = read_all(&workspace, &mut reading, &texts, uris);
            let untold = |(uri, text): (&DocumentUri, &Result<_, Missing>)| match text {
                Err(Missing::Untold { own }) => Some((uri.clone(), own.clone())),
                _ => None,
            };
            let untold: Vec<_> = read.iter().filter_map(untold).collect();
            if !untold.is_empty() && server.tell_by(&untold) {
                return Err(QueryError::Overtaken {
                    name: server.name().to_owned(),
                });
            }
            by_one_name(&mut reading, &mut read);
            Ok(work(chosen, &Shelf { encoding, read }))
        })
        .await?
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

/// Has a file that was named by several links go by one name: a buffer's, else the one without links.
fn by_one_name(reading: &mut Reading<'_>, all: &mut Texts) {
    let mut files: HashMap<PathBuf, Vec<DocumentUri>> = HashMap::new();
    for (uri, text) in &*all {
        if let (Some(path), true) = (uri.path(), text.is_ok()) {
            files
                .entry(reading.real(path))
                .or_default()
                .push(uri.clone());
        }
    }
    files.retain(|_, names| names.len() > 1);
    for (real, names) in files {
        let text = |name: &DocumentUri| all.get(name)?.as_ref().ok();
        let open = names.iter().filter_map(text).find(|text| text.is_buffer());
        let plain = names.iter().find(|name| name.path() == Some(&real));
        let Some(one) = open.map(|text| &text.uri).or(plain).or(names.first()) else {
            continue;
        };
        let one = one.clone();
        for name in &names {
            if let Some(Ok(text)) = all.get_mut(name) {
                text.uri = one.clone();
            }
        }
    }
}

/// Whether a place begins behind the end of its line: it is one of another text. What is behind the last line is its end, and
/// some count the first half of a line's end as its last character.
pub(super) fn is_past(place: &Range, text: &Text, encoding: Encoding) -> bool {
    let at = text.offset(place.start, encoding);
    let there = text.position(at, encoding);
    let is_end = at == text.line_end(there.line as usize);
    is_end && there.line == place.start.line && there.character + 1 < place.start.character
}

/// Why there is no text that a server meant.
pub(super) enum Missing {
    /// There is none, or none to be shown.
    Unreadable,
    /// What is there now is not what the server had.
    Other(Snapshot),
    /// An editor holds it by another name, by which alone the server was told of it: by this one it went by the disk.
    Untold {
        /// The other name.
        own: DocumentUri,
    },
}

/// The text that a server meant: the one that it was told, else the disk's, which it reads itself. What changed on disk
/// after it was asked it may have read before, and a buffer that it was not told of and that is not as on disk it has not.
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
        if hidden {
            return Err(Missing::Unreadable);
        }
        // One that it was shown from disk may be open by now, by another name.
        return match snapshot.is_buffer() {
            true => Ok(snapshot.clone()),
            false => match reading.open(uri) {
                Some(open) if open.text != snapshot.text => Err(other(texts, uri, open)),
                Some(open) => Ok(open),
                None => Ok(snapshot.clone()),
            },
        };
    }
    let snapshot = reading.read(uri).map_err(|error| {
        tracing::debug!(%error, "left out");
        Missing::Unreadable
    })?;
    let is_later = |form: DiskForm| form.changed.is_some_and(|changed| changed > texts.when);
    match snapshot.origin {
        Origin::Disk(form) if is_later(form) => Err(Missing::Other(snapshot)),
        Origin::Disk(_) => Ok(snapshot),
        Origin::Buffer { .. } => {
            let is_same = reading.read_disk(uri).is_ok_and(|disk| {
                disk.text == snapshot.text
                    && !matches!(disk.origin, Origin::Disk(form) if is_later(form))
            });
            match is_same {
                true => Ok(snapshot),
                false => Err(other(texts, uri, snapshot)),
            }
        }
    }
}

/// A buffer that the server did not mean, when it named this.
fn other(texts: &Had, uri: &DocumentUri, open: Snapshot) -> Missing {
    match open.uri != *uri && texts.get(&open.uri).is_some() {
        true => Missing::Untold { own: open.uri },
        false => Missing::Other(open),
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
