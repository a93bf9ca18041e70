//! Where a provider's key comes from: an environment variable, a command that prints it, or the system's keyring. It is
//! fetched when it is first needed and never written anywhere.

use std::fmt;
use std::io;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::process::{Child, ChildStdout, Command};
use tokio_util::sync::CancellationToken;

use crate::{ModelError, Secret};

/// A password manager may ask the person first.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(60);
/// A keyring may ask the person for its password first.
const KEYRING_TIMEOUT: Duration = Duration::from_secs(60);
/// How long after its end what a command has printed may take to come.
const A_MOMENT: Duration = Duration::from_millis(100);
/// No key is longer.
const LONGEST: usize = 64 << 10;

/// Whether a text looks like the name of a variable, and not like a key: it may be shown.
pub fn is_variable_name(text: &str) -> bool {
    const LONGEST: usize = 48;
    let is_of_it = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    (1..=LONGEST).contains(&text.len())
        && text.chars().all(is_of_it)
        && !text.starts_with(|c: char| c.is_ascii_digit())
}

/// Keys that the system keeps. It is asked only when a request needs one that it has, and from a thread of its own.
pub trait Keyring: Send + Sync {
    /// Whether it has a key of this provider, as far as is known without asking it.
    fn has(&self, provider: &str) -> bool;

    /// The key, or in words why it can't be had. This may take as long as a person takes who is asked.
    fn key(&self, provider: &str) -> Result<Secret, String>;
}

/// A keyring that has a provider's key.
#[derive(Clone)]
pub(crate) struct Keeper(pub(crate) Arc<dyn Keyring>);

impl fmt::Debug for Keeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keeper")
    }
}

impl PartialEq for Keeper {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// One way to a key.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Source {
    /// It was in the environment.
    Set(Secret),
    /// A command prints it.
    Command(Vec<String>),
    /// The system's keyring has it.
    Keyring(Keeper),
    /// There is none, and none is needed as far as is known.
    Unneeded,
    /// There is none, but there should be.
    Missing,
}

/// A provider's key.
#[derive(Debug)]
pub(crate) struct Key {
    provider: String,
    /// The variable that holds it, or would.
    env: Option<String>,
    source: Source,
    /// What a command printed or the keyring gave.
    fetched: tokio::sync::Mutex<Option<Secret>>,
}

impl Key {
    pub(crate) fn new(provider: &str, env: Option<String>, source: Source) -> Self {
        Self {
            provider: provider.to_owned(),
            env,
            source,
            fetched: tokio::sync::Mutex::default(),
        }
    }

    pub(crate) fn source(&self) -> &Source {
        &self.source
    }

    /// Where it comes from, for a person who must look there.
    pub(crate) fn place(&self) -> String {
        match (&self.source, &self.env) {
            (Source::Command(_), _) => format!(
                "what api_key_command in [providers.{}] prints",
                self.provider
            ),
            (Source::Keyring(_), _) => format!(
                "the key in the system's keyring (`copydesk login {}` puts another there)",
                self.provider
            ),
            (Source::Set(_), Some(env)) => format!("the key in {env}"),
            (Source::Missing, Some(env)) if is_variable_name(env) => format!("the key in {env}"),
            (_, Some(env)) if is_variable_name(env) => {
                format!("whether it needs a key, to be set in {env}")
            }
            _ => format!(
                "whether it needs a key: api_key_env in [providers.{}] names the variable that holds it",
                self.provider
            ),
        }
    }

    /// The error of a key that is not there.
    pub(crate) fn missing(&self) -> ModelError {
        let provider = self.provider.clone();
        match &self.env {
            // Some write the key itself there: then nobody is to see it.
            Some(env) if !is_variable_name(env) => ModelError::Config {
                provider,
                key: "api_key_env".to_owned(),
                reason: "must be the name of a variable of the environment (capital letters, digits and _) that holds the key, never the key itself".to_owned(),
            },
            env => ModelError::NoKey {
                provider,
                env: env.clone().unwrap_or_else(|| "api_key_env".to_owned()),
            },
        }
    }

