use std::fs;

use async_trait::async_trait;

use super::*;
use crate::{Edit, HostError, Reply};

struct NoHost;

#[async_trait]
impl Host for NoHost {
    async fn apply(&self, _: &Edit, _: &str) -> Result<Reply, HostError> {
        Err(HostError::Unsupported)
    }
}

fn workspace(roots: &[&Path]) -> Arc<Workspace> {
    Workspace::new(
        roots.iter().map(|root| root.to_path_buf()).collect(),
        Buffers::new(),
        Arc::new(NoHost),
    )
}

/// `root/a.rs`, `root/inner/b.rs`, and `outside/c.rs` beside them.
fn tree() -> tempfile::TempDir {
    let tree = tempfile::tempdir().expect("a folder");
    for name in ["root/a.rs", "root/inner/b.rs", "outside/c.rs"] {
        let path = tree.path().join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, name).expect("a file");
    }
    tree
}

fn uri(path: &Path) -> DocumentUri {
    DocumentUri::from_path(path).expect("absolute")
}

#[test]
fn what_is_inside() {
    let tree = tree();
    let at = |name: &str| tree.path().join(name);
    let workspace = workspace(&[&at("root")]);
    for name in [
        "root",
        "root/a.rs",
        "root/inner/b.rs",
        "root/new.rs",
        "root/new/er.rs",
        "outside/../root/a.rs",
        "root/./a.rs",
    ] {
        assert!(workspace.contains(&at(name)), "{name}");
    }
    for name in [
        "",
        "outside/c.rs",
        "root/../outside/c.rs",
        "root/inner/../../outside/new.rs",
        "rooted/x",
        "root/none/../../x",
    ] {
        assert!(!workspace.contains(&at(name)), "{name}");
    }
    assert!(
        !workspace.contains(Path::new("root/a.rs")),
        "a relative path is nowhere"
    );
    assert!(!workspace.contains(Path::new("/")));
}

#[cfg(unix)]
#[test]
fn links_are_followed() {
    use std::os::unix::fs::symlink;
    let tree = tree();
    let at = |name: &str| tree.path().join(name);
    symlink(at("outside"), at("root/out")).expect("a link");
    symlink("../outside/new.rs", at("root/dangling")).expect("a link");
    symlink("nowhere.rs", at("root/dangling_inside")).expect("a link");
    symlink("loop", at("root/loop")).expect("a link");
    symlink(at("root"), at("door")).expect("a link");
    let workspace = workspace(&[&at("root")]);
    for name in [
        "root/out/c.rs",
        "root/out/new.rs",
        "root/dangling",
        "root/loop/x",
        "root/out/../a.rs",
    ] {
        assert!(!workspace.contains(&at(name)), "{name}");
    }
    for name in ["door/a.rs", "door/new.rs", "root/dangling_inside"] {
        assert!(workspace.contains(&at(name)), "{name}");
    }
    // A root may itself be given by a link; it is told as it was given.
    let by_link = self::workspace(&[&at("door")]);
    assert_eq!(by_link.root_of(&at("root/a.rs")), Some(at("door")));
}

#[test]
fn the_innermost_root_and_other_roots() {
    let tree = tree();
    let at = |name: &str| tree.path().join(name);
    let workspace = workspace(&[&at("root"), &at("root/inner"), &at("gone")]);
    assert_eq!(
        workspace.root_of(&at("root/inner/b.rs")),
        Some(at("root/inner"))
    );
    assert_eq!(workspace.root_of(&at("root/a.rs")), Some(at("root")));
    assert_eq!(
        workspace.root_of(&at("gone/x.rs")),
        Some(at("gone")),
        "a root need not exist yet"
    );
    assert_eq!(workspace.root_of(&at("outside/c.rs")), None);
    workspace.set_roots(vec![at("outside")]);
    assert_eq!(workspace.roots(), [at("outside")]);
    assert!(workspace.contains(&at("outside/c.rs")) && !workspace.contains(&at("root/a.rs")));
}

#[test]
fn the_buffer_is_read_before_the_disk() {
    let tree = tree();
    let path = tree.path().join("root/a.rs");
    let workspace = workspace(&[tree.path()]);
    let read = || workspace.read(&uri(&path)).expect("a text");
    assert!(!read().is_buffer());
    assert_eq!(read().text, "root/a.rs");
    workspace.buffers().open(uri(&path), "rust", 1, "unsaved");
    assert!(read().is_buffer());
    assert_eq!(read().text, "unsaved");
    workspace.buffers().close(&uri(&path));
    assert_eq!(read().text, "root/a.rs");
    // A buffer needs no file.
    let untitled = DocumentUri::parse("untitled:1").expect("a URI");
    assert!(matches!(
        workspace.read(&untitled),
        Err(ReadError::NoFile { .. })
    ));
    workspace.buffers().open(untitled.clone(), "rust", 1, "new");
    assert_eq!(workspace.read(&untitled).expect("open").text, "new");
    let new = uri(&tree.path().join("root/new.rs"));
    assert!(matches!(
        workspace.read(&new),
        Err(ReadError::NotFound { .. })
    ));
    workspace
        .buffers()
        .open(new.clone(), "rust", 1, "not saved yet");
    assert_eq!(workspace.read(&new).expect("open").text, "not saved yet");
}

