//! Which places are tests: told apart, since who asks for callers mostly means the others. By path and by text; the rest
//! is for outlines.

use std::{collections::HashMap, path::Path};

use workspace::{ByteOffset, ByteRange, DocumentUri, Revision, Snapshot};

use super::rust_text::{Kind, Tokens};

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

/// The test modules of the files that an answer names, each read once.
#[derive(Default)]
pub struct TestModules(HashMap<Key, Vec<ByteRange>>);

type Key = (DocumentUri, Revision, usize);

impl TestModules {
    /// Whether a place lies in a module that is built for tests alone.
    pub fn hold(&mut self, snapshot: &Snapshot, at: ByteOffset) -> bool {
        let key = (snapshot.uri.clone(), snapshot.revision, snapshot.text.len());
        let modules = self.0.entry(key).or_insert_with(|| test_modules(snapshot));
        modules.iter().any(|module| holds(module, at))
    }
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
    // Most files have none, and need not be read.
    match text.contains("cfg") {
        true => modules_of(&text),
        false => Vec::new(),
    }
}

fn modules_of(text: &str) -> Vec<ByteRange> {
    let mut modules = Vec::new();
    let mut tokens = Tokens::of(text);
    // Of the whole file something may be said before anything else.
    let mut is_first = true;
    while let Some(token) = tokens.next() {
        let was_first = std::mem::take(&mut is_first);
        if token.kind != Kind::Sign(b'#') {
            continue;
        }
        let mut ahead = tokens.clone();
        let Some(attribute) = attribute(&mut ahead) else {
            continue;
        };
        tokens = ahead;
        is_first = was_first && attribute.is_inner;
        match (attribute.is_for_tests, attribute.is_inner) {
            (true, true) if was_first => return vec![ByteRange::new(0, text.len())],
            (true, false) => {
                let mut ahead = tokens.clone();
                if let Some(end) = module_end(&mut ahead) {
                    modules.push(ByteRange::new(token.start, end));
                    // What is inside belongs to it.
                    tokens = ahead;
                }
            }
            _ => {}
        }
    }
    modules
}

struct Attribute {
    /// What it is said of is built for tests alone.
    is_for_tests: bool,
    /// It is said of what it stands in.
    is_inner: bool,
}

/// The attribute whose `#` was just read.
fn attribute(tokens: &mut Tokens<'_>) -> Option<Attribute> {
    let mut first = tokens.next()?;
    let is_inner = first.kind == Kind::Sign(b'!');
    if is_inner {
        first = tokens.next()?;
    }
    if first.kind != Kind::Sign(b'[') {
        return None;
    }
    let mut inside = Vec::new();
    let mut depth = 0_usize;
    for token in tokens {
        match token.kind {
            Kind::Sign(b'[') => depth += 1,
            Kind::Sign(b']') if depth == 0 => break,
            Kind::Sign(b']') => depth -= 1,
            _ => {}
        }
        inside.push(token.kind);
    }
    let is_for_tests = match inside.as_slice() {
        [Kind::Word("cfg"), Kind::Sign(b'('), condition @ ..] => {
            needs_test(&mut condition.iter(), 0)
        }
        _ => false,
    };
    Some(Attribute {
        is_for_tests,
        is_inner,
    })
}

/// Whether a condition is never met but in tests. Behind it stands what ends it.
fn needs_test(condition: &mut std::slice::Iter<'_, Kind<'_>>, depth: usize) -> bool {
    /// Nobody nests them so.
    const DEEPEST: usize = 20;
    let Some(Kind::Word(word)) = condition.next() else {
        return false;
    };
    if condition.as_slice().first() != Some(&Kind::Sign(b'(')) {
        return *word == "test";
    }
    condition.next();
    if depth == DEEPEST {
        return false;
    }
    let mut parts = Vec::new();
    loop {
        let mut needs = match condition.as_slice().first() {
            None => break,
            Some(Kind::Sign(b')')) => {
                condition.next();
                break;
            }
            Some(_) => needs_test(condition, depth + 1),
        };
        // What else is said of a name: `feature = "x"`.
        while let Some(rest) = condition.as_slice().first() {
            match rest {
                Kind::Sign(b')') => break,
                Kind::Sign(b',') => {
                    condition.next();
                    break;
                }
                _ => {
                    needs = false;
                    condition.next();
                }
            }
        }
        parts.push(needs);
    }
    match *word {
        "all" => parts.contains(&true),
        "any" => !parts.is_empty() && !parts.contains(&false),
        _ => false,
    }
}

/// Where the module ends that is declared next: behind other attributes, and for whomever. `None` if it is none, or one
/// that stands in another file.
fn module_end(tokens: &mut Tokens<'_>) -> Option<usize> {
    let mut next = tokens.next()?;
    while next.kind == Kind::Sign(b'#') {
        attribute(tokens)?;
        next = tokens.next()?;
    }
    if next.kind == Kind::Word("pub") {
        next = tokens.next()?;
        if next.kind == Kind::Sign(b'(') {
            tokens.find(|token| token.kind == Kind::Sign(b')'))?;
            next = tokens.next()?;
        }
    }
    if next.kind != Kind::Word("mod") {
        return None;
    }
    let mut name = tokens.next()?;
    // `r#name`.
    while let Kind::Word(_) | Kind::Sign(b'#') = name.kind {
        name = tokens.next()?;
    }
    (name.kind == Kind::Sign(b'{')).then(|| tokens.skip_block(b'{', |_| {}))
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
        // However it is written, and wherever it stands.
        for module in [
            "#[cfg(test)] mod tests { }",
            "#[cfg(test)]\npub(crate) mod tests {\n}",
            "#[cfg(test)]\npub mod r#mod {}",
            "#[cfg(test)]\n/// Said. }\n#[allow(clippy::unwrap_used)] // {\n#[path = \"]}\"]\nmod tests\n{\n}",
            "#[ cfg ( test ) ]\nmod tests {}",
            "#[cfg(all(test, feature = \"x\", not(miri)))]\nmod tests {}",
            "#[cfg(all(unix, all(test)))]\nmod tests {}",
            "#[cfg(any(test))]\nmod tests {}",
        ] {
            let text = format!(
                "#[allow(x)]\nmod outer {{\n    mod inner {{\n        {module}\n    }}\n    fn after() {{}}\n}}\n"
            );
            assert_eq!(modules("file:///a.rs", &text), [module], "{module}");
        }
        for other in [
            "#[cfg(not(test))]\nmod a {}",
            "#[cfg(any(test, feature = \"x\"))]\nmod a {}",
            "#[cfg(all())]\nmod a {}",
            "#[cfg(feature = \"test\")]\nmod a {}",
            "#[cfg(all(feature = \"x\", not(test)))]\nmod a {}",
            "#[cfg_attr(test, allow(x))]\nmod a {}",
            "#[cfg(test)]\nfn a() {}\nmod b {}",
            "#[cfg(test)]\npub(crate) mod a;\nmod b {}",
            "// #[cfg(test)]\nmod a {}",
            "const A: &str = \"#[cfg(test)]\";\nmod a {}",
            "#[cfg(",
            "#[cfg(all(",
            "#",
            "#!",
        ] {
            assert_eq!(modules("file:///a.rs", other), [""; 0], "{other}");
        }
        let deep = format!("#[cfg({})]\nmod a {{}}", "all(".repeat(100_000));
        assert_eq!(modules("file:///a.rs", &deep), [""; 0]);
        let whole = "//! Said.\n#![allow(x)]\n#![cfg(test)]\nfn a() {}\n";
        assert_eq!(modules("file:///a.rs", whole), [whole]);
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
