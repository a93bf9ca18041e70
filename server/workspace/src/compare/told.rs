//! The changes that somebody told, as a comparison finds them: least, in order, and with how far each could slide. They
//! are one reading of the texts among others, and finer than any that two texts alone can give.

use super::{Change, find_slides};
use crate::{Replacement, Text};

/// What these replacements made of a text, each in the coordinates of the text after the ones before it; and the text
/// that they made.
pub(crate) fn told(old: &Text, replacements: &[Replacement]) -> (Vec<Change>, Text) {
    let mut new = old.clone();
    let mut changes = Vec::new();
    for replacement in replacements {
        new.replace(replacement.range, &replacement.text);
        add(&mut changes, replacement);
    }
    let mut changes: Vec<Change> = changes
        .into_iter()
        .filter_map(|change| least(change, old, &new))
        .collect();
    find_slides(&mut changes, old, &new);
    (changes, new)
}

/// Puts one more replacement in: with those that it meets it is one change.
fn add(changes: &mut Vec<Change>, replacement: &Replacement) {
    let (start, end) = (replacement.range.start.0, replacement.range.end.0);
    let first = changes.partition_point(|change| change.new.end < start);
    let last = changes.partition_point(|change| change.new.start <= end);
    // What lies between changes is shifted by all that were before it.
    let shifted = |at: usize, byte: usize| {
        let before = at.checked_sub(1).map(|at| &changes[at]);
        let shift = before.map_or(0, |change| difference(change.old.end, change.new.end));
        byte.saturating_add_signed(shift)
    };
    let met = &changes[first..last];
    let (old_start, new_start) = match met.first() {
        Some(change) if change.new.start <= start => (change.old.start, change.new.start),
        _ => (shifted(first, start), start),
    };
    let (old_end, new_end) = match met.last() {
        Some(change) if change.new.end >= end => (change.old.end, change.new.end),
        _ => (shifted(last, end), end),
    };
    let grows = difference(replacement.text.len(), end - start);
    let joined = Change::new(
        old_start..old_end,
        new_start..new_end.saturating_add_signed(grows),
    );
    changes.splice(first..last, [joined]);
    for later in &mut changes[first + 1..] {
        later.new = later.new.start.saturating_add_signed(grows)
            ..later.new.end.saturating_add_signed(grows);
    }
}

fn difference(now: usize, before: usize) -> isize {
    // No text is longer than isize::MAX bytes.
    now.cast_signed() - before.cast_signed()
}

/// The change without what it begins and ends with on both sides; `None` if nothing is left of it.
fn least(change: Change, old: &Text, new: &Text) -> Option<Change> {
    let (before, after) = (
        old.slice(change.old.clone().into()),
        new.slice(change.new.clone().into()),
    );
    let same = |pairs: &mut dyn Iterator<Item = (char, char)>| -> usize {
        pairs
            .take_while(|(a, b)| a == b)
            .map(|(char, _)| char.len_utf8())
            .sum()
    };
    let prefix = same(&mut before.chars().zip(after.chars()));
    let (before, after) = (&before[prefix..], &after[prefix..]);
    let suffix = same(&mut before.chars().rev().zip(after.chars().rev()));
    let least = Change::new(
        change.old.start + prefix..change.old.end - suffix,
        change.new.start + prefix..change.new.end - suffix,
    );
    (!least.old.is_empty() || !least.new.is_empty()).then_some(least)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ByteRange;

    fn replacement(start: usize, end: usize, text: &str) -> Replacement {
        Replacement {
            range: ByteRange::new(start, end),
            text: text.to_owned(),
        }
    }

    fn check(old: &str, replacements: &[(usize, usize, &str)], expected: &[(&str, &str)]) {
        let replacements: Vec<_> = replacements
            .iter()
            .map(|(start, end, text)| replacement(*start, *end, text))
            .collect();
        let (changes, new) = told(&Text::new(old), &replacements);
        let found: Vec<_> = changes
            .iter()
            .map(|change| {
                let new = new.slice(change.new.clone().into());
                (old[change.old.clone()].to_owned(), new)
            })
            .collect();
        let expected: Vec<_> = expected
            .iter()
            .map(|(old, new)| ((*old).to_owned(), (*new).to_owned()))
            .collect();
        assert_eq!(found, expected, "{old:?} {replacements:?}");
    }

    #[test]
    fn what_meets_is_one_change() {
        // Letter by letter.
        check("ab", &[(1, 1, "x"), (2, 2, "y")], &[("", "xy")]);
        // Typed and taken back.
        check("ab", &[(1, 1, "x"), (1, 2, "")], &[]);
        // In two places, and once more in the first.
        check(
            "one two",
            &[(7, 7, "!"), (0, 0, "("), (1, 4, "1")],
            &[("one", "(1"), ("", "!")],
        );
        // Over two earlier ones and what is between them.
        check(
            "abcdef",
            &[(1, 2, "BB"), (5, 6, "E"), (2, 6, "-")],
            &[("bcde", "B-")],
        );
        // What stays the same is none.
        check("let x = 1;", &[(0, 10, "let y = 1;")], &[("x", "y")]);
        check("é", &[(0, 2, "è")], &[("é", "è")]);
    }

    #[test]
    fn how_far_it_could_slide() {
        let (changes, _) = told(&Text::new("aaaa"), &[replacement(2, 2, "a")]);
        assert_eq!((changes[0].left, changes[0].right), (2, 2));
        let (changes, _) = told(&Text::new("aaaa"), &[replacement(2, 2, "b")]);
        assert_eq!((changes[0].left, changes[0].right), (0, 0));
    }

    proptest! {
        /// Between the changes the texts are the same, and in them they are not.
        #[test]
        fn it_is_a_comparison(
            old in "[ab\né]{0,20}",
            typed in prop::collection::vec((0..=100_usize, 0..=100_usize, "[ab\né]{0,4}"), 0..8),
        ) {
            let mut new = old.clone();
            let mut replacements = Vec::new();
            for (at, size, text) in typed {
                let mut ends = [at, at + size].map(|part| new.len() * part.min(100) / 100);
                for end in &mut ends {
                    while !new.is_char_boundary(*end) {
                        *end -= 1;
                    }
                }
                new.replace_range(ends[0]..ends[1], &text);
                replacements.push(replacement(ends[0], ends[1], &text));
            }
            let (changes, made) = told(&Text::new(&old), &replacements);
            prop_assert_eq!(&made, new.as_str());
            let mut ends = (0, 0);
            for change in changes {
                prop_assert_eq!(&old[ends.0..change.old.start], &new[ends.1..change.new.start]);
                prop_assert_ne!(&old[change.old.clone()], &new[change.new.clone()]);
                ends = (change.old.end, change.new.end);
            }
            prop_assert_eq!(&old[ends.0..], &new[ends.1..]);
        }
    }
}
