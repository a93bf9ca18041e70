//! A provider against a server on this machine that answers with fixed bytes: what is sent, and what is made of statuses,
//! breaks, silence, cancelling.

#![allow(clippy::unwrap_used, reason = "a test that can't go on fails")]

mod answers;
mod anthropic;
mod clock;
mod conversation;
mod faults;
mod responses;
mod said;
mod same;
mod script;
mod server;
mod session;
mod spoken;
mod switch;
mod tls;
mod turns;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use model::{
    Api, Catalogue, EventStream, Message, ModelError, Provider, ProviderConfig, Request, Secret,
    StreamEvent, Usage,
};
use serde_json::Value;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio_util::sync::CancellationToken;

use crate::server::Seen;

const KEY: &str = "sk-very-secret";

fn config(url: &str) -> ProviderConfig {
    ProviderConfig {
        base_url: Some(url.to_owned()),
        api_key_env: Some("TEST_KEY".to_owned()),
        headers: BTreeMap::from([("x-team".to_owned(), Secret::new("team-secret"))]),
        ..ProviderConfig::default()
    }
}

fn provider_with(config: ProviderConfig, idle: Duration) -> Arc<dyn Provider> {
    let key = |name: &str| (name == "TEST_KEY").then(|| KEY.to_owned());
    let catalogue = Catalogue::with_environment(BTreeMap::from([("test".to_owned(), config)]), key)
        .idle_timeout(idle);
    catalogue.resolve("test/some/model").unwrap()
}

fn provider(url: &str) -> Arc<dyn Provider> {
    provider_with(config(url), Duration::from_secs(120))
}

/// A model behind the server, asked in this format, of the provider of that name.
fn provider_of(api: Api, name: &str, url: &str) -> Arc<dyn Provider> {
    let base = match api {
        Api::Anthropic => url.strip_suffix("/v1").unwrap(),
        Api::OpenaiChat | Api::OpenaiResponses => url,
    };
    let config = ProviderConfig {
        api: Some(api),
        ..config(base)
    };
    let key = |name: &str| (name == "TEST_KEY").then(|| KEY.to_owned());
    let catalogue = Catalogue::with_environment(BTreeMap::from([(name.to_owned(), config)]), key);
    catalogue.resolve(&format!("{name}/some/model")).unwrap()
}

/// The next request, its head and its body, and how many connections were made before it.
async fn next_request(sees: &mut UnboundedReceiver<Seen>) -> (String, Value, usize) {
    let mut connections = 0;
    loop {
        match sees.recv().await.unwrap() {
            Seen::Request(request) => {
                let (head, body) = request.split_once("\r\n\r\n").unwrap();
                let body = serde_json::from_str(body).unwrap();
                return (head.to_owned(), body, connections);
            }
            Seen::Connected => connections += 1,
            Seen::Closed => {}
        }
    }
}

/// How many connections were made of late.
fn connections(sees: &mut UnboundedReceiver<Seen>) -> usize {
    let mut connections = 0;
    while let Ok(seen) = sees.try_recv() {
        connections += usize::from(seen == Seen::Connected);
    }
    connections
}

fn request() -> Request {
    Request {
        messages: vec![Message::user("hi")],
        ..Request::default()
    }
}

async fn ask(provider: &Arc<dyn Provider>) -> Result<EventStream, ModelError> {
    provider.stream(&request(), &CancellationToken::new()).await
}

async fn answer(provider: &Arc<dyn Provider>) -> Vec<Result<StreamEvent, ModelError>> {
    match ask(provider).await {
        Ok(stream) => stream.collect().await,
        Err(error) => vec![Err(error)],
    }
}

#[allow(
    clippy::unnecessary_wraps,
    reason = "it is compared with what a stream gives"
)]
fn hello() -> Result<StreamEvent, ModelError> {
    Ok(StreamEvent::Text("hello".to_owned()))
}

/// What the short answers of Messages and Responses say that they used.
#[allow(
    clippy::unnecessary_wraps,
    reason = "it is compared with what a stream gives"
)]
fn usage() -> Result<StreamEvent, ModelError> {
    Ok(StreamEvent::Usage(Usage {
        input: 3,
        output: 2,
        ..Usage::default()
    }))
}
