//! What was found, in the shape that `--json` shows.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use futures::StreamExt;
use langserver::{
    Servers,
    catalogue::{self, Presence, Surveyed},
};
use model::{Catalogue, KeySource, LocalServer, QUICKFIX};
use serde::Serialize;
use tokio_util::sync::CancellationToken;
use workspace::{Buffers, Edit, GlobQuery, Host, HostError, Reply, Workspace};

use crate::config::{self, Loaded, Reading};

/// A folder's files are looked through this long, and no more of them than this.
const LOOK: Duration = Duration::from_secs(5);
const FILES: usize = 100_000;
/// A server that has not introduced itself after this long does not start. So many are started side by side.
const UNTIL_IT_STARTS: Duration = Duration::from_secs(20);
const AT_ONCE: usize = 2;
/// A keyring that is locked asks the person, who may not be there.
const KEYRING: Duration = Duration::from_secs(10);
/// A language with less than one in so many of the files is not what the folder is written in.
const SHARE: usize = 10;

/// All that was found.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    pub version: &'static str,
    pub directory: PathBuf,
    pub configuration: Configuration,
    pub model: Model,
    /// Those of the folder's files, the most frequent first.
    pub languages: Vec<Language>,
    /// All that are known, those that are preferred first.
    pub language_servers: Vec<Server>,
    /// Whether all that this folder needs is there.
    pub ok: bool,
}

#[derive(Debug, Serialize)]
pub struct Configuration {
    pub files: Vec<ConfigFile>,
    pub warnings: Vec<String>,
}

#[derive(Debug, Serialize)]
pub struct ConfigFile {
    pub path: PathBuf,
    pub state: Reading,
}

/// The model that would be used.
#[derive(Debug, Serialize)]
pub struct Model {
    pub name: String,
    pub ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    pub providers: Vec<Provider>,
    /// Model servers that run here.
    pub local: Vec<Local>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Local {
    pub name: &'static str,
    /// The provider that it is.
    pub provider: String,
    pub base_url: String,
    pub models: Vec<String>,
}

#[derive(Debug, Serialize)]
pub struct Provider {
    pub name: String,
    /// `set`, `command`, `keyring`, `unneeded` or `missing`.
    pub key: &'static str,
    /// The variable that it is set in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variable: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A language of the folder.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Language {
    pub name: String,
    pub files: usize,
    /// Whether the folder is written in it, rather than having some of it.
    pub is_needed: bool,
    /// The server that serves it, or the one to install.
    pub server: String,
    /// Whether that is there, and starts if that was tried.
    pub ok: bool,
}

#[derive(Debug, Serialize)]
pub struct Server {
    pub name: String,
    pub languages: Vec<String>,
    /// `found`, `missing`, `unusable` or `disabled`.
    pub state: &'static str,
    pub command: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Why it is unusable, or what is there in its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub install: Option<String>,
    /// Where its command is configured, if it is not the catalogue's.
    #[serde(skip)]
    pub configured_at: Option<String>,
    /// Whether it starts, if that was tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<Start>,
}

#[derive(Debug, Serialize)]
pub struct Start {
    pub ok: bool,
    /// How long it took, or until it had failed.
    pub seconds: f64,
    /// How it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The last lines of its stderr.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub said: Vec<String>,
}

impl Report {
    /// Looks at everything; starts what this folder needs, if it is to.
    pub async fn of(folder: PathBuf, start: bool) -> Self {
        let loaded = config::load(std::slice::from_ref(&folder), &serde_json::Value::Null);
        let models = loaded.catalogue();
        let Loaded {
            config,
            warnings,
            files,
        } = loaded;
        let servers = catalogue::merged(&config.language_servers);
        let name = config.model.unwrap_or_else(|| models.default_model());
        let (surveyed, counts, local, problem) = tokio::join!(
            catalogue::survey(&servers, &folder),
            count(folder.clone()),
            models.local_servers(),
            problem(&name, &models),
        );
        let mut languages = languages(&counts, &surveyed);
        let mut language_servers: Vec<_> = surveyed.into_iter().map(Server::from).collect();
        if start {
            let needed: BTreeSet<&str> = languages
                .iter()
                .filter(|one| one.is_needed && one.ok)
                .map(|one| &*one.server)
                .collect();
            let needed = language_servers
                .iter_mut()
                .filter(|server| needed.contains(&*server.name));
            start_all(needed, &servers, &folder).await;
        }
        // What does not start serves nobody.
        let fails = |server: &Server| server.start.as_ref().is_some_and(|start| !start.ok);
        for server in language_servers.iter().filter(|server| fails(server)) {
            let served = languages.iter_mut().filter(|one| one.server == server.name);
            served.for_each(|one| one.ok = false);
        }
        let model = model(name, problem, &models, local);
        // What stands in a file that can't be read nobody knows: the rest may be of no use without it.
        let is_read = files.iter().all(|(_, state)| *state != Reading::Unusable);
        let ok = is_read && model.ok && languages.iter().all(|one| one.ok || !one.is_needed);
        Self {
            version: env!("CARGO_PKG_VERSION"),
            directory: folder,
            configuration: Configuration {
                files: files
                    .into_iter()
                    .map(|(path, state)| ConfigFile { path, state })
                    .collect(),
                warnings,
            },
            model,
            languages,
            language_servers,
            ok,
        }
    }

