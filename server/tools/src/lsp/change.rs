//! What a server would change, made by our own hands: all files or none, and no file that the model could not change by
//! itself.

use std::fmt::Write as _;

use langserver::{FileChange, Location, Symbol, SymbolKind};
use workspace::{Applied, DocumentUri, Edit, Snapshot, Step, StepError, Together};

use super::{
    Call, Spot, Unanswered, at, count, identifier, language, line_of, line_text,
    outlines::is_member,
};
use crate::{
    context::Context,
    edit,
    tool::{Output, ToolError},
};

/// Up to so many changed lines are shown; beyond, they are counted.
const SHOWN: usize = 12;
/// How many files are named.
const FILES: usize = 40;

pub async fn rename(call: &Call<'_>, spot: &Spot, name: &str) -> Result<Output, Unanswered> {
    let cx = call.cx;
    let old = spot.described(cx);
    if let Some(reason) = unfit(call, spot, name).await {
        let message = format!("`{name}` {reason}: nothing was changed");
        return Err(ToolError::Input(message).into());
    }
    let answer = cx
        .pool
        .rename(&spot.snapshot, spot.at, name, &cx.cancel)
        .await?;
    if !answer.complete {
        return Err(ToolError::Failed(format!(
            "{} is still indexing, so it would miss places: nothing was changed. Ask again in a moment",
            answer.server
        ))
        .into());
    }
    if answer.value.is_empty() {
        return Err(ToolError::Failed(format!(
            "{} has nothing to rename at {old}: nothing was changed",
            answer.server
        ))
        .into());
    }
    let taken = taken(call, spot, name).await;
    let together = make(
        &format!("renaming {old} to `{name}`"),
        answer.value,
        &call.file.snapshot.uri,
        cx,
    )
    .await?;
    let mut output = report(&format!("Renamed {old} to `{name}`"), together, cx);
    if let Some(caution) = answer.caution {
        output.text.truncate(output.text.trim_end().len());
        let _ = write!(output.text, "\n[{}]", caution.words);
    }
    if let Some(place) = taken {
        output.text.truncate(output.text.trim_end().len());
        let _ = write!(
            output.text,
            "\n[`{name}` was declared there already: {place}]"
        );
    }
    Ok(output)
}

