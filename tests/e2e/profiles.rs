//! The capabilities that real editors sent: each starts the server once and asks it the first things that an editor asks.

use std::path::Path;

use serde_json::{Value, json};
use tests::client::{Asking, Editor, Setup, Ways, over, profile};
use tests::fixtures::Project;

/// The encodings that the interface prefers, in order.
const ENCODINGS: [&str; 3] = ["utf-8", "utf-32", "utf-16"];

const COMMANDS: [&str; 6] = [
    "copydesk.ask",
    "copydesk.fix",
    "copydesk.cancel",
    "copydesk.restartLanguageServer",
    "copydesk.status",
    "copydesk.sessions",
];

/// The ways of the editor that a profile is of.
fn ways(name: &'static str) -> Ways {
    let editor = name.split('_').next().unwrap_or_default();
    let known = Ways::all()
        .into_iter()
        .find(|ways| ways.profile.starts_with(editor));
    let ways = known.unwrap_or_else(|| panic!("no ways for the profile {name}"));
    Ways {
        profile: name,
        ..ways
    }
}

async fn first_things(name: &'static str) {
    let project = Project::rust("pub fn one() -> u8 {\n    1\n}\n");
    let ways = ways(name);
    let setup = Setup {
        ways,
        root: project.root().to_owned(),
        ..Setup::default()
    };
    let editor = Editor::spawn(&setup);
    let answer = editor.initialize(&setup).await;
    assert_eq!(answer["serverInfo"]["name"], "copydesk");

    let capabilities = &answer["capabilities"];
    let offered = &profile(name)["capabilities"]["general"]["positionEncodings"];
    let offered = offered.as_array().cloned().unwrap_or_default();
    let wanted = ENCODINGS
        .iter()
        .find(|e| offered.iter().any(|o| o == *e))
        .unwrap_or(&"utf-16");
    assert_eq!(
        capabilities["positionEncoding"]
            .as_str()
            .unwrap_or("utf-16"),
        *wanted
    );
    assert_eq!(capabilities["textDocumentSync"]["change"], 2);
    for command in COMMANDS {
        let listed = capabilities["executeCommandProvider"]["commands"].as_array();
        assert!(
            listed.is_some_and(|listed| listed.iter().any(|c| c == command)),
            "{command}"
        );
    }

    let uri = editor.open(&project.path("src/lib.rs"));
    let range = editor.range(&uri, &over("    1"));
    let asking = Asking {
        trigger: Some(1),
        ..Asking::default()
    };
    let actions = editor.code_actions(&uri, range, asking).await;
    let titles: Vec<&Value> = actions.iter().map(|action| &action["title"]).collect();
    assert!(titles.contains(&&json!("Ask agent…")), "{titles:?}");
    let resolved = editor
        .request("codeAction/resolve", actions[0].clone())
        .await;
    assert_eq!(resolved.expect("resolved")["title"], actions[0]["title"]);

    let status = editor.execute("copydesk.status", json!({})).await;
    assert!(
        status["version"].is_string() && status["runs"] == json!([]),
        "{status}"
    );
    editor.close(&uri);
    assert_eq!(editor.shutdown().await, 0);
}

macro_rules! profiles {
    ($($test:ident: $name:literal,)*) => {
        $(#[tokio::test]
        async fn $test() {
            first_things($name).await;
        })*

        #[test]
        fn no_profile_is_left_out() {
            let here = [$($name),*];
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("profiles");
            for entry in std::fs::read_dir(folder).expect("profiles").flatten() {
                let name = entry.file_name().to_string_lossy().replace(".json", "");
                assert!(here.contains(&name.as_str()), "{name} is not tested");
            }
        }
    };
}

profiles! {
    eglot: "eglot_1.9",
    helix: "helix_25.07.1",
    kak_lsp: "kakoune-lsp_22",
    kate: "kate_22.12",
    lsp_mode: "lspmode_8.0.0",
    nvim_0_11: "neovim_0.11.4",
    nvim_0_12: "neovim_0.12-dev",
    vscode: "vscode_1.139.1_lc11",
}
