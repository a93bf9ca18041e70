//! The questions: how each is put to a server and what becomes of its answer. Positions are bytes here and columns
//! there; nothing found, found elsewhere and not supported stay three different things.

mod actions;
mod change;
mod format;
mod hierarchy;
mod inseparable;
mod places;
mod rename;
mod renamed;
mod settled;
mod symbols;
mod texts;

pub(crate) use self::hierarchy::Way;
pub use self::places::Places;

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::time::Instant;
use workspace::{ByteOffset, ByteRange, Snapshot, Workspace};

use crate::{
    answer::{Answer, Caution, QueryError},
    client::{Patience, RequestError},
    mirror::{self, difference},
    server::{About, Asked, Source, Turn, carried},
    wire,
};

/// One question about a document.
#[derive(Clone)]
pub(crate) struct Question {
    pub server: Source,
    pub document: Snapshot,
    /// The text that the question's places are places of: the document as it was when it was looked at, which may have gone
    /// on since.
    pub seen: Snapshot,
    pub workspace: Arc<Workspace>,
    /// How long to wait until the server knows everything, before it is asked what it knows.
    pub until_ready: Patience,
    pub answer: Patience,
    /// Of which texts.
    pub turn: Turn,
}

/// What an answer takes into account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// All there is.
    Whole,
    /// What the server knows so far.
    Part,
    /// Of other documents what is on disk, which is not what the editor has.
    Disk,
}

