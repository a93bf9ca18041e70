//! Every operation of the `lsp` tool, asked of every server over its sample: right, or rightly "not supported". The table of it
//! stands in docs/language-servers.md, and is held against what is expected here, which each run holds against the servers.

use std::fmt::Write as _;

use serde_json::json;

use crate::{
    desk::{Desk, Said},
    docs,
    samples::{CPP, GO, PYTHON, RUST, Sample, Spot, TYPESCRIPT},
    servers::{self, Real},
};

/// What is right to be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cell {
    /// What the project holds.
    Right,
    /// That there is nothing: this server knows the question and has no answer to it here.
    Nothing,
    /// That this server can't do it.
    Unsupported,
}

/// The operations, in the order in which they are asked: the last ones change the project.
const OPERATIONS: [&str; 17] = [
    "goToDefinition",
    "findReferences",
    "hover",
    "documentSymbol",
    "workspaceSymbol",
    "goToImplementation",
    "goToTypeDefinition",
    "prepareCallHierarchy",
    "incomingCalls",
    "outgoingCalls",
    "supertypes",
    "subtypes",
    "diagnostics",
    "codeActions",
    "applyCodeAction",
    "rename",
    "format",
];

/// A server, its sample, and how it is there.
struct Column {
    real: Real,
    sample: Sample,
    /// What it can't do.
    unsupported: &'static [&'static str],
    /// A fix of the type error, and what the text has after it; `None` if it knows none.
    fix: Option<(&'static str, &'static str)>,
}

const TYPES: &[&str] = &["supertypes", "subtypes"];

const COLUMNS: [Column; 8] = [
    Column {
        real: servers::RUST_ANALYZER,
        sample: RUST,
        unsupported: TYPES,
        fix: Some(("Wrap in Some", "Some(number / 2)")),
    },
    Column {
        real: servers::PYRIGHT,
        sample: PYTHON,
        unsupported: &["goToImplementation", "supertypes", "subtypes", "format"],
        fix: None,
    },
    Column {
        real: servers::TY,
        sample: PYTHON,
        unsupported: &["format"],
        fix: Some((
            "Ignore 'invalid-explicit-return' for this line",
            "# ty: ignore[invalid-explicit-return]",
        )),
    },
    Column {
        real: servers::TSLS,
        sample: TYPESCRIPT,
        unsupported: TYPES,
        fix: Some(("Change spelling to 'size'", "new Square(1).size()")),
    },
    Column {
        real: servers::VTSLS,
        sample: TYPESCRIPT,
        unsupported: TYPES,
        fix: Some(("Change spelling to 'size'", "new Square(1).size()")),
    },
    Column {
        real: servers::TSC,
        sample: TYPESCRIPT,
        unsupported: TYPES,
        fix: None,
    },
    Column {
        real: servers::CLANGD,
        sample: CPP,
        unsupported: &[],
        fix: Some(("change '.' to '->'", "square->size()")),
    },
    Column {
        real: servers::GOPLS,
        sample: GO,
        unsupported: TYPES,
        fix: Some(("Fill in return values", "return 1, nil")),
    },
];

