//! Places and hovers in every shape that occurs.

use std::{borrow::Cow, collections::HashMap};

use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use workspace::{DocumentUri, Position};

use super::{Read, Unfit, each, read_range};

/// A range in a document, in the server's columns.
pub(crate) type Place = (DocumentUri, workspace::Range);

/// `Location`, `LocationLink`, a list of either or of both, or null.
pub(crate) fn read_locations(answer: &RawValue) -> Result<Read<Place>, Unfit> {
    let mut names = Names::default();
    each(answer, |item| read_location(item, &mut names))
}

/// Names as they came: one that comes thousands of times is read once.
#[derive(Default)]
pub(super) struct Names(HashMap<String, Option<DocumentUri>>);

impl Names {
    pub fn read(&mut self, name: &str) -> Option<DocumentUri> {
        if let Some(known) = self.0.get(name) {
            return known.clone();
        }
        let read = DocumentUri::parse(name).ok();
        self.0.insert(name.to_owned(), read.clone());
        read
    }
}

/// By far the most usual shape, read without a detour.
#[derive(Deserialize)]
struct Plain<'a> {
    #[serde(borrow)]
    uri: Cow<'a, str>,
    range: PlainRange,
}

#[derive(Deserialize)]
struct PlainRange {
    start: PlainPosition,
    end: PlainPosition,
}

#[derive(Deserialize)]
struct PlainPosition {
    line: u32,
    character: u32,
}

fn read_location(item: &RawValue, names: &mut Names) -> Option<Place> {
    if let Ok(Plain { uri, range }) = serde_json::from_str(item.get()) {
        let place = |at: PlainPosition| Position::new(at.line, at.character);
        let (start, end) = (place(range.start), place(range.end));
        let range = workspace::Range::new(start.min(end), start.max(end));
        return Some((names.read(&uri)?, range));
    }
    let value: Value = serde_json::from_str(item.get()).ok()?;
    let (uri, range) = match value.get("targetUri") {
        Some(uri) => {
            let range = value
                .get("targetSelectionRange")
                .or_else(|| value.get("targetRange"))?;
            (uri, range)
        }
        None => (value.get("uri")?, value.get("range")?),
    };
    Some((names.read(uri.as_str()?)?, read_range(range)?))
}

/// A hover's contents as Markdown: `MarkupContent`, `MarkedString`, or a list of the latter. `None` if it says nothing; what
/// has no contents, or none that can be read, does not say that.
pub(crate) fn read_hover(value: &Value) -> Result<Option<String>, Unfit> {
    if value.is_null() {
        return Ok(None);
    }
    let items = match value.get("contents").ok_or(Unfit)? {
        Value::Null => &[],
        Value::Array(items) => items.as_slice(),
        single => std::slice::from_ref(single),
    };
    let parts: Vec<String> = items.iter().filter_map(read_marked).collect();
    if parts.is_empty() && !items.is_empty() {
        return Err(Unfit);
    }
    let parts: Vec<&str> = parts
        .iter()
        .map(|part| part.trim())
        .filter(|part| !part.is_empty())
        .collect();
    Ok((!parts.is_empty()).then(|| parts.join("\n\n")))
}

fn read_marked(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Object(object) => {
            let text = object.get("value")?.as_str()?;
            let Some(language) = object.get("language").and_then(Value::as_str) else {
                return Some(text.to_owned());
            };
            // Text that holds a fence itself needs a longer one.
            let mut fence = "```".to_owned();
            while text.contains(&fence) {
                fence.push('`');
            }
            Some(format!(
                "{fence}{language}\n{}\n{fence}",
                text.trim_end_matches('\n')
            ))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn hovers_in_every_shape() {
        for (contents, expected) in [
            (
                json!({"kind": "markdown", "value": "**x**\n"}),
                Some("**x**"),
            ),
            (json!({"kind": "plaintext", "value": "x"}), Some("x")),
            (json!("x"), Some("x")),
            (
                json!({"language": "rust", "value": "fn x()\n"}),
                Some("```rust\nfn x()\n```"),
            ),
            (
                json!({"language": "md", "value": "```\n```"}),
                Some("````md\n```\n```\n````"),
            ),
            (
                json!(["a", {"language": "c", "value": "b"}, "", 5]),
                Some("a\n\n```c\nb\n```"),
            ),
            (json!(""), None),
            (json!([]), None),
            (json!(null), None),
        ] {
            assert_eq!(
                read_hover(&json!({"contents": contents}))
                    .expect("read")
                    .as_deref(),
                expected,
                "{contents}"
            );
        }
        assert_eq!(read_hover(&json!(null)), Ok(None));
        for odd in [
            json!(true),
            json!(7),
            json!("x"),
            json!([]),
            json!({}),
            json!({"contents": 7}),
            json!({"contents": [5, {}]}),
            json!({"contents": {"kind": "markdown"}}),
        ] {
            assert_eq!(read_hover(&odd), Err(Unfit), "{odd}");
        }
    }
    #[test]
    fn locations_in_every_shape() {
        let location = json!({"uri": "file:///a%20b/c.rs", "range": lsp_range(1)});
        let link = json!({"targetUri": "file:///d.rs", "targetRange": lsp_range(2), "targetSelectionRange": lsp_range(3), "originSelectionRange": lsp_range(9)});
        for (value, expected) in [
            (json!(null), vec![]),
            (json!([]), vec![]),
            (location.clone(), vec![("/a b/c.rs", 1)]),
            (json!([location]), vec![("/a b/c.rs", 1)]),
            (link.clone(), vec![("/d.rs", 3)]),
            (
                json!([link, location, 7, {"uri": "file:///x"}, {"uri": 1, "range": lsp_range(1)}]),
                vec![("/d.rs", 3), ("/a b/c.rs", 1)],
            ),
            (
                json!({"targetUri": "file:///d.rs", "targetRange": lsp_range(2)}),
                vec![("/d.rs", 2)],
            ),
        ] {
            let found: Vec<_> = read_locations(&raw(&value))
                .expect("a list")
                .found
                .into_iter()
                .map(|(uri, range)| (uri.to_string(), range.start.line))
                .collect();
            let expected: Vec<_> = expected
                .into_iter()
                .map(|(uri, line)| (uri.to_owned(), line))
                .collect();
            assert_eq!(found, expected, "{value}");
        }
    }
    fn lsp_range(line: u32) -> Value {
        json!({"start": {"line": line, "character": 1}, "end": {"line": line, "character": 4}})
    }

    fn raw(value: &Value) -> Box<RawValue> {
        serde_json::value::to_raw_value(value).expect("JSON")
    }

    #[test]
    fn what_is_broken_is_counted() {
        let good = json!({"uri": "file:///a", "range": lsp_range(1)});
        let read = read_locations(&raw(
            &json!([good, 5, null, {"uri": "no uri", "range": lsp_range(1)}, good]),
        ))
        .expect("a list");
        assert_eq!((read.found.len(), read.broken), (2, 3));
        for odd in [json!("nonsense"), json!(7), json!(true)] {
            assert!(read_locations(&raw(&odd)).is_err(), "{odd}");
        }
    }
}
