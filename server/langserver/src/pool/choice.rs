//! Which server a document goes to, and with which root. It looks at names, the search path and markers; it starts
//! nothing.

use std::path::{Path, PathBuf};

use workspace::{Reading, Snapshot, Workspace};

use crate::{
    answer::QueryError,
    catalogue,
    config::{ServerConfig, Servers},
    mirror::language,
    roots,
    server::{NotFound, find_program, gone},
};

/// The servers, the preferred first.
#[derive(Debug)]
pub(super) struct Choice {
    enabled: Vec<(String, ServerConfig)>,
    /// Those that the configuration switches off.
    off: Vec<(String, ServerConfig)>,
}

/// Where a document lies: what every choice for it goes by, looked up once.
pub(super) struct Site<'a> {
    snapshot: &'a Snapshot,
    /// The first folder of the workspace.
    first: Option<PathBuf>,
    /// The innermost folder of the workspace that it lies in.
    top: Option<PathBuf>,
}

impl<'a> Site<'a> {
    pub fn of(snapshot: &'a Snapshot, workspace: &Workspace, reading: &mut Reading<'_>) -> Self {
        Self {
            snapshot,
            first: workspace.roots().into_iter().next(),
            top: snapshot.uri.path().and_then(|path| reading.root_of(path)),
        }
    }

    /// The root that the document's server is started with. `running` are the roots of those that there are.
    pub fn root(&self, markers: &[String], running: Vec<PathBuf>) -> PathBuf {
        let running = running.into_iter().next();
        let Some(path) = self.snapshot.uri.path() else {
            let first = self.first.clone();
            return first.or(running).unwrap_or_else(std::env::temp_dir);
        };
        if let Some(top) = &self.top {
            return roots::root(path, top, markers).unwrap_or_else(|| top.clone());
        }
        // Outside of the workspace, as a dependency's source is: whoever led there knows it.
        running.unwrap_or_else(|| {
            let parent = path.parent().unwrap_or(Path::new("/"));
            roots::root(path, Path::new("/"), markers).unwrap_or_else(|| parent.to_owned())
        })
    }
}

/// A server for a document, if it is installed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate<'a> {
    pub name: &'a str,
    config: &'a ServerConfig,
}

impl<'a> Candidate<'a> {
    pub const fn root_markers(&self) -> &'a Vec<String> {
        &self.config.root_markers
    }

    /// Its configuration with the one command that is there; or why there is none.
    pub fn installed(&self, site: &Site<'_>) -> Result<ServerConfig, QueryError> {
        let top = site.first.as_deref().unwrap_or(Path::new(""));
        let command = installed(self.name, self.config, top)?;
        Ok(ServerConfig {
            command: command.to_vec(),
            alternatives: Vec::new(),
            ..self.config.clone()
        })
    }
}

impl Choice {
    pub fn new(servers: Servers) -> Self {
        let servers = catalogue::in_order(servers).into_iter();
        let (enabled, off) = servers.partition(|(_, config)| config.is_enabled());
        Self { enabled, off }
    }

    /// The servers for a document's language, the preferred first.
    pub fn candidates<'a>(&'a self, site: &'a Site<'a>) -> impl Iterator<Item = Candidate<'a>> {
        let language = language(site.snapshot);
        self.enabled
            .iter()
            .filter(move |(_, config)| config.languages.iter().any(|one| one == language))
            .map(|(name, config)| Candidate { name, config })
            .filter(|candidate| is_for(candidate, site))
    }

    /// The error of a document that none of the candidates serves. `missing` are those that are not installed.
    pub fn none_for(&self, snapshot: &Snapshot, missing: Option<QueryError>) -> QueryError {
        let language = language(snapshot).to_owned();
        let off = self.off.iter();
        let off = off.filter(|(_, config)| config.languages.contains(&language));
        let names: Vec<String> = off.map(|(name, _)| name.clone()).collect();
        missing.unwrap_or(match names.is_empty() {
            false => QueryError::Disabled { names, language },
            true => QueryError::NoServer { language },
        })
    }

    /// Whether a server for this language is to be started when a document of it is opened.
    pub fn starts_on_open(&self, language: &str) -> bool {
        let starts =
            |config: &ServerConfig| config.start.unwrap_or_default() == crate::config::Start::Open;
        self.enabled
            .iter()
            .any(|(_, config)| starts(config) && config.languages.iter().any(|one| one == language))
    }
}

/// The first command of a server that is there.
fn installed<'a>(
    name: &str,
    config: &'a ServerConfig,
    top: &Path,
) -> Result<&'a [String], QueryError> {
    let mut unusable = None;
    for command in config.commands() {
        match find_program(&command[0], config.env.get("PATH").map(Into::into), top) {
            Ok(_) => return Ok(command),
            Err(NotFound::Unusable(reason)) => {
                unusable.get_or_insert_with(|| QueryError::Unusable {
                    name: name.to_owned(),
                    command: command[0].clone(),
                    reason: reason.to_owned(),
                });
            }
            Err(NotFound::Missing) => {}
        }
    }
    // A program that is named as seen from there can't be found there.
    if let Some(message) = gone(top).filter(|_| unusable.is_none()) {
        return Err(QueryError::Failed {
            name: name.to_owned(),
            message,
        });
    }
    let program = || config.command.first().cloned().unwrap_or_default();
    Err(unusable.unwrap_or_else(|| QueryError::NotInstalled {
        name: name.to_owned(),
        command: program(),
        install: catalogue::install_command(name).map(str::to_owned),
        configured_at: config.configured_at.clone(),
    }))
}

/// Whether a server is meant for the project that a document is in.
fn is_for(candidate: &Candidate<'_>, site: &Site<'_>) -> bool {
    let Candidate { name, config } = candidate;
    let must_be_marked = catalogue::traits(name).only_with_marker && config.enabled.is_none();
    !must_be_marked
        || site.snapshot.uri.path().is_some_and(|path| {
            let top = site.top.as_deref().unwrap_or(Path::new("/"));
            roots::root(path, top, &config.root_markers).is_some()
        })
}
