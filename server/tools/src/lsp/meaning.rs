//! What a name means that a file does not declare: what its uses there lead to, else the symbol of the project that has
//! it. What could be several things is listed, and never guessed.

use std::collections::BTreeSet;

use langserver::{FoundSymbol, Location, QueryError, Symbol};
use workspace::{ByteOffset, ByteRange, DocumentUri};

use super::{
    Call, Unanswered,
    at::{Aim, LISTED, Spot, candidates, has_body, head},
    covers,
    left_out::LeftOut,
    line_of,
    names::{bare, is_module_name, name_in, occurrences},
    outline::found_line,
    outlines::{is_constructor, is_module, is_type},
    trust,
    wanted::{Fit, Near, Wanted},
};
use crate::tool::{Output, ToolError};

/// How many places are asked what they mean, to find out whether they all mean the same. Of more that is not found out.
const ASKED: usize = 40;

/// What else than a module has its name where the file uses it, if that is one thing and not to be changed.
pub async fn beside_module(
    call: &Call<'_>,
    wanted: &Wanted,
    module: ByteOffset,
) -> Result<Option<Aim>, Unanswered> {
    let mut found = occurrences(&call.file.snapshot, &wanted.name);
    found.retain(|at| *at != module);
    if found.is_empty() || found.len() > ASKED || call.input.operation.changes() {
        return Ok(None);
    }
    let Some(leads) = leads(call, &found).await? else {
        return Ok(None);
    };
    let mut meanings = Meaning::all(call, wanted, leads).await;
    meanings.retain(|meaning| {
        let fits = !wanted.is_qualified() || meaning.fit.near.is_sure();
        fits && !meaning.is_module
    });
    let places = distinct(meanings, false);
    Ok(match places.as_slice() {
        [one] => Some(Aim::At(Spot::named(&call.file.snapshot, *one))),
        _ => None,
    })
}

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
    let Some(leads) = leads(call, found).await? else {
        return Ok(untold().await);
    };
    let places = match leads.as_slice() {
        [] => {
            return match in_the_project(call, symbol, wanted).await {
                Ok(Named::Found(aim, _)) => Ok(aim),
                Ok(Named::Nothing(_)) | Err(Unanswered::Server(QueryError::Failed { .. })) => {
                    Ok(untold().await)
                }
                Err(error) => Err(error),
            };
        }
        [one] if !wanted.is_qualified() => vec![one.from[0]],
        _ => {
            let mut meanings = Meaning::all(call, wanted, leads).await;
            let near = Wanted::best(&mut meanings, |meaning| meaning.fit);
            // It may be qualified by what only the file calls so: a variable, another name of a module.
            if !near.is_sure()
                && let Some(other) = member_in_the_project(call, symbol, wanted).await?
            {
                return Ok(other);
            }
            distinct(meanings, call.input.operation.changes())
        }
    };
    Ok(match places.as_slice() {
        [one] => Aim::At(Spot::named(snapshot, *one)),
        several => Aim::Several(candidates(call, symbol, several).await),
    })
}

/// What a qualified name means that the file does not declare so: what its uses there lead to, else what the project has,
/// if it is in what was named.
pub async fn of_member(
    call: &Call<'_>,
    symbol: &str,
    wanted: &Wanted,
) -> Result<Option<Aim>, Unanswered> {
    let snapshot = &call.file.snapshot;
    let found = occurrences(snapshot, &wanted.name);
    if found.len() <= ASKED
        && let Some(leads) = leads(call, &found).await?
    {
        let mut meanings = Meaning::all(call, wanted, leads).await;
        if Wanted::best(&mut meanings, |meaning| meaning.fit).is_inside() {
            let places = distinct(meanings, call.input.operation.changes());
            return Ok(Some(match places.as_slice() {
                [one] => Aim::At(Spot::named(snapshot, *one)),
                several => Aim::Several(candidates(call, symbol, several).await),
            }));
        }
    }
    member_in_the_project(call, symbol, wanted).await
}

