//! Which problems are still there after someone set out to cure them.

use std::time::Duration;

use tokio_util::sync::CancellationToken;
use workspace::Snapshot;

use super::{Pool, consequences::compared};
use crate::answer::{Diagnosis, Diagnostic};

impl Pool {
    /// How many of these problems of a text are still in its document, as it is now. `None`: nobody could say it in time.
    pub async fn left_of(
        &self,
        problems: &[Diagnostic],
        text: &Snapshot,
        deadline: Duration,
        cancel: &CancellationToken,
    ) -> Option<usize> {
        let Diagnosis::Fresh(found) = self.diagnostics(&text.uri, deadline, cancel).await else {
            return None;
        };
        let now = self.newest(&text.uri)?;
        let old = problems.iter().map(headed).collect();
        let new = found.iter().map(headed).collect();
        let (_, cured) = compared((&text.text, old), (&now.text, new));
        Some(problems.len().saturating_sub(cured))
    }
}

/// A compiler gives its notes to the first of several alike: when that is cured, they stand with the next.
fn headed(problem: &Diagnostic) -> Diagnostic {
    let head = problem.message.lines().next().unwrap_or_default();
    Diagnostic {
        message: head.to_owned(),
        ..problem.clone()
    }
}
