//! How a matching line is shown: which line it is, where in it the match begins, and what is cut off. Knows no files.
//!
//! The searcher knows lines that end at `\n`. Ours, and LSP's, end at a lone `\r` too, which makes a difference here.

use std::ops::Range;

/// How many characters of a line are shown.
pub(super) const WIDTH: usize = 2000;

/// A line, or several if the match spans them, as they are shown.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Shown {
    /// How many lines of our count came before it in the block.
    pub(super) lines_before: usize,
    /// Where the match begins, in characters from 1.
    pub(super) column: usize,
    /// The text, without its last line end; `…` stands where some was cut off.
    pub(super) text: String,
}

/// Shows the lines of a block that a match in it touches.
pub(super) fn show(block: &[u8], found: Range<usize>) -> Shown {
    let mut lines_before = 0;
    let mut start = 0;
    for at in 0..found.start {
        if ends_line(block, at) {
            lines_before += 1;
            start = at + 1;
        }
    }
    // A match that ends with a line end does not touch the line after it.
    let last = found.end.saturating_sub(1).max(found.start);
    let mut end = (last..block.len())
        .find(|at| ends_line(block, *at))
        .unwrap_or(block.len());
    if end > start && block.get(end) == Some(&b'\n') && block[end - 1] == b'\r' {
        end -= 1;
    }
    let line = &block[start..end.max(start)];
    let before = (found.start - start).min(line.len());
    Shown {
        lines_before,
        column: characters(&line[..before]) + 1,
        text: cut(line, before, found.len()),
    }
}

/// How many lone `\r` there are before an offset: lines of our count that the searcher does not count.
pub(super) fn lone_returns(text: &[u8], before: usize) -> usize {
    let before = before.min(text.len());
    if !text[..before].contains(&b'\r') {
        return 0;
    }
    (0..before)
        .filter(|at| text[*at] == b'\r' && text.get(at + 1) != Some(&b'\n'))
        .count()
}

fn ends_line(text: &[u8], at: usize) -> bool {
    match text[at] {
        b'\n' => true,
        b'\r' => text.get(at + 1) != Some(&b'\n'),
        _ => false,
    }
}

/// Counts what begins a character: right for UTF-8, and near enough for what is not.
fn characters(text: &[u8]) -> usize {
    text.iter().filter(|byte| !is_continuation(**byte)).count()
}

const fn is_continuation(byte: u8) -> bool {
    byte & 0xc0 == 0x80
}

