//! How much to think, from the configuration to the request in each format. What is sent is kept for the checker.

use std::time::Duration;

use model::{Api, ModelConfig, ProviderConfig, Thinking};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::request;
use crate::server::{Answer, Seen, server};

#[tokio::test]
async fn what_the_configuration_says_of_thinking_is_sent() {
    for (api, field, wanted) in [
        (Api::OpenaiChat, "reasoning_effort", json!("high")),
        (Api::OpenaiResponses, "reasoning", json!({"effort": "high"})),
        (Api::Anthropic, "output_config", json!({"effort": "high"})),
        (Api::Anthropic, "thinking", json!({"type": "adaptive"})),
    ] {
        let refusal = "HTTP/1.1 400 Bad Request\r\ncontent-length: 2\r\n\r\n{}".to_owned();
        let (url, mut sees) = server(vec![Answer::Cut(refusal)]).await;
        let thinks = ModelConfig {
            thinking: Some(Thinking::High),
            ..ModelConfig::default()
        };
        let base = match api {
            Api::Anthropic => url.strip_suffix("/v1").unwrap(),
            _ => &url,
        };
        let config = ProviderConfig {
            api: Some(api),
            models: [("some/model".to_owned(), thinks)].into(),
            ..crate::config(base)
        };
        let provider = crate::provider_with(config, Duration::from_secs(60));
        let asked = provider.stream(&request(), &CancellationToken::new()).await;
        assert!(asked.is_err());
        let sent = loop {
            if let Seen::Request(sent) = sees.recv().await.unwrap() {
                break sent;
            }
        };
        let (_, body) = sent.split_once("\r\n\r\n").unwrap();
        let body: Value = serde_json::from_str(body).unwrap();
        assert_eq!(body[field], wanted, "{body}");
    }
}
