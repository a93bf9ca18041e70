//! What to do next, as a function of the conversation. For each problem of the request: look where
//! it stands now, ask for code actions there, apply the best, look whether it has gone.

use std::collections::VecDeque;

use model::{Block, Message, Role};
use serde_json::{Value, json};
use tools::{aftermath, problems::Problem};

use super::choice;

/// The next thing to do.
#[derive(Debug, PartialEq)]
pub enum Next {
    /// Call `lsp` with these parameters.
    Call(Value),
    /// The end, and what came of it.
    Say(String),
    /// There is nothing here that could be done, and why.
    GiveUp(String),
}

const MORE: &str = "For more than a language server's own fixes, set OPENAI_API_KEY or OPENROUTER_API_KEY, or name a local model in the configuration (`model = \"ollama/…\"`).";

/// Looks at what was said and done so far.
pub fn next(messages: &[Message]) -> Next {
    let Some((prompt, done)) = read(messages) else {
        return Next::GiveUp(nothing_to_do());
    };
    let targets = Problem::parse_all(&prompt);
    if targets.is_empty() {
        return Next::GiveUp(nothing_to_do());
    }
    let mut plan = Plan {
        done,
        seen: None,
        outcomes: Vec::new(),
        added: Vec::new(),
        but: None,
    };
    for target in &targets {
        match plan.cure(target) {
            Ok(outcome) => plan.outcomes.push((target.clone(), outcome)),
            Err(call) => return Next::Call(call),
        }
    }
    let mut said = summary(&plan.outcomes);
    for problem in &plan.added {
        said.push_str(&format!(
            "\nNew in {}:{}: {}",
            problem.path,
            problem.line,
            first_line(&problem.message)
        ));
    }
    if let Some(but) = &plan.but {
        said.push_str(&format!("\nBut {but}"));
    }
    Next::Say(said)
}

fn nothing_to_do() -> String {
    format!(
        "{} only applies the quick fixes of language servers, and this request names no problem to fix. {MORE}",
        super::ID
    )
}

/// One call that was made, and its answer.
struct Made {
    operation: String,
    ok: bool,
    output: String,
}

/// The last request, and the calls made since.
fn read(messages: &[Message]) -> Option<(String, VecDeque<Made>)> {
    let text_of = |message: &Message| {
        let texts: Vec<&str> = message
            .blocks
            .iter()
            .filter_map(|block| match block {
                Block::Text { text } => Some(text.as_str()),
                _ => None,
            })
            .collect();
        (message.role == Role::User && !texts.is_empty()).then(|| texts.join("\n"))
    };
    let asked = messages
        .iter()
        .rposition(|message| text_of(message).is_some())?;
    let prompt = text_of(messages.get(asked)?)?;
    let mut calls: Vec<(&str, &str)> = Vec::new();
    let mut made = VecDeque::new();
    for block in messages[asked..].iter().flat_map(|message| &message.blocks) {
        match block {
            Block::ToolCall(call) => {
                let operation = call.input.get("operation").and_then(Value::as_str);
                calls.push((&call.id, operation.unwrap_or_default()));
            }
            Block::ToolResult { id, ok, output } => {
                if let Some((_, operation)) = calls.iter().find(|(call, _)| call == id) {
                    made.push_back(Made {
                        operation: (*operation).to_owned(),
                        ok: *ok,
                        output: output.clone(),
                    });
                }
            }
            Block::Text { .. } => {}
        }
    }
    Some((prompt, made))
}

/// What came of one problem.
#[derive(Debug)]
enum Outcome {
    Cured {
        by: String,
    },
    CuredAlong,
    Unchecked {
        by: String,
        why: String,
    },
    Left {
        why: String,
    },
    /// The run changes nothing.
    Withheld {
        by: String,
    },
}

struct Plan {
    done: VecDeque<Made>,
    /// What the server last said of the file; `None`: not asked, or it could not say.
    seen: Option<Vec<Problem>>,
    outcomes: Vec<(Problem, Outcome)>,
    /// Errors in other files that fixes have brought: nobody looks there.
    added: Vec<Problem>,
    /// What the server said, as it found nothing more, that makes that worth less.
    but: Option<String>,
}

