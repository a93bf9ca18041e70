//! Which of a formatter's changes can be made one without the other. What is taken away in one place and put in another has
//! been moved, and a half of that would lose it or have it twice; a bracket or a quote without its other half is none. All else
//! is on its own: a word that is only added, as a `return`, holds nothing else; commas come and go everywhere, and are moved no
//! farther than over a line's end. It looks at the text, and knows no language.

use std::collections::BTreeMap;

use workspace::{ByteOffset, ByteRange, Encoding, Replacement, Text};

/// Sorted replacements in groups, each of which can be made without the others.
pub(super) fn inseparable(text: &Text, edits: Vec<Replacement>) -> Vec<Vec<Replacement>> {
    let mut sets = Sets::new(edits.len());
    let changed = changed(text, &edits, &mut sets);
    let mut words: BTreeMap<&str, Vec<Moved>> = BTreeMap::new();
    let mut signs: BTreeMap<char, Vec<Moved>> = BTreeMap::new();
    let mut last: Option<(usize, Vec<(char, isize)>)> = None;
    for (edit, (old, new)) in &changed {
        let marks = balance(of_marks(old), of_marks(new));
        if let Some((before, gone)) = &last
            && is_blank(text, &edits, *edit)
            && marks
                .iter()
                .any(|(mark, count)| gone.contains(&(*mark, -count)))
        {
            sets.join(*before, *edit);
        }
        last = Some((*edit, marks));
        for (word, count) in balance(of_words(old), of_words(new)) {
            let open = words.entry(word).or_default();
            for _ in 0..count.unsigned_abs() {
                let one = Moved::of(*edit, count);
                // The nearest is the likeliest to be it.
                match open.pop_if(|other| other.is_added != one.is_added) {
                    Some(other) => sets.join(*edit, other.edit),
                    None => open.push(one),
                }
            }
        }
        for (sign, count) in balance(of_signs(old), of_signs(new)) {
            let open = signs.entry(kind(sign)).or_default();
            for _ in 0..count.unsigned_abs() {
                let one = Moved {
                    sign,
                    ..Moved::of(*edit, count)
                };
                let other = open.iter().rposition(|other| other.goes_with(&one));
                match other {
                    Some(at) => sets.join(*edit, open.remove(at).edit),
                    None => open.push(one),
                }
            }
        }
    }
    // What has no other half is held together with whatever else has none: one of them must be it.
    for open in signs.values() {
        for two in open.windows(2) {
            sets.join(two[0].edit, two[1].edit);
        }
    }
    let mut groups: BTreeMap<usize, Vec<Replacement>> = BTreeMap::new();
    for (at, edit) in edits.into_iter().enumerate() {
        groups.entry(sets.of(at)).or_default().push(edit);
    }
    groups.into_values().collect()
}

/// What one or several edits make of whole words: the first of them, and the text before and after. Edits of one word are one.
fn changed(text: &Text, edits: &[Replacement], sets: &mut Sets) -> Vec<(usize, (String, String))> {
    let mut all: Vec<(usize, (String, String))> = Vec::with_capacity(edits.len());
    let mut end = None;
    for (at, edit) in edits.iter().enumerate() {
        let whole = whole_words(text, edit.range);
        let between = end.map(|end| ByteRange {
            start: end,
            end: edit.range.start,
        });
        let is_same = between.is_some_and(|between| {
            let is_in_word = |text: &str, other: &str, of: fn(&str) -> Option<char>| {
                [text, other].into_iter().filter_map(of).any(is_word)
            };
            let last = &edits[at - 1];
            // The word that the last one ends in is the one that this begins in.
            is_words(text, between)
                && is_in_word(&text.slice(last.range), &last.text, |one| {
                    one.chars().next_back()
                })
                && is_in_word(&text.slice(edit.range), &edit.text, |one| {
                    one.chars().next()
                })
        });
        let after = text.slice(ByteRange {
            start: edit.range.end,
            end: whole.end,
        });
        if let Some((first, (old, new))) = all.last_mut().filter(|_| is_same) {
            let between = between
                .map(|between| text.slice(between))
                .unwrap_or_default();
            let last = end.unwrap_or(edit.range.start);
            // What was taken for the rest of its word is between the two, or in this one.
            let rest = rest_of_word(text, last).len();
            new.truncate(new.len() - rest);
            old.truncate(old.len() - rest);
            for part in [&mut *old, &mut *new] {
                part.push_str(&between);
            }
            old.push_str(&text.slice(edit.range));
            new.push_str(&edit.text);
            for part in [old, new] {
                part.push_str(&after);
            }
            let first = *first;
            sets.join(first, at);
        } else {
            let before = text.slice(ByteRange {
                start: whole.start,
                end: edit.range.start,
            });
            let old = format!("{before}{}{after}", text.slice(edit.range));
            let new = format!("{before}{}{after}", edit.text);
            all.push((at, (old, new)));
        }
        end = Some(edit.range.end);
    }
    all
}

