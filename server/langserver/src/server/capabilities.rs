//! What we tell a server of ourselves, and what it told of itself. Nothing is announced that is not kept.

use std::path::Path;

use lsp_types::{
    ClientCapabilities, CodeActionCapabilityResolveSupport, CodeActionClientCapabilities,
    CodeActionKindLiteralSupport, CodeActionLiteralSupport,
    DidChangeConfigurationClientCapabilities, DidChangeWatchedFilesClientCapabilities,
    DynamicRegistrationClientCapabilities, FailureHandlingKind, GeneralClientCapabilities,
    GotoCapability, HoverClientCapabilities, MarkupKind, PositionEncodingKind,
    PublishDiagnosticsClientCapabilities, ResourceOperationKind, TextDocumentClientCapabilities,
    TextDocumentSyncClientCapabilities, WindowClientCapabilities, WorkspaceClientCapabilities,
    WorkspaceEditClientCapabilities,
};
use serde_json::{Value, json};
use workspace::DocumentUri;

use crate::{
    catalogue,
    config::ServerConfig,
    mirror::{Manner, SyncKind},
    wire,
};

/// What a server of this name is told of us in `initialize`: a client that is held against the pool says the very same.
pub fn introduction(name: &str, config: &ServerConfig, root: &Path) -> Value {
    initialize(
        config,
        catalogue::traits(name).options_section.as_deref(),
        root,
    )
}

/// The params of `initialize`.
pub(super) fn initialize(
    config: &ServerConfig,
    options_section: Option<&str>,
    root: &Path,
) -> Value {
    let options = match options_section {
        Some(section) if config.initialization_options.is_null() => config.section(section),
        _ => config.initialization_options.clone(),
    };
    let uri = folder_uri(root);
    let mut params = json!({
        "processId": std::process::id(),
        "clientInfo": {"name": "copydesk", "version": env!("CARGO_PKG_VERSION")},
        "rootPath": root,
        "rootUri": uri,
        "workspaceFolders": workspace_folders(root),
        "capabilities": ours(),
        "trace": "off",
    });
    if !options.is_null() {
        params["initializationOptions"] = options;
    }
    params
}

/// The root as servers are told of it.
pub(super) fn workspace_folders(root: &Path) -> Value {
    let name = root
        .file_name()
        .map_or_else(|| root.to_string_lossy(), |name| name.to_string_lossy());
    json!([{"uri": folder_uri(root), "name": name}])
}

fn folder_uri(root: &Path) -> Option<String> {
    DocumentUri::from_path(root)
        .ok()
        .map(|uri| uri.as_str().to_owned())
}

