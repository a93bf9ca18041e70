//! `copydesk doctor` on the real binary, with a search path of made programs and the real rust-analyzer.
#![cfg(unix)]

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use serde_json::Value;
use tests::fixtures::Project;
use tokio::process::Command;

const LIB: &str = "pub fn one() -> u32 {\n    1\n}\n";
const MANIFEST: &str = "[package]\nname = \"x\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
const PROXY: &str =
    "echo \"error: Unknown binary 'rust-analyzer' in official toolchain '1.70-x'.\" >&2; exit 1";

/// A Rust project with two Python files and a README.
fn project() -> Project {
    Project::with(&[
        ("Cargo.toml", MANIFEST),
        ("src/lib.rs", LIB),
        ("tools/a.py", "a = 1\n"),
        ("tools/b.py", "b = 1\n"),
        ("README.md", "# x\n"),
        (".gitignore", "ignored\n"),
        ("ignored/x.go", "package x\n"),
    ])
}

fn program(project: &Project, name: &str, script: &str) -> PathBuf {
    let path = project.beside("bin").join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("written");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("set");
    path
}

/// The machine's own rust-analyzer, into the made search path.
fn real_rust_analyzer(project: &Project) {
    let path = std::env::var_os("PATH").expect("a search path");
    let found = std::env::split_paths(&path)
        .map(|folder| folder.join("rust-analyzer"))
        .find(|file| file.is_file())
        .expect("rust-analyzer is installed");
    symlink(found, project.beside("bin").join("rust-analyzer")).expect("a link");
}

struct Told {
    text: String,
    json: Value,
    code: i32,
}

/// What doctor says, as text and as JSON.
async fn doctor(project: &Project, environment: &[(&str, &str)]) -> Told {
    doctor_with(project, environment, &[]).await
}

async fn doctor_with(project: &Project, environment: &[(&str, &str)], options: &[&str]) -> Told {
    let run = async |arguments: &[&str]| {
        let mut command = Command::new(tests::client::binary());
        command
            .arg("doctor")
            .args(options)
            .args(arguments)
            .current_dir(project.root())
            .env("PATH", project.beside("bin"))
            .env("COPYDESK_CONFIG_DIR", project.beside("config"))
            .env_remove("COPYDESK_MODEL");
        for key in ["OPENAI_API_KEY", "OPENROUTER_API_KEY", "ANTHROPIC_API_KEY"] {
            command.env_remove(key);
        }
        command.envs(environment.iter().copied());
        let output = command.output().await.expect("it runs");
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        (text, output.status.code().expect("a code"))
    };
    let (text, code) = run(&[]).await;
    let (json, same) = run(&["--json"]).await;
    assert_eq!(code, same, "{text}");
    let json = serde_json::from_str(&json).expect("JSON");
    Told { text, json, code }
}

impl Told {
    fn server(&self, name: &str) -> &Value {
        let servers = self.json["languageServers"].as_array().expect("a list");
        let found = servers.iter().find(|server| server["name"] == name);
        found.expect("it is known")
    }

    fn language(&self, name: &str) -> &Value {
        let languages = self.json["languages"].as_array().expect("a list");
        let found = languages.iter().find(|language| language["name"] == name);
        found.unwrap_or(&Value::Null)
    }

    fn says(&self, part: &str) {
        assert!(self.text.contains(part), "{part:?} in\n{}", self.text);
    }

    /// The words of the line that begins with these.
    fn line(&self, start: &[&str]) -> Vec<&str> {
        let words = |line| str::split_whitespace(line).collect::<Vec<_>>();
        let found = self
            .text
            .lines()
            .map(words)
            .find(|words| words.starts_with(start));
        found.unwrap_or_else(|| panic!("{start:?} in\n{}", self.text))
    }
}

