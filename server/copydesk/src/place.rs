//! `FILE[:LINE[:COLUMN]]`, as people and compilers write it.

use std::path::{Path, PathBuf};

/// A file and, if it was given, a place in it; both numbers from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub path: PathBuf,
    pub line: Option<u32>,
    pub column: Option<u32>,
}

impl Place {
    /// Numbers at the end are a place, unless they belong to the name of a file that is there.
    pub fn parse(text: &str, dir: &Path) -> Result<Place, String> {
        if text.is_empty() {
            return Err("no file was named".into());
        }
        let mut front = text;
        let mut numbers: Vec<u32> = Vec::new();
        while !dir.join(front).exists() && numbers.len() < 2 {
            // Compilers write a colon behind the column.
            let spelled = front.strip_suffix(':').unwrap_or(front);
            let Some((before, number)) = spelled.rsplit_once(':') else {
                break;
            };
            let Ok(number) = number.parse() else { break };
            numbers.insert(0, number);
            front = before;
        }
        let path = dir.join(front);
        if !path.exists() {
            return Err(match file_in(text, dir) {
                Some(file) => format!(
                    "{text}: what follows {file} is no place in it. Write {file}:LINE or {file}:LINE:COLUMN"
                ),
                None => format!("{} does not exist", path.display()),
            });
        }
        if numbers.contains(&0) {
            return Err(format!("{text}: lines and columns are counted from 1"));
        }
        let mut numbers = numbers.into_iter();
        Ok(Place {
            path,
            line: numbers.next(),
            column: numbers.next(),
        })
    }
}

/// The file that is there, if what was written begins with one.
fn file_in<'a>(text: &'a str, dir: &Path) -> Option<&'a str> {
    let mut fronts = text.rmatch_indices(':').map(|(at, _)| &text[..at]);
    fronts.find(|front| !front.is_empty() && dir.join(front).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        for name in ["a.rs", "b:7"] {
            std::fs::write(dir.path().join(name), "").expect("the file is written");
        }
        let check = |text: &str, expected: Result<(&str, Option<u32>, Option<u32>), &str>| {
            let got = Place::parse(text, dir.path());
            match expected {
                Ok((name, line, column)) => {
                    let path = dir.path().join(name);
                    assert_eq!(got, Ok(Place { path, line, column }), "{text}");
                }
                Err(part) => {
                    let error = got.expect_err(text);
                    assert!(error.contains(part), "{error}");
                }
            }
        };
        check("a.rs", Ok(("a.rs", None, None)));
        check("a.rs:3", Ok(("a.rs", Some(3), None)));
        check("a.rs:3:5", Ok(("a.rs", Some(3), Some(5))));
        check("a.rs:3:5:", Ok(("a.rs", Some(3), Some(5))));
        check("b:7", Ok(("b:7", None, None)));
        check("b:7:2", Ok(("b:7", Some(2), None)));
        check("b:7:2:5", Ok(("b:7", Some(2), Some(5))));
        for no_place in [
            "a.rs:x",
            "a.rs:3:x",
            "a.rs:1:2:3",
            "a.rs:-1",
            "a.rs:9999999999",
            "a.rs:1-2",
            "a.rs::",
        ] {
            check(no_place, Err("what follows a.rs is no place in it"));
        }
        check("c.rs:x", Err("c.rs:x does not exist"));
        check("c.rs:3", Err("c.rs does not exist"));
        check("a.rs:0", Err("counted from 1"));
        check("", Err("no file was named"));
    }
}
