//! What a project is made of by name, and what calls or extends what.

use std::fmt;

use serde_json::Value;
use workspace::ByteRange;

use super::Location;
use crate::server::WeakSource;

/// What a symbol is: LSP's `SymbolKind`, written as a word (`function`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SymbolKind(pub u8);

impl fmt::Display for SymbolKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const WORDS: [&str; 26] = [
            "file",
            "module",
            "namespace",
            "package",
            "class",
            "method",
            "property",
            "field",
            "constructor",
            "enum",
            "interface",
            "function",
            "variable",
            "constant",
            "string",
            "number",
            "boolean",
            "array",
            "object",
            "key",
            "null",
            "enum member",
            "struct",
            "event",
            "operator",
            "type parameter",
        ];
        let word = usize::from(self.0)
            .checked_sub(1)
            .and_then(|at| WORDS.get(at));
        f.write_str(word.unwrap_or(&"symbol"))
    }
}

/// A symbol of one document, with what is in it. A server that gives a flat list gets its symbols put into each other
/// by their ranges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: SymbolKind,
    /// What a server adds to the name: a signature, mostly.
    pub detail: Option<String>,
    /// All of it.
    pub range: ByteRange,
    /// Its name, in the text.
    pub selection: ByteRange,
    /// What is in it, in the order of the text.
    pub children: Vec<Symbol>,
}

/// A symbol found by its name in a whole project.
#[derive(Debug, Clone)]
pub struct FoundSymbol {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: SymbolKind,
    /// What it is in, as the server says it.
    pub container: Option<String>,
    /// Where.
    pub place: Location,
}

/// One node of a call or type hierarchy.
#[derive(Clone)]
pub struct HierarchyItem {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: SymbolKind,
    /// What the server adds.
    pub detail: Option<String>,
    /// Its name, in the text.
    pub place: Location,
    /// All of it, in the same text.
    pub range: ByteRange,
    /// Which server knows it.
    pub server: String,
    pub(crate) raw: Value,
    pub(crate) from: WeakSource,
}

impl fmt::Debug for HierarchyItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "HierarchyItem({} {}, {:?})",
            self.kind, self.name, self.place
        )
    }
}

/// One edge of a call hierarchy.
#[derive(Debug, Clone)]
pub struct Call {
    /// Who calls, or is called.
    pub item: HierarchyItem,
    /// Where the calls stand.
    pub sites: Vec<Location>,
}
