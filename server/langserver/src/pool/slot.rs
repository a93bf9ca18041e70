//! One server's place in the pool: at most one process at a time, started in the background, started anew after it
//! died, but not over and over.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{sync::watch as states, task::AbortHandle, time::Instant};
use tokio_util::sync::CancellationToken;
use workspace::Snapshot;

use super::{Limits, Pool, care, watch};
use crate::{
    answer::{QueryError, ServerState, ServerStatus},
    client::{Patience, RequestError},
    config::ServerConfig,
    server::{Launch, Server, Used},
};

/// A failure is forgotten after this long.
const MEMORY: Duration = Duration::from_secs(300);
/// A server that has lived this long was well: that it failed before is forgotten.
const WELL: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(super) struct Slot {
    name: String,
    config: ServerConfig,
    root: PathBuf,
    state: states::Sender<State>,
    failures: Mutex<Vec<Instant>>,
    starting: Mutex<Option<AbortHandle>>,
    starts: AtomicU64,
    /// When the server that starts was asked to introduce itself.
    introducing: Mutex<Option<Instant>>,
    /// How many wait for it.
    waiting: AtomicUsize,
    /// Whether it was started for a file of the workspace.
    is_inside: bool,
}

#[derive(Debug, Clone)]
enum State {
    Idle,
    /// The number tells this start from an earlier one that was called off.
    Starting(u64),
    Running(Arc<Server>),
    Failed(QueryError),
}

/// How long to wait before a start after this many failures.
fn pause_after(failures: usize) -> Duration {
    match failures {
        // A server may be killed once, and once more: the one who asks should not pay for it.
        0..=2 => Duration::ZERO,
        many => Duration::from_secs(1 << (many - 2).min(6)),
    }
}

impl Slot {
    pub fn new(name: &str, config: ServerConfig, root: PathBuf, is_inside: bool) -> Self {
        Self {
            name: name.to_owned(),
            config,
            root,
            state: states::Sender::new(State::Idle),
            failures: Mutex::default(),
            starting: Mutex::default(),
            starts: AtomicU64::new(0),
            introducing: Mutex::default(),
            waiting: AtomicUsize::new(0),
            is_inside,
        }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn is_inside(&self) -> bool {
        self.is_inside
    }

    pub fn running(&self) -> Option<Arc<Server>> {
        match &*self.state.borrow() {
            State::Running(server) => Some(server.clone()),
            _ => None,
        }
    }

    /// Whether it was found out not long ago that there is no server behind its command.
    pub fn is_not_installed(&self) -> bool {
        let is_missing = matches!(
            &*self.state.borrow(),
            State::Failed(QueryError::NotInstalled { .. })
        );
        is_missing
            && self
                .failures()
                .last()
                .is_some_and(|failure| failure.elapsed() < MEMORY)
    }

    /// Takes a server out that nobody has asked for `at_least` and nobody waits for; it is to be ended. Whether it did.
    pub fn rest(&self, server: &Arc<Server>, at_least: Duration) -> bool {
        self.state.send_if_modified(|state| {
            let is_it = matches!(state, State::Running(current) if Arc::ptr_eq(current, server));
            let rests = is_it
                && self.waiting.load(Ordering::SeqCst) == 0
                && server
                    .idle_since()
                    .is_some_and(|since| since.elapsed() >= at_least);
            if rests {
                *state = State::Idle;
            }
            rests
        })
    }

    pub fn status(&self) -> Option<ServerStatus> {
        let mut trouble = None;
        let (state, pid, said) = match &*self.state.borrow() {
            State::Idle => return None,
            State::Starting(_) => (ServerState::Starting, None, String::new()),
            State::Running(server) => {
                trouble = server.trouble().map(|trouble| trouble.said);
                let pid = server.is_alive().then(|| server.pid());
                (server.state(), pid, server.said())
            }
            State::Failed(error) => (ServerState::Failed(error.to_string()), None, String::new()),
        };
        Some(ServerStatus {
            name: self.name.clone(),
            root: self.root.clone(),
            state,
            pid,
            said,
            trouble,
        })
    }

    /// The running server; starts it if need be and waits, `patience` long, until it has introduced itself.
    pub async fn acquire(
        self: &Arc<Self>,
        pool: &Pool,
        patience: &Patience,
    ) -> Result<Used, QueryError> {
        // Before anything is looked at: a server that someone waits for is not put to rest.
        let _waits = Waits::for_it(self);
        self.wake(pool)?;
        let mut states = self.state.subscribe();
        let reached = patience
            .wait(states.wait_for(|state| !matches!(state, State::Starting(_))))
            .await;
        match reached {
            Ok(Ok(state)) => match &*state {
                // While the state is held nobody can put it to rest.
                State::Running(server) => Ok(server.used()),
                State::Failed(error) => Err(error.clone()),
                State::Starting(_) | State::Idle => Err(QueryError::Cancelled),
            },
            Ok(Err(_)) | Err(RequestError::Cancelled) => Err(QueryError::Cancelled),
            Err(_) => Err(self.not_ready()),
        }
    }

    /// Starts the server in the background unless it runs or starts already.
    fn wake(self: &Arc<Self>, pool: &Pool) -> Result<(), QueryError> {
        if pool.is_closed() {
            return Err(QueryError::Cancelled);
        }
        self.bury();
        let pause = self.pause();
        let number = self.starts.fetch_add(1, Ordering::Relaxed);
        let mut start = false;
        let mut refused = None;
        self.state.send_if_modified(|state| {
            let down = match state {
                State::Starting(_) | State::Running(_) => return false,
                State::Failed(error) => Some(error.clone()),
                State::Idle => None,
            };
            if let (Some(error), Some(pause)) = (down, pause) {
                refused = Some(later(error.clone(), pause));
                *state = State::Failed(error);
            } else {
                start = true;
                *state = State::Starting(number);
            }
            true
        });
        if let Some(error) = refused {
            return Err(error);
        }
        if start {
            *self.introducing() = None;
            let task = tokio::spawn(start_in(self.clone(), number, pool.me.clone(), pool.limits));
            *self.starting.lock().unwrap_or_else(PoisonError::into_inner) =
                Some(task.abort_handle());
        }
        Ok(())
    }

    /// Books the death of a server that nobody has noticed yet.
    fn bury(&self) {
        let dead = match &*self.state.borrow() {
            State::Running(server) if !server.is_alive() => server.clone(),
            _ => return,
        };
        let is_this =
            |state: &State| matches!(state, State::Running(current) if Arc::ptr_eq(current, &dead));
        self.failed(is_this, dead.died(), dead.age());
    }

    /// How long it must not be started yet, if so.
    fn pause(&self) -> Option<Duration> {
        let mut failures = self.failures();
        let now = Instant::now();
        failures.retain(|failure| now.duration_since(*failure) < MEMORY);
        let last = *failures.last()?;
        (last + pause_after(failures.len()))
            .checked_duration_since(now)
            .filter(|pause| !pause.is_zero())
    }

    /// The error of whoever has not waited for its start in full.
    pub fn not_ready(&self) -> QueryError {
        QueryError::NotReady {
            name: self.name.clone(),
            since: self.introducing().map(|since| since.elapsed()),
        }
    }

    fn introducing(&self) -> MutexGuard<'_, Option<Instant>> {
        (self.introducing.lock()).unwrap_or_else(PoisonError::into_inner)
    }