impl Column {
    fn cell(&self, operation: &str) -> Cell {
        if self.unsupported.contains(&operation) {
            Cell::Unsupported
        } else if self.fix.is_none() && ["codeActions", "applyCodeAction"].contains(&operation) {
            Cell::Nothing
        } else {
            Cell::Right
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rust_analyzer() {
    hold(&COLUMNS[0]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pyright() {
    hold(&COLUMNS[1]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ty() {
    hold(&COLUMNS[2]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn typescript_language_server() {
    hold(&COLUMNS[3]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn vtsls() {
    hold(&COLUMNS[4]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn typescript_7() {
    hold(&COLUMNS[5]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clangd() {
    hold(&COLUMNS[6]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gopls() {
    hold(&COLUMNS[7]).await;
}

/// Asks everything; what is wrong is told all at once.
async fn hold(column: &Column) {
    if column.real.is_missing() {
        return;
    }
    let desk = Desk::new(column.real, column.sample.files);
    let mut wrong = String::new();
    for operation in OPERATIONS {
        let begun = std::time::Instant::now();
        let said = ask(&desk, operation, column).await;
        let held = match column.cell(operation) {
            Cell::Right => right(&desk, operation, column, &said),
            Cell::Nothing => (said.text.contains("no code action"))
                .then_some(())
                .ok_or("that there is nothing"),
            Cell::Unsupported => (!said.well && said.is_unsupported())
                .then_some(())
                .ok_or("that it is not supported"),
        };
        eprintln!(
            "{}: {operation} ({:?}) {:?} in {:?}\n{}",
            column.real.title,
            column.cell(operation),
            held,
            begun.elapsed(),
            said.text
        );
        if let Err(expected) = held {
            let _ = writeln!(
                wrong,
                "{operation}: expected {expected}, told\n{}\n",
                said.text
            );
        }
    }
    desk.end().await;
    assert!(wrong.is_empty(), "{}:\n{wrong}", column.real.title);
}

async fn ask(desk: &Desk, operation: &str, column: &Column) -> Said {
    let sample = &column.sample;
    let nothing = json!({});
    match operation {
        "goToDefinition" | "hover" => desk.at(operation, sample.call, nothing).await,
        "findReferences" | "prepareCallHierarchy" | "incomingCalls" => {
            desk.at(operation, sample.callee, nothing).await
        }
        "documentSymbol" => desk.lsp(operation, sample.caller.file, nothing).await,
        "workspaceSymbol" => {
            let query = json!({ "query": sample.square.word });
            desk.lsp(operation, sample.caller.file, query).await
        }
        "goToImplementation" | "subtypes" => desk.at(operation, sample.shape, nothing).await,
        "goToTypeDefinition" => desk.at(operation, sample.value, nothing).await,
        "outgoingCalls" => desk.at(operation, sample.caller, nothing).await,
        "supertypes" => desk.at(operation, sample.square, nothing).await,
        "diagnostics" => desk.lsp(operation, sample.wrong.0.file, nothing).await,
        "codeActions" => desk.at(operation, sample.wrong.0, nothing).await,
        "applyCodeAction" => {
            let title = column.fix.map_or("Cure all", |(title, _)| title);
            let spot = sample.wrong.0;
            desk.at(operation, spot, json!({ "action": title })).await
        }
        "rename" => {
            let name = json!({ "newName": NEW_NAME });
            desk.at(operation, sample.call, name).await
        }
        "format" => desk.lsp(operation, sample.messy.0, nothing).await,
        other => panic!("{other}"),
    }
}

/// A name that is one in every language.
const NEW_NAME: &str = "SumOf";

/// The lines that an answer has to name, and those that it may name beside them: it names no other.
struct Lines {
    must: Vec<Place>,
    may: Vec<Place>,
}

type Place = (&'static str, u32);

/// Those of an operation whose answer is places; of other answers there is none.
fn lines(operation: &str, column: &Column) -> Option<Lines> {
    let sample = &column.sample;
    let text = |file: &str| {
        let found = sample.files.iter().find(|(name, _)| *name == file);
        found.expect("a file of it").1
    };
    // Nothing but a rename moves or changes a line that is asked about, and it moves none.
    let at = |spot: Spot| (spot.file, spot.place(text(spot.file)).0);
    let all = |file: &'static str, word: &str| -> Vec<Place> {
        let has = |(number, line): (u32, &str)| {
            let has = line.to_lowercase().contains(word);
            has.then_some((file, number))
        };
        (1..).zip(text(file).lines()).filter_map(has).collect()
    };
    let import: Vec<Place> = sample.import.map(at).into_iter().collect();
    let (must, may) = match operation {
        "goToDefinition" | "prepareCallHierarchy" => (vec![sample.callee], Vec::new()),
        // Some take the import for a use, some do not.
        "findReferences" => (vec![sample.call], import),
        // They look for what is alike: the class's own members, its values.
        "workspaceSymbol" => {
            let mut may = all(sample.square.file, "square");
            may.extend(all(sample.square.file, "side int"));
            (vec![sample.square], may)
        }
        // ty counts the interface among its implementations.
        "goToImplementation" if column.real.name == "ty" => {
            (vec![sample.implementation, sample.shape], Vec::new())
        }
        "goToImplementation" => (vec![sample.implementation], Vec::new()),
        "goToTypeDefinition" => (vec![sample.square], Vec::new()),
        "incomingCalls" => (vec![sample.callee, sample.caller, sample.call], Vec::new()),
        // The making of the square, if that is a call, and what the callee calls in turn.
        "outgoingCalls" => {
            let mut may = all(sample.square.file, "square(");
            may.push(at(sample.square));
            may.extend(all(sample.shape.file, "size("));
            (vec![sample.caller, sample.callee], may)
        }
        "supertypes" | "subtypes" => (vec![sample.square, sample.shape], Vec::new()),
        "diagnostics" | "codeActions" => (vec![sample.wrong.0], Vec::new()),
        // And a comment that has the name.
        "rename" => {
            let mut may = import;
            may.extend(all(
                sample.callee.file,
                &format!("// {}", sample.callee.word.to_lowercase()),
            ));
            (vec![sample.callee, sample.declared, sample.call], may)
        }
        _ => return None,
    };
    Some(Lines {
        must: must.into_iter().map(at).collect(),
        may,
    })
}

/// What is missing in a right answer, if something is, or what is too much.
fn right(desk: &Desk, operation: &str, column: &Column, said: &Said) -> Result<(), &'static str> {
    let sample = &column.sample;
    let demand = |held: bool, what: &'static str| held.then_some(()).ok_or(what);
    demand(said.well, "an answer")?;
    demand(!said.is_incomplete(), "a whole answer")?;
    if let Some(Lines { must, may }) = lines(operation, column) {
        let files: Vec<&str> = sample.files.iter().map(|(file, _)| *file).collect();
        let named = said.places(&files);
        let all = must.iter().all(|place| named.contains(place));
        demand(all, "all of its places")?;
        let known = |place: &Place| must.contains(place) || may.contains(place);
        demand(named.iter().all(known), "its places and no other")?;
    }
    let names = |spot| said.names(desk.place(spot));
    let has = |text: &str| said.text.contains(text);
    match operation {
        "goToDefinition" => {
            demand(names(sample.callee), "the callee")?;
            // clangd has a declaration where others have an import.
            let import = sample.import.is_some_and(names);
            demand(!import, "the callee, not what only leads to it")
        }
        "findReferences" => demand(names(sample.call), "the call"),
        "hover" => demand(
            has(sample.callee.word) && has("dds up the sizes"),
            "its name and its words",
        ),
        "documentSymbol" => demand(
            has(sample.caller.word) && names(sample.caller),
            "the caller",
        ),
        "workspaceSymbol" | "goToTypeDefinition" | "subtypes" => {
            demand(names(sample.square), "the class")
        }
        "goToImplementation" => demand(names(sample.implementation), "the implementation"),
        "prepareCallHierarchy" => demand(names(sample.callee), "the callee"),
        "incomingCalls" => {
            demand(has(sample.caller.word), "the caller")?;
            demand(names(sample.caller) || names(sample.call), "its place")
        }
        "outgoingCalls" => {
            demand(has(sample.callee.word), "the callee")?;
            demand(names(sample.callee) || names(sample.call), "its place")
        }
        "supertypes" => demand(names(sample.shape), "the interface"),
        "diagnostics" => demand(
            names(sample.wrong.0) && has(sample.wrong.1),
            "the type error",
        ),
        "codeActions" => demand(column.fix.is_some_and(|(title, _)| has(title)), "the fix"),
        "applyCodeAction" => {
            let text = desk.text(sample.wrong.0.file);
            let fixed = column.fix.is_some_and(|(_, fixed)| text.contains(fixed));
            demand(fixed, "the text fixed")
        }
        "rename" => {
            for spot in [sample.callee, sample.call] {
                let text = desk.text(spot.file);
                let renamed = text.contains(&spot.text.replace(spot.word, NEW_NAME));
                demand(renamed && !text.contains(spot.text), "all of it renamed")?;
            }
            Ok(())
        }
        "format" => demand(
            desk.text(sample.messy.0) == sample.messy.1,
            "the text formatted",
        ),
        other => panic!("{other}"),
    }
}

#[test]
fn the_docs_hold_the_table() {
    let mut table = String::from("| operation |");
    for column in &COLUMNS {
        let _ = write!(table, " {} |", column.real.title);
    }
    table.push_str("\n|---|");
    table.push_str(&"---|".repeat(COLUMNS.len()));
    for operation in OPERATIONS {
        let _ = write!(table, "\n| `{operation}` |");
        for column in &COLUMNS {
            let cell = match column.cell(operation) {
                Cell::Right => "right",
                Cell::Nothing => "none there",
                Cell::Unsupported => "not supported",
            };
            let _ = write!(table, " {cell} |");
        }
    }
    docs::hold("matrix", &table);
}
