//! What the model is told after the edits of one step: only the problems that they added, how many they cured, and what
//! is not known yet; and later, once, what became of that. It asks the language servers and words their answer; it changes
//! nothing.

use std::{borrow::Cow, collections::BTreeMap, time::Duration};

use langserver::{Consequences, Severity};
use workspace::{DocumentUri, Snapshot};

use crate::{context::Context, problems::Problem};

/// How long a step may wait for it.
pub const DEADLINE: Duration = Duration::from_secs(3);
/// How many problems are told.
const MOST: usize = 20;
/// The beginning of the line that stands above the problems.
const ADDED: &str = "Problems that these changes added";
/// The beginning of what is told later.
const LATER: &str = "Known by now of earlier changes: ";

/// What became of the problems by edits.
#[derive(Debug, Default)]
pub struct Aftermath {
    /// In words for the model. `None`: there is nothing to say, because no server knows these languages, because nothing more
    /// is known than before, or because the run was cancelled.
    pub text: Option<String>,
    /// Whether there are new errors among it.
    pub has_errors: bool,
    /// What servers had not finished.
    pub unfinished: Option<Unfinished>,
}

/// What servers had not finished when the model was told of its edits.
#[derive(Clone, Debug)]
pub struct Unfinished {
    /// The documents as they were before the edits, those that are known by now included: others may depend on them.
    before: Vec<Snapshot>,
    /// What the model knows.
    told: Consequences,
}

impl Unfinished {
    /// The documents, and why: for a person.
    pub fn pending(&self, cx: &Context) -> String {
        pending(&self.told, cx).join("; ")
    }
}

/// What became of the problems by edits of documents that were like this before (empty: not there). What was not known of
/// `earlier` edits is told with it.
pub async fn told(before: &[Snapshot], earlier: Option<&Unfinished>, cx: &Context) -> Aftermath {
    let mut all = earlier.map_or_else(Vec::new, |earlier| earlier.before.clone());
    for text in before {
        if all.iter().all(|known| known.uri != text.uri) {
            all.push(text.clone());
        }
    }
    let found = cx.pool.consequences(&all, DEADLINE, &cx.cancel).await;
    if cx.cancel.is_cancelled() {
        return Aftermath::default();
    }
    let news = match earlier {
        None => Cow::Borrowed(&found),
        Some(earlier) => Cow::Owned(found.since(&earlier.told)),
    };
    let is_known = news.pending.len() + news.unavailable.len() < all.len()
        || !news.added.is_empty()
        || news.cured > 0;
    Aftermath {
        text: worded(&news, is_known, cx),
        has_errors: has_errors(&news),
        unfinished: unfinished(all, found, earlier),
    }
}

/// What has become known since of what was unfinished, within a time. `cx.cancel` ends it with what is known then.
pub async fn later(earlier: &Unfinished, deadline: Duration, cx: &Context) -> Aftermath {
    let before = &earlier.before;
    let found = cx.pool.consequences(before, deadline, &cx.cancel).await;
    let news = found.since(&earlier.told);
    let is_open = |uri: &DocumentUri| found.pending.iter().any(|(open, _)| open == uri);
    let was_open = earlier.told.pending.iter().map(|(uri, _)| uri);
    let known: Vec<String> = was_open
        .filter(|uri| !is_open(uri))
        .map(|uri| cx.shown(uri))
        .collect();
    Aftermath {
        text: worded_later(&news, &known, cx),
        has_errors: has_errors(&news),
        unfinished: unfinished(before.clone(), found, Some(earlier)),
    }
}

/// A tool's answer without what was told with it of earlier changes, and that.
pub fn apart(answer: &str) -> (Cow<'_, str>, &str) {
    let start = format!("\n\n{LATER}");
    match answer.split_once(&start) {
        None if answer.starts_with(LATER) => (Cow::Borrowed(""), answer),
        None => (Cow::Borrowed(answer), ""),
        Some((before, rest)) => match rest.split_once("\n\n") {
            None => (Cow::Borrowed(before), rest),
            Some((later, after)) => (Cow::Owned(format!("{before}\n\n{after}")), later),
        },
    }
}

