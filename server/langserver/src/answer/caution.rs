//! Why what a server says is not to be taken for all there is, though it gives no sign that it is still at work.

/// What is to be said with an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caution {
    /// In a few words: "rust-analyzer says: Failed to load workspace".
    pub words: String,
    /// Whether there may be more than was answered.
    pub is_partial: bool,
}

/// What a server last said of its own health, if it is not well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Trouble {
    pub is_error: bool,
    /// The first line of it, cut.
    pub said: String,
}

/// So many characters of what a server says of itself are told.
const MOST: usize = 200;

impl Trouble {
    /// Of a health that is not "ok".
    pub fn new(health: &str, message: &str) -> Self {
        let line = message.lines().map(str::trim).find(|line| !line.is_empty());
        let line = line.map_or_else(|| format!("its health is \"{health}\""), str::to_owned);
        let line = line.trim_end_matches([':', '.']);
        let is_cut = line.chars().count() > MOST;
        let mut said: String = line.chars().take(MOST).collect();
        if is_cut {
            said.push('…');
        }
        Self {
            is_error: health == "error",
            said,
        }
    }

    /// What is to be said with a server's answers. After a warning it still knows what it has.
    pub fn of(self, server: &str) -> Caution {
        Caution {
            words: format!("{server} says: {}", self.said),
            is_partial: self.is_error,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_short_line_is_told() {
        for (message, expected) in [
            ("\nFailed to load:\nand why", "Failed to load".to_owned()),
            ("", "its health is \"error\"".to_owned()),
            (&"ä".repeat(300), "ä".repeat(200) + "…"),
        ] {
            assert_eq!(Trouble::new("error", message).said, expected);
        }
    }
}
