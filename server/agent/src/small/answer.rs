//! Code that a model answers with, made a change of the lines that it was shown. It looks only at texts: which lines are
//! meant, what of them was left out in the answer and is to stay, and how far they are to be indented. It never guesses
//! where more than one place could be meant.

use std::ops::Range;

use thiserror::Error;

use super::align::{Aligned, aligned};

/// The lines of a text that a model was shown.
pub(crate) struct Shown<'a> {
    /// The whole text, its lines ended by `\n` alone.
    pub text: &'a str,
    /// Which lines of it were shown, from 0.
    pub lines: Range<usize>,
    /// Which of them have the problem.
    pub wrong: Range<usize>,
}

/// One replacement of text that stands there exactly once.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Change {
    /// What stands there.
    pub old: String,
    /// What takes its place.
    pub new: String,
}

/// Why an answer changes nothing; the text goes to the model.
#[derive(Debug, PartialEq, Eq, Error)]
pub(crate) enum Unusable {
    #[error("There is no code block in your answer.")]
    NoCode,
    #[error("That is the same code as before: nothing is changed.")]
    Same,
    #[error("It is not clear which lines your code replaces.")]
    Unclear,
}

/// The changes that an answer means.
pub(crate) fn changes(answer: &str, shown: &Shown<'_>) -> Result<Vec<Change>, Unusable> {
    let lines: Vec<&str> = shown.text.lines().collect();
    let end = shown.lines.end.min(lines.len());
    let start = shown.lines.start.min(end);
    let old = &lines[start..end];
    let wrong = shown.wrong.start.saturating_sub(start)..shown.wrong.end.saturating_sub(start);
    let block = blocks(answer)
        .into_iter()
        .map(|block| cleaned(&block, old))
        .max_by_key(|block| likeness(block, old))
        .ok_or(Unusable::NoCode)?;
    let (imports, code) = match start {
        0 => (Vec::new(), block),
        _ => imports_apart(block, old, &lines),
    };
    let code: Vec<&str> = code.iter().map(String::as_str).collect();
    let mut made = Vec::new();
    let mut whole: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
    if !code.is_empty() {
        let Aligned { range, lines: new } = aligned(old, &code, wrong).ok_or(Unusable::Unclear)?;
        let range = start + range.start..start + range.end;
        if let Some(change) = change(&whole, range.clone(), &new) {
            whole.splice(range, new);
            made.push(change);
        }
    }
    if !imports.is_empty() {
        let at = after_imports(&whole);
        made.extend(change(&whole, at..at, &imports));
    }
    match made.is_empty() {
        true => Err(Unusable::Same),
        false => Ok(made),
    }
}

/// The blocks of code of an answer; the last may not be closed. Without any, the answer may be nothing but code.
fn blocks(answer: &str) -> Vec<Vec<String>> {
    let mut blocks = Vec::new();
    let mut open: Option<Vec<String>> = None;
    for line in answer.lines() {
        let is_fence = line.trim_start().starts_with("```");
        match (&mut open, is_fence) {
            (None, true) => open = Some(Vec::new()),
            (None, false) => {}
            (Some(_), true) => blocks.extend(open.take()),
            (Some(block), false) => block.push(line.to_owned()),
        }
    }
    blocks.extend(open);
    blocks.retain(|block| block.iter().any(|line| !line.trim().is_empty()));
    if blocks.is_empty() && !answer.contains("```") {
        let lines: Vec<String> = answer.lines().map(str::to_owned).collect();
        let is_code = |line: &String| line.trim_end().ends_with(['{', '}', ';', ':', ')', ',']);
        let said = lines.iter().filter(|line| !line.trim().is_empty());
        let (code, all) = said.fold((0, 0), |(code, all), line| {
            (code + usize::from(is_code(line)), all + 1)
        });
        if all > 0 && code * 3 >= all * 2 {
            blocks.push(lines);
        }
    }
    blocks
}

/// Without what was shown beside the code and is none of it: line numbers, the file's name, empty lines around.
fn cleaned(block: &[String], old: &[&str]) -> Vec<String> {
    let mut lines: Vec<String> = block
        .iter()
        .map(|line| line.trim_end().to_owned())
        .collect();
    let number = |line: &str| -> Option<usize> {
        let rest = line.trim_start();
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let after = rest.get(digits..)?;
        let is_number = digits > 0
            && (after.is_empty() || after.starts_with(['\t', '|', ':']) || after.starts_with(" |"));
        is_number.then(|| line.len() - after.len())
    };
    let said = || lines.iter().filter(|line| !line.is_empty());
    let was_numbered = old
        .iter()
        .filter(|line| !line.is_empty())
        .all(|line| number(line).is_some());
    if !was_numbered && said().count() > 0 && said().all(|line| number(line).is_some()) {
        for line in &mut lines {
            let after = number(line).map_or("", |at| &line[at..]);
            let bare = after
                .strip_prefix(" |")
                .or_else(|| after.strip_prefix(['\t', '|', ':']));
            let bare = bare.unwrap_or(after);
            // With a bar or colon one blank stands before the code.
            *line = match after.starts_with('\t') {
                true => bare.to_owned(),
                false => bare.strip_prefix(' ').unwrap_or(bare).to_owned(),
            };
        }
    }
    let is_name = |line: &str| {
        let comment = line.trim_start_matches(['/', '#', '-', ' ']);
        let is_comment = comment.len() < line.len();
        let path = comment.trim_end_matches([':', ' ']);
        is_comment && path.contains('.') && !path.contains(' ') && !old.contains(&line)
    };
    if lines.first().is_some_and(|line| is_name(line)) {
        lines.remove(0);
    }
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    let empty = lines.iter().take_while(|line| line.is_empty()).count();
    lines.drain(..empty);
    lines
}

