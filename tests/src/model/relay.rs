//! Stands between a client and a model server that is not ours: passes on what both say, and keeps the requests, for the test and
//! for the checker of requests.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

use super::asked::record;
use super::server::Request;

/// A relay. It ends when it is dropped.
pub struct Relay {
    address: SocketAddr,
    seen: Arc<Mutex<Seen>>,
    running: JoinHandle<()>,
}

/// A request that was passed on.
#[derive(Debug, Clone)]
pub struct Passed {
    /// What was asked for: `/v1/messages`.
    pub path: String,
    /// Its body, as it was sent.
    pub body: String,
}

#[derive(Default)]
struct Seen {
    connections: usize,
    requests: Vec<Passed>,
}

impl Relay {
    /// One in front of this server.
    pub async fn before(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a port on this machine");
        let address = listener.local_addr().expect("a bound port has an address");
        let seen = Arc::<Mutex<Seen>>::default();
        let running = tokio::spawn(accept(listener, server, seen.clone()));
        Self {
            address,
            seen,
            running,
        }
    }

    /// Where it is: scheme, address and port.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The requests so far.
    pub fn requests(&self) -> Vec<Passed> {
        lock(&self.seen).requests.clone()
    }

    /// How many connections were made.
    pub fn connections(&self) -> usize {
        lock(&self.seen).connections
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.running.abort();
    }
}

async fn accept(listener: TcpListener, server: SocketAddr, seen: Arc<Mutex<Seen>>) {
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        lock(&seen).connections += 1;
        let seen = seen.clone();
        // Either side may go away; the other then sees the same.
        connections.spawn(async move { drop(pass(client, server, &seen).await) });
        while connections.try_join_next().is_some() {}
    }
}

async fn pass(client: TcpStream, server: SocketAddr, seen: &Mutex<Seen>) -> io::Result<()> {
    let server = TcpStream::connect(server).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (asks, mut hears) = client.into_split();
    let (mut answers, mut asked) = server.into_split();
    let there = async {
        let mut asks = BufReader::new(asks);
        while let Some(request) = Request::read(&mut asks).await? {
            keep(&request, seen);
            let mut head = request.line;
            for (name, value) in &request.headers {
                head.extend(["\r\n", name, ": ", value]);
            }
            head.push_str("\r\n\r\n");
            asked.write_all(head.as_bytes()).await?;
            asked.write_all(&request.body).await?;
        }
        asked.shutdown().await
    };
    let back = async {
        tokio::io::copy(&mut answers, &mut hears).await?;
        hears.shutdown().await
    };
    tokio::try_join!(there, back).map(drop)
}

fn keep(request: &Request, seen: &Mutex<Seen>) {
    let path = request.line.split(' ').nth(1).unwrap_or_default();
    let body = String::from_utf8_lossy(&request.body).into_owned();
    record(kind(path), &body);
    lock(seen).requests.push(Passed {
        path: path.to_owned(),
        body,
    });
}

/// What the checker calls the requests that go there.
fn kind(path: &str) -> &'static str {
    match path {
        "/v1/messages" => "anthropic",
        "/v1/responses" => "responses",
        _ => "chat",
    }
}

fn lock(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}
