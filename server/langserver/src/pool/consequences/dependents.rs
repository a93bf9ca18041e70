//! Which documents depend on what was edited: those that refer to the symbols that the edit touched.

use std::collections::BTreeSet;

use workspace::{ByteOffset, ByteRange, Snapshot, Text};

use crate::{
    answer::{QueryError, Symbol},
    catalogue,
    mirror::language,
    queries::Question,
};

/// The references of so many symbols are asked for.
const MOST_SYMBOLS: usize = 8;

/// LSP's kinds of symbols that have no parts which others name.
const VALUES: [u8; 7] = [6, 7, 8, 9, 12, 13, 14];

/// What was found so far.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// The symbols that are not asked about again.
    pub known: BTreeSet<String>,
    /// The symbols that were asked about.
    pub names: BTreeSet<String>,
    /// Documents that refer to one of them, the edited ones among them.
    pub documents: Vec<Snapshot>,
    /// What could not be found out, and why.
    pub unlooked: BTreeSet<String>,
    /// Symbols that were not asked about because there are too many.
    pub unfollowed: BTreeSet<String>,
}

impl Found {
    /// Looks for what refers to the symbols that `changed` touches in the question's document. What can't be found out is
    /// left out, and that it was is kept: the edited documents are looked at in any case.
    pub async fn look(&mut self, question: &Question, changed: ByteRange) {
        let answer = match question.clone().document_symbols().await {
            Ok(answer) => answer,
            Err(error) => return self.not_found(question, &error),
        };
        // The text that the server had, in which the symbols are.
        let (document, symbols) = answer.value;
        let mut touched = Vec::new();
        let language = language(&document);
        touch(&symbols, changed, &document.text, language, &mut touched);
        let question = Question {
            document: document.clone(),
            ..question.clone()
        };
        for symbol in touched {
            if self.known.contains(&symbol.name) {
                continue;
            }
            if self.known.len() + self.names.len() >= MOST_SYMBOLS {
                self.unfollowed.insert(symbol.name.clone());
                continue;
            }
            self.names.insert(symbol.name.clone());
            let answer = match question
                .clone()
                .references(symbol.selection.start, false)
                .await
            {
                Ok(answer) => answer,
                Err(error) => return self.not_found(&question, &error),
            };
            if !answer.complete {
                let name = question.server.name();
                let why = match answer.caution {
                    Some(caution) if caution.is_partial => caution.words,
                    _ => format!("{name} may not know all files yet"),
                };
                self.unlooked
                    .insert(format!("what else depends on the changes ({why})"));
            }
            for place in answer.value {
                let is_known = |known: &Snapshot| known.uri == place.snapshot.uri;
                if !self.documents.iter().any(is_known) {
                    self.documents.push(place.snapshot);
                }
            }
        }
    }

    fn not_found(&mut self, question: &Question, error: &QueryError) {
        let name = question.server.name();
        let why = match error {
            QueryError::NotSupported { .. } => format!("{name} can't tell"),
            QueryError::TimedOut { .. } | QueryError::Cancelled | QueryError::NotReady { .. } => {
                format!("{name} did not find it in time")
            }
            error => {
                tracing::debug!(%error, "what depends on an edit is not known");
                format!("{name} failed to tell")
            }
        };
        let what = format!("what depends on the changes ({why})");
        self.unlooked.insert(what);
    }
}

/// The symbols that others may see changed: the innermost that hold the change, and all that it reaches over.
fn touch<'a>(
    symbols: &'a [Symbol],
    changed: ByteRange,
    text: &Text,
    language: &str,
    touched: &mut Vec<&'a Symbol>,
) {
    let meets = |range: ByteRange| match changed.is_empty() {
        true => range.start < changed.start && changed.start < range.end,
        false => range.start < changed.end && changed.start < range.end,
    };
    let holds =
        |range: ByteRange| meets(range) && range.start <= changed.start && changed.end <= range.end;
    for symbol in symbols.iter().filter(|symbol| meets(symbol.range)) {
        if VALUES.contains(&symbol.kind.0) {
            if catalogue::signatures_say_all(language) && changed.start >= signature(symbol, text) {
                continue;
            }
            touched.push(symbol);
        } else {
            if !symbol.children.iter().any(|part| holds(part.range)) {
                touched.push(symbol);
            }
            touch(&symbol.children, changed, text, language, touched);
        }
    }
}

