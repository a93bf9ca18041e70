//! Diagnostics as one line of text each, and back: the form in which prompts and tools tell them to
//! a model. `path:line:character: severity[code] message (source)`, both numbers from 1 and in
//! characters; further lines of a message are indented.

use std::fmt;

use langserver::{Diagnostic, Severity};
use workspace::{Encoding, Snapshot};

/// One diagnostic, as text holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file, as the model names it.
    pub path: String,
    /// From 1.
    pub line: u32,
    /// From 1, in characters.
    pub character: u32,
    /// `error`, `warning`, `information` or `hint`.
    pub severity: String,
    /// The source's own name for it: `E0308`.
    pub code: Option<String>,
    /// What is wrong.
    pub message: String,
    /// Who says so: `rust-analyzer`.
    pub source: Option<String>,
}

impl Problem {
    /// A diagnostic of this text.
    pub fn new(path: String, diagnostic: &Diagnostic, snapshot: &Snapshot) -> Self {
        let at = snapshot
            .text
            .position(diagnostic.range.start, Encoding::Utf32);
        Problem {
            path,
            line: at.line + 1,
            character: at.character + 1,
            severity: severity(diagnostic.severity).to_owned(),
            code: diagnostic.code.clone(),
            message: diagnostic.message.trim().to_owned(),
            source: diagnostic.source.clone(),
        }
    }

    /// Every problem that a text tells, in order.
    pub fn parse_all(text: &str) -> Vec<Problem> {
        let mut problems: Vec<Problem> = Vec::new();
        let mut open = false;
        for line in text.lines() {
            if let Some(more) = line.strip_prefix(INDENT)
                && open
            {
                if let Some(last) = problems.last_mut() {
                    last.append(more);
                }
            } else if let Some(problem) = Problem::parse(line) {
                problems.push(problem);
                open = true;
            } else {
                open = false;
            }
        }
        problems
    }

    fn parse(line: &str) -> Option<Problem> {
        SEVERITIES.iter().find_map(|severity| {
            // The path may hold anything, so the line is read around its severity.
            let mark = format!(": {severity}");
            line.match_indices(&mark).find_map(|(at, _)| {
                let (place, rest) = (&line[..at], &line[at + mark.len()..]);
                let (place, character) = place.rsplit_once(':')?;
                let (path, line) = place.rsplit_once(':')?;
                let (code, rest) = match rest.strip_prefix('[') {
                    None => (None, rest),
                    Some(rest) => {
                        let (code, rest) = rest.split_once("] ")?;
                        (Some(code.to_owned()), rest)
                    }
                };
                let mut problem = Problem {
                    path: path.to_owned(),
                    line: line.parse().ok()?,
                    character: character.parse().ok()?,
                    severity: (*severity).to_owned(),
                    code,
                    message: String::new(),
                    source: None,
                };
                problem.append(rest.strip_prefix(' ').unwrap_or(rest));
                Some(problem)
            })
        })
    }

    /// Takes one more line of the message; the source stands at the end of the last.
    fn append(&mut self, line: &str) {
        if !self.message.is_empty() {
            self.message.push('\n');
        }
        let named = line
            .strip_suffix(')')
            .and_then(|line| line.rsplit_once(" ("))
            .filter(|(_, source)| !source.contains(['(', ')']));
        match named {
            Some((message, source)) => {
                self.message.push_str(message);
                self.source = Some(source.to_owned());
            }
            None => self.message.push_str(line),
        }
    }
}

const INDENT: &str = "    ";
const SEVERITIES: [&str; 4] = ["error", "warning", "information", "hint"];

fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => SEVERITIES[0],
        Severity::Warning => SEVERITIES[1],
        Severity::Information => SEVERITIES[2],
        Severity::Hint => SEVERITIES[3],
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Problem {
            path,
            line,
            character,
            severity,
            ..
        } = self;
        write!(f, "{path}:{line}:{character}: {severity}")?;
        if let Some(code) = &self.code {
            write!(f, "[{code}]")?;
        }
        write!(f, " {}", self.message.replace('\n', &format!("\n{INDENT}")))?;
        match &self.source {
            Some(source) => write!(f, " ({source})"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(path: &str, code: Option<&str>, message: &str, source: Option<&str>) -> Problem {
        Problem {
            path: path.into(),
            line: 12,
            character: 5,
            severity: "error".into(),
            code: code.map(Into::into),
            message: message.into(),
            source: source.map(Into::into),
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        let cases = [
            problem(
                "src/lib.rs",
                Some("E0308"),
                "mismatched types",
                Some("rust-analyzer"),
            ),
            problem("src/lib.rs", None, "a: b (c)", Some("x")),
            problem(
                "src/lib.rs",
                None,
                "expected `u8`,\nfound `u16`\n\nnote: that",
                Some("rustc"),
            ),
            problem(
                "C:\\src\\a b.rs",
                Some("no-shadow"),
                "'x' is shadowed: error in y",
                Some("eslint"),
            ),
            problem("odd: error.py", None, "no source", None),
        ];
        let text: String = cases.iter().map(|case| format!("{case}\n")).collect();
        assert_eq!(
            Problem::parse_all(&format!("Two lines\n{text}the end")),
            cases
        );
    }
}
