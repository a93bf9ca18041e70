//! One project fixed by `copydesk fix`, in a process of its own, and what came of it. Nothing of it is left.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use tests::fixtures;
use tests::terminal::{self, Run};

use crate::checker;
use crate::llama::{self, Llama};
use crate::project::Project;
use crate::servers::tools;

/// How long a model may think about one error.
const LIMIT: Duration = Duration::from_secs(300);

/// Who fixes, and how copydesk is told of it.
#[derive(Clone, Debug)]
pub struct Fixer {
    /// As the table calls it.
    pub title: &'static str,
    /// `provider/model`.
    pub model: String,
    /// The text of `config.toml`.
    pub config: String,
}

impl Fixer {
    /// The title of the one that is a model.
    pub const MODEL: &str = llama::NAME;

    /// The small model.
    pub fn model(llama: &Llama) -> Self {
        let (name, context) = (llama::NAME, llama::CONTEXT);
        Self {
            title: Self::MODEL,
            model: format!("llamacpp/{name}"),
            config: format!(
                "[providers.llamacpp]\nbase_url = \"{}/v1\"\n\
                 [providers.llamacpp.models.\"{name}\"]\ncontext = {context}\n",
                llama.url
            ),
        }
    }

    /// The model that is none.
    pub fn quickfix() -> Self {
        Self {
            title: "quickfix",
            model: "builtin/quickfix".to_owned(),
            config: String::new(),
        }
    }
}

/// What came of one project.
#[derive(Clone, Debug)]
pub struct Fixed {
    /// Nothing, if it is solved; else why not.
    pub left: Result<(), String>,
    pub run: Run,
}

/// Lets it be fixed, and judges what is there then.
pub async fn fix(project: &Project, fixer: &Fixer) -> std::io::Result<Fixed> {
    let laid_out = project.lay_out();
    let run = run(project, &laid_out, fixer).await?;
    let left = checker::judge(project, &laid_out);
    Ok(Fixed { left, run })
}

async fn run(
    project: &Project,
    laid_out: &fixtures::Project,
    fixer: &Fixer,
) -> std::io::Result<Run> {
    let config = laid_out.beside("config");
    std::fs::write(config.join("config.toml"), &fixer.config)?;
    let mut command = terminal::copydesk(laid_out.root(), &config);
    command.env("PATH", path());
    let place = format!("{}:{}", project.file, project.line);
    terminal::run(command, ["fix", &place, "--model", &fixer.model], LIMIT).await
}

/// Where programs are looked for: our language servers first.
fn path() -> OsString {
    let ours = [tools().join("npm/node_modules/.bin")];
    let others = std::env::var_os("PATH").unwrap_or_default();
    let others: Vec<PathBuf> = std::env::split_paths(&others).collect();
    std::env::join_paths(ours.into_iter().chain(others)).expect("paths without a colon")
}
