//! What is written, what is kept, and what is left when it fails.

use std::{fs, path::Path, process::Command};

use tempfile::TempDir;

use super::*;

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

/// Writes over what is there, without a mark.
fn put(path: &Path, text: &str) -> Result<DiskForm, WriteError> {
    let text = Text::new(text);
    if path.is_file() {
        let now = Text::new(&content(path));
        return write(
            path,
            &text,
            false,
            Expected::Exactly {
                text: &now,
                bom: false,
            },
        );
    }
    write(path, &text, false, Expected::Absent)
}

fn content(path: &Path) -> String {
    String::from_utf8(fs::read(path).expect("read")).expect("text")
}

/// Every name in a folder, sorted: no temporary file may be among them.
fn names(tree: &TempDir) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(tree.path())
        .expect("read")
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    names.sort();
    names
}

#[test]
fn a_new_file_comes_with_its_folders() {
    let tree = folder();
    let path = tree.path().join("a/b/new.txt");
    let form = write(&path, &Text::new("x\r\n"), true, Expected::Absent).expect("written");
    assert_eq!(content(&path), "\u{feff}x\r\n");
    assert!(form.bom);
    assert_eq!(
        form.modified,
        fs::metadata(&path).expect("there").modified().ok()
    );
    assert_eq!(names(&tree), ["a"]);
}

#[test]
fn an_old_file_is_replaced_whole() {
    let tree = folder();
    let path = tree.path().join("file");
    for text in ["long text\n", "x", "", "end"] {
        put(&path, text).expect("written");
        assert_eq!(content(&path), text);
    }
    let long = "0123456789abcdef\n".repeat(100_000);
    put(&path, &long).expect("written");
    assert_eq!(content(&path), long);
    assert_eq!(names(&tree), ["file"]);
}

/// (on disk, what we believe is on disk and with a mark, whether the write happens)
#[test]
fn the_bytes_decide_whether_a_file_changed() {
    let long = "line\n".repeat(20_000);
    let other = format!("{}x", &long[..long.len() - 1]);
    for (disk, believed, bom, written) in [
        ("abc", "abc", false, true),
        ("abc", "abd", false, false),
        ("abc", "ab", false, false),
        ("ab", "abc", false, false),
        ("", "", false, true),
        ("", "a", false, false),
        ("a\r\n", "a\n", false, false),
        ("\u{feff}abc", "abc", true, true),
        ("\u{feff}abc", "abc", false, false),
        ("abc", "abc", true, false),
        (&long, &long, false, true),
        (&long, &other, false, false),
    ] {
        let tree = folder();
        let path = tree.path().join("file");
        for hard_link in [false, true] {
            fs::write(&path, disk).expect("written");
            if hard_link {
                fs::hard_link(&path, tree.path().join("twin")).expect("a link");
            }
            let believed_text = Text::new(believed);
            let result = write(
                &path,
                &Text::new("new"),
                bom,
                Expected::Exactly {
                    text: &believed_text,
                    bom,
                },
            );
            if written {
                result.expect("written");
                assert_eq!(content(&path), if bom { "\u{feff}new" } else { "new" });
            } else {
                assert!(
                    matches!(result, Err(WriteError::Changed { .. })),
                    "{disk:?} {believed:?}: {result:?}"
                );
                assert_eq!(content(&path), disk);
            }
        }
        assert_eq!(names(&tree), ["file", "twin"]);
    }
}

#[test]
fn a_touched_file_has_not_changed_and_a_removed_one_has() {
    let tree = folder();
    let path = tree.path().join("file");
    fs::write(&path, "abc").expect("written");
    let file = OpenOptions::new().write(true).open(&path).expect("opened");
    file.set_modified(std::time::SystemTime::UNIX_EPOCH)
        .expect("touched");
    let text = Text::new("abc");
    write(
        &path,
        &Text::new("new"),
        false,
        Expected::Exactly {
            text: &text,
            bom: false,
        },
    )
    .expect("written");
    fs::remove_file(&path).expect("removed");
    let result = write(
        &path,
        &Text::new("new"),
        false,
        Expected::Exactly {
            text: &text,
            bom: false,
        },
    );
    assert!(matches!(result, Err(WriteError::Changed { .. })));
    assert!(names(&tree).is_empty());
}

