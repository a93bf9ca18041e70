//! The catalogue as data: whole, unambiguous, documented.

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
    let named = CATALOGUE.aside.iter().chain(&CATALOGUE.signatures_say_all);
    for language in known.into_iter().chain(named) {
        assert!(by_language(language), "nothing knows {language}");
    }
}

/// A key that no struct has would be forgotten without a word.
#[test]
fn every_key_of_an_entry_is_known() {
    const KEYS: [&str; 32] = [
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
        "own_folder",
        "on_save_sources",
        "check_progress",
        "ready_messages",
        "dead_messages",
        "blind_to_disk",
        "looks_at_save",
        "rename_at_definition",
        "reads_disk",
        "silent_when_clean",
        "whole_with",
        "whole_by_argument",
        "whole_note",
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
fn languages_by_what_they_are_called() {
    for (name, expected) in [
        ("Python", Some("python")),
        (" rust ", Some("rust")),
        ("c++", Some("cpp")),
        ("C#", Some("csharp")),
        ("rs", Some("rust")),
        ("golang", Some("go")),
        ("cobol", None),
        ("", None),
    ] {
        assert_eq!(language_called(name), expected, "{name:?}");
    }
    let ids = languages();
    for (name, id) in &CATALOGUE.by_call {
        assert!(ids.contains(id.as_str()), "{id}");
        assert!(!ids.contains(name.as_str()), "{name} is an id");
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

/// The table in docs/configuration.md.
fn documented() -> String {
    let row = |server: &Server| {
        let install = server.traits.install.as_deref().unwrap_or_default();
        let languages = server.config.languages.join(", ");
        format!("| {} | {languages} | `{install}` |\n", server.name)
    };
    let rows: String = CATALOGUE.servers.iter().map(row).collect();
    format!("| name | languages | install |\n|---|---|---|\n{rows}")
}

#[test]
fn the_documentation_lists_what_there_is() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/configuration.md");
    let page = std::fs::read_to_string(page).expect("docs/configuration.md");
    let table = documented();
    assert!(
        page.contains(&table),
        "docs/configuration.md should say:\n{table}"
    );
}
