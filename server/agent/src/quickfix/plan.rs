//! What to do next, as a function of the conversation. For each problem of the request: look where
//! it stands now, ask for code actions there, apply the best, look whether it has gone.

use std::collections::VecDeque;

use model::{Block, Message, Role};
use serde_json::{Value, json};
use tools::{aftermath, hints, problems::Problem};

use super::choice;

/// The next thing to do.
#[derive(Debug, PartialEq)]
pub enum Next {
    /// Call `lsp` with these parameters.
    Call(Value),
    /// The end, and what came of it.
    Say {
        /// In words.
        text: String,
        /// Whether another model could do more.
        is_short: bool,
    },
    /// There is nothing here that could be done, and why.
    GiveUp(String),
}

/// Looks at what was said and done so far.
pub fn next(messages: &[Message]) -> Next {
    let Some(Read { prompt, done, news }) = read(messages) else {
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
    let elsewhere = |one: &Problem| {
        let mut targets = targets.iter();
        one.severity == "error" && targets.all(|target| target.path != one.path)
    };
    let news = news.into_iter().filter(elsewhere);
    for problem in plan.added.into_iter().chain(news) {
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
    let is_left = |(_, outcome): &(Problem, Outcome)| matches!(outcome, Outcome::Left { .. });
    Next::Say {
        text: said,
        is_short: plan.outcomes.iter().any(is_left),
    }
}

fn nothing_to_do() -> String {
    format!(
        "{} only applies the quick fixes of language servers, and this request names no problem to fix.",
        super::ID
    )
}

/// One call that was made, and its answer.
struct Made {
    operation: String,
    ok: bool,
    output: String,
}

/// The last request, and what came since.
struct Read {
    prompt: String,
    done: VecDeque<Made>,
    /// Problems that became known while it went on.
    news: Vec<Problem>,
}

fn read(messages: &[Message]) -> Option<Read> {
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
    let is_news = |text: &str| aftermath::apart(text).0.is_empty();
    let asked = messages
        .iter()
        .rposition(|message| text_of(message).is_some_and(|text| !is_news(&text)))?;
    let prompt = text_of(messages.get(asked)?)?;
    let mut calls: Vec<(&str, &str)> = Vec::new();
    let mut made = VecDeque::new();
    let mut news = Vec::new();
    for block in messages[asked..].iter().flat_map(|message| &message.blocks) {
        match block {
            Block::ToolCall(call) => {
                let operation = call.input.get("operation").and_then(Value::as_str);
                calls.push((&call.id, operation.unwrap_or_default()));
            }
            Block::ToolResult { id, ok, output } => {
                if let Some((_, operation)) = calls.iter().find(|(call, _)| call == id) {
                    let (own, later) = aftermath::apart(output);
                    news.extend(Problem::parse_all(later));
                    made.push_back(Made {
                        operation: (*operation).to_owned(),
                        ok: *ok,
                        output: own.into_owned(),
                    });
                }
            }
            Block::Text { text } if is_news(text) => news.extend(Problem::parse_all(text)),
            Block::Text { .. } | Block::Image(_) | Block::Reasoning(_) => {}
        }
    }
    Some(Read {
        prompt,
        done: made,
        news,
    })
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
        // Of hints not all are told, so silence says nothing.
        let is_silence_news = applied_before && !hints::is_one(target);
        if now.is_none() && self.seen.is_some() && is_silence_news {
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
            _ if hints::is_one(target) => {
                let Some(still) = hints::tells_of(&looked.output, &at) else {
                    self.seen = Some(seen);
                    let why = "not every hint is told".to_owned();
                    return Ok(Outcome::Unchecked { by, why });
                };
                still
            }
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
            Outcome::Left { why } => format!("Not fixed: \"{what}\": {why}."),
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
    text
}

fn first_line(text: &str) -> &str {
    let line = text.lines().next().unwrap_or_default();
    line.trim_end_matches(':')
}

#[cfg(test)]
mod tests;