/// The range, and the rest of the words that it begins and ends in.
fn whole_words(text: &Text, range: ByteRange) -> ByteRange {
    let line = text.position(range.start, Encoding::Utf8).line as usize;
    let before = text.slice(ByteRange {
        start: text.line_start(line),
        end: range.start,
    });
    let kept = before.trim_end_matches(is_word).len();
    ByteRange {
        start: ByteOffset(range.start.0 - (before.len() - kept)),
        end: ByteOffset(range.end.0 + rest_of_word(text, range.end).len()),
    }
}

fn rest_of_word(text: &Text, at: ByteOffset) -> String {
    let line = text.position(at, Encoding::Utf8).line as usize;
    let end = text.line_end(line);
    let mut rest = match at < end {
        true => text.slice(ByteRange { start: at, end }),
        false => String::new(),
    };
    let length = rest.len() - rest.trim_start_matches(is_word).len();
    rest.truncate(length);
    rest
}

fn is_words(text: &Text, range: ByteRange) -> bool {
    text.slice(range).chars().all(is_word)
}

fn is_word(char: char) -> bool {
    char.is_alphanumeric() || char == '_'
}

fn of_words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|char| !is_word(char))
        .filter(|word| !word.is_empty())
}

/// An operator, a comma: what is neither a word nor a half of anything.
fn of_marks(text: &str) -> impl Iterator<Item = char> {
    text.chars()
        .filter(|char| !is_word(*char) && !char.is_whitespace() && kind(*char) == ' ')
}

/// Whether nothing but space stands between an edit and the one before it.
fn is_blank(text: &Text, edits: &[Replacement], edit: usize) -> bool {
    let (Some(before), Some(edit)) = (
        edit.checked_sub(1).and_then(|at| edits.get(at)),
        edits.get(edit),
    ) else {
        return false;
    };
    let between = text.slice(ByteRange {
        start: before.range.end,
        end: edit.range.start,
    });
    between.trim().is_empty()
}

fn of_signs(text: &str) -> impl Iterator<Item = char> {
    text.chars().filter(|char| kind(*char) != ' ')
}

/// What a sign is a half of; a space for what is none.
fn kind(sign: char) -> char {
    match sign {
        '(' | ')' => '(',
        '[' | ']' => '[',
        '{' | '}' => '{',
        '"' | '\'' | '`' => sign,
        _ => ' ',
    }
}

/// How many more there are of each in the new than in the old. Of brackets the opening ones come first.
fn balance<T: Ord + Copy>(
    old: impl Iterator<Item = T>,
    new: impl Iterator<Item = T>,
) -> Vec<(T, isize)> {
    let mut counts: BTreeMap<T, isize> = BTreeMap::new();
    for (one, count) in old.map(|one| (one, -1)).chain(new.map(|one| (one, 1))) {
        *counts.entry(one).or_default() += count;
    }
    counts.retain(|_, count| *count != 0);
    counts.into_iter().collect()
}

/// A word or a sign that an edit has more or less of than before.
#[derive(Clone, Copy)]
struct Moved {
    edit: usize,
    is_added: bool,
    sign: char,
}

impl Moved {
    fn of(edit: usize, count: isize) -> Self {
        Self {
            edit,
            is_added: count > 0,
            sign: ' ',
        }
    }

    /// Whether another sign further on is its other half, or the same in another place.
    fn goes_with(&self, later: &Self) -> bool {
        let is_moved = self.sign == later.sign && self.is_added != later.is_added;
        let closes = match kind(self.sign) == self.sign {
            // A quote closes itself.
            true if matches!(self.sign, '"' | '\'' | '`') => self.sign == later.sign,
            true => self.sign != later.sign,
            false => false,
        };
        is_moved || (closes && self.is_added == later.is_added)
    }
}

/// Numbers, joined in sets.
struct Sets(Vec<usize>);

impl Sets {
    fn new(number: usize) -> Self {
        Self((0..number).collect())
    }

