//! "Did you mean": the names that a missing path may have meant. It looks into one folder, or two, and never walks.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

use super::is_hidden_from_model;

/// How many names are offered.
const OFFERED: usize = 3;
/// How many names of a folder are looked at: a slip of the pen is not worth more time.
const LOOKED_AT: usize = 20_000;
/// From how alike on (0 to 1) a name is offered.
const ALIKE: f32 = 0.6;

/// Existing paths that are spelled much like a missing one, the most alike first; none that is hidden from the model.
pub fn nearest(missing: &Path) -> Vec<PathBuf> {
    let Some(there) = missing.ancestors().skip(1).find(|above| above.exists()) else {
        return Vec::new();
    };
    if !there.is_dir() {
        return if is_hidden_from_model(there) {
            Vec::new()
        } else {
            vec![there.to_owned()]
        };
    }
    let Ok(rest) = missing.strip_prefix(there) else {
        return Vec::new();
    };
    let mut parts = rest.components();
    let Some(wrong) = parts.next() else {
        return Vec::new();
    };
    let below = parts.as_path();
    let alike = alike_in(there, wrong.as_os_str());
    let mut found: Vec<PathBuf> = Vec::new();
    if below.as_os_str().is_empty() {
        found.extend(alike);
    } else {
        // A folder is misspelled, and perhaps the name in it too.
        for folder in alike.iter().filter(|path| path.is_dir()) {
            let whole = folder.join(below);
            if whole.exists() {
                found.push(whole);
            } else if let (Some(name), Some(parent)) = (whole.file_name(), whole.parent()) {
                found.extend(alike_in(parent, name));
            }
        }
        if found.is_empty() {
            found.extend(alike);
        }
    }
    found.retain(|path| !is_hidden_from_model(path));
    found.truncate(OFFERED);
    found
}

fn alike_in(folder: &Path, name: &OsStr) -> Vec<PathBuf> {
    let wanted = name.to_string_lossy().to_lowercase();
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut ranked: Vec<(f32, PathBuf)> = entries
        .take(LOOKED_AT)
        .filter_map(Result::ok)
        .filter_map(|entry| {
            let score = likeness(&wanted, &entry.file_name().to_string_lossy().to_lowercase())?;
            Some((score, entry.path()))
        })
        .collect();
    ranked.sort_by(|(one, a), (other, b)| other.total_cmp(one).then_with(|| a.cmp(b)));
    ranked
        .into_iter()
        .map(|(_, path)| path)
        .filter(|path| !is_hidden_from_model(path))
        .take(OFFERED)
        .collect()
}

/// How alike two names are, in lower case; `None` if too little.
///
/// The same stem with another ending is close. The same ending says nothing, and is left out.
fn likeness(wanted: &str, have: &str) -> Option<f32> {
    if wanted == have {
        return Some(1.0);
    }
    let (mut one, mut other) = (wanted, have);
    if let (Some((wanted_stem, wanted_ending)), Some((have_stem, have_ending))) =
        (wanted.rsplit_once('.'), have.rsplit_once('.'))
        && !wanted_stem.is_empty()
    {
        if wanted_stem == have_stem {
            return Some(0.95);
        }
        if wanted_ending == have_ending {
            (one, other) = (wanted_stem, have_stem);
        }
    }
    // What the lengths alone rule out needs no look at the letters: less than 3 in 7 of each other.
    let (short, long) = (one.len().min(other.len()), one.len().max(other.len()));
    if short * 7 < long * 3 {
        return None;
    }
    let ratio = similar::TextDiff::from_chars(one, other).ratio();
    (ratio >= ALIKE).then_some(ratio * 0.9)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(names: &[&str], missing: &str, expect: Expect) {
        let tree = tempfile::tempdir().expect("a folder");
        for name in names {
            let path = tree.path().join(name);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            fs::write(
                path,
                if *name == ".copydeskignore" {
                    "main.key\n"
                } else {
                    ""
                },
            )
            .expect("a file");
        }
        let found: Vec<String> = nearest(&tree.path().join(missing))
            .iter()
            .map(|path| {
                path.strip_prefix(tree.path())
                    .expect("inside")
                    .display()
                    .to_string()
                    .replace('\\', "/")
            })
            .collect();
        expect.assert_eq(&found.join(" "));
    }

    #[test]
    fn names_like_it() {
        check(
            &["main.rs", "mine.rs", "lib.rs"],
            "mian.rs",
            expect!["main.rs mine.rs"],
        );
        check(
            &["README.md", "Cargo.toml"],
            "readme.txt",
            expect!["README.md"],
        );
        check(&["main.ts", "other.js"], "main.js", expect!["main.ts"]);
        check(&["a", "b"], "something_else.rs", expect![""]);
        check(&[".gitignore"], ".gitignroe", expect![".gitignore"]);
    }

    #[test]
    fn folders_like_it() {
        check(
            &["src/search/mod.rs"],
            "src/serach/mod.rs",
            expect!["src/search/mod.rs"],
        );
        check(
            &["src/search/mod.rs"],
            "src/serach/mdo.rs",
            expect!["src/search/mod.rs"],
        );
        check(&["src/search/mod.rs"], "srcs/nothing.py", expect!["src"]);
        check(&["a.txt"], "a.txt/b", expect!["a.txt"]);
    }

    #[test]
    fn three_at_most_and_none_that_is_hidden() {
        check(
            &["page1", "page2", "page3", "page4"],
            "page5",
            expect!["page1 page2 page3"],
        );
        check(
            &[".copydeskignore", "main.key", "main.rs"],
            "main.kye",
            expect!["main.rs"],
        );
    }
}