    /// A server by its name.
    pub fn server(&self, name: &str) -> Option<&Server> {
        self.language_servers
            .iter()
            .find(|server| server.name == name)
    }
}

/// Starts servers, not all of them at once.
async fn start_all<'a>(
    needed: impl Iterator<Item = &'a mut Server>,
    servers: &Servers,
    folder: &Path,
) {
    let start = |server: &'a mut Server| async move {
        let Some(config) = servers.get(&server.name) else {
            return;
        };
        let mut config = config.clone();
        config.command.clone_from(&server.command);
        let trial = langserver::try_out(&server.name, &config, folder, UNTIL_IT_STARTS).await;
        server.start = Some(Start {
            ok: trial.failed.is_none(),
            seconds: (trial.took.as_secs_f64() * 1000.0).round() / 1000.0,
            reason: trial.failed,
            said: trial.said.lines().map(str::to_owned).collect(),
        });
    };
    futures::stream::iter(needed)
        .for_each_concurrent(AT_ONCE, start)
        .await;
}

/// Why the model that would be used can't be. The keyring is asked for its key alone, and may ask the person.
async fn problem(model: &str, models: &Catalogue) -> Option<String> {
    if model == QUICKFIX {
        return None;
    }
    if let Err(error) = models.resolve(model) {
        return Some(error.to_string());
    }
    let cancel = CancellationToken::new();
    let asked = models.ask_keyring(model, &cancel);
    match tokio::time::timeout(KEYRING, asked).await {
        Ok(error) => error.map(|error| error.to_string()),
        Err(_) => Some(format!(
            "the system's keyring has not given the key of {model} within {} s: unlock it",
            KEYRING.as_secs()
        )),
    }
}

fn model(
    name: String,
    problem: Option<String>,
    models: &Catalogue,
    local: Vec<LocalServer>,
) -> Model {
    let providers = models
        .provider_states()
        .into_iter()
        .map(|state| Provider {
            name: state.name,
            key: match state.key {
                KeySource::Variable(_) => "set",
                KeySource::Command => "command",
                KeySource::Keyring => "keyring",
                KeySource::Unneeded => "unneeded",
                KeySource::Missing => "missing",
            },
            variable: match state.key {
                KeySource::Variable(name) => Some(name),
                _ => None,
            },
            problem: state.problem,
        })
        .collect();
    Model {
        name,
        ok: problem.is_none(),
        problem,
        providers,
        local: local
            .into_iter()
            .map(|server| Local {
                name: server.name,
                provider: server.provider,
                base_url: server.base_url,
                models: server.models,
            })
            .collect(),
    }
}

/// How many files of each language a folder has, as far as they are not ignored.
async fn count(folder: PathBuf) -> BTreeMap<&'static str, usize> {
    let workspace = Workspace::new(vec![folder], Buffers::new(), Arc::new(NoEditor));
    let cancel = CancellationToken::new();
    let timer = {
        let cancel = cancel.clone();
        tokio::spawn(async move {
            tokio::time::sleep(LOOK).await;
            cancel.cancel();
        })
    };
    let look = move || {
        let query = GlobQuery {
            limit: FILES,
            ..GlobQuery::new("*")
        };
        let found = workspace.glob(&query, &cancel).unwrap_or_default();
        let mut counts = BTreeMap::new();
        for file in found.files {
            if let Some(language) = catalogue::language_of(Path::new(&file.path)) {
                *counts.entry(language).or_default() += 1;
            }
        }
        counts
    };
    let counts = tokio::task::spawn_blocking(look).await.unwrap_or_default();
    timer.abort();
    counts
}

fn languages(counts: &BTreeMap<&'static str, usize>, servers: &[Surveyed]) -> Vec<Language> {
    let of_code = |language: &str| !catalogue::is_aside(language);
    let code: usize = counts
        .iter()
        .filter(|(language, _)| of_code(language))
        .map(|(_, files)| files)
        .sum();
    let mut languages: Vec<Language> = counts
        .iter()
        .filter_map(|(language, &files)| {
            let is_for = |server: &&Surveyed| {
                server.is_general && server.languages.iter().any(|one| one == language)
            };
            let is_off = |server: &&Surveyed| server.presence == Presence::Disabled;
            let serve = |server: &&Surveyed| is_for(server) && !is_off(server);
            let found = servers
                .iter()
                .filter(serve)
                .find(|server| matches!(server.presence, Presence::Found { .. }));
            // Of those that are not there the preferred one is the one to have; none at all: nobody wants one here.
            let wanted = found.or_else(|| servers.iter().find(serve));
            let off = || servers.iter().find(|one| is_for(one) && is_off(one));
            let server = wanted.or_else(off)?;
            Some(Language {
                name: (*language).to_owned(),
                files,
                // Who has switched off all that there is needs none.
                is_needed: wanted.is_some() && of_code(language) && files * SHARE >= code,
                server: server.name.clone(),
                ok: found.is_some(),
            })
        })
        .collect();
    languages.sort_by_key(|one| (!one.is_needed, std::cmp::Reverse(one.files)));
    languages
}

impl From<Surveyed> for Server {
    fn from(server: Surveyed) -> Self {
        let (state, path, version, reason) = match server.presence {
            Presence::Found { path, version } => ("found", Some(path), version, None),
            Presence::Missing { instead } => {
                let reason = instead
                    .map(|path| format!("{} is there, and is not this server", path.display()));
                ("missing", None, None, reason)
            }
            Presence::Unusable(reason) => ("unusable", None, None, Some(reason)),
            Presence::Disabled => ("disabled", None, None, None),
        };
        Self {
            name: server.name,
            languages: server.languages,
            state,
            command: server.command,
            path,
            version,
            reason,
            install: (state != "found").then_some(server.install).flatten(),
            configured_at: server.configured_at,
            start: None,
        }
    }
}

/// Takes no edits: nothing is changed here.
struct NoEditor;

#[async_trait]
impl Host for NoEditor {
    async fn apply(&self, _edit: &Edit, _label: &str) -> Result<Reply, HostError> {
        Err(HostError::Unsupported)
    }
}
