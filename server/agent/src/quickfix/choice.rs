//! Which of a server's code actions cures a problem: the preferred one, else the only one, else the
//! one whose title names what the problem's own message suggests. Else none: never a guess. What only silences a problem, or
//! throws away what somebody wrote without the problem being that it is of no use, is no fix.

/// One code action, as the `lsp` tool lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its title.
    pub title: String,
    /// Whether the server calls it a fix.
    pub fix: bool,
    /// Whether the server prefers it.
    pub preferred: bool,
}

/// Reads the lines of the tool's answer: `- Title [quickfix, preferred]`.
pub fn listed(answer: &str) -> Vec<Listed> {
    let read = |line: &str| {
        let line = line.strip_prefix("- ")?;
        let (title, tags) = match line
            .strip_suffix(']')
            .and_then(|line| line.rsplit_once(" ["))
        {
            Some((title, tags)) => (title, tags),
            None => (line, ""),
        };
        let tags: Vec<&str> = tags.split(", ").collect();
        Some(Listed {
            title: title.to_owned(),
            fix: tags
                .iter()
                .any(|tag| *tag == "quickfix" || tag.starts_with("quickfix.")),
            preferred: tags.contains(&"preferred"),
        })
    };
    answer.lines().filter_map(read).collect()
}

/// The best of them, if there is one.
pub fn best<'a>(actions: &'a [Listed], message: &str) -> Option<&'a Listed> {
    let fixes: Vec<&Listed> = actions
        .iter()
        .filter(|action| {
            action.fix && !silences(&action.title) && !discards(&action.title, message)
        })
        .collect();
    let fixes = without_longer_ways(fixes);
    let preferred: Vec<&&Listed> = fixes.iter().filter(|action| action.preferred).collect();
    if let [one] = preferred.as_slice() {
        return Some(one);
    }
    if let [one] = fixes.as_slice() {
        return Some(one);
    }
    let among = if preferred.is_empty() {
        fixes
    } else {
        preferred.into_iter().copied().collect()
    };
    let suggested = quoted(message);
    let named: Vec<&Listed> = among
        .into_iter()
        .filter(|action| {
            let title = quoted(&action.title);
            let named =
                |word: &String| title.contains(word) || action.title.ends_with(word.as_str());
            suggested.last().is_some_and(named)
        })
        .collect();
    match named.as_slice() {
        [one] => Some(one),
        _ => None,
    }
}

/// Less those that write out at one place what another fix imports.
fn without_longer_ways(mut fixes: Vec<&Listed>) -> Vec<&Listed> {
    let imported: Vec<String> = fixes
        .iter()
        .filter(|fix| fix.title.starts_with("Import "))
        .flat_map(|fix| quoted(&fix.title))
        .collect();
    fixes.retain(|fix| {
        let path = quoted(&fix.title);
        let is_longer =
            fix.title.starts_with("Qualify ") && path.iter().any(|path| imported.contains(path));
        !is_longer
    });
    fixes
}

/// Whether a fix only keeps a problem from being shown.
fn silences(title: &str) -> bool {
    const SIGNS: [&str; 9] = [
        "ignore",
        "ignored",
        "suppress",
        "disable",
        "noqa",
        "nolint",
        "silence",
        "allow",
        "expect-error",
    ];
    let title = title.to_lowercase();
    let mut words = title.split(|c: char| !c.is_alphanumeric() && c != '-');
    words.any(|word| SIGNS.contains(&word) || word.starts_with("ts-"))
}

/// Whether a fix takes away something unused while the problem is another one, which goes with it.
fn discards(title: &str, message: &str) -> bool {
    const USELESS: [&str; 6] = [
        "unused",
        "never",
        "not used",
        "unreachable",
        "unnecessary",
        "redundant",
    ];
    let (title, message) = (title.to_lowercase(), message.to_lowercase());
    let says = |text: &str| USELESS.iter().any(|word| text.contains(word));
    says(&title) && !says(&message)
}

/// What stands in backticks, quotes or double quotes.
fn quoted(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(open) = rest.find(['`', '"', '\'']) {
        let quote = &rest[open..=open];
        let Some(close) = rest[open + 1..].find(quote) else {
            break;
        };
        let word = &rest[open + 1..open + 1 + close];
        if !word.is_empty() {
            found.push(word.to_owned());
        }
        rest = &rest[open + close + 2..];
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(answer: &str, message: &str, expected: Option<&str>) {
        let actions = listed(answer);
        let best = best(&actions, message).map(|action| action.title.as_str());
        assert_eq!(best, expected, "{answer}");
    }

    #[test]
    fn the_best_fix() {
        let head = "Code actions of x at a.rs:1:1:\n";
        let of = |lines: &str| format!("{head}{lines}");
        check(
            &of("- Wrap in Some [quickfix]\n- Extract [refactor.extract]\n"),
            "m",
            Some("Wrap in Some"),
        );
        check(
            &of("- A [quickfix]\n- B [quickfix, preferred]\n"),
            "m",
            Some("B"),
        );
        check(&of("- A [quickfix]\n- B [quickfix]\n"), "m", None);
        check(
            &of("- Change spelling to 'color' [quickfix]\n- Declare 'colr' [quickfix]\n"),
            "Cannot find name 'colr'. Did you mean 'color'?",
            Some("Change spelling to 'color'"),
        );
        check(
            &of("- Use `a` [quickfix, preferred]\n- Use `b` [quickfix, preferred]\n"),
            "no `c` here: try `b`",
            Some("Use `b`"),
        );
        check(&of("- Extract [refactor.extract]\n- Plain\n"), "m", None);
        let import = "- Import `std::collections::HashSet` [quickfix]\n";
        let qualify = "- Qualify `std::collections::HashSet` [quickfix]\n";
        check(
            &of(&format!("{import}{qualify}")),
            "use of undeclared type `HashSet`",
            Some("Import `std::collections::HashSet`"),
        );
        // Which of two is meant nobody knows.
        let other = "- Import `hash::HashSet` [quickfix]\n";
        check(
            &of(&format!("{import}{qualify}{other}")),
            "use of undeclared type `HashSet`",
            None,
        );
        check(
            &of(qualify),
            "m",
            Some("Qualify `std::collections::HashSet`"),
        );
        for (lines, message, expected) in [
            (
                "- ty: ignore[unresolved-reference] [quickfix, preferred]\n",
                "Name `x` used when not defined",
                None,
            ),
            (
                "- Disable no-shadow for this line [quickfix]\n- Rename [quickfix]\n",
                "m",
                Some("Rename"),
            ),
            (
                "- Add '@ts-ignore' to all error messages [quickfix]\n",
                "m",
                None,
            ),
            (
                "- Remove unused declaration for: 's' [quickfix]\n",
                "Type 'number' is not assignable to type 'string'.",
                None,
            ),
            (
                "- Remove unused declaration for: 's' [quickfix]\n",
                "'s' is declared but its value is never read.",
                Some("Remove unused declaration for: 's'"),
            ),
        ] {
            check(&of(lines), message, expected);
        }
        check("x has no code actions at a.rs:1:1", "m", None);
        check(
            &of("- Insert `[u8]` [quickfix.insert]\n"),
            "m",
            Some("Insert `[u8]`"),
        );
    }
}
