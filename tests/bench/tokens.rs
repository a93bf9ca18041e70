//! What the same five questions about three real packages cost a model in tokens: by our `lsp` tool, by grep and read, and by
//! agent-lsp over MCP, each with the same servers. `cargo xtask bench tokens` installs all of it and runs it.
//!
//! What is counted is what a model writes and reads: the arguments of each call and its whole answer, in `o200k_base`. An answer that
//! lacks what is asked for is marked with a star.
#![allow(clippy::print_stdout, dead_code, unused_imports)] // it prints a table, and uses a part of the desk

#[path = "../servers/desk.rs"]
mod desk;
mod mcp;
#[path = "../servers/samples/mod.rs"]
mod samples;
#[path = "../servers/servers.rs"]
mod servers;

use std::path::Path;

use anyhow::Context as _;
use desk::Desk;
use mcp::Mcp;
use serde_json::{Value, json};
use servers::Real;
use tests::fixtures::Project;
use tiktoken_rs::CoreBPE;

/// A package, and a function of it that is used all over.
struct Package {
    title: &'static str,
    real: Real,
    language: &'static str,
    project: fn() -> Project,
    /// The function, the file that defines it, and the line's beginning there.
    name: &'static str,
    file: &'static str,
    head: &'static str,
    /// A file that uses it, and a caller in it.
    user: &'static str,
    caller: &'static str,
    /// How its definition is grepped for.
    defined: &'static str,
}

const PACKAGES: [Package; 3] = [
    Package {
        title: "regex-syntax 0.8 (rust-analyzer)",
        real: servers::RUST_ANALYZER,
        language: "rust",
        project: || Project::copied_crate("regex-syntax"),
        name: "is_meta_character",
        file: "src/lib.rs",
        head: "pub fn is_meta_character(",
        user: "src/hir/print.rs",
        caller: "write_literal_char",
        defined: r"fn is_meta_character\b",
    },
    Package {
        title: "Django 5.2 (pyright)",
        real: servers::PYRIGHT,
        language: "python",
        project: || {
            let from = servers::site_packages().join("django");
            let project = Project::new();
            project.copy(&from, "django");
            project.write(
                "pyproject.toml",
                "[project]\nname = \"django\"\nversion = \"5\"\n",
            );
            project
        },
        name: "force_str",
        file: "django/utils/encoding.py",
        head: "def force_str(",
        user: "django/http/multipartparser.py",
        caller: "_parse",
        defined: r"def force_str\b",
    },
    Package {
        title: "rxjs 7.8 (typescript-language-server)",
        real: servers::TSLS,
        language: "typescript",
        project: || {
            let from = servers::tools().join("packages/node_modules/rxjs/src");
            let project = Project::new();
            project.copy(&from, "src");
            project.write(
                "package.json",
                "{ \"name\": \"rxjs\", \"private\": true }\n",
            );
            project.write(
                "tsconfig.json",
                "{ \"compilerOptions\": { \"strict\": true, \"target\": \"es2020\", \"module\": \"commonjs\", \"types\": [], \"lib\": [\"es2020\", \"dom\"] }, \"include\": [\"src/**/*.ts\"] }\n",
            );
            project
        },
        name: "createOperatorSubscriber",
        file: "src/internal/operators/OperatorSubscriber.ts",
        head: "export function createOperatorSubscriber<",
        user: "src/internal/operators/scanInternals.ts",
        caller: "scanInternals",
        defined: r"function createOperatorSubscriber\b",
    },
];

/// The questions, as a person would put them.
const QUESTIONS: [&str; 5] = [
    "Where is it defined, and what does it do?",
    "Where is it used?",
    "What is its signature, and what do its words say?",
    "Which functions call it?",
    "What is in the file that uses it?",
];

