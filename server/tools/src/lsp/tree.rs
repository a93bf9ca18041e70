//! Hierarchies of calls and types, as trees to a depth. What is reached again is not gone through again; tests and what
//! lies outside of the workspace are named apart and not followed.

use std::{
    collections::{HashSet, VecDeque},
    fmt::Write as _,
    time::Duration,
};

use langserver::{Answer, Call as Edge, Caution, HierarchyItem, Location, QueryError};
use tokio::time::Instant;
use workspace::{ByteOffset, DocumentUri};

use super::{
    Call, Spot, Unanswered, count, language,
    left_out::LeftOut,
    line_of,
    outlines::{is_callable, is_type, type_name},
    rust_text::calling_macros,
    tests_apart::{TestModules, is_test_name, is_test_path},
    trust, trust_of, unseen,
};
use crate::{
    context::Context,
    tool::{Output, ToolError},
};

/// How deep trees go if nothing is said.
const DEPTH: usize = 2;
const DEEPEST: usize = 8;
/// How many questions a tree may take, and how long all but the first of them.
const QUESTIONS: usize = 40;
const TIME: Duration = Duration::from_secs(10);
/// How many lines a tree has, and how many names stand beside it.
const LINES: usize = 80;
const ASIDE: usize = 15;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Incoming,
    Outgoing,
    Super,
    Sub,
    /// Only what stands there.
    Itself,
}

impl Way {
    fn noun(self) -> &'static str {
        match self {
            Self::Incoming => "caller",
            Self::Outgoing => "call",
            Self::Super => "supertype",
            Self::Sub => "subtype",
            Self::Itself => "function",
        }
    }

    fn is_of_calls(self) -> bool {
        matches!(self, Self::Incoming | Self::Outgoing | Self::Itself)
    }
}

struct Node {
    item: HierarchyItem,
    /// With the type that it belongs to, if that is known.
    name: String,
    /// Lines of the calls.
    sites: Vec<u32>,
    depth: usize,
    children: Vec<usize>,
    /// How many more children it has that are not shown.
    left_out: LeftOut,
    end: End,
}

/// Why a node has no children.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// It was asked, and has what it has.
    Known,
    /// It is above itself.
    Cycle,
    /// It is in the tree already.
    Again,
    /// Deeper than was asked for.
    Deep,
    /// Too many questions.
    Unasked,
}

pub async fn tree(call: &Call<'_>, spot: &Spot, way: Way) -> Result<Output, Unanswered> {
    let cx = call.cx;
    let (text, at) = (&spot.snapshot, spot.at);
    let roots = match way.is_of_calls() {
        true => cx.pool.call_hierarchy(text, at, &cx.cancel).await?,
        false => cx.pool.type_hierarchy(text, at, &cx.cancel).await?,
    };
    let left_out = LeftOut::of(&roots);
    if roots.value.is_empty() {
        let what = if way.is_of_calls() {
            "function"
        } else {
            "type"
        };
        return Ok(Output {
            text: format!(
                "No {what} at {}: {} found none{} ({})\n{}",
                spot.described(cx),
                roots.server,
                left_out.but(),
                trust(&roots),
                left_out.lines()
            ),
            truncated: left_out.is_any(),
            ..Output::default()
        });
    }
    if way == Way::Itself {
        let mut text = String::new();
        for root in &roots.value {
            let _ = writeln!(
                text,
                "{}{} ({})",
                line(root, &root.name, cx),
                detail(root),
                trust(&roots)
            );
        }
        text.push_str(&left_out.lines());
        return Ok(Output {
            text,
            truncated: left_out.is_any(),
            ..Output::default()
        });
    }
    let deepest = depth(call)?;
    let mut text = String::new();
    let mut not_shown = left_out;
    let mut truncated = false;
    let mut sites = unseen::Lines::new();
    for root in roots.value {
        let mut grown = Grown {
            nodes: Vec::new(),
            way,
            cx,
            tests: Vec::new(),
            outside: Vec::new(),
            more_outside: 0,
            macros: Vec::new(),
            complete: roots.complete,
            from_disk: roots.from_disk,
            caution: roots.caution.clone(),
            seen: HashSet::new(),
            test_modules: TestModules::default(),
            sites: unseen::Lines::new(),
            unasked: 0,
        };
        grown.grow(root, deepest).await?;
        grown.name(call).await;
        truncated |= grown.write(&mut text);
        not_shown += grown.left_out();
        sites.extend(grown.sites);
    }
    text.push_str(&not_shown.lines());
    let mut output = Output {
        text,
        truncated: truncated || not_shown.is_any(),
        ..Output::default()
    };
    if way == Way::Incoming && roots.complete {
        output.add(unseen::note(call, spot, &sites, &roots.server).await);
    }
    Ok(output)
}

