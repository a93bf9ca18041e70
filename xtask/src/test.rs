//! `cargo xtask test`: all that must hold, in the order in which it fails soonest, with one closing line. A step that fails does
//! not stop the others, unless nothing can be run without it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::count::Count;
use crate::install::{self, CONFORMANCE, NEOVIM};
use crate::shell::{self, cargo, output, passes, program, watched};

/// Test modules that `--fast` leaves out beside `slow_...`: those that drive real editors, or many real language servers.
const SLOW: [&str; 6] = [
    "neovim::",
    "matrix::",
    "overlay::",
    "cold::",
    "quirks::",
    "ends::",
];

/// Runs everything, or the tests whose names contain the filter. Whether all is well.
pub fn run(fast: bool, filter: Option<&str>) -> Result<bool> {
    let logs = Logs::fresh()?;
    let mut count = Count::default();
    if filter.is_none() {
        count += Count::one(passes(cargo().args(["fmt", "--all", "--check"]))?);
        let clippy = [
            "clippy",
            "--workspace",
            "--all-targets",
            "--quiet",
            "--",
            "-D",
            "warnings",
        ];
        count += Count::one(passes(cargo().args(clippy))?);
    }
    CONFORMANCE.install()?;
    install::model_server()?;
    let mut missing = Vec::new();
    if fast {
        install::rust_analyzer()?;
    } else {
        NEOVIM.install()?;
        missing = install::language_servers()?;
    }
    if !passes(cargo().args(["build", "--quiet", "--package", "copydesk"]))? {
        count += Count::one(false);
        return Ok(close(count));
    }
    let tests = tests(fast, filter, &logs, &missing)?;
    count += tests;
    for checked in check(&logs)? {
        count += checked;
        if filter.is_none() && checked == Count::default() {
            println!("the tests left nothing for that checker: where do they write?");
            count += Count::one(false);
        }
    }
    for server in &missing {
        // A machine that can't have it is excused; one that tests for all is not.
        println!("NOT RUN: what is asked of {server}, which is not installed");
        if std::env::var_os("CI").is_some() {
            count += Count::one(false);
        }
    }
    if tests == Count::default() {
        println!("no test was run");
        count += Count::one(false);
    }
    Ok(close(count))
}

fn close(count: Count) -> bool {
    println!("{} passed, {} failed", count.passed, count.failed);
    count.failed == 0
}

/// Runs the tests by nextest, or by cargo itself where that is not installed.
fn tests(fast: bool, filter: Option<&str>, logs: &Logs, missing: &[&str]) -> Result<Count> {
    let nextest = output(cargo().args(["nextest", "--version"])).is_some();
    let mut command = cargo();
    if nextest {
        command.args([
            "nextest",
            "run",
            "--workspace",
            "--no-fail-fast",
            "--no-tests",
            "pass",
        ]);
        if fast {
            let named = SLOW.map(|module| format!(" | test(/^{module}/)"));
            let set = format!(r"not (test(/\bslow_/){})", named.concat());
            command.args(["--filterset", &set]);
        }
        command.args(filter);
    } else {
        println!("cargo-nextest is not installed: `cargo test` is used, without timeouts");
        command.args(["test", "--workspace", "--no-fail-fast", "--"]);
        command.args(filter);
        if fast {
            let skipped = SLOW.iter().chain(&["slow_"]);
            command.args(skipped.flat_map(|module| ["--skip", module]));
        }
    }
    logs.name_in(&mut command);
    command.env("COPYDESK_BIN", shell::built("debug", "copydesk"));
    command.env("COPYDESK_TEST_NVIM", NEOVIM.program("nvim"));
    command.env("COPYDESK_TEST_TOOLS", shell::tools());
    command.env("COPYDESK_TEST_WITHOUT", missing.join(" "));
    let mut count = counted(&mut command)?;
    if nextest && filter.is_none() {
        // nextest leaves out the examples in the docs.
        count += counted(cargo().args(["test", "--workspace", "--doc", "--quiet"]))?;
    }
    Ok(count)
}

/// Runs it and counts what its summaries say. Without one it did not get that far (a test did not build, say): a failure.
fn counted(command: &mut Command) -> Result<Count> {
    let mut count = Count::default();
    let well = watched(command, |line| count += Count::of_line(line))?;
    if !well && count.failed == 0 {
        count += Count::one(false);
    }
    Ok(count)
}

/// What the tests leave for the checkers.
struct Logs {
    messages: PathBuf,
    requests: PathBuf,
}

impl Logs {
    /// Empty folders.
    fn fresh() -> Result<Self> {
        let folder = shell::target().join("test-logs");
        if folder.exists() {
            std::fs::remove_dir_all(&folder).with_context(|| format!("{}", folder.display()))?;
        }
        let logs = Self {
            messages: folder.join("lsp"),
            requests: folder.join("requests"),
        };
        for folder in [&logs.messages, &logs.requests] {
            std::fs::create_dir_all(folder).with_context(|| format!("{}", folder.display()))?;
        }
        Ok(logs)
    }

    fn name_in(&self, command: &mut Command) {
        command.env("COPYDESK_TEST_LSP_LOGS", &self.messages);
        command.env("COPYDESK_TEST_MODEL_LOGS", &self.requests);
    }
}

/// Holds the messages and requests of all tests against the standards; a count a checker.
fn check(logs: &Logs) -> Result<Vec<Count>> {
    let checkers = [
        ("check_lsp.py", &logs.messages),
        ("check_requests.py", &logs.requests),
    ];
    let run = |(script, folder): (&str, &PathBuf)| {
        let script = Path::new("tests/conformance").join(script);
        counted(
            program(CONFORMANCE.program("python"))
                .arg(script)
                .arg(folder),
        )
    };
    checkers.into_iter().map(run).collect()
}
