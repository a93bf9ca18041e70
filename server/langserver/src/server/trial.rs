//! Starts a server only to see whether it starts, and ends it again.

use std::{path::Path, sync::Arc, time::Duration};

use tokio::{sync::Semaphore, time::Instant};
use tokio_util::sync::CancellationToken;

use super::{Launch, Place, Server};
use crate::{answer::QueryError, client::Patience, config::ServerConfig};

/// How a server started, or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trial {
    /// How long it took until it had introduced itself, or had failed.
    pub took: Duration,
    /// Why it did not start.
    pub failed: Option<String>,
    /// The last lines of its stderr, if it failed.
    pub said: String,
}

/// Starts a server for this folder, waits until it has introduced itself, and ends it with all that it started.
pub async fn try_out(name: &str, config: &ServerConfig, root: &Path, deadline: Duration) -> Trial {
    let begun = Instant::now();
    let failed = |failed: String, said: String| Trial {
        took: begun.elapsed(),
        failed: Some(failed),
        said,
    };
    let Ok(permit) = Arc::new(Semaphore::new(1)).acquire_owned().await else {
        return failed("there is no place for it".into(), String::new());
    };
    let launch = Launch {
        name,
        config,
        root,
        place: Place::new(permit, Arc::default()),
        silence: deadline,
        answer: deadline,
    };
    let server = match Server::spawn(launch) {
        Ok(server) => server,
        Err(error) => return failed(error.to_string(), String::new()),
    };
    let patience = Patience::of(deadline, &CancellationToken::new());
    let trial = match server.introduction(&patience).await {
        Ok(_) => Trial {
            took: begun.elapsed(),
            failed: None,
            said: String::new(),
        },
        Err(QueryError::Died { .. }) => failed(server.end(), server.said()),
        Err(QueryError::TimedOut { .. }) => {
            let seconds = deadline.as_secs();
            failed(format!("no answer within {seconds} s"), server.said())
        }
        Err(error) => failed(error.to_string(), server.said()),
    };
    server.shutdown().await;
    trial
}
