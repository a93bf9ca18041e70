//! One run: ask the model, judge and make its calls, give it the results, until it says no more.
//! It never speaks to a person: all that happens goes out as events.

mod calls;
mod cost;
mod later;
mod repeated;
mod small;
mod stream;

use std::{sync::Arc, time::Duration};

use langserver::{Diagnosis, Diagnostic, Severity};
use model::{Message, Provider, Request, Role, Stop, ToolSpec};
use tokio_util::sync::CancellationToken;
use tools::{Context, aftermath, hints, problems::Problem};
use workspace::{ByteRange, Snapshot};

use crate::{
    agent::{Agent, RunRequest, Task},
    event::{Cure, EventKind, Observer, Status},
    prompt::{self, Form},
    session::Session,
    spent::Spent,
};
use calls::After;
use later::Open;
use repeated::Repeated;
use stream::Outlet;

/// How long a run looks for problems when it was given none: a cold language server included.
const LOOK: Duration = Duration::from_secs(60);

pub(crate) struct Run {
    agent: Arc<Agent>,
    session: Arc<Session>,
    provider: Arc<dyn Provider>,
    request: RunRequest,
    cancel: CancellationToken,
    outlet: Arc<Outlet>,
    spent: Spent,
    /// How much of the last request the provider had in its cache, or has now.
    cached: u64,
    last_text: String,
    cure: Option<Cure>,
    /// What servers had not finished about the changes so far.
    open: Option<Open>,
    denied: Denied,
}

/// Which of its calls were denied.
#[derive(Default)]
struct Denied {
    any: bool,
    /// One that would have changed something.
    change: bool,
}

/// Why a run ended, when it was not simply done.
enum End {
    Cancelled,
    Failed(String),
    Denied(String),
}

impl Run {
    /// Starts the run in a task of its own. Whatever happens in it, it ends with one `finished`.
    pub fn spawn(
        agent: Arc<Agent>,
        session: Arc<Session>,
        provider: Arc<dyn Provider>,
        request: RunRequest,
        observer: Arc<dyn Observer>,
    ) {
        let outlet = Arc::new(Outlet::new(session.clone(), observer));
        let run = Run {
            cancel: session.token(),
            outlet: outlet.clone(),
            session: session.clone(),
            agent,
            provider,
            request,
            spent: Spent::default(),
            cached: 0,
            last_text: String::new(),
            cure: None,
            open: None,
            denied: Denied::default(),
        };
        tokio::spawn(async move {
            let (status, message, usage, cure) = match tokio::spawn(run.work()).await {
                Ok(end) => end,
                Err(error) => {
                    tracing::error!(%error, "a run panicked");
                    let message = "an internal error ended the run; what it had changed stays, and the log has the details";
                    (Status::Failed, message.to_owned(), Spent::default(), None)
                }
            };
            // A door that was told of the end must find the session at rest.
            session.end(status);
            outlet.emit(EventKind::Finished {
                status,
                message,
                files: outlet.files(),
                usage,
                cure,
            });
        });
    }

    async fn work(mut self) -> (Status, String, Spent, Option<Cure>) {
        let end = self.steps().await;
        let (status, message) = match end {
            Ok(()) => (Status::Done, self.last_text.trim().to_owned()),
            Err(End::Cancelled) => (Status::Cancelled, "Cancelled".to_owned()),
            Err(End::Failed(message)) => (Status::Failed, message),
            Err(End::Denied(message)) => (Status::Denied, message),
        };
        (status, message, self.spent, self.cure)
    }

