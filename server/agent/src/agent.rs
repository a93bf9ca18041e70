//! The agent as doors see it: start a run, cancel it, ask how things stand.

use std::sync::{Arc, Mutex};

use langserver::{Diagnostic, Pool};
use model::{Catalogue, ModelError, ModelInfo, Patience, Provider, Resilient};
use thiserror::Error;
use tools::Registry;
use workspace::Workspace;

use crate::{
    config::AgentConfig,
    event::{Focus, Observer, Status},
    quickfix::{self, Quickfix},
    run::Run,
    session::{RunInfo, SessionInfo, Sessions, lock},
};

/// What a run is asked to do.
#[derive(Clone, Debug)]
pub enum Task {
    /// Anything, in the person's own words.
    Ask(String),
    /// Cure these problems; if the list is empty, those that a language server finds in the focus.
    Fix(Vec<Diagnostic>),
}

/// One run, as it is asked for.
#[derive(Clone, Debug)]
pub struct RunRequest {
    /// What to do.
    pub task: Task,
    /// Where.
    pub focus: Option<Focus>,
    /// `provider/model`; unset: the configured one.
    pub model: Option<String>,
    /// Only tools that change nothing.
    pub read_only: bool,
    /// What it may cost, in USD; unset: what is configured.
    pub max_cost: Option<f64>,
    /// Go on with this session.
    pub session: Option<String>,
}

/// Why a run could not be started.
#[derive(Debug, Error)]
pub enum StartError {
    /// There is no such session.
    #[error(transparent)]
    UnknownSession(#[from] UnknownSession),
    /// The session has a run at work.
    #[error("session {0} is still working: cancel it, or wait until it has finished")]
    Busy(String),
    /// The model can't be had.
    #[error(transparent)]
    Model(#[from] ModelError),
}

/// No session has this id.
#[derive(Debug, Error)]
#[error("session: there is no session {0:?}")]
pub struct UnknownSession(pub String);

/// A model that can't be the one that runs use.
#[derive(Debug, Error)]
#[error("{error}{}", if .nearest.is_empty() { String::new() } else { format!(". The nearest: {}", .nearest.join(", ")) })]
pub struct NotChosen {
    error: ModelError,
    /// Models that may have been meant.
    nearest: Vec<String>,
}

/// Who answers, and what that may cost.
#[derive(Clone)]
pub struct Models {
    /// Those that there are.
    pub catalogue: Catalogue,
    /// What a run uses that names none; unset: the first whose key is there.
    pub default: Option<String>,
    /// What answers when that has failed for good.
    pub fallback: Option<String>,
    /// What a run may cost, in USD.
    pub max_cost: Option<f64>,
}

/// Starts runs and keeps their sessions.
pub struct Agent {
    pub(crate) config: AgentConfig,
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) pool: Arc<Pool>,
    pub(crate) tools: Registry,
    pub(crate) models: Models,
    /// The one that was chosen in place of the configured default.
    chosen: Mutex<Option<String>>,
    sessions: Sessions,
}

impl Agent {
    /// Puts it together.
    pub fn new(
        config: AgentConfig,
        models: Models,
        workspace: Arc<Workspace>,
        pool: Arc<Pool>,
    ) -> Arc<Self> {
        let tools = Registry::builtin().without(|name| config.tools.get(name) == Some(&false));
        Arc::new(Agent {
            config,
            workspace,
            pool,
            tools,
            models,
            chosen: Mutex::default(),
            sessions: Sessions::default(),
        })
    }

    /// Starts a run in a task of its own and answers its session's id at once.
    pub fn start(
        self: &Arc<Self>,
        request: RunRequest,
        observer: Arc<dyn Observer>,
    ) -> Result<String, StartError> {
        let model = request.model.clone();
        let provider = self.provider(&model.unwrap_or_else(|| self.default_model()))?;
        let session = match &request.session {
            None => self.sessions.create(title(&request)),
            Some(id) => {
                let session = (self.sessions.get(id)).ok_or_else(|| UnknownSession(id.clone()))?;
                if session.begin_again().is_none() {
                    return Err(StartError::Busy(id.clone()));
                }
                session
            }
        };
        let id = session.id.clone();
        Run::spawn(self.clone(), session, provider, request, observer);
        Ok(id)
    }

