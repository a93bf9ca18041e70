//! Names: what of a server's name is the name, and where one stands in a text. Asks no server.

use workspace::{ByteOffset, ByteRange, Encoding, Snapshot};

pub fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !is_word(c))
        .filter(|word| !word.is_empty())
}

pub fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

/// A symbol's bare name: servers add parameters (`f(int)`) or a receiver (`(*T).f`), which then is what it is in.
pub fn bare(name: &str) -> (Option<&str>, &str) {
    if let Some(rest) = name.strip_prefix('(')
        && let Some((receiver, method)) = rest.split_once(").")
    {
        return (Some(receiver.trim_start_matches('*')), method);
    }
    // A function without a name that is given to `f` (tsserver): it is not what `f` is.
    if name.ends_with(") callback") {
        return (None, name);
    }
    let end = name.find(['(', '<']).filter(|end| *end > 0);
    (None, end.map_or(name, |end| name[..end].trim_end()))
}

/// Where a name stands in a text as a whole word.
pub fn occurrences(snapshot: &Snapshot, name: &str) -> Vec<ByteOffset> {
    let text = snapshot.text.to_string();
    whole_words(&text, name).map(ByteOffset).collect()
}

fn whole_words<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = usize> {
    let is_whole = move |at: &usize| {
        let before = text[..*at].chars().next_back();
        let after = text[*at + name.len()..].chars().next();
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    };
    text.match_indices(name).map(|(at, _)| at).filter(is_whole)
}

/// Servers give a symbol's name, or all of it: the name in it is what can be asked about.
pub fn name_in(snapshot: &Snapshot, range: ByteRange, name: &str) -> ByteOffset {
    found_in(snapshot, range, name).unwrap_or(range.start)
}

/// Where a name stands in a range: rather in code than in the comment or the attributes above it.
pub fn found_in(snapshot: &Snapshot, range: ByteRange, name: &str) -> Option<ByteOffset> {
    const MARKS: [&str; 6] = ["//", "/*", "*", "#", "@", "--"];
    if name.is_empty() {
        return None;
    }
    let text = snapshot.text.slice(range);
    let text: &str = &text;
    let is_said = |at: &usize| {
        let line = text[..*at].rfind('\n').map_or(0, |end| end + 1);
        let line = text[line..].trim_start();
        MARKS.iter().any(|mark| line.starts_with(mark))
    };
    let declared = whole_words(text, name).find(|at| !is_said(at));
    let at = declared.or_else(|| whole_words(text, name).next())?;
    Some(ByteOffset(range.start.0 + at))
}

/// Whether a place that a name leads to is a module's: all of a file or its start, or a name after the word for one.
pub fn is_module_name(snapshot: &Snapshot, range: ByteRange, name: &str) -> bool {
    const WORDS: [&str; 4] = ["mod", "module", "namespace", "package"];
    let text = &snapshot.text;
    if range.start.0 == 0 {
        let start = ByteRange::new(0, name.len().min(text.len()));
        let is_start = range.start == range.end && text.slice(start) != name;
        if is_start || range.end.0 >= text.len() {
            return true;
        }
    }
    let line = text.position(range.start, Encoding::Utf8).line as usize;
    let before = ByteRange {
        start: text.line_start(line),
        end: range.start,
    };
    let before = text.slice(before);
    before
        .split_whitespace()
        .next_back()
        .is_some_and(|word| WORDS.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::bare;

    #[test]
    fn bare_names() {
        for (name, expected) in [
            ("f", (None, "f")),
            ("f(int)", (None, "f")),
            ("(*T).f", (Some("T"), "f")),
            ("f() callback", (None, "f() callback")),
        ] {
            assert_eq!(bare(name), expected, "{name}");
        }
    }
}
