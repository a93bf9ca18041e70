//! What is said of servers that are there, that are not, and that are something else, with made programs.
#![cfg(unix)]

mod stand;

use std::{os::unix::fs::PermissionsExt, path::Path, time::Duration};

use langserver::catalogue::{Presence, Surveyed, survey};
use serde_json::{Value, json};
use stand::{STAGE, servers};

fn executable(path: &Path, script: &str) {
    stand::write(path, &format!("#!/bin/sh\n{script}\n"));
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("set");
}

/// What is found with this configuration in a folder with made programs, whose path is `$F`.
async fn look(configured: Value) -> (tempfile::TempDir, Vec<Surveyed>) {
    langserver::process::supervise_with(STAGE, ["__supervise".into()]);
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    executable(&at("says"), "echo \"it is v1.2.3 (abc)\"");
    executable(&at("on-stderr"), "echo \"version 4.5\" >&2");
    executable(&at("silent"), "exit 3");
    executable(
        &at("hangs"),
        &format!("echo $$ > {}; exec sleep 1000", at("pid").display()),
    );
    executable(&at("sh"), "eval \"$DO\"");
    executable(&at("tsc5"), "echo 'Version 5.9.3'");
    executable(&at("tsc7"), "echo 'Version 7.0.2'");
    executable(
        &at("proxy"),
        "echo \"error: Unknown binary 'rust-analyzer' in official toolchain '1.70-x'.\" >&2; exit 1",
    );
    executable(
        &at("by-argument"),
        "test \"$1\" = version && echo 'gopls v9.8.7'",
    );
    executable(&at("lib/node_modules/pkg/bin/main"), "echo 'Version 0.0.0'");
    stand::write(
        &at("lib/node_modules/pkg/package.json"),
        "{\"version\": \"3.2.1\"}",
    );
    std::os::unix::fs::symlink(at("lib/node_modules/pkg/bin/main"), at("packaged"))
        .expect("a link");
    executable(&at("orphan"), "");
    stand::write(&at("orphan"), "#!/gone/bin/python\n");
    stand::write(&at("deno.json"), "{}");
    stand::write(&at("text"), "no program");
    let text = configured
        .to_string()
        .replace("$F", folder.path().to_str().expect("text"));
    let configured = servers(serde_json::from_str(&text).expect("JSON"));
    let surveyed = survey(&configured, folder.path()).await;
    (folder, surveyed)
}

#[tokio::test]
async fn what_is_there_and_what_is_not() {
    let found = |name: &str, version: Option<&str>| (name.to_owned(), version.map(str::to_owned));
    let cases = [
        (
            "any",
            json!(["$F/says"]),
            Ok(found("says", Some("1.2.3"))),
            None,
        ),
        (
            "any",
            json!(["$F/on-stderr"]),
            Ok(found("on-stderr", Some("4.5"))),
            None,
        ),
        ("any", json!(["$F/silent"]), Ok(found("silent", None)), None),
        (
            "any",
            json!(["$F/packaged"]),
            Ok(found("packaged", Some("3.2.1"))),
            None,
        ),
        (
            "gopls",
            json!(["$F/by-argument"]),
            Ok(found("by-argument", Some("9.8.7"))),
            None,
        ),
        // It has no argument for it, so it is not run.
        ("jdtls", json!(["$F/says"]), Ok(found("says", None)), None),
        (
            "tsc",
            json!(["$F/tsc7", "--lsp"]),
            Ok(found("tsc7", Some("7.0.2"))),
            None,
        ),
        (
            "tsc",
            json!(["$F/tsc5", "--lsp"]),
            Err("missing: tsc5"),
            Some("npm install -g typescript@7"),
        ),
        (
            "rust-analyzer",
            json!(["$F/proxy"]),
            Err("missing: proxy"),
            Some("rustup component add rust-analyzer rust-src --toolchain 1.70-x"),
        ),
        (
            "rust-analyzer",
            json!(["$F/none"]),
            Err("missing"),
            Some("rustup component add rust-analyzer rust-src"),
        ),
        (
            "any",
            json!(["$F/text"]),
            Err("unusable: $F/text is not executable"),
            None,
        ),
        ("any", json!(["$F"]), Err("unusable: $F is a folder"), None),
        (
            "any",
            json!(["$F/orphan"]),
            Err("unusable: $F/orphan can't be started: No such file or directory (os error 2)"),
            None,
        ),
    ];
    for (name, command, expected, install) in cases {
        let (folder, surveyed) =
            look(json!({name: {"command": command, "languages": ["x"]}})).await;
        let [one] = &surveyed[..] else {
            panic!("{surveyed:?}")
        };
        let is = match &one.presence {
            Presence::Found { path, version } => {
                let name = path.strip_prefix(folder.path()).expect("in the folder");
                Ok((name.display().to_string(), version.clone()))
            }
            Presence::Missing { instead: None } => Err("missing".to_owned()),
            Presence::Missing {
                instead: Some(path),
            } => {
                let name = path.strip_prefix(folder.path()).expect("in the folder");
                Err(format!("missing: {}", name.display()))
            }
            Presence::Unusable(reason) => Err(format!("unusable: {reason}")),
            Presence::Disabled => Err("disabled".to_owned()),
        };
        let expected =
            expected.map_err(|text| text.replace("$F", folder.path().to_str().expect("text")));
        assert_eq!(is, expected, "{name} {command}");
        if is.is_err() {
            assert_eq!(one.install.as_deref(), install, "{name} {command}");
        }
    }
}

