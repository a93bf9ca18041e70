//! Work-done progress of one run, under a token that we create: a token that came with a request is
//! dead once the request is answered. The client is asked off the run's path; one that refuses, or
//! does not answer, sees no progress.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::transport::Outgoing;

/// How long a client may take to say that it will show progress.
const CREATION: Duration = Duration::from_secs(30);

/// The progress of one run. Dropped without an end, it ends all the same.
pub(crate) struct Progress {
    steps: UnboundedSender<Step>,
}

enum Step {
    At(String),
    End(String),
}

/// Which token is which session's.
#[derive(Default)]
pub(crate) struct Tokens {
    sessions: Mutex<HashMap<String, String>>,
    created: AtomicU64,
}

impl Tokens {
    /// A session may have several runs, one after the other, and a token serves once.
    fn create(&self, session: &str) -> String {
        let token = format!(
            "copydesk/{session}/{}",
            self.created.fetch_add(1, Ordering::Relaxed)
        );
        self.lock().insert(token.clone(), session.to_owned());
        token
    }

    /// The session that a client means by a token.
    pub(crate) fn session(&self, token: &str) -> Option<String> {
        self.lock().get(token).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, String>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Progress {
    /// Begins the progress of a run. Its title is looked up when the client has agreed to show it.
    pub(crate) fn begin(
        outgoing: &Outgoing,
        tokens: &Arc<Tokens>,
        session: &str,
        title: impl FnOnce() -> Option<String> + Send + 'static,
    ) -> Self {
        let (steps, told) = unbounded_channel();
        let token = tokens.create(session);
        let (outgoing, tokens) = (outgoing.clone(), Arc::clone(tokens));
        tokio::spawn(async move {
            show(&outgoing, &token, title, told).await;
            tokens.lock().remove(&token);
        });
        Self { steps }
    }

    /// What the run does now.
    pub(crate) fn step(&self, what: &str) {
        // Without a listener nothing is shown, which is no one's loss here or below.
        let _ = self.steps.send(Step::At(what.to_owned()));
    }

    /// One line of outcome.
    pub(crate) fn end(self, outcome: &str) {
        let _ = self.steps.send(Step::End(outcome.to_owned()));
    }
}

async fn show(
    outgoing: &Outgoing,
    token: &str,
    title: impl FnOnce() -> Option<String>,
    mut told: UnboundedReceiver<Step>,
) {
    let creation = outgoing.request("window/workDoneProgress/create", json!({ "token": token }));
    match tokio::time::timeout(CREATION, creation).await {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => return tracing::debug!("the client shows no progress: {error}"),
        Err(_) => return tracing::debug!("the client did not say whether it shows progress"),
    }
    let title = title()
        .filter(|title| !title.is_empty())
        .unwrap_or_else(|| "Copydesk".to_owned());
    send(
        outgoing,
        token,
        json!({ "kind": "begin", "title": title, "cancellable": true }),
    );
    let mut outcome = None;
    while let Some(step) = told.recv().await {
        match step {
            Step::At(what) => {
                send(
                    outgoing,
                    token,
                    json!({ "kind": "report", "cancellable": true, "message": what }),
                );
            }
            Step::End(line) => {
                outcome = Some(line);
                break;
            }
        }
    }
    let mut end = json!({ "kind": "end" });
    if let Some(line) = outcome {
        end["message"] = Value::String(line);
    }
    send(outgoing, token, end);
}

fn send(outgoing: &Outgoing, token: &str, value: Value) {
    outgoing.notify_as("$/progress", json!({ "token": token, "value": value }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_client::FakeClient;

    async fn created(client: &mut FakeClient) -> (Value, Value) {
        let request = client.receive().await;
        assert_eq!(request["method"], "window/workDoneProgress/create");
        (request["id"].clone(), request["params"]["token"].clone())
    }

    async fn value(client: &mut FakeClient, token: &Value) -> Value {
        let mut notice = client.receive().await;
        assert_eq!(
            (&notice["method"], &notice["params"]["token"]),
            (&json!("$/progress"), token)
        );
        notice["params"]["value"].take()
    }

    #[tokio::test]
    async fn from_begin_to_end() {
        let mut client = FakeClient::new();
        let tokens = Arc::new(Tokens::default());
        let progress = Progress::begin(&client.outgoing, &tokens, "s", || Some("Fix".to_owned()));
        // Steps before the client has agreed are not lost.
        progress.step("Reading src/lib.rs");
        let (id, token) = created(&mut client).await;
        assert_eq!(
            tokens.session(token.as_str().expect("text")).as_deref(),
            Some("s")
        );
        client.answer(&id, Ok(Value::Null));
        let begin = json!({"kind": "begin", "title": "Fix", "cancellable": true});
        assert_eq!(value(&mut client, &token).await, begin);
        let step = json!({"kind": "report", "cancellable": true, "message": "Reading src/lib.rs"});
        assert_eq!(value(&mut client, &token).await, step);
        progress.end("Fixed.");
        assert_eq!(
            value(&mut client, &token).await,
            json!({"kind": "end", "message": "Fixed."})
        );
    }

    #[tokio::test]
    async fn a_run_that_is_over_before_the_client_has_agreed() {
        let mut client = FakeClient::new();
        let tokens = Arc::new(Tokens::default());
        Progress::begin(&client.outgoing, &tokens, "s", || None).end("Done");
        let (id, token) = created(&mut client).await;
        client.answer(&id, Ok(Value::Null));
        assert_eq!(value(&mut client, &token).await["title"], "Copydesk");
        assert_eq!(value(&mut client, &token).await["kind"], "end");
    }

    #[tokio::test]
    async fn a_run_that_is_dropped_ends_its_progress() {
        let mut client = FakeClient::new();
        let progress = Progress::begin(&client.outgoing, &Arc::default(), "s", || None);
        let (id, token) = created(&mut client).await;
        client.answer(&id, Ok(Value::Null));
        assert_eq!(value(&mut client, &token).await["kind"], "begin");
        drop(progress);
        assert_eq!(value(&mut client, &token).await, json!({"kind": "end"}));
    }

    #[tokio::test]
    async fn a_client_that_refuses_sees_nothing() {
        let mut client = FakeClient::new();
        let tokens = Arc::new(Tokens::default());
        let progress = Progress::begin(&client.outgoing, &tokens, "s", || None);
        let (id, _) = created(&mut client).await;
        client.answer(&id, Err((-32601, "no")));
        progress.step("Reading src/lib.rs");
        progress.end("Done");
        // The next message is the next run's, which has a token of its own.
        let _next = Progress::begin(&client.outgoing, &tokens, "s", || None);
        created(&mut client).await;
    }
}