    /// The key, if one is needed.
    pub(crate) async fn get(
        &self,
        cancel: &CancellationToken,
    ) -> Result<Option<Secret>, ModelError> {
        match &self.source {
            Source::Set(secret) => Ok(Some(secret.clone())),
            Source::Unneeded => Ok(None),
            Source::Missing => Err(self.missing()),
            Source::Command(_) | Source::Keyring(_) => {
                let mut fetched = tokio::select! {
                    () = cancel.cancelled() => return Err(ModelError::Cancelled),
                    fetched = self.fetched.lock() => fetched,
                };
                if fetched.is_none() {
                    *fetched = match &self.source {
                        Source::Command(command) => Some(self.run(command, cancel).await?),
                        Source::Keyring(keeper) => Some(self.kept(keeper, cancel).await?),
                        _ => None,
                    };
                }
                Ok(fetched.clone())
            }
        }
    }

    /// Forgets what a command printed or the keyring gave, so that the next request asks again: tokens expire.
    pub(crate) async fn forget(&self) {
        *self.fetched.lock().await = None;
    }

    async fn kept(
        &self,
        keeper: &Keeper,
        cancel: &CancellationToken,
    ) -> Result<Secret, ModelError> {
        let failed = |reason: String| ModelError::Keyring {
            provider: self.provider.clone(),
            reason,
        };
        let (keyring, provider) = (keeper.0.clone(), self.provider.clone());
        // It can't be interrupted; whoever waits for it can.
        let asking = tokio::task::spawn_blocking(move || keyring.key(&provider));
        let answer = tokio::select! {
            () = cancel.cancelled() => return Err(ModelError::Cancelled),
            answer = tokio::time::timeout(KEYRING_TIMEOUT, asking) => answer,
        };
        match answer {
            Ok(Ok(key)) => key.map_err(failed),
            Ok(Err(_)) => Err(failed("asking it failed".to_owned())),
            Err(_) => Err(failed(format!(
                "it did not answer within {} s; is it locked?",
                KEYRING_TIMEOUT.as_secs()
            ))),
        }
    }

    async fn run(
        &self,
        command: &[String],
        cancel: &CancellationToken,
    ) -> Result<Secret, ModelError> {
        let program = command.first().map_or("", String::as_str);
        let failed = |reason: String| ModelError::KeyCommand {
            provider: self.provider.clone(),
            program: program.to_owned(),
            reason,
        };
        if program.is_empty() {
            return Err(failed("names no program".to_owned()));
        }
        // stderr is dropped: what a password manager says there may be a part of the secret.
        let mut command_line = Command::new(program);
        command_line
            .args(&command[1..])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        #[cfg(unix)]
        command_line.process_group(0);
        let mut child = command_line
            .spawn()
            .map_err(|error| failed(format!("could not be started: {error}")))?;
        let group = child.id();
        let mut waiting = std::pin::pin!(tokio::time::timeout(COMMAND_TIMEOUT, ended(&mut child)));
        // After the child, so that it goes first: while the child is not reaped its group is surely its own.
        let group = Group::of(group);
        let ended = tokio::select! {
            () = cancel.cancelled() => return Err(ModelError::Cancelled),
            ended = &mut waiting => ended,
        };
        let (status, printed) = ended
            .map_err(|_| {
                failed(format!(
                    "did not end within {} s",
                    COMMAND_TIMEOUT.as_secs()
                ))
            })?
            .map_err(|error| failed(format!("could not be read: {error}")))?;
        group.leave();
        if !status.success() {
            return Err(failed(format!("failed ({status})")));
        }
        let text = String::from_utf8(printed).map_err(|_| failed("printed no text".to_owned()))?;
        match text.lines().next().map(str::trim) {
            Some(key) if !key.is_empty() => Ok(Secret::new(key)),
            _ => Err(failed("printed nothing".to_owned())),
        }
    }
}

/// Waits until a command has ended, and gives what it printed.
async fn ended(child: &mut Child) -> io::Result<(ExitStatus, Vec<u8>)> {
    let mut printed = Vec::new();
    let status = {
        let mut reading = std::pin::pin!(read(child.stdout.take(), &mut printed));
        tokio::select! {
            read = &mut reading => {
                read?;
                child.wait().await
            }
            status = child.wait() => {
                // What it has printed is in the pipe, which something that it left behind (an agent) may hold open.
                let _ = tokio::time::timeout(A_MOMENT, &mut reading).await;
                status
            }
        }
    };
    Ok((status?, printed))
}

