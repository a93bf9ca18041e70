//! Whether what a server calls a rename puts the new name in the place of the old one and does nothing else. Edits that
//! were made for another text than the one they fall on do not. It asks nobody and changes nothing.

use workspace::{ByteOffset, ByteRange, Edit, Replacement};

use crate::answer::{FileChange, FileEdit};

/// Two texts are in step again within so many words, or they are not the same but for a name.
const WINDOW: usize = 16;
/// What a server adds beside a name, as `x` becomes `x as y`, has at most so many words.
const ADDED: usize = 6;

/// The names before and after, in words. Servers write them as is the custom where they stand: with a sign before it, in
/// quotes, in other case.
pub(super) struct Names {
    old: Vec<String>,
    new: Vec<String>,
}

/// An edit that falls on something else: in which line (from 1) of which change, and what stands there.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Miss {
    pub line: usize,
    pub text: String,
}

impl Names {
    /// `old` are texts that the name is known by. `None` if there is no word in them: then nothing can be judged.
    pub fn new<'a>(old: impl IntoIterator<Item = &'a str>, new: &str) -> Option<Self> {
        let old: Vec<String> = old.into_iter().flat_map(words).collect();
        let new = words(new).collect();
        (!old.is_empty()).then_some(Self { old, new })
    }

    /// The first of the changes that hits what is not the name.
    pub fn missed<'a>(&self, changes: &'a [FileChange]) -> Option<(&'a FileEdit, Miss)> {
        changes.iter().find_map(|change| match change {
            FileChange::Edit(file) => Some((file, self.miss(file)?)),
            FileChange::File(_) => None,
        })
    }

    fn miss(&self, file: &FileEdit) -> Option<Miss> {
        let text = &file.snapshot.text;
        let miss = |at: ByteOffset| {
            let line = text.position(at, workspace::Encoding::Utf8).line;
            Miss {
                line: line as usize + 1,
                text: text.line(line as usize).unwrap_or_default().trim().into(),
            }
        };
        // A piece of a name may be all that a server replaces of it, but signs are no piece of one.
        let is_off = |edit: &&Replacement| {
            let replaced = text.slice(edit.range);
            !replaced.trim().is_empty()
                && words(&replaced).next().is_none()
                && words(&edit.text).next().is_some()
        };
        if let Some(edit) = file.edits.iter().find(is_off) {
            return Some(miss(edit.range.start));
        }
        let start = file.edits.iter().map(|edit| edit.range.start).min()?;
        let end = file.edits.iter().map(|edit| edit.range.end).max()?;
        let Ok(edit) = Edit::new(file.snapshot.clone(), file.edits.clone()) else {
            return Some(miss(start));
        };
        let (old, new) = (text.to_string(), edit.result().to_string());
        // In whole words, from the first edit to the last.
        let from = old[..start.0].rfind(|char| !is_word(char)).map_or(0, |at| {
            at + old[at..].chars().next().map_or(0, char::len_utf8)
        });
        let rest = old[end.0..]
            .find(|char| !is_word(char))
            .map_or(0, |length| old.len() - end.0 - length);
        let region = ByteRange::new(from, old.len() - rest);
        let before = &old[region.as_range()];
        let after = &new[from..new.len() - rest];
        let lines = |text: &str| text.matches('\n').count();
        let begins = || miss(start);
        match self.differs(before, after) {
            Some(word) => Some(miss(ByteOffset(from + word))),
            None => (lines(before) != lines(after)).then(begins),
        }
    }

    /// Where the one text differs from the other by more than the name.
    fn differs(&self, before: &str, after: &str) -> Option<usize> {
        let places = placed(before);
        let old: Vec<String> = places.iter().map(|(_, word)| word.to_lowercase()).collect();
        let new: Vec<String> = words(after).collect();
        let (mut at, mut then) = (0, 0);
        while at < old.len() || then < new.len() {
            if self.is_in_step(old.get(at), new.get(then)) {
                at += 1;
                then += 1;
                continue;
            }
            let here = || places.get(at).map_or(before.len(), |(place, _)| *place);
            let Some((gone, come)) = self.next_step(&old[at..], &new[then..]) else {
                return Some(here());
            };
            if !self.is_of_the_name(&old[at..at + gone], &new[then..then + come]) {
                return Some(here());
            }
            at += gone;
            then += come;
        }
        None
    }

    /// Whether two texts go on with the same word, or with the one name and the other; or both end.
    fn is_in_step(&self, one: Option<&String>, other: Option<&String>) -> bool {
        let is_name = one.is_some_and(|one| self.old.contains(one))
            && other.is_some_and(|other| self.new.contains(other));
        one == other || is_name
    }

    /// How many words of each are to be passed over until they are in step.
    fn next_step(&self, old: &[String], new: &[String]) -> Option<(usize, usize)> {
        (1..=2 * WINDOW)
            .flat_map(|both| (0..=both).map(move |gone| (gone, both - gone)))
            .filter(|(gone, come)| *gone <= old.len() && *come <= new.len())
            .find(|(gone, come)| self.is_in_step(old.get(*gone), new.get(*come)))
    }

    /// Whether words that go and words that come in their place are what a name's change brings with it.
    fn is_of_the_name(&self, gone: &[String], come: &[String]) -> bool {
        let is_old = |word: &String| self.old.contains(word);
        let is_new = |word: &String| self.new.contains(word) || self.new.is_empty();
        let is_either = |word: &String| is_old(word) || is_new(word) || word == "as";
        match (gone, come) {
            ([], come) => come.len() <= ADDED && come.iter().any(is_either),
            (gone, []) => gone.iter().all(is_either),
            // `[Foo]` for a class `FooAttribute`.
            ([one], [other]) if begins(&self.old, one) && begins(&self.new, other) => true,
            (gone, come) => {
                gone.len() <= ADDED
                    && come.len() <= ADDED
                    && gone.iter().any(is_old)
                    && come.iter().any(is_new)
            }
        }
    }
}