#[tokio::test]
async fn a_folder_with_all_that_it_needs() {
    let project = project();
    real_rust_analyzer(&project);
    let ty = program(&project, "ty", "echo 'ty 0.0.108'");
    let told = doctor(&project, &[]).await;
    assert_eq!(
        (told.code, &told.json["ok"]),
        (0, &Value::Bool(true)),
        "{}",
        told.text
    );
    let version = told.server("rust-analyzer")["version"]
        .as_str()
        .unwrap_or_default();
    assert!(
        version.starts_with(|first: char| first.is_ascii_digit()),
        "{version}"
    );
    told.line(&["ok", "rust", "(1", "file)", "rust-analyzer", version]);
    assert_eq!(
        told.line(&["ok", "python", "(2", "files)", "ty", "0.0.108"])
            .last()
            .map(Path::new),
        Some(&*ty)
    );
    told.line(&[
        "optional", "markdown", "(1", "file)", "marksman", "brew", "install",
    ]);
    told.says("\nAll that this folder needs is there.\n");
    let markdown = told.language("markdown");
    assert_eq!(
        (&markdown["isNeeded"], &markdown["ok"]),
        (&Value::Bool(false), &Value::Bool(false))
    );
    assert_eq!(
        told.language("go"),
        &Value::Null,
        "ignored files are not the folder's"
    );
    let pyright = told.server("pyright");
    assert_eq!(
        (&pyright["state"], &pyright["install"]),
        (&"missing".into(), &"npm install -g pyright".into())
    );
    assert_eq!(told.server("ty")["path"], ty.to_str().expect("text"));
    assert!(
        told.json["languageServers"]
            .as_array()
            .is_some_and(|all| all.len() >= 30)
    );
    assert_eq!(told.json["model"]["name"], "builtin/quickfix");
    assert_eq!(told.json["version"], env!("CARGO_PKG_VERSION"));
}

/// rustup's proxy with nothing behind it, and Python with nothing at all.
#[tokio::test]
async fn what_is_missing_and_what_installs_it() {
    let project = project();
    let proxy = program(&project, "rust-analyzer", PROXY);
    let told = doctor(&project, &[]).await;
    assert_eq!(
        (told.code, &told.json["ok"]),
        (1, &Value::Bool(false)),
        "{}",
        told.text
    );
    let install = "rustup component add rust-analyzer rust-src --toolchain 1.70-x";
    told.says(&format!(
        "\nTo do:\n  npm install -g pyright\n  {install}\n"
    ));
    told.line(&["missing", "rust", "(1", "file)", "rust-analyzer", "rustup"]);
    told.line(&["missing", "python", "(2", "files)", "pyright", "npm"]);
    let server = told.server("rust-analyzer");
    assert_eq!(
        (&server["state"], &server["install"]),
        (&"missing".into(), &install.into())
    );
    assert!(
        server["reason"]
            .as_str()
            .is_some_and(|reason| reason.contains(proxy.to_str().expect("text")))
    );
    assert_eq!(server.get("path"), None);
}

