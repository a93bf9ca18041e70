//! The model asked through each of its server's three endpoints by our own providers: it calls the right tool, and makes use of the
//! answer.

use std::collections::BTreeMap;

use futures::StreamExt as _;
use model::{
    Api, Block, Catalogue, Message, Provider, ProviderConfig, Request, Role, StreamEvent, ToolCall,
    ToolSpec,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::llama::{self, Llama};

/// The wire formats, by the names of their trials.
pub const FORMATS: [(&str, Api); 3] = [
    ("speaks/chat", Api::OpenaiChat),
    ("speaks/messages", Api::Anthropic),
    ("speaks/responses", Api::OpenaiResponses),
];

/// Fails unless it calls `read` for the file that it is asked about, and tells what it was told.
pub async fn it_calls_a_tool(api: Api, llama: &Llama) {
    let provider = provider(api, llama);
    let tool = |name: &str, description: &str, parameter: &str| ToolSpec {
        name: name.to_owned(),
        description: description.to_owned(),
        schema: json!({
            "type": "object",
            "properties": { parameter: { "type": "string" } },
            "required": [parameter],
        }),
    };
    let mut request = Request {
        system:
            "You answer questions about the files of a folder. Read a file before you speak of it."
                .to_owned(),
        messages: vec![Message::user("Which port does settings.toml name?")],
        tools: vec![
            tool("read", "Reads a file.", "filePath"),
            tool("list", "Lists a folder.", "folder"),
        ],
        ..Request::default()
    };
    let (calls, text) = ask(&*provider, &request).await;
    let [call] = &calls[..] else {
        panic!("{api:?}: not one call, but {calls:?} and {text}")
    };
    assert_eq!(call.name, "read", "{api:?}");
    assert_eq!(
        call.input,
        json!({ "filePath": "settings.toml" }),
        "{api:?}"
    );
    request.messages.push(Message {
        role: Role::Assistant,
        blocks: vec![Block::ToolCall(call.clone())],
    });
    request.messages.push(Message {
        role: Role::User,
        blocks: vec![Block::ToolResult {
            id: call.id.clone(),
            ok: true,
            output: "host = \"localhost\"\nport = 4711\n".to_owned(),
        }],
    });
    let (calls, text) = ask(&*provider, &request).await;
    assert!(calls.is_empty(), "{api:?}: {calls:?}");
    assert!(text.contains("4711"), "{api:?}: {text}");
}

fn provider(api: Api, llama: &Llama) -> std::sync::Arc<dyn Provider> {
    let path = match api {
        Api::Anthropic => "",
        Api::OpenaiChat | Api::OpenaiResponses => "/v1",
    };
    let config = ProviderConfig {
        api: Some(api),
        base_url: Some(format!("{}{path}", llama.url)),
        ..ProviderConfig::default()
    };
    let providers = BTreeMap::from([("local".to_owned(), config)]);
    Catalogue::with_environment(providers, |_| None)
        .resolve(&format!("local/{}", llama::NAME))
        .expect("a provider that needs no key")
}

/// What it calls, and what it says.
async fn ask(provider: &dyn Provider, request: &Request) -> (Vec<ToolCall>, String) {
    let mut events = provider
        .stream(request, &CancellationToken::new())
        .await
        .expect("an answer");
    let (mut calls, mut text) = (Vec::new(), String::new());
    while let Some(event) = events.next().await {
        match event.expect("an answer to its end") {
            StreamEvent::ToolCall(call) => calls.push(call),
            StreamEvent::Text(piece) => text.push_str(&piece),
            _ => {}
        }
    }
    (calls, text)
}
