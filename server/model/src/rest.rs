//! What is left of an answer behind its end. Only a connection that was read to its end is used again, and a new one to a provider
//! far away costs more than a short wait: so the rest is read while calls are carried out, and the next request waits for it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use reqwest::Response;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// How long the rest of a complete answer may take.
const LONGEST: Duration = Duration::from_secs(1);
/// So long the next request waits for it: about as long as making another connection may take.
const WAIT: Duration = Duration::from_millis(300);

/// So long it takes a connection whose answer was read to its end to be there again: tasks of its own see to that, and nobody is
/// told.
const RETURN: Duration = Duration::from_millis(5);

/// The rest of the last answer of one endpoint.
#[derive(Debug, Default, Clone)]
pub(crate) struct Rest(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    reading: Option<JoinHandle<()>>,
    /// It was waited for in vain: this server does not end its answers, and is not waited for again.
    is_slow: bool,
}

impl Rest {
    /// Reads it, in the background.
    pub(crate) fn read(&self, mut response: Response) {
        let rest = async move {
            while let Ok(Some(_)) = response.chunk().await {}
            tokio::time::sleep(RETURN).await;
        };
        let reading = tokio::spawn(async move { drop(timeout(LONGEST, rest).await) });
        self.state().reading = Some(reading);
    }

    /// Resolves when it was read, or is not worth waiting for.
    pub(crate) async fn over(&self) {
        let reading = {
            let mut state = self.state();
            let is_slow = state.is_slow;
            state.reading.take().filter(|_| !is_slow)
        };
        let Some(reading) = reading else { return };
        if timeout(WAIT, reading).await.is_err() {
            self.state().is_slow = true;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
