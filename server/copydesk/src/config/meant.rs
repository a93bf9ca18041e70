//! Holds the whole configuration against what there is: servers and tools that nobody knows, programs that are not there,
//! addresses that are none, variables that are not set. Each is one warning that says what was probably meant. It starts
//! and reaches nothing.

use std::path::Path;

use langserver::{ServerConfig, catalogue};
use model::{ProviderConfig, is_variable_name, wrong_file};
use serde_json::Value;
use tools::Registry;

use super::{Config, layer::Layer, written};

/// Takes out what can't count, and tells of it and of what will not work.
pub fn mend(config: &mut Config, layers: &[Layer], folder: &Path) -> Vec<String> {
    let places = Places(layers);
    let mut warnings = Vec::new();
    let mut hollow = Vec::new();
    for (name, server) in &mut config.language_servers {
        hollow.extend(written::hollow(name, &places));
        // What can't be run is as if nobody had named it.
        let program = server.command.first();
        if program.is_some_and(|program| program.trim().is_empty()) {
            server.command.clear();
        }
        let told = places.told(&["language_servers", name, "command"]);
        server.configured_at = told.filter(|_| !server.command.is_empty());
    }
    config
        .language_servers
        .retain(|name, server| match unknown(name, server) {
            None => true,
            Some(why) => {
                let place = places.of(&["language_servers", name]);
                warnings.push(format!("{place} is ignored: {why}"));
                false
            }
        });
    // Why one is ignored says more than what is wrong with a part of it.
    let kept = |name: &String| config.language_servers.contains_key(name);
    let hollow = hollow.into_iter().filter(|(name, _)| kept(name));
    warnings.extend(hollow.map(|(_, warning)| warning));
    for (name, server) in &config.language_servers {
        warnings.extend(written::languages(name, server, &places));
    }
    let enabled = config.language_servers.iter();
    for (name, server) in enabled.filter(|(_, server)| server.is_enabled()) {
        if let Some(why) = catalogue::why_not(server, folder) {
            let place = places.of(&["language_servers", name, "command"]);
            warnings.push(format!("{place}: {why}"));
        }
    }
    let registry = Registry::builtin();
    for name in config.agent.tools.keys() {
        if registry.names().all(|known| known != name) {
            let place = places.of(&["agent", "tools", name]);
            let hint = meant(name, registry.names()).unwrap_or_else(|| {
                let names: Vec<&str> = registry.names().collect();
                format!("The tools are {}.", names.join(", "))
            });
            warnings.push(format!("{place}: there is no tool `{name}`. {hint}"));
        }
    }
    for (name, provider) in &config.providers {
        if let Some(why) = address(provider) {
            let place = places.of(&["providers", name, "base_url"]);
            warnings.push(format!("{place} {why}"));
        }
        if let Some((file, why)) = wrong_file(provider) {
            let place = places.of(&["providers", name, file]);
            warnings.push(format!("{place}: {why}"));
        }
        if let Some(why) = key(provider) {
            let place = places.of(&["providers", name, "api_key_env"]);
            warnings.push(format!("{place}{why}"));
        }
    }
    warnings
}

/// Where things stand.
pub struct Places<'a>(&'a [Layer]);

impl Places<'_> {
    /// `path/config.toml:12: key`, of the last place that says something of it, and that is what counts.
    pub fn of(&self, key: &[&str]) -> String {
        let place = self
            .told(key)
            .map_or_else(String::new, |place| place + ": ");
        format!("{place}`{}`", key.join("."))
    }

    /// `path/config.toml:12`, the same place.
    pub fn told(&self, key: &[&str]) -> Option<String> {
        let names: Vec<String> = key.iter().map(|&part| part.to_owned()).collect();
        let mut layers = self.0.iter().rev();
        let layer = layers.find(|layer| layer.value(key).is_some())?;
        Some(layer.place(&names))
    }

    /// What is said there.
    pub fn value(&self, key: &[&str]) -> Option<&Value> {
        self.0.iter().rev().find_map(|layer| layer.value(key))
    }
}

