//! Five small tasks with a real provider, by the real binary, and a table of how they went: `cargo xtask live PROVIDER`. Of the
//! environment only that provider's own variables reach the binary, so that no other is asked. Without what it needs nothing is run.
//!
//! `live anthropic|openai|ollama`

#![allow(clippy::print_stdout)] // it prints a table

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use serde_json::{Value, json};
use tests::client::{Editor, Setup, over};
use tests::fixtures::{BROKEN, Project};
use tests::terminal::{self, Run};

/// As long as one task may take.
const LIMIT: Duration = Duration::from_secs(300);

/// Variables of every provider: which of its models, and how the network is reached.
const SHARED: [&str; 7] = [
    "COPYDESK_MODEL",
    "http_proxy",
    "https_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "all_proxy",
];

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    let provider = std::env::args().nth(1).unwrap_or_default();
    let Some(own) = own_variables(&provider) else {
        bail!("`{provider}` is no provider that is tried: anthropic, openai or ollama");
    };
    let live = Live {
        environment: own
            .iter()
            .chain(&SHARED)
            .filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?)))
            .collect(),
    };
    let model = match live.model(&provider).await? {
        Ok(model) => model,
        Err(why) => {
            println!("{provider}: skipped, {why}");
            return Ok(ExitCode::SUCCESS);
        }
    };
    println!("{model}\n");
    println!(
        "{}",
        line(["task", "done", "seconds", "tokens in, out", "USD"])
    );
    let mut well = true;
    for task in Task::ALL {
        let (run, done) = live.run(task, &model).await;
        let said = match &done {
            Ok(()) => "yes".to_owned(),
            Err(why) => format!("no: {why}"),
        };
        well &= done.is_ok();
        let seconds = format!("{:.1}", run.time.as_secs_f64());
        let tokens = format!("{}, {}", run.input, run.output);
        let cost = run
            .cost
            .map_or("not known".to_owned(), |cost| format!("{cost:.4}"));
        println!("{}", line([task.title(), &said, &seconds, &tokens, &cost]));
    }
    Ok(match well {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

fn own_variables(provider: &str) -> Option<&'static [&'static str]> {
    Some(match provider {
        "anthropic" => &["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"],
        "openai" => &["OPENAI_API_KEY", "OPENAI_BASE_URL"],
        "ollama" => &[],
        _ => return None,
    })
}

fn line([task, done, seconds, tokens, cost]: [&str; 5]) -> String {
    format!("{task:<42} {seconds:>8} {tokens:>16} {cost:>10}  {done}")
}

#[derive(Clone, Copy)]
enum Task {
    Answer,
    Edit,
    Fix,
    Rename,
    Unsaved,
}

impl Task {
    const ALL: [Self; 5] = [
        Self::Answer,
        Self::Edit,
        Self::Fix,
        Self::Rename,
        Self::Unsaved,
    ];

    fn title(self) -> &'static str {
        match self {
            Self::Answer => "answer a question about a file",
            Self::Edit => "change a line",
            Self::Fix => "fix a type error",
            Self::Rename => "rename a function in two files",
            Self::Unsaved => "change a text that was never saved",
        }
    }
}

const NOTES: &str = "# Harvest\n\nplums: 3 May\npears: 9 June\n";

/// The environment in which it is run.
struct Live {
    environment: Vec<(String, String)>,
}

impl Live {
    /// The model that is tried; else why there is none.
    async fn model(&self, provider: &str) -> anyhow::Result<Result<String, String>> {
        let project = Project::new();
        let mut doctor = self.copydesk(&project);
        let output = doctor.args(["doctor", "--json"]).output().await?;
        let told: Value = serde_json::from_slice(&output.stdout)
            .with_context(|| String::from_utf8_lossy(&output.stderr).into_owned())?;
        let told = &told["model"];
        if provider == "ollama" {
            let servers = told["local"].as_array();
            let ollama = servers
                .into_iter()
                .flatten()
                .find(|server| server["provider"] == "ollama");
            let Some(ollama) = ollama else {
                return Ok(Err(
                    "no Ollama with a model answers on its usual port".to_owned()
                ));
            };
            let first = ollama["models"][0].as_str().unwrap_or_default();
            return Ok(Ok(self.chosen().unwrap_or(format!("ollama/{first}"))));
        }
        let providers = told["providers"].as_array();
        let state = providers
            .into_iter()
            .flatten()
            .find(|found| found["name"] == provider);
        if state.is_none_or(|state| state["key"] == "missing") {
            let variable = own_variables(provider).and_then(|own| own.first().copied());
            return Ok(Err(format!("{} is not set", variable.unwrap_or("its key"))));
        }
        let usual = told["name"].as_str().unwrap_or_default().to_owned();
        let model = self.chosen().unwrap_or(usual);
        if model.split('/').next() != Some(provider) {
            bail!("the model would be {model}: name one of {provider} by COPYDESK_MODEL");
        }
        Ok(Ok(model))
    }

    fn chosen(&self) -> Option<String> {
        let mut variables = self.environment.iter();
        let (_, chosen) = variables.find(|(name, _)| name == "COPYDESK_MODEL")?;
        Some(chosen.clone())
    }

    fn copydesk(&self, project: &Project) -> tokio::process::Command {
        let mut command = terminal::copydesk(project.root(), &project.beside("config"));
        command.envs(self.environment.iter().cloned());
        command
    }

