//! `lsp`: what a language server knows, in few words. Each answer says how far it can be trusted; nothing found, not
//! supported and no server are three different answers. Never answers from a guess.

mod actions;
mod at;
mod change;
mod diagnostics;
mod format;
mod hover;
mod identifier;
mod left_out;
mod listing;
mod meaning;
mod names;
mod outline;
mod outlines;
mod places;
mod rust_text;
mod tests_apart;
mod tree;
mod unseen;
mod wanted;

use std::{borrow::Cow, time::Duration};

use langserver::{Answer, Caution, Location, Places, QueryError, as_one_call, catalogue};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};
use workspace::{ByteOffset, ByteRange, Encoding, Snapshot};

use self::{
    at::{Aim, Spot},
    outlines::Outlines,
};
use crate::{
    context::Context,
    tool::{Output, ToolError, Typed},
};

pub struct Lsp;

/// How long an answer about diagnostics may take, a cold start included.
const DEADLINE: Duration = Duration::from_secs(30);

#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub enum Operation {
    GoToDefinition,
    FindReferences,
    Hover,
    DocumentSymbol,
    WorkspaceSymbol,
    GoToImplementation,
    GoToTypeDefinition,
    PrepareCallHierarchy,
    IncomingCalls,
    OutgoingCalls,
    Supertypes,
    Subtypes,
    Diagnostics,
    CodeActions,
    ApplyCodeAction,
    Rename,
    Format,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Input {
    operation: Operation,
    /// Absolute, or from the workspace root.
    file_path: String,
    /// From 1.
    #[serde(default)]
    #[schemars(range(min = 1))]
    line: Option<u32>,
    /// From 1; if left out, what the line declares, else its first word.
    #[serde(default)]
    #[schemars(range(min = 1))]
    character: Option<u32>,
    /// A name (`f`, `Type.f`) in place of a position; with `line`, where it stands nearest to it.
    #[serde(default)]
    symbol: Option<String>,
    /// workspaceSymbol: a name. Places: only paths with this part. Calls, types: how many levels (2). hover: `all` of a text that was cut.
    #[serde(default, deserialize_with = "text_or_number")]
    #[schemars(schema_with = "text_or_number_schema")]
    query: Option<String>,
    /// For rename.
    #[serde(default)]
    new_name: Option<String>,
    /// For applyCodeAction: a title that codeActions gave, or its beginning.
    #[serde(default)]
    action: Option<String>,
}

/// A number of levels is a number to some models, and a text to others.
fn text_or_number<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Given {
        Text(String),
        Number(i64),
    }
    let given = Option::<Given>::deserialize(from)?;
    Ok(given.map(|given| match given {
        Given::Text(text) => text,
        Given::Number(number) => number.to_string(),
    }))
}

fn text_or_number_schema(_: &mut SchemaGenerator) -> Schema {
    // Not a list of types: some providers take only one.
    json_schema!({"anyOf": [{"type": "string"}, {"type": "integer"}]})
}

impl Operation {
    fn changes(self) -> bool {
        matches!(self, Self::ApplyCodeAction | Self::Rename | Self::Format)
    }

    /// As a call names it.
    fn name(self) -> String {
        let name = serde_json::to_value(self).unwrap_or_default();
        name.as_str().unwrap_or_default().to_owned()
    }

    /// What a person reads before the place.
    fn title(self) -> &'static str {
        match self {
            Self::GoToDefinition => "Looking up the definition of",
            Self::FindReferences => "Finding references of",
            Self::Hover => "Looking at",
            Self::DocumentSymbol => "Outlining",
            Self::WorkspaceSymbol => "Finding symbols named",
            Self::GoToImplementation => "Finding implementations of",
            Self::GoToTypeDefinition => "Looking up the type of",
            Self::PrepareCallHierarchy => "Looking up the function",
            Self::IncomingCalls => "Finding callers of",
            Self::OutgoingCalls => "Finding what is called by",
            Self::Supertypes => "Finding supertypes of",
            Self::Subtypes => "Finding subtypes of",
            Self::Diagnostics => "Checking",
            Self::CodeActions => "Asking for code actions at",
            Self::ApplyCodeAction => "Applying a code action at",
            Self::Rename => "Renaming",
            Self::Format => "Formatting",
        }
    }

    /// What else would answer, where a server does not know how.
    fn instead(self) -> &'static str {
        match self {
            Self::GoToTypeDefinition => "`hover` tells the type",
            Self::PrepareCallHierarchy | Self::IncomingCalls => {
                "`findReferences` finds the callers too"
            }
            Self::OutgoingCalls => "`read` the function",
            Self::Supertypes | Self::Subtypes | Self::GoToImplementation => {
                "try `findReferences`, or `grep` for the name"
            }
            Self::Rename => "use `findReferences` and `edit`",
            Self::Format | Self::CodeActions | Self::ApplyCodeAction => "use `edit`",
            Self::Diagnostics => "run the project's own checks",
            Self::DocumentSymbol => "`read` the file",
            _ => "use `grep` and `read`",
        }
    }

    /// The method that a hierarchy is read by.
    fn hierarchy(self) -> Option<tree::Way> {
        Some(match self {
            Self::IncomingCalls => tree::Way::Incoming,
            Self::OutgoingCalls => tree::Way::Outgoing,
            Self::Supertypes => tree::Way::Super,
            Self::Subtypes => tree::Way::Sub,
            Self::PrepareCallHierarchy => tree::Way::Itself,
            _ => return None,
        })
    }
}

