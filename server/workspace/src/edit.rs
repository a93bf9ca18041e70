//! An edit: replacements against one snapshot, and how it fares when the text has moved on.
//!
//! It is judged by texts, never by change events: an editor may tell a change otherwise than it was made. Where two
//! readings of the texts would put the edit in different places it is a conflict, never a guess.

use std::{collections::HashSet, time::Instant};

use crate::{
    ByteRange, Snapshot, Text,
    buffers::Step,
    compare::{compare, join_doubtful},
};

use self::reading::{Reading, difference, follow};

pub(crate) use self::trail::Trail;

mod reading;
mod trail;

/// How many of an edit's new texts are looked for before the texts are compared.
const LOOKED_FOR: usize = 16;

/// A text in the place of a range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replacement {
    /// What is replaced.
    pub range: ByteRange,
    /// What comes in its place.
    pub text: String,
}

/// Replacements against one snapshot: sorted, apart from each other, inside the text, and never ending inside a
/// character or between `\r` and `\n` (which no editor could be told).
#[derive(Clone, Debug)]
pub struct Edit {
    snapshot: Snapshot,
    replacements: Vec<Replacement>,
}

/// Why replacements are no edit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// A range that ends before it starts.
    #[error("the range {range} ends before it starts")]
    Reversed {
        /// Which.
        range: ByteRange,
    },
    /// A range that goes past the text.
    #[error("the range {range} goes past the text, which has {len} bytes")]
    OutOfBounds {
        /// Which.
        range: ByteRange,
        /// How long the text is.
        len: usize,
    },
    /// A range that starts or ends inside a character.
    #[error("the range {range} cuts a character in two")]
    InsideCharacter {
        /// Which.
        range: ByteRange,
    },
    /// Two ranges that share bytes.
    #[error("the ranges {first} and {second} overlap")]
    Overlap {
        /// The one that starts first.
        first: ByteRange,
        /// The other.
        second: ByteRange,
    },
}

/// The region that an edit replaces is not what it was, or can't be told from others like it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the text in {region} has changed")]
pub struct Conflict {
    /// The region, in the snapshot that the edit is against.
    pub region: ByteRange,
}

impl Edit {
    /// An edit of this snapshot. Replacements that touch become one, and those that change nothing are left out.
    pub fn new(snapshot: Snapshot, mut replacements: Vec<Replacement>) -> Result<Self, EditError> {
        for Replacement { range, .. } in &replacements {
            check_range(&snapshot.text, *range)?;
        }
        // An insertion comes before a replacement that starts at the same place; insertions keep their order.
        replacements.sort_by_key(|replacement| replacement.range);
        for pair in replacements.windows(2) {
            let (first, second) = (pair[0].range, pair[1].range);
            if second.start < first.end {
                return Err(EditError::Overlap { first, second });
            }
        }
        let mut replacements = join_touching(replacements);
        for replacement in &mut replacements {
            keep_line_ends_whole(&snapshot.text, replacement);
        }
        let mut replacements = join_touching(replacements);
        replacements
            .retain(|replacement| snapshot.text.slice(replacement.range) != replacement.text);
        Ok(Self {
            snapshot,
            replacements,
        })
    }

    /// An edit that puts `content` in the place of all there is.
    pub fn whole(snapshot: Snapshot, content: &str) -> Self {
        let replacements = if snapshot.text == *content {
            Vec::new()
        } else {
            vec![Replacement {
                range: ByteRange::new(0, snapshot.text.len()),
                text: content.to_owned(),
            }]
        };
        Self {
            snapshot,
            replacements,
        }
    }

    /// What it is against.
    pub const fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// What it replaces, from the start of the text to its end. Empty if it changes nothing.
    pub fn replacements(&self) -> &[Replacement] {
        &self.replacements
    }

    /// The text with the edit in it.
    pub fn result(&self) -> Text {
        let mut text = self.snapshot.text.clone();
        for replacement in self.replacements.iter().rev() {
            text.replace(replacement.range, &replacement.text);
        }
        text
    }

    /// The same edit against a newer text of the document, if every region that it replaces is still what it was.
    pub fn rebase(&self, newest: &Snapshot) -> Result<Self, Conflict> {
        let old = &self.snapshot.text;
        let changes = join_doubtful(&compare(old, &newest.text).changes, old);
        let mut moved = Vec::with_capacity(self.replacements.len());
        for replacement in &self.replacements {
            let conflict = Conflict {
                region: replacement.range,
            };
            let region = (old, replacement.range);
            let range =
                follow(region, &replacement.text, &changes, &newest.text).ok_or(conflict)?;
            moved.push(Replacement {
                range,
                text: replacement.text.clone(),
            });
        }
        // Regions that were apart stay apart; should that ever fail, it is the later one that has no place.
        let conflict = |_| Conflict {
            region: self
                .replacements
                .last()
                .map_or(ByteRange::new(0, 0), |last| last.range),
        };
        Self::new(newest.clone(), moved).map_err(conflict)
    }

