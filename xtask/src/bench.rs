//! `cargo xtask bench`: every bench of the workspace, against the binary as it is released.

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::{
    install,
    shell::{self, built, cargo, must, output, passes},
};

/// Runs those whose package or name contains the filter.
pub fn run(filter: Option<&str>) -> Result<bool> {
    let all = benches()?;
    let wanted = |(package, name): &&(String, String)| {
        filter.is_none_or(|filter| package.contains(filter) || name.contains(filter))
    };
    let benches: Vec<_> = all.iter().filter(wanted).collect();
    if benches.is_empty() {
        bail!("no such bench; there are {all:?}");
    }
    let asks_servers = benches.iter().any(|(package, _)| package == "tests");
    let tree = asks_servers.then(install::for_benches).transpose()?;
    must(cargo().args(["build", "--release", "--package", "copydesk"]))?;
    let mut well = true;
    for (package, name) in benches {
        let mut bench = cargo();
        bench.args(["bench", "--package", package, "--bench", name]);
        bench.env("COPYDESK_BIN", built("release", "copydesk"));
        bench.env("COPYDESK_TEST_TOOLS", shell::tools());
        if let Some(tree) = &tree {
            bench.env("COPYDESK_BENCH_TREE", tree);
        }
        well &= passes(&mut bench)?;
    }
    Ok(well)
}

/// The benches that the manifests name: package, name.
fn benches() -> Result<Vec<(String, String)>> {
    let metadata = output(cargo().args(["metadata", "--no-deps", "--format-version", "1"]));
    let metadata: Value = serde_json::from_str(&metadata.context("`cargo metadata` failed")?)?;
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let name = |value: &Value| value["name"].as_str().unwrap_or_default().to_owned();
    let mut found = Vec::new();
    for package in list(&metadata["packages"]) {
        for target in list(&package["targets"]) {
            if list(&target["kind"]).iter().any(|kind| kind == "bench") {
                found.push((name(&package), name(&target)));
            }
        }
    }
    Ok(found)
}