    fn failures(&self) -> MutexGuard<'_, Vec<Instant>> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Books a failure after a life of that length, if it is that of what the slot now holds.
    fn failed(&self, is_current: impl Fn(&State) -> bool, error: QueryError, lived: Duration) {
        let booked = self.state.send_if_modified(|state| {
            let is_current = is_current(state);
            if is_current {
                *state = State::Failed(error);
            }
            is_current
        });
        if booked {
            book(&mut self.failures(), lived, Instant::now());
        }
    }

    pub fn restart(self: &Arc<Self>, pool: &Pool) {
        self.failures().clear();
        let Some(runtime) = &pool.runtime else {
            return self.kill();
        };
        let (slot, pool) = (self.clone(), pool.me.clone());
        runtime.spawn(async move {
            let ran = !matches!(&*slot.state.borrow(), State::Idle | State::Failed(_));
            slot.shutdown().await;
            if let Some(pool) = pool.upgrade().filter(|_| ran) {
                let _ = slot.wake(&pool);
            }
        });
    }

    pub async fn shutdown(&self) {
        if let Some(server) = self.stop() {
            server.shutdown().await;
        }
    }

    pub fn kill(&self) {
        if let Some(server) = self.stop() {
            server.kill();
        }
    }

    /// Empties the slot; a start under way ends its process itself.
    fn stop(&self) -> Option<Arc<Server>> {
        if let Some(task) = self
            .starting
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
        {
            task.abort();
        }
        match self.state.send_replace(State::Idle) {
            State::Running(server) => Some(server),
            _ => None,
        }
    }
}

fn later(error: QueryError, pause: Duration) -> QueryError {
    match error {
        QueryError::Died { name, detail } => {
            let seconds = pause.as_secs() + 1;
            QueryError::Died {
                name,
                detail: format!(
                    "{detail}\n(it died repeatedly and is started again in {seconds} s at the earliest)"
                ),
            }
        }
        other => other,
    }
}

