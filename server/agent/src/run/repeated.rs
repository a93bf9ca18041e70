//! Calls that a model makes again and again, with the same result each time: it has lost its way.

use model::{Block, ToolCall};

/// So often in a row is once too often.
const MOST: usize = 3;

/// What was called, and what came of it.
#[derive(PartialEq, Eq)]
struct Step {
    calls: Vec<(String, String)>,
    results: Vec<String>,
}

/// The last step, and how often it was made in a row.
#[derive(Default)]
pub(super) struct Repeated {
    last: Option<Step>,
    times: usize,
}

impl Repeated {
    /// Counts a step. Whether it was made too often.
    pub fn count(&mut self, calls: &[ToolCall], results: &[Block]) -> bool {
        let call = |call: &ToolCall| (call.name.clone(), call.input.to_string());
        let result = |block: &Block| match block {
            Block::ToolResult { output, .. } => Some(output.clone()),
            _ => None,
        };
        let step = Some(Step {
            calls: calls.iter().map(call).collect(),
            results: results.iter().filter_map(result).collect(),
        });
        self.times = match self.last == step {
            true => self.times + 1,
            false => 1,
        };
        self.last = step;
        self.times >= MOST
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_same_call_with_the_same_result_three_times_in_a_row() {
        let step = |id: &str, path: &str, output: &str| {
            let call = ToolCall {
                id: id.into(),
                name: "read".into(),
                input: json!({ "filePath": path }),
                malformed: None,
                repaired: None,
            };
            let result = Block::ToolResult {
                id: id.into(),
                ok: true,
                output: output.into(),
            };
            (vec![call], vec![result])
        };
        let mut repeated = Repeated::default();
        for (id, path, output, expected) in [
            ("1", "a", "x", false),
            ("2", "a", "x", false),
            ("3", "a", "y", false),
            ("4", "a", "y", false),
            ("5", "b", "y", false),
            ("6", "b", "y", false),
            ("7", "b", "y", true),
            ("8", "b", "y", true),
            ("9", "a", "y", false),
        ] {
            let (calls, results) = step(id, path, output);
            assert_eq!(repeated.count(&calls, &results), expected, "{id}");
        }
    }
}