#[tokio::test]
async fn configuration_models_and_keys() {
    let project = project();
    real_rust_analyzer(&project);
    program(&project, "ty", "exit 1");
    let folder = project.beside("bin");
    std::fs::write(
        project.beside("config").join("config.toml"),
        format!(
            "modell = \"x/y\"\n[language_servers.mine]\ncommand = ['{}']\nlanguages = [\"nothing\"]\n\
             [language_servers.gopls]\nenabled = false\n[providers.other]\nbase_url = \"http://127.0.0.1:9/v1\"\n",
            folder.display()
        ),
    )
    .expect("written");
    project.write(
        ".copydesk/config.toml",
        "[language_servers.evil]\ncommand = [\"touch\", \"pwned\"]\n",
    );
    let keys = [
        ("OPENAI_API_KEY", "sk-secret-1"),
        ("ANTHROPIC_API_KEY", "sk-secret-2"),
    ];
    let told = doctor(&project, &keys).await;
    assert_eq!(told.code, 0, "{}", told.text);
    assert!(!told.text.contains("sk-secret") && !told.json.to_string().contains("sk-secret"));
    told.says("ok  anthropic/claude-sonnet-5-5\n");
    for provider in [
        "anthropic (its key is in ANTHROPIC_API_KEY)",
        "openai (its key is in OPENAI_API_KEY)",
        "openrouter (no key)",
        "ollama (needs no key)",
        "google (no key)",
        "other (needs no key)",
    ] {
        told.says(provider);
    }
    told.says("config.toml:1: there is no setting `modell`. Did you mean `model`?");
    told.says("`language_servers` is ignored here");
    told.says(&format!(
        "config.toml:3: `language_servers.mine.command`: {} is a folder",
        folder.display()
    ));
    told.says("switched off: gopls\n");
    let files: Vec<&Value> = told.json["configuration"]["files"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|file| &file["state"])
        .collect();
    assert_eq!(files, ["read", "read"]);
    assert!(!project.path("pwned").exists());
    assert_eq!(told.server("mine")["state"], "unusable");

    // A model that can't be reached is something to do.
    let told = doctor(&project, &[("COPYDESK_MODEL", "openrouter/some-model")]).await;
    assert_eq!(
        (told.code, &told.json["model"]["ok"]),
        (1, &Value::Bool(false)),
        "{}",
        told.text
    );
    told.says("unusable  openrouter/some-model\n");
    assert!(
        told.text
            .rsplit("To do:")
            .next()
            .is_some_and(|todo| todo.contains("OPENROUTER_API_KEY"))
    );
}

/// Each is one line that says what was probably meant; and what is switched off is not missing.
#[tokio::test]
async fn mistakes_that_would_pass_unseen() {
    let project = project();
    let config = "[language_servers.rust-analyser]\nsettings = {}\n[language_servers.mine]\ncommand = [\"no-such\"]\n\
                  languages = [\"python\"]\n[language_servers.half]\ncommand = [\"no-such\"]\n[agent]\ntools = { wrte = false }\n\
                  [providers.other]\nbase_url = \"127.0.0.1:9/v1\"\napi_key_env = \"NO_SUCH_KEY\"\n\
                  [language_servers.rust-analyzer]\nenabled = false\n";
    std::fs::write(project.beside("config").join("config.toml"), config).expect("written");
    program(&project, "ty", "echo 'ty 0.0.108'");
    let told = doctor(&project, &[]).await;
    assert_eq!(told.code, 0, "{}", told.text);
    let folder = format!("{}/", project.beside("config").display());
    let warnings = told.json["configuration"]["warnings"].as_array();
    let warnings: Vec<String> = warnings
        .expect("a list")
        .iter()
        .map(|one| one.as_str().unwrap_or_default().replace(&folder, ""))
        .collect();
    assert_eq!(
        warnings,
        [
            "config.toml:1: `language_servers.rust-analyser` is ignored: no server of this name is known. Did you mean `rust-analyzer`?",
            "config.toml:4: `language_servers.mine.command`: no-such was not found",
            "config.toml:6: `language_servers.half` is ignored: no server of this name is known, and one of your own needs `languages` (LSP's ids, as in [\"rust\"]) as well",
            "config.toml:9: `agent.tools.wrte`: there is no tool `wrte`. Did you mean `write`?",
            "config.toml:11: `providers.other.base_url` must begin with http:// or https://. Did you mean `http://127.0.0.1:9/v1`?",
            "config.toml:12: `providers.other.api_key_env`: NO_SUCH_KEY is not set in the environment that copydesk was started from",
        ]
    );
    for warning in &warnings {
        told.says(warning);
    }
    told.line(&[
        "off",
        "rust",
        "(1",
        "file)",
        "rust-analyzer",
        "switched",
        "off",
    ]);
    told.line(&["ok", "python", "(2", "files)", "ty"]);
    let rust = told.language("rust");
    assert_eq!(
        (&rust["isNeeded"], &rust["ok"]),
        (&false.into(), &false.into())
    );
}

