//! `documentSymbol`: what a file is made of, as an outline; `workspaceSymbol`: what a project has by name.

use std::fmt::Write as _;

use langserver::{FoundSymbol, Symbol, SymbolKind};
use workspace::Snapshot;

use super::{
    Call, Unanswered, count,
    left_out::{LeftOut, broken},
    line_of, line_text, meaning,
    names::{bare, name_in},
    outlines::{Outline, is_callable, type_name},
    position,
    tests_apart::{TestModules, is_test_name, is_test_path},
    trust, trust_of,
    wanted::Wanted,
};
use crate::{
    context::Context,
    tool::{Output, ToolError},
};

/// How many lines an outline has.
const LINES: usize = 120;
/// How many symbols are listed.
const FOUND: usize = 40;

pub async fn document(call: &Call<'_>) -> Result<Output, Unanswered> {
    let file = call.file;
    let outline = call.outlines.wanted(&file.snapshot.uri).await?;
    let trust = trust_of(outline.complete, false, None);
    let readable = match outline.broken {
        0 => "",
        _ => " that can be read",
    };
    let mut symbols: Vec<&Symbol> = outline.symbols.iter().collect();
    let mut of = String::new();
    if let Some(name) = call.input.symbol.as_deref() {
        symbols = named(&outline, &Wanted::of(name.trim()));
        if symbols.is_empty() {
            return Err(ToolError::Failed(format!(
                "{} declares no `{name}`{readable}: ask for its outline without `symbol`",
                file.shown
            ))
            .into());
        }
        of = format!(", `{name}` only");
    }
    if symbols.is_empty() {
        return Ok(Output {
            text: format!(
                "{}: {} found no symbols in it{readable} ({trust})\n{}",
                file.shown,
                outline.server,
                broken(outline.broken)
            ),
            truncated: outline.broken > 0,
            ..Output::default()
        });
    }
    let levels = levels(&outline.snapshot, &symbols);
    // As deep as fits.
    let mut depth = 0;
    let mut fits = 0;
    while depth < levels.len() && (depth == 0 || fits + levels[depth] <= LINES) {
        fits += levels[depth];
        depth += 1;
    }
    let total: usize = levels.iter().sum();
    let mut writer = Writer {
        snapshot: &outline.snapshot,
        depth,
        out: String::new(),
        left: LINES,
    };
    writer.write(&symbols, 0, None);
    let shown = LINES - writer.left;
    let mut text = format!(
        "{}: {}, {}{of} ({trust})\n{}",
        file.shown,
        count(outline.snapshot.text.lines_to_read(), "line"),
        count(total, "symbol"),
        writer.out
    );
    let truncated = shown < total;
    if truncated {
        let rest = total - shown;
        let _ = writeln!(
            text,
            "[{rest} more; `symbol` with the name of one shows what is in it]"
        );
    }
    text.push_str(&broken(outline.broken));
    Ok(Output {
        text,
        truncated: truncated || outline.broken > 0,
        ..Output::default()
    })
}

/// What is called so, of that what fits best.
fn named<'a>(outline: &'a Outline, wanted: &Wanted) -> Vec<&'a Symbol> {
    fn collect<'a>(
        symbols: &'a [Symbol],
        wanted: &Wanted,
        around: &mut Vec<&'a str>,
        found: &mut Vec<(Vec<&'a str>, &'a Symbol)>,
    ) {
        for symbol in symbols {
            let (receiver, bare) = bare(&symbol.name);
            // `impl Shape for Square` is what is in `Square`, too.
            let names = [&symbol.name, bare, type_name(&symbol.name)];
            let is_named = names.contains(&wanted.name.as_str());
            if is_named {
                let around = around.iter().copied().chain(receiver);
                found.push((around.collect(), symbol));
            }
            // What is in it is shown with it, unless another thing is meant.
            if !is_named || wanted.is_qualified() {
                around.push(&symbol.name);
                collect(&symbol.children, wanted, around, found);
                around.pop();
            }
        }
    }
    let mut found = Vec::new();
    collect(&outline.symbols, wanted, &mut Vec::new(), &mut found);
    Wanted::best(&mut found, |(around, _)| {
        wanted.fit(&outline.snapshot.uri, around)
    });
    found.into_iter().map(|(_, symbol)| symbol).collect()
}

/// What of a symbol is worth a line: what is inside a function is not, but for functions and classes.
fn inside(symbol: &Symbol) -> impl Iterator<Item = &Symbol> {
    let only_large = is_callable(symbol.kind);
    symbol
        .children
        .iter()
        .filter(move |child| !only_large || is_callable(child.kind) || child.kind.0 == 5)
}

/// How many lines each level takes.
fn levels(snapshot: &Snapshot, symbols: &[&Symbol]) -> Vec<usize> {
    let mut levels = Vec::new();
    let mut now: Vec<(&Symbol, Option<u32>)> =
        symbols.iter().map(|symbol| (*symbol, None)).collect();
    while !now.is_empty() {
        let mut next = Vec::new();
        let mut lines = 0;
        for (symbol, above) in now {
            let line = line_of(snapshot, symbol.selection.start);
            if above != Some(line) {
                lines += 1;
            }
            next.extend(inside(symbol).map(|child| (child, Some(line))));
        }
        levels.push(lines);
        now = next;
    }
    levels
}

struct Writer<'a> {
    snapshot: &'a Snapshot,
    depth: usize,
    out: String,
    left: usize,
}