impl Typed for Lsp {
    type Input = Input;
    const NAME: &'static str = "lsp";
    const DESCRIPTION: &'static str = include_str!("lsp.md");
    const IN_SHORT: Option<&'static str> = Some(
        "Asks the language server: what a `symbol` is in a file, where it is defined and used, or which problems a file has.",
    );

    fn changes(input: &Input) -> bool {
        input.operation.changes()
    }

    fn paths(input: &Input) -> Vec<String> {
        vec![input.file_path.clone()]
    }

    fn title(input: &Input, cx: &Context) -> String {
        let shown = cx.shown_path(&input.file_path);
        let what = input.operation.title();
        match (input.operation, &input.action, &input.symbol) {
            (Operation::ApplyCodeAction, Some(action), _) => format!("Applying \"{action}\""),
            (Operation::WorkspaceSymbol, ..) => {
                format!("{what} {}", input.wanted_name().unwrap_or_default())
            }
            (_, _, Some(symbol)) => {
                let new = input.new_name.as_ref();
                let new = new.map_or_else(String::new, |new| format!(" to {new}"));
                format!("{what} {symbol} in {shown}{new}")
            }
            _ => match input.line {
                Some(line) => format!("{what} {shown}:{line}"),
                None => format!("{what} {shown}"),
            },
        }
    }

    async fn run(input: Input, cx: &Context) -> Result<Output, ToolError> {
        let uri = cx.document(&input.file_path)?;
        // The name under which it is open may be another: by that the servers know its text.
        let file = File {
            snapshot: cx.read(&uri)?,
            shown: cx.shown(&uri),
        };
        let outlines = Outlines::new(cx);
        let call = Call {
            input: &input,
            file: &file,
            outlines: &outlines,
            cx,
        };
        // It asks several questions in a row, and is waited for as long as one of them may be.
        match as_one_call(call.answer()).await {
            Ok(mut output) => {
                output.text.truncate(output.text.trim_end().len());
                Ok(output)
            }
            Err(Unanswered::Tool(error)) => Err(error),
            Err(Unanswered::Server(error)) => {
                let instead = call.instead(&error).await;
                Err(advised(&error, input.operation, &instead))
            }
        }
    }
}

impl Input {
    /// The part of a path that places are to have.
    fn part(&self) -> Option<&str> {
        let part = self.query.as_deref().map(str::trim);
        part.filter(|part| !part.is_empty())
    }

    fn wanted_name(&self) -> Option<&str> {
        let name = self.query.as_deref().or(self.symbol.as_deref());
        name.map(str::trim).filter(|name| !name.is_empty())
    }
}

impl Output {
    /// Says one thing more.
    fn add(&mut self, note: Option<String>) {
        let Some(note) = note else { return };
        self.text.truncate(self.text.trim_end().len());
        self.text.push('\n');
        self.text.push_str(&note);
    }
}

/// The document that a call names.
pub struct File {
    snapshot: Snapshot,
    shown: String,
}

/// One call, and what it is answered with.
struct Call<'a> {
    input: &'a Input,
    file: &'a File,
    outlines: &'a Outlines<'a>,
    cx: &'a Context,
}

