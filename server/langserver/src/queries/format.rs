//! What a formatter would change: small replacements, and in ranges only those that touch them.

use std::time::Duration;

use serde_json::{Value, json};
use similar::{Algorithm, DiffTag, TextDiff};
use workspace::{ByteRange, Replacement, Snapshot, Text};

use super::{Question, Reach, about_range, change::replacements, inseparable::inseparable};
use crate::{
    answer::{Answer, FileEdit, QueryError},
    mirror::difference,
    server::{About, carried},
    wire,
};

const WHOLE: &str = "textDocument/formatting";
const RANGE: &str = "textDocument/rangeFormatting";
/// A replacement of more than this is taken apart by what really changes.
const LARGE: usize = 200;

impl Question {
    pub async fn format(self, ranges: &[ByteRange]) -> Result<Answer<FileEdit>, QueryError> {
        let options = options(&self.document.text);
        let by_range = !ranges.is_empty() && self.server.supports(RANGE, Some(&self.document));
        if !by_range {
            let (snapshot, edits) = self
                .formatted(WHOLE, |about| {
                    json!({"textDocument": {"uri": about.snapshot.uri.as_str()}, "options": options})
                })
                .await?;
            let edits = self.touching(ranges, &snapshot, edits);
            return Ok(self.file_edit(snapshot, edits));
        }
        let mut all: Vec<Replacement> = Vec::new();
        let mut of: Option<Snapshot> = None;
        for range in ranges {
            let (snapshot, edits) = self
                .formatted(RANGE, |about| {
                    json!({
                        "textDocument": {"uri": about.snapshot.uri.as_str()},
                        "range": about_range(about, &self.seen, *range),
                        "options": options,
                    })
                })
                .await?;
            if of.as_ref().is_some_and(|of| of.text != snapshot.text) {
                return Err(self.failed("the text changed while it was formatted".into()));
            }
            // Two ranges may have changes in common: these are made once, and no half of what belongs together.
            for group in inseparable(&snapshot.text, edits) {
                let touches = |edit: &Replacement| all.iter().any(|other| meet(edit, other));
                if !group.iter().any(touches) {
                    all.extend(group);
                }
            }
            of = Some(snapshot);
        }
        let snapshot = of.unwrap_or_else(|| self.document.clone());
        Ok(self.file_edit(snapshot, all))
    }

