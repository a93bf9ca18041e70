//! What a small model is told of a problem: what is wrong, in which line, what the things are that the line names, and
//! the lines that it is to write anew.

use std::{fmt::Write as _, ops::Range, time::Duration};

use langserver::{Diagnostic, Symbol};
use tokio::time::timeout;
use tools::Context;
use workspace::{ByteRange, Encoding, Snapshot};

use super::{answer::is_import, known::known, lines::Lines};

/// A text of so few lines is shown whole.
const WHOLE: usize = 10;
/// So many lines of imports are shown of a text that is not.
const IMPORTS: usize = 12;
/// What encloses a problem is shown whole if it has no more lines.
const PART: usize = 40;
/// So many lines are shown on either side where it has.
const AROUND: usize = 12;
/// How long one waits for what encloses the problem.
const MOMENT: Duration = Duration::from_secs(4);

pub(crate) struct Brief {
    /// For the model.
    pub text: String,
    /// What it is asked for when that was wrong.
    pub again: String,
    /// The whole text that it is about, its lines ended by `\n` alone.
    pub whole: String,
    /// The lines that are to be written anew, from 0.
    pub lines: Range<usize>,
    /// Those with the problem.
    pub wrong: Range<usize>,
    /// Which of the problems lie in them.
    pub about: Vec<Diagnostic>,
}

impl Brief {
    /// Of the first of these problems of a text, and of those beside it.
    pub async fn of(text: &Snapshot, problems: &[Diagnostic], cx: &Context) -> Option<Self> {
        let first = problems.first()?;
        let all = Lines::of(text);
        let line_of = |offset| text.text.position(offset, Encoding::Utf8).line as usize;
        let wrong = line_of(first.range.start)..line_of(first.range.end) + 1;
        let lines = match all.count() <= WHOLE {
            true => 0..all.count(),
            false => part(text, first, &wrong, cx).await,
        };
        let lines = lines.start..lines.end.min(all.count()).max(lines.start);
        let shown = ByteRange {
            start: text.text.line_start(lines.start),
            end: text.text.line_start(lines.end),
        };
        let is_here = |problem: &&Diagnostic| lines.contains(&line_of(problem.range.start));
        let about: Vec<Diagnostic> = problems.iter().filter(is_here).cloned().collect();
        let known = known(text, shown, &about, cx).await;
        let imports = imports(&all, &lines);
        let mut told = format!("File: {}\n", cx.shown(&text.uri));
        let language = text.language.as_deref().unwrap_or_default();
        if !imports.is_empty() {
            let _ = write!(told, "\nThe file imports:\n```\n{imports}```\n");
        }
        let code = |lines: Range<usize>| {
            let mut code = format!("```{language}\n");
            for line in lines {
                let _ = writeln!(code, "{}", all.get(line).unwrap_or_default());
            }
            code + "```\n"
        };
        let (first_line, last_line) = (lines.start + 1, lines.end);
        let _ = write!(
            told,
            "\nLines {first_line} to {last_line} are:\n{}",
            code(lines.clone())
        );
        if !known.is_empty() {
            let _ = write!(told, "\nWhat is known:\n{known}");
        }
        told.push('\n');
        for problem in &about {
            let line = line_of(problem.range.start);
            let _ = writeln!(told, "Problem in line {}: {}", line + 1, message(problem));
        }
        let at = wrong.start;
        let _ = write!(
            told,
            "\nLine {} is:\n{}Write this line again, corrected, in one code block. It may become several lines.",
            at + 1,
            code(at..at + 1)
        );
        if lines.start > 0 {
            told.push_str(" If an import is missing, put it first in the block.");
        }
        let head = all.get(lines.start).unwrap_or_default().trim();
        let again = format!(
            "Try another way: answer with lines {first_line} to {last_line}, corrected and complete, in one code block. \
             They begin with `{head}`."
        );
        Some(Brief {
            text: told,
            again,
            whole: all.joined(),
            lines,
            wrong,
            about,
        })
    }
}

/// A problem in words, without what only repeats it.
pub(crate) fn message(problem: &Diagnostic) -> String {
    const LINES: usize = 6;
    let code = problem
        .code
        .as_deref()
        .map_or_else(String::new, |code| format!("[{code}] "));
    let lines: Vec<&str> = problem
        .message
        .lines()
        .map(str::trim_end)
        .filter(|line| !line.is_empty())
        .take(LINES)
        .collect();
    format!("{code}{}", lines.join("\n"))
}

/// The imports of a text that stand above some of its lines.
fn imports(all: &Lines, lines: &Range<usize>) -> String {
    let above = (0..lines.start).filter_map(|line| all.get(line));
    let mut found = String::new();
    for line in above.filter(|line| is_import(line)).take(IMPORTS) {
        found.push_str(line);
        found.push('\n');
    }
    found
}

/// The lines of what encloses a problem: the smallest function that is whole, else the largest thing that can be shown whole,
/// else some lines around it.
async fn part(
    text: &Snapshot,
    problem: &Diagnostic,
    wrong: &Range<usize>,
    cx: &Context,
) -> Range<usize> {
    let asked = cx.pool.document_symbols(&text.uri, &cx.cancel);
    let symbols = match timeout(MOMENT, asked).await {
        Ok(Ok(answer)) if answer.value.0.text == text.text => answer.value.1,
        _ => Vec::new(),
    };
    let line_of = |offset| text.text.position(offset, Encoding::Utf8).line as usize;
    let mut around = Vec::new();
    enclosing(&symbols, problem.range, &mut around);
    let of = |symbol: &&Symbol| line_of(symbol.range.start)..line_of(symbol.range.end) + 1;
    let fits = |lines: &Range<usize>| (2..=PART).contains(&lines.len());
    let functions = around
        .iter()
        .filter(|symbol| matches!(symbol.kind.0, 6 | 9 | 12));
    let function = functions.map(of).rfind(fits);
    if let Some(lines) = function.or_else(|| around.iter().map(of).find(fits)) {
        return lines;
    }
    let near = wrong.start.saturating_sub(AROUND)..wrong.start + AROUND + 1;
    match around.last().map(of) {
        Some(lines) if lines.len() > PART => near.start.max(lines.start)..near.end.min(lines.end),
        _ => near,
    }
}

/// What a range lies in, the outermost first.
fn enclosing<'a>(symbols: &'a [Symbol], range: ByteRange, found: &mut Vec<&'a Symbol>) {
    for symbol in symbols {
        if symbol.range.start <= range.start && range.start < symbol.range.end {
            found.push(symbol);
            enclosing(&symbol.children, range, found);
            return;
        }
    }
}