/// Why a new name is none, where a server might write it down all the same.
async fn unfit(call: &Call<'_>, spot: &Spot, name: &str) -> Option<&'static str> {
    let Spot { snapshot, at, .. } = spot;
    let old = at::word_range(snapshot, *at)?;
    let text = &snapshot.text;
    // Paths, and members in quotes, are none either.
    let is_quoted = |c: char| matches!(c, '"' | '\'' | '`' | '-' | '/');
    let (before, after) = at::beside(snapshot, old);
    if before.is_some_and(is_quoted) || after.is_some_and(is_quoted) {
        return None;
    }
    let language = language(snapshot)?;
    let by_dot = matches!(before, Some('.' | '#'));
    identifier::unfit(&text.slice(old), language, false)
        .is_none()
        .then_some(())?;
    if by_dot {
        return identifier::unfit(name, language, true);
    }
    let reason = identifier::unfit(name, language, false)?;
    // A member where it is declared.
    let outline = call.outlines.soon(snapshot).await;
    let declared = outline
        .as_ref()
        .and_then(|outline| outline.declared_at(old));
    let is_member = declared.is_some_and(|one| one.selection == old && is_member(one.kind));
    match is_member {
        true => identifier::unfit(name, language, true),
        false => Some(reason),
    }
}

/// Where something of the new name and the same kind is declared beside what is renamed.
async fn taken(call: &Call<'_>, spot: &Spot, name: &str) -> Option<String> {
    let cx = call.cx;
    let found = cx.pool.definition(&spot.snapshot, spot.at, &cx.cancel);
    let found = found.await.ok()?;
    let Location { snapshot, range } = found.value.first()?;
    let outline = call.outlines.soon(snapshot).await?;
    let old = outline.declared_at(*range)?;
    let names = |symbols: Vec<&Symbol>| -> Vec<String> {
        symbols.into_iter().map(|one| one.name.clone()).collect()
    };
    let around = names(outline.around(old.selection));
    let is_beside = |(container, other): &(Vec<&str>, &Symbol)| {
        *container == around && kin(other.kind) == kin(old.kind) && other.selection != old.selection
    };
    let (_, other) = outline.named(name).into_iter().find(is_beside)?;
    let line = line_of(snapshot, other.selection.start);
    Some(format!("{}:{line}", cx.shown(&snapshot.uri)))
}

/// What takes names from each other: types, values, and whatever else there is, each kind for itself.
fn kin(kind: SymbolKind) -> u8 {
    match kind.0 {
        5 | 10 | 11 | 23 => 5,
        6..=8 | 12..=14 => 12,
        other => other,
    }
}

/// Makes the changes: all of them, or none. `asked` is the document that the call named, and was judged.
pub async fn make(
    what: &str,
    changes: Vec<FileChange>,
    asked: &DocumentUri,
    cx: &Context,
) -> Result<Together, ToolError> {
    let refused =
        |reason: String| ToolError::Failed(format!("{what}: {reason}; nothing was changed"));
    let mut steps = Vec::with_capacity(changes.len());
    for change in changes {
        for uri in change.touched() {
            cx.may_change(uri, asked).map_err(refused)?;
        }
        steps.push(match change {
            FileChange::Edit(file) => {
                let snapshot = Snapshot {
                    uri: file.uri,
                    ..file.snapshot
                };
                let edit = Edit::new(snapshot, file.edits);
                Step::Edit(edit.map_err(|error| refused(error.to_string()))?)
            }
            FileChange::File(step) => Step::File(step),
        });
    }
    let made = cx.workspace.apply_all(steps, &cx.label, &cx.cancel).await;
    let together = made.map_err(|error| match error.cause {
        StepError::Apply(workspace::ApplyError::Cancelled) if !error.begun => ToolError::Cancelled,
        _ => ToolError::Failed(format!("{what}: {error}")),
    })?;
    edit::told_of_all(&together, cx);
    Ok(together)
}

/// What was changed, in few words: the lines if they are few, else how many in which files.
pub fn report(what: &str, together: Together, cx: &Context) -> Output {
    let edited: Vec<&Applied> = together
        .applied
        .iter()
        .filter(|applied| !together.created.contains(&applied.after.uri))
        .collect();
    let changes: usize = edited.iter().map(|applied| applied.hunks.len()).sum();
    let mut text = what.to_owned();
    if together.is_empty() {
        text.push_str(": nothing had to be changed");
        return Output::text(text);
    }
    if changes > 0 {
        let files = count(edited.len(), "file");
        let _ = write!(text, ": {} in {files}", count(changes, "change"));
    }
    text.push('\n');
    for applied in edited.iter().take(FILES) {
        let after = &applied.after;
        let place = match after.is_buffer() {
            true => ", in the editor's buffer, not saved",
            false => "",
        };
        let _ = write!(text, "{}{place}", cx.shown(&after.uri));
        if changes > SHOWN {
            let _ = writeln!(text, ": {}", applied.hunks.len());
            continue;
        }
        text.push('\n');
        let mut last = 0;
        for hunk in &applied.hunks {
            let line = line_of(after, hunk.range.start);
            let end = line_of(after, hunk.range.end);
            for line in line.max(last + 1)..=end.min(line + 3) {
                let _ = writeln!(text, " {line} {}", line_text(after, line, 1));
                last = line;
            }
        }
    }
    if edited.len() > FILES {
        let _ = writeln!(text, "[and {} files more]", edited.len() - FILES);
    }
    for uri in &together.created {
        let _ = writeln!(text, "{} is new", cx.shown(uri));
    }
    for (from, to) in &together.renamed {
        let _ = writeln!(text, "{} is now {}", cx.shown(from), cx.shown(to));
    }
    for uri in &together.deleted {
        let _ = writeln!(text, "{} is gone", cx.shown(uri));
    }
    Output {
        text,
        truncated: edited.len() > FILES,
        applied: together.applied,
        before: together.before,
    }
}