fn depth(call: &Call<'_>) -> Result<usize, ToolError> {
    let Some(query) = call.input.query.as_deref().map(str::trim) else {
        return Ok(DEPTH);
    };
    match query.parse::<usize>() {
        Ok(depth) if depth > 0 => Ok(depth.min(DEEPEST)),
        _ => Err(ToolError::Input(format!(
            "`query` is how many levels the tree has here (1 to {DEEPEST}), not \"{query}\""
        ))),
    }
}

type Key = (DocumentUri, ByteOffset);

fn key(item: &HierarchyItem) -> Key {
    (item.place.snapshot.uri.clone(), item.place.range.start)
}

struct Grown<'a> {
    nodes: Vec<Node>,
    way: Way,
    cx: &'a Context,
    tests: Vec<String>,
    outside: Vec<String>,
    /// So many more lie there.
    more_outside: usize,
    /// Macros of whose calls the server says nothing.
    macros: Vec<String>,
    complete: bool,
    from_disk: bool,
    caution: Option<Caution>,
    seen: HashSet<Key>,
    test_modules: TestModules,
    /// The lines in which the root is called.
    sites: unseen::Lines,
    unasked: usize,
}

impl Grown<'_> {
    /// Level by level, so that what is near is there if not all can be.
    async fn grow(&mut self, root: HierarchyItem, deepest: usize) -> Result<(), QueryError> {
        let begun = Instant::now();
        self.seen.insert(key(&root));
        self.nodes.push(Node {
            name: root.name.clone(),
            item: root,
            sites: Vec::new(),
            depth: 0,
            children: Vec::new(),
            left_out: LeftOut::default(),
            end: End::Known,
        });
        let mut waiting = VecDeque::from([(0, HashSet::new())]);
        let mut asked = 0;
        while let Some((at, mut above)) = waiting.pop_front() {
            let depth = self.nodes[at].depth;
            if depth == deepest {
                self.nodes[at].end = End::Deep;
                continue;
            }
            if asked == QUESTIONS || (asked > 0 && begun.elapsed() > TIME) {
                self.nodes[at].end = End::Unasked;
                self.unasked += 1;
                continue;
            }
            asked += 1;
            let item = self.nodes[at].item.clone();
            let edges = match self.ask(&item).await {
                Ok((edges, left_out)) => {
                    self.nodes[at].left_out = left_out;
                    edges
                }
                Err(error) if asked == 1 || error == QueryError::Cancelled => return Err(error),
                Err(_) => {
                    self.nodes[at].end = End::Unasked;
                    self.unasked += 1;
                    continue;
                }
            };
            if self.way == Way::Outgoing {
                self.note_macros(&item, &edges);
            }
            above.insert(key(&item));
            if at == 0 {
                let sites = edges.iter().flat_map(|edge| &edge.sites);
                self.sites = unseen::lines_of(sites);
            }
            for edge in edges {
                if self.is_aside(&edge) {
                    continue;
                }
                let this = key(&edge.item);
                let end = match () {
                    () if above.contains(&this) => End::Cycle,
                    () if !self.seen.insert(this) => End::Again,
                    () => End::Known,
                };
                let child = self.nodes.len();
                let mut sites: Vec<u32> = edge
                    .sites
                    .iter()
                    .map(|site| line_of(&site.snapshot, site.range.start))
                    .collect();
                sites.sort_unstable();
                sites.dedup();
                self.nodes.push(Node {
                    name: edge.item.name.clone(),
                    item: edge.item,
                    sites,
                    depth: depth + 1,
                    children: Vec::new(),
                    left_out: LeftOut::default(),
                    end,
                });
                self.nodes[at].children.push(child);
                if end == End::Known {
                    waiting.push_back((child, above.clone()));
                }
            }
        }
        Ok(())
    }

    /// Methods are known by their types.
    async fn name(&mut self, call: &Call<'_>) {
        if !self.way.is_of_calls() {
            return;
        }
        let texts = self.nodes.iter().map(|node| &node.item.place.snapshot);
        call.outlines.ahead(texts).await;
        for node in &mut self.nodes {
            let place = &node.item.place;
            let Some(outline) = call.outlines.soon(&place.snapshot).await else {
                continue;
            };
            let owner = outline
                .around(place.range)
                .pop()
                .filter(|owner| is_type(owner.kind));
            if let Some(owner) = owner {
                node.name = format!("{}.{}", type_name(&owner.name), node.item.name);
            }
        }
    }

    /// The edges from an item, and how many more are not shown.
    async fn ask(&mut self, item: &HierarchyItem) -> Result<(Vec<Edge>, LeftOut), QueryError> {
        let (pool, cancel) = (&self.cx.pool, &self.cx.cancel);
        let of_types = |answer: Answer<Vec<HierarchyItem>>| Answer {
            value: answer
                .value
                .into_iter()
                .map(|item| Edge {
                    item,
                    sites: Vec::new(),
                })
                .collect(),
            complete: answer.complete,
            from_disk: answer.from_disk,
            caution: answer.caution,
            server: answer.server,
            left_out: answer.left_out,
            changed: answer.changed,
            outside: answer.outside,
        };
        let answer = match self.way {
            Way::Incoming => pool.incoming_calls(item, cancel).await?,
            Way::Outgoing | Way::Itself => pool.outgoing_calls(item, cancel).await?,
            Way::Super => of_types(pool.supertypes(item, cancel).await?),
            Way::Sub => of_types(pool.subtypes(item, cancel).await?),
        };
        self.complete &= answer.complete;
        self.from_disk |= answer.from_disk;
        let left_out = LeftOut::of(&answer);
        self.more_outside += answer.outside;
        self.caution = answer.caution.or(self.caution.take());
        let mut edges: Vec<Edge> = answer.value;
        edges.sort_by_cached_key(|edge| {
            let place = &edge.item.place;
            (self.cx.shown(&place.snapshot.uri), place.range)
        });
        Ok((edges, left_out))
    }

    /// Servers look for calls in what is written, and not in what a macro makes of it: where an item's macros are given
    /// some, it is said that they may be missing.
    fn note_macros(&mut self, item: &HierarchyItem, edges: &[Edge]) {
        let snapshot = &item.place.snapshot;
        if language(snapshot) != Some("rust") {
            return;
        }
        let shown = self.cx.shown(&snapshot.uri);
        let text = snapshot.text.slice(item.range);
        for found in calling_macros(&text) {
            let start = ByteOffset(item.range.start.0 + found.start);
            let end = ByteOffset(item.range.start.0 + found.end);
            let is_inside = |site: &Location| (start..end).contains(&site.range.start);
            let mut sites = edges.iter().flat_map(|edge| &edge.sites);
            if !sites.any(is_inside) {
                let line = line_of(snapshot, start);
                push_once(&mut self.macros, format!("{}! {shown}:{line}", found.name));
            }
        }
    }

    /// Whether an edge leads to where the tree does not go; then it is noted.
    fn is_aside(&mut self, edge: &Edge) -> bool {
        let item = &edge.item;
        let place = &item.place;
        let uri = &place.snapshot.uri;
        let shown = self.cx.shown(uri);
        if uri
            .path()
            .is_some_and(|path| !self.cx.workspace.contains(path))
        {
            push_once(&mut self.outside, item.name.clone());
            return true;
        }
        let is_test = is_test_path(&shown)
            || is_test_name(&item.name)
            || self.test_modules.hold(&place.snapshot, place.range.start);
        if is_test {
            let line = line_of(&place.snapshot, place.range.start);
            push_once(&mut self.tests, format!("{} {shown}:{line}", item.name));
        }
        is_test
    }

    fn left_out(&self) -> LeftOut {
        let mut all = LeftOut::default();
        for node in &self.nodes {
            all += node.left_out;
        }
        all
    }

    fn write(&self, text: &mut String) -> bool {
        let root = &self.nodes[0];
        let noun = self.way.noun();
        let direct = match (root.children.len(), root.left_out) {
            (0, left_out) if left_out.is_any() => format!("no {noun}s{}", left_out.but()),
            (shown, _) => count(shown, noun),
        };
        let tests = match self.tests.len() {
            0 => String::new(),
            many => format!(", {many} more in tests"),
        };
        let _ = writeln!(
            text,
            "{}: {direct}{tests} ({})",
            line(&root.item, &root.name, self.cx),
            trust_of(self.complete, self.from_disk, self.caution.as_ref())
        );
        let mut left = LINES;
        for child in &root.children {
            self.write_node(text, *child, &mut left);
        }
        let mut truncated = left == 0 && self.nodes.len() > LINES;
        if truncated {
            let rest = self.nodes.len() - 1 - LINES;
            let _ = writeln!(text, "[{rest} more lines; `query` 1 shows one level]");
        }
        if self.unasked > 0 {
            truncated = true;
            let _ = writeln!(
                text,
                "[{} not followed (marked ?): ask for one of them]",
                self.unasked
            );
        }
        truncated |= aside(text, "in tests", &self.tests, 0);
        truncated |= aside(
            text,
            "outside the workspace",
            &self.outside,
            self.more_outside,
        );
        truncated |= aside(text, "calls inside macros may be missing", &self.macros, 0);
        truncated
    }

    fn write_node(&self, text: &mut String, at: usize, left: &mut usize) {
        if *left == 0 {
            return;
        }
        *left -= 1;
        let node = &self.nodes[at];
        let indent = " ".repeat(node.depth);
        let sites = match self.way {
            // Which of its lines call is only said where it is in its own file.
            Way::Incoming if !node.sites.is_empty() => {
                let lines: Vec<String> = node.sites.iter().map(u32::to_string).collect();
                format!(", calls in {}", lines.join(","))
            }
            _ => String::new(),
        };
        let end = match node.end {
            End::Cycle => " (recursion)",
            End::Again => " (see above)",
            End::Unasked => " ?",
            End::Known | End::Deep => "",
        };
        // How many of all that are not shown belong here.
        let left_out = match node.left_out.count() {
            0 => String::new(),
            more => format!(" ({more} more not shown)"),
        };
        let _ = writeln!(
            text,
            "{indent}{}{sites}{end}{left_out}",
            line(&node.item, &node.name, self.cx)
        );
        for child in &node.children {
            self.write_node(text, *child, left);
        }
    }
}

