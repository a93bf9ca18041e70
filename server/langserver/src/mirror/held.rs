//! The documents as one server has them, and how it is told of them. It writes to the server's pipe and reads nothing
//! of ours but the snapshots that it is given.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
    time::SystemTime,
};

use serde::{Serialize, Serializer};
use serde_json::json;
use tokio::time::Instant;
use workspace::{DocumentUri, Encoding, Origin, Replacement, Snapshot, Text};

use super::{
    Note,
    changes::{Say, difference},
    lease::Shown,
};
use crate::{catalogue, client::Client};

/// How many documents that no editor holds stay open at a server.
pub(super) const MOST_BORROWED: usize = 32;
/// How many earlier versions of a document are kept, to understand what a server says of them.
const MOST_EARLIER: usize = 8;

/// How a server wants to be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Manner {
    pub kind: SyncKind,
    pub encoding: Encoding,
    /// `None`: it does not want to hear of saves; else whether with the text.
    pub save: Option<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SyncKind {
    None,
    Full,
    Incremental,
}

/// A document as a server has it.
#[derive(Debug)]
pub(crate) struct Held {
    pub snapshot: Snapshot,
    /// In the server's own count.
    pub version: i32,
    language: String,
    /// The text that it last heard was on disk.
    pub(super) saved: Text,
    earlier: VecDeque<(i32, Snapshot)>,
    pub(super) borrowed: bool,
}

/// Documents as a server had them at one moment, with its own versions.
pub(crate) type Texts = BTreeMap<DocumentUri, (Snapshot, i32)>;

/// A document from disk, and when it had been changed there.
pub(super) type OnDisk = (DocumentUri, Option<SystemTime>);

/// Documents that are not on disk any more as they are held, and whether they are gone.
#[derive(Debug, Default)]
pub(super) struct Stale(Vec<(OnDisk, bool)>);

impl Stale {
    /// Looks at the disk, which may be slow: nobody is to be kept waiting for it by a lock.
    pub fn of(borrowed: Vec<OnDisk>) -> Self {
        let stale = borrowed.into_iter().filter_map(|(uri, held)| {
            let path = uri.path();
            let now = path.and_then(|path| std::fs::metadata(path).ok()?.modified().ok());
            (now != held).then(|| ((uri, held), now.is_none()))
        });
        Self(stale.collect())
    }
}

/// What the server has been told.
#[derive(Debug)]
pub(crate) struct Wire {
    client: Arc<Client>,
    manner: Manner,
    pub(super) held: BTreeMap<DocumentUri, Held>,
    /// What [`Wire::all`] last listed, until something changes.
    pub(super) all: Option<Arc<Texts>>,
    pub(super) borrowed: VecDeque<DocumentUri>,
    /// Names by which the server itself calls files that an editor holds by another name, and that name: see `other_names`.
    pub(super) others: BTreeMap<DocumentUri, DocumentUri>,
    /// Documents of the editor whose text changed since this was last emptied.
    touched: Vec<DocumentUri>,
    /// Documents from disk that were closed because they had changed there.
    returned: BTreeSet<DocumentUri>,
    /// When it was last told of another text of a document.
    changed: BTreeMap<DocumentUri, Instant>,
    /// How often it was told of a save.
    saves: u64,
    /// Extensions of files whose text reaches the documents that include them only when something is said to be saved.
    included: &'static [String],
    /// Those of them that have changed since the last save, and when that was.
    unseen: BTreeSet<DocumentUri>,
    looked: Option<Instant>,
    pub(super) shown: Shown,
}

impl Wire {
    pub(super) fn new(client: Arc<Client>, manner: Manner) -> Self {
        Self {
            client,
            manner,
            held: BTreeMap::new(),
            all: None,
            borrowed: VecDeque::new(),
            others: BTreeMap::new(),
            touched: Vec::new(),
            returned: BTreeSet::new(),
            changed: BTreeMap::new(),
            saves: 0,
            included: &[],
            unseen: BTreeSet::new(),
            looked: None,
            shown: Shown::default(),
        }
    }