#[test]
fn a_file_that_should_not_be_there_stays() {
    let tree = folder();
    let path = tree.path().join("file");
    fs::write(&path, "abc").expect("written");
    let result = write(&path, &Text::new("new"), false, Expected::Absent);
    assert!(matches!(result, Err(WriteError::Exists { .. })));
    assert_eq!(content(&path), "abc");
    assert_eq!(names(&tree), ["file"]);
}

#[test]
fn what_can_not_hold_a_file_is_told_and_left() {
    let tree = folder();
    fs::create_dir(tree.path().join("folder")).expect("a folder");
    fs::write(tree.path().join("file"), "abc").expect("written");
    let to = |name: &str| put(&tree.path().join(name), "new");
    assert!(matches!(to("folder"), Err(WriteError::IsDirectory { .. })));
    assert!(matches!(
        to("file/below"),
        Err(WriteError::NotADirectory { .. })
    ));
    assert!(matches!(
        to("file/below/deeper"),
        Err(WriteError::NotADirectory { .. })
    ));
    let long = format!("made/for/it/{}", "x".repeat(300));
    assert!(matches!(to(&long), Err(WriteError::Io { .. })));
    assert_eq!(content(&tree.path().join("file")), "abc");
    assert_eq!(
        names(&tree),
        ["file", "folder"],
        "no folder is left for a file that was not made"
    );
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).expect("there").permissions().mode() & 0o7777
    }

    #[test]
    fn the_mode_is_kept() {
        let tree = folder();
        let path = tree.path().join("file");
        fs::write(&path, "abc").expect("written");
        for bits in [0o755, 0o600, 0o666, 0o4755] {
            fs::set_permissions(&path, fs::Permissions::from_mode(bits)).expect("changed");
            let before = fs::metadata(&path).expect("there").ino();
            put(&path, "new").expect("written");
            assert_eq!(mode(&path), bits);
            assert_ne!(
                fs::metadata(&path).expect("there").ino(),
                before,
                "it was replaced, not written over"
            );
        }
    }

    #[test]
    fn a_new_file_has_the_mode_of_new_files() {
        let tree = folder();
        fs::write(tree.path().join("usual"), "").expect("written");
        put(&tree.path().join("ours"), "").expect("written");
        assert_eq!(
            mode(&tree.path().join("ours")),
            mode(&tree.path().join("usual"))
        );
    }

    #[test]
    fn a_file_that_nobody_may_write_is_refused() {
        let tree = folder();
        let path = tree.path().join("file");
        fs::write(&path, "abc").expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).expect("changed");
        assert!(matches!(
            put(&path, "new"),
            Err(WriteError::ReadOnly { .. })
        ));
        assert_eq!(content(&path), "abc");
        assert_eq!(names(&tree), ["file"]);
    }

    #[test]
    fn a_folder_that_takes_no_new_files_still_has_its_old_ones_written() {
        let tree = folder();
        let closed = tree.path().join("closed");
        fs::create_dir(&closed).expect("a folder");
        fs::write(closed.join("file"), "abc").expect("written");
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o555)).expect("changed");
        put(&closed.join("file"), "new").expect("written");
        assert_eq!(content(&closed.join("file")), "new");
        match put(&closed.join("other"), "x") {
            Err(error) => assert!(matches!(error, WriteError::Denied { .. }), "{error}"),
            // Nothing is forbidden to root.
            Ok(_) => assert!(rustix::process::geteuid().is_root()),
        }
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o755)).expect("changed");
    }

    #[test]
    fn links_stay_links() {
        let tree = folder();
        let at = |name: &str| tree.path().join(name);
        fs::create_dir_all(at("real/deep")).expect("a folder");
        fs::write(at("real/file"), "abc").expect("written");
        symlink("../file", at("real/deep/one")).expect("a link");
        symlink("real/deep/one", at("two")).expect("a link");
        // `deep/..` is not what its spelling says, since it is reached by a link.
        symlink("real/deep", at("door")).expect("a link");
        symlink("door/../file", at("three")).expect("a link");
        for name in ["two", "three"] {
            put(&at(name), name).expect("written");
            assert_eq!(content(&at("real/file")), name);
            assert!(
                at(name).is_symlink()
                    && at("real/deep/one").is_symlink()
                    && !at("real/file").is_symlink()
            );
        }
        assert_eq!(names(&tree), ["door", "real", "three", "two"]);
    }

    #[test]
    fn a_link_to_nothing_gets_its_file() {
        let tree = folder();
        let link = tree.path().join("link");
        symlink("new/file", &link).expect("a link");
        write(&link, &Text::new("text"), false, Expected::Absent).expect("written");
        assert!(link.is_symlink());
        assert_eq!(content(&tree.path().join("new/file")), "text");
    }

    #[test]
    fn a_link_to_itself_is_told() {
        let tree = folder();
        symlink("b", tree.path().join("a")).expect("a link");
        symlink("a", tree.path().join("b")).expect("a link");
        assert!(matches!(
            put(&tree.path().join("a"), "x"),
            Err(WriteError::LinkLoop { .. })
        ));
    }

    #[test]
    fn hard_links_stay_one_file() {
        let tree = folder();
        let (one, other) = (tree.path().join("one"), tree.path().join("other"));
        fs::write(&one, "a long text").expect("written");
        fs::hard_link(&one, &other).expect("a link");
        for text in ["short", "longer than it ever was"] {
            put(&one, text).expect("written");
            assert_eq!(content(&other), text);
        }
        assert_eq!(names(&tree), ["one", "other"]);
    }

    #[test]
    fn pipes_and_devices_are_not_written() {
        let tree = folder();
        let pipe = tree.path().join("pipe");
        let made = Command::new("mkfifo").arg(&pipe).status();
        assert!(made.expect("mkfifo").success());
        for (path, kind) in [(&*pipe, "named pipe"), (Path::new("/dev/full"), "device")] {
            let empty = Text::default();
            let expected = Expected::Exactly {
                text: &empty,
                bom: false,
            };
            let error = write(path, &Text::new("x"), false, expected).expect_err("no file");
            assert!(
                matches!(&error, WriteError::Special { kind: is, .. } if *is == kind),
                "{error}"
            );
            assert!(matches!(put(path, "x"), Err(WriteError::Exists { .. })));
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_with_attributes_keeps_them() {
        let tree = folder();
        let path = tree.path().join("file");
        fs::write(&path, "abc").expect("written");
        if rustix::fs::setxattr(&path, "user.note", b"x", rustix::fs::XattrFlags::empty()).is_err()
        {
            return; // This file system knows no attributes, and so none can be lost.
        }
        put(&path, "new").expect("written");
        let mut value = [0; 8];
        assert_eq!(
            rustix::fs::getxattr(&path, "user.note", &mut value[..]).expect("kept"),
            1
        );
        assert_eq!(content(&path), "new");
    }

    /// Runs one test of this file again, as a child that a shell prepared. The child does what `inside` says.
    fn in_a_child(name: &str, prepare: &str, inside: impl FnOnce(&Path)) {
        if let Some(place) = std::env::var_os("COPYDESK_TEST_PLACE") {
            return inside(Path::new(&place));
        }
        let tree = folder();
        let path = tree.path().join("file");
        fs::write(&path, "abc").expect("written");
        fs::hard_link(&path, tree.path().join("twin")).expect("a link");
        fs::write(tree.path().join("alone"), "abc").expect("written");
        let run = Command::new("sh")
            .args(["-c", &format!("{prepare}; exec \"$@\""), "sh"])
            .arg(std::env::current_exe().expect("this test"))
            .args([
                "--exact",
                &format!(
                    "{}::{name}",
                    module_path!().split_once("::").expect("a crate").1
                ),
            ])
            .args(["--nocapture", "--test-threads=1"])
            .env("COPYDESK_TEST_PLACE", tree.path())
            .output()
            .expect("a child");
        let said = String::from_utf8_lossy(&run.stdout);
        assert!(
            run.status.success() && said.contains("1 passed"),
            "{said}{}",
            String::from_utf8_lossy(&run.stderr)
        );
        for name in ["file", "twin", "alone"] {
            assert_eq!(
                content(&tree.path().join(name)),
                "abc",
                "{name} is as it was"
            );
        }
        assert_eq!(
            names(&tree),
            ["alone", "file", "twin"],
            "nothing is left behind"
        );
    }

    /// The size limit stands for the full disk: the write fails half-way, with some of it done.
    #[test]
    fn a_full_disk_leaves_the_old_file_whole() {
        in_a_child(
            "a_full_disk_leaves_the_old_file_whole",
            "trap '' XFSZ; ulimit -f 8",
            |place| {
                let long = "0123456789abcde\n".repeat(10_000);
                for name in ["alone", "file", "new", "new/folders/for/it"] {
                    let result = put(&place.join(name), &long);
                    assert!(
                        matches!(result, Err(WriteError::Io { .. })),
                        "{name}: {result:?}"
                    );
                }
            },
        );
    }
}