fn has_errors(news: &Consequences) -> bool {
    let mut added = news.added.iter();
    added.any(|(_, one)| one.severity == Severity::Error)
}

fn unfinished(
    before: Vec<Snapshot>,
    mut found: Consequences,
    earlier: Option<&Unfinished>,
) -> Option<Unfinished> {
    if found.pending.is_empty() {
        return None;
    }
    if let Some(Unfinished { told, .. }) = earlier {
        // Of what is pending now the model still knows what it was told before.
        let is_open = |uri: &DocumentUri| found.pending.iter().any(|(open, _)| open == uri);
        let known = told.added.iter().filter(|(text, _)| is_open(&text.uri));
        let known: Vec<_> = known.cloned().collect();
        found.added.extend(known);
        found.cured = found.cured.max(told.cured);
    }
    Some(Unfinished {
        before,
        told: found,
    })
}

/// The problems that a tool's answer says were added, if it does.
pub fn added(answer: &str) -> Vec<Problem> {
    let lines = answer.lines();
    let rest: Vec<&str> = lines.skip_while(|line| !line.starts_with(ADDED)).collect();
    Problem::parse_all(&rest.join("\n"))
}

fn worded(found: &Consequences, is_known: bool, cx: &Context) -> Option<String> {
    let mut lines = Vec::new();
    let mut notes = Vec::new();
    if found.cured > 0 {
        notes.push(format!("{} cured", found.cured));
    }
    if !found.not_asked.is_empty() {
        // Silence of theirs is not to be read as "clean".
        notes.push(format!("{} not asked", found.not_asked.join(" and ")));
    }
    notes.extend(found.cautions.iter().cloned());
    let notes = notes.join("; ");
    if !found.added.is_empty() {
        let count = found.added.len();
        let counts = match notes.is_empty() {
            true => count.to_string(),
            false => format!("{count}; {notes}"),
        };
        lines.push(format!("{ADDED} ({counts}):"));
        lines.extend(listed(found, cx));
    } else if is_known {
        let so_far = match (found.pending.is_empty(), found.unlooked.is_empty()) {
            (true, true) => "",
            (true, false) => " in the files looked at",
            (false, _) => " so far",
        };
        lines.push(match notes.is_empty() {
            true => format!("No new problems{so_far}."),
            false => format!("No new problems{so_far} ({notes})."),
        });
    }
    // Where nothing is said to be well or wrong, what is pending says it all.
    if !found.unlooked.is_empty() && !lines.is_empty() {
        lines.push(format!("Not looked at: {}.", found.unlooked.join("; ")));
    }
    let pending = pending(found, cx).into_iter();
    lines.extend(pending.map(|one| format!("Pending: {one}; you are told when it is known.")));
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// What is said of what has become known, in documents with these names.
fn worded_later(news: &Consequences, known: &[String], cx: &Context) -> Option<String> {
    const NAMED: usize = 5;
    let cured = match news.cured {
        0 => String::new(),
        many => format!("{many} cured"),
    };
    if !news.added.is_empty() {
        let more = if cured.is_empty() { "" } else { "; " };
        let count = news.added.len();
        let mut lines = vec![format!("{LATER}problems added ({count}{more}{cured}):")];
        lines.extend(listed(news, cx));
        return Some(lines.join("\n"));
    }
    if known.is_empty() && news.cured == 0 {
        return None;
    }
    let mut names = known.iter().take(NAMED).cloned().collect::<Vec<_>>();
    if known.len() > NAMED {
        names.push(format!("{} more", known.len() - NAMED));
    }
    let files = match names.as_slice() {
        [] => String::new(),
        names => format!(" in {}", names.join(", ")),
    };
    let cured = match cured.as_str() {
        "" => String::new(),
        cured => format!(" ({cured})"),
    };
    Some(format!("{LATER}no new problems{files}{cured}."))
}

fn listed(found: &Consequences, cx: &Context) -> Vec<String> {
    let count = found.added.len();
    let added = found.added.iter().take(MOST);
    let line = |(text, problem): &(Snapshot, _)| {
        Problem::new(cx.shown(&text.uri), problem, text).to_string()
    };
    let mut lines: Vec<String> = added.map(line).collect();
    if count > MOST {
        lines.push(format!("… and {} more", count - MOST));
    }
    lines
}

/// What is pending: why, and which documents.
fn pending(found: &Consequences, cx: &Context) -> Vec<String> {
    let mut pending: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (uri, why) in &found.pending {
        let why = why.lines().next().unwrap_or_default();
        pending.entry(why).or_default().push(cx.shown(uri));
    }
    let each = pending.into_iter();
    each.map(|(why, files)| format!("{why}: {}", files.join(", ")))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use async_trait::async_trait;
    use langserver::{Diagnostic, Pool, Servers};
    use tokio_util::sync::CancellationToken;
    use workspace::{
        Buffers, ByteRange, Edit, Host, HostError, Origin, Reply, Revision, Text, Workspace,
    };

    use super::*;

    struct Nobody;

    #[async_trait]
    impl Host for Nobody {
        async fn apply(&self, _edit: &Edit, _label: &str) -> Result<Reply, HostError> {
            Err(HostError::Unsupported)
        }
    }

    fn context() -> Context {
        let workspace = Workspace::new(vec!["/p".into()], Buffers::new(), Arc::new(Nobody));
        Context {
            pool: Pool::new(Servers::new(), workspace.clone()),
            workspace,
            cancel: CancellationToken::new(),
            label: "test".into(),
            own: crate::OwnEdits::default(),
        }
    }

    fn text(name: &str) -> Snapshot {
        Snapshot {
            uri: DocumentUri::parse(&format!("file:///p/{name}")).expect("a uri"),
            text: Text::new("one\ntwo\n"),
            revision: Revision::DISK,
            version: None,
            language: None,
            origin: Origin::Disk(workspace::DiskForm::default()),
        }
    }

    fn problem(name: &str, message: &str) -> (Snapshot, Diagnostic) {
        let diagnostic = Diagnostic {
            range: ByteRange::new(5, 6),
            severity: Severity::Error,
            code: Some("E1".into()),
            source: Some("s".into()),
            message: message.into(),
            server: None,
            raw: serde_json::Value::Null,
        };
        (text(name), diagnostic)
    }

    #[tokio::test]
    async fn what_is_said_of_it() {
        let cx = context();
        let pending = |name: &str, why: &str| (text(name).uri, why.to_owned());
        let many = (0..22).map(|at| problem("a.rs", &at.to_string())).collect();
        for (added, cured, open, expected) in [
            (vec![], 0, vec![], "No new problems."),
            (vec![], 3, vec![], "No new problems (3 cured)."),
            (
                vec![problem("a.rs", "wrong\nand why")],
                0,
                vec![],
                "Problems that these changes added (1):\na.rs:2:2: error[E1] wrong\n    and why (s)",
            ),
            (
                vec![problem("src/b.rs", "wrong")],
                2,
                vec![
                    pending("c.rs", "x has not finished"),
                    pending("d.rs", "x has not finished"),
                ],
                "Problems that these changes added (1; 2 cured):\nsrc/b.rs:2:2: error[E1] wrong (s)\nPending: x has not finished: c.rs, d.rs; you are told when it is known.",
            ),
            (
                vec![],
                1,
                vec![pending("c.rs", "x is starting")],
                "No new problems so far (1 cured).\nPending: x is starting: c.rs; you are told when it is known.",
            ),
            (many, 0, vec![], "… and 2 more"),
        ] {
            let found = Consequences {
                added,
                cured,
                pending: open,
                ..Consequences::default()
            };
            let said = worded(&found, true, &cx).expect("something");
            assert!(said.ends_with(expected), "{said}");
        }
        for (added, open, expected) in [
            (
                vec![],
                vec![],
                "No new problems in the files looked at.\nNot looked at: this; that.",
            ),
            (
                vec![problem("a.rs", "wrong")],
                vec![],
                "a.rs:2:2: error[E1] wrong (s)\nNot looked at: this; that.",
            ),
            (
                vec![],
                vec![pending("c.rs", "x has not finished")],
                "No new problems so far.\nNot looked at: this; that.\nPending: x has not finished: c.rs; you are told when it is known.",
            ),
        ] {
            let found = Consequences {
                added,
                pending: open,
                unlooked: vec!["this".into(), "that".into()],
                ..Consequences::default()
            };
            let said = worded(&found, true, &cx).expect("something");
            assert!(said.ends_with(expected), "{said}");
        }
        let found = Consequences {
            pending: vec![pending("c.rs", "x is starting")],
            ..Consequences::default()
        };
        let said = worded(&found, false, &cx).expect("something");
        assert_eq!(
            said,
            "Pending: x is starting: c.rs; you are told when it is known."
        );
        let unknown = told(&[text("a.md")], None, &cx).await;
        assert_eq!(unknown.text, None, "no server knows it");
        let found = Consequences {
            cured: 1,
            not_asked: vec!["rustc".into(), "clippy".into()],
            ..Consequences::default()
        };
        let said = worded(&found, true, &cx).expect("something");
        assert_eq!(
            said,
            "No new problems (1 cured; rustc and clippy not asked)."
        );
        let found = Consequences {
            cautions: vec!["x says: no manifest".into()],
            ..Consequences::default()
        };
        let said = worded(&found, true, &cx).expect("something");
        assert_eq!(said, "No new problems (x says: no manifest).");
    }

    #[tokio::test]
    async fn what_is_said_of_it_later() {
        let cx = context();
        let names = |many: usize| (0..many).map(|at| format!("{at}.rs")).collect::<Vec<_>>();
        let added = |many: usize| {
            (0..many)
                .map(|at| problem("a.rs", &at.to_string()))
                .collect()
        };
        for (added, cured, known, expected) in [
            (added(0), 0, 0, ""),
            (added(0), 0, 2, "no new problems in 0.rs, 1.rs."),
            (added(0), 2, 1, "no new problems in 0.rs (2 cured)."),
            (added(0), 1, 0, "no new problems (1 cured)."),
            (
                added(0),
                0,
                7,
                "no new problems in 0.rs, 1.rs, 2.rs, 3.rs, 4.rs, 2 more.",
            ),
            (
                added(1),
                0,
                1,
                "problems added (1):\na.rs:2:2: error[E1] 0 (s)",
            ),
            (
                added(1),
                3,
                1,
                "problems added (1; 3 cured):\na.rs:2:2: error[E1] 0 (s)",
            ),
        ] {
            let news = Consequences {
                added,
                cured,
                ..Consequences::default()
            };
            let said = worded_later(&news, &names(known), &cx);
            let expected = (!expected.is_empty()).then(|| format!("{LATER}{expected}"));
            assert_eq!(said, expected);
        }
    }

    #[test]
    fn what_is_told_later_is_taken_apart() {
        let later = format!("{LATER}problems added (1):\nb.rs:1:1: error x");
        for (answer, own, rest) in [
            ("one\n\ntwo".to_owned(), "one\n\ntwo", false),
            (format!("one\n\n{later}"), "one", true),
            (format!("one\n\n{later}\n\ntwo"), "one\n\ntwo", true),
            (later.clone(), "", true),
        ] {
            let (before, told) = apart(&answer);
            assert_eq!((&*before, !told.is_empty()), (own, rest), "{answer}");
            assert!(Problem::parse_all(told).len() == usize::from(rest));
        }
    }

    #[tokio::test]
    async fn what_was_said_is_read_back() {
        let found = Consequences {
            added: vec![problem("a.rs", "wrong")],
            ..Consequences::default()
        };
        let said = worded(&found, true, &context()).expect("something");
        let answer = format!("1 change in a.rs:\n+a.rs:1:1: error no such thing\n\n{said}");
        let read = added(&answer);
        assert_eq!(read.len(), 1, "{read:?}");
        assert_eq!(read[0].message, "wrong");
        assert_eq!(added("1 change in a.rs\n\nNo new problems."), []);
    }
}
