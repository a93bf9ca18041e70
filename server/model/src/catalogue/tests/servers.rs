//! Servers that run on this machine or elsewhere, without keys.

use super::*;
use crate::LocalServer;

#[test]
fn of_servers_elsewhere_the_user_knows_what_they_have() {
    let config = "ollama = { base_url = 'http://h:11434/v1', models.mine = {} }";
    let catalogue = catalogue(config, &[]);
    assert!(catalogue.model("ollama/mine").available);
    let models = catalogue.models(&[]);
    let why = |id: &str| {
        let model = models.iter().find(|model| model.id == id);
        model.unwrap().why.clone()
    };
    assert_eq!(why("ollama/mine"), None);
    assert!(
        why("ollama/gpt-oss")
            .unwrap()
            .ends_with("[providers.ollama.models]")
    );
}

#[tokio::test]
async fn servers_are_looked_for_where_the_configuration_says_that_they_are() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        while let Ok((mut socket, _)) = listener.accept().await {
            let mut request = [0; 4096];
            let read = socket.read(&mut request).await.unwrap();
            assert!(request[..read].starts_with(b"GET /some/v1/models HTTP/1.1\r\n"));
            let body = r#"{"data":[{"id":"org/m"}]}"#;
            let answer = format!(
                "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            );
            socket.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    let config = format!(
        "mine.base_url = 'http://u:secret@127.0.0.1:{port}/some/v1'\n\
         keyed = {{ base_url = 'http://127.0.0.1:{port}/other/v1', api_key_env = 'OPENAI_API_KEY' }}\n\
         ollama.base_url = 'http://h/v1'\nllamacpp.base_url = 'http://h/v1'"
    );
    let catalogue = catalogue(&config, &[OPENAI]);
    let found = catalogue.local_servers().await;
    assert_eq!(
        found,
        [LocalServer {
            name: "a server",
            provider: "mine".to_owned(),
            base_url: format!("http://127.0.0.1:{port}/some/v1"),
            models: vec!["org/m".to_owned()],
        }]
    );
    let models = catalogue.models(&found);
    assert!(models.iter().any(|model| model.id == "mine/org/m"));
}
