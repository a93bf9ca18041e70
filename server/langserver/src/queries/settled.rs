//! When a server that gives no sign of being ready is believed: when it answers the same twice, with a pause between that
//! is long in its own time. It asks nobody.

use std::time::Duration;

/// Between the first two answers; then twice as long each time. Some servers look at the project only when they have not
/// been asked anything for a quarter of a second.
pub(super) const FIRST_PAUSE: Duration = Duration::from_millis(300);
/// Nothing, said twice by a server younger than this, may be all that it knows yet.
const YOUNG: Duration = Duration::from_secs(2);

/// A question is asked again so often because the server began to look at the project over it.
pub(super) const MOST_OVERTAKEN: u32 = 3;
/// A server this old that begins something over a question and has ended it by the answer did it for the question.
pub(super) const OLD: Duration = Duration::from_secs(60);

/// How long it is left alone: a busy server's time passes more slowly.
pub(super) fn quiet(pause: Duration, took: Duration) -> Duration {
    pause.max(took * 2)
}

/// Whether two answers, one after the other, are one that can be believed.
pub(super) fn same(last: &str, next: &str, age: Duration) -> bool {
    let is_nothing = matches!(next, "null" | "[]" | "{}");
    last == next && !(is_nothing && age < YOUNG)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_believed() {
        let (young, old) = (Duration::from_secs(1), Duration::from_secs(3));
        for (last, next, age, expected) in [
            ("[1]", "[1]", young, true),
            ("[1]", "[1,2]", old, false),
            ("[]", "[]", young, false),
            ("null", "null", young, false),
            ("[]", "[]", old, true),
            ("null", "[]", old, false),
        ] {
            assert_eq!(same(last, next, age), expected, "{last} {next} {age:?}");
        }
    }

    #[test]
    fn a_slow_server_is_given_time() {
        let millis = Duration::from_millis;
        for (pause, took, expected) in [(300, 5, 300), (300, 400, 800), (1200, 400, 1200)] {
            assert_eq!(quiet(millis(pause), millis(took)), millis(expected));
        }
    }
}
