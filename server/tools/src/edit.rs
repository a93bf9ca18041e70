//! `edit`: replaces one exact and unique piece of text. Anything else is refused with what would
//! help: the nearest lines, or where the several matches are.

use schemars::JsonSchema;
use serde::Deserialize;
use workspace::{
    Applied, ApplyError, ByteRange, DocumentUri, Encoding, ReadError, Replacement, Snapshot,
    Together,
};

use crate::{
    context::Context,
    diff,
    tool::{Output, ToolError, Typed},
    write,
};

pub struct Edit;

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Input {
    /// Absolute, or from the workspace root.
    file_path: String,
    /// The text to replace, exactly as it stands, without line numbers. Empty only to create a file.
    old_string: String,
    /// What takes its place.
    new_string: String,
    /// Replace every occurrence.
    #[serde(default)]
    replace_all: Option<bool>,
}

impl Typed for Edit {
    type Input = Input;
    const NAME: &'static str = "edit";
    const DESCRIPTION: &'static str = include_str!("edit.md");
    const IN_SHORT: Option<&'static str> = Some(
        "Replaces `oldString`, which must stand in the file exactly once (without line numbers), by `newString`.",
    );
    const ALWAYS_CHANGES: bool = true;

    fn paths(input: &Input) -> Vec<String> {
        vec![input.file_path.clone()]
    }

    fn title(input: &Input, cx: &Context) -> String {
        format!("Editing {}", cx.shown_path(&input.file_path))
    }

    async fn run(input: Input, cx: &Context) -> Result<Output, ToolError> {
        let uri = cx.document(&input.file_path)?;
        if input.old_string == input.new_string {
            return Err(ToolError::Input(
                "oldString and newString are the same: nothing would change".into(),
            ));
        }
        if input.old_string.is_empty() {
            return create(&uri, &input.new_string, cx).await;
        }
        let snapshot = cx.read(&uri)?;
        let replacements = locate(&snapshot, &input, &cx.shown(&uri))?;
        let edit = workspace::Edit::new(snapshot, replacements)
            .map_err(|error| ToolError::Failed(error.to_string()))?;
        apply(edit, cx).await
    }
}

async fn create(uri: &DocumentUri, content: &str, cx: &Context) -> Result<Output, ToolError> {
    match cx.workspace.read(uri) {
        Err(ReadError::NotFound { .. }) => write::create(uri, content, cx).await,
        Ok(snapshot) if snapshot.text.is_empty() => write::replace(snapshot, content, cx).await,
        Ok(_) => Err(ToolError::Input(format!(
            "{} exists: an empty oldString only creates files. Give the text to replace, or use `write` to replace the whole file",
            cx.shown(uri)
        ))),
        Err(error) => Err(ToolError::Failed(error.to_string())),
    }
}

/// Hands an edit over and says what came of it.
pub async fn apply(edit: workspace::Edit, cx: &Context) -> Result<Output, ToolError> {
    let applied = cx
        .workspace
        .apply(edit, &cx.label, &cx.cancel)
        .await
        .map_err(refused)?;
    told(&applied, cx);
    let shown = cx.shown(&applied.after.uri);
    let place = if applied.after.is_buffer() {
        "in the editor's buffer, not saved"
    } else {
        "on disk"
    };
    let changes = match applied.hunks.len() {
        1 => "1 change".to_owned(),
        many => format!("{many} changes"),
    };
    Ok(Output {
        text: format!("{changes} in {shown} ({place}):\n{}", diff::shown(&applied)),
        truncated: false,
        applied: vec![applied],
        ..Output::default()
    })
}

/// Language servers hear of what was changed on disk; of buffers they hear anyway.
pub fn told(applied: &Applied, cx: &Context) {
    cx.own.note(applied);
    if !applied.after.is_buffer() {
        cx.pool
            .disk_changed(std::slice::from_ref(&applied.after.uri));
    }
}

/// The same of a change of several files.
pub fn told_of_all(together: &Together, cx: &Context) {
    for applied in &together.applied {
        if together.created.contains(&applied.after.uri) {
            cx.own.note(applied);
        } else {
            told(applied, cx);
        }
    }
    if !together.created.is_empty() {
        cx.pool.files_created(&together.created);
    }
    if !together.renamed.is_empty() {
        cx.pool.files_renamed(&together.renamed);
    }
    if !together.deleted.is_empty() {
        cx.pool.files_deleted(&together.deleted);
    }
}

