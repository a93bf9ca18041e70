//! What of the known servers is on this machine: where, in which version, and how one gets what is not. It runs programs
//! to ask them for their version, and starts no server.

use std::{
    ffi::OsString,
    io,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use serde_json::Value;
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    process::Command,
};

use super::Traits;
use crate::{
    config::{ServerConfig, Servers},
    process, roots,
    server::{NotFound, find_program, gone},
};

/// How long a program may think about its version.
const PATIENCE: Duration = Duration::from_secs(2);
/// No version is longer.
const LONGEST: usize = 64;
/// How much of what it prints is read.
const MOST: usize = 64 << 10;
/// How long after its end what a program has said may take to come.
const A_MOMENT: Duration = Duration::from_millis(100);

/// One server, as it is here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Surveyed {
    /// Its name in the configuration.
    pub name: String,
    /// LSP language ids of what it serves.
    pub languages: Vec<String>,
    /// The command that would be run, or would be if it were there.
    pub command: Vec<String>,
    /// Whether it knows definitions, and is meant for the folder that was looked at: one server that does is enough for
    /// a language.
    pub is_general: bool,
    /// Whether it is there.
    pub presence: Presence,
    /// What installs it, if that is known.
    pub install: Option<String>,
    /// Where its command is configured, if it is not the catalogue's.
    pub configured_at: Option<String>,
}

/// Whether a server is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Presence {
    /// It is.
    Found {
        /// Its program.
        path: PathBuf,
        /// What it says of its version, if it does within two seconds.
        version: Option<String>,
    },
    /// It is not.
    Missing {
        /// A program that has its name and is something else.
        instead: Option<PathBuf>,
    },
    /// What is configured can't be run.
    Unusable(String),
    /// It is switched off.
    Disabled,
}

/// Looks for all of these servers (see [`super::merged`]), those that are preferred for a language first. `folder` is the
/// project that is looked at from: a program may be another one there.
pub async fn survey(servers: &Servers, folder: &Path) -> Vec<Surveyed> {
    let looks = super::in_order(servers.clone())
        .into_iter()
        .map(|(name, config)| look(name, config, folder));
    futures::future::join_all(looks).await
}

async fn look(name: String, config: ServerConfig, folder: &Path) -> Surveyed {
    let traits = super::traits(&name);
    let mut surveyed = Surveyed {
        is_general: is_general(traits, &config, folder),
        languages: config.languages.clone(),
        command: config.command.clone(),
        presence: Presence::Disabled,
        install: traits.install.clone(),
        configured_at: config.configured_at.clone(),
        name,
    };
    if !config.is_enabled() {
        return surveyed;
    }
    surveyed.presence = Presence::Missing { instead: None };
    for command in config.commands() {
        let search = config.env.get("PATH").map(OsString::from);
        match find_program(&command[0], search, folder) {
            Ok(path) => {
                surveyed.command = command.to_vec();
                let found = behind(traits, &config, path, folder).await;
                if let Some(install) = found.install {
                    surveyed.install = Some(install);
                }
                surveyed.presence = found.presence;
                return surveyed;
            }
            Err(NotFound::Unusable(reason)) => {
                surveyed.presence = Presence::Unusable(format!("{} {reason}", command[0]));
            }
            // That is a mistake of the configuration, whether or not the server is installed.
            Err(NotFound::Missing) => {
                if config.configured_at.is_some()
                    && matches!(surveyed.presence, Presence::Missing { .. })
                {
                    let reason = format!("{} was not found", command[0]);
                    surveyed.presence = Presence::Unusable(reason);
                }
            }
        }
    }
    surveyed
}

fn is_general(traits: &Traits, config: &ServerConfig, folder: &Path) -> bool {
    let is_asked_for = config.enabled == Some(true);
    let is_marked = || roots::root(&folder.join("file"), folder, &config.root_markers).is_some();
    is_asked_for || (!traits.adds_only && (!traits.only_with_marker || is_marked()))
}

struct Behind {
    presence: Presence,
    install: Option<String>,
}

