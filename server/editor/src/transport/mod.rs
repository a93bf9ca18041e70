//! The transport over tower-lsp's router: how bytes become calls and answers become bytes, whatever
//! goes wrong. It takes the place of tower-lsp's own loop, which ends at malformed input, dies of a
//! panic or a late answer, and can deadlock when every slot waits for the client. It never looks
//! into a message beyond JSON-RPC and the life cycle.

mod dispatch;
mod framing;
mod message;
mod outgoing;
pub(crate) mod parent;
mod reader;
#[cfg(test)]
mod tests;

pub(crate) use dispatch::{Dispatch, Route};
#[cfg(test)]
pub(crate) use framing::{Frame, Framing};
pub(crate) use outgoing::{Outgoing, RequestError};