    /// The same where the steps are known that lead from the one text to the other: they may tell where the texts alone
    /// leave it in doubt. What they don't tell, the texts do.
    pub(crate) fn rebase_along(
        &self,
        steps: Option<&[Step]>,
        newest: &Snapshot,
    ) -> Result<Self, Conflict> {
        let mut trail = Trail::of(self);
        trail.go_on(self, steps, &newest.text);
        match trail.edit(self, newest) {
            Some(edit) => Ok(edit),
            None => self.rebase(newest),
        }
    }

    /// Whether `newest` is this edit, rebased over whatever else changed.
    pub fn stands_in(&self, newest: &Text) -> bool {
        self.places_in(newest).is_some()
    }

    /// Whether every new text is there at all, as far as that is found without comparing texts, which takes long where
    /// much is replaced. That it is says nothing.
    fn may_be_in(&self, text: &Text) -> bool {
        if self.replacements.len() < 2 {
            return true;
        }
        let text = text.to_string();
        let different: HashSet<&str> = self
            .replacements
            .iter()
            .map(|replacement| replacement.text.as_str())
            .collect();
        let mut few = different.into_iter().take(LOOKED_FOR);
        few.all(|new| text.contains(new))
    }

    /// Where each replacement's new text stands in `newest`, if the edit as a whole does.
    pub(crate) fn places_in(&self, newest: &Text) -> Option<Vec<ByteRange>> {
        self.places_until(newest, None)
    }

    /// The same, where nobody waits longer than until then: what could not be found out by then does not stand.
    pub(crate) fn places_until(
        &self,
        newest: &Text,
        deadline: Option<Instant>,
    ) -> Option<Vec<ByteRange>> {
        if !self.may_be_in(newest) {
            return None;
        }
        let result = self.result();
        let places = self
            .replacements
            .iter()
            .scan(0_isize, |shift, replacement| {
                let start = replacement.range.start.0.saturating_add_signed(*shift);
                *shift += difference(replacement.text.len(), replacement.range.len());
                Some(ByteRange::new(start, start + replacement.text.len()))
            });
        if result == *newest {
            return Some(places.collect());
        }
        let with_edit = Reading::new(&result, newest, deadline);
        let without = Reading::new(&self.snapshot.text, newest, deadline);
        let mut told_apart = true;
        let mut standing = Vec::with_capacity(self.replacements.len());
        for (replacement, place) in self.replacements.iter().zip(places) {
            if !place.is_empty() && !with_edit.is_intact(place) {
                return None;
            }
            // The new text is there and the old is not: that is an answer. Where both may be, or where the new text is
            // none, the texts are weighed.
            if place.is_empty() || without.is_intact(replacement.range) {
                told_apart = false;
                if !self.may_stand(replacement, place, &with_edit, &without) {
                    return None;
                }
            }
            standing.push(with_edit.moved(place));
        }
        (told_apart || with_edit.cost() < without.cost()).then_some(standing)
    }

    /// Whether nothing at the place itself speaks against a replacement whose old text may be there still.
    fn may_stand(
        &self,
        replacement: &Replacement,
        place: ByteRange,
        with_edit: &Reading,
        without: &Reading,
    ) -> bool {
        let region = replacement.range;
        let old = self.snapshot.text.slice(region);
        let one_holds_other = replacement.text.contains(&old) || old.contains(&replacement.text);
        // As many lines changed either way, and both lines are there: the new text stands beside the old.
        let side_by_side = with_edit.has_whole_lines(place)
            && without.has_whole_lines(region)
            && with_edit.cost().0 == without.cost().0;
        one_holds_other && !side_by_side && with_edit.cost_at(place) <= without.cost_at(region)
    }
}

fn check_range(text: &Text, range: ByteRange) -> Result<(), EditError> {
    let (start, end) = (range.start.0, range.end.0);
    if start > end {
        return Err(EditError::Reversed { range });
    }
    if end > text.len() {
        return Err(EditError::OutOfBounds {
            range,
            len: text.len(),
        });
    }
    if text.char_start(start) != start || text.char_start(end) != end {
        return Err(EditError::InsideCharacter { range });
    }
    Ok(())
}

fn join_touching(replacements: Vec<Replacement>) -> Vec<Replacement> {
    let mut joined: Vec<Replacement> = Vec::with_capacity(replacements.len());
    for replacement in replacements {
        match joined.last_mut() {
            Some(last) if last.range.end == replacement.range.start => {
                last.range.end = replacement.range.end;
                last.text.push_str(&replacement.text);
            }
            _ => joined.push(replacement),
        }
    }
    joined
}

/// Takes the other half of a `\r\n` in where a range would end between the two. The result is the same.
fn keep_line_ends_whole(text: &Text, replacement: &mut Replacement) {
    let Replacement { range, text: new } = replacement;
    if text.splits_line_end(range.end.0) {
        range.end.0 += 1;
        new.push('\n');
    }
    if text.splits_line_end(range.start.0) {
        range.start.0 -= 1;
        new.insert(0, '\r');
    }
}

#[cfg(test)]
mod tests;
