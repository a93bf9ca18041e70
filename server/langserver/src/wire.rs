//! LSP's shapes as servers really send them, read piece by piece: what is missing or wrong spoils itself alone.
//! Nothing here knows a server or a document's text.

use serde::Serialize;
use serde_json::{Value, json};
use workspace::{DocumentUri, Encoding, Position};

/// LSP's range on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Range {
    start: Place,
    end: Place,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
struct Place {
    line: u32,
    character: u32,
}

impl From<workspace::Range> for Range {
    fn from(range: workspace::Range) -> Self {
        let place = |position: Position| Place {
            line: position.line,
            character: position.character,
        };
        Self {
            start: place(range.start),
            end: place(range.end),
        }
    }
}

pub(crate) fn position(position: Position) -> Value {
    json!({"line": position.line, "character": position.character})
}

/// A range; numbers that are too large, negative or broken are taken for the nearest that can be, reversed ends turned.
pub(crate) fn read_range(value: &Value) -> Option<workspace::Range> {
    let (start, end) = (
        read_position(value.get("start")?)?,
        read_position(value.get("end")?)?,
    );
    Some(workspace::Range::new(start.min(end), start.max(end)))
}

fn read_position(value: &Value) -> Option<Position> {
    #[allow(clippy::cast_sign_loss)] // none is left after `clamp`
    let number = |key| {
        let number = value.get(key)?;
        let float = || {
            number
                .as_f64()
                .map(|float| float.clamp(0.0, f64::from(u32::MAX)) as u64)
        };
        Some(u32::try_from(number.as_u64().or_else(float)?).unwrap_or(u32::MAX))
    };
    Some(Position::new(number("line")?, number("character")?))
}

pub(crate) fn read_uri(value: &Value) -> Option<DocumentUri> {
    DocumentUri::parse(value.as_str()?).ok()
}

/// The encoding that a server chose; LSP's default if it did not.
pub(crate) fn read_encoding(value: &Value) -> Encoding {
    match value.as_str() {
        Some("utf-8") => Encoding::Utf8,
        Some("utf-32") => Encoding::Utf32,
        _ => Encoding::Utf16,
    }
}

/// `Location`, `LocationLink`, a list of either or of both, or null.
pub(crate) fn read_locations(value: &Value) -> Vec<(DocumentUri, workspace::Range)> {
    match value {
        Value::Array(items) => items.iter().filter_map(read_location).collect(),
        single => read_location(single).into_iter().collect(),
    }
}

fn read_location(value: &Value) -> Option<(DocumentUri, workspace::Range)> {
    if let Some(uri) = value.get("targetUri") {
        let range = value
            .get("targetSelectionRange")
            .or_else(|| value.get("targetRange"))?;
        return Some((read_uri(uri)?, read_range(range)?));
    }
    Some((
        read_uri(value.get("uri")?)?,
        read_range(value.get("range")?)?,
    ))
}

/// A hover's contents as Markdown: `MarkupContent`, `MarkedString`, or a list of the latter. `None` if it says nothing.
pub(crate) fn read_hover(value: &Value) -> Option<String> {
    let contents = value.get("contents")?;
    let parts: Vec<String> = match contents {
        Value::Array(items) => items.iter().filter_map(read_marked).collect(),
        single => read_marked(single).into_iter().collect(),
    };
    let parts: Vec<&str> = parts
        .iter()
        .map(|part| part.trim())
        .filter(|part| !part.is_empty())
        .collect();
    (!parts.is_empty()).then(|| parts.join("\n\n"))
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

/// The edits of a `WorkspaceEdit`: per document the version they are for and `(range, new text)`.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct WorkspaceEdit {
    pub documents: Vec<DocumentEdit>,
    /// Files that it would create, rename or delete: what to do to which.
    pub file_operations: Vec<String>,
}

#[derive(Debug, PartialEq)]
pub(crate) struct DocumentEdit {
    pub uri: DocumentUri,
    pub version: Option<i32>,
    pub edits: Vec<(workspace::Range, String)>,
}

/// Reads `documentChanges`, or `changes` where there are none. Unlike everywhere else a wrong shape spoils the whole:
/// half an edit is a wrong one.
pub(crate) fn read_workspace_edit(value: &Value) -> Result<WorkspaceEdit, String> {
    let mut read = WorkspaceEdit::default();
    if let Some(changes) = value.get("documentChanges").and_then(Value::as_array) {
        for change in changes {
            if let Some(kind) = change.get("kind").and_then(Value::as_str) {
                let name = change
                    .get("uri")
                    .or_else(|| change.get("oldUri"))
                    .and_then(Value::as_str)
                    .unwrap_or("a file");
                read.file_operations.push(format!("{kind} {name}"));
                continue;
            }
            let document = change.get("textDocument").ok_or("an edit of no document")?;
            let version = document
                .get("version")
                .and_then(Value::as_i64)
                .and_then(|version| i32::try_from(version).ok());
            read.add(document.get("uri"), version, change.get("edits"))?;
        }
    } else if let Some(changes) = value.get("changes").and_then(Value::as_object) {
        for (uri, edits) in changes {
            read.add(Some(&json!(uri)), None, Some(edits))?;
        }
    }
    Ok(read)
}