fn ours() -> Value {
    let dynamic = Some(DynamicRegistrationClientCapabilities {
        dynamic_registration: Some(true),
    });
    let markdown = vec![MarkupKind::Markdown, MarkupKind::PlainText];
    let kinds = [
        "",
        "quickfix",
        "refactor",
        "refactor.extract",
        "refactor.inline",
        "refactor.rewrite",
        "source",
        "source.organizeImports",
        "source.fixAll",
    ];
    let capabilities = ClientCapabilities {
        workspace: Some(WorkspaceClientCapabilities {
            apply_edit: Some(true),
            workspace_edit: Some(WorkspaceEditClientCapabilities {
                document_changes: Some(true),
                resource_operations: Some(vec![
                    ResourceOperationKind::Create,
                    ResourceOperationKind::Rename,
                    ResourceOperationKind::Delete,
                ]),
                failure_handling: Some(FailureHandlingKind::Transactional),
                normalizes_line_endings: Some(false),
                ..WorkspaceEditClientCapabilities::default()
            }),
            did_change_configuration: Some(DidChangeConfigurationClientCapabilities {
                dynamic_registration: Some(true),
            }),
            did_change_watched_files: Some(DidChangeWatchedFilesClientCapabilities {
                dynamic_registration: Some(true),
                relative_pattern_support: Some(true),
            }),
            workspace_folders: Some(true),
            configuration: Some(true),
            ..WorkspaceClientCapabilities::default()
        }),
        text_document: Some(TextDocumentClientCapabilities {
            synchronization: Some(TextDocumentSyncClientCapabilities {
                dynamic_registration: Some(true),
                did_save: Some(true),
                ..TextDocumentSyncClientCapabilities::default()
            }),
            hover: Some(HoverClientCapabilities {
                dynamic_registration: Some(true),
                content_format: Some(markdown),
            }),
            definition: Some(GotoCapability {
                dynamic_registration: Some(true),
                link_support: Some(true),
            }),
            references: dynamic,
            code_action: Some(CodeActionClientCapabilities {
                dynamic_registration: Some(true),
                code_action_literal_support: Some(CodeActionLiteralSupport {
                    code_action_kind: CodeActionKindLiteralSupport {
                        value_set: kinds.map(str::to_owned).to_vec(),
                    },
                }),
                is_preferred_support: Some(true),
                disabled_support: Some(true),
                data_support: Some(true),
                resolve_support: Some(CodeActionCapabilityResolveSupport {
                    properties: vec!["edit".into(), "command".into()],
                }),
                ..CodeActionClientCapabilities::default()
            }),
            publish_diagnostics: Some(PublishDiagnosticsClientCapabilities {
                related_information: Some(true),
                version_support: Some(true),
                code_description_support: Some(true),
                data_support: Some(true),
                ..PublishDiagnosticsClientCapabilities::default()
            }),
            ..TextDocumentClientCapabilities::default()
        }),
        window: Some(WindowClientCapabilities {
            work_done_progress: Some(true),
            ..WindowClientCapabilities::default()
        }),
        general: Some(GeneralClientCapabilities {
            position_encodings: Some(vec![
                PositionEncodingKind::UTF8,
                PositionEncodingKind::UTF32,
                PositionEncodingKind::UTF16,
            ]),
            ..GeneralClientCapabilities::default()
        }),
        experimental: Some(json!({"serverStatusNotification": true})),
    };
    let mut value = serde_json::to_value(capabilities).unwrap_or_default();
    // What the types of LSP 3.17 do not know, or know only behind a feature.
    value["textDocument"]["diagnostic"] =
        json!({"dynamicRegistration": true, "relatedDocumentSupport": true});
    value["workspace"]["fileOperations"] = json!({
        "dynamicRegistration": true, "didCreate": true, "didRename": true, "didDelete": true
    });
    value["workspace"]["diagnostics"] = json!({"refreshSupport": true});
    let kinds = json!({"valueSet": (1..=26).collect::<Vec<u8>>()});
    value["workspace"]["symbol"] = json!({
        "dynamicRegistration": true,
        "symbolKind": kinds,
        "resolveSupport": {"properties": ["location.range"]},
    });
    value["workspace"]["executeCommand"] = json!({"dynamicRegistration": true});
    let document = &mut value["textDocument"];
    document["documentSymbol"] = json!({
        "dynamicRegistration": true,
        "symbolKind": kinds,
        "hierarchicalDocumentSymbolSupport": true,
    });
    for method in ["typeDefinition", "implementation"] {
        document[method] = json!({"dynamicRegistration": true, "linkSupport": true});
    }
    document["rename"] = json!({
        "dynamicRegistration": true,
        "prepareSupport": true,
        "prepareSupportDefaultBehavior": 1,
    });
    for method in [
        "callHierarchy",
        "typeHierarchy",
        "formatting",
        "rangeFormatting",
    ] {
        document[method] = json!({"dynamicRegistration": true});
    }
    value
}

/// How documents are to be told to a server of these capabilities.
pub(super) fn manner(capabilities: &Value) -> Manner {
    let sync = &capabilities["textDocumentSync"];
    let kind = match sync.as_u64().or_else(|| sync["change"].as_u64()) {
        Some(1) => SyncKind::Full,
        Some(2) => SyncKind::Incremental,
        _ => SyncKind::None,
    };
    let save = match &sync["save"] {
        Value::Bool(wanted) => wanted.then_some(false),
        Value::Object(options) => Some(
            options
                .get("includeText")
                .and_then(Value::as_bool)
                .unwrap_or(false),
        ),
        // The old form, a bare number, tells of saves too.
        _ => sync.is_u64().then_some(false),
    };
    Manner {
        kind,
        encoding: wire::read_encoding(&capabilities["positionEncoding"]),
        save,
    }
}

/// The capability that announces a method, and the option in it that the method needs.
pub(super) fn announces(capabilities: &Value, method: &str) -> bool {
    let (method, option) = registered_as(method);
    let provider = match method {
        "textDocument/definition" => "definitionProvider",
        "textDocument/declaration" => "declarationProvider",
        "textDocument/typeDefinition" => "typeDefinitionProvider",
        "textDocument/implementation" => "implementationProvider",
        "textDocument/references" => "referencesProvider",
        "textDocument/hover" => "hoverProvider",
        "textDocument/documentSymbol" => "documentSymbolProvider",
        "workspace/symbol" => "workspaceSymbolProvider",
        "textDocument/prepareCallHierarchy" => "callHierarchyProvider",
        "textDocument/prepareTypeHierarchy" => "typeHierarchyProvider",
        "textDocument/rename" => "renameProvider",
        "textDocument/formatting" => "documentFormattingProvider",
        "textDocument/rangeFormatting" => "documentRangeFormattingProvider",
        "textDocument/codeAction" => "codeActionProvider",
        "textDocument/diagnostic" => "diagnosticProvider",
        "workspace/executeCommand" => "executeCommandProvider",
        _ => return false,
    };
    let announced = &capabilities[provider];
    match option {
        Some(option) => announced[option] == true,
        None => announced.is_object() || *announced == true,
    }
}

