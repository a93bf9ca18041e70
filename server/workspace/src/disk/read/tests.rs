//! Every kind of file, and what reading it says.

use std::fs;

use expect_test::{Expect, expect};
use tempfile::TempDir;

use super::*;

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

fn read_path(path: &Path) -> Result<Snapshot, ReadError> {
    read(&DocumentUri::from_path(path).expect("an absolute path"))
}

/// What an error says, with the folder's name left out.
fn complaint(tree: &TempDir, error: &ReadError) -> String {
    error
        .to_string()
        .replace(&format!("{}/", tree.path().display()), "")
}

/// Bytes in, text or complaint out.
fn check(bytes: &[u8], expect: Expect) {
    let tree = folder();
    let path = tree.path().join("file");
    fs::write(&path, bytes).expect("written");
    let said = match read_path(&path) {
        Ok(Snapshot {
            text,
            origin: Origin::Disk(form),
            ..
        }) => {
            assert!(form.modified.is_some());
            format!(
                "{:?}{}",
                text.to_string(),
                if form.bom { " with a mark" } else { "" }
            )
        }
        Ok(other) => format!("not from disk: {other:?}"),
        Err(error) => complaint(&tree, &error),
    };
    expect.assert_eq(&said);
}

#[test]
fn texts_are_kept_to_the_byte() {
    check(b"", expect![[r#""""#]]);
    check(b"a\r\nb\nc\rd", expect![[r#""a\r\nb\nc\rd""#]]);
    check(
        "\u{feff}x\u{feff}\n".as_bytes(),
        expect![[r#""x\u{feff}\n" with a mark"#]],
    );
    check("\u{feff}".as_bytes(), expect![[r#""" with a mark"#]]);
    check(
        "😀\u{2028}\u{c}".as_bytes(),
        expect![[r#""😀\u{2028}\u{c}""#]],
    );
}

#[test]
fn what_is_no_text_is_told_with_the_place() {
    check(
        b"ab\0c",
        expect!["file is a binary file (a NUL byte at offset 2)"],
    );
    check(
        b"ab\xffc",
        expect!["file is not UTF-8 (the byte at offset 2 is no part of a character)"],
    );
    check(
        b"\xff\xfea\0",
        expect![
            "file is not UTF-8 (the byte at offset 0 is no part of a character): it looks like UTF-16"
        ],
    );
    check(
        b"\xff\xfe\0\0a\0\0\0",
        expect![
            "file is not UTF-8 (the byte at offset 0 is no part of a character): it looks like UTF-32"
        ],
    );
    check(
        "\u{feff}a\0".as_bytes(),
        expect!["file is a binary file (a NUL byte at offset 4)"],
    );
    check(
        b"ab\xe2\x82",
        expect!["file is not UTF-8 (the byte at offset 2 is no part of a character)"],
    );
}

#[test]
fn a_nul_is_looked_for_in_the_first_8_kb() {
    let tree = folder();
    let path = tree.path().join("file");
    for (offset, binary) in [(BINARY_PROBE - 1, true), (BINARY_PROBE, false)] {
        let mut bytes = vec![b'a'; offset];
        bytes.push(0);
        fs::write(&path, bytes).expect("written");
        assert_eq!(
            matches!(read_path(&path), Err(ReadError::Binary { offset: at, .. }) if at == offset),
            binary
        );
    }
}

#[test]
fn a_size_over_the_limit_is_refused_before_it_is_read() {
    let tree = folder();
    let path = tree.path().join("file");
    let file = File::create(&path).expect("created");
    file.set_len(SIZE_LIMIT + 1).expect("grown");
    let error = read_path(&path).expect_err("too large");
    expect!["file is too large to be read whole: 10485761 bytes, 10485760 at most"]
        .assert_eq(&complaint(&tree, &error));
    fs::write(&path, vec![b'a'; SIZE_LIMIT as usize]).expect("written");
    assert_eq!(
        read_path(&path).expect("just small enough").text.len() as u64,
        SIZE_LIMIT
    );
}

#[test]
fn what_is_no_file_is_told() {
    let tree = folder();
    fs::create_dir(tree.path().join("folder")).expect("a folder");
    fs::write(tree.path().join("main.rs"), "").expect("a file");
    fs::write(tree.path().join("secret.txt"), "").expect("a file");
    fs::write(tree.path().join(".copydeskignore"), "secret.*\n").expect("a file");
    let long = "x".repeat(300);
    for (name, expected) in [
        ("folder", expect!["folder is a folder, not a file"]),
        (
            "mian.rs",
            expect!["mian.rs does not exist. Did you mean main.rs?"],
        ),
        ("zzz", expect!["zzz does not exist"]),
        (
            "main.rs/x",
            expect!["main.rs/x does not exist. Did you mean main.rs?"],
        ),
        (
            "secret.txt",
            expect!["secret.txt is hidden by a .copydeskignore file"],
        ),
        (
            "secret.md",
            expect!["secret.md is hidden by a .copydeskignore file"],
        ),
        ("sekret.txt", expect!["sekret.txt does not exist"]),
    ] {
        let error = read_path(&tree.path().join(name)).expect_err(name);
        expected.assert_eq(&complaint(&tree, &error));
    }
    assert!(matches!(
        read_path(&tree.path().join(long)),
        Err(ReadError::Io { .. })
    ));
    let untitled = DocumentUri::parse("untitled:Untitled-1").expect("a uri");
    expect!["untitled:Untitled-1 is not open, and it is no file"]
        .assert_eq(&read(&untitled).expect_err("no file").to_string());
}

#[cfg(unix)]
#[test]
fn nothing_that_could_block_is_opened() {
    let tree = folder();
    let pipe = tree.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo").success());
    let socket = tree.path().join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).expect("a socket");
    std::os::unix::fs::symlink(&pipe, tree.path().join("link")).expect("a link");
    for (path, kind) in [
        (pipe.as_path(), "named pipe"),
        (&tree.path().join("link"), "named pipe"),
        (&socket, "socket"),
        (Path::new("/dev/zero"), "device"),
        (Path::new("/dev/tty"), "device"),
    ] {
        let error = read_path(path).expect_err("no file");
        assert!(
            matches!(&error, ReadError::Special { kind: is, .. } if *is == kind),
            "{error}"
        );
    }
}

#[cfg(unix)]
#[test]
fn links_are_followed_and_loops_are_errors() {
    let tree = folder();
    fs::write(tree.path().join("file"), "text").expect("written");
    let link = |target: &str, name: &str| {
        std::os::unix::fs::symlink(target, tree.path().join(name)).expect("a link");
    };
    link("file", "one");
    link("one", "two");
    link("b", "a");
    link("a", "b");
    link("nowhere", "dangling");
    let read_name = |name: &str| read_path(&tree.path().join(name));
    let snapshot = read_name("two").expect("read");
    assert_eq!(snapshot.text, "text");
    assert_eq!(
        snapshot.uri.path(),
        Some(tree.path().join("two").as_path()),
        "the name that was asked for stays"
    );
    assert!(matches!(read_name("a"), Err(ReadError::Io { .. })));
    assert!(matches!(
        read_name("dangling"),
        Err(ReadError::NotFound { .. })
    ));
}

#[cfg(target_os = "linux")]
#[test]
fn files_that_say_they_are_empty_are_read_to_their_end() {
    let snapshot = read_path(Path::new("/proc/self/status")).expect("read");
    assert!(snapshot.text.to_string().starts_with("Name:"));
}

#[cfg(unix)]
#[test]
fn no_permission_is_told() {
    use std::os::unix::fs::PermissionsExt as _;
    let tree = folder();
    let path = tree.path().join("file");
    fs::write(&path, "text").expect("written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).expect("changed");
    match read_path(&path) {
        Err(error) => expect!["no permission to read file"].assert_eq(&complaint(&tree, &error)),
        // Nothing is forbidden to root.
        Ok(snapshot) => assert!(rustix::process::geteuid().is_root(), "{snapshot:?}"),
    }
}
