//! Model servers that run on this machine without being configured: found where they usually are. Whoever asks waits for a
//! fraction of a second at most; a start never does.

use std::time::Duration;

use reqwest::Url;
use serde::Deserialize;
use tokio::time::timeout;

use crate::http;

const OLLAMA: &str = "http://localhost:11434";
const LLAMA_CPP: &str = "http://localhost:8080";

/// A server on this machine answers at once, or isn't there.
const DEADLINE: Duration = Duration::from_millis(300);

/// A list of models that is longer than this is none.
const LONGEST: usize = 1024 * 1024;

/// A server on this machine that has models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalServer {
    /// What it is: `Ollama`, `llama.cpp`, or `a server` if it doesn't say.
    pub name: &'static str,
    /// The built-in provider that it is; of others the configuration must say where they are.
    pub provider: Option<&'static str>,
    /// Its Chat Completions: what `base_url` of a provider must be.
    pub base_url: String,
    /// Its models, as it calls them.
    pub models: Vec<String>,
}

/// The servers that answer on the usual ports of Ollama and llama.cpp and have a model.
pub async fn local_servers() -> Vec<LocalServer> {
    servers_at(OLLAMA, LLAMA_CPP).await
}

async fn servers_at(ollama: &str, llama_cpp: &str) -> Vec<LocalServer> {
    let (ollama, llama_cpp) = tokio::join!(
        timeout(DEADLINE, find_ollama(ollama)),
        timeout(DEADLINE, find_llama_cpp(llama_cpp)),
    );
    [ollama, llama_cpp]
        .into_iter()
        .filter_map(|found| found.ok().flatten())
        .filter(|server| !server.models.is_empty())
        .collect()
}

async fn find_ollama(base: &str) -> Option<LocalServer> {
    #[derive(Deserialize)]
    struct Tags {
        models: Vec<Tag>,
    }
    #[derive(Deserialize)]
    struct Tag {
        name: String,
    }
    let tags: Tags = get(base, "/api/tags").await?;
    Some(LocalServer {
        name: "Ollama",
        provider: Some("ollama"),
        base_url: format!("{base}/v1"),
        models: tags.models.into_iter().map(|tag| tag.name).collect(),
    })
}

async fn find_llama_cpp(base: &str) -> Option<LocalServer> {
    #[derive(Deserialize)]
    struct Models {
        data: Vec<Model>,
    }
    #[derive(Deserialize)]
    struct Model {
        id: String,
        #[serde(default)]
        owned_by: Option<String>,
    }
    let Models { data } = get(base, "/v1/models").await?;
    let is_llama_cpp = |model: &Model| model.owned_by.as_deref() == Some("llamacpp");
    Some(LocalServer {
        // Its port is used by much else.
        name: match data.iter().any(is_llama_cpp) {
            true => "llama.cpp",
            false => "a server",
        },
        provider: None,
        base_url: format!("{base}/v1"),
        models: data.into_iter().map(|model| model.id).collect(),
    })
}

async fn get<T: for<'de> Deserialize<'de>>(base: &str, path: &str) -> Option<T> {
    let url: Url = format!("{base}{path}").parse().ok()?;
    let mut response = http::client(&url).ok()?.get(url).send().await.ok()?;
    if !response.status().is_success() {
        return None;
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.ok()? {
        body.extend_from_slice(&chunk);
        if body.len() > LONGEST {
            return None;
        }
    }
    serde_json::from_slice(&body).ok()
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use tokio::time::Instant;

    use super::*;

    /// A server that answers one path with that body; with none it says nothing.
    async fn server(path: &'static str, answer: Option<String>) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move {
            loop {
                let (mut socket, _) = listener.accept().await.unwrap();
                let mut request = Vec::new();
                while !request.ends_with(b"\r\n\r\n") {
                    let mut byte = [0];
                    if !matches!(socket.read(&mut byte).await, Ok(1)) {
                        break;
                    }
                    request.push(byte[0]);
                }
                let Some(answer) = &answer else {
                    // Until the other side closes.
                    let _ = socket.read(&mut [0]).await;
                    continue;
                };
                let asked = format!("GET {path} HTTP/1.1\r\n");
                let status = match request.starts_with(asked.as_bytes()) {
                    true => "200 OK",
                    false => "404 Not Found",
                };
                let length = answer.len();
                let _ = socket
                    .write_all(
                        format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\n\r\n{answer}")
                            .as_bytes(),
                    )
                    .await;
            }
        });
        base
    }

    /// An address where nobody is.
    async fn nobody() -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    }

    const TAGS: &str =
        r#"{"models":[{"name":"qwen3-coder:30b","size":1},{"name":"gpt-oss:latest"}]}"#;
    const MODELS: &str = r#"{"object":"list","data":[{"id":"qwen.gguf","owned_by":"llamacpp","meta":{"n_ctx_train":32768}}]}"#;

    #[tokio::test]
    async fn finds_who_is_there_and_what_they_have() {
        let ollama = server("/api/tags", Some(TAGS.to_owned())).await;
        let llama_cpp = server("/v1/models", Some(MODELS.to_owned())).await;
        let wanted = [
            LocalServer {
                name: "Ollama",
                provider: Some("ollama"),
                base_url: format!("{ollama}/v1"),
                models: vec!["qwen3-coder:30b".to_owned(), "gpt-oss:latest".to_owned()],
            },
            LocalServer {
                name: "llama.cpp",
                provider: None,
                base_url: format!("{llama_cpp}/v1"),
                models: vec!["qwen.gguf".to_owned()],
            },
        ];
        assert_eq!(servers_at(&ollama, &llama_cpp).await, wanted);
        assert_eq!(servers_at(&nobody().await, &llama_cpp).await, wanted[1..]);
        assert_eq!(servers_at(&ollama, &nobody().await).await, wanted[..1]);
        assert_eq!(servers_at(&nobody().await, &nobody().await).await, []);
    }

    #[tokio::test]
    async fn what_is_no_list_of_models_is_no_server() {
        for answer in [
            "<html>It works!</html>",
            "{}",
            r#"{"models":[]}"#,
            r#"{"models":[{"size":1}]}"#,
            "",
        ] {
            let server = server("/api/tags", Some(answer.to_owned())).await;
            assert_eq!(servers_at(&server, &nobody().await).await, [], "{answer}");
        }
        // The right answer, but to another question.
        let other = server("/elsewhere", Some(TAGS.to_owned())).await;
        assert_eq!(servers_at(&other, &nobody().await).await, []);
        // A list without an end.
        let long = format!(r#"{{"models":[{{"name":"{}"}}]}}"#, "x".repeat(LONGEST));
        let long = server("/api/tags", Some(long)).await;
        assert_eq!(servers_at(&long, &nobody().await).await, []);
        // One that says nothing of itself.
        let unnamed = server("/v1/models", Some(r#"{"data":[{"id":"m"}]}"#.to_owned())).await;
        assert_eq!(
            servers_at(&nobody().await, &unnamed).await[0].name,
            "a server"
        );
    }

    #[tokio::test]
    async fn a_server_that_says_nothing_is_waited_for_no_longer_than_told() {
        let silent = server("/api/tags", None).await;
        let llama_cpp = server("/v1/models", Some(MODELS.to_owned())).await;
        let started = Instant::now();
        let found = servers_at(&silent, &llama_cpp).await;
        assert!(started.elapsed() >= DEADLINE, "{:?}", started.elapsed());
        assert!(started.elapsed() < 20 * DEADLINE, "{:?}", started.elapsed());
        assert_eq!(found.len(), 1, "{found:?}");
    }
}
