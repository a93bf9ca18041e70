//! What a second look at the same edits says that the first did not. Pure functions.

use workspace::{Snapshot, Text};

use super::compared;
use crate::answer::{Consequences, Diagnostic};

impl Consequences {
    /// What is said here and was not said `earlier`, of the same edits or of those before them. What was said to be added and
    /// is there no more is cured; of documents that are pending now nothing is said.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut news = Self {
            added: Vec::new(),
            cured: self.cured.saturating_sub(earlier.cured),
            ..self.clone()
        };
        let mut told = by_document(&earlier.added);
        for (document, now) in by_document(&self.added) {
            let at = told.iter().position(|(old, _)| old.uri == document.uri);
            let (text, old) = match at {
                Some(at) => {
                    let (old, list) = told.swap_remove(at);
                    (old.text.clone(), list)
                }
                None => (Text::new(""), Vec::new()),
            };
            let (added, gone) = compared((&text, old), (&document.text, now));
            news.cured += gone;
            let added = added.into_iter().map(|one| (document.clone(), one));
            news.added.extend(added);
        }
        let open: Vec<_> = self.pending.iter().chain(&self.unavailable).collect();
        let is_known = |document: &&Snapshot| open.iter().all(|(uri, _)| *uri != document.uri);
        let gone = told.iter().filter(|(document, _)| is_known(document));
        news.cured += gone.map(|(_, list)| list.len()).sum::<usize>();
        news.added.sort_by_key(|(_, one)| one.severity);
        news
    }
}

fn by_document(added: &[(Snapshot, Diagnostic)]) -> Vec<(&Snapshot, Vec<Diagnostic>)> {
    let mut all: Vec<(&Snapshot, Vec<Diagnostic>)> = Vec::new();
    for (document, one) in added {
        match all.iter_mut().find(|(known, _)| known.uri == document.uri) {
            Some((_, list)) => list.push(one.clone()),
            None => all.push((document, vec![one.clone()])),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use workspace::{ByteRange, DiskForm, DocumentUri, Origin, Revision};

    use super::*;
    use crate::answer::Severity;

    fn document(name: &str, text: &str) -> Snapshot {
        Snapshot {
            uri: DocumentUri::parse(&format!("file:///{name}")).expect("a uri"),
            text: Text::new(text),
            revision: Revision::DISK,
            version: None,
            language: None,
            origin: Origin::Disk(DiskForm::default()),
        }
    }

    /// `name text`: each word of the text that begins with `!` was added there.
    fn found(documents: &[&str], cured: usize, pending: &[&str]) -> Consequences {
        let mut all = Consequences {
            cured,
            ..Consequences::default()
        };
        for one in documents {
            let (name, text) = one.split_once(' ').expect("a name");
            for (at, _) in text.match_indices('!') {
                let word = text[at..].split(' ').next().unwrap_or_default();
                let diagnostic = Diagnostic {
                    range: ByteRange::new(at, at + word.len()),
                    severity: Severity::Error,
                    code: None,
                    source: None,
                    message: word.to_owned(),
                    server: None,
                    raw: Value::Null,
                };
                all.added.push((document(name, text), diagnostic));
            }
        }
        let pending = pending.iter();
        all.pending = pending
            .map(|name| (document(name, "").uri, "why".to_owned()))
            .collect();
        all
    }

    #[test]
    fn each_is_told_once() {
        for (earlier, now, expected, cured) in [
            (
                found(&[], 0, &["a"]),
                found(&["a !x"], 2, &[]),
                vec!["!x"],
                2,
            ),
            (
                found(&["a !x"], 1, &["b"]),
                found(&["a !x", "b !y"], 1, &[]),
                vec!["!y"],
                0,
            ),
            // It has moved, and another is like it.
            (
                found(&["a !x"], 0, &["b"]),
                found(&["a k !x !x"], 0, &[]),
                vec!["!x"],
                0,
            ),
            // What was told of is gone, by a later edit.
            (
                found(&["a !x"], 0, &["b"]),
                found(&["b !y"], 3, &[]),
                vec!["!y"],
                4,
            ),
            (
                found(&["a !x !z"], 0, &["b"]),
                found(&["a !z"], 0, &[]),
                vec![],
                1,
            ),
            // Nobody knows.
            (
                found(&["a !x"], 2, &["b"]),
                found(&["b !y"], 1, &["a"]),
                vec!["!y"],
                0,
            ),
        ] {
            let news = now.since(&earlier);
            let added: Vec<&str> = news.added.iter().map(|(_, one)| &*one.message).collect();
            assert_eq!(
                (added, news.cured),
                (expected, cured),
                "{earlier:?} {now:?}"
            );
            assert_eq!(news.pending, now.pending);
        }
    }
}
