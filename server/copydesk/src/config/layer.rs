//! One place that configuration comes from: its values, and what to call it in a warning.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use toml::de::{DeTable, DeValue};

/// The values of one place.
pub struct Layer {
    pub values: Map<String, Value>,
    source: Source,
}

enum Source {
    File { path: PathBuf, text: String },
    Options,
    Environment,
}

impl Layer {
    /// A file, if it is there and is TOML. A project may put anything there: a pipe, a device or a file without end
    /// must not keep an editor waiting, so it is read as any document is.
    pub fn file(path: &Path, warnings: &mut Vec<String>) -> Option<Layer> {
        if !path.exists() {
            return None;
        }
        let text = match workspace::read_file(path) {
            Ok(text) => text,
            Err(error) => {
                warnings.push(error.to_string());
                return None;
            }
        };
        match toml::from_str::<Value>(&text) {
            Ok(Value::Object(values)) => Some(Layer {
                values,
                source: Source::File {
                    path: path.to_owned(),
                    text,
                },
            }),
            Ok(_) => None,
            Err(error) => {
                let line = error.span().map_or(1, |span| line_at(&text, span.start));
                warnings.push(format!(
                    "{}:{line}: {}; the file is not used until that is mended",
                    path.display(),
                    error.message()
                ));
                None
            }
        }
    }

    /// What the client sent. `client` is the door's own and no configuration.
    pub fn options(options: &Value) -> Layer {
        let mut values = options.as_object().cloned().unwrap_or_default();
        values.remove("client");
        Layer {
            values,
            source: Source::Options,
        }
    }

    /// What environment variables set.
    pub fn environment() -> Layer {
        let mut values = Map::new();
        if let Ok(model) = std::env::var("COPYDESK_MODEL")
            && !model.trim().is_empty()
        {
            values.insert("model".into(), json!(model.trim()));
        }
        Layer {
            values,
            source: Source::Environment,
        }
    }

    /// Leaves only these keys, and says which were left out.
    pub fn only(mut self, keys: &[&str], warnings: &mut Vec<String>) -> Layer {
        let out: Vec<String> = self
            .values
            .keys()
            .filter(|key| !keys.contains(&key.as_str()))
            .cloned()
            .collect();
        for key in out {
            self.values.remove(&key);
            warnings.push(format!(
                "{}: `{key}` is ignored here: a project's own file may set only {} until the project is trusted",
                self.place(std::slice::from_ref(&key)),
                keys.join(", ")
            ));
        }
        self
    }

    /// What this place says of a key.
    pub fn value(&self, key: &[&str]) -> Option<&Value> {
        let (first, rest) = key.split_first()?;
        let first = self.values.get(*first)?;
        rest.iter().try_fold(first, |at, part| at.get(part))
    }

    /// `path/config.toml:12` of a key, for a warning.
    pub fn place(&self, key: &[String]) -> String {
        match &self.source {
            Source::File { path, text } => {
                format!("{}:{}", path.display(), line_of(text, key))
            }
            Source::Options => "initializationOptions".into(),
            Source::Environment => "the environment".into(),
        }
    }
}

fn line_of(text: &str, key: &[String]) -> usize {
    let Ok(table) = DeTable::parse(text) else {
        return 1;
    };
    let mut table = table.get_ref();
    let mut line = 1;
    for part in key {
        let found = table
            .iter()
            .find(|(name, _)| name.get_ref().as_ref() == part.as_str());
        let Some((name, value)) = found else { break };
        line = line_at(text, name.span().start);
        match value.get_ref() {
            DeValue::Table(inner) => table = inner,
            _ => break,
        }
    }
    line
}

fn line_at(text: &str, offset: usize) -> usize {
    text.bytes()
        .take(offset)
        .filter(|byte| *byte == b'\n')
        .count()
        + 1
}
