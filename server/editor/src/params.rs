//! Reads parameters that a client wrote, so that whatever is wrong with one is told by the name of
//! its field.

use serde::de::{DeserializeOwned, Deserializer, Error as _};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tower_lsp::jsonrpc::{Error, ErrorCode, Result};
use tower_lsp::lsp_types;
use workspace::{DocumentUri, Position, Range};

/// Reads an object. `name` is what the whole is called if it is none.
pub(crate) fn read<T: DeserializeOwned>(value: Value, name: &str) -> Result<T> {
    match &value {
        Value::Object(_) => {}
        Value::Null => return Err(invalid(name, "missing; an object is due")),
        other => {
            return Err(invalid(
                name,
                format_args!("{} where an object is due", kind(other)),
            ));
        }
    }
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        let reason = error.into_inner();
        match path.as_str() {
            // serde itself names a field that is missing.
            "." => invalid_params(reason.to_string()),
            path => invalid(path, reason),
        }
    })
}

/// The error for a field that is wrong.
pub(crate) fn invalid(field: &str, reason: impl std::fmt::Display) -> Error {
    invalid_params(format!("{field}: {reason}"))
}

fn invalid_params(message: String) -> Error {
    Error {
        code: ErrorCode::InvalidParams,
        message: message.into(),
        data: None,
    }
}

/// A document as the client names it.
#[derive(Clone, Debug)]
pub(crate) struct Uri(pub(crate) DocumentUri);

impl<'de> Deserialize<'de> for Uri {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        DocumentUri::parse(&text)
            .map(Self)
            .map_err(D::Error::custom)
    }
}

/// A document in the object that LSP puts around it.
#[derive(Debug, Deserialize)]
pub(crate) struct TextDocument {
    pub(crate) uri: Uri,
}

/// A range in the client's encoding, as the client wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(from = "lsp_types::Range", into = "lsp_types::Range")]
pub(crate) struct Span(pub(crate) Range);

impl Span {
    /// The right way round: a selection made backwards is one all the same.
    pub(crate) fn forward(self) -> Range {
        let Range { start, end } = self.0;
        Range {
            start: start.min(end),
            end: end.max(start),
        }
    }
}

impl From<lsp_types::Range> for Span {
    fn from(range: lsp_types::Range) -> Self {
        let position = |at: lsp_types::Position| Position {
            line: at.line,
            character: at.character,
        };
        Self(Range {
            start: position(range.start),
            end: position(range.end),
        })
    }
}

impl From<Span> for lsp_types::Range {
    fn from(Span(range): Span) -> Self {
        let position = |at: Position| lsp_types::Position {
            line: at.line,
            character: at.character,
        };
        Self {
            start: position(range.start),
            end: position(range.end),
        }
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Whole {
        a_name: Option<String>,
        uri: Uri,
        range: Option<Span>,
        text_document: Option<TextDocument>,
        list: Option<Vec<String>>,
    }

    #[test]
    fn errors_name_their_field() {
        for (value, expected) in [
            (json!({}), "missing field `uri`"),
            (
                json!({"uri": null}),
                "uri: invalid type: null, expected a string",
            ),
            (
                json!({"uri": "main.rs"}),
                "uri: \"main.rs\" is not a URI: relative URL without a base",
            ),
            (
                json!({"uri": "file:///a", "aName": 5}),
                "aName: invalid type: integer `5`, expected a string",
            ),
            (
                json!({"uri": "file:///a", "range": {}}),
                "range: missing field `start`",
            ),
            (
                json!({"uri": "file:///a", "textDocument": {}}),
                "textDocument: missing field `uri`",
            ),
            (
                json!({"uri": "file:///a", "list": ["x", 5]}),
                "list[1]: invalid type: integer `5`, expected a string",
            ),
            (json!(5), "argument: a number where an object is due"),
            (
                json!(["file:///a"]),
                "argument: an array where an object is due",
            ),
            (Value::Null, "argument: missing; an object is due"),
        ] {
            let error = read::<Whole>(value.clone(), "argument").expect_err("an error");
            assert_eq!(
                (error.code, error.message.as_ref()),
                (ErrorCode::InvalidParams, expected),
                "{value}"
            );
        }
    }

    #[test]
    fn what_may_be_absent_may_be_null() {
        let value = json!({"uri": "file:///a", "aName": null, "range": null, "unknown": 1});
        let whole: Whole = read(value, "argument").expect("readable");
        assert!(whole.a_name.is_none() && whole.range.is_none() && whole.list.is_none());
        assert!(
            whole
                .text_document
                .is_none_or(|document| document.uri.0 == whole.uri.0)
        );
    }

    #[test]
    fn a_range_backwards_is_turned() {
        let at = |line: u32| json!({"line": line, "character": 3});
        let span: Span =
            serde_json::from_value(json!({"start": at(5), "end": at(2)})).expect("a range");
        assert_eq!((span.forward().start.line, span.forward().end.line), (2, 5));
        assert_eq!(
            serde_json::to_value(span).expect("JSON"),
            json!({"start": at(5), "end": at(2)})
        );
    }
}
