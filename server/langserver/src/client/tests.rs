//! The client over a pipe in memory: what a server may do to it.

use std::sync::Mutex;

use tokio::io::{AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf, duplex, split};

use super::*;

/// Notes what comes; panics where it is told to.
#[derive(Default)]
struct Notes(Mutex<Vec<String>>);

impl Peer for Notes {
    fn notified(&self, method: &str, params: &RawValue) {
        assert!(method != "panic", "as asked");
        self.0
            .lock()
            .expect("a lock")
            .push(format!("{method} {params}"));
    }

    fn asked(&self, method: &str, params: &RawValue) -> Result<Value, RpcError> {
        assert!(method != "panic", "as asked");
        match method {
            "known" => Ok(json!({"of": params})),
            _ => Err(RpcError {
                code: codes::METHOD_NOT_FOUND,
                message: method.to_owned(),
            }),
        }
    }
}

/// The server's end.
struct Far {
    input: FrameReader<ReadHalf<DuplexStream>>,
    output: Option<WriteHalf<DuplexStream>>,
}

impl Far {
    async fn next(&mut self) -> Value {
        match self.input.next().await.expect("readable").expect("a frame") {
            Frame::Message(text) => serde_json::from_str(&text).expect("JSON"),
            other => panic!("{other:?}"),
        }
    }

    async fn say(&mut self, message: Value) {
        self.raw(&frame(&message)).await;
    }

    async fn raw(&mut self, bytes: &[u8]) {
        self.output
            .as_mut()
            .expect("open")
            .write_all(bytes)
            .await
            .expect("writable");
    }
}

fn pair() -> (Arc<Client>, Far, Arc<Notes>) {
    let (near, far) = duplex(1 << 20);
    let (input, output) = split(near);
    let client = Client::new("scripted", output);
    let notes = Arc::new(Notes::default());
    let (reading, peer) = (client.clone(), notes.clone());
    tokio::spawn(async move { reading.read(input, &*peer).await });
    let (input, output) = split(far);
    (
        client,
        Far {
            input: FrameReader::new(input),
            output: Some(output),
        },
        notes,
    )
}

fn patience() -> Patience {
    Patience::of(Duration::from_secs(10), &CancellationToken::new())
}

const NOTHING: Option<()> = None;

