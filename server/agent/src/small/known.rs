//! What language servers know of the things that a problem is about: how they are declared, in other files too, what is in
//! their types, and what the servers themselves would do about it. It asks, and waits for a moment only; what is not known
//! by then is left out.

use std::{collections::BTreeSet, fmt::Write as _, time::Duration};

use futures::future::join_all;
use langserver::{Answer, Diagnostic, Location, QueryError, Symbol, SymbolKind};
use serde_json::Value;
use tokio::time::timeout;
use tools::Context;
use workspace::{ByteOffset, ByteRange, DocumentUri, Encoding, Snapshot};

use super::lines::{Lines, declaration, members, words};

/// How long any of it may take.
const MOMENT: Duration = Duration::from_secs(4);
/// How many names are looked up.
const NAMES: usize = 10;
/// How many declarations are shown.
const SHOWN: usize = 6;
/// How many of a server's own fixes are named.
const FIXES: usize = 5;

/// What is known beside the lines themselves, for the model. Empty: nothing.
pub(super) async fn known(
    text: &Snapshot,
    shown: ByteRange,
    problems: &[Diagnostic],
    cx: &Context,
) -> String {
    let asked = Asked { text, shown, cx };
    let (declared, fixes) = tokio::join!(asked.declared(problems), asked.fixes(problems));
    let mut said = String::new();
    for (place, code) in &declared {
        let _ = writeln!(said, "{place}:\n```\n{code}\n```");
    }
    for note in notes(text, problems, cx) {
        let _ = writeln!(said, "Note: {note}");
    }
    if !fixes.is_empty() {
        let _ = writeln!(said, "The language server suggests: {}.", fixes.join("; "));
    }
    said
}

struct Asked<'a> {
    text: &'a Snapshot,
    /// What the model is shown anyway.
    shown: ByteRange,
    cx: &'a Context,
}

