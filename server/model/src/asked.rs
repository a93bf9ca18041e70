//! What was asked of whom, to put into words what went wrong. All that a server says passes through here on its way to a
//! person, so that keys are struck out in one place.

use std::error::Error;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use reqwest::header::{HeaderMap, LOCATION};
use reqwest::{StatusCode, Url};
use serde_json::Value;

use crate::retry_after::{retry_after, retry_in_words};
use crate::{ModelError, Secret, http, sse};

/// The most of a server's words that a person is shown.
const SHOWN: usize = 600;

/// One request, without what it said.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) provider: String,
    pub(crate) model: String,
    pub(crate) url: Url,
    /// Where the key came from.
    pub(crate) key: String,
    /// The client certificate that was shown, if one was.
    pub(crate) certificate: Option<PathBuf>,
    /// What must never be shown: the key, and the values of configured headers.
    pub(crate) secrets: Vec<Secret>,
}

/// What one event of an answer says.
pub(crate) enum Said {
    /// Nothing: a sign of life.
    Nothing,
    /// That the answer is over, as OpenAI's formats end it.
    Over,
    Json(Value),
}

impl Asked {
    /// What the event says, whatever the wire format.
    pub(crate) fn said(&self, event: &sse::Event) -> Result<Said, ModelError> {
        let data = event.data.trim();
        if data.is_empty() || event.name == "ping" {
            return Ok(Said::Nothing);
        }
        if data == "[DONE]" {
            return Ok(Said::Over);
        }
        serde_json::from_str(data)
            .map(Said::Json)
            .map_err(|error| ModelError::Malformed(format!("{error} in {}", self.quote(data))))
    }

    /// The address without user, password and query.
    pub(crate) fn address(&self) -> String {
        let mut url = self.url.clone();
        // Neither can fail for a URL that has a host.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        url.set_query(None);
        url.into()
    }

    /// A server's words: on one line, not too long, without keys.
    pub(crate) fn quote(&self, text: &str) -> String {
        let mut text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for secret in self
            .secrets
            .iter()
            .map(Secret::reveal)
            .filter(|secret| secret.len() >= 4)
        {
            text = text.replace(secret, "[key]");
        }
        if let Some((end, _)) = text.char_indices().nth(SHOWN) {
            text.truncate(end);
            text.push('…');
        }
        // We end the sentence ourselves.
        text.trim_end_matches('.').to_owned()
    }

    /// An answer whose status says that it is none.
    pub(crate) fn refused(
        &self,
        status: StatusCode,
        headers: &HeaderMap,
        body: &[u8],
    ) -> ModelError {
        let text = String::from_utf8_lossy(body);
        let is_page = text.trim_start().starts_with('<');
        // What stands before a server says with a page of its own that the server is down: that passes.
        if is_page && !passes(status.as_u16()) {
            return self.web_page(status.as_u16(), &text);
        }
        let body = serde_json::from_str(&text).unwrap_or(Value::Null);
        let message = match words(&body) {
            Some(message) => message.to_owned(),
            None if is_page => self
                .title(&text)
                .unwrap_or_else(|| "it sent a web page".to_owned()),
            None if status.is_redirection() => {
                let to = headers
                    .get(LOCATION)
                    .and_then(|to| to.to_str().ok())
                    .unwrap_or("nowhere");
                format!("it redirects to {to}; if that is right, set base_url to it")
            }
            None if text.trim().is_empty() => status
                .canonical_reason()
                .unwrap_or("no reason given")
                .to_owned(),
            None => text.into_owned(),
        };
        self.explain(
            status.as_u16(),
            &message,
            codes(&body),
            retry_after(headers, SystemTime::now()),
        )
    }

    /// An error that came as an event, or as the body of an answer with a status that promised better.
    pub(crate) fn failed(&self, error: &Value) -> ModelError {
        let message = words(error).unwrap_or("it gave no reason");
        let codes = codes(error);
        match status_of(&codes) {
            Some(status) => self.explain(status, message, codes, None),
            None if is_overflow(message, &codes) => self.explain(400, message, codes, None),
            None => ModelError::Stream(format!(
                "{} failed in the middle of its answer: {}",
                self.provider,
                self.quote(message)
            )),
        }
    }

