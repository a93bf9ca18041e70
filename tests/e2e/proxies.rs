//! Proxies as the environment names them: requests to elsewhere go through them, those to this machine do not, and what
//! `NO_PROXY` names goes straight there.

use std::sync::{Arc, Mutex};

use serde_json::json;
use tests::client::{Editor, Setup};
use tests::fixtures::Project;
use tests::model::{Reply, ScriptedModel};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::world;

/// A proxy on this machine that passes on what is not encrypted to that model, whatever host is meant, and refuses tunnels.
struct Proxy {
    url: String,
    /// The first lines of what it was asked.
    asked: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    async fn to(model: &ScriptedModel) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("bound"));
        let model = model.base_url();
        let behind = model
            .trim_start_matches("http://")
            .trim_end_matches("/v1")
            .to_owned();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&asked);
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(pass_on(socket, behind.clone(), Arc::clone(&told)));
            }
        });
        Self { url, asked }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("nobody panicked").clone()
    }
}

async fn pass_on(mut socket: TcpStream, behind: String, asked: Arc<Mutex<Vec<String>>>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let Ok(byte) = socket.read_u8().await else {
            return;
        };
        head.push(byte);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let (line, rest) = head.split_once("\r\n").expect("a line");
    asked.lock().expect("nobody panicked").push(line.to_owned());
    if line.starts_with("CONNECT ") {
        let _ = socket
            .write_all(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n")
            .await;
        return;
    }
    // The model is asked by its path alone.
    let path = line
        .split(' ')
        .nth(1)
        .and_then(|url| url.find("/v1").map(|at| &url[at..]));
    let request = format!("POST {} HTTP/1.1\r\n{rest}", path.expect("an address"));
    let mut model = TcpStream::connect(behind)
        .await
        .expect("the model is there");
    model.write_all(request.as_bytes()).await.expect("written");
    let _ = tokio::io::copy_bidirectional(&mut socket, &mut model).await;
}

/// How a run ends that asks at this address, with these variables.
async fn finished(base_url: &str, variables: &[(&str, &str)]) -> (String, String) {
    let project = Project::with(&[("a.txt", "one\n")]);
    let editor = Editor::start(Setup {
        root: project.root().to_owned(),
        options: json!({
            "model": "mine/one",
            "providers": { "mine": { "base_url": base_url } },
        }),
        env: variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
        ..Setup::default()
    })
    .await;
    let finished = world::ask(&editor, json!({ "prompt": "x" })).await;
    assert_eq!(editor.shutdown().await, 0);
    let text = |key: &str| finished[key].as_str().unwrap_or_default().to_owned();
    (text("status"), text("message"))
}

#[tokio::test]
async fn requests_go_through_the_proxy_that_the_environment_names() {
    let model = ScriptedModel::answering(|_| Reply::text("From the model.")).await;
    let proxy = Proxy::to(&model).await;
    let done = ("done".to_owned(), "From the model.".to_owned());
    for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY"] {
        let before = proxy.asked().len();
        let got = finished("http://model.example/v1", &[(name, &proxy.url)]).await;
        assert_eq!(got, done, "{name}");
        let asked = proxy.asked();
        assert_eq!(
            asked[before..],
            ["POST http://model.example/v1/chat/completions HTTP/1.1"],
            "{name}"
        );
    }
    let before = proxy.asked().len();
    let (status, message) =
        finished("https://model.example/v1", &[("HTTPS_PROXY", &proxy.url)]).await;
    assert_eq!(proxy.asked()[before], "CONNECT model.example:443 HTTP/1.1");
    assert_eq!(status, "failed");
    assert!(
        message.contains("https://model.example/v1") && message.contains("proxy"),
        "{message}"
    );
}

#[tokio::test]
async fn what_is_here_or_named_in_no_proxy_is_asked_straight() {
    let model = ScriptedModel::answering(|_| Reply::text("From the model.")).await;
    let proxy = Proxy::to(&model).await;
    let done = ("done".to_owned(), "From the model.".to_owned());
    let variables = [
        ("HTTP_PROXY", proxy.url.as_str()),
        ("ALL_PROXY", &proxy.url),
    ];
    assert_eq!(finished(&model.base_url(), &variables).await, done);
    assert_eq!(proxy.asked(), [""; 0]);
    // An address that leads to this machine, and does not look so.
    let elsewhere = model.base_url().replacen("127.0.0.1", "0.0.0.0", 1);
    assert_eq!(finished(&elsewhere, &variables).await, done);
    assert_eq!(proxy.asked().len(), 1);
    let [http, all] = variables;
    let straight = [http, all, ("NO_PROXY", "example.org,0.0.0.0")];
    assert_eq!(finished(&elsewhere, &straight).await, done);
    assert_eq!(proxy.asked().len(), 1, "{:?}", proxy.asked());
}
