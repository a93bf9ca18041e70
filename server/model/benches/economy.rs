//! What a session costs here beside the provider's own time: how long a request takes to be built when two hundred turns are behind it,
//! and how long the first word of an answer takes from the server's socket to whoever asked. `cargo xtask bench` runs it in release.
//!
//! Both are measured from outside, so that they hold a little more than their names say: the request is also handed to its connection,
//! and the word also goes through the kernel and wakes its reader.
#![allow(clippy::print_stdout, clippy::unwrap_used)] // it prints a table of measures, and ends where it can't go on

#[path = "../../../tests/bench/figure.rs"]
mod figure;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::{Duration, Instant};

use figure::{Figures, median, millis, note};
use futures::{StreamExt, poll};
use model::{
    Api, Block, Catalogue, Message, Patience, Provider, ProviderConfig, Reasoning, Request,
    Resilient, Role, Sealed, StreamEvent, ToolCall, ToolSpec,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

const TURNS: usize = 200;
const ROUNDS: usize = 100;
const MODEL: &str = "bench/some-model";

const FORMATS: [Api; 3] = [Api::Anthropic, Api::OpenaiResponses, Api::OpenaiChat];

fn main() -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let mut figures = Figures::new();
    for api in FORMATS {
        let request = session(api);
        let server = Server::start(api)?;
        let built = runtime.block_on(building(&server, &request));
        let what = format!("{}: a request of {TURNS} turns is built", api.as_str());
        let time = median(built);
        let keeps = time < Duration::from_millis(2);
        figures.hold(&what, &millis(time), "< 2 ms", keeps);
        let mut times = runtime.block_on(first_events(&server));
        times.sort_unstable();
        let what = format!("{}: first byte to first event", api.as_str());
        let time = times[times.len() / 2];
        let keeps = time < Duration::from_millis(1);
        figures.hold(&what, &millis(time), "< 1 ms", keeps);
        let what = format!("{}: the slowest of {ROUNDS}", api.as_str());
        note(&what, &millis(times[times.len() - 1]));
    }
    let request = session(Api::OpenaiChat);
    let estimated = (0..ROUNDS).map(|_| {
        let begun = Instant::now();
        assert!(request.estimated_tokens() > 0);
        begun.elapsed()
    });
    let time = median(estimated.collect());
    let what = format!("its tokens are estimated: {}", request.estimated_tokens());
    note(&what, &millis(time));
    figures.close()
}

/// From the call to the moment at which all of it is with the connection, and there is nothing to do but wait.
async fn building(server: &Server, request: &Request) -> Vec<Duration> {
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        // Calls are made between two requests.
        tokio::time::sleep(Duration::from_millis(10)).await;
        let cancel = CancellationToken::new();
        let begun = Instant::now();
        let mut asking = server.provider.stream(request, &cancel);
        let polled = poll!(asking.as_mut());
        times.push(begun.elapsed());
        // The head may be there already.
        let mut steps = match polled {
            Poll::Ready(answered) => answered,
            Poll::Pending => asking.await,
        }
        .unwrap();
        server.go.send(()).unwrap();
        while !matches!(steps.next().await, Some(Ok(StreamEvent::Done(_)))) {}
        server.sent.recv().unwrap();
    }
    times
}

async fn first_events(server: &Server) -> Vec<Duration> {
    let request = Request {
        messages: vec![Message::user("hi")],
        ..Request::default()
    };
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let cancel = CancellationToken::new();
        let mut steps = server.model().stream(&request, &cancel).await.unwrap();
        let mut first = Box::pin(steps.next());
        assert!(poll!(first.as_mut()).is_pending());
        server.go.send(()).unwrap();
        let word = first.await.unwrap().unwrap();
        let came = Instant::now();
        assert!(matches!(word, StreamEvent::Text(_)), "{word:?}");
        times.push(came - server.sent.recv().unwrap());
        while !matches!(steps.next().await, Some(Ok(StreamEvent::Done(_)))) {}
    }
    times
}