    async fn formatted(
        &self,
        method: &'static str,
        params: impl Fn(&About<'_>) -> Value,
    ) -> Result<(Snapshot, Vec<Replacement>), QueryError> {
        self.complete().await?;
        let asked = self.ask_alone(method, params).await?;
        let answer = self.fit(method, wire::read_tree(&asked.answer))?;
        let edits = wire::read_edits(&answer).ok_or(wire::Unfit);
        let edits = self.fit(method, edits)?;
        let snapshot = asked.texts.get(&self.document.uri);
        let snapshot = snapshot.map_or_else(|| self.document.clone(), |(of, _)| of.clone());
        let edits = replacements(edits, &snapshot.text, self.server.encoding());
        let small = edits
            .into_iter()
            .flat_map(|edit| narrowed(&snapshot.text, edit))
            .collect();
        Ok((snapshot, small))
    }

    /// Those of the replacements that touch the ranges (of the document as it was asked about), each with those that it makes
    /// sense with; all if there are none.
    fn touching(
        &self,
        ranges: &[ByteRange],
        snapshot: &Snapshot,
        mut edits: Vec<Replacement>,
    ) -> Vec<Replacement> {
        if ranges.is_empty() {
            return edits;
        }
        let change = difference(&self.seen.text, &snapshot.text);
        let ranges: Vec<_> = ranges
            .iter()
            .map(|range| carried(*range, &change))
            .collect();
        let touches = |edit: &Replacement| {
            let touches =
                |range: &ByteRange| edit.range.start <= range.end && range.start <= edit.range.end;
            ranges.iter().any(touches)
        };
        edits.sort_by_key(|edit| edit.range);
        let groups = inseparable(&snapshot.text, edits);
        let touched = groups.into_iter().filter(|group| group.iter().any(touches));
        touched.flatten().collect()
    }

    fn file_edit(&self, snapshot: Snapshot, mut edits: Vec<Replacement>) -> Answer<FileEdit> {
        edits.sort_by_key(|edit| edit.range);
        let edit = FileEdit {
            uri: snapshot.uri.clone(),
            edits,
            snapshot,
        };
        self.answered_with(None, edit, Reach::Whole, 0)
    }
}

/// Whether two replacements can't both be made, or not in an order that is known.
fn meet(one: &Replacement, other: &Replacement) -> bool {
    let (one, other) = (one.range, other.range);
    match one.is_empty() || other.is_empty() {
        true => one.start <= other.end && other.start <= one.end,
        false => one.start < other.end && other.start < one.end,
    }
}

/// What a replacement really changes: nothing that stays the same is replaced.
fn narrowed(text: &Text, edit: Replacement) -> Vec<Replacement> {
    let old = text.slice(edit.range);
    if old == edit.text {
        return Vec::new();
    }
    if old.len().max(edit.text.len()) <= LARGE {
        return vec![edit];
    }
    let diff = TextDiff::configure()
        .algorithm(Algorithm::Myers)
        .timeout(Duration::from_secs(1))
        .diff_lines(&old, &edit.text);
    let old_starts = starts((0..).map_while(|line| diff.old_slice(line)));
    let new_starts = starts((0..).map_while(|line| diff.new_slice(line)));
    diff.ops()
        .iter()
        .filter(|op| op.tag() != DiffTag::Equal)
        .map(|op| {
            let (from, to) = (op.old_range(), op.new_range());
            let start = edit.range.start.0;
            let range =
                ByteRange::new(start + old_starts[from.start], start + old_starts[from.end]);
            let new = &edit.text[new_starts[to.start]..new_starts[to.end]];
            Replacement {
                range,
                text: new.to_owned(),
            }
        })
        .collect()
}

/// Where each line starts, and where the last one ends.
fn starts<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<usize> {
    let mut starts = vec![0];
    let mut at = 0;
    for line in lines {
        at += line.len();
        starts.push(at);
    }
    starts
}

/// How a text is indented, as far as it shows.
fn options(text: &Text) -> Value {
    const LINES: usize = 2000;
    let mut tabs = 0;
    let mut spaces = 0;
    // How often the next line is deeper by so many spaces.
    let mut steps = [0_usize; 9];
    let mut before = 0;
    for number in 0..text.line_count().min(LINES) {
        let line = text.line(number).unwrap_or_default();
        let indent = line.len() - line.trim_start_matches([' ', '\t']).len();
        if line.trim().is_empty() {
            continue;
        }
        if line.starts_with('\t') {
            tabs += 1;
        } else {
            spaces += usize::from(indent > 0);
            let step = indent.checked_sub(before).filter(|step| *step > 1);
            if let Some(count) = step.and_then(|step| steps.get_mut(step)) {
                *count += 1;
            }
            before = indent;
        }
    }
    let step = (2..steps.len()).rev().max_by_key(|step| steps[*step]);
    let size = step.filter(|step| steps[*step] > 0).unwrap_or(4);
    json!({
        "tabSize": if tabs > spaces { 4 } else { size },
        "insertSpaces": tabs <= spaces,
        "trimTrailingWhitespace": true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indentation_is_guessed() {
        for (content, expected) in [
            ("", (4, true)),
            ("a\n    b\n        c\n    d\n", (4, true)),
            ("a\n  b\n    c\n  d\n      e\n", (2, true)),
            ("a\n\tb\n\t\tc\n  d\n", (4, false)),
            ("/*\n * c\n */\na\n   b\n      c\n", (3, true)),
        ] {
            let options = options(&Text::new(content));
            let found = (
                options["tabSize"].as_u64(),
                options["insertSpaces"].as_bool(),
            );
            assert_eq!(found, (Some(expected.0), Some(expected.1)), "{content:?}");
        }
    }

    #[test]
    fn a_whole_text_is_cut_down_to_what_changes() {
        let lines = |changed: &[usize]| -> String {
            (0..40)
                .map(|line| {
                    if changed.contains(&line) {
                        format!("changed {line}\n")
                    } else {
                        format!("the line {line}\n")
                    }
                })
                .collect()
        };
        let (old, new) = (lines(&[]), lines(&[3, 20]));
        let text = Text::new(&old);
        let whole = Replacement {
            range: ByteRange::new(0, text.len()),
            text: new.clone(),
        };
        let small = narrowed(&text, whole);
        let shown: Vec<_> = small
            .iter()
            .map(|edit| (text.slice(edit.range), edit.text.as_str()))
            .collect();
        assert_eq!(
            shown,
            [
                ("the line 3\n".to_owned(), "changed 3\n"),
                ("the line 20\n".to_owned(), "changed 20\n")
            ]
        );
        let mut after = text.clone();
        for edit in small.iter().rev() {
            after.replace(edit.range, &edit.text);
        }
        assert_eq!(after.to_string(), new);
    }
}