async fn read(pipe: Option<ChildStdout>, printed: &mut Vec<u8>) -> io::Result<()> {
    if let Some(mut pipe) = pipe {
        while printed.len() < LONGEST && pipe.read_buf(printed).await? > 0 {}
    }
    Ok(())
}

/// Ends the command and what it started, unless it ended by itself.
struct Group(#[cfg(unix)] Option<rustix::process::Pid>);

#[cfg(unix)]
impl Group {
    fn of(leader: Option<u32>) -> Self {
        Self(leader.and_then(|id| rustix::process::Pid::from_raw(id.cast_signed())))
    }

    fn leave(mut self) {
        self.0 = None;
    }
}

#[cfg(unix)]
impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            // It may have ended a moment ago: then there is nothing left to end.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }
}

#[cfg(not(unix))]
impl Group {
    fn of(_: Option<u32>) -> Self {
        Self()
    }

    fn leave(self) {}
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn printed_by(script: &str) -> Key {
        let command = ["sh", "-c", script].map(str::to_owned).to_vec();
        Key::new("p", Some("P_KEY".into()), Source::Command(command))
    }

    async fn get(key: &Key) -> Result<Option<String>, String> {
        let got = key.get(&CancellationToken::new()).await;
        got.map(|secret| secret.map(|secret| secret.reveal().to_owned()))
            .map_err(|error| error.to_string())
    }

    /// A keyring that answers in its own time, and counts who asks.
    struct Kept {
        asked: std::sync::atomic::AtomicUsize,
        answer: Result<&'static str, &'static str>,
        /// It answers when somebody has sent word.
        unlocked: Option<std::sync::Mutex<std::sync::mpsc::Receiver<()>>>,
    }

    impl Kept {
        fn of(answer: Result<&'static str, &'static str>) -> Self {
            Self {
                asked: std::sync::atomic::AtomicUsize::new(0),
                answer,
                unlocked: None,
            }
        }
    }

    impl Keyring for Kept {
        fn has(&self, provider: &str) -> bool {
            provider == "p"
        }

        fn key(&self, provider: &str) -> Result<Secret, String> {
            self.asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            assert_eq!(provider, "p");
            if let Some(unlocked) = &self.unlocked {
                let _ = unlocked.lock().unwrap().recv();
            }
            self.answer.map(Secret::new).map_err(str::to_owned)
        }
    }

    fn kept(keyring: &Arc<Kept>) -> Key {
        Key::new("p", None, Source::Keyring(Keeper(keyring.clone())))
    }

    #[tokio::test]
    async fn a_keyring_is_asked_once_when_the_key_is_needed() {
        let keyring = Arc::new(Kept::of(Ok("sk-1")));
        let asked = || keyring.asked.load(std::sync::atomic::Ordering::SeqCst);
        let key = kept(&keyring);
        assert_eq!(asked(), 0);
        let (one, other) = tokio::join!(get(&key), get(&key));
        assert_eq!(
            (one, other),
            (Ok(Some("sk-1".into())), Ok(Some("sk-1".into())))
        );
        assert_eq!(asked(), 1);
        key.forget().await;
        assert_eq!(get(&key).await, Ok(Some("sk-1".into())));
        assert_eq!(asked(), 2);
        assert!(!format!("{key:?}").contains("sk-1"), "{key:?}");
    }

