//! Transport faults, each against a tiny server over an in-memory pipe.

use std::sync::Mutex;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{
    DidChangeTextDocumentParams, HoverParams, InitializeParams, InitializeResult,
    TextDocumentContentChangeEvent,
};
use tower_lsp::{LanguageServer, LspService};

use super::dispatch::End;
use super::framing::Framing;
use super::{Dispatch, Outgoing, Route};
use crate::fake_client::receive;

const ROUTES: &[Route] = &[
    Route::own("textDocument/hover", "own:hover"),
    Route::plain("initialize"),
    Route::plain("shutdown"),
    Route::plain("$/cancelRequest"),
    Route::plain("textDocument/didChange"),
    Route::plain("tiny/text"),
    Route::plain("tiny/panicAtOnce"),
    Route::plain("tiny/panicLater"),
    Route::plain("tiny/panicSilently"),
    Route::plain("tiny/askClient"),
    Route::plain("tiny/askImpatiently"),
    Route::plain("tiny/never"),
];

/// A server that does what a test asks of it.
struct Tiny {
    client: Outgoing,
    text: Mutex<String>,
}

#[tower_lsp::async_trait]
impl LanguageServer for Tiny {
    async fn initialize(&self, _: InitializeParams) -> Result<InitializeResult> {
        Ok(InitializeResult::default())
    }

    async fn shutdown(&self) -> Result<()> {
        Ok(())
    }

    async fn did_change(&self, params: DidChangeTextDocumentParams) {
        let TextDocumentContentChangeEvent { text, .. } = &params.content_changes[0];
        text.clone_into(&mut self.text.lock().expect("no test panics with the lock"));
    }

    async fn hover(&self, _: HoverParams) -> Result<Option<tower_lsp::lsp_types::Hover>> {
        panic!("the route was not taken")
    }
}

#[allow(clippy::unused_async)]
impl Tiny {
    async fn text(&self, _: Value) -> Result<String> {
        Ok(self
            .text
            .lock()
            .expect("no test panics with the lock")
            .clone())
    }

    async fn own_hover(&self, params: Value) -> Result<Value> {
        Ok(params)
    }

    async fn panic_at_once(&self, _: Value) -> Result<()> {
        panic!("as the test asked")
    }

    async fn panic_later(&self, _: Value) -> Result<()> {
        tokio::task::yield_now().await;
        panic!("as the test asked")
    }

    async fn panic_silently(&self, _: Value) {
        panic!("as the test asked")
    }

    async fn ask_client(&self, _: Value) -> Result<Value> {
        Ok(self
            .client
            .request("tiny/question", json!({}))
            .await
            .unwrap_or_else(|error| json!(error.to_string())))
    }

    async fn ask_impatiently(&self, _: Value) -> Result<()> {
        drop(self.client.request("tiny/question", json!({})));
        Ok(())
    }

    async fn never(&self, _: Value) -> Result<()> {
        std::future::pending().await
    }
}

struct Client {
    input: Option<WriteHalf<DuplexStream>>,
    output: ReadHalf<DuplexStream>,
    framing: Framing,
    server: JoinHandle<(End, i32)>,
    outgoing: Outgoing,
    stop: CancellationToken,
}

impl Client {
    /// A client of a server that has not been initialized.
    fn connect() -> Self {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let (input, output) = tokio::io::split(theirs);
        let (outgoing, writer) = Outgoing::new(output);
        tokio::spawn(writer);
        let (service, _) = LspService::build(|_| Tiny {
            client: outgoing.clone(),
            text: Mutex::default(),
        })
        .custom_method("tiny/text", Tiny::text)
        .custom_method("own:hover", Tiny::own_hover)
        .custom_method("tiny/panicAtOnce", Tiny::panic_at_once)
        .custom_method("tiny/panicLater", Tiny::panic_later)
        .custom_method("tiny/panicSilently", Tiny::panic_silently)
        .custom_method("tiny/askClient", Tiny::ask_client)
        .custom_method("tiny/askImpatiently", Tiny::ask_impatiently)
        .custom_method("tiny/never", Tiny::never)
        .finish();
        let stop = CancellationToken::new();
        let dispatch = Dispatch::new(service, outgoing.clone(), ROUTES);
        let server = tokio::spawn(dispatch.run(input, stop.clone()));
        let (output, input) = tokio::io::split(ours);
        Self {
            input: Some(input),
            output,
            framing: Framing::default(),
            server,
            outgoing,
            stop,
        }
    }

