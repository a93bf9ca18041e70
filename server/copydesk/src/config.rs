//! Reads the configuration from every place that it may stand in, later over earlier, and hands
//! each room its part. A mistake is one warning that says where and what would be right; the rest
//! still counts.

mod check;
mod layer;
mod meant;
mod written;

use std::path::{Path, PathBuf};

use agent::AgentConfig;
use langserver::{PoolConfig, Servers};
use model::{Catalogue, ProviderConfig};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

use crate::keyring;
use layer::Layer;

/// The whole of it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Config {
    /// `provider/model` of runs that name none.
    pub model: Option<String>,
    /// What answers when that has failed for good.
    pub fallback_model: Option<String>,
    /// What a run may cost, in USD.
    pub max_cost: Option<f64>,
    /// How models are reached.
    pub providers: BTreeMap<String, ProviderConfig>,
    /// Language servers, over the built-in catalogue.
    pub language_servers: Servers,
    /// What all of them together may cost.
    pub language_server_pool: PoolConfig,
    /// The loop.
    pub agent: AgentConfig,
}

/// A configuration with what was wrong with it.
#[derive(Debug, Default)]
pub struct Loaded {
    /// What counts.
    pub config: Config,
    /// One line a mistake.
    pub warnings: Vec<String>,
    /// Each file that was looked for.
    pub files: Vec<(PathBuf, Reading)>,
}

impl Loaded {
    /// The providers and their models, with the system's keyring.
    pub fn catalogue(&self) -> Catalogue {
        let providers = self.config.providers.clone();
        Catalogue::new(providers).with_keyring(keyring::keyring())
    }
}

/// What came of looking for a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Reading {
    /// It is there and counts.
    Read,
    /// It is not there.
    Absent,
    /// It is there and can't be used; a warning says why.
    Unusable,
}

/// In a workspace that nobody has trusted, its own file may set these and nothing that starts a
/// program or reaches out.
const UNTRUSTED: [&str; 2] = ["model", "agent"];

/// Where the person's own configuration is kept.
pub fn directory() -> Option<PathBuf> {
    let named = std::env::var_os("COPYDESK_CONFIG_DIR");
    // An empty one would be wherever we were started: in a project, that is.
    if let Some(named) = named.filter(|named| !named.is_empty()) {
        return Some(PathBuf::from(named));
    }
    directories::ProjectDirs::from("", "", "copydesk").map(|dirs| dirs.config_dir().to_path_buf())
}

/// Where what copydesk remembers of this person is kept.
pub fn state_directory() -> Option<PathBuf> {
    let named = std::env::var_os("COPYDESK_STATE_DIR");
    if let Some(named) = named.filter(|named| !named.is_empty()) {
        return Some(PathBuf::from(named));
    }
    let dirs = directories::ProjectDirs::from("", "", "copydesk")?;
    let state = dirs.state_dir().unwrap_or_else(|| dirs.data_local_dir());
    Some(state.to_path_buf())
}

/// Reads all of it for a workspace. `options` are the client's `initializationOptions`.
pub fn load(roots: &[PathBuf], options: &Value) -> Loaded {
    let mut warnings = Vec::new();
    let mut layers = Vec::new();
    let mut files = Vec::new();
    let mut read = |path: PathBuf, warnings: &mut Vec<String>| {
        let layer = Layer::file(&path, warnings);
        let reading = match &layer {
            Some(_) => Reading::Read,
            None if path.exists() => Reading::Unusable,
            None => Reading::Absent,
        };
        files.push((path, reading));
        layer
    };
    if let Some(directory) = directory() {
        layers.extend(read(directory.join("config.toml"), &mut warnings));
    }
    for root in roots {
        let path = root.join(".copydesk").join("config.toml");
        // A client may open the folder of the configuration itself as its workspace.
        if directory().is_some_and(|directory| same(&directory.join("config.toml"), &path)) {
            continue;
        }
        if let Some(layer) = read(path, &mut warnings) {
            layers.push(layer.only(&UNTRUSTED, &mut warnings));
        }
    }
    layers.push(Layer::options(options));
    layers.push(Layer::environment());
    let mut whole = Value::Object(serde_json::Map::new());
    for layer in &layers {
        let clean = check::clean(layer, &mut warnings);
        merge(&mut whole, clean);
    }
    let mut config = serde_json::from_value(whole).unwrap_or_else(|error| {
        warnings.push(format!(
            "the configuration can't be used together: {error}; defaults are used"
        ));
        Config::default()
    });
    let here = roots.first().map_or(Path::new("/"), PathBuf::as_path);
    warnings.extend(meant::mend(&mut config, &layers, here));
    in_order(&mut warnings, &files);
    Loaded {
        config,
        warnings,
        files,
    }
}

/// As they stand in the files, whoever found them; those of no file last.
fn in_order(warnings: &mut [String], files: &[(PathBuf, Reading)]) {
    let place = |warning: &String| {
        let mut files = files.iter().enumerate();
        let found = files.find_map(|(number, (path, _))| {
            let rest = warning.strip_prefix(&*path.to_string_lossy())?;
            let line = rest.strip_prefix(':')?.split(':').next()?;
            Some((number, line.parse::<usize>().unwrap_or(0)))
        });
        found.unwrap_or((usize::MAX, 0))
    };
    warnings.sort_by_key(place);
}

fn same(left: &Path, right: &Path) -> bool {
    match (left.canonicalize(), right.canonicalize()) {
        (Ok(left), Ok(right)) => left == right,
        _ => false,
    }
}

/// Tables merge by key; anything else is replaced.
fn merge(under: &mut Value, over: Value) {
    match (under, over) {
        (Value::Object(under), Value::Object(over)) => {
            for (key, value) in over {
                merge(under.entry(key).or_insert(Value::Null), value);
            }
        }
        (under, over) => *under = over,
    }
}
