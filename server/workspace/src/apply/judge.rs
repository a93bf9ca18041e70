//! Whether an edit that was sent to an editor stands in the texts that came from it since. It only looks, and takes
//! its time where texts have to be compared: never on a thread that others wait for.

use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

use super::{Applied, Edit, Snapshot};
use crate::{Buffers, Encoding, Text, edit::Trail};

/// How long all texts that came together may be compared with what was sent; after that only the newest is, with what
/// was sent last.
const PATIENCE: Duration = Duration::from_millis(300);
/// How many visible bytes a text must have for its appearance elsewhere to say something.
const TELLING: usize = 4;
/// How many of an edit's texts are looked for elsewhere.
const LOOKED_FOR: usize = 16;

/// An edit that was sent.
pub(super) struct Attempt {
    edit: Edit,
    /// To where the newest text is.
    trail: Trail,
}

/// What the texts say.
pub(super) enum Judged {
    Stands(Applied),
    /// It was put in by its lines and columns, though the text was no longer the one that they are for.
    Misplaced {
        edit: Edit,
        after: Snapshot,
    },
    /// It is in none of them.
    Missing,
}

impl Attempt {
    pub(super) fn of(edit: Edit) -> Self {
        Self {
            trail: Trail::of(&edit),
            edit,
        }
    }
}

/// What these texts, which came one after the other, say of what was sent. `before` is the text before the first.
pub(super) fn judge(
    sent: &mut [Attempt],
    mut before: Snapshot,
    texts: Vec<Snapshot>,
    buffers: &Buffers,
) -> Judged {
    let deadline = Instant::now() + PATIENCE;
    let count = texts.len();
    for (at, after) in texts.into_iter().enumerate() {
        let is_newest = at + 1 == count;
        if let Some(edit) = sent
            .iter()
            .map(|attempt| attempt.made_in(&before))
            .find_map(|edit| edit.filter(|edit| edit.result() == after.text))
            && let Some(applied) = Applied::book(&edit, &after)
        {
            return Judged::Stands(applied);
        }
        if let Some(attempt) = sent
            .iter()
            .find(|attempt| attempt.is_misplaced(&before, &after.text))
        {
            let edit = attempt.edit.clone();
            return Judged::Misplaced { edit, after };
        }
        let steps = buffers.steps(&after.uri, before.revision, after.revision);
        for attempt in &mut *sent {
            let (edit, trail) = (&attempt.edit, &mut attempt.trail);
            trail.go_on(edit, steps.as_deref(), &after.text);
        }
        let in_doubt = sent.iter().rev().filter(|attempt| attempt.is_in_doubt());
        for (nth, attempt) in in_doubt.enumerate() {
            let now = Instant::now();
            if now >= deadline && !(is_newest && nth == 0) {
                break;
            }
            let until = deadline.max(now + PATIENCE / 3);
            if let Some(applied) = Applied::book_until(&attempt.edit, &after, Some(until)) {
                return Judged::Stands(applied);
            }
        }
        before = after;
    }
    Judged::Missing
}

impl Attempt {
    /// The edit as it would be made in the text that the trail has come to, if it is known where.
    fn made_in(&self, text: &Snapshot) -> Option<Edit> {
        self.trail
            .edit(&self.edit, text)
            .filter(|edit| !edit.replacements().is_empty())
    }

    /// Whether it takes a comparison to say that it does not stand.
    pub(super) fn is_in_doubt(&self) -> bool {
        !self.trail.shows_that_it_is_missing(&self.edit)
    }

    /// Whether a text became the next by the edit's very lines and columns, though it was not the text that they were for.
    fn is_misplaced(&self, before: &Snapshot, after: &Text) -> bool {
        let edit = &self.edit;
        let rightly = || {
            self.trail
                .edit(edit, before)
                .or_else(|| edit.rebase(before).ok())
        };
        edit.snapshot().text != before.text
            && is_literally_applied(edit, &before.text, after)
            && rightly().is_some_and(|rightly| rightly.result() != *after)
    }
}

fn is_literally_applied(edit: &Edit, before: &Text, after: &Text) -> bool {
    [Encoding::Utf16, Encoding::Utf8]
        .into_iter()
        .any(|encoding| {
            let place = |range| {
                let range = edit.snapshot().text.range(range, encoding);
                before.byte_range(range, encoding)
            };
            // The first says it fast where it is not so: nothing before it moves it.
            let Some(first) = edit.replacements().first() else {
                return false;
            };
            let start = place(first.range).start.0;
            let there = (start..start + first.text.len()).into();
            if after.slice(there) != first.text {
                return false;
            }
            let mut text = before.clone();
            for replacement in edit.replacements().iter().rev() {
                text.replace(place(replacement.range), &replacement.text);
            }
            text == *after
        })
}

/// Whether some text of an edit that does not stand is there all the same, once more than before.
pub(super) fn appears_elsewhere(edit: &Edit, now: &Text) -> bool {
    let visible = |text: &str| {
        text.bytes()
            .filter(|byte| !byte.is_ascii_whitespace())
            .take(TELLING)
            .count()
    };
    let telling: HashSet<&str> = edit
        .replacements()
        .iter()
        .map(|replacement| replacement.text.as_str())
        .filter(|text| visible(text) == TELLING)
        .collect();
    if telling.is_empty() {
        return false;
    }
    let (before, now) = (edit.snapshot().text.to_string(), now.to_string());
    telling
        .into_iter()
        .take(LOOKED_FOR)
        .any(|text| now.matches(text).count() > before.matches(text).count())
}
