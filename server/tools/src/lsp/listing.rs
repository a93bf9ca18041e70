//! Many places as a list: by file, the nearest first, under what they lie in, tests apart, and cut with how to get the
//! rest.

use std::{collections::BTreeMap, fmt::Write as _, path::Path};

use langserver::{Answer, Location};
use workspace::{ByteRange, DocumentUri, Snapshot};

use super::{
    Call, count, line_text,
    outlines::Outline,
    position,
    tests_apart::{holds, is_test_name, is_test_path, test_modules},
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

/// A list of places, and how to begin it.
pub struct Listing {
    pub summary: String,
    pub body: String,
    pub truncated: bool,
}

/// Places of an answer, told apart.
#[derive(Default)]
struct Groups {
    code: Vec<Group>,
    tests: Vec<Group>,
    /// Those outside of the workspace, unless the call asked for their paths.
    outside: Vec<Group>,
}

/// `what` of `of` (empty, or with a space before it), as it is called in the summary.
pub async fn listing(
    call: &Call<'_>,
    (what, of): (&str, &str),
    near: &Snapshot,
    answer: &Answer<Vec<Location>>,
) -> Listing {
    let filter = call.input.part();
    let Groups {
        code,
        tests,
        outside,
    } = grouped(call, near, &answer.value, filter).await;
    let total = |groups: &[Group]| groups.iter().map(Group::places).sum::<usize>();
    let (in_code, in_tests) = (total(&code), total(&tests));
    // With a filter these are more of what it named.
    let beyond = total(&outside) + answer.outside;
    let files = |groups: &[Group]| count(groups.len(), "file");
    let mut summary = match (in_code, in_tests, beyond) {
        (0, 0, 0) => format!("{}{of}", count(0, what)),
        (0, 0, _) => format!("{}{of}, all outside the workspace", count(beyond, what)),
        (0, ..) => format!(
            "{}{of} in {}, all tests",
            count(in_tests, what),
            files(&tests)
        ),
        (_, 0, _) => format!("{}{of} in {}", count(in_code, what), files(&code)),
        _ => format!(
            "{}{of} in {}; {in_tests} more in tests",
            count(in_code, what),
            files(&code)
        ),
    };
    if beyond > 0 && in_code + in_tests > 0 {
        let _ = write!(summary, "; {beyond} more outside the workspace");
    }
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
    if !outside.is_empty() {
        if in_code + in_tests > 0 {
            body.push_str("outside the workspace:\n");
        }
        write_whole(&mut body, &outside);
    }
    if !(all_code && all_tests) {
        body.push_str("[lines without text: `query` with a part of a path shows them]\n");
    }
    if answer.outside > 0 {
        let _ = writeln!(
            body,
            "[{} more outside the workspace: `query` with a part of a path shows those in it]",
            answer.outside
        );
    }
    Listing {
        summary,
        body,
        truncated: !(all_code && all_tests) || answer.outside > 0,
    }
}

async fn grouped(
    call: &Call<'_>,
    near: &Snapshot,
    found: &[Location],
    filter: Option<&str>,
) -> Groups {
    let mut files: BTreeMap<DocumentUri, Vec<&Location>> = BTreeMap::new();
    for location in found {
        files
            .entry(location.snapshot.uri.clone())
            .or_default()
            .push(location);
    }
    let mut files: Vec<File<'_>> = files
        .into_values()
        .map(|places| File::new(call, places, filter))
        .filter(|file| filter.is_none_or(|filter| file.shown.contains(filter)))
        .collect();
    files.sort_by_cached_key(|file| {
        (
            file.is_apart,
            is_test_path(&file.shown),
            distance(near.uri.path(), file.snapshot.uri.path()),
            file.shown.clone(),
        )
    });
    // What places in a library lie in is not worth the wait.
    let ours = files.iter().filter(|file| !file.is_apart);
    call.outlines.ahead(ours.map(|file| file.snapshot)).await;
    let mut groups = Groups::default();
    for file in files {
        let group = |lines| Group {
            shown: file.shown.clone(),
            lines,
        };
        if file.is_apart {
            let (lines, _) = file.lines(None, |_| false);
            groups.outside.push(Group {
                shown: end_of(&file.shown),
                lines,
            });
            continue;
        }
        let outline = call.outlines.soon(file.snapshot).await;
        let (code, tests) = file.lines(outline.as_deref(), file.is_test(outline.as_deref()));
        for (groups, lines) in [(&mut groups.code, code), (&mut groups.tests, tests)] {
            if !lines.is_empty() {
                groups.push(group(lines));
            }
        }
    }
    groups
}

/// A file with places.
struct File<'a> {
    shown: String,
    snapshot: &'a Snapshot,
    places: Vec<&'a Location>,
    /// It lies outside of the workspace, and was not asked for by its path.
    is_apart: bool,
}

impl<'a> File<'a> {
    /// There is at least one place.
    fn new(call: &Call<'_>, mut places: Vec<&'a Location>, filter: Option<&str>) -> Self {
        places.sort_by_key(|place| place.range);
        places.dedup_by_key(|place| place.range);
        let snapshot = &places[0].snapshot;
        let path = snapshot.uri.path();
        Self {
            shown: call.cx.shown(&snapshot.uri),
            snapshot,
            is_apart: filter.is_none()
                && path.is_some_and(|path| !call.cx.workspace.contains(path)),
            places,
        }
    }

    /// Which of its places are tests.
    fn is_test(&self, outline: Option<&Outline>) -> impl Fn(ByteRange) -> bool {
        let whole = is_test_path(&self.shown);
        let modules = test_modules(self.snapshot);
        move |place| {
            let around = outline.map(|outline| outline.around(place));
            let mut around = around.iter().flatten();
            whole
                || modules.iter().any(|module| holds(module, place.start))
                || around.any(|symbol| is_test_name(&symbol.name))
        }
    }

    /// The lines of its places, and those of which this is so.
    fn lines(
        &self,
        outline: Option<&Outline>,
        is_other: impl Fn(ByteRange) -> bool,
    ) -> (Vec<Line>, Vec<Line>) {
        let (mut ours, mut others): (Vec<Line>, Vec<Line>) = (Vec::new(), Vec::new());
        for place in &self.places {
            let (line, column) = position(self.snapshot, place.range.start);
            let lines = match is_other(place.range) {
                true => &mut others,
                false => &mut ours,
            };
            match lines.last_mut() {
                Some(last) if last.number == line => last.columns.push(column),
                _ => lines.push(Line {
                    number: line,
                    columns: vec![column],
                    text: line_text(self.snapshot, line, column),
                    inside: outline.and_then(|outline| outline.enclosing(place.range)),
                }),
            }
        }
        (ours, others)
    }
}

/// The end of a path that is nobody's to read.
fn end_of(path: &str) -> String {
    const PARTS: usize = 5;
    let start = path.rmatch_indices(['/', '\\']).nth(PARTS - 1);
    start.map_or_else(|| path.to_owned(), |(at, _)| format!("…{}", &path[at..]))
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
