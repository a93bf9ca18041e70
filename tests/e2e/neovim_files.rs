//! Real Neovim with files open that a language server's change renames or deletes: what was typed there is kept, and the
//! model is told what happened.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tests::{
    fixtures::Project,
    installed::tool,
    model::{Asked, Reply, ScriptedModel},
    neovim,
};

use crate::world;

const INIT: &str = include_str!("neovim/scripted_model.lua");
const SCRIPT: &str = include_str!("neovim/whole_files.lua");

/// What became of it.
struct Outcome {
    /// What the model was told.
    told: String,
    /// Each open file: its text, and whether it is modified.
    buffers: BTreeMap<String, (String, bool)>,
}

/// Opens files, some of them typed in and not saved; the model calls `lsp`.
async fn play(
    project: &Project,
    servers: Value,
    open: &[(&str, Option<&str>)],
    call: Value,
) -> Outcome {
    // It asks again as long as it is told to. What was changed is so, though its consequences be known only later.
    let is_early =
        |told: &str| told.contains("still indexing") && told.contains("nothing was changed");
    let model = ScriptedModel::answering(move |asked: &Asked| match asked.tool_results().last() {
        Some((_, told)) if !is_early(told) => Reply::text(*told),
        _ => Reply::call("lsp", call.clone()),
    })
    .await;
    let mut options = world::options(&model);
    options["language_servers"] = servers;
    let open: Vec<Value> = open
        .iter()
        .map(|(file, typed)| json!({ "file": file, "typed": typed }))
        .collect();
    let root = project.root().to_str().expect("a text path");
    let env = [
        ("TEST_OPTIONS", options.to_string()),
        ("TEST_OPEN", Value::Array(open).to_string()),
        ("TEST_ROOT", root.to_owned()),
    ];
    let env: Vec<(&str, &str)> = env.iter().map(|(key, value)| (*key, &**value)).collect();
    let shown = neovim::run(INIT, SCRIPT, &env).await;
    let asked = model.requests(2).await;
    let last = asked.last().expect("it was asked");
    let (_, told) = *last.tool_results().last().expect("a result");
    let buffers = shown["buffers"].as_object().into_iter().flatten();
    Outcome {
        told: told.to_owned(),
        buffers: buffers
            .map(|(name, buffer)| {
                let text = buffer["text"].as_str().unwrap_or_default();
                (name.clone(), (text.to_owned(), buffer["modified"] == true))
            })
            .collect(),
    }
}

/// rust-analyzer renames a module by renaming its file, or by moving that to another folder; it is open and typed in.
#[tokio::test]
async fn a_file_that_is_renamed_while_it_is_open_and_unsaved() {
    const LIB: &str =
        "pub mod shape;\n\npub fn area() -> u32 {\n    shape::side() * shape::side()\n}\n";
    const SHAPE: &str = "pub fn side() -> u32 {\n    3\n}\n";
    for (old, new) in [
        ("src/shape.rs", "src/form.rs"),
        ("src/shape/mod.rs", "src/form/mod.rs"),
    ] {
        let project = Project::rust(LIB);
        project.write(old, SHAPE);
        let call = json!({
            "operation": "rename", "filePath": "src/lib.rs", "line": 1, "symbol": "shape", "newName": "form",
        });
        let open = [
            (old, Some("// typed in the module")),
            ("src/lib.rs", Some("// typed beside it")),
        ];
        let Outcome { told, buffers } = play(&project, json!({}), &open, call).await;
        assert!(told.contains("is now src/form"), "{told}");
        let lib = LIB.replace("shape", "form") + "// typed beside it\n";
        let form = format!("{SHAPE}// typed in the module\n");
        // Neovim saves what it renames.
        let expected = [
            ("src/lib.rs".to_owned(), (lib, true)),
            (new.to_owned(), (form.clone(), false)),
        ];
        assert_eq!(buffers, BTreeMap::from(expected), "{told}");
        assert_eq!(project.read(new), form);
        assert!(!project.path(old).exists());
        assert_eq!(
            project.read("src/lib.rs"),
            LIB,
            "the rest is the user's to save"
        );
    }
}

