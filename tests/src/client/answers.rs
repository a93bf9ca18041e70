//! What the client does with each message of the server: judges it, books it, and answers the server's requests as an editor
//! with these capabilities would. A request that such an editor can't answer is a fault of the server's.

use serde_json::{Value, json};

use super::apply;
use super::events;
use super::log::From;
use super::state::{Canned, Phase, State};
use super::text::{self, Range};

/// Takes a message of the server.
pub fn receive(state: &mut State, message: &Value) {
    state.log.push(From::Server, message.clone());
    if message["jsonrpc"] != "2.0" {
        state.problem(format!("not JSON-RPC 2.0: {message}"));
    }
    match (message["method"].as_str(), message.get("id")) {
        (Some(method), Some(id)) => request(state, method, id, &message["params"]),
        (Some(method), None) => notification(state, method, &message["params"]),
        (None, Some(id)) => response(state, id, message),
        (None, None) => state.problem(format!("neither request nor answer: {message}")),
    }
}

fn response(state: &mut State, id: &Value, message: &Value) {
    if message.get("result").is_some() == message.get("error").is_some() {
        state.problem(format!(
            "an answer with both or neither of result and error: {message}"
        ));
    }
    if let Some(error) = message.get("error") {
        let named = error["message"]
            .as_str()
            .is_some_and(|text| !text.trim().is_empty());
        if !(error["code"].is_i64() && named) {
            state.problem(format!("an error without a code or a message: {message}"));
        }
    }
    if id.is_null() && message.get("error").is_some() && state.raw_sent {
        return;
    }
    let asked = id
        .as_i64()
        .and_then(|id| Some((id, state.asked.remove(&id)?)));
    let Some((id, (method, params))) = asked else {
        state.problem(format!("an answer to nothing that was asked: {message}"));
        return;
    };
    if let Some(result) = message.get("result") {
        match method.as_str() {
            "textDocument/codeAction" => actions(state, &params, result),
            "codeAction/resolve" if params["title"] != result["title"] => {
                state.problem(format!(
                    "resolved into another action: {params} -> {result}"
                ));
            }
            "shutdown" if !result.is_null() => {
                state.problem(format!("`shutdown` is answered by null, not {result}"));
            }
            _ => {}
        }
    }
    state.answered.insert(id, message.clone());
}

