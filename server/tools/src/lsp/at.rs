//! Which place a call means: its position, or the symbol that it names. Where that could be several, they are listed.

use langserver::{QueryError, Symbol, SymbolKind};
use workspace::{ByteOffset, ByteRange, Encoding, Position, Snapshot};

use super::{
    Call, Operation, Unanswered, line_of, line_text,
    meaning::{self, Named, prefer},
    names::{bare, is_word, occurrences},
    outlines::{is_constructor, is_module, type_name},
    position,
    wanted::{Fit, Near, Wanted},
};
use crate::{
    context::Context,
    tool::{Output, ToolError},
};

/// How many candidates are listed.
pub const LISTED: usize = 20;

/// What a call means.
pub enum Aim {
    At(Spot),
    /// One of these: their list.
    Several(Output),
}

/// A place in a text.
pub struct Spot {
    pub snapshot: Snapshot,
    pub at: ByteOffset,
    /// It was found by its name, so that the answer should say where it is.
    pub by_name: bool,
    /// Only a line was named: this one.
    pub line: Option<ByteRange>,
    /// The lines of all its declarations in that text, if they are several.
    pub declared: Vec<u32>,
}

impl Spot {
    /// What stands at a place that was found by its name.
    pub fn named(snapshot: &Snapshot, at: ByteOffset) -> Self {
        Self {
            snapshot: snapshot.clone(),
            at,
            by_name: true,
            line: None,
            declared: Vec::new(),
        }
    }

    /// What is to be said if it is declared more than once: which of them this is.
    pub fn note(&self, cx: &Context) -> Option<String> {
        const MOST: usize = 12;
        if self.declared.len() < 2 {
            return None;
        }
        let word = word_at(&self.snapshot, self.at)?;
        let lines: Vec<String> = self
            .declared
            .iter()
            .take(MOST)
            .map(u32::to_string)
            .collect();
        let more = if self.declared.len() > MOST {
            ", …"
        } else {
            ""
        };
        Some(format!(
            "[`{word}` is declared {} times in {}, lines {}{more}: this is about line {}; `line` names another]",
            self.declared.len(),
            cx.shown(&self.snapshot.uri),
            lines.join(", "),
            line_of(&self.snapshot, self.at)
        ))
    }
}

pub async fn aim(call: &Call<'_>) -> Result<Aim, Unanswered> {
    let snapshot = &call.file.snapshot;
    let symbol = call.input.symbol.as_deref().map(str::trim);
    let Some(symbol) = symbol.filter(|symbol| !symbol.is_empty()) else {
        return in_line(call).await;
    };
    let wanted = Wanted::of(symbol);
    if wanted.name.is_empty() {
        return Err(ToolError::Input(format!("`{symbol}` is no name of a symbol")).into());
    }
    if let Some(line) = call.input.line {
        let near = nearest(snapshot, &wanted.name, line, call.input.character);
        if let Some(at) = near {
            return Ok(Aim::At(Spot::named(snapshot, at)));
        }
    }
    let (found, near) = declared(call, &wanted).await?;
    let places: Vec<ByteOffset> = found.iter().map(|one| one.at).collect();
    // What the file declares by the name alone is not yet what was named.
    if !found.is_empty()
        && !near.is_sure()
        && let Some(other) = meaning::of_member(call, symbol, &wanted).await?
    {
        return Ok(other);
    }
    let fits = near > Near::Elsewhere;
    match places.as_slice() {
        [] => {}
        [one] if fits => {
            if is_module(found[0].kind)
                && let Some(other) = meaning::beside_module(call, &wanted, *one).await?
            {
                return Ok(other);
            }
            return Ok(Aim::At(Spot::named(snapshot, *one)));
        }
        several => {
            if fits && let Some(spot) = overloaded(call, &found).await? {
                return Ok(Aim::At(spot));
            }
            return Ok(Aim::Several(candidates(call, symbol, several).await));
        }
    }
    let found = occurrences(snapshot, &wanted.name);
    if !found.is_empty() {
        return meaning::of_uses(call, symbol, &wanted, &found).await;
    }
    match meaning::in_the_project(call, symbol, &wanted).await? {
        Named::Found(aim, _) => Ok(aim),
        Named::Nothing(error) => Err(error.into()),
    }
}

/// What a call means that names a line.
async fn in_line(call: &Call<'_>) -> Result<Aim, Unanswered> {
    let snapshot = &call.file.snapshot;
    let mut at = by_position(call)?;
    let is_of_line = call.input.character.is_none();
    // Code actions are those of the whole line.
    let is_of_all = matches!(
        call.input.operation,
        Operation::CodeActions | Operation::ApplyCodeAction
    );
    if is_of_line && !is_of_all {
        at = declared_in_line(call, at).await?.unwrap_or(at);
    }
    let line = snapshot.text.position(at, Encoding::Utf32).line as usize;
    let whole = ByteRange {
        start: snapshot.text.line_start(line),
        end: snapshot.text.line_end(line),
    };
    Ok(Aim::At(Spot {
        by_name: false,
        line: is_of_line.then_some(whole),
        ..Spot::named(snapshot, at)
    }))
}