    async fn steps(&mut self) -> Result<(), End> {
        let cx = Context {
            workspace: self.agent.workspace.clone(),
            pool: self.agent.pool.clone(),
            cancel: self.cancel.clone(),
            label: format!("Agent: {}", self.session.title),
            own: tools::OwnEdits::default(),
        };
        self.outlet.emit(EventKind::Started {
            prompt: match &self.request.task {
                Task::Ask(prompt) => prompt.clone(),
                Task::Fix(_) => self.session.title.clone(),
            },
            model: self.provider.id().to_owned(),
        });
        self.tell_of_unpriced();
        let problems = match &self.request.task {
            Task::Fix(problems) if problems.is_empty() => match self.look(&cx).await? {
                Some(found) => found,
                None => return Ok(()),
            },
            Task::Fix(problems) => problems.clone(),
            Task::Ask(_) => Vec::new(),
        };
        let focus = self.request.focus.clone();
        let is_compact = self.provider.facts().is_compact();
        let form = match is_compact {
            true => Form::Short,
            false => Form::Full,
        };
        let (system, notices) = prompt::system(
            form,
            &self.agent.config,
            &self.agent.workspace,
            focus.as_ref(),
            self.request.read_only,
        );
        for message in notices {
            self.outlet.emit(EventKind::Notice { message });
        }
        let before = focus.as_ref().and_then(|focus| cx.read(&focus.uri).ok());
        let asked = prompt::request(&self.request.task, &problems, focus.as_ref(), &cx);
        let mut request = Request {
            system,
            messages: self.session.messages(),
            tools: self.tools(),
            ..Request::default()
        };
        let end = if is_compact && !problems.is_empty() && !self.request.read_only {
            self.fix_small(&problems, &mut request.messages, &cx).await
        } else {
            request.messages.push(Message::user(asked));
            self.converse(&mut request, &cx).await
        };
        self.session.keep(request.messages);
        end?;
        let said = || self.last_text.trim().to_owned();
        let has_changed = !self.outlet.files().is_empty();
        let is_fix = matches!(self.request.task, Task::Fix(_));
        // An answer in words may be all that was asked for, as long as nothing else was tried.
        let needed = match is_fix {
            true => self.denied.any,
            false => self.denied.change,
        };
        if !has_changed && needed {
            return Err(End::Denied(said()));
        }
        // Words alone fix nothing: whoever counts on it must be able to tell.
        if is_fix && !has_changed {
            return Err(End::Failed(said()));
        }
        if is_fix {
            self.cure = self.cure(&problems, before, &cx).await;
            if matches!(self.cure, Some(Cure::Part { left, of }) if left == of) {
                return Err(End::Failed(self.last_text.trim().to_owned()));
            }
        }
        Ok(())
    }

    /// The loop itself.
    async fn converse(&mut self, request: &mut Request, cx: &Context) -> Result<(), End> {
        let mut repeated = Repeated::default();
        for _ in 0..self.agent.config.max_steps {
            self.session.set_step("Thinking");
            self.afford(request)?;
            let answer = self.ask(request).await?;
            let (text, calls) = (answer.text(), answer.calls());
            let goes_on = answer.stop == Stop::Paused && calls.is_empty();
            if text.is_empty() && calls.is_empty() && !goes_on {
                return Err(End::Failed(format!(
                    "{} answered with neither text nor a tool call: try again, or another model",
                    self.provider.id()
                )));
            }
            if !text.is_empty() {
                self.last_text = text;
            }
            request.messages.push(Message {
                role: Role::Assistant,
                blocks: answer.blocks,
            });
            if goes_on {
                continue;
            }
            if calls.is_empty() {
                let ended = match answer.stop {
                    Stop::Length => Err(End::Failed(
                        "the model's answer was cut at its output limit: ask for less at once, or raise max_output".into(),
                    )),
                    Stop::Refused => Err(End::Failed(
                        "the model or its provider refused to answer this request".into(),
                    )),
                    _ => Ok(()),
                };
                let news = match ended {
                    Ok(()) => self.last_news(cx).await,
                    Err(_) => None,
                };
                let Some(news) = news else {
                    return ended;
                };
                // It counts them as its own, or says why they are none of them; either way it is told of them once.
                request.messages.push(Message::user(news));
                continue;
            }
            let results = self.make(&calls, After::Checked, cx).await;
            let is_stuck = repeated.count(&calls, &results);
            request.messages.push(Message {
                role: Role::User,
                blocks: results,
            });
            if self.cancel.is_cancelled() {
                return Err(End::Cancelled);
            }
            // A small model does not find out of it by itself.
            if is_stuck && self.provider.facts().is_compact() {
                return Err(End::Failed(format!(
                    "stopped: {} made the same call with the same result over and over. What was changed so far stays; ask \
                     in other words, or a larger model",
                    self.provider.id()
                )));
            }
        }
        Err(End::Failed(format!(
            "stopped after {} steps (agent.max_steps); what was changed so far stays",
            self.agent.config.max_steps
        )))
    }

