//! `copydesk/event` as the interface promises it: `seq` from 1 without gaps, the fields of each type and no others,
//! `started` first, exactly one `finished`, last. It never looks at a run's sense.

use std::collections::BTreeMap;

use serde_json::Value;

use super::text::{self, Encoding};

/// The events so far.
#[derive(Debug, Default)]
pub struct Events {
    all: Vec<Value>,
    sessions: BTreeMap<String, Session>,
}

#[derive(Debug, Default)]
struct Session {
    seq: u64,
    open: bool,
}

impl Events {
    /// All of them, in order.
    pub fn all(&self) -> &[Value] {
        &self.all
    }

    /// Books an event; what is wrong with it comes back.
    pub fn push(&mut self, event: &Value) -> Result<(), String> {
        self.all.push(event.clone());
        let kind = event["type"].as_str().unwrap_or_default();
        let wanted = fields(kind).ok_or_else(|| format!("an event of unknown type: {event}"))?;
        let object = event.as_object().ok_or("an event that is no object")?;
        for (name, shape) in [("session", "s"), ("seq", "n"), ("type", "s")]
            .iter()
            .chain(wanted)
        {
            let value = object.get(*name).unwrap_or(&Value::Null);
            if !has_shape(value, shape) {
                return Err(format!("`{name}` of the event is not as promised: {event}"));
            }
        }
        let known = |name: &str| {
            ["session", "seq", "type"].contains(&name) || wanted.iter().any(|(w, _)| *w == name)
        };
        if let Some(name) = object.keys().find(|name| !known(name)) {
            return Err(format!("`{name}` is not promised for this event: {event}"));
        }
        self.in_order(event, kind)
    }

    fn in_order(&mut self, event: &Value, kind: &str) -> Result<(), String> {
        let id = event["session"].as_str().unwrap_or_default().to_owned();
        let session = self.sessions.entry(id).or_default();
        session.seq += 1;
        if event["seq"] != session.seq {
            return Err(format!("`seq` should be {}: {event}", session.seq));
        }
        // A session that is taken up again starts a second run.
        match (kind, session.open) {
            ("started", false) => session.open = true,
            ("finished", true) => session.open = false,
            ("started", true) => return Err(format!("started twice: {event}")),
            (_, true) => {}
            (_, false) => return Err(format!("an event outside a run: {event}")),
        }
        Ok(())
    }
}

/// Whether a text that the client knew holds every hunk of an `edit` event at its place.
pub fn hunks_fit<'a>(
    hunks: &Value,
    mut texts: impl Iterator<Item = &'a str>,
    encoding: Encoding,
) -> bool {
    let fits = |text: &str, hunk: &Value| {
        let Ok(range) = serde_json::from_value(hunk["range"].clone()) else {
            return false;
        };
        text::bytes(text, range, encoding)
            .is_ok_and(|bytes| Some(&text[bytes]) == hunk["added"].as_str())
    };
    texts.any(|text| {
        hunks
            .as_array()
            .is_some_and(|hunks| hunks.iter().all(|h| fits(text, h)))
    })
}

type Fields = &'static [(&'static str, &'static str)];

/// The fields of a type: `s` text, `s?` text or null, `n` whole number, `x` number or null, `b` boolean, `o` object, `a` list,
/// `*` anything.
fn fields(kind: &str) -> Option<Fields> {
    Some(match kind {
        "started" => &[("prompt", "s"), ("model", "s")],
        "text" | "reasoning" => &[("delta", "s")],
        "tool_call" => &[("id", "s"), ("name", "s"), ("input", "*"), ("title", "s")],
        "tool_result" => &[
            ("id", "s"),
            ("ok", "b"),
            ("title", "s"),
            ("output", "s"),
            ("truncated", "b"),
        ],
        "edit" => &[("uri", "s"), ("hunks", "hunks")],
        "permission" => &[
            ("id", "s"),
            ("tool", "s"),
            ("pattern", "s"),
            ("detail", "*"),
            ("options", "a"),
        ],
        "usage" => USAGE,
        "notice" => &[("message", "s")],
        "finished" => &[
            ("status", "status"),
            ("message", "s?"),
            ("files", "a"),
            ("usage", "usage"),
        ],
        _ => return None,
    })
}

const USAGE: Fields = &[
    ("input", "n"),
    ("output", "n"),
    ("cacheRead", "n"),
    ("cacheWrite", "n"),
    ("cost", "x"),
];

fn has_shape(value: &Value, shape: &str) -> bool {
    match shape {
        "s" => value.is_string(),
        "s?" => value.is_string() || value.is_null(),
        "n" => value.is_u64(),
        "x" => value.is_number() || value.is_null(),
        "b" => value.is_boolean(),
        "a" => value.is_array(),
        "status" => ["done", "failed", "cancelled", "denied"]
            .iter()
            .any(|status| value == *status),
        "usage" => USAGE
            .iter()
            .all(|(name, shape)| has_shape(&value[name], shape)),
        "hunks" => value.as_array().is_some_and(|hunks| {
            let whole = |h: &Value| {
                h["range"].is_object() && h["removed"].is_string() && h["added"].is_string()
            };
            !hunks.is_empty() && hunks.iter().all(whole)
        }),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_promised_of_events() {
        let started = |seq| json!({"session": "a", "seq": seq, "type": "started", "prompt": "p", "model": "m"});
        let text = |seq| json!({"session": "a", "seq": seq, "type": "text", "delta": "d"});
        let usage = json!({"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "cost": null});
        let finished = |seq| {
            json!({"session": "a", "seq": seq, "type": "finished", "status": "done", "message": "",
                "files": [], "usage": usage})
        };
        let mut extra = text(2);
        extra["more"] = json!(1);
        let cases = [
            (vec![started(1), text(2), finished(3)], ""),
            (vec![started(1), finished(2), started(3), finished(4)], ""),
            (vec![started(1), text(3)], "`seq` should be 2"),
            (vec![text(1)], "outside a run"),
            (vec![started(1), finished(2), text(3)], "outside a run"),
            (vec![started(1), started(2)], "started twice"),
            (vec![started(1), extra], "`more`"),
            (
                vec![json!({"session": "a", "seq": 1, "type": "text"})],
                "`delta`",
            ),
            (
                vec![json!({"session": "a", "seq": 1, "type": "?"})],
                "unknown type",
            ),
        ];
        for (list, wanted) in cases {
            let mut events = Events::default();
            let found = list
                .iter()
                .map(|event| events.push(event))
                .find_map(Result::err);
            let found = found.unwrap_or_default();
            assert!(
                found.contains(wanted) && found.is_empty() == wanted.is_empty(),
                "{found}"
            );
        }
    }

    #[test]
    fn a_hunk_must_be_in_some_text() {
        let hunk = |added| json!([{"range": {"start": {"line": 0, "character": 1}, "end": {"line": 0, "character": 2}}, "removed": "", "added": added}]);
        let fits = |hunks: &Value| hunks_fit(hunks, ["xyz", "abc"].into_iter(), Encoding::Utf8);
        assert!(fits(&hunk("b")) && fits(&hunk("y")));
        assert!(!fits(&hunk("c")));
    }
}
