//! Which models there are: the providers that are built in, those that the user's configuration adds or changes, and what
//! is known of their models. Nothing is asked of a server here, and no command is run.

mod builtin;
mod config;
mod offer;
mod state;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;

use self::builtin::Builtin;
pub use self::config::{Api, Cost, Long, ModelConfig, ProviderConfig, Thinking};
pub use self::offer::ModelInfo;
pub use self::state::{KeySource, ProviderState};
use crate::anthropic::Anthropic;
use crate::endpoint::Endpoint;
use crate::http::is_loopback;
use crate::key::{Keeper, Key, Keyring, Source};
use crate::openai_chat::OpenAiChat;
use crate::openai_responses::OpenAiResponses;
use crate::rest::Rest;
use crate::target::Target;
use crate::tls::Tls;
use crate::{ModelError, Provider, Secret};

/// The model that needs no key and no network. It lives with the agent; here is only its name.
pub const QUICKFIX: &str = "builtin/quickfix";

/// How long a provider may say nothing, unless told otherwise.
const IDLE: Duration = Duration::from_secs(120);

/// Reads the environment.
type Environment = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// The providers and their models.
#[derive(Clone)]
pub struct Catalogue {
    user: BTreeMap<String, ProviderConfig>,
    environment: Environment,
    keyring: Option<Arc<dyn Keyring>>,
    idle: Duration,
}

impl Catalogue {
    /// The built-in providers with the user's `[providers.*]` over them, and the environment over both.
    pub fn new(user: BTreeMap<String, ProviderConfig>) -> Self {
        Self::with_environment(user, |name| std::env::var(name).ok())
    }

    /// The same, with another environment than the process's own.
    pub fn with_environment(
        user: BTreeMap<String, ProviderConfig>,
        environment: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        Self {
            user,
            environment: Arc::new(environment),
            keyring: None,
            idle: IDLE,
        }
    }

    /// Looks for keys in this keyring as well, after all other places.
    #[must_use]
    pub fn with_keyring(mut self, keyring: Option<Arc<dyn Keyring>>) -> Self {
        self.keyring = keyring;
        self
    }

    /// Sets how long a provider may say nothing before a request is given up.
    #[must_use]
    pub fn idle_timeout(mut self, idle: Duration) -> Self {
        self.idle = idle;
        self
    }

    /// The model of that name (`provider/model`; the model's name may have slashes of its own), ready to be asked.
    pub fn resolve(&self, model: &str) -> Result<Arc<dyn Provider>, ModelError> {
        let Some((provider, name)) = model
            .split_once('/')
            .filter(|(provider, name)| !provider.is_empty() && !name.is_empty())
        else {
            return Err(self.bad_name(model));
        };
        let unknown = || match is_almost_builtin(model) {
            true => ModelError::NoSuchBuiltin {
                given: model.to_owned(),
                meant: QUICKFIX,
            },
            false => self.unknown(provider),
        };
        let entry = self.entry(provider).ok_or_else(unknown)?;
        let endpoint = entry.endpoint(self)?;
        if *endpoint.key.source() == Source::Missing {
            return Err(endpoint.key.missing());
        }
        let user = entry
            .user
            .and_then(|user| builtin::find(&user.models, name))
            .copied()
            .unwrap_or_default();
        let known = builtin::facts(provider, name).copied().unwrap_or_default();
        let named = ModelConfig {
            compact: builtin::is_small(name),
            ..ModelConfig::default()
        };
        let facts = user.over(named).over(known);
        let target = Target {
            id: model.to_owned(),
            model: name.to_owned(),
            facts,
            max_output: user.max_output,
            endpoint: Arc::new(endpoint),
        };
        Ok(match entry.api(self) {
            Api::Anthropic => Arc::new(Anthropic(target)),
            Api::OpenaiResponses => Arc::new(OpenAiResponses::new(target)),
            Api::OpenaiChat => Arc::new(OpenAiChat(target)),
        })
    }

    /// The model to use when none was chosen: of the first provider whose key is set, else [`QUICKFIX`].
    pub fn default_model(&self) -> String {
        // Whether a server that needs no key is there can't be seen from here.
        let able = |entry: &Entry| {
            matches!(
                entry.key_source(self),
                Source::Set(_) | Source::Command(_) | Source::Keyring(_)
            )
        };
        let chosen = self.builtin_providers().find(able);
        let model =
            chosen.and_then(|entry| Some(format!("{}/{}", entry.name, entry.default_model(self)?)));
        model.unwrap_or_else(|| QUICKFIX.to_owned())
    }