impl Call<'_> {
    async fn answer(&self) -> Result<Output, Unanswered> {
        let (input, cx) = (self.input, self.cx);
        match input.operation {
            Operation::Diagnostics => return Ok(diagnostics::all(self.file, cx).await?),
            Operation::DocumentSymbol => return outline::document(self).await,
            Operation::WorkspaceSymbol => return outline::workspace(self).await,
            Operation::Format => return format::format(self).await,
            _ => {}
        }
        let spot = match at::aim(self).await? {
            Aim::At(spot) => spot,
            Aim::Several(output) if input.operation.changes() => {
                return Err(ToolError::Failed(output.text).into());
            }
            Aim::Several(output) => return Ok(output),
        };
        let mut output = self.about(&spot).await?;
        // What was changed was taken for one thing by the server.
        if !input.operation.changes() {
            output.add(spot.note(cx));
        }
        Ok(output)
    }

    /// What is asked about a place.
    async fn about(&self, spot: &Spot) -> Result<Output, Unanswered> {
        let input = self.input;
        if let Some(way) = input.operation.hierarchy() {
            return tree::tree(self, spot, way).await;
        }
        match input.operation {
            Operation::GoToDefinition => {
                let answer = self.places(spot, Places::Definitions).await?;
                Ok(places::declarations(self, spot, "definition", &answer).await)
            }
            Operation::GoToTypeDefinition => {
                let answer = self.places(spot, Places::TypeDefinitions).await?;
                Ok(places::declarations(self, spot, "type definition", &answer).await)
            }
            Operation::GoToImplementation => {
                let answer = self.places(spot, Places::Implementations).await?;
                Ok(places::uses(self, spot, "implementation", &answer).await)
            }
            Operation::FindReferences => {
                let answer = self.places(spot, Places::Uses).await?;
                let mut output = places::uses(self, spot, "reference", &answer).await;
                if answer.complete && input.part().is_none() {
                    let lines = unseen::lines_of(&answer.value);
                    let note = unseen::note(self, spot, &lines, &answer.server).await;
                    output.add(note);
                }
                Ok(output)
            }
            Operation::CodeActions => Ok(actions::list(self, spot).await?),
            Operation::ApplyCodeAction => {
                let title = needed(input.action.as_deref(), "applyCodeAction", "action")?;
                Ok(actions::apply(self, spot, title).await?)
            }
            Operation::Rename => {
                let name = needed(input.new_name.as_deref(), "rename", "newName")?;
                if name.contains(char::is_control) {
                    let message = "newName is one name, on one line";
                    return Err(ToolError::Input(message.into()).into());
                }
                change::rename(self, spot, name).await
            }
            // Hover, and what has been answered above.
            _ => hover::hover(self, spot).await,
        }
    }

    async fn places(&self, spot: &Spot, what: Places) -> Result<Answer<Vec<Location>>, QueryError> {
        let (pool, part) = (&self.cx.pool, self.input.part());
        let text = &spot.snapshot;
        pool.places(text, spot.at, what, part, &self.cx.cancel)
            .await
    }

    /// What else would answer, where this server can't.
    async fn instead(&self, error: &QueryError) -> Cow<'static, str> {
        const IMPLEMENTATION: &str = "textDocument/implementation";
        let operation = self.input.operation;
        let is_of_types = matches!(operation, Operation::Supertypes | Operation::Subtypes);
        if is_of_types && matches!(error, QueryError::NotSupported { .. }) {
            let (pool, cancel) = (&self.cx.pool, &self.cx.cancel);
            let uri = &self.file.snapshot.uri;
            if let Ok(true) = pool.supports(uri, IMPLEMENTATION, cancel).await {
                return match operation {
                    Operation::Subtypes => "`goToImplementation` finds them".into(),
                    _ => "its declaration (`goToDefinition`) names them; in Rust and Go `goToImplementation` finds what a type implements".into(),
                };
            }
        }
        operation.instead().into()
    }
}

fn needed<'a>(given: Option<&'a str>, operation: &str, what: &str) -> Result<&'a str, ToolError> {
    given
        .map(str::trim)
        .filter(|given| !given.is_empty())
        .ok_or_else(|| ToolError::Input(format!("{operation} needs `{what}`")))
}

/// Why there is no answer: ours, or a server's.
#[derive(Debug)]
enum Unanswered {
    Tool(ToolError),
    Server(QueryError),
}

impl From<ToolError> for Unanswered {
    fn from(error: ToolError) -> Self {
        Self::Tool(error)
    }
}

impl From<QueryError> for Unanswered {
    fn from(error: QueryError) -> Self {
        Self::Server(error)
    }
}

