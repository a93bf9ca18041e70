//! The scripted model, asked by a client of a few lines: this house knows the `model` crate only from outside.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{Asked, Ending, Gate, Reply, ScriptedModel, Step};

/// A connection to the model.
struct Client(TcpStream);

/// What came back: a status, headers as text, and the body without its chunks, as far as it came.
#[derive(Debug)]
struct Answer {
    status: u16,
    head: String,
    body: String,
    /// The connection was closed before the end.
    cut: bool,
}

impl Client {
    async fn new(model: &ScriptedModel) -> Self {
        let address = model.base_url().replace("http://", "").replace("/v1", "");
        Self(TcpStream::connect(address).await.expect("a server"))
    }

    async fn send(&mut self, line: &str, body: &str) {
        let request = format!(
            "{line} HTTP/1.1\r\nX-Test: yes\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        self.0.write_all(request.as_bytes()).await.expect("sent");
    }

    async fn ask(&mut self, body: &Value) -> Answer {
        self.send("POST /v1/chat/completions", &body.to_string())
            .await;
        self.answer(|_| false).await
    }

    /// Reads up to the end of the answer, or until it is enough.
    async fn answer(&mut self, enough: impl Fn(&str) -> bool) -> Answer {
        let mut bytes = Vec::new();
        loop {
            let answer = Answer::of(&bytes);
            if let Some((answer, whole)) = answer
                && (whole || enough(&answer.body))
            {
                return answer;
            }
            if self.0.read_buf(&mut bytes).await.expect("an answer") == 0 {
                let answer = Answer::of(&bytes).map(|(answer, _)| Answer {
                    cut: true,
                    ..answer
                });
                return answer.expect("a head");
            }
        }
    }
}

impl Answer {
    fn of(bytes: &[u8]) -> Option<(Self, bool)> {
        let at = bytes.windows(4).position(|end| end == b"\r\n\r\n")?;
        let (head, mut rest) = (
            String::from_utf8_lossy(&bytes[..at]).into_owned(),
            &bytes[at + 4..],
        );
        let status = head.split(' ').nth(1)?.parse().ok()?;
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
        let (mut body, mut whole) = (Vec::new(), length == Some(rest.len()));
        if length.is_some() {
            body.extend_from_slice(rest);
        } else {
            while let Some(line) = rest.windows(2).position(|end| end == b"\r\n") {
                let size = std::str::from_utf8(&rest[..line])
                    .ok()
                    .and_then(|size| usize::from_str_radix(size, 16).ok());
                let size = size.expect("the size of a chunk");
                whole = size == 0;
                let Some(chunk) = rest.get(line + 2..line + 2 + size) else {
                    break;
                };
                body.extend_from_slice(chunk);
                rest = rest.get(line + 4 + size..).unwrap_or_default();
            }
        }
        let body = String::from_utf8_lossy(&body).into_owned();
        Some((
            Self {
                status,
                head,
                body,
                cut: false,
            },
            whole,
        ))
    }

    /// The events' data that is JSON.
    fn events(&self) -> Vec<Value> {
        self.body
            .split("\n\n")
            .filter_map(|event| serde_json::from_str(event.strip_prefix("data: ")?).ok())
            .collect()
    }

    /// What is said in one field of the deltas, put together.
    fn said(&self, field: &str) -> String {
        let deltas = self.events();
        deltas
            .iter()
            .filter_map(|event| event["choices"][0]["delta"][field].as_str())
            .collect()
    }

