//! What edits did to the diagnostics.

#![allow(clippy::unused_async)] // not built yet

use std::time::Duration;

use tokio_util::sync::CancellationToken;
use workspace::Snapshot;

use super::Pool;
use crate::answer::Consequences;

impl Pool {
    /// What edits did to the diagnostics of the edited documents and of those that depend on them. `before` holds each
    /// edited document as it was before the edits (empty if it did not exist); what they are now is read. Answers within
    /// `deadline`, and what is not known by then is pending.
    pub async fn consequences(
        &self,
        before: &[Snapshot],
        deadline: Duration,
        cancel: &CancellationToken,
    ) -> Consequences {
        let _ = (deadline, cancel);
        Consequences {
            pending: before.iter().map(|one| one.uri.clone()).collect(),
            ..Consequences::default()
        }
    }
}