impl Plan {
    /// Goes through one problem as far as the calls made allow; the error is the next call.
    fn cure(&mut self, target: &Problem) -> Result<Outcome, Value> {
        if self.seen.is_none() && self.outcomes.is_empty() {
            let looked = self.take("diagnostics", target, None)?;
            self.seen = looked.ok.then(|| Problem::parse_all(&looked.output));
        }
        let applied_before = self.outcomes.iter().any(|(_, outcome)| {
            !matches!(outcome, Outcome::Left { .. } | Outcome::Withheld { .. })
        });
        let now = self
            .seen
            .as_deref()
            .and_then(|seen| nearest(seen, target))
            .cloned();
        if now.is_none() && self.seen.is_some() && applied_before {
            return Ok(Outcome::CuredAlong);
        }
        // An editor may know of a problem that our server has not said: then its own place counts.
        let at = now.unwrap_or_else(|| target.clone());
        let before = self.seen.as_deref().map(|seen| same(seen, target));

        let answer = self.take("codeActions", &at, None)?;
        if !answer.ok {
            return Ok(Outcome::Left { why: answer.output });
        }
        let actions = choice::listed(&answer.output);
        let Some(action) = choice::best(&actions, &at.message) else {
            return Ok(Outcome::Left {
                why: none_fits(&actions),
            });
        };
        let by = action.title.clone();
        let applied = self.take("applyCodeAction", &at, Some(&by))?;
        if !applied.ok && applied.output.contains("read-only") {
            return Ok(Outcome::Withheld { by });
        }
        if !applied.ok {
            return Ok(Outcome::Left {
                why: applied.output,
            });
        }
        // Only what is new: what there is in this file is asked for next.
        let added = aftermath::added(&applied.output).into_iter();
        self.added
            .extend(added.filter(|one| one.path != target.path && one.severity == "error"));
        let looked = self.take("diagnostics", target, None)?;
        if !looked.ok || looked.output.contains("(PENDING") {
            self.seen = None;
            let why = first_line(&looked.output).to_owned();
            return Ok(Outcome::Unchecked { by, why });
        }
        let clean = first_line(&looked.output).strip_prefix("No problems found in ");
        let but = clean.and_then(|rest| rest.split_once(", but "));
        self.but = but.map(|(_, but)| but.to_owned());
        let seen = Problem::parse_all(&looked.output);
        let still = match before {
            Some(before) if before > 0 => same(&seen, target) >= before,
            _ => seen
                .iter()
                .any(|one| is_same(one, target) && one.line == at.line),
        };
        self.seen = Some(seen);
        Ok(match still {
            false => Outcome::Cured { by },
            true => Outcome::Left {
                why: format!("\"{by}\" was applied, and the problem is still there"),
            },
        })
    }

    fn take(&mut self, operation: &str, at: &Problem, action: Option<&str>) -> Result<Made, Value> {
        if let Some(made) = self.done.pop_front() {
            debug_assert_eq!(
                made.operation, operation,
                "the plan is a function of the answers"
            );
            return Ok(made);
        }
        let mut input = json!({ "operation": operation, "filePath": at.path });
        if operation != "diagnostics" {
            input["line"] = at.line.into();
            input["character"] = at.character.into();
        }
        if let Some(action) = action {
            input["action"] = action.into();
        }
        Err(input)
    }
}

/// A compiler adds notes to the first of several alike, so only the first line says which problem it is.
fn is_same(one: &Problem, target: &Problem) -> bool {
    let what = |problem: &Problem| first_line(&problem.message).to_owned();
    one.path == target.path && what(one) == what(target) && one.code == target.code
}

fn same(seen: &[Problem], target: &Problem) -> usize {
    seen.iter().filter(|one| is_same(one, target)).count()
}

