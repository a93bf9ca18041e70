//! What two texts begin and end with alike. Chunks that they share are never looked into.

use crate::Text;

/// How many bytes both texts begin with, in whole characters.
pub(super) fn common_prefix(old: &Text, new: &Text) -> usize {
    let same = run_of_equals(
        Pieces::new(old.chunks()),
        Pieces::new(new.chunks()),
        |a, b| a.iter().zip(b).take_while(|(a, b)| a == b).count(),
    );
    old.char_start(same).min(new.char_start(same))
}

/// How many bytes both texts end with, in whole characters.
pub(super) fn common_suffix(old: &Text, new: &Text) -> usize {
    let same = run_of_equals(
        Pieces::backwards(old.chunks_backwards()),
        Pieces::backwards(new.chunks_backwards()),
        |a, b| {
            a.iter()
                .rev()
                .zip(b.iter().rev())
                .take_while(|(a, b)| a == b)
                .count()
        },
    );
    // A byte in the middle of a character is no start: the bytes are the same in both, so one look is enough.
    let mut start = old.len() - same;
    while start < old.len() && old.char_start(start) != start {
        start += 1;
    }
    old.len() - start
}

/// Two texts' chunks need not begin at the same bytes: what is left of one is compared with what is left of the other.
struct Pieces<'a, I> {
    chunks: I,
    rest: &'a [u8],
    backwards: bool,
}

impl<'a, I: Iterator<Item = &'a str>> Pieces<'a, I> {
    fn new(chunks: I) -> Self {
        Self {
            chunks,
            rest: &[],
            backwards: false,
        }
    }

    fn backwards(chunks: I) -> Self {
        Self {
            chunks,
            rest: &[],
            backwards: true,
        }
    }

    fn fill(&mut self) -> bool {
        while self.rest.is_empty() {
            match self.chunks.next() {
                Some(chunk) => self.rest = chunk.as_bytes(),
                None => return false,
            }
        }
        true
    }

    /// Takes the next bytes off.
    fn take(&mut self, count: usize) -> &'a [u8] {
        let rest = self.rest;
        let (taken, left) = if self.backwards {
            let (left, taken) = rest.split_at(rest.len() - count);
            (taken, left)
        } else {
            rest.split_at(count)
        };
        self.rest = left;
        taken
    }
}

fn run_of_equals<'a, 'b>(
    mut a: Pieces<'a, impl Iterator<Item = &'a str>>,
    mut b: Pieces<'b, impl Iterator<Item = &'b str>>,
    count_equal: impl Fn(&[u8], &[u8]) -> usize,
) -> usize {
    let mut total = 0;
    while a.fill() && b.fill() {
        let count = a.rest.len().min(b.rest.len());
        let (x, y) = (a.take(count), b.take(count));
        // Texts that grew out of one another share most of their chunks, and equal memory is found fast.
        if std::ptr::eq(x, y) || x == y {
            total += count;
            continue;
        }
        return total + count_equal(x, y);
    }
    total
}
