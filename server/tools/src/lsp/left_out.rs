//! How many of what a server found are not shown: they lie where the model may not look, can't be read, or are of a text
//! that is another by now. That is said always, and above all where there is nothing else: a bare "none" would be taken for
//! the truth.

use std::ops::AddAssign;

use langserver::Answer;

/// What is not shown, by why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// In files that are hidden or can't be read.
    hidden: usize,
    /// In files that changed since the server was asked.
    changed: usize,
}

impl LeftOut {
    pub fn of<T>(answer: &Answer<T>) -> Self {
        Self {
            hidden: answer.left_out.saturating_sub(answer.changed),
            changed: answer.changed,
        }
    }

    pub fn count(self) -> usize {
        self.hidden + self.changed
    }

    pub fn is_any(self) -> bool {
        self.count() > 0
    }

    /// The lines below an answer, for what lies in other files.
    pub fn lines(self) -> String {
        let hidden = match self.hidden {
            0 => String::new(),
            1 => "[1 more in a file that can't be read or is hidden]\n".to_owned(),
            many => format!("[{many} more in files that can't be read or are hidden]\n"),
        };
        let changed = match self.changed {
            0 => String::new(),
            1 => "[1 more in a file that changed meanwhile: ask again]\n".to_owned(),
            many => format!("[{many} more in files that changed meanwhile: ask again]\n"),
        };
        hidden + &changed
    }

    /// What is said behind "none".
    pub fn but(self) -> &'static str {
        match (self.hidden, self.changed) {
            (0, 0) => "",
            (0, _) => " but in what changed meanwhile",
            _ => " that may be shown",
        }
    }
}

impl AddAssign for LeftOut {
    fn add_assign(&mut self, other: Self) {
        self.hidden += other.hidden;
        self.changed += other.changed;
    }
}

/// The same for what lies in no other file: then it is the server's answer that can't be read.
pub fn broken(number: usize) -> String {
    match number {
        0 => String::new(),
        many => format!("[{many} more that can't be read]\n"),
    }
}

/// The same for actions, of which some would change what is kept from the model.
pub fn of_actions(number: usize) -> String {
    match number {
        0 => String::new(),
        1 => "[1 more that can't be read, or would change a hidden file]\n".to_owned(),
        many => format!("[{many} more that can't be read, or would change hidden files]\n"),
    }
}
