//! `textDocument/codeAction`: what the agent can do here. Computed from what is known already: it
//! never waits for a model or a language server, and never reads the disk.

use std::collections::HashSet;

use langserver::{Diagnostic, Severity};
use serde::Deserialize;
use serde_json::{Value, json};
use tower_lsp::jsonrpc::Result;
use workspace::{Range, Snapshot};

use crate::commands::{ASK, FIX};
use crate::connection::Connection;
use crate::params::{self, Span, TextDocument, Uri};
use crate::wire::{Problem, meet, range_json, whole_lines};

/// The kinds of our actions. None is a `source.fixAll`: editors run those on save.
pub(crate) mod kinds {
    pub(crate) const FIX: &str = "quickfix.copydesk";
    pub(crate) const FIX_ALL: &str = "quickfix.copydesk.all";
    pub(crate) const ASK: &str = "refactor.rewrite.copydesk";
    pub(crate) const ALL: [&str; 3] = [FIX, FIX_ALL, ASK];
}

/// LSP's number for a request that no one made by hand.
const AUTOMATIC: u64 = 2;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Params {
    text_document: TextDocument,
    range: Span,
    context: Option<Context>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Context {
    diagnostics: Option<Vec<Value>>,
    only: Option<Vec<String>>,
    trigger_kind: Option<u64>,
}

/// What is asked for.
struct Query {
    range: Range,
    /// The problems here, as the client knows them.
    problems: Vec<Problem>,
    /// Only actions of these kinds; none: all.
    only: Vec<String>,
    invoked: bool,
}

impl Query {
    fn wants(&self, kind: &str) -> bool {
        let under = |only: &String| {
            kind.strip_prefix(only.as_str())
                .is_some_and(|rest| only.is_empty() || rest.is_empty() || rest.starts_with('.'))
        };
        self.only.is_empty() || self.only.iter().any(under)
    }
}

/// One thing that the agent can do.
struct Action {
    title: String,
    kind: &'static str,
    command: &'static str,
    argument: Value,
    cures: Vec<Value>,
}

pub(crate) fn handle(connection: &Connection, params: Value) -> Result<Value> {
    let Params {
        text_document,
        range,
        context,
    } = params::read(params, "params")?;
    let TextDocument { uri: Uri(uri) } = text_document;
    let query = query(range, context.unwrap_or_default());
    let Some(snapshot) = connection.workspace.buffers().get(&uri) else {
        return Ok(json!([]));
    };
    let encoding = connection.client.encoding;
    let known = connection.pool.known_diagnostics(&snapshot.uri);
    let counted = known.iter().filter(|one| one.severity <= Severity::Warning);
    let different: HashSet<_> = counted.map(|one| (one.range, &one.message)).collect();
    let known = Known {
        here: here(&known, &snapshot, query.range, encoding),
        in_file: different.len(),
        can_ask: query.invoked && connection.pool.serves(&snapshot),
    };
    let actions = actions(&snapshot, query, known).into_iter();
    Ok(actions
        .map(|action| action.json(connection.client.action_literals))
        .collect())
}

fn query(range: Span, context: Context) -> Query {
    let told = context.diagnostics.unwrap_or_default().into_iter();
    Query {
        range: range.forward(),
        // One that can't be read is no reason to refuse the rest.
        problems: told.filter_map(|json| Problem::read(json).ok()).collect(),
        only: context.only.unwrap_or_default(),
        invoked: context.trigger_kind != Some(AUTOMATIC),
    }
}

/// What the servers that we run have last said of a document.
struct Known {
    here: Vec<Problem>,
    /// How many there are in the whole file, hints left out.
    in_file: usize,
    /// A language server can be asked when a run starts.
    can_ask: bool,
}

/// The problems in a range. A cursor stands for its line, as it does where editors choose what they
/// pass.
fn here(
    known: &[Diagnostic],
    snapshot: &Snapshot,
    range: Range,
    encoding: workspace::Encoding,
) -> Vec<Problem> {
    let range = snapshot.text.byte_range(range, encoding);
    let range = if range.is_empty() {
        whole_lines(&snapshot.text, range)
    } else {
        range
    };
    let here = known.iter().filter(|one| meet(one.range, range));
    here.map(|one| Problem::of(one, &snapshot.text, encoding))
        .collect()
}

fn actions(snapshot: &Snapshot, query: Query, known: Known) -> Vec<Action> {
    let uri = snapshot.uri.as_str();
    let mut actions = Vec::new();
    // Some editors pass a server only the diagnostics that it published itself: none, in our case.
    let told = without_doubles(query.problems.clone());
    let here = if told.is_empty() {
        without_doubles(known.here)
    } else {
        told.clone()
    };
    if query.wants(kinds::FIX) {
        actions.extend(here.iter().map(|problem| Action {
            title: format!("Fix with agent: {}", problem.headline()),
            kind: kinds::FIX,
            command: FIX,
            argument: json!({ "uri": uri, "range": range_json(problem.range), "diagnostics": [problem.json] }),
            cures: vec![problem.json.clone()],
        }));
        if here.is_empty() && query.invoked && known.can_ask {
            actions.push(Action {
                title: "Fix problems here with agent".to_owned(),
                kind: kinds::FIX,
                command: FIX,
                argument: json!({ "uri": uri, "range": range_json(query.range) }),
                cures: Vec::new(),
            });
        }
    }
    let counted: Vec<Problem> = told.into_iter().filter(|one| !one.is_hint()).collect();
    if query.wants(kinds::FIX_ALL) && known.in_file.max(counted.len()) > 1 {
        let list = |problems: &[Problem]| -> Vec<Value> {
            problems
                .iter()
                .map(|problem| problem.json.clone())
                .collect()
        };
        // What our servers know need not be carried along: it is looked up when the run starts.
        let (count, argument) = if known.in_file >= counted.len() {
            (known.in_file, json!({ "uri": uri }))
        } else {
            (
                counted.len(),
                json!({ "uri": uri, "diagnostics": list(&counted) }),
            )
        };
        actions.push(Action {
            title: format!("Fix all {count} problems in this file with agent"),
            kind: kinds::FIX_ALL,
            command: FIX,
            argument,
            cures: list(&here),
        });
    }
    if query.wants(kinds::ASK) && (query.invoked || query.range.start != query.range.end) {
        actions.push(Action {
            title: "Ask agent…".to_owned(),
            kind: kinds::ASK,
            command: ASK,
            argument: json!({ "uri": uri, "range": range_json(query.range) }),
            cures: Vec::new(),
        });
    }
    actions
}

/// Several servers may say the same of the same place.
fn without_doubles(mut problems: Vec<Problem>) -> Vec<Problem> {
    let mut seen = HashSet::new();
    problems.retain(|one| seen.insert((one.range.start, one.range.end, one.message.clone())));
    problems
}

impl Action {
    fn json(self, literals: bool) -> Value {
        let command =
            json!({ "title": self.title, "command": self.command, "arguments": [self.argument] });
        if !literals {
            return command;
        }
        let mut action = json!({ "title": self.title, "kind": self.kind, "command": command });
        if !self.cures.is_empty() {
            action["diagnostics"] = Value::Array(self.cures);
        }
        action
    }
}

#[cfg(test)]
mod tests {
    use workspace::{Buffers, DocumentUri, Position};

    use super::*;

    fn at(start: (u32, u32), end: (u32, u32)) -> Range {
        let position = |(line, character)| Position { line, character };
        Range {
            start: position(start),
            end: position(end),
        }
    }

    fn problem(line: u32, message: &str) -> Problem {
        let range = at((line, 0), (line, 3));
        Problem::read(json!({ "range": range_json(range), "message": message })).expect("readable")
    }

    /// A query at one character of the first line, by hand, for everything; nothing is known.
    fn cursor() -> Query {
        Query {
            range: at((0, 1), (0, 1)),
            problems: Vec::new(),
            only: Vec::new(),
            invoked: true,
        }
    }

    fn nothing() -> Known {
        Known {
            here: Vec::new(),
            in_file: 0,
            can_ask: true,
        }
    }

    fn offered(query: Query, known: Known) -> Vec<Action> {
        let uri = DocumentUri::parse("file:///a.rs").expect("a uri");
        let snapshot = Buffers::new().open(uri, "rust", 1, "abc\nabc\n");
        actions(&snapshot, query, known)
    }

    fn check(query: Query, known: Known, expected: &[&str]) {
        let titles: Vec<String> = offered(query, known)
            .into_iter()
            .map(|action| action.title)
            .collect();
        assert_eq!(titles, expected);
    }

    const ASK_TITLE: &str = "Ask agent…";
    const HERE: &str = "Fix problems here with agent";

    #[test]
    fn a_fix_for_each_problem() {
        let two = || vec![problem(0, "bad\nvery"), problem(0, "worse")];
        let fixes = [
            "Fix with agent: bad",
            "Fix with agent: worse",
            "Fix all 2 problems in this file with agent",
            ASK_TITLE,
        ];
        check(
            Query {
                problems: two(),
                ..cursor()
            },
            nothing(),
            &fixes,
        );
        check(
            cursor(),
            Known {
                here: two(),
                in_file: 2,
                ..nothing()
            },
            &fixes,
        );
        // Those of the request come before ours.
        let known = || Known {
            here: vec![problem(0, "ours")],
            in_file: 1,
            ..nothing()
        };
        check(
            Query {
                problems: vec![problem(0, "theirs")],
                ..cursor()
            },
            known(),
            &["Fix with agent: theirs", ASK_TITLE],
        );
        check(cursor(), known(), &["Fix with agent: ours", ASK_TITLE]);
        // The same said twice is one.
        check(
            Query {
                problems: vec![problem(0, "a"), problem(0, "a")],
                ..cursor()
            },
            nothing(),
            &["Fix with agent: a", ASK_TITLE],
        );
    }

    #[test]
    fn problems_that_no_one_knows_yet() {
        check(cursor(), nothing(), &[HERE, ASK_TITLE]);
        check(
            cursor(),
            Known {
                can_ask: false,
                ..nothing()
            },
            &[ASK_TITLE],
        );
        check(
            Query {
                invoked: false,
                ..cursor()
            },
            nothing(),
            &[],
        );
    }

    #[test]
    fn no_light_bulb_on_every_line() {
        check(
            Query {
                invoked: false,
                ..cursor()
            },
            nothing(),
            &[],
        );
        check(
            Query {
                invoked: false,
                range: at((0, 0), (0, 2)),
                ..cursor()
            },
            nothing(),
            &[ASK_TITLE],
        );
    }

    #[test]
    fn all_problems_of_the_file() {
        let known = |in_file| Known {
            in_file,
            ..nothing()
        };
        check(cursor(), known(1), &[HERE, ASK_TITLE]);
        check(
            cursor(),
            known(7),
            &[
                HERE,
                "Fix all 7 problems in this file with agent",
                ASK_TITLE,
            ],
        );
    }

    /// A fix of all leaves hints alone, so they are not promised.
    #[test]
    fn hints_are_not_counted() {
        let mut hint = problem(0, "hint");
        hint.json["severity"] = json!(4);
        let titles = |problems: Vec<Problem>| -> Vec<String> {
            let query = Query {
                problems,
                ..cursor()
            };
            let offered = offered(query, nothing()).into_iter();
            let titles = offered.map(|action| action.title);
            titles.filter(|title| title.starts_with("Fix")).collect()
        };
        assert_eq!(
            titles(vec![problem(0, "a"), hint.clone()]),
            ["Fix with agent: a", "Fix with agent: hint"]
        );
        assert_eq!(
            titles(vec![problem(0, "a"), hint, problem(0, "b")])[3],
            "Fix all 2 problems in this file with agent"
        );
    }

    #[test]
    fn kinds_by_dotted_prefix() {
        let all = [
            ("Fix with agent: a", "quickfix"),
            ("Fix all 2 problems in this file with agent", "all"),
            (ASK_TITLE, "refactor"),
        ];
        let cases: &[(&[&str], &[usize])] = &[
            (&[], &[0, 1, 2]),
            (&[""], &[0, 1, 2]),
            (&["quickfix"], &[0, 1]),
            (&["quickfix.copydesk"], &[0, 1]),
            (&["quickfix.copydesk.all"], &[1]),
            (&["quickfix.copy"], &[]),
            (&["quick"], &[]),
            (&["refactor"], &[2]),
            (&["refactor.rewrite.copydesk", "source"], &[2]),
            (&["source.fixAll"], &[]),
            (&["source.fixAll.copydesk"], &[]),
        ];
        for (only, expected) in cases {
            let only = only.iter().map(|&kind| kind.to_owned()).collect();
            let expected: Vec<&str> = expected.iter().map(|&index| all[index].0).collect();
            check(
                Query {
                    only,
                    problems: vec![problem(0, "a")],
                    ..cursor()
                },
                Known {
                    in_file: 2,
                    ..nothing()
                },
                &expected,
            );
        }
    }

    #[test]
    fn actions_for_both_kinds_of_client() {
        let json_of = |literals| -> Vec<Value> {
            let query = Query {
                problems: vec![problem(0, "bad")],
                ..cursor()
            };
            offered(query, nothing())
                .into_iter()
                .map(|action| action.json(literals))
                .collect()
        };
        let diagnostic = json!({"range": range_json(at((0, 0), (0, 3))), "message": "bad"});
        let argument = json!({"uri": "file:///a.rs", "range": range_json(at((0, 0), (0, 3))), "diagnostics": [diagnostic]});
        let command = json!({"title": "Fix with agent: bad", "command": "copydesk.fix", "arguments": [argument]});
        assert_eq!(json_of(false)[0], command);
        assert_eq!(
            json_of(true)[0],
            json!({"title": "Fix with agent: bad", "kind": "quickfix.copydesk", "diagnostics": [diagnostic], "command": command})
        );
        let action = &json_of(true)[1];
        assert_eq!(
            action["command"]["arguments"],
            json!([{"uri": "file:///a.rs", "range": range_json(cursor().range)}])
        );
        assert_eq!(
            (action["kind"].as_str(), action.get("diagnostics")),
            (Some("refactor.rewrite.copydesk"), None)
        );
    }

    #[test]
    fn queries_as_clients_write_them() {
        let read = |context: Value| {
            query(
                Span(cursor().range),
                serde_json::from_value(context).expect("a context"),
            )
        };
        assert!(
            read(json!({"diagnostics": []})).invoked,
            "an absent trigger means by hand"
        );
        assert!(read(json!({"diagnostics": null, "only": null, "triggerKind": null})).invoked);
        assert!(read(json!({"diagnostics": [], "triggerKind": 1})).invoked);
        assert!(!read(json!({"diagnostics": [], "triggerKind": 2})).invoked);
        let odd =
            read(json!({"diagnostics": [5, problem(0, "good").json, {"message": "no range"}]}));
        assert_eq!(odd.problems.len(), 1);
    }
}
