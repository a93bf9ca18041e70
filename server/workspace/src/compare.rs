//! What changed between two texts, judged by the texts alone. It never guesses where an ambiguous change was made:
//! it says how far the change could slide.

use std::{
    ops::Range,
    time::{Duration, Instant},
};

use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};

use crate::Text;

use self::ends::{common_prefix, common_suffix};

pub(crate) use self::told::told;

mod ends;
mod told;

/// A stretch of the old text that became a stretch of the new one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    /// In the old text.
    pub(crate) old: Range<usize>,
    /// In the new text.
    pub(crate) new: Range<usize>,
    /// By how many bytes it could as well lie further left: `b` in `ab` to `abb` may be the first or the second.
    pub(crate) left: usize,
    /// By how many bytes it could as well lie further right.
    pub(crate) right: usize,
}

impl Change {
    fn new(old: Range<usize>, new: Range<usize>) -> Self {
        Self {
            old,
            new,
            left: 0,
            right: 0,
        }
    }

    /// How many bytes went and came.
    pub(crate) fn cost(&self) -> usize {
        self.old.len() + self.new.len()
    }
}

/// Up to this many bytes on both sides together are compared by characters.
const BY_CHARACTERS: usize = 8 * 1024;
/// How long a comparison may search before it settles for less.
const PATIENCE: Duration = Duration::from_millis(100);
/// A match between two changes with this many visible bytes is trusted, however large the changes around it are.
const TRUSTED: usize = 24;
/// The same for whole lines.
const TRUSTED_LINES: usize = 6;
/// How much of a match is looked at for that.
const LOOKED_AT: usize = 1024;

/// How a text became another one.
pub(crate) struct Comparison {
    /// What changed, in order; between the changes the texts are the same.
    pub(crate) changes: Vec<Change>,
    /// The lines that became other lines: coarser than the changes, and nearer to what people do. (Two lines that differ
    /// in one digit are two lines; by characters, the one is nearly the other.)
    pub(crate) lines: Vec<Block>,
}

/// Lines that became other lines.
pub(crate) struct Block {
    pub(crate) change: Change,
    /// How many there are on both sides together.
    pub(crate) lines: usize,
}

/// What lies between the ends that two texts have in common; empty on both sides if they are the same.
pub(crate) fn window(old: &Text, new: &Text) -> Change {
    let (old_len, new_len) = (old.len(), new.len());
    let prefix = common_prefix(old, new);
    if prefix == old_len && prefix == new_len {
        return Change::new(prefix..prefix, prefix..prefix);
    }
    let whole_suffix = common_suffix(old, new);
    let suffix = whole_suffix.min(old_len.min(new_len) - prefix);
    Change {
        // A plain insertion or deletion could lie as much further left; this is the last of its places.
        left: whole_suffix - suffix,
        ..Change::new(prefix..old_len - suffix, prefix..new_len - suffix)
    }
}

/// Compares two texts, in bounded time.
pub(crate) fn compare(old: &Text, new: &Text) -> Comparison {
    compare_until(old, new, Instant::now() + PATIENCE)
}

/// The same with less patience: what is not found by then is taken for changed.
pub(crate) fn compare_until(old: &Text, new: &Text, deadline: Instant) -> Comparison {
    let deadline = deadline.min(Instant::now() + PATIENCE);
    let window = window(old, new);
    if window.old.is_empty() && window.new.is_empty() {
        return Comparison {
            changes: Vec::new(),
            lines: Vec::new(),
        };
    }
    let lines = changed_lines(&whole_lines(&window, old, new), old, new, deadline);
    let changes = if window.old.is_empty() || window.new.is_empty() {
        vec![window]
    } else {
        let mut changes = by_lines(&window, &lines, old, new, deadline)
            .unwrap_or_else(|| by_characters(&window, old, new, deadline));
        find_slides(&mut changes, old, new);
        changes
    };
    Comparison { changes, lines }
}