/// What is behind a program that has the right name.
async fn behind(traits: &Traits, config: &ServerConfig, path: PathBuf, folder: &Path) -> Behind {
    let mut version = packaged(&path);
    let arguments = match &traits.version {
        Some(arguments) => arguments.clone(),
        None => vec!["--version".to_owned()],
    };
    if version.is_none() && !arguments.is_empty() {
        let said = match said(&path, &arguments, config, folder).await {
            Ok(said) => said,
            // What runs it is not there (a script of a Python that is gone), or it is for another machine.
            Err(error) => {
                let why = gone(folder).unwrap_or_else(|| error.to_string());
                return Behind {
                    presence: Presence::Unusable(format!(
                        "{} can't be started: {why}",
                        path.display()
                    )),
                    install: None,
                };
            }
        };
        if let Some(missing) = traits.missing(&said) {
            return Behind {
                presence: Presence::Missing {
                    instead: Some(path),
                },
                install: missing.install,
            };
        }
        version = version_in(&said);
    }
    let is_too_old = traits
        .least_version
        .zip(version.as_deref().and_then(major))
        .is_some_and(|(least, major)| major < least);
    let presence = if is_too_old {
        Presence::Missing {
            instead: Some(path),
        }
    } else {
        Presence::Found { path, version }
    };
    Behind {
        presence,
        install: None,
    }
}

/// The version of the npm package that a program is from: to start it only to hear that takes long, and many don't say.
fn packaged(path: &Path) -> Option<String> {
    let real = path.canonicalize().ok()?;
    if !real
        .components()
        .any(|part| part.as_os_str() == "node_modules")
    {
        return None;
    }
    let package = real
        .ancestors()
        .skip(1)
        .find_map(|folder| std::fs::read(folder.join("package.json")).ok())?;
    let package: Value = serde_json::from_slice(&package).ok()?;
    package["version"].as_str().map(str::to_owned)
}

/// What a program prints until it ends, or until its time is up.
async fn said(
    path: &Path,
    arguments: &[String],
    config: &ServerConfig,
    folder: &Path,
) -> io::Result<String> {
    let mut command = Command::new(path);
    command
        .args(arguments)
        .envs(&config.env)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let process::Process { mut child, tree } = process::spawn(command)?;
    let (mut output, mut errors) = (Vec::new(), Vec::new());
    {
        let pipes = (child.stdout.take(), child.stderr.take());
        let listening =
            async { tokio::join!(read(pipes.0, &mut output), read(pipes.1, &mut errors)) };
        tokio::pin!(listening);
        let until_it_ends = async {
            tokio::select! {
                _ = &mut listening => {}
                _ = child.wait() => {
                    // What it said is in the pipes, whose ends something that it started may hold open.
                    let _ = tokio::time::timeout(A_MOMENT, &mut listening).await;
                }
            }
        };
        let _ = tokio::time::timeout(PATIENCE, until_it_ends).await;
    }
    let _ = tokio::task::spawn_blocking(move || tree.end()).await;
    let _ = child.wait().await;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(format!("{}\n{}", text(&output), text(&errors)))
}

/// Takes in what comes: all that came is there whenever nobody waits any longer.
async fn read(pipe: Option<impl AsyncRead + Unpin>, bytes: &mut Vec<u8>) {
    let Some(mut pipe) = pipe else { return };
    while bytes.len() < MOST && matches!(pipe.read_buf(bytes).await, Ok(count) if count > 0) {}
}

/// The first word of what a program said that looks like a version.
fn version_in(said: &str) -> Option<String> {
    said.split(|character: char| character.is_whitespace() || "(),;:".contains(character))
        .map(|word| word.strip_prefix('v').unwrap_or(word))
        .find(|word| {
            let is_shown = word.len() <= LONGEST && !word.contains(char::is_control);
            is_shown && word.contains('.') && major(word).is_some()
        })
        .map(str::to_owned)
}

fn major(version: &str) -> Option<u32> {
    let (number, _) = version.split_once('.')?;
    number.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        for (said, expected) in [
            (
                "rust-analyzer 1.95.0 (5980761 2026-04-14)\n",
                Some("1.95.0"),
            ),
            (
                "Debian clangd version 19.1.7 (3+b1)\nFeatures: linux",
                Some("19.1.7"),
            ),
            (
                "golang.org/x/tools/gopls v0.5.0\n    golang.org/x/tools/gopls@v0.5.0 h1:x",
                Some("0.5.0"),
            ),
            ("Version 5.9.3", Some("5.9.3")),
            ("ty 0.0.108", Some("0.0.108")),
            ("julia version 1.11.6+0.x", Some("1.11.6+0.x")),
            (
                "R version 4.2.2 Patched (2022-11-10 r83330) -- \"Innocent\"",
                Some("4.2.2"),
            ),
            ("error: no such option. Try --help", None),
            ("1.\u{1b}[31mred 2.0", Some("2.0")),
            (&format!("1.{}", "0".repeat(100)), None),
            ("", None),
        ] {
            assert_eq!(version_in(said).as_deref(), expected, "{said}");
        }
    }
}
