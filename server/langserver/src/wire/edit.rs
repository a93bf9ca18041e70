//! Edits of documents and of whole workspaces. Unlike everywhere else a wrong shape spoils the whole: half an edit is a
//! wrong one.

use serde_json::{Value, json};
use workspace::{DocumentUri, FileStep};

use super::{read_range, read_uri};

/// One step of a `WorkspaceEdit`.
#[derive(Debug, PartialEq)]
pub(crate) enum Step {
    Edit(DocumentEdit),
    File(FileStep),
}

/// The edits of one document: the version they are for and `(range, new text)`.
#[derive(Debug, PartialEq)]
pub(crate) struct DocumentEdit {
    pub uri: DocumentUri,
    pub version: Option<i32>,
    pub edits: Vec<(workspace::Range, String)>,
}

/// Reads `documentChanges`, or `changes` where there are none, in their order. Null is an edit of nothing.
pub(crate) fn read_workspace_edit(value: &Value) -> Result<Vec<Step>, String> {
    let mut steps = Vec::new();
    if !value.is_object() && !value.is_null() {
        return Err("an edit that is none".into());
    }
    if let Some(changes) = value.get("documentChanges").and_then(Value::as_array) {
        for change in changes {
            if let Some(kind) = change.get("kind").and_then(Value::as_str) {
                steps.push(read_operation(kind, change)?);
                continue;
            }
            let document = change.get("textDocument").ok_or("an edit of no document")?;
            let version = document
                .get("version")
                .and_then(Value::as_i64)
                .and_then(|version| i32::try_from(version).ok());
            add(
                &mut steps,
                document.get("uri"),
                version,
                change.get("edits"),
            )?;
        }
    } else if let Some(changes) = value.get("changes").and_then(Value::as_object) {
        for (uri, edits) in changes {
            add(&mut steps, Some(&json!(uri)), None, Some(edits))?;
        }
    }
    Ok(steps)
}

fn read_operation(kind: &str, change: &Value) -> Result<Step, String> {
    let name = |key: &str| {
        change
            .get(key)
            .and_then(read_uri)
            .ok_or_else(|| format!("to {kind} a file without a name"))
    };
    let option = |key: &str| change["options"][key] == true;
    Ok(match kind {
        "create" => Step::File(FileStep::Create {
            uri: name("uri")?,
            overwrite: option("overwrite"),
            ignore_if_exists: option("ignoreIfExists"),
        }),
        "rename" => Step::File(FileStep::Rename {
            from: name("oldUri")?,
            to: name("newUri")?,
            overwrite: option("overwrite"),
            ignore_if_exists: option("ignoreIfExists"),
        }),
        "delete" => Step::File(FileStep::Delete {
            uri: name("uri")?,
            recursive: option("recursive"),
            ignore_if_absent: option("ignoreIfNotExists"),
        }),
        _ => return Err(format!("to {kind} a file, which is not known here")),
    })
}

/// The edits of one document go together, as far as no file is made, moved or deleted between them.
fn add(
    steps: &mut Vec<Step>,
    uri: Option<&Value>,
    version: Option<i32>,
    edits: Option<&Value>,
) -> Result<(), String> {
    let uri = uri
        .and_then(read_uri)
        .ok_or("an edit of a document without a name")?;
    let edits = edits
        .and_then(read_edits)
        .ok_or_else(|| format!("an edit of {uri} that is none"))?;
    for step in steps.iter_mut().rev() {
        match step {
            Step::Edit(earlier) if earlier.uri == uri && earlier.version == version => {
                earlier.edits.extend(edits);
                return Ok(());
            }
            Step::Edit(_) => {}
            Step::File(_) => break,
        }
    }
    steps.push(Step::Edit(DocumentEdit {
        uri,
        version,
        edits,
    }));
    Ok(())
}

/// A list of `TextEdit`s (or null).
pub(crate) fn read_edits(value: &Value) -> Option<Vec<(workspace::Range, String)>> {
    if value.is_null() {
        return Some(Vec::new());
    }
    let one = |edit: &Value| {
        Some((
            read_range(edit.get("range")?)?,
            edit.get("newText")?.as_str()?.to_owned(),
        ))
    };
    value.as_array()?.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workspace_edits_whole_or_not_at_all() {
        let edit = json!({"range": lsp_range(1), "newText": "x"});
        let at = |version: Option<i32>, edits: usize| {
            let read = read_range(&lsp_range(1)).expect("a range");
            Step::Edit(DocumentEdit {
                uri: uri("file:///a.rs"),
                version,
                edits: vec![(read, "x".to_owned()); edits],
            })
        };
        let options = json!({"overwrite": true, "ignoreIfExists": true, "recursive": true, "ignoreIfNotExists": true});
        for (value, expected) in [
            (
                json!({"changes": {"file:///a.rs": [edit, edit]}}),
                Ok(vec![at(None, 2)]),
            ),
            (
                json!({"documentChanges": [
                    {"textDocument": {"uri": "file:///a.rs", "version": 3}, "edits": [edit]},
                    {"textDocument": {"uri": "file:///%61.rs", "version": 3}, "edits": [edit]},
                    {"textDocument": {"uri": "file:///a.rs", "version": null}, "edits": [edit]},
                    {"kind": "create", "uri": "file:///b.rs"},
                    {"textDocument": {"uri": "file:///a.rs", "version": null}, "edits": [edit]},
                    {"kind": "rename", "oldUri": "file:///b.rs", "newUri": "file:///c.rs", "options": options},
                    {"kind": "delete", "uri": "file:///c.rs", "options": options},
                ], "changes": {"file:///ignored": []}}),
                Ok(vec![
                    at(Some(3), 2),
                    at(None, 1),
                    Step::File(FileStep::Create {
                        uri: uri("file:///b.rs"),
                        overwrite: false,
                        ignore_if_exists: false,
                    }),
                    at(None, 1),
                    Step::File(FileStep::Rename {
                        from: uri("file:///b.rs"),
                        to: uri("file:///c.rs"),
                        overwrite: true,
                        ignore_if_exists: true,
                    }),
                    Step::File(FileStep::Delete {
                        uri: uri("file:///c.rs"),
                        recursive: true,
                        ignore_if_absent: true,
                    }),
                ]),
            ),
            (json!({}), Ok(vec![])),
            (json!(null), Ok(vec![])),
            (json!([]), Err("an edit that is none")),
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
            (
                json!({"documentChanges": [{"kind": "rename", "oldUri": "file:///a"}]}),
                Err("to rename a file without a name"),
            ),
            (
                json!({"documentChanges": [{"kind": "paint", "uri": "file:///a"}]}),
                Err("to paint a file, which is not known here"),
            ),
        ] {
            let found = read_workspace_edit(&value);
            assert_eq!(found, expected.map_err(str::to_owned), "{value}");
        }
    }

    fn uri(text: &str) -> DocumentUri {
        DocumentUri::parse(text).expect("a uri")
    }

    fn lsp_range(line: u32) -> Value {
        json!({"start": {"line": line, "character": 1}, "end": {"line": line, "character": 4}})
    }
}
