//! The other end of the pipe, for tests: sees what was sent, and answers as it is told to.

use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, DuplexStream};
use tower_lsp::jsonrpc::Error;

use crate::transport::{Frame, Framing, Outgoing};

/// A client that does nothing by itself.
pub(crate) struct FakeClient {
    pub(crate) outgoing: Outgoing,
    output: DuplexStream,
    framing: Framing,
}

impl FakeClient {
    pub(crate) fn new() -> Self {
        let (ours, output) = tokio::io::duplex(1 << 16);
        let (outgoing, writer) = Outgoing::new(ours);
        tokio::spawn(writer);
        Self {
            outgoing,
            output,
            framing: Framing::default(),
        }
    }

    /// The next message.
    pub(crate) async fn receive(&mut self) -> Value {
        receive(&mut self.output, &mut self.framing).await
    }

    /// Answers a request.
    pub(crate) fn answer(&self, id: &Value, outcome: Result<Value, (i64, &'static str)>) {
        let error = |(code, message): (i64, &'static str)| Error {
            code: code.into(),
            message: message.into(),
            data: None,
        };
        self.outgoing.answered(id.as_i64(), outcome.map_err(error));
    }
}

/// Waits for the next whole message.
pub(crate) async fn receive(
    output: &mut (impl AsyncReadExt + Unpin),
    framing: &mut Framing,
) -> Value {
    let message = async {
        loop {
            match framing.next() {
                Some(Frame::Message(message)) => break message,
                Some(Frame::Damaged(what)) => panic!("damage was written: {what}"),
                None => {}
            }
            let read = output.read_buf(framing.space()).await.expect("readable");
            assert_ne!(read, 0, "the output was closed");
        }
    };
    tokio::time::timeout(Duration::from_secs(20), message)
        .await
        .expect("a message in time")
}
