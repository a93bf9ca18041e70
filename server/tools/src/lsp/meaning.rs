//! What a name means that a file does not declare: what its uses there lead to, else the symbol of the project that has
//! it. What could be several things is listed, and never guessed.

use std::collections::BTreeSet;

use langserver::{FoundSymbol, Location, QueryError};
use workspace::{ByteOffset, DocumentUri};

use super::{
    Call, Unanswered,
    at::{Aim, LISTED, Spot, Wanted, candidates, head},
    covers, line_of,
    names::{bare, is_module_name, name_in},
    outline::found_line,
    outlines::{is_constructor, is_module, is_type},
    trust,
};
use crate::tool::{Output, ToolError};

/// How many places are asked what they mean, to find out whether they all mean the same. Of more that is not found out.
const ASKED: usize = 40;

/// A name that stands in the text: fine if all places that mean something mean the same.
pub async fn of_uses(
    call: &Call<'_>,
    symbol: &str,
    wanted: &Wanted,
    found: &[ByteOffset],
) -> Result<Aim, Unanswered> {
    let snapshot = &call.file.snapshot;
    // What can't be told apart is listed. One place need not be.
    let untold = async || match found {
        [one] => Aim::At(Spot::named(snapshot, *one)),
        _ => Aim::Several(candidates(call, symbol, found).await),
    };
    if found.len() > ASKED {
        return Ok(untold().await);
    }
    let mut meanings = Vec::new();
    for at in found {
        let (pool, cancel) = (&call.cx.pool, &call.cx.cancel);
        let answer = match pool.definition(&snapshot.uri, *at, cancel).await {
            Ok(answer) => answer,
            Err(QueryError::NotSupported { .. }) => return Ok(untold().await),
            // Some fail where nothing is meant.
            Err(QueryError::Failed { .. }) => continue,
            Err(error) => return Err(error.into()),
        };
        // Each would be waited for, and none could be relied on.
        if answer.is_early() {
            return Ok(untold().await);
        }
        // Nothing is meant in a comment or a string.
        if !answer.value.is_empty() || answer.left_out > 0 {
            meanings.push(Meaning::of(call, wanted, *at, &answer.value).await);
        }
    }
    if meanings.is_empty() {
        return match in_the_project(call, symbol, wanted).await {
            Ok(Named::One(aim)) => Ok(aim),
            Ok(Named::Nothing(_)) | Err(Unanswered::Server(QueryError::Failed { .. })) => {
                Ok(untold().await)
            }
            Err(error) => Err(error),
        };
    }
    let places = distinct(meanings, call.input.operation.changes());
    Ok(match places.as_slice() {
        [one] => Aim::At(Spot::named(snapshot, *one)),
        several => Aim::Several(candidates(call, symbol, several).await),
    })
}

/// What a place leads to.
struct Meaning {
    at: ByteOffset,
    things: BTreeSet<Thing>,
    /// Where in this file, if it is one place there.
    leads_to: Option<ByteOffset>,
    /// It is a module, a file, a package: what a path or an import leads to.
    is_module: bool,
}

/// What is declared somewhere. Overloads and other declarations of one name side by side are one thing, and a constructor
/// is its class.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Thing {
    Declared {
        uri: DocumentUri,
        around: Vec<String>,
        kind: u8,
    },
    /// No more is known of it, or it is to be changed: then each declaration is one thing.
    Place { uri: DocumentUri, at: ByteOffset },
}

impl Meaning {
    async fn of(call: &Call<'_>, wanted: &Wanted, at: ByteOffset, found: &[Location]) -> Self {
        let here = &call.file.snapshot.uri;
        let leads_to = match found {
            [one] if one.snapshot.uri == *here => Some(one.range.start),
            _ => None,
        };
        let (mut things, mut is_module) = (BTreeSet::new(), !found.is_empty());
        for location in found {
            let (thing, is_one) = thing(call, wanted, location).await;
            things.insert(thing);
            is_module &= is_one;
        }
        Self {
            at,
            things,
            leads_to,
            is_module,
        }
    }
}

/// What is declared at a place, and whether that is a module.
async fn thing(call: &Call<'_>, wanted: &Wanted, location: &Location) -> (Thing, bool) {
    let Location { snapshot, range } = location;
    let uri = snapshot.uri.clone();
    let place = Thing::Place {
        uri: uri.clone(),
        at: range.start,
    };
    if is_module_name(snapshot, *range, &wanted.name) {
        return (place, true);
    }
    let Some(outline) = call.outlines.soon(snapshot).await else {
        return (place, false);
    };
    let is_here = |name| covers(name, *range) || covers(*range, name);
    let symbol = outline.declared_at(*range);
    let Some(mut symbol) = symbol.filter(|symbol| is_here(symbol.selection)) else {
        return (place, false);
    };
    if call.input.operation.changes() || is_module(symbol.kind) {
        return (place, is_module(symbol.kind));
    }
    let mut around = outline.around(symbol.selection);
    if is_constructor(symbol.kind)
        && let Some(made) = around.pop_if(|made| is_type(made.kind))
    {
        symbol = made;
    }
    let thing = Thing::Declared {
        uri,
        around: around.iter().map(|one| one.name.clone()).collect(),
        kind: symbol.kind.0,
    };
    (thing, false)
}