/// Why a server can't be one: the catalogue does not know it, and it is not told of in full.
fn unknown(name: &str, server: &ServerConfig) -> Option<String> {
    let is_known = catalogue::names().any(|known| known == name);
    let lacks = match (server.commands().next(), server.languages.is_empty()) {
        _ if is_known => return None,
        (Some(_), false) => return None,
        (Some(_), true) => "`languages` (LSP's ids, as in [\"rust\"])",
        (None, false) => "`command`",
        (None, true) => "`command` and `languages`",
    };
    Some(match meant(name, catalogue::names()) {
        Some(hint) => format!("no server of this name is known. {hint}"),
        None => {
            format!("no server of this name is known, and one of your own needs {lacks} as well")
        }
    })
}

/// What was probably meant by a name.
pub fn meant<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    const ALIKE: f64 = 0.7;
    let name = name.to_lowercase().replace('_', "-");
    let alike = |known: &str| strsim::normalized_damerau_levenshtein(&name, known);
    let (how, known) = known
        .map(|known| (alike(known), known))
        .max_by(|one, other| one.0.total_cmp(&other.0))?;
    (how >= ALIKE).then(|| format!("Did you mean `{known}`?"))
}

/// What is wrong with an address. Never the address itself, if it may hold a password.
fn address(provider: &ProviderConfig) -> Option<String> {
    let text = provider.base_url.as_deref()?.trim();
    if text.starts_with("http://") || text.starts_with("https://") {
        return None;
    }
    let host = text.split(['/', ':']).next().unwrap_or_default();
    let is_here = host == "localhost" || host.starts_with("127.");
    let scheme = if is_here { "http" } else { "https" };
    let hint = match text.contains(['@', ' ']) || text.contains("//") || text.is_empty() {
        true => String::new(),
        false => format!(". Did you mean `{scheme}://{text}`?"),
    };
    Some(format!("must begin with http:// or https://{hint}"))
}

/// What is wrong with the name of a key's variable. Some write the key itself there, which is never shown.
fn key(provider: &ProviderConfig) -> Option<String> {
    let name = provider.api_key_env.as_deref()?;
    let is_set = std::env::var(name).is_ok_and(|value| !value.trim().is_empty());
    if !is_set && !is_variable_name(name) {
        return Some(" must be the name of a variable of the environment (capital letters, digits and _), never the key itself".into());
    }
    let hint = "is not set in the environment that copydesk was started from";
    (!is_set && provider.api_key_command.is_none()).then(|| format!(": {name} {hint}"))
}

#[cfg(test)]
mod tests {
    use super::super::{Config, check, merge};
    use super::*;

