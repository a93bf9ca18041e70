//! Two lists of diagnostics, of two texts: what is new and what is gone. Pure functions.

use workspace::Text;

use crate::{answer::Diagnostic, mirror::difference, server::carried};

/// What is in the second list and not in the first, and how many of the first are not in the second. The same in the same
/// place, carried through the difference, is no news; of the rest, each goes with one that says the same elsewhere.
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
    added.retain(|one| {
        let at = gone
            .iter()
            .position(|old| old.as_ref().is_some_and(|old| is_same(old, one)));
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
    use workspace::ByteRange;

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
