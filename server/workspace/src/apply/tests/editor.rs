//! A scripted editor: it has a text of its own, and tells the buffers of it when its script says so.

use std::{
    collections::VecDeque,
    future::Future,
    path::PathBuf,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use crate::{
    Applied, ApplyError, Buffers, ByteRange, ContentChange, DocumentUri, Edit, Encoding, Host,
    HostError, Hunk, Range, Replacement, Reply, Snapshot, Text, Workspace,
};

pub(super) type Answer = Result<Reply, HostError>;

/// What the editor does with one edit.
type Way =
    Box<dyn FnOnce(Arc<Editor>, Edit) -> Pin<Box<dyn Future<Output = Answer> + Send>> + Send>;

pub(super) struct Editor {
    pub(super) uri: DocumentUri,
    pub(super) buffers: Arc<Buffers>,
    state: Mutex<State>,
    ways: Mutex<VecDeque<Way>>,
    busy: AtomicUsize,
    /// How many edits were sent.
    pub(super) asked: AtomicUsize,
}

struct State {
    text: Text,
    version: i32,
}

impl Editor {
    /// An editor with this text open.
    pub(super) fn with(text: &str) -> Arc<Self> {
        let editor = Self::without(DocumentUri::parse("file:///nowhere/a.rs").expect("a URI"));
        editor.open(text);
        editor
    }

    /// An editor that has nothing open.
    pub(super) fn without(uri: DocumentUri) -> Arc<Self> {
        Arc::new(Self {
            uri,
            buffers: Buffers::new(),
            state: Mutex::new(State {
                text: Text::default(),
                version: 1,
            }),
            ways: Mutex::default(),
            busy: AtomicUsize::new(0),
            asked: AtomicUsize::new(0),
        })
    }

    /// The next edit is met in this way.
    pub(super) fn will<F>(
        self: &Arc<Self>,
        way: impl FnOnce(Arc<Self>, Edit) -> F + Send + 'static,
    ) -> &Arc<Self>
    where
        F: Future<Output = Answer> + Send + 'static,
    {
        self.ways
            .lock()
            .expect("ways")
            .push_back(Box::new(|editor, edit| Box::pin(way(editor, edit))));
        self
    }

    pub(super) fn workspace(self: &Arc<Self>) -> Arc<Workspace> {
        Workspace::new(
            Vec::<PathBuf>::new(),
            self.buffers.clone(),
            Arc::new(Door(self.clone())),
        )
    }

    pub(super) fn open(&self, text: &str) {
        self.state.lock().expect("state").text = Text::new(text);
        self.buffers.open(self.uri.clone(), "rust", 1, text);
    }

    /// What stands on the screen.
    pub(super) fn text(&self) -> String {
        self.state.lock().expect("state").text.to_string()
    }

    /// The user types: `old` becomes `new`, and the server is not told yet.
    pub(super) fn types(&self, old: &str, new: &str) {
        let at = self.text().find(old).expect("the text that is typed over");
        self.types_at(at, old.len(), new);
    }

    /// The same at a place, over so many bytes.
    pub(super) fn types_at(&self, at: usize, over: usize, new: &str) {
        let mut state = self.state.lock().expect("state");
        state.text.replace(ByteRange::new(at, at + over), new);
        state.version += 1;
    }

    /// Tells the server of the text by one change of what differs, however it came about.
    pub(super) fn tells(&self) {
        let mut state = self.state.lock().expect("state");
        let known = self.buffers.get(&self.uri).expect("open").text;
        let (old, new) = (known.to_string(), state.text.to_string());
        let prefix = old
            .bytes()
            .zip(new.bytes())
            .take_while(|(a, b)| a == b)
            .count();
        let rest = old.len().min(new.len()) - prefix;
        let suffix = old
            .bytes()
            .rev()
            .zip(new.bytes().rev())
            .take(rest)
            .take_while(|(a, b)| a == b)
            .count();
        let range = known.range(ByteRange::new(prefix, old.len() - suffix), Encoding::Utf16);
        let text = new[prefix..new.len() - suffix].to_owned();
        self.send(
            &mut state,
            ContentChange {
                range: Some(range),
                text,
            },
        );
    }

    /// Tells the server of the text by the whole of it.
    pub(super) fn tells_all(&self) {
        let mut state = self.state.lock().expect("state");
        let text = state.text.to_string();
        self.send(&mut state, ContentChange { range: None, text });
    }

    fn send(&self, state: &mut State, change: ContentChange) {
        state.version += 1;
        self.buffers
            .change(&self.uri, state.version, &[change], Encoding::Utf16)
            .expect("in step");
    }

    /// Whether the edit is for the text that stands on the screen.
    pub(super) fn is_current(&self, edit: &Edit) -> bool {
        self.state.lock().expect("state").text == edit.snapshot().text
    }

    /// Puts an edit in by its lines and columns, whatever stands there.
    pub(super) fn puts_in(&self, edit: &Edit) {
        let mut state = self.state.lock().expect("state");
        let ranges: Vec<Range> = edit
            .replacements()
            .iter()
            .map(|replacement| {
                edit.snapshot()
                    .text
                    .range(replacement.range, Encoding::Utf16)
            })
            .collect();
        for (replacement, range) in edit.replacements().iter().zip(ranges).rev() {
            let range = state.text.byte_range(range, Encoding::Utf16);
            state.text.replace(range, &replacement.text);
        }
        state.version += 1;
    }

    /// The edit in which `old` becomes `new`, against what the server knows.
    pub(super) fn edit(&self, old: &str, new: &str) -> Edit {
        edit_of(self.buffers.get(&self.uri).expect("open"), old, new)
    }

    pub(super) async fn applies(self: &Arc<Self>, edit: Edit) -> Result<Applied, ApplyError> {
        self.workspace()
            .apply(edit, "test", &CancellationToken::new())
            .await
    }
}

pub(super) fn edit_of(snapshot: Snapshot, old: &str, new: &str) -> Edit {
    let at = snapshot
        .text
        .to_string()
        .find(old)
        .expect("the text that is replaced");
    let range = ByteRange::new(at, at + old.len());
    Edit::new(
        snapshot,
        vec![Replacement {
            range,
            text: new.to_owned(),
        }],
    )
    .expect("an edit")
}

pub(super) async fn wait(millis: u64) {
    tokio::time::sleep(Duration::from_millis(millis)).await;
}

#[allow(clippy::unnecessary_wraps)] // It is what the script of an editor ends with.
pub(super) fn refused(reason: &str) -> Answer {
    Ok(Reply::Refused {
        reason: Some(reason.to_owned()),
    })
}

struct Door(Arc<Editor>);

#[async_trait]
impl Host for Door {
    async fn apply(&self, edit: &Edit, label: &str) -> Answer {
        let Self(editor) = self;
        assert_eq!(label, "test");
        assert_eq!(
            editor.busy.fetch_add(1, Ordering::SeqCst),
            0,
            "one edit is under way in a document"
        );
        editor.asked.fetch_add(1, Ordering::SeqCst);
        let way = editor.ways.lock().expect("ways").pop_front();
        let way = way.expect("an edit that the script knows of");
        let answer = way(editor.clone(), edit.clone()).await;
        editor.busy.fetch_sub(1, Ordering::SeqCst);
        answer
    }
}

pub(super) const TEXT: &str = "one\ntwo\nthree\n";

/// The edit of most tests: `two` becomes `TWO!`.
pub(super) fn edit(editor: &Editor) -> Edit {
    editor.edit("two", "TWO!")
}

/// The hunk that it makes, at this place.
pub(super) fn hunk(start: usize) -> Vec<Hunk> {
    vec![Hunk {
        range: ByteRange::new(start, start + 4),
        removed: "two".to_owned(),
        added: "TWO!".to_owned(),
    }]
}

/// Applied, and the buffer, the screen and the booked text are this one.
pub(super) fn check(editor: &Editor, applied: &Result<Applied, ApplyError>, text: &str, at: usize) {
    let applied = applied.as_ref().expect("applied");
    assert_eq!(applied.after.text, text);
    assert_eq!(editor.buffers.get(&editor.uri).expect("open").text, text);
    assert_eq!(editor.text(), text);
    assert_eq!(applied.hunks, hunk(at));
    assert!(applied.before.revision < applied.after.revision);
}
