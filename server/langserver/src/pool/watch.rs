//! Watches the disk for the servers that asked to hear of files: what commands, git and other programs change there.
//! All of it happens on one thread of its own, which begins when the first server asks and ends with the pool. Events
//! only say where to look: what changed is found by comparing what is there with what was. It never reads a file.

mod eye;
mod tree;

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicU64, Ordering},
        mpsc::{self, Sender},
    },
    time::Duration,
};

use tokio::sync::oneshot;

use self::{eye::Eye, tree::Stamp};
use super::Pool;
use crate::server::Server;

/// A question waits no longer than this for changes on disk to be told.
const A_MOMENT: Duration = Duration::from_millis(50);

/// What the thread hears.
enum Message {
    /// Something happened to these; whether what was there may have gone (and be another by now).
    Seen(Vec<PathBuf>, Gone),
    /// Events were lost.
    Lost,
    /// Servers, what they want to hear of, or the workspace's folders are others.
    Anew,
    /// The servers have been told of this file as it is.
    Told(PathBuf, Option<Stamp>),
    /// Somebody is about to ask the servers: what is known is to be told now.
    Now(oneshot::Sender<()>),
    End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Gone {
    No,
    Maybe,
}

impl Message {
    /// Whether servers may have to be told of something after it.
    const fn is_news(&self) -> bool {
        match self {
            Self::Seen(..) | Self::Lost | Self::Anew => true,
            Self::Told(..) | Self::Now(_) | Self::End => false,
        }
    }
}

/// The way to the thread. Counts what is on it, so that nobody waits for a thread that has nothing to tell.
#[derive(Clone)]
struct Way {
    sender: Sender<Message>,
    news: Arc<News>,
}

/// How many messages with news there were.
#[derive(Debug, Default)]
struct News {
    sent: AtomicU64,
    /// Of how many the servers have been told all that they had to be.
    told: AtomicU64,
}

impl Way {
    /// Whether it was taken: the thread may have ended.
    fn send(&self, message: Message) -> bool {
        // Before it can be taken: what was taken is never more than what was sent.
        if message.is_news() {
            self.news.sent.fetch_add(1, Ordering::SeqCst);
        }
        self.sender.send(message).is_ok()
    }
}

impl News {
    fn is_told(&self) -> bool {
        self.told.load(Ordering::SeqCst) == self.sent.load(Ordering::SeqCst)
    }
}

/// The handle on the thread.
#[derive(Default)]
pub(super) struct Watch(OnceLock<Option<Way>>);

impl Watch {
    /// What is to be watched may be other than it was.
    pub fn anew(&self, pool: &Weak<Pool>) {
        let thread = self.0.get_or_init(|| {
            let (sender, messages) = mpsc::channel();
            let news = Arc::default();
            let way = Way { sender, news };
            let (pool, ours) = (pool.clone(), way.clone());
            let begun = std::thread::Builder::new()
                .name("watch".into())
                .spawn(move || Eye::new(pool, ours).look(&messages));
            begun
                .inspect_err(|error| tracing::warn!(%error, "the disk is not watched"))
                .ok()
                .map(|_| way)
        });
        if let Some(thread) = thread {
            thread.send(Message::Anew);
        }
    }

    /// The servers have been told of a file as it is now: its own event is no news.
    pub fn told(&self, path: &Path) {
        if let Some(Some(thread)) = self.0.get() {
            thread.send(Message::Told(path.to_owned(), Stamp::of(path)));
        }
    }

    /// Tells the servers now what has been seen so far, however little time has passed since: after a command has ended they
    /// are asked at once. Waits for a moment at most.
    pub async fn caught_up(&self) {
        if let Some(Some(thread)) = self.0.get()
            && !thread.news.is_told()
        {
            let (told, waiting) = oneshot::channel();
            if thread.send(Message::Now(told)) {
                let _ = tokio::time::timeout(A_MOMENT, waiting).await;
            }
        }
    }

    /// Whether anything is watched.
    pub fn is_on(&self) -> bool {
        matches!(self.0.get(), Some(Some(_)))
    }

    pub fn end(&self) {
        if let Some(Some(thread)) = self.0.get() {
            thread.send(Message::End);
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.end();
    }
}

/// Watches what a server asks for, until it ends.
pub(super) async fn follow(server: &Arc<Server>, pool: Weak<Pool>) {
    let mut patterns = server.watching();
    let mut asked = false;
    loop {
        asked |= !patterns.borrow_and_update().is_empty();
        let Some(pool) = pool.upgrade().filter(|pool| !pool.is_closed()) else {
            return;
        };
        if asked {
            pool.watch.anew(&pool.me);
        }
        drop(pool);
        tokio::select! {
            changed = patterns.changed() => if changed.is_err() { return },
            () = server.dead() => break,
        }
    }
    if let Some(pool) = pool.upgrade().filter(|pool| asked && !pool.is_closed()) {
        pool.watch.anew(&pool.me);
    }
}

/// A path with symlinks resolved, as far as it exists.
pub(super) fn real(path: &Path) -> PathBuf {
    for above in path.ancestors() {
        if let (Ok(real), Ok(rest)) = (above.canonicalize(), path.strip_prefix(above)) {
            return if rest.as_os_str().is_empty() {
                real
            } else {
                real.join(rest)
            };
        }
    }
    path.to_owned()
}