/// Where a function's signature ends; for what has no body, and for macros, where it ends itself.
fn signature(symbol: &Symbol, text: &Text) -> ByteOffset {
    let whole = text.slice(symbol.range);
    let from = (symbol.selection.start.0).saturating_sub(symbol.range.start.0);
    let is_macro = whole.get(..from).is_some_and(|head| head.contains("macro"));
    let body = whole.get(from..).and_then(|rest| rest.find('{'));
    match body {
        Some(body) if !is_macro => ByteOffset(symbol.range.start.0 + from + body + 1),
        _ => ByteOffset(symbol.range.end.0 + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::SymbolKind;

    const TEXT: &str = "struct S {\n    field: u8,\n}\nimpl S {\n    fn method(&self) {\n        body();\n    }\n}\nfn free(a: u8) {\n    body();\n}\nconst C: u8 = 1;\n";

    fn symbols() -> Vec<Symbol> {
        let symbol = |name: &str, kind: u8, of: &str, children: Vec<Symbol>| {
            let start = TEXT.find(of).expect("there");
            let at = start + of.find(name).expect("its name");
            Symbol {
                name: name.to_owned(),
                kind: SymbolKind(kind),
                detail: None,
                range: ByteRange::new(start, start + of.len()),
                selection: ByteRange::new(at, at + name.len()),
                children,
            }
        };
        let method = "fn method(&self) {\n        body();\n    }";
        vec![
            symbol(
                "S",
                23,
                "struct S {\n    field: u8,\n}",
                vec![symbol("field", 8, "field: u8", vec![])],
            ),
            symbol(
                "impl S",
                19,
                &format!("impl S {{\n    {method}\n}}"),
                vec![symbol("method", 6, method, vec![])],
            ),
            symbol("free", 12, "fn free(a: u8) {\n    body();\n}", vec![]),
            symbol("C", 14, "const C: u8 = 1;", vec![]),
        ]
    }

    #[test]
    fn the_symbols_that_a_change_touches() {
        let symbols = symbols();
        let text = Text::new(TEXT);
        let after = |what: &str| TEXT.find(what).expect("there") + what.len();
        for (start, end, language, expected) in [
            (after("field: "), after("field: u8"), "rust", vec!["field"]),
            // A new field: whoever makes one must name it.
            (after("field: u8,"), after("field: u8,"), "rust", vec!["S"]),
            (after("struct "), after("struct S"), "rust", vec!["S"]),
            (
                after("method(&"),
                after("method(&self"),
                "rust",
                vec!["method"],
            ),
            (after("free("), after("free(a"), "rust", vec!["free"]),
            (
                after("free(a: u8) {\n  "),
                after("free(a: u8) {\n    b"),
                "rust",
                vec![],
            ),
            // What a function gives may follow from what it does.
            (
                after("free(a: u8) {\n  "),
                after("free(a: u8) {\n    b"),
                "typescript",
                vec!["free"],
            ),
            (after("const C: "), after("const C: u8"), "rust", vec!["C"]),
            (after("}\n}"), after("}\n}"), "rust", vec![]),
            (
                0,
                TEXT.len(),
                "rust",
                vec!["S", "field", "impl S", "method", "free", "C"],
            ),
        ] {
            let mut touched = Vec::new();
            touch(
                &symbols,
                ByteRange::new(start, end),
                &text,
                language,
                &mut touched,
            );
            let names: Vec<&str> = touched.iter().map(|one| one.name.as_str()).collect();
            assert_eq!(names, expected, "{start}..{end} {language}");
        }
    }
}
