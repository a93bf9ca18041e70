//! Keys in the system's own keyring: the Keychain, the Credential Manager, or the Secret Service that a desktop runs. Which
//! providers have one there is noted in the state folder by name, so that nobody asks the keyring (which may ask the
//! person) to find out.

use std::{
    collections::BTreeSet,
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::Context as _;
use keyring::v1::{Entry, Error};
use model::Secret;

/// What keyrings show as the owner of a key.
const SERVICE: &str = "copydesk";
/// The note of those that have a key there: one name a line.
const NOTE: &str = "keys-in-keyring";

/// The keyring, as the rooms ask it.
pub fn keyring() -> Option<Arc<dyn model::Keyring>> {
    Some(Arc::new(System {
        note: Note::here()?,
    }))
}

struct System {
    note: Note,
}

impl model::Keyring for System {
    fn has(&self, provider: &str) -> bool {
        self.note.names().contains(provider)
    }

    fn key(&self, provider: &str) -> Result<Secret, String> {
        match entry(provider)?.get_password() {
            Ok(key) => Ok(Secret::new(key)),
            Err(Error::NoEntry) => Err("it is not there any more".to_owned()),
            Err(error) => Err(words(&error)),
        }
    }
}

/// Whether there is a keyring at all. It may take as long as the person does.
pub fn reach() -> Result<(), String> {
    match Entry::store_status() {
        Ok(()) => Ok(()),
        Err(error) => Err(words(error)),
    }
}

/// Puts a key there, over one that is.
pub fn put(provider: &str, key: &str) -> Result<(), String> {
    let stored = entry(provider)?.set_password(key);
    stored.map_err(|error| words(&error))
}

/// Takes it out; `false` if there was none.
pub fn take_out(provider: &str) -> Result<bool, String> {
    match entry(provider)?.delete_credential() {
        Ok(()) => Ok(true),
        Err(Error::NoEntry) => Ok(false),
        Err(error) => Err(words(&error)),
    }
}

fn entry(provider: &str) -> Result<Entry, String> {
    reach()?;
    Entry::new(SERVICE, provider).map_err(|error| words(&error))
}

/// What is wrong, to the bottom of it: the top is mostly “platform failure”. No error of theirs holds a key.
fn words(error: &Error) -> String {
    let mut inner: &dyn std::error::Error = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    inner.to_string()
}

/// The file with the names of those that have a key in the keyring. It holds no key.
pub struct Note {
    path: PathBuf,
}

impl Note {
    /// That of this person; none where no folder of theirs is known.
    pub fn here() -> Option<Self> {
        let path = crate::config::state_directory()?.join(NOTE);
        Some(Self { path })
    }

    /// Who is noted.
    pub fn names(&self) -> BTreeSet<String> {
        // Whatever can't be read names nobody.
        let text = std::fs::read_to_string(&self.path).unwrap_or_default();
        let names = text.lines().map(str::trim);
        names
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect()
    }

    /// Notes one.
    pub fn add(&self, provider: &str) -> anyhow::Result<()> {
        let mut names = self.names();
        names.insert(provider.to_owned());
        self.write(&names)
    }

    /// Strikes one out; `false` if it was not noted.
    pub fn remove(&self, provider: &str) -> anyhow::Result<bool> {
        let mut names = self.names();
        let was = names.remove(provider);
        if was {
            self.write(&names)?;
        }
        Ok(was)
    }

    /// All or nothing: beside it first, then in its place.
    fn write(&self, names: &BTreeSet<String>) -> anyhow::Result<()> {
        let whole = || -> io::Result<()> {
            let folder = self.path.parent().unwrap_or(Path::new("."));
            std::fs::create_dir_all(folder)?;
            let beside = self.path.with_extension(std::process::id().to_string());
            let mut file = std::fs::File::create(&beside)?;
            for name in names {
                writeln!(file, "{name}")?;
            }
            std::fs::rename(&beside, &self.path)
        };
        whole().with_context(|| format!("{} can't be written", self.path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_a_key_there_is_noted_by_name() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let note = Note {
            path: folder.path().join("new").join(NOTE),
        };
        assert_eq!(note.names(), BTreeSet::new());
        assert!(!note.remove("openai").expect("nothing to write"));
        for name in ["openai", "mine", "openai"] {
            note.add(name).expect("written");
        }
        assert!(note.remove("openai").expect("written"));
        note.add("a b").expect("written");
        assert_eq!(
            note.names(),
            ["a b", "mine"].map(str::to_owned).into_iter().collect()
        );
        let files = std::fs::read_dir(folder.path().join("new")).expect("a folder");
        assert_eq!(files.count(), 1, "nothing is left beside it");
        std::fs::write(&note.path, [0xff, b'\n']).expect("written");
        assert_eq!(note.names(), BTreeSet::new());
    }
}
