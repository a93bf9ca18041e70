//! `cargo xtask bench`: every bench of the workspace, against the binary as it is released.

use anyhow::{Result, bail};

use crate::shell::{built, cargo, must, passes};

/// The benches: package, name.
const BENCHES: [(&str, &str); 2] = [("workspace", "grep"), ("tests", "server")];

/// Runs those whose package or name contains the filter.
pub fn run(filter: Option<&str>) -> Result<bool> {
    let wanted = |(package, name): &&(&str, &str)| {
        filter.is_none_or(|filter| package.contains(filter) || name.contains(filter))
    };
    let benches: Vec<_> = BENCHES.iter().filter(wanted).collect();
    if benches.is_empty() {
        bail!("no such bench; there are {BENCHES:?}");
    }
    must(cargo().args(["build", "--release", "--package", "copydesk"]))?;
    let mut well = true;
    for (package, name) in benches {
        let mut bench = cargo();
        bench.args(["bench", "--package", package, "--bench", name]);
        well &= passes(bench.env("COPYDESK_BIN", built("release", "copydesk")))?;
    }
    Ok(well)
}
