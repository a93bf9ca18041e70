//! Which of some lines a model wrote anew, and what stands there then. A model leaves out what it thinks is clear, by a
//! mark (`...`) or without; it indents as it likes. What it left out stays, and what it wrote is indented as its place is.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use similar::{Algorithm, DiffOp, capture_diff_slices};

/// Lines that take the place of others.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Aligned {
    /// Of the lines that were shown.
    pub range: Range<usize>,
    pub lines: Vec<String>,
}

/// Less than this, and lines have nothing to do with each other.
const ALIKE: f32 = 0.5;

/// What a block means that was to replace these lines, or those of them that are `wrong`. `None`: nobody could say.
pub(super) fn aligned(old: &[&str], new: &[&str], wrong: Range<usize>) -> Option<Aligned> {
    let says = |line: &&&str| line.trim().len() > 1;
    let kept = old
        .iter()
        .filter(says)
        .filter(|line| new.iter().any(|one| one.trim() == line.trim()))
        .count();
    let all = old.iter().filter(says).count();
    // A comment or an attribute above may have been left out.
    let mut heads = old.iter().filter(says).take(3);
    let first = new.iter().find(says);
    let begins = first.is_some_and(|new| heads.any(|old| likeness(old.trim(), new.trim()) > 0.8));
    let is_marked = new.iter().any(|line| is_mark(line));
    // Something that holds most of what was shown, or begins where it begins, stands for all of it.
    let is_whole = kept * 2 >= all || (begins && (is_marked || new.len() * 2 >= old.len()));
    let range = match is_whole {
        true => 0..old.len(),
        false => window(old, new, wrong)?,
    };
    let lines = merged(&old[range.clone()], new);
    Some(Aligned { range, lines })
}

/// The lines that a few lines are most like: those that are wrong are among them.
fn window(old: &[&str], new: &[&str], wrong: Range<usize>) -> Option<Range<usize>> {
    const MORE: usize = 3;
    let new = new
        .iter()
        .map(|line| line.trim())
        .collect::<Vec<_>>()
        .join("\n");
    let count = new.lines().count();
    let mut best: Option<(f32, Range<usize>)> = None;
    for length in count.saturating_sub(MORE).max(1)..=(count + MORE).min(old.len()) {
        for start in 0..=old.len() - length {
            let range = start..start + length;
            let meets = range.start < wrong.end.max(wrong.start + 1) && wrong.start < range.end;
            if !meets {
                continue;
            }
            let lines = old[range.clone()].iter().map(|line| line.trim());
            let score = likeness(&lines.collect::<Vec<_>>().join("\n"), &new);
            if best.as_ref().is_none_or(|(most, _)| score > *most) {
                best = Some((score, range));
            }
        }
    }
    best.filter(|(score, _)| *score >= ALIKE)
        .map(|(_, range)| range)
}

/// New lines in the place of the old ones: what was left out at either end, or where a mark stands, stays.
fn merged(old: &[&str], new: &[&str]) -> Vec<String> {
    let trimmed = |lines: &[&str]| -> Vec<String> {
        lines.iter().map(|line| line.trim().to_owned()).collect()
    };
    let (bare_old, bare_new) = (trimmed(old), trimmed(new));
    let ops = capture_diff_slices(Algorithm::Patience, &bare_old, &bare_new);
    let indents = Indents::of(old, new, &ops);
    let write = |range: Range<usize>| new[range].iter().map(|line| indents.applied(line));
    let mut lines = Vec::new();
    let last = ops.len().saturating_sub(1);
    for (number, op) in ops.iter().enumerate() {
        let (gone, come) = (op.old_range(), op.new_range());
        let is_end = number == 0 || number == last;
        let stays = || old[gone.clone()].iter().map(|line| (*line).to_owned());
        match op {
            DiffOp::Equal { .. } => lines.extend(stays()),
            DiffOp::Insert { .. } => lines.extend(write(come).filter(|line| !is_mark(line))),
            DiffOp::Delete { .. } if is_end => lines.extend(stays()),
            DiffOp::Delete { .. } => {}
            DiffOp::Replace { .. } => {
                let marked = new[come.clone()].iter().any(|line| is_mark(line));
                if marked || (is_end && gone.len() > come.len()) {
                    lines.extend(paired(&old[gone], &new[come], &indents));
                } else {
                    lines.extend(write(come));
                }
            }
        }
    }
    lines
}