/// How many lines of a block were shown.
fn likeness(block: &[String], old: &[&str]) -> usize {
    let is_shown = |line: &&String| {
        let line = line.trim();
        line.len() > 1 && old.iter().any(|old| old.trim() == line)
    };
    block.iter().filter(is_shown).count()
}

/// Imports that stand at the head of a block and not in the lines that were shown: those that the text does not have yet,
/// and the rest of the block.
fn imports_apart(mut block: Vec<String>, old: &[&str], all: &[&str]) -> (Vec<String>, Vec<String>) {
    let is_apart = |line: &String| {
        line.is_empty() || (is_import(line) && !old.iter().any(|old| old.trim() == line.trim()))
    };
    let head = block.iter().take_while(|line| is_apart(line)).count();
    let code = block.split_off(head);
    let is_new =
        |line: &String| !line.is_empty() && !all.iter().any(|known| known.trim() == line.trim());
    block.retain(is_new);
    (block, code)
}

/// Whether a line brings something into a file from elsewhere.
pub(super) fn is_import(line: &str) -> bool {
    const HEADS: [&str; 6] = [
        "use ",
        "pub use ",
        "import ",
        "from ",
        "#include ",
        "extern crate ",
    ];
    !line.starts_with([' ', '\t'])
        && (HEADS.iter().any(|head| line.starts_with(head))
            || (line.starts_with("const ") && line.contains("require(")))
}

/// The line after the last import of a text's head; without any, after what must stand first.
fn after_imports(lines: &[String]) -> usize {
    let last = lines.iter().rposition(|line| is_import(line));
    if let Some(last) = last {
        // One that goes on over several lines ends where a line is not indented.
        let opens = lines[last].trim_end().ends_with(['{', '(']);
        let rest = lines[last + 1..].iter();
        let more = match opens {
            true => {
                rest.take_while(|line| line.starts_with([' ', '\t']))
                    .count()
                    + 1
            }
            false => 0,
        };
        return (last + 1 + more).min(lines.len());
    }
    let is_head = |line: &String| {
        let heads = ["#!", "//!", "# -*-", "\"use ", "'use "];
        heads.iter().any(|head| line.starts_with(head))
    };
    let mut at = lines.iter().take_while(|line| is_head(line)).count();
    // What a module says of itself stands first.
    let quotes = ["\"\"\"", "'''"];
    let opened = |line: &String| quotes.into_iter().find(|quote| line.starts_with(quote));
    if let Some(quote) = lines.get(at).and_then(opened) {
        let is_one = lines[at].len() > quote.len() && lines[at].ends_with(quote);
        let ends = |line: &String| line.trim_end().ends_with(quote);
        at += match is_one {
            true => 1,
            false => lines[at + 1..]
                .iter()
                .position(ends)
                .map_or(0, |end| end + 2),
        };
    }
    at
}

/// The replacement of some lines by others, as small as it can be and still stand there once. `None`: they are the same.
fn change(all: &[String], range: Range<usize>, new: &[String]) -> Option<Change> {
    let old = &all[range.clone()];
    let before = old
        .iter()
        .zip(new)
        .take_while(|(old, new)| old == new)
        .count();
    let left = old.len().min(new.len()) - before;
    let after = old.iter().rev().zip(new.iter().rev());
    let after = after.take_while(|(old, new)| old == new).count().min(left);
    let (mut start, mut end) = (range.start + before, range.end - after);
    let mut new: Vec<String> = new[before..new.len() - after].to_vec();
    if start == end && new.is_empty() {
        return None;
    }
    let text = all.join("\n");
    let joined = |lines: &[String], is_last: bool| {
        let mut text = lines.join("\n");
        // The last line may have no end.
        if !is_last && !lines.is_empty() {
            text.push('\n');
        }
        text
    };
    // With the lines around until there is only one such place.
    loop {
        let is_last = end == all.len();
        let old = joined(&all[start..end], is_last);
        let is_once = !old.trim().is_empty() && text.matches(&*old).count() == 1;
        if is_once || (start == 0 && is_last) {
            let new = joined(&new, is_last);
            return Some(Change { old, new });
        }
        if start > 0 {
            start -= 1;
            new.insert(0, all[start].clone());
        }
        if end < all.len() {
            new.push(all[end].clone());
            end += 1;
        }
    }
}

#[cfg(test)]
mod tests;
