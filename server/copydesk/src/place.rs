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
            return Err(format!("{} does not exist", path.display()));
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
        check("a.rs:1:2:3", Err("a.rs:1 does not exist"));
        check("c.rs:3", Err("c.rs does not exist"));
        check("a.rs:0", Err("counted from 1"));
        check("", Err("no file was named"));
    }
}
