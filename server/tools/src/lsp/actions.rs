//! Code actions: `codeActions` lists them, `applyCodeAction` makes one by our own edits, so that it
//! reaches the editor's buffers by the same way as any other.

use std::time::Duration;

use futures::future::join_all;
use langserver::{Answer, CodeAction, Diagnostic, FileChange, QueryError};
use workspace::{ByteRange, DocumentUri, Edit};

use super::{Call, Spot, Unanswered, change, left_out, trust};
use crate::{
    context::Context,
    tool::{Output, ToolError},
};

pub async fn list(call: &Call<'_>, spot: &Spot) -> Result<Output, Unanswered> {
    let cx = call.cx;
    let answer = ask(spot, cx).await?;
    let trust = trust(&answer);
    let place = spot.name(cx);
    if answer.value.is_empty() {
        return Ok(Output {
            text: format!(
                "{} has no code actions at {place}{} ({trust})\n{}",
                answer.server,
                readable(&answer),
                left_out::of_actions(answer.left_out)
            ),
            truncated: answer.left_out > 0,
            ..Output::default()
        });
    }
    let mut text = format!("Code actions at {place} ({trust}):\n");
    for action in &answer.value {
        text.push_str(&format!("- {}{}\n", action.title, tags(action)));
    }
    text.push_str(&left_out::of_actions(answer.left_out));
    Ok(Output {
        text,
        truncated: answer.left_out > 0,
        ..Output::default()
    })
}

/// What is said behind "none", if there are some that are not shown.
fn readable<T>(answer: &Answer<T>) -> &'static str {
    match answer.left_out {
        0 => "",
        _ => " that may be shown",
    }
}

fn tags(action: &CodeAction) -> String {
    let preferred = action.preferred.then_some("preferred");
    let tags: Vec<&str> = action
        .kind
        .as_deref()
        .into_iter()
        .chain(preferred)
        .filter(|tag| !tag.is_empty())
        .collect();
    if tags.is_empty() {
        String::new()
    } else {
        format!(" [{}]", tags.join(", "))
    }
}

/// How often an action is chosen anew because somebody typed before it was known what it does.
const AGAIN: u32 = 4;

pub async fn apply(call: &Call<'_>, spot: &Spot, title: &str) -> Result<Output, Unanswered> {
    let mut overtaken = 0;
    loop {
        match apply_now(call, spot, title).await {
            Err(Unanswered::Server(QueryError::Overtaken { .. })) if overtaken < AGAIN => {
                overtaken += 1;
            }
            done => return done,
        }
    }
}

async fn apply_now(call: &Call<'_>, spot: &Spot, title: &str) -> Result<Output, Unanswered> {
    let cx = call.cx;
    let answer = ask(spot, cx).await?;
    let action = chosen(&answer.value, title).map_err(|reason| {
        ToolError::Failed(format!("{reason} at {}.{}", spot.name(cx), titles(&answer)))
    })?;
    let title = &action.title;
    let changes = match answer.complete {
        true => cx.pool.resolve(action, &cx.cancel).await?,
        // What only its command would tell is not found out by running it.
        false => cx
            .pool
            .preview(action, super::DEADLINE, &cx.cancel)
            .await?
            .filter(|changes| is_only_of(changes, &spot.snapshot.uri))
            .ok_or_else(|| {
                ToolError::Failed(format!(
                    "{}, so \"{title}\" may miss or mistake places in other files: nothing was changed. {}",
                    unsure(&answer),
                    match (answer.from_disk, answer.is_early()) {
                        (true, _) => "Ask again when they are saved",
                        (false, true) => "Ask again in a moment",
                        (false, false) => "Cure that first",
                    },
                ))
            })?,
    };
    if changes.is_empty() {
        return Err(
            ToolError::Failed(format!("\"{title}\" changes no text: nothing was done")).into(),
        );
    }
    let what = format!("\"{title}\"");
    let together = change::make(&what, changes, &call.file.snapshot.uri, cx).await?;
    let mut output = change::report(&format!("Applied {what}"), together, cx);
    if !answer.complete {
        let note = format!("\n[{}; only this file was changed]", unsure(&answer));
        output.text.truncate(output.text.trim_end().len());
        output.text.push_str(&note);
    }
    Ok(output)
}

/// Why an answer may not be whole.
fn unsure<T>(answer: &Answer<T>) -> String {
    if let Some(caution) = answer
        .caution
        .as_ref()
        .filter(|_| !answer.is_early() && !answer.from_disk)
    {
        return caution.words.clone();
    }
    let why = match answer.from_disk {
        true => "reads other files from disk, and not all are saved",
        false => "is still indexing",
    };
    format!("{} {why}", answer.server)
}

fn is_only_of(changes: &[FileChange], uri: &DocumentUri) -> bool {
    let mut touched = changes.iter().flat_map(FileChange::touched);
    touched.all(|one| one == uri)
}

/// The action with this title, or the one whose title begins so.
fn chosen<'a>(actions: &'a [CodeAction], title: &str) -> Result<&'a CodeAction, String> {
    let title = title.trim();
    if let Some(exact) = actions.iter().find(|action| action.title.trim() == title) {
        return Ok(exact);
    }
    let begins = |action: &&CodeAction| action.title.trim().starts_with(title);
    let mut beginning = actions.iter().filter(begins);
    match (beginning.next(), beginning.count()) {
        (None, _) => Err(format!("there is no code action \"{title}\"")),
        (Some(one), 0) => Ok(one),
        (Some(_), more) => Err(format!("{} code actions begin with \"{title}\"", more + 1)),
    }
}

