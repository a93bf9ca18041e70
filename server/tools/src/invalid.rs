//! The answers to wrong calls. Each says what was wrong and shows what would be right, so that the
//! model's next call can be.

use jsonschema::ValidationError;
use serde_json::Value;
use similar::TextDiff;

/// No tool has this name.
pub fn unknown<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.collect();
    let hint = nearest(name, known.iter().copied())
        .map_or_else(String::new, |nearest| format!(" Did you mean `{nearest}`?"));
    format!(
        "invalid: there is no tool `{name}`.{hint} The tools are: {}.",
        known.join(", ")
    )
}

/// The known name that a wrong one was probably meant to be.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_lowercase();
    let ratio = |other: &str| TextDiff::from_chars(name.as_str(), other).ratio();
    known
        .map(|other| (ratio(other), other))
        .max_by(|left, right| left.0.total_cmp(&right.0))
        .filter(|(ratio, _)| *ratio >= 0.5)
        .map(|(_, other)| other)
}

/// The arguments are no JSON object.
pub fn arguments(name: &str, schema: &Value, arguments: &str) -> String {
    const MOST: usize = 300;
    let what = match serde_json::from_str::<Value>(arguments) {
        Err(error) => format!("are not JSON ({error})"),
        Ok(_) => "are JSON, but not an object".to_owned(),
    };
    let mut shown: String = arguments.chars().take(MOST).collect();
    if shown.len() < arguments.len() {
        shown.push('…');
    }
    format!(
        "invalid: the arguments of `{name}` {what}: {shown}\nCall it again with one JSON object of this schema: {schema}"
    )
}

/// The parameters do not fit the schema.
pub fn parameters<'a>(
    name: &str,
    schema: &Value,
    errors: impl Iterator<Item = ValidationError<'a>>,
) -> String {
    const MOST: usize = 5;
    let mut text = format!("invalid: the parameters of `{name}` do not fit its schema:\n");
    for error in errors.take(MOST) {
        let path = error.instance_path().to_string();
        let place = if path.is_empty() {
            String::new()
        } else {
            format!("{}: ", path.trim_start_matches('/'))
        };
        text.push_str(&format!("- {place}{error}\n"));
    }
    text.push_str(&format!("Call it again with this schema: {schema}"));
    text
}