/// One who waits for a slot's server.
struct Waits<'a>(&'a Slot);

impl<'a> Waits<'a> {
    fn for_it(slot: &'a Slot) -> Self {
        slot.waiting.fetch_add(1, Ordering::SeqCst);
        Self(slot)
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Books a failure after a life of that length.
fn book(failures: &mut Vec<Instant>, lived: Duration, now: Instant) {
    if lived >= WELL {
        failures.clear();
    }
    failures.push(now);
}

/// Starts the slot's server, gives it the buffers, and sees it to its end.
async fn start_in(slot: Arc<Slot>, number: u64, pool: Weak<Pool>, limits: Limits) {
    let is_this = |state: &State| matches!(state, State::Starting(current) if *current == number);
    let place = match care::place(&pool, &slot.name, limits.start).await {
        Ok(place) => place,
        // Nothing is wrong with it: it is started as soon as there is room.
        Err(error) => {
            slot.state.send_if_modified(|state| {
                let is_this = is_this(state);
                if is_this {
                    *state = State::Failed(error);
                }
                is_this
            });
            return;
        }
    };
    let launch = Launch {
        name: &slot.name,
        config: &slot.config,
        root: &slot.root,
        place,
        silence: limits.ready,
        answer: limits.answer,
    };
    *slot.introducing() = Some(Instant::now());
    let patience = Patience::of(limits.start, &CancellationToken::new());
    let server = match Server::start(launch, &patience).await {
        Ok(server) => server,
        Err(error) => return slot.failed(is_this, error, Duration::ZERO),
    };
    {
        let Some(pool) = pool.upgrade().filter(|pool| !pool.is_closed()) else {
            return server.kill();
        };
        pool.adopt(&server);
    }
    let is_wanted = slot.state.send_if_modified(|state| {
        let is_wanted = is_this(state);
        if is_wanted {
            *state = State::Running(server.clone());
        }
        is_wanted
    });
    if !is_wanted {
        server.kill();
    }
    if let Some(pool) = pool.upgrade() {
        pool.cared_for();
    }
    let watched = server.clone();
    tokio::spawn(async move {
        watched.dead().await;
        if let Some(pool) = pool.upgrade() {
            pool.live
                .write()
                .unwrap_or_else(PoisonError::into_inner)
                .retain(|one| !Arc::ptr_eq(one, &watched));
        }
        let is_this = |state: &State| matches!(state, State::Running(current) if Arc::ptr_eq(current, &watched));
        if !watched.was_ended() {
            slot.failed(is_this, watched.died(), watched.age());
        }
    });
}

impl Pool {
    /// From here on the server hears of all that happens to the buffers; what is open already it is told now.
    fn adopt(&self, server: &Arc<Server>) {
        let Some(mirror) = server.mirror() else {
            return;
        };
        self.live
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .push(server.clone());
        let buffers = self.workspace.buffers();
        let theirs = |snapshot: &Snapshot| server.serves(crate::mirror::language(snapshot));
        for snapshot in buffers.all().into_iter().filter(theirs) {
            mirror.opened(&snapshot);
            // It may have been closed since it was listed, which the server was told before.
            if buffers.get(&snapshot.uri).is_none() {
                mirror.closed(&snapshot.uri);
            }
        }
        mirror.told(None, |_| ());
        server.refresh();
        let (server, pool) = (server.clone(), self.me.clone());
        tokio::spawn(async move { watch::follow(&server, pool).await });
    }
}

/// Starts the server of a document that was opened.
pub(super) async fn warm(pool: Weak<Pool>, snapshot: Snapshot) {
    let Some(pool) = pool.upgrade() else { return };
    let woken = pool.slot(&snapshot).and_then(|slot| slot.wake(&pool));
    if let Err(error) = woken {
        tracing::debug!(uri = %snapshot.uri, %error, "no server at open");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_not_started_over_and_over() {
        let seconds = [0, 1, 2, 3, 4, 5, 8, 50].map(|failures| pause_after(failures).as_secs());
        assert_eq!(seconds, [0, 0, 0, 2, 4, 8, 64, 64]);
    }

    #[test]
    fn one_that_was_well_for_long_is_started_at_once() {
        let now = Instant::now();
        let after = |lives: &[u64]| {
            let mut failures = Vec::new();
            for seconds in lives {
                book(&mut failures, Duration::from_secs(*seconds), now);
            }
            pause_after(failures.len()).as_secs()
        };
        assert_eq!(after(&[1, 1, 1, 1]), 4);
        assert_eq!(after(&[1, 1, 1, 1, 60]), 0);
        assert_eq!(after(&[100, 100, 100, 100]), 0);
        assert_eq!(after(&[100, 1, 1]), 2);
    }
}
