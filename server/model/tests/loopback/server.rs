//! A server of a few lines that answers with fixed bytes and tells what it saw.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

/// What the server does with one request.
#[derive(Clone)]
pub enum Answer {
    /// Sends these bytes, then waits for the next request on the same connection.
    Bytes(String),
    /// The same of bytes that may be cut where text can't be.
    Raw(Vec<u8>),
    /// Sends these bytes and closes the connection.
    Cut(String),
    /// Sends these bytes and nothing more, until the other side closes.
    Hang(String),
}

/// What the server saw.
#[derive(Debug, PartialEq)]
pub enum Seen {
    Connected,
    Request(String),
    Closed,
}

/// Answers one request after the other, over as many connections as are made.
pub async fn server(answers: Vec<Answer>) -> (String, mpsc::UnboundedReceiver<Seen>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let (seen, sees) = mpsc::unbounded_channel();
    let answers = Arc::new(Mutex::new(answers.into_iter()));
    tokio::spawn(async move {
        loop {
            let (socket, _) = listener.accept().await.unwrap();
            let _ = seen.send(Seen::Connected);
            tokio::spawn(converse(socket, Arc::clone(&answers), seen.clone()));
        }
    });
    (url, sees)
}

async fn converse(
    mut socket: TcpStream,
    answers: Arc<Mutex<std::vec::IntoIter<Answer>>>,
    seen: mpsc::UnboundedSender<Seen>,
) {
    while let Some(request) = read_request(&mut socket).await {
        record(&request);
        let _ = seen.send(Seen::Request(request));
        let Some(answer) = answers.lock().unwrap().next() else {
            return;
        };
        let bytes = match &answer {
            Answer::Bytes(text) | Answer::Cut(text) | Answer::Hang(text) => text.as_bytes(),
            Answer::Raw(bytes) => bytes,
        };
        socket.write_all(bytes).await.unwrap();
        match answer {
            Answer::Bytes(_) | Answer::Raw(_) => {}
            Answer::Cut(_) => return,
            Answer::Hang(_) => {
                let _ = socket.read(&mut [0; 1]).await;
                let _ = seen.send(Seen::Closed);
                return;
            }
        }
    }
}

async fn read_request(socket: &mut TcpStream) -> Option<String> {
    let mut request = Vec::new();
    loop {
        let mut bytes = [0; 4096];
        let read = socket
            .read(&mut bytes)
            .await
            .ok()
            .filter(|&read| read > 0)?;
        request.extend_from_slice(&bytes[..read]);
        let text = String::from_utf8_lossy(&request).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
        if body.len() >= length.unwrap_or(0) {
            return Some(text);
        }
    }
}

pub fn status(line: &str, headers: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {line}\r\n{headers}content-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// The beginning of a streamed answer.
pub fn chunked(events: &[&str]) -> String {
    let mut text =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
            .to_owned();
    for event in events {
        let event = format!("data: {event}\n\n");
        let _ = write!(text, "{:x}\r\n{event}\r\n", event.len());
    }
    text
}

/// A streamed answer with this body, in chunks that end at these offsets.
pub fn chunks(body: &[u8], ends: impl IntoIterator<Item = usize>) -> Vec<u8> {
    let mut answer = chunked(&[]).into_bytes();
    let mut from = 0;
    for end in ends.into_iter().chain([body.len()]) {
        let chunk = &body[from..end];
        answer.extend(format!("{:x}\r\n", chunk.len()).into_bytes());
        answer.extend_from_slice(chunk);
        answer.extend_from_slice(b"\r\n");
        from = end;
    }
    answer.extend_from_slice(b"0\r\n\r\n");
    answer
}

pub fn complete(events: &[&str]) -> String {
    chunked(events) + "0\r\n\r\n"
}

pub const HELLO: &str = r#"{"choices":[{"delta":{"content":"hello"}}]}"#;
pub const CALL: &str = r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"t","arguments":"{}"}}]}}]}"#;
pub const STOP: &str = r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#;
pub const DONE: &str = "[DONE]";

/// Leaves the body for `tests/conformance/check_requests.py`, in the folder that the variable names.
fn record(request: &str) {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let (Some(folder), Some((_, body))) = (
        std::env::var_os("COPYDESK_TEST_MODEL_LOGS"),
        request.split_once("\r\n\r\n"),
    ) else {
        return;
    };
    let kind = match request.split(' ').nth(1) {
        Some("/v1/messages") => "anthropic",
        Some("/v1/responses") => "responses",
        _ => "chat",
    };
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let started = std::time::SystemTime::UNIX_EPOCH
        .elapsed()
        .unwrap()
        .as_micros();
    let path = Path::new(&folder).join(format!(
        "{started}-{}-{number:04}.{kind}.json",
        std::process::id()
    ));
    std::fs::write(path, body).unwrap();
}