    /// The set of one, by its least.
    fn of(&mut self, mut one: usize) -> usize {
        while self.0[one] != one {
            self.0[one] = self.0[self.0[one]];
            one = self.0[one];
        }
        one
    }

    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.of(one), self.of(other));
        self.0[one.max(other)] = one.min(other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text in which `⟦old│new⟧` marks the edits; expected are the groups, each by the numbers of its edits.
    fn check(marked: &str, expected: &[&[usize]]) {
        let (mut text, mut edits) = (String::new(), Vec::new());
        let mut rest = marked;
        while let Some((before, edit)) = rest.split_once('⟦') {
            text.push_str(before);
            let (edit, after) = edit.split_once('⟧').expect("an end");
            let (old, new) = edit.split_once('│').expect("a middle");
            let start = text.len();
            text.push_str(old);
            edits.push(Replacement {
                range: ByteRange::new(start, text.len()),
                text: new.to_owned(),
            });
            rest = after;
        }
        text.push_str(rest);
        let all = edits.clone();
        let number = |edit: &Replacement| all.iter().position(|one| one == edit).expect("one");
        let groups = inseparable(&Text::new(&text), edits);
        let groups: Vec<Vec<usize>> = groups
            .iter()
            .map(|group| group.iter().map(number).collect())
            .collect();
        assert_eq!(groups, expected, "{marked}");
    }

    #[test]
    fn what_is_moved_is_not_torn_apart() {
        // Lines change places, whole or by what differs in them.
        check("⟦│use a;\n⟧use b;\n⟦use a;\n│⟧fn f() {}\n", &[&[0, 1]]);
        check("use ⟦b│a⟧;\nuse ⟦a│b⟧;\n", &[&[0, 1]]);
        check("use ⟦alph│bet⟧a;\nuse ⟦bet│alph⟧a;\n", &[&[0, 1]]);
        // What is between the two ends, and behind them, is on its own.
        check(
            "⟦│use a;\n⟧use⟦  │ ⟧b;\n⟦use a;\n│⟧fn⟦  │ ⟧f() {}\n",
            &[&[0, 2], &[1], &[3]],
        );
        // A word that another server calls in pieces.
        check("⟦│alpha, ⟧beta, ⟦al│⟧⟦pha, │⟧x", &[&[0, 1, 2]]);
        check("⟦│alpha ⟧x ⟦alp│⟧h⟦a │⟧", &[&[0, 1, 2]]);
        // Of what is three times, the nearest two.
        check("⟦│x\n⟧a\n⟦│x\n⟧b\n⟦x\n│⟧", &[&[0], &[1, 2]]);
        // An operator over a line's end.
        check("a⟦ +│⟧\n    ⟦│+ ⟧b;\nc⟦ +│⟧ d", &[&[0, 1], &[2]]);
    }

    #[test]
    fn what_is_only_added_or_taken_away_holds_nothing_else() {
        check(
            "fn⟦  │ ⟧f() {}\nfn⟦  │ ⟧g() { ⟦│return ⟧1 }\nfn⟦  │ ⟧h() {}\n",
            &[&[0], &[1], &[2], &[3]],
        );
        check("⟦│import z\n⟧a⟦  │ ⟧b\nc⟦  │ ⟧d\n", &[&[0], &[1], &[2]]);
        check(
            "a⟦  │ ⟧b\nlet x⟦: u8│⟧ = 1\nc⟦  │ ⟧d\n",
            &[&[0], &[1], &[2]],
        );
        check("f(1⟦│,⟧)\ng(1⟦,│⟧)\n", &[&[0], &[1]]);
        check("⟦│a_⟧b ⟦│a_⟧c", &[&[0], &[1]]);
        check("a⟦  \n│\n⟧b⟦  \n│\n⟧c", &[&[0], &[1]]);
    }

    #[test]
    fn halves_are_not_torn_apart() {
        check("if a⟦│ {⟧\n    b;⟦│\n}⟧\nc⟦  │ ⟧d\n", &[&[0, 1], &[2]]);
        check("x(⟦│(⟧a⟦│)⟧ => 1, ⟦│(⟧b.c⟦│)⟧ => 2)", &[&[0, 1], &[2, 3]]);
        check("⟦'│\"⟧a⟦'│\"⟧ + ⟦'│\"⟧b⟦'│\"⟧", &[&[0, 1], &[2, 3]]);
        check("a => ⟦{\n  │⟧b⟦;\n}│,⟧\nc⟦  │ ⟧d", &[&[0, 1], &[2]]);
        // The outer pair around the inner one.
        check("⟦│(⟧a + ⟦│(⟧b.c⟦│)⟧ ⟦│)⟧", &[&[0, 3], &[1, 2]]);
        check("⟦│(⟧a + ⟦│(⟧b⟦│)⟧ + c⟦│)⟧", &[&[0, 3], &[1, 2]]);
        // One that is moved, and one whose other half nobody finds.
        check("f()⟦ {│⟧\n⟦│{⟧\n a\n}", &[&[0, 1]]);
        check("a⟦│{⟧\nb⟦│[⟧\nc⟦{│⟧\nd⟦]│⟧", &[&[0, 2], &[1, 3]]);
    }
}