    pub fn encoding(&self) -> Encoding {
        self.manner.encoding
    }

    /// A document as the server has it now.
    pub fn held(&self, uri: &DocumentUri) -> Option<&Held> {
        self.held.get(uri)
    }

    /// Every document as the server has it now: listed anew only after something has changed.
    pub fn all(&mut self) -> Arc<Texts> {
        let (held, others) = (&self.held, &self.others);
        let list = || {
            let texts = held.iter().map(|(uri, held)| {
                let mut snapshot = held.snapshot.clone();
                // By whichever name it is found, it is the editor's document.
                if let Some(own) = others.get(uri) {
                    snapshot.uri = own.clone();
                }
                (uri.clone(), (snapshot, held.version))
            });
            Arc::new(texts.collect())
        };
        self.all.get_or_insert_with(list).clone()
    }

    /// The editor's documents that were told of since the last call.
    pub fn take_touched(&mut self) -> Vec<DocumentUri> {
        std::mem::take(&mut self.touched)
    }

    /// The editor's documents that the server has.
    pub fn buffers(&self) -> Vec<DocumentUri> {
        self.held
            .iter()
            .filter(|(_, held)| !held.borrowed)
            .map(|(uri, _)| uri.clone())
            .collect()
    }

    /// The documents that it has though no editor holds them.
    pub fn borrowed(&self) -> impl Iterator<Item = &DocumentUri> {
        self.borrowed.iter()
    }

    /// When it was last told of another text of any document but this.
    pub fn changed_beside(&self, uri: &DocumentUri) -> Option<Instant> {
        let others = self.changed.iter().filter(|(other, _)| *other != uri);
        others.map(|(_, at)| *at).max()
    }

    /// How often it was told of a save so far.
    pub fn saves(&self) -> u64 {
        self.saves
    }

    /// Whether this is the text of a document that it last heard was on disk.
    pub fn is_saved(&self, snapshot: &Snapshot) -> bool {
        let held = self.held.get(&snapshot.uri);
        !snapshot.is_unsaved()
            && !self.shown.is_only_held(&snapshot.uri)
            && held.is_some_and(|held| held.saved == snapshot.text)
    }

    pub fn set_save(&mut self, save: Option<bool>) {
        self.manner.save = save;
    }

    /// The server sees files with these extensions in the documents that include them only when something is saved.
    pub fn set_included(&mut self, extensions: &'static [String]) {
        self.included = extensions;
    }

    /// Has the server look again at what a document that it is about to be asked about includes, if some of that changed.
    /// It is told of a save, of no text: only what it looks at then is wanted.
    pub fn look_again(&mut self, uri: &DocumentUri) {
        let is_seen = self.unseen.iter().all(|changed| changed == uri);
        if is_seen || self.manner.save.is_none() {
            return;
        }
        if self.say_saved(uri) {
            self.has_looked();
        }
    }

    /// Tells of a save, of no text, for the sake of what the server does then: of a file that was written, but not by an
    /// editor. Whether it was told.
    pub fn say_saved(&self, uri: &DocumentUri) -> bool {
        let held = self.held.get(uri).filter(|_| self.manner.save.is_some());
        if let Some(held) = held {
            let params = json!({"textDocument": {"uri": held.snapshot.uri.as_str()}});
            self.client.notify("textDocument/didSave", Some(params));
        }
        held.is_some()
    }

    /// When it last began to look again at all documents because of what they include.
    pub fn looked(&self) -> Option<Instant> {
        self.looked
    }

    fn has_looked(&mut self) {
        if !std::mem::take(&mut self.unseen).is_empty() {
            self.looked = Some(Instant::now());
        }
    }