    /// An answer that broke off; `how` says more, if that is known.
    pub(crate) fn cut_off(&self, said: bool, how: Option<&str>) -> ModelError {
        let how = how.map(|reason| format!(" ({reason})")).unwrap_or_default();
        let when = if said {
            "in the middle"
        } else {
            "before it said anything"
        };
        ModelError::Stream(format!(
            "the answer of {} was cut off {when}{how}. Try again",
            self.provider
        ))
    }

    /// A web page where an answer should be.
    pub(crate) fn web_page(&self, status: u16, page: &str) -> ModelError {
        ModelError::Html {
            url: self.address(),
            status,
            title: self.title(page),
        }
    }

    fn title(&self, page: &str) -> Option<String> {
        // ASCII only, so that the offsets hold in the page as well.
        let lower = page.to_ascii_lowercase();
        let start = lower.find("<title")?;
        let from = start + lower[start..].find('>')? + 1;
        let to = from + lower[from..].find("</title")?;
        Some(self.quote(&page[from..to])).filter(|title| !title.is_empty())
    }

    /// What lies behind a failed connection.
    pub(crate) fn reason(&self, error: &reqwest::Error) -> String {
        let mut inner: &dyn Error = error;
        while let Some(source) = inner.source() {
            inner = source;
        }
        self.quote(&inner.to_string())
    }

    /// A request that got no answer.
    pub(crate) fn unreachable(&self, error: &reqwest::Error) -> ModelError {
        let reason = self.reason(error);
        // The server ends what it doesn't trust with an alert, which comes after our own side is content.
        if let Some((_, alert)) = reason.split_once("fatal alert: ") {
            return ModelError::Unreachable {
                url: self.address(),
                hint: self.after_alert(alert),
                reason,
            };
        }
        if error.is_request() && !error.is_connect() && !error.is_timeout() {
            return ModelError::Stream(format!(
                "{} closed the connection before it answered ({reason})",
                self.provider
            ));
        }
        let reason = if error.is_timeout() {
            format!("no connection within {} s", http::CONNECT_TIMEOUT.as_secs())
        } else {
            reason
        };
        let hint = if reason.contains("No CA certificates") {
            "Install the system's CA certificates (the package is mostly called ca-certificates)"
                .to_owned()
        } else if reason.contains("certificate") {
            format!(
                "If a proxy looks into TLS here, or the server's certificate is of a CA of your own, that CA must be among the \
                 system's roots, or in a PEM file that ca_file in [providers.{}] names",
                self.provider
            )
        } else if self.provider == "ollama" && http::is_loopback(&self.url) {
            "Is Ollama running? Start it with `ollama serve`".to_owned()
        } else if http::is_loopback(&self.url) {
            format!(
                "Is the server running? Its address is base_url in [providers.{}]",
                self.provider
            )
        } else {
            format!(
                "Check the network, the proxy variables, and base_url in [providers.{}]",
                self.provider
            )
        };
        ModelError::Unreachable {
            url: self.address(),
            reason,
            hint,
        }
    }

    /// What to do after a server has ended the handshake so.
    fn after_alert(&self, alert: &str) -> String {
        let provider = &self.provider;
        match &self.certificate {
            _ if !alert.contains("Certificate")
                && !matches!(alert, "UnknownCA" | "AccessDenied") =>
            {
                format!(
                    "The server ends the TLS connection: check base_url in [providers.{provider}]"
                )
            }
            None => format!(
                "The server wants a client certificate: name its PEM files as client_certificate and client_key in [providers.{provider}]"
            ),
            Some(path) => format!(
                "The server does not take the certificate in {} (client_certificate in [providers.{provider}]): is it the right one, \
                 and is it still valid?",
                path.display()
            ),
        }
    }

    fn explain(
        &self,
        status: u16,
        message: &str,
        codes: Vec<String>,
        retry_after: Option<Duration>,
    ) -> ModelError {
        let (provider, model, message) = (self.provider.clone(), self.model.clone(), message);
        let retry_after = retry_after.or_else(|| retry_in_words(message));
        if status == 413 || (matches!(status, 400 | 422 | 500) && is_overflow(message, &codes)) {
            return ModelError::TooLong {
                model,
                message: self.quote(message),
            };
        }
        let message = self.quote(message);
        match status {
            401 | 403 => ModelError::Denied {
                provider,
                status,
                message,
                key: self.key.clone(),
            },
            404 => ModelError::NotFound {
                provider,
                model,
                url: self.address(),
                message,
            },
            _ => ModelError::Status {
                provider,
                status,
                message,
                // What is used up stays so until somebody pays.
                passes: passes(status) && codes.iter().all(|code| code != "insufficient_quota"),
                retry_after,
            },
        }
    }
}

