//! What became of a document's text since a server was last told: kept as it happened while that is little, as one
//! window when it is much. Turned into ranges a server can follow. Holds no text of the document itself.

use workspace::{ByteRange, Replacement, Text};

/// More steps than this, or more text in them, become one window.
const MOST_STEPS: usize = 64;
const MOST_TEXT: usize = 256 << 10;
/// Replacements of more than this are compared with what they replace: an editor may send a whole text for one letter.
const LARGE: usize = 4 << 10;

/// Changes to one text that add up.
#[derive(Debug, Clone)]
pub(crate) struct Changes {
    steps: Option<Vec<Step>>,
    text: usize,
    /// How many bytes at the start and at the end are as they were before the first step.
    prefix: usize,
    suffix: usize,
    length: usize,
    base_length: usize,
    saved: bool,
}

#[derive(Debug, Clone)]
enum Step {
    Replace(Replacement),
    Saved,
}

/// What is to be said to a server.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Say {
    /// These replacements, each in the text after the ones before it.
    Changed(Vec<Replacement>),
    Saved,
}

impl Changes {
    /// Nothing yet, in a text of `length` bytes.
    pub fn none(length: usize) -> Self {
        Self {
            steps: Some(Vec::new()),
            text: 0,
            prefix: length,
            suffix: length,
            length,
            base_length: length,
            saved: false,
        }
    }

    pub fn add(&mut self, replacements: &[Replacement]) {
        for replacement in replacements {
            let range = replacement.range;
            self.prefix = self.prefix.min(range.start.0);
            self.suffix = self.suffix.min(self.length.saturating_sub(range.end.0));
            self.length = (self.length + replacement.text.len()).saturating_sub(range.len());
            self.text += replacement.text.len();
            match &mut self.steps {
                Some(steps) if steps.len() < MOST_STEPS && self.text <= MOST_TEXT => {
                    steps.push(Step::Replace(replacement.clone()));
                }
                _ => self.steps = None,
            }
        }
    }

    pub fn save(&mut self) {
        self.saved = true;
        if let Some(steps) = &mut self.steps {
            steps.push(Step::Saved);
        }
    }

    /// What brings `old`, the text before the first step, to `new`, the text after the last.
    pub fn told(self, old: &Text, new: &Text) -> Vec<Say> {
        let followed = self
            .steps
            .as_ref()
            .and_then(|steps| follow(steps, old, new));
        followed.unwrap_or_else(|| {
            let fits = self.base_length == old.len() && self.length == new.len();
            let change = if fits && self.prefix + self.suffix <= old.len().min(new.len()) {
                let window = Replacement {
                    range: ByteRange::new(self.prefix, old.len() - self.suffix),
                    text: new.slice(ByteRange::new(self.prefix, new.len() - self.suffix)),
                };
                narrowed(old, window)
            } else {
                difference(old, new)
            };
            let mut said = Vec::new();
            if !is_nothing(&change) {
                said.push(Say::Changed(vec![tellable(old, change)]));
            }
            if self.saved {
                said.push(Say::Saved);
            }
            said
        })
    }
}

/// The steps as they happened; `None` if they do not lead to `new`.
fn follow(steps: &[Step], old: &Text, new: &Text) -> Option<Vec<Say>> {
    let mut text = old.clone();
    let mut said = Vec::new();
    let last = steps
        .iter()
        .rposition(|step| matches!(step, Step::Replace(_)));
    for (at, step) in steps.iter().enumerate() {
        match step {
            Step::Saved => said.push(Say::Saved),
            Step::Replace(replacement) => {
                if replacement.range.end.0 > text.len() {
                    return None;
                }
                let change = tellable(&text, narrowed(&text, replacement.clone()));
                // After the last step the text is known; one that is thrown away need not be made.
                if Some(at) == last {
                    if (text.len() + change.text.len()).checked_sub(change.range.len())
                        != Some(new.len())
                    {
                        return None;
                    }
                } else {
                    text.replace(change.range, &change.text);
                }
                if is_nothing(&change) {
                    continue;
                }
                match said.last_mut() {
                    Some(Say::Changed(changes)) => changes.push(change),
                    _ => said.push(Say::Changed(vec![change])),
                }
            }
        }
    }
    (last.is_some() || old.len() == new.len()).then_some(said)
}