/// The method under which one is announced or registered, and the option that it needs there.
pub(super) fn registered_as(method: &str) -> (&str, Option<&'static str>) {
    match method {
        "callHierarchy/incomingCalls" | "callHierarchy/outgoingCalls" => {
            ("textDocument/prepareCallHierarchy", None)
        }
        "typeHierarchy/supertypes" | "typeHierarchy/subtypes" => {
            ("textDocument/prepareTypeHierarchy", None)
        }
        "textDocument/prepareRename" => ("textDocument/rename", Some("prepareProvider")),
        "codeAction/resolve" => ("textDocument/codeAction", Some("resolveProvider")),
        "workspaceSymbol/resolve" => ("workspace/symbol", Some("resolveProvider")),
        _ => (method, None),
    }
}

#[cfg(test)]
mod tests {
    use workspace::Encoding;

    use super::*;

    #[test]
    fn manners() {
        let manner_of = |kind, encoding, save| Manner {
            kind,
            encoding,
            save,
        };
        for (capabilities, expected) in [
            (
                json!({"textDocumentSync": 2}),
                manner_of(SyncKind::Incremental, Encoding::Utf16, Some(false)),
            ),
            (
                json!({"textDocumentSync": 1, "positionEncoding": "utf-8"}),
                manner_of(SyncKind::Full, Encoding::Utf8, Some(false)),
            ),
            (
                json!({"textDocumentSync": {"openClose": true, "change": 2, "save": {"includeText": true}}, "positionEncoding": "utf-32"}),
                manner_of(SyncKind::Incremental, Encoding::Utf32, Some(true)),
            ),
            (
                json!({"textDocumentSync": {"change": 1, "save": {}}}),
                manner_of(SyncKind::Full, Encoding::Utf16, Some(false)),
            ),
            (
                json!({"textDocumentSync": {"change": 1, "save": false}}),
                manner_of(SyncKind::Full, Encoding::Utf16, None),
            ),
            (
                json!({"textDocumentSync": {}}),
                manner_of(SyncKind::None, Encoding::Utf16, None),
            ),
            (
                json!(null),
                manner_of(SyncKind::None, Encoding::Utf16, None),
            ),
            (
                json!({"textDocumentSync": "yes"}),
                manner_of(SyncKind::None, Encoding::Utf16, None),
            ),
        ] {
            assert_eq!(manner(&capabilities), expected, "{capabilities}");
        }
    }

    #[test]
    fn what_is_announced() {
        let capabilities = json!({
            "definitionProvider": true, "referencesProvider": false, "hoverProvider": {}, "codeActionProvider": {"resolveProvider": true},
            "callHierarchyProvider": true, "renameProvider": {}, "workspaceSymbolProvider": {"resolveProvider": true},
        });
        for (method, expected) in [
            ("textDocument/definition", true),
            ("textDocument/references", false),
            ("textDocument/hover", true),
            ("textDocument/diagnostic", false),
            ("codeAction/resolve", true),
            ("textDocument/prepareCallHierarchy", true),
            ("callHierarchy/outgoingCalls", true),
            ("typeHierarchy/subtypes", false),
            ("textDocument/rename", true),
            ("textDocument/prepareRename", false),
            ("workspaceSymbol/resolve", true),
            ("made/up", false),
        ] {
            assert_eq!(announces(&capabilities, method), expected, "{method}");
        }
        assert!(!announces(
            &json!({"codeActionProvider": true}),
            "codeAction/resolve"
        ));
    }

    #[test]
    fn we_announce_what_servers_look_for() {
        let ours = ours();
        for (pointer, expected) in [
            ("/general/positionEncodings/0", json!("utf-8")),
            ("/experimental/serverStatusNotification", json!(true)),
            ("/textDocument/diagnostic/dynamicRegistration", json!(true)),
            ("/textDocument/codeAction/dataSupport", json!(true)),
            (
                "/workspace/didChangeWatchedFiles/dynamicRegistration",
                json!(true),
            ),
            ("/workspace/workspaceEdit/documentChanges", json!(true)),
            (
                "/workspace/workspaceEdit/resourceOperations",
                json!(["create", "rename", "delete"]),
            ),
            (
                "/workspace/workspaceEdit/failureHandling",
                json!("transactional"),
            ),
            ("/workspace/applyEdit", json!(true)),
            (
                "/workspace/symbol/resolveSupport/properties/0",
                json!("location.range"),
            ),
            (
                "/textDocument/documentSymbol/hierarchicalDocumentSymbolSupport",
                json!(true),
            ),
            ("/textDocument/rename/prepareSupport", json!(true)),
            ("/textDocument/implementation/linkSupport", json!(true)),
            (
                "/textDocument/callHierarchy/dynamicRegistration",
                json!(true),
            ),
            ("/workspace/configuration", json!(true)),
            ("/window/workDoneProgress", json!(true)),
        ] {
            assert_eq!(ours.pointer(pointer), Some(&expected), "{pointer}");
        }
        assert_eq!(
            ours.pointer("/experimental/snippetTextEdit"),
            None,
            "we could not apply one"
        );
    }
}
