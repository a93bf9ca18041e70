//! Which of a server's code actions cures a problem: the preferred one, else the only one, else the
//! one whose title names what the problem's own message suggests. Else none: never a guess.

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
    let fixes: Vec<&Listed> = actions.iter().filter(|action| action.fix).collect();
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
        check("x has no code actions at a.rs:1:1", "m", None);
        check(
            &of("- Insert `[u8]` [quickfix.insert]\n"),
            "m",
            Some("Insert `[u8]`"),
        );
    }
}
