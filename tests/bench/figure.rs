//! Rows of a table of measures, and which of them are not what they are meant to be.

use std::time::Duration;

/// What was measured so far.
#[derive(Default)]
pub struct Figures {
    missed: Vec<String>,
}

impl Figures {
    pub fn new() -> Self {
        println!("{:<58} {:>14}   target", "what", "measured");
        Self::default()
    }

    /// One that has to keep within a bound: `keeps`, which is said in words.
    pub fn hold(&mut self, what: &str, measured: &str, target: &str, keeps: bool) {
        let verdict = if keeps { "" } else { "   MISSED" };
        println!("{what:<58} {measured:>14}   {target}{verdict}");
        if !keeps {
            self.missed
                .push(format!("{what}: {measured}, not {target}"));
        }
    }

    /// An error that names what was missed.
    pub fn close(self) -> anyhow::Result<()> {
        anyhow::ensure!(self.missed.is_empty(), "missed: {}", self.missed.join("; "));
        Ok(())
    }
}

/// A measure that nothing is asked of.
pub fn note(what: &str, measured: &str) {
    println!("{what:<58} {measured:>14}");
}

pub fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

pub fn millis(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}
