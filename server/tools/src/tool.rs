//! What a tool is: its words and schema for the model, what the judge may know of a call, and the
//! call itself. A tool never decides whether it may run.

use std::future::Future;

use async_trait::async_trait;
use schemars::{JsonSchema, generate::SchemaSettings};
use serde::de::DeserializeOwned;
use serde_json::Value;
use thiserror::Error;
use workspace::{Applied, Snapshot};

use crate::context::Context;

/// What a call gives back.
#[derive(Clone, Debug, Default)]
pub struct Output {
    /// What the model is given.
    pub text: String,
    /// Whether something was left out of the text; the text says how to get it.
    pub truncated: bool,
    /// The changes that the call made, for events.
    pub applied: Vec<Applied>,
    /// Files that the call renamed or deleted, as they were; and by their new names, empty.
    pub before: Vec<Snapshot>,
}

impl Output {
    /// A whole text without changes.
    pub fn text(text: impl Into<String>) -> Self {
        Output {
            text: text.into(),
            ..Output::default()
        }
    }
}

/// Why a call did not do what was asked; the text goes to the model and says what to do.
#[derive(Debug, Error)]
pub enum ToolError {
    /// The parameters are of the right shape and still can't be used.
    #[error("{0}")]
    Input(String),
    /// The world was not as the call supposed.
    #[error("{0}")]
    Failed(String),
    /// The run was cancelled.
    #[error("cancelled")]
    Cancelled,
}

/// One tool. What implements [`Typed`] is one.
#[async_trait]
pub trait Tool: Send + Sync {
    /// The name that the model calls it by.
    fn name(&self) -> &str;
    /// What it does, for the model.
    fn description(&self) -> &str;
    /// The same in one sentence, for a small model; `None` if it is not offered to one.
    fn in_short(&self) -> Option<&str> {
        None
    }
    /// JSON Schema of its parameters: an object.
    fn schema(&self) -> Value;
    /// Whether the call with these parameters may change anything.
    fn changes(&self, input: &Value) -> bool;
    /// Whether every call changes something: such a tool is not offered to a read-only run.
    fn always_changes(&self) -> bool;
    /// The paths that the call names, as the model wrote them.
    fn paths(&self, input: &Value) -> Vec<String>;
    /// One line for a person: "Reading src/lib.rs".
    fn title(&self, input: &Value, cx: &Context) -> String;
    /// Does it. The parameters are valid by the schema.
    async fn call(&self, input: Value, cx: &Context) -> Result<Output, ToolError>;
}

/// A tool written against its own parameter type.
pub(crate) trait Typed: Send + Sync + 'static {
    /// The parameters.
    type Input: DeserializeOwned + JsonSchema + Send;
    const NAME: &'static str;
    const DESCRIPTION: &'static str;
    const IN_SHORT: Option<&'static str> = None;
    const ALWAYS_CHANGES: bool = false;

    fn changes(_input: &Self::Input) -> bool {
        Self::ALWAYS_CHANGES
    }
    fn paths(input: &Self::Input) -> Vec<String>;
    fn title(input: &Self::Input, cx: &Context) -> String;
    fn run(
        input: Self::Input,
        cx: &Context,
    ) -> impl Future<Output = Result<Output, ToolError>> + Send;
}

/// Makes a [`Typed`] a [`Tool`].
pub(crate) struct Of<T>(std::marker::PhantomData<fn() -> T>);

impl<T> Of<T> {
    pub fn new() -> Self {
        Of(std::marker::PhantomData)
    }
}

#[async_trait]
impl<T: Typed> Tool for Of<T> {
    fn name(&self) -> &str {
        T::NAME
    }

    fn description(&self) -> &str {
        T::DESCRIPTION.trim()
    }

    fn in_short(&self) -> Option<&str> {
        T::IN_SHORT
    }

    fn schema(&self) -> Value {
        schema_of::<T::Input>()
    }

    fn changes(&self, input: &Value) -> bool {
        // What can't be read can't be called either; until then it counts as the worse of both.
        typed::<T>(input).is_none_or(|input| T::changes(&input))
    }

    fn always_changes(&self) -> bool {
        T::ALWAYS_CHANGES
    }

    fn paths(&self, input: &Value) -> Vec<String> {
        typed::<T>(input).map_or_else(Vec::new, |input| T::paths(&input))
    }

    fn title(&self, input: &Value, cx: &Context) -> String {
        typed::<T>(input).map_or_else(|| T::NAME.to_owned(), |input| T::title(&input, cx))
    }

    async fn call(&self, input: Value, cx: &Context) -> Result<Output, ToolError> {
        let input = serde_json::from_value(input)
            .map_err(|error| ToolError::Input(format!("{}: {error}", T::NAME)))?;
        T::run(input, cx).await
    }
}

fn typed<T: Typed>(input: &Value) -> Option<T::Input> {
    serde_json::from_value(input.clone()).ok()
}

/// A small schema: inlined, without the titles and formats that only cost tokens.
fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft07().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value();
    trim(&mut schema);
    schema
}

fn trim(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            // A property may itself be called "title" or "format": those hold objects.
            object.retain(|key, value| match key.as_str() {
                "title" | "format" => !value.is_string(),
                "default" => !value.is_null(),
                _ => true,
            });
            if let Some(Value::Array(types)) = object.get("type")
                && let [one, Value::String(null)] = types.as_slice()
                && null == "null"
            {
                let one = one.clone();
                object.insert("type".into(), one);
            }
            object.values_mut().for_each(trim);
        }
        Value::Array(items) => items.iter_mut().for_each(trim),
        _ => {}
    }
}
