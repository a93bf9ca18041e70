//! Real Neovim, headless, with folders of its own: it runs one Lua script and hands back what that showed. It has no
//! opinion on what a test looks for.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use tokio::process::Command;

use crate::client;

/// `cargo xtask test` installs it and names it here.
const NVIM: &str = "COPYDESK_TEST_NVIM";

/// Longer than any wait inside of a script.
const DEADLINE: Duration = Duration::from_secs(240);

/// What every script has: `show(name, value)`, `wait(what, condition)`, and its own failure shown.
const PRELUDE: &str = r"
local results = assert(io.open(vim.env.COPYDESK_TEST_RESULTS, 'w'))
function show(name, value)
  results:write(vim.json.encode({ name = name, value = value == nil and vim.NIL or value }), '\n')
  results:flush()
end
function wait(what, condition)
  if not vim.wait(100000, condition, 20) then error('waited in vain for ' .. what, 2) end
end
local well, why = xpcall(dofile, debug.traceback, vim.env.COPYDESK_TEST_SCRIPT)
if not well then show('error', why) end
vim.cmd('qall!')
";

/// Runs `script` in a Neovim whose `init.lua` is `init`; what it showed, by name. Panics if the script fails.
pub async fn run(init: &str, script: &str, env: &[(&str, &str)]) -> BTreeMap<String, Value> {
    let home = TempDir::new().expect("a temporary folder");
    let path = |name: &str| home.path().join(name);
    let write = |name: &str, text: &str| {
        std::fs::create_dir_all(path(name).parent().expect("a folder")).expect("folders");
        std::fs::write(path(name), text).expect("written");
    };
    write("config/nvim/init.lua", init);
    write("prelude.lua", PRELUDE);
    write("script.lua", script);
    let mut command = Command::new(nvim());
    for name in client::CLEARED {
        command.env_remove(name);
    }
    for (name, folder) in [
        ("XDG_CONFIG_HOME", "config"),
        ("XDG_DATA_HOME", "data"),
        ("XDG_STATE_HOME", "state"),
        ("XDG_CACHE_HOME", "cache"),
        ("XDG_RUNTIME_DIR", "run"),
        ("COPYDESK_CONFIG_DIR", "copydesk/config"),
        ("COPYDESK_STATE_DIR", "copydesk/state"),
    ] {
        std::fs::create_dir_all(path(folder)).expect("a folder");
        command.env(name, path(folder));
    }
    command
        .arg("--headless")
        .args(["-c", "lua dofile(vim.env.COPYDESK_TEST_PRELUDE)"])
        .env("COPYDESK_TEST_PRELUDE", path("prelude.lua"))
        .env("COPYDESK_TEST_SCRIPT", path("script.lua"))
        .env("COPYDESK_TEST_RESULTS", path("results"))
        .env("COPYDESK_TEST_BINARY", client::binary())
        .envs(env.iter().copied())
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let output = tokio::time::timeout(DEADLINE, command.output()).await;
    let lsp_log = || std::fs::read_to_string(path("state/nvim/lsp.log")).unwrap_or_default();
    let Ok(output) = output else {
        panic!("Neovim hangs; its LSP log:\n{}", lsp_log())
    };
    let output = output.expect("Neovim starts");
    let shown = std::fs::read_to_string(path("results")).unwrap_or_default();
    let said = String::from_utf8_lossy(&output.stderr);
    let mut results = BTreeMap::new();
    for line in shown.lines() {
        let line: Value = serde_json::from_str(line).expect("JSON");
        results.insert(
            line["name"].as_str().unwrap_or_default().to_owned(),
            line["value"].clone(),
        );
    }
    assert!(
        output.status.success() && !results.is_empty() && !results.contains_key("error"),
        "the script failed: {}\nshown: {shown}\nNeovim said: {said}\nits LSP log:\n{}",
        results
            .get("error")
            .and_then(Value::as_str)
            .unwrap_or_default(),
        lsp_log()
    );
    results
}

/// The binary: as named, else where `cargo xtask test` put it.
fn nvim() -> PathBuf {
    let path = std::env::var_os(NVIM).map_or_else(
        || {
            let test = std::env::current_exe().expect("this test's path");
            let target = test
                .ancestors()
                .nth(3)
                .expect("the target folder")
                .to_owned();
            target.join("tools/neovim/bin/nvim")
        },
        PathBuf::from,
    );
    assert!(
        path.is_file(),
        "{} is not there: `cargo xtask test` installs it",
        path.display()
    );
    path
}
