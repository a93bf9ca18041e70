//! Folders as trees.

use expect_test::{Expect, expect};

use super::*;

fn check(world: &World, query: &ListQuery, expect: Expect) {
    expect.assert_eq(&world.list(query));
}

fn in_folder(path: &str) -> ListQuery {
    ListQuery {
        path: Some(path.into()),
        ..ListQuery::default()
    }
}

#[test]
fn folders_first_and_rules_kept() {
    let world = World::new(&[
        ("b.txt", ""),
        ("a.txt", ""),
        ("src/main.rs", ""),
        ("src/deep/x", ""),
        (".gitignore", "out/\n"),
        ("out/x", ""),
        (".hidden/x", ""),
        (".copydeskignore", "secret\n"),
        ("secret", ""),
        ("src/secret", ""),
    ]);
    fs::create_dir(world.at("empty")).expect("a folder");
    check(
        &world,
        &ListQuery::default(),
        expect![[r"
        /
          empty/
          src/
            deep/
              x
            main.rs
          a.txt
          b.txt
    "]],
    );
    check(
        &world,
        &in_folder("src"),
        expect![[r"
        /src/
          deep/
            x
          main.rs
    "]],
    );
    check(
        &world,
        &in_folder("out"),
        expect![[r"
        /out/
          x
    "]],
    );
    check(
        &world,
        &in_folder("secret"),
        expect!["secret is hidden by a .copydeskignore file"],
    );
    check(
        &world,
        &in_folder("a.txt"),
        expect!["a.txt is a file, not a folder"],
    );
    check(
        &world,
        &in_folder("scr"),
        expect!["scr does not exist. Did you mean src?"],
    );
}

#[test]
fn globs_to_leave_out() {
    let world = World::new(&[
        ("a.rs", ""),
        ("a.log", ""),
        ("deep/b.log", ""),
        ("deep/c.rs", ""),
        ("build/x", ""),
    ]);
    let query = |globs: &[&str]| ListQuery {
        ignore: globs.iter().map(|glob| (*glob).to_owned()).collect(),
        ..ListQuery::default()
    };
    check(
        &world,
        &query(&["*.log", "build/"]),
        expect![[r"
        /
          deep/
            c.rs
          a.rs
    "]],
    );
    check(
        &world,
        &query(&["deep/**", "/a.*"]),
        expect![[r"
        /
          build/
            x
          deep/
    "]],
    );
    check(
        &world,
        &query(&["a{"]),
        expect![[
            r#""a{" is no glob: error parsing glob 'a{': unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)"#
        ]],
    );
}

#[test]
fn several_roots() {
    let world = World::with_roots(
        &[("one/a", ""), ("two/b", ""), ("three/c", "")],
        &["one", "two"],
    );
    check(
        &world,
        &ListQuery::default(),
        expect![[r"
        /one/
          a
        /two/
          b
    "]],
    );
}

#[test]
fn buffers_that_are_not_on_disk_yet_are_in_the_tree() {
    let world = World::new(&[("src/a", ""), ("src/b", ""), (".gitignore", "*.log\n")]);
    world.open_and_type("src/a", "x");
    world.open("src/b", "");
    world.open("src/new", "");
    world.open("made/for/it", "");
    world.open("x.log", "");
    check(
        &world,
        &ListQuery::default(),
        expect![[r"
        /
          made/
            for/
              it (unsaved)
          src/
            a (unsaved)
            b
            new (unsaved)
    "]],
    );
    check(
        &world,
        &in_folder("made"),
        expect![[r"
        /made/
          for/
            it (unsaved)
    "]],
    );
}

#[test]
fn a_large_tree_shows_its_upper_levels() {
    let mut world = World::new(&[]);
    for folder in 0..4 {
        for file in 0..10 {
            world.file(&format!("d{folder}/f{file}"), b"");
        }
        world.file(&format!("d{folder}/deep/er/x"), b"");
    }
    let limited = |limit| ListQuery {
        limit,
        ..ListQuery::default()
    };
    check(
        &world,
        &limited(2),
        expect![[r#"
        /
          d0/
            deep/ …
            … 10 more
          … 3 more
    "#]],
    );
    check(
        &world,
        &limited(12),
        expect![[r#"
        /
          d0/
            deep/ …
            f0
            f1
            f2
            … 7 more
          d1/
            deep/ …
            f0
            f1
            f2
            … 7 more
          d2/ …
          d3/ …
    "#]],
    );
    check(
        &world,
        &limited(40),
        expect![[r#"
        /
          d0/
            deep/ …
            f0
            f1
            f2
            f3
            f4
            f5
            f6
            f7
            f8
            f9
          d1/
            deep/ …
            f0
            f1
            f2
            f3
            f4
            f5
            f6
            f7
            f8
            f9
          d2/
            deep/ …
            f0
            f1
            f2
            f3
            f4
            f5
            f6
            f7
            f8
            f9
          d3/
            deep/ …
            f0
            f1
            … 8 more
    "#]],
    );
    let all = world
        .workspace
        .list(&limited(60), &CancellationToken::new())
        .expect("listed");
    assert!(!all.truncated);
    assert_eq!(all.entries.len(), 1 + 4 + 40 + 12);
}

#[test]
fn a_flat_folder_uses_all_the_room() {
    let mut world = World::new(&[]);
    for file in 0..50 {
        world.file(&format!("f{file:02}"), b"");
    }
    let listing = world.workspace.list(
        &ListQuery {
            limit: 40,
            ..ListQuery::default()
        },
        &CancellationToken::new(),
    );
    let listing = listing.expect("listed");
    assert_eq!(listing.entries.len(), 41);
    assert_eq!(
        listing.entries[0].thing,
        Thing::Folder { unshown: Some(10) }
    );
    assert!(listing.truncated);
}

#[cfg(unix)]
#[test]
fn links_are_shown_and_not_followed() {
    use std::os::unix::fs::symlink;
    let world = World::new(&[
        ("src/a", ""),
        (".copydeskignore", "secret\n"),
        ("secret", ""),
    ]);
    symlink("src", world.at("door")).expect("a link");
    symlink("nowhere", world.at("gone")).expect("a link");
    symlink("secret", world.at("window")).expect("a link");
    check(
        &world,
        &ListQuery::default(),
        expect![[r"
        /
          src/
            a
          door -> src
          gone -> nowhere
    "]],
    );
}
