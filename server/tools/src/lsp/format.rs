//! `format`: the project's formatter, on the lines that the call or this run's own edits name; else on the whole file.

use langserver::FileChange;
use workspace::ByteRange;

use super::{Call, Unanswered, change};
use crate::tool::{Output, ToolError};

pub async fn format(call: &Call<'_>) -> Result<Output, Unanswered> {
    let cx = call.cx;
    let snapshot = &call.file.snapshot;
    let (lines, what) = lines(call)?;
    let ranges: Vec<ByteRange> = lines
        .iter()
        .map(|(first, last)| ByteRange {
            start: snapshot.text.line_start(*first),
            end: snapshot.text.line_end(*last),
        })
        .collect();
    let uri = &snapshot.uri;
    let answer = cx.pool.format(snapshot, &ranges, &cx.cancel).await?;
    let what = format!("Formatted {what}{}", call.file.shown);
    if answer.value.edits.is_empty() {
        return Ok(Output::text(format!(
            "{what}: {} has nothing to change",
            answer.server
        )));
    }
    let changes = vec![FileChange::Edit(answer.value)];
    let together = change::make(&what, changes, uri, cx).await?;
    Ok(change::report(&what, together, cx))
}

/// First and last lines (from 0) that are to be formatted, none for all; and how that is said.
fn lines(call: &Call<'_>) -> Result<(Vec<(usize, usize)>, String), ToolError> {
    let snapshot = &call.file.snapshot;
    if let Some(line) = call.input.line {
        let index = line as usize - 1;
        if index >= snapshot.text.line_count() {
            return Err(ToolError::Input(format!(
                "line {line} is past the end: {} has {} lines",
                call.file.shown,
                snapshot.text.lines_to_read()
            )));
        }
        return Ok((vec![(index, index)], format!("line {line} of ")));
    }
    let own = call.cx.own.lines(snapshot);
    let what = match own.is_empty() {
        true => "",
        false => "this run's own changes in ",
    };
    Ok((own, what.to_owned()))
}
