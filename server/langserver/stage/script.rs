//! The scripted language server. The script is JSON:
//!
//! - `log`: a file that gets every message that comes, one a line
//! - `capabilities`: what `initialize` answers
//! - `first`: what to do before anything is read
//! - `on`: by method, a list of what to do at the first, second, … time it comes; the last goes for all later ones
//! - `toy`: it understands the language of `toy.rs`; "push": it pushes what is wrong with every open document whenever
//!   one changes, without a version; "pull": it answers to being asked
//!
//! What to do is a list of `{"answer": …}`, `{"error": …}`, `{"notify": [method, params]}`, `{"ask": [method, params]}`
//! (and wait for the answer), `{"print": text}`, `{"stderr": text}`, `{"run": [program, …]}` (and wait for it), `{"die": code}`,
//! `{"places": [uri, count]}` (an answer of so many), `{"keep": null}` (the request, to be answered later), `{"kept": …}` (an
//! answer to all that were kept, the last first), `{"send": message}`, `{"bytes": [byte, …]}`,
//! `{"unless": [program, …]}` (and die if it succeeds), `{"flood": [method, params, count]}`, `{"large": bytes}` (an
//! answer of that size), `{"where": null}` (a hover that names the folder it runs in), `{"report": null}` (a diagnostic report
//! with one item that says which version of the document it is of). A request without an instruction is answered with null, one with an empty list never.

use std::{
    collections::HashMap,
    fs::File,
    io::{self, BufRead, Read, StdinLock, Write},
    path::Path,
    process::{Command, ExitCode, Stdio},
};

use serde_json::{Value, json};

use crate::toy::Toy;

struct Stage<'a> {
    script: Value,
    log: File,
    input: StdinLock<'a>,
    times: HashMap<String, usize>,
    versions: HashMap<String, Value>,
    toy: Toy,
    asked: u64,
    /// Requests that are answered later.
    kept: Vec<Value>,
}

pub fn serve(script: &Path) -> ExitCode {
    let script: Value =
        serde_json::from_slice(&std::fs::read(script).expect("a script")).expect("JSON");
    let log = script["log"].as_str().expect("a log");
    let log = File::options()
        .append(true)
        .create(true)
        .open(log)
        .expect("a log");
    let mut stage = Stage {
        script,
        log,
        input: io::stdin().lock(),
        times: HashMap::new(),
        versions: HashMap::new(),
        toy: Toy::default(),
        asked: 0,
        kept: Vec::new(),
    };
    stage.write_log(&json!({"pid": std::process::id()}));
    let first = stage.script["first"].clone();
    if let Some(code) = stage.act(&first, &Value::Null) {
        return code;
    }
    while let Some(message) = stage.read() {
        if let Some(code) = stage.take(&message) {
            return code;
        }
    }
    ExitCode::SUCCESS
}

