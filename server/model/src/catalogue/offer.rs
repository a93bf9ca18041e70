//! What there is to choose from: the models that are known by name, those of the servers that were found on this machine,
//! and of each whether it could be asked now. No request is made here.

use std::collections::BTreeMap;

use reqwest::Url;

use super::builtin::{self, Builtin};
use super::{Api, Catalogue, Entry, QUICKFIX};
use crate::http::is_loopback;
use crate::key::Source;
use crate::local::{self, OLLAMA, Place};
use crate::{LocalServer, ModelError};

/// A model that could be chosen.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct ModelInfo {
    /// `provider/model`.
    pub id: String,
    /// Whether it could be asked now, as far as can be seen without asking.
    pub available: bool,
    /// If not: why, and what to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl Catalogue {
    /// All models that are known by name or that one of these servers has, those that can be asked first.
    pub fn models(&self, local: &[LocalServer]) -> Vec<ModelInfo> {
        let mut models: Vec<_> = self
            .providers()
            .iter()
            .flat_map(|entry| {
                let found = local.iter().find(|server| server.provider == entry.name);
                self.models_of(entry, found)
            })
            .collect();
        models.push(ModelInfo::new(QUICKFIX.to_owned(), None));
        models.sort_by_key(|model| !model.available);
        models
    }

    /// The model servers that run on this machine: where the providers are that need no key, as far as they are on it. It takes a
    /// fraction of a second at most.
    pub async fn local_servers(&self) -> Vec<LocalServer> {
        local::servers_at(self.places()).await
    }

    /// Where they could be. What the user has named comes first, so that one place has one name.
    fn places(&self) -> Vec<Place> {
        let mut places: Vec<Place> = Vec::new();
        let providers = self.providers();
        let (usual, named): (Vec<_>, Vec<_>) =
            providers.iter().partition(|entry| entry.user.is_none());
        for entry in named.into_iter().chain(usual) {
            let Ok(endpoint) = entry.endpoint(self) else {
                continue;
            };
            let is_local = is_loopback(&endpoint.base)
                && *endpoint.key.source() == Source::Unneeded
                && entry.api(self) != Api::Anthropic;
            let port = |url: &Url| url.port_or_known_default();
            let is_new = |(_, known): &Place| port(known) != port(&endpoint.base);
            if is_local && places.iter().all(is_new) {
                places.push((entry.name.to_owned(), endpoint.base));
            }
        }
        places
    }

    /// One model, whether or not anything is known of it.
    pub fn model(&self, id: &str) -> ModelInfo {
        let problem = (id != QUICKFIX).then(|| self.resolve(id).err()).flatten();
        ModelInfo::new(id.to_owned(), problem.map(|problem| problem.to_string()))
    }

    /// The known models whose names are most like this one, the nearest first.
    pub fn nearest(&self, given: &str) -> Vec<String> {
        const AT_MOST: usize = 3;
        const ALIKE: f64 = 0.4;
        let given = given.to_lowercase();
        let alike = |id: &str| {
            let (_, name) = id.split_once('/').unwrap_or(("", id));
            strsim::normalized_damerau_levenshtein(&given, id)
                .max(strsim::normalized_damerau_levenshtein(&given, name))
        };
        let models = self.models(&[]).into_iter();
        let mut near: Vec<(f64, String)> = models
            .map(|model| (alike(&model.id), model.id))
            .filter(|(alike, _)| *alike >= ALIKE)
            .collect();
        near.sort_by(|(one, _), (other, _)| other.total_cmp(one));
        let near = near.into_iter().take(AT_MOST);
        near.map(|(_, id)| id).collect()
    }

    fn models_of(&self, entry: &Entry, found: Option<&LocalServer>) -> Vec<ModelInfo> {
        let problem = match entry.endpoint(self) {
            Ok(endpoint) if *endpoint.key.source() == Source::Missing => {
                Some(endpoint.key.missing())
            }
            Ok(_) => None,
            Err(error) => Some(error),
        };
        let is_here = entry.base(self).is_ok_and(|base| is_loopback(&base));
        let needs_no_key = |builtin: &Builtin| builtin.key_env.is_none();
        let is_local = entry.builtin.is_some_and(needs_no_key);
        let mut models: BTreeMap<&str, Option<String>> = BTreeMap::new();
        let known = builtin::models(entry.name).into_iter();
        for name in known.flat_map(BTreeMap::keys) {
            let absent = match (is_local, is_here) {
                (false, _) => None,
                (true, true) => not_here(name, found),
                (true, false) => Some(format!(
                    "whether the server has it is not known: name it in [providers.{}.models]",
                    entry.name
                )),
            };
            models.insert(name, absent);
        }
        // The user knows what a server has, but whether Ollama runs here is seen.
        for name in entry.user.into_iter().flat_map(|user| user.models.keys()) {
            let is_seen = entry.name == OLLAMA && is_here;
            models.insert(name, is_seen.then(|| not_here(name, found)).flatten());
        }
        for name in found.into_iter().flat_map(LocalServer::names) {
            models.insert(name, None);
        }
        let info = |(name, absent): (&str, Option<String>)| {
            let why = problem.as_ref().map(ModelError::to_string).or(absent);
            ModelInfo::new(format!("{}/{name}", entry.name), why)
        };
        models.into_iter().map(info).collect()
    }
}

/// Why Ollama on this machine does not have a model, if it doesn't.
fn not_here(name: &str, found: Option<&LocalServer>) -> Option<String> {
    match found {
        Some(server) => (!server.names().any(|one| one == name))
            .then(|| format!("Ollama runs here and does not have it: `ollama pull {name}`")),
        None => Some(format!(
            "needs Ollama to run here and to have it: `ollama pull {name}`"
        )),
    }
}

impl ModelInfo {
    fn new(id: String, why: Option<String>) -> Self {
        Self {
            id,
            available: why.is_none(),
            why,
        }
    }
}
