//! Whole runs against a model server that we did not write (npm's aimock), over each of the three wire formats: it streams in
//! pieces of three characters, and answers only what it was told to, so that whatever it does not find in our requests fails the run.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tests::client::binary;
use tests::fixtures::Project;
use tests::installed::tool;
use tests::model::{Passed, Relay};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

/// Ends the server when its stdin does, which is when we do, however that comes about.
const WITH_US: &str = "data:text/javascript,process.stdin.on('end',()=>process.exit()).on('error',()=>process.exit()).resume()";

/// The wire formats: what each is called in the configuration, what is asked for, and where it is under the server's address.
const FORMATS: [(&str, &str, &str); 3] = [
    ("anthropic", "/v1/messages", ""),
    ("openai-responses", "/v1/responses", "/v1"),
    ("openai-chat", "/v1/chat/completions", "/v1"),
];

/// The mark up to which Anthropic keeps what it has read; it moves along with the conversation's end.
const MARK: &str = r#","cache_control":{"type":"ephemeral"}"#;

/// The server, as it runs.
struct Aimock {
    child: Child,
    address: SocketAddr,
}

impl Aimock {
    /// One that has these answers: each is given where what it is to match is in a request, and nothing else ever.
    async fn start(folder: &Path, fixtures: &[Value]) -> Self {
        let file = folder.join("fixtures.json");
        let text = json!({ "fixtures": fixtures }).to_string();
        std::fs::write(&file, text).expect("written");
        let mut child = Command::new("node")
            .args(["--import", WITH_US])
            .arg(tool("aimock/node_modules/@copilotkit/aimock/dist/cli.js"))
            .args(["--port", "0", "--chunk-size", "3", "--strict", "--fixtures"])
            .arg(&file)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("node is installed");
        let mut said = BufReader::new(child.stdout.take().expect("piped")).lines();
        let address = loop {
            let line = said.next_line().await.expect("UTF-8");
            let line = line.expect("it says where it listens before it ends");
            if let Some((_, address)) = line.split_once("listening on http://") {
                break address.trim().parse().expect("an address");
            }
        };
        tokio::spawn(async move { while let Ok(Some(_)) = said.next_line().await {} });
        Self { child, address }
    }
}

fn answer(matching: Value, response: Value) -> Value {
    json!({ "match": matching, "response": response })
}

fn call(name: &str, arguments: Value) -> Value {
    json!({ "name": name, "arguments": arguments })
}

/// How a run of the binary ended.
struct Ran {
    code: i32,
    events: Vec<Value>,
    errors: String,
}

impl Ran {
    /// The events of one kind, of which one field is put together.
    fn said(&self, kind: &str, field: &str) -> String {
        let of_kind = self.events.iter().filter(|event| event["type"] == kind);
        of_kind.filter_map(|event| event[field].as_str()).collect()
    }
}

