//! What servers find worth a word and no more (hints, greyed-out code), in one short line: told apart from problems, since a
//! model that is told of both takes both for its task. It writes the line and reads it back.

use crate::problems::Problem;

/// How many are told.
const MOST: usize = 3;
/// How much of each.
const LONGEST: usize = 100;
const CUT: &str = "; …";

/// `4 hints: 12:5 unused variable; 20:1 this could be shorter; …`, all in the file that stands above.
pub fn line(hints: &[Problem]) -> Option<String> {
    let first: Vec<String> = hints.iter().take(MOST).map(told).collect();
    let count = match hints.len() {
        0 => return None,
        1 => "1 hint".to_owned(),
        many => format!("{many} hints"),
    };
    let cut = if hints.len() > MOST { CUT } else { "" };
    Some(format!("{count}: {}{cut}", first.join("; ")))
}

/// Whether an answer about a file tells of this hint in it. `None`: it does not tell of all.
pub fn tells_of(answer: &str, hint: &Problem) -> Option<bool> {
    let is_theirs = |line: &&str| {
        let line = line.strip_prefix("and ").unwrap_or(line);
        let (count, rest) = line.split_once(' ').unwrap_or_default();
        let is_count = count.parse::<usize>().is_ok();
        is_count && (rest.starts_with("hint: ") || rest.starts_with("hints: "))
    };
    let Some(line) = answer.lines().find(is_theirs) else {
        return Some(false);
    };
    if line.contains(&told(hint)) {
        return Some(true);
    }
    (!line.ends_with(CUT)).then_some(false)
}

/// Whether a problem, as it is told, is no more than a hint.
pub fn is_one(problem: &Problem) -> bool {
    matches!(problem.severity.as_str(), "information" | "hint")
}

fn told(hint: &Problem) -> String {
    let what = hint.message.lines().next().unwrap_or_default();
    let cut: String = what.chars().take(LONGEST).collect();
    let dots = if cut.len() < what.len() { "…" } else { "" };
    format!("{}:{} {cut}{dots}", hint.line, hint.character)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hint(at: u32, message: &str) -> Problem {
        Problem {
            path: "a.rs".into(),
            line: at,
            character: 2,
            severity: "hint".into(),
            code: None,
            message: message.into(),
            source: Some("s".into()),
        }
    }

    #[test]
    fn what_is_told_is_read_back() {
        assert_eq!(line(&[]), None);
        let long = "ä".repeat(101);
        let two = [hint(1, "unused\nsee there"), hint(3, &long)];
        let said = line(&two).expect("two");
        assert_eq!(
            said,
            format!("2 hints: 1:2 unused; 3:2 {}…", "ä".repeat(100))
        );
        for prefix in ["", "and "] {
            let answer = format!("2 problems in a.rs (checked just now):\n{prefix}{said}");
            assert_eq!(tells_of(&answer, &two[1]), Some(true));
            assert_eq!(tells_of(&answer, &hint(2, "unused")), Some(false));
        }
        let many: Vec<Problem> = (1..6).map(|at| hint(at, "unused")).collect();
        let said = line(&many).expect("many");
        assert_eq!(said, "5 hints: 1:2 unused; 2:2 unused; 3:2 unused; …");
        assert_eq!(tells_of(&said, &many[2]), Some(true));
        assert_eq!(tells_of(&said, &many[3]), None, "it may be there");
        assert_eq!(tells_of("1 problem", &many[0]), Some(false));
        assert_eq!(line(&many[..1]).as_deref(), Some("1 hint: 1:2 unused"));
    }
}
