//! Which place a call means: its position, or the symbol that it names. Where that could be several, they are listed.

use langserver::{FoundSymbol, Location, QueryError, Symbol};
use workspace::{ByteOffset, ByteRange, Encoding, Position, Snapshot};

use super::{
    Call, Operation, Unanswered, line_of, line_text,
    names::{bare, is_word, name_in, occurrences, words},
    outlines::type_name,
    position, trust,
};
use crate::tool::{Output, ToolError};

/// How many places are asked what they mean, to find out whether they all mean the same. Of more that is not found out.
const ASKED: usize = 40;
/// How many candidates are listed.
const LISTED: usize = 20;

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
}

pub async fn aim(call: &Call<'_>) -> Result<Aim, Unanswered> {
    let snapshot = &call.file.snapshot;
    let here = |at, by_name| {
        Aim::At(Spot {
            snapshot: snapshot.clone(),
            at,
            by_name,
            line: None,
        })
    };
    let symbol = call.input.symbol.as_deref().map(str::trim);
    let Some(symbol) = symbol.filter(|symbol| !symbol.is_empty()) else {
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
        return Ok(Aim::At(Spot {
            snapshot: snapshot.clone(),
            at,
            by_name: false,
            line: is_of_line.then_some(whole),
        }));
    };
    let wanted = Wanted::of(symbol);
    if wanted.name.is_empty() {
        return Err(ToolError::Input(format!("`{symbol}` is no name of a symbol")).into());
    }
    if let Some(line) = call.input.line {
        let near = nearest(snapshot, &wanted.name, line, call.input.character);
        if let Some(at) = near {
            return Ok(here(at, true));
        }
    }
    let (found, fits) = declared(call, &wanted).await?;
    match found.as_slice() {
        [] => {}
        [one] if fits => return Ok(here(*one, true)),
        several => {
            return Ok(Aim::Several(
                candidates(call, symbol, snapshot, several).await,
            ));
        }
    }
    let found = occurrences(snapshot, &wanted.name);
    if let [one] = found.as_slice() {
        return Ok(here(*one, true));
    }
    if !found.is_empty() {
        return among(call, symbol, &found).await;
    }
    in_the_project(call, symbol, &wanted).await
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
            text.line_count()
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

/// A name as a call gives it: what it is the name of, and what that should be in.
struct Wanted {
    name: String,
    within: Vec<String>,
}

impl Wanted {
    fn of(symbol: &str) -> Self {
        let symbol = symbol.strip_suffix("()").unwrap_or(symbol);
        let mut parts: Vec<String> = symbol
            .split(['.', ':', '/', '#'])
            .map(|part| part.trim().to_owned())
            .filter(|part| !part.is_empty())
            .collect();
        let name = parts.pop().unwrap_or_default();
        Self {
            name,
            within: parts,
        }
    }

    /// Whether all that it should be in is where it is said.
    fn is_relative(&self) -> bool {
        const HERE: [&str; 5] = ["crate", "self", "super", "this", "Self"];
        let inner = self.within.last();
        inner.is_none_or(|inner| HERE.contains(&inner.as_str()))
    }

    /// Whether the innermost part that the name should be in can be the file, or a folder of it.
    fn is_of(&self, snapshot: &Snapshot) -> bool {
        let path = snapshot.uri.path();
        let parts = path.into_iter().flat_map(|path| path.iter());
        let mut names = parts.map(|part| part.to_string_lossy());
        self.within.last().is_none_or(|inner| {
            self.is_relative() || names.any(|name| words(&name).any(|word| word == inner.as_str()))
        })
    }

    /// How many of the parts that the name should be in, counted from the innermost, are around it.
    fn depth(&self, around: &[String]) -> usize {
        let mut around = around.iter().rev();
        self.within
            .iter()
            .rev()
            .take_while(|part| around.any(|outer| words(outer).any(|word| word == part.as_str())))
            .count()
    }
}

/// Where the file declares symbols of this name: those that fit the most of what they should be in; and whether they fit
/// any of it.
async fn declared(call: &Call<'_>, wanted: &Wanted) -> Result<(Vec<ByteOffset>, bool), Unanswered> {
    let outline = match call.outlines.wanted(&call.file.snapshot.uri).await {
        Ok(outline) => outline,
        // Then the text is looked at.
        Err(QueryError::NotSupported { .. } | QueryError::Failed { .. }) => {
            return Ok((Vec::new(), true));
        }
        Err(error) => return Err(error.into()),
    };
    // It was typed in between: what stands there now counts.
    if outline.snapshot.text != call.file.snapshot.text {
        return Ok((Vec::new(), true));
    }
    let mut found = Vec::new();
    collect(&outline.symbols, wanted, &mut Vec::new(), &mut found);
    let best = found.iter().map(|(depth, _)| *depth).max().unwrap_or(0);
    let mut found: Vec<ByteOffset> = found
        .into_iter()
        .filter(|(depth, _)| *depth == best)
        .map(|(_, at)| at)
        .collect();
    found.sort_unstable();
    found.dedup();
    let fits = best > 0 || wanted.within.is_empty() || wanted.is_of(&call.file.snapshot);
    Ok((found, fits))
}

fn collect(
    symbols: &[Symbol],
    wanted: &Wanted,
    around: &mut Vec<String>,
    found: &mut Vec<(usize, ByteOffset)>,
) {
    for symbol in symbols {
        let (receiver, name) = bare(&symbol.name);
        if name == wanted.name {
            around.extend(receiver.map(str::to_owned));
            found.push((wanted.depth(around), symbol.selection.start));
            around.truncate(around.len() - usize::from(receiver.is_some()));
        }
        around.push(symbol.name.clone());
        collect(&symbol.children, wanted, around, found);
        around.pop();
    }
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
    let place = snapshot.text.position(at, Encoding::Utf32);
    let line = snapshot.text.line(place.line as usize)?;
    let chars: Vec<char> = line.chars().collect();
    let at = (place.character as usize).min(chars.len());
    let start = chars[..at].iter().rposition(|c| !is_word(*c));
    let start = start.map_or(0, |before| before + 1);
    let end = chars[at..].iter().position(|c| !is_word(*c));
    let end = end.map_or(chars.len(), |length| at + length);
    (start < end).then(|| chars[start..end].iter().collect())
}

/// The name stands several times in the text and is declared elsewhere: fine if it means the same everywhere.
async fn among(call: &Call<'_>, symbol: &str, found: &[ByteOffset]) -> Result<Aim, Unanswered> {
    let snapshot = &call.file.snapshot;
    let list = async |places: &[ByteOffset]| {
        let list = candidates(call, symbol, snapshot, places).await;
        Ok(Aim::Several(list))
    };
    if found.len() > ASKED {
        return list(found).await;
    }
    let mut meanings: Vec<(ByteOffset, Vec<Location>)> = Vec::new();
    for at in found {
        let asked = call
            .cx
            .pool
            .definition(&snapshot.uri, *at, &call.cx.cancel)
            .await;
        let answer = match asked {
            Ok(answer) => answer,
            Err(QueryError::NotSupported { .. }) => return list(found).await,
            // Some fail where nothing is meant.
            Err(QueryError::Failed { .. }) => continue,
            Err(error) => return Err(error.into()),
        };
        // Each would be waited for, and none could be relied on.
        if answer.is_early() {
            return list(found).await;
        }
        // Nothing is meant in a comment or a string.
        let is_new = !meanings.iter().any(|(_, known)| same(known, &answer.value));
        if !answer.value.is_empty() && is_new {
            meanings.push((*at, answer.value));
        }
    }
    let at = match meanings.as_slice() {
        [] => return list(found).await,
        [(one, _)] => *one,
        several => {
            let places: Vec<ByteOffset> = several.iter().map(|(at, _)| *at).collect();
            return list(&places).await;
        }
    };
    Ok(Aim::At(Spot {
        snapshot: snapshot.clone(),
        at,
        by_name: true,
        line: None,
    }))
}

fn same(one: &[Location], other: &[Location]) -> bool {
    let is_there = |place: &Location| {
        other.iter().any(|other| {
            other.snapshot.uri == place.snapshot.uri && other.range.start == place.range.start
        })
    };
    one.len() == other.len() && one.iter().all(is_there)
}

/// Symbols of exactly this name anywhere in the project.
async fn in_the_project(call: &Call<'_>, symbol: &str, wanted: &Wanted) -> Result<Aim, Unanswered> {
    let cx = call.cx;
    let near = &call.file.snapshot.uri;
    let absent = |rest: String| {
        ToolError::Failed(format!(
            "`{symbol}` does not stand in {}{rest}",
            call.file.shown
        ))
    };
    let answer = match cx
        .pool
        .workspace_symbols(near, &wanted.name, &cx.cancel)
        .await
    {
        Ok(answer) => answer,
        Err(QueryError::NotSupported { name, .. }) => {
            return Err(absent(format!(
                ", and {name} finds no symbols by name: `grep` for it, and name the file that has it"
            ))
            .into());
        }
        Err(error) => return Err(error.into()),
    };
    let trust = trust(&answer);
    let mut named: Vec<(usize, FoundSymbol)> = answer
        .value
        .into_iter()
        .filter(|found| bare(&found.name).1 == wanted.name)
        .map(|found| (wanted.depth(&around(&found)), found))
        .collect();
    let best = named.iter().map(|(depth, _)| *depth).max().unwrap_or(0);
    named.retain(|(depth, _)| *depth == best);
    let fits = best > 0 || wanted.is_relative();
    match named.as_slice() {
        [] => Err(absent(format!(
            ", and {} knows no symbol of that name ({trust}): check the spelling, or `grep` for it",
            answer.server
        ))
        .into()),
        [(_, one)] if fits => {
            let snapshot = one.place.snapshot.clone();
            let at = name_in(&snapshot, one.place.range, &wanted.name);
            Ok(Aim::At(Spot {
                snapshot,
                at,
                by_name: true,
                line: None,
            }))
        }
        several => {
            if fits && let Some(at) = one_thing(call, several, &wanted.name).await {
                return Ok(Aim::At(at));
            }
            let mut text = head(symbol, several.len(), "the project");
            for (_, found) in several.iter().take(LISTED) {
                text.push_str(&super::outline::found_line(found, cx));
            }
            let truncated = several.len() > LISTED;
            Ok(Aim::Several(Output {
                text,
                truncated,
                ..Output::default()
            }))
        }
    }
}

/// Servers list a thing again where it is exported again: then it is the one that all of them lead to.
async fn one_thing(call: &Call<'_>, found: &[(usize, FoundSymbol)], name: &str) -> Option<Spot> {
    const FEW: usize = 4;
    if found.len() > FEW {
        return None;
    }
    let mut thing: Option<Location> = None;
    for (_, symbol) in found {
        let place = &symbol.place;
        let at = name_in(&place.snapshot, place.range, name);
        let uri = &place.snapshot.uri;
        let answer = call
            .cx
            .pool
            .definition(uri, at, &call.cx.cancel)
            .await
            .ok()?;
        let [to] = answer.value.as_slice() else {
            return None;
        };
        if let Some(known) = &thing
            && !same(std::slice::from_ref(known), std::slice::from_ref(to))
        {
            return None;
        }
        thing = Some(to.clone());
    }
    let Location { snapshot, range } = thing?;
    Some(Spot {
        at: name_in(&snapshot, range, name),
        snapshot,
        by_name: true,
        line: None,
    })
}

fn around(found: &FoundSymbol) -> Vec<String> {
    let path = found.place.snapshot.uri.path();
    let parts = path.into_iter().flat_map(|path| path.iter());
    let mut around: Vec<String> = parts
        .map(|part| part.to_string_lossy().into_owned())
        .collect();
    around.extend(found.container.clone());
    around.extend(bare(&found.name).0.map(str::to_owned));
    around
}

fn head(symbol: &str, number: usize, place: &str) -> String {
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
async fn candidates(
    call: &Call<'_>,
    symbol: &str,
    snapshot: &Snapshot,
    places: &[ByteOffset],
) -> Output {
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