    /// Every provider: the built-in ones in their order, then the user's own.
    fn providers(&self) -> Vec<Entry<'_>> {
        let added = self
            .user
            .iter()
            .filter(|(name, _)| find_builtin(name).is_none());
        let added = added.map(|(name, user)| Entry {
            name,
            builtin: None,
            user: Some(user),
        });
        self.builtin_providers().chain(added).collect()
    }

    fn builtin_providers(&self) -> impl Iterator<Item = Entry<'_>> {
        let entry = |builtin: &'static Builtin| Entry {
            name: builtin.name,
            builtin: Some(builtin),
            user: self.user.get(builtin.name),
        };
        builtin::PROVIDERS.iter().map(entry)
    }

    fn entry<'a>(&'a self, name: &'a str) -> Option<Entry<'a>> {
        let (builtin, user) = (find_builtin(name), self.user.get(name));
        (builtin.is_some() || user.is_some()).then_some(Entry {
            name,
            builtin,
            user,
        })
    }

    fn bad_name(&self, given: &str) -> ModelError {
        let bare = given.trim_matches('/');
        let default = self.entry(bare).and_then(|entry| entry.default_model(self));
        let example = match (default, builtin::provider_of(bare)) {
            (None, None) if is_almost_builtin(bare) => QUICKFIX.to_owned(),
            (Some(model), _) => format!("{bare}/{model}"),
            (None, Some(provider)) => format!("{provider}/{bare}"),
            (None, None) => match self
                .user
                .get(bare)
                .and_then(|user| user.models.keys().next())
            {
                Some(model) => format!("{bare}/{model}"),
                None if self.entry(bare).is_some() => format!("{bare}/NAME"),
                None => "openai/gpt-5".to_owned(),
            },
        };
        ModelError::BadName {
            given: given.to_owned(),
            example,
        }
    }

    fn unknown(&self, name: &str) -> ModelError {
        let mut known: Vec<_> = self
            .providers()
            .iter()
            .map(|entry| entry.name.to_owned())
            .collect();
        known.sort_by_key(|known| strsim::damerau_levenshtein(known, name));
        ModelError::UnknownProvider {
            name: name.to_owned(),
            known,
        }
    }

    fn variable(&self, name: &str) -> Option<String> {
        (self.environment)(name)
            .map(|value| value.trim().to_owned())
            .filter(|value| !value.is_empty())
    }
}

/// Whether a name that is none was probably to be that of the built-in model, or a part of it.
fn is_almost_builtin(given: &str) -> bool {
    const SLIPS: usize = 2;
    let (provider, name) = QUICKFIX.split_once('/').unwrap_or((QUICKFIX, ""));
    let given = given.to_lowercase();
    let is_near = |meant: &str| strsim::damerau_levenshtein(&given, meant) <= SLIPS;
    [QUICKFIX, provider, name].into_iter().any(is_near) || given.starts_with("builtin/")
}

fn find_builtin(name: &str) -> Option<&'static Builtin> {
    builtin::PROVIDERS
        .iter()
        .find(|builtin| builtin.name == name)
}

/// One provider: what is built in, and what the user says over it.
struct Entry<'a> {
    name: &'a str,
    builtin: Option<&'static Builtin>,
    user: Option<&'a ProviderConfig>,
}

