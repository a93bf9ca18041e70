//! What the model is told after the edits of one step: only the problems that they added, how many they cured, and what
//! is not known yet. It asks the language servers and words their answer; it changes nothing.

use std::{collections::BTreeMap, time::Duration};

use langserver::Consequences;
use workspace::Snapshot;

use crate::{context::Context, problems::Problem};

/// How long a step may wait for it.
const DEADLINE: Duration = Duration::from_secs(3);
/// How many problems are told.
const MOST: usize = 20;
/// The beginning of the line that stands above the problems.
const ADDED: &str = "Problems that these changes added";

/// What became of the problems by edits of documents that were like this before (empty: not there). `None`: there is nothing
/// to say, because no server knows these languages, or because the run was cancelled.
pub async fn told(before: &[Snapshot], cx: &Context) -> Option<String> {
    let found = cx.pool.consequences(before, DEADLINE, &cx.cancel).await;
    if cx.cancel.is_cancelled() {
        return None;
    }
    let is_known = found.pending.len() + found.unavailable.len() < before.len()
        || !found.added.is_empty()
        || found.cured > 0;
    worded(&found, is_known, cx)
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
        let added = found.added.iter().take(MOST);
        lines.extend(
            added.map(|(text, problem)| {
                Problem::new(cx.shown(&text.uri), problem, text).to_string()
            }),
        );
        if count > MOST {
            lines.push(format!("… and {} more", count - MOST));
        }
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
    let mut pending: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (uri, why) in &found.pending {
        let why = why.lines().next().unwrap_or_default();
        pending.entry(why).or_default().push(cx.shown(uri));
    }
    for (why, files) in pending {
        let files = files.join(", ");
        lines.push(format!(
            "Pending: {why}: {files}; ask `lsp` `diagnostics` later."
        ));
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use async_trait::async_trait;
    use langserver::{Diagnostic, Pool, Servers, Severity};
    use tokio_util::sync::CancellationToken;
    use workspace::{
        Buffers, ByteRange, DocumentUri, Edit, Host, HostError, Origin, Reply, Revision, Text,
        Workspace,
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
                "Problems that these changes added (1; 2 cured):\nsrc/b.rs:2:2: error[E1] wrong (s)\nPending: x has not finished: c.rs, d.rs; ask `lsp` `diagnostics` later.",
            ),
            (
                vec![],
                1,
                vec![pending("c.rs", "x is starting")],
                "No new problems so far (1 cured).\nPending: x is starting: c.rs; ask `lsp` `diagnostics` later.",
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
                "No new problems so far.\nNot looked at: this; that.\nPending: x has not finished: c.rs; ask `lsp` `diagnostics` later.",
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
            "Pending: x is starting: c.rs; ask `lsp` `diagnostics` later."
        );
        assert_eq!(told(&[text("a.md")], &cx).await, None, "no server knows it");
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