    /// A document has another text, for those that include it as well.
    pub(super) fn is_other(&mut self, uri: &DocumentUri) {
        let extension = uri.path().and_then(|path| path.extension()?.to_str());
        if extension.is_some_and(|one| self.included.iter().any(|included| included == one)) {
            self.unseen.insert(uri.clone());
        }
    }

    /// Before a document with unsaved text is closed, it gets the text that is on disk: a server may take a moment to read that
    /// file, and until then goes by the last text that it was told.
    pub(super) fn give_up(&mut self, uri: &DocumentUri) {
        let Some(held) = self.held.get(uri) else {
            return;
        };
        if !held.snapshot.is_unsaved() {
            return;
        }
        // Read here, in the order of what is told; it is rare, and a file that can't be read is nothing to go back to.
        let path = held.snapshot.uri.path();
        let Some(text) = path.and_then(|path| workspace::read_file(path).ok()) else {
            return;
        };
        let now = Snapshot {
            text: Text::new(&text),
            ..held.snapshot.clone()
        };
        let said = by_texts(&held.snapshot.text, &now.text, false);
        self.say(uri, now, said);
    }

    pub(super) fn tell(&mut self, uri: &DocumentUri, note: Note) {
        self.others.remove(uri);
        self.tell_alone(uri, note);
        self.tell_others(uri);
    }

    fn tell_alone(&mut self, uri: &DocumentUri, note: Note) {
        let Some(now) = note.now else {
            self.give_up(uri);
            return self.close(uri);
        };
        let language = language(&now).to_owned();
        if self
            .held
            .get(uri)
            .is_some_and(|held| held.language != language)
        {
            self.close(uri);
        }
        if let Some(held) = self.held.get_mut(uri) {
            let said = match note.steps {
                Some((base, changes)) if base == held.snapshot.revision => {
                    changes.told(&held.snapshot.text, &now.text)
                }
                _ => by_texts(&held.snapshot.text, &now.text, note.saved),
            };
            held.borrowed = false;
            self.borrowed.retain(|borrowed| borrowed != uri);
            self.say(uri, now, said);
        } else {
            self.open(&now, false);
            if note.saved {
                self.say(uri, now, vec![Say::Saved]);
            }
        }
        if !self.touched.contains(uri) {
            self.touched.push(uri.clone());
        }
    }

    /// Makes the server hold a document that no editor holds. One that it has with another text gets this one.
    pub(super) fn borrow(&mut self, snapshot: &Snapshot) {
        let uri = &snapshot.uri;
        match self.held.get(uri) {
            // A buffer's text comes by the notes, which are newer than any snapshot.
            Some(held) if !held.borrowed || snapshot.is_buffer() => {}
            Some(held) => {
                // It changed on disk, which is what a save is.
                let is_new = held.snapshot.text != snapshot.text;
                let said = by_texts(&held.snapshot.text, &snapshot.text, is_new);
                self.say(uri, snapshot.clone(), said);
            }
            None => {
                self.open(snapshot, !snapshot.is_buffer());
                if self.returned.remove(uri) {
                    self.say(uri, snapshot.clone(), vec![Say::Saved]);
                }
                while self.borrowed.len() > MOST_BORROWED {
                    if let Some(oldest) = self.borrowed.pop_front() {
                        self.close(&oldest);
                    }
                }
            }
        }
    }

    /// What is borrowed from disk, and when it had been changed there. Nothing under a lease, which leaves it as it is.
    pub(super) fn borrowed_from_disk(&self) -> Vec<OnDisk> {
        if self.lease().is_some() {
            return Vec::new();
        }
        let borrowed = self.borrowed.iter();
        borrowed.filter_map(|uri| self.on_disk(uri)).collect()
    }

    /// A document that is held as it is on disk.
    fn on_disk(&self, uri: &DocumentUri) -> Option<OnDisk> {
        match self.held.get(uri)?.snapshot.origin {
            Origin::Disk(form) => Some((uri.clone(), form.modified)),
            Origin::Buffer { .. } => None,
        }
    }

