//! Many places as a list: by file, the nearest first, under what they lie in, tests apart, and cut with how to get the
//! rest.

use std::{collections::BTreeMap, fmt::Write as _, path::Path};

use langserver::Location;
use workspace::{DocumentUri, Snapshot};

use super::{
    Call, count, line_text, position,
    tests_apart::{is_test_name, is_test_path, test_module},
};

/// How many lines are shown with their text, of the code and of its tests.
const LINES: (usize, usize) = (40, 8);
/// The same if the call narrowed the files down.
const NARROWED: (usize, usize) = (300, 300);
/// Of more than that, only what they lie in is named: so many times, then files alone.
const NAMES: usize = 120;
/// So many columns of one line are told, and so many lines of what they lie in: generated code has thousands.
const COLUMNS: usize = 20;
const NUMBERS: usize = 60;
/// How many files are named alone.
const FILES: usize = 20;

/// Places of one line.
struct Line {
    number: u32,
    columns: Vec<u32>,
    text: String,
    /// What it lies in.
    inside: Option<String>,
}

/// One file's places, of its code or of its tests.
struct Group {
    shown: String,
    lines: Vec<Line>,
}

impl Group {
    fn places(&self) -> usize {
        self.lines.iter().map(|line| line.columns.len()).sum()
    }
}

/// A list, and what its first line should say.
pub struct Listing {
    pub summary: String,
    pub body: String,
    pub truncated: bool,
}

pub async fn listing(call: &Call<'_>, what: &str, near: &Snapshot, found: &[Location]) -> Listing {
    let filter = call.input.query.as_deref().map(str::trim);
    let filter = filter.filter(|filter| !filter.is_empty());
    let (code, tests) = grouped(call, near, found, filter).await;
    let total = |groups: &[Group]| groups.iter().map(Group::places).sum::<usize>();
    let (in_code, in_tests) = (total(&code), total(&tests));
    let files = |groups: &[Group]| match groups.len() {
        1 => "1 file".to_owned(),
        many => format!("{many} files"),
    };
    let mut summary = match (in_code, in_tests) {
        (0, 0) => count(0, what),
        (0, _) => format!("{} in {}, all tests", count(in_tests, what), files(&tests)),
        (_, 0) => format!("{} in {}", count(in_code, what), files(&code)),
        _ => format!(
            "{} in {}; {in_tests} more in tests",
            count(in_code, what),
            files(&code)
        ),
    };
    if let Some(filter) = filter {
        let _ = write!(summary, "; paths with \"{filter}\" only");
    }
    let limits = if filter.is_some() { NARROWED } else { LINES };
    let lines = |groups: &[Group]| groups.iter().map(|group| group.lines.len()).sum::<usize>();
    let mut body = String::new();
    let (all_code, all_tests) = (lines(&code) <= limits.0, lines(&tests) <= limits.1);
    if all_code {
        write_whole(&mut body, &code);
    } else {
        write_names(&mut body, &code);
    }
    if !tests.is_empty() {
        let heading = if in_code > 0 { "in tests" } else { "tests" };
        if all_tests {
            let _ = writeln!(body, "{heading}:");
            write_whole(&mut body, &tests);
        } else {
            let _ = writeln!(body, "{heading}: {}", named(&tests));
        }
    }
    let truncated = !(all_code && all_tests);
    if truncated {
        body.push_str("[lines without text: `query` with a part of a path shows them]\n");
    }
    Listing {
        summary,
        body,
        truncated,
    }
}