#[tokio::test]
async fn who_comes_first_and_who_is_enough() {
    let one = json!({"command": ["$F/says"], "languages": ["x"], "root_markers": ["deno.json"]});
    let with = |key: &str, value: Value| {
        let mut one = one.clone();
        one[key] = value;
        one
    };
    let (_folder, surveyed) = look(json!({
        "ruff": one, "pyright": with("command", json!(["$F/none"])), "ty": with("enabled", json!(false)),
        "mine": one, "asked": with("enabled", json!(true)), "deno": one,
        "tailwindcss": with("root_markers", json!(["none"])),
        "clangd": with("alternatives", json!([["$F/says"]])),
    }))
    .await;
    let brief: Vec<_> = surveyed
        .iter()
        .map(|one| {
            let is_there = matches!(one.presence, Presence::Found { .. });
            (one.name.as_str(), is_there, one.is_general)
        })
        .collect();
    assert_eq!(
        brief,
        [
            ("asked", true, true),
            ("pyright", false, true),
            ("ty", false, true),
            ("deno", true, true),
            ("clangd", true, true),
            ("mine", true, true),
            ("ruff", true, false),
            ("tailwindcss", true, false),
        ]
    );
}

/// What a program leaves behind may hold its pipes open for as long as it likes; and one that has said its version and
/// does not end has said it.
#[tokio::test]
async fn a_version_counts_when_it_is_said_not_when_the_pipe_ends() {
    let one =
        |script: &str| json!({"command": ["$F/sh"], "languages": ["x"], "env": {"DO": script}});
    let leaves = "sleep 1000 & echo 'it is v1.2.3'";
    let stays = "echo 'it is v4.5.6'; exec sleep 1000";
    let (_folder, surveyed) = look(json!({"leaves": one(leaves), "stays": one(stays)})).await;
    let versions: Vec<_> = surveyed
        .iter()
        .map(|one| match &one.presence {
            Presence::Found { version, .. } => (one.name.as_str(), version.as_deref()),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        versions,
        [("leaves", Some("1.2.3")), ("stays", Some("4.5.6"))]
    );
}

#[tokio::test]
async fn a_folder_that_is_gone_is_no_fault_of_the_programs() {
    langserver::process::supervise_with(STAGE, ["__supervise".into()]);
    let folder = tempfile::tempdir().expect("a folder");
    let gone = folder.path().join("gone");
    let configured = servers(json!({"x": {"command": ["sh"], "languages": ["x"]}}));
    let surveyed = survey(&configured, &gone).await;
    let Presence::Unusable(why) = &surveyed[0].presence else {
        panic!("{surveyed:?}")
    };
    let expected = format!("can't be started: the folder {} is gone", gone.display());
    assert!(why.ends_with(&expected), "{why}");
}

/// It is found, without a version, and does not run on.
#[tokio::test]
async fn a_program_that_does_not_end_is_ended() {
    let begun = std::time::Instant::now();
    let hangs = json!({"command": ["$F/hangs"], "languages": ["x"]});
    let (folder, surveyed) = look(json!({"one": hangs, "two": hangs, "three": hangs})).await;
    assert!(begun.elapsed() < Duration::from_secs(5), "side by side");
    for one in &surveyed {
        assert!(
            matches!(one.presence, Presence::Found { version: None, .. }),
            "{one:?}"
        );
    }
    let pid = std::fs::read_to_string(folder.path().join("pid")).expect("it ran");
    let status = std::process::Command::new("kill")
        .args(["-0", pid.trim()])
        .stderr(std::process::Stdio::null())
        .status();
    assert!(!status.expect("asked").success(), "it runs on");
}