/// A project of a scripted server, which offers to delete `gone.scripted`.
fn with_deletion() -> (Project, Value, Value) {
    let files = [
        ("scripted.root", ""),
        ("a.scripted", "first\n"),
        ("gone.scripted", "second\n"),
    ];
    let project = Project::with(&files);
    let uri = tests::client::uri(&project.path("gone.scripted"));
    let action = json!([{
        "title": "Delete it", "kind": "refactor",
        "edit": { "documentChanges": [{ "kind": "delete", "uri": uri }] },
    }]);
    let actions = project.beside("actions").join("actions.json");
    std::fs::write(&actions, action.to_string()).expect("written");
    let servers = world::language_server(&["--actions", actions.to_str().expect("a text path")]);
    let call = json!({
        "operation": "applyCodeAction", "filePath": "a.scripted", "line": 1, "action": "Delete it",
    });
    (project, servers, call)
}

#[tokio::test]
async fn a_file_that_is_deleted_while_it_is_open() {
    let (project, servers, call) = with_deletion();
    let open = [("gone.scripted", None), ("a.scripted", Some("typed"))];
    let Outcome { told, buffers } = play(&project, servers, &open, call).await;
    assert!(told.contains("gone.scripted"), "{told}");
    assert!(!project.path("gone.scripted").exists(), "{told}");
    let a = ("a.scripted".to_owned(), ("first\ntyped\n".to_owned(), true));
    assert_eq!(buffers, BTreeMap::from([a]), "{told}");
}

/// What was typed in it would be lost.
#[tokio::test]
async fn a_file_that_is_open_and_unsaved_is_not_deleted() {
    let (project, servers, call) = with_deletion();
    let open = [("a.scripted", None), ("gone.scripted", Some("typed"))];
    let Outcome { told, buffers } = play(&project, servers, &open, call).await;
    assert!(told.contains("unsaved changes"), "{told}");
    assert_eq!(project.read("gone.scripted"), "second\n");
    let gone = ("second\ntyped\n".to_owned(), true);
    assert_eq!(buffers.get("gone.scripted"), Some(&gone), "{told}");
}

/// TypeScript's server moves a function into a file that is new, out of one that is open and typed in.
#[tokio::test]
async fn what_is_moved_to_a_new_file_out_of_an_unsaved_one() {
    const AREA: &str = "export function side(): number {\n    return 3;\n}\n\nexport function area(): number {\n    return side() * side();\n}\n";
    const USER: &str = "import { side } from \"./area\";\n\nconsole.log(side());\n";
    let project = Project::with(&[
        ("tsconfig.json", "{}"),
        ("area.ts", AREA),
        ("user.ts", USER),
    ]);
    let program = tool("npm/node_modules/.bin/typescript-language-server");
    let command = json!([program, "--stdio"]);
    let servers = json!({
        "typescript-language-server": { "command": command, "enabled": true },
        "vtsls": { "enabled": false }, "tsc": { "enabled": false },
    });
    let call = json!({
        "operation": "applyCodeAction", "filePath": "area.ts", "symbol": "side", "action": "Move to a new file",
    });
    let open = [
        ("user.ts", Some("// typed beside it")),
        ("area.ts", Some("// typed")),
    ];
    let Outcome { told, buffers } = play(&project, servers, &open, call).await;
    let side = project.path("side.ts");
    assert!(side.exists(), "{told}");
    assert!(
        project.read("side.ts").contains("export function side()"),
        "{told}"
    );
    let (area, is_modified) = &buffers["area.ts"];
    assert!(
        area.starts_with("import { side } from \"./side\";"),
        "{area}"
    );
    assert!(!area.contains("return 3"), "{area}");
    assert!(
        area.contains("return side() * side();") && area.ends_with("// typed\n"),
        "{area}"
    );
    assert!(is_modified);
    let user = USER.replace("./area", "./side") + "// typed beside it\n";
    assert_eq!(buffers.get("user.ts"), Some(&(user, true)), "{told}");
    assert_eq!(
        (project.read("area.ts"), project.read("user.ts")),
        (AREA.to_owned(), USER.to_owned())
    );
}
