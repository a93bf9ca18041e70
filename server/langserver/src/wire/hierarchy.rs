//! The nodes and edges of call and type hierarchies. A node is kept as it came: the server wants it back so.

use serde_json::{Value, value::RawValue};
use workspace::{DocumentUri, Range};

use super::{Read, Unfit, each, read_range, read_uri};

/// `CallHierarchyItem` or `TypeHierarchyItem`, in the server's columns.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub name: String,
    pub kind: u8,
    pub detail: Option<String>,
    pub uri: DocumentUri,
    pub range: Range,
    pub selection: Range,
    pub raw: Value,
}

pub(crate) fn read_nodes(answer: &RawValue) -> Result<Read<Node>, Unfit> {
    each(answer, |item| {
        read_node(serde_json::from_str(item.get()).ok()?)
    })
}

/// The nodes at the other end (`from` or `to`), each with the places of the calls.
pub(crate) fn read_calls(answer: &RawValue, end: &str) -> Result<Read<(Node, Vec<Range>)>, Unfit> {
    each(answer, |item| {
        let mut item: Value = serde_json::from_str(item.get()).ok()?;
        let sites = item["fromRanges"].as_array().into_iter().flatten();
        let sites = sites.filter_map(read_range).collect();
        Some((read_node(item.get_mut(end)?.take())?, sites))
    })
}

fn read_node(raw: Value) -> Option<Node> {
    let range = raw.get("range").and_then(read_range);
    let selection = raw.get("selectionRange").and_then(read_range);
    Some(Node {
        name: raw["name"].as_str()?.to_owned(),
        kind: raw["kind"]
            .as_u64()
            .and_then(|kind| u8::try_from(kind).ok())
            .unwrap_or_default(),
        detail: raw["detail"]
            .as_str()
            .filter(|detail| !detail.is_empty())
            .map(str::to_owned),
        uri: read_uri(&raw["uri"])?,
        range: range.or(selection)?,
        selection: selection.or(range)?,
        raw,
    })
}