    /// What one task took, and whether it is done; else what is wrong.
    async fn run(&self, task: Task, model: &str) -> (Run, Result<(), String>) {
        match task {
            Task::Answer => {
                let settings = "host = \"localhost\"\nport = 4711\n";
                let project = Project::with(&[("settings.toml", settings)]);
                let prompt = "Which port is set in settings.toml? Answer with the number.";
                let run = self.ask(&project, model, prompt, &["--read-only"]).await;
                let done = told(&run, run.message.contains("4711"), &run.message);
                (run, done)
            }
            Task::Edit => {
                let project = Project::with(&[("notes.md", NOTES)]);
                let prompt =
                    "In notes.md the plums are due on 5 May. Change that, and nothing else.";
                let run = self.ask(&project, model, prompt, &[]).await;
                let text = project.read("notes.md");
                let done = told(&run, text == NOTES.replace("3 May", "5 May"), &text);
                (run, done)
            }
            Task::Fix => {
                let broken = BROKEN[0];
                let project = Project::rust(broken.text);
                let before = broken.text.split(broken.at).next().unwrap_or_default();
                let place = format!("src/lib.rs:{}", before.lines().count().max(1));
                let run = self.start(&project, model, &["fix", &place]).await;
                let checked = cargo_check(project.root());
                let done = told(
                    &run,
                    checked.is_ok(),
                    checked.err().as_deref().unwrap_or_default(),
                );
                (run, done)
            }
            Task::Rename => {
                let half =
                    "/// Half of it.\npub fn half(number: u32) -> u32 {\n    number / 2\n}\n";
                let quarter = "use crate::parts::half;\n\n/// A quarter of it.\npub fn quarter(number: u32) -> u32 {\n    half(half(number))\n}\n";
                let project = Project::rust("pub mod parts;\npub mod whole;\n");
                project.write("src/parts.rs", half);
                project.write("src/whole.rs", quarter);
                let prompt = "Rename the function half in src/parts.rs to halve, everywhere, by the language server.";
                let run = self.ask(&project, model, prompt, &[]).await;
                let renamed = |text: &str| {
                    text.replace("half(", "halve(")
                        .replace("::half;", "::halve;")
                };
                let is_done = project.read("src/parts.rs") == renamed(half)
                    && project.read("src/whole.rs") == renamed(quarter);
                let text = project.read("src/whole.rs");
                let done = told(&run, is_done, &text);
                (run, done)
            }
            Task::Unsaved => {
                let environment = self.environment.clone();
                let model = model.to_owned();
                let begun = Instant::now();
                // A wait of the editor that runs out is told by a panic.
                let done = tokio::spawn(unsaved(environment, model)).await;
                let (mut run, done) =
                    done.unwrap_or_else(|error| (Run::default(), Err(error.to_string())));
                run.time = begun.elapsed();
                (run, done)
            }
        }
    }

    async fn ask(&self, project: &Project, model: &str, prompt: &str, more: &[&str]) -> Run {
        let arguments = [&["run", "--prompt", prompt], more].concat();
        self.start(project, model, &arguments).await
    }

    async fn start(&self, project: &Project, model: &str, arguments: &[&str]) -> Run {
        let arguments = [arguments, &["--model", model]].concat();
        let run = terminal::run(self.copydesk(project), arguments, LIMIT).await;
        run.unwrap_or_else(|error| Run {
            status: error.to_string(),
            ..Run::default()
        })
    }
}

/// In an editor: what was typed stays, what was asked for is changed, and nothing is saved.
async fn unsaved(environment: Vec<(String, String)>, model: String) -> (Run, Result<(), String>) {
    let project = Project::with(&[("notes.md", NOTES)]);
    let editor = Editor::start(Setup {
        root: project.root().to_owned(),
        options: json!({ "model": model }),
        env: environment,
        ..Setup::default()
    })
    .await;
    let uri = editor.open(&project.path("notes.md"));
    editor.type_at(&uri, &over("# Harvest"), "# Harvest of 2026");
    let prompt = "In the notes, replace the year 2026 by 2027, and change nothing else.";
    let asked = json!({ "prompt": prompt, "uri": uri });
    let answer = editor.execute("copydesk.ask", asked).await;
    let finished = editor.wait_finished(&answer["session"]).await;
    let run = Run::of_finished(&finished);
    let text = editor.text(&uri);
    let wanted = NOTES.replace("# Harvest", "# Harvest of 2027");
    let is_done = text == wanted && project.read("notes.md") == NOTES;
    let done = told(&run, is_done, &text);
    editor.shutdown().await;
    (run, done)
}

/// Whether it is done, or what is there in its place.
fn told(run: &Run, is_done: bool, found: &str) -> Result<(), String> {
    match (run.status.as_str(), is_done) {
        ("done", true) => Ok(()),
        ("done", false) => Err(format!("{found:?}")),
        (status, _) => Err(format!("{status}: {}", run.message)),
    }
}

fn cargo_check(root: &Path) -> Result<(), String> {
    let output = Command::new("cargo")
        .args(["check", "--quiet"])
        .current_dir(root)
        .env_remove("CARGO_TARGET_DIR")
        .output()
        .map_err(|error| error.to_string())?;
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}