/// At most `WIDTH` characters of a line, those around the match.
fn cut(line: &[u8], before: usize, length: usize) -> String {
    // Four bytes a character at most: what lies further away than that is never shown, and never decoded.
    let reach = WIDTH * 4;
    let (from, to) = (
        before.saturating_sub(reach),
        (before + reach).min(line.len()),
    );
    let from = (from..before)
        .find(|at| !is_continuation(line[*at]))
        .unwrap_or(before);
    let to = (to..line.len())
        .find(|at| !is_continuation(line[*at]))
        .unwrap_or(line.len());
    let near: Vec<char> = String::from_utf8_lossy(&line[from..to]).chars().collect();
    if near.len() <= WIDTH && from == 0 && to == line.len() {
        return near.into_iter().collect();
    }
    let match_start = characters(&line[from..before]);
    let match_length = characters(&line[before..(before + length).clamp(before, to)]);
    // The match in the middle, if it fits; its beginning, if it does not.
    let room = WIDTH - 2;
    let start = match_start
        .saturating_sub(room.saturating_sub(match_length) / 2)
        .min(near.len().saturating_sub(room));
    let end = (start + room).min(near.len());
    let mut text = String::new();
    if start > 0 || from > 0 {
        text.push('…');
    }
    text.extend(&near[start..end]);
    if end < near.len() || to < line.len() {
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A block with the match between two `|`, and what is shown of it: (lines before, column, text).
    fn check(marked: &str, lines_before: usize, column: usize, text: &str) {
        let start = marked.find('|').expect("a start");
        let end = marked.rfind('|').expect("an end") - 1;
        let block = marked.replace('|', "");
        let shown = show(block.as_bytes(), start..end);
        assert_eq!(
            shown,
            Shown {
                lines_before,
                column,
                text: text.to_owned()
            },
            "{marked:?}"
        );
    }

    #[test]
    fn lines_and_columns() {
        check("a |b| c\n", 0, 3, "a b c");
        check("a |b| c\r\n", 0, 3, "a b c");
        check("a |b| c", 0, 3, "a b c");
        check("||\n", 0, 1, "");
        check("||", 0, 1, "");
        check("abc||\n", 0, 4, "abc");
        check("ä😀|b|\n", 0, 3, "ä😀b");
    }

    #[test]
    fn a_lone_return_ends_a_line() {
        check("a\rb |c| d\re\n", 1, 3, "b c d");
        check("|a|\rb\n", 0, 1, "a");
        check("a\r\r|b|\r\n", 2, 1, "b");
        check("a|\rb|\n", 0, 2, "a\rb");
    }

    #[test]
    fn matches_over_lines() {
        check("a |b\nc| d\n", 0, 3, "a b\nc d");
        check("a |b\r\nc| d\r\n", 0, 3, "a b\r\nc d");
        check("a |b\n|c", 0, 3, "a b");
        check("a|\n|b\n", 0, 2, "a");
    }

    #[test]
    fn lone_returns_are_counted_up_to_an_offset() {
        for (text, before, count) in [
            ("a\rb\r\nc\r", 8, 2),
            ("a\rb\r\nc\r", 6, 1),
            ("a\rb", 1, 0),
            ("\r\n", 1, 0),
            ("", 5, 0),
            ("\r\r\n", 2, 1),
        ] {
            assert_eq!(
                lone_returns(text.as_bytes(), before),
                count,
                "{text:?} {before}"
            );
        }
    }

    #[test]
    fn a_long_line_is_cut_around_the_match() {
        for pad in ["x", "ä", "😀"] {
            for (before, after) in [
                (0, 5000),
                (5000, 0),
                (5000, 5000),
                (1500, 600),
                (3, 1990),
                (100_000, 100_000),
            ] {
                let line = format!("{}|needle|{}", pad.repeat(before), pad.repeat(after));
                let start = line.find('|').expect("a start");
                let shown = show(line.replace('|', "").as_bytes(), start..start + 6);
                assert_eq!(shown.column, before + 1);
                assert!(shown.text.contains("needle"), "{pad} {before} {after}");
                let length = shown.text.chars().count();
                assert!(length <= WIDTH, "{length} characters");
                assert!(
                    length >= WIDTH - 1 || before + after + 6 <= WIDTH,
                    "{length} characters of {before} and {after}"
                );
                assert_eq!(
                    shown.text.starts_with('…'),
                    before > 0
                        && length >= WIDTH - 1
                        && before + after + 6 > WIDTH
                        && !shown.text.starts_with(pad)
                );
            }
        }
    }

    #[test]
    fn a_match_that_is_longer_than_what_is_shown_begins_it() {
        let line = format!("{}{}", "a".repeat(5000), "b".repeat(5000));
        let shown = show(line.as_bytes(), 5000..10_000);
        assert_eq!(shown.text, format!("…{}…", "b".repeat(WIDTH - 2)));
    }

    proptest::proptest! {
        #[test]
        fn whatever_comes_is_shown(block: Vec<u8>, start: usize, length: usize) {
            let start = start % (block.len() + 1);
            let end = start + length % (block.len() - start + 1);
            let shown = show(&block, start..end);
            assert!(shown.text.chars().count() <= WIDTH);
            assert!(shown.column > 0 && shown.column <= start + 1);
        }

        #[test]
        fn a_line_is_found_as_a_text_finds_it(text in "[a-c\r\n]{0,40}", start: usize) {
            let start = start % (text.len() + 1);
            let whole = crate::Text::new(&text);
            let place = whole.position(crate::ByteOffset(start), crate::Encoding::Utf32);
            let shown = show(text.as_bytes(), start..start);
            assert_eq!((shown.lines_before, shown.column - 1), (place.line as usize, place.character as usize));
            assert_eq!(Some(shown.text), whole.line(shown.lines_before));
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_shown_as_such() {
        assert_eq!(show(b"a\xff|b\n", 2..3).text, "a\u{fffd}|b");
    }
}
