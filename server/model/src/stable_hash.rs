//! A hash that is the same in every version of the program and on every machine, as what is sent to a provider must be
//! if its cache is to hit: FNV-1a of 64 bits. It hides nothing and guards against nobody.

/// Collects pieces.
#[derive(Debug)]
pub(crate) struct StableHash(u64);

impl Default for StableHash {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl StableHash {
    /// Adds a piece. Where it ends counts: `ab`, `c` is not `a`, `bc`.
    pub(crate) fn add(&mut self, piece: &[u8]) {
        let length = (piece.len() as u64).to_le_bytes();
        for byte in piece.iter().chain(&length) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    pub(crate) fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pieces: &[&str]) -> u64 {
        let mut hash = StableHash::default();
        for piece in pieces {
            hash.add(piece.as_bytes());
        }
        hash.finish()
    }

    #[test]
    fn it_is_what_it_was_and_knows_where_pieces_end() {
        assert_eq!(of(&["abc"]), 0xe5f4_9faf_dcdf_1048);
        assert_ne!(of(&["ab", "c"]), of(&["a", "bc"]));
        assert_ne!(of(&[]), of(&[""]));
    }
}
