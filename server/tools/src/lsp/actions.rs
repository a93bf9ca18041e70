//! Code actions: `codeActions` lists them, `applyCodeAction` makes one by our own edits, so that it
//! reaches the editor's buffers by the same way as any other.

use langserver::{Answer, CodeAction, Diagnosis, Diagnostic, FileChange};
use workspace::{ByteOffset, ByteRange, DocumentUri, Edit};

use super::{DEADLINE, Place, completeness, unanswered};
use crate::{
    context::Context,
    edit,
    tool::{Output, ToolError},
};

pub async fn list(at: &Place<'_>, offset: ByteOffset, cx: &Context) -> Result<Output, ToolError> {
    let answer = ask(at, offset, cx).await?;
    let note = completeness(answer.complete);
    let place = at.name(offset);
    if answer.value.is_empty() {
        return Ok(Output::text(format!(
            "{} has no code actions at {place}{note}",
            answer.server
        )));
    }
    let mut text = format!("Code actions of {} at {place}{note}:\n", answer.server);
    for action in &answer.value {
        text.push_str(&format!("- {}{}\n", action.title, tags(action)));
    }
    Ok(Output::text(text))
}

fn tags(action: &CodeAction) -> String {
    let preferred = action.preferred.then_some("preferred");
    let tags: Vec<&str> = action
        .kind
        .as_deref()
        .into_iter()
        .chain(preferred)
        .collect();
    if tags.is_empty() {
        String::new()
    } else {
        format!(" [{}]", tags.join(", "))
    }
}

pub async fn apply(
    at: &Place<'_>,
    offset: ByteOffset,
    title: &str,
    cx: &Context,
) -> Result<Output, ToolError> {
    let answer = ask(at, offset, cx).await?;
    let mut named = answer
        .value
        .iter()
        .filter(|action| action.title.trim() == title.trim());
    let Some(action) = named.next() else {
        let titles: Vec<String> = answer
            .value
            .iter()
            .map(|action| format!("\n- {}", action.title))
            .collect();
        let there = if titles.is_empty() {
            " There are none.".to_owned()
        } else {
            format!(" There are:{}", titles.concat())
        };
        return Err(ToolError::Failed(format!(
            "there is no code action \"{title}\" at {}.{there}",
            at.name(offset)
        )));
    };
    let files = cx
        .pool
        .resolve(action, &cx.cancel)
        .await
        .map_err(unanswered)?;
    if files.is_empty() {
        return Err(ToolError::Failed(format!(
            "\"{title}\" changes no text (it may only run a command of the server, which is not done)"
        )));
    }
    let mut edits = Vec::new();
    for file in files {
        let FileChange::Edit(file) = file else {
            return Err(ToolError::Failed(format!(
                "\"{title}\" would make, rename or delete files: nothing was changed"
            )));
        };
        let inside = file
            .uri
            .path()
            .is_none_or(|path| cx.workspace.contains(path));
        if !inside && &file.uri != at.uri {
            return Err(ToolError::Failed(format!(
                "\"{title}\" would change {}, which is outside the workspace: nothing was changed",
                cx.shown(&file.uri)
            )));
        }
        edits.push(
            Edit::new(file.snapshot, file.edits)
                .map_err(|error| ToolError::Failed(format!("\"{title}\": {error}")))?,
        );
    }
    let mut out = Output::text(format!("Applied \"{title}\": "));
    for edit in edits {
        match edit::apply(edit, cx).await {
            Ok(one) => {
                out.text.push_str(&one.text);
                out.applied.extend(one.applied);
            }
            Err(error) if out.applied.is_empty() => return Err(error),
            // Some files are changed: the model must know, and events must tell of them.
            Err(error) => out.text.push_str(&format!("\nNOT DONE IN FULL: {error}")),
        }
    }
    Ok(out)
}

/// The actions at a place, with the problems there as their context, fixes first.
async fn ask(
    at: &Place<'_>,
    offset: ByteOffset,
    cx: &Context,
) -> Result<Answer<Vec<CodeAction>>, ToolError> {
    let problems = match cx.pool.diagnostics(at.uri, DEADLINE, &cx.cancel).await {
        Diagnosis::Fresh(list) | Diagnosis::Pending(list) => list,
        Diagnosis::Unavailable(_) => Vec::new(),
    };
    let here: Vec<Diagnostic> = problems
        .into_iter()
        .filter(|problem| touches(problem.range, offset))
        .collect();
    // Over one problem its whole range is asked about; over several, the place that they share.
    let range = match here.as_slice() {
        [one] => one.range,
        _ => ByteRange {
            start: offset,
            end: offset,
        },
    };
    let mut answer = cx
        .pool
        .code_actions(at.uri, range, &here, &cx.cancel)
        .await
        .map_err(unanswered)?;
    answer.value.retain(|action| action.disabled.is_none());
    answer.value.sort_by_key(|action| !is_fix(action));
    answer.value = each_fix_once(answer.value, cx).await;
    Ok(answer)
}

/// A server may offer one fix twice, by different ways of finding it (rust-analyzer its own and
/// rustc's): whoever has to choose between them should see one. They are held together by what they
/// make of the text.
async fn each_fix_once(actions: Vec<CodeAction>, cx: &Context) -> Vec<CodeAction> {
    const MOST: usize = 12;
    let fixes = actions.iter().filter(|action| is_fix(action)).count();
    if !(2..=MOST).contains(&fixes) {
        return actions;
    }
    let mut kept: Vec<(CodeAction, Option<Texts>)> = Vec::new();
    for action in actions {
        let makes = match is_fix(&action) {
            true => makes(&action, cx).await,
            false => None,
        };
        let twin = kept
            .iter_mut()
            .find(|(_, other)| makes.is_some() && *other == makes);
        match twin {
            Some((twin, _)) => twin.preferred |= action.preferred,
            None => kept.push((action, makes)),
        }
    }
    kept.into_iter().map(|(action, _)| action).collect()
}

/// Documents, and what is to stand in them.
type Texts = Vec<(DocumentUri, String)>;

/// The texts that an action makes; `None` if that can't be known.
async fn makes(action: &CodeAction, cx: &Context) -> Option<Texts> {
    let files = cx.pool.resolve(action, &cx.cancel).await.ok()?;
    let texts = files.into_iter().map(|file| {
        let FileChange::Edit(file) = file else {
            return None;
        };
        let edit = Edit::new(file.snapshot, file.edits).ok()?;
        Some((file.uri, edit.result().to_string()))
    });
    texts.collect()
}

fn is_fix(action: &CodeAction) -> bool {
    action
        .kind
        .as_deref()
        .is_some_and(|kind| kind.split('.').next() == Some("quickfix"))
}

fn touches(range: ByteRange, offset: ByteOffset) -> bool {
    range.start <= offset && offset <= range.end
}