/// A session as they are when they are long: files are read and edited.
fn session(api: Api) -> Request {
    let mut messages = vec![Message::user("Make it so that all tests pass.")];
    let line = |n: usize| format!("{n:6}\t    let value_{n} = compute(input, \"größe\", {n})?;\n");
    for turn in 0..TURNS {
        let thought = Reasoning {
            text: "The caller passes the old type here, so the signature has to change.".to_owned(),
            sealed: Some(Sealed {
                model: MODEL.to_owned(),
                api: api.as_str().to_owned(),
                content: sealed(api, turn),
            }),
        };
        let id = format!("call_{turn:04}");
        let call = ToolCall {
            id: id.clone(),
            name: "edit".to_owned(),
            input: json!({
                "filePath": format!("src/module_{turn}/mod.rs"),
                "oldString": line(turn).repeat(3), "newString": line(turn + 1).repeat(3),
            }),
            malformed: None,
            repaired: None,
        };
        let said = vec![
            Block::Reasoning(thought),
            Block::text("Now the callers in the next module."),
            Block::ToolCall(call),
        ];
        let output = (0..40).map(line).collect();
        let answered = vec![Block::ToolResult {
            id,
            ok: true,
            output,
        }];
        messages.extend([
            Message {
                role: Role::Assistant,
                blocks: said,
            },
            Message {
                role: Role::User,
                blocks: answered,
            },
        ]);
    }
    let tool = |n: usize| ToolSpec {
        name: format!("tool_{n}"),
        description:
            "Does what its name says, in the file that is named, and says what came of it."
                .to_owned(),
        schema: json!({
            "type": "object", "required": ["filePath"],
            "properties": { "filePath": { "type": "string" }, "offset": { "type": "integer" } },
        }),
    };
    Request {
        system: "You are a coding agent. ".repeat(100),
        messages,
        tools: (0..15).map(tool).collect(),
        ..Request::default()
    }
}

fn sealed(api: Api, turn: usize) -> Value {
    let seal = format!("{turn:04}").repeat(60);
    match api {
        Api::Anthropic => json!({ "type": "thinking", "signature": seal }),
        Api::OpenaiResponses => {
            json!({ "type": "reasoning", "id": format!("rs_{turn}"), "summary": [], "encrypted_content": seal })
        }
        Api::OpenaiChat => json!({ "reasoning_content": seal }),
    }
}

/// A server on this machine: the head of an answer at once, the rest when it is told to go.
struct Server {
    provider: Arc<dyn Provider>,
    go: Sender<()>,
    /// When it sent the first byte behind the head.
    sent: Receiver<Instant>,
}

impl Server {
    fn start(api: Api) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let (go, goes) = channel();
        let (sends, sent) = channel();
        // It ends with the process.
        let goes = Arc::new(Mutex::new(goes));
        std::thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let (goes, sends) = (goes.clone(), sends.clone());
                std::thread::spawn(move || drop(serve(socket, api, &goes, &sends)));
            }
        });
        let below = if api == Api::Anthropic { "" } else { "/v1" };
        let config = ProviderConfig {
            api: Some(api),
            base_url: Some(format!("http://{address}{below}")),
            ..ProviderConfig::default()
        };
        let user = BTreeMap::from([("bench".to_owned(), config)]);
        let provider = Catalogue::with_environment(user, |_| None).resolve(MODEL)?;
        Ok(Self { provider, go, sent })
    }

    /// As a run asks it.
    fn model(&self) -> Resilient {
        Resilient::new(self.provider.clone(), None, Patience::default())
    }
}

fn serve(
    mut socket: TcpStream,
    api: Api,
    goes: &Mutex<Receiver<()>>,
    sends: &Sender<Instant>,
) -> anyhow::Result<()> {
    socket.set_nodelay(true)?;
    let mut request = BufReader::new(socket.try_clone()?);
    let mut body = Vec::new();
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            anyhow::ensure!(request.read_line(&mut line)? > 0, "left");
            if let Some(said) = line.to_ascii_lowercase().strip_prefix("content-length: ") {
                length = said.trim().parse()?;
            }
            if line.trim().is_empty() {
                break;
            }
        }
        body.resize(length, 0);
        request.read_exact(&mut body)?;
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        socket.write_all(head.as_bytes())?;
        goes.lock().unwrap().recv()?;
        // The reader has gone to sleep by then.
        std::thread::sleep(Duration::from_millis(1));
        let (first, rest) = answer(api);
        sends.send(Instant::now())?;
        socket.write_all(chunk(&first).as_bytes())?;
        let rest = rest.iter().map(chunk).collect::<String>() + "0\r\n\r\n";
        socket.write_all(rest.as_bytes())?;
    }
}

fn chunk(data: &Value) -> String {
    let event = format!("data: {data}\n\n");
    format!("{:x}\r\n{event}\r\n", event.len())
}

/// The event with the first word, and the rest of the answer.
fn answer(api: Api) -> (Value, Vec<Value>) {
    match api {
        Api::Anthropic => (
            json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": "Done" } }),
            vec![
                json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" } }),
                json!({ "type": "message_stop" }),
            ],
        ),
        Api::OpenaiResponses => (
            json!({ "type": "response.output_text.delta", "output_index": 0, "delta": "Done" }),
            vec![json!({ "type": "response.completed", "response": { "status": "completed" } })],
        ),
        Api::OpenaiChat => (
            json!({ "choices": [{ "index": 0, "delta": { "content": "Done" } }] }),
            vec![
                json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }], "usage": { "prompt_tokens": 1 } }),
            ],
        ),
    }
}
