//! Our own types as LSP's JSON and back: positions in the client's encoding, and diagnostics. It
//! decides nothing.

pub(crate) use agent::range_json;
use langserver::{Diagnostic, Severity};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use workspace::{ByteRange, Encoding, Range, Text};

use crate::params::Span;

/// A problem as the client knows it: LSP's own JSON, and what we look at.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Value")]
pub(crate) struct Problem {
    pub(crate) range: Range,
    pub(crate) message: String,
    pub(crate) json: Value,
}

impl Problem {
    /// Reads a diagnostic that a client sent. Only its range and its message must be there.
    pub(crate) fn read(json: Value) -> Result<Self, String> {
        let span = Span::deserialize(&json["range"]).map_err(|error| format!("range: {error}"))?;
        // LSP 3.18 lets a message be marked-up text.
        let message = json["message"]
            .as_str()
            .or_else(|| json["message"]["value"].as_str());
        let message = message.ok_or("message: missing")?.to_owned();
        Ok(Self {
            range: span.0,
            message,
            json,
        })
    }

    /// A diagnostic of ours, for the client.
    pub(crate) fn of(diagnostic: &Diagnostic, text: &Text, encoding: Encoding) -> Self {
        let range = text.range(diagnostic.range, encoding);
        let mut json = Map::new();
        json.insert("range".into(), range_json(range));
        json.insert(
            "severity".into(),
            json!(severity_number(diagnostic.severity)),
        );
        if let Some(code) = &diagnostic.code {
            json.insert("code".into(), json!(code));
        }
        if let Some(source) = &diagnostic.source {
            json.insert("source".into(), json!(source));
        }
        json.insert("message".into(), json!(diagnostic.message));
        Self {
            range,
            message: diagnostic.message.clone(),
            json: json.into(),
        }
    }

    /// The same as one of ours, if it is none of those that are `known`: those lost nothing on the
    /// way.
    pub(crate) fn into_diagnostic(
        self,
        known: &[Diagnostic],
        text: &Text,
        encoding: Encoding,
    ) -> Diagnostic {
        let range = text.byte_range(self.range, encoding);
        let same = |one: &&Diagnostic| one.range == range && one.message == self.message;
        if let Some(known) = known.iter().find(same) {
            return known.clone();
        }
        let code = match &self.json["code"] {
            Value::String(code) => Some(code.clone()),
            Value::Number(code) => Some(code.to_string()),
            _ => None,
        };
        Diagnostic {
            range,
            severity: severity_of(self.json["severity"].as_u64()),
            code,
            source: self.json["source"].as_str().map(str::to_owned),
            message: self.message,
            server: None,
            raw: self.json,
        }
    }

    /// Whether it is no more than a hint: nobody means those by "all problems".
    pub(crate) fn is_hint(&self) -> bool {
        severity_of(self.json["severity"].as_u64()) > Severity::Warning
    }

    /// The first line of its message that says something.
    pub(crate) fn headline(&self) -> &str {
        self.message
            .lines()
            .map(str::trim)
            .find(|line| !line.is_empty())
            .unwrap_or("no message")
    }
}

impl TryFrom<Value> for Problem {
    type Error = String;

    fn try_from(json: Value) -> Result<Self, String> {
        Self::read(json)
    }
}

/// Whether two stretches share a character or touch.
pub(crate) fn meet(one: ByteRange, other: ByteRange) -> bool {
    one.start <= other.end && other.start <= one.end
}

/// The whole of the lines that a stretch is on, without the end of the last.
pub(crate) fn whole_lines(text: &Text, range: ByteRange) -> ByteRange {
    let line = |offset| text.position(offset, Encoding::Utf8).line as usize;
    let last = line(range.end);
    let start = text.line_start(line(range.start));
    let end = text.line_start(last).0 + text.line(last).map_or(0, |line| line.len());
    ByteRange::new(start.0, end.max(range.end.0))
}

fn severity_number(severity: Severity) -> u8 {
    match severity {
        Severity::Error => 1,
        Severity::Warning => 2,
        Severity::Information => 3,
        Severity::Hint => 4,
    }
}

/// An absent severity is for the client to interpret; as an error it is not overlooked.
fn severity_of(number: Option<u64>) -> Severity {
    match number {
        Some(2) => Severity::Warning,
        Some(3) => Severity::Information,
        Some(4) => Severity::Hint,
        _ => Severity::Error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(start: usize, end: usize) -> ByteRange {
        ByteRange::new(start, end)
    }

    #[test]
    fn lines_of_a_stretch() {
        let text = Text::new("ab\r\n\u{1f600}d\n\nlast");
        for (range, expected) in [
            (bytes(1, 1), bytes(0, 2)),
            (bytes(4, 4), bytes(4, 9)),
            (bytes(1, 8), bytes(0, 9)),
            (bytes(10, 10), bytes(10, 10)),
            (bytes(12, 15), bytes(11, 15)),
        ] {
            assert_eq!(whole_lines(&text, range), expected, "{range:?}");
        }
    }

    #[test]
    fn stretches_that_meet() {
        assert!(
            meet(bytes(1, 3), bytes(3, 5))
                && meet(bytes(3, 5), bytes(1, 3))
                && meet(bytes(2, 2), bytes(1, 3))
        );
        assert!(!meet(bytes(1, 3), bytes(4, 5)) && !meet(bytes(4, 4), bytes(1, 3)));
    }

    #[test]
    fn a_diagnostic_comes_back_as_itself() {
        let text = Text::new("let \u{1f600} = 1;\n");
        let ours = Diagnostic {
            range: bytes(4, 8),
            severity: Severity::Warning,
            code: Some("unused".into()),
            source: Some("rustc".into()),
            message: "unused\nvariable".into(),
            server: Some("rust-analyzer".into()),
            raw: json!({"data": 7}),
        };
        let problem = Problem::of(&ours, &text, Encoding::Utf16);
        assert_eq!(
            problem.json,
            json!({
                "range": {"start": {"line": 0, "character": 4}, "end": {"line": 0, "character": 6}},
                "severity": 2, "code": "unused", "source": "rustc", "message": "unused\nvariable",
            })
        );
        assert_eq!(problem.headline(), "unused");
        let again = Problem::read(problem.json.clone()).expect("readable");
        let back =
            again
                .clone()
                .into_diagnostic(std::slice::from_ref(&ours), &text, Encoding::Utf16);
        assert_eq!(back.raw, ours.raw, "it is the very one");
        let unknown = again.into_diagnostic(&[], &text, Encoding::Utf16);
        assert_eq!(
            (unknown.range, unknown.severity, unknown.raw),
            (ours.range, ours.severity, problem.json)
        );
    }

    #[test]
    fn odd_diagnostics() {
        let range =
            json!({"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}});
        let read = |json: Value| Problem::read(json).map(|problem| problem.message);
        assert_eq!(
            read(json!({"range": range, "message": {"kind": "markdown", "value": "*x*"}})),
            Ok("*x*".to_owned())
        );
        assert_eq!(
            read(json!({"range": range})),
            Err("message: missing".to_owned())
        );
        assert!(read(json!({"message": "x"})).is_err_and(|error| error.starts_with("range: ")));
        let numbered =
            Problem::read(json!({"range": range, "message": "", "code": 2304})).expect("readable");
        assert_eq!(numbered.headline(), "no message");
        assert_eq!(
            numbered
                .into_diagnostic(&[], &Text::new("x"), Encoding::Utf8)
                .code
                .as_deref(),
            Some("2304")
        );
    }
}
