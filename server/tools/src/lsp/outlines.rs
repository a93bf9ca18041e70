//! Outlines of documents, each asked for once a call; and by them, what a place lies in. Answers that only want to say
//! so wait little, and for few documents: they do without sooner than be late.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures::{StreamExt, stream};
use langserver::{QueryError, Symbol, SymbolKind};
use tokio::time::{Instant, timeout_at};
use workspace::{ByteOffset, ByteRange, DocumentUri, Snapshot};

use super::{
    covers,
    names::{bare, found_in},
};
use crate::context::Context;

/// How many documents are asked about for the sake of a better answer.
const FILES: usize = 20;
/// How many are asked about at a time: what answers are made into costs us time too, and none is worth being late.
const AT_A_TIME: usize = 4;
/// How long that may take altogether.
const TIME: Duration = Duration::from_millis(300);

/// A document's symbols, and the text that they are of.
pub struct Outline {
    pub snapshot: Snapshot,
    pub symbols: Vec<Symbol>,
    pub complete: bool,
    /// How many more symbols can't be read.
    pub broken: usize,
    pub server: String,
}

pub struct Outlines<'a> {
    cx: &'a Context,
    known: Mutex<HashMap<DocumentUri, Arc<Outline>>>,
    budget: Mutex<Budget>,
}

#[derive(Default)]
struct Budget {
    /// The documents that were asked about.
    files: HashSet<DocumentUri>,
    spent: Duration,
}

impl<'a> Outlines<'a> {
    pub fn new(cx: &'a Context) -> Self {
        Self {
            cx,
            known: Mutex::default(),
            budget: Mutex::default(),
        }
    }

    /// The outline, however long it takes.
    pub async fn wanted(&self, uri: &DocumentUri) -> Result<Arc<Outline>, QueryError> {
        if let Some(known) = self.known(uri) {
            return Ok(known);
        }
        let answer = self.cx.pool.document_symbols(uri, &self.cx.cancel).await?;
        let (snapshot, mut symbols) = answer.value;
        select_names(&snapshot, &mut symbols);
        let outline = Arc::new(Outline {
            snapshot,
            symbols,
            complete: answer.complete,
            broken: answer.left_out,
            server: answer.server,
        });
        self.know(uri, outline.clone());
        Ok(outline)
    }

    /// Asks for the outlines of these texts, all at once: what `soon` would ask for one after another.
    pub async fn ahead(&self, snapshots: impl Iterator<Item = &Snapshot>) {
        let (wanted, left) = {
            let mut budget = self.budget.lock().unwrap_or_else(PoisonError::into_inner);
            let mut wanted = Vec::new();
            for snapshot in snapshots {
                if budget.files.len() == FILES {
                    break;
                }
                let uri = &snapshot.uri;
                if self.known(uri).is_none() && budget.files.insert(uri.clone()) {
                    wanted.push(uri.clone());
                }
            }
            (wanted, TIME.saturating_sub(budget.spent))
        };
        let begun = Instant::now();
        let asked = stream::iter(wanted).map(async |uri: DocumentUri| {
            let _ = timeout_at(begun + left, self.wanted(&uri)).await;
        });
        asked.buffer_unordered(AT_A_TIME).collect::<()>().await;
        self.spend(begun);
    }

    /// The outline of exactly this text, if it can be had soon.
    pub async fn soon(&self, snapshot: &Snapshot) -> Option<Arc<Outline>> {
        let uri = &snapshot.uri;
        let outline = if let Some(known) = self.known(uri) {
            Some(known)
        } else {
            let left = {
                let mut budget = self.budget.lock().unwrap_or_else(PoisonError::into_inner);
                if budget.files.len() == FILES || budget.spent >= TIME {
                    return None;
                }
                // What gave nothing will give nothing.
                if !budget.files.insert(uri.clone()) {
                    return None;
                }
                TIME.saturating_sub(budget.spent)
            };
            let begun = Instant::now();
            let asked = timeout_at(begun + left, self.wanted(uri)).await;
            self.spend(begun);
            asked.ok().and_then(Result::ok)
        };
        outline.filter(|outline| {
            outline.snapshot.revision == snapshot.revision && snapshot.is_buffer()
                || outline.snapshot.text == snapshot.text
        })
    }

    fn spend(&self, begun: Instant) {
        let mut budget = self.budget.lock().unwrap_or_else(PoisonError::into_inner);
        budget.spent += begun.elapsed();
    }

    fn known(&self, uri: &DocumentUri) -> Option<Arc<Outline>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(uri).cloned()
    }

    fn know(&self, uri: &DocumentUri, outline: Arc<Outline>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(uri.clone(), outline);
    }
}

/// Servers that have flat lists give all of a symbol for its name: then that is looked for in it.
fn select_names(snapshot: &Snapshot, symbols: &mut [Symbol]) {
    for symbol in symbols {
        let name = bare(&symbol.name).1;
        let is_more = symbol.selection.end.0 - symbol.selection.start.0 > name.len();
        if is_more && let Some(start) = found_in(snapshot, symbol.selection, name) {
            let end = ByteOffset(start.0 + name.len());
            symbol.selection = ByteRange { start, end };
        }
        select_names(snapshot, &mut symbol.children);
    }
}