    /// The problems in the focus, if there are any; `None` ends the run with nothing to do.
    async fn look(&mut self, cx: &Context) -> Result<Option<Vec<Diagnostic>>, End> {
        let Some(focus) = self.request.focus.clone() else {
            return Err(End::Failed("there is no file to fix problems in".into()));
        };
        let shown = cx.shown(&focus.uri);
        self.session.set_step(&format!("Checking {shown}"));
        let diagnosis = tokio::select! {
            biased;
            () = self.cancel.cancelled() => return Err(End::Cancelled),
            diagnosis = self.agent.pool.diagnostics(&focus.uri, LOOK, &self.cancel) => diagnosis,
        };
        let found = match diagnosis {
            Diagnosis::Fresh(found) => found,
            Diagnosis::Pending(found) => {
                if found.is_empty() {
                    return Err(End::Failed(
                        match self.agent.pool.pending_because(&focus.uri) {
                            Some(why) => format!("nothing is known of {shown} yet: {why}"),
                            None => format!(
                                "the language server has not finished checking {shown}: try again in a moment"
                            ),
                        },
                    ));
                }
                found
            }
            Diagnosis::Unavailable(reason) => {
                return Err(End::Failed(format!(
                    "problems in {shown} can't be known: {reason}"
                )));
            }
        };
        // Hints are notes on other problems, or greyed-out code: nobody asked to have those fixed.
        let (counted, hinted): (Vec<_>, Vec<_>) = found
            .into_iter()
            .partition(|problem| problem.severity <= Severity::Warning);
        let here: Vec<Diagnostic> = counted
            .into_iter()
            .filter(|problem| focus.range.is_none_or(|range| meets(range, problem.range)))
            .collect();
        if here.is_empty() {
            let place = if focus.range.is_some() { " here" } else { "" };
            let unchecked = match self.agent.pool.unchecked(&focus.uri).as_slice() {
                [] => String::new(),
                sources => format!(
                    " ({} look only at what is saved, and have not looked yet)",
                    sources.join(" and ")
                ),
            };
            // What a server could not load it has not checked.
            let but = match self.agent.pool.caution(&focus.uri) {
                Some(caution) => format!(", but {}", caution.words),
                None => ".".to_owned(),
            };
            self.last_text = format!("No problems found{place} in {shown}{unchecked}{but}");
            // Some say why there are none: that the file is no part of any crate.
            if let Some(line) = self.hints(hinted, &shown, cx) {
                self.last_text.push_str(&format!("\n{line}"));
            }
            return Ok(None);
        }
        Ok(Some(here))
    }

    fn hints(&self, mut hinted: Vec<Diagnostic>, shown: &str, cx: &Context) -> Option<String> {
        let focus = self.request.focus.as_ref()?;
        let snapshot = cx.read(&focus.uri).ok()?;
        hinted.sort_by_key(|one| (one.severity, one.range));
        let told = |one| Problem::new(shown.to_owned(), one, &snapshot);
        hints::line(&hinted.iter().map(told).collect::<Vec<_>>())
    }

    /// What became of these problems of a text.
    async fn cure(
        &mut self,
        problems: &[Diagnostic],
        before: Option<Snapshot>,
        cx: &Context,
    ) -> Option<Cure> {
        let before = before?;
        self.session.set_step("Checking what is left");
        // Whoever waits in an editor has seen what was done; a file is for a script, and is checked in full.
        let patience = match before.is_buffer() {
            true => aftermath::DEADLINE,
            false => LOOK,
        };
        let pool = &self.agent.pool;
        let left = tokio::select! {
            biased;
            () = self.cancel.cancelled() => None,
            left = pool.left_of(problems, &before, patience, &cx.cancel) => left,
        };
        Some(match left {
            None => Cure::Unchecked,
            Some(0) => Cure::Whole,
            Some(left) => Cure::Part {
                left,
                of: problems.len(),
            },
        })
    }

    fn tools(&self) -> Vec<ToolSpec> {
        let (tools, read_only) = (&self.agent.tools, self.request.read_only);
        let specs = match self.provider.facts().is_compact() {
            true => tools.short_specs(read_only),
            false => tools.specs(read_only),
        };
        specs
            .into_iter()
            .map(|spec| ToolSpec {
                name: spec.name,
                description: spec.description,
                schema: spec.schema,
            })
            .collect()
    }
}

fn meets(left: ByteRange, right: ByteRange) -> bool {
    left.start <= right.end && right.start <= left.end
}