impl Entry<'_> {
    /// The wire format that is spoken with it.
    fn api(&self, catalogue: &Catalogue) -> Api {
        let user = self.user.and_then(|user| user.api);
        user.unwrap_or_else(|| match self.builtin.map(|builtin| builtin.api) {
            // OpenAI itself gives thoughts back only in Responses. What else stands where its address was changed to (a
            // gateway, a server on this machine) speaks Chat Completions, and Responses only perhaps.
            Some(Api::OpenaiResponses) if !self.is_openai(catalogue) => Api::OpenaiChat,
            Some(api) => api,
            None => Api::OpenaiChat,
        })
    }

    /// Whether its address is OpenAI's own, of any region.
    fn is_openai(&self, catalogue: &Catalogue) -> bool {
        let (text, _) = self.address(catalogue);
        let url = text.and_then(|text| text.trim().parse::<Url>().ok());
        let host = url.as_ref().and_then(Url::host_str);
        host.is_some_and(|host| host == "api.openai.com" || host.ends_with(".api.openai.com"))
    }

    /// The model that is meant when only the provider is said.
    fn default_model(&self, catalogue: &Catalogue) -> Option<&'static str> {
        let builtin = self.builtin?;
        let over_chat = builtin
            .chat_model
            .filter(|_| self.api(catalogue) == Api::OpenaiChat);
        over_chat.or(builtin.default_model)
    }

    fn endpoint(&self, catalogue: &Catalogue) -> Result<Endpoint, ModelError> {
        let base = self.base(catalogue)?;
        let source = match self.key_source(catalogue) {
            // A server on this machine seldom wants a key; if it does, it will say so.
            Source::Missing if is_loopback(&base) => Source::Unneeded,
            source => source,
        };
        let tls = self.user.map(Tls::of).transpose();
        let tls = tls.map(Option::unwrap_or_default).and_then(|tls| {
            tls.check()?;
            Ok(tls)
        });
        let tls = tls.map_err(|wrong| ModelError::Config {
            provider: self.name.to_owned(),
            key: wrong.key.to_owned(),
            reason: wrong.reason,
        })?;
        Ok(Endpoint {
            provider: self.name.to_owned(),
            base,
            tls,
            key: Key::new(self.name, self.key_env().map(str::to_owned), source),
            headers: self
                .user
                .map(|user| user.headers.clone())
                .unwrap_or_default(),
            idle: catalogue.idle,
            rest: Rest::default(),
        })
    }

    /// Its address as it is written, and what that is written in.
    fn address(&self, catalogue: &Catalogue) -> (Option<String>, &'static str) {
        let variable = self.builtin.and_then(|builtin| builtin.base_url_env);
        let from_variable = variable.and_then(|name| catalogue.variable(name));
        let place = match (&from_variable, variable) {
            (Some(_), Some(variable)) => variable,
            _ => "base_url",
        };
        let text = from_variable
            .or_else(|| self.user.and_then(|user| user.base_url.clone()))
            .or_else(|| self.builtin.map(|builtin| builtin.base_url.to_owned()));
        (text, place)
    }

    fn base(&self, catalogue: &Catalogue) -> Result<Url, ModelError> {
        let (text, place) = self.address(catalogue);
        let wrong = |reason: String| ModelError::Config {
            provider: self.name.to_owned(),
            key: place.to_owned(),
            reason,
        };
        let Some(text) = text else {
            return Err(wrong(
                "is missing: where is this provider? For instance http://localhost:8080/v1"
                    .to_owned(),
            ));
        };
        // Never the text itself: it may hold a password.
        let mut url: Url = text
            .trim()
            .parse()
            .map_err(|error| wrong(format!("is no address: {error}")))?;
        if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
            return Err(wrong(
                "must begin with http:// or https:// and name a host".to_owned(),
            ));
        }
        // Messages are under /v1 of the address, OpenAI's formats beside it. Both ways of writing it are understood where it
        // is clear what is meant.
        let has_version = url.path().trim_end_matches('/').ends_with("/v1");
        let is_anthropics = self
            .builtin
            .is_some_and(|builtin| builtin.api == Api::Anthropic);
        if let Ok(mut segments) = url.path_segments_mut() {
            match self.api(catalogue) {
                Api::Anthropic if has_version => {
                    segments.pop_if_empty().pop();
                }
                Api::OpenaiChat | Api::OpenaiResponses if is_anthropics && !has_version => {
                    segments.pop_if_empty().push("v1");
                }
                _ => {}
            }
        }
        Ok(url)
    }

    fn key_env(&self) -> Option<&str> {
        self.user
            .and_then(|user| user.api_key_env.as_deref())
            .or(self.builtin.and_then(|builtin| builtin.key_env))
    }

    /// What the user names comes before what is built in.
    fn key_source(&self, catalogue: &Catalogue) -> Source {
        let set = |name: &str| {
            catalogue
                .variable(name)
                .map(|value| Source::Set(Secret::new(value)))
        };
        let named = self.user.and_then(|user| user.api_key_env.as_deref());
        let command = self.user.and_then(|user| user.api_key_command.clone());
        let builtin = self.builtin.and_then(|builtin| builtin.key_env);
        let brings_own = self.user.is_some_and(|user| {
            user.headers.keys().any(|name| {
                ["authorization", "api-key", "x-api-key"]
                    .iter()
                    .any(|key| name.eq_ignore_ascii_case(key))
            })
        });
        named
            .and_then(set)
            .or_else(|| command.map(Source::Command))
            .or_else(|| builtin.filter(|_| named.is_none()).and_then(set))
            .or_else(|| {
                let keyring = catalogue.keyring.as_ref();
                let keeper = keyring.filter(|keyring| keyring.has(self.name));
                keeper.map(|keyring| Source::Keyring(Keeper(Arc::clone(keyring))))
            })
            .unwrap_or(if self.key_env().is_some() && !brings_own {
                Source::Missing
            } else {
                Source::Unneeded
            })
    }
}

#[cfg(test)]
mod tests;