    /// Asks a run to stop; it says so itself by its `finished`.
    pub fn cancel(&self, session: &str) -> Result<(), UnknownSession> {
        let known = self.sessions.get(session);
        known
            .map(|session| session.token().cancel())
            .ok_or_else(|| UnknownSession(session.to_owned()))
    }

    /// Whether a session has this id.
    pub fn knows(&self, session: &str) -> bool {
        self.sessions.get(session).is_some()
    }

    /// All sessions of this process, newest first.
    pub fn sessions(&self) -> Vec<SessionInfo> {
        let all = self.sessions.all();
        all.iter().map(|session| session.info()).collect()
    }

    /// The runs at work, newest first.
    pub fn running(&self) -> Vec<RunInfo> {
        let all = self.sessions.all();
        all.iter()
            .filter_map(|session| session.run_info())
            .collect()
    }

    /// The model that a run uses when it names none.
    pub fn default_model(&self) -> String {
        let chosen = lock(&self.chosen).clone();
        let configured = || self.models.default.clone();
        // A key may have been put into the keyring meanwhile.
        let first = || self.models.catalogue.default_model();
        chosen.or_else(configured).unwrap_or_else(first)
    }

    /// Makes another one that. Runs at work keep theirs.
    pub fn choose_model(&self, model: &str) -> Result<(), NotChosen> {
        if let Err(error) = self.one(model) {
            use ModelError::{BadName, NoSuchBuiltin, UnknownProvider};
            let is_of_the_name = matches!(
                error,
                BadName { .. } | NoSuchBuiltin { .. } | UnknownProvider { .. }
            );
            let nearest = match is_of_the_name {
                true => self.models.catalogue.nearest(model),
                false => Vec::new(),
            };
            return Err(NotChosen { error, nearest });
        }
        *lock(&self.chosen) = Some(model.to_owned());
        Ok(())
    }

    /// The models that there are to choose from, those that can be asked first. It looks for servers on this machine, for a
    /// fraction of a second.
    pub async fn models(&self) -> Vec<ModelInfo> {
        let catalogue = &self.models.catalogue;
        let mut models = catalogue.models(&catalogue.local_servers().await);
        // What nobody knows by name can be asked all the same.
        let named = self.models.fallback.clone().into_iter();
        for id in named.chain([self.default_model()]) {
            if models.iter().all(|model| model.id != id) {
                models.insert(0, catalogue.model(&id));
            }
        }
        models.sort_by_key(|model| !model.available);
        models
    }

    /// Waits until no run works on this session.
    pub async fn wait(&self, session: &str) -> Result<Status, UnknownSession> {
        let known = self.sessions.get(session);
        let session = known.ok_or_else(|| UnknownSession(session.to_owned()))?;
        Ok(session.ended().await)
    }

    /// Cancels every run and waits until all have ended.
    pub async fn shutdown(&self) {
        let all = self.sessions.all();
        for session in &all {
            session.token().cancel();
        }
        for session in &all {
            session.ended().await;
        }
    }

    fn provider(&self, model: &str) -> Result<Arc<dyn Provider>, ModelError> {
        let first = self.one(model)?;
        let fallback = self.models.fallback.as_deref();
        let fallback = fallback
            .filter(|fallback| *fallback != model)
            .map(|fallback| self.one(fallback))
            .transpose();
        let fallback = fallback.unwrap_or_else(|error| {
            tracing::warn!(%error, "there is no fallback_model");
            None
        });
        let patience = Patience::default();
        Ok(Arc::new(Resilient::new(first, fallback, patience)))
    }

    fn one(&self, model: &str) -> Result<Arc<dyn Provider>, ModelError> {
        match model {
            quickfix::ID => Ok(Arc::new(Quickfix::new(self.models.catalogue.clone()))),
            _ => self.models.catalogue.resolve(model),
        }
    }
}

fn title(request: &RunRequest) -> String {
    match &request.task {
        Task::Ask(prompt) => first_line(prompt),
        Task::Fix(problems) => match problems.as_slice() {
            [] => "Fix problems here".to_owned(),
            [one] => format!("Fix: {}", first_line(&one.message)),
            many => format!("Fix {} problems", many.len()),
        },
    }
}

/// The first line that says something, cut for a title.
fn first_line(text: &str) -> String {
    const MOST: usize = 80;
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    let line = line.unwrap_or_default();
    if line.chars().count() <= MOST {
        return line.to_owned();
    }
    let cut: String = line.chars().take(MOST - 1).collect();
    format!("{cut}…")
}
