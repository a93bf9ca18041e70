//! Places: where something is declared, with the declaration itself; where it is used or implemented.

use std::fmt::Write as _;

use langserver::{Answer, Location, Symbol};
use workspace::{ByteRange, Snapshot};

use super::{
    Call, Spot, at::has_body, count, left_out::LeftOut, line_of, line_text, listing,
    outlines::is_callable, position, trust,
};
use crate::tool::Output;

/// A declaration with at most so many lines is shown whole.
const WHOLE: usize = 12;
/// How many lines are shown of a longer one, of its comment, and of its members.
const HEAD: u32 = 8;
const COMMENT: u32 = 4;
const MEMBERS: usize = 16;
/// How many declarations are shown; any more are listed.
const SHOWN: usize = 3;

/// Where something is declared: few places, each with its text.
pub async fn declarations(
    call: &Call<'_>,
    spot: &Spot,
    what: &str,
    answer: &Answer<Vec<Location>>,
) -> Output {
    if let Some((location, meant)) = with_a_body(call, &answer.value).await {
        let mut text = declaration(call, location, &format!(" ({})", trust(answer))).await;
        text.push_str(&LeftOut::of(answer).lines());
        let mut output = Output::text(text);
        // Who named one of them is told so anyway.
        if spot.declared.len() < 2 {
            output.add(meant.note(call.cx));
        }
        return output;
    }
    if answer.value.is_empty() || answer.value.len() + answer.outside > SHOWN {
        return uses(call, spot, what, answer).await;
    }
    let trust = trust(answer);
    let mut text = match answer.value.len() {
        1 => String::new(),
        many => format!("{} ({trust}):\n", count(many, what)),
    };
    let note = match answer.value.len() {
        1 => format!(" ({trust})"),
        _ => String::new(),
    };
    for location in &answer.value {
        text.push_str(&declaration(call, location, &note).await);
    }
    text.push_str(&LeftOut::of(answer).lines());
    Output::text(text)
}

/// The one of several declarations side by side that has a body, if only one has: the others are its overloads.
async fn with_a_body<'a>(call: &Call<'_>, found: &'a [Location]) -> Option<(&'a Location, Spot)> {
    let [Location { snapshot, .. }, _, ..] = found else {
        return None;
    };
    if found.iter().any(|one| one.snapshot.uri != snapshot.uri) {
        return None;
    }
    let outline = call.outlines.soon(snapshot).await?;
    let symbols: Vec<&Symbol> = found
        .iter()
        .map(|one| outline.declared_at(one.range))
        .collect::<Option<_>>()?;
    let is_alike = |symbol: &Symbol| {
        let around = |symbol: &Symbol| -> Vec<ByteRange> {
            let around = outline.around(symbol.selection);
            around.iter().map(|one| one.range).collect()
        };
        let first = symbols[0];
        symbol.name == first.name && symbol.kind == first.kind && around(symbol) == around(first)
    };
    if !symbols.iter().all(|symbol| is_alike(symbol)) {
        return None;
    }
    let has_body =
        |(_, symbol): &(&Location, &&Symbol)| has_body(&snapshot.text.slice(symbol.range));
    let mut bodies = found.iter().zip(&symbols).filter(has_body);
    let ((location, symbol), None) = (bodies.next()?, bodies.next()) else {
        return None;
    };
    let mut declared: Vec<u32> = symbols
        .iter()
        .map(|symbol| line_of(snapshot, symbol.selection.start))
        .collect();
    declared.sort_unstable();
    let spot = Spot {
        declared,
        ..Spot::named(snapshot, symbol.selection.start)
    };
    Some((location, spot))
}

/// Where something is used: many places, listed.
pub async fn uses(
    call: &Call<'_>,
    spot: &Spot,
    what: &str,
    answer: &Answer<Vec<Location>>,
) -> Output {
    let left_out = LeftOut::of(answer);
    if answer.value.is_empty() && answer.outside == 0 {
        return Output {
            text: format!(
                "No {what} of {}: {} found none{} ({})\n{}",
                spot.described(call.cx),
                answer.server,
                left_out.but(),
                trust(answer),
                left_out.lines()
            ),
            truncated: left_out.is_any(),
            ..Output::default()
        };
    }
    let of = match spot.by_name {
        true => format!(" of {}", spot.described(call.cx)),
        false => String::new(),
    };
    let listing = listing::listing(call, (what, &of), &spot.snapshot, answer).await;
    Output {
        text: format!(
            "{} ({}):\n{}{}",
            listing.summary,
            trust(answer),
            listing.body,
            left_out.lines()
        ),
        truncated: listing.truncated || left_out.is_any(),
        ..Output::default()
    }
}