/// Code actions, held against the request and the client's capabilities.
fn actions(state: &mut State, params: &Value, result: &Value) {
    let literals = state
        .capability("/textDocument/codeAction/codeActionLiteralSupport")
        .is_some();
    let data = state.can("/textDocument/codeAction/dataSupport");
    let only = params["context"]["only"].as_array().cloned();
    for action in result.as_array().into_iter().flatten() {
        let mut wrong = |why: &str| state.problem(format!("{why}: {action}"));
        if action["title"]
            .as_str()
            .is_none_or(|title| title.is_empty() || title.contains('\n'))
        {
            wrong("a title must be one line of text");
        }
        if action["command"].is_string() {
            if literals {
                wrong("a bare command, though the client knows literals");
            }
            continue;
        }
        if !literals {
            wrong("a literal, which the client does not know");
        }
        if action["command"].is_null() && action["edit"].is_null() && action["data"].is_null() {
            wrong("an action that does nothing");
        }
        if !data && !action["data"].is_null() {
            wrong("`data` for a client that does not keep it");
        }
        let kind = action["kind"].as_str().unwrap_or_default();
        let asked = |wanted: &Value| {
            let wanted = wanted.as_str().unwrap_or_default();
            wanted.is_empty() || kind == wanted || kind.starts_with(&format!("{wanted}."))
        };
        if only.as_ref().is_some_and(|only| !only.iter().any(asked)) {
            wrong("a kind that `only` leaves out");
        }
        let uri = params["textDocument"]["uri"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let places = action["diagnostics"].as_array().into_iter().flatten();
        for place in places
            .map(|diagnostic| diagnostic["range"].clone())
            .collect::<Vec<_>>()
        {
            placed(state, &uri, &place);
        }
    }
}

/// A range of the server's in an open document must be a place in one of its texts.
fn placed(state: &mut State, uri: &str, range: &Value) {
    let encoding = state.encoding;
    let range: Range = match serde_json::from_value(range.clone()) {
        Ok(range) => range,
        Err(why) => return state.problem(format!("no range: {range}: {why}")),
    };
    if let Some(document) = state.documents.get(uri)
        && !document
            .known()
            .any(|text| text::bytes(text, range, encoding).is_ok())
    {
        state.problem(format!(
            "{range:?} is no place in any text of {uri} that was sent"
        ));
    }
}

fn notification(state: &mut State, method: &str, params: &Value) {
    let early = [
        "window/logMessage",
        "window/showMessage",
        "telemetry/event",
        "$/progress",
    ];
    if state.phase == Phase::Starting && !early.contains(&method) {
        state.problem(format!("{method} before `initialize` was answered"));
    }
    match method {
        "$/progress" => {
            if let Err(problem) = state.progress.report(params) {
                state.problem(problem);
            }
        }
        "copydesk/event" => event(state, params),
        "textDocument/publishDiagnostics" => {
            let uri = params["uri"].as_str().unwrap_or_default().to_owned();
            for item in params["diagnostics"]
                .as_array()
                .cloned()
                .unwrap_or_default()
            {
                placed(state, &uri, &item["range"]);
            }
        }
        "window/showMessage" | "window/logMessage" => {
            if params["message"]
                .as_str()
                .is_none_or(|text| text.trim().is_empty())
            {
                state.problem(format!("{method} says nothing: {params}"));
            }
        }
        "telemetry/event" | "$/logTrace" | "$/cancelRequest" => {}
        _ => state.problem(format!("a notification that no editor knows: {method}")),
    }
}

fn event(state: &mut State, params: &Value) {
    if let Err(problem) = state.events.push(params) {
        state.problem(problem);
    }
    if params["type"] == "edit" {
        let uri = params["uri"].as_str().unwrap_or_default();
        let encoding = state.encoding;
        let fits = state
            .documents
            .get(uri)
            .is_none_or(|document| events::hunks_fit(&params["hunks"], document.known(), encoding));
        if !fits {
            state.problem(format!("hunks that are in no text of the buffer: {params}"));
        }
    }
}

fn request(state: &mut State, method: &str, id: &Value, params: &Value) {
    if !(id.is_i64() || id.is_u64() || id.is_string()) || state.owed.contains(id) {
        state.problem(format!("{method} with an id that is in use or no id: {id}"));
    }
    state.owed.push(id.clone());
    let starting = state.phase == Phase::Starting && method != "window/showMessageRequest";
    if starting || state.phase == Phase::Ending {
        state.problem(format!("{method} outside `initialize` and `shutdown`"));
    }
    match state
        .canned
        .get_mut(method)
        .and_then(std::collections::VecDeque::pop_front)
    {
        Some(Canned::Result(result)) => return state.reply(id, Ok(result)),
        Some(Canned::Error(code, message)) => return state.reply(id, Err((code, message))),
        Some(Canned::Hold) => return,
        None => {}
    }
    if method == "workspace/applyEdit" {
        return apply::apply_edit(state, id, params);
    }
    let answer = answer(state, method, params);
    state.reply(id, answer);
}

fn answer(state: &mut State, method: &str, params: &Value) -> Result<Value, (i64, String)> {
    let unknown = Err((-32601, format!("Unhandled method {method}")));
    let known = match method {
        "window/showMessageRequest" => return shown(state, params),
        "workspace/configuration" => state.can("/workspace/configuration"),
        "workspace/workspaceFolders" => state.can("/workspace/workspaceFolders"),
        "window/showDocument" => state.can("/window/showDocument/support"),
        "window/workDoneProgress/create" => state.can("/window/workDoneProgress"),
        "workspace/codeLens/refresh" => state.can("/workspace/codeLens/refreshSupport"),
        "client/registerCapability" | "client/unregisterCapability" => true,
        _ => state.requests_served.iter().any(|served| served == method),
    };
    if !known {
        state.problem(format!("{method} to a client that did not say it knows it"));
        return unknown;
    }
    match method {
        "workspace/configuration" => {
            let items = params["items"].as_array().cloned().unwrap_or_default();
            Ok(items
                .iter()
                .map(|item| section(&state.settings, &item["section"]))
                .collect())
        }
        "workspace/workspaceFolders" => Ok(json!(state.folders)),
        "window/showDocument" => Ok(json!({"success": true})),
        "window/workDoneProgress/create" => {
            if let Err(problem) = state.progress.create(&params["token"]) {
                state.problem(problem);
            }
            Ok(Value::Null)
        }
        "client/registerCapability" => {
            register(state, params);
            Ok(Value::Null)
        }
        "client/unregisterCapability" => {
            for item in params["unregisterations"]
                .as_array()
                .cloned()
                .unwrap_or_default()
            {
                let id = item["id"].as_str().unwrap_or_default();
                if state.registrations.remove(id).is_none() {
                    state.problem(format!("unregisters what was not registered: {item}"));
                }
            }
            Ok(Value::Null)
        }
        _ => Ok(Value::Null),
    }
}

/// The user sees the question and closes it; an editor that has none says so.
fn shown(state: &mut State, params: &Value) -> Result<Value, (i64, String)> {
    if params["message"].as_str().is_none_or(str::is_empty) {
        state.problem(format!("a question without text: {params}"));
    }
    if state.ways.shows_message_requests {
        Ok(Value::Null)
    } else {
        Err((
            -32601,
            "Unhandled method window/showMessageRequest".to_owned(),
        ))
    }
}

/// Books what the server registers, if the client offered to take it.
fn register(state: &mut State, params: &Value) {
    for item in params["registrations"]
        .as_array()
        .cloned()
        .unwrap_or_default()
    {
        let method = item["method"].as_str().unwrap_or_default();
        let (room, name) = method.split_once('/').unwrap_or_default();
        let pointer = format!("/{room}/{name}/dynamicRegistration");
        if !state.can(&pointer) {
            state.problem(format!(
                "registers {method}, for which there is no {pointer}"
            ));
        }
        let id = item["id"].as_str().unwrap_or_default().to_owned();
        if state.registrations.insert(id, item.clone()).is_some() {
            state.problem(format!("registers an id twice: {item}"));
        }
    }
}

/// The settings of a section (`a.b` goes down), null if there are none.
fn section(settings: &Value, name: &Value) -> Value {
    let path = name.as_str().unwrap_or_default();
    let down = |value: Value, key: &str| value.get(key).cloned().unwrap_or(Value::Null);
    path.split('.')
        .filter(|key| !key.is_empty())
        .fold(settings.clone(), down)
}
