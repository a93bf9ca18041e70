//! Which models there are: the providers that are built in, those that the user's configuration adds or changes, and what is known of their models.

mod config;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use config::{Api, Cost, ModelConfig, ProviderConfig};

use crate::{ModelError, Provider};

/// The model that needs no key and no network; it lives with the agent, here is only its name.
pub const QUICKFIX: &str = "builtin/quickfix";

/// A model that could be chosen.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct ModelInfo {
    /// `provider/model`.
    pub id: String,
    /// Whether it could be asked now, as far as can be seen without asking.
    pub available: bool,
    /// If not: why, and what to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// The providers and their models.
pub struct Catalogue {
    providers: BTreeMap<String, ProviderConfig>,
}

impl Catalogue {
    /// The built-in providers with the user's `[providers.*]` over them.
    pub fn new(user: BTreeMap<String, ProviderConfig>) -> Self {
        Self { providers: user }
    }

    /// The model of that name, ready to be asked.
    pub fn resolve(&self, _model: &str) -> Result<Arc<dyn Provider>, ModelError> {
        Err(ModelError::Stream(format!("{}", self.providers.len())))
    }

    /// All models that are known, available or not.
    pub fn models(&self) -> Vec<ModelInfo> {
        Vec::new()
    }

    /// The model to use when none was chosen.
    pub fn default_model(&self) -> String {
        QUICKFIX.to_owned()
    }
}
