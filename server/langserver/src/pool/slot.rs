//! One server's place in the pool: at most one process at a time, started in the background, started anew after it
//! died, but not over and over.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{sync::watch as states, task::AbortHandle, time::Instant};
use tokio_util::sync::CancellationToken;
use workspace::Snapshot;

use super::{Pool, watch};
use crate::{
    answer::{QueryError, ServerState, ServerStatus},
    client::{Patience, RequestError},
    config::ServerConfig,
    server::Server,
};

/// A failure is forgotten after this long.
const MEMORY: Duration = Duration::from_secs(300);

#[derive(Debug)]
pub(super) struct Slot {
    name: String,
    config: ServerConfig,
    root: PathBuf,
    state: states::Sender<State>,
    failures: Mutex<Vec<Instant>>,
    starting: Mutex<Option<AbortHandle>>,
    starts: AtomicU64,
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
    pub fn new(name: &str, config: ServerConfig, root: PathBuf) -> Self {
        Self {
            name: name.to_owned(),
            config,
            root,
            state: states::Sender::new(State::Idle),
            failures: Mutex::default(),
            starting: Mutex::default(),
            starts: AtomicU64::new(0),
        }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn status(&self) -> Option<ServerStatus> {
        let (state, pid) = match &*self.state.borrow() {
            State::Idle => return None,
            State::Starting(_) => (ServerState::Starting, None),
            State::Running(server) => (server.state(), server.is_alive().then(|| server.pid())),
            State::Failed(error) => (ServerState::Failed(error.to_string()), None),
        };
        Some(ServerStatus {
            name: self.name.clone(),
            root: self.root.clone(),
            state,
            pid,
        })
    }

    /// The running server; starts it if need be and waits, `patience` long, until it has introduced itself.
    pub async fn acquire(
        self: &Arc<Self>,
        pool: &Pool,
        patience: &Patience,
    ) -> Result<Arc<Server>, QueryError> {
        self.wake(pool)?;
        let mut states = self.state.subscribe();
        let reached = patience
            .wait(states.wait_for(|state| !matches!(state, State::Starting(_))))
            .await;
        match reached {
            Ok(Ok(state)) => match &*state {
                State::Running(server) => Ok(server.clone()),
                State::Failed(error) => Err(error.clone()),
                State::Starting(_) | State::Idle => Err(QueryError::Cancelled),
            },
            Ok(Err(_)) | Err(RequestError::Cancelled) => Err(QueryError::Cancelled),
            Err(_) => Err(QueryError::NotReady {
                name: self.name.clone(),
            }),
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
            let task = tokio::spawn(start_in(
                self.clone(),
                number,
                pool.me.clone(),
                pool.limits.start,
            ));
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
        self.failed(is_this, dead.died());
    }

    /// How long it must not be started yet, if so.
    fn pause(&self) -> Option<Duration> {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        failures.retain(|failure| now.duration_since(*failure) < MEMORY);
        let last = *failures.last()?;
        (last + pause_after(failures.len()))
            .checked_duration_since(now)
            .filter(|pause| !pause.is_zero())
    }

    /// Books a failure, if it is that of what the slot now holds.
    fn failed(&self, is_current: impl Fn(&State) -> bool, error: QueryError) {
        let booked = self.state.send_if_modified(|state| {
            let is_current = is_current(state);
            if is_current {
                *state = State::Failed(error);
            }
            is_current
        });
        if booked {
            self.failures
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(Instant::now());
        }
    }

    pub fn restart(self: &Arc<Self>, pool: &Pool) {
        self.failures
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
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

/// Starts the slot's server, gives it the buffers, and sees it to its end.
async fn start_in(slot: Arc<Slot>, number: u64, pool: Weak<Pool>, patience: Duration) {
    let patience = Patience::of(patience, &CancellationToken::new());
    let server = match Server::start(&slot.name, &slot.config, &slot.root, &patience).await {
        Ok(server) => server,
        Err(error) => {
            let is_this =
                |state: &State| matches!(state, State::Starting(current) if *current == number);
            return slot.failed(is_this, error);
        }
    };
    {
        let Some(pool) = pool.upgrade().filter(|pool| !pool.is_closed()) else {
            return server.kill();
        };
        pool.adopt(&server);
    }
    let is_wanted = slot.state.send_if_modified(|state| {
        let is_wanted = matches!(state, State::Starting(current) if *current == number);
        if is_wanted {
            *state = State::Running(server.clone());
        }
        is_wanted
    });
    if !is_wanted {
        server.kill();
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
            slot.failed(is_this, watched.died());
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
}
