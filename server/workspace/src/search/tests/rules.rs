//! What the rules let a search see.

use expect_test::{Expect, expect};

use super::*;

fn check(world: &World, query: &GrepQuery, expect: Expect) {
    expect.assert_eq(&world.grep(query));
}

#[test]
fn rules_of_git_count_without_a_repository_too() {
    let world = World::new(&[
        (".gitignore", "target/\n*.log\n!keep.log\n"),
        ("target/a", "x"),
        ("a.log", "x"),
        ("keep.log", "x"),
        ("sub/.gitignore", "/here\n"),
        ("sub/here", "x"),
        ("sub/deeper/here", "x"),
        ("sub/b.log", "x"),
        (".ignore", "ignored\n"),
        ("ignored", "x"),
        (".hidden/a", "x"),
        (".hidden.txt", "x"),
    ]);
    check(
        &world,
        &pattern("x"),
        expect![[r"
        sub/deeper/here:1:1:x
        keep.log:1:1:x
    "]],
    );
    // What is asked for by name is searched; rules from above count in it all the same.
    check(
        &world,
        &pattern_in("x", "target"),
        expect![[r"
        target/a:1:1:x
    "]],
    );
    check(
        &world,
        &pattern_in("x", ".hidden"),
        expect![[r"
        .hidden/a:1:1:x
    "]],
    );
    check(
        &world,
        &pattern_in("x", "a.log"),
        expect![[r"
        a.log:1:1:x
    "]],
    );
    check(
        &world,
        &pattern_in("x", "sub"),
        expect![[r"
        sub/deeper/here:1:1:x
    "]],
    );
    // A glob that names something hidden is asked for by name too, but git's own is not.
    let mut world = world;
    world.file(".git/x", b"x");
    check(
        &world,
        &pattern_with("x", ".hidden/**"),
        expect![[r"
        .hidden/a:1:1:x
    "]],
    );
    check(
        &world,
        &pattern_with("x", ".*"),
        expect![[r"
        .hidden.txt:1:1:x
    "]],
    );
    check(&world, &pattern_with("x", ".git/*"), expect![""]);
}

#[test]
fn nothing_overrides_copydeskignore() {
    let world = World::new(&[
        (".copydeskignore", "secret/\n*.key\n"),
        (".gitignore", "!secret/\n!*.key\n"),
        ("secret/a", "x"),
        ("secret/deep/a", "x"),
        ("b.key", "x"),
        ("sub/.copydeskignore", "c\n"),
        ("sub/c", "x"),
        ("sub/d", "x"),
    ]);
    check(
        &world,
        &pattern("x"),
        expect![[r"
        sub/d:1:1:x
    "]],
    );
    check(&world, &pattern_with("x", "*.key"), expect![""]);
    check(&world, &pattern_with("x", "secret/**"), expect![""]);
    for path in [
        "secret",
        "secret/deep",
        "secret/a",
        "b.key",
        "sub/c",
        "secret/../secret/a",
    ] {
        let said = world.grep(&pattern_in("x", path));
        assert!(
            said.ends_with("is hidden by a .copydeskignore file"),
            "{path}: {said}"
        );
        let said = world.glob(&glob_in("*", path));
        assert!(
            said.ends_with("is hidden by a .copydeskignore file"),
            "{path}: {said}"
        );
    }
    expect!["sub/d"].assert_eq(&world.glob(&GlobQuery::new("*")));
}

#[test]
fn rules_above_the_root_count() {
    let world = World::with_roots(
        &[
            (".copydeskignore", "secret\n"),
            (".gitignore", "/root/built\n"),
            ("root/secret", "x"),
            ("root/built", "x"),
            ("root/a", "x"),
        ],
        &["root"],
    );
    check(
        &world,
        &pattern("x"),
        expect![[r"
        root/a:1:1:x
    "]],
    );
}

#[test]
fn a_root_that_is_hidden_is_not_searched() {
    let world = World::with_roots(
        &[
            (".copydeskignore", "private/\n"),
            ("private/a", "x"),
            ("b", "x"),
            ("public/c", "x"),
        ],
        &["private", "public"],
    );
    world.open_and_type("private/a", "x");
    world.open("private/new", "x");
    check(
        &world,
        &pattern("x"),
        expect![[r"
        public/c:1:1:x
    "]],
    );
    expect!["public/c"].assert_eq(&world.glob(&GlobQuery::new("*")));
    expect!["/public/\n  c\n"].assert_eq(&world.list(&ListQuery::default()));
}

#[cfg(unix)]
#[test]
fn a_buffer_under_a_hidden_name_is_not_shown() {
    let world = World::new(&[
        (".copydeskignore", "secret/\n"),
        ("real/a", "x"),
        ("secret/b", "x"),
    ]);
    std::os::unix::fs::symlink("../real", world.at("secret/door")).expect("a link");
    world.open_and_type("secret/door/a", "typed");
    check(
        &world,
        &pattern("x|typed"),
        expect![[r"
        real/a:1:1:x
    "]],
    );
}

#[test]
fn a_root_in_a_root_is_searched_once() {
    let files = [
        (".gitignore", "ignored\n"),
        ("a", "x"),
        ("in/b", "x"),
        ("ignored/c", "x"),
    ];
    for roots in [["", "in", "ignored"], ["ignored", "in", ""]] {
        let world = World::with_roots(&files, &roots);
        check(
            &world,
            &pattern("x"),
            expect![[r"
            ignored/c:1:1:x
            in/b:1:1:x
            a:1:1:x
        "]],
        );
    }
}

#[cfg(unix)]
#[test]
fn links_are_not_followed() {
    use std::os::unix::fs::symlink;
    let world = World::new(&[("real/a", "x"), ("outside/b", "x")]);
    symlink(world.at("real"), world.at("door")).expect("a link");
    symlink(world.at("real/a"), world.at("file")).expect("a link");
    symlink(world.tree.path(), world.at("real/loop")).expect("a link");
    check(
        &world,
        &pattern("x"),
        expect![[r"
        outside/b:1:1:x
        real/a:1:1:x
    "]],
    );
    // But one that is asked for is, and keeps its name.
    check(
        &world,
        &pattern_in("x", "door"),
        expect![[r"
        door/a:1:1:x
    "]],
    );
    check(
        &world,
        &pattern_in("x", "file"),
        expect![[r"
        file:1:1:x
    "]],
    );
}

#[test]
fn globs() {
    let world = World::new(&[
        ("old.rs", ""),
        ("src/lib.rs", ""),
        ("src/lib.ts", ""),
        (".gitignore", "out\n"),
        ("out/c.rs", ""),
        ("new.rs", ""),
        (".github/ci.yml", ""),
    ]);
    for (glob, path, expect) in [
        ("*.rs", "", expect!["new.rs src/lib.rs old.rs"]),
        ("src/*", "", expect!["src/lib.ts src/lib.rs"]),
        ("**/*", "", expect!["new.rs src/lib.ts src/lib.rs old.rs"]),
        ("/*.rs", "", expect!["new.rs old.rs"]),
        ("*.rs", "src", expect!["src/lib.rs"]),
        ("src/*.rs", "src", expect!["src/lib.rs"]),
        ("*.py", "", expect![""]),
        (".github/**", "", expect![".github/ci.yml"]),
        ("*.yml", "", expect![""]),
        ("*", "out", expect!["out/c.rs"]),
        ("*", "new.rs", expect!["new.rs is a file, not a folder"]),
        (
            "*",
            "source",
            expect!["source does not exist. Did you mean src?"],
        ),
        (
            "[",
            "",
            expect![[r#""[" is no glob: unclosed character class; missing ']'"#]],
        ),
    ] {
        let path = (!path.is_empty()).then(|| path.into());
        expect.assert_eq(&world.glob(&GlobQuery {
            path,
            ..GlobQuery::new(glob)
        }));
    }
    expect!["new.rs src/lib.rs of 3"].assert_eq(&world.glob(&GlobQuery {
        limit: 2,
        ..GlobQuery::new("*.rs")
    }));
}

#[cfg(unix)]
#[test]
fn globs_give_links_to_files() {
    use std::os::unix::fs::symlink;
    let world = World::new(&[
        ("AGENTS.md", ""),
        ("folder/a.md", ""),
        (".copydeskignore", "secret.md"),
        ("secret.md", ""),
    ]);
    symlink("AGENTS.md", world.at("CLAUDE.md")).expect("a link");
    symlink("folder", world.at("door.md")).expect("a link");
    symlink("nowhere", world.at("gone.md")).expect("a link");
    symlink("secret.md", world.at("window.md")).expect("a link");
    expect!["folder/a.md AGENTS.md CLAUDE.md"].assert_eq(&world.glob(&GlobQuery::new("*.md")));
}
