//! What can go wrong with a model, in words that say what to do. No text in here ever holds a key: whatever a server
//! said has been through `Endpoint::redact` before it comes to this room.

use std::time::Duration;

/// Why a model gave no answer, or only a part of one.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// A model's name that is not `provider/model`.
    #[error("“{given}” is no model's name: write provider/model, e.g. {example}")]
    BadName {
        /// What was given.
        given: String,
        /// The nearest name that would do.
        example: String,
    },
    /// There is no such provider.
    #[error("there is no provider “{name}”; known are {}. To add one, give [providers.{name}] a base_url", .known.join(", "))]
    UnknownProvider {
        /// The name that was asked for.
        name: String,
        /// Those that there are, the nearest first.
        known: Vec<String>,
    },
    /// It is almost the name of the model that is built in.
    #[error("there is no model “{given}”. Did you mean {meant}?")]
    NoSuchBuiltin {
        /// What was given.
        given: String,
        /// The one that there is.
        meant: &'static str,
    },
    /// The provider's configuration cannot be used.
    #[error("[providers.{provider}] {key}: {reason}")]
    Config {
        /// The provider.
        provider: String,
        /// The key at fault.
        key: String,
        /// What is wrong with it, and what would be right.
        reason: String,
    },
    /// No key is set.
    #[error(
        "{provider} needs a key: set {env} in the environment that the editor is started from, or api_key_command in [providers.{provider}], or run `copydesk login {provider}`"
    )]
    NoKey {
        /// The provider.
        provider: String,
        /// The environment variable that would hold it.
        env: String,
    },
    /// The command that prints the key did not.
    #[error(
        "the api_key_command of {provider} (`{program}`) {reason}. Run it in a terminal to see why"
    )]
    KeyCommand {
        /// The provider.
        provider: String,
        /// Its first word.
        program: String,
        /// What became of it. Never what it printed.
        reason: String,
    },
    /// The keyring that has the key did not give it.
    #[error(
        "the key of {provider} can't be had from the system's keyring: {reason}. `copydesk login {provider}` puts it there again, `copydesk logout {provider}` ends that it is looked for there"
    )]
    Keyring {
        /// The provider.
        provider: String,
        /// What is wrong.
        reason: String,
    },
    /// The provider will not have this key (401, 403).
    #[error("{provider} refused access ({status}): {message}. Check {key}")]
    Denied {
        /// The provider.
        provider: String,
        /// 401 or 403.
        status: u16,
        /// What it said.
        message: String,
        /// Where the key came from.
        key: String,
    },
    /// There is no such model, or nothing at that address (404).
    #[error(
        "{provider} does not know the model “{model}” (404): {message}. Check the model's name, and that base_url is right: {url} was asked"
    )]
    NotFound {
        /// The provider.
        provider: String,
        /// The model's name, as sent.
        model: String,
        /// The address that was asked.
        url: String,
        /// What it said.
        message: String,
    },
    /// The conversation is too long for the model.
    #[error(
        "the conversation is too long for {model}: {message}. Start a new session, narrow the request, or choose a model with a larger context"
    )]
    TooLong {
        /// The model's name, as sent.
        model: String,
        /// What the provider said.
        message: String,
    },
    /// Any other answer that is none: 400, 402, 429, 5xx and the rest.
    #[error("{provider} {}: {message}{}", describe(*.status), retry(*.passes, *.retry_after))]
    Status {
        /// The provider.
        provider: String,
        /// The HTTP status; that which the body named, if the error came inside a 200 answer.
        status: u16,
        /// What it said.
        message: String,
        /// Whether the same request may do later what it did not now.
        passes: bool,
        /// When it may be tried again, if the provider said so.
        retry_after: Option<Duration>,
    },
    /// A web page in place of an answer.
    #[error("{url} answered with a web page ({status}{}), not with a model's answer: a proxy or a login page is in between, or base_url is wrong", title.as_ref().map(|title| format!(", “{title}”")).unwrap_or_default())]
    Html {
        /// The address that was asked.
        url: String,
        /// The HTTP status.
        status: u16,
        /// The page's title.
        title: Option<String>,
    },
    /// No connection.
    #[error("cannot reach {url}: {reason}. {hint}")]
    Unreachable {
        /// The address that was asked.
        url: String,
        /// What the system said.
        reason: String,
        /// What to look at.
        hint: String,
    },
    /// It can do nothing with such a request, now or later.
    #[error("{0}")]
    Incapable(String),
    /// The answer broke off, or the provider said in the middle of it that it failed.
    #[error("{0}")]
    Stream(String),
    /// The provider fell silent.
    #[error("the model has said nothing for {} s, so the connection was closed. Try again, or choose another model", .0.as_secs())]
    Idle(Duration),
    /// What came is no answer in this wire format.
    #[error(
        "the model's answer can't be understood: {0}. Check that the provider's api and base_url are right"
    )]
    Malformed(String),
    /// The run was cancelled.
    #[error("cancelled")]
    Cancelled,
}

impl ModelError {
    /// When the provider said that it may be tried again.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Status { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}

fn describe(status: u16) -> String {
    match status {
        402 => "wants to be paid first (402)".to_owned(),
        408 | 504 => format!("took too long ({status})"),
        429 => "limits the rate of requests (429)".to_owned(),
        502 | 503 | 529 => format!("is overloaded or down ({status})"),
        500.. => format!("failed ({status})"),
        _ => format!("refused the request ({status})"),
    }
}

fn retry(passes: bool, after: Option<Duration>) -> String {
    match after {
        _ if !passes => String::new(),
        Some(after) => format!(
            ". Try again in {} s",
            after.as_secs() + u64::from(after.subsec_nanos() > 0)
        ),
        None => ". Try again later, or choose another model".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_says_what_it_means_and_when_to_try_again() {
        let says = |status, ms: Option<u64>| {
            ModelError::Status {
                provider: "openai".into(),
                status,
                message: "no".into(),
                passes: matches!(status, 429 | 529),
                retry_after: ms.map(Duration::from_millis),
            }
            .to_string()
        };
        assert_eq!(
            says(429, Some(11_200)),
            "openai limits the rate of requests (429): no. Try again in 12 s"
        );
        assert_eq!(
            says(529, None),
            "openai is overloaded or down (529): no. Try again later, or choose another model"
        );
        assert_eq!(says(400, None), "openai refused the request (400): no");
        assert_eq!(says(402, None), "openai wants to be paid first (402): no");
    }
}