impl Writer<'_> {
    fn write(&mut self, symbols: &[&Symbol], level: usize, above: Option<u32>) {
        if level == self.depth {
            return;
        }
        for symbol in symbols {
            let line = line_of(self.snapshot, symbol.selection.start);
            if above != Some(line) {
                if self.left == 0 {
                    return;
                }
                self.left -= 1;
                let last = line_of(self.snapshot, symbol.range.end);
                let lines = match last > line {
                    true => format!("{line}-{last}"),
                    false => line.to_string(),
                };
                let indent = " ".repeat(level);
                let head = self.head(symbol, line);
                let _ = writeln!(self.out, "{indent}{lines} {head}");
            }
            let children: Vec<&Symbol> = inside(symbol).collect();
            self.write(&children, level + 1, Some(line));
        }
    }

    /// The line that declares it, which says more than kind and name; with the kind where the line does not tell.
    fn head(&self, symbol: &Symbol, line: u32) -> String {
        let (_, column) = position(self.snapshot, symbol.selection.start);
        let text = line_text(self.snapshot, line, column);
        let text = text
            .trim_end_matches(['{', ',', ';'])
            .trim_end()
            .trim_end_matches(" =");
        match tells_kind(text, symbol.kind) {
            true => text.to_owned(),
            false => format!("{} {text}", symbol.kind),
        }
    }
}

/// Whether a line of code says what it declares. Members say so by where they stand.
fn tells_kind(text: &str, kind: SymbolKind) -> bool {
    const WORDS: [&str; 25] = [
        "fn",
        "function",
        "func",
        "def",
        "class",
        "struct",
        "enum",
        "trait",
        "interface",
        "impl",
        "type",
        "const",
        "static",
        "let",
        "var",
        "val",
        "mod",
        "module",
        "namespace",
        "union",
        "macro_rules!",
        "package",
        "record",
        "fun",
        "typedef",
    ];
    let is_member = matches!(kind.0, 6..=9 | 22);
    is_member
        || text
            .split([' ', '(', '\t'])
            .any(|word| WORDS.contains(&word))
}

pub async fn workspace(call: &Call<'_>) -> Result<Output, Unanswered> {
    let cx = call.cx;
    let query = call.input.wanted_name().ok_or_else(|| {
        ToolError::Input("workspaceSymbol needs `query`: a name, or a part of one".into())
    })?;
    let near = &call.file.snapshot.uri;
    let wanted = Wanted::of(query);
    // Not every server knows what is in what by a name.
    let name = match wanted.is_qualified() {
        true => &wanted.name,
        false => query,
    };
    let mut answer = cx.pool.workspace_symbols(near, name, &cx.cancel).await?;
    Wanted::best(&mut answer.value, |found| meaning::fit(&wanted, found));
    let trust = trust(&answer);
    let left_out = LeftOut::of(&answer);
    if answer.value.is_empty() {
        return Ok(Output {
            text: format!(
                "No symbols named `{query}`: {} found none{} ({trust})\n{}",
                answer.server,
                left_out.but(),
                left_out.lines()
            ),
            truncated: left_out.is_any(),
            ..Output::default()
        });
    }
    let mut modules = TestModules::default();
    let mut found: Vec<(bool, u8, usize, &FoundSymbol)> = answer
        .value
        .iter()
        .enumerate()
        .map(|(order, symbol)| {
            let is_test = is_test(symbol, &mut modules, cx);
            (is_test, fit(&symbol.name, name), order, symbol)
        })
        .collect();
    found.sort_by_key(|(test, fit, order, _)| (*test, *fit, *order));
    let mut text = format!("{} ({trust}):\n", count(found.len(), "symbol"));
    let mut in_tests = false;
    for (test, _, _, symbol) in found.iter().take(FOUND) {
        if *test && !in_tests {
            in_tests = true;
            text.push_str("in tests:\n");
        }
        text.push_str(&found_line(symbol, cx));
    }
    let more = found.len().saturating_sub(FOUND);
    if more > 0 {
        let _ = writeln!(text, "[{more} more: a longer `query` narrows it]");
    }
    text.push_str(&left_out.lines());
    Ok(Output {
        text,
        truncated: more > 0 || left_out.is_any(),
        ..Output::default()
    })
}

fn fit(name: &str, query: &str) -> u8 {
    let (lower, query) = (name.to_lowercase(), query.to_lowercase());
    match () {
        () if lower == query => 0,
        () if lower.starts_with(&query) => 1,
        () if lower.contains(&query) => 2,
        () => 3,
    }
}

fn is_test(symbol: &FoundSymbol, modules: &mut TestModules, cx: &Context) -> bool {
    let place = &symbol.place;
    is_test_path(&cx.shown(&place.snapshot.uri))
        || is_test_name(&symbol.name)
        || symbol.container.as_deref().is_some_and(is_test_name)
        || modules.hold(&place.snapshot, place.range.start)
}

/// `path:line:column kind name in container`.
pub fn found_line(symbol: &FoundSymbol, cx: &Context) -> String {
    let place = &symbol.place;
    let at = name_in(&place.snapshot, place.range, bare(&symbol.name).1);
    let (line, column) = position(&place.snapshot, at);
    let container = symbol
        .container
        .as_deref()
        .filter(|container| !container.is_empty())
        .map_or_else(String::new, |container| format!(" in {container}"));
    format!(
        "{}:{line}:{column} {} {}{container}\n",
        cx.shown(&place.snapshot.uri),
        symbol.kind,
        symbol.name
    )
}
