//! What the model is told before it begins: who it is and how to work (the same for a whole
//! session, so that prompt caches hit), and the situation in which it was asked.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
    time::SystemTime,
};

use langserver::Diagnostic;
use tools::{Context, problems::Problem};
use workspace::{ByteRange, DocumentUri, Encoding, Snapshot, Workspace};

use crate::{agent::Task, config::AgentConfig, event::Focus, time::date};

const SYSTEM: &str = include_str!("system.md");
const SHORT: &str = include_str!("short.md");
const READ_ONLY: &str =
    "\nThis run is read-only: you can look, and you can't change anything. Answer in words.\n";

/// In how many words a model is told what it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Full,
    /// For small models.
    Short,
}

impl Form {
    fn words(self) -> &'static str {
        match self {
            Form::Full => SYSTEM,
            Form::Short => SHORT,
        }
    }

    /// How many bytes of each file of instructions are told.
    fn most(self) -> usize {
        match self {
            Form::Full => 32_000,
            Form::Short => 1_500,
        }
    }
}

/// The system prompt.
pub(crate) fn system(
    form: Form,
    config: &AgentConfig,
    workspace: &Workspace,
    focus: Option<&Focus>,
    read_only: bool,
) -> (String, Vec<String>) {
    let mut text = form.words().to_owned();
    if read_only {
        text.push_str(READ_ONLY);
    }
    text.push_str("\n# Environment\n");
    for root in workspace.roots() {
        let _ = writeln!(text, "Workspace: {}", root.display());
    }
    let _ = writeln!(
        text,
        "Platform: {} {}",
        std::env::consts::OS,
        std::env::consts::ARCH
    );
    let _ = writeln!(text, "Date: {}", date(SystemTime::now()));
    let (instructions, notices) = instructions(form.most(), config, workspace, focus);
    text.push_str(&instructions);
    (text, notices)
}

/// The person's request with what it is about.
pub(crate) fn request(
    task: &Task,
    problems: &[Diagnostic],
    focus: Option<&Focus>,
    cx: &Context,
) -> String {
    let mut text = String::new();
    let snapshot = focus.and_then(|focus| cx.workspace.read(&focus.uri).ok());
    match task {
        Task::Ask(prompt) => text.push_str(prompt.trim()),
        Task::Fix(_) => text.push_str(match problems {
            [_] => "Fix this problem, and nothing else. Check with the `lsp` tool's `diagnostics` that it is gone.",
            _ => "Fix these problems, and nothing else. Check with the `lsp` tool's `diagnostics` that they are gone.",
        }),
    }
    text.push('\n');
    if let (Some(focus), Some(snapshot)) = (focus, &snapshot) {
        text.push_str(&situation(&focus.uri, snapshot, cx));
        if let Some(range) = focus.range {
            text.push_str(&selection(snapshot, range));
        }
        if !problems.is_empty() {
            text.push_str("\n<problems>\n");
            let shown = cx.shown(&focus.uri);
            for problem in problems {
                let _ = writeln!(text, "{}", Problem::new(shown.clone(), problem, snapshot));
            }
            text.push_str("</problems>\n");
        }
        let ranges = match (&focus.range, problems) {
            (Some(range), []) => vec![*range],
            _ => problems.iter().map(|problem| problem.range).collect(),
        };
        text.push_str(&excerpt(snapshot, &ranges));
    }
    text
}

fn situation(uri: &DocumentUri, snapshot: &Snapshot, cx: &Context) -> String {
    let mut facts = Vec::new();
    if let Some(language) = &snapshot.language {
        facts.push(language.to_string());
    }
    if snapshot.is_buffer() {
        facts.push(match snapshot.is_unsaved() {
            true => "open in the editor, with unsaved changes".to_owned(),
            false => "open in the editor".to_owned(),
        });
    }
    let facts = match facts.as_slice() {
        [] => String::new(),
        facts => format!(" ({})", facts.join(", ")),
    };
    format!("\nFile: {}{facts}\n", cx.shown(uri))
}

