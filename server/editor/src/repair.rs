//! Gets `initialize` past the typed trait whatever a client sends, and reads out of it what we use.
//! Clients in the wild send `rootUri: ""`, `capabilities: null`, folders without a name, `null`
//! where an object is due, each of which `lsp-types` refuses, and with it the client. So the trait
//! is shown an empty shell, and the parameters as they came travel inside. Nothing here fails: what
//! can't be read is absent.

use std::path::PathBuf;

use serde_json::{Value, json};
use workspace::DocumentUri;

use crate::capabilities::Client;

/// Puts the parameters of `initialize` into a shell that always has the right type.
pub(crate) fn enclose(params: Value) -> Value {
    json!({ "capabilities": {}, "initializationOptions": params })
}

/// What a client says of itself in `initialize`.
#[derive(Debug)]
pub(crate) struct Introduction {
    /// What it can do.
    pub(crate) client: Client,
    /// The editor's process, if it says so.
    pub(crate) process: Option<i64>,
    /// The folders that are open.
    pub(crate) roots: Vec<PathBuf>,
    /// Settings. The part that is about the client itself is taken out.
    pub(crate) options: Value,
}

impl Introduction {
    /// Reads what [`enclose`] put away.
    pub(crate) fn read(enclosed: Option<Value>) -> Self {
        let mut params = enclosed.unwrap_or_default();
        let mut options = params
            .get_mut("initializationOptions")
            .map(Value::take)
            .unwrap_or_default();
        if !options.is_object() {
            // Lua and PHP write an empty table as an array.
            options = json!({});
        }
        let about_client = options
            .as_object_mut()
            .and_then(|options| options.remove("client"))
            .unwrap_or_default();
        Self {
            client: Client::read(
                &params["clientInfo"],
                &params["capabilities"],
                &about_client,
            ),
            process: params["processId"].as_i64(),
            roots: roots(&params),
            options,
        }
    }
}

/// The first of `workspaceFolders`, `rootUri` and `rootPath` that names a folder.
fn roots(params: &Value) -> Vec<PathBuf> {
    let folders = folders(&params["workspaceFolders"]);
    if !folders.is_empty() {
        return folders;
    }
    let by_uri = params["rootUri"].as_str().and_then(folder);
    let by_path = || {
        params["rootPath"]
            .as_str()
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    by_uri.or_else(by_path).into_iter().collect()
}

/// The folders of a list of workspace folders. Those that are no files, and names, do not matter.
pub(crate) fn folders(list: &Value) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    for path in list
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|entry| folder(entry["uri"].as_str()?))
    {
        if !found.contains(&path) {
            found.push(path);
        }
    }
    found
}

fn folder(uri: &str) -> Option<PathBuf> {
    DocumentUri::parse(uri).ok()?.path().map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(params: Value) -> Introduction {
        Introduction::read(Some(params))
    }

    #[test]
    fn the_shell_has_the_right_type_whatever_is_in_it() {
        for params in [
            json!({}),
            json!([]),
            json!({"capabilities": null, "rootUri": "", "processId": "x"}),
        ] {
            let enclosed = enclose(params.clone());
            let typed = serde_json::from_value::<tower_lsp::lsp_types::InitializeParams>(enclosed)
                .expect("the right type");
            assert_eq!(typed.initialization_options, Some(params));
        }
    }

    #[test]
    fn roots_by_whatever_names_them() {
        let folder = |uri: &str| json!({"uri": uri, "name": null});
        let cases = [
            (json!({}), vec![]),
            (json!({"rootUri": ""}), vec![]),
            (
                json!({"rootUri": null, "rootPath": null, "workspaceFolders": null}),
                vec![],
            ),
            (
                json!({"rootUri": "file:///a%20b", "rootPath": "/c", "workspaceFolders": []}),
                vec!["/a b"],
            ),
            (json!({"rootUri": "", "rootPath": "/c"}), vec!["/c"]),
            (json!({"rootUri": "untitled:x", "rootPath": "c"}), vec![]),
            (
                json!({"rootUri": "file:///r", "workspaceFolders": [folder("file:///a"), folder("file:///b")]}),
                vec!["/a", "/b"],
            ),
            (
                json!({"rootUri": "file:///r", "workspaceFolders": [{"name": "no uri"}, 5, folder("vsls:/x")]}),
                vec!["/r"],
            ),
            (
                json!({"workspaceFolders": [folder("file:///a"), folder("file:///a")]}),
                vec!["/a"],
            ),
        ];
        for (params, expected) in cases {
            let expected: Vec<PathBuf> = expected.into_iter().map(PathBuf::from).collect();
            assert_eq!(read(params.clone()).roots, expected, "{params}");
        }
    }

    #[test]
    fn processes() {
        for (process, expected) in [
            (json!(12), Some(12)),
            (json!(null), None),
            (json!("12"), None),
            (json!(-1), Some(-1)),
        ] {
            assert_eq!(read(json!({"processId": process})).process, expected);
        }
    }

    #[test]
    fn options_without_what_is_about_the_client() {
        let options = json!({"model": "a/b", "client": {"events": true}});
        let introduction = read(json!({"initializationOptions": options}));
        assert_eq!(introduction.options, json!({"model": "a/b"}));
        assert!(introduction.client.events);
        for odd in [
            json!(null),
            json!([]),
            json!("x"),
            json!({"client": null}),
            json!({"client": []}),
        ] {
            assert_eq!(
                read(json!({"initializationOptions": odd})).options,
                json!({})
            );
        }
    }

    /// What eight real clients sent.
    #[test]
    fn every_profile_is_understood() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/profiles");
        let mut seen = Vec::new();
        for entry in std::fs::read_dir(folder).expect("the profiles") {
            let path = entry.expect("an entry").path();
            let text = std::fs::read_to_string(&path).expect("a profile");
            let params: Value = serde_json::from_str(&text).expect("JSON");
            serde_json::from_value::<tower_lsp::lsp_types::InitializeParams>(enclose(
                params.clone(),
            ))
            .expect("a shell");
            let client = read(params).client;
            let name = path
                .file_stem()
                .expect("a name")
                .to_string_lossy()
                .into_owned();
            seen.push(format!(
                "{name}: {:?} {:?} progress={} literals={}",
                client.encoding, client.edits, client.progress, client.action_literals
            ));
        }
        seen.sort();
        assert_eq!(
            seen,
            [
                "eglot_1.9: Utf16 Versioned progress=false literals=true",
                "helix_25.07.1: Utf8 Versioned progress=true literals=true",
                "kakoune-lsp_22: Utf8 Versioned progress=true literals=true",
                "kate_22.12: Utf16 Unsupported progress=true literals=true",
                "lspmode_8.0.0: Utf16 Versioned progress=true literals=true",
                "neovim_0.11.4: Utf8 Versioned progress=true literals=true",
                "neovim_0.12-dev: Utf8 Versioned progress=true literals=true",
                "vscode_1.139.1_lc11: Utf16 Versioned progress=true literals=true",
            ]
        );
    }
}