/// The symbols of the project that are in what was named.
async fn member_in_the_project(
    call: &Call<'_>,
    symbol: &str,
    wanted: &Wanted,
) -> Result<Option<Aim>, Unanswered> {
    match in_the_project(call, symbol, wanted).await {
        Ok(Named::Found(aim, near)) if near.is_inside() => Ok(Some(aim)),
        Ok(_) | Err(Unanswered::Server(QueryError::Failed { .. })) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Places that lead to the same places.
struct Lead {
    /// At least one.
    from: Vec<ByteOffset>,
    to: Vec<Location>,
}

/// Where these places lead to, those that lead anywhere; `None` if that can't be told.
async fn leads(call: &Call<'_>, found: &[ByteOffset]) -> Result<Option<Vec<Lead>>, Unanswered> {
    let snapshot = &call.file.snapshot;
    let mut leads: Vec<Lead> = Vec::new();
    for at in found {
        let (pool, cancel) = (&call.cx.pool, &call.cx.cancel);
        let answer = match pool.definition(snapshot, *at, cancel).await {
            Ok(answer) => answer,
            Err(QueryError::NotSupported { .. }) => return Ok(None),
            // Some fail where nothing is meant.
            Err(QueryError::Failed { .. }) => continue,
            Err(error) => return Err(error.into()),
        };
        // Each would be waited for, and none could be relied on.
        if answer.is_early() {
            return Ok(None);
        }
        // Nothing is meant in a comment or a string.
        if !answer.value.is_empty() || answer.left_out > 0 {
            let to = answer.value;
            match leads.iter_mut().find(|lead| is_same_as(&lead.to, &to)) {
                Some(lead) => lead.from.push(*at),
                None => leads.push(Lead {
                    from: vec![*at],
                    to,
                }),
            }
        }
    }
    Ok(Some(leads))
}

fn is_same_as(one: &[Location], other: &[Location]) -> bool {
    let is_there = |place: &Location| {
        other.iter().any(|other| {
            other.snapshot.uri == place.snapshot.uri && other.range.start == place.range.start
        })
    };
    one.len() == other.len() && one.iter().all(is_there)
}

/// What a place leads to.
struct Meaning {
    /// At least one place.
    from: Vec<ByteOffset>,
    things: BTreeSet<Thing>,
    /// How well it fits what the name should be in.
    fit: Fit,
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
    async fn all(call: &Call<'_>, wanted: &Wanted, leads: Vec<Lead>) -> Vec<Self> {
        let mut all = Vec::with_capacity(leads.len());
        for lead in leads {
            all.push(Self::of(call, wanted, lead).await);
        }
        all
    }

    async fn of(call: &Call<'_>, wanted: &Wanted, Lead { from, to }: Lead) -> Self {
        let here = &call.file.snapshot.uri;
        let leads_to = match to.as_slice() {
            [one] if one.snapshot.uri == *here => Some(one.range.start),
            _ => None,
        };
        let (mut things, mut is_module) = (BTreeSet::new(), !to.is_empty());
        let mut fit = Fit::default();
        for location in &to {
            let found = found(call, wanted, location).await;
            fit = fit.max(wanted.fit(&location.snapshot.uri, &found.around));
            things.insert(found.thing);
            is_module &= found.is_module;
        }
        Self {
            from,
            things,
            fit,
            leads_to,
            is_module,
        }
    }
}

/// What is declared at a place.
struct Found {
    thing: Thing,
    /// What it is in, from the outermost, if that is known.
    around: Vec<String>,
    is_module: bool,
}

async fn found(call: &Call<'_>, wanted: &Wanted, location: &Location) -> Found {
    let Location { snapshot, range } = location;
    let uri = snapshot.uri.clone();
    let place = |around, is_module| Found {
        thing: Thing::Place {
            uri: uri.clone(),
            at: range.start,
        },
        around,
        is_module,
    };
    if is_module_name(snapshot, *range, &wanted.name) {
        return place(Vec::new(), true);
    }
    let Some(outline) = call.outlines.soon(snapshot).await else {
        return place(Vec::new(), false);
    };
    let is_here = |name| covers(name, *range) || covers(*range, name);
    let symbol = outline.declared_at(*range);
    let Some(mut symbol) = symbol.filter(|symbol| is_here(symbol.selection)) else {
        return place(Vec::new(), false);
    };
    let mut around = outline.around(symbol.selection);
    let names = |around: &[&Symbol]| -> Vec<String> {
        let receiver = bare(&symbol.name).0;
        let names = around.iter().map(|one| one.name.as_str());
        names.chain(receiver).map(str::to_owned).collect()
    };
    let lies_in = names(&around);
    if call.input.operation.changes() || is_module(symbol.kind) {
        return place(lies_in, is_module(symbol.kind));
    }
    if is_constructor(symbol.kind)
        && let Some(made) = around.pop_if(|made| is_type(made.kind))
    {
        symbol = made;
    }
    Found {
        thing: Thing::Declared {
            uri,
            around: around.iter().map(|one| one.name.clone()).collect(),
            kind: symbol.kind.0,
        },
        around: lies_in,
        is_module: false,
    }
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
        .flat_map(|meaning| {
            let from = meaning.from.iter().copied();
            from.filter(|at| meaning.leads_to != Some(*at))
        })
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
    known.iter().map(|meaning| meaning.from[0]).collect()
}

/// What the project has by a name.
pub enum Named {
    Found(Aim, Near),
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
        let text = format!("`{symbol}` does not stand in {shown}{rest}");
        let error = ToolError::Failed(text.trim_end().to_owned());
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
    let left_out = LeftOut::of(&answer);
    let not_shown = left_out.lines();
    let named = answer
        .value
        .into_iter()
        .filter(|found| bare(&found.name).1 == wanted.name);
    let mut named: Vec<(Fit, FoundSymbol)> =
        named.map(|found| (fit(wanted, &found), found)).collect();
    if !named.iter().any(|(fit, _)| fit.near.is_inside()) {
        look_around(call, wanted, &mut named).await;
    }
    let near = Wanted::best(&mut named, |(fit, _)| *fit);
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
    let fits = near > Near::Elsewhere;
    let Some(first) = named.first() else {
        return nothing(format!(
            ", and {} knows no symbol of that name{} ({trust}): check the spelling, or `grep` for it\n{not_shown}",
            answer.server,
            left_out.but()
        ));
    };
    let is_one = match named.len() {
        1 => true,
        _ => !call.input.operation.changes() && named.iter().all(|other| is_same(first, other)),
    };
    if fits && is_one {
        let spots = named.iter().map(|one| spot_of(&one.place, &wanted.name));
        let mut spots: Vec<Spot> = spots.collect();
        spots.sort_by_key(|spot| spot.at);
        let lines = spots.iter().map(|spot| line_of(&spot.snapshot, spot.at));
        let declared = lines.collect();
        let whole = |one: &&FoundSymbol| {
            let Location { snapshot, range } = &one.place;
            has_body(&snapshot.text.slice(*range))
        };
        let mut whole = named.iter().filter(whole);
        let spot = match (whole.next(), whole.next()) {
            (Some(one), None) => spot_of(&one.place, &wanted.name),
            _ => spots.swap_remove(0),
        };
        return Ok(Named::Found(Aim::At(Spot { declared, ..spot }), near));
    }
    if fits && let Some(spot) = one_thing(call, &named, &wanted.name).await {
        return Ok(Named::Found(Aim::At(spot), near));
    }
    let mut text = head(symbol, named.len(), "the project");
    for found in named.iter().take(LISTED) {
        text.push_str(&found_line(found, cx));
    }
    text.push_str(&not_shown);
    let truncated = named.len() > LISTED || left_out.is_any();
    let several = Aim::Several(Output {
        text,
        truncated,
        ..Output::default()
    });
    Ok(Named::Found(several, near))
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
        let answer = pool.definition(&snapshot, at, cancel).await.ok()?;
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

/// Not every server says what a symbol is in: then its file's outline does, if it can be had soon.
async fn look_around(call: &Call<'_>, wanted: &Wanted, named: &mut [(Fit, FoundSymbol)]) {
    if !wanted.is_qualified() {
        return;
    }
    let texts = named.iter().map(|(_, found)| &found.place.snapshot);
    call.outlines.ahead(texts).await;
    for (fit, found) in named {
        let Location { snapshot, range } = &found.place;
        let Some(outline) = call.outlines.soon(snapshot).await else {
            continue;
        };
        let at = name_in(snapshot, *range, &wanted.name);
        if let Some(symbol) = outline.declared_at(ByteRange { start: at, end: at }) {
            let around = outline.around(symbol.selection);
            let names: Vec<&str> = around.iter().map(|one| one.name.as_str()).collect();
            *fit = (*fit).max(wanted.fit(&snapshot.uri, &names));
        }
    }
}

/// How well a symbol fits what the name should be in.
pub fn fit(wanted: &Wanted, found: &FoundSymbol) -> Fit {
    let container = found.container.as_deref();
    let receiver = bare(&found.name).0;
    let around: Vec<&str> = container.into_iter().chain(receiver).collect();
    wanted.fit(&found.place.snapshot.uri, &around)
}
