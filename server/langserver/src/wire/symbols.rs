//! Symbols of documents and of whole projects, nested or flat, with a range or without.

use std::cmp::Reverse;

use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use workspace::{DocumentUri, Range};

use super::{Read, Unfit, each, places::Names, read_range};

/// Symbols deeper than this are left out: no code is so deep.
const DEEPEST: usize = 100;

/// A symbol of a document, in the server's columns.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Outline {
    pub name: String,
    pub kind: u8,
    pub detail: Option<String>,
    pub range: Range,
    /// Its name in the text; flat symbols do not say.
    pub selection: Option<Range>,
    pub children: Vec<Outline>,
}

/// `DocumentSymbol`s as they are, `SymbolInformation`s put into each other by their ranges.
pub(crate) fn read_symbols(answer: &RawValue) -> Result<Read<Outline>, Unfit> {
    let mut broken = 0;
    let mut is_flat = false;
    let read = each(answer, |item| {
        read_symbol(item, 0, &mut broken, &mut is_flat)
    })?;
    let found = if is_flat {
        nested(read.found)
    } else {
        read.found
    };
    Ok(Read {
        found,
        broken: read.broken + broken,
    })
}

/// One level of a symbol: what is in it stays text until its turn comes.
#[derive(Deserialize)]
struct Level<'a> {
    name: Value,
    #[serde(default)]
    kind: Value,
    #[serde(default)]
    detail: Value,
    #[serde(default)]
    range: Value,
    #[serde(default, rename = "selectionRange")]
    selection: Value,
    #[serde(default)]
    location: Value,
    #[serde(borrow)]
    children: Option<&'a RawValue>,
}

fn read_symbol(
    item: &RawValue,
    depth: usize,
    broken: &mut usize,
    is_flat: &mut bool,
) -> Option<Outline> {
    let level: Level<'_> = serde_json::from_str(item.get()).ok()?;
    let name = level.name.as_str()?.to_owned();
    let range = if level.range.is_null() {
        *is_flat = true;
        read_range(level.location.get("range")?)?
    } else {
        read_range(&level.range)?
    };
    let mut children = Vec::new();
    if let Some(inner) = level.children {
        let mut inner_broken = 0;
        let read = if depth < DEEPEST {
            each(inner, |item| {
                read_symbol(item, depth + 1, &mut inner_broken, is_flat)
            })
        } else {
            Err(Unfit)
        };
        match read {
            Ok(read) => {
                *broken += read.broken + inner_broken;
                children = read.found;
            }
            Err(Unfit) => *broken += 1,
        }
    }
    Some(Outline {
        name,
        kind: read_kind(&level.kind),
        detail: text(&level.detail),
        range,
        selection: read_range(&level.selection),
        children,
    })
}

fn read_kind(value: &Value) -> u8 {
    value
        .as_u64()
        .and_then(|kind| u8::try_from(kind).ok())
        .unwrap_or_default()
}

fn text(value: &Value) -> Option<String> {
    value
        .as_str()
        .map(str::trim)
        .filter(|text| !text.is_empty())
        .map(str::to_owned)
}

/// Flat symbols put into each other: what lies within another's range is its child.
fn nested(mut symbols: Vec<Outline>) -> Vec<Outline> {
    symbols.sort_by_key(|symbol| (symbol.range.start, Reverse(symbol.range.end)));
    let mut whole = Vec::new();
    let mut open: Vec<Outline> = Vec::new();
    let close = |open: &mut Vec<Outline>, whole: &mut Vec<Outline>| {
        if let Some(closed) = open.pop() {
            match open.last_mut() {
                Some(parent) => parent.children.push(closed),
                None => whole.push(closed),
            }
        }
    };
    for symbol in symbols {
        while open.last().is_some_and(|parent| {
            // Two of one range stand beside each other.
            parent.range.end < symbol.range.end || parent.range == symbol.range
        }) {
            close(&mut open, &mut whole);
        }
        open.push(symbol);
    }
    while !open.is_empty() {
        close(&mut open, &mut whole);
    }
    whole
}

/// A symbol of the project, in the server's columns.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    pub name: String,
    pub kind: u8,
    pub container: Option<String>,
    pub uri: DocumentUri,
    /// A server may leave it out, to be asked for it.
    pub range: Option<Range>,
    /// As it came, where there is no range.
    pub raw: Option<Value>,
}

/// `SymbolInformation` or `WorkspaceSymbol`.
pub(crate) fn read_found(answer: &RawValue) -> Result<Read<Found>, Unfit> {
    let mut names = Names::default();
    each(answer, |item| {
        let item: Value = serde_json::from_str(item.get()).ok()?;
        let range = item["location"].get("range").and_then(read_range);
        Some(Found {
            name: item["name"].as_str()?.to_owned(),
            kind: read_kind(&item["kind"]),
            container: text(&item["containerName"]),
            uri: names.read(item["location"]["uri"].as_str()?)?,
            range,
            raw: range.is_none().then_some(item),
        })
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn lines(from: u32, to: u32) -> Value {
        json!({"start": {"line": from, "character": 0}, "end": {"line": to, "character": 9}})
    }

    /// As words: `name[child child]`.
    fn drawn(symbols: &[Outline]) -> String {
        let words: Vec<String> = symbols
            .iter()
            .map(|symbol| {
                let inner = drawn(&symbol.children);
                if inner.is_empty() {
                    symbol.name.clone()
                } else {
                    format!("{}[{inner}]", symbol.name)
                }
            })
            .collect();
        words.join(" ")
    }

    #[test]
    fn symbols_nested_and_flat() {
        let nested = |name: &str, children: Value| json!({"name": name, "kind": 5, "range": lines(0, 9), "selectionRange": lines(0, 0), "children": children});
        let flat = |name: &str, from: u32, to: u32| json!({"name": name, "kind": 12, "location": {"uri": "file:///a", "range": lines(from, to)}});
        for (answer, expected, broken) in [
            (json!(null), "", 0),
            (json!([]), "", 0),
            (
                json!([nested("A", json!([nested("b", json!(null)), 5])), {"name": "no range"}]),
                "A[b]",
                2,
            ),
            (json!([nested("A", json!("nonsense"))]), "A", 1),
            // In any order, as they come.
            (
                json!([
                    flat("b", 1, 2),
                    flat("A", 0, 5),
                    flat("c", 3, 4),
                    flat("d", 3, 3),
                    flat("E", 6, 7)
                ]),
                "A[b c[d]] E",
                0,
            ),
            (
                json!([flat("same", 1, 2), flat("range", 1, 2)]),
                "same range",
                0,
            ),
        ] {
            let raw = serde_json::value::to_raw_value(&answer).expect("JSON");
            let read = read_symbols(&raw).expect("a list");
            assert_eq!(
                (drawn(&read.found).as_str(), read.broken),
                (expected, broken),
                "{answer}"
            );
        }
    }

    #[test]
    fn a_bottomless_symbol_has_an_end() {
        let open = r#"{"name":"n","kind":1,"range":{"start":{"line":0,"character":0},"end":{"line":0,"character":1}},"children":["#;
        let text = format!("[{}{}]", open.repeat(5000), "]}".repeat(5000));
        let raw: Box<RawValue> = serde_json::from_str(&text).expect("JSON");
        let read = read_symbols(&raw).expect("a list");
        assert_eq!((read.found.len(), read.broken), (1, 1));
    }
}
