//! Who uses a server right now, and since when nobody does: it is ended only while nobody does. And its place among those
//! that may run at once. Both only count.

use std::{
    ops::Deref,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::{
    sync::{Notify, OwnedSemaphorePermit},
    time::Instant,
};

use super::Server;

/// A place among the servers that may run at once. Free again when this is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    permit: Option<OwnedSemaphorePermit>,
    freed: Arc<Notify>,
}

impl Place {
    pub fn new(permit: OwnedSemaphorePermit, freed: Arc<Notify>) -> Self {
        Self {
            permit: Some(permit),
            freed,
        }
    }

    /// What to ring when someone may take a place from a server that nobody uses.
    pub fn bell(&self) -> Arc<Notify> {
        self.freed.clone()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // The place first: whoever hears the bell looks for it.
        drop(self.permit.take());
        self.freed.notify_one();
    }
}

/// How many use a server, and since when nobody does.
#[derive(Debug)]
pub(super) struct Usage {
    count: Mutex<(usize, Instant)>,
    freed: Arc<Notify>,
}

impl Usage {
    pub fn new(freed: Arc<Notify>) -> Self {
        Self {
            count: Mutex::new((0, Instant::now())),
            freed,
        }
    }

    fn with<T>(&self, look: impl FnOnce(&mut (usize, Instant)) -> T) -> T {
        look(&mut self.count.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A server in use.
#[derive(Debug)]
pub(crate) struct Used(Arc<Server>);

impl Deref for Used {
    type Target = Arc<Server>;

    fn deref(&self) -> &Arc<Server> {
        &self.0
    }
}

impl Clone for Used {
    fn clone(&self) -> Self {
        self.0.used()
    }
}

impl Drop for Used {
    fn drop(&mut self) {
        self.0.usage.with(|(count, since)| {
            *count -= 1;
            *since = Instant::now();
        });
        self.0.usage.freed.notify_one();
    }
}

impl Server {
    /// Somebody asks it: it is neither idle nor in the way for as long as the value lives. To be called by whoever asks on
    /// behalf of a person or a model, not by what keeps us informed in the background.
    pub fn used(self: &Arc<Self>) -> Used {
        self.usage.with(|(count, _)| *count += 1);
        Used(self.clone())
    }

    /// Since when nobody uses it; `None`: somebody does.
    pub fn idle_since(&self) -> Option<Instant> {
        self.usage
            .with(|(count, since)| (*count == 0).then_some(*since))
    }
}
