//! Call and type hierarchies: a node is given back to the server as it came, but where it is now.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use workspace::{ByteOffset, ByteRange, DocumentUri, Reading};

use super::{Question, Reach, about_range, places::OUTSIDE, rename::Same};
use crate::{
    answer::{Answer, Call, HierarchyItem, Location, QueryError, SymbolKind},
    queries::texts::Shelf,
    server::{About, Had, Source},
    wire::{self, Node, Read},
};

/// Which calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Incoming,
    Outgoing,
}

impl Question {
    /// What stands at a place, as a root: `method` is one of the two that prepare.
    pub async fn roots(
        self,
        method: &'static str,
        at: ByteOffset,
    ) -> Result<Answer<Vec<HierarchyItem>>, QueryError> {
        let (question, at) = self.at_definition(at, Same::Nothing).await?;
        question.roots_here(method, at).await
    }

    async fn roots_here(
        &self,
        method: &'static str,
        at: ByteOffset,
    ) -> Result<Answer<Vec<HierarchyItem>>, QueryError> {
        let (asked, complete) = self.ask_at(method, at).await?;
        let read = self.fit(method, wire::read_nodes(&asked.answer))?;
        let nodes = self.nodes(read, asked.texts).await?;
        Ok(self.shown(nodes, complete))
    }

    /// The next nodes of a type hierarchy.
    pub async fn types(
        self,
        method: &'static str,
        item: HierarchyItem,
    ) -> Result<Answer<Vec<HierarchyItem>>, QueryError> {
        let (asked, complete) = self.ask(method, |about| about_item(about, &item)).await?;
        let read = self.fit(method, wire::read_nodes(&asked.answer))?;
        let nodes = self.nodes(read, asked.texts).await?;
        Ok(self.shown(nodes, complete))
    }

    /// The next edges of a call hierarchy.
    pub async fn calls(
        self,
        way: Way,
        item: HierarchyItem,
    ) -> Result<Answer<Vec<Call>>, QueryError> {
        let (method, end) = match way {
            Way::Incoming => ("callHierarchy/incomingCalls", "from"),
            Way::Outgoing => ("callHierarchy/outgoingCalls", "to"),
        };
        let (asked, complete) = self.ask(method, |about| about_item(about, &item)).await?;
        let Read { found, broken } = self.fit(method, wire::read_calls(&asked.answer, end))?;
        let (caller, server) = (self.document.uri.clone(), self.server.clone());
        let choose = {
            let caller = caller.clone();
            move |reading: &mut Reading<'_>| {
                let (found, outside) = near(found, |(node, _)| &node.uri, reading);
                let uris = found.iter().map(|(node, _)| node.uri.clone());
                (uris.chain([caller]).collect(), (found, outside))
            }
        };
        let calls = self
            .with_texts_of(asked.texts, choose, move |(found, outside), shelf| {
                let mut calls = Shown::new(broken, outside);
                for (node, ranges) in found {
                    // A call stands in the text of who calls.
                    let uri = match way {
                        Way::Incoming => node.uri.clone(),
                        Way::Outgoing => caller.clone(),
                    };
                    let sites = ranges
                        .into_iter()
                        .filter_map(|range| shelf.place(&(uri.clone(), range)))
                        .collect();
                    let call = |item| Call { item, sites };
                    calls.put(node, shelf, &server, call);
                }
                calls.found = each_once(calls.found, |call| &call.item, add_sites);
                calls
            })
            .await?;
        Ok(self.shown(calls, complete))
    }

    async fn nodes(
        &self,
        Read { found, broken }: Read<Node>,
        texts: Had,
    ) -> Result<Shown<HierarchyItem>, QueryError> {
        let server = self.server.clone();
        let choose = move |reading: &mut Reading<'_>| {
            let (found, outside) = near(found, |node| &node.uri, reading);
            let uris = found.iter().map(|node| node.uri.clone()).collect();
            (uris, (found, outside))
        };
        self.with_texts_of(texts, choose, move |(found, outside), shelf| {
            let mut nodes = Shown::new(broken, outside);
            for node in found {
                nodes.put(node, shelf, &server, |item| item);
            }
            nodes.found = each_once(nodes.found, |item| item, |_, _| ());
            nodes
        })
        .await
    }

    fn shown<T>(&self, shown: Shown<T>, reach: Reach) -> Answer<Vec<T>> {
        Answer {
            changed: shown.changed,
            outside: shown.outside,
            ..self.answered(shown.found, reach, shown.left_out)
        }
    }
}