async fn grouped(
    call: &Call<'_>,
    near: &Snapshot,
    found: &[Location],
    filter: Option<&str>,
) -> (Vec<Group>, Vec<Group>) {
    let mut files: BTreeMap<DocumentUri, Vec<&Location>> = BTreeMap::new();
    for location in found {
        files
            .entry(location.snapshot.uri.clone())
            .or_default()
            .push(location);
    }
    let mut files: Vec<_> = files
        .into_values()
        .map(|places| (call.cx.shown(&places[0].snapshot.uri), places))
        .filter(|(shown, _)| filter.is_none_or(|filter| shown.contains(filter)))
        .collect();
    files.sort_by_cached_key(|(shown, places)| {
        let uri = &places[0].snapshot.uri;
        (
            is_test_path(shown),
            distance(near.uri.path(), uri.path()),
            shown.clone(),
        )
    });
    let (mut code, mut tests) = (Vec::new(), Vec::new());
    for (shown, mut places) in files {
        places.sort_by_key(|place| place.range);
        places.dedup_by_key(|place| place.range);
        let snapshot = &places[0].snapshot;
        let outline = call.outlines.soon(snapshot).await;
        let whole = is_test_path(&shown);
        let module = test_module(snapshot);
        let (mut ours, mut theirs): (Vec<Line>, Vec<Line>) = (Vec::new(), Vec::new());
        for place in places {
            let (line, column) = position(snapshot, place.range.start);
            let around = outline.as_ref().map(|outline| outline.around(place.range));
            let in_test = around
                .iter()
                .flatten()
                .any(|symbol| is_test_name(&symbol.name));
            let in_module = module.is_some_and(|from| from <= place.range.start);
            let is_test = whole || in_test || in_module;
            let lines = if is_test { &mut theirs } else { &mut ours };
            match lines.last_mut() {
                Some(last) if last.number == line => last.columns.push(column),
                _ => lines.push(Line {
                    number: line,
                    columns: vec![column],
                    text: line_text(snapshot, line, column),
                    inside: outline
                        .as_ref()
                        .and_then(|outline| outline.enclosing(place.range)),
                }),
            }
        }
        for (groups, lines) in [(&mut code, ours), (&mut tests, theirs)] {
            if !lines.is_empty() {
                groups.push(Group {
                    shown: shown.clone(),
                    lines,
                });
            }
        }
    }
    (code, tests)
}

/// How many folders lie between two files.
fn distance(from: Option<&Path>, to: Option<&Path>) -> usize {
    let (Some(from), Some(to)) = (from, to) else {
        return usize::MAX;
    };
    if from == to {
        return 0;
    }
    let common = from
        .components()
        .zip(to.components())
        .take_while(|(one, other)| one == other)
        .count();
    from.components().count() + to.components().count() - 2 * common
}

/// Every line with its text, under what it lies in.
fn write_whole(body: &mut String, groups: &[Group]) {
    for group in groups {
        body.push_str(&group.shown);
        body.push('\n');
        let mut inside: Option<&str> = None;
        for line in &group.lines {
            let now = line.inside.as_deref();
            if now != inside
                && let Some(now) = now
            {
                let _ = writeln!(body, " in {now}");
            }
            inside = now;
            let columns = first_of(&line.columns, COLUMNS);
            let indent = if now.is_some() { "  " } else { " " };
            let _ = writeln!(body, "{indent}{}:{columns} {}", line.number, line.text);
        }
    }
}

/// What they lie in, with the numbers of their lines.
fn write_names(body: &mut String, groups: &[Group]) {
    let mut left = NAMES;
    for (at, group) in groups.iter().enumerate() {
        if left == 0 {
            let _ = writeln!(body, "more: {}", named(&groups[at..]));
            return;
        }
        let mut names: Vec<(&str, Vec<u32>)> = Vec::new();
        for line in &group.lines {
            let inside = line.inside.as_deref().unwrap_or("");
            match names.last_mut() {
                Some((last, numbers)) if *last == inside => numbers.push(line.number),
                _ => names.push((inside, vec![line.number])),
            }
        }
        let cut = names.len().saturating_sub(left);
        let names = names.iter().take(left).map(|(name, numbers)| {
            let between = if name.is_empty() { "" } else { " " };
            format!("{name}{between}{}", first_of(numbers, NUMBERS))
        });
        let mut names: Vec<String> = names.collect();
        left -= names.len();
        if cut > 0 {
            names.push(format!("and {cut} more"));
        }
        let _ = writeln!(body, "{}: {}", group.shown, names.join("; "));
    }
}

fn first_of(numbers: &[u32], most: usize) -> String {
    let shown: Vec<String> = numbers.iter().take(most).map(u32::to_string).collect();
    let more = match numbers.len().saturating_sub(most) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", shown.join(","))
}

/// Files with how many places they have.
fn named(groups: &[Group]) -> String {
    let files: Vec<String> = groups
        .iter()
        .take(FILES)
        .map(|group| format!("{} ({})", group.shown, group.places()))
        .collect();
    let more = match groups.len() > FILES {
        true => format!(" and {} files more", groups.len() - FILES),
        false => String::new(),
    };
    format!("{}{more}", files.join(", "))
}
