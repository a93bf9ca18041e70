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
    /// Numbers at the end are a place, unless a file of just that name is there.
    pub fn parse(text: &str, dir: &Path) -> Result<Place, String> {
        let whole = Place {
            path: dir.join(text),
            line: None,
            column: None,
        };
        if text.is_empty() {
            return Err("no file was named".into());
        }
        if whole.path.exists() {
            return Ok(whole);
        }
        let (front, numbers) = trailing_numbers(text);
        let [line, column] = match numbers.as_slice() {
            [] => return Err(format!("{} does not exist", whole.path.display())),
            [line] => [Some(*line), None],
            [line, column, ..] => [Some(*line), Some(*column)],
        };
        let path = dir.join(front);
        if !path.exists() {
            return Err(format!("{} does not exist", path.display()));
        }
        if line == Some(0) || column == Some(0) {
            return Err(format!("{text}: lines and columns are counted from 1"));
        }
        Ok(Place { path, line, column })
    }
}

/// At most two numbers after colons, in the order in which they stand.
fn trailing_numbers(text: &str) -> (&str, Vec<u32>) {
    let mut front = text.strip_suffix(':').unwrap_or(text);
    let mut numbers = Vec::new();
    while numbers.len() < 2
        && let Some((before, number)) = front.rsplit_once(':')
        && let Ok(number) = number.parse()
    {
        numbers.insert(0, number);
        front = before;
    }
    (front, numbers)
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
        check("c.rs:3", Err("c.rs does not exist"));
        check("a.rs:0", Err("counted from 1"));
        check("", Err("no file was named"));
    }
}
