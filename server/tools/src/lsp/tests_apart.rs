//! Which places are tests: told apart, since who asks for callers mostly means the others. By path and by text; the rest
//! is for outlines.

use std::path::Path;

use workspace::{ByteOffset, Snapshot};

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
    test_module(snapshot).is_some_and(|from| from <= at)
}

/// Where a file's module begins that is built for tests alone. It ends the file, by custom.
pub fn test_module(snapshot: &Snapshot) -> Option<ByteOffset> {
    let is_rust = snapshot
        .uri
        .path()
        .and_then(Path::extension)
        .is_some_and(|extension| extension == "rs");
    if !is_rust {
        return None;
    }
    let text = snapshot.text.to_string();
    let is_module = |line: &str| line.starts_with("mod ") && line.trim_end().ends_with('{');
    text.match_indices("#[cfg(test)]")
        .filter(|(at, _)| *at == 0 || text[..*at].ends_with('\n'))
        .find(|(at, _)| text[*at..].lines().skip(1).take(2).any(is_module))
        .map(|(at, _)| ByteOffset(at))
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
        let begins = text.rfind("#[cfg(test)]").map(ByteOffset);
        assert_eq!(test_module(&open("file:///a.rs", text)), begins);
        assert_eq!(test_module(&open("file:///a.py", text)), None);
        assert_eq!(
            test_module(&open("file:///a.rs", "#[cfg(test)]\nmod tests;\n")),
            None
        );
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