/// Why an edit was not made; where the text moved on, with the text as it is now, so that the next
/// call can be right.
fn refused(error: ApplyError) -> ToolError {
    let text = error.to_string();
    match error {
        ApplyError::Cancelled => ToolError::Cancelled,
        ApplyError::Conflict { fresh, region, .. } => {
            let at = fresh.text.position(region.start, Encoding::Utf32).line as usize;
            let lines = diff::around(&fresh.text, at);
            ToolError::Failed(format!(
                "{text}; nothing was changed. It now reads:\n{lines}"
            ))
        }
        _ => ToolError::Failed(text),
    }
}

fn locate(snapshot: &Snapshot, input: &Input, shown: &str) -> Result<Vec<Replacement>, ToolError> {
    let whole = snapshot.text.to_string();
    let (mut old, mut new) = (input.old_string.clone(), input.new_string.clone());
    // `read` shows no line ends, so a model can't know of a file's: they are the file's to choose.
    if all_crlf(&whole) && !old.contains('\r') {
        old = old.replace('\n', "\r\n");
        new = new.replace("\r\n", "\n").replace('\n', "\r\n");
    }
    let found: Vec<usize> = whole.match_indices(&old).map(|(at, _)| at).collect();
    let all = input.replace_all.unwrap_or(false);
    match found.as_slice() {
        [] => Err(ToolError::Failed(missing(&whole, &old, shown))),
        [_] => Ok(()),
        _ if all => Ok(()),
        many => Err(ToolError::Failed(ambiguous(snapshot, many, shown))),
    }?;
    let replacement = |at: &usize| Replacement {
        range: ByteRange::new(*at, at + old.len()),
        text: new.clone(),
    };
    Ok(found.iter().map(replacement).collect())
}

fn all_crlf(text: &str) -> bool {
    let ends = text.matches('\n').count();
    ends > 0 && text.matches("\r\n").count() == ends
}

fn ambiguous(snapshot: &Snapshot, found: &[usize], shown: &str) -> String {
    const MOST: usize = 10;
    let line = |at: &usize| {
        let at = workspace::ByteOffset(*at);
        (snapshot.text.position(at, Encoding::Utf32).line + 1).to_string()
    };
    let mut lines: Vec<String> = found.iter().take(MOST).map(line).collect();
    if found.len() > MOST {
        lines.push("…".into());
    }
    format!(
        "oldString occurs {} times in {shown} (lines {}): add lines around it until it is unique, or set replaceAll",
        found.len(),
        lines.join(", ")
    )
}

/// Says what stands nearest to what was looked for.
fn missing(whole: &str, old: &str, shown: &str) -> String {
    const AROUND: usize = 3;
    let wanted: Vec<&str> = old.lines().collect();
    let lines: Vec<&str> = whole.lines().collect();
    let nearest = nearest(&lines, &wanted);
    let mut text = format!(
        "oldString was not found in {shown}. It must stand there exactly, white space included; nothing was changed."
    );
    if let Some(first) = nearest {
        text.push_str(" The nearest lines are:\n");
        let from = first.saturating_sub(1);
        let to = (first + wanted.len() + AROUND - 1).min(lines.len());
        for (number, line) in lines.iter().enumerate().take(to).skip(from) {
            let (line, _) = crate::truncate::line(line);
            text.push_str(&format!("{:>6}\t{line}\n", number + 1));
        }
    }
    text
}

/// Where most of the wanted lines' words stand together.
fn nearest(lines: &[&str], wanted: &[&str]) -> Option<usize> {
    const LONGEST: usize = 20_000;
    let key = wanted
        .iter()
        .copied()
        .max_by_key(|line| line.trim().len())?;
    let offset = wanted.iter().position(|line| *line == key)?;
    let words = |line: &str| -> Vec<String> {
        line.split(|c: char| !c.is_alphanumeric() && c != '_')
            .filter(|word| !word.is_empty())
            .map(str::to_lowercase)
            .collect()
    };
    let key = words(key);
    if key.is_empty() {
        return None;
    }
    let score = |line: &str| {
        let have = words(line);
        let common = key.iter().filter(|word| have.contains(word)).count();
        (common * 100) / (key.len().max(have.len()))
    };
    let (best, at) = lines
        .iter()
        .take(LONGEST)
        .enumerate()
        .map(|(number, line)| (score(line), number))
        .max_by_key(|(score, number)| (*score, std::cmp::Reverse(*number)))?;
    (best >= 40).then(|| at.saturating_sub(offset))
}