    async fn initialized() -> Self {
        let mut client = Self::connect();
        client
            .send(&json!({"id": "init", "method": "initialize", "params": {"capabilities": {}}}))
            .await;
        assert_eq!(
            client.receive().await["result"],
            json!({"capabilities": {}})
        );
        client
    }

    async fn raw(&mut self, bytes: impl AsRef<[u8]>) {
        self.input
            .as_mut()
            .expect("the input is open")
            .write_all(bytes.as_ref())
            .await
            .expect("the server reads");
    }

    async fn send(&mut self, message: &Value) {
        self.raw(framed(message)).await;
    }

    async fn receive(&mut self) -> Value {
        receive(&mut self.output, &mut self.framing).await
    }

    async fn call(&mut self, id: i64, method: &str) -> Value {
        self.send(&json!({"id": id, "method": method})).await;
        let answer = self.receive().await;
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// The server lives on: it answers, and with nothing else before.
    async fn assert_alive(&mut self) {
        assert_eq!(self.call(999, "tiny/text").await["result"], "");
    }

    async fn end(self) -> (End, i32) {
        tokio::time::timeout(Duration::from_secs(5), self.server)
            .await
            .expect("an end in time")
            .expect("no panic")
    }
}

fn framed(message: &Value) -> Vec<u8> {
    let mut message = message.clone();
    message["jsonrpc"] = json!("2.0");
    let body = message.to_string();
    format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

fn code(answer: &Value) -> i64 {
    assert!(answer.get("result").is_none(), "{answer}");
    answer["error"]["code"]
        .as_i64()
        .unwrap_or_else(|| panic!("no error: {answer}"))
}

#[tokio::test]
async fn damage_is_answered_once_and_survived() {
    let good = |id: i64| {
        String::from_utf8(framed(&json!({"id": id, "method": "tiny/text"}))).expect("UTF-8")
    };
    let cases: &[(&str, String)] = &[
        (
            "malformed JSON",
            "Content-Length: 9\r\n\r\n{\"id\": 1,".to_owned(),
        ),
        ("no JSON", "Content-Length: 5\r\n\r\nhello".to_owned()),
        ("garbage", "panic: something went wrong\r\n\r\n".to_owned()),
        (
            "too short",
            good(7).replace("Content-Length: ", "Content-Length: 1\r\nX-Was: "),
        ),
        (
            "too long",
            good(7).replace("Content-Length: ", "Content-Length: 99\r\nX-Was: "),
        ),
        (
            "absurd",
            "Content-Length: 123456789123\r\n\r\n{}".to_owned(),
        ),
    ];
    let mut client = Client::initialized().await;
    for (name, damage) in cases {
        for _ in 0..10 {
            client.raw(damage).await;
            client.raw(good(8)).await;
            let told = client.receive().await;
            assert_eq!((code(&told), &told["id"]), (-32700, &Value::Null), "{name}");
            let mut next = client.receive().await;
            if next["id"] == 7 {
                next = client.receive().await;
            }
            assert_eq!(
                next,
                json!({"jsonrpc": "2.0", "id": 8, "result": ""}),
                "{name}"
            );
        }
    }
    client.assert_alive().await;
}

#[tokio::test]
async fn what_is_no_message_is_an_invalid_request() {
    let mut client = Client::initialized().await;
    for (body, id) in [
        ("42", Value::Null),
        ("[]", Value::Null),
        ("[1]", Value::Null),
        ("{\"id\":3}", json!(3)),
    ] {
        client
            .raw(format!("Content-Length: {}\r\n\r\n{body}", body.len()))
            .await;
        let answer = client.receive().await;
        assert_eq!((code(&answer), &answer["id"]), (-32600, &id), "{body}");
    }
    client.assert_alive().await;
}

#[tokio::test]
async fn a_batch_is_its_messages() {
    let mut client = Client::initialized().await;
    let call = |id: i64| json!({"jsonrpc": "2.0", "id": id, "method": "tiny/text"});
    let batch = json!([call(1), 5, call(2)]).to_string();
    client
        .raw(format!("Content-Length: {}\r\n\r\n{batch}", batch.len()))
        .await;
    assert_eq!(client.receive().await["id"], 1);
    assert_eq!(code(&client.receive().await), -32600);
    assert_eq!(client.receive().await["id"], 2);
}

#[tokio::test]
async fn unknown_methods() {
    let mut client = Client::initialized().await;
    for method in [
        "tiny/unknown",
        "textDocument/rename",
        "$/unknown",
        "own:hover",
        "",
    ] {
        assert_eq!(code(&client.call(1, method).await), -32601, "{method}");
        client.send(&json!({"method": method})).await;
    }
    // A request sent as a notification, and the reverse.
    client.send(&json!({"method": "tiny/text"})).await;
    assert_eq!(
        code(&client.call(2, "textDocument/didChange").await),
        -32600
    );
    client.assert_alive().await;
}

#[tokio::test]
async fn own_routes_get_what_was_sent() {
    let mut client = Client::initialized().await;
    client.send(&json!({"id": 1, "method": "textDocument/hover", "params": {"textDocument": {"uri": ":"}}})).await;
    assert_eq!(
        client.receive().await["result"],
        json!({"textDocument": {"uri": ":"}})
    );
}

#[tokio::test]
async fn the_life_cycle() {
    let mut client = Client::connect();
    for method in ["tiny/text", "shutdown", "tiny/unknown"] {
        assert_eq!(code(&client.call(1, method).await), -32002, "{method}");
    }
    client.send(&json!({"method": "initialized"})).await;
    client
        .send(&json!({"id": 2, "method": "initialize", "params": {"capabilities": 5}}))
        .await;
    assert_eq!(code(&client.receive().await), -32602);
    client
        .send(&json!({"id": 2, "method": "initialize", "params": {"capabilities": {}}}))
        .await;
    client.send(&json!({"id": 3, "method": "tiny/text"})).await;
    assert_eq!(
        client.receive().await["result"],
        json!({"capabilities": {}})
    );
    assert_eq!(client.receive().await["result"], "");
    client
        .send(&json!({"id": 4, "method": "initialize", "params": {"capabilities": {}}}))
        .await;
    assert_eq!(code(&client.receive().await), -32600);
    client
        .send(&json!({"id": 5, "method": "shutdown", "params": null}))
        .await;
    assert_eq!(
        client.receive().await,
        json!({"jsonrpc": "2.0", "id": 5, "result": null})
    );
    for method in ["shutdown", "tiny/text", "tiny/unknown"] {
        assert_eq!(code(&client.call(6, method).await), -32600, "{method}");
    }
    client.send(&json!({"method": "exit"})).await;
    assert_eq!(client.end().await, (End::Exit, 0));
}

#[tokio::test]
async fn every_end_has_its_code() {
    let mut client = Client::initialized().await;
    client.send(&json!({"method": "exit", "params": {}})).await;
    assert_eq!(client.end().await, (End::Exit, 1), "exit without shutdown");

    let mut client = Client::initialized().await;
    client.input = None;
    drop(client.output);
    let end = tokio::time::timeout(Duration::from_secs(5), client.server)
        .await
        .expect("in time")
        .expect("no panic");
    assert_eq!(end, (End::InputEnded, 1), "a closed input");

    let mut client = Client::initialized().await;
    client.call(1, "shutdown").await;
    client.stop.cancel();
    assert_eq!(
        client.end().await,
        (End::Stopped, 0),
        "stopped after shutdown"
    );

    // The output breaks while the input is open.
    let (output, reading_end) = tokio::io::duplex(64);
    let (outgoing, writer) = Outgoing::new(output);
    tokio::spawn(writer);
    let (service, _) = LspService::new(|_| Tiny {
        client: outgoing.clone(),
        text: Mutex::default(),
    });
    let (_open, input) = tokio::io::duplex(64);
    drop(reading_end);
    outgoing.notify_as("tiny/notice", json!({}));
    let end = Dispatch::new(service, outgoing, ROUTES).run(input, CancellationToken::new());
    assert_eq!(
        tokio::time::timeout(Duration::from_secs(5), end)
            .await
            .expect("in time"),
        (End::ClientGone, 1)
    );
}

#[tokio::test]
async fn a_panic_costs_its_own_request() {
    let mut client = Client::initialized().await;
    for method in ["tiny/panicAtOnce", "tiny/panicLater"] {
        // The same id again and again: a panic must leave nothing behind under it.
        for _ in 0..3 {
            assert_eq!(code(&client.call(1, method).await), -32603, "{method}");
        }
        assert_eq!(client.call(1, "tiny/text").await["result"], "");
    }
    client.send(&json!({"method": "tiny/panicSilently"})).await;
    client.assert_alive().await;
}

#[tokio::test]
async fn an_answer_finds_its_question() {
    let mut client = Client::initialized().await;
    client
        .send(&json!({"id": 1, "method": "tiny/askClient"}))
        .await;
    client
        .send(&json!({"id": 2, "method": "tiny/askClient"}))
        .await;
    let first = client.receive().await["id"].clone();
    let second = client.receive().await["id"].clone();
    client
        .send(&json!({"id": second, "error": {"code": -32601, "message": "not here"}}))
        .await;
    assert_eq!(
        client.receive().await,
        json!({"jsonrpc": "2.0", "id": 2, "result": "not here (-32601)"})
    );
    client
        .send(&json!({"id": first, "result": {"x": null}}))
        .await;
    assert_eq!(
        client.receive().await,
        json!({"jsonrpc": "2.0", "id": 1, "result": {"x": null}})
    );
}

#[tokio::test]
async fn a_late_answer_is_ignored() {
    let mut client = Client::initialized().await;
    client
        .send(&json!({"id": 1, "method": "tiny/askImpatiently"}))
        .await;
    let question = client.receive().await["id"].clone();
    let cancel = client.receive().await;
    assert_eq!(
        cancel,
        json!({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": question}})
    );
    assert_eq!(client.receive().await["id"], 1);
    for _ in 0..3 {
        client.send(&json!({"id": question, "result": null})).await;
        client
            .send(&json!({"id": question, "error": {"code": -32800, "message": "cancelled"}}))
            .await;
    }
    client.send(&json!({"id": 12345, "result": null})).await;
    client.assert_alive().await;
    assert_eq!(client.outgoing.waits(), 0);
}

#[tokio::test]
async fn the_client_may_cancel() {
    let mut client = Client::initialized().await;
    for id in [json!(1), json!("one")] {
        client
            .send(&json!({"id": id, "method": "tiny/never"}))
            .await;
        client
            .send(&json!({"method": "$/cancelRequest", "params": {"id": id}}))
            .await;
        let answer = client.receive().await;
        assert_eq!((code(&answer), &answer["id"]), (-32800, &id));
    }
    // A handler that waits for the client stops waiting, and says so.
    client
        .send(&json!({"id": 3, "method": "tiny/askClient"}))
        .await;
    let question = client.receive().await["id"].clone();
    client
        .send(&json!({"method": "$/cancelRequest", "params": {"id": 3}}))
        .await;
    let mut seen = [client.receive().await, client.receive().await];
    seen.sort_by_key(|message| message.get("method").is_none());
    assert_eq!(seen[0]["params"], json!({"id": question}));
    assert_eq!(code(&seen[1]), -32800);
    client
        .send(&json!({"method": "$/cancelRequest", "params": {"id": 77}}))
        .await;
    client.assert_alive().await;
}

#[tokio::test]
async fn nothing_deadlocks_while_all_wait_for_the_client() {
    let mut client = Client::initialized().await;
    for id in 0..100 {
        client
            .send(&json!({"id": id, "method": "tiny/askClient"}))
            .await;
    }
    for id in 100..200 {
        client.send(&json!({"id": id, "method": "tiny/text"})).await;
    }
    let mut questions = Vec::new();
    let mut answered = 0;
    while answered < 100 || questions.len() < 100 {
        let message = client.receive().await;
        match message["method"].as_str() {
            Some(_) => questions.push(message["id"].clone()),
            None => answered += 1,
        }
    }
    for question in questions.iter().rev() {
        client
            .send(&json!({"id": question, "result": question}))
            .await;
    }
    for _ in 0..100 {
        let answer = client.receive().await;
        assert!(
            answer["id"].as_i64().is_some_and(|id| id < 100) && answer["result"].is_i64(),
            "{answer}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_thousand_changes_and_then_a_read() {
    let change = |n: i32, text: String| {
        let text_document = json!({"uri": "file:///x", "version": n});
        let params = json!({"textDocument": text_document, "contentChanges": [{"text": text}]});
        framed(&json!({"method": "textDocument/didChange", "params": params}))
    };
    let most: Vec<u8> = (1..5000).flat_map(|n| change(n, n.to_string())).collect();
    let mut client = Client::initialized().await;
    for round in 0..100 {
        let last = format!("the last of round {round}");
        client.raw(&most).await;
        client.raw(change(5000, last.clone())).await;
        client
            .send(&json!({"id": round, "method": "tiny/text"}))
            .await;
        assert_eq!(client.receive().await["result"], last);
    }
}
