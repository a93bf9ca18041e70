//! What the wire formats share of tool calls that go back to a server: names and arguments that every server takes, and ids for
//! those that came without.

use std::borrow::Cow;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

use serde_json::{Map, Value, json};

use crate::ToolCall;

/// The arguments of an old call, for the model that made it: always an object.
pub(crate) fn input(call: &ToolCall) -> Cow<'_, Value> {
    match (&call.malformed, &call.input) {
        // Servers fail on what is no JSON object; the model must still see its own words.
        (Some(malformed), _) => Cow::Owned(json!({ "malformed": malformed })),
        (None, input @ Value::Object(_)) => Cow::Borrowed(input),
        (None, _) => Cow::Owned(Value::Object(Map::new())),
    }
}

/// The same as a text, as OpenAI's formats want it.
pub(crate) fn arguments(call: &ToolCall) -> String {
    // Much faster than its `to_string`, which writes piece by piece through a formatter; and there is nothing that could fail.
    serde_json::to_string(&*input(call)).unwrap_or_default()
}

/// An id for a call that came without one, or with another's: without its own, call and result would be no pair.
pub(crate) fn new_id(number: usize) -> String {
    format!("call_{:016x}", RandomState::new().hash_one(number))
}

/// A name that every server takes: the model may have called a tool that never was.
pub(crate) fn callable(name: &str) -> Cow<'_, str> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if !name.is_empty() && name.len() <= 64 && name.chars().all(fits) {
        return Cow::Borrowed(name);
    }
    let name: String = name
        .chars()
        .take(64)
        .map(|c| if fits(c) { c } else { '_' })
        .collect();
    Cow::Owned(if name.is_empty() {
        "unnamed".to_owned()
    } else {
        name
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tools_name_is_made_to_fit() {
        for (name, wanted) in [
            ("read", "read"),
            ("", "unnamed"),
            ("a.b c", "a_b_c"),
            ("ü", "_"),
        ] {
            assert_eq!(callable(name), wanted);
        }
        assert_eq!(callable(&"x".repeat(100)).len(), 64);
    }
}
