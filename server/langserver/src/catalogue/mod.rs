//! The built-in catalogue of language servers: data in `catalogue.toml`, read once. It starts nothing and looks for
//! nothing on the machine.

mod own_folder;
mod survey;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    path::Path,
    sync::LazyLock,
};

use serde::Deserialize;

pub(crate) use self::own_folder::make as make_own_folder;
pub use self::survey::{Presence, Surveyed, survey};

pub use crate::config::Ready;
use crate::{
    config::{ServerConfig, Servers},
    server::{NotFound, find_program},
};

/// What is known of a server beyond its configuration.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Traits {
    pub install: Option<String>,
    pub install_for: Option<InstallFor>,
    pub options_section: Option<String>,
    pub missing_when: Vec<String>,
    pub least_version: Option<u32>,
    pub version: Option<Vec<String>>,
    pub adds_only: bool,
    pub only_with_marker: bool,
    pub own_folder: Option<String>,
    pub on_save_sources: Vec<String>,
    pub check_progress: Option<String>,
    pub ready_messages: Vec<String>,
    pub dead_messages: Vec<String>,
    pub blind_to_disk: bool,
    pub looks_at_save: Vec<String>,
    pub rename_at_definition: bool,
    pub reads_disk: bool,
    pub silent_when_clean: bool,
    pub whole_with: Vec<String>,
    pub whole_by_argument: Option<String>,
    pub whole_note: Option<String>,
}

/// How a server is installed for the one toolchain that it was looked for in.
#[derive(Debug, Deserialize)]
pub(crate) struct InstallFor {
    after: String,
    command: String,
}

/// A program is there, and the server is not behind it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NotBehindIt {
    pub install: Option<String>,
}

impl Traits {
    /// If what a program printed says that the server is not behind it: how that is installed.
    pub fn missing(&self, said: &str) -> Option<NotBehindIt> {
        let is_missing = self.missing_when.iter().any(|sign| said.contains(sign));
        is_missing.then(|| NotBehindIt {
            install: self.install_after(said),
        })
    }

    fn install_after(&self, said: &str) -> Option<String> {
        let named = self.install_for.as_ref().and_then(|install| {
            let (_, rest) = said.split_once(&format!("{}'", install.after))?;
            let (name, _) = rest.split_once('\'')?;
            Some(install.command.replace("{}", name))
        });
        named.or_else(|| self.install.clone())
    }
}

#[derive(Deserialize)]
struct File {
    aside: Vec<String>,
    signatures_say_all: Vec<String>,
    languages: BTreeMap<String, Vec<String>>,
    names: BTreeMap<String, Vec<String>>,
    called: BTreeMap<String, Vec<String>>,
    server: Vec<Server>,
}

#[derive(Deserialize)]
struct Server {
    name: String,
    #[serde(flatten)]
    config: ServerConfig,
    #[serde(flatten)]
    traits: Traits,
}

struct Catalogue {
    servers: Vec<Server>,
    aside: Vec<String>,
    signatures_say_all: Vec<String>,
    by_extension: HashMap<String, String>,
    by_name: HashMap<String, String>,
    by_call: HashMap<String, String>,
}

static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| {
    // Part of the program: a test reads it, so it can't fail for a user.
    let file: File = toml::from_str(include_str!("catalogue.toml"))
        .expect("the built-in catalogue is well-formed");
    Catalogue {
        servers: file.server,
        aside: file.aside,
        signatures_say_all: file.signatures_say_all,
        by_extension: inverted(file.languages),
        by_name: inverted(file.names),
        by_call: inverted(file.called),
    }
});

fn inverted(lists: BTreeMap<String, Vec<String>>) -> HashMap<String, String> {
    lists
        .into_iter()
        .flat_map(|(language, keys)| keys.into_iter().map(move |key| (key, language.clone())))
        .collect()
}

static UNKNOWN: LazyLock<Traits> = LazyLock::new(Traits::default);

/// Whether a function's signature says all that others may know of it in a language.
pub fn signatures_say_all(language: &str) -> bool {
    let all = &CATALOGUE.signatures_say_all;
    all.iter().any(|one| one == language)
}

