//! An edit's regions, followed from the text that it was made for through one told change after the other. Every step is
//! a small comparison of its own, so that what two texts alone leave in doubt (which of a hundred same lines is new?) is
//! known; where a single step leaves it in doubt, it stays so.

use super::{
    Edit, Replacement,
    reading::{Side, follow, near},
};
use crate::{
    ByteRange, Snapshot, Text,
    buffers::Step,
    compare::{join_doubtful, told},
};

/// Where what an edit replaces lies in a later text.
#[derive(Clone, Debug)]
pub(crate) struct Trail {
    text: Text,
    /// One for each replacement; `None` from the change on that was made in it, or that leaves its place in doubt.
    regions: Vec<Option<Region>>,
}

#[derive(Clone, Copy, Debug)]
struct Region {
    range: ByteRange,
    /// Whether no change came as near as its edge.
    is_untouched: bool,
}

impl Trail {
    /// At its begin: the text that the edit is for.
    pub(crate) fn of(edit: &Edit) -> Self {
        let region = |replacement: &Replacement| {
            Some(Region {
                range: replacement.range,
                is_untouched: true,
            })
        };
        Self {
            text: edit.snapshot.text.clone(),
            regions: edit.replacements.iter().map(region).collect(),
        }
    }

    /// On to a later text; without steps that lead there, nothing is known any more.
    pub(crate) fn go_on(&mut self, edit: &Edit, steps: Option<&[Step]>, newest: &Text) {
        for step in steps.unwrap_or_default() {
            self.step(edit, step);
        }
        if self.text != *newest {
            self.text = newest.clone();
            self.regions.fill(None);
        }
    }

    fn step(&mut self, edit: &Edit, step: &Step) {
        let (changes, after) = told(&self.text, &step.replacements);
        let changes = join_doubtful(&changes, &self.text);
        for (region, replacement) in self.regions.iter_mut().zip(&edit.replacements) {
            *region = region.and_then(
                |Region {
                     range,
                     is_untouched,
                 }| {
                    let is_near = changes[near(&changes, range)].iter().any(|change| {
                        matches!(Side::of(change, range), Side::Touching | Side::Inside)
                    });
                    let range = follow((&self.text, range), &replacement.text, &changes, &after)?;
                    Some(Region {
                        range,
                        is_untouched: is_untouched && !is_near,
                    })
                },
            );
        }
        self.text = after;
    }

    /// The edit as it is to be made in the text that was come to; `None` if some region is lost.
    pub(crate) fn edit(&self, edit: &Edit, newest: &Snapshot) -> Option<Edit> {
        let moved = |(region, replacement): (&Option<Region>, &Replacement)| {
            Some(Replacement {
                range: (*region)?.range,
                text: replacement.text.clone(),
            })
        };
        let replacements: Option<Vec<_>> = self
            .regions
            .iter()
            .zip(&edit.replacements)
            .map(moved)
            .collect();
        Edit::new(newest.clone(), replacements?).ok()
    }

    /// Whether the edit is certainly not in the text that was come to: somewhere the old text is as nobody has touched it,
    /// and the new one is not there.
    pub(crate) fn shows_that_it_is_missing(&self, edit: &Edit) -> bool {
        self.regions.iter().zip(&edit.replacements).any(
            |(region, Replacement { text: new, .. })| {
                region.is_some_and(
                    |Region {
                         range,
                         is_untouched,
                     }| {
                        let place = ByteRange::new(range.start.0, range.start.0 + new.len());
                        is_untouched && (new.is_empty() || self.text.slice(place) != *new)
                    },
                )
            },
        )
    }
}
