//! What a server can't see in a language whose values need no declared type: that a member is used through a value of
//! which it does not know what it is. Such places are looked for as text, quickly or not at all, and only those are told
//! of which the server itself does not know what stands there.

use std::{collections::HashSet, fmt::Write as _, sync::Arc, time::Duration};

use langserver::{Location, QueryError};
use tokio::time::{Instant, timeout_at};
use workspace::{DocumentUri, Encoding, GrepMatch, GrepQuery, Position};

use super::{
    Call, Spot, at::word_at, count, language, line_of, outlines::is_type, tests_apart::is_test_path,
};

/// Who is told of more places than that does not miss a few.
const FEW: usize = 20;
/// How long all of it may take.
const TIME: Duration = Duration::from_millis(400);
/// So many lines with the name are looked at, and so many of them asked about.
const LINES: usize = 200;
const ASKED: usize = 16;
/// How many are shown.
const SHOWN: usize = 5;

/// The languages, and where else a member's name is looked for.
const LANGUAGES: [(&str, &str); 6] = [
    ("python", "*.{py,pyi}"),
    ("javascript", "*.{js,jsx,mjs,cjs}"),
    ("javascriptreact", "*.{js,jsx,mjs,cjs}"),
    ("ruby", "*.{rb,rake}"),
    ("php", "*.php"),
    ("lua", "*.lua"),
];

/// Lines of documents, from 1.
pub type Lines = HashSet<(DocumentUri, u32)>;

/// What is to be said beside an answer that has these lines: the server's own places.
pub async fn note(call: &Call<'_>, spot: &Spot, known: &Lines, server: &str) -> Option<String> {
    let language = language(&spot.snapshot)?;
    let (_, files) = LANGUAGES.iter().find(|(one, _)| *one == language)?;
    if known.len() > FEW {
        return None;
    }
    let until = Instant::now() + TIME;
    let is_member = timeout_at(until, is_member(call, spot));
    if !is_member.await.unwrap_or(false) {
        return None;
    }
    let word = word_at(&spot.snapshot, spot.at)?;
    let (mut lines, total) = lines(call, &word, files, until).await?;
    lines.retain(|line| !known.contains(&key(line)));
    lines.sort_by_cached_key(|line| is_test_path(&call.cx.shown(&line.uri)));
    let mut unseen: Vec<&GrepMatch> = Vec::new();
    let mut asked = 0;
    for line in lines.iter().take(ASKED) {
        match timeout_at(until, is_unseen(call, line, &word)).await {
            Ok(Some(true)) => unseen.push(line),
            Ok(_) => {}
            Err(_) => break,
        }
        asked += 1;
    }
    if unseen.is_empty() {
        return None;
    }
    let mut text = format!(
        "[{server} does not know what `{word}` is in {}, for want of types:\n",
        count(unseen.len(), "more place")
    );
    for line in unseen.iter().take(SHOWN) {
        let shown = call.cx.shown(&line.uri);
        let _ = writeln!(text, " {shown}:{} {}", line.line, short(line));
    }
    let more = unseen.len().saturating_sub(SHOWN);
    if more > 0 {
        let _ = writeln!(text, " and {more} more");
    }
    let left = lines.len() - asked + total.saturating_sub(LINES);
    if left > 0 {
        let _ = writeln!(
            text,
            " {left} more lines with `.{word}` were not looked at: `grep`"
        );
    }
    text.truncate(text.trim_end().len());
    text.push(']');
    Some(text)
}

/// The lines of places.
pub fn lines_of<'a>(places: impl IntoIterator<Item = &'a Location>) -> Lines {
    let line = |place: &Location| {
        let snapshot = &place.snapshot;
        (snapshot.uri.clone(), line_of(snapshot, place.range.start))
    };
    places.into_iter().map(line).collect()
}

fn key(line: &GrepMatch) -> (DocumentUri, u32) {
    let number = u32::try_from(line.line).unwrap_or(u32::MAX);
    (line.uri.clone(), number)
}

