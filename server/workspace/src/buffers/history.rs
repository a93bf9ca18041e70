//! What lately became of one buffer, change by change as its editor told it. It is bounded, and knows no edit: whoever
//! has a text of before can follow it to the text of now.

use std::{collections::VecDeque, sync::Arc};

use crate::{ByteRange, Replacement, Revision, Text, compare::window};

/// How many steps are remembered.
const MOST_STEPS: usize = 512;
/// How much new text they may have together.
const MOST_BYTES: usize = 64 << 10;

/// How one revision of a buffer became the next.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    before: Revision,
    after: Revision,
    /// Each in the coordinates of the text after the ones before it.
    pub(crate) replacements: Arc<[Replacement]>,
}

impl Step {
    fn bytes(&self) -> usize {
        self.replacements.iter().map(|one| one.text.len()).sum()
    }
}

#[derive(Default)]
pub(super) struct History {
    steps: VecDeque<Step>,
    bytes: usize,
}

impl History {
    /// One more change. Where an editor tells the whole text, it is what differs that counts.
    pub(super) fn add(
        &mut self,
        (before, old): (Revision, &Text),
        (after, new): (Revision, &Text),
        replacements: &[Replacement],
    ) {
        let step = Step {
            before,
            after,
            replacements: match replacements {
                [one] if one.range.len() == old.len() => differing(old, new).into(),
                all => all.into(),
            },
        };
        self.bytes += step.bytes();
        self.steps.push_back(step);
        while self.steps.len() > MOST_STEPS || self.bytes > MOST_BYTES {
            let Some(oldest) = self.steps.pop_front() else {
                return;
            };
            self.bytes -= oldest.bytes();
        }
    }

    /// The steps from one revision to another; `None` if they are not remembered.
    pub(super) fn between(&self, from: Revision, to: Revision) -> Option<Vec<Step>> {
        if from == to {
            return Some(Vec::new());
        }
        let first = self.steps.iter().position(|step| step.before == from)?;
        let last = self.steps.iter().position(|step| step.after == to)?;
        (first <= last).then(|| self.steps.range(first..=last).cloned().collect())
    }
}

fn differing(old: &Text, new: &Text) -> Vec<Replacement> {
    let window = window(old, new);
    if window.old.is_empty() && window.new.is_empty() {
        return Vec::new();
    }
    vec![Replacement {
        range: window.old.into(),
        text: new.slice(ByteRange::from(window.new)),
    }]
}
