//! A conversation of thirty turns, in no wire format: what the model says in each, what its calls give, and what the person says
//! next. Thoughts, texts with everything in them that a parser could trip over, calls side by side, calls with something between
//! them, arguments that are not quite JSON and such as are none, results that fail, pictures, pauses, ids of every spelling.

use model::{Block, Image, Message, Role, ToolCall, ToolSpec, Usage};
use serde_json::{Value, json};

/// What the model says in one answer, in order, and what follows.
pub struct Turn {
    pub said: Vec<Said>,
    pub usage: Usage,
    pub ends: Ends,
}

/// A piece of an answer.
pub enum Said {
    Thought(String),
    Text(String),
    Call(Call),
}

/// A call as the model writes it, and what the conversation has of it.
pub struct Call {
    pub id: String,
    pub name: &'static str,
    pub written: String,
    pub input: Value,
    pub malformed: Option<String>,
    pub repaired: Option<&'static str>,
    /// Whether it did what was asked, and what the model is told.
    pub result: (bool, String),
}

/// How an answer ends.
#[derive(PartialEq)]
pub enum Ends {
    /// The model waits for the results of its calls.
    Calls,
    /// It has said all, and the person says this.
    Prompt(&'static str),
    /// The provider stopped in the middle: the next answer goes on with this one.
    Pause,
}

const TURNS: usize = 30;

const TEXTS: [&str; 6] = [
    "Ich sehe nach – “größer” als 見てみよう, Привет 🦀🏽.",
    "data: [DONE]\n\nevent: error\r\ndata: {\"error\": {}}\n\n: no comment\u{2028}",
    "{\"type\": \"message_stop\"}\ttabs\\n and \"quotes\" \\\" \u{1f600}",
    "a",
    " begins and ends with blanks ",
    "```rust\nfn größe() -> &'static str { \"\\u{e9}\" }\n```\n",
];

/// How arguments are written that are not as they should be, what they mean, and what is said of it.
const ODD: [(&str, &str, &str); 5] = [
    (
        "{\"filePath\": \"a.rs\",}",
        "a.rs",
        "a comma before a closing bracket",
    ),
    (
        "```json\n{\"filePath\": \"ü.rs\"}\n```",
        "ü.rs",
        "a code fence around them",
    ),
    (
        "{\"filePath\": \"a\n🦀.rs\"}",
        "a\n🦀.rs",
        "a raw line break or tab in a string",
    ),
    ("{\"filePath\": \"cut o", "", ""),
    ("", "", ""),
];

pub fn script() -> Vec<Turn> {
    (0..TURNS).map(turn).collect()
}

fn turn(n: usize) -> Turn {
    let thought = || Said::Thought(format!("thought-{n:02}: {}", TEXTS[n % 3]));
    let text = |which: usize| Said::Text(format!("{n:02} {}", TEXTS[(n + which) % 6]));
    let call = |which| Said::Call(call(n, which));
    let said = match n % 6 {
        0 => vec![thought(), text(0), call(0)],
        1 => vec![text(0), call(0), call(1)],
        2 if n == 8 => vec![text(0)],
        2 => vec![thought(), text(0)],
        3 => vec![call(0), thought(), call(1), call(2)],
        4 => vec![thought(), Said::Call(odd_call(n))],
        _ => vec![call(0), text(1), call(1)],
    };
    let count = n as u64;
    Turn {
        said,
        usage: Usage {
            input: 1000 + count,
            output: 10 + count,
            cache_read: 7 * count,
            cache_write: count % 2,
        },
        ends: match n {
            8 | 20 => Ends::Pause,
            _ if n % 6 == 2 => Ends::Prompt("And now? 🦀"),
            _ => Ends::Calls,
        },
    }
}

fn call(n: usize, which: usize) -> Call {
    let input = match which {
        0 => {
            json!({ "filePath": format!("src/größe-{n}.rs"), "offset": n, "deep": { "list": [1, null, "🦀"] } })
        }
        1 => json!({}),
        _ => {
            json!({ "filePath": "b.rs", "oldString": "a\r\n\t\"b\"", "newString": "見\\n\u{7f}" })
        }
    };
    let failed = (n + which).is_multiple_of(4);
    Call {
        id: id(n, which),
        name: ["read", "list", "edit"][which],
        written: input.to_string(),
        input,
        malformed: None,
        repaired: None,
        result: match failed {
            true => (false, format!("{n}: there is no “src/größe”")),
            false => (true, format!("     1\t{}\n", TEXTS[(n + which) % 6])),
        },
    }
}

fn odd_call(n: usize) -> Call {
    let (written, path, repaired) = ODD[n / 6 % ODD.len()];
    let malformed = (path.is_empty() && !written.is_empty()).then(|| written.to_owned());
    Call {
        id: id(n, 0),
        name: "read",
        written: written.to_owned(),
        input: match (path, &malformed) {
            (_, Some(_)) => Value::Null,
            ("", None) => json!({}),
            (path, None) => json!({ "filePath": path }),
        },
        repaired: (!repaired.is_empty()).then_some(repaired),
        result: (malformed.is_none(), format!("of the odd call {n}")),
        malformed,
    }
}

/// As servers write them; every tenth turn has the same one, as those do that count anew with each answer.
fn id(n: usize, which: usize) -> String {
    match (n % 10, n % 4) {
        (7, _) => format!("call_{which}"),
        (_, 0) => format!("functions.read:{n}.{which}"),
        (_, 1) => format!("toolu_01AbCd{n}{which}"),
        (_, 2) => format!("chatcmpl-tool-{n}-{which}"),
        _ => format!("call|ü|{}-{n}-{which}", "0123456789".repeat(8)),
    }
}

/// What the person says first.
pub fn opening() -> Message {
    let picture = Block::Image(Image {
        media_type: "image/png".to_owned(),
        data: "iVBORw0KGgo=".to_owned(),
    });
    Message {
        role: Role::User,
        blocks: vec![Block::text("Fix “größe” 🦀."), picture],
    }
}

/// What follows an answer: the results of its calls, or what the person says.
pub fn reply(turn: &Turn) -> Option<Message> {
    match turn.ends {
        Ends::Pause => None,
        Ends::Prompt(text) => Some(Message::user(text)),
        Ends::Calls => Some(Message {
            role: Role::User,
            blocks: turn.calls().map(Call::outcome).collect(),
        }),
    }
}

pub fn tools() -> Vec<ToolSpec> {
    let schema = json!({"type": "object", "properties": {"filePath": {"type": "string"}}});
    let tool = |name: &str| ToolSpec {
        name: name.to_owned(),
        description: format!("What `{name}` does."),
        schema: schema.clone(),
    };
    ["read", "list", "edit"].map(tool).to_vec()
}

impl Turn {
    pub fn calls(&self) -> impl Iterator<Item = &Call> {
        self.said.iter().filter_map(|said| match said {
            Said::Call(call) => Some(call),
            Said::Text(_) | Said::Thought(_) => None,
        })
    }

    pub fn texts(&self) -> Vec<&str> {
        let mut texts = Vec::new();
        for said in &self.said {
            if let Said::Text(text) = said {
                texts.push(text.as_str());
            }
        }
        texts
    }

    pub fn thoughts(&self) -> Vec<&str> {
        let mut thoughts = Vec::new();
        for said in &self.said {
            if let Said::Thought(thought) = said {
                thoughts.push(thought.as_str());
            }
        }
        thoughts
    }
}

impl Call {
    /// As the conversation has it.
    pub fn made(&self) -> ToolCall {
        ToolCall {
            id: self.id.clone(),
            name: self.name.to_owned(),
            input: self.input.clone(),
            malformed: self.malformed.clone(),
            repaired: self.repaired.map(str::to_owned),
        }
    }

    fn outcome(&self) -> Block {
        let (ok, output) = self.result.clone();
        Block::ToolResult {
            id: self.id.clone(),
            ok,
            output,
        }
    }
}
