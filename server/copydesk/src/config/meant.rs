//! Holds the whole configuration against what there is: servers and tools that nobody knows, programs that are not there,
//! addresses that are none, variables that are not set. Each is one warning that says what was probably meant. It starts
//! and reaches nothing.

use std::path::Path;

use langserver::{ServerConfig, catalogue};
use model::ProviderConfig;
use tools::Registry;

use super::{Config, layer::Layer};

/// Takes out what can't count, and tells of it and of what will not work.
pub fn mend(config: &mut Config, layers: &[Layer], folder: &Path) -> Vec<String> {
    let places = Places(layers);
    let mut warnings = Vec::new();
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
        if let Some(why) = key(provider) {
            let place = places.of(&["providers", name, "api_key_env"]);
            warnings.push(format!("{place}{why}"));
        }
    }
    warnings
}

/// Where things stand.
struct Places<'a>(&'a [Layer]);

impl Places<'_> {
    /// `path/config.toml:12: key`, of the last place that says something of it, and that is what counts.
    fn of(&self, key: &[&str]) -> String {
        let names: Vec<String> = key.iter().map(|&part| part.to_owned()).collect();
        let layer = self.0.iter().rev().find(|layer| layer.says(key));
        let place = layer.map_or_else(String::new, |layer| format!("{}: ", layer.place(&names)));
        format!("{place}`{}`", key.join("."))
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
fn meant<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
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
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty() || !name.chars().all(is_name) {
        return Some(" names a variable of the environment, and never is the key itself".into());
    }
    let is_set = std::env::var(name).is_ok_and(|value| !value.trim().is_empty());
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
                "0:3: `providers.mine.api_key_env` names a variable of the environment, and never is the key itself",
            ],
        );
        check(&[&key("api_key_env = \"PATH\"")], &[]);
        check(
            &[&key(
                "api_key_env = \"COPYDESK_NO_SUCH_KEY\"\napi_key_command = [\"pass\"]",
            )],
            &[],
        );
    }
}