fn is_nothing(change: &Replacement) -> bool {
    change.range.is_empty() && change.text.is_empty()
}

/// One replacement that brings `old` to `new`, its ends where a position can be.
pub(crate) fn difference(old: &Text, new: &Text) -> Replacement {
    let whole = Replacement {
        range: ByteRange::new(0, old.len()),
        text: new.to_string(),
    };
    tellable(old, trimmed(&old.to_string(), whole))
}

/// A large replacement without what it does not change.
fn narrowed(text: &Text, replacement: Replacement) -> Replacement {
    if replacement.text.len() < LARGE || replacement.range.len() < LARGE {
        return replacement;
    }
    trimmed(&text.slice(replacement.range), replacement)
}

fn trimmed(old: &str, replacement: Replacement) -> Replacement {
    let new = replacement.text.as_str();
    let prefix = common_prefix(old.as_bytes(), new.as_bytes());
    let prefix = (0..=prefix)
        .rev()
        .find(|&at| old.is_char_boundary(at) && new.is_char_boundary(at))
        .unwrap_or(0);
    let (old_rest, new_rest) = (&old[prefix..], &new[prefix..]);
    let suffix = common_suffix(old_rest.as_bytes(), new_rest.as_bytes());
    let suffix = (0..=suffix)
        .rev()
        .find(|&at| old_rest.is_char_boundary(old_rest.len() - at))
        .unwrap_or(0);
    let start = replacement.range.start.0 + prefix;
    Replacement {
        range: ByteRange::new(start, start + old_rest.len() - suffix),
        text: new_rest[..new_rest.len() - suffix].to_owned(),
    }
}

fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    const BLOCK: usize = 1024;
    let blocks = a
        .chunks_exact(BLOCK)
        .zip(b.chunks_exact(BLOCK))
        .take_while(|(a, b)| a == b)
        .count()
        * BLOCK;
    blocks
        + a[blocks..]
            .iter()
            .zip(&b[blocks..])
            .take_while(|(a, b)| a == b)
            .count()
}

fn common_suffix(a: &[u8], b: &[u8]) -> usize {
    const BLOCK: usize = 1024;
    let blocks = a
        .rchunks_exact(BLOCK)
        .zip(b.rchunks_exact(BLOCK))
        .take_while(|(a, b)| a == b)
        .count()
        * BLOCK;
    let (a, b) = (&a[..a.len() - blocks], &b[..b.len() - blocks]);
    blocks
        + a.iter()
            .rev()
            .zip(b.iter().rev())
            .take_while(|(a, b)| a == b)
            .count()
}

