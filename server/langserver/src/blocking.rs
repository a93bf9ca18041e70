//! Work that may block: mostly a look at the disk.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tokio::{
    runtime::{Handle, RuntimeFlavor},
    task::{block_in_place, spawn_blocking},
};

use crate::answer::QueryError;

/// Does what may block. Where this thread may (a tool's call has one of its own) or can leave its other tasks to another
/// thread, it is done right here: a turn to another thread and back takes longer than most looks at a disk.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, QueryError> {
    let done = match Handle::current().runtime_flavor() {
        RuntimeFlavor::MultiThread => {
            let done = block_in_place(|| catch_unwind(AssertUnwindSafe(work)));
            done.map_err(|_| "an internal error, which the log has".to_owned())
        }
        _ => spawn_blocking(work)
            .await
            .map_err(|error| error.to_string()),
    };
    done.map_err(QueryError::Unreadable)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn check() {
        assert_eq!(blocking(|| 1).await, Ok(1));
        let failed = blocking(|| panic!("for the test")).await;
        assert!(
            matches!(failed, Err(QueryError::Unreadable(_))),
            "{failed:?}"
        );
    }

    #[tokio::test]
    async fn on_the_only_thread_of_a_runtime() {
        check().await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn on_one_of_several() {
        check().await;
        let joined = tokio::spawn(check()).await;
        assert!(joined.is_ok());
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn on_a_thread_of_its_own() {
        let runtime = Handle::current();
        let joined = spawn_blocking(move || runtime.block_on(check())).await;
        assert!(joined.is_ok());
    }
}
