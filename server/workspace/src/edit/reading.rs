//! A newer text, read as an older one and what was changed in it. It says how a region fared; what follows from that is
//! for the edit to say.

use crate::{
    ByteRange, Text,
    compare::{Change, Comparison, compare, join_doubtful},
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
    pub(super) fn new(text: &Text, newer: &Text) -> Self {
        let comparison = compare(text, newer);
        Self {
            joined: join_doubtful(&comparison.changes, text),
            comparison,
        }
    }

    /// Whether each change has a place that leaves the region as it is.
    pub(super) fn is_intact(&self, region: ByteRange) -> bool {
        self.joined
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
        let before = self
            .joined
            .iter()
            .filter(|change| match Side::of(change, region) {
                Side::Before => true,
                Side::After | Side::Inside => false,
                Side::Touching => reach(change, region).0,
            });
        let shift: isize = before
            .map(|change| difference(change.new.len(), change.old.len()))
            .sum();
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
