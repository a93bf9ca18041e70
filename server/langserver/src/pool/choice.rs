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
    server::find_program,
};

/// The enabled servers, the preferred first.
#[derive(Debug)]
pub(super) struct Choice(Vec<(String, ServerConfig)>);

impl Choice {
    pub fn new(servers: Servers) -> Self {
        let mut servers: Vec<_> = servers
            .into_iter()
            .filter(|(_, config)| config.is_enabled())
            .collect();
        // Those that someone asked for by name come before those that are merely known.
        servers.sort_by_key(|(name, config)| (config.enabled.is_none(), catalogue::rank(name)));
        Self(servers)
    }

    /// The first installed server for a document's language.
    pub fn choose(
        &self,
        snapshot: &Snapshot,
        workspace: &Workspace,
    ) -> Result<(&str, &ServerConfig), QueryError> {
        let language = language(snapshot);
        let mut missing = None;
        for (name, config) in self
            .0
            .iter()
            .filter(|(_, config)| config.languages.iter().any(|one| one == language))
        {
            let program = config
                .command
                .first()
                .map(String::as_str)
                .unwrap_or_default();
            let top = workspace.roots().into_iter().next().unwrap_or_default();
            if find_program(program, config.env.get("PATH").map(Into::into), &top).is_some() {
                return Ok((name, config));
            }
            missing.get_or_insert_with(|| QueryError::NotInstalled {
                name: name.clone(),
                command: program.to_owned(),
                install: catalogue::install_command(name).map(str::to_owned),
            });
        }
        Err(missing.unwrap_or_else(|| QueryError::NoServer {
            language: language.to_owned(),
        }))
    }

    /// Whether a server for this language is to be started when a document of it is opened.
    pub fn starts_on_open(&self, language: &str) -> bool {
        let starts =
            |config: &ServerConfig| config.start.unwrap_or_default() == crate::config::Start::Open;
        self.0
            .iter()
            .any(|(_, config)| starts(config) && config.languages.iter().any(|one| one == language))
    }
}

/// The root that a document's server is started with. `running` are the roots of those that there are.
pub(super) fn root(
    snapshot: &Snapshot,
    config: &ServerConfig,
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
        return roots::root(path, &top, &config.root_markers).unwrap_or(top);
    }
    // Outside of the workspace, as a dependency's source is: whoever led there knows it.
    running.into_iter().next().unwrap_or_else(|| {
        let parent = path.parent().unwrap_or(Path::new("/"));
        roots::root(path, Path::new("/"), &config.root_markers).unwrap_or_else(|| parent.to_owned())
    })
}
