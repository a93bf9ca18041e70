//! A document's text: a rope that counts lines as LSP does. It never touches line ends, and knows no file.

use std::fmt;

use ropey::Rope;

use crate::{ByteOffset, ByteRange, Encoding, Position, Range};

/// A text that is cheap to clone and to change. Lines end at `\n`, `\r\n` and a lone `\r`, at nothing else.
#[derive(Clone, Default)]
pub struct Text(Rope);

impl Text {
    /// A text of these characters.
    pub fn new(text: &str) -> Self {
        Self(Rope::from_str(text))
    }

    /// How many bytes it has.
    pub fn len(&self) -> usize {
        self.0.len_bytes()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many lines: one more than there are line ends.
    pub fn line_count(&self) -> usize {
        self.0.len_lines()
    }

    /// How many lines a person counts: behind the last line end there is none.
    pub fn lines_to_read(&self) -> usize {
        let count = self.line_count();
        let is_empty = self.line_start(count - 1).0 == self.len();
        count - usize::from(is_empty)
    }

    /// A line, counted from 0, without its end.
    pub fn line(&self, line: usize) -> Option<String> {
        (line < self.line_count()).then(|| {
            self.slice(ByteRange {
                start: self.line_start(line),
                end: self.line_end(line),
            })
        })
    }

    /// Where a line starts; the end of the text for a line past the last.
    pub fn line_start(&self, line: usize) -> ByteOffset {
        if line >= self.line_count() {
            return ByteOffset(self.len());
        }
        ByteOffset(self.0.line_to_byte(line))
    }

    /// Where a line's content ends: before its `\n`, `\r\n` or `\r`.
    pub fn line_end(&self, line: usize) -> ByteOffset {
        if line + 1 >= self.line_count() {
            return ByteOffset(self.len());
        }
        let start = self.0.line_to_byte(line);
        let mut end = self.0.line_to_byte(line + 1);
        if end > start && self.0.byte(end - 1) == b'\n' {
            end -= 1;
            if end > start && self.0.byte(end - 1) == b'\r' {
                end -= 1;
            }
        } else if end > start && self.0.byte(end - 1) == b'\r' {
            end -= 1;
        }
        ByteOffset(end)
    }

    /// The text in a range; ends that lie past the text or inside a character are moved back to where they can be.
    pub fn slice(&self, range: ByteRange) -> String {
        let (start, end) = self.inside(range);
        self.0.byte_slice(start..end).into()
    }

    /// Where a position lies. A line past the last is the end of the text, a column past the line's content is the
    /// content's end, and a column inside a character is its start.
    pub fn offset(&self, position: Position, encoding: Encoding) -> ByteOffset {
        let line = position.line as usize;
        if line >= self.line_count() {
            return ByteOffset(self.len());
        }
        let start = self.0.line_to_byte(line);
        let column = position.character as usize;
        if column == 0 {
            return ByteOffset(start);
        }
        let end = self.line_end(line).0;
        let wanted = match encoding {
            Encoding::Utf8 => self.char_start(start.saturating_add(column).min(end)),
            Encoding::Utf16 => {
                let unit = self
                    .0
                    .char_to_utf16_cu(self.0.byte_to_char(start))
                    .saturating_add(column);
                if unit >= self.0.len_utf16_cu() {
                    end
                } else {
                    self.0.char_to_byte(self.0.utf16_cu_to_char(unit))
                }
            }
            Encoding::Utf32 => {
                let char = self.0.byte_to_char(start).saturating_add(column);
                if char >= self.0.len_chars() {
                    end
                } else {
                    self.0.char_to_byte(char)
                }
            }
        };
        ByteOffset(wanted.min(end))
    }

    /// The position of an offset: past the text is its end, inside a character its start, between `\r` and `\n` the
    /// end of the line's content.
    pub fn position(&self, offset: ByteOffset, encoding: Encoding) -> Position {
        let byte = self.char_start(offset.0);
        let line = self.0.byte_to_line(byte);
        let start = self.0.line_to_byte(line);
        let byte = byte.min(self.line_end(line).0);
        let character = match encoding {
            Encoding::Utf8 => byte - start,
            Encoding::Utf16 => {
                self.0.char_to_utf16_cu(self.0.byte_to_char(byte))
                    - self.0.char_to_utf16_cu(self.0.byte_to_char(start))
            }
            Encoding::Utf32 => self.0.byte_to_char(byte) - self.0.byte_to_char(start),
        };
        Position {
            line: line as u32,
            character: character as u32,
        }
    }

    /// Both ends of a range as offsets.
    pub fn byte_range(&self, range: Range, encoding: Encoding) -> ByteRange {
        ByteRange {
            start: self.offset(range.start, encoding),
            end: self.offset(range.end, encoding),
        }
    }

    /// Both ends of a range as positions.
    pub fn range(&self, range: ByteRange, encoding: Encoding) -> Range {
        Range {
            start: self.position(range.start, encoding),
            end: self.position(range.end, encoding),
        }
    }

    /// Puts a text in the place of a range, whose ends are moved as [`Text::slice`] says.
    pub fn replace(&mut self, range: ByteRange, text: &str) {
        let (start, end) = self.inside(range);
        let first = self.0.byte_to_char(start);
        if end > start {
            self.0.remove(first..self.0.byte_to_char(end));
        }
        if !text.is_empty() {
            self.0.insert(first, text);
        }
    }

    /// The text in pieces, in order.
    pub fn chunks(&self) -> impl Iterator<Item = &str> {
        self.0.chunks()
    }

    /// The pieces from the last to the first.
    pub(crate) fn chunks_backwards(&self) -> impl Iterator<Item = &str> {
        self.0.chunks_at_byte(self.len()).0.reversed()
    }

    /// The bytes from an offset on.
    pub(crate) fn bytes_from(&self, byte: usize) -> impl Iterator<Item = u8> + '_ {
        self.0.bytes_at(byte)
    }

    /// The bytes before an offset, the nearest first.
    pub(crate) fn bytes_before(&self, byte: usize) -> impl Iterator<Item = u8> + '_ {
        self.0.bytes_at(byte).reversed()
    }

    /// Where the character that holds a byte starts; the text's end for a byte past it.
    pub(crate) fn char_start(&self, byte: usize) -> usize {
        self.0
            .char_to_byte(self.0.byte_to_char(byte.min(self.len())))
    }

    /// Whether a byte offset lies between a `\r` and its `\n`.
    pub(crate) fn splits_line_end(&self, byte: usize) -> bool {
        byte > 0
            && byte < self.len()
            && self.0.byte(byte) == b'\n'
            && self.0.byte(byte - 1) == b'\r'
    }

    fn inside(&self, range: ByteRange) -> (usize, usize) {
        let start = self.char_start(range.start.0);
        (start, self.char_start(range.end.0).max(start))
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        self.0.is_instance(&other.0) || self.0 == other.0
    }
}

impl Eq for Text {}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        self.0 == *other
    }
}

impl PartialEq<&str> for Text {
    fn eq(&self, other: &&str) -> bool {
        self.0 == **other
    }
}

impl PartialEq<String> for Text {
    fn eq(&self, other: &String) -> bool {
        self.0 == **other
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.chunks().try_for_each(|chunk| f.write_str(chunk))
    }
}

impl fmt::Debug for Text {
    /// Short: texts are long, and what they hold is the user's own business.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Text({} bytes, {} lines)", self.len(), self.line_count())
    }
}

#[cfg(test)]
mod tests;
