//! Model servers that run on this machine: found where they usually are, or where the configuration says that they are.
//! Whoever asks waits for a fraction of a second at most; a start never does.

use std::time::Duration;

use futures::future::join_all;
use reqwest::Url;
use serde::Deserialize;
use tokio::time::timeout;

use crate::http;
use crate::tls::Tls;

/// The provider whose server tells more of itself than OpenAI's format does.
pub(crate) const OLLAMA: &str = "ollama";

/// A server on this machine answers at once, or isn't there.
const DEADLINE: Duration = Duration::from_millis(300);

/// A list of models that is longer than this is none.
const LONGEST: usize = 1024 * 1024;

/// A server on this machine that has models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalServer {
    /// What it is: `Ollama`, `llama.cpp`, or `a server` if it doesn't say.
    pub name: &'static str,
    /// The provider that it is.
    pub provider: String,
    /// Its Chat Completions.
    pub base_url: String,
    /// Its models, as it calls them.
    pub models: Vec<String>,
}

impl LocalServer {
    /// Its models, as they are called behind `provider/`.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.models
            .iter()
            .map(|model| match self.provider.as_str() {
                // What it takes for meant when no version is said.
                OLLAMA => model.strip_suffix(":latest").unwrap_or(model),
                _ => model,
            })
    }

    /// The models of it that can be talked to, as far as their names tell, as `provider/model`.
    pub fn ids(&self) -> impl Iterator<Item = String> {
        // Those that turn a text into numbers are called so.
        let talks = |name: &&str| !name.to_lowercase().contains("embed");
        let names = self.names().filter(talks);
        names.map(|name| format!("{}/{name}", self.provider))
    }
}

/// Where a provider's server would be: its name, and the address under which its Chat Completions are.
pub(crate) type Place = (String, Url);

/// The servers that answer at these places and have a model.
pub(crate) async fn servers_at(places: Vec<Place>) -> Vec<LocalServer> {
    let looks = places.into_iter().map(|(provider, base)| async move {
        let look = async {
            match provider.as_str() {
                OLLAMA => find_ollama(&base).await,
                _ => find_other(provider, &base).await,
            }
        };
        timeout(DEADLINE, look).await.ok().flatten()
    });
    let found = join_all(looks).await.into_iter().flatten();
    found.filter(|server| !server.models.is_empty()).collect()
}

async fn find_ollama(base: &Url) -> Option<LocalServer> {
    #[derive(Deserialize)]
    struct Tags {
        models: Vec<Tag>,
    }
    #[derive(Deserialize)]
    struct Tag {
        name: String,
    }
    let tags: Tags = get(base, Under::Root("api/tags")).await?;
    Some(LocalServer {
        name: "Ollama",
        provider: OLLAMA.to_owned(),
        base_url: shown(base),
        models: tags.models.into_iter().map(|tag| tag.name).collect(),
    })
}

async fn find_other(provider: String, base: &Url) -> Option<LocalServer> {
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
    let Models { data } = get(base, Under::Base("models")).await?;
    let is_llama_cpp = |model: &Model| model.owned_by.as_deref() == Some("llamacpp");
    Some(LocalServer {
        // Its port is used by much else.
        name: match data.iter().any(is_llama_cpp) {
            true => "llama.cpp",
            false => "a server",
        },
        provider,
        base_url: shown(base),
        models: data.into_iter().map(|model| model.id).collect(),
    })
}

/// The address without what may be a password.
fn shown(base: &Url) -> String {
    let mut base = base.clone();
    let _ = base.set_username("");
    let _ = base.set_password(None);
    base.set_query(None);
    base.to_string()
}

/// What is asked for.
enum Under {
    /// Beside the address of Chat Completions.
    Base(&'static str),
    /// Where that address ends in `/v1`, beside this.
    Root(&'static str),
}

async fn get<T: for<'de> Deserialize<'de>>(base: &Url, what: Under) -> Option<T> {
    let mut url = base.clone();
    {
        let mut segments = url.path_segments_mut().ok()?;
        segments.pop_if_empty();
        if matches!(what, Under::Root(_)) {
            segments.pop();
        }
        let (Under::Base(path) | Under::Root(path)) = what;
        segments.extend(path.split('/'));
    }
    let mut response = http::client(&url, &Tls::default())
        .ok()?
        .get(url)
        .send()
        .await
        .ok()?;
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

    fn places(ollama: &str, other: &str) -> Vec<Place> {
        let place = |provider: &str, base: &str| {
            let base = format!("{base}/v1").parse().unwrap();
            (provider.to_owned(), base)
        };
        vec![place(OLLAMA, ollama), place("llamacpp", other)]
    }

    async fn servers_at(ollama: &str, other: &str) -> Vec<LocalServer> {
        super::servers_at(places(ollama, other)).await
    }

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

    const TAGS: &str = r#"{"models":[{"name":"qwen3-coder:30b","size":1},{"name":"gpt-oss:latest"},{"name":"nomic-embed-text:latest"}]}"#;
    const MODELS: &str = r#"{"object":"list","data":[{"id":"qwen.gguf","owned_by":"llamacpp","meta":{"n_ctx_train":32768}}]}"#;

    #[tokio::test]
    async fn finds_who_is_there_and_what_they_have() {
        let ollama = server("/api/tags", Some(TAGS.to_owned())).await;
        let llama_cpp = server("/v1/models", Some(MODELS.to_owned())).await;
        let wanted = [
            LocalServer {
                name: "Ollama",
                provider: "ollama".to_owned(),
                base_url: format!("{ollama}/v1"),
                models: [
                    "qwen3-coder:30b",
                    "gpt-oss:latest",
                    "nomic-embed-text:latest",
                ]
                .map(str::to_owned)
                .to_vec(),
            },
            LocalServer {
                name: "llama.cpp",
                provider: "llamacpp".to_owned(),
                base_url: format!("{llama_cpp}/v1"),
                models: vec!["qwen.gguf".to_owned()],
            },
        ];
        assert_eq!(servers_at(&ollama, &llama_cpp).await, wanted);
        let ids: Vec<String> = wanted.iter().flat_map(LocalServer::ids).collect();
        assert_eq!(
            ids,
            [
                "ollama/qwen3-coder:30b",
                "ollama/gpt-oss",
                "llamacpp/qwen.gguf"
            ]
        );
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
