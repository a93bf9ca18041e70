//! A language server for tests and benches that does what its arguments say, and real ones can't be
//! made to do. It knows no language: every line that holds `BAD` is a problem, every other one that holds `MEH` a hint, and the
//! quick fix puts `GOOD` in its place (but none of `VERY BAD`, which has none).
//!
//! `language_server [--hang METHOD [--until FILE]] [--die-on METHOD] [--exit-at-once] [--noise] [--sink] [--stamps FILE]
//! [--actions FILE]`
//!
//! `--hang` gives that method no answer, or none `--until` this file is there. `--actions` offers, anywhere, the code
//! actions that the file holds. `--sink` answers `initialize` and `shutdown`, and swallows all else without looking at it: what
//! is measured with it is the sender. `--stamps` writes down when each text came: its length, and nanoseconds since 1970.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, BufRead, Write},
    path::PathBuf,
    process,
    time::{SystemTime, UNIX_EPOCH},
};

use serde_json::{Value, json};

struct Options {
    hang: Option<String>,
    until: Option<PathBuf>,
    die_on: Option<String>,
    noise: bool,
    sink: bool,
    stamps: Option<File>,
    actions: Option<String>,
}

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1).cloned()
    };
    let flag = |name: &str| arguments.iter().any(|argument| argument == name);
    if flag("--exit-at-once") {
        eprintln!("scripted: this server ends at once");
        process::exit(3);
    }
    let options = Options {
        hang: value("--hang"),
        until: value("--until").map(PathBuf::from),
        die_on: value("--die-on"),
        noise: flag("--noise"),
        sink: flag("--sink"),
        stamps: value("--stamps").map(File::create).transpose()?,
        actions: value("--actions"),
    };
    let mut documents = BTreeMap::new();
    let mut input = io::BufReader::with_capacity(1 << 20, io::stdin().lock());
    while let Some(body) = receive(&mut input)? {
        // Parsing what is only swallowed would measure this server, not the sender.
        if options.sink && !body.starts_with(b"{\"jsonrpc\":\"2.0\",\"id\"") && !has_id(&body) {
            continue;
        }
        let message: Value = serde_json::from_slice(&body)?;
        act(&message, &options, &mut documents)?;
    }
    Ok(())
}

/// Whether the message is a request: its `id` stands near one of its ends.
fn has_id(body: &[u8]) -> bool {
    let near = |part: &[u8]| part.windows(5).any(|window| window == b"\"id\":");
    near(&body[..body.len().min(80)]) || near(&body[body.len().saturating_sub(80)..])
}

fn act(
    message: &Value,
    options: &Options,
    documents: &mut BTreeMap<String, String>,
) -> io::Result<()> {
    let method = message["method"].as_str().unwrap_or_default();
    if options.die_on.as_deref() == Some(method) {
        eprintln!("scripted: died on {method}");
        process::exit(4);
    }
    if options.hang.as_deref() == Some(method) {
        let Some(file) = &options.until else {
            return Ok(());
        };
        // As one that is busy: what comes after it waits too.
        while !file.exists() {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }
    if options.noise {
        io::stdout().write_all(b"this is no message\n")?;
    }
    let params = &message["params"];
    let uri = params["textDocument"]["uri"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let result = match method {
        "initialize" => json!({ "capabilities": {
            "positionEncoding": "utf-8",
            "textDocumentSync": { "openClose": true, "change": if options.sink { 2 } else { 1 } },
            "diagnosticProvider": { "interFileDependencies": false, "workspaceDiagnostics": false },
            "codeActionProvider": true,
            "definitionProvider": true,
        } }),
        "textDocument/didOpen" => {
            let text = params["textDocument"]["text"].as_str().unwrap_or_default();
            documents.insert(uri, text.to_owned());
            return Ok(());
        }
        "textDocument/didChange" => {
            let text = params["contentChanges"][0]["text"]
                .as_str()
                .unwrap_or_default();
            if let Some(mut stamps) = options.stamps.as_ref() {
                let now = SystemTime::now().duration_since(UNIX_EPOCH);
                let now = now.unwrap_or_default().as_nanos();
                writeln!(stamps, "{} {now}", text.len())?;
            }
            documents.insert(uri, text.to_owned());
            return Ok(());
        }
        "textDocument/diagnostic" => {
            let text = documents.get(&uri).map_or("", String::as_str);
            json!({ "kind": "full", "items": problems(text) })
        }
        "textDocument/codeAction" if let Some(file) = &options.actions => {
            serde_json::from_slice(&std::fs::read(file)?)?
        }
        "textDocument/codeAction" => {
            let text = documents.get(&uri).map_or("", String::as_str);
            let line = params["range"]["start"]["line"].clone();
            let here = problems(text)
                .into_iter()
                .filter(|one| one["range"]["start"]["line"] == line);
            let fix = |problem: Value| {
                json!({
                    "title": "Make it GOOD",
                    "kind": "quickfix",
                    "isPreferred": true,
                    "edit": { "changes": { (uri.as_str()): [{ "range": problem["range"], "newText": "GOOD" }] } },
                })
            };
            let curable = here.filter(|problem| problem["code"] != "very");
            Value::Array(curable.map(fix).collect())
        }
        "exit" => process::exit(0),
        _ => Value::Null,
    };
    match message.get("id") {
        Some(id) => send(&json!({ "jsonrpc": "2.0", "id": id, "result": result })),
        None => Ok(()),
    }
}

fn problems(text: &str) -> Vec<Value> {
    let problem = |(line, content): (usize, &str)| {
        let (at, severity, message) = match (content.find("BAD"), content.find("MEH")) {
            (Some(at), _) => (at, 1, "this is BAD"),
            (None, Some(at)) => (at, 4, "this is MEH"),
            (None, None) => return None,
        };
        let mut problem = json!({
            "range": {
                "start": { "line": line, "character": at },
                "end": { "line": line, "character": at + 3 },
            },
            "severity": severity,
            "source": "scripted",
            "message": message,
        });
        if content.contains("VERY BAD") {
            problem["code"] = json!("very");
        }
        Some(problem)
    };
    text.lines().enumerate().filter_map(problem).collect()
}

fn send(message: &Value) -> io::Result<()> {
    let body = message.to_string();
    let mut out = io::stdout().lock();
    write!(out, "Content-Length: {}\r\n\r\n{body}", body.len())?;
    out.flush()
}

fn receive(input: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if input.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let line = line.trim();
        if line.is_empty() {
            break;
        }
        if let Some(number) = line.strip_prefix("Content-Length:") {
            length = number.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    input.read_exact(&mut body)?;
    Ok(Some(body))
}
