//! Cutting what would fill the model's window. What is cut is always said, with how to get it.

/// The most that one call gives back, in bytes.
pub const MOST: usize = 50_000;
/// The longest line that is shown, in characters.
pub const LINE: usize = 2_000;

/// A line, cut if it is over-long.
pub fn line(text: &str) -> (String, bool) {
    match text.char_indices().nth(LINE) {
        None => (text.to_owned(), false),
        Some((at, _)) => (format!("{}… [line cut]", &text[..at]), true),
    }
}

/// A text of lines, cut after the last whole line that fits; `more` says how to get the rest.
pub fn text(text: String, more: &str) -> (String, bool) {
    if text.len() <= MOST {
        return (text, false);
    }
    let mut end = MOST;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let end = text[..end].rfind('\n').unwrap_or(end);
    let left = text[end..].lines().count().saturating_sub(1).max(1);
    (
        format!("{}\n[{left} more lines cut: {more}]", &text[..end]),
        true,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_cut_between_characters() {
        let (short, cut) = line(&"é".repeat(LINE));
        assert!(!cut);
        assert_eq!(short.chars().count(), LINE);
        let (long, cut) = line(&"é".repeat(LINE + 1));
        assert!(cut);
        assert!(long.starts_with(&"é".repeat(LINE)));
        assert!(long.ends_with("[line cut]"));
    }

    #[test]
    fn long_texts_are_cut_at_a_line_and_say_so() {
        let whole: String = (0..20_000).map(|n| format!("{n}é\n")).collect();
        let (cut, truncated) = text(whole.clone(), "ask for less");
        assert!(truncated);
        assert!(cut.len() < MOST + 100);
        let shown = cut.lines().count() - 1;
        let left = 20_000 - shown;
        assert!(
            cut.ends_with(&format!("[{left} more lines cut: ask for less]")),
            "{}",
            &cut[cut.len() - 60..]
        );
        assert_eq!(text("short".into(), ""), ("short".to_owned(), false));
    }
}
