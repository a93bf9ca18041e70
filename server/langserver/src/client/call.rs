//! Questions that belong together: one call of a tool may put several in a row, and whoever made it waits for all of them
//! no longer than for one. It holds deadlines and asks nobody.

use std::{sync::OnceLock, time::Duration};

use tokio::time::Instant;

/// The deadlines of one call, each set when something is first waited for.
#[derive(Debug, Default)]
struct Deadlines {
    ready: OnceLock<Instant>,
    answer: OnceLock<Instant>,
}

tokio::task_local! {
    // Of the task and not a parameter: what a call asks goes through many hands that have no other business with its time.
    static CALL: Deadlines;
}

/// Does `work`, in which all questions together are waited for no longer than one may be: once until the servers are
/// ready, and once until they answer.
pub async fn as_one_call<T>(work: impl Future<Output = T>) -> T {
    CALL.scope(Deadlines::default(), work).await
}

/// Until when it is waited for a server to become ready, where one wait may take as long as this.
pub(crate) fn until_ready(limit: Duration) -> Instant {
    shared(|deadlines| &deadlines.ready, limit).unwrap_or_else(|| Instant::now() + limit)
}

/// Until when the call under way waits for answers, where one answer may take as long as this; `None`: there is no call.
pub(crate) fn until_answered(limit: Duration) -> Option<Instant> {
    shared(|deadlines| &deadlines.answer, limit)
}

fn shared(which: impl Fn(&Deadlines) -> &OnceLock<Instant>, limit: Duration) -> Option<Instant> {
    CALL.try_with(|deadlines| *which(deadlines).get_or_init(|| Instant::now() + limit))
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_call_has_one_deadline() {
        let limit = Duration::from_secs(30);
        let (first, second, ready) = as_one_call(async {
            let (first, ready) = (until_answered(limit), until_ready(limit));
            tokio::time::advance(Duration::from_secs(20)).await;
            assert_eq!(until_ready(limit), ready);
            (first, until_answered(limit), ready)
        })
        .await;
        assert!(first.is_some());
        assert_eq!(first, second);
        assert_eq!(until_answered(limit), None);
        assert!(until_ready(limit) > ready, "each wait for itself");
    }
}
