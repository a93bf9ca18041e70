//! One provider's address with its key and headers: sends a request body there and gives the answer whose status is good.
//! It knows no wire format.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Response, Url};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::asked::Asked;
use crate::http::{self, NoClient};
use crate::key::Key;
use crate::rest::Rest;
use crate::stream::Decode;
use crate::tls::Tls;
use crate::{EventStream, ModelError, Secret, stream};

/// A refusal that is longer than this is no refusal.
const REFUSAL: usize = 64 * 1024;
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(10);

/// One provider, as it is reached.
#[derive(Debug)]
pub(crate) struct Endpoint {
    pub(crate) provider: String,
    pub(crate) base: Url,
    pub(crate) key: Key,
    pub(crate) headers: BTreeMap<String, Secret>,
    pub(crate) tls: Tls,
    /// How long the provider may say nothing.
    pub(crate) idle: Duration,
    /// What is left of its last answer.
    pub(crate) rest: Rest,
}

/// How a wire format is sent.
#[derive(Debug)]
pub(crate) struct Wire {
    /// Where to, under the base address.
    pub(crate) path: &'static [&'static str],
    /// How the key goes with it.
    pub(crate) auth: fn(&str) -> (HeaderName, String),
    /// What else goes with every request.
    pub(crate) headers: &'static [(&'static str, &'static str)],
}

impl Endpoint {
    /// Sends the body, and gives the steps of the answer as `reader` makes them out.
    pub(crate) async fn ask<D: Decode>(
        &self,
        wire: &Wire,
        model: &str,
        body: Vec<u8>,
        reader: impl FnOnce(Arc<Asked>) -> D,
        cancel: &CancellationToken,
    ) -> Result<EventStream, ModelError> {
        let (response, asked) = self.post(wire, model, body, cancel).await?;
        Ok(stream::events(
            response,
            reader(asked.clone()),
            asked,
            self.idle,
            self.rest.clone(),
            cancel.clone(),
        ))
    }

    /// The answer has a good status; what it says is not looked at yet.
    async fn post(
        &self,
        wire: &Wire,
        model: &str,
        body: Vec<u8>,
        cancel: &CancellationToken,
    ) -> Result<(Response, Arc<Asked>), ModelError> {
        let key = self.key.get(cancel).await?;
        let asked = Arc::new(Asked {
            provider: self.provider.clone(),
            model: model.to_owned(),
            url: self.url(wire.path)?,
            key: self.key.place(),
            certificate: self.tls.certificate.clone(),
            secrets: key
                .iter()
                .chain(self.headers.values())
                .cloned()
                .chain(self.secrets_of_address())
                .collect(),
        });
        let headers = self.headers(key.as_ref(), wire)?;
        let client = http::client(&asked.url, &self.tls).map_err(|error| match error {
            NoClient::File(wrong) => self.wrong(wrong.key, &wrong.reason),
            NoClient::Tls(error) => asked.unreachable(&error),
        })?;
        tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(ModelError::Cancelled),
            () = self.rest.over() => {}
        }
        let sending = client
            .post(asked.url.clone())
            .headers(headers)
            .body(body)
            .send();
        let response = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(ModelError::Cancelled),
            sent = timeout(self.idle, sending) => sent.map_err(|_| ModelError::Idle(self.idle))?,
        };
        let response = response.map_err(|error| asked.unreachable(&error))?;
        tracing::debug!(
            provider = self.provider,
            model,
            status = response.status().as_u16(),
            "answered"
        );
        if response.status().is_success() {
            return Ok((response, asked));
        }
        let refused = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(ModelError::Cancelled),
            refused = refusal(response, &asked) => refused,
        };
        if matches!(refused, ModelError::Denied { .. }) {
            self.key.forget().await;
        }
        Err(refused)
    }

    fn url(&self, path: &[&str]) -> Result<Url, ModelError> {
        let mut url = self.base.clone();
        match url.path_segments_mut() {
            Ok(mut segments) => {
                segments.pop_if_empty().extend(path);
            }
            Err(()) => return Err(self.wrong("base_url", "is no http address")),
        }
        Ok(url)
    }

    /// What an address may hold that is nobody's business.
    fn secrets_of_address(&self) -> impl Iterator<Item = Secret> {
        let password = self.base.password().map(Secret::new);
        let values = self.base.query_pairs().map(|(_, value)| Secret::new(value));
        password.into_iter().chain(values)
    }

    /// The configured headers come last: who sets one knows why.
    fn headers(&self, key: Option<&Secret>, wire: &Wire) -> Result<HeaderMap, ModelError> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        for (name, value) in wire.headers {
            headers.insert(*name, HeaderValue::from_static(value));
        }
        if let Some(key) = key {
            let (name, value) = (wire.auth)(key.reveal());
            let unfit = || {
                self.wrong(
                    "key",
                    "holds characters that no key has, perhaps a line break",
                )
            };
            headers.insert(name, sensitive(&value).ok_or_else(unfit)?);
        }
        for (name, value) in &self.headers {
            let unfit = || self.wrong(&format!("headers.{name}"), "is no header that can be sent");
            let value = sensitive(value.reveal()).ok_or_else(unfit)?;
            headers.insert(name.parse::<HeaderName>().map_err(|_| unfit())?, value);
        }
        Ok(headers)
    }

    fn wrong(&self, key: &str, reason: &str) -> ModelError {
        ModelError::Config {
            provider: self.provider.clone(),
            key: key.to_owned(),
            reason: reason.to_owned(),
        }
    }
}

fn sensitive(value: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(value).ok()?;
    value.set_sensitive(true);
    Some(value)
}

async fn refusal(mut response: Response, asked: &Asked) -> ModelError {
    let mut body = Vec::new();
    // A refusal that breaks off or stalls is told with what came of it.
    let _ = timeout(REFUSAL_TIMEOUT, async {
        while let Ok(Some(chunk)) = response.chunk().await {
            body.extend_from_slice(&chunk);
            if body.len() > REFUSAL {
                break;
            }
        }
    })
    .await;
    asked.refused(response.status(), response.headers(), &body)
}
