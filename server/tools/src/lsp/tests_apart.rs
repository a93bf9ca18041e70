//! Which places are tests: told apart, since who asks for callers mostly means the others. By path and by text; the rest
//! is for outlines.

use std::path::Path;

use workspace::{ByteOffset, ByteRange, Snapshot};

/// Whether a whole file holds tests, by its path in the project.
pub fn is_test_path(path: &str) -> bool {
    const FOLDERS: [&str; 7] = [
        "tests",
        "test",
        "__tests__",
        "testdata",
        "spec",
        "specs",
        "testing",
    ];
    let path = Path::new(path);
    let folders = path.parent().into_iter().flat_map(Path::components);
    let mut folders = folders.filter_map(|part| part.as_os_str().to_str());
    if folders.any(|folder| FOLDERS.contains(&folder)) {
        return true;
    }
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
        return false;
    };
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let by_stem = |stem: &str| {
        stem == "tests"
            || stem == "test"
            || stem == "conftest"
            || stem.starts_with("test_")
            || stem.ends_with("_test")
            || stem.ends_with("_tests")
            || stem.ends_with("_spec")
            || matches!(stem.rsplit_once('.'), Some((_, "test" | "spec")))
    };
    let java = ["java", "kt", "scala", "cs", "php", "swift"];
    let extension = path.extension().and_then(|extension| extension.to_str());
    by_stem(stem)
        || (extension.is_some_and(|extension| java.contains(&extension))
            && (stem.ends_with("Test") || stem.ends_with("Tests")))
}

/// Whether a place lies in a module that is built for tests alone.
pub fn is_in_test_module(snapshot: &Snapshot, at: ByteOffset) -> bool {
    test_modules(snapshot)
        .iter()
        .any(|module| holds(module, at))
}

/// Whether a module has this place.
pub fn holds(module: &ByteRange, at: ByteOffset) -> bool {
    module.start <= at && at < module.end
}

/// A file's modules that are built for tests alone: mostly one that ends the file, but code may follow it.
pub fn test_modules(snapshot: &Snapshot) -> Vec<ByteRange> {
    let is_rust = snapshot
        .uri
        .path()
        .and_then(Path::extension)
        .is_some_and(|extension| extension == "rs");
    if !is_rust {
        return Vec::new();
    }
    let text = snapshot.text.to_string();
    let is_module = |line: &str| line.starts_with("mod ") && line.trim_end().ends_with('{');
    let mut modules: Vec<ByteRange> = Vec::new();
    for (at, _) in text.match_indices("#[cfg(test)]") {
        let start = ByteOffset(at);
        let is_inside = modules.last().is_some_and(|module| holds(module, start));
        let is_whole_line = at == 0 || text[..at].ends_with('\n');
        if is_inside || !is_whole_line || !text[at..].lines().skip(1).take(2).any(is_module) {
            continue;
        }
        let end = ByteOffset(at + block_end(&text[at..]));
        modules.push(ByteRange { start, end });
    }
    modules
}

/// Where the first block of a Rust text ends: strings, characters and comments may have braces of their own. One that is
/// still being written goes on to the end.
fn block_end(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut at, mut depth) = (0, 0_usize);
    while let Some(&byte) = bytes.get(at) {
        let next = bytes.get(at + 1).copied();
        at = match (byte, next) {
            (b'/', Some(b'/')) => after(bytes, at, b"\n"),
            (b'/', Some(b'*')) => comment_end(bytes, at),
            (b'"', _) => escaped_end(bytes, at + 1, b'"'),
            (b'\'', Some(b'\\')) => escaped_end(bytes, at + 1, b'\''),
            (b'\'', _) => {
                // A lifetime has no second quote.
                let one = text[at + 1..].chars().next().map_or(0, char::len_utf8);
                let is_char = one > 0 && bytes.get(at + 1 + one) == Some(&b'\'');
                at + 1 + if is_char { one + 1 } else { 0 }
            }
            (b'{', _) => {
                depth += 1;
                at + 1
            }
            (b'}', _) => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + 1;
                }
                at + 1
            }
            _ if is_word(byte) => word_end(bytes, at),
            _ => at + 1,
        };
    }
    text.len()
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

