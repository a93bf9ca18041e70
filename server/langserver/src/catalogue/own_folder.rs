//! The folder that a server is told to build into, beside the one of the user's own builds. It is ours, so it is made before
//! the server can: with the marks by which git, searches and backups leave it alone. cargo makes its folders with the mark
//! for backups alone, and leaves the rest to a `.gitignore` that a project need not have.

use std::{fs, io, path::Path};

use serde_json::Value;

use super::Traits;
use crate::{config::ServerConfig, roots};

const MARKS: [(&str, &str); 2] = [
    (
        "CACHEDIR.TAG",
        "Signature: 8a477f597d28d172789f06886806bc55\n# This file is a cache directory tag created by copydesk.\n# For information about cache directory tags see https://bford.info/cachedir/\n",
    ),
    (".gitignore", "*\n"),
];

/// Makes a server's own folder in a project and marks it, if its settings still name it. What can't be made the server will
/// not make either.
pub(crate) fn make(traits: &Traits, config: &ServerConfig, root: &Path) {
    let Some(folder) = &traits.own_folder else {
        return;
    };
    // Where there is no project nothing is built.
    if !roots::has_any(root, &config.root_markers) || !names(&config.settings, folder) {
        return;
    }
    if let Err(error) = marked(root, Path::new(folder)) {
        tracing::debug!(?root, folder, %error, "its own folder can't be made");
    }
}

/// Whoever builds there later finds the folder and marks it no more: so all that are new are marked.
fn marked(root: &Path, folder: &Path) -> io::Result<()> {
    let mut at = root.to_owned();
    for part in folder {
        at.push(part);
        match fs::create_dir(&at) {
            Ok(()) => mark(&at)?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    mark(&at)
}

fn mark(folder: &Path) -> io::Result<()> {
    for (name, text) in MARKS {
        match fs::File::create_new(folder.join(name)) {
            Ok(mut file) => io::Write::write_all(&mut file, text.as_bytes())?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Whether some setting is this text.
fn names(settings: &Value, text: &str) -> bool {
    match settings {
        Value::String(one) => one == text,
        Value::Object(object) => object.values().any(|inner| names(inner, text)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{merged, traits};
    use super::*;

    fn rust_analyzer(user: &str) -> ServerConfig {
        let user = toml::from_str(user).expect("a table");
        merged(&user).remove("rust-analyzer").expect("it is known")
    }

    fn project() -> tempfile::TempDir {
        let root = tempfile::tempdir().expect("a folder");
        fs::write(root.path().join("Cargo.toml"), "").expect("written");
        root
    }

    fn marks(folder: &Path) -> [Option<String>; 2] {
        MARKS.map(|(name, _)| fs::read_to_string(folder.join(name)).ok())
    }

    #[test]
    fn it_is_made_once_and_what_is_there_stays() {
        let root = project();
        let make = || make(traits("rust-analyzer"), &rust_analyzer(""), root.path());
        make();
        let ours = MARKS.map(|(_, text)| Some(text.to_owned()));
        assert_eq!(marks(&root.path().join("target/copydesk")), ours);
        assert_eq!(marks(&root.path().join("target")), ours, "new as well");
        // A folder of the user's is the user's, and so are marks that are there.
        let root = project();
        let target = root.path().join("target");
        fs::create_dir_all(target.join("copydesk")).expect("made");
        fs::write(target.join("copydesk/.gitignore"), "mine\n").expect("written");
        let make = || super::make(traits("rust-analyzer"), &rust_analyzer(""), root.path());
        make();
        make();
        assert_eq!(marks(&target), [None, None]);
        let [tag, ignored] = marks(&target.join("copydesk"));
        assert_eq!((tag, ignored.as_deref()), (ours[0].clone(), Some("mine\n")));
    }

    #[test]
    fn where_it_is_not_used_it_is_not_made() {
        let root = tempfile::tempdir().expect("a folder");
        make(traits("rust-analyzer"), &rust_analyzer(""), root.path());
        assert!(!root.path().join("target").exists(), "no project");
        let root = project();
        let user = "[rust-analyzer.settings.rust-analyzer]\ncargo.targetDir = \"elsewhere\"\n";
        make(traits("rust-analyzer"), &rust_analyzer(user), root.path());
        make(traits("gopls"), &rust_analyzer(""), root.path());
        assert_eq!(fs::read_dir(root.path()).expect("readable").count(), 1);
    }
}