/// Whether the same request may do later what it did not now.
fn passes(status: u16) -> bool {
    matches!(status, 408 | 409 | 429 | 500..)
}

/// The words of an error, wherever a dialect puts them: `{error: {message}}`, `{error: "…"}`, `{message}`, `{detail}`, `[{…}]`.
fn words(body: &Value) -> Option<&str> {
    let body = body.get(0).unwrap_or(body);
    let error = body
        .get("error")
        .filter(|error| !error.is_null())
        .unwrap_or(body);
    // OpenRouter wraps what the provider behind it said.
    let raw = error
        .pointer("/metadata/raw")
        .and_then(Value::as_str)
        .filter(|raw| !raw.is_empty());
    let direct = ["message", "detail", "error"]
        .iter()
        .find_map(|key| error.get(key)?.as_str());
    raw.or(direct)
        .or_else(|| error.as_str())
        .filter(|text| !text.trim().is_empty())
}

/// Everything in an error that names its kind.
fn codes(body: &Value) -> Vec<String> {
    let body = body.get(0).unwrap_or(body);
    let error = body
        .get("error")
        .filter(|error| error.is_object())
        .unwrap_or(body);
    let code = |key| match error.get(key)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    ["code", "status", "type"]
        .into_iter()
        .filter_map(code)
        .collect()
}

fn status_of(codes: &[String]) -> Option<u16> {
    codes.iter().find_map(|code| match code.as_str() {
        "invalid_api_key" | "authentication_error" => Some(401),
        "permission_error" => Some(403),
        "model_not_found" | "not_found_error" => Some(404),
        "rate_limit_exceeded"
        | "too_many_requests"
        | "rate_limit_error"
        | "insufficient_quota"
        | "RESOURCE_EXHAUSTED" => Some(429),
        "invalid_request_error" | "invalid_prompt" => Some(400),
        "billing_error" => Some(402),
        "request_too_large" => Some(413),
        "timeout_error" => Some(504),
        "server_error" | "api_error" | "internal_server_error" => Some(500),
        "server_is_overloaded" | "slow_down" => Some(503),
        "overloaded_error" => Some(529),
        number => number
            .parse()
            .ok()
            .filter(|status| (400..600).contains(status)),
    })
}