/// Runs the binary on the project, asking the server in this format.
async fn run(project: &Project, url: &str, api: &str, arguments: &[&str], more: &str) -> Ran {
    let config = format!(
        "model = \"aimock/some-model\"\n[providers.aimock]\napi = \"{api}\"\nbase_url = \"{url}\"\n\
         api_key_env = \"TEST_AIMOCK_KEY\"\n{more}"
    );
    let folder = project.beside("config");
    std::fs::write(folder.join("config.toml"), config).expect("a configuration");
    let output = Command::new(binary())
        .args(arguments)
        .arg("--json")
        .current_dir(project.root())
        .env("COPYDESK_CONFIG_DIR", folder)
        .env("TEST_AIMOCK_KEY", "key")
        .env_remove("COPYDESK_MODEL")
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout);
    Ran {
        code: output.status.code().unwrap_or(-1),
        events: text
            .lines()
            .map(|line| serde_json::from_str(line).expect(line))
            .collect(),
        errors: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

#[tokio::test]
async fn a_run_edits_files_over_each_format() {
    const THINKS: &str = "The file is “größer” than it was – 🦀.";
    const LOOKS: &str = "I look at both – 見る.";
    const DONE: &str = "Zwei is now zwölf: “twölve” 🦀.";
    for (api, path, below) in FORMATS {
        let project = Project::with(&[("a.txt", "eins\r\nzwei 🦀\r\n"), ("b/c.txt", "x\n")]);
        let edit = |old: &str, new: &str| {
            call(
                "edit",
                json!({ "filePath": "a.txt", "oldString": old, "newString": new }),
            )
        };
        let fixtures = [
            // Each answer is to the last result of the one before: had it not come back, there would be none.
            answer(
                json!({ "hasToolResult": false, "userMessage": "make it twelve" }),
                json!({ "reasoning": THINKS, "content": LOOKS, "toolCalls": [
                    call("read", json!({ "filePath": "a.txt" })), call("list", json!({})),
                ] }),
            ),
            answer(
                json!({ "toolResultContains": "c.txt" }),
                json!({ "toolCalls": [edit("drei", "vier")] }),
            ),
            answer(
                json!({ "toolResultContains": "was not found in a.txt" }),
                json!({ "toolCalls": [edit("zwei 🦀", "zwölf “🦀”")] }),
            ),
            answer(
                json!({ "toolResultContains": "a.txt" }),
                json!({ "content": DONE }),
            ),
        ];
        let server = Aimock::start(&project.beside("aimock"), &fixtures).await;
        let relay = Relay::before(server.address).await;
        let url = relay.url() + below;
        let ran = run(
            &project,
            &url,
            api,
            &["run", "--prompt", "make it twelve"],
            "",
        )
        .await;
        let at = format!("{api}: {} {:#?}", ran.errors, ran.events);
        assert_eq!(ran.code, 0, "{at}");
        assert_eq!(project.read("a.txt"), "eins\r\nzwölf “🦀”\r\n", "{at}");
        assert_eq!(ran.said("text", "delta"), format!("{LOOKS}{DONE}"), "{at}");
        assert_eq!(ran.said("reasoning", "delta"), THINKS, "{at}");
        assert_eq!(ran.said("finished", "message"), DONE, "{at}");
        let went_well: Vec<_> = ran
            .events
            .iter()
            .filter(|event| event["type"] == "tool_result")
            .map(|event| event["ok"] == true)
            .collect();
        assert_eq!(went_well, [true, true, false, true], "{at}");
        let requests = relay.requests();
        assert_eq!(requests.len(), 4, "{at}");
        assert!(requests.iter().all(|request| request.path == path), "{at}");
        assert_eq!(relay.connections(), 1, "{at}");
    }
}

#[tokio::test]
async fn a_fix_is_done_over_each_format() {
    for (api, _, below) in FORMATS {
        let project = Project::with(&[("scripted.root", ""), ("a.rs", "this is BAD\n")]);
        let edit = json!({ "filePath": "a.rs", "oldString": "BAD", "newString": "fine" });
        let fixtures = [
            answer(
                json!({ "hasToolResult": false }),
                json!({ "toolCalls": [call("edit", edit)] }),
            ),
            answer(
                json!({ "hasToolResult": true }),
                json!({ "content": "Cured." }),
            ),
        ];
        let server = Aimock::start(&project.beside("aimock"), &fixtures).await;
        let language_server = format!(
            "[language_servers.scripted-server]\ncommand = [{:?}]\nlanguages = [\"rust\"]\n\
             root_markers = [\"scripted.root\"]\nenabled = true\n",
            env!("CARGO_BIN_EXE_language_server")
        );
        let relay = Relay::before(server.address).await;
        let url = relay.url() + below;
        let ran = run(&project, &url, api, &["fix", "a.rs"], &language_server).await;
        let at = format!("{api}: {} {:#?}", ran.errors, ran.events);
        assert_eq!(ran.code, 0, "{at}");
        assert_eq!(project.read("a.rs"), "this is fine\n", "{at}");
        assert_eq!(ran.said("finished", "message"), "Cured.", "{at}");
    }
}

/// What a provider has read it keeps for the next request, if that begins with the same bytes.
#[tokio::test]
async fn over_twenty_turns_only_the_end_of_the_request_differs() {
    const TURNS: usize = 20;
    let steps: Vec<String> = (0..TURNS).map(|n| format!("step {n:02}.\n")).collect();
    for (api, _, below) in FORMATS {
        let project = Project::with(&[("a.txt", &steps.concat())]);
        let read = |n: usize| {
            let read = json!({ "filePath": "a.txt", "offset": n, "limit": 1 });
            json!({ "reasoning": "Next.", "toolCalls": [call("read", read)] })
        };
        let mut fixtures = vec![answer(json!({ "hasToolResult": false }), read(0))];
        for n in 1..TURNS {
            let last = json!({ "toolResultContains": format!("step {:02}.", n - 1) });
            fixtures.push(answer(last, read(n)));
        }
        let last = json!({ "toolResultContains": format!("step {:02}.", TURNS - 1) });
        fixtures.push(answer(last, json!({ "content": "Read." })));
        let server = Aimock::start(&project.beside("aimock"), &fixtures).await;
        let relay = Relay::before(server.address).await;
        let url = relay.url() + below;
        let ran = run(&project, &url, api, &["run", "--prompt", "read it"], "").await;
        assert_eq!(ran.code, 0, "{api}: {} {:#?}", ran.errors, ran.events);
        let requests = relay.requests();
        assert_eq!(requests.len(), TURNS + 1, "{api}");
        assert_eq!(relay.connections(), 1, "{api}");
        for pair in requests.windows(2) {
            only_adds(&pair[0], &pair[1]);
        }
    }
}

/// The second is the first with something put in at one place: the end of the conversation, which in two of the formats is that of
/// the request. Where exactly the marks stand is the business of the format's own tests.
fn only_adds(before: &Passed, after: &Passed) {
    let [before, after] = [before, after].map(|passed| passed.body.replace(MARK, ""));
    let same = before
        .bytes()
        .zip(after.bytes())
        .take_while(|(one, other)| one == other)
        .count();
    let behind = before.len() - same;
    assert!(
        after.len() > before.len() && after.as_bytes().ends_with(&before.as_bytes()[same..]),
        "{behind} bytes behind the same beginning are not the end of the next:\n{before}\n{after}"
    );
}

/// No test may leave it behind, whatever becomes of the test.
#[tokio::test]
async fn the_server_ends_when_whoever_started_it_is_gone() {
    let project = Project::new();
    let anything = [answer(json!({}), json!({ "content": "x" }))];
    let mut server = Aimock::start(&project.beside("aimock"), &anything).await;
    drop(server.child.stdin.take());
    let ended = tokio::time::timeout(Duration::from_secs(30), server.child.wait()).await;
    assert!(ended.expect("it ends").expect("it ended").success());
}