/// Behind a word; behind the whole string, if it begins a raw one.
fn word_end(bytes: &[u8], at: usize) -> usize {
    let count = |from: usize, is: fn(u8) -> bool| {
        let rest = bytes[from..].iter();
        rest.take_while(|byte| is(**byte)).count()
    };
    let end = at + count(at, is_word);
    let hashes = count(end, |byte| byte == b'#');
    let open = end + hashes;
    let is_raw = matches!(&bytes[at..end], b"r" | b"br" | b"cr") && bytes.get(open) == Some(&b'"');
    match is_raw {
        true => after(
            bytes,
            open + 1,
            format!("\"{}", "#".repeat(hashes)).as_bytes(),
        ),
        false => end,
    }
}

/// Behind the quote that ends a string or a character, from its inside.
fn escaped_end(bytes: &[u8], mut at: usize, quote: u8) -> usize {
    while let Some(&byte) = bytes.get(at) {
        match byte {
            _ if byte == quote => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Behind a comment that may have others in it.
fn comment_end(bytes: &[u8], mut at: usize) -> usize {
    let mut depth = 0_usize;
    while let Some(pair) = bytes.get(at..at + 2) {
        match pair {
            b"/*" => depth += 1,
            b"*/" => depth -= 1,
            _ => {
                at += 1;
                continue;
            }
        }
        at += 2;
        if depth == 0 {
            return at;
        }
    }
    bytes.len()
}

/// Behind the next of these.
fn after(bytes: &[u8], from: usize, what: &[u8]) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    let found = rest.windows(what.len()).position(|part| part == what);
    found.map_or(bytes.len(), |at| from + at + what.len())
}

/// Whether a symbol with this name is a test, or holds tests.
pub fn is_test_name(name: &str) -> bool {
    name == "tests" || name == "test" || name.starts_with("test_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules() {
        let text =
            "#[cfg(test)]\nuse x;\nfn a() {}\n#[cfg(test)]\n#[path = \"x\"]\nmod tests {\n}\n";
        let open = |name: &str, text: &str| {
            let uri = workspace::DocumentUri::parse(name).expect("a uri");
            workspace::Buffers::new().open(uri, "x", 1, text)
        };
        let modules = |name: &str, text: &str| -> Vec<String> {
            let of = |range: ByteRange| text[range.start.0..range.end.0].to_owned();
            let found = test_modules(&open(name, text));
            found.into_iter().map(of).collect()
        };
        let last = text.rfind("#[cfg(test)]").map(|at| text[at..].trim_end());
        assert_eq!(modules("file:///a.rs", text), [last.expect("one")]);
        assert_eq!(modules("file:///a.py", text), [""; 0]);
        let elsewhere = "#[cfg(test)]\nmod tests;\n";
        assert_eq!(modules("file:///a.rs", elsewhere), [""; 0]);
        // Code may follow, and another; what is inside belongs to the outer one.
        for inside in [
            "fn a() { b(); }",
            "#[cfg(test)]\nmod inner {\n}\n",
            "// }",
            "/* } /* } */ } */ { }",
            "const A: &str = \"}\\\"}\"; // \"",
            "const A: &str = r#\"}\"}\"#;",
            "const A: &[u8] = br\"}\\\"; const B: &str = r##\"\"#}\"##;",
            "const A: [char; 5] = ['}', '\\'', '\\\\', '\\u{7d}', '\"']; const B: u8 = b'}';",
            "fn a<'a>(a: &'a str, b: &'é str) -> &'a str { a }",
            "fn r#if() { r#if() }",
            "const A: char = 'é'; const B: char = '{';",
        ] {
            let module = format!("#[cfg(test)]\nmod tests {{\n{inside}\n}}");
            let text = format!("{module}\npub fn after() {{}}\n{module}\nfn last() {{}}\n");
            let found = modules("file:///a.rs", &text);
            assert_eq!(found, [module.as_str(), &module], "{inside}");
        }
        for unended in ["", "\"", "r#\"", "/*", "/", "'", "'\\", "\"\\", "{", "é"] {
            let text = format!("#[cfg(test)]\nmod tests {{\n{unended}");
            assert_eq!(modules("file:///a.rs", &text), [text.as_str()]);
        }
    }

    #[test]
    fn paths() {
        for test in [
            "tests/a.rs",
            "a/__tests__/x.ts",
            "test_a.py",
            "a_test.go",
            "a.spec.ts",
            "a.test.tsx",
            "src/apply/tests.rs",
            "src/test/java/A.java",
            "ATest.java",
        ] {
            assert!(is_test_path(test), "{test}");
        }
        for other in [
            "src/a.rs",
            "src/latest.rs",
            "contest.py",
            "testimony.ts",
            "src/attest/x.rs",
            "Test.rs",
        ] {
            assert!(!is_test_path(other), "{other}");
        }
    }
}