impl Question {
    /// Asks what may concern the whole project, when the server knows all of it or when the time is up.
    async fn ask(
        &self,
        method: &'static str,
        params: impl Fn(&About<'_>) -> Value,
    ) -> Result<(Asked, Reach), QueryError> {
        let (asked, complete) = self.ask_when_ready(method, params).await?;
        Ok((asked, self.reach(complete)))
    }

    async fn ask_when_ready(
        &self,
        method: &'static str,
        params: impl Fn(&About<'_>) -> Value,
    ) -> Result<(Asked, bool), QueryError> {
        let mut ready = self.complete().await?;
        let (Source::Server(server), Turn::Ordinary) = (&self.server, &self.turn) else {
            // A lease is short, and others wait for its end; what the editor says is judged where it is asked.
            let asked = self
                .server
                .ask_whole(&self.turn, method, &self.document, &self.answer, params)
                .await?;
            return Ok((
                asked,
                ready && self.server.has_settled(method, &self.document),
            ));
        };
        let mut last: Option<Asked> = None;
        let mut pause = settled::FIRST_PAUSE;
        let mut overtaken = 0;
        loop {
            let (begun, before) = (Instant::now(), server.beginnings());
            let next = self.ask_alone(method, &params).await?;
            let took = begun.elapsed();
            let is_old = server.introduced_for() > settled::OLD;
            let is_calm = server.beginnings() == before || (is_old && server.is_ready());
            if !ready || overtaken == settled::MOST_OVERTAKEN {
                return Ok((next, ready && is_calm));
            }
            if is_calm {
                let repeats = |last: &Asked| {
                    settled::same(
                        last.answer.get(),
                        next.answer.get(),
                        server.introduced_for(),
                    )
                };
                if server.has_settled() {
                    return Ok((next, true));
                }
                if last.as_ref().is_some_and(repeats) {
                    server.set_settled();
                    return Ok((next, true));
                }
                // It gives no sign: what it says is believed when it says the same again after a while.
                let quiet = tokio::time::sleep(settled::quiet(pause, took));
                match self.until_ready.wait(quiet).await {
                    Ok(()) => {}
                    Err(RequestError::Cancelled) => return Err(QueryError::Cancelled),
                    Err(_) => return Ok((next, false)),
                }
                pause *= 2;
            } else {
                // It began to look at the project meanwhile, so this may be of before.
                overtaken += 1;
            }
            last = is_calm.then_some(next);
            ready = self.complete().await?;
        }
    }

    /// Asks about a place in the document, which may concern the whole project.
    async fn ask_at(
        &self,
        method: &'static str,
        at: ByteOffset,
    ) -> Result<(Asked, Reach), QueryError> {
        self.ask(method, |about| about_position(about, &self.seen, at))
            .await
    }

    /// Asks what the document alone answers: nobody needs to know all of the project for it.
    async fn ask_alone(
        &self,
        method: &'static str,
        params: impl Fn(&About<'_>) -> Value,
    ) -> Result<Asked, QueryError> {
        self.server
            .ask_in(&self.turn, method, &self.document, &self.answer, params)
            .await
    }

    /// Whether the server knows everything, after it has had the time to.
    async fn complete(&self) -> Result<bool, QueryError> {
        self.server.show(&self.document);
        self.server.ready(&self.until_ready).await
    }

    /// How far an answer about several documents reaches.
    fn reach(&self, complete: bool) -> Reach {
        match self.unsaved_beside() {
            Some(_) => Reach::Disk,
            None if complete => Reach::Whole,
            None => Reach::Part,
        }
    }

    /// Another document that is not saved, of which the server knows only what is on disk.
    fn unsaved_beside(&self) -> Option<Snapshot> {
        if !self.server.reads_disk() {
            return None;
        }
        let is_unknown = |one: &Snapshot| {
            one.is_unsaved()
                && one.uri != self.document.uri
                && self.server.serves(mirror::language(one))
        };
        let buffers = self.workspace.buffers().all();
        buffers.into_iter().find(is_unknown)
    }

    /// What keeps the server from knowing all of the project.
    fn caution(&self) -> Option<Caution> {
        let part = self.server.part_only(self.document.uri.path());
        let part = part.map(|words| Caution {
            words: words.to_owned(),
            is_partial: true,
        });
        part.or_else(|| self.trouble())
    }

    /// What the server says that keeps it from knowing even what belongs to the document.
    fn trouble(&self) -> Option<Caution> {
        Some(self.server.trouble()?.of(self.server.name()))
    }

    /// An answer about the project.
    fn answered<T>(&self, value: T, reach: Reach, left_out: usize) -> Answer<T> {
        self.answered_with(self.caution(), value, reach, left_out)
    }

    fn answered_with<T>(
        &self,
        caution: Option<Caution>,
        value: T,
        reach: Reach,
        left_out: usize,
    ) -> Answer<T> {
        let is_partial = caution.as_ref().is_some_and(|one| one.is_partial);
        Answer {
            value,
            complete: reach == Reach::Whole && !is_partial,
            from_disk: reach == Reach::Disk,
            caution,
            server: self.server.name().to_owned(),
            left_out,
            changed: 0,
            outside: 0,
        }
    }

    /// What an answer says, if it is one.
    fn fit<T>(&self, method: &str, read: Result<T, wire::Unfit>) -> Result<T, QueryError> {
        read.map_err(|wire::Unfit| {
            self.failed(format!("its answer to {method} is none that can be read"))
        })
    }

    fn failed(&self, message: String) -> QueryError {
        QueryError::Failed {
            name: self.server.name().to_owned(),
            message,
        }
    }
}

fn about_position(about: &About<'_>, asked: &Snapshot, at: ByteOffset) -> Value {
    let at = moved(about, asked, ByteRange { start: at, end: at }).start;
    json!({
        "textDocument": {"uri": about.snapshot.uri.as_str()},
        "position": wire::position(about.snapshot.text.position(at, about.encoding)),
    })
}

pub(super) fn about_range(about: &About<'_>, asked: &Snapshot, range: ByteRange) -> wire::Range {
    about
        .snapshot
        .text
        .range(moved(about, asked, range), about.encoding)
        .into()
}

/// A range of the text that was asked about, in the text that the server has: the buffer may have gone on meanwhile.
pub(super) fn moved(about: &About<'_>, asked: &Snapshot, range: ByteRange) -> ByteRange {
    if about.snapshot.revision == asked.revision || about.snapshot.text == asked.text {
        return range;
    }
    carried(range, &difference(&asked.text, &about.snapshot.text))
}
