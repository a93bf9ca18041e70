//! Open buffers in the place of their files.

use expect_test::expect;

use super::*;

#[test]
fn the_buffer_stands_for_its_file() {
    let world = World::new(&[("a", "disk\n"), ("b", "disk\n")]);
    world.open_and_type("a", "typed\n");
    expect![[r"
        b:1:1:disk
    "]]
    .assert_eq(&world.grep(&pattern("disk")));
    expect![[r"
        a*:1:1:typed
    "]]
    .assert_eq(&world.grep(&pattern("typed")));
    expect![[r"
        a*:1:1:typed
    "]]
    .assert_eq(&world.grep(&pattern_in("typed", "a")));
    expect![""].assert_eq(&world.grep(&pattern_in("disk", "a")));
}

#[test]
fn unsaved_buffers_are_the_newest_and_saved_ones_as_new_as_their_files() {
    let world = World::new(&[("a", "x"), ("b", "x"), ("c", "x"), ("d", "x")]);
    world.open("a", "x");
    world.open_and_type("b", "x");
    world.open_and_type("c", "x");
    world.open_and_type("b", "x");
    expect![[r"
        b*:1:1:x
        c*:1:1:x
        d:1:1:x
        a:1:1:x
    "]]
    .assert_eq(&world.grep(&pattern("x")));
    expect!["b* c* d a"].assert_eq(&world.glob(&GlobQuery::new("?")));
}

#[test]
fn a_buffer_without_a_file_yet_is_found_where_it_will_be() {
    let world = World::new(&[
        ("src/a", "x"),
        (".gitignore", "*.log\n/out/\n"),
        (".copydeskignore", "secret\n"),
    ]);
    for name in [
        "src/new",
        "made/for/it",
        "new.log",
        "out/x",
        "out/deep/x",
        "secret",
        "made/secret/x",
        ".hidden",
        "src/.git/x",
    ] {
        world.open(name, "x");
    }
    expect![[r"
        made/for/it*:1:1:x
        src/new*:1:1:x
        src/a:1:1:x
    "]]
    .assert_eq(&world.grep(&pattern("x")));
    expect![[r"
        src/new*:1:1:x
        src/a:1:1:x
    "]]
    .assert_eq(&world.grep(&pattern_in("x", "src")));
    // A folder that is only in names of buffers is one.
    expect![[r"
        made/for/it*:1:1:x
    "]]
    .assert_eq(&world.grep(&pattern_in("x", "made")));
    expect!["made/for/it*"].assert_eq(&world.glob(&glob_in("**/it", "made/for")));
    expect![""].assert_eq(&world.grep(&pattern_in("x", "out")));
    expect!["new is hidden"].assert_eq(
        &world
            .grep(&pattern_in("x", "secret"))
            .replace("secret", "new")
            .replace(" by a .copydeskignore file", ""),
    );
    expect![[r"
        new.log*:1:1:x
    "]]
    .assert_eq(&world.grep(&pattern_in("x", "new.log")));
    expect!["made/for/it* src/new* src/a"].assert_eq(&world.glob(&GlobQuery::new("**/*")));
}

#[test]
fn a_buffer_is_as_visible_as_its_file() {
    let world = World::new(&[
        (".gitignore", "out\n"),
        (".copydeskignore", "secret\n"),
        ("out/a", "x"),
        ("secret", "x"),
        (".hidden", "x"),
        (".git/info/exclude", "excluded\n"),
        ("excluded", "x"),
    ]);
    for name in ["out/a", "secret", ".hidden", "excluded"] {
        world.open_and_type(name, "x");
    }
    expect![""].assert_eq(&world.grep(&pattern("x")));
    expect![[r"
        out/a*:1:1:x
    "]]
    .assert_eq(&world.grep(&pattern_in("x", "out")));
    expect!["hidden"].assert_eq(
        if world.grep(&pattern_in("x", "secret")).contains("hidden by") {
            "hidden"
        } else {
            "shown"
        },
    );
    expect!["out/a*"].assert_eq(&world.glob(&glob_in("*", "out")));
}

#[test]
fn rules_that_come_later_count() {
    let mut world = World::new(&[("a", "x")]);
    world.open_and_type("a", "x");
    world.open("b", "x");
    assert_eq!(world.grep(&pattern("x")), "b*:1:1:x\na*:1:1:x\n");
    world.file(".copydeskignore", b"a\nb\n");
    assert_eq!(world.grep(&pattern("x")), "");
    fs::remove_file(world.at(".copydeskignore")).expect("removed");
    assert_eq!(world.grep(&pattern("x")), "b*:1:1:x\na*:1:1:x\n");
}

#[test]
fn documents_without_a_path_are_searched_if_no_path_is_given() {
    let world = World::new(&[("a", "x")]);
    world.open("untitled:Untitled-1", "x\n");
    world.open("untitled:notes.md", "# x\n");
    expect![[r"
        untitled:notes.md*:1:3:# x
        untitled:Untitled-1*:1:1:x
        a:1:1:x
    "]]
    .assert_eq(&world.grep(&pattern("x")));
    let everything = world.at("").display().to_string();
    expect![[r"
        a:1:1:x
    "]]
    .assert_eq(&world.grep(&pattern_in("x", &everything)));
    expect![[r"
        untitled:notes.md*:1:3:# x
    "]]
    .assert_eq(&world.grep(&pattern_with("x", "*.md")));
    expect!["a"].assert_eq(&world.glob(&GlobQuery::new("*")));
}

#[test]
fn buffers_outside_the_roots_are_searched_if_there_is_no_root_or_they_are_asked_for() {
    let world = World::with_roots(
        &[("in/a", "x"), ("out/b", "x"), (".copydeskignore", "c")],
        &["in"],
    );
    world.open("out/b", "x");
    expect![[r"
        in/a:1:1:x
    "]]
    .assert_eq(&world.grep(&pattern("x")));
    let path = world.at("out").display().to_string();
    expect![[r"
        out/b:1:1:x
    "]]
    .assert_eq(&world.grep(&pattern_in("x", &path)));
    let world = World::with_roots(
        &[("in/a", "x"), ("out/b", "x"), (".copydeskignore", "c")],
        &[],
    );
    world.open("out/b", "x");
    world.open("out/c", "x");
    expect![[r"
        out/b:1:1:x
    "]]
    .assert_eq(&world.grep(&pattern("x")));
}

#[test]
fn includes_count_for_buffers() {
    let world = World::new(&[("a.rs", "x")]);
    world.open_and_type("a.rs", "x");
    world.open("b.rs", "x");
    world.open("src/c.ts", "x");
    expect![[r"
        b.rs*:1:1:x
        a.rs*:1:1:x
    "]]
    .assert_eq(&world.grep(&pattern_with("x", "*.rs")));
    expect![[r"
        src/c.ts*:1:1:x
    "]]
    .assert_eq(&world.grep(&pattern_with("x", "src/**")));
}

#[test]
fn a_large_buffer_is_searched_piece_by_piece() {
    let world = World::new(&[]);
    let mut text = "some line of text\r\n".repeat(100_000);
    text += "a\rneedle\nfollowed\r\n";
    world.open_and_type("a", &text);
    expect![[r"
        a*:100002:1:needle
    "]]
    .assert_eq(&world.grep(&pattern("needle")));
    let found = world.grep(&pattern("needle$\nfoll"));
    assert_eq!(found, "a*:100002:1:needle\nfollowed\n");
    let found = world
        .workspace
        .grep(&pattern("^some"), &CancellationToken::new())
        .expect("found");
    assert_eq!(
        (found.total, found.matches.len(), found.matches[99].line),
        (100_000, 100, 100)
    );
}

#[test]
fn a_buffer_is_text_whatever_it_holds() {
    let world = World::new(&[]);
    world.open_and_type("a", "a\0\nx\n");
    let found = world.grep(&pattern("x"));
    assert_eq!(found, "a*:2:1:x\n");
}

#[cfg(unix)]
#[test]
fn a_buffer_is_found_by_every_name_of_its_file() {
    use std::os::unix::fs::symlink;
    let world = World::new(&[("real/a", "disk"), ("elsewhere/b", "disk")]);
    symlink(world.at("real"), world.at("door")).expect("a link");
    world.open_and_type("door/a", "typed");
    // One text, under the name that the editor knows.
    expect![[r"
        door/a*:1:1:typed
        elsewhere/b:1:1:disk
    "]]
    .assert_eq(&world.grep(&pattern("disk|typed")));
    expect![[r"
        door/a*:1:1:typed
    "]]
    .assert_eq(&world.grep(&pattern_in("typed", "real/a")));
}

#[cfg(unix)]
#[test]
fn a_buffer_behind_a_link_out_of_the_tree_is_found() {
    use std::os::unix::fs::symlink;
    let world = World::with_roots(
        &[("root/a", "x"), ("outside/b", "x"), ("outside/c", "x")],
        &["root"],
    );
    symlink(world.at("outside"), world.at("root/door")).expect("a link");
    world.open_and_type("root/door/b", "x");
    expect![[r"
        root/door/b*:1:1:x
        root/a:1:1:x
    "]]
    .assert_eq(&world.grep(&pattern("x")));
}
