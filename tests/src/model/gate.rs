//! A gate that holds a reply until the test opens it.

use std::sync::Arc;

use tokio::sync::watch;

/// Closed until it is opened; then open for good. Clones are the same gate.
#[derive(Clone, Default)]
pub struct Gate(Arc<watch::Sender<State>>);

#[derive(Default)]
struct State {
    open: bool,
    reached: usize,
}

impl Gate {
    /// A closed gate.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets all through.
    pub fn open(&self) {
        self.0.send_modify(|state| state.open = true);
    }

    /// Waits until a reply stands before it: all that comes before the gate has been sent.
    pub async fn reached(&self) {
        let mut state = self.0.subscribe();
        let reached = super::within(state.wait_for(|state| state.reached > 0)).await;
        assert!(matches!(reached, Some(Ok(_))), "no reply came to the gate");
    }

    pub(super) async fn pass(&self) {
        self.0.send_modify(|state| state.reached += 1);
        // The sender is ours: it cannot go away while we wait.
        let _ = self.0.subscribe().wait_for(|state| state.open).await;
    }
}