fn main() -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let counter = tiktoken_rs::o200k_base()?;
    println!("| package | question | lsp | grep and read | agent-lsp |");
    println!("|---|---|---|---|---|");
    for package in &PACKAGES {
        let ours = runtime.block_on(ours(package, &counter));
        let by_text = runtime.block_on(by_text(package, &counter));
        let rival = rival(package, &counter)?;
        let mut sums = [0; 3];
        for (at, question) in QUESTIONS.iter().enumerate() {
            let row = [&ours[at], &by_text[at], &rival[at]];
            for (sum, cost) in sums.iter_mut().zip(row) {
                *sum += cost.tokens;
            }
            let cells =
                row.map(|cost| format!("{}{}", cost.tokens, if cost.right { "" } else { " *" }));
            println!("| {} | {question} | {} |", package.title, cells.join(" | "));
        }
        println!(
            "| {} | **all five** | {} | {} | {} |",
            package.title, sums[0], sums[1], sums[2]
        );
    }
    Ok(())
}

/// What an answer cost, and whether it has what was asked for.
struct Cost {
    tokens: usize,
    right: bool,
}

/// Counts calls and answers.
struct Bill<'a> {
    counter: &'a CoreBPE,
    tokens: usize,
    read: String,
}

impl<'a> Bill<'a> {
    fn new(counter: &'a CoreBPE) -> Self {
        Self {
            counter,
            tokens: 0,
            read: String::new(),
        }
    }

    fn add(&mut self, input: &Value, answer: &str) {
        let count = |text: &str| self.counter.encode_ordinary(text).len();
        self.tokens += count(&input.to_string()) + count(answer);
        self.read.push_str(answer);
        if std::env::var_os("SHOW").is_some() {
            println!("--- {input}\n{answer}\n");
        }
    }

    fn cost(self, package: &Package, question: usize) -> Cost {
        let sought = match question {
            0 => package.file,
            1 => package.user,
            2 => package.name,
            _ => package.caller,
        };
        Cost {
            tokens: self.tokens,
            right: self.read.contains(sought),
        }
    }
}

async fn ours(package: &Package, counter: &CoreBPE) -> Vec<Cost> {
    let desk = Desk::over(package.real, (package.project)());
    let mut costs = Vec::new();
    let of_user = json!({ "filePath": package.user, "symbol": package.name });
    let of_file = json!({ "filePath": package.file, "symbol": package.name });
    let calls = [
        ("goToDefinition", of_user.clone()),
        ("findReferences", of_file.clone()),
        ("hover", of_user),
        ("incomingCalls", of_file),
        ("documentSymbol", json!({ "filePath": package.user })),
    ];
    for (question, (operation, mut input)) in calls.into_iter().enumerate() {
        input["operation"] = json!(operation);
        let mut bill = Bill::new(counter);
        let said = desk.call("lsp", input.clone()).await;
        bill.add(&input, &said.text);
        costs.push(bill.cost(package, question));
    }
    desk.end().await;
    costs
}

/// As a model without language servers goes about it: it looks for the name, and reads what it needs to know around what it finds.
async fn by_text(package: &Package, counter: &CoreBPE) -> Vec<Cost> {
    let desk = Desk::over(package.real, (package.project)());
    let mut costs = Vec::new();
    for question in 0..QUESTIONS.len() {
        let mut bill = Bill::new(counter);
        match question {
            0 | 2 => {
                let (_, line) = find(&desk, package);
                ask(
                    &desk,
                    &mut bill,
                    "grep",
                    json!({ "pattern": package.defined }),
                )
                .await;
                let from = line.saturating_sub(20);
                let read = json!({ "filePath": package.file, "offset": from, "limit": 60 });
                ask(&desk, &mut bill, "read", read).await;
            }
            1 => {
                let word = format!(r"\b{}\b", package.name);
                ask(&desk, &mut bill, "grep", json!({ "pattern": word })).await;
            }
            3 => {
                let call = format!(r"\b{}\(", package.name);
                let found = ask(&desk, &mut bill, "grep", json!({ "pattern": call })).await;
                // In which function each call stands is a few lines above it; it looks at ten of them.
                for (file, line) in places(&found).into_iter().take(10) {
                    let from = line.saturating_sub(30);
                    let read = json!({ "filePath": file, "offset": from, "limit": 35 });
                    ask(&desk, &mut bill, "read", read).await;
                }
            }
            _ => {
                ask(
                    &desk,
                    &mut bill,
                    "read",
                    json!({ "filePath": package.user }),
                )
                .await;
            }
        }
        costs.push(bill.cost(package, question));
    }
    costs
}

