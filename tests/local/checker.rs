//! Whether a project is right: each language's own checker (cargo check, pyright, tsc), and the test of what the program does. What
//! they say is told as it is; nothing is fixed here.

use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;
use tests::fixtures;

use crate::project::{Language, Project};
use crate::servers::tools;

/// An error that a checker found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub file: String,
    /// From 1.
    pub line: usize,
    pub text: String,
}

/// What the checker of its language finds.
pub fn check(project: &Project, laid_out: &fixtures::Project) -> Vec<Problem> {
    match project.language {
        Language::Rust => rust(laid_out),
        Language::Python => python(laid_out),
        Language::TypeScript => typescript(laid_out),
    }
}

/// Whether the checker is content and the program does what it should; else why not.
pub fn judge(project: &Project, laid_out: &fixtures::Project) -> Result<(), String> {
    if let Some(problem) = check(project, laid_out).first() {
        let text = problem.text.lines().next().unwrap_or_default();
        return Err(format!("{}:{}: {text}", problem.file, problem.line));
    }
    project.add_behaviour(laid_out);
    match project.language {
        Language::Rust => passes(&run(cargo(laid_out).args([
            "test",
            "--quiet",
            "--test",
            "behaviour",
        ]))),
        Language::Python => passes(&run(program("python3", laid_out).arg("behaviour.py"))),
        Language::TypeScript => passes(&run(program("node", laid_out).arg("behaviour.cjs"))),
    }
    .map_err(|why| format!("it does not do what it should: {why}"))
}

fn rust(laid_out: &fixtures::Project) -> Vec<Problem> {
    let output = run(cargo(laid_out).args(["check", "--quiet", "--message-format", "json"]));
    let lines = text(&output.stdout);
    let messages = lines
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let problems: Vec<Problem> = messages
        .map(|mut message| message["message"].take())
        .filter(|message| message["level"] == "error")
        .filter_map(|message| {
            let spans = message["spans"].as_array()?;
            let span = spans.iter().find(|span| span["is_primary"] == true)?;
            Some(Problem {
                file: span["file_name"].as_str()?.to_owned(),
                line: number(&span["line_start"]),
                text: message["message"].as_str()?.to_owned(),
            })
        })
        .collect();
    told(problems, &output)
}

fn python(laid_out: &fixtures::Project) -> Vec<Problem> {
    let output = run(program(npm("pyright"), laid_out).arg("--outputjson"));
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let found = answer["generalDiagnostics"].as_array();
    let problems: Vec<Problem> = found
        .into_iter()
        .flatten()
        .filter(|found| found["severity"] == "error")
        .map(|found| Problem {
            file: inside(found["file"].as_str().unwrap_or_default(), laid_out),
            line: number(&found["range"]["start"]["line"]) + 1,
            text: found["message"].as_str().unwrap_or_default().to_owned(),
        })
        .collect();
    told(problems, &output)
}

fn typescript(laid_out: &fixtures::Project) -> Vec<Problem> {
    // What it compiles to is what the test of what it does runs.
    let arguments = ["--project", ".", "--pretty", "false"];
    let output = run(program(npm("tsc"), laid_out).args(arguments));
    let problems = text(&output.stdout)
        .lines()
        .filter_map(|line| {
            // As `src/a.ts(3,5): error TS2304: Cannot find name 'b'.`
            let (place, text) = line.split_once(": error ")?;
            let (file, at) = place.strip_suffix(')')?.rsplit_once('(')?;
            let (line, _) = at.split_once(',')?;
            Some(Problem {
                file: file.to_owned(),
                line: line.parse().ok()?,
                text: text.to_owned(),
            })
        })
        .collect();
    told(problems, &output)
}

/// A checker that fails without a problem that could be read is one itself.
fn told(problems: Vec<Problem>, output: &Output) -> Vec<Problem> {
    if output.status.success() || !problems.is_empty() {
        return problems;
    }
    let text = format!("{} {}", text(&output.stdout), text(&output.stderr));
    vec![Problem {
        file: String::new(),
        line: 0,
        text: format!("the checker failed: {}", text.trim()),
    }]
}

/// How a file is called within the project.
fn inside(file: &str, laid_out: &fixtures::Project) -> String {
    let path = PathBuf::from(file);
    let inside = path.strip_prefix(laid_out.root()).unwrap_or(&path);
    inside.display().to_string()
}

fn number(value: &Value) -> usize {
    value
        .as_u64()
        .and_then(|number| number.try_into().ok())
        .unwrap_or(0)
}

fn passes(output: &Output) -> Result<(), String> {
    if output.status.success() {
        return Ok(());
    }
    let text = format!("{}{}", text(&output.stdout), text(&output.stderr));
    let mut lines = text.lines().map(str::trim).filter(|line| {
        let line = line.to_lowercase();
        line.contains("error") || line.contains("panicked")
    });
    Err(lines.next().unwrap_or("it failed").to_owned())
}

fn cargo(laid_out: &fixtures::Project) -> Command {
    let mut cargo = program("cargo", laid_out);
    cargo
        .env_remove("RUSTUP_TOOLCHAIN")
        .env("CARGO_TARGET_DIR", laid_out.beside("checked"))
        .env("CARGO_NET_OFFLINE", "true");
    cargo
}

/// A program of the Node tools.
fn npm(name: &str) -> PathBuf {
    tools().join("npm/node_modules/.bin").join(name)
}

fn program(name: impl AsRef<std::ffi::OsStr>, laid_out: &fixtures::Project) -> Command {
    let mut command = Command::new(name);
    command
        .current_dir(laid_out.root())
        .env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

fn run(command: &mut Command) -> Output {
    let name = command.get_program().to_owned();
    command
        .output()
        .unwrap_or_else(|why| panic!("{}: {why}", name.display()))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The error is the only one and where it is said to be, and the solution is one.
fn is_as_said(project: &Project) {
    let laid_out = project.lay_out();
    let problems = check(project, &laid_out);
    let places: Vec<(&str, usize)> = problems
        .iter()
        .map(|problem| (problem.file.as_str(), problem.line))
        .collect();
    let said = (project.file.as_str(), project.line);
    assert_eq!(places, [said], "{}: {problems:?}", project.name);
    project.solve(&laid_out);
    let judged = judge(project, &laid_out);
    assert_eq!(judged, Ok(()), "{}", project.name);
}

fn all_are_as_said(language: Language) {
    let all = Project::all();
    all.iter()
        .filter(|project| project.language == language)
        .for_each(is_as_said);
}

#[test]
fn slow_every_rust_project_has_its_one_error_and_a_solution() {
    all_are_as_said(Language::Rust);
}

#[test]
fn slow_every_python_project_has_its_one_error_and_a_solution() {
    all_are_as_said(Language::Python);
}

#[test]
fn slow_every_typescript_project_has_its_one_error_and_a_solution() {
    all_are_as_said(Language::TypeScript);
}
