//! Running programs: said aloud before, and with an error that names what is missing. It knows no chore.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// The top of the repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap_or(Path::new("."))
}

/// Where cargo builds.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| root().join("target"), |set| root().join(set))
}

/// Where what is installed for tests is: as the tests are told too, so that several trees can share it.
pub fn tools() -> PathBuf {
    std::env::var_os("COPYDESK_TEST_TOOLS")
        .map_or_else(|| target().join("tools"), |set| root().join(set))
}

/// A binary of ours in the folder of a profile.
pub fn built(profile: &str, name: &str) -> PathBuf {
    target()
        .join(profile)
        .join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}

/// Cargo, at the top, without what the cargo that runs us says of our own package: some build scripts would run again
/// for it, and much be built anew, whenever a person and we take turns.
pub fn cargo() -> Command {
    let mut cargo = program(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in std::env::vars_os() {
        let is_ours =
            |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
        if name.to_str().is_some_and(is_ours) {
            cargo.env_remove(name);
        }
    }
    cargo
}

/// Any program, at the top.
pub fn program(name: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(name);
    command.current_dir(root());
    command
}

/// The command as a person would type it.
pub fn said(command: &Command) -> String {
    let name = Path::new(command.get_program())
        .file_name()
        .unwrap_or_default();
    let words = std::iter::once(name).chain(command.get_args());
    words
        .map(|word| word.to_string_lossy().into_owned())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Runs it, its output to ours; whether it went well.
pub fn passes(command: &mut Command) -> Result<bool> {
    println!("$ {}", said(command));
    let status = command.status().map_err(|why| not_started(command, &why))?;
    Ok(status.success())
}

/// Runs it; an error if it went wrong.
pub fn must(command: &mut Command) -> Result<()> {
    if passes(command)? {
        Ok(())
    } else {
        bail!("`{}` failed", said(command))
    }
}

/// What it prints, if it goes well.
pub fn output(command: &mut Command) -> Option<String> {
    let output = command
        .stderr(Stdio::null())
        .stdin(Stdio::null())
        .output()
        .ok()?;
    output
        .status
        .success()
        .then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs it; each line of its stdout and stderr is printed and shown to `see`. Whether it went well.
pub fn watched(command: &mut Command, mut see: impl FnMut(&str)) -> Result<bool> {
    println!("$ {}", said(command));
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|why| not_started(command, &why))?;
    let (send, lines) = std::sync::mpsc::channel();
    let stdout = child.stdout.take().context("no stdout")?;
    let stderr = child.stderr.take().context("no stderr")?;
    let pass_on = |source: Box<dyn std::io::Read + Send>| {
        let send = send.clone();
        std::thread::spawn(move || {
            let mut source = BufReader::new(source);
            let mut line = Vec::new();
            while matches!(source.read_until(b'\n', &mut line), Ok(1..)) {
                // The other end is there until both have ended.
                let _ = send.send(String::from_utf8_lossy(&line).trim_end().to_owned());
                line.clear();
            }
        })
    };
    let readers = [pass_on(Box::new(stdout)), pass_on(Box::new(stderr))];
    drop(send);
    for line in lines {
        println!("{line}");
        see(&line);
    }
    for reader in readers {
        // A reader that panicked has lost output, not the outcome.
        let _ = reader.join();
    }
    Ok(child.wait()?.success())
}

fn not_started(command: &Command, why: &std::io::Error) -> anyhow::Error {
    let name = command.get_program().to_string_lossy();
    if why.kind() == ErrorKind::NotFound {
        let hint = match name.as_ref() {
            "python3" => {
                ": install Python 3.9 or newer with venv and pip (Debian: `apt-get install python3-venv`)"
            }
            "npm" => ": install Node.js, which brings npm",
            "rustup" => {
                ": see rustup.rs, or install rust-analyzer and the Rust sources as your system does"
            }
            _ => "",
        };
        anyhow::anyhow!("{name} is not installed{hint}")
    } else {
        anyhow::anyhow!("{name} does not start: {why}")
    }
}
