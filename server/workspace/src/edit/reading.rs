//! A newer text, read as an older one and what was changed in it. It says how a region fared; what follows from that is
//! for the edit to say.

use std::{ops::Range, time::Instant};

use crate::{
    ByteRange, Text,
    compare::{Change, Comparison, compare, compare_until, join_doubtful},
};

/// One way to read a newer text: as another one and what was changed in it.
pub(super) struct Reading {
    comparison: Comparison,
    /// Its changes, with what can't be relied on taken for changed.
    joined: Vec<Change>,
}

/// How much was changed: in lines, and where that is the same, in bytes.
pub(super) type Cost = (usize, usize);

impl Reading {
    /// With a deadline: what is not found by then is taken for changed.
    pub(super) fn new(text: &Text, newer: &Text, deadline: Option<Instant>) -> Self {
        let comparison = match deadline {
            Some(deadline) => compare_until(text, newer, deadline),
            None => compare(text, newer),
        };
        Self {
            joined: join_doubtful(&comparison.changes, text),
            comparison,
        }
    }

    /// Whether each change has a place that leaves the region as it is.
    pub(super) fn is_intact(&self, region: ByteRange) -> bool {
        self.joined[near(&self.joined, region)]
            .iter()
            .all(|change| match Side::of(change, region) {
                Side::Before | Side::After => true,
                Side::Inside => false,
                Side::Touching => {
                    let (before, after) = reach(change, region);
                    before || after
                }
            })
    }

    /// Whether the lines that the region is in are as they were.
    pub(super) fn has_whole_lines(&self, region: ByteRange) -> bool {
        let overlaps =
            |change: &Change| change.old.start < region.end.0 && region.start.0 < change.old.end;
        !region.is_empty()
            && !self
                .comparison
                .lines
                .iter()
                .any(|block| overlaps(&block.change))
    }

    /// Where the region lies in the newer text.
    pub(super) fn moved(&self, region: ByteRange) -> ByteRange {
        let near = near(&self.joined, region);
        let touching = self.joined[near.clone()]
            .iter()
            .filter(|change| Side::of(change, region) == Side::Touching && reach(change, region).0);
        let grown: isize = touching
            .map(|change| difference(change.new.len(), change.old.len()))
            .sum();
        let shift = shift_before(&self.joined, near.start) + grown;
        let start = region.start.0.saturating_add_signed(shift);
        ByteRange::new(start, start + region.len())
    }

    /// How much was changed in the region or at its edge.
    pub(super) fn cost_at(&self, region: ByteRange) -> Cost {
        self.cost_of(|change| matches!(Side::of(change, region), Side::Inside | Side::Touching))
    }

    pub(super) fn cost(&self) -> Cost {
        self.cost_of(|_| true)
    }

    fn cost_of(&self, counts: impl Fn(&Change) -> bool) -> Cost {
        let lines = self
            .comparison
            .lines
            .iter()
            .filter(|block| counts(&block.change))
            .map(|block| block.lines)
            .sum();
        (
            lines,
            self.comparison
                .changes
                .iter()
                .filter(|change| counts(change))
                .map(Change::cost)
                .sum(),
        )
    }
}

/// The changes that lie neither before a region nor after it, wherever they slide.
pub(super) fn near(changes: &[Change], region: ByteRange) -> Range<usize> {
    let first = changes.partition_point(|change| change.old.end + change.right < region.start.0);
    let last = changes.partition_point(|change| change.old.start - change.left <= region.end.0);
    first..last.max(first)
}

/// By how much what follows this many changes is moved, as far as they are what moves it.
fn shift_before(changes: &[Change], count: usize) -> isize {
    let last = count.checked_sub(1).and_then(|at| changes.get(at));
    last.map_or(0, |change| difference(change.new.end, change.old.end))
}

/// Where a region of one text lies in a newer one, in which it is replaced by `with`; `None` if it was changed, or if
/// there are two answers.
pub(super) fn follow(
    (text, region): (&Text, ByteRange),
    with: &str,
    changes: &[Change],
    newest: &Text,
) -> Option<ByteRange> {
    let near = near(changes, region);
    let (mut shift, mut other_shift) = (shift_before(changes, near.start), None);
    for change in &changes[near] {
        let moved = difference(change.new.len(), change.old.len());
        match Side::of(change, region) {
            Side::Before => shift += moved,
            Side::After => {}
            Side::Inside => return None,
            // Two insertions in one place: nothing says which comes first.
            Side::Touching if region.is_empty() && !change.new.is_empty() => return None,
            Side::Touching => match reach(change, region) {
                (true, true) => {
                    // Lies before it or after it: two places for the region, one of them `moved` away.
                    if other_shift.replace(moved).is_some() {
                        return None;
                    }
                }
                (true, false) => shift += moved,
                (false, true) => {}
                (false, false) => return None,
            },
        }
    }
    let at = |shift| {
        let start = region.start.0.saturating_add_signed(shift);
        ByteRange::new(start, start + region.len())
    };
    let here = at(shift);
    if let Some(moved) = other_shift
        && !same_result(newest, here, at(shift + moved), with)
    {
        return None;
    }
    (newest.slice(here) == text.slice(region)).then_some(here)
}

/// Whether it is the same to replace the one range or the other.
fn same_result(text: &Text, one: ByteRange, other: ByteRange, with: &str) -> bool {
    let (first, second) = (one.min(other), one.max(other));
    let all = text.slice(ByteRange {
        start: first.start,
        end: second.end,
    });
    let apart = second.start.0 - first.start.0;
    let (Some(after_first), Some(before_second)) = (all.get(first.len()..), all.get(..apart))
    else {
        return false;
    };
    format!("{with}{after_first}") == format!("{before_second}{with}")
}

/// How a change lies to a region, wherever it slides.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Before,
    After,
    /// It meets the region or its edge, at least in some of its places.
    Touching,
    /// It takes away what is on both sides of an empty region.
    Inside,
}

impl Side {
    pub(super) fn of(change: &Change, region: ByteRange) -> Self {
        let (start, end) = (region.start.0, region.end.0);
        let (first, last) = (
            change.old.start - change.left,
            change.old.end + change.right,
        );
        if last < start {
            Self::Before
        } else if first > end {
            Self::After
        } else if region.is_empty()
            && change.old.start + change.right < start
            && change.old.end - change.left > end
        {
            Self::Inside
        } else {
            Self::Touching
        }
    }
}

/// Whether a change can lie wholly before a region, and whether wholly after it.
pub(super) fn reach(change: &Change, region: ByteRange) -> (bool, bool) {
    (
        change.old.end - change.left <= region.start.0,
        change.old.start + change.right >= region.end.0,
    )
}

pub(super) fn difference(now: usize, before: usize) -> isize {
    // No text is longer than isize::MAX bytes.
    now.cast_signed() - before.cast_signed()
}
