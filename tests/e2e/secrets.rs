//! Keys are shown nowhere, whichever way they come: not in the log at its most talkative, not in an event, a message, an error
//! that the server wrote them into, not by doctor. (Those from the keyring: see `login`.)
#![cfg(unix)]

use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use serde_json::{Value, json};
use tests::client::{Editor, Setup, binary};
use tests::fixtures::Project;
use tests::model::{Asked, Reply, ScriptedModel, Step};
use tokio::process::Command;

use crate::world;

/// What must never be seen. It is not spelt so in the configuration of any test but its own.
const SECRET: &str = "s3cr3t-4eC39HqLyj";

/// One way in which a key comes: the configuration of the provider `mine`, and the environment.
struct Way {
    name: &'static str,
    provider: fn(&Project, &str) -> Value,
    env: &'static [(&'static str, &'static str)],
}

const WAYS: [Way; 4] = [
    Way {
        name: "a variable",
        provider: |_, url| json!({ "base_url": url, "api_key_env": "MINE_KEY" }),
        env: &[("MINE_KEY", SECRET)],
    },
    Way {
        name: "a command",
        provider: |project, url| {
            let script = project.beside("bin").join("key");
            let text = format!("#!/bin/sh\necho '{SECRET}'\necho 'not {SECRET}' >&2\n");
            std::fs::write(&script, text).expect("written");
            let executable = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(&script, executable).expect("set");
            json!({ "base_url": url, "api_key_command": [script] })
        },
        env: &[],
    },
    Way {
        name: "a header",
        provider: |_, url| json!({ "base_url": url, "headers": { "x-api-key": SECRET } }),
        env: &[],
    },
    Way {
        name: "the address",
        provider: |_, url| {
            let at = url.replacen("http://", &format!("http://me:{SECRET}@"), 1);
            json!({ "base_url": at })
        },
        env: &[],
    },
];

/// A server that writes the key into its refusals.
async fn model() -> ScriptedModel {
    let refusal = |code: u16| {
        Step::from(move |asked: &Asked| {
            let headers = &asked.headers;
            let has_key =
                headers.contains_key("authorization") || headers.contains_key("x-api-key");
            let body = json!({ "error": { "message": format!("no {SECRET} ({has_key})") } });
            Reply::status(code, &[], &body.to_string())
        })
    };
    ScriptedModel::start([refusal(401), refusal(400), Reply::text("Well.").into()]).await
}

fn nowhere(way: &str, place: &str, text: &str) {
    if let Some(at) = text.find(SECRET) {
        let start = text[..at].rfind('\n').map_or(0, |line| line + 1);
        let end = text[at..].find('\n').map_or(text.len(), |line| at + line);
        panic!("{way}: in {place}: {}", &text[start..end]);
    }
}

#[tokio::test]
async fn an_editor_sees_no_key() {
    for Way {
        name,
        provider,
        env,
    } in WAYS
    {
        let project = Project::with(&[("a.txt", "one\n")]);
        let model = model().await;
        let provider = provider(&project, &model.base_url());
        let log = [("COPYDESK_LOG", "trace")];
        let env = env.iter().chain(&log);
        let editor = Editor::start(Setup {
            root: project.root().to_owned(),
            options: json!({ "model": "mine/one", "providers": { "mine": provider } }),
            env: env
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            ..Setup::default()
        })
        .await;
        for status in ["failed", "failed", "done"] {
            let finished = world::ask(&editor, json!({ "prompt": "x" })).await;
            assert_eq!(finished["status"], status, "{name}: {finished}");
            let message = finished["message"].as_str().unwrap_or_default();
            assert!(
                status == "done" || message.contains("[key]"),
                "{name}: {message}"
            );
        }
        for command in ["copydesk.models", "copydesk.status", "copydesk.sessions"] {
            editor.execute(command, json!({})).await;
        }
        let said: Vec<String> = editor.received().iter().map(Value::to_string).collect();
        nowhere(name, "a message", &said.join("\n"));
        let log = editor.stderr();
        assert!(log.contains("TRACE"), "{log}");
        nowhere(name, "the log", &log);
        assert_eq!(editor.shutdown().await, 0);
    }
}

#[tokio::test]
async fn a_terminal_sees_no_key() {
    for Way {
        name,
        provider,
        env,
    } in WAYS
    {
        let project = Project::with(&[("a.txt", "one\n")]);
        let model = model().await;
        let provider = provider(&project, &model.base_url());
        let config = json!({ "model": "mine/one", "providers": { "mine": provider } });
        let config = as_toml(&config);
        std::fs::write(project.beside("config").join("config.toml"), config).expect("written");
        for arguments in [
            &["run", "--prompt", "x"][..],
            &["run", "--prompt", "x", "--json"],
            &["run", "--prompt", "x", "--json"],
            &["doctor"],
            &["doctor", "--json"],
        ] {
            let output = Command::new(binary())
                .args(arguments)
                .current_dir(project.root())
                .env("COPYDESK_CONFIG_DIR", project.beside("config"))
                .env("COPYDESK_STATE_DIR", project.beside("state"))
                .env("COPYDESK_LOG", "trace")
                .env_remove("COPYDESK_MODEL")
                .envs(env.iter().copied())
                .stdin(Stdio::null())
                .kill_on_drop(true)
                .output()
                .await
                .expect("it runs");
            for (stream, bytes) in [("stdout", output.stdout), ("stderr", output.stderr)] {
                let place = format!("{stream} of {arguments:?}");
                nowhere(name, &place, &String::from_utf8_lossy(&bytes));
            }
        }
        assert_eq!(model.requests(3).await.len(), 3, "{name}");
    }
}

/// The same values as TOML: JSON's strings and lists are TOML's, its objects are inline tables.
fn as_toml(value: &Value) -> String {
    fn inline(value: &Value) -> String {
        match value {
            Value::Object(object) => {
                let pairs = object
                    .iter()
                    .map(|(key, value)| format!("{key} = {}", inline(value)));
                format!("{{ {} }}", pairs.collect::<Vec<_>>().join(", "))
            }
            other => other.to_string(),
        }
    }
    let object = value.as_object().expect("an object");
    object
        .iter()
        .map(|(key, value)| format!("{key} = {}\n", inline(value)))
        .collect()
}
