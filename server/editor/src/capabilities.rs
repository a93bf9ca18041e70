//! What the client at the other end can do, as far as it matters to us, and what we tell it that we
//! can do. Read from plain JSON: a client that sends `null` where an object is due merely lacks
//! that ability.

use serde_json::{Value, json};
use workspace::Encoding;

use crate::commands;
use crate::requests::code_action::kinds;

/// What the client can do.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    /// What it calls itself.
    pub(crate) name: Option<String>,
    /// What one column counts.
    pub(crate) encoding: Encoding,
    /// How it takes edits.
    pub(crate) edits: Edits,
    /// It renames files, with what it has open of them, if an edit says so.
    pub(crate) renames: bool,
    /// It deletes files in the same way.
    pub(crate) deletes: bool,
    /// It shows work-done progress that a server began.
    pub(crate) progress: bool,
    /// It knows code actions; if not, it gets commands.
    pub(crate) action_literals: bool,
    /// It wants `copydesk/event`.
    pub(crate) events: bool,
    /// It passes questions on to its own language servers (`copydesk/query`).
    pub(crate) queries: bool,
    /// It tells what they have said (`copydesk/diagnostics`).
    pub(crate) diagnoses: bool,
}

/// How a client takes `workspace/applyEdit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edits {
    /// Not at all.
    Unsupported,
    /// As `changes`, which carry no version.
    Plain,
    /// As `documentChanges`, each for one version of its document.
    Versioned,
}

impl Client {
    /// Reads `clientInfo`, `capabilities` and the `client` part of `initializationOptions`.
    pub(crate) fn read(info: &Value, capabilities: &Value, about: &Value) -> Self {
        let name = info["name"].as_str().map(str::to_owned);
        let workspace = &capabilities["workspace"];
        // Neovim applies them and checks their version, but does not say so.
        let versioned = workspace["workspaceEdit"]["documentChanges"] == true
            || name
                .as_deref()
                .is_some_and(|name| name.eq_ignore_ascii_case("neovim"));
        let edits = match (workspace["applyEdit"] == true, versioned) {
            (false, _) => Edits::Unsupported,
            (true, false) => Edits::Plain,
            (true, true) => Edits::Versioned,
        };
        let operations = &workspace["workspaceEdit"]["resourceOperations"];
        let knows = |operation: &str| {
            let listed = operations.as_array();
            edits == Edits::Versioned
                && listed.is_some_and(|all| all.iter().any(|one| one == operation))
        };
        let answers = |method: &str| {
            let requests = about["requests"].as_array();
            requests.is_some_and(|requests| requests.iter().any(|one| one == method))
        };
        Self {
            queries: answers("copydesk/query"),
            diagnoses: answers("copydesk/diagnostics"),
            renames: knows("rename"),
            deletes: knows("delete"),
            name,
            encoding: encoding(&capabilities["general"]["positionEncodings"]),
            edits,
            progress: capabilities["window"]["workDoneProgress"] == true,
            action_literals: capabilities["textDocument"]["codeAction"]["codeActionLiteralSupport"]
                .is_object(),
            events: about["events"] == true,
        }
    }
}

/// Ours are UTF-8, so that is cheapest; UTF-16 is what every client must know.
fn encoding(offered: &Value) -> Encoding {
    let offers = |name: &str| {
        offered
            .as_array()
            .is_some_and(|offered| offered.iter().any(|one| one == name))
    };
    if offers("utf-8") {
        Encoding::Utf8
    } else if offers("utf-32") {
        Encoding::Utf32
    } else {
        Encoding::Utf16
    }
}

/// What we can do, for the answer to `initialize`.
pub(crate) fn ours(client: &Client) -> Value {
    let encoding = match client.encoding {
        Encoding::Utf8 => "utf-8",
        Encoding::Utf16 => "utf-16",
        Encoding::Utf32 => "utf-32",
    };
    json!({
        "positionEncoding": encoding,
        // The text comes with a save, so that a buffer that lost its step finds it again.
        "textDocumentSync": { "openClose": true, "change": 2, "save": { "includeText": true } },
        "codeActionProvider": { "codeActionKinds": kinds::ALL, "resolveProvider": true },
        "executeCommandProvider": { "commands": commands::names() },
        "workspace": { "workspaceFolders": { "supported": true, "changeNotifications": true } },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings() {
        let cases = [
            (json!(["utf-8", "utf-32", "utf-16"]), Encoding::Utf8),
            (json!(["utf-16", "utf-8"]), Encoding::Utf8),
            (json!(["utf-16", "utf-32"]), Encoding::Utf32),
            (json!(["utf-16"]), Encoding::Utf16),
            (json!(["utf-7"]), Encoding::Utf16),
            (json!([]), Encoding::Utf16),
            (json!(null), Encoding::Utf16),
            (json!("utf-8"), Encoding::Utf16),
        ];
        for (offered, expected) in cases {
            assert_eq!(encoding(&offered), expected, "{offered}");
        }
    }

    #[test]
    fn a_client_without_anything() {
        for nothing in [
            json!(null),
            json!({}),
            json!([]),
            json!({"workspace": null, "window": {"showMessage": null}}),
        ] {
            let client = Client::read(&nothing, &nothing, &nothing);
            assert_eq!(
                (client.edits, client.encoding, client.name.as_deref()),
                (Edits::Unsupported, Encoding::Utf16, None)
            );
            assert!(!client.progress && !client.action_literals && !client.events);
            assert!(!client.renames && !client.deletes);
        }
    }

    #[test]
    fn what_is_done_to_files() {
        let read = |edit: Value| {
            let capabilities = json!({"workspace": {"applyEdit": true, "workspaceEdit": edit}});
            let client = Client::read(&Value::Null, &capabilities, &Value::Null);
            (client.renames, client.deletes)
        };
        let all = json!(["create", "rename", "delete"]);
        assert_eq!(
            read(json!({"documentChanges": true, "resourceOperations": all})),
            (true, true)
        );
        assert_eq!(
            read(json!({"documentChanges": true, "resourceOperations": ["rename"]})),
            (true, false)
        );
        // There is no other way to say it than in `documentChanges`.
        assert_eq!(read(json!({"resourceOperations": all})), (false, false));
        assert_eq!(read(json!({"documentChanges": true})), (false, false));
    }

    #[test]
    fn ways_to_take_edits() {
        let read = |name: &str, workspace: Value| {
            Client::read(
                &json!({"name": name}),
                &json!({"workspace": workspace}),
                &Value::Null,
            )
            .edits
        };
        assert_eq!(read("x", json!({"applyEdit": true})), Edits::Plain);
        assert_eq!(
            read(
                "x",
                json!({"applyEdit": true, "workspaceEdit": {"documentChanges": true}})
            ),
            Edits::Versioned
        );
        assert_eq!(
            read("Neovim", json!({"applyEdit": true, "workspaceEdit": {}})),
            Edits::Versioned
        );
        assert_eq!(
            read("Neovim", json!({"applyEdit": false})),
            Edits::Unsupported
        );
    }

    #[test]
    fn our_own_are_of_the_right_type() {
        let client = Client::read(&Value::Null, &Value::Null, &Value::Null);
        let typed: tower_lsp::lsp_types::ServerCapabilities =
            serde_json::from_value(ours(&client)).expect("server capabilities");
        assert_eq!(
            serde_json::to_value(typed).expect("JSON"),
            ours(&client),
            "nothing was lost on the way"
        );
    }
}