    /// The warnings of these files, later over earlier; and the names of the servers that are left.
    fn check(files: &[&str], expected: &[&str]) -> Vec<String> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut warnings = Vec::new();
        let mut whole = serde_json::json!({});
        let mut layers = Vec::new();
        for (number, text) in files.iter().enumerate() {
            let path = folder.path().join(number.to_string());
            std::fs::write(&path, text).expect("written");
            let layer = Layer::file(&path, &mut warnings).expect("readable");
            merge(&mut whole, check::clean(&layer, &mut warnings));
            layers.push(layer);
        }
        let mut config: Config = serde_json::from_value(whole).expect("a configuration");
        warnings.extend(mend(&mut config, &layers, folder.path()));
        let folder = format!("{}/", folder.path().display());
        let shown: Vec<String> = warnings
            .iter()
            .map(|warning| warning.replace(&folder, ""))
            .collect();
        assert_eq!(shown, expected, "{files:?}");
        config.language_servers.into_keys().collect()
    }

    #[test]
    fn servers_that_nobody_knows() {
        let left = check(
            &[
                "\n[language_servers.rust-analyser]\nsettings = { a = 1 }\n[language_servers.rust_analyzer]\n",
            ],
            &[
                "0:2: `language_servers.rust-analyser` is ignored: no server of this name is known. Did you mean `rust-analyzer`?",
                "0:4: `language_servers.rust_analyzer` is ignored: no server of this name is known. Did you mean `rust-analyzer`?",
            ],
        );
        assert_eq!(left, [""; 0]);
        let lacks = |what: &str| {
            format!(
                "0:1: `language_servers.mine` is ignored: no server of this name is known, and one of your own needs {what} as well"
            )
        };
        for (text, what) in [
            ("start = \"open\"", "`command` and `languages`"),
            (
                "command = [\"sh\"]",
                "`languages` (LSP's ids, as in [\"rust\"])",
            ),
            ("languages = [\"rust\"]", "`command`"),
        ] {
            let text = format!("[language_servers.mine]\n{text}\n");
            check(&[&text], &[&lacks(what)]);
        }
        // One part of it may stand elsewhere.
        let left = check(
            &[
                "[language_servers.mine]\ncommand = [\"sh\"]\n",
                "[language_servers.mine]\nlanguages = [\"rust\"]\n[language_servers.rust-analyzer]\nstart = \"open\"\n",
            ],
            &[],
        );
        assert_eq!(left, ["mine", "rust-analyzer"]);
        // Who tells of it in full means it, whatever it is like.
        let whole =
            "[language_servers.rust-analyser]\ncommand = [\"sh\"]\nlanguages = [\"rust\"]\n";
        assert_eq!(check(&[whole], &[]), ["rust-analyser"]);
    }

    #[test]
    fn commands_that_are_not_there() {
        check(
            &[
                "[language_servers.gopls]\ncommand = [\"no-such-gopls\"]\n",
                "[language_servers.gopls]\nstart = \"use\"\n[language_servers.pyright]\ncommand = [\".\"]\nenabled = false\n",
            ],
            &["0:2: `language_servers.gopls.command`: no-such-gopls was not found"],
        );
        check(
            &["[language_servers.gopls]\ncommand = [\"./0\"]\n"],
            &["0:2: `language_servers.gopls.command`: ./0 is not executable"],
        );
        check(
            &[
                "[language_servers.gopls]\ncommand = [\"no-such-gopls\"]\nalternatives = [[\"sh\"]]\n",
            ],
            &[],
        );
    }

    #[test]
    fn lists_with_nothing_in_them() {
        let takes = [
            "It takes a program and its arguments, as in [\"clangd\", \"--log=error\"]",
            "It takes commands, as in [[\"clangd-19\"], [\"clangd\"]]",
            "It takes LSP's ids, as in [\"rust\"]",
        ];
        let empty = "is empty, and counts as if it were not there.";
        let hole = "has an empty text in it.";
        for (line, list, what, due) in [
            ("command = []", "command", empty, takes[0]),
            ("command = [\"\"]", "command", hole, takes[0]),
            ("command = [\" \"]", "command", hole, takes[0]),
            ("command = [\"sh\", \" \"]", "command", hole, takes[0]),
            ("alternatives = [[]]", "alternatives", hole, takes[1]),
            ("languages = []", "languages", empty, takes[2]),
            ("languages = [\"go\", \"\"]", "languages", hole, takes[2]),
        ] {
            let told = format!("0:3: `language_servers.gopls.{list}` {what} {due}");
            let text = format!("[language_servers.gopls]\nstart = \"use\"\n{line}\n");
            assert_eq!(check(&[&text], &[&told]), ["gopls"], "{line}");
        }
        // One that is ignored for it is told of once.
        let text = "[language_servers.mine]\ncommand = [\"\"]\nlanguages = [\"go\"]\n";
        let told = "0:1: `language_servers.mine` is ignored: no server of this name is known, and one of your own needs `command` as well";
        check(&[text], &[told]);
    }

    #[test]
    fn languages_that_no_file_has() {
        let mine = |languages: &str| {
            format!("[language_servers.mine]\ncommand = [\"sh\"]\nlanguages = [{languages}]\n")
        };
        for (given, meant) in [
            ("Python", "python"),
            ("c++", "cpp"),
            ("C#", "csharp"),
            ("rs", "rust"),
            ("golang", "go"),
            ("pyhton", "python"),
            ("typscript", "typescript"),
        ] {
            let told = format!(
                "0:3: `language_servers.mine.languages`: no file has the language id `{given}`. Did you mean `{meant}`?"
            );
            check(&[&mine(&format!("\"ada\", \"{given}\""))], &[&told]);
        }
        // What is like no other may be one that only an editor knows; and so may one beside its like.
        for languages in ["\"cobol\"", "\"json5\"", "\"sh\", \"shellscript\""] {
            check(&[&mine(languages)], &[]);
        }
    }

    /// Messages name the place of a command that was configured, and of no other.
    #[test]
    fn where_a_command_is_configured() {
        let layer = |text: &str| {
            let folder = tempfile::tempdir().expect("a temporary folder");
            let path = folder.path().join("config.toml");
            std::fs::write(&path, text).expect("written");
            Layer::file(&path, &mut Vec::new()).expect("readable")
        };
        let text = "[language_servers.gopls]\ncommand = [\"sh\"]\n[language_servers.pyright]\nstart = \"open\"\n";
        let layers = [layer(text)];
        let mut config: Config = serde_json::from_value(check::clean(&layers[0], &mut Vec::new()))
            .expect("a configuration");
        mend(&mut config, &layers, Path::new("/"));
        let place = |name: &str| config.language_servers[name].configured_at.clone();
        let gopls = place("gopls").expect("it is configured");
        assert!(gopls.ends_with("config.toml:2"), "{gopls}");
        assert_eq!(place("pyright"), None);
    }

    #[test]
    fn tools_that_there_are_not() {
        check(
            &["[agent]\ntools = { wrte = false, write = false }\n"],
            &["0:2: `agent.tools.wrte`: there is no tool `wrte`. Did you mean `write`?"],
        );
        check(
            &["[agent.tools]\nteleport = false\n"],
            &[
                "0:2: `agent.tools.teleport`: there is no tool `teleport`. The tools are edit, glob, grep, list, lsp, read, write.",
            ],
        );
    }

    #[test]
    fn providers_that_can_not_be_reached() {
        for (url, hint) in [
            (
                "localhost:8000/v1",
                ". Did you mean `http://localhost:8000/v1`?",
            ),
            (
                "api.example.com/v1",
                ". Did you mean `https://api.example.com/v1`?",
            ),
            ("me:secret@example.com", ""),
            ("htp://example.com", ""),
            ("", ""),
        ] {
            let text = format!("[providers.mine]\nbase_url = \"{url}\"\n");
            let told =
                format!("0:2: `providers.mine.base_url` must begin with http:// or https://{hint}");
            check(&[&text], &[&told]);
        }
        check(&["[providers.mine]\nbase_url = \" http://h/v1\"\n"], &[]);
        let key = |line: &str| format!("[providers.mine]\nbase_url = \"http://h/v1\"\n{line}\n");
        check(
            &[&key("api_key_env = \"COPYDESK_NO_SUCH_KEY\"")],
            &[
                "0:3: `providers.mine.api_key_env`: COPYDESK_NO_SUCH_KEY is not set in the environment that copydesk was started from",
            ],
        );
        check(
            &[&key("api_key_env = \"sk-secret\"")],
            &[
                "0:3: `providers.mine.api_key_env` must be the name of a variable of the environment (capital letters, digits and _), never the key itself",
            ],
        );
        // A key may be of letters and digits alone.
        check(
            &[&key("api_key_env = \"sk_live_4eC39HqLyjWDarjtT1zdp7dc\"")],
            &[
                "0:3: `providers.mine.api_key_env` must be the name of a variable of the environment (capital letters, digits and _), never the key itself",
            ],
        );
        check(&[&key("api_key_env = \"PATH\"")], &[]);
        check(
            &[&key("client_certificate = \"/no/such.pem\"")],
            &[
                "0:3: `providers.mine.client_certificate`: /no/such.pem can't be read: No such file or directory (os error 2)",
            ],
        );
        check(
            &[&key("ca_file = \"ca.pem\"")],
            &["0:3: `providers.mine.ca_file`: ca.pem must be a whole path, or begin with ~/"],
        );
        check(
            &[&key(
                "api_key_env = \"COPYDESK_NO_SUCH_KEY\"\napi_key_command = [\"pass\"]",
            )],
            &[],
        );
    }
}
