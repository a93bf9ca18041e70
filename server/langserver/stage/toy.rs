//! A language small enough to be understood by a test: `def NAME COUNT` defines, `call NAME COUNT` calls, one a line, and a
//! call of what no document of the folder defines, or with another count, is an error. Open texts come before files.

use std::{collections::BTreeMap, path::Path};

use serde_json::{Value, json};

/// The open documents: their texts.
#[derive(Default)]
pub struct Toy {
    open: BTreeMap<String, String>,
}

impl Toy {
    /// What an opening, a change (of the whole text) or a closing does.
    pub fn told(&mut self, method: &str, params: &Value) {
        let document = &params["textDocument"];
        let Some(uri) = document["uri"].as_str() else {
            return;
        };
        let text = match method {
            "textDocument/didOpen" => &document["text"],
            "textDocument/didChange" => &params["contentChanges"][0]["text"],
            "textDocument/didClose" => {
                self.open.remove(uri);
                return;
            }
            _ => return,
        };
        let text = text.as_str().expect("a whole text");
        self.open.insert(uri.to_owned(), text.to_owned());
    }

    /// The open documents.
    pub fn open(&self) -> impl Iterator<Item = &String> {
        self.open.keys()
    }

    /// What is wrong with a document.
    pub fn problems(&self, uri: &str) -> Vec<Value> {
        let all = self.all(uri);
        let defined = |name: &str| {
            let lines = all.values().flat_map(|text| text.lines());
            let mut words = lines.map(|line| line.split_whitespace().collect::<Vec<_>>());
            words.find_map(|words| match words[..] {
                ["def", one, count] if one == name => Some(count.to_owned()),
                _ => None,
            })
        };
        let wrong = |(at, line): (usize, &str)| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let ["call", name, count] = words[..] else {
                return None;
            };
            let message = match defined(name) {
                None => format!("{name} is not defined"),
                Some(taken) if taken != count => format!("{name} takes {taken}, not {count}"),
                Some(_) => return None,
            };
            let range = range(at, line.find(name)?, name.len());
            Some(json!({"range": range, "message": message, "severity": 1, "source": "toy"}))
        };
        let text = all.get(uri).cloned().unwrap_or_default();
        text.lines().enumerate().filter_map(wrong).collect()
    }

    /// The answer to a question; `None`: it knows no such question.
    pub fn answer(&self, method: &str, params: &Value) -> Option<Value> {
        let uri = params["textDocument"]["uri"].as_str()?;
        let all = self.all(uri);
        Some(match method {
            "textDocument/diagnostic" => json!({"kind": "full", "items": self.problems(uri)}),
            "textDocument/documentSymbol" => {
                let lines = all.get(uri)?.lines().enumerate();
                let symbol = |(at, line): (usize, &str)| {
                    let name = line.strip_prefix("def ")?.split_whitespace().next()?;
                    Some(json!({
                        "name": name, "kind": 12,
                        "range": range(at, 0, line.len()), "selectionRange": range(at, 4, name.len()),
                    }))
                };
                lines.filter_map(symbol).collect()
            }
            "textDocument/references" => {
                let at = params["position"]["line"].as_u64()?;
                let line = all.get(uri)?.lines().nth(usize::try_from(at).ok()?)?;
                let name = line.split_whitespace().nth(1)?;
                let call = format!("call {name} ");
                let mut found = Vec::new();
                for (uri, text) in &all {
                    for (at, line) in text.lines().enumerate() {
                        if line.starts_with(&call) {
                            found.push(json!({"uri": uri, "range": range(at, 5, name.len())}));
                        }
                    }
                }
                found.into()
            }
            _ => return None,
        })
    }

    /// Every document of the folder.
    fn all(&self, beside: &str) -> BTreeMap<String, String> {
        let folder = beside.rsplit_once('/').map_or("", |(folder, _)| folder);
        let path = Path::new(folder.trim_start_matches("file://"));
        let mut all = BTreeMap::new();
        for entry in path.read_dir().into_iter().flatten().flatten() {
            let path = entry.path();
            let is_ours = path.extension().is_some_and(|end| end == "rs");
            if let (true, Ok(text)) = (is_ours, std::fs::read_to_string(&path)) {
                let name = entry.file_name().to_string_lossy().into_owned();
                all.insert(format!("{folder}/{name}"), text);
            }
        }
        all.extend(self.open.clone());
        all
    }
}

fn range(line: usize, start: usize, length: usize) -> Value {
    json!({
        "start": {"line": line, "character": start},
        "end": {"line": line, "character": start + length},
    })
}
