//! `diagnostics`: in three states, since silence is never "clean".

use std::collections::HashSet;

use langserver::Diagnosis;

use super::{DEADLINE, File};
use crate::{
    context::Context,
    problems::Problem,
    tool::{Output, ToolError},
    truncate,
};

/// How many problems are told, the worst first.
const MOST: usize = 30;

pub async fn all(at: &File, cx: &Context) -> Result<Output, ToolError> {
    let diagnosis = cx
        .pool
        .diagnostics(&at.snapshot.uri, DEADLINE, &cx.cancel)
        .await;
    if cx.cancel.is_cancelled() {
        return Err(ToolError::Cancelled);
    }
    // What it could not load it has not checked, though it found nothing.
    let caution = cx.pool.caution(&at.snapshot.uri);
    let (state, list) = match diagnosis {
        Diagnosis::Unavailable(reason) => {
            return Err(ToolError::Failed(format!(
                "diagnostics of {} are unavailable: {reason}",
                at.shown
            )));
        }
        Diagnosis::Fresh(list) if list.is_empty() => {
            if let Some(caution) = caution {
                return Ok(Output::text(format!(
                    "No problems found in {}, but {}{}",
                    at.shown,
                    caution.words,
                    unchecked(at, cx)
                )));
            }
            return Ok(Output::text(format!(
                "No problems in {} (checked just now{})",
                at.shown,
                unchecked(at, cx)
            )));
        }
        Diagnosis::Fresh(list) => {
            let says = caution.map(|caution| format!("; {}", caution.words));
            let state = format!(
                "checked just now{}{}",
                unchecked(at, cx),
                says.unwrap_or_default()
            );
            (state, list)
        }
        Diagnosis::Pending(list) => (
            "PENDING: the server has not checked the newest text yet; what it said before"
                .to_owned(),
            list,
        ),
    };
    // The text may have moved on while the server worked.
    let snapshot = cx.read(&at.snapshot.uri)?;
    let mut text = format!("{} in {} ({state}):\n", count(list.len()), at.shown);
    let mut list = list;
    list.sort_by_key(|diagnostic| (diagnostic.severity, diagnostic.range.start));
    let mut told: HashSet<String> = HashSet::new();
    for diagnostic in list.iter().take(MOST) {
        let mut problem = Problem::new(at.shown.clone(), diagnostic, &snapshot);
        // A compiler gives the same notes to each of a kind.
        if let Some((what, notes)) = problem.message.split_once('\n')
            && !told.insert(notes.to_owned())
        {
            problem.message = what.to_owned();
        }
        text.push_str(&format!("{problem}\n"));
    }
    if list.len() > MOST {
        text.push_str(&format!("[{} more: cure these first]\n", list.len() - MOST));
    }
    let (text, cut) = truncate::text(text, "cure these first");
    let truncated = cut || list.len() > MOST;
    Ok(Output {
        text,
        truncated,
        ..Output::default()
    })
}

/// Compilers that look only at what is saved say nothing of this text yet.
fn unchecked(at: &File, cx: &Context) -> String {
    let sources = cx.pool.unchecked(&at.snapshot.uri);
    match sources.as_slice() {
        [] => String::new(),
        sources => format!(
            "; not by {}, which look only at what is saved",
            sources.join(" and ")
        ),
    }
}

fn count(number: usize) -> String {
    match number {
        1 => "1 problem".to_owned(),
        many => format!("{many} problems"),
    }
}
