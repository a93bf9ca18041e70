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
    pub install_for: Option<InstallFor>,
    pub options_section: Option<String>,
    pub missing_when: Vec<String>,
    pub least_version: Option<u32>,
    pub version: Option<Vec<String>>,
    pub adds_only: bool,
    pub only_with_marker: bool,
    pub on_save_sources: Vec<String>,
    pub check_progress: Option<String>,
    pub ready_messages: Vec<String>,
    pub blind_to_disk: bool,
    pub rename_at_definition: bool,
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
    languages: BTreeMap<String, Vec<String>>,
    names: BTreeMap<String, Vec<String>>,
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
    by_extension: HashMap<String, String>,
    by_name: HashMap<String, String>,
}

static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| {
    // Part of the program: a test reads it, so it can't fail for a user.
    let file: File = toml::from_str(include_str!("catalogue.toml"))
        .expect("the built-in catalogue is well-formed");
    Catalogue {
        servers: file.server,
        aside: file.aside,
        by_extension: inverted(file.languages),
        by_name: inverted(file.names),
    }
});

fn inverted(lists: BTreeMap<String, Vec<String>>) -> HashMap<String, String> {
    lists
        .into_iter()
        .flat_map(|(language, keys)| keys.into_iter().map(move |key| (key, language.clone())))
        .collect()
}

static UNKNOWN: LazyLock<Traits> = LazyLock::new(Traits::default);

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

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_entry_is_whole() {
        let mut names = HashSet::new();
        let known: HashSet<&String> = CATALOGUE
            .by_extension
            .values()
            .chain(CATALOGUE.by_name.values())
            .collect();
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
            let mut commands = HashSet::new();
            assert!(config.commands().all(|one| commands.insert(one)), "{name}");
            assert!(traits.install.is_some(), "{name} can't be installed");
            assert!(config.ready.is_some(), "{name}: when is it ready?");
            assert!(!config.languages.is_empty(), "{name} is for nothing");
            for language in &config.languages {
                assert!(known.contains(language), "{name}: {language} has no files");
            }
        }
        assert!(names.len() >= 30);
        let servers = || CATALOGUE.servers.iter();
        let by_language = |language: &str| {
            let serves =
                move |server: &&Server| server.config.languages.iter().any(|one| one == language);
            servers()
                .filter(serves)
                .any(|server| !server.traits.adds_only)
        };
        for language in known.into_iter().chain(&CATALOGUE.aside) {
            assert!(by_language(language), "nothing knows {language}");
        }
    }

    /// A key that no struct has would be forgotten without a word.
    #[test]
    fn every_key_of_an_entry_is_known() {
        const KEYS: [&str; 24] = [
            "name",
            "command",
            "alternatives",
            "languages",
            "root_markers",
            "settings",
            "initialization_options",
            "env",
            "ready",
            "start",
            "enabled",
            "install",
            "install_for",
            "options_section",
            "missing_when",
            "least_version",
            "version",
            "adds_only",
            "only_with_marker",
            "on_save_sources",
            "check_progress",
            "ready_messages",
            "blind_to_disk",
            "rename_at_definition",
        ];
        let file: toml::Table = toml::from_str(include_str!("catalogue.toml")).expect("TOML");
        for server in file["server"].as_array().expect("servers") {
            for key in server.as_table().expect("a table").keys() {
                assert!(KEYS.contains(&key.as_str()), "{}: {key}", server["name"]);
            }
        }
    }

    #[test]
    fn no_file_is_of_two_languages() {
        let file: File = toml::from_str(include_str!("catalogue.toml")).expect("the catalogue");
        for lists in [file.languages, file.names] {
            let mut seen = HashSet::new();
            for (language, keys) in &lists {
                for key in keys {
                    assert!(seen.insert(key), "{key} is {language} and something else");
                }
            }
        }
    }

    #[test]
    fn languages_by_name() {
        for (path, expected) in [
            ("/a/lib.rs", Some("rust")),
            ("/a/LIB.RS", Some("rust")),
            ("/a/x.tsx", Some("typescriptreact")),
            ("/a/x.pyi", Some("python")),
            ("/a/Makefile", Some("makefile")),
            ("/a/Dockerfile", Some("dockerfile")),
            ("/a/x.Dockerfile", Some("dockerfile")),
            ("/a/CMakeLists.txt", Some("cmake")),
            ("/a/lists.txt", None),
            ("/a/tsconfig.json", Some("jsonc")),
            ("/a/.bashrc", Some("shellscript")),
            ("/a/x.unknown", None),
            ("/", None),
        ] {
            assert_eq!(language_of(Path::new(path)), expected, "{path}");
        }
    }

    #[test]
    fn who_comes_first() {
        for (language, expected) in [
            ("rust", "rust-analyzer"),
            ("python", "pyright"),
            ("typescript", "deno"),
            ("go", "gopls"),
            ("cpp", "clangd"),
            ("java", "jdtls"),
        ] {
            let first = CATALOGUE
                .servers
                .iter()
                .find(|server| server.config.languages.iter().any(|one| one == language))
                .map(|server| server.name.as_str());
            assert_eq!(first, Some(expected), "{language}");
        }
    }

    #[test]
    fn users_add_and_override() {
        let user: Servers = toml::from_str(
            "[rust-analyzer.settings.rust-analyzer]\ncargo.features = \"all\"\n[mine]\ncommand = [\"mine\"]\nlanguages = [\"rust\"]\n\
             [clangd]\ncommand = [\"my-clangd\"]",
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
        let clangd: Vec<_> = servers["clangd"].commands().collect();
        assert_eq!(clangd, [["my-clangd"]], "who names one means no other");
        assert_eq!(servers["clangd"].languages.len(), 5);
        assert_eq!(install_command("mine"), None);
        assert_eq!(install_command("ty"), Some("pip install ty"));
        assert!(rank("pyright") < rank("ty") && rank("ty") < rank("mine"));
    }

    #[test]
    fn a_stub_says_for_which_toolchain() {
        let with = |install| NotBehindIt {
            install: Some(install),
        };
        let general = "rustup component add rust-analyzer rust-src";
        for (said, expected) in [
            (
                "error: Unknown binary 'rust-analyzer' in official toolchain 'nightly-x86_64-unknown-linux-gnu'.\n\nStack backtrace:",
                Some(format!(
                    "{general} --toolchain nightly-x86_64-unknown-linux-gnu"
                )),
            ),
            (
                "error: 'rust-analyzer' is not installed for the toolchain '1.80'.\nTo install, run `rustup component add rust-analyzer`",
                Some(format!("{general} --toolchain 1.80")),
            ),
            (
                "error: Unknown binary 'rust-analyzer'",
                Some(general.to_owned()),
            ),
            ("error: no such subcommand", None),
        ] {
            assert_eq!(
                traits("rust-analyzer").missing(said),
                expected.map(with),
                "{said}"
            );
        }
        assert_eq!(
            traits("tsc").missing("error TS5023: Unknown compiler option '--lsp'."),
            Some(with("npm install -g typescript@7".to_owned()))
        );
    }
}
