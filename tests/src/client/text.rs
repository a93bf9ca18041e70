//! The client's own text: a plain `String` and LSP positions over it, written to be read and not to
//! be fast. It never shares code with the server's text, so that the two can disagree, and it never
//! clamps: a position that is not exactly a place in the text is an error with the reason.

use serde::{Deserialize, Serialize};

/// What one step of `character` counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Bytes.
    Utf8,
    /// UTF-16 code units.
    Utf16,
    /// Characters (Unicode scalar values).
    Utf32,
}

impl Encoding {
    /// The encoding of that LSP name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "utf-8" => Some(Self::Utf8),
            "utf-16" => Some(Self::Utf16),
            "utf-32" => Some(Self::Utf32),
            _ => None,
        }
    }

    fn width(self, c: char) -> usize {
        match self {
            Self::Utf8 => c.len_utf8(),
            Self::Utf16 => c.len_utf16(),
            Self::Utf32 => 1,
        }
    }
}

/// LSP's place in a text: a line from 0, and units into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Position {
    /// From 0.
    pub line: u32,
    /// Units of the encoding from the line's start.
    pub character: u32,
}

/// From `start` up to, without, `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Range {
    /// The first place inside.
    pub start: Position,
    /// The first place after.
    pub end: Position,
}

impl Range {
    /// From two `(line, character)` pairs.
    pub fn new(start: (u32, u32), end: (u32, u32)) -> Self {
        let place = |(line, character)| Position { line, character };
        Self {
            start: place(start),
            end: place(end),
        }
    }
}

/// The lines of `text` without their ends: `\n`, `\r\n` and a lone `\r` end a line, nothing else does.
/// Each comes with the byte at which it starts; there is always at least one.
pub fn lines(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut rest = text.char_indices().peekable();
    while let Some((at, c)) = rest.next() {
        let end = match c {
            '\r' if rest.peek().is_some_and(|(_, next)| *next == '\n') => {
                rest.next();
                at + 2
            }
            '\n' | '\r' => at + 1,
            _ => continue,
        };
        found.push((start, &text[start..at]));
        start = end;
    }
    found.push((start, &text[start..]));
    found
}

/// The byte at `position`, or why there is no such place.
pub fn offset(text: &str, position: Position, encoding: Encoding) -> Result<usize, String> {
    let lines = lines(text);
    let Some((start, line)) = lines.get(position.line as usize) else {
        return Err(format!(
            "line {} of a text of {} lines",
            position.line,
            lines.len()
        ));
    };
    let wanted = position.character as usize;
    let mut units = 0;
    for (at, c) in line.char_indices() {
        if units == wanted {
            return Ok(start + at);
        }
        units += encoding.width(c);
        if units > wanted {
            return Err(format!("{position:?} is inside the character {c:?}"));
        }
    }
    if units == wanted {
        return Ok(start + line.len());
    }
    Err(format!(
        "{position:?} is past the end of a line of {units} units: {line:?}"
    ))
}

/// The place of a byte. Panics if it is no place: inside a character or between `\r` and `\n`.
pub fn position(text: &str, byte: usize, encoding: Encoding) -> Position {
    let lines = lines(text);
    let line = lines.partition_point(|(start, _)| *start <= byte) - 1;
    let (start, content) = lines[line];
    assert!(
        byte <= start + content.len(),
        "byte {byte} is inside a line end"
    );
    let character = content[..byte - start]
        .chars()
        .map(|c| encoding.width(c))
        .sum::<usize>();
    Position {
        line: u32::try_from(line).expect("fewer than 4 G lines"),
        character: u32::try_from(character).expect("a line of fewer than 4 G units"),
    }
}

/// The bytes that `range` covers, or why it covers none.
pub fn bytes(
    text: &str,
    range: Range,
    encoding: Encoding,
) -> Result<std::ops::Range<usize>, String> {
    if range.start > range.end {
        return Err(format!("a range that ends before it starts: {range:?}"));
    }
    Ok(offset(text, range.start, encoding)?..offset(text, range.end, encoding)?)
}