fn titles(answer: &Answer<Vec<CodeAction>>) -> String {
    let left_out = left_out::of_actions(answer.left_out);
    if answer.value.is_empty() {
        let none = format!(" There are none{}.\n{left_out}", readable(answer));
        return none.trim_end().to_owned();
    }
    let titles: Vec<String> = answer
        .value
        .iter()
        .map(|action| format!("\n- {}", action.title))
        .collect();
    let all = format!(" There are:{}\n{left_out}", titles.concat());
    all.trim_end().to_owned()
}

/// How long it may take to find out which fixes are the same.
const PREVIEW: Duration = Duration::from_secs(2);

/// The actions at a place, with the problems there as their context, fixes first.
async fn ask(spot: &Spot, cx: &Context) -> Result<Answer<Vec<CodeAction>>, QueryError> {
    let uri = &spot.snapshot.uri;
    let before = cx.pool.problems(uri, &cx.cancel).await;
    let known = here(before.known, spot);
    let mut answer = ask_about(spot, &known, cx).await?;
    if before.may_be_more {
        // It has started meanwhile, or got further.
        let now = here(cx.pool.problems(uri, &cx.cancel).await.known, spot);
        if now != known {
            answer = ask_about(spot, &now, cx).await?;
        }
    }
    answer.value.retain(|action| action.disabled.is_none());
    answer.value.sort_by_key(|action| !is_fix(action));
    let (shown, hidden) = each_fix_once(answer.value, cx).await;
    answer.value = shown;
    answer.left_out += hidden;
    Ok(answer)
}

/// The problems at a place.
fn here(mut problems: Vec<Diagnostic>, spot: &Spot) -> Vec<Diagnostic> {
    // Who names a line means all that is wrong in it.
    let place = spot.line.unwrap_or_else(|| point(spot));
    problems.retain(|problem| touches(problem.range, place));
    problems
}

async fn ask_about(
    spot: &Spot,
    problems: &[Diagnostic],
    cx: &Context,
) -> Result<Answer<Vec<CodeAction>>, QueryError> {
    // Over one problem its whole range is asked about; over several, the place that they share, or the line.
    let range = match problems {
        [] => point(spot),
        [one] => one.range,
        _ => spot.line.unwrap_or_else(|| point(spot)),
    };
    let asked = &spot.snapshot;
    cx.pool
        .code_actions(asked, range, problems, &cx.cancel)
        .await
}

/// A server may offer one fix twice, by different ways of finding it (rust-analyzer its own and
/// rustc's): whoever has to choose between them should see one. They are held together by what they
/// make of the text; one of which that is not known soon, or only when it has run, stands for itself. What would change a
/// file that is kept from the model is not shown, but counted: its title is of that file.
async fn each_fix_once(actions: Vec<CodeAction>, cx: &Context) -> (Vec<CodeAction>, usize) {
    const MOST: usize = 12;
    let fixes = actions.iter().filter(|action| is_fix(action)).count();
    if !(1..=MOST).contains(&fixes) {
        return (actions, 0);
    }
    let made = join_all(actions.iter().map(async |action| match is_fix(action) {
        true => makes(action, cx).await,
        false => Makes::Unknown,
    }));
    let made = made.await;
    let mut hidden = 0;
    let mut kept: Vec<(CodeAction, Option<Texts>)> = Vec::new();
    for (action, makes) in actions.into_iter().zip(made) {
        let makes = match makes {
            Makes::Hidden => {
                hidden += 1;
                continue;
            }
            Makes::Texts(texts) => Some(texts),
            Makes::Unknown => None,
        };
        let twin = kept
            .iter_mut()
            .find(|(_, other)| makes.is_some() && *other == makes);
        match twin {
            Some((twin, _)) => twin.preferred |= action.preferred,
            None => kept.push((action, makes)),
        }
    }
    let kept = kept.into_iter().map(|(action, _)| action).collect();
    (kept, hidden)
}

/// Documents, and what is to stand in them.
type Texts = Vec<(DocumentUri, String)>;

/// What an action does.
enum Makes {
    Texts(Texts),
    /// That can't be known without doing it.
    Unknown,
    /// Something to a file that is kept from the model.
    Hidden,
}

async fn makes(action: &CodeAction, cx: &Context) -> Makes {
    let files = match cx.pool.preview(action, PREVIEW, &cx.cancel).await {
        Ok(Some(files)) => files,
        Err(QueryError::Hidden { .. }) => return Makes::Hidden,
        Ok(None) | Err(_) => return Makes::Unknown,
    };
    let mut paths = files
        .iter()
        .flat_map(FileChange::touched)
        .filter_map(|uri| uri.path());
    if paths.any(|path| cx.workspace.is_ignored_for_model(path)) {
        return Makes::Hidden;
    }
    let texts = files.into_iter().map(|file| {
        let FileChange::Edit(file) = file else {
            return None;
        };
        let edit = Edit::new(file.snapshot, file.edits).ok()?;
        Some((file.uri, edit.result().to_string()))
    });
    texts
        .collect::<Option<Texts>>()
        .map_or(Makes::Unknown, Makes::Texts)
}

fn is_fix(action: &CodeAction) -> bool {
    action
        .kind
        .as_deref()
        .is_some_and(|kind| kind.split('.').next() == Some("quickfix"))
}

fn touches(range: ByteRange, place: ByteRange) -> bool {
    range.start <= place.end && place.start <= range.end
}

fn point(spot: &Spot) -> ByteRange {
    ByteRange {
        start: spot.at,
        end: spot.at,
    }
}
