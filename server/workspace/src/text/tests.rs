use proptest::prelude::*;

use super::*;

const ENCODINGS: [Encoding; 3] = [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32];

/// LSP's rules over plain strings, written as plainly as they can be.
struct Naive<'a>(&'a str);

impl Naive<'_> {
    /// Where each line starts, and where its content ends.
    fn lines(&self) -> Vec<(usize, usize)> {
        let bytes = self.0.as_bytes();
        let (mut lines, mut start, mut at) = (Vec::new(), 0, 0);
        while at < bytes.len() {
            let end = at;
            at += match (bytes[at], bytes.get(at + 1)) {
                (b'\r', Some(b'\n')) => 2,
                (b'\r' | b'\n', _) => 1,
                _ => {
                    at += 1;
                    continue;
                }
            };
            lines.push((start, end));
            start = at;
        }
        lines.push((start, bytes.len()));
        lines
    }

    fn units(character: char, encoding: Encoding) -> usize {
        match encoding {
            Encoding::Utf8 => character.len_utf8(),
            Encoding::Utf16 => character.len_utf16(),
            Encoding::Utf32 => 1,
        }
    }

    fn offset(&self, position: Position, encoding: Encoding) -> usize {
        let Some(&(start, end)) = self.lines().get(position.line as usize) else {
            return self.0.len();
        };
        let mut column = 0;
        for (at, character) in self.0[start..end].char_indices() {
            column += Self::units(character, encoding);
            if column > position.character as usize {
                return start + at;
            }
        }
        end
    }

    fn position(&self, offset: usize, encoding: Encoding) -> Position {
        let mut offset = offset.min(self.0.len());
        while !self.0.is_char_boundary(offset) {
            offset -= 1;
        }
        let lines = self.lines();
        let line = lines
            .iter()
            .rposition(|(start, _)| *start <= offset)
            .expect("the first line starts at 0");
        let (start, end) = lines[line];
        let before = &self.0[start..offset.min(end)];
        let character: usize = before
            .chars()
            .map(|character| Self::units(character, encoding))
            .sum();
        Position::new(line as u32, character as u32)
    }
}

/// A text made of what makes positions hard.
fn hard_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => Just("a"), 2 => Just("\n"), 2 => Just("\r\n"), 2 => Just("\r"), 1 => Just("é"), 1 => Just("€"), 1 => Just("😀"),
        1 => Just("\u{2028}"), 1 => Just("\u{2029}"), 1 => Just("\u{85}"), 1 => Just("\u{b}"), 1 => Just("\u{c}"),
        1 => Just("e\u{301}"), 1 => Just("\u{feff}"), 1 => Just("\u{0}"),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

/// The same, now and then long enough to be cut in pieces by the rope.
fn hard_and_long_text() -> impl Strategy<Value = String> {
    (
        hard_text(),
        prop_oneof![3 => Just(1_usize), 1 => 100..200_usize],
    )
        .prop_map(|(text, times)| text.repeat(times))
}

proptest! {
    #[test]
    fn every_position_is_lsps(text in hard_text(), line in 0..20_u32, character in 0..30_u32) {
        let rope = Text::new(&text);
        for encoding in ENCODINGS {
            let position = Position { line, character };
            prop_assert_eq!(rope.offset(position, encoding).0, Naive(&text).offset(position, encoding), "{:?}", encoding);
        }
    }

    #[test]
    fn every_offset_is_lsps(text in hard_text()) {
        let rope = Text::new(&text);
        for encoding in ENCODINGS {
            for offset in 0..=text.len() + 2 {
                let position = rope.position(ByteOffset(offset), encoding);
                prop_assert_eq!(position, Naive(&text).position(offset, encoding), "{:?} at {}", encoding, offset);
            }
        }
    }

    #[test]
    fn lines_are_lsps(text in hard_and_long_text()) {
        let rope = Text::new(&text);
        let lines = Naive(&text).lines();
        prop_assert_eq!(rope.line_count(), lines.len());
        for (at, (start, end)) in lines.iter().enumerate() {
            prop_assert_eq!(rope.line_start(at).0, *start);
            prop_assert_eq!(rope.line_end(at).0, *end);
        }
    }

    #[test]
    fn replacing_is_a_strings_replacing(
        text in hard_and_long_text(),
        edits in prop::collection::vec((0..=100_usize, 0..=100_usize, hard_text()), 1..8),
    ) {
        let (mut rope, mut plain) = (Text::new(&text), text);
        for (from, size, new) in edits {
            let mut start = plain.len() * from / 100;
            let mut end = start + (plain.len() - start) * size * size / 10_000;
            while !plain.is_char_boundary(start) { start -= 1 }
            while !plain.is_char_boundary(end) { end -= 1 }
            rope.replace(ByteRange::new(start, end.max(start)), &new);
            plain.replace_range(start..end.max(start), &new);
            prop_assert_eq!(&rope, &plain.as_str());
            prop_assert_eq!(rope.line_count(), Naive(&plain).lines().len());
            prop_assert_eq!(rope.len(), plain.len());
        }
    }
}

