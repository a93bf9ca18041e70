//! Keys in the system's keyring: put there, used by a run, told by doctor without ever being shown, and taken out. On Linux
//! with a real Secret Service on a bus of its own; and what is said where there is none.
#![cfg(target_os = "linux")]

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};

use serde_json::{Value, json};
use tests::client::{Editor, Setup, binary};
use tests::fixtures::Project;
use tests::model::{Reply, ScriptedModel};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;

use crate::world;

const KEY: &str = "sk-kept-4eC39Hq";

/// The surroundings of one person: their folders, and their bus or none.
struct Person {
    project: Project,
    /// Ends with the test, and the service on it.
    bus: Option<Child>,
    address: String,
}

impl Drop for Person {
    fn drop(&mut self) {
        if let Some(bus) = &mut self.bus {
            let _ = bus.kill();
            let _ = bus.wait();
        }
    }
}

impl Person {
    /// One without a keyring, as in a container.
    fn without() -> Self {
        Self {
            project: Project::with(&[("a.txt", "one\n")]),
            bus: None,
            address: "unix:path=/no/such/bus".to_owned(),
        }
    }

    /// One with an unlocked keyring; `None` on a machine that can't have it.
    async fn with_keyring() -> Option<Self> {
        let without = std::env::var("COPYDESK_TEST_WITHOUT").unwrap_or_default();
        if without.split(' ').any(|one| one == "gnome-keyring-daemon") {
            return None;
        }
        let mut person = Self::without();
        let mut bus = std::process::Command::new("dbus-daemon")
            .args(["--session", "--nofork", "--print-address"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("dbus-daemon, of the package dbus");
        let out = BufReader::new(bus.stdout.take().expect("piped"));
        let address = out.lines().next().expect("an address").expect("text");
        person.bus = Some(bus);
        person.address = address;
        let mut daemon = person.command("gnome-keyring-daemon");
        daemon.args(["--unlock", "--components=secrets"]);
        // It answers once it is ready, and lives on until the bus ends.
        let (code, _, _) = piped(daemon, "a password\n").await;
        assert_eq!(code, 0, "gnome-keyring-daemon");
        Some(person)
    }

    fn env(&self) -> Vec<(String, String)> {
        let folder = |name: &str| self.project.beside(name).display().to_string();
        [
            ("DBUS_SESSION_BUS_ADDRESS", self.address.clone()),
            ("HOME", folder("home")),
            ("XDG_DATA_HOME", folder("home")),
            ("XDG_RUNTIME_DIR", folder("home")),
            ("COPYDESK_CONFIG_DIR", folder("config")),
            ("COPYDESK_STATE_DIR", folder("state")),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .to_vec()
    }

    fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command
            .current_dir(self.project.root())
            .envs(self.env())
            .env("COPYDESK_LOG", "trace")
            .kill_on_drop(true);
        for name in [
            "ANTHROPIC_API_KEY",
            "OPENAI_API_KEY",
            "OPENROUTER_API_KEY",
            "COPYDESK_MODEL",
        ] {
            command.env_remove(name);
        }
        command
    }

    /// Runs copydesk with this on stdin; nothing that it says may hold the key.
    async fn says(
        &self,
        arguments: &[&str],
        stdin: &str,
        env: &[(&str, &str)],
    ) -> (i32, String, String) {
        let mut command = self.command(binary());
        command.args(arguments).envs(env.iter().copied());
        let (code, out, err) = piped(command, stdin).await;
        assert!(!out.contains(KEY) && !err.contains(KEY), "{out}{err}");
        (code, out, err)
    }

    fn configure(&self, text: &str) {
        let file = self.project.beside("config").join("config.toml");
        std::fs::write(file, text).expect("written");
    }
}

async fn piped(mut command: Command, stdin: &str) -> (i32, String, String) {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut input = child.stdin.take().expect("piped");
    // It may end before it has read.
    let _ = input.write_all(stdin.as_bytes()).await;
    drop(input);
    let output = child.wait_with_output().await.expect("it ends");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    let code = output.status.code().unwrap_or(-1);
    (code, text(output.stdout), text(output.stderr))
}

/// Types that at copydesk's prompt for a key, on a terminal; what the terminal showed.
async fn typed(person: &Person, keys: &str) -> (i32, String) {
    let login = format!("'{}' login anthropic", binary().display());
    let mut command = person.command("script");
    let mut child = command
        .args(["-qec", &login, "/dev/null"])
        .env_remove("COPYDESK_LOG")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("script, of the package bsdutils");
    let mut input = child.stdin.take().expect("piped");
    let mut output = child.stdout.take().expect("piped");
    let mut shown = Vec::new();
    while !String::from_utf8_lossy(&shown).contains("(it is not shown): ") {
        let read = output.read_buf(&mut shown).await.expect("readable");
        assert!(read > 0, "{}", String::from_utf8_lossy(&shown));
    }
    input.write_all(keys.as_bytes()).await.expect("typed");
    output.read_to_end(&mut shown).await.expect("readable");
    let status = child.wait().await.expect("it ends");
    let shown = String::from_utf8(shown).expect("UTF-8");
    (status.code().unwrap_or(-1), shown)
}

/// The lines that are not the log's.
fn words(err: &str) -> String {
    let said = err
        .lines()
        .filter_map(|line| line.strip_prefix("copydesk: "));
    said.collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn where_there_is_no_keyring_it_is_said_what_to_do_instead() {
    let person = Person::without();
    let key = format!("{KEY}\n");
    for command in ["login", "logout"] {
        let (code, out, err) = person.says(&[command, "anthropic"], &key, &[]).await;
        let said = words(&err);
        assert_eq!((code, out.as_str()), (1, ""), "{said}");
        for part in [
            "the system's keyring can't be used here: ",
            "set ANTHROPIC_API_KEY in the environment",
            "api_key_command in [providers.anthropic]",
        ] {
            assert!(said.contains(part), "{said}");
        }
    }
    let (code, _, err) = person.says(&["login", "antropic"], &key, &[]).await;
    let said = words(&err);
    assert_eq!(code, 2, "{said}");
    assert!(
        said.starts_with("there is no provider “antropic”; known are anthropic, "),
        "{said}"
    );
    // Nobody has a key there, so nobody asks; and one that was there and can't be had is told.
    let (_, out, _) = person.says(&["doctor", "--json"], "", &[]).await;
    assert_eq!(provider(&out, "anthropic")["key"], "missing");
    std::fs::write(
        person.project.beside("state").join("keys-in-keyring"),
        "anthropic\n",
    )
    .expect("written");
    let (code, out, _) = person.says(&["doctor", "--json"], "", &[]).await;
    let report: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(code, 1, "{out}");
    assert_eq!(report["model"]["name"], "anthropic/claude-sonnet-5-5");
    let problem = report["model"]["problem"].as_str().unwrap_or_default();
    assert!(
        problem.contains("can't be had from the system's keyring"),
        "{problem}"
    );
    let (code, _, err) = person.says(&["run", "--prompt", "x"], "", &[]).await;
    assert_eq!(code, 1);
    assert!(
        words(&err).contains("`copydesk login anthropic` puts it there again"),
        "{err}"
    );
    // What is found earlier needs none.
    let env = [("ANTHROPIC_API_KEY", "sk-other")];
    let (_, out, _) = person.says(&["doctor", "--json"], "", &env).await;
    let anthropic = provider(&out, "anthropic");
    assert_eq!(
        (&anthropic["key"], &anthropic["variable"]),
        (&json!("set"), &json!("ANTHROPIC_API_KEY"))
    );
}

fn provider(doctor: &str, name: &str) -> Value {
    let report: Value = serde_json::from_str(doctor).expect("JSON");
    let providers = report["model"]["providers"].as_array().expect("a list");
    let found = providers.iter().find(|provider| provider["name"] == name);
    found.expect("it is known").clone()
}

#[tokio::test]
async fn a_key_in_the_keyring_is_used_and_never_shown() {
    let Some(person) = Person::with_keyring().await else {
        return;
    };
    let model = ScriptedModel::answering(|asked| {
        let sent = asked
            .headers
            .get("authorization")
            .map_or("", String::as_str);
        assert_eq!(sent, format!("Bearer {KEY}"));
        Reply::text(format!("Your header was {sent}."))
    })
    .await;
    person.configure(&format!(
        "model = \"mine/one\"\n[providers.mine]\nbase_url = \"{}\"\n",
        model.base_url()
    ));
    for (typed, part) in [("", "no key was given"), ("a b\n", "a key is one word")] {
        let (code, _, err) = person.says(&["login", "mine"], typed, &[]).await;
        assert_eq!(code, 2);
        assert!(words(&err).contains(part), "{err}");
    }
    let (code, out, err) = person
        .says(&["login", "mine"], &format!(" {KEY} \r\n"), &[])
        .await;
    assert_eq!(
        (code, out.as_str(), words(&err).as_str()),
        (0, "", "the key of mine is in the keyring")
    );
    let (code, out, _) = person.says(&["doctor"], "", &[]).await;
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("mine (its key is in the keyring)"), "{out}");
    let (_, out, _) = person.says(&["doctor", "--json"], "", &[]).await;
    assert_eq!(provider(&out, "mine")["key"], "keyring");

    let editor = Editor::start(Setup {
        root: person.project.root().to_owned(),
        env: person
            .env()
            .into_iter()
            .chain([("COPYDESK_LOG".to_owned(), "trace".to_owned())])
            .collect(),
        ..Setup::default()
    })
    .await;
    // What came back is the model's own word, and is shown.
    let finished = world::ask(&editor, json!({ "prompt": "x" })).await;
    assert_eq!(finished["status"], "done", "{finished}");
    assert!(!editor.stderr().contains(KEY));
    assert_eq!(editor.shutdown().await, 0);

    let env = [("OPENAI_API_KEY", "sk-other")];
    let (code, _, err) = person.says(&["login", "openai"], KEY, &env).await;
    assert_eq!(code, 0);
    assert!(
        words(&err).ends_with("but OPENAI_API_KEY is set, and comes before it"),
        "{err}"
    );
    for (provider, said) in [
        ("mine", "the key of mine is no longer in the keyring"),
        ("openai", "the key of openai is no longer in the keyring"),
        ("openai", "the keyring has no key of openai"),
    ] {
        let (code, _, err) = person.says(&["logout", provider], "", &[]).await;
        assert_eq!((code, words(&err).as_str()), (0, said));
    }
    let (_, out, _) = person.says(&["doctor", "--json"], "", &[]).await;
    assert_eq!(provider(&out, "mine")["key"], "unneeded");

    // A terminal doesn't show it either, and a change of mind is one.
    let (code, shown) = typed(&person, &format!("{KEY}\u{3}")).await;
    assert!(code == 130 && !shown.contains(KEY), "{code} {shown}");
    let (_, out, _) = person.says(&["doctor", "--json"], "", &[]).await;
    assert_eq!(provider(&out, "anthropic")["key"], "missing");
    let (code, shown) = typed(&person, &format!("{KEY}\n")).await;
    assert!(code == 0 && !shown.contains(KEY), "{code} {shown}");
    assert!(
        shown.contains("the key of anthropic is in the keyring"),
        "{shown}"
    );
}