/// Language servers and models name a file otherwise than the editor does: by what a link leads to.
#[cfg(unix)]
#[tokio::test]
async fn a_buffer_counts_under_every_name_of_its_file() {
    use crate::{ApplyError, ByteRange, Replacement};
    use std::os::unix::fs::symlink;
    let tree = tree();
    let at = |name: &str| tree.path().join(name);
    symlink(at("root"), at("door")).expect("a link");
    symlink("a.rs", at("root/b.rs")).expect("a link");
    std::fs::hard_link(at("root/a.rs"), at("root/hard.rs")).expect("a link");
    let workspace = workspace(&[tree.path()]);
    let open = |name: &str, text: &str| {
        workspace.buffers().open(uri(&at(name)), "rust", 1, text);
    };
    open("door/a.rs", "unsaved");
    open("door/new.rs", "not saved yet");
    for (name, text) in [
        ("door/a.rs", "unsaved"),
        ("root/a.rs", "unsaved"),
        ("root/b.rs", "unsaved"),
        ("root/hard.rs", "unsaved"),
        ("root/inner/../a.rs", "unsaved"),
        ("root/new.rs", "not saved yet"),
        ("root/inner/b.rs", "root/inner/b.rs"),
    ] {
        let read = workspace.read(&uri(&at(name))).expect("a text");
        assert_eq!(read.text, text, "{name}");
    }

    // Read from the disk before it was opened, and edited after: it still goes to the editor, which takes none here.
    workspace.buffers().close(&uri(&at("door/a.rs")));
    let read = workspace.read(&uri(&at("root/a.rs"))).expect("a file");
    open("door/a.rs", "root/a.rs, unsaved");
    let replacement = Replacement {
        range: ByteRange::new(0, 4),
        text: "ROOT".into(),
    };
    let edit = Edit::new(read, vec![replacement]).expect("an edit");
    let never = tokio_util::sync::CancellationToken::new();
    let refused = workspace.apply(edit, "test", &never).await;
    assert!(
        matches!(refused, Err(ApplyError::Unsupported { .. })),
        "{refused:?}"
    );
    let new = uri(&at("root/new.rs"));
    let refused = workspace.create(&new, "x", "test", &never).await;
    assert!(
        matches!(refused, Err(ApplyError::Unsupported { .. })),
        "{refused:?}"
    );
    let disk = |name: &str| fs::read_to_string(at(name)).ok();
    assert_eq!(disk("root/a.rs").as_deref(), Some("root/a.rs"));
    assert_eq!(disk("root/new.rs"), None);
}

#[test]
fn what_is_hidden_is_hidden_though_it_is_open() {
    let tree = tree();
    fs::write(tree.path().join(".copydeskignore"), "*.key\n").expect("a file");
    let key = tree.path().join("root/x.key");
    let workspace = workspace(&[tree.path()]);
    assert!(workspace.is_ignored_for_model(&key));
    workspace.buffers().open(uri(&key), "text", 1, "secret");
    assert!(matches!(
        workspace.read(&uri(&key)),
        Err(ReadError::Hidden { .. })
    ));
}

/// What one question sees of every path must be what each would see alone.
#[cfg(unix)]
#[test]
fn together_as_alone() {
    use std::os::unix::fs::symlink;
    let top = tempfile::tempdir().expect("a folder");
    let at = |name: &str| top.path().join(name);
    for folder in ["in/src", "in/secret", "out"] {
        fs::create_dir_all(at(folder)).expect("a folder");
    }
    let names = [
        "in/src/a.txt",
        "in/src/b.key",
        "in/secret/x.txt",
        "out/o.txt",
        "in/open.txt",
    ];
    for name in names {
        fs::write(at(name), name).expect("a file");
    }
    fs::write(at("in/.copydeskignore"), "secret/\n*.key\n").expect("a file");
    symlink(at("out"), at("in/door")).expect("a link");
    symlink(at("in/secret"), at("out/back")).expect("a link");
    symlink("a.txt", at("in/src/link.txt")).expect("a link");
    symlink("nowhere", at("in/src/dangling")).expect("a link");
    fs::hard_link(at("in/open.txt"), at("in/src/hard.txt")).expect("a link");

    let workspace = workspace(&[&at("in")]);
    let open = uri(&at("in/open.txt"));
    workspace
        .buffers()
        .open(open, "text", 1, "as it is in the editor");
    let mut reading = workspace.reading();
    let more = [
        "in/door/o.txt",
        "out/back/x.txt",
        "in/src/link.txt",
        "in/src/dangling",
        "in/src/hard.txt",
        "in/src",
        "in",
        "in/src/../src/a.txt",
        "in/not/there",
        "in/src/a.txt/below",
    ];
    for name in names.into_iter().chain(more) {
        let path = at(name);
        assert_eq!(reading.contains(&path), workspace.contains(&path), "{name}");
        assert_eq!(
            reading.is_ignored_for_model(&path),
            workspace.is_ignored_for_model(&path),
            "{name}"
        );
        let uri = uri(&path);
        let text = |read: Result<Snapshot, ReadError>| {
            read.map(|snapshot| (snapshot.uri, snapshot.text.to_string()))
                .map_err(|error| error.to_string())
        };
        assert_eq!(
            text(reading.read(&uri)),
            text(workspace.read(&uri)),
            "{name}"
        );
    }
}
