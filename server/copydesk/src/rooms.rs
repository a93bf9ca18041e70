//! Puts the rooms together for one workspace: configuration read, servers and models known, the
//! agent ready. Nothing is started or reached here, so that it takes no time.

use std::{path::PathBuf, sync::Arc};

use agent::{Agent, Models};
use langserver::{Limits, Pool};
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
    let loaded = config::load(roots, options);
    let catalogue = loaded.catalogue();
    let config::Loaded {
        config, warnings, ..
    } = loaded;
    let servers = langserver::catalogue::merged(&config.language_servers);
    let bounds = config.language_server_pool.bounds();
    let pool = Pool::bounded(servers, workspace.clone(), Limits::default(), bounds);
    let models = Models {
        default: config.model,
        catalogue,
        fallback: config.fallback_model,
        max_cost: config.max_cost,
    };
    let agent = Agent::new(config.agent, models, workspace.clone(), pool.clone());
    Rooms {
        agent,
        pool,
        warnings,
    }
}
