//! What servers may cost: one that nobody asks is ended after a while, and there are never more of them, nor more memory
//! in their processes, than is allowed. One that is being asked is left alone, whatever it costs.

use std::{
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use tokio::{
    sync::{Notify, OwnedSemaphorePermit, Semaphore},
    time::Instant,
};

use super::{Pool, slot::Slot};
use crate::{
    answer::QueryError,
    process,
    server::{Place, Server},
};

/// How often memory is looked at while a server runs.
const LOOK: Duration = Duration::from_secs(5);

/// What servers may cost.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// A server that nobody has asked for this long is ended; `None`: never.
    pub idle: Option<Duration>,
    /// How many bytes the processes of all servers may hold; `None`: any.
    pub memory: Option<u64>,
    /// A server that was asked within this time is not ended for its memory: whoever asked is likely to ask again.
    pub recently: Duration,
    /// How many servers may run at once.
    pub processes: usize,
}

/// Where running servers are counted.
#[derive(Debug)]
pub(super) struct Room {
    places: Arc<Semaphore>,
    /// Rung when a server has come to rest or has ended.
    freed: Arc<Notify>,
    /// Whoever makes room does so alone: two would end two servers for one place.
    door: tokio::sync::Mutex<()>,
    is_cared_for: Mutex<bool>,
}

impl Room {
    pub fn new(processes: usize) -> Self {
        let places = processes.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            places: Arc::new(Semaphore::new(places)),
            freed: Arc::default(),
            door: tokio::sync::Mutex::default(),
            is_cared_for: Mutex::default(),
        }
    }

    fn place(&self) -> Option<Place> {
        let permit: OwnedSemaphorePermit = self.places.clone().try_acquire_owned().ok()?;
        Some(Place::new(permit, self.freed.clone()))
    }

    /// A server may have come to rest.
    pub fn ring(&self) {
        self.freed.notify_one();
    }
}

/// A place for one more server, for which another one may have to end. Waits while all of them are being asked. The pool
/// is held only in between: it may go away while we wait.
pub(super) async fn place(
    pool: &Weak<Pool>,
    name: &str,
    patience: Duration,
) -> Result<Place, QueryError> {
    let room = match pool.upgrade() {
        Some(pool) => pool.room.clone(),
        None => return Err(QueryError::Cancelled),
    };
    let made = async {
        let _door = room.door.lock().await;
        loop {
            if let Some(place) = room.place() {
                return Ok(place);
            }
            let rested = pool
                .upgrade()
                .ok_or(QueryError::Cancelled)?
                .rest_least_recent(Duration::ZERO);
            match rested {
                Some(server) => {
                    tracing::info!(?server, "ended to make room for {name}");
                    // On its own: this wait may be called off, the end of the server may not.
                    let ending = tokio::spawn(async move {
                        server.shutdown().await;
                        server.dead().await;
                    });
                    let _ = ending.await;
                }
                None => room.freed.notified().await,
            }
        }
    };
    tokio::time::timeout(patience, made)
        .await
        .unwrap_or_else(|_| {
            Err(QueryError::Failed {
                name: name.to_owned(),
                message: "as many language servers as may run are being asked (max_processes)"
                    .into(),
            })
        })
}

impl Pool {
    /// Sees to it that someone looks after the servers from now on.
    pub(super) fn cared_for(&self) {
        self.room.ring();
        let mut is_cared_for = self.is_cared_for();
        if !std::mem::replace(&mut *is_cared_for, true) {
            tokio::spawn(care(self.me.clone()));
        }
    }

    fn is_cared_for(&self) -> std::sync::MutexGuard<'_, bool> {
        self.room
            .is_cared_for
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// When to look again; `None`: nothing runs.
    fn next_look(&self) -> Option<Instant> {
        let mut is_cared_for = self.is_cared_for();
        let running = self.running();
        if running.is_empty() || self.is_closed() {
            *is_cared_for = false;
            return None;
        }
        let now = Instant::now();
        let idle = self.bounds.idle.and_then(|idle| {
            let since = |server: &Arc<Server>| server.idle_since().unwrap_or(now);
            running.iter().map(|(_, server)| since(server) + idle).min()
        });
        let memory = self.bounds.memory.map(|_| now + LOOK);
        // Nothing to look for: the next start asks again.
        let next = idle.into_iter().chain(memory).min();
        if next.is_none() {
            *is_cared_for = false;
        }
        next
    }

    fn running(&self) -> Vec<(Arc<Slot>, Arc<Server>)> {
        self.slots()
            .iter()
            .filter_map(|slot| Some((slot.clone(), slot.running()?)))
            .collect()
    }

    /// Ends those that nobody has asked for long.
    fn rest_the_idle(&self) {
        let Some(idle) = self.bounds.idle else { return };
        for (slot, server) in self.running() {
            if slot.rest(&server, idle) {
                tracing::info!(?server, "ended: nobody has asked it for a while");
                tokio::spawn(async move { server.shutdown().await });
            }
        }
    }

    /// Takes the least recently asked of those that nobody has asked for `at_least` out of its slot; it is to be ended.
    fn rest_least_recent(&self, at_least: Duration) -> Option<Arc<Server>> {
        let mut resting: Vec<_> = self
            .running()
            .into_iter()
            .filter_map(|(slot, server)| Some((server.idle_since()?, slot, server)))
            .collect();
        resting.sort_by_key(|(since, ..)| *since);
        resting
            .into_iter()
            .find(|(_, slot, server)| slot.rest(server, at_least))
            .map(|(.., server)| server)
    }

    /// Ends the least recently asked until the others hold no more than they may.
    async fn keep_within_memory(&self) {
        let Some(most) = self.bounds.memory else {
            return;
        };
        let servers: Vec<_> = self
            .running()
            .into_iter()
            .map(|(_, server)| server)
            .collect();
        let measured = tokio::task::spawn_blocking(move || {
            let trees: Vec<_> = servers.iter().map(|server| server.tree()).collect();
            let held = process::memory(&trees);
            servers.into_iter().zip(held).collect::<Vec<_>>()
        })
        .await
        .unwrap_or_default();
        let mut held: u64 = measured.iter().map(|(_, bytes)| bytes).sum();
        while held > most {
            let Some(server) = self.rest_least_recent(self.bounds.recently) else {
                tracing::debug!(held, most, "over the cap, and all are being asked");
                return;
            };
            let its = measured
                .iter()
                .find(|(one, _)| Arc::ptr_eq(one, &server))
                .map_or(0, |(_, bytes)| *bytes);
            tracing::info!(?server, held, most, its, "ended for its memory");
            held -= its.min(held);
            server.shutdown().await;
        }
    }
}

/// Looks after the servers for as long as there are any.
async fn care(pool: Weak<Pool>) {
    loop {
        let next = match pool.upgrade() {
            Some(pool) => pool.next_look(),
            None => return,
        };
        let Some(next) = next else { return };
        tokio::time::sleep_until(next).await;
        let Some(pool) = pool.upgrade() else { return };
        pool.rest_the_idle();
        pool.keep_within_memory().await;
    }
}
