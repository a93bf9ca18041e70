//! From a server's diagnostics to ours: moved along with the text, and each thing said once. Pure functions.

use std::collections::HashSet;

use serde_json::Value;
use workspace::{ByteOffset, ByteRange, Replacement};

use crate::answer::{Diagnostic, Severity};

/// Places and texts that diagnostics name as belonging to them: a server may say each once more as a hint of its own.
pub(super) fn parts(items: &[Value]) -> HashSet<(String, Option<&str>)> {
    let related = items
        .iter()
        .filter_map(|item| item["relatedInformation"].as_array())
        .flatten();
    related
        .map(|part| {
            (
                part["location"]["range"].to_string(),
                part["message"].as_str(),
            )
        })
        .collect()
}

pub(super) fn diagnostic(item: &Value, range: ByteRange, server: &str) -> Option<Diagnostic> {
    let message = &item["message"];
    Some(Diagnostic {
        range,
        severity: match item["severity"].as_u64() {
            Some(2) => Severity::Warning,
            Some(3) => Severity::Information,
            Some(4) => Severity::Hint,
            _ => Severity::Error,
        },
        code: match &item["code"] {
            Value::String(code) => Some(code.clone()),
            Value::Number(code) => Some(code.to_string()),
            _ => None,
        },
        source: item["source"].as_str().map(str::to_owned),
        // Newer servers may send Markdown.
        message: message
            .as_str()
            .or_else(|| message["value"].as_str())?
            .to_owned(),
        server: Some(server.to_owned()),
        raw: item.clone(),
    })
}

/// A range of the text before a change, in the text after it.
pub(crate) fn carried(range: ByteRange, change: &Replacement) -> ByteRange {
    let end_of_new = change.range.start.0 + change.text.len();
    let shifted = |offset: usize| offset - change.range.end.0 + end_of_new;
    let start = match range.start.0 {
        start if start >= change.range.end.0 => shifted(start),
        start if start <= change.range.start.0 => start,
        _ => change.range.start.0,
    };
    let end = match range.end.0 {
        end if end >= change.range.end.0 && end > change.range.start.0 => shifted(end),
        end if end <= change.range.start.0 => end,
        _ => end_of_new,
    };
    ByteRange {
        start: ByteOffset(start),
        end: ByteOffset(end.max(start)),
    }
}

/// Without repetitions: a server may say one thing twice, from its own analysis and from the compiler. The first stays.
pub(super) fn each_once(diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let mut kept: Vec<Diagnostic> = Vec::with_capacity(diagnostics.len());
    for new in diagnostics {
        let is_known = kept.iter().any(|old| {
            let same_code =
                old.code.is_some() && old.code == new.code && old.severity == new.severity;
            let same_place = old.range.start == new.range.start || overlap(old.range, new.range);
            (same_code && same_place && old.source != new.source)
                || (old.range == new.range && old.message == new.message)
        });
        if !is_known {
            kept.push(new);
        }
    }
    kept.sort_by_key(|one| (one.range, one.severity));
    kept
}

fn overlap(a: ByteRange, b: ByteRange) -> bool {
    a.start < b.end && b.start < a.end
}
