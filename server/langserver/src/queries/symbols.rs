//! What a document is made of, and what a project has by name.

use std::collections::BTreeSet;

use futures::{StreamExt, stream};
use serde_json::{Value, json};
use workspace::{ByteOffset, ByteRange, Encoding, Snapshot, Text};

use super::{Question, Reach};
use crate::{
    answer::{Answer, FoundSymbol, Location, QueryError, Symbol, SymbolKind},
    server::Had,
    wire::{self, Found, Outline},
};

/// So many symbols without a range are asked about, so many at a time; of others the name is looked for in the text.
const MOST_RESOLVED: usize = 200;
const AT_A_TIME: usize = 16;

impl Question {
    pub async fn document_symbols(self) -> Result<Answer<(Snapshot, Vec<Symbol>)>, QueryError> {
        const METHOD: &str = "textDocument/documentSymbol";
        let asked = self
            .ask_alone(
                METHOD,
                |about| json!({"textDocument": {"uri": about.snapshot.uri.as_str()}}),
            )
            .await?;
        let read = self.fit(METHOD, wire::read_symbols(&asked.answer))?;
        let snapshot = asked
            .texts
            .get(&self.document.uri)
            .map_or_else(|| self.document.clone(), |(snapshot, _)| snapshot.clone());
        let encoding = self.server.encoding();
        let symbols = symbols(read.found, &snapshot.text, encoding);
        Ok(self.answered_with(None, (snapshot, symbols), Reach::Whole, read.broken))
    }

    pub async fn workspace_symbols(
        self,
        query: &str,
    ) -> Result<Answer<Vec<FoundSymbol>>, QueryError> {
        const METHOD: &str = "workspace/symbol";
        let (asked, complete) = self.ask(METHOD, |_| json!({"query": query})).await?;
        let read = self.fit(METHOD, wire::read_found(&asked.answer))?;
        let found = self.resolved(read.found, &asked.texts).await;
        let uris = found.iter().map(|one| one.uri.clone()).collect();
        let (value, left_out, changed) = self
            .with_texts(asked.texts, uris, move |shelf| {
                let (mut left_out, mut changed) = (read.broken, 0);
                let symbols = found
                    .into_iter()
                    .filter_map(|one| {
                        let place = match one.range {
                            Some(range) => shelf.place(&(one.uri.clone(), range)),
                            None => shelf.text(&one.uri).map(|snapshot| Location {
                                snapshot: snapshot.clone(),
                                range: named(&one.name, &snapshot.text, all(&snapshot.text)),
                            }),
                        };
                        if place.is_none() {
                            left_out += 1;
                            changed += usize::from(shelf.has_changed(&one.uri));
                        }
                        Some(FoundSymbol {
                            name: one.name,
                            kind: SymbolKind(one.kind),
                            container: one.container,
                            place: place?,
                        })
                    })
                    .collect::<Vec<_>>();
                let mut known = BTreeSet::new();
                let mut symbols = symbols;
                symbols.retain(|one: &FoundSymbol| {
                    let place = (one.place.snapshot.uri.clone(), one.place.range);
                    known.insert((place, one.name.clone()))
                });
                (symbols, left_out, changed)
            })
            .await?;
        Ok(Answer {
            changed,
            ..self.answered(value, complete, left_out)
        })
    }

    /// Symbols that came without a range, with it, as far as the server says it.
    /// Not those in documents that the server has another text of by then.
    async fn resolved(&self, mut found: Vec<Found>, had: &Had) -> Vec<Found> {
        const METHOD: &str = "workspaceSymbol/resolve";
        if !self.server.supports(METHOD, None) {
            return found;
        }
        let wanted: Vec<(usize, Value)> = found
            .iter_mut()
            .enumerate()
            .filter_map(|(at, one)| Some((at, one.raw.take()?)))
            .take(MOST_RESOLVED)
            .collect();
        let answers = stream::iter(wanted)
            .map(async |(at, raw)| (at, self.ask_alone(METHOD, |_| raw.clone()).await))
            .buffer_unordered(AT_A_TIME);
        let answers: Vec<_> = answers.collect().await;
        for (at, answer) in answers {
            let Ok(asked) = answer else { continue };
            let text = |texts: &Had| texts.get(&found[at].uri).map(|(had, _)| had.text.clone());
            if let Ok(read) = wire::read_found(&asked.answer)
                && let Some(one) = read.found.first()
                && text(had) == text(&asked.texts)
            {
                found[at].range = one.range;
            }
        }
        found
    }
}

/// In the order of the text: some servers go by the alphabet.
fn symbols(outlines: Vec<Outline>, text: &Text, encoding: Encoding) -> Vec<Symbol> {
    let symbols = outlines.into_iter();
    let mut symbols: Vec<Symbol> = symbols
        .map(|outline| symbol(outline, text, encoding))
        .collect();
    symbols.sort_by_key(|symbol| (symbol.range.start, symbol.selection.start));
    symbols
}

fn symbol(outline: Outline, text: &Text, encoding: Encoding) -> Symbol {
    let range = text.byte_range(outline.range, encoding);
    let selection = match outline.selection {
        Some(selection) => text.byte_range(selection, encoding),
        None => named(&outline.name, text, range),
    };
    Symbol {
        name: outline.name,
        kind: SymbolKind(outline.kind),
        detail: outline.detail,
        range,
        selection,
        children: symbols(outline.children, text, encoding),
    }
}

fn all(text: &Text) -> ByteRange {
    ByteRange::new(0, text.len())
}

/// Where a name stands in a part of a text: as a word of its own, rather not in a comment; the part's start if nowhere.
fn named(name: &str, text: &Text, part: ByteRange) -> ByteRange {
    let name = name.split(['(', '<']).next().unwrap_or(name).trim();
    let content = text.slice(part);
    let is_word = |char: char| char.is_alphanumeric() || char == '_';
    let is_comment = |at: usize| {
        let line = content[..at].rsplit('\n').next().unwrap_or_default();
        ["//", "#", "*", "/*", "--"]
            .iter()
            .any(|sign| line.trim_start().starts_with(sign))
    };
    let words: Vec<usize> = content
        .match_indices(name)
        .map(|(at, _)| at)
        .filter(|&at| {
            let before = content[..at].chars().next_back();
            let after = content[at + name.len()..].chars().next();
            !name.is_empty() && !before.is_some_and(is_word) && !after.is_some_and(is_word)
        })
        .collect();
    let found = words.iter().find(|&&at| !is_comment(at)).or(words.first());
    match found {
        Some(at) => ByteRange::new(part.start.0 + at, part.start.0 + at + name.len()),
        None => ByteRange {
            start: part.start,
            end: ByteOffset(part.start.0),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_where_they_are_meant() {
        for (name, content, expected) in [
            ("f", "// f does\nfn f() {}", 13..14),
            ("f", "def ff(): pass\ndef f(): pass", 19..20),
            ("add(int)", "int add(int a);", 4..7),
            ("only", "# only", 2..6),
            ("none", "nothing", 0..0),
            ("", "nothing", 0..0),
        ] {
            let text = Text::new(content);
            assert_eq!(
                named(name, &text, all(&text)).as_range(),
                expected,
                "{name} in {content}"
            );
        }
    }
}
