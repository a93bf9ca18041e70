//! Places and words: `goToDefinition`, `findReferences`, `hover`.

use langserver::{Answer, Location};
use workspace::{ByteOffset, Encoding};

use super::{Place, completeness, unanswered};
use crate::{
    context::Context,
    tool::{Output, ToolError},
    truncate,
};

pub async fn definition(
    at: &Place<'_>,
    offset: ByteOffset,
    cx: &Context,
) -> Result<Output, ToolError> {
    let answer = cx.pool.definition(at.uri, offset, &cx.cancel).await;
    Ok(places(
        at,
        offset,
        "definition",
        &answer.map_err(unanswered)?,
        cx,
    ))
}

pub async fn references(
    at: &Place<'_>,
    offset: ByteOffset,
    cx: &Context,
) -> Result<Output, ToolError> {
    let answer = cx.pool.references(at.uri, offset, true, &cx.cancel).await;
    Ok(places(
        at,
        offset,
        "reference",
        &answer.map_err(unanswered)?,
        cx,
    ))
}

pub async fn hover(at: &Place<'_>, offset: ByteOffset, cx: &Context) -> Result<Output, ToolError> {
    let answer = cx.pool.hover(at.uri, offset, &cx.cancel).await;
    let answer = answer.map_err(unanswered)?;
    let note = completeness(answer.complete);
    let text = match answer.value {
        Some(text) => format!("{}{note}:\n{text}", at.name(offset)),
        None => format!(
            "{} has nothing to say of {}{note}",
            answer.server,
            at.name(offset)
        ),
    };
    let (text, truncated) = truncate::text(text, "that was all of use");
    Ok(Output {
        text,
        truncated,
        applied: Vec::new(),
    })
}

fn places(
    at: &Place<'_>,
    offset: ByteOffset,
    what: &str,
    answer: &Answer<Vec<Location>>,
    cx: &Context,
) -> Output {
    const MOST: usize = 200;
    let note = completeness(answer.complete);
    let found = &answer.value;
    if found.is_empty() {
        return Output::text(format!(
            "{} found no {what} of what stands at {}{note}",
            answer.server,
            at.name(offset)
        ));
    }
    let plural = if found.len() == 1 { "" } else { "s" };
    let mut text = format!(
        "{} {what}{plural} by {}{note}:\n",
        found.len(),
        answer.server
    );
    for location in found.iter().take(MOST) {
        let document = &location.snapshot;
        let position = document
            .text
            .position(location.range.start, Encoding::Utf32);
        let line = document
            .text
            .line(position.line as usize)
            .unwrap_or_default();
        let (line, _) = truncate::line(line.trim());
        text.push_str(&format!(
            "{}:{}:{}: {line}\n",
            cx.shown(&document.uri),
            position.line + 1,
            position.character + 1
        ));
    }
    let truncated = found.len() > MOST || answer.left_out > 0;
    if truncated {
        let more = found.len().saturating_sub(MOST) + answer.left_out;
        text.push_str(&format!("[{more} more are not shown]\n"));
    }
    Output {
        text,
        truncated,
        applied: Vec::new(),
    }
}