impl Asked<'_> {
    /// What the lines with the problems name, and what the problems name: where it is declared, and how.
    async fn declared(&self, problems: &[Diagnostic]) -> Vec<(String, String)> {
        let used = self.used(problems);
        let asked = used.iter().map(|(_, at)| {
            timeout(
                MOMENT,
                self.cx.pool.definition(self.text, *at, &self.cx.cancel),
            )
        });
        let mut places = Vec::new();
        let mut unknown = Vec::new();
        for ((name, at), found) in used.iter().zip(join_all(asked).await) {
            match first(found.ok()) {
                Some(place) => places.push((*at, place)),
                None => unknown.push(name.clone()),
            }
        }
        let is_known = |name: &String| used.iter().any(|(used, _)| used == name);
        unknown.extend(named(problems).into_iter().filter(|name| !is_known(name)));
        unknown.truncate(NAMES);
        let searched = unknown.iter().map(|name| self.by_name(name));
        let searched = join_all(searched).await.into_iter().flatten();
        let mut told: Vec<(String, String)> = Vec::new();
        for (at, place) in places
            .into_iter()
            .map(|(at, place)| (Some(at), place))
            .chain(searched.map(|place| (None, place)))
        {
            if told.len() == SHOWN {
                break;
            }
            if let Some(one) = self.told(at, &place).await
                && !told.contains(&one)
            {
                told.push(one);
            }
        }
        told
    }

    /// The names in the lines of the problems, each once, and where they stand. Those that the problems cover come first.
    fn used(&self, problems: &[Diagnostic]) -> Vec<(String, ByteOffset)> {
        let text = &self.text.text;
        let mut found: Vec<(bool, String, ByteOffset)> = Vec::new();
        for problem in problems {
            let line = text.position(problem.range.start, Encoding::Utf8).line as usize;
            let start = text.line_start(line);
            let Some(content) = text.line(line) else {
                continue;
            };
            for (at, word) in words(&content) {
                let at = ByteOffset(start.0 + at);
                let is_meant = problem.range.start <= at && at < problem.range.end;
                match found.iter_mut().find(|(_, name, _)| name == word) {
                    Some(one) if is_meant && !one.0 => *one = (true, word.to_owned(), at),
                    Some(_) => {}
                    None => found.push((is_meant, word.to_owned(), at)),
                }
            }
        }
        found.sort_by_key(|(is_meant, _, at)| (!is_meant, *at));
        found.truncate(NAMES);
        found.into_iter().map(|(_, name, at)| (name, at)).collect()
    }

    /// The one thing of that name in the project.
    async fn by_name(&self, name: &str) -> Option<Location> {
        let pool = &self.cx.pool;
        let asked = pool.workspace_symbols(&self.text.uri, name, &self.cx.cancel);
        let found = timeout(MOMENT, asked).await.ok()?.ok()?;
        let mut same = found.value.into_iter().filter(|one| one.name == name);
        let first = same.next()?;
        // A type rather than what is only called like it.
        let typed = std::iter::once(first.clone())
            .chain(same)
            .find(|one| is_type(one.kind));
        Some(typed.unwrap_or(first).place)
    }

    /// A declaration as the model is told of it: where it stands, and its lines. What stands elsewhere than in the workspace
    /// is told by its signature.
    async fn told(&self, at: Option<ByteOffset>, place: &Location) -> Option<(String, String)> {
        let Location { snapshot, range } = place;
        let is_shown = snapshot.uri == self.text.uri
            && self.shown.start <= range.start
            && range.end <= self.shown.end;
        if is_shown {
            return None;
        }
        let is_ours = snapshot
            .uri
            .path()
            .is_none_or(|path| self.cx.workspace.contains(path));
        if !is_ours {
            let signature = self.signature(at?).await?;
            return Some(("From a library".to_owned(), signature));
        }
        let lines = Lines::of(snapshot);
        let line = snapshot.text.position(range.start, Encoding::Utf8).line as usize;
        let mut code = declaration(&lines, line);
        if let Some(inside) = self.inside(snapshot, *range).await {
            code = members(&lines, line, &inside).unwrap_or(code);
        }
        Some((
            format!("{} line {}", self.cx.shown(&snapshot.uri), line + 1),
            code,
        ))
    }

    /// The lines in which the members of a type are declared, if it is a type with members.
    async fn inside(&self, snapshot: &Snapshot, range: ByteRange) -> Option<Vec<usize>> {
        let pool = &self.cx.pool;
        let asked = pool.document_symbols(&snapshot.uri, &self.cx.cancel);
        let (newest, symbols) = timeout(MOMENT, asked).await.ok()?.ok()?.value;
        if newest.text != snapshot.text {
            return None;
        }
        let whole = named_at(&symbols, range)?;
        if !is_type(whole.kind) {
            return None;
        }
        let line = |symbol: &Symbol| {
            newest
                .text
                .position(symbol.selection.start, Encoding::Utf8)
                .line as usize
        };
        let mut lines: BTreeSet<usize> = whole.children.iter().map(line).collect();
        // Of some languages the methods stand apart.
        for part in symbols
            .iter()
            .filter(|one| is_part_of(&one.name, &whole.name))
        {
            lines.extend(part.children.iter().map(line));
        }
        (!lines.is_empty()).then(|| lines.into_iter().collect())
    }

    /// The first lines of what is said of a thing.
    async fn signature(&self, at: ByteOffset) -> Option<String> {
        const LINES: usize = 4;
        let (pool, cancel) = (&self.cx.pool, &self.cx.cancel);
        let hidden = timeout(MOMENT, pool.is_of_hidden(self.text, at, cancel))
            .await
            .ok()?
            .ok()?;
        if hidden {
            return None;
        }
        let said = timeout(MOMENT, pool.hover(self.text, at, cancel))
            .await
            .ok()?
            .ok()?
            .value?;
        // The last block of code before the prose is the signature; those before it say where it is from.
        let head = said.find("\n---").map_or(&*said, |prose| &said[..prose]);
        let blocks: Vec<&str> = head.split("```").skip(1).step_by(2).collect();
        let block = blocks.last()?;
        let (_, code) = block.split_once('\n')?;
        let code: Vec<&str> = code
            .lines()
            .filter(|line| !line.trim().is_empty())
            .take(LINES)
            .collect();
        (!code.is_empty()).then(|| code.join("\n"))
    }

    /// What the servers would do about the problems.
    async fn fixes(&self, problems: &[Diagnostic]) -> Vec<String> {
        let asked = problems.iter().map(|problem| {
            let one = std::slice::from_ref(problem);
            timeout(
                MOMENT,
                self.cx
                    .pool
                    .code_actions(self.text, problem.range, one, &self.cx.cancel),
            )
        });
        let mut titles: Vec<String> = Vec::new();
        for found in join_all(asked).await {
            let Ok(Ok(found)) = found else { continue };
            for action in found.value {
                let is_fix = action
                    .kind
                    .as_deref()
                    .is_some_and(|kind| kind.starts_with("quickfix"));
                if is_fix && action.disabled.is_none() && !titles.contains(&action.title) {
                    titles.push(action.title);
                }
            }
        }
        titles.truncate(FIXES);
        titles
    }
}

