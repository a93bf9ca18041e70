//! Tells what a JSON value is as a JSON-RPC message: a call, an answer, or neither. It knows no
//! method.

use serde_json::{Map, Value};
use tower_lsp::jsonrpc::{Error, ErrorCode, Id};

/// A message from the client.
#[derive(Debug, PartialEq)]
pub(crate) enum Incoming {
    /// A request (with an id) or a notification (without).
    Call(Call),
    /// The answer to a request of ours.
    Answer {
        /// The id that we gave, as far as it is one of ours at all.
        id: Option<i64>,
        outcome: Result<Value, Error>,
    },
    /// No JSON-RPC message. `id` is what can be told of the one that it should have had.
    Invalid { id: Id, reason: &'static str },
}

/// A request or notification.
#[derive(Debug, PartialEq)]
pub(crate) struct Call {
    pub(crate) id: Option<Id>,
    pub(crate) method: String,
    /// An object or an array; absent if it was absent or null.
    pub(crate) params: Option<Value>,
}

/// Sorts one value. An array is for the caller to take apart: LSP knows no batches, so its members
/// stand alone.
pub(crate) fn sort(value: Value) -> Incoming {
    let Value::Object(mut message) = value else {
        return Incoming::Invalid {
            id: Id::Null,
            reason: "a message is an object",
        };
    };
    let id = message.remove("id");
    let Ok(id) = id.map_or(Ok(None), readable_id) else {
        return Incoming::Invalid {
            id: Id::Null,
            reason: "id is neither a number nor a string",
        };
    };
    let invalid = |id: Option<Id>, reason| Incoming::Invalid {
        id: id.unwrap_or(Id::Null),
        reason,
    };
    if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return invalid(id, "jsonrpc is not \"2.0\"");
    }
    match message.remove("method") {
        Some(Value::String(method)) => match message.remove("params") {
            None | Some(Value::Null) => Incoming::Call(Call {
                id,
                method,
                params: None,
            }),
            Some(params @ (Value::Object(_) | Value::Array(_))) => Incoming::Call(Call {
                id,
                method,
                params: Some(params),
            }),
            Some(_) => invalid(id, "params is neither an object nor an array"),
        },
        Some(_) => invalid(id, "method is no string"),
        None => match (id, answer(&mut message)) {
            (Some(id), Some(outcome)) => Incoming::Answer {
                id: ours(&id),
                outcome,
            },
            (id, _) => invalid(id, "neither method nor result nor error"),
        },
    }
}

/// A null id is none: no one waits for an answer to it.
fn readable_id(id: Value) -> Result<Option<Id>, ()> {
    match id {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(Id::String(text))),
        Value::Number(number) => number
            .as_i64()
            .map(|number| Some(Id::Number(number)))
            .ok_or(()),
        _ => Err(()),
    }
}

/// We give numbers; a client may write them as strings.
fn ours(id: &Id) -> Option<i64> {
    match id {
        Id::Number(number) => Some(*number),
        Id::String(text) => text.parse().ok(),
        Id::Null => None,
    }
}

/// `error` counts only if it is no null: some clients send both members.
fn answer(message: &mut Map<String, Value>) -> Option<Result<Value, Error>> {
    match message.remove("error") {
        None | Some(Value::Null) => message.remove("result").map(Ok),
        Some(error) => Some(Err(Error {
            code: ErrorCode::from(
                error["code"]
                    .as_i64()
                    .unwrap_or(ErrorCode::InternalError.code()),
            ),
            message: error["message"]
                .as_str()
                .unwrap_or("no message")
                .to_owned()
                .into(),
            data: error.get("data").cloned(),
        })),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(id: Option<Id>, params: Option<Value>) -> Incoming {
        Incoming::Call(Call {
            id,
            method: "m".to_owned(),
            params,
        })
    }

    #[test]
    fn calls() {
        let cases = [
            (json!({"jsonrpc": "2.0", "method": "m"}), call(None, None)),
            (
                json!({"jsonrpc": "2.0", "method": "m", "params": null}),
                call(None, None),
            ),
            (
                json!({"jsonrpc": "2.0", "method": "m", "id": null, "params": {}}),
                call(None, Some(json!({}))),
            ),
            (
                json!({"jsonrpc": "2.0", "method": "m", "id": 0, "params": [1]}),
                call(Some(Id::Number(0)), Some(json!([1]))),
            ),
            (
                json!({"jsonrpc": "2.0", "method": "m", "id": "x"}),
                call(Some("x".into()), None),
            ),
        ];
        for (message, expected) in cases {
            assert_eq!(sort(message.clone()), expected, "{message}");
        }
    }

    #[test]
    fn answers() {
        let failed = |code: i64, text: &'static str| {
            Err(Error {
                code: code.into(),
                message: text.into(),
                data: None,
            })
        };
        let cases = [
            (
                json!({"jsonrpc": "2.0", "id": 4, "result": null}),
                Some(4),
                Ok(Value::Null),
            ),
            (
                json!({"jsonrpc": "2.0", "id": "4", "result": 1}),
                Some(4),
                Ok(json!(1)),
            ),
            (
                json!({"jsonrpc": "2.0", "id": "four", "result": 1}),
                None,
                Ok(json!(1)),
            ),
            (
                json!({"jsonrpc": "2.0", "id": 4, "result": 1, "error": null}),
                Some(4),
                Ok(json!(1)),
            ),
            (
                json!({"jsonrpc": "2.0", "id": 4, "error": {"code": -32601, "message": "no"}}),
                Some(4),
                failed(-32601, "no"),
            ),
            (
                json!({"jsonrpc": "2.0", "id": 4, "error": "no"}),
                Some(4),
                failed(-32603, "no message"),
            ),
        ];
        for (message, id, outcome) in cases {
            assert_eq!(
                sort(message.clone()),
                Incoming::Answer { id, outcome },
                "{message}"
            );
        }
    }

    #[test]
    fn neither() {
        let cases = [
            (json!(42), Id::Null),
            (json!("text"), Id::Null),
            (json!({}), Id::Null),
            (json!({"jsonrpc": "2.0"}), Id::Null),
            (json!({"jsonrpc": "2.0", "id": 7}), Id::Number(7)),
            (
                json!({"jsonrpc": "1.0", "id": 7, "method": "m"}),
                Id::Number(7),
            ),
            (json!({"id": 7, "method": "m"}), Id::Number(7)),
            (
                json!({"jsonrpc": "2.0", "id": 7, "method": 5}),
                Id::Number(7),
            ),
            (
                json!({"jsonrpc": "2.0", "id": 7, "method": "m", "params": 5}),
                Id::Number(7),
            ),
            (json!({"jsonrpc": "2.0", "id": {}, "method": "m"}), Id::Null),
            (
                json!({"jsonrpc": "2.0", "id": 1.5, "method": "m"}),
                Id::Null,
            ),
        ];
        for (message, expected) in cases {
            let Incoming::Invalid { id, .. } = sort(message.clone()) else {
                panic!("{message} passed")
            };
            assert_eq!(id, expected, "{message}");
        }
    }
}