    /// Closes what was borrowed from disk and has changed there since: the server is to read it itself.
    /// Not those that are about to be told: they get their new text by a change. A server that is told that a document
    /// is closed says at once that there is nothing wrong in it, which would be taken for the new text's.
    pub(super) fn return_stale(&mut self, stale: Stale, but: &[Snapshot]) {
        for (on_disk, is_gone) in stale.0 {
            let uri = &on_disk.0;
            // One that is gone gets no new text: under a lease it is to be opened, so that the server says something of it.
            let is_told = !is_gone && but.iter().any(|one| one.uri == *uri);
            // It may have been told of meanwhile.
            let is_stale =
                self.borrowed.contains(uri) && self.on_disk(uri).as_ref() == Some(&on_disk);
            if is_stale && !is_told {
                self.close(uri);
                self.returned.insert(uri.clone());
            }
        }
    }

    /// Has the server read a file anew that changed on disk: it is opened if it is not, and said to be saved. `None`: it
    /// is gone. What an editor holds is left alone. False under a lease: it is to be done after it.
    pub fn reread(&mut self, uri: &DocumentUri, snapshot: Option<&Snapshot>) -> bool {
        if self.lease().is_some() {
            return false;
        }
        if self.held.get(uri).is_some_and(|held| !held.borrowed) {
            return true;
        }
        match snapshot {
            None => self.close(uri),
            Some(snapshot) => {
                if !self.held.contains_key(uri) {
                    self.returned.insert(uri.clone());
                }
                self.borrow(snapshot);
            }
        }
        true
    }

    pub(super) fn open(&mut self, snapshot: &Snapshot, borrowed: bool) {
        self.all = None;
        let language = language(snapshot).to_owned();
        let version = self.shown.first_version(&snapshot.uri);
        self.client.notify(
            "textDocument/didOpen",
            Some(json!({"textDocument": OpenDocument {
                uri: snapshot.uri.as_str(), language_id: &language, version, text: &snapshot.text,
            }})),
        );
        if borrowed {
            self.borrowed.push_back(snapshot.uri.clone());
        } else if snapshot.is_unsaved() {
            self.is_other(&snapshot.uri);
        }
        let held = Held {
            snapshot: snapshot.clone(),
            version,
            language,
            saved: snapshot.text.clone(),
            earlier: VecDeque::new(),
            borrowed,
        };
        self.held.insert(snapshot.uri.clone(), held);
    }

    pub fn close(&mut self, uri: &DocumentUri) {
        if let Some(held) = self.held.remove(uri) {
            self.all = None;
            self.others.remove(uri);
            if held.snapshot.text != held.saved {
                self.is_other(uri);
            }
            // Its text is the disk's again.
            match held.borrowed {
                true => self.changed.remove(uri),
                false => self.changed.insert(uri.clone(), Instant::now()),
            };
            self.client.notify(
                "textDocument/didClose",
                Some(json!({"textDocument": {"uri": held.snapshot.uri.as_str()}})),
            );
            self.borrowed.retain(|borrowed| borrowed != uri);
        }
    }