fn nearest<'a>(seen: &'a [Problem], target: &Problem) -> Option<&'a Problem> {
    seen.iter()
        .filter(|one| is_same(one, target))
        .min_by_key(|one| {
            (
                one.line.abs_diff(target.line),
                one.character.abs_diff(target.character),
            )
        })
}

fn none_fits(actions: &[choice::Listed]) -> String {
    let fixes: Vec<String> = actions
        .iter()
        .filter(|action| action.fix)
        .map(|action| format!("\"{}\"", action.title))
        .collect();
    match fixes.as_slice() {
        [] => "the language server offers no quick fix for it".to_owned(),
        many => format!(
            "several fixes are possible, and none is plainly the right one: {}",
            many.join(", ")
        ),
    }
}

fn summary(outcomes: &[(Problem, Outcome)]) -> String {
    if let [(problem, outcome)] = outcomes {
        let what = first_line(&problem.message);
        return match outcome {
            Outcome::Cured { by } => {
                format!("Fixed \"{what}\" by the quick fix \"{by}\"; the problem is gone.")
            }
            Outcome::CuredAlong => format!("\"{what}\" is gone."),
            Outcome::Unchecked { by, why } => {
                format!("Applied the quick fix \"{by}\" for \"{what}\"; not checked yet: {why}")
            }
            Outcome::Left { why } => format!("Not fixed: \"{what}\": {why}.\n{MORE}"),
            Outcome::Withheld { by } => {
                format!(
                    "\"{what}\" would be fixed by the quick fix \"{by}\"; this run changes nothing."
                )
            }
        };
    }
    let cured = outcomes
        .iter()
        .filter(|(_, outcome)| matches!(outcome, Outcome::Cured { .. } | Outcome::CuredAlong))
        .count();
    let mut text = format!("Fixed {cured} of {} problems.", outcomes.len());
    for (problem, outcome) in outcomes {
        let place = format!("{}:{}", problem.path, problem.line);
        let what = first_line(&problem.message);
        text.push_str(&match outcome {
            Outcome::Cured { by } => format!("\n- {place}: {what}: fixed by \"{by}\""),
            Outcome::CuredAlong => format!("\n- {place}: {what}: gone with another"),
            Outcome::Unchecked { by, why } => {
                format!("\n- {place}: {what}: \"{by}\" applied, not checked yet: {why}")
            }
            Outcome::Left { why } => format!("\n- {place}: {what}: left: {why}"),
            Outcome::Withheld { by } => {
                format!("\n- {place}: {what}: \"{by}\" would fix it; this run changes nothing")
            }
        });
    }
    let is_left = |outcome: &Outcome| matches!(outcome, Outcome::Left { .. });
    if outcomes.iter().any(|(_, outcome)| is_left(outcome)) {
        text.push('\n');
        text.push_str(MORE);
    }
    text
}

fn first_line(text: &str) -> &str {
    let line = text.lines().next().unwrap_or_default();
    line.trim_end_matches(':')
}

#[cfg(test)]
mod tests {
    use model::ToolCall;

    use super::*;

    /// Plays a run: each call is answered by the next of `answers` (a leading `!` fails), and must be
    /// the operation named before the bar. Returns what is said at the end.
    fn play(problems: &str, answers: &[(&str, &str)]) -> String {
        let prompt = format!("Fix these.\n<problems>\n{problems}</problems>\n");
        let mut messages = vec![Message::user(prompt)];
        for (turn, (call, answer)) in answers.iter().enumerate() {
            let input = match next(&messages) {
                Next::Call(input) => input,
                Next::Say(text) | Next::GiveUp(text) => panic!("said {text:?} before {call}"),
            };
            let mut shown = input["operation"].as_str().unwrap_or_default().to_owned();
            if let Some(line) = input.get("line") {
                shown.push_str(&format!(" {line}:{}", input["character"]));
            }
            if let Some(action) = input.get("action") {
                shown.push_str(&format!(" {action}"));
            }
            assert_eq!(&shown, call);
            let id = format!("{turn}");
            messages.push(Message {
                role: Role::Assistant,
                blocks: vec![Block::ToolCall(ToolCall {
                    id: id.clone(),
                    name: "lsp".into(),
                    input,
                    malformed: None,
                })],
            });
            messages.push(Message {
                role: Role::User,
                blocks: vec![Block::ToolResult {
                    id,
                    ok: !answer.starts_with('!'),
                    output: answer.trim_start_matches('!').to_owned(),
                }],
            });
        }
        match next(&messages) {
            Next::Say(text) | Next::GiveUp(text) => text,
            Next::Call(call) => panic!("still calls {call}"),
        }
    }

