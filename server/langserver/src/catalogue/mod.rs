//! The built-in catalogue of language servers: data in `catalogue.toml`, read once. It starts nothing and looks for
//! nothing on the machine.

use std::{
    collections::{BTreeMap, HashMap},
    path::Path,
    sync::LazyLock,
};

use serde::Deserialize;

pub use crate::config::Ready;
use crate::config::{ServerConfig, Servers};

/// What is known of a server beyond its configuration.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Traits {
    pub install: Option<String>,
    pub options_section: Option<String>,
    pub missing_when: Vec<String>,
    pub on_save_sources: Vec<String>,
    pub check_progress: Option<String>,
}

#[derive(Deserialize)]
struct File {
    languages: BTreeMap<String, Vec<String>>,
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
    language_of: HashMap<String, String>,
}

static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| {
    // Part of the program: a test reads it, so it can't fail for a user.
    let file: File = toml::from_str(include_str!("catalogue.toml"))
        .expect("the built-in catalogue is well-formed");
    let language_of = file
        .languages
        .into_iter()
        .flat_map(|(language, extensions)| {
            extensions
                .into_iter()
                .map(move |extension| (extension, language.clone()))
        })
        .collect();
    Catalogue {
        servers: file.server,
        language_of,
    }
});

static UNKNOWN: Traits = Traits {
    install: None,
    options_section: None,
    missing_when: Vec::new(),
    on_save_sources: Vec::new(),
    check_progress: None,
};

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

/// The LSP language id of a file, by its extension.
pub fn language_of(path: &Path) -> Option<&'static str> {
    let extension = path.extension()?.to_str()?;
    let languages = &CATALOGUE.language_of;
    languages
        .get(extension)
        .or_else(|| languages.get(&extension.to_ascii_lowercase()))
        .map(String::as_str)
}

/// How a server is installed, if the catalogue knows it.
pub fn install_command(name: &str) -> Option<&'static str> {
    traits(name).install.as_deref()
}

pub(crate) fn traits(name: &str) -> &'static Traits {
    CATALOGUE
        .servers
        .iter()
        .find(|server| server.name == name)
        .map_or(&UNKNOWN, |server| &server.traits)
}

/// The place of a server among those for its language: the catalogue's order, others after it.
pub(crate) fn rank(name: &str) -> usize {
    CATALOGUE
        .servers
        .iter()
        .position(|server| server.name == name)
        .unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_entry_is_whole() {
        let mut names = HashSet::new();
        let known: HashSet<&String> = CATALOGUE.language_of.values().collect();
        for Server {
            name,
            config,
            traits,
        } in &CATALOGUE.servers
        {
            assert!(names.insert(name), "{name} is there twice");
            assert!(
                !config.command.is_empty() && !config.root_markers.is_empty(),
                "{name}"
            );
            assert!(traits.install.is_some(), "{name} can't be installed");
            assert!(
                config
                    .languages
                    .iter()
                    .all(|language| known.contains(language)),
                "{name}: {:?}",
                config.languages
            );
        }
        assert!(names.len() >= 6);
    }

    #[test]
    fn languages_by_extension() {
        for (path, expected) in [
            ("/a/lib.rs", Some("rust")),
            ("/a/LIB.RS", Some("rust")),
            ("/a/x.tsx", Some("typescriptreact")),
            ("/a/x.pyi", Some("python")),
            ("/a/Makefile", None),
            ("/a/x.unknown", None),
        ] {
            assert_eq!(language_of(Path::new(path)), expected, "{path}");
        }
    }

    #[test]
    fn users_add_and_override() {
        let user: Servers = toml::from_str(
            "[rust-analyzer.settings.rust-analyzer]\ncargo.features = \"all\"\n[mine]\ncommand = [\"mine\"]\nlanguages = [\"rust\"]",
        )
        .expect("a table");
        let servers = merged(&user);
        let settings = &servers["rust-analyzer"].settings["rust-analyzer"];
        assert_eq!(settings["cargo"]["features"], "all");
        assert_eq!(
            settings["cachePriming"]["enable"], false,
            "the catalogue's own is still there"
        );
        assert_eq!(servers["mine"].command, ["mine"]);
        assert_eq!(install_command("mine"), None);
        assert_eq!(install_command("ty"), Some("pip install ty"));
        assert!(rank("pyright") < rank("ty") && rank("ty") < rank("mine"));
    }
}