/// Fewer lines than stood there: each takes the place of the one that it is like, in order, and the others stay.
fn paired(old: &[&str], new: &[&str], indents: &Indents) -> Vec<String> {
    let mut lines = Vec::new();
    let mut next = 0;
    for line in new.iter().filter(|line| !is_mark(line)) {
        let likest = (next..old.len())
            .map(|at| (likeness(old[at].trim(), line.trim()), at))
            .filter(|(score, _)| *score >= ALIKE)
            .max_by(|left, right| left.0.total_cmp(&right.0));
        if let Some((_, at)) = likest {
            lines.extend(old[next..at].iter().map(|line| (*line).to_owned()));
            next = at + 1;
        }
        lines.push(indents.applied(line));
    }
    lines.extend(old[next..].iter().map(|line| (*line).to_owned()));
    lines
}

/// Whether a line only says that others were left out.
fn is_mark(line: &str) -> bool {
    let bare = line.trim().trim_start_matches(['/', '#', '*', '-', ' ']);
    let bare = bare.trim_end_matches(['*', '/', ' ']);
    if bare == "..." || bare == "…" {
        return true;
    }
    let is_comment = bare.len() < line.trim().len();
    let lower = bare.to_lowercase();
    is_comment
        && (lower.starts_with("...")
            || lower.starts_with('…')
            || lower.ends_with("...")
            || lower.contains("rest of the")
            || lower.contains("existing code"))
}

/// How far lines are to be indented: as their like are in the text.
struct Indents {
    /// What the text has in the place of what the answer has.
    known: BTreeMap<usize, String>,
    /// By how much the answer indents what lies in something, in characters; and what the text has for it.
    step: usize,
    unit: String,
}

impl Indents {
    fn of(old: &[&str], new: &[&str], ops: &[DiffOp]) -> Self {
        let mut known = BTreeMap::new();
        let same = ops.iter().filter(|op| matches!(op, DiffOp::Equal { .. }));
        for (old, new) in same
            .flat_map(|op| op.old_range().zip(op.new_range()))
            .map(|(at, to)| (old[at], new[to]))
        {
            if !old.trim().is_empty() {
                known
                    .entry(indent(new).len())
                    .or_insert_with(|| indent(old).to_owned());
            }
        }
        if known.is_empty() {
            // Without a line that is the same, the first of both lie at the same depth.
            let first = |lines: &[&str]| {
                let line = lines.iter().find(|line| !line.trim().is_empty());
                line.map_or("", |line| indent(line)).to_owned()
            };
            known.insert(first(new).len(), first(old));
        }
        let unit = match old.iter().any(|line| line.starts_with('\t')) {
            true => "\t".to_owned(),
            false => " ".repeat(step(old)),
        };
        Indents {
            known,
            step: step(new),
            unit,
        }
    }

    fn applied(&self, line: &str) -> String {
        let bare = line.trim_start();
        if bare.is_empty() {
            return String::new();
        }
        let own = indent(line).len();
        let outer = self.known.range(..=own).next_back();
        let indent = if let Some((known, indent)) = outer {
            indent.clone() + &self.unit.repeat((own - known) / self.step)
        } else {
            let inner = self.known.iter().next();
            let (known, indent) =
                inner.map_or((own, ""), |(known, indent)| (*known, indent.as_str()));
            let less = self.unit.len() * ((known - own) / self.step);
            indent[..indent.len().saturating_sub(less)].to_owned()
        };
        format!("{indent}{bare}")
    }
}

/// The least by which some of these lines are indented more than others.
fn step(lines: &[&str]) -> usize {
    const USUAL: usize = 4;
    let said = lines.iter().filter(|line| !line.trim().is_empty());
    let depths: BTreeSet<usize> = said.map(|line| indent(line).len()).collect();
    let steps = depths.iter().zip(depths.iter().skip(1));
    steps
        .map(|(outer, inner)| inner - outer)
        .min()
        .unwrap_or(USUAL)
}

fn indent(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

/// How much of two texts is the same, from 0 to 1.
fn likeness(left: &str, right: &str) -> f32 {
    if left.is_empty() || right.is_empty() {
        return 0.0;
    }
    let (left, right): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
    let ops = capture_diff_slices(Algorithm::Myers, &left, &right);
    let same: usize = ops
        .iter()
        .filter(|op| matches!(op, DiffOp::Equal { .. }))
        .map(|op| op.old_range().len())
        .sum();
    #[allow(clippy::cast_precision_loss, reason = "texts of some lines")]
    let share = (2 * same) as f32 / (left.len() + right.len()) as f32;
    share
}