async fn ask(desk: &Desk, bill: &mut Bill<'_>, tool: &str, input: Value) -> String {
    let said = desk.call(tool, input.clone()).await;
    bill.add(&input, &said.text);
    said.text
}

/// Files and lines in what grep says: a file's name on a line of its own, or before the line's number.
fn places(found: &str) -> Vec<(String, usize)> {
    let mut places = Vec::new();
    let mut file = String::new();
    for shown in found.lines() {
        let trimmed = shown.trim_start_matches(|c: char| c.is_whitespace() || c == '-');
        let number = trimmed.split([':', '\t', ' ']).next().unwrap_or_default();
        if let Ok(line) = number.trim_start_matches("Line").parse::<usize>() {
            places.push((file.clone(), line));
        } else if let Some((name, rest)) = shown.split_once(':')
            && Path::new(name).extension().is_some()
        {
            let line = rest.split([':', '\t', ' ']).next().unwrap_or_default();
            match line.parse() {
                Ok(line) => places.push((name.to_owned(), line)),
                Err(_) => name.clone_into(&mut file),
            }
        } else if Path::new(shown.trim()).extension().is_some() {
            shown.trim().clone_into(&mut file);
        }
    }
    places.retain(|(file, _)| !file.is_empty());
    places
}

/// The line (from 0) and the column (from 1) of the function's name.
fn find(desk: &Desk, package: &Package) -> (usize, usize) {
    let text = desk.text(package.file);
    let line = text.lines().position(|line| line.starts_with(package.head));
    let column = package.head.find(package.name).expect("its name") + 1;
    (column, line.expect("it is there"))
}

fn rival(package: &Package, counter: &CoreBPE) -> anyhow::Result<Vec<Cost>> {
    let desk = Desk::over(package.real, (package.project)());
    let root = desk.project.root().to_owned();
    let (column, line) = find(&desk, package);
    let user = desk.text(package.user);
    let used = user
        .lines()
        .position(|line| line.contains(&format!("{}(", package.name)));
    let used = used.context("the user uses it")?;
    let used_at = user
        .lines()
        .nth(used)
        .and_then(|line| line.find(package.name))
        .context("there")?
        + 1;
    let path = |name: &str| root.join(name).display().to_string();
    let at_use = json!({ "file_path": path(package.user), "line": used + 1, "column": used_at });
    let at_home = json!({ "file_path": path(package.file), "line": line + 1, "column": column });
    let (program, arguments) = package.real.command();
    let server = std::iter::once(program.display().to_string())
        .chain(arguments)
        .collect::<Vec<_>>()
        .join(",");
    let agent_lsp = servers::tools().join("rival/bin/agent-lsp");
    let mut mcp = Mcp::start(
        &agent_lsp,
        &[format!("{}:{server}", package.language)],
        &root,
    )?;
    // What an agent has to do first is not on the bill.
    mcp.call(
        "start_lsp",
        &json!({ "root_dir": root, "language_id": package.language }),
    )?;
    for file in [package.file, package.user] {
        mcp.call(
            "open_document",
            &json!({ "file_path": path(file), "language_id": package.language }),
        )?;
    }
    // It has no notion of ready: it is given the time that the same server takes with us.
    std::thread::sleep(std::time::Duration::from_secs(45));
    let calls = [
        ("go_to_definition", at_use.clone()),
        ("find_references", at_home.clone()),
        ("inspect_symbol", at_use),
        ("find_callers", at_home),
        (
            "list_symbols",
            json!({ "file_path": path(package.user), "format": "outline" }),
        ),
    ];
    let mut costs = Vec::new();
    for (question, (tool, input)) in calls.into_iter().enumerate() {
        let mut bill = Bill::new(counter);
        let answer = mcp.call(tool, &input)?;
        bill.add(&input, &answer);
        costs.push(bill.cost(package, question));
    }
    Ok(costs)
}