fn push_once(list: &mut Vec<String>, one: String) {
    if !list.contains(&one) {
        list.push(one);
    }
}

/// `beyond`: so many more, of which the names are not known.
fn aside(text: &mut String, heading: &str, names: &[String], beyond: usize) -> bool {
    if names.is_empty() {
        return false;
    }
    let shown: Vec<&str> = names.iter().take(ASIDE).map(String::as_str).collect();
    let more = names.len() - shown.len() + beyond;
    let rest = match more {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let _ = writeln!(text, "{heading}: {}{rest}", shown.join(", "));
    more > 0
}

/// `name path:line`, with the kind of what is no function.
fn line(item: &HierarchyItem, name: &str, cx: &Context) -> String {
    let kind = match is_callable(item.kind) {
        true => String::new(),
        false => format!("{} ", item.kind),
    };
    let line = line_of(&item.place.snapshot, item.place.range.start);
    format!("{kind}{name} {}:{line}", cx.shown(&item.place.snapshot.uri))
}

fn detail(item: &HierarchyItem) -> String {
    let detail = item.detail.as_deref().map(str::trim);
    detail
        .filter(|detail| !detail.is_empty())
        .map_or_else(String::new, |detail| {
            let words: Vec<&str> = detail.split_whitespace().collect();
            format!(": {}", words.join(" "))
        })
}
