//! `diagnostics`: in three states, since silence is never "clean". What counts is an error or a warning; hints are told
//! apart.

use std::collections::HashSet;

use langserver::{Diagnosis, Diagnostic, Severity};
use workspace::Snapshot;

use super::{DEADLINE, File, count};
use crate::{
    context::Context,
    hints,
    problems::Problem,
    tool::{Output, ToolError},
    truncate,
};

/// How many problems are told, the worst first.
const MOST: usize = 30;

/// How far what is said can be trusted.
enum State {
    /// The server has looked at the newest text. With what else is to be said of that.
    Checked(String),
    /// The same, but this says that it means less.
    But(String),
    /// It has not. Why, if more is known of that.
    Pending(Option<String>),
}

pub async fn all(at: &File, cx: &Context) -> Result<Output, ToolError> {
    let diagnosis = cx
        .pool
        .diagnostics(&at.snapshot.uri, DEADLINE, &cx.cancel)
        .await;
    if cx.cancel.is_cancelled() {
        return Err(ToolError::Cancelled);
    }
    let (state, list) = match diagnosis {
        Diagnosis::Unavailable(reason) => {
            return Err(ToolError::Failed(format!(
                "diagnostics of {} are unavailable: {reason}",
                at.shown
            )));
        }
        // What it could not load it has not checked, though it found nothing.
        Diagnosis::Fresh(list) => match cx.pool.caution(&at.snapshot.uri) {
            None => (State::Checked(unchecked(at, cx)), list),
            Some(caution) => {
                let but = format!("{}{}", caution.words, unchecked(at, cx));
                (State::But(but), list)
            }
        },
        Diagnosis::Pending(list) => {
            let why = cx.pool.pending_because(&at.snapshot.uri);
            (State::Pending(why), list)
        }
    };
    // The text may have moved on while the server worked.
    let snapshot = cx.read(&at.snapshot.uri)?;
    Ok(told(&at.shown, &state, list, &snapshot))
}

fn told(shown: &str, state: &State, mut list: Vec<Diagnostic>, snapshot: &Snapshot) -> Output {
    list.sort_by_key(|diagnostic| (diagnostic.severity, diagnostic.range.start));
    let worth = list.partition_point(|one| one.severity <= Severity::Warning);
    let hinted: Vec<Problem> = list
        .split_off(worth)
        .iter()
        .map(|one| Problem::new(shown.to_owned(), one, snapshot))
        .collect();
    let mut text = heading(shown, state, list.len());
    text.push('\n');
    let mut notes_told: HashSet<String> = HashSet::new();
    for diagnostic in list.iter().take(MOST) {
        let mut problem = Problem::new(shown.to_owned(), diagnostic, snapshot);
        // A compiler gives the same notes to each of a kind.
        if let Some((what, notes)) = problem.message.split_once('\n')
            && !notes_told.insert(notes.to_owned())
        {
            problem.message = what.to_owned();
        }
        text.push_str(&format!("{problem}\n"));
    }
    if list.len() > MOST {
        text.push_str(&format!("[{} more: cure these first]\n", list.len() - MOST));
    }
    if let Some(line) = hints::line(&hinted) {
        let and = if list.is_empty() { "" } else { "and " };
        text.push_str(&format!("{and}{line}\n"));
    }
    let (text, cut) = truncate::text(text, "cure these first");
    Output {
        text,
        truncated: cut || list.len() > MOST,
        ..Output::default()
    }
}

fn heading(shown: &str, state: &State, problems: usize) -> String {
    let pending = |why: &Option<String>| {
        let why = why.as_deref();
        let why = why.unwrap_or("the server has not checked the newest text yet");
        format!("PENDING: {why}")
    };
    match (state, problems) {
        (State::Checked(more), 0) => format!("No problems in {shown} (checked just now{more})"),
        (State::But(but), 0) => format!("No problems found in {shown}, but {but}"),
        (State::Pending(None), 0) => format!(
            "Nothing known of {shown} ({}, and told of no problem before)",
            pending(&None)
        ),
        (State::Pending(why), 0) => format!("Nothing known of {shown} ({})", pending(why)),
        (state, many) => {
            let state = match state {
                State::Checked(more) => format!("checked just now{more}"),
                State::But(but) => format!("checked just now; {but}"),
                State::Pending(why) => format!("{}; what it said before", pending(why)),
            };
            format!("{} in {shown} ({state}):", count(many, "problem"))
        }
    }
}

