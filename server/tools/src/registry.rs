//! The tools by name, and the gate in front of them: a call is held against its schema before
//! anyone else sees it. What is wrong is answered by an error that teaches ([`crate::invalid`]).

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
};

use jsonschema::Validator;
use serde_json::Value;

use crate::{
    edit::Edit,
    glob::Glob,
    grep::Grep,
    invalid,
    list::List,
    lsp::Lsp,
    read::Read,
    tool::{Of, Tool, Typed},
    write::Write,
};

/// The tools that a run may have.
pub struct Registry {
    tools: BTreeMap<String, Entry>,
}

struct Entry {
    tool: Arc<dyn Tool>,
    schema: OnceLock<Value>,
    validator: OnceLock<Option<Validator>>,
}

/// What a model is told of a tool.
#[derive(Clone, Debug)]
pub struct Spec {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// JSON Schema of its parameters.
    pub schema: Value,
}

/// A call that fits its tool's schema.
pub struct Prepared {
    /// The tool.
    pub tool: Arc<dyn Tool>,
    /// The parameters.
    pub input: Value,
}

impl Registry {
    /// Every tool of our own.
    pub fn builtin() -> Self {
        let mut registry = Registry {
            tools: BTreeMap::new(),
        };
        registry.add::<Read>();
        registry.add::<Edit>();
        registry.add::<Write>();
        registry.add::<List>();
        registry.add::<Glob>();
        registry.add::<Grep>();
        registry.add::<Lsp>();
        registry
    }

    fn add<T: Typed>(&mut self) {
        self.insert(Arc::new(Of::<T>::new()));
    }

    /// Adds a tool, in place of one of the same name.
    pub fn insert(&mut self, tool: Arc<dyn Tool>) {
        let entry = Entry {
            schema: OnceLock::new(),
            validator: OnceLock::new(),
            tool,
        };
        self.tools.insert(entry.tool.name().to_owned(), entry);
    }

    /// The registry less the tools that are switched off.
    #[must_use]
    pub fn without(mut self, off: impl Fn(&str) -> bool) -> Self {
        self.tools.retain(|name, _| !off(name));
        self
    }

    /// The names of the tools.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.keys().map(String::as_str)
    }

    /// What the model is told, in a fixed order so that prompt caches hit.
    pub fn specs(&self, read_only: bool) -> Vec<Spec> {
        self.tools
            .values()
            .filter(|entry| !(read_only && entry.tool.always_changes()))
            .map(|entry| Spec {
                name: entry.tool.name().to_owned(),
                description: entry.tool.description().to_owned(),
                schema: entry.schema().clone(),
            })
            .collect()
    }

    /// The few tools that a small model is offered, in few words.
    pub fn short_specs(&self, read_only: bool) -> Vec<Spec> {
        self.tools
            .values()
            .filter(|entry| !(read_only && entry.tool.always_changes()))
            .filter_map(|entry| {
                let mut schema = entry.schema().clone();
                without_words(&mut schema);
                Some(Spec {
                    name: entry.tool.name().to_owned(),
                    description: entry.tool.in_short()?.to_owned(),
                    schema,
                })
            })
            .collect()
    }

    /// Holds a call against its tool. The error is for the model.
    pub fn prepare(&self, name: &str, input: Value) -> Result<Prepared, String> {
        let Some(entry) = self.tools.get(name) else {
            let names = self.tools.keys().map(String::as_str);
            return Err(invalid::unknown(name, names));
        };
        let input = without_nulls(input);
        if let Some(validator) = entry.validator() {
            let mut errors = validator.iter_errors(&input).peekable();
            if errors.peek().is_some() {
                return Err(invalid::parameters(name, entry.schema(), errors));
            }
        }
        Ok(Prepared {
            tool: entry.tool.clone(),
            input,
        })
    }

    /// The answer to a call whose arguments are no JSON object.
    pub fn malformed(&self, name: &str, arguments: &str) -> String {
        match self.tools.get(name) {
            Some(entry) => invalid::arguments(name, entry.schema(), arguments),
            None => invalid::unknown(name, self.tools.keys().map(String::as_str)),
        }
    }
}

impl Entry {
    fn schema(&self) -> &Value {
        self.schema.get_or_init(|| self.tool.schema())
    }

    fn validator(&self) -> Option<&Validator> {
        self.validator
            .get_or_init(|| jsonschema::validator_for(self.schema()).ok())
            .as_ref()
    }
}

/// A schema without what only explains it.
fn without_words(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            // A property may itself be called "description": that holds an object.
            object.retain(|key, value| {
                !matches!(key.as_str(), "description" | "default") || value.is_object()
            });
            object.values_mut().for_each(without_words);
        }
        Value::Array(items) => items.iter_mut().for_each(without_words),
        _ => {}
    }
}

/// Models write `null` for a parameter that they leave out.
fn without_nulls(mut input: Value) -> Value {
    if let Value::Object(object) = &mut input {
        object.retain(|_, value| !value.is_null());
    }
    input
}