    const ONE: &str = "a.rs:3:5: error[E1] no such `x` (ra)\n";

    #[test]
    fn what_the_server_could_not_load_is_told_at_the_end() {
        let said = play(
            ONE,
            &[
                (
                    "diagnostics",
                    "1 problem in a.rs (checked just now; ra says: no manifest):\na.rs:3:5: error[E1] no such `x` (ra)\n",
                ),
                (
                    "codeActions 3:5",
                    "Code actions at a.rs:3:5:\n- Import `x` [quickfix, preferred]\n",
                ),
                ("applyCodeAction 3:5 \"Import `x`\"", "done"),
                (
                    "diagnostics",
                    "No problems found in a.rs, but ra says: no manifest",
                ),
            ],
        );
        assert!(said.ends_with("\nBut ra says: no manifest"), "{said}");
    }

    #[test]
    fn one_problem_is_looked_up_fixed_and_checked() {
        let said = play(
            ONE,
            &[
                (
                    "diagnostics",
                    "1 problem in a.rs (checked just now):\na.rs:4:5: error[E1] no such `x` (ra)\n",
                ),
                (
                    "codeActions 4:5",
                    "Code actions of ra at a.rs:4:5:\n- Make `x` [quickfix, preferred]\n",
                ),
                ("applyCodeAction 4:5 \"Make `x`\"", "Applied"),
                ("diagnostics", "No problems in a.rs (checked just now)"),
            ],
        );
        assert_eq!(
            said,
            "Fixed \"no such `x`\" by the quick fix \"Make `x`\"; the problem is gone."
        );
    }

    #[test]
    fn what_can_not_be_fixed_is_left_and_said() {
        let seen = "1 problem in a.rs (checked just now):\na.rs:3:5: error[E1] no such `x` (ra)\n";
        let check = |answers: &[(&str, &str)], part: &str| {
            let said = play(ONE, answers);
            assert!(said.contains(part), "{said}");
        };
        check(
            &[
                ("diagnostics", seen),
                ("codeActions 3:5", "ra has no code actions at a.rs:3:5"),
            ],
            "Not fixed: \"no such `x`\": the language server offers no quick fix for it.\nFor more",
        );
        check(
            &[
                ("diagnostics", seen),
                ("codeActions 3:5", "- A [quickfix]\n- B [quickfix]\n"),
            ],
            "several fixes are possible, and none is plainly the right one: \"A\", \"B\"",
        );
        check(
            &[
                ("diagnostics", "!no server"),
                ("codeActions 3:5", "!no server for rust"),
            ],
            "Not fixed: \"no such `x`\": no server for rust",
        );
        check(
            &[
                ("diagnostics", seen),
                ("codeActions 3:5", "- A [quickfix]\n"),
                ("applyCodeAction 3:5 \"A\"", "!the text has changed"),
            ],
            "the text has changed",
        );
        check(
            &[
                ("diagnostics", seen),
                ("codeActions 3:5", "- A [quickfix]\n"),
                (
                    "applyCodeAction 3:5 \"A\"",
                    "!denied: this run is read-only, …",
                ),
            ],
            "would be fixed by the quick fix \"A\"; this run changes nothing.",
        );
        check(
            &[
                ("diagnostics", seen),
                ("codeActions 3:5", "- A [quickfix]\n"),
                ("applyCodeAction 3:5 \"A\"", "Applied"),
                ("diagnostics", seen),
            ],
            "\"A\" was applied, and the problem is still there",
        );
        check(
            &[
                ("diagnostics", seen),
                ("codeActions 3:5", "- A [quickfix]\n"),
                ("applyCodeAction 3:5 \"A\"", "Applied"),
                (
                    "diagnostics",
                    "0 problems in a.rs (PENDING: the server …):\n",
                ),
            ],
            "not checked yet",
        );
    }