fn begins(names: &[String], word: &str) -> bool {
    names
        .iter()
        .any(|name| name != word && name.starts_with(word))
}

fn is_word(char: char) -> bool {
    char.is_alphanumeric() || char == '_'
}

fn words(text: &str) -> impl Iterator<Item = String> {
    placed(text)
        .into_iter()
        .map(|(_, word)| word.to_lowercase())
}

/// Words and where they begin. Rust's `r#` before a keyword makes a name of it, and is no word.
fn placed(text: &str) -> Vec<(usize, &str)> {
    let mut at = 0;
    text.split(|char| !is_word(char))
        .map(|word| {
            let here = text[at..].find(word).map_or(at, |found| at + found);
            at = here + word.len();
            (here, word)
        })
        .filter(|(_, word)| !word.is_empty())
        .filter(|(here, word)| {
            let rest = text[here + word.len()..].strip_prefix('#');
            *word != "r" || !rest.is_some_and(|rest| rest.starts_with(is_word))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use workspace::{DiskForm, DocumentUri, Origin, Revision, Snapshot, Text};

    use super::*;

    /// What an edit of the first text is judged to be that makes each `[old|new]` in it.
    fn judged(text: &str, old: &str, new: &str) -> Option<String> {
        let (mut plain, mut edits) = (String::new(), Vec::new());
        for (number, part) in text.split('[').enumerate() {
            let Some((edit, rest)) = part.split_once(']').filter(|_| number > 0) else {
                plain.push_str(part);
                continue;
            };
            let (was, is) = edit.split_once('|').expect("two texts");
            let from = plain.len();
            plain.push_str(was);
            edits.push(Replacement {
                range: ByteRange::new(from, plain.len()),
                text: is.to_owned(),
            });
            plain.push_str(rest);
        }
        let uri = DocumentUri::parse("file:///a").expect("a uri");
        let file = FileEdit {
            uri: uri.clone(),
            edits,
            snapshot: Snapshot {
                uri,
                text: Text::new(&plain),
                revision: Revision::DISK,
                version: None,
                language: None,
                origin: Origin::Disk(DiskForm::default()),
            },
        };
        let names = Names::new([old], new).expect("a name");
        let changes = [FileChange::Edit(file)];
        let missed = names.missed(&changes);
        missed.map(|(_, miss)| format!("{}: {}", miss.line, miss.text))
    }

    #[test]
    fn what_renames_a_name() {
        for (text, old, new) in [
            ("[x|y](a) + [x|y]", "x", "y"),
            ("{ x[|: y] }", "x", "y"),
            ("{ [|y: ]x }", "x", "y"),
            ("{ [x: y|x] }", "y", "x"),
            ("import { x[| as y] }; [x|y]()", "x", "y"),
            ("a.'[x|y]' \"[x-z|y-z]\"", "x", "y"),
            ("'[a|b] [&'a|&'b] u8", "'a", "'b"),
            ("f([&self|this: &Self]) [self|this].x", "self", "this"),
            ("[$x|$y] = $[x|y]", "$x", "$y"),
            ("fn [f|r#fn]() { [f|r#fn]() }", "f", "fn"),
            ("[r#fn|f](r#type)", "fn", "f"),
            ("[Foo|Bar](1)", "FooAttribute", "BarAttribute"),
            (
                "[Foo|Bar] [FooAttribute|BarAttribute]",
                "FooAttribute",
                "BarAttribute",
            ),
            (
                "# [My Title|New One]\n(#[my-title|new-one])",
                "My Title",
                "New One",
            ),
            // Only what differs of the words, and all of the text.
            ("t[o|ri]t[al|p](t[o|ri]t[al|p])", "total", "tritp"),
            ("[a\ntotal(b)\nc|a\nsummed(b)\nc]", "total", "summed"),
            ("use a::[old|new] as z;", "old", "new"),
            ("[a|b], [a|b], b, [a|b]", "a", "b"),
            ("", "a", "b"),
        ] {
            assert_eq!(judged(text, old, new), None, "{text}");
        }
    }

    #[test]
    fn what_hits_something_else() {
        for (text, old, new, expected) in [
            (
                "a\n[other|summed](total)",
                "total",
                "summed",
                "2: other(total)",
            ),
            (
                "[other|summed]([total|summed])",
                "total",
                "summed",
                "1: other(total)",
            ),
            ("x t[otal(|summed]1)", "total", "summed", "1: x total(1)"),
            ("a[ = |summed]b", "total", "summed", "1: a = b"),
            ("total[\n|summed]", "total", "summed", "1: total"),
            ("a [t|summed] b", "total", "summed", "1: a t b"),
            // The whole text, made of one without the first line.
            ("[typed\ntotal(b)|summed(b)]", "total", "summed", "1: typed"),
            (
                "[total()\nb = total()|b = summed()]",
                "total",
                "summed",
                "1: total()",
            ),
        ] {
            let found = judged(text, old, new);
            assert_eq!(found.as_deref(), Some(expected), "{text}");
        }
        assert!(Names::new(["  ", ""], "x").is_none());
    }
}