impl Stage<'_> {
    fn take(&mut self, message: &Value) -> Option<ExitCode> {
        let method = message["method"].as_str()?.to_owned();
        let document = &message["params"]["textDocument"];
        if let (Some(uri), Some(version)) = (document["uri"].as_str(), document.get("version")) {
            self.versions.insert(uri.to_owned(), version.clone());
        }
        let is_toy = self.script["toy"].is_string();
        if is_toy {
            self.toy.told(&method, &message["params"]);
            if self.script["toy"] == "push" && method.starts_with("textDocument/did") {
                for uri in self.toy.open() {
                    let problems = self.toy.problems(uri);
                    let params = json!({"uri": uri, "diagnostics": problems});
                    notify(&json!(["textDocument/publishDiagnostics", params]));
                }
            }
        }
        let time = self.times.entry(method.clone()).or_default();
        let at = *time;
        *time += 1;
        let instructions = &self.script["on"][&method];
        let instruction = instructions
            .get(at)
            .or_else(|| instructions.as_array().and_then(|list| list.last()))
            .cloned();
        if let Some(instruction) = instruction {
            return self.act(&instruction, message);
        }
        let known = is_toy.then(|| self.toy.answer(&method, &message["params"]));
        if let Some(answer) = known.flatten() {
            Self::answer(message, "result", &answer);
            return None;
        }
        match method.as_str() {
            "initialize" => {
                let capabilities = self.script["capabilities"].clone();
                Self::answer(message, "result", &json!({"capabilities": capabilities}));
            }
            "exit" => return Some(ExitCode::SUCCESS),
            _ if !message["id"].is_null() => Self::answer(message, "result", &Value::Null),
            _ => {}
        }
        None
    }

    fn act(&mut self, what: &Value, message: &Value) -> Option<ExitCode> {
        for one in what.as_array().into_iter().flatten() {
            let (key, value) = one
                .as_object()
                .and_then(|one| one.iter().next())
                .expect("an instruction");
            match key.as_str() {
                "answer" => Self::answer(message, "result", value),
                "error" => Self::answer(message, "error", value),
                "notify" => notify(value),
                "flood" => {
                    for _ in 0..value[2].as_u64().expect("a count") {
                        notify(value);
                    }
                }
                "where" => {
                    let folder = std::env::current_dir().expect("a folder");
                    Self::answer(message, "result", &json!({"contents": folder}));
                }
                "large" => {
                    let text = "x".repeat(value.as_u64().expect("a size") as usize);
                    Self::answer(message, "result", &json!(text));
                }
                "report" => {
                    let uri = message["params"]["textDocument"]["uri"]
                        .as_str()
                        .expect("a uri");
                    let said = match self.versions.get(uri) {
                        Some(version) => format!("of version {version}"),
                        None => "of the disk".to_owned(),
                    };
                    let place = json!({"line": 0, "character": 0});
                    let item = json!({"range": {"start": place, "end": place}, "message": said, "severity": 1});
                    Self::answer(message, "result", &json!({"kind": "full", "items": [item]}));
                }
                "places" => {
                    let place = json!({"uri": value[0], "range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}}});
                    let all = vec![place; value[1].as_u64().expect("a count") as usize];
                    Self::answer(message, "result", &json!(all));
                }
                "keep" => self.kept.push(message.clone()),
                "kept" => {
                    for message in std::mem::take(&mut self.kept).iter().rev() {
                        Self::answer(message, "result", value);
                    }
                }
                "send" => send(value),
                "bytes" => {
                    let bytes = value.as_array().expect("bytes");
                    let bytes: Vec<u8> = bytes
                        .iter()
                        .filter_map(|byte| Some(byte.as_u64()? as u8))
                        .collect();
                    write(&bytes);
                }
                "ask" => self.ask(value),
                "print" => write(value.as_str().expect("a text").as_bytes()),
                "stderr" => io::stderr()
                    .write_all(value.as_str().expect("a text").as_bytes())
                    .expect("writable"),
                "run" => assert!(run(value), "{value}"),
                // Goes on only if the program fails: dies otherwise.
                "unless" if run(value) => return Some(ExitCode::FAILURE),
                "unless" => {}
                "die" => return Some(ExitCode::from(value.as_u64().expect("a code") as u8)),
                other => panic!("unknown instruction {other}"),
            }
        }
        None
    }

    fn ask(&mut self, value: &Value) {
        self.asked += 1;
        let id = format!("s{}", self.asked);
        send(&json!({"jsonrpc": "2.0", "id": id, "method": value[0], "params": value[1]}));
        while let Some(message) = self.read() {
            if message["id"] == *id {
                return;
            }
            self.take(&message);
        }
    }

    fn answer(to: &Value, key: &str, value: &Value) {
        send(&json!({"jsonrpc": "2.0", "id": to["id"], key: value}));
    }

    fn read(&mut self) -> Option<Value> {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if self.input.read_line(&mut line).ok()? == 0 {
                return None;
            }
            match line.trim_end().split_once(": ") {
                Some((_, value)) => length = value.parse().expect("a length"),
                None => break,
            }
        }
        let mut body = vec![0; length];
        self.input.read_exact(&mut body).ok()?;
        let message: Value = serde_json::from_slice(&body).expect("JSON");
        self.write_log(&message);
        Some(message)
    }

    fn write_log(&mut self, message: &Value) {
        writeln!(self.log, "{message}").expect("a log");
    }
}

fn notify(what: &Value) {
    send(&json!({"jsonrpc": "2.0", "method": what[0], "params": what[1]}));
}

fn send(message: &Value) {
    let body = message.to_string();
    write(format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes());
}

fn write(bytes: &[u8]) {
    let mut output = io::stdout().lock();
    // Nobody reads any more: the end of the input is near.
    let _ = output.write_all(bytes).and_then(|()| output.flush());
}

fn run(words: &Value) -> bool {
    let words: Vec<&str> = words
        .as_array()
        .expect("words")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let (program, arguments) = words.split_first().expect("a program");
    let status = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.expect("started").success()
}
