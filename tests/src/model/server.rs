//! As much of HTTP/1.1 as a model's client needs: requests with a length, answers in chunks, connections that are kept.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::wire::{self, Action};
use super::{Asked, Ending, Reply, Shared};

/// Serves connections until it is dropped, and they with it.
pub(super) async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    while let Ok((socket, _)) = listener.accept().await {
        shared.count(|counts| counts.connections += 1);
        // The other side may go away at any moment: that is what some tests are about.
        let shared = Arc::clone(&shared);
        connections.spawn(async move { drop(converse(socket, &shared).await) });
        while connections.try_join_next().is_some() {}
    }
}

async fn converse(socket: TcpStream, shared: &Shared) -> io::Result<()> {
    socket.set_nodelay(true)?;
    let (read, mut write) = socket.into_split();
    let mut read = BufReader::new(read);
    while let Some(request) = Request::read(&mut read).await? {
        let answering = answer(&request, shared, &mut write);
        let kept = tokio::select! {
            kept = answering => kept.ok(),
            () = closed(&mut read) => None,
        };
        match kept {
            Some(true) => {}
            Some(false) => break,
            // That nobody listens any more is seen by what is written as well.
            None => {
                shared.count(|counts| counts.abandoned += 1);
                break;
            }
        }
    }
    Ok(())
}

/// Resolves when the other side has closed the connection. What it sends meanwhile stays to be read.
async fn closed(read: &mut BufReader<OwnedReadHalf>) {
    match read.get_mut().peek(&mut [0]).await {
        Ok(0) | Err(_) => {}
        Ok(_) => std::future::pending().await,
    }
}

/// Whether the connection can be kept.
async fn answer(
    request: &Request,
    shared: &Shared,
    write: &mut OwnedWriteHalf,
) -> io::Result<bool> {
    let asked = match request.asked() {
        Ok(asked) => asked,
        Err((code, reason)) => {
            let body = serde_json::json!({"error": {"message": reason}}).to_string();
            send_whole(write, code, &[], &body).await?;
            return Ok(true);
        }
    };
    let reply = shared.answer(asked.clone());
    let streamed = asked.body["stream"] == true;
    match &reply.ending {
        Ending::Silent => std::future::pending().await,
        Ending::Status {
            code,
            headers,
            body,
        } => {
            wait_at_gates(&reply).await;
            send_whole(write, *code, headers, body).await?;
            Ok(true)
        }
        _ if streamed => stream(&reply, &asked, shared, write).await,
        _ => {
            wait_at_gates(&reply).await;
            let body = wire::whole(&reply, &asked, shared).to_string();
            let headers = [("content-type".to_owned(), "application/json".to_owned())];
            send_whole(write, 200, &headers, &body).await?;
            Ok(true)
        }
    }
}

async fn wait_at_gates(reply: &Reply) {
    for part in &reply.parts {
        if let super::reply::Part::Gate(gate) = part {
            gate.pass().await;
        }
    }
}

async fn stream(
    reply: &Reply,
    asked: &Asked,
    shared: &Shared,
    write: &mut OwnedWriteHalf,
) -> io::Result<bool> {
    write.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n").await?;
    let size = shared.writes.load(Ordering::Relaxed);
    let mut sent = 0;
    for action in wire::events(reply, asked, shared) {
        match &reply.ending {
            Ending::Cut { after } if sent == *after => return Ok(false),
            Ending::Hang { after } if sent == *after => std::future::pending().await,
            Ending::Garbage { after } if sent == *after => {
                send_event(write, "{\"choices\": [garbage", size).await?;
            }
            _ => {}
        }
        match action {
            Action::Wait(gate) => gate.pass().await,
            Action::Event(data) => {
                tokio::time::sleep(reply.slow).await;
                send_event(write, &data, size).await?;
                sent += 1;
            }
        }
    }
    match reply.ending {
        Ending::Cut { .. } => return Ok(false),
        Ending::Hang { .. } => std::future::pending().await,
        _ => {}
    }
    write.write_all(b"0\r\n\r\n").await?;
    Ok(true)
}

async fn send_event(write: &mut OwnedWriteHalf, data: &str, size: usize) -> io::Result<()> {
    let event = format!("data: {data}\n\n");
    for piece in event.as_bytes().chunks(size.min(event.len())) {
        let mut chunk = format!("{:x}\r\n", piece.len()).into_bytes();
        chunk.extend_from_slice(piece);
        chunk.extend_from_slice(b"\r\n");
        write.write_all(&chunk).await?;
    }
    Ok(())
}

async fn send_whole(
    write: &mut OwnedWriteHalf,
    code: u16,
    headers: &[(String, String)],
    body: &str,
) -> io::Result<()> {
    let mut text = format!(
        "HTTP/1.1 {code} Scripted\r\ncontent-length: {}\r\n",
        body.len()
    );
    for (name, value) in headers {
        text.extend([name, ": ", value, "\r\n"]);
    }
    text.extend(["\r\n", body]);
    write.write_all(text.as_bytes()).await
}

/// One HTTP request.
pub(super) struct Request {
    pub(super) line: String,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) body: Vec<u8>,
}

impl Request {
    /// The next one; none if the other side has closed the connection.
    pub(super) async fn read(read: &mut BufReader<OwnedReadHalf>) -> io::Result<Option<Self>> {
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            if read.read_line(&mut line).await? == 0 {
                return Ok(None);
            }
            match line.trim_end() {
                "" => break,
                line => lines.push(line.to_owned()),
            }
        }
        let mut lines = lines.into_iter();
        let line = lines.next().unwrap_or_default();
        let header = |line: String| {
            let (name, value) = line.split_once(':')?;
            Some((name.to_ascii_lowercase(), value.trim().to_owned()))
        };
        let headers: BTreeMap<_, _> = lines.filter_map(header).collect();
        let length = headers
            .get("content-length")
            .and_then(|length| length.parse().ok())
            .unwrap_or(0);
        let mut body = vec![0; length];
        read.read_exact(&mut body).await?;
        Ok(Some(Self {
            line,
            headers,
            body,
        }))
    }

    /// What was asked of the model; else a status and why.
    fn asked(&self) -> Result<Asked, (u16, String)> {
        let mut words = self.line.split(' ');
        let (method, path) = (
            words.next().unwrap_or_default(),
            words.next().unwrap_or_default(),
        );
        if (method, path) != ("POST", "/v1/chat/completions") {
            return Err((404, format!("the scripted model has no {method} {path}")));
        }
        let body: Value = serde_json::from_slice(&self.body)
            .map_err(|error| (400, format!("the body is no JSON: {error}")))?;
        Ok(Asked {
            body,
            headers: self.headers.clone(),
        })
    }
}
