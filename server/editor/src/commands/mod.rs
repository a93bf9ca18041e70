//! The commands of `workspace/executeCommand`, one file each. Every one takes one object as its
//! only argument, and tells what is wrong with it by the name of the field.

mod ask;
mod cancel;
mod fix;
mod models;
mod restart;
mod sessions;
mod set_model;
mod status;

use std::sync::Arc;

use agent::{StartError, UnknownSession};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tower_lsp::jsonrpc::{Error, ErrorCode, Result};
use tower_lsp::lsp_types::MessageType;

use crate::connection::Connection;
use crate::params::{self, invalid};

pub(crate) const ASK: &str = "copydesk.ask";
pub(crate) const FIX: &str = "copydesk.fix";
const CANCEL: &str = "copydesk.cancel";
const MODELS: &str = "copydesk.models";
const RESTART: &str = "copydesk.restartLanguageServer";
const SESSIONS: &str = "copydesk.sessions";
const SET_MODEL: &str = "copydesk.setModel";
const STATUS: &str = "copydesk.status";

/// LSP's code for a request that is right and could not be done.
const REQUEST_FAILED: i64 = -32803;

/// What `executeCommandProvider` lists.
pub(crate) const fn names() -> &'static [&'static str] {
    &[
        ASK, FIX, CANCEL, MODELS, RESTART, SESSIONS, SET_MODEL, STATUS,
    ]
}

/// Carries out one command.
pub(crate) async fn execute(
    connection: &Arc<Connection>,
    command: &str,
    arguments: Value,
) -> Result<Value> {
    match command {
        ASK => ask::run(connection, argument(arguments)?).await,
        FIX => fix::run(connection, argument(arguments)?).await,
        CANCEL => cancel::run(connection, argument(arguments)?),
        MODELS => models::run(connection, argument_or(arguments, json!({}))?).await,
        RESTART => restart::run(connection, argument_or(arguments, json!({}))?),
        SESSIONS => Ok(sessions::run(
            connection,
            argument_or(arguments, json!({}))?,
        )),
        SET_MODEL => set_model::run(connection, argument(arguments)?),
        STATUS => Ok(status::run(connection, argument_or(arguments, json!({}))?)),
        _ => Err(invalid(
            "command",
            format_args!("there is no command {command:?}"),
        )),
    }
}

fn argument<T: DeserializeOwned>(arguments: Value) -> Result<T> {
    argument_or(arguments, Value::Null)
}

/// The only argument; `absent` stands for one that is not there.
fn argument_or<T: DeserializeOwned>(arguments: Value, absent: Value) -> Result<T> {
    let argument = match arguments {
        Value::Null => Value::Null,
        Value::Array(list) => list.into_iter().next().unwrap_or_default(),
        _ => {
            return Err(invalid(
                "arguments",
                "an array that holds one object is due",
            ));
        }
    };
    params::read(
        if argument.is_null() { absent } else { argument },
        "argument",
    )
}

/// The answer to a command that starts a run.
fn started(
    connection: &Connection,
    outcome: std::result::Result<String, StartError>,
) -> Result<Value> {
    match outcome {
        Ok(session) => Ok(json!({ "session": session })),
        Err(StartError::UnknownSession(UnknownSession(session))) => Err(unknown_session(&session)),
        Err(error @ StartError::Busy(_)) => Err(failed(error.to_string())),
        Err(error @ StartError::Model(_)) => {
            // Some editors keep the error of a command to themselves, and the person would wait for
            // nothing.
            connection.show(MessageType::ERROR, error.to_string());
            Err(failed(error.to_string()))
        }
    }
}

fn unknown_session(session: &str) -> Error {
    invalid("session", format_args!("there is no session {session:?}"))
}

fn failed(message: String) -> Error {
    Error {
        code: ErrorCode::ServerError(REQUEST_FAILED),
        message: message.into(),
        data: None,
    }
}
