//! `builtin/quickfix`: the model of those who have set up none. It thinks nothing up: it reads the
//! request's problems, asks the language server for its own quick fixes, applies the best one,
//! and checks that the problem is gone. It stands here and not in `model`, because it knows tools by
//! name. It keeps no state: each answer follows from the conversation so far.

mod choice;
mod more;
mod plan;

use async_trait::async_trait;
use futures::stream;
use model::{Catalogue, EventStream, ModelError, Provider, Request, Stop, StreamEvent, ToolCall};
use tokio_util::sync::CancellationToken;

use more::More;
use plan::Next;

/// The model's name.
pub const ID: &str = model::QUICKFIX;

/// The provider.
pub struct Quickfix {
    /// What it says of other models where it can do no more.
    more: Option<More>,
}

impl Quickfix {
    /// One that knows which models there are to use in its place.
    pub fn new(catalogue: Catalogue) -> Self {
        Self {
            more: Some(More::new(catalogue)),
        }
    }

    /// One that takes the place of another model, and names none.
    pub fn instead() -> Self {
        Self { more: None }
    }

    async fn more(&self, cancel: &CancellationToken) -> Result<String, ModelError> {
        match &self.more {
            Some(more) => more.words(cancel).await,
            None => Ok(String::new()),
        }
    }
}

#[async_trait]
impl Provider for Quickfix {
    fn id(&self) -> &str {
        ID
    }

    async fn stream(
        &self,
        request: &Request,
        cancel: &CancellationToken,
    ) -> Result<EventStream, ModelError> {
        if let Some(more) = &self.more {
            more.look();
        }
        let events = match plan::next(&request.messages) {
            Next::GiveUp(text) => {
                let more = self.more(cancel).await?;
                return Err(ModelError::Incapable(
                    format!("{text} {more}").trim_end().to_owned(),
                ));
            }
            Next::Say { text, is_short } => {
                let text = match is_short {
                    true => format!("{text}\n{}", self.more(cancel).await?)
                        .trim_end()
                        .to_owned(),
                    false => text,
                };
                vec![StreamEvent::Text(text), StreamEvent::Done(Stop::End)]
            }
            Next::Call(input) => {
                let id = format!("quickfix-{}", request.messages.len());
                let call = ToolCall {
                    id,
                    name: "lsp".to_owned(),
                    input,
                    malformed: None,
                    repaired: None,
                };
                vec![
                    StreamEvent::ToolCall(call),
                    StreamEvent::Done(Stop::ToolCalls),
                ]
            }
        };
        Ok(Box::pin(stream::iter(events.into_iter().map(Ok))))
    }
}
