//! `cargo xtask test --local-model`: what `copydesk fix` makes of projects with one error each, without a model and with a small one.
//! No other test runs it, since it takes an hour and a gigabyte.

use anyhow::Result;

use crate::install::{self, Llama};
use crate::shell::{self, built, cargo, must, passes};

/// Runs the trials whose names (`FIXER/PROJECT`, `speaks/FORMAT`) contain the filter; all of them without one.
pub fn run(filter: Option<&str>) -> Result<bool> {
    install::language_servers_of_trials()?;
    let llama = Llama::install()?;
    must(cargo().args(["build", "--quiet", "--package", "copydesk"]))?;
    let mut trials = cargo();
    trials.args(["test", "--quiet", "--package", "tests", "--test", "local"]);
    trials.args(["--", "--ignored", "--nocapture", "--test-threads", "1"]);
    trials.env("COPYDESK_BIN", built("debug", "copydesk"));
    trials.env("COPYDESK_TEST_TOOLS", shell::tools());
    trials.env("COPYDESK_TEST_ONLY", filter.unwrap_or_default());
    trials.env("COPYDESK_TEST_LLAMA_PYTHON", llama.python);
    trials.env("COPYDESK_TEST_LLAMA_MODEL", llama.model);
    passes(&mut trials)
}