impl Outline {
    /// All that is called so, each with the names of what it is in.
    pub fn named(&self, name: &str) -> Vec<(Vec<&str>, &Symbol)> {
        fn collect<'a>(
            symbols: &'a [Symbol],
            name: &str,
            around: &mut Vec<&'a str>,
            found: &mut Vec<(Vec<&'a str>, &'a Symbol)>,
        ) {
            for symbol in symbols {
                let (receiver, bare) = bare(&symbol.name);
                if bare == name {
                    let around = around.iter().copied().chain(receiver);
                    found.push((around.collect(), symbol));
                }
                around.push(&symbol.name);
                collect(&symbol.children, name, around, found);
                around.pop();
            }
        }
        let mut found = Vec::new();
        collect(&self.symbols, name, &mut Vec::new(), &mut found);
        found
    }

    /// The outermost symbol with a name whose name begins in a line (from 1).
    pub fn declared_in(&self, line: u32) -> Option<&Symbol> {
        let mut level: Vec<&Symbol> = self.symbols.iter().collect();
        while !level.is_empty() {
            let found = level.iter().find(|symbol| {
                is_named(symbol) && super::line_of(&self.snapshot, symbol.selection.start) == line
            });
            if let Some(found) = found {
                return Some(found);
            }
            level = level.iter().flat_map(|symbol| &symbol.children).collect();
        }
        None
    }

    /// The symbols around a place, from the outermost. A declaration is not around its own name.
    pub fn around(&self, place: ByteRange) -> Vec<&Symbol> {
        let mut around = Vec::new();
        let mut inner = &self.symbols;
        while let Some(next) = inner.iter().find(|symbol| covers(symbol.range, place)) {
            around.push(next);
            inner = &next.children;
        }
        if around.last().is_some_and(|last| last.selection == place) {
            around.pop();
        }
        around
    }

    /// What a place lies in, by name: the innermost thing that has a body, with its type.
    pub fn enclosing(&self, place: ByteRange) -> Option<String> {
        let around = self.around(place);
        let at = around.iter().rposition(|symbol| {
            is_container(symbol.kind) || self.snapshot.text.slice(symbol.range).contains('\n')
        })?;
        let name = around[at].name.clone();
        let owner = at.checked_sub(1).map(|above| around[above]);
        Some(match owner.filter(|owner| is_type(owner.kind)) {
            Some(owner) if is_callable(around[at].kind) => {
                format!("{}.{name}", type_name(&owner.name))
            }
            _ => name,
        })
    }

    /// The symbol whose name stands at a place, else the one that begins in its line.
    pub fn declared_at(&self, place: ByteRange) -> Option<&Symbol> {
        fn find<'a>(symbols: &'a [Symbol], fits: &dyn Fn(&Symbol) -> bool) -> Option<&'a Symbol> {
            symbols.iter().find_map(|symbol| {
                fits(symbol)
                    .then_some(symbol)
                    .or_else(|| find(&symbol.children, fits))
            })
        }
        let line = |at| super::line_of(&self.snapshot, at);
        find(&self.symbols, &|symbol| covers(symbol.selection, place)).or_else(|| {
            find(&self.symbols, &|symbol| {
                covers(symbol.range, place) && line(symbol.selection.start) == line(place.start)
            })
        })
    }
}

/// Functions that have no name are listed as `f() callback` or `<function>`.
fn is_named(symbol: &Symbol) -> bool {
    !symbol.name.ends_with(" callback") && !symbol.name.starts_with('<')
}

fn is_container(kind: SymbolKind) -> bool {
    is_callable(kind) || is_type(kind) || matches!(kind.0, 2..=4)
}

/// Methods, constructors, functions.
pub fn is_callable(kind: SymbolKind) -> bool {
    matches!(kind.0, 6 | 9 | 12)
}

pub fn is_constructor(kind: SymbolKind) -> bool {
    kind.0 == 9
}

/// Methods, properties, fields, members of an enum.
pub fn is_member(kind: SymbolKind) -> bool {
    matches!(kind.0, 6..=8 | 22)
}

/// Files, modules, namespaces, packages.
pub fn is_module(kind: SymbolKind) -> bool {
    matches!(kind.0, 1..=4)
}

/// Classes, enums, interfaces, structs, and objects, as which Rust's `impl` comes.
pub fn is_type(kind: SymbolKind) -> bool {
    matches!(kind.0, 5 | 10 | 11 | 19 | 23)
}

/// The type that a container is of: `impl Shape for Square<T>` is one of `Square`.
pub fn type_name(container: &str) -> &str {
    let name = container.strip_prefix("impl").map_or(container, |rest| {
        let rest = rest.rsplit_once(" for ").map_or(rest, |(_, name)| name);
        rest.trim()
    });
    let end = name.find(['<', ' ', '(']).filter(|end| *end > 0);
    end.map_or(name, |end| &name[..end])
}
