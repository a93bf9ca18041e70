//! The language servers that run in the editor, for clients that let us ask them: questions go out as
//! `copydesk/query` and `copydesk/diagnostics`, so that nothing runs twice. What an answer is worth
//! is for `langserver` to judge.

use async_trait::async_trait;
use langserver::EditorServers;
use serde_json::{Value, json};
use workspace::{DocumentUri, Encoding};

use crate::capabilities::Client;
use crate::transport::Outgoing;

/// The client, where its language servers are concerned.
pub(crate) struct ServersOfEditor {
    outgoing: Outgoing,
    client: Client,
}

impl ServersOfEditor {
    /// `None` if the client does not let us ask.
    pub(crate) fn new(outgoing: &Outgoing, client: &Client) -> Option<Self> {
        (client.queries || client.diagnoses).then(|| Self {
            outgoing: outgoing.clone(),
            client: client.clone(),
        })
    }

    /// Whoever stops waiting takes the request back.
    async fn request(&self, method: &str, params: Value) -> Result<Value, String> {
        self.outgoing
            .request(method, params)
            .await
            .map_err(|error| error.to_string())
    }
}

#[async_trait]
impl EditorServers for ServersOfEditor {
    fn queries(&self) -> bool {
        self.client.queries
    }

    fn diagnoses(&self) -> bool {
        self.client.diagnoses
    }

    fn encoding(&self) -> Encoding {
        self.client.encoding
    }

    async fn query(&self, method: &str, params: Value) -> Result<Value, String> {
        let params = json!({ "method": method, "params": params });
        self.request("copydesk/query", params).await
    }

    async fn diagnostics(&self, uri: Option<&DocumentUri>) -> Result<Value, String> {
        let params = match uri {
            Some(uri) => json!({ "uri": uri.as_str() }),
            None => json!({}),
        };
        self.request("copydesk/diagnostics", params).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_client::FakeClient;

    fn servers(client: &FakeClient, requests: &Value) -> Option<ServersOfEditor> {
        let about = json!({ "requests": requests });
        let read = Client::read(&Value::Null, &Value::Null, &about);
        ServersOfEditor::new(&client.outgoing, &read)
    }

    #[tokio::test]
    async fn only_what_was_announced_is_used() {
        let client = FakeClient::new();
        for (requests, expected) in [
            (json!(null), None),
            (json!(["copydesk/save"]), None),
            (json!("copydesk/query"), None),
            (json!(["copydesk/query"]), Some((true, false))),
            (json!(["copydesk/diagnostics", 5]), Some((false, true))),
            (
                json!(["copydesk/diagnostics", "copydesk/query"]),
                Some((true, true)),
            ),
        ] {
            let servers = servers(&client, &requests);
            let uses = servers.map(|servers| (servers.queries(), servers.diagnoses()));
            assert_eq!(uses, expected, "{requests}");
        }
    }

    #[tokio::test]
    async fn questions_as_the_client_gets_them() {
        let mut client = FakeClient::new();
        let both = json!(["copydesk/query", "copydesk/diagnostics"]);
        let servers = servers(&client, &both).expect("announced");
        let uri = DocumentUri::parse("file:///a.rs").expect("a uri");
        let ask = servers.query("textDocument/hover", json!({ "position": 1 }));
        let play = async {
            let request = client.receive().await;
            assert_eq!(request["method"], "copydesk/query");
            let expected = json!({"method": "textDocument/hover", "params": {"position": 1}});
            assert_eq!(request["params"], expected);
            client.answer(&request["id"], Ok(json!({"contents": "x"})));
        };
        assert_eq!(tokio::join!(ask, play).0, Ok(json!({"contents": "x"})));
        for (uri, expected) in [
            (Some(&uri), json!({"uri": "file:///a.rs"})),
            (None, json!({})),
        ] {
            let ask = servers.diagnostics(uri);
            let play = async {
                let request = client.receive().await;
                assert_eq!(request["method"], "copydesk/diagnostics");
                assert_eq!(request["params"], expected);
                client.answer(&request["id"], Err((-32601, "no such method")));
            };
            let error = Err("no such method (-32601)".to_owned());
            assert_eq!(tokio::join!(ask, play).0, error);
        }
    }

    #[tokio::test]
    async fn whoever_stops_waiting_takes_the_question_back() {
        let mut client = FakeClient::new();
        let servers = servers(&client, &json!(["copydesk/query"])).expect("announced");
        let id = tokio::select! {
            _ = servers.query("textDocument/hover", json!({})) => panic!("nobody answered"),
            request = client.receive() => request["id"].clone(),
        };
        let cancelled = client.receive().await;
        assert_eq!(cancelled["method"], "$/cancelRequest");
        assert_eq!(cancelled["params"]["id"], id);
    }
}