    /// The calls: id, name and arguments, put together by index.
    fn calls(&self) -> Vec<[String; 3]> {
        let mut calls: Vec<[String; 3]> = Vec::new();
        let events = self.events();
        let pieces = events
            .iter()
            .filter_map(|event| event["choices"][0]["delta"]["tool_calls"].as_array())
            .flatten();
        for piece in pieces {
            let index =
                usize::try_from(piece["index"].as_u64().expect("an index")).expect("a small one");
            calls.resize(calls.len().max(index + 1), Default::default());
            for (whole, part) in calls[index].iter_mut().zip([
                &piece["id"],
                &piece["function"]["name"],
                &piece["function"]["arguments"],
            ]) {
                *whole += part.as_str().unwrap_or_default();
            }
        }
        calls
    }
}

fn prompt(text: &str) -> Value {
    let options = json!({"include_usage": true});
    json!({"model": "m", "messages": [{"role": "user", "content": text}], "stream": true, "stream_options": options})
}

async fn scripted(steps: impl IntoIterator<Item = Step>) -> ScriptedModel {
    ScriptedModel::start(steps).await.unrecorded()
}

#[tokio::test]
async fn a_script_comes_out_the_same_however_it_is_cut() {
    for (pieces, writes) in [(8, usize::MAX), (1, 1), (3, 7), (1000, 2)] {
        let first = Reply::reasoning("hm")
            .and_text("Grüß dich 🦀")
            .and_call("read", json!({"filePath": "ü.rs"}));
        let second = Reply::raw_call("list", "{\"a\": ")
            .and_call("list", json!({}))
            .with_id("mine")
            .usage(5, 2);
        let model = scripted([first.into(), second.into()])
            .await
            .pieces(pieces)
            .writes(writes);
        let mut client = Client::new(&model).await;
        let answer = client.ask(&prompt("go")).await;
        assert_eq!(
            (
                answer.status,
                answer.cut,
                answer.body.ends_with("data: [DONE]\n\n")
            ),
            (200, false, true)
        );
        assert_eq!(
            (answer.said("reasoning_content"), answer.said("content")),
            ("hm".into(), "Grüß dich 🦀".into())
        );
        assert_eq!(
            answer.calls(),
            [["call_1", "read", "{\"filePath\":\"ü.rs\"}"]]
        );
        let answer = client.ask(&prompt("go")).await;
        assert_eq!(
            answer.calls(),
            [["call_2", "list", "{\"a\": "], ["mine", "list", "{}"]]
        );
        let events = answer.events();
        assert_eq!(
            events[events.len() - 2]["choices"][0]["finish_reason"],
            "tool_calls"
        );
        assert_eq!(
            events[events.len() - 1]["usage"],
            json!({"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7})
        );
        assert_eq!((model.left(), model.connections()), (0, 1));
    }
}

#[tokio::test]
async fn a_request_is_recorded_and_can_be_looked_at_before_it_is_answered() {
    let model = scripted([Step::from(|asked: &Asked| {
        Reply::text(format!(
            "{} {} {:?} {:?}",
            asked.system(),
            asked.prompt(),
            asked.tool_results(),
            asked.tools()
        ))
    })])
    .await;
    let result = |id: &str| json!({"role": "tool", "tool_call_id": id, "content": id});
    let mut body = prompt("go");
    body["messages"] = json!([
        {"role": "system", "content": "S"}, {"role": "user", "content": "go"},
        {"role": "assistant", "tool_calls": []}, result("old"), {"role": "assistant", "tool_calls": []}, result("new"),
    ]);
    body["tools"] = json!([{"type": "function", "function": {"name": "read"}}]);
    let answer = Client::new(&model).await.ask(&body).await;
    assert_eq!(answer.said("content"), r#"S go [("new", "new")] ["read"]"#);
    let asked = &model.requests(1).await[0];
    assert_eq!(
        (&asked.body, asked.headers["x-test"].as_str()),
        (&body, "yes")
    );
}

#[tokio::test]
async fn a_gate_holds_an_answer_where_it_stands() {
    let gate = Gate::new();
    let model = scripted([Reply::text("before")
        .and_wait(&gate)
        .and_text("after")
        .into()])
    .await;
    let mut client = Client::new(&model).await;
    client
        .send("POST /v1/chat/completions", &prompt("go").to_string())
        .await;
    gate.reached().await;
    let answer = client.answer(|body| body.contains("before")).await;
    assert!(!answer.body.contains("after"), "{answer:?}");
    gate.open();
    assert!(client.0.readable().await.is_ok());
}

#[tokio::test]
async fn an_answer_that_is_left_is_counted() {
    let held = [
        Reply::text("x").after(&Gate::new()),
        Reply::hang(),
        Reply::text("x").ending(Ending::Hang { after: 2 }),
    ];
    let model = scripted(held.map(Step::from)).await;
    for turn in 1..=3 {
        let mut client = Client::new(&model).await;
        client
            .send("POST /v1/chat/completions", &prompt("go").to_string())
            .await;
        model.requests(turn).await;
        drop(client);
        model.abandoned(turn).await;
    }
    assert_eq!(model.connections(), 3);
}

#[tokio::test]
async fn each_fault() {
    let cut = Reply::text("a longer text").ending(Ending::Cut { after: 2 });
    let garbage = Reply::text("a longer text").ending(Ending::Garbage { after: 2 });
    let limit = Reply::status(429, &[("retry-after", "7")], "{}");
    let slow = Reply::text("slowly").slow(Duration::from_millis(1));
    let model = scripted([limit, Reply::html(), garbage, slow, cut].map(Step::from)).await;
    let mut client = Client::new(&model).await;
    let answer = client.ask(&prompt("go")).await;
    assert_eq!(
        (
            answer.status,
            answer.head.contains("\r\nretry-after: 7"),
            answer.body.as_str()
        ),
        (429, true, "{}")
    );
    let answer = client.ask(&prompt("go")).await;
    assert_eq!(
        (answer.status, answer.body.starts_with("<!DOCTYPE html>")),
        (200, true)
    );
    let answer = client.ask(&prompt("go")).await;
    assert!(
        answer.body.contains("\n\ndata: {\"choices\": [garbage\n\n"),
        "{answer:?}"
    );
    assert_eq!(client.ask(&prompt("go")).await.said("content"), "slowly");
    let answer = client.ask(&prompt("go")).await;
    assert_eq!((answer.cut, answer.events().len()), (true, 2));
}

#[tokio::test]
async fn a_whole_answer_says_the_same() {
    let reply = Reply::text("hi")
        .and_call("read", json!({"filePath": "a"}))
        .usage(5, 2);
    let model = scripted([reply.into()]).await;
    let mut body = prompt("go");
    body["stream"] = json!(false);
    let answer: Value =
        serde_json::from_str(&Client::new(&model).await.ask(&body).await.body).expect("JSON");
    let message = &answer["choices"][0]["message"];
    assert_eq!(message["content"], "hi");
    assert_eq!(
        message["tool_calls"][0]["function"],
        json!({"name": "read", "arguments": "{\"filePath\":\"a\"}"})
    );
    assert_eq!(answer["usage"]["prompt_tokens"], 5);
}

#[tokio::test]
async fn what_no_script_foresaw_is_an_error_and_seen() {
    let model = scripted([]).await;
    let mut client = Client::new(&model).await;
    let answer = client.ask(&prompt("go")).await;
    assert_eq!(
        (
            answer.status,
            answer.body.contains("the script of this test has no step")
        ),
        (500, true)
    );
    // What is no question to a model uses up no step.
    client.send("GET /v1/models", "").await;
    assert_eq!(client.answer(|_| false).await.status, 404);
    client.send("POST /v1/chat/completions", "{").await;
    assert_eq!(client.answer(|_| false).await.status, 400);
    assert_eq!(model.unforeseen(), 1);
}

#[tokio::test]
#[should_panic(expected = "asked 1 times more than the script foresaw")]
async fn what_no_script_foresaw_fails_the_test() {
    let model = scripted([]).await;
    Client::new(&model).await.ask(&prompt("go")).await;
}

#[tokio::test]
async fn sessions_side_by_side_are_answered_by_what_they_ask() {
    let model = ScriptedModel::answering(|asked| Reply::text(asked.prompt().to_uppercase()))
        .await
        .unrecorded();
    let (mut one, mut two) = (Client::new(&model).await, Client::new(&model).await);
    let (first, second) = (prompt("one"), prompt("two"));
    let (one, two) = tokio::join!(one.ask(&first), two.ask(&second));
    assert_eq!(
        (one.said("content"), two.said("content")),
        ("ONE".into(), "TWO".into())
    );
}