/// The same replacement with ends that a position can name: never between `\r` and `\n`.
fn tellable(text: &Text, replacement: Replacement) -> Replacement {
    let Replacement {
        range,
        text: mut added,
    } = replacement;
    let (mut start, mut end) = (range.start.0, range.end.0);
    let splits = |at: usize| at > 0 && text.slice(ByteRange::new(at - 1, at + 1)) == "\r\n";
    if splits(end) {
        end += 1;
        added.push('\n');
    }
    if splits(start) {
        start -= 1;
        added.insert(0, '\r');
    }
    Replacement {
        range: ByteRange::new(start, end),
        text: added,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replacement(start: usize, end: usize, text: &str) -> Replacement {
        Replacement {
            range: ByteRange::new(start, end),
            text: text.to_owned(),
        }
    }

    /// Follows `steps` ("" is a save) and what is told of them; answers what was told.
    fn check(old: &str, steps: &[(usize, usize, &str)]) -> Vec<Say> {
        let base = Text::new(old);
        let mut changes = Changes::none(base.len());
        let mut text = base.clone();
        for &(start, end, added) in steps {
            if (start, end, added) == (0, 0, "") {
                changes.save();
                continue;
            }
            text.replace(ByteRange::new(start, end), added);
            changes.add(&[replacement(start, end, added)]);
        }
        let said = changes.told(&base, &text);
        let mut played = base;
        for change in said
            .iter()
            .filter_map(|say| {
                if let Say::Changed(changes) = say {
                    Some(changes)
                } else {
                    None
                }
            })
            .flatten()
        {
            played.replace(change.range, &change.text);
        }
        assert_eq!(played.to_string(), text.to_string(), "{steps:?} in {old:?}");
        said
    }

    #[test]
    fn few_steps_are_told_as_they_were() {
        for (old, steps, expected) in [
            (
                "abc",
                vec![(1, 2, "X")],
                vec![Say::Changed(vec![replacement(1, 2, "X")])],
            ),
            (
                "abc",
                vec![(3, 3, "d"), (0, 0, "_")],
                vec![Say::Changed(vec![
                    replacement(3, 3, "d"),
                    replacement(0, 0, "_"),
                ])],
            ),
            (
                "abc",
                vec![(0, 1, ""), (0, 0, ""), (1, 2, "x")],
                vec![
                    Say::Changed(vec![replacement(0, 1, "")]),
                    Say::Saved,
                    Say::Changed(vec![replacement(1, 2, "x")]),
                ],
            ),
            ("abc", vec![(0, 0, "")], vec![Say::Saved]),
            ("abc", vec![], vec![]),
            // A position can't name the place between \r and \n.
            (
                "a\r\nb",
                vec![(2, 3, "")],
                vec![Say::Changed(vec![replacement(1, 3, "\r")])],
            ),
            (
                "a\r\nb",
                vec![(1, 2, "")],
                vec![Say::Changed(vec![replacement(1, 3, "\n")])],
            ),
            (
                "a\r\nb",
                vec![(2, 2, "x")],
                vec![Say::Changed(vec![replacement(1, 3, "\rx\n")])],
            ),
        ] {
            assert_eq!(check(old, &steps), expected, "{steps:?}");
        }
    }

    #[test]
    fn many_steps_become_one_window() {
        let old = "0123456789".repeat(40);
        let mut steps: Vec<(usize, usize, &str)> =
            (0..100).map(|at| (100 + at, 101 + at, "é")).collect();
        steps.push((0, 0, ""));
        steps.extend([(90, 95, ""), (300, 300, "tail")]);
        let said = check(&old, &steps);
        assert!(
            matches!(&said[..], [Say::Changed(changes), Say::Saved] if changes.len() == 1 && changes[0].range.start.0 == 90),
            "{said:?}"
        );
    }

    #[test]
    fn whole_texts_are_told_by_their_difference() {
        let old = "é line\r\n".repeat(2000);
        for (new, expected) in [
            (old.replacen('l', "L", 1), replacement(3, 4, "L")),
            (format!("{old}ê"), replacement(old.len(), old.len(), "ê")),
            // é and è begin with the same byte.
            (old.replacen('é', "è", 1), replacement(0, 2, "è")),
            (old.clone(), replacement(old.len(), old.len(), "")),
        ] {
            let said = check(&old, &[(0, old.len(), &new)]);
            if new == old {
                assert_eq!(said, []);
            } else {
                assert_eq!(said, [Say::Changed(vec![expected])]);
            }
        }
    }

    #[test]
    fn what_does_not_add_up_is_told_by_the_texts() {
        let (old, new) = (Text::new("one two three"), Text::new("one 2 three"));
        for wrong in [replacement(0, 1, "x"), replacement(50, 60, "x")] {
            let mut changes = Changes::none(old.len());
            changes.add(&[wrong]);
            assert_eq!(
                changes.told(&old, &new),
                [Say::Changed(vec![replacement(4, 7, "2")])]
            );
        }
    }
}
