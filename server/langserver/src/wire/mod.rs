//! LSP's shapes as servers really send them, read piece by piece: what is missing or wrong spoils itself alone.
//! Nothing here knows a server or a document's text.

mod edit;
mod hierarchy;
mod places;
mod symbols;

use serde::Serialize;
use serde_json::{Value, json, value::RawValue};
use workspace::{DocumentUri, Encoding, Position};

pub(crate) use self::{
    edit::{DocumentEdit, Step, read_edits, read_workspace_edit},
    hierarchy::{Node, read_calls, read_nodes},
    places::{Place, read_hover, read_locations},
    symbols::{Found, Outline, read_found, read_symbols},
};

/// What was read of a list, and how many of its items could not be.
#[derive(Debug)]
pub(crate) struct Read<T> {
    pub found: Vec<T>,
    pub broken: usize,
}

/// An answer of a shape that no answer of its kind has.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unfit;

/// Reads a list, one item (which counts as a list of one) or null (which counts as an empty one). The items are read one
/// after the other: a tree of all would be many times as large as the answer.
pub(crate) fn each<'a, T>(
    answer: &'a RawValue,
    mut read: impl FnMut(&'a RawValue) -> Option<T>,
) -> Result<Read<T>, Unfit> {
    let items: Vec<&RawValue> = match answer.get().as_bytes().first() {
        Some(b'[') => serde_json::from_str(answer.get()).map_err(|_| Unfit)?,
        Some(b'{') => vec![answer],
        Some(b'n') => Vec::new(),
        _ => return Err(Unfit),
    };
    let all = items.len();
    let found: Vec<T> = items
        .into_iter()
        .filter_map(|item| (item.get().len() <= LARGEST_TREE).then(|| read(item))?)
        .collect();
    let broken = all - found.len();
    Ok(Read { found, broken })
}

/// The most that is read into a tree of values, which takes many times as much room.
const LARGEST_TREE: usize = 16 << 20;

/// An answer that is no list, as a tree of values.
pub(crate) fn read_tree(answer: &RawValue) -> Result<Value, Unfit> {
    if answer.get().len() > LARGEST_TREE {
        return Err(Unfit);
    }
    serde_json::from_str(answer.get()).map_err(|_| Unfit)
}

/// LSP's range on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Range {
    start: Point,
    end: Point,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
struct Point {
    line: u32,
    character: u32,
}

impl From<workspace::Range> for Range {
    fn from(range: workspace::Range) -> Self {
        let point = |position: Position| Point {
            line: position.line,
            character: position.character,
        };
        Self {
            start: point(range.start),
            end: point(range.end),
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