/// `path:line:column`, and as much of the declaration as saves reading the file.
async fn declaration(call: &Call<'_>, location: &Location, note: &str) -> String {
    let Location { snapshot, range } = location;
    let (line, column) = position(snapshot, range.start);
    let mut text = format!("{}:{line}:{column}", call.cx.shown(&snapshot.uri));
    let outline = call.outlines.soon(snapshot).await;
    let outline = outline.as_deref();
    let symbol = outline.and_then(|outline| outline.declared_at(*range));
    let around = outline.and_then(|outline| {
        let place = symbol.map_or(*range, |symbol| symbol.selection);
        outline.around(place).last().map(|last| last.name.clone())
    });
    if let Some(around) = around {
        let _ = write!(text, " in {around}");
    }
    text.push_str(note);
    text.push('\n');
    let lines_of = |symbol: &Symbol| {
        let line = |at| line_of(snapshot, at);
        (line(symbol.range.start), line(symbol.range.end))
    };
    let (first, last) = symbol.map_or((line, line), lines_of);
    let first = first_of_comment(snapshot, first.min(line));
    let last = last.max(line);
    if (last - first) as usize >= WHOLE {
        head(&mut text, snapshot, (first, line, last), symbol);
    } else {
        for line in first..=last {
            put(&mut text, snapshot, line);
        }
    }
    text
}

fn put(text: &mut String, snapshot: &Snapshot, line: u32) {
    let whole = snapshot.text.line(line.saturating_sub(1) as usize);
    // Indentation matters to some languages.
    let whole = whole.unwrap_or_default();
    let indent: String = whole.chars().take_while(|c| c.is_whitespace()).collect();
    let _ = writeln!(text, "{indent}{}", line_text(snapshot, line, 1));
}

/// A long declaration: the first paragraph of its comment, how it begins, and of a type its members.
fn head(
    text: &mut String,
    snapshot: &Snapshot,
    (first, name, last): (u32, u32, u32),
    symbol: Option<&Symbol>,
) {
    let line_at = |line: u32| {
        let whole = snapshot.text.line(line.saturating_sub(1) as usize);
        whole.unwrap_or_default().trim().to_owned()
    };
    let says_nothing = |line: &str| !line.chars().any(char::is_alphanumeric);
    for line in first..name.min(first + COMMENT) {
        let comment = line_at(line);
        if says_nothing(&comment) && line > first {
            break;
        }
        put(text, snapshot, line);
    }
    let mut next = name;
    while next <= last && next < name + HEAD {
        put(text, snapshot, next);
        next += 1;
        if line_at(next - 1).ends_with(['{', ':', ';']) {
            break;
        }
    }
    let members = symbol
        .filter(|symbol| !is_callable(symbol.kind))
        .map_or(&[][..], |symbol| &symbol.children);
    let mut above = next - 1;
    for member in members.iter().take(MEMBERS) {
        let line = line_of(snapshot, member.selection.start);
        if line > above {
            put(text, snapshot, line);
            above = line;
        }
    }
    let _ = writeln!(text, "… [to line {last}]");
}

/// The first line of the comment and the attributes right above a line.
fn first_of_comment(snapshot: &Snapshot, line: u32) -> u32 {
    const MARKS: [&str; 8] = ["///", "//", "/**", "/*", "*", "#", "@", "--"];
    const MOST: u32 = 40;
    let mut first = line;
    while first > 1 && line - first < MOST {
        let above = snapshot.text.line(first as usize - 2).unwrap_or_default();
        let above = above.trim();
        // What is said of the file is not said of its first declaration.
        if above.starts_with("//!") || !MARKS.iter().any(|mark| above.starts_with(mark)) {
            break;
        }
        first -= 1;
    }
    first
}
