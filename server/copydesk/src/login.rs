//! `copydesk login` and `copydesk logout`: a provider's key into the system's keyring, and out of it. The key comes from the
//! terminal, unseen, or from stdin; it is never an argument, which others could see, and never printed.

use std::{
    io::{IsTerminal as _, Read as _},
    process::ExitCode,
    time::Duration,
};

use anyhow::{Context as _, bail};
use model::{Catalogue, KeySource};

use crate::{
    config,
    keyring::{self, Note},
    terminal::{Interrupts, Usage, workspace_folder},
};

/// The keyring may ask the person to unlock it first.
const DEADLINE: Duration = Duration::from_secs(60);
/// No key is longer.
const LONGEST: u64 = 64 << 10;
const INTERRUPTED: u8 = 130;

/// `copydesk login PROVIDER`.
pub async fn login(provider: String) -> anyhow::Result<ExitCode> {
    let catalogue = catalogue()?;
    let known = catalogue.key_source(&provider);
    let source = known.map_err(|error| Usage(error.to_string()))?;
    let note = note()?;
    // Before the person has looked for the key.
    asked(&catalogue, &provider, keyring::reach).await?;
    let mut interrupts = Interrupts::listen()?;
    let name = provider.clone();
    let reading = tokio::task::spawn_blocking(move || read(&name));
    let key = tokio::select! {
        biased;
        () = interrupts.wait() => {
            echo::restore();
            eprintln!();
            return Ok(ExitCode::from(INTERRUPTED));
        }
        key = reading => key.context("the key can't be read")??,
    };
    let name = provider.clone();
    asked(&catalogue, &provider, move || keyring::put(&name, &key)).await?;
    note.add(&provider)?;
    eprintln!("copydesk: the key of {provider} is in the keyring");
    // What is found first counts.
    match source {
        KeySource::Variable(name) => {
            eprintln!("copydesk: but {name} is set, and comes before it");
        }
        KeySource::Command => eprintln!(
            "copydesk: but api_key_command of [providers.{provider}] comes before it: take that out of the configuration to use this one"
        ),
        KeySource::Keyring | KeySource::Unneeded | KeySource::Missing => {}
    }
    Ok(ExitCode::SUCCESS)
}

/// `copydesk logout PROVIDER`.
pub async fn logout(provider: String) -> anyhow::Result<ExitCode> {
    let catalogue = catalogue()?;
    let note = note()?;
    // What was taken out of the configuration may still have a key.
    if !note.names().contains(&provider)
        && let Err(error) = catalogue.key_source(&provider)
    {
        bail!(Usage(error.to_string()));
    }
    let name = provider.clone();
    let was = asked(&catalogue, &provider, move || keyring::take_out(&name)).await?;
    note.remove(&provider)?;
    eprintln!(
        "copydesk: {}",
        match was {
            true => format!("the key of {provider} is no longer in the keyring"),
            false => format!("the keyring has no key of {provider}"),
        }
    );
    Ok(ExitCode::SUCCESS)
}

/// The providers, as they are configured for here.
fn catalogue() -> anyhow::Result<Catalogue> {
    let folder = workspace_folder(None)?;
    let loaded = config::load(&[folder], &serde_json::Value::Null);
    for warning in &loaded.warnings {
        eprintln!("copydesk: {warning}");
    }
    Ok(loaded.catalogue())
}

fn note() -> anyhow::Result<Note> {
    Note::here().context("no folder for what copydesk remembers is known: set COPYDESK_STATE_DIR")
}

/// Does something with the keyring, and says what to do instead where that fails.
async fn asked<T: Send + 'static>(
    catalogue: &Catalogue,
    provider: &str,
    what: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> anyhow::Result<T> {
    let asking = tokio::task::spawn_blocking(what);
    let reason = match tokio::time::timeout(DEADLINE, asking).await {
        Ok(Ok(Ok(done))) => return Ok(done),
        Ok(Ok(Err(reason))) => reason,
        Ok(Err(panicked)) => panicked.to_string(),
        Err(_) => format!("it did not answer within {} s", DEADLINE.as_secs()),
    };
    let variable = catalogue.key_variable(provider);
    bail!(
        "the system's keyring can't be used here: {reason}. Without one, set {variable} in the environment that your editor is \
         started from, or let a command print the key: api_key_command in [providers.{provider}]"
    )
}

/// The key, as it is typed or as it comes from stdin.
fn read(provider: &str) -> anyhow::Result<String> {
    let mut text = String::new();
    if std::io::stdin().is_terminal() {
        // Before it is asked for: it may be pasted at once.
        let hidden = echo::off()?;
        eprint!("The key of {provider} (it is not shown): ");
        std::io::stdin().read_line(&mut text)?;
        drop(hidden);
        eprintln!();
    } else {
        std::io::stdin()
            .take(LONGEST)
            .read_to_string(&mut text)
            .map_err(|_| Usage("what came from stdin is no key".into()))?;
    }
    let key = text.trim();
    if key.is_empty() {
        bail!(Usage("no key was given: type it, or pipe it in".into()));
    }
    if key.chars().any(|c| c.is_whitespace() || c.is_control()) {
        bail!(Usage(
            "a key is one word: what was given has a space or a line break in it".into()
        ));
    }
    Ok(key.to_owned())
}

/// What is typed is shown by the terminal itself, unless it is told not to.
#[cfg(unix)]
mod echo {
    use std::sync::Mutex;

    use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

    /// How the terminal was. Whoever ends the process has to put it back.
    static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

    /// Shows what is typed again when it goes.
    pub struct Hidden;

    impl Drop for Hidden {
        fn drop(&mut self) {
            restore();
        }
    }

    pub fn off() -> anyhow::Result<Hidden> {
        let terminal = rustix::stdio::stdin();
        let before = tcgetattr(terminal)?;
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        *before_that() = Some(before);
        tcsetattr(terminal, OptionalActions::Flush, &silent)?;
        Ok(Hidden)
    }

    pub fn restore() {
        if let Some(before) = before_that().take() {
            // There is nobody left to tell.
            let _ = tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, &before);
        }
    }

    fn before_that() -> std::sync::MutexGuard<'static, Option<Termios>> {
        BEFORE
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

#[cfg(not(unix))]
mod echo {
    pub struct Hidden;

    pub fn off() -> anyhow::Result<Hidden> {
        anyhow::bail!(crate::terminal::Usage(
            "what is typed can't be hidden here: pipe the key in".into()
        ))
    }

    pub fn restore() {}
}
