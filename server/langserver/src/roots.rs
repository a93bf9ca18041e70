//! Where a document's project begins. Looks at names of files, and into those that a marker asks it to.

use std::path::{Path, PathBuf};

/// The nearest folder above `file`, not above `top`, that has the first marker that is found at all.
pub(crate) fn root(file: &Path, top: &Path, markers: &[String]) -> Option<PathBuf> {
    let folders: Vec<&Path> = file
        .ancestors()
        .skip(1)
        .take_while(|folder| folder.starts_with(top))
        .collect();
    markers
        .iter()
        .find_map(|marker| folders.iter().find(|folder| has(folder, marker)))
        .map(|folder| folder.to_path_buf())
}

/// Whether a folder has one of these markers.
pub(crate) fn has_any(folder: &Path, markers: &[String]) -> bool {
    markers.iter().any(|marker| has(folder, marker))
}

fn has(folder: &Path, marker: &str) -> bool {
    match marker.split_once(" contains ") {
        None => folder.join(marker).exists(),
        Some((name, text)) => {
            std::fs::read_to_string(folder.join(name)).is_ok_and(|content| content.contains(text))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_by_markers() {
        let folder = tempfile::tempdir().expect("a folder");
        let top = folder.path();
        for (name, content) in [
            ("Cargo.toml", "[workspace]\nmembers = []"),
            ("a/Cargo.toml", "[package]"),
            ("a/src/lib.rs", ""),
            ("b/deep/Cargo.toml", "[package]\n[workspace]"),
            ("b/deep/x/main.rs", ""),
            ("c/go.mod", ""),
            ("c/x/y.go", ""),
        ] {
            let path = top.join(name);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("made");
            std::fs::write(path, content).expect("written");
        }
        let rust = [
            "Cargo.toml contains [workspace]".to_owned(),
            "Cargo.toml".to_owned(),
        ];
        let go = ["go.work".to_owned(), "go.mod".to_owned()];
        for (file, top_of, markers, expected) in [
            ("a/src/lib.rs", "", &rust[..], Some("")),
            ("a/src/lib.rs", "a", &rust[..], Some("a")),
            ("b/deep/x/main.rs", "", &rust[..], Some("b/deep")),
            ("c/x/y.go", "", &go[..], Some("c")),
            ("c/x/y.go", "c/x", &go[..], None),
            ("c/x/y.go", "", &[][..], None),
        ] {
            let found = root(&top.join(file), &top.join(top_of), markers);
            assert_eq!(
                found,
                expected
                    .map(|name| top.join(name))
                    .map(|path| path.components().collect()),
                "{file} in {top_of:?}"
            );
        }
    }
}