    #[test]
    fn later_problems_are_followed_to_where_they_have_moved() {
        let said = play(
            "a.rs:3:5: error[E1] no such `x` (ra)\na.rs:9:1: error[E2] two (ra)\na.rs:12:1: error[E3] three (ra)\n",
            &[
                (
                    "diagnostics",
                    "a.rs:3:5: error[E1] no such `x` (ra)\na.rs:9:1: error[E2] two (ra)\na.rs:12:1: error[E3] three (ra)\n",
                ),
                ("codeActions 3:5", "- Make `x` [quickfix]\n"),
                ("applyCodeAction 3:5 \"Make `x`\"", "Applied"),
                ("diagnostics", "a.rs:11:1: error[E2] two (ra)\n"),
                ("codeActions 11:1", "- B [quickfix]\n"),
                ("applyCodeAction 11:1 \"B\"", "Applied"),
                ("diagnostics", "No problems in a.rs (checked just now)"),
            ],
        );
        assert_eq!(
            said,
            "Fixed 3 of 3 problems.\n- a.rs:3: no such `x`: fixed by \"Make `x`\"\n- a.rs:9: two: fixed by \"B\"\n- a.rs:12: three: gone with another"
        );
    }

    #[test]
    fn a_note_that_moves_to_the_next_of_its_kind_does_not_hide_it() {
        let said = play(
            "a.rs:1:5: warning[unused] unused: `a`\n    on by default (rustc)\na.rs:2:5: warning[unused] unused: `b` (rustc)\n",
            &[
                (
                    "diagnostics",
                    "a.rs:1:5: warning[unused] unused: `a`\n    on by default (rustc)\na.rs:2:5: warning[unused] unused: `b` (rustc)\n",
                ),
                ("codeActions 1:5", "- Remove it [quickfix]\n"),
                ("applyCodeAction 1:5 \"Remove it\"", "Applied"),
                (
                    "diagnostics",
                    "a.rs:1:5: warning[unused] unused: `b`\n    on by default (rustc)\n",
                ),
                ("codeActions 1:5", "- Remove it [quickfix]\n"),
                ("applyCodeAction 1:5 \"Remove it\"", "Applied"),
                ("diagnostics", "No problems in a.rs (checked just now)"),
            ],
        );
        assert!(said.starts_with("Fixed 2 of 2 problems."), "{said}");
        assert!(!said.contains("gone with another"), "{said}");
    }

    #[test]
    fn what_a_fix_breaks_elsewhere_is_told_and_not_taken_for_what_there_is() {
        let said = play(
            "a.rs:3:5: error[E1] one (ra)\n",
            &[
                ("diagnostics", "a.rs:3:5: error[E1] one (ra)\n"),
                ("codeActions 3:5", "- A [quickfix]\n"),
                (
                    "applyCodeAction 3:5 \"A\"",
                    "Applied\n\nProblems that these changes added (2; 1 cured):\na.rs:3:5: warning[E1] one (ra)\nb.rs:7:1: error[E2] two (ra)",
                ),
                ("diagnostics", "No problems in a.rs (checked just now)"),
            ],
        );
        assert_eq!(
            said,
            "Fixed \"one\" by the quick fix \"A\"; the problem is gone.\nNew in b.rs:7: two"
        );
    }

    #[test]
    fn a_request_without_problems_is_told_what_would_help() {
        let Next::GiveUp(said) = next(&[Message::user("Explain this")]) else {
            panic!("nothing is called");
        };
        assert!(
            said.contains("names no problem to fix") && said.contains("OPENAI_API_KEY"),
            "{said}"
        );
    }
}