/// `|` marks where the position lies in the text.
fn check(text_with_mark: &str, position: (u32, u32), encoding: Encoding) {
    let offset = text_with_mark.find('|').expect("a mark");
    let text = Text::new(&text_with_mark.replacen('|', "", 1));
    let position = Position::new(position.0, position.1);
    assert_eq!(
        text.offset(position, encoding),
        ByteOffset(offset),
        "{text_with_mark:?}, {position} in {encoding:?}"
    );
}

#[test]
fn columns_count_what_the_encoding_counts() {
    for (encoding, column) in [
        (Encoding::Utf8, 7),
        (Encoding::Utf16, 4),
        (Encoding::Utf32, 3),
    ] {
        check("aé😀|y", (0, column), encoding);
    }
    check("€|x", (0, 3), Encoding::Utf8);
    check("€|x", (0, 1), Encoding::Utf16);
    check("e\u{301}|x", (0, 2), Encoding::Utf16);
}

#[test]
fn a_column_inside_a_character_is_its_start() {
    check("a|😀b", (0, 2), Encoding::Utf16);
    check("a😀|b", (0, 3), Encoding::Utf16);
    for column in 2..5 {
        check("a|😀b", (0, column), Encoding::Utf8);
    }
    check("|é", (0, 1), Encoding::Utf8);
}

#[test]
fn past_the_end_is_the_end() {
    for encoding in ENCODINGS {
        check("ab|\ncd", (0, 99), encoding);
        check("ab|\r\ncd", (0, 3), encoding);
        check("ab|\r\ncd", (0, u32::MAX), encoding);
        check("ab|\rcd", (0, 3), encoding);
        check("ab\ncd|", (1, 99), encoding);
        check("ab\ncd|", (2, 0), encoding);
        check("ab\n|", (1, 7), encoding);
        check("ab\ncd|", (u32::MAX, u32::MAX), encoding);
        check("|", (0, 1), encoding);
    }
}

#[test]
fn only_three_line_ends() {
    let text = Text::new("a\u{b}b\u{c}c\u{85}d\u{2028}e\u{2029}f\r\ng\rh\n");
    assert_eq!(text.line_count(), 4);
    assert_eq!(
        text.line(0).as_deref(),
        Some("a\u{b}b\u{c}c\u{85}d\u{2028}e\u{2029}f")
    );
    assert_eq!(text.line(1).as_deref(), Some("g"));
    assert_eq!(text.line(2).as_deref(), Some("h"));
    assert_eq!(text.line(3).as_deref(), Some(""));
    assert_eq!(text.line(4), None);
}

#[test]
fn between_cr_and_lf_is_the_end_of_the_lines_content() {
    let text = Text::new("ab\r\nc");
    for encoding in ENCODINGS {
        assert_eq!(text.position(ByteOffset(3), encoding), Position::new(0, 2));
        assert_eq!(text.position(ByteOffset(4), encoding), Position::new(1, 0));
    }
}

#[test]
fn slices_never_cut_a_character_and_never_panic() {
    let text = Text::new("a😀b");
    assert_eq!(text.slice(ByteRange::new(0, 3)), "a");
    assert_eq!(text.slice(ByteRange::new(2, 6)), "😀b");
    assert_eq!(text.slice(ByteRange::new(4, 900)), "😀b");
    assert_eq!(text.slice(ByteRange::new(5, 1)), "");
    assert_eq!(text.slice(ByteRange::new(900, 901)), "");
}

#[test]
fn equal_by_content_not_by_how_it_came_about() {
    let mut grown = Text::new(&"x".repeat(5000));
    grown.replace(ByteRange::new(2000, 3000), "");
    assert_eq!(grown, Text::new(&"x".repeat(4000)));
    assert_ne!(grown, Text::new(&"x".repeat(4001)));
    assert_eq!(grown, *"x".repeat(4000));
}