/// The range of the bytes from `start` to `end`.
pub fn range(text: &str, bytes: std::ops::Range<usize>, encoding: Encoding) -> Range {
    Range {
        start: position(text, bytes.start, encoding),
        end: position(text, bytes.end, encoding),
    }
}

/// The smallest single replacement that makes `after` out of `before`, as clients that re-diff find it:
/// first the common beginning, then the common end of what is left. `None` if they are equal.
pub fn difference(before: &str, after: &str) -> Option<(std::ops::Range<usize>, String)> {
    if before == after {
        return None;
    }
    let mut head = before
        .bytes()
        .zip(after.bytes())
        .take_while(|(a, b)| a == b)
        .count();
    while !(is_place(before, head) && is_place(after, head)) {
        head -= 1;
    }
    let rest = (before.len() - head).min(after.len() - head);
    let mut tail = before
        .bytes()
        .rev()
        .zip(after.bytes().rev())
        .take(rest)
        .take_while(|(a, b)| a == b)
        .count();
    while !(is_place(before, before.len() - tail) && is_place(after, after.len() - tail)) {
        tail -= 1;
    }
    Some((
        head..before.len() - tail,
        after[head..after.len() - tail].to_owned(),
    ))
}

/// Whether an LSP position can name this byte.
fn is_place(text: &str, byte: usize) -> bool {
    let inside_end =
        byte > 0 && text[..].as_bytes()[byte - 1] == b'\r' && text[byte..].starts_with('\n');
    text.is_char_boundary(byte) && !inside_end
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Encoding; 3] = [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32];

    #[test]
    fn only_three_line_ends() {
        let starts = |text| {
            lines(text)
                .into_iter()
                .map(|(start, _)| start)
                .collect::<Vec<_>>()
        };
        assert_eq!(starts(""), [0]);
        assert_eq!(starts("a\nb\r\nc\rd"), [0, 2, 5, 7]);
        assert_eq!(starts("a\r\r\n"), [0, 2, 4]);
        assert_eq!(starts("a\u{2028}b\u{c}c\u{85}d\u{b}e"), [0]);
    }

    #[test]
    fn every_place_goes_there_and_back() {
        let text = "fn a\r\n\u{1f600}é\r\r\n\u{2028}x\n";
        for encoding in ALL {
            for byte in (0..=text.len()).filter(|byte| is_place(text, *byte)) {
                let place = position(text, byte, encoding);
                assert_eq!(
                    offset(text, place, encoding),
                    Ok(byte),
                    "{place:?} in {encoding:?}"
                );
            }
        }
    }

    #[test]
    fn no_place_is_an_error() {
        let text = "\u{1f600}a\r\n";
        let at = |line, character, encoding| {
            offset(text, Position { line, character }, encoding).is_err()
        };
        assert!(at(0, 1, Encoding::Utf16), "inside a surrogate pair");
        assert!(at(0, 3, Encoding::Utf8), "inside a character");
        assert!(at(0, 4, Encoding::Utf16), "between \\r and \\n");
        assert!(at(0, 3, Encoding::Utf32), "past the line");
        assert!(at(2, 0, Encoding::Utf32), "past the last line");
        assert!(!at(1, 0, Encoding::Utf32), "the empty last line");
        assert!(
            bytes(text, Range::new((0, 1), (0, 0)), Encoding::Utf32).is_err(),
            "reversed"
        );
    }

    #[test]
    fn the_difference_is_what_neovim_would_echo() {
        let cases = [
            ("AGENT x", "AGENT2 AGENT x", Some((5..5, "2 AGENT"))),
            ("same", "same", None),
            ("é", "è", Some((0..2, "è"))),
            ("a\r\n", "a\n", Some((1..3, "\n"))),
            ("aa", "aaa", Some((2..2, "a"))),
            ("abc", "", Some((0..3, ""))),
        ];
        for (before, after, wanted) in cases {
            let found = difference(before, after);
            let wanted = wanted.map(|(range, text): (_, &str)| (range, text.to_owned()));
            assert_eq!(found, wanted, "{before:?} -> {after:?}");
            if let Some((range, text)) = found {
                let made = format!("{}{text}{}", &before[..range.start], &before[range.end..]);
                assert_eq!(made, after);
            }
        }
    }
}
