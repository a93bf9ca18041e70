//! What is written of a language server and would pass without a word though it can't be meant: lists with nothing in
//! them, languages under names that no document has. It looks at words alone.

use langserver::{ServerConfig, catalogue};
use serde_json::Value;

use super::meant::{Places, meant};

/// Lists of a server, and what is due in them.
const LISTS: [(&str, &str); 4] = [
    (
        "command",
        "a program and its arguments, as in [\"clangd\", \"--log=error\"]",
    ),
    (
        "alternatives",
        "commands, as in [[\"clangd-19\"], [\"clangd\"]]",
    ),
    ("languages", "LSP's ids, as in [\"rust\"]"),
    (
        "root_markers",
        "names of files or folders, as in [\"Cargo.toml\"]",
    ),
];

/// A server's lists that are empty, or hold an empty text: each with its name and one warning.
pub fn hollow(name: &str, places: &Places<'_>) -> Vec<(String, String)> {
    let mut warnings = Vec::new();
    for (list, due) in LISTS {
        let key = ["language_servers", name, list];
        let Some(value) = places.value(&key).and_then(Value::as_array) else {
            continue;
        };
        let what = match value.as_slice() {
            [] => "is empty, and counts as if it were not there",
            some if some.iter().any(is_hollow) => "has an empty text in it",
            _ => continue,
        };
        let place = places.of(&key);
        warnings.push((name.to_owned(), format!("{place} {what}. It takes {due}")));
    }
    warnings
}

/// An empty text, or a list with one or with nothing.
fn is_hollow(value: &Value) -> bool {
    match value {
        Value::String(text) => text.trim().is_empty(),
        Value::Array(list) => list.is_empty() || list.iter().any(is_hollow),
        _ => false,
    }
}

/// Languages of a server that are no ids: no document would ever be for it. Ids that only an editor knows there may be.
pub fn languages(name: &str, server: &ServerConfig, places: &Places<'_>) -> Vec<String> {
    let ids = catalogue::languages();
    let mut warnings = Vec::new();
    for language in &server.languages {
        if ids.contains(language.as_str()) {
            continue;
        }
        let called = catalogue::language_called(language);
        // Who names both knows an editor that calls it so.
        if called.is_some_and(|id| server.languages.iter().any(|one| one == id)) {
            continue;
        }
        let hint = match called {
            Some(id) => Some(format!("Did you mean `{id}`?")),
            None => misspelt(language, ids.iter().copied()),
        };
        if let Some(hint) = hint {
            let place = places.of(&["language_servers", name, "languages"]);
            warnings.push(format!(
                "{place}: no file has the language id `{language}`. {hint}"
            ));
        }
    }
    warnings
}

/// Short ids are alike by chance (`json5` is none of `json`).
fn misspelt<'a>(language: &str, ids: impl Iterator<Item = &'a str>) -> Option<String> {
    const SHORT: usize = 5;
    const AT_MOST: usize = 2;
    if language.len() <= SHORT {
        return None;
    }
    let is_near = |id: &&str| strsim::damerau_levenshtein(language, id) <= AT_MOST;
    meant(language, ids.filter(is_near))
}