#[tokio::test]
async fn answers_find_their_requests_in_any_order_and_shape() {
    let (client, mut far, _) = pair();
    let requests = ["a", "b", "c", "d", "e"].map(|method| client.begin(method, NOTHING));
    for _ in 0..requests.len() {
        let request = far.next().await;
        assert!(
            request.get("params").is_none(),
            "params that are none are left out: {request}"
        );
    }
    far.say(json!({"jsonrpc": "2.0", "id": 77, "result": "nobody asked"}))
        .await;
    far.say(json!({"id": 5, "error": "just text"})).await;
    far.say(json!({"jsonrpc": "2.0", "id": "4", "result": 4}))
        .await;
    far.say(json!({"jsonrpc": "2.0", "id": 3, "error": {"code": -32801, "message": "content modified"}})).await;
    far.say(json!({"jsonrpc": "2.0", "id": 2, "result": null}))
        .await;
    far.say(json!({"jsonrpc": "2.0", "id": 1, "result": {"x": 1}}))
        .await;
    let mut outcomes = Vec::new();
    for request in requests {
        outcomes.push(match request.answer(&patience()).await {
            Ok(value) => value.get().to_owned(),
            Err(error) => error.to_string(),
        });
    }
    assert_eq!(
        outcomes,
        [
            "{\"x\":1}",
            "null",
            "content modified (-32801)",
            "4",
            "\"just text\" (0)"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_ends_tells_the_server_and_ignores_the_late_answer() {
    let (client, mut far, _) = pair();
    let cancel = CancellationToken::new();
    let timed_out = client
        .request(
            "slow",
            NOTHING,
            &Patience::of(Duration::from_secs(1), &cancel),
        )
        .await;
    assert_eq!(timed_out.map(|_| ()), Err(RequestError::TimedOut));
    assert_eq!(far.next().await["method"], "slow");
    assert_eq!(
        far.next().await,
        json!({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": 1}})
    );

    cancel.cancel();
    let cancelled = client
        .request(
            "slow",
            NOTHING,
            &Patience::of(Duration::from_secs(1), &cancel),
        )
        .await;
    assert_eq!(cancelled.map(|_| ()), Err(RequestError::Cancelled));
    assert_eq!(far.next().await["method"], "slow");
    assert_eq!(far.next().await["params"], json!({"id": 2}));

    far.say(json!({"id": 1, "result": "late"})).await;
    far.say(json!({"id": 2, "result": "late"})).await;
    let next = client.begin("next", NOTHING);
    assert_eq!(far.next().await["method"], "next");
    far.say(json!({"id": 3, "result": 3})).await;
    assert_eq!(next.answer(&patience()).await.expect("answered").get(), "3");
}

#[tokio::test]
async fn nothing_that_comes_ends_the_connection() {
    let (client, mut far, notes) = pair();
    far.raw(b"Welcome to the server!\n").await;
    for message in [
        json!([]),
        json!(1),
        json!({}),
        json!({"method": 5}),
        json!({"method": "panic"}),
    ] {
        far.say(message).await;
    }
    far.raw(b"Content-Length: 3\r\n\r\n{{{Content-Length: 0\r\n\r\n")
        .await;
    far.say(json!({"id": 1, "method": "panic"})).await;
    assert_eq!(far.next().await["error"]["code"], -32603);
    far.say(json!({"id": "text", "method": "unknown"})).await;
    assert_eq!(
        far.next().await,
        json!({"jsonrpc": "2.0", "id": "text", "error": {"code": -32601, "message": "unknown"}})
    );
    far.say(json!({"id": 9, "method": "known", "params": [1]}))
        .await;
    assert_eq!(
        far.next().await,
        json!({"jsonrpc": "2.0", "id": 9, "result": {"of": [1]}})
    );
    far.say(json!({"method": "note", "params": {"a": 1}})).await;
    far.say(json!({"id": 10, "method": "known"})).await;
    far.next().await;
    assert_eq!(*notes.0.lock().expect("a lock"), ["note {\"a\":1}"]);
    drop(client);
}

#[tokio::test]
async fn an_answer_too_large_fails_its_request_alone() {
    let (client, mut far, _) = pair();
    let large = client.begin("large", NOTHING);
    let small = client.begin("small", NOTHING);
    far.next().await;
    let start = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"";
    let total = (65 << 20) + start.len();
    far.raw(format!("Content-Length: {total}\r\n\r\n{start}").as_bytes())
        .await;
    let block = vec![b'x'; 1 << 20];
    for _ in 0..65 {
        far.raw(&block).await;
    }
    far.say(json!({"id": 2, "result": 2})).await;
    let error = large.answer(&patience()).await.expect_err("refused");
    assert_eq!(
        error.to_string(),
        "scripted answered with 65 MB; no more than 64 are taken"
    );
    assert_eq!(
        small.answer(&patience()).await.expect("answered").get(),
        "2"
    );
}

/// Whatever stands first in it.
#[tokio::test]
async fn an_answer_too_large_fails_no_other_request() {
    let (client, mut far, _) = pair();
    let [one, two] = ["one", "two"].map(|method| client.begin(method, NOTHING));
    far.next().await;
    far.next().await;
    let (start, end) = ("{\"result\":{\"id\":2,\"x\":\"", "\"},\"id\":1}");
    let total = (65 << 20) + start.len() + end.len();
    far.raw(format!("Content-Length: {total}\r\n\r\n{start}").as_bytes())
        .await;
    let block = vec![b'x'; 1 << 20];
    for _ in 0..65 {
        far.raw(&block).await;
    }
    far.raw(end.as_bytes()).await;
    far.say(json!({"id": 2, "result": 2})).await;
    assert!(one.answer(&patience()).await.is_err());
    assert_eq!(two.answer(&patience()).await.expect("answered").get(), "2");
}

#[tokio::test]
async fn a_server_that_does_not_read_is_stuck() {
    let (client, far, _) = pair();
    let text = "x".repeat(8 << 20);
    for _ in 0..8 {
        client.notify("note", Some(&text));
    }
    let stuck = tokio::time::timeout(Duration::from_millis(100), client.stuck()).await;
    assert!(stuck.is_err(), "not yet");
    for _ in 0..2 {
        client.notify("note", Some(&text));
    }
    let stuck = client.stuck().await.to_string();
    assert_eq!(stuck, "it hung: it does not read, and 64 MB wait for it");
    assert!(client.queued.borrow().bytes < MOST_WAITING + (9 << 20));
    drop(far);
}

#[tokio::test]
async fn a_closed_connection_answers_all() {
    let (client, mut far, _) = pair();
    let before = client.begin("a", NOTHING);
    far.next().await;
    far.output
        .take()
        .expect("open")
        .shutdown()
        .await
        .expect("closed");
    assert_eq!(
        before.answer(&patience()).await.map(|_| ()),
        Err(RequestError::Closed)
    );
    assert_eq!(
        client.request("b", NOTHING, &patience()).await.map(|_| ()),
        Err(RequestError::Closed)
    );
}