fn is_overflow(message: &str, codes: &[String]) -> bool {
    let message = message.to_lowercase();
    let says = |words: &str| message.contains(words);
    codes.iter().any(|code| {
        matches!(
            code.as_str(),
            "context_length_exceeded" | "exceed_context_size_error"
        )
    }) || [
        "context length",
        "context window",
        "context size",
        "maximum context",
        "context limit",
        "prompt is too long",
        "input is too long",
        "too many tokens",
    ]
    .iter()
    .any(|words| says(words))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn asked() -> Asked {
        Asked {
            provider: "openai".into(),
            model: "gpt-5".into(),
            url: "https://user:pass@host.example/v1/chat/completions?key=abc"
                .parse()
                .unwrap(),
            key: "the key in OPENAI_API_KEY".into(),
            certificate: None,
            secrets: vec![Secret::new("sk-secret-123")],
        }
    }

    fn refused(status: u16, body: &str) -> ModelError {
        asked().refused(
            StatusCode::from_u16(status).unwrap(),
            &HeaderMap::new(),
            body.as_bytes(),
        )
    }

    #[test]
    fn each_refusal_says_what_to_do() {
        for (status, body, wanted) in [
            (
                401,
                r#"{"error":{"message":"Incorrect API key provided: sk-secret-123.","code":"invalid_api_key"}}"#,
                "openai refused access (401): Incorrect API key provided: [key]. Check the key in OPENAI_API_KEY",
            ),
            (
                403,
                r#"{"message":"no"}"#,
                "openai refused access (403): no. Check the key in OPENAI_API_KEY",
            ),
            (
                404,
                r#"{"error":{"message":"The model `gpt-5` does not exist"}}"#,
                "openai does not know the model “gpt-5” (404): The model `gpt-5` does not exist. Check the model's name, and that \
                 base_url is right: https://host.example/v1/chat/completions was asked",
            ),
            (
                404,
                "404 page not found",
                "openai does not know the model “gpt-5” (404): 404 page not found. Check",
            ),
            (
                413,
                "",
                "the conversation is too long for gpt-5: Payload Too Large. Start a new session",
            ),
            (
                400,
                r#"{"error":{"message":"This model's maximum context length is 8192 tokens","code":"context_length_exceeded"}}"#,
                "the conversation is too long for gpt-5: This model's maximum context length is 8192 tokens. Start",
            ),
            (
                400,
                r#"{"error":{"code":400,"message":"request (9000 tokens) exceeds the available context size (4096 tokens)","type":"exceed_context_size_error"}}"#,
                "the conversation is too long for gpt-5: request (9000 tokens)",
            ),
            (
                400,
                r#"{"error":"bad tool"}"#,
                "openai refused the request (400): bad tool",
            ),
            (
                422,
                r#"[{"error":{"message":"bad","code":422}}]"#,
                "openai refused the request (422): bad",
            ),
            (
                500,
                r#"{"detail":"oops"}"#,
                "openai failed (500): oops. Try again later",
            ),
            (
                503,
                "\n",
                "openai is overloaded or down (503): Service Unavailable. Try again later",
            ),
            (
                529,
                r#"{"error":{"type":"overloaded_error","message":"Overloaded"}}"#,
                "openai is overloaded or down (529): Overloaded",
            ),
            (
                502,
                "<html><head><TITLE>Bad\n gateway</TITLE>",
                "openai is overloaded or down (502): Bad gateway. Try again later",
            ),
            (
                403,
                "<html><head><TITLE>Bad\n gateway</TITLE>",
                "https://host.example/v1/chat/completions answered with a web page (403, “Bad gateway”)",
            ),
            (
                407,
                "<p>log in",
                "https://host.example/v1/chat/completions answered with a web page (407)",
            ),
        ] {
            let said = refused(status, body).to_string();
            assert!(
                said.starts_with(wanted),
                "{status} {body}\n  said   {said}\n  wanted {wanted}"
            );
            for secret in ["sk-secret", "pass@", "key=abc"] {
                assert!(!said.contains(secret), "{said}");
            }
        }
    }

    #[test]
    fn a_redirect_is_told_not_followed() {
        let headers =
            HeaderMap::from_iter([(LOCATION, "https://other.example/v1".parse().unwrap())]);
        let said = asked()
            .refused(StatusCode::PERMANENT_REDIRECT, &headers, b"")
            .to_string();
        assert!(
            said.contains("redirects to https://other.example/v1"),
            "{said}"
        );
    }

    #[test]
    fn an_error_inside_an_answer_is_sorted_by_its_code() {
        let failed = |error: Value| asked().failed(&error);
        let status = |error: Value| match failed(error) {
            ModelError::Status { status, .. } | ModelError::Denied { status, .. } => status,
            ModelError::NotFound { .. } => 404,
            ModelError::TooLong { .. } => 413,
            ModelError::Stream(_) => 200,
            other => panic!("{other:?}"),
        };
        assert_eq!(
            status(json!({"error": {"message": "slow down", "code": 429}})),
            429
        );
        assert_eq!(
            status(json!({"error": {"message": "slow down", "code": "rate_limit_exceeded"}})),
            429
        );
        assert_eq!(
            status(json!({"error": {"message": "x", "type": "overloaded_error"}})),
            529
        );
        assert_eq!(
            status(json!({"error": {"message": "x", "code": "502"}})),
            502
        );
        assert_eq!(
            status(json!({"error": {"message": "x", "code": "invalid_api_key"}})),
            401
        );
        assert_eq!(
            status(json!({"object": "error", "message": "the prompt is too long", "code": 400})),
            413
        );
        assert_eq!(
            status(json!({"error": {"message": "context size exceeded"}})),
            413
        );
        assert_eq!(status(json!({"error": "upstream died"})), 200);
        assert_eq!(
            failed(json!({"error": {"message": "Provider returned error", "metadata": {"raw": "quota of sk-secret-123 used up"}}})).to_string(),
            "openai failed in the middle of its answer: quota of [key] used up"
        );
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let quoted = asked().quote(&"ü".repeat(2000));
        assert_eq!(quoted.chars().count(), SHOWN + 1);
    }
}