/// The changes in a window, by lines first: what people change is mostly lines. `None` if the window is within a line, or
/// if lines would find a change outside of it.
fn by_lines(
    window: &Change,
    lines: &[Block],
    old: &Text,
    new: &Text,
    deadline: Instant,
) -> Option<Vec<Change>> {
    if let [block] = lines
        && block.lines == 2
    {
        return None;
    }
    let mut changes: Vec<Change> = lines
        .iter()
        .flat_map(|block| by_characters(&block.change, old, new, deadline))
        .collect();
    find_slides(&mut changes, old, new);
    changes
        .into_iter()
        .map(|change| fit(change, window))
        .collect()
}

fn changed_lines(window: &Change, old: &Text, new: &Text, deadline: Instant) -> Vec<Block> {
    let (old_text, new_text) = (
        old.slice(window.old.clone().into()),
        new.slice(window.new.clone().into()),
    );
    // Which characters end a line is of no weight here.
    let old_lines: Vec<&str> = old_text.split_inclusive('\n').collect();
    let new_lines: Vec<&str> = new_text.split_inclusive('\n').collect();
    let old_ends = ends(window.old.start, old_lines.iter().map(|line| line.len()));
    let new_ends = ends(window.new.start, new_lines.iter().map(|line| line.len()));
    let ops =
        capture_diff_slices_deadline(Algorithm::Myers, &old_lines, &new_lines, Some(deadline));
    let block = |(old, new): (Range<usize>, Range<usize>)| Block {
        lines: old.len() + new.len(),
        change: Change::new(bytes(&old_ends, old), bytes(&new_ends, new)),
    };
    let mut blocks: Vec<Block> = unequal(&ops).map(block).collect();
    find_slides(blocks.iter_mut().map(|block| &mut block.change), old, new);
    blocks
}

/// The window with all of the lines that it touches.
fn whole_lines(window: &Change, old: &Text, new: &Text) -> Change {
    let prefix = line_start(old, window.old.start);
    // Both texts are cut where a line of both starts, or at their ends.
    let (old_end, new_end) = (window.old.end, window.new.end);
    let rest = if starts_line(old, old_end) && starts_line(new, new_end) {
        0
    } else {
        let next = old.bytes_from(old_end).position(|byte| byte == b'\n');
        next.map_or(old.len() - old_end, |at| at + 1)
    };
    Change::new(prefix..old_end + rest, prefix..new_end + rest)
}

/// Brings a change that sticks out of the window back in, by sliding or cutting off what is the same on both sides.
fn fit(mut change: Change, window: &Change) -> Option<Change> {
    let plain = change.old.is_empty() || change.new.is_empty();
    let above = window.old.start.saturating_sub(change.old.start);
    let below = change.old.end.saturating_sub(window.old.end);
    if above.max(below) == 0 {
        // The sides stick out alike or not at all.
    } else if plain && above <= change.right && below <= change.left {
        let slid = |range: Range<usize>| range.start + above - below..range.end + above - below;
        change.old = slid(change.old);
        change.new = slid(change.new);
    } else if !plain && above + below <= change.old.len().min(change.new.len()) {
        change = Change::new(
            change.old.start + above..change.old.end - below,
            change.new.start + above..change.new.end - below,
        );
    } else {
        return None;
    }
    let inside = |inner: &Range<usize>, outer: &Range<usize>| {
        outer.start <= inner.start && inner.end <= outer.end
    };
    (inside(&change.old, &window.old) && inside(&change.new, &window.new)).then_some(change)
}

/// The changes in a window, by characters, if it is small enough for that.
fn by_characters(window: &Change, old: &Text, new: &Text, deadline: Instant) -> Vec<Change> {
    let small = window.old.len() + window.new.len() <= BY_CHARACTERS;
    if window.old.is_empty() || window.new.is_empty() || !small || Instant::now() > deadline {
        return vec![window.clone()];
    }
    let old_chars: Vec<char> = old.slice(window.old.clone().into()).chars().collect();
    let new_chars: Vec<char> = new.slice(window.new.clone().into()).chars().collect();
    let old_ends = ends(
        window.old.start,
        old_chars.iter().map(|char| char.len_utf8()),
    );
    let new_ends = ends(
        window.new.start,
        new_chars.iter().map(|char| char.len_utf8()),
    );
    let ops =
        capture_diff_slices_deadline(Algorithm::Myers, &old_chars, &new_chars, Some(deadline));
    unequal(&ops)
        .map(|(old, new)| Change::new(bytes(&old_ends, old), bytes(&new_ends, new)))
        .collect()
}

