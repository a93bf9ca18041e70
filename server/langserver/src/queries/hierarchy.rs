//! Call and type hierarchies: a node is given back to the server as it came, but where it is now.

use serde_json::{Value, json};
use workspace::{ByteOffset, ByteRange};

use super::{Question, about_range, rename::Same};
use crate::{
    answer::{Answer, Call, HierarchyItem, Location, QueryError, SymbolKind},
    queries::texts::Shelf,
    server::{About, Had, Source},
    wire::{self, Node},
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
        let (value, left_out) = self.items(read.found, asked.texts).await?;
        Ok(self.answered(value, complete, left_out + read.broken))
    }

    /// The next nodes of a type hierarchy.
    pub async fn types(
        self,
        method: &'static str,
        item: HierarchyItem,
    ) -> Result<Answer<Vec<HierarchyItem>>, QueryError> {
        let (asked, complete) = self.ask(method, |about| about_item(about, &item)).await?;
        let read = self.fit(method, wire::read_nodes(&asked.answer))?;
        let (value, left_out) = self.items(read.found, asked.texts).await?;
        Ok(self.answered(value, complete, left_out + read.broken))
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
        let read = self.fit(method, wire::read_calls(&asked.answer, end))?;
        let caller = self.document.uri.clone();
        let uris = read.found.iter().map(|(node, _)| node.uri.clone());
        let uris = uris.chain([caller.clone()]).collect();
        let server = self.server.clone();
        let (value, left_out) = self
            .with_texts(asked.texts, uris, move |shelf| {
                let mut left_out = read.broken;
                let mut calls = Vec::with_capacity(read.found.len());
                for (node, ranges) in read.found {
                    // A call stands in the text of who calls.
                    let uri = match way {
                        Way::Incoming => node.uri.clone(),
                        Way::Outgoing => caller.clone(),
                    };
                    let sites = ranges
                        .into_iter()
                        .filter_map(|range| shelf.place(&(uri.clone(), range)))
                        .collect();
                    match hierarchy_item(node, shelf, &server) {
                        Some(item) => calls.push(Call { item, sites }),
                        None => left_out += 1,
                    }
                }
                (calls, left_out)
            })
            .await?;
        Ok(self.answered(value, complete, left_out))
    }

    async fn items(
        &self,
        nodes: Vec<Node>,
        texts: Had,
    ) -> Result<(Vec<HierarchyItem>, usize), QueryError> {
        let uris = nodes.iter().map(|node| node.uri.clone()).collect();
        let server = self.server.clone();
        self.with_texts(texts, uris, move |shelf| {
            let all = nodes.len();
            let items: Vec<_> = nodes
                .into_iter()
                .filter_map(|node| hierarchy_item(node, shelf, &server))
                .collect();
            let left_out = all - items.len();
            (items, left_out)
        })
        .await
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