/// What became of an answer's nodes.
struct Shown<T> {
    found: Vec<T>,
    /// How many can't be read or are not to be shown, and how many of those because of a change.
    left_out: usize,
    changed: usize,
    /// How many lie outside of the workspace, and were not read.
    outside: usize,
}

impl<T> Shown<T> {
    fn new(broken: usize, outside: usize) -> Self {
        Self {
            found: Vec::new(),
            left_out: broken,
            changed: 0,
            outside,
        }
    }

    fn put(
        &mut self,
        node: Node,
        shelf: &Shelf,
        server: &Source,
        made: impl FnOnce(HierarchyItem) -> T,
    ) {
        let has_changed = shelf.has_changed(&node.uri);
        let Some(item) = hierarchy_item(node, shelf, server) else {
            self.left_out += 1;
            self.changed += usize::from(has_changed);
            return;
        };
        self.found.push(made(item));
    }
}

/// All in the workspace and a few outside of it, and how many more there are: who asks for the callers of a library's
/// function does not mean to read the library.
fn near<T>(
    found: Vec<T>,
    uri: impl Fn(&T) -> &DocumentUri,
    reading: &mut Reading<'_>,
) -> (Vec<T>, usize) {
    let (mut outside, mut more) = (0, 0);
    let mut is_near = |one: &T| {
        if uri(one).path().is_none_or(|path| reading.contains(path)) {
            return true;
        }
        let is_few = outside < OUTSIDE;
        *(if is_few { &mut outside } else { &mut more }) += 1;
        is_few
    };
    let near = found.into_iter().filter(|one| is_near(one)).collect();
    (near, more)
}

/// Of a file that links lead to there may be a node by each of its names: they are one.
fn each_once<T>(
    all: Vec<T>,
    item: impl Fn(&T) -> &HierarchyItem,
    add: impl Fn(&mut T, T),
) -> Vec<T> {
    let mut once: Vec<T> = Vec::with_capacity(all.len());
    let mut places = BTreeMap::new();
    for one in all {
        let node = item(&one);
        let place = &node.place;
        let key = (place.snapshot.uri.clone(), place.range, node.name.clone());
        let first = *places.entry(key).or_insert(once.len());
        match once.get_mut(first) {
            Some(known) if item(known).raw["uri"] != node.raw["uri"] => add(known, one),
            _ => once.push(one),
        }
    }
    once
}

fn add_sites(call: &mut Call, same: Call) {
    for site in same.sites {
        if !call.sites.iter().any(|known| known.range == site.range) {
            call.sites.push(site);
        }
    }
}

fn hierarchy_item(node: Node, shelf: &Shelf, server: &Source) -> Option<HierarchyItem> {
    let snapshot = shelf.text(&node.uri)?;
    let bytes = |range| snapshot.text.byte_range(range, shelf.encoding);
    Some(HierarchyItem {
        name: node.name,
        kind: SymbolKind(node.kind),
        detail: node.detail,
        range: bytes(node.range),
        place: Location {
            snapshot: snapshot.clone(),
            range: bytes(node.selection),
        },
        server: server.name().to_owned(),
        raw: node.raw,
        from: server.downgrade(),
    })
}

/// An item as it came, except that it is where its text is by now.
fn about_item(about: &About<'_>, item: &HierarchyItem) -> Value {
    let mut raw = item.raw.clone();
    let then = &item.place.snapshot;
    if about.snapshot.text != then.text {
        let place = |range: ByteRange| json!(about_range(about, then, range));
        raw["range"] = place(item.range);
        raw["selectionRange"] = place(item.place.range);
    }
    json!({"item": raw})
}