/// Both ranges of every stretch that is not equal, with those that touch joined.
fn unequal(ops: &[DiffOp]) -> impl Iterator<Item = (Range<usize>, Range<usize>)> {
    let mut joined: Vec<(Range<usize>, Range<usize>)> = Vec::new();
    for op in ops.iter().filter(|op| !matches!(op, DiffOp::Equal { .. })) {
        let (old, new) = (op.old_range(), op.new_range());
        match joined.last_mut() {
            Some(last) if last.0.end == old.start && last.1.end == new.start => {
                last.0.end = old.end;
                last.1.end = new.end;
            }
            _ => joined.push((old, new)),
        }
    }
    joined.into_iter()
}

/// Where each piece ends, after the start of the first.
fn ends(start: usize, lengths: impl Iterator<Item = usize>) -> Vec<usize> {
    let sums = lengths.scan(start, |end, length| {
        *end += length;
        Some(*end)
    });
    std::iter::once(start).chain(sums).collect()
}

fn bytes(ends: &[usize], pieces: Range<usize>) -> Range<usize> {
    ends[pieces.start]..ends[pieces.end]
}

/// Joins changes with what is between them where that match is more likely chance than kept text: it is short, and
/// no longer than the change on either side. What is left unchanged can be relied on.
pub(crate) fn join_doubtful(changes: &[Change], old: &Text) -> Vec<Change> {
    let mut joined: Vec<Change> = Vec::with_capacity(changes.len());
    for change in changes {
        let mut change = change.clone();
        while let Some(last) = joined.last() {
            if !is_doubtful(last, &change, old) {
                break;
            }
            change = Change::new(
                last.old.start..change.old.end,
                last.new.start..change.new.end,
            );
            joined.pop();
        }
        joined.push(change);
    }
    joined
}

fn is_doubtful(before: &Change, after: &Change, old: &Text) -> bool {
    // As much as can be between them, wherever they slide.
    let between = before.old.end - before.left..after.old.start + after.right;
    let size = |change: &Change| change.old.len().max(change.new.len());
    if between.len() > size(before) || between.len() > size(after) {
        return false;
    }
    // What is long is mostly white space, or it is trusted: there is no need to look at all of it.
    let visible = |bytes: &str| {
        bytes
            .bytes()
            .filter(|byte| !byte.is_ascii_whitespace())
            .count()
    };
    let text = old.slice((between.start..between.end.min(between.start + LOOKED_AT)).into());
    let from_line_start = if starts_line(old, between.start) {
        text.as_str()
    } else {
        text.split_once('\n').map_or("", |(_, rest)| rest)
    };
    let whole_lines = from_line_start
        .rsplit_once('\n')
        .map_or("", |(lines, _)| lines);
    visible(&text) < TRUSTED && visible(whole_lines) < TRUSTED_LINES
}

fn line_start(text: &Text, byte: usize) -> usize {
    byte - text
        .bytes_before(byte)
        .take_while(|before| *before != b'\n')
        .count()
}

fn starts_line(text: &Text, byte: usize) -> bool {
    text.bytes_before(byte)
        .next()
        .is_none_or(|before| before == b'\n')
}

/// How far each plain insertion or deletion could slide without meeting its neighbours.
fn find_slides<'a>(changes: impl IntoIterator<Item = &'a mut Change>, old: &Text, new: &Text) {
    let mut changes = changes.into_iter().peekable();
    let mut room_from = 0;
    while let Some(change) = changes.next() {
        let room_left = change.old.start - room_from;
        let room_right = changes.peek().map_or(old.len(), |next| next.old.start) - change.old.end;
        room_from = change.old.end;
        let (text, range) = match (change.old.is_empty(), change.new.is_empty()) {
            (true, false) => (new, &change.new),
            (false, true) => (old, &change.old),
            _ => continue,
        };
        let back = text
            .bytes_before(range.start)
            .zip(text.bytes_before(range.end));
        let on = text.bytes_from(range.start).zip(text.bytes_from(range.end));
        let left = back.take(room_left).take_while(|(a, b)| a == b).count();
        let right = on.take(room_right).take_while(|(a, b)| a == b).count();
        (change.left, change.right) = (left, right);
    }
}
