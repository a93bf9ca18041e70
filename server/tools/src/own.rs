//! The lines that a run has changed, carried along as the texts go on. Only for tools that go over a run's own work; what
//! the world may know of a run's changes is told by events.

use std::{
    collections::HashMap,
    ops::Range,
    sync::{Arc, Mutex, PoisonError},
};

use similar::{Algorithm, DiffOp};
use workspace::{Applied, DocumentUri, Encoding, Snapshot, Text};

/// What a run has changed so far.
#[derive(Clone, Default)]
pub struct OwnEdits(Arc<Mutex<HashMap<DocumentUri, Kept>>>);

struct Kept {
    text: Text,
    /// Lines from 0, the end not included.
    lines: Vec<Range<usize>>,
}

impl OwnEdits {
    /// Notes a change.
    pub fn note(&self, applied: &Applied) {
        let after = &applied.after;
        let line = |at| after.text.position(at, Encoding::Utf32).line as usize;
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = all.entry(after.uri.clone()).or_insert_with(|| Kept {
            text: after.text.clone(),
            lines: Vec::new(),
        });
        kept.go_on(&after.text);
        let changed = applied
            .hunks
            .iter()
            .map(|hunk| line(hunk.range.start)..line(hunk.range.end) + 1);
        kept.lines.extend(changed);
        kept.lines = joined(std::mem::take(&mut kept.lines));
    }

    /// The first and last lines (from 0) of what was changed in a document, as it is now.
    pub fn lines(&self, now: &Snapshot) -> Vec<(usize, usize)> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(kept) = all.get_mut(&now.uri) else {
            return Vec::new();
        };
        kept.go_on(&now.text);
        kept.lines
            .iter()
            .map(|lines| (lines.start, lines.end.saturating_sub(1)))
            .collect()
    }
}

impl Kept {
    fn go_on(&mut self, now: &Text) {
        if self.text == *now {
            return;
        }
        let (old, new) = (self.text.to_string(), now.to_string());
        let old: Vec<&str> = old.split_inclusive('\n').collect();
        let new: Vec<&str> = new.split_inclusive('\n').collect();
        let ops = similar::capture_diff_slices(Algorithm::Patience, &old, &new);
        let lines = std::mem::take(&mut self.lines);
        self.lines = joined(
            lines
                .into_iter()
                .filter_map(|lines| carried(&ops, &lines))
                .collect(),
        );
        self.text = now.clone();
    }
}

/// Where lines of the old text are in the new one; `None` if nothing of them is left.
fn carried(ops: &[DiffOp], lines: &Range<usize>) -> Option<Range<usize>> {
    let mut found: Option<Range<usize>> = None;
    for op in ops {
        let (old, new) = (op.old_range(), op.new_range());
        let here = old.start.max(lines.start)..old.end.min(lines.end);
        if here.is_empty() {
            continue;
        }
        let there = match op {
            DiffOp::Equal { .. } => {
                new.start + (here.start - old.start)..new.start + (here.end - old.start)
            }
            _ => new,
        };
        if there.is_empty() {
            continue;
        }
        found = Some(match found {
            Some(before) => before.start.min(there.start)..before.end.max(there.end),
            None => there,
        });
    }
    found
}

fn joined(mut lines: Vec<Range<usize>>) -> Vec<Range<usize>> {
    lines.sort_by_key(|lines| lines.start);
    let mut joined: Vec<Range<usize>> = Vec::with_capacity(lines.len());
    for next in lines {
        match joined.last_mut() {
            Some(last) if next.start <= last.end => last.end = last.end.max(next.end),
            _ => joined.push(next),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use workspace::{Buffers, ByteRange, Hunk};

    use super::*;

    fn snapshot(text: &str) -> Snapshot {
        let uri = DocumentUri::parse("file:///a").expect("a uri");
        Buffers::new().open(uri, "x", 1, text)
    }

    fn change(own: &OwnEdits, text: &str, part: &str) {
        let after = snapshot(text);
        let at = text.find(part).expect("it is there");
        own.note(&Applied {
            before: after.clone(),
            after,
            hunks: vec![Hunk {
                range: ByteRange::new(at, at + part.len()),
                removed: String::new(),
                added: part.to_owned(),
            }],
        });
    }

    #[test]
    fn lines_follow_later_texts() {
        let own = OwnEdits::default();
        assert!(own.lines(&snapshot("a\n")).is_empty());
        change(&own, "a\nb\nc\nd\n", "b");
        assert_eq!(own.lines(&snapshot("a\nb\nc\nd\n")), [(1, 1)]);
        assert_eq!(own.lines(&snapshot("0\na\nb\nc\nd\n")), [(2, 2)]);
        change(&own, "0\na\nb\nc\nd\n", "d");
        assert_eq!(own.lines(&snapshot("0\na\nb\nc\nd\n")), [(2, 2), (4, 4)]);
        // Typed over: it is still where the change was.
        assert_eq!(own.lines(&snapshot("0\na\nB\nc\nd\n")), [(2, 2), (4, 4)]);
        assert_eq!(own.lines(&snapshot("a\nB\nc\n")), [(1, 1)]);
    }
}
