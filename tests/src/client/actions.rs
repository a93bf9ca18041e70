//! Code actions and commands, asked for and carried out as an editor does: the diagnostics that this client would pass,
//! a lazy action resolved before its command is run. It never picks an action itself.

use serde_json::{Value, json};

use super::editor::Editor;
use super::text::Range;
use super::waits::RpcError;

/// What a code-action request holds beside the range.
#[derive(Clone, Copy, Debug, Default)]
pub struct Asking<'a> {
    /// Kinds to answer; all if `None`.
    pub only: Option<&'a [&'a str]>,
    /// 1 invoked, 2 automatic; left out if `None`.
    pub trigger: Option<u8>,
    /// The diagnostics that the editor shows there. Clients that pass a server only its own leave them out.
    pub diagnostics: &'a [Value],
}

impl Editor {
    /// The code actions there.
    pub async fn code_actions(&self, uri: &str, range: Range, asking: Asking<'_>) -> Vec<Value> {
        let id = self.start_code_actions(uri, range, asking);
        let answer = self.answer(id).await.expect("code actions are answered");
        answer.as_array().cloned().unwrap_or_default()
    }

    /// Asks for them; [`Editor::answer`] has what comes back.
    pub fn start_code_actions(&self, uri: &str, range: Range, asking: Asking<'_>) -> i64 {
        self.shared.with(|state| {
            let own = state.ways.own_diagnostics_only;
            let of_server = |d: &&Value| !own || d["source"] == "copydesk";
            let diagnostics = asking
                .diagnostics
                .iter()
                .filter(of_server)
                .collect::<Vec<_>>();
            let mut context = json!({"diagnostics": diagnostics});
            if let Some(only) = asking.only {
                context["only"] = json!(only);
            }
            if let Some(trigger) = asking.trigger {
                context["triggerKind"] = json!(trigger);
            }
            let document = json!({"uri": uri});
            let params = json!({"textDocument": document, "range": range, "context": context});
            state.request("textDocument/codeAction", params)
        })
    }

    /// The user picks an action: it is resolved if the editor does that, then its command is run. The command's answer.
    pub async fn choose(&self, action: &Value) -> Result<Value, RpcError> {
        let mut action = action.clone();
        if action["command"].is_string() {
            return self.run(&action).await;
        }
        let resolves = {
            let state = self.shared.look();
            state
                .capability("/textDocument/codeAction/resolveSupport")
                .is_some()
                && state.server["capabilities"]["codeActionProvider"]["resolveProvider"] == true
        };
        // Some editors resolve whatever has no edit, with `data` or without.
        if resolves && action["edit"].is_null() {
            action = self.request("codeAction/resolve", action).await?;
        }
        assert!(
            action["edit"].is_null(),
            "an edit in an action, which this client does not play"
        );
        self.run(&action["command"]).await
    }

    async fn run(&self, command: &Value) -> Result<Value, RpcError> {
        let mut params = json!({"command": command["command"]});
        if !command["arguments"].is_null() {
            params["arguments"] = command["arguments"].clone();
        }
        self.request("workspace/executeCommand", params).await
    }

    /// Runs a command with that object as its only argument.
    pub async fn execute(&self, command: &str, argument: Value) -> Value {
        let answer = self.try_execute(command, argument).await;
        answer.unwrap_or_else(|error| panic!("{command}: {error:?}"))
    }

    /// The same, with the server's error for the test to judge.
    pub async fn try_execute(&self, command: &str, argument: Value) -> Result<Value, RpcError> {
        let params = json!({"command": command, "arguments": [argument]});
        self.request("workspace/executeCommand", params).await
    }
}

/// The action with that title.
pub fn titled<'a>(actions: &'a [Value], title: &str) -> &'a Value {
    let titles = || {
        actions
            .iter()
            .map(|action| action["title"].to_string())
            .collect::<Vec<_>>()
    };
    let found = actions
        .iter()
        .find(|action| action["title"].as_str() == Some(title));
    found.unwrap_or_else(|| panic!("no action {title:?} among {:?}", titles()))
}
