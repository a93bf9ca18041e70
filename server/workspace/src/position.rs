//! Places in a text: bytes for us, lines and columns for whoever speaks LSP. Never holds a text itself.

use std::fmt;

/// What one column of a [`Position`] counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// Bytes of UTF-8.
    Utf8,
    /// Code units of UTF-16: LSP's default.
    Utf16,
    /// Unicode scalar values.
    Utf32,
}

/// LSP's position: it means something only together with an [`Encoding`] and a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// Counted from 0.
    pub line: u32,
    /// Counted from 0, in the units of an [`Encoding`].
    pub character: u32,
}

impl Position {
    /// A position from its two numbers.
    pub const fn new(line: u32, character: u32) -> Self {
        Self { line, character }
    }
}

impl fmt::Display for Position {
    /// Counted from 1, as people do.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}:{}",
            self.line.saturating_add(1),
            self.character.saturating_add(1)
        )
    }
}

/// LSP's range, half open. It may come reversed from a client: whoever takes one in checks that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Range {
    /// The first position in it.
    pub start: Position,
    /// The first position after it.
    pub end: Position,
}

impl Range {
    /// A range from its two ends.
    pub const fn new(start: Position, end: Position) -> Self {
        Self { start, end }
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.start, self.end)
    }
}

/// A place in a text, counted in bytes from its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteOffset(pub usize);

/// A stretch of a text in bytes, half open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteRange {
    /// The first byte in it.
    pub start: ByteOffset,
    /// The first byte after it.
    pub end: ByteOffset,
}

impl ByteRange {
    /// The bytes from `start` up to, not including, `end`.
    pub const fn new(start: usize, end: usize) -> Self {
        Self {
            start: ByteOffset(start),
            end: ByteOffset(end),
        }
    }

    /// How many bytes it covers; 0 for a reversed one.
    pub const fn len(self) -> usize {
        self.end.0.saturating_sub(self.start.0)
    }

    /// Whether it covers nothing.
    pub const fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The same as the standard library's range.
    pub const fn as_range(self) -> std::ops::Range<usize> {
        self.start.0..self.end.0
    }
}

impl From<std::ops::Range<usize>> for ByteRange {
    fn from(range: std::ops::Range<usize>) -> Self {
        Self::new(range.start, range.end)
    }
}

impl fmt::Display for ByteRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.start.0, self.end.0)
    }
}