/// What the model is told when a server can't answer, and what to do instead.
fn advised(error: &QueryError, operation: Operation, instead: &str) -> ToolError {
    let text = match error {
        QueryError::Cancelled => return ToolError::Cancelled,
        QueryError::TimedOut {
            name,
            method,
            waited,
            silent,
        } => {
            // What ran out may have been a step towards what the model has asked for.
            let asked_for = QueryError::TimedOut {
                name: name.clone(),
                method: format!("`{}`", operation.name()),
                waited: *waited,
                silent: *silent,
            };
            format!(
                "{asked_for} (it was asked {method}). Ask again later, or {instead}. If that does not change it hangs: \
                 `copydesk doctor --start` tells whether it starts, and in an editor the command \
                 `copydesk.restartLanguageServer` starts it anew"
            )
        }
        QueryError::NotReady { .. } => format!("{error}, or {instead} meanwhile"),
        QueryError::NotInstalled { .. } | QueryError::Unusable { .. } => {
            format!("{error}. Until then: {instead}")
        }
        QueryError::NotSupported { .. }
        | QueryError::NoServer { .. }
        | QueryError::Disabled { .. } => format!("{error}: {instead}"),
        QueryError::Overtaken { .. } => error.to_string(),
        QueryError::Died { .. } => format!("{error}. Ask again, or {instead}"),
        QueryError::Unreadable(_) | QueryError::Hidden { .. } | QueryError::Failed { .. } => {
            error.to_string()
        }
    };
    ToolError::Failed(text)
}

/// How far an answer can be trusted.
fn trust<T>(answer: &Answer<T>) -> String {
    trust_of(answer.complete, answer.from_disk, answer.caution.as_ref())
}

/// The same of an answer that is not one of a server's alone.
fn trust_of(complete: bool, from_disk: bool, caution: Option<&Caution>) -> String {
    const STALE: &str = "may be stale: it reads other files from disk, and not all are saved";
    const EARLY: &str = "still indexing: may be incomplete";
    match (from_disk, complete, caution) {
        (true, _, None) => STALE.to_owned(),
        (true, _, Some(caution)) => format!("{STALE}; {}", caution.words),
        (false, true, None) => "ready".to_owned(),
        (false, true, Some(caution)) => caution.words.clone(),
        (false, false, Some(caution)) if caution.is_partial => {
            format!("may be incomplete: {}", caution.words)
        }
        (false, false, None) => EARLY.to_owned(),
        (false, false, Some(caution)) => format!("{EARLY}; {}", caution.words),
    }
}

/// Line and column, from 1.
fn position(snapshot: &Snapshot, at: ByteOffset) -> (u32, u32) {
    let position = snapshot.text.position(at, Encoding::Utf32);
    (position.line + 1, position.character + 1)
}

/// The line (from 1) in which an offset is.
fn line_of(snapshot: &Snapshot, at: ByteOffset) -> u32 {
    position(snapshot, at).0
}

/// A line (from 1) as it is shown: without indentation, and short. `at` (from 1) is what must be seen of it.
fn line_text(snapshot: &Snapshot, line: u32, at: u32) -> String {
    const MOST: usize = 140;
    const BEFORE: usize = 60;
    let whole = snapshot
        .text
        .line(line.saturating_sub(1) as usize)
        .unwrap_or_default();
    let trimmed = whole.trim();
    if trimmed.chars().count() <= MOST {
        return trimmed.to_owned();
    }
    let indent = whole.chars().take_while(|c| c.is_whitespace()).count();
    let at = (at as usize).saturating_sub(1).saturating_sub(indent);
    let start = match at < MOST - BEFORE {
        true => 0,
        false => at - BEFORE,
    };
    let part: String = trimmed.chars().skip(start).take(MOST).collect();
    let before = if start > 0 { "…" } else { "" };
    format!("{before}{part}…")
}

/// What a document is written in.
fn language(snapshot: &Snapshot) -> Option<&str> {
    let by_name = || catalogue::language_of(snapshot.uri.path()?);
    snapshot.language.as_deref().or_else(by_name)
}

/// `1 reference`, `2 references`.
fn count(number: usize, what: &str) -> String {
    let ending = match (number, what) {
        (1, _) => "",
        _ => "s",
    };
    format!("{number} {what}{ending}")
}

fn covers(outer: ByteRange, inner: ByteRange) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

impl Spot {
    /// `path:line:character`.
    fn name(&self, cx: &Context) -> String {
        let (line, character) = position(&self.snapshot, self.at);
        format!("{}:{line}:{character}", cx.shown(&self.snapshot.uri))
    }

    /// What stands there, and where: for an answer that has nothing else to say.
    fn described(&self, cx: &Context) -> String {
        match at::word_at(&self.snapshot, self.at) {
            Some(word) => format!("`{word}` ({})", self.name(cx)),
            None => format!("what stands at {}", self.name(cx)),
        }
    }
}
