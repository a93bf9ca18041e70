//! Holds one layer against what there is to configure: unknown keys and wrong types are taken out,
//! each with one warning.

use serde_json::{Map, Value, json};

use super::{Config, layer::Layer};

/// Every key that there is. `*` stands for any name, `null` for a value without further keys.
fn shape() -> Value {
    json!({
        "model": null, "fallback_model": null, "max_cost": null,
        "providers": { "*": {
            "api": null, "base_url": null, "api_key_env": null, "api_key_command": null,
            "client_certificate": null, "client_key": null, "ca_file": null,
            "headers": null,
            "models": { "*": {
                "context": null, "max_output": null,
                "tools": null, "images": null, "reasoning": null, "thinking": null, "caching": null,
                "compact": null,
                "cost": {
                    "input": null, "output": null, "cache_read": null, "cache_write": null,
                    "long": {
                        "above": null,
                        "input": null, "output": null, "cache_read": null, "cache_write": null,
                    },
                },
            } },
        } },
        "language_servers": { "*": {
            "command": null, "alternatives": null, "languages": null, "root_markers": null,
            "settings": null, "initialization_options": null, "env": null, "ready": null,
            "start": null, "enabled": null,
        } },
        "language_server_pool": {
            "idle_shutdown": null, "max_memory": null, "max_processes": null,
        },
        "agent": { "max_steps": null, "instructions": null, "tools": null },
    })
}

/// The values of the layer that can be used.
pub fn clean(layer: &Layer, warnings: &mut Vec<String>) -> Value {
    let mut values = Value::Object(layer.values.clone());
    let mut unknown = Vec::new();
    known(&mut values, &shape(), &mut Vec::new(), &mut unknown);
    for (path, nearest) in unknown {
        let hint =
            nearest.map_or_else(String::new, |nearest| format!(" Did you mean `{nearest}`?"));
        warnings.push(format!(
            "{}: there is no setting `{}`.{hint}",
            layer.place(&path),
            path.join(".")
        ));
    }
    // Each round takes one wrong value out, so this ends.
    while let Err(error) = serde_path_to_error::deserialize::<_, Config>(&values) {
        let path: Vec<String> = error
            .path()
            .iter()
            .filter_map(|segment| match segment {
                serde_path_to_error::Segment::Map { key } => Some(key.clone()),
                serde_path_to_error::Segment::Enum { variant } => Some(variant.clone()),
                _ => None,
            })
            .collect();
        warnings.push(format!(
            "{}: `{}` is ignored: {}",
            layer.place(&path),
            path.join("."),
            error.inner()
        ));
        if !remove(&mut values, &path) {
            return json!({});
        }
    }
    values
}

type Unknown = Vec<(Vec<String>, Option<String>)>;

fn known(value: &mut Value, shape: &Value, path: &mut Vec<String>, unknown: &mut Unknown) {
    let (Value::Object(object), Value::Object(shape)) = (value, shape) else {
        return;
    };
    object.retain(|key, value| {
        path.push(key.clone());
        let inner = shape.get(key).or_else(|| shape.get("*"));
        match inner {
            Some(inner) => known(value, inner, path, unknown),
            None => unknown.push((path.clone(), nearest(key, shape))),
        }
        path.pop();
        inner.is_some()
    });
}

fn nearest(key: &str, shape: &Map<String, Value>) -> Option<String> {
    tools::nearest(key, shape.keys().map(String::as_str)).map(str::to_owned)
}

fn remove(value: &mut Value, path: &[String]) -> bool {
    let Some((last, parents)) = path.split_last() else {
        return false;
    };
    let mut at = value;
    for part in parents {
        match at.get_mut(part) {
            Some(inner) => at = inner,
            None => return false,
        }
    }
    at.as_object_mut()
        .is_some_and(|object| object.remove(last).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(toml: &str, left: Value, expected: &[&str]) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("config.toml");
        std::fs::write(&path, toml).expect("the file is written");
        let mut warnings = Vec::new();
        let values = Layer::file(&path, &mut warnings)
            .map_or_else(|| json!(null), |layer| clean(&layer, &mut warnings));
        assert_eq!(values, left, "{toml}");
        let shown: Vec<String> = warnings
            .iter()
            .map(|warning| warning.replace(&path.display().to_string(), "F"))
            .collect();
        assert_eq!(shown.len(), expected.len(), "{shown:?}");
        for (shown, expected) in shown.iter().zip(expected) {
            assert!(shown.contains(expected), "{shown} should say {expected}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_and_the_rest_counts() {
        check("model = \"a/b\"", json!({ "model": "a/b" }), &[]);
        check(
            "\nmodell = \"a/b\"\n[agent]\nmax_steps = 3\n",
            json!({ "agent": { "max_steps": 3 } }),
            &["F:2: there is no setting `modell`. Did you mean `model`?"],
        );
        check(
            "model = \"a/b\"\n[agent]\nmax_steps = \"three\"\n",
            json!({ "model": "a/b", "agent": {} }),
            &["F:3: `agent.max_steps` is ignored: invalid type: string"],
        );
        check(
            "[providers.x]\nbaseurl = \"http://h\"\napi = \"openai-chat\"\n",
            json!({ "providers": { "x": { "api": "openai-chat" } } }),
            &["F:2: there is no setting `providers.x.baseurl`. Did you mean `base_url`?"],
        );
        check("model = \n", json!(null), &["F:1: "]);
        check(
            "[providers.x.models.m]\nimage = true\ntools = \"yes\"\nreasoning = false\ncost = { long = { above = 9, inputs = 1 } }\n",
            json!({ "providers": { "x": { "models": { "m": {
                "reasoning": false, "cost": { "long": { "above": 9 } },
            } } } } }),
            &[
                "F:5: there is no setting `providers.x.models.m.cost.long.inputs`. Did you mean `input`?",
                "F:2: there is no setting `providers.x.models.m.image`. Did you mean `images`?",
                "F:3: `providers.x.models.m.tools` is ignored: invalid type: string",
            ],
        );
        check(
            "[language_servers.ra]\nstart = \"never\"\nsettings = { any = { key = 1 } }\n",
            json!({ "language_servers": { "ra": { "settings": { "any": { "key": 1 } } } } }),
            &["F:2: `language_servers.ra.start"],
        );
        check(
            "[language_server_pool]\nidle_shutdown = 60\nmax_memori = 1\nmax_processes = 0\n",
            json!({ "language_server_pool": { "idle_shutdown": 60 } }),
            &[
                "F:3: there is no setting `language_server_pool.max_memori`. Did you mean `max_memory`?",
                "F:4: `language_server_pool.max_processes` is ignored: invalid value: integer `0`",
            ],
        );
    }
}