    pub(super) fn say(&mut self, uri: &DocumentUri, now: Snapshot, said: Vec<Say>) {
        if !self.held.contains_key(uri) {
            return;
        }
        if said.iter().any(|say| matches!(say, Say::Changed(_))) {
            self.is_other(uri);
        }
        if matches!(said.last(), Some(Say::Saved)) && self.manner.save.is_some() {
            self.has_looked();
        }
        let Some(held) = self.held.get_mut(uri) else {
            return;
        };
        self.all = None;
        // Where a save lies between two changes, the text at that moment is played, not known.
        let mut text = held.snapshot.text.clone();
        let last = said.iter().rposition(|say| matches!(say, Say::Changed(_)));
        if last.is_some() {
            self.changed.insert(uri.clone(), Instant::now());
        }
        for (at, say) in said.into_iter().enumerate() {
            match say {
                Say::Changed(replacements) => {
                    let after = if last == Some(at) {
                        Some(&now.text)
                    } else {
                        None
                    };
                    let (manner, name) = (self.manner, held.snapshot.uri.as_str());
                    held.version += 1;
                    let (changes, played) = content_changes(&text, &replacements, after, manner);
                    text = played;
                    if manner.kind != SyncKind::None {
                        self.client.notify(
                            "textDocument/didChange",
                            Some(DidChange {
                                text_document: Versioned {
                                    uri: name,
                                    version: held.version,
                                },
                                content_changes: &changes,
                            }),
                        );
                    }
                }
                Say::Saved => {
                    held.saved = text.clone();
                    self.saves += 1;
                    if let Some(with_text) = self.manner.save {
                        let mut params =
                            json!({"textDocument": {"uri": held.snapshot.uri.as_str()}});
                        if with_text {
                            params["text"] = text.to_string().into();
                        }
                        self.client.notify("textDocument/didSave", Some(params));
                    }
                }
            }
        }
        if last.is_some() {
            let before = std::mem::replace(&mut held.snapshot, now);
            held.earlier.push_back((held.version - 1, before));
            if held.earlier.len() > MOST_EARLIER {
                held.earlier.pop_front();
            }
        } else {
            held.snapshot = now;
        }
    }
}

impl Held {
    /// The text that the server knew under this version, if it is still known.
    pub fn at(&self, version: i32) -> Option<&Snapshot> {
        if version == self.version {
            return Some(&self.snapshot);
        }
        self.earlier
            .iter()
            .find(|(earlier, _)| *earlier == version)
            .map(|(_, snapshot)| snapshot)
    }
}

pub(super) fn by_texts(old: &Text, new: &Text, saved: bool) -> Vec<Say> {
    let mut said = Vec::new();
    if old != new {
        said.push(Say::Changed(vec![difference(old, new)]));
    }
    if saved {
        said.push(Say::Saved);
    }
    said
}

/// The changes as a server takes them, and the text after them (`after`, if that is known).
fn content_changes(
    text: &Text,
    replacements: &[Replacement],
    after: Option<&Text>,
    manner: Manner,
) -> (Vec<ContentChange>, Text) {
    let mut text = text.clone();
    let mut changes = Vec::with_capacity(replacements.len());
    for (at, replacement) in replacements.iter().enumerate() {
        if manner.kind == SyncKind::Incremental {
            let range = text.range(replacement.range, manner.encoding);
            changes.push(ContentChange {
                range: Some(range.into()),
                text: replacement.text.clone(),
            });
        }
        match after {
            Some(after) if at + 1 == replacements.len() => text = after.clone(),
            _ => text.replace(replacement.range, &replacement.text),
        }
    }
    if manner.kind == SyncKind::Full {
        changes.push(ContentChange {
            range: None,
            text: text.to_string(),
        });
    }
    (changes, text)
}

/// The LSP language id of a document.
pub(crate) fn language(snapshot: &Snapshot) -> &str {
    let by_path = || snapshot.uri.path().and_then(catalogue::language_of);
    match &snapshot.language {
        Some(language) if !language.is_empty() => language,
        _ => by_path().unwrap_or("plaintext"),
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OpenDocument<'a> {
    uri: &'a str,
    language_id: &'a str,
    version: i32,
    #[serde(serialize_with = "whole")]
    text: &'a Text,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde's signature
fn whole<S: Serializer>(text: &&Text, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(text)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DidChange<'a> {
    text_document: Versioned<'a>,
    content_changes: &'a [ContentChange],
}

#[derive(Serialize)]
struct Versioned<'a> {
    uri: &'a str,
    version: i32,
}

#[derive(Serialize)]
struct ContentChange {
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<crate::wire::Range>,
    text: String,
}
