//! Puts the rooms together for one workspace: configuration read, servers and models known, the
//! agent ready. Nothing is started or reached here, so that it takes no time.

use std::{path::PathBuf, sync::Arc};

use agent::Agent;
use langserver::{Limits, Pool};
use model::Catalogue;
use serde_json::Value;
use workspace::Workspace;

use crate::config;

/// What a door needs.
pub struct Rooms {
    pub agent: Arc<Agent>,
    pub pool: Arc<Pool>,
    /// What was wrong with the configuration, a line each.
    pub warnings: Vec<String>,
}

/// Builds them over a workspace.
pub fn build(roots: &[PathBuf], options: &Value, workspace: &Arc<Workspace>) -> Rooms {
    let config::Loaded {
        config, warnings, ..
    } = config::load(roots, options);
    let servers = langserver::catalogue::merged(&config.language_servers);
    let bounds = config.language_server_pool.bounds();
    let pool = Pool::bounded(servers, workspace.clone(), Limits::default(), bounds);
    let models = Catalogue::new(config.providers);
    let default_model = config.model.unwrap_or_else(|| models.default_model());
    let agent = Agent::new(
        config.agent,
        default_model,
        models,
        workspace.clone(),
        pool.clone(),
    );
    Rooms {
        agent,
        pool,
        warnings,
    }
}
