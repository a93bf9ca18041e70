//! Time that passes only when a test says so, though its servers are real: a wait of minutes is over at once, and one that is a second
//! too short is seen.

use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

/// The clock of the present runtime, stopped for as long as this lives.
pub struct Clock {
    _held: Sender<()>,
}

impl Clock {
    pub fn stopped() -> Self {
        let (held, until) = channel::<()>();
        // While something blocks, a stopped clock does not jump to the next timer whenever a socket has to be waited for.
        tokio::task::spawn_blocking(move || {
            let _ = until.recv();
        });
        tokio::time::pause();
        Self { _held: held }
    }

    pub async fn pass(&self, time: Duration) {
        tokio::time::advance(time).await;
    }
}

impl Drop for Clock {
    fn drop(&mut self) {
        tokio::time::resume();
    }
}