/// Nobody knows what stands in it: all the rest is told, and not called well.
#[tokio::test]
async fn a_configuration_that_can_not_be_read() {
    let project = project();
    real_rust_analyzer(&project);
    program(&project, "ty", "echo 'ty 0.0.108'");
    let file = project.beside("config").join("config.toml");
    std::fs::write(&file, "model = [\n").expect("written");
    let told = doctor(&project, &[]).await;
    assert_eq!(
        (told.code, &told.json["ok"]),
        (1, &Value::Bool(false)),
        "{}",
        told.text
    );
    told.line(&["unusable", file.to_str().expect("text")]);
    told.line(&["ok", "rust", "(1", "file)", "rust-analyzer"]);
    let todo = format!("To do:\n  mend {}\n", file.display());
    assert!(told.text.ends_with(&todo), "{}", told.text);
}

/// The server may be there, and called otherwise: what installs it comes second. And what is misspelt has its like.
#[tokio::test]
async fn a_configured_command_that_is_not_there() {
    let project = project();
    real_rust_analyzer(&project);
    let mut config = String::from("model = \"builtin/quickfx\"\n");
    for server in [
        "ty",
        "pyrefly",
        "jedi-language-server",
        "python-lsp-server",
        "ruff",
    ] {
        config.push_str(&format!("[language_servers.{server}]\nenabled = false\n"));
    }
    config.push_str("[language_servers.pyright]\ncommand = [\"no-such-pyright\"]\n");
    std::fs::write(project.beside("config").join("config.toml"), config).expect("written");
    let told = doctor(&project, &[]).await;
    assert_eq!(told.code, 1, "{}", told.text);
    told.line(&[
        "unusable",
        "python",
        "(2",
        "files)",
        "pyright",
        "no-such-pyright",
        "was",
    ]);
    told.says("config.toml:13: `language_servers.pyright.command`: no-such-pyright was not found");
    told.says(
        "\n  mend `language_servers.pyright.command`, or take it out and npm install -g pyright\n",
    );
    told.says("there is no model “builtin/quickfx”. Did you mean builtin/quickfix?");
}

/// What is installed is started where that is asked for, and what does not start says why.
#[tokio::test]
async fn servers_that_start_and_that_do_not() {
    let project = project();
    real_rust_analyzer(&project);
    let dies = "case \"$*\" in *server*) echo 'libwhatever.so.6: cannot open' >&2; exit 3;; esac; echo 'ty 0.0.108'";
    program(&project, "ty", dies);
    let untried = doctor(&project, &[]).await;
    assert_eq!(untried.code, 0, "{}", untried.text);
    assert_eq!(untried.server("ty").get("start"), None);
    untried.line(&["ok", "python"]);

    let told = doctor_with(&project, &[], &["--start"]).await;
    assert_eq!(told.code, 1, "{}", told.text);
    let line = told.line(&["ok", "rust"]).join(" ");
    assert!(
        line.contains("(starts in ") && line.ends_with(" s)"),
        "{line}"
    );
    told.says("! ty does not start: exit status: 3\n      libwhatever.so.6: cannot open\n");
    assert!(
        told.text
            .ends_with("To do:\n  find out why ty does not start\n"),
        "{}",
        told.text
    );
    told.line(&["fails", "python", "(2", "files)", "ty", "0.0.108"]);
    let is_ok = |language: &str| told.language(language)["ok"].clone();
    assert_eq!(
        (is_ok("python"), is_ok("rust")),
        (false.into(), true.into())
    );
    let start = &told.server("rust-analyzer")["start"];
    assert_eq!(start["ok"], true, "{start}");
    assert!(
        start["seconds"].as_f64().is_some_and(|took| took > 0.0),
        "{start}"
    );
    let start = &told.server("ty")["start"];
    assert_eq!(
        (&start["ok"], &start["reason"], &start["said"][0]),
        (
            &false.into(),
            &"exit status: 3".into(),
            &"libwhatever.so.6: cannot open".into()
        )
    );
}

#[tokio::test]
async fn a_folder_that_is_not_there() {
    let output = Command::new(tests::client::binary())
        .args(["doctor", "--dir", "/no/such/folder"])
        .output()
        .await
        .expect("it runs");
    assert_eq!(output.status.code(), Some(2));
}
