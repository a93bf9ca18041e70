//! What is found on disk, and how it is shown.

use expect_test::{Expect, expect};

use super::*;

fn check(world: &World, query: &GrepQuery, expect: Expect) {
    expect.assert_eq(&world.grep(query));
}

#[test]
fn newest_file_first_and_lines_from_the_top() {
    let world = World::new(&[
        ("old.txt", "x1\nx2\n"),
        ("z/mid.txt", "no\n"),
        ("new.txt", "\n  ax\n\nx"),
    ]);
    check(
        &world,
        &pattern("x"),
        expect![[r"
        new.txt:2:4:  ax
        new.txt:4:1:x
        old.txt:1:1:x1
        old.txt:2:1:x2
    "]],
    );
    check(&world, &pattern("nothing like it"), expect![""]);
}

#[test]
fn more_than_are_given_are_counted() {
    let files: Vec<(String, String)> = (0..50)
        .map(|file| {
            (
                format!("f{file:02}"),
                format!("x {file}\n").repeat(file + 1),
            )
        })
        .collect();
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(name, text)| (&**name, &**text))
        .collect();
    let world = World::new(&files);
    let found = world
        .workspace
        .grep(&pattern("x"), &CancellationToken::new())
        .expect("found");
    assert_eq!(
        (
            found.matches.len(),
            found.total,
            found.files,
            found.truncated
        ),
        (100, 50 * 51 / 2, 50, true)
    );
    assert!(found.matches[..50].iter().all(|found| found.text == "x 49"));
    assert!(
        found.matches[50..99]
            .iter()
            .all(|found| found.text == "x 48")
    );
    assert_eq!(found.matches[99].text, "x 47");
    check(
        &world,
        &GrepQuery {
            limit: 2,
            ..pattern("x")
        },
        expect![[r"
        f49:1:1:x 49
        f49:2:1:x 49
        of 1275 in 50
    "]],
    );
    check(
        &world,
        &GrepQuery {
            limit: 0,
            ..pattern("x")
        },
        expect![[r"
        of 1275 in 50
    "]],
    );
}

#[test]
fn binary_files_are_left_out() {
    let mut world = World::new(&[("text", "x\n")]);
    world.file("binary", b"x\n\0");
    let mut late = b"x\n".repeat(BINARY);
    late.push(0);
    world.file("late", &late);
    world.file("latin", b"\xe4x\n");
    let utf16: Vec<u8> = "\u{feff}ax\r\nx\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    world.file("utf16", &utf16);
    world.file("marked", "\u{feff}x\n".as_bytes());
    check(
        &world,
        &GrepQuery {
            limit: 5,
            ..pattern("x$")
        },
        expect![[r#"
        marked:1:1:x
        utf16:1:2:ax
        utf16:2:1:x
        latin:1:2:�x
        late:1:1:x
        of 8197 in 5
    "#]],
    );
    check(
        &world,
        &pattern_in("x", "binary"),
        expect!["binary is a binary file (a NUL byte at offset 2)"],
    );
    check(
        &world,
        &pattern_in("ax", "utf16"),
        expect![[r"
        utf16:1:1:ax
    "]],
    );
}

const BINARY: usize = 8 * 1024;

#[test]
fn includes() {
    let world = World::new(&[
        ("a.rs", "x"),
        ("src/b.rs", "x"),
        ("src/c.ts", "x"),
        ("src/deep/d.tsx", "x"),
    ]);
    check(
        &world,
        &pattern_with("x", "*.rs"),
        expect![[r"
        src/b.rs:1:1:x
        a.rs:1:1:x
    "]],
    );
    check(
        &world,
        &pattern_with("x", "src/**/*.{ts,tsx}"),
        expect![[r"
        src/deep/d.tsx:1:1:x
        src/c.ts:1:1:x
    "]],
    );
    check(
        &world,
        &GrepQuery {
            include: Some("src/*.rs".into()),
            ..pattern_in("x", "src")
        },
        expect![[r"
        src/b.rs:1:1:x
    "]],
    );
    check(
        &world,
        &pattern_with("x", "!*.rs"),
        expect![[r"
        src/deep/d.tsx:1:1:x
        src/c.ts:1:1:x
    "]],
    );
    check(
        &world,
        &pattern_with("x", "*.{rs"),
        expect![[
            r#""*.{rs" is no glob: unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)"#
        ]],
    );
}

#[test]
fn paths() {
    let world = World::with_roots(
        &[
            ("one/a", "x"),
            ("two/a", "x"),
            ("two/b", "x"),
            ("three", "x"),
        ],
        &["one", "two"],
    );
    check(
        &world,
        &pattern("x"),
        expect![[r"
        two/b:1:1:x
        two/a:1:1:x
        one/a:1:1:x
    "]],
    );
    check(
        &world,
        &pattern_in("x", "b"),
        expect![[r"
        two/b:1:1:x
    "]],
    );
    check(
        &world,
        &pattern_in("x", "a"),
        expect![[r"
        one/a:1:1:x
    "]],
    );
    check(
        &world,
        &pattern_in("x", &world.at("three").display().to_string()),
        expect![[r"
        three:1:1:x
    "]],
    );
    check(
        &world,
        &pattern_in("x", "../two/./b"),
        expect![[r"
        two/b:1:1:x
    "]],
    );
    check(
        &world,
        &pattern_in("x", "bb"),
        expect!["one/bb does not exist"],
    );
    check(
        &world,
        &pattern_in("x", &world.at("there").display().to_string()),
        expect!["there does not exist. Did you mean three?"],
    );
}

#[test]
fn patterns_over_lines_and_line_ends_of_every_kind() {
    let world = World::new(&[
        ("cr", "a\rb x\rc\r\nd x\n"),
        ("crlf", "a\r\nx\r\nb\r\n"),
        ("lf", "a\nx\nb\n"),
    ]);
    check(
        &world,
        &pattern("x$"),
        expect![[r#"
        lf:2:1:x
        crlf:2:1:x
        cr:2:3:b x
        cr:4:3:d x
    "#]],
    );
    check(
        &world,
        &pattern(r"a\nx"),
        expect![[r#"
        lf:1:1:a
        x
        crlf:1:1:a␍
        x
    "#]],
    );
    check(
        &world,
        &pattern("[bd] x"),
        expect![[r"
        cr:2:1:b x
        cr:4:1:d x
    "]],
    );
    check(
        &world,
        &pattern("(?s)a.*b"),
        expect![[r#"
        lf:1:1:a
        x
        b
        crlf:1:1:a␍
        x␍
        b
        cr:1:1:a␍b x
    "#]],
    );
}

#[test]
fn a_wrong_pattern_is_shown_where_it_is_wrong() {
    let world = World::new(&[]);
    check(
        &world,
        &pattern("fn (main"),
        expect![[r#"
        the pattern is not a regular expression that can be searched for: regex parse error:
            fn (main
               ^
        error: unclosed group"#]],
    );
}

#[test]
fn long_lines_are_cut() {
    let world = World::new(&[(
        "min.js",
        &format!("{}needle{}", "a".repeat(10_000), "b".repeat(10_000)),
    )]);
    let found = world
        .workspace
        .grep(&pattern("needle"), &CancellationToken::new())
        .expect("found");
    let [found] = &*found.matches else {
        panic!("{found:?}")
    };
    assert_eq!(
        (found.line, found.column, found.text.chars().count()),
        (1, 10_001, 2000)
    );
    assert!(found.text.contains("needle"));
}

#[test]
fn a_cancelled_search_ends() {
    let world = World::new(&[("a", "x")]);
    let cancel = CancellationToken::new();
    cancel.cancel();
    assert!(matches!(
        world.workspace.grep(&pattern("x"), &cancel),
        Err(SearchError::Cancelled)
    ));
    assert!(matches!(
        world.workspace.grep(&pattern_in("x", "a"), &cancel),
        Err(SearchError::Cancelled)
    ));
    assert!(matches!(
        world.workspace.glob(&GlobQuery::new("*"), &cancel),
        Err(SearchError::Cancelled)
    ));
    assert!(matches!(
        world.workspace.list(&ListQuery::default(), &cancel),
        Err(SearchError::Cancelled)
    ));
}

#[cfg(unix)]
#[test]
fn what_can_not_be_searched_is_told() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::new(&[("a", "x"), ("closed", "x")]);
    let made = std::process::Command::new("mkfifo")
        .arg(world.at("pipe"))
        .status();
    assert!(made.expect("mkfifo").success());
    check(
        &world,
        &pattern_in("x", "pipe"),
        expect!["pipe is a named pipe, not a file with text"],
    );
    check(
        &world,
        &pattern_in("x", "/dev/zero"),
        expect!["/dev/zero is a device, not a file with text"],
    );
    fs::set_permissions(world.at("closed"), fs::Permissions::from_mode(0o000)).expect("changed");
    let said = world.grep(&pattern("x"));
    if rustix::process::geteuid().is_root() {
        assert_eq!(said, "closed:1:1:x\na:1:1:x\n");
    } else {
        assert_eq!(
            said,
            "a:1:1:x\nnot closed: Permission denied (os error 13)\n"
        );
    }
}
