//! Which server a document goes to, and with which root. It looks at names, the search path and markers; it starts
//! nothing.

use std::path::{Path, PathBuf};

use workspace::{Snapshot, Workspace};

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

/// A server for a document that seems to be installed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate<'a> {
    pub name: &'a str,
    config: &'a ServerConfig,
    command: &'a [String],
}

impl Candidate<'_> {
    /// Its configuration with the one command that was found.
    pub fn config(&self) -> ServerConfig {
        ServerConfig {
            command: self.command.to_vec(),
            alternatives: Vec::new(),
            ..self.config.clone()
        }
    }

    pub fn root_markers(&self) -> &[String] {
        &self.config.root_markers
    }
}

impl Choice {
    pub fn new(servers: Servers) -> Self {
        let servers = catalogue::in_order(servers).into_iter();
        let (enabled, off) = servers.partition(|(_, config)| config.is_enabled());
        Self { enabled, off }
    }

    /// The servers for a document's language, the preferred first; in the place of one that is not installed, why.
    pub fn candidates<'a>(
        &'a self,
        snapshot: &'a Snapshot,
        workspace: &'a Workspace,
    ) -> impl Iterator<Item = Result<Candidate<'a>, QueryError>> {
        let language = language(snapshot);
        let top = workspace.roots().into_iter().next().unwrap_or_default();
        self.enabled
            .iter()
            .filter(move |(_, config)| config.languages.iter().any(|one| one == language))
            .filter(|(name, config)| is_for(name, config, snapshot, workspace))
            .map(move |(name, config)| {
                let command = installed(name, config, &top)?;
                Ok(Candidate {
                    name,
                    config,
                    command,
                })
            })
    }

    /// The error of a document that none of the candidates serves. `missing` are those that are not installed.
    pub fn none_for(&self, snapshot: &Snapshot, missing: Option<QueryError>) -> QueryError {
        let language = language(snapshot).to_owned();
        let mut off = self.off.iter();
        let is_off = off.find(|(_, config)| config.languages.contains(&language));
        missing.unwrap_or_else(|| match is_off {
            Some((name, _)) => QueryError::Disabled {
                name: name.clone(),
                language,
            },
            None => QueryError::NoServer { language },
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
    }))
}

/// Whether a server is meant for the project that a document is in.
fn is_for(name: &str, config: &ServerConfig, snapshot: &Snapshot, workspace: &Workspace) -> bool {
    let must_be_marked = catalogue::traits(name).only_with_marker && config.enabled.is_none();
    !must_be_marked
        || snapshot.uri.path().is_some_and(|path| {
            let top = workspace.root_of(path).unwrap_or_else(|| "/".into());
            roots::root(path, &top, &config.root_markers).is_some()
        })
}

/// The root that a document's server is started with. `running` are the roots of those that there are.
pub(super) fn root(
    snapshot: &Snapshot,
    markers: &[String],
    workspace: &Workspace,
    running: Vec<PathBuf>,
) -> PathBuf {
    let first = || workspace.roots().into_iter().next();
    let Some(path) = snapshot.uri.path() else {
        return first()
            .or_else(|| running.into_iter().next())
            .unwrap_or_else(std::env::temp_dir);
    };
    if let Some(top) = workspace.root_of(path) {
        return roots::root(path, &top, markers).unwrap_or(top);
    }
    // Outside of the workspace, as a dependency's source is: whoever led there knows it.
    running.into_iter().next().unwrap_or_else(|| {
        let parent = path.parent().unwrap_or(Path::new("/"));
        roots::root(path, Path::new("/"), markers).unwrap_or_else(|| parent.to_owned())
    })
}