/// The catalogue with a user's configuration over it.
pub fn merged(user: &Servers) -> Servers {
    let mut servers: Servers = CATALOGUE
        .servers
        .iter()
        .map(|server| (server.name.clone(), server.config.clone()))
        .collect();
    for (name, over) in user {
        let under = servers.remove(name).unwrap_or_default();
        servers.insert(name.clone(), under.merged_with(over));
    }
    servers
}

/// The names of all servers that are known without configuration.
pub fn names() -> impl Iterator<Item = &'static str> {
    CATALOGUE.servers.iter().map(|server| server.name.as_str())
}

/// Why none of a server's commands can be run, seen from a project's folder; `None`: one can.
pub fn why_not(config: &ServerConfig, folder: &Path) -> Option<String> {
    let mut why = None;
    for command in config.commands() {
        let search = config.env.get("PATH").map(Into::into);
        let reason = match find_program(&command[0], search, folder) {
            Ok(_) => return None,
            Err(NotFound::Unusable(reason)) => reason,
            Err(NotFound::Missing) => "was not found",
        };
        why.get_or_insert_with(|| format!("{} {reason}", command[0]));
    }
    why
}

/// The LSP language id of a file, by its name.
pub fn language_of(path: &Path) -> Option<&'static str> {
    let name = path.file_name()?.to_str()?;
    if let Some(language) = CATALOGUE.by_name.get(name) {
        return Some(language);
    }
    let extension = path.extension()?.to_str()?;
    let languages = &CATALOGUE.by_extension;
    languages
        .get(extension)
        .or_else(|| languages.get(&extension.to_ascii_lowercase()))
        .map(String::as_str)
}

/// The ids of all languages that a known server serves, each once.
pub fn languages() -> BTreeSet<&'static str> {
    let servers = CATALOGUE.servers.iter();
    let all = servers.flat_map(|server| &server.config.languages);
    all.map(String::as_str).collect()
}

/// The id of the language that is meant by something else: an id in other letters, an extension, what people call it.
pub fn language_called(name: &str) -> Option<&'static str> {
    let lower = name.trim().to_lowercase();
    if let Some(id) = languages().get(lower.as_str()) {
        return Some(id);
    }
    let Catalogue {
        by_extension,
        by_call,
        ..
    } = &*CATALOGUE;
    let id = by_extension.get(&lower).or_else(|| by_call.get(&lower));
    id.map(String::as_str)
}

/// Whether many a folder has some of a language without anyone programming in it, as YAML.
pub fn is_aside(language: &str) -> bool {
    CATALOGUE.aside.iter().any(|one| one == language)
}

/// The extensions of files in these languages, in no order.
pub(crate) fn extensions_of(languages: &[String]) -> impl Iterator<Item = &'static str> {
    CATALOGUE
        .by_extension
        .iter()
        .filter(move |(_, language)| languages.contains(language))
        .map(|(extension, _)| extension.as_str())
}

/// How a server is installed, if the catalogue knows it.
pub fn install_command(name: &str) -> Option<&'static str> {
    traits(name).install.as_deref()
}

/// How a server tells that its answers are whole, if the catalogue knows it.
pub(crate) fn ready(name: &str) -> Option<Ready> {
    let server = CATALOGUE
        .servers
        .iter()
        .find(|server| server.name == name)?;
    server.config.ready
}

pub(crate) fn traits(name: &str) -> &'static Traits {
    CATALOGUE
        .servers
        .iter()
        .find(|server| server.name == name)
        .map_or(&*UNKNOWN, |server| &server.traits)
}

/// The place of a server among those for its language: the catalogue's order, others after it.
pub(crate) fn rank(name: &str) -> usize {
    CATALOGUE
        .servers
        .iter()
        .position(|server| server.name == name)
        .unwrap_or(usize::MAX)
}

/// Servers in the order in which they are preferred: those that someone asked for by name before those that are merely
/// known, and those that only add to a server after all that know the language.
pub(crate) fn in_order(servers: Servers) -> Vec<(String, ServerConfig)> {
    let mut servers: Vec<_> = servers.into_iter().collect();
    servers.sort_by_key(|(name, config)| {
        let is_asked_for = config.enabled == Some(true);
        let adds_only = traits(name).adds_only && !is_asked_for;
        (!is_asked_for, adds_only, rank(name))
    });
    servers
}

#[cfg(test)]
mod tests;
