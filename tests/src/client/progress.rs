//! Work-done progress as the server reports it, held against LSP's rules: a token that was created and accepted, one
//! begin, reports, one end. It never cancels anything itself.

use std::collections::BTreeMap;

use serde_json::Value;

/// Where one token stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// Its token.
    pub token: Value,
    /// The title that it began with.
    pub title: Option<String>,
    /// Whether it may be cancelled.
    pub cancellable: bool,
    /// The messages, in order, that of the end included.
    pub messages: Vec<String>,
    /// Whether it has ended.
    pub ended: bool,
    percentage: u64,
}

/// All tokens.
#[derive(Debug, Default)]
pub struct Progress {
    runs: BTreeMap<String, Run>,
    order: Vec<String>,
}

impl Progress {
    /// A token that the server asked for. An error if it is in use.
    pub fn create(&mut self, token: &Value) -> Result<(), String> {
        if !(token.is_string() || token.is_i64() || token.is_u64()) {
            return Err(format!(
                "a progress token that is neither text nor number: {token}"
            ));
        }
        let key = token.to_string();
        if self.runs.contains_key(&key) {
            return Err(format!("the progress token {token} was created before"));
        }
        self.order.push(key.clone());
        self.runs.insert(
            key,
            Run {
                token: token.clone(),
                ..Run::default()
            },
        );
        Ok(())
    }

    /// A `$/progress` of the server.
    pub fn report(&mut self, params: &Value) -> Result<(), String> {
        let (token, value) = (&params["token"], &params["value"]);
        let Some(run) = self.runs.get_mut(&token.to_string()) else {
            return Err(format!(
                "$/progress with the token {token}, which nobody created"
            ));
        };
        if run.ended {
            return Err(format!("$/progress after the end of {token}"));
        }
        let kind = value["kind"].as_str().unwrap_or_default();
        match (kind, &run.title) {
            ("begin", None) => {
                let title = value["title"].as_str().filter(|title| !title.is_empty());
                run.title = Some(
                    title
                        .ok_or(format!("progress {token} has no title"))?
                        .to_owned(),
                );
                run.cancellable = value["cancellable"] == true;
            }
            ("report", Some(_)) => {}
            ("end", Some(_)) => run.ended = true,
            _ => return Err(format!("{kind:?} is out of order for the progress {token}")),
        }
        run.messages
            .extend(value["message"].as_str().map(str::to_owned));
        let percentage = value["percentage"].as_u64().unwrap_or(run.percentage);
        if percentage > 100 || percentage < run.percentage {
            return Err(format!(
                "progress {token} goes from {} to {percentage} %",
                run.percentage
            ));
        }
        run.percentage = percentage;
        Ok(())
    }

    /// All of them, oldest first.
    pub fn all(&self) -> impl Iterator<Item = &Run> {
        self.order.iter().filter_map(|key| self.runs.get(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_rules_of_progress() {
        let begin = json!({"kind": "begin", "title": "Fix", "cancellable": true});
        let at = |percentage| json!({"kind": "report", "percentage": percentage, "message": "m"});
        let end = json!({"kind": "end"});
        let cases = [
            (vec![begin.clone(), at(5), end.clone()], None),
            (vec![at(5)], Some("out of order")),
            (vec![begin.clone(), begin.clone()], Some("out of order")),
            (vec![begin.clone(), at(5), at(4)], Some("from 5 to 4")),
            (vec![begin.clone(), at(101)], Some("101")),
            (
                vec![begin.clone(), end.clone(), at(5)],
                Some("after the end"),
            ),
            (
                vec![json!({"kind": "begin", "title": ""})],
                Some("no title"),
            ),
        ];
        for (values, wanted) in cases {
            let mut progress = Progress::default();
            progress.create(&json!("t")).expect("a new token");
            let report = |value: &Value| progress.report(&json!({"token": "t", "value": value}));
            let found = values
                .iter()
                .map(report)
                .find_map(Result::err)
                .unwrap_or_default();
            match wanted {
                Some(part) => assert!(found.contains(part), "{values:?}: {found}"),
                None => assert_eq!(found, "", "{values:?}"),
            }
        }
        let mut progress = Progress::default();
        assert!(
            progress
                .report(&json!({"token": 1, "value": begin}))
                .is_err(),
            "never created"
        );
        progress.create(&json!(1)).expect("new");
        assert!(progress.create(&json!(1)).is_err(), "twice");
        assert!(progress.create(&json!(null)).is_err(), "no token");
    }
}
