//! Differences as people and models read them: the unified form.

use workspace::{Applied, Text};

/// A unified diff between two texts, with three lines around each change.
pub fn unified(path: &str, before: &str, after: &str) -> String {
    similar::TextDiff::from_lines(before, after)
        .unified_diff()
        .context_radius(3)
        .header(&format!("a/{path}"), &format!("b/{path}"))
        .to_string()
}

/// The lines around one line (from 0), numbered.
pub fn around(text: &Text, line: usize) -> String {
    const AROUND: usize = 8;
    let last = (line + AROUND).min(last_line(text));
    (line.saturating_sub(AROUND)..=last)
        .map(|number| numbered(text, number))
        .collect()
}

/// The last line that holds something: a text that ends in a line end has an empty one more, by LSP's count.
fn last_line(text: &Text) -> usize {
    let last = text.line_count().saturating_sub(1);
    match text.line(last) {
        Some(line) if !line.is_empty() => last,
        _ => last.saturating_sub(1),
    }
}

fn numbered(text: &Text, number: usize) -> String {
    let (content, _) = crate::truncate::line(&text.line(number).unwrap_or_default());
    format!("{:>6}\t{content}\n", number + 1)
}

/// The lines that a change put down, numbered, for the model to see what stands there now.
pub fn shown(applied: &Applied) -> String {
    const AROUND: usize = 2;
    const MOST: usize = 40;
    let text = &applied.after.text;
    let line_of = |offset| text.position(offset, workspace::Encoding::Utf32).line as usize;
    let mut out = String::new();
    let mut next = 0;
    let mut lines = 0;
    for hunk in &applied.hunks {
        let first = line_of(hunk.range.start).saturating_sub(AROUND).max(next);
        let last = (line_of(hunk.range.end) + AROUND).min(last_line(text));
        if first > next && next > 0 {
            out.push_str("     …\n");
        }
        for number in first..=last {
            if lines == MOST {
                out.push_str("     …\n");
                return out;
            }
            out.push_str(&numbered(text, number));
            lines += 1;
        }
        next = last + 1;
    }
    out
}