/// Compilers that look only at what is saved say nothing of this text yet.
fn unchecked(at: &File, cx: &Context) -> String {
    let sources = cx.pool.unchecked(&at.snapshot.uri);
    match sources.as_slice() {
        [] => String::new(),
        sources => format!(
            "; not by {}, which look only at what is saved",
            sources.join(" and ")
        ),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use workspace::{ByteRange, DiskForm, DocumentUri, Origin, Revision, Text};

    use super::*;

    fn said(state: &State, list: &[(usize, Severity, &str)]) -> String {
        let snapshot = Snapshot {
            uri: DocumentUri::parse("file:///p/a.rs").expect("a uri"),
            text: Text::new("one\ntwo\nthree\n"),
            revision: Revision::DISK,
            version: None,
            language: None,
            origin: Origin::Disk(DiskForm::default()),
        };
        let one = |&(at, severity, message): &(usize, Severity, &str)| Diagnostic {
            range: ByteRange::new(at, at + 1),
            severity,
            code: None,
            source: Some("s".into()),
            message: message.to_owned(),
            server: None,
            raw: Value::Null,
        };
        told("a.rs", state, list.iter().map(one).collect(), &snapshot).text
    }

    #[test]
    fn errors_and_warnings_count_and_hints_are_told_apart() {
        let checked = State::Checked(String::new());
        let hint = (8, Severity::Hint, "unused\nand why");
        let information = (0, Severity::Information, "could be shorter");
        let warning = (4, Severity::Warning, "odd");
        let error = (9, Severity::Error, "wrong");
        for (list, expected) in [
            (vec![], "No problems in a.rs (checked just now)\n"),
            (
                vec![hint, information],
                "No problems in a.rs (checked just now)\n2 hints: 1:1 could be shorter; 3:1 unused\n",
            ),
            (
                vec![hint, warning, error],
                "2 problems in a.rs (checked just now):\na.rs:3:2: error wrong (s)\na.rs:2:1: warning odd (s)\nand 1 hint: 3:1 unused\n",
            ),
        ] {
            assert_eq!(said(&checked, &list), expected);
        }
        let but = State::But("s says: no manifest".into());
        assert_eq!(
            said(&but, &[hint]),
            "No problems found in a.rs, but s says: no manifest\n1 hint: 3:1 unused\n"
        );
    }

    #[test]
    fn what_is_pending_ends_in_something() {
        let none = "Nothing known of a.rs (PENDING: the server has not checked the newest text yet, and told of no problem before)\n";
        assert_eq!(said(&State::Pending(None), &[]), none);
        let hint = (8, Severity::Hint, "unused");
        let hinted = said(&State::Pending(None), &[hint]);
        assert_eq!(hinted, format!("{none}1 hint: 3:1 unused\n"));
        let error = said(&State::Pending(None), &[(0, Severity::Error, "wrong")]);
        assert_eq!(
            error,
            "1 problem in a.rs (PENDING: the server has not checked the newest text yet; what it said before):\na.rs:1:1: error wrong (s)\n"
        );
    }

    #[test]
    fn why_it_is_pending_is_told() {
        let state = State::Pending(Some("s has not started".into()));
        assert_eq!(
            said(&state, &[]),
            "Nothing known of a.rs (PENDING: s has not started)\n"
        );
        let error = said(&state, &[(0, Severity::Error, "wrong")]);
        assert_eq!(
            error,
            "1 problem in a.rs (PENDING: s has not started; what it said before):\na.rs:1:1: error wrong (s)\n"
        );
    }

    #[test]
    fn hints_take_no_place_from_problems() {
        let many: Vec<_> = (0..40).map(|_| (0, Severity::Hint, "unused")).collect();
        let text = said(&State::Checked(String::new()), &many);
        assert_eq!(
            text,
            "No problems in a.rs (checked just now)\n40 hints: 1:1 unused; 1:1 unused; 1:1 unused; …\n"
        );
    }
}
