//! Two lists of diagnostics, of two texts: what is new and what is gone. Pure functions.

use workspace::{ByteRange, Text};

use crate::{answer::Diagnostic, mirror::difference, server::carried};

/// What is in the second list and not in the first, and how many of the first are not in the second. The same in the same
/// place, carried through the difference, is no news. Of the rest, each goes with one that says the same elsewhere, if both
/// are where the text changed: there nobody knows how a place is carried.
pub(in crate::pool) fn compared(
    (old_text, old): (&Text, Vec<Diagnostic>),
    (new_text, new): (&Text, Vec<Diagnostic>),
) -> (Vec<Diagnostic>, usize) {
    let change = difference(old_text, new_text);
    let mut gone: Vec<Option<Diagnostic>> = old.into_iter().map(Some).collect();
    let mut added = Vec::new();
    for one in new {
        let at = gone.iter().position(|old| {
            old.as_ref()
                .is_some_and(|old| is_same(old, &one) && carried(old.range, &change) == one.range)
        });
        match at {
            Some(at) => gone[at] = None,
            None => added.push(one),
        }
    }
    if old_text == new_text {
        return (added, gone.into_iter().flatten().count());
    }
    let start = change.range.start.0;
    let changed = ByteRange::new(start, start + change.text.len());
    let meets = |range: ByteRange| range.start <= changed.end && changed.start <= range.end;
    added.retain(|one| {
        let is_it = |old: &Diagnostic| {
            is_same(old, one) && meets(one.range) && meets(carried(old.range, &change))
        };
        let at = gone.iter().position(|old| old.as_ref().is_some_and(is_it));
        if let Some(at) = at {
            gone[at] = None;
        }
        at.is_none()
    });
    (added, gone.into_iter().flatten().count())
}

fn is_same(old: &Diagnostic, new: &Diagnostic) -> bool {
    let what = |one: &Diagnostic| (one.severity, one.code.clone(), one.source.clone());
    old.message == new.message && what(old) == what(new)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::answer::Severity;

    /// Each word that begins with `!` is a diagnostic that says the word.
    fn said(text: &str) -> Vec<Diagnostic> {
        let word = |(at, _): (usize, &str)| {
            let word = text[at..].split_whitespace().next().unwrap_or_default();
            Diagnostic {
                range: ByteRange::new(at, at + word.len()),
                severity: Severity::Error,
                code: None,
                source: Some("s".into()),
                message: word.to_owned(),
                server: None,
                raw: Value::Null,
            }
        };
        text.match_indices('!').map(word).collect()
    }

    #[test]
    fn what_is_added_and_what_is_cured() {
        for (old, new, added, cured) in [
            ("a !x b", "a !x b", "", 0),
            ("a !x b", "a b", "", 1),
            ("a b", "a !x b", "2 !x", 0),
            ("a !x b", "a !y b", "2 !y", 1),
            ("!x !x", "!x", "", 1),
            // What stands before and after the change is where it was; the new one is the one in the middle.
            ("!x a b !x", "!x a !x b !x", "5 !x", 0),
            // Moved by more than one edit: not carried rightly, and still no news.
            ("1 !x 2 !y 3", "11 !x 2 !y 33", "", 0),
            ("1 !x 2 !y 3", "11 !x 22 !y !z 33", "12 !z", 0),
            ("!x a b x", "!x a b !x", "7 !x", 0),
        ] {
            let (found, gone) =
                compared((&Text::new(old), said(old)), (&Text::new(new), said(new)));
            let found: Vec<String> = found
                .iter()
                .map(|one| format!("{} {}", one.range.start.0, one.message))
                .collect();
            assert_eq!((found.join(", ").as_str(), gone), (added, cured), "{new:?}");
        }
    }

    /// A document whose text nobody changed: the same elsewhere is another problem.
    #[test]
    fn in_the_same_text_a_place_is_a_place() {
        let text = Text::new("call f 1, call f 2");
        let at = |start: usize| {
            let mut one = said("!x").remove(0);
            one.range = ByteRange::new(start, start + 1);
            one
        };
        for (old, new, added, cured) in [
            (vec![5], vec![15], vec![15], 1),
            (vec![5, 15], vec![15], vec![], 1),
            (vec![15], vec![5, 15], vec![5], 0),
        ] {
            let list = |starts: &[usize]| starts.iter().copied().map(at).collect::<Vec<_>>();
            let (found, gone) = compared((&text, list(&old)), (&text, list(&new)));
            assert_eq!((found, gone), (list(&added), cured), "{old:?} {new:?}");
        }
    }

    #[test]
    fn another_severity_code_or_source_is_another_problem() {
        let text = "a !x";
        let changes: [fn(&mut Diagnostic); 3] = [
            |one| one.severity = Severity::Warning,
            |one| one.code = Some("1".into()),
            |one| one.source = None,
        ];
        for change in changes {
            let mut other = said(text);
            other.iter_mut().for_each(change);
            let text = Text::new(text);
            let (added, cured) = compared((&text, said("a !x")), (&text, other));
            assert_eq!((added.len(), cured), (1, 1));
        }
    }
}
