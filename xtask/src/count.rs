//! The closing line: counts of all that passed and failed, read from the runners' own summaries.

use std::ops::AddAssign;

/// How many passed, how many failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    pub passed: u64,
    pub failed: u64,
}

impl Count {
    /// One check.
    pub fn one(passed: bool) -> Self {
        Self {
            passed: passed.into(),
            failed: (!passed).into(),
        }
    }

    /// What a line of a runner's output adds: nextest's summary, one of cargo's own `test result:` lines, or the line of
    /// our checkers (`checked: 3 passed, 1 failed`).
    pub fn of_line(line: &str) -> Self {
        let summary = match line.split_once(" run: ") {
            Some((before, counts)) if before.trim_start().starts_with("Summary") => counts,
            _ => match line.strip_prefix("checked: ") {
                Some(counts) => counts,
                None => match line.strip_prefix("test result: ") {
                    Some(counts) => counts.split_once(". ").map_or("", |(_, counts)| counts),
                    None => return Self::default(),
                },
            },
        };
        let mut count = Self::default();
        for part in summary.split([',', ';', '(', ')']) {
            let Some((number, what)) = part.trim().split_once(' ') else {
                continue;
            };
            let Ok(number) = number.parse::<u64>() else {
                continue;
            };
            match what {
                "passed" => count.passed += number,
                "failed" | "timed out" | "exec failed" => count.failed += number,
                _ => {}
            }
        }
        count
    }
}

impl AddAssign for Count {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_are_counted() {
        let cases = [
            (
                "     Summary [   1.20s] 24 tests run: 24 passed, 3 skipped",
                24,
                0,
            ),
            (
                "     Summary [   9s] 7 tests run: 4 passed (1 slow), 1 failed, 2 timed out, 0 skipped",
                4,
                3,
            ),
            (
                "     Summary [   9s] 1 test run: 1 passed (1 flaky), 0 skipped",
                1,
                0,
            ),
            (
                "     Summary [   0.1s] 2/9 tests run: 1 passed, 1 exec failed, 0 skipped",
                1,
                1,
            ),
            (
                "test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.1s",
                2,
                1,
            ),
            ("checked: 12 passed, 1 failed", 12, 1),
            ("5 tests run: 5 passed", 0, 0),
            ("test a ... ok", 0, 0),
        ];
        for (line, passed, failed) in cases {
            assert_eq!(Count::of_line(line), Count { passed, failed }, "{line}");
        }
    }
}