fn first(found: Option<Result<Answer<Vec<Location>>, QueryError>>) -> Option<Location> {
    found?.ok()?.value.into_iter().next()
}

/// Names in quotes of what the problems say: types, mostly.
fn named(problems: &[Diagnostic]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for problem in problems {
        let parts = problem.message.split(['`', '\'', '"', '“', '”']);
        for quoted in parts.skip(1).step_by(2) {
            for (_, word) in words(quoted) {
                if !names.iter().any(|known| known == word) {
                    names.push(word.to_owned());
                }
            }
        }
    }
    names
}

/// What servers say beside a problem: of which other place, and what stands there.
fn notes(text: &Snapshot, problems: &[Diagnostic], cx: &Context) -> Vec<String> {
    const NOTES: usize = 4;
    let mut notes: Vec<String> = Vec::new();
    let related = problems
        .iter()
        .filter_map(|problem| problem.raw["relatedInformation"].as_array());
    for one in related.flatten() {
        let Some(message) = one["message"]
            .as_str()
            .and_then(|message| message.lines().next())
        else {
            continue;
        };
        let place = &one["location"];
        let Some(line) = line_of(place, text, cx) else {
            continue;
        };
        let note = format!("{message}: `{}`", line.trim());
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes.truncate(NOTES);
    notes
}

fn line_of(place: &Value, text: &Snapshot, cx: &Context) -> Option<String> {
    let uri = DocumentUri::parse(place["uri"].as_str()?).ok()?;
    let line = usize::try_from(place["range"]["start"]["line"].as_u64()?).ok()?;
    if uri == text.uri {
        return text.text.line(line);
    }
    let path = uri.path()?;
    if !cx.workspace.contains(path) || cx.workspace.is_ignored_for_model(path) {
        return None;
    }
    cx.read(&uri).ok()?.text.line(line)
}

/// Classes, enums, interfaces and structs.
fn is_type(kind: SymbolKind) -> bool {
    matches!(kind.0, 5 | 10 | 11 | 23)
}

/// The symbol whose name stands there.
fn named_at(symbols: &[Symbol], range: ByteRange) -> Option<&Symbol> {
    symbols.iter().find_map(|symbol| {
        let is_it = symbol.selection.start <= range.start && range.start <= symbol.selection.end;
        match is_it {
            true => Some(symbol),
            false => named_at(&symbol.children, range),
        }
    })
}

/// Whether a symbol is a part of a type that stands apart: `impl Shape`, `impl fmt::Display for Shape<T>`.
fn is_part_of(name: &str, of: &str) -> bool {
    let Some(rest) = name.strip_prefix("impl") else {
        return false;
    };
    let rest = rest.rsplit(" for ").next().unwrap_or(rest);
    words(rest).any(|(_, word)| word == of)
}