/// The place of `line` and `character`.
fn by_position(call: &Call<'_>) -> Result<ByteOffset, ToolError> {
    let text = &call.file.snapshot.text;
    let Some(line) = call.input.line else {
        return Err(ToolError::Input(
            "this operation needs `symbol`, or `line` (with `character`, unless what it declares or its first word is meant)".into(),
        ));
    };
    let index = line.saturating_sub(1);
    let content = usize::try_from(index)
        .ok()
        .and_then(|index| text.line(index));
    let Some(content) = content else {
        return Err(ToolError::Input(format!(
            "line {line} is past the end: {} has {} lines",
            call.file.shown,
            text.lines_to_read()
        )));
    };
    let indent = content.chars().take_while(|c| c.is_whitespace()).count();
    let character = call
        .input
        .character
        .map_or(u32::try_from(indent).unwrap_or(0), |character| {
            character.saturating_sub(1)
        });
    let position = Position {
        line: index,
        character,
    };
    Ok(text.offset(position, Encoding::Utf32))
}

/// The outermost name that is declared in the line of a place.
async fn declared_in_line(
    call: &Call<'_>,
    at: ByteOffset,
) -> Result<Option<ByteOffset>, Unanswered> {
    let snapshot = &call.file.snapshot;
    let outline = match call.outlines.wanted(&snapshot.uri).await {
        Ok(outline) => outline,
        // Then it is the first word.
        Err(QueryError::NotSupported { .. } | QueryError::Failed { .. }) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    if outline.snapshot.text != snapshot.text {
        return Ok(None);
    }
    let line = line_of(snapshot, at);
    let declared = outline.declared_in(line);
    Ok(declared.map(|declared| declared.selection.start))
}

/// Where a name is declared.
struct Declared {
    at: ByteOffset,
    /// How well it fits what it should be in.
    fit: Fit,
    /// What it is in.
    around: Vec<String>,
    kind: SymbolKind,
    has_body: bool,
    /// It makes what it lies in, and has its name for that.
    is_maker: bool,
}

/// Where the file declares symbols of this name: those that fit best what they should be in; and how near that is.
async fn declared(call: &Call<'_>, wanted: &Wanted) -> Result<(Vec<Declared>, Near), Unanswered> {
    const NOTHING: (Vec<Declared>, Near) = (Vec::new(), Near::Elsewhere);
    let outline = match call.outlines.wanted(&call.file.snapshot.uri).await {
        Ok(outline) => outline,
        // Then the text is looked at.
        Err(QueryError::NotSupported { .. } | QueryError::Failed { .. }) => {
            return Ok(NOTHING);
        }
        Err(error) => return Err(error.into()),
    };
    // It was typed in between: what stands there now counts.
    if outline.snapshot.text != call.file.snapshot.text {
        return Ok(NOTHING);
    }
    let declared = |(around, symbol): (Vec<&str>, &Symbol)| Declared {
        at: symbol.selection.start,
        fit: wanted.fit(&call.file.snapshot.uri, &around),
        kind: symbol.kind,
        has_body: has_body(&outline.snapshot.text.slice(symbol.range)),
        is_maker: is_constructor(symbol.kind)
            && around
                .last()
                .is_some_and(|outer| bare(outer).1 == wanted.name),
        around: around.into_iter().map(str::to_owned).collect(),
    };
    let named = outline.named(&wanted.name).into_iter();
    let mut found: Vec<Declared> = named.map(declared).collect();
    let near = Wanted::best(&mut found, |one| one.fit);
    prefer(&mut found, |one| !one.is_maker);
    if !call.input.operation.changes() {
        prefer(&mut found, |one| !is_module(one.kind));
    }
    found.sort_by_key(|one| one.at);
    found.dedup_by_key(|one| one.at);
    Ok((found, near))
}

/// Whether a declaration is more than a signature.
pub fn has_body(declaration: &str) -> bool {
    let text = declaration.trim_end();
    let is_block = |line: &str| line.trim_end().ends_with(':');
    text.ends_with('}') || (!text.ends_with("...") && text.lines().any(is_block))
}

/// The one thing that several declarations side by side are: overloads, what has conditions, a declaration and its
/// definition. The one with a body stands for all, else the first that the server knows.
async fn overloaded(call: &Call<'_>, found: &[Declared]) -> Result<Option<Spot>, Unanswered> {
    let [first, others @ ..] = found else {
        return Ok(None);
    };
    let is_same = |other: &Declared| other.around == first.around && other.kind == first.kind;
    if !others.iter().all(is_same) {
        return Ok(None);
    }
    let (snapshot, cx) = (&call.file.snapshot, call.cx);
    let mut order: Vec<&Declared> = found.iter().collect();
    let bodies = found.iter().filter(|one| one.has_body).count();
    if bodies == 1 {
        order.sort_by_key(|one| !one.has_body);
    }
    let mut aimed = first.at;
    for one in order {
        match cx.pool.definition(snapshot, one.at, &cx.cancel).await {
            Ok(answer) if !answer.value.is_empty() => aimed = one.at,
            Ok(_) => continue,
            Err(QueryError::NotSupported { .. } | QueryError::Failed { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        break;
    }
    // To change one of several things would be a guess: the server itself must take them for one.
    if call.input.operation.changes() {
        let used = cx.pool.references(snapshot, aimed, true, &cx.cancel);
        let places = match used.await {
            Ok(used) => used.value,
            Err(QueryError::NotSupported { .. } | QueryError::Failed { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let is_used = |one: &Declared| {
            places
                .iter()
                .any(|place| place.snapshot.uri == snapshot.uri && place.range.start == one.at)
        };
        if !found.iter().all(is_used) {
            return Ok(None);
        }
    }
    let line = |one: &Declared| line_of(snapshot, one.at);
    Ok(Some(Spot {
        declared: found.iter().map(line).collect(),
        ..Spot::named(snapshot, aimed)
    }))
}

fn nearest(
    snapshot: &Snapshot,
    name: &str,
    line: u32,
    character: Option<u32>,
) -> Option<ByteOffset> {
    let distance = |at: &ByteOffset| {
        let (other, column) = position(snapshot, *at);
        let across = character.map_or(0, |character| column.abs_diff(character));
        (other.abs_diff(line), across)
    };
    occurrences(snapshot, name).into_iter().min_by_key(distance)
}

/// The word at a place.
pub fn word_at(snapshot: &Snapshot, at: ByteOffset) -> Option<String> {
    let range = word_range(snapshot, at)?;
    Some(snapshot.text.slice(range))
}

/// Where the word at a place stands.
pub fn word_range(snapshot: &Snapshot, at: ByteOffset) -> Option<ByteRange> {
    let (start, line) = line_at(snapshot, at);
    let column = at.0.saturating_sub(start).min(line.len());
    let before: usize = line[..column]
        .chars()
        .rev()
        .take_while(|c| is_word(*c))
        .map(char::len_utf8)
        .sum();
    let after: usize = line[column..]
        .chars()
        .take_while(|c| is_word(*c))
        .map(char::len_utf8)
        .sum();
    let range = ByteRange::new(start + column - before, start + column + after);
    (range.start < range.end).then_some(range)
}

/// What stands in the same line right before and after a range.
pub fn beside(snapshot: &Snapshot, range: ByteRange) -> (Option<char>, Option<char>) {
    let (start, line) = line_at(snapshot, range.start);
    let part = |range: std::ops::Range<usize>| line.get(range).unwrap_or_default();
    let before = part(0..range.start.0 - start).chars().next_back();
    let after = part(range.end.0 - start..line.len()).chars().next();
    (before, after)
}

/// Where the line of a place begins, and its text.
fn line_at(snapshot: &Snapshot, at: ByteOffset) -> (usize, String) {
    let text = &snapshot.text;
    let line = text.position(at, Encoding::Utf8).line as usize;
    let start = text.line_start(line);
    let end = text.line_end(line);
    (start.0, text.slice(ByteRange { start, end }))
}

pub fn head(symbol: &str, number: usize, place: &str) -> String {
    let cut = match number > LISTED {
        true => format!(", the first {LISTED}"),
        false => String::new(),
    };
    if number == 1 {
        return format!(
            "`{symbol}` is not declared so in {place}. Ask again with the line of what is meant, if it is this:\n"
        );
    }
    format!(
        "`{symbol}` may be {number} things in {place}{cut}. Ask again with the file and line of the one that is meant:\n"
    )
}

/// Places in the file, each with what it is in.
pub async fn candidates(call: &Call<'_>, symbol: &str, places: &[ByteOffset]) -> Output {
    let snapshot = &call.file.snapshot;
    let outline = call.outlines.soon(snapshot).await;
    let mut text = head(symbol, places.len(), &call.file.shown);
    for at in places.iter().take(LISTED) {
        let (line, column) = position(snapshot, *at);
        let here = ByteRange {
            start: *at,
            end: *at,
        };
        let declared = outline
            .as_ref()
            .and_then(|outline| outline.declared_at(here))
            .filter(|declared| line_of(snapshot, declared.selection.start) == line);
        let kind = declared.map_or_else(String::new, |declared| format!("{} ", declared.kind));
        let place = declared.map_or(here, |declared| declared.selection);
        let container = outline
            .as_ref()
            .and_then(|outline| outline.around(place).last().map(|last| last.name.clone()));
        let container = container.map_or_else(String::new, |container| {
            match type_name(&container) == container {
                true => format!("  in {container}"),
                false => format!("  in `{container}`"),
            }
        });
        text.push_str(&format!(
            "{}:{line}:{column}  {kind}{}{container}\n",
            call.file.shown,
            line_text(snapshot, line, column)
        ));
    }
    Output {
        text,
        truncated: places.len() > LISTED,
        ..Output::default()
    }
}