impl WorkspaceEdit {
    fn add(
        &mut self,
        uri: Option<&Value>,
        version: Option<i32>,
        edits: Option<&Value>,
    ) -> Result<(), String> {
        let uri = uri
            .and_then(read_uri)
            .ok_or("an edit of a document without a name")?;
        let edits = edits
            .and_then(Value::as_array)
            .ok_or_else(|| format!("no edits for {uri}"))?;
        let edits = edits
            .iter()
            .map(|edit| {
                Some((
                    read_range(edit.get("range")?)?,
                    edit.get("newText")?.as_str()?.to_owned(),
                ))
            })
            .collect::<Option<Vec<_>>>()
            .ok_or_else(|| format!("an edit of {uri} that is none"))?;
        match self
            .documents
            .iter_mut()
            .find(|document| document.uri == uri && document.version == version)
        {
            Some(document) => document.edits.extend(edits),
            None => self.documents.push(DocumentEdit {
                uri,
                version,
                edits,
            }),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lsp_range(line: u32) -> Value {
        json!({"start": {"line": line, "character": 1}, "end": {"line": line, "character": 4}})
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
            (json!("nonsense"), vec![]),
        ] {
            let found: Vec<_> = read_locations(&value)
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

    #[test]
    fn ranges_are_forgiving() {
        for (value, expected) in [
            (
                json!({"start": {"line": 1, "character": 2}, "end": {"line": 3, "character": 4}}),
                Some((1, 2, 3, 4)),
            ),
            (
                json!({"start": {"line": 3, "character": 4}, "end": {"line": 1, "character": 2}}),
                Some((1, 2, 3, 4)),
            ),
            (
                json!({"start": {"line": -1, "character": 2.0}, "end": {"line": 1e30, "character": u64::MAX}}),
                Some((0, 2, u32::MAX, u32::MAX)),
            ),
            (
                json!({"start": {"line": "1", "character": 2}, "end": {"line": 3, "character": 4}}),
                None,
            ),
            (json!({"start": {"line": 1}}), None),
            (json!(null), None),
        ] {
            let found = read_range(&value).map(|range| {
                (
                    range.start.line,
                    range.start.character,
                    range.end.line,
                    range.end.character,
                )
            });
            assert_eq!(found, expected, "{value}");
        }
    }

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
                read_hover(&json!({"contents": contents})).as_deref(),
                expected,
                "{contents}"
            );
        }
        assert_eq!(read_hover(&json!(null)), None);
    }

    #[test]
    fn workspace_edits_whole_or_not_at_all() {
        let edit = json!({"range": lsp_range(1), "newText": "x"});
        let at = |version: Option<i32>, edits: usize| {
            let read = read_range(&lsp_range(1)).expect("a range");
            DocumentEdit {
                uri: DocumentUri::parse("file:///a.rs").expect("a uri"),
                version,
                edits: vec![(read, "x".to_owned()); edits],
            }
        };
        for (value, expected) in [
            (
                json!({"changes": {"file:///a.rs": [edit, edit]}}),
                Ok((vec![at(None, 2)], vec![])),
            ),
            (
                json!({"documentChanges": [
                    {"textDocument": {"uri": "file:///a.rs", "version": 3}, "edits": [edit]},
                    {"textDocument": {"uri": "file:///%61.rs", "version": 3}, "edits": [edit]},
                    {"textDocument": {"uri": "file:///a.rs", "version": null}, "edits": [edit]},
                    {"kind": "create", "uri": "file:///b.rs"},
                ], "changes": {"file:///ignored": []}}),
                Ok((
                    vec![at(Some(3), 2), at(None, 1)],
                    vec!["create file:///b.rs".to_owned()],
                )),
            ),
            (json!({}), Ok((vec![], vec![]))),
            (
                json!({"changes": {"file:///a.rs": [{"newText": "x"}]}}),
                Err("an edit of /a.rs that is none"),
            ),
            (
                json!({"changes": {"no uri": []}}),
                Err("an edit of a document without a name"),
            ),
            (
                json!({"documentChanges": [{"edits": []}]}),
                Err("an edit of no document"),
            ),
        ] {
            let found =
                read_workspace_edit(&value).map(|read| (read.documents, read.file_operations));
            assert_eq!(found, expected.map_err(str::to_owned), "{value}");
        }
    }
}