/// The first place of each meaning. A name's import means what it imports; what is a module gives way to what is not,
/// unless something is to be changed.
fn distinct(mut meanings: Vec<Meaning>, is_strict: bool) -> Vec<ByteOffset> {
    if !is_strict {
        prefer(&mut meanings, |meaning| !meaning.is_module);
    }
    // Servers that stop at an import lead from there to what it imports.
    let leads_on: Vec<ByteOffset> = meanings
        .iter()
        .filter(|meaning| meaning.leads_to != Some(meaning.at))
        .map(|meaning| meaning.at)
        .collect();
    prefer(&mut meanings, |meaning| {
        !meaning.leads_to.is_some_and(|at| leads_on.contains(&at))
    });
    let mut known: Vec<Meaning> = Vec::new();
    for meaning in meanings {
        if !known.iter().any(|known| known.things == meaning.things) {
            known.push(meaning);
        }
    }
    known.iter().map(|meaning| meaning.at).collect()
}

/// What the project has by a name.
pub enum Named {
    One(Aim),
    /// Nothing, and what is to be said then.
    Nothing(ToolError),
}

/// Symbols of exactly this name anywhere in the project.
pub async fn in_the_project(
    call: &Call<'_>,
    symbol: &str,
    wanted: &Wanted,
) -> Result<Named, Unanswered> {
    let cx = call.cx;
    let near = &call.file.snapshot.uri;
    let nothing = |rest: String| {
        let shown = &call.file.shown;
        let error = ToolError::Failed(format!("`{symbol}` does not stand in {shown}{rest}"));
        Ok(Named::Nothing(error))
    };
    let asked = cx.pool.workspace_symbols(near, &wanted.name, &cx.cancel);
    let answer = match asked.await {
        Ok(answer) => answer,
        Err(QueryError::NotSupported { name, .. }) => {
            return nothing(format!(
                ", and {name} finds no symbols by name: `grep` for it, and name the file that has it"
            ));
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
    let mut named: Vec<FoundSymbol> = named.into_iter().map(|(_, found)| found).collect();
    // A library's are not the project's.
    let is_inside = |found: &FoundSymbol| {
        let path = found.place.snapshot.uri.path();
        path.is_none_or(|path| cx.workspace.contains(path))
    };
    prefer(&mut named, is_inside);
    if !call.input.operation.changes() {
        prefer(&mut named, |found| !is_module(found.kind));
    }
    let fits = best > 0 || wanted.is_relative();
    let Some(first) = named.first() else {
        return nothing(format!(
            ", and {} knows no symbol of that name ({trust}): check the spelling, or `grep` for it",
            answer.server
        ));
    };
    let is_one = match named.len() {
        1 => true,
        _ => !call.input.operation.changes() && named.iter().all(|other| is_same(first, other)),
    };
    if fits && is_one {
        let mut spot = spot_of(&first.place, &wanted.name);
        let line = |one: &FoundSymbol| line_of(&one.place.snapshot, one.place.range.start);
        spot.declared = named.iter().map(line).collect();
        return Ok(Named::One(Aim::At(spot)));
    }
    if fits && let Some(spot) = one_thing(call, &named, &wanted.name).await {
        return Ok(Named::One(Aim::At(spot)));
    }
    let mut text = head(symbol, named.len(), "the project");
    for found in named.iter().take(LISTED) {
        text.push_str(&found_line(found, cx));
    }
    let truncated = named.len() > LISTED;
    Ok(Named::One(Aim::Several(Output {
        text,
        truncated,
        ..Output::default()
    })))
}

/// Only those of which it is so, if there are any.
pub fn prefer<T>(all: &mut Vec<T>, is_so: impl Fn(&T) -> bool) {
    if all.iter().any(&is_so) {
        all.retain(is_so);
    }
}

/// Whether they are declarations of one thing: in the same file, in the same container, of the same kind.
fn is_same(one: &FoundSymbol, other: &FoundSymbol) -> bool {
    one.place.snapshot.uri == other.place.snapshot.uri
        && one.container == other.container
        && one.kind == other.kind
        && bare(&one.name).0 == bare(&other.name).0
}

fn spot_of(place: &Location, name: &str) -> Spot {
    let at = name_in(&place.snapshot, place.range, name);
    Spot::named(&place.snapshot, at)
}

/// Servers list a thing again where it is exported again: then it is the one that all of them lead to.
async fn one_thing(call: &Call<'_>, found: &[FoundSymbol], name: &str) -> Option<Spot> {
    const FEW: usize = 4;
    if found.len() > FEW {
        return None;
    }
    let mut thing: Option<Location> = None;
    for symbol in found {
        let Spot { snapshot, at, .. } = spot_of(&symbol.place, name);
        let (pool, cancel) = (&call.cx.pool, &call.cx.cancel);
        let answer = pool.definition(&snapshot.uri, at, cancel).await.ok()?;
        let [to] = answer.value.as_slice() else {
            return None;
        };
        let is_other = |known: &Location| {
            known.snapshot.uri != to.snapshot.uri || known.range.start != to.range.start
        };
        if thing.as_ref().is_some_and(is_other) {
            return None;
        }
        thing = Some(to.clone());
    }
    Some(spot_of(&thing?, name))
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