    #[tokio::test]
    async fn a_keyring_that_fails_says_why_and_what_to_do() {
        let keyring = Arc::new(Kept::of(Err("it is not there any more")));
        let error = get(&kept(&keyring)).await.unwrap_err();
        assert!(
            error.starts_with("the key of p can't be had from the system's keyring: it is not there any more. `copydesk login p`"),
            "{error}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_long_for_a_keyring_that_is_locked() {
        let (unlock, unlocked) = std::sync::mpsc::channel();
        let keyring = Arc::new(Kept {
            unlocked: Some(std::sync::Mutex::new(unlocked)),
            ..Kept::of(Ok("sk-1"))
        });
        let key = kept(&keyring);
        let cancel = CancellationToken::new();
        let (got, ()) = tokio::join!(key.get(&cancel), async { cancel.cancel() });
        assert_eq!(got, Err(ModelError::Cancelled));
        // The clock runs while everybody waits; a thread that blocks stops it, so it is moved on by hand.
        let waiting = tokio::spawn(async move { get(&key).await });
        while keyring.asked.load(std::sync::atomic::Ordering::SeqCst) < 2 {
            tokio::task::yield_now().await;
        }
        tokio::time::advance(KEYRING_TIMEOUT).await;
        let error = waiting.await.unwrap().unwrap_err();
        assert!(
            error.contains("did not answer within 60 s; is it locked?"),
            "{error}"
        );
        drop(unlock);
    }

    #[test]
    fn what_may_be_shown() {
        for (text, expected) in [
            ("OPENAI_API_KEY", true),
            ("KEY2", true),
            ("sk_live_4eC39Hq", false),
            ("AIzaSyA1234567890", false),
            ("2KEYS", false),
            ("", false),
            (&"K".repeat(60), false),
        ] {
            assert_eq!(is_variable_name(text), expected, "{text}");
        }
        for source in [Source::Missing, Source::Unneeded] {
            let key = Key::new("p", Some("sk-secret".into()), source);
            assert!(!key.place().contains("sk-secret"), "{}", key.place());
            let missing = key.missing().to_string();
            assert!(!missing.contains("sk-secret"), "{missing}");
        }
    }

    #[tokio::test]
    async fn a_command_prints_the_key_on_its_first_line() {
        assert_eq!(
            get(&printed_by("echo '  sk-1 '; echo note")).await,
            Ok(Some("sk-1".into()))
        );
    }

    #[tokio::test]
    async fn a_command_is_asked_once_until_its_key_is_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let key = printed_by(&format!(
            "echo x >> {0}/asked; wc -l < {0}/asked",
            folder.path().display()
        ));
        assert_eq!(get(&key).await, Ok(Some("1".into())));
        assert_eq!(get(&key).await, Ok(Some("1".into())));
        key.forget().await;
        assert_eq!(get(&key).await, Ok(Some("2".into())));
    }

    #[tokio::test]
    async fn a_command_that_fails_is_named_but_never_what_it_printed() {
        for (script, reason) in [
            (
                "echo sk-secret; echo sk-secret >&2; exit 3",
                "failed (exit status: 3)",
            ),
            ("printf '\\n'", "printed nothing"),
            ("printf '\\377'", "printed no text"),
        ] {
            let error = get(&printed_by(script)).await.unwrap_err();
            assert_eq!(
                error,
                format!(
                    "the api_key_command of p (`sh`) {reason}. Run it in a terminal to see why"
                )
            );
        }
        let none = Key::new("p", None, Source::Command(vec!["/no/such/program".into()]));
        assert!(
            get(&none)
                .await
                .unwrap_err()
                .contains("could not be started")
        );
    }

    /// As one that starts an agent, which lives on.
    #[tokio::test]
    async fn a_command_may_leave_something_behind_that_holds_its_pipe_open() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        let key = printed_by(&format!("cat {} & echo sk-1", pipe.display()));
        let got = tokio::time::timeout(Duration::from_secs(30), get(&key)).await;
        // It ends when the test does.
        drop(std::fs::File::options().write(true).open(pipe));
        assert_eq!(got.unwrap(), Ok(Some("sk-1".into())));
    }

    #[tokio::test]
    async fn cancelling_ends_the_command_and_its_children() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(
            std::process::Command::new("mkfifo")
                .arg(&pipe)
                .status()
                .unwrap()
                .success()
        );
        // The grandchild holds the pipe open for writing until it ends.
        let key = printed_by(&format!(
            "sh -c 'echo up; exec sleep 1000' > {} & wait",
            pipe.display()
        ));
        let cancel = CancellationToken::new();
        let stop = cancel.clone();
        let reader = tokio::task::spawn_blocking(move || {
            let file = std::fs::File::open(pipe).unwrap();
            let mut lines = std::io::BufRead::lines(std::io::BufReader::new(file));
            assert_eq!(lines.next().unwrap().unwrap(), "up");
            stop.cancel();
            assert!(
                lines.next().is_none(),
                "the pipe closes when the grandchild ends"
            );
        });
        assert_eq!(key.get(&cancel).await, Err(ModelError::Cancelled));
        tokio::time::timeout(Duration::from_secs(10), reader)
            .await
            .unwrap()
            .unwrap();
    }
}
