//! Notices the death of the editor's process. Only one that is alive when the watch begins is
//! watched: an id from another container or machine would end us at once.

use tokio_util::sync::CancellationToken;

/// Cancels `dead` within a second of the death of the process `pid`. Tells whether it is watched at
/// all.
#[cfg(unix)]
pub(crate) fn watch(pid: i64, dead: CancellationToken) -> bool {
    let Some(pid) = i32::try_from(pid)
        .ok()
        .filter(|pid| *pid > 0)
        .and_then(rustix::process::Pid::from_raw)
    else {
        return false;
    };
    if !is_alive(pid) {
        tracing::info!(
            "the editor's process {} is not to be seen from here",
            pid.as_raw_nonzero()
        );
        return false;
    }
    tokio::spawn(async move {
        #[cfg(target_os = "linux")]
        if wait_by_descriptor(pid).await.is_ok() {
            dead.cancel();
            return;
        }
        while is_alive(pid) {
            tokio::time::sleep(std::time::Duration::from_millis(250)).await;
        }
        dead.cancel();
    });
    true
}

/// Windows closes our input when the editor dies; nothing more is watched there.
#[cfg(not(unix))]
pub(crate) fn watch(_pid: i64, _dead: CancellationToken) -> bool {
    false
}

#[cfg(unix)]
fn is_alive(pid: rustix::process::Pid) -> bool {
    // A process that we may not signal is alive all the same.
    matches!(
        rustix::process::test_kill_process(pid),
        Ok(()) | Err(rustix::io::Errno::PERM)
    )
}

/// A descriptor of a process becomes readable at its death, before anyone has waited for it.
#[cfg(target_os = "linux")]
async fn wait_by_descriptor(pid: rustix::process::Pid) -> std::io::Result<()> {
    let descriptor = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::NONBLOCK)?;
    // Deprecated for the sake of types that lend a descriptor which they do not own; this one owns
    // it.
    #[allow(deprecated)]
    let descriptor =
        tokio::io::unix::AsyncFd::with_interest(descriptor, tokio::io::Interest::READABLE)?;
    descriptor.readable().await.map(drop)
}

#[cfg(all(test, unix))]
mod tests {
    use std::process::{Command, Stdio};
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn a_death_is_noticed_within_a_second() {
        let mut child = Command::new("cat")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("cat starts");
        let dead = CancellationToken::new();
        assert!(watch(i64::from(child.id()), dead.clone()));
        tokio::task::yield_now().await;
        assert!(!dead.is_cancelled());
        child.kill().expect("cat can be killed");
        // It is a zombie until waited for, as an editor under a careless parent would be.
        tokio::time::timeout(Duration::from_secs(1), dead.cancelled())
            .await
            .expect("the death is noticed");
        child.wait().expect("cat can be waited for");
    }

    #[tokio::test]
    async fn who_is_not_alive_is_not_watched() {
        let mut child = Command::new("true").spawn().expect("true starts");
        let pid = i64::from(child.id());
        child.wait().expect("true can be waited for");
        for pid in [pid, 0, -1, i64::from(i32::MAX), i64::MAX] {
            assert!(!watch(pid, CancellationToken::new()), "{pid} is watched");
        }
    }
}