/// Where the cursor stands, or what is selected; both numbers from 1, in characters.
fn selection(snapshot: &Snapshot, range: ByteRange) -> String {
    let name = |offset| {
        let at = snapshot.text.position(offset, Encoding::Utf32);
        format!("{}:{}", at.line + 1, at.character + 1)
    };
    let start = name(range.start);
    if range.is_empty() {
        return format!("Cursor: {start}\n");
    }
    format!("Selected: {start} to {}\n", name(range.end))
}

/// The lines around some ranges, numbered as `read` does.
fn excerpt(snapshot: &Snapshot, ranges: &[ByteRange]) -> String {
    const AROUND: usize = 5;
    const MOST: usize = 400;
    let text = &snapshot.text;
    let line_of = |offset| text.position(offset, Encoding::Utf32).line as usize;
    let mut wanted: Vec<(usize, usize)> = ranges
        .iter()
        .map(|range| (line_of(range.start), line_of(range.end)))
        .map(|(first, last)| (first.saturating_sub(AROUND), last + AROUND))
        .collect();
    wanted.sort_unstable();
    if wanted.is_empty() {
        return String::new();
    }
    let mut out = String::from("\n<lines>\n");
    let mut next = 0;
    let mut shown = 0;
    for (first, last) in wanted {
        let first = first.max(next);
        if next > 0 && first > next {
            out.push_str("     …\n");
        }
        for number in first..=last {
            let Some(line) = text.line(number) else { break };
            if shown == MOST {
                out.push_str("     … (cut: read the file for the rest)\n</lines>\n");
                return out;
            }
            let line: String = line.chars().take(500).collect();
            let _ = writeln!(out, "{:>6}\t{line}", number + 1);
            shown += 1;
        }
        next = next.max(last + 1);
    }
    out.push_str("</lines>\n");
    out
}

/// The project's own words: in each folder from the root down to the focus the first of the
/// configured names that is there, nearest last, so that it has the last word.
fn instructions(
    most: usize,
    config: &AgentConfig,
    workspace: &Workspace,
    focus: Option<&Focus>,
) -> (String, Vec<String>) {
    let mut notices = Vec::new();
    let mut text = String::new();
    for folder in folders(workspace, focus) {
        let mut here = config.instructions.iter().map(|name| folder.join(name));
        let found = here.find_map(|path| {
            // An untrusted project names these files: by a link, `..` or a whole path it could have anything sent away.
            if !workspace.contains(&path) {
                if path.exists() {
                    let shown = path.display();
                    notices.push(format!(
                        "{shown} is outside the workspace: the model does not see it"
                    ));
                }
                return None;
            }
            let uri = DocumentUri::from_path(&path).ok()?;
            let snapshot = workspace.read(&uri).ok()?;
            Some((path, snapshot.text.to_string()))
        });
        let Some((path, mut content)) = found else {
            continue;
        };
        if content.len() > most {
            let mut end = most;
            while !content.is_char_boundary(end) {
                end -= 1;
            }
            content.truncate(end);
            notices.push(format!(
                "{} is longer than {most} bytes: the model sees its beginning",
                path.display()
            ));
        }
        let _ = write!(
            text,
            "\n# Instructions of the project ({})\n{content}\n",
            path.display()
        );
    }
    (text, notices)
}

fn folders(workspace: &Workspace, focus: Option<&Focus>) -> Vec<PathBuf> {
    let path = focus.and_then(|focus| focus.uri.path());
    let root = path.and_then(|path| workspace.root_of(path));
    let (Some(path), Some(root)) = (path, root) else {
        return workspace.roots();
    };
    let mut folders: Vec<PathBuf> = path
        .ancestors()
        .skip(1)
        // By where they lead: the root may be spelled another way.
        .take_while(|folder| workspace.root_of(folder).as_ref() == Some(&root))
        .map(Path::to_path_buf)
        .collect();
    folders.reverse();
    folders
}