fn short(line: &GrepMatch) -> String {
    const MOST: usize = 100;
    line.text.trim().chars().take(MOST).collect()
}

/// Whether what stands there is declared in a type of the project: everything else is found by its name, and seen.
async fn is_member(call: &Call<'_>, spot: &Spot) -> bool {
    let (cx, text) = (call.cx, &spot.snapshot);
    let Ok(answer) = cx.pool.definition(text, spot.at, &cx.cancel).await else {
        return false;
    };
    let Some(place) = answer.value.first() else {
        return false;
    };
    let path = place.snapshot.uri.path();
    if path.is_some_and(|path| !cx.workspace.contains(path)) {
        return false;
    }
    let outline = call.outlines.soon(&place.snapshot).await;
    let around = outline.as_ref().map(|outline| {
        let symbol = outline.declared_at(place.range);
        outline.around(symbol.map_or(place.range, |symbol| symbol.selection))
    });
    let around = around.unwrap_or_default();
    around.last().is_some_and(|owner| is_type(owner.kind))
}

/// Lines in which the name is reached as a member, the newest files' first, and how many there are.
async fn lines(
    call: &Call<'_>,
    word: &str,
    files: &str,
    until: Instant,
) -> Option<(Vec<GrepMatch>, usize)> {
    let name = word.replace('$', r"\$");
    let query = GrepQuery {
        include: Some(files.to_owned()),
        limit: LINES,
        ..GrepQuery::new(format!(r"(?:[.:]|->){name}\b"))
    };
    let workspace = Arc::clone(&call.cx.workspace);
    let cancel = call.cx.cancel.child_token();
    // Dropped with this future, or late: it stops either way.
    let stop = cancel.clone().drop_guard();
    let search = tokio::task::spawn_blocking(move || workspace.grep(&query, &cancel));
    let found = timeout_at(until, search).await.ok()?.ok()?.ok()?;
    drop(stop);
    Some((found.matches, found.total))
}

/// Whether a line has come to a string or to what quotes code in a comment, and not to a value in it.
fn is_said(before: &str) -> bool {
    let quote = before.rfind(['"', '\'', '`']);
    quote.is_some_and(|at| {
        let count = before.matches(&before[at..=at]).count();
        count % 2 == 1 && !before[at..].contains('{')
    })
}

/// Whether the server says that it does not know what a line's name is; `None` if it can't be asked.
async fn is_unseen(call: &Call<'_>, line: &GrepMatch, word: &str) -> Option<bool> {
    const COMMENTS: [&str; 4] = ["#", "//", "*", "--"];
    let text = line.text.trim_start();
    if COMMENTS.iter().any(|mark| text.starts_with(mark)) {
        return Some(false);
    }
    let cx = call.cx;
    let snapshot = cx.read(&line.uri).ok()?;
    let index = line.line.checked_sub(1)?;
    let content = snapshot.text.line(index)?;
    let from = content.char_indices().nth(line.column.checked_sub(1)?)?.0;
    let at = from + content[from..].find(word)?;
    if is_said(&content[..at]) {
        return Some(false);
    }
    let place = Position {
        line: u32::try_from(index).ok()?,
        character: u32::try_from(content[..at].chars().count()).ok()?,
    };
    let at = snapshot.text.offset(place, Encoding::Utf32);
    match cx.pool.definition(&snapshot, at, &cx.cancel).await {
        Ok(answer) => Some(answer.value.is_empty() && answer.left_out == 0),
        Err(QueryError::Failed { .. }) => Some(true),
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::is_said;

    #[test]
    fn what_is_only_said() {
        for said in ["'box.", "x = \"box.", ":meth:`."] {
            assert!(is_said(said), "{said}");
        }
        for meant in ["box.", "f('a', box.", "f\"{box.", "`${box."] {
            assert!(!is_said(meant), "{meant}");
        }
    }
}
