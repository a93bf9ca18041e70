//! Changes of several files, all or none: open buffers, files on disk, and what is done to whole files.

use std::{
    collections::BTreeMap,
    fs,
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use async_trait::async_trait;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::editor::{Answer, edit_of, refused};
use crate::{
    Buffers, ContentChange, DocumentUri, Edit, Encoding, FileOperation, FileStep, Host, HostError,
    Reply, Step, Together, TogetherError, Workspace,
};

type Hook = Box<dyn FnOnce(&Desk) + Send>;

/// A folder, and an editor that makes each edit at once, unless it has something else to do first.
struct Desk {
    folder: TempDir,
    buffers: Arc<Buffers>,
    /// What happens at the n-th edit, before it is made.
    hooks: Mutex<BTreeMap<usize, Hook>>,
    /// The edit that is refused.
    refuses: Option<usize>,
    edits: AtomicUsize,
    /// It knows how to rename and delete what it has open.
    knows_files: bool,
    /// And does not, though it says so.
    lies: bool,
}

fn desk(files: &[(&str, &str)]) -> Desk {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        fs::write(path, text).expect("a file");
    }
    Desk {
        folder,
        buffers: Buffers::new(),
        hooks: Mutex::default(),
        refuses: None,
        edits: AtomicUsize::new(0),
        knows_files: false,
        lies: false,
    }
}

impl Desk {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn uri(&self, name: &str) -> DocumentUri {
        DocumentUri::from_path(&self.path(name)).expect("absolute")
    }

    /// Opens a file, and types until it has this text.
    fn open(&self, name: &str, text: &str) {
        let disk = fs::read_to_string(self.path(name)).unwrap_or_default();
        self.buffers.open(self.uri(name), "rust", 1, &disk);
        if disk != text {
            self.types(name, text);
        }
    }

    fn types(&self, name: &str, text: &str) {
        let uri = self.uri(name);
        let version = self.buffers.get(&uri).and_then(|open| open.version);
        let change = ContentChange {
            range: None,
            text: text.to_owned(),
        };
        self.buffers
            .change(&uri, version.expect("open") + 1, &[change], Encoding::Utf8)
            .expect("in step");
    }

    fn at(self, edit: usize, hook: impl FnOnce(&Desk) + Send + 'static) -> Self {
        self.hooks
            .lock()
            .expect("hooks")
            .insert(edit, Box::new(hook));
        self
    }

    fn edit(&self, name: &str, old: &str, new: &str) -> Step {
        let uri = self.uri(name);
        let now = self.buffers.get(&uri).map_or_else(
            || crate::disk::read(&uri).expect("a file"),
            |open| open.clone(),
        );
        Step::Edit(edit_of(now, old, new))
    }

    fn create(&self, name: &str) -> Step {
        Step::File(FileStep::Create {
            uri: self.uri(name),
            overwrite: false,
            ignore_if_exists: false,
        })
    }

    /// The text of a file that the change itself makes.
    fn fill(&self, name: &str, text: &str) -> Step {
        let empty = Buffers::new().open(self.uri(name), "rust", 1, "");
        Step::Edit(Edit::whole(empty, text))
    }

    fn rename(&self, from: &str, to: &str) -> Step {
        Step::File(FileStep::Rename {
            from: self.uri(from),
            to: self.uri(to),
            overwrite: false,
            ignore_if_exists: false,
        })
    }

    fn delete(&self, name: &str) -> Step {
        Step::File(FileStep::Delete {
            uri: self.uri(name),
            recursive: false,
            ignore_if_absent: false,
        })
    }

    /// Everything: files by name, then what the editor has open.
    fn all(&self) -> String {
        let mut shown = Vec::new();
        let mut waiting = vec![self.folder.path().to_owned()];
        while let Some(folder) = waiting.pop() {
            for entry in fs::read_dir(&folder).expect("a folder").flatten() {
                let path = entry.path();
                let name = path.strip_prefix(self.folder.path()).expect("inside");
                let name = name.display().to_string();
                if path.is_dir() {
                    shown.push(format!("{name}/"));
                    waiting.push(path);
                } else {
                    let text = fs::read_to_string(&path).expect("a text");
                    shown.push(format!("{name}={text}"));
                }
            }
        }
        shown.sort();
        for open in self.buffers.all() {
            let path = open.uri.path().expect("a path");
            let name = path.strip_prefix(self.folder.path()).expect("inside");
            shown.push(format!("[{}]={}", name.display(), open.text));
        }
        shown.join(" ")
    }

    async fn make(self: &Arc<Self>, steps: Vec<Step>) -> Result<Together, TogetherError> {
        let roots = vec![self.folder.path().to_owned()];
        let host = Arc::new(Door(self.clone()));
        Workspace::new(roots, self.buffers.clone(), host)
            .apply_all(steps, "test", &CancellationToken::new())
            .await
    }

    /// Not made, for this reason, and everything is as it was.
    async fn must_not(self, steps: impl FnOnce(&Desk) -> Vec<Step>, part: &str) {
        let steps = steps(&self);
        let before = self.all();
        let desk = Arc::new(self);
        let error = desk.make(steps).await.expect_err("refused").to_string();
        assert!(error.contains(part), "{error}");
        assert_eq!(desk.all(), before, "{error}");
    }
}

struct Door(Arc<Desk>);

#[async_trait]
impl Host for Door {
    async fn apply(&self, edit: &Edit, _label: &str) -> Answer {
        let Self(desk) = self;
        let number = desk.edits.fetch_add(1, Ordering::SeqCst) + 1;
        let hook = desk.hooks.lock().expect("hooks").remove(&number);
        if let Some(hook) = hook {
            hook(desk);
        }
        if desk.refuses == Some(number) {
            return refused("no");
        }
        let uri = &edit.snapshot().uri;
        let open = desk.buffers.get(uri).expect("open");
        if open.text != edit.snapshot().text {
            return refused("stale");
        }
        let change = ContentChange {
            range: None,
            text: edit.result().to_string(),
        };
        let version = open.version.expect("a version") + 1;
        desk.buffers
            .change(uri, version, &[change], Encoding::Utf8)
            .expect("in step");
        Ok(Reply::Applied)
    }

    fn can(&self, _operation: &FileOperation) -> bool {
        self.0.knows_files
    }

    async fn operate(&self, operation: &FileOperation, _label: &str) -> Result<Reply, HostError> {
        let Self(desk) = self;
        if desk.lies {
            return Ok(Reply::Applied);
        }
        match operation {
            FileOperation::Rename { from, to } => {
                fs::rename(from.path().expect("a path"), to.path().expect("a path"))
                    .expect("renamed");
                if let Some(open) = desk.buffers.get(from) {
                    desk.buffers.close(from);
                    desk.buffers
                        .open(to.clone(), "rust", 1, &open.text.to_string());
                }
            }
            FileOperation::Delete { uri } => {
                fs::remove_file(uri.path().expect("a path")).expect("deleted");
                desk.buffers.close(uri);
            }
        }
        Ok(Reply::Applied)
    }
}

type Spoils = fn(&Desk);

const FILES: [(&str, &str); 5] = [
    ("a", "one a"),
    ("b", "one b"),
    ("c", "one c"),
    ("d", "one d"),
    ("f/e", "one e"),
];

/// Two buffers, one of them unsaved, and the rest on disk.
fn usual() -> Desk {
    let desk = desk(&FILES);
    desk.open("a", "zero one a");
    desk.open("b", "one b");
    desk
}

/// A bit of everything.
fn everything(desk: &Desk) -> Vec<Step> {
    vec![
        desk.create("new/n"),
        desk.fill("new/n", "text"),
        desk.edit("c", "one", "1"),
        desk.edit("a", "one", "1"),
        desk.edit("b", "one", "1"),
        desk.rename("c", "moved/c"),
        desk.rename("f", "g"),
        desk.delete("d"),
    ]
}

#[tokio::test]
async fn buffers_files_and_names_change_together() {
    let desk = Arc::new(usual());
    let made = desk.make(everything(&desk)).await.expect("made");
    assert_eq!(
        desk.all(),
        "a=one a b=one b g/ g/e=one e moved/ moved/c=1 c new/ new/n=text [a]=zero 1 a [b]=1 b"
    );
    assert_eq!(
        (
            made.applied.len(),
            made.created.len(),
            made.renamed.len(),
            made.deleted.len()
        ),
        (4, 1, 2, 1)
    );
    // What there is to be said of them before: of a folder, nothing.
    let before: Vec<_> = made
        .before
        .iter()
        .map(|text| {
            let name = text.uri.path().expect("a path");
            let name = name.strip_prefix(desk.path("")).expect("of the desk");
            format!("{}={}", name.display(), text.text)
        })
        .collect();
    assert_eq!(before, ["c=1 c", "moved/c=", "d=one d"]);
    let names = made.on_disk();
    let names: Vec<_> = names
        .iter()
        .map(|uri| uri.as_str().rsplit('/').next().unwrap_or_default())
        .collect();
    assert_eq!(names, ["c", "d", "f", "g", "c", "n"]);
}

#[tokio::test]
async fn a_failure_in_the_middle_leaves_nothing() {
    let mut refusing = usual();
    refusing.refuses = Some(2);
    refusing.must_not(everything, "refused the edit of ").await;
    // Each of these is true when all is checked, and no more when it is to be made.
    let spoilers: [(Spoils, Spoils, &str); 4] = [
        (
            |desk| fs::write(desk.path("moved"), "in the way").expect("a file"),
            |desk| fs::remove_file(desk.path("moved")).expect("removed"),
            "Not a directory",
        ),
        (
            |desk| fs::write(desk.path("g"), "in the way").expect("a file"),
            |desk| fs::remove_file(desk.path("g")).expect("removed"),
            "g is there already",
        ),
        (
            |desk| fs::write(desk.path("c"), "other c").expect("a file"),
            |desk| fs::write(desk.path("c"), "one c").expect("a file"),
            "was changed in the same place meanwhile",
        ),
        (
            |desk| fs::remove_file(desk.path("d")).expect("removed"),
            |desk| fs::write(desk.path("d"), "one d").expect("a file"),
            "can't remove",
        ),
    ];
    for (spoil, mend, part) in spoilers {
        let desk = Arc::new(usual().at(2, spoil));
        let before = desk.all();
        let error = desk.make(everything(&desk)).await.expect_err("refused");
        assert!(error.to_string().contains(part), "{error}");
        assert!(
            error
                .to_string()
                .ends_with("; what had been changed was taken back"),
            "{error}"
        );
        mend(&desk);
        assert_eq!(desk.all(), before, "{error}");
    }
}

#[tokio::test]
async fn what_can_not_be_made_is_refused_before_anything_is() {
    let with = |desk: &Desk, step: Step| vec![desk.edit("a", "one", "1"), step];
    let step = |make: fn(&Desk) -> Step| move |desk: &Desk| with(desk, make(desk));
    usual()
        .must_not(
            step(|d| d.create("c")),
            "c is there already; nothing was changed",
        )
        .await;
    usual()
        .must_not(step(|d| d.create("c/x")), "a part of the path is a file")
        .await;
    usual()
        .must_not(step(|d| d.rename("x", "y")), "x does not exist")
        .await;
    usual()
        .must_not(step(|d| d.rename("c", "d")), "d is there already")
        .await;
    usual()
        .must_not(step(|d| d.rename("f", "f/g")), "can't be put into itself")
        .await;
    usual()
        .must_not(step(|d| d.rename("b", "x")), "can't be told to rename it")
        .await;
    usual()
        .must_not(step(|d| d.delete("b")), "can't be told to delete it")
        .await;
    usual()
        .must_not(step(|d| d.delete("a")), "has unsaved changes")
        .await;
    usual().must_not(step(|d| d.delete("f")), "not empty").await;
    usual()
        .must_not(step(|d| d.delete("x")), "x does not exist")
        .await;
    let hidden = usual();
    fs::write(hidden.path("f/.copydeskignore"), "e\n").expect("a file");
    hidden
        .must_not(step(|d| d.rename("f", "g")), "kept from the model")
        .await;
    let hidden = usual();
    fs::write(hidden.path(".copydeskignore"), "x\n").expect("a file");
    hidden
        .must_not(step(|d| d.rename("c", "x")), "hidden by a .copydeskignore")
        .await;
    let stale = usual();
    let old = stale.edit("c", "one", "1");
    fs::write(stale.path("c"), "two c").expect("a file");
    stale
        .must_not(|d| with(d, old), "was changed in the same place meanwhile")
        .await;
    let locked = usual();
    let mut permissions = fs::metadata(locked.path("c")).expect("there").permissions();
    permissions.set_readonly(true);
    fs::set_permissions(locked.path("c"), permissions).expect("set");
    locked
        .must_not(step(|d| d.edit("c", "one", "1")), "read-only")
        .await;
}

#[tokio::test]
async fn nothing_is_sent_to_the_editor_if_a_later_step_can_not_be_made() {
    let desk = Arc::new(usual());
    let steps = vec![desk.edit("a", "one", "1"), desk.create("c")];
    desk.make(steps).await.expect_err("refused");
    assert_eq!(desk.edits.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn what_can_not_be_taken_back_is_said() {
    let mut desk = usual().at(2, |desk| desk.types("a", "zero ONE a"));
    desk.refuses = Some(2);
    let desk = Arc::new(desk);
    let steps = vec![desk.edit("a", "one", "1"), desk.edit("b", "one", "1")];
    let error = desk.make(steps).await.expect_err("refused").to_string();
    assert!(
        error.contains("BUT NOT ALL: ") && error.contains("/a keeps its edit ("),
        "{error}"
    );
    let typed = desk.buffers.get(&desk.uri("a")).expect("open").text;
    assert_eq!(typed, "zero ONE a");
}

#[tokio::test]
async fn what_was_typed_elsewhere_meanwhile_stays() {
    let mut desk = usual().at(2, |desk| desk.types("a", "zero 1 a, typed"));
    desk.refuses = Some(2);
    let desk = Arc::new(desk);
    let steps = vec![desk.edit("a", "one", "1"), desk.edit("b", "one", "1")];
    let error = desk.make(steps).await.expect_err("refused");
    assert!(error.left.is_empty(), "{error}");
    let typed = desk.buffers.get(&desk.uri("a")).expect("open").text;
    assert_eq!(typed, "zero one a, typed");
}

#[tokio::test]
async fn an_editor_that_can_renames_and_deletes_what_it_has_open() {
    let mut desk = usual();
    desk.knows_files = true;
    let desk = Arc::new(desk);
    let steps = vec![
        desk.edit("a", "one", "1"),
        desk.rename("a", "x"),
        desk.delete("b"),
        desk.edit("c", "one", "1"),
    ];
    desk.make(steps).await.expect("made");
    assert_eq!(
        desk.all(),
        "c=1 c d=one d f/ f/e=one e x=one a [x]=zero 1 a"
    );
}

#[tokio::test]
async fn what_the_editor_did_is_taken_back_too() {
    let mut desk = usual();
    // The edit comes after the renaming.
    (desk.knows_files, desk.refuses) = (true, Some(1));
    desk.must_not(
        |desk| vec![desk.edit("a", "one", "1"), desk.rename("a", "x")],
        "what had been changed was taken back",
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_editor_that_only_says_so_is_not_believed() {
    let mut desk = usual();
    (desk.knows_files, desk.lies) = (true, true);
    desk.must_not(
        |desk| vec![desk.edit("c", "one", "1"), desk.rename("b", "x")],
        "the disk says that it did not",
    )
    .await;
}

#[tokio::test]
async fn later_steps_see_what_earlier_ones_made() {
    let desk = Arc::new(usual());
    let mut moved = desk.edit("c", "c", "see");
    if let Step::Edit(edit) = &mut moved {
        let mut snapshot = edit.snapshot().clone();
        snapshot.uri = desk.uri("x");
        *edit = Edit::new(snapshot, edit.replacements().to_vec()).expect("an edit");
    }
    let steps = vec![
        desk.edit("c", "one", "1"),
        desk.rename("c", "x"),
        moved,
        desk.create("c"),
        desk.fill("c", "new"),
        desk.rename("d", "y"),
        Step::File(FileStep::Rename {
            from: desk.uri("y"),
            to: desk.uri("f/e"),
            overwrite: true,
            ignore_if_exists: false,
        }),
        Step::File(FileStep::Create {
            uri: desk.uri("x"),
            overwrite: false,
            ignore_if_exists: true,
        }),
        Step::File(FileStep::Delete {
            uri: desk.uri("nowhere"),
            recursive: false,
            ignore_if_absent: true,
        }),
    ];
    desk.make(steps).await.expect("made");
    assert_eq!(
        desk.all(),
        "a=one a b=one b c=new f/ f/e=one d x=1 see [a]=zero one a [b]=one b"
    );
}

#[tokio::test]
async fn two_changes_of_the_same_files_wait_for_each_other() {
    let desk = Arc::new(usual());
    let change = |first: &str, second: &str, old: &str, new: &str| {
        vec![desk.edit(first, old, new), desk.edit(second, old, new)]
    };
    let (one, other) = (change("a", "b", "one", "1"), change("b", "a", " ", "_"));
    let host = Arc::new(Door(desk.clone()));
    let workspace = Workspace::new(Vec::new(), desk.buffers.clone(), host);
    let cancel = CancellationToken::new();
    let (one, other) = tokio::join!(
        workspace.apply_all(one, "test", &cancel),
        workspace.apply_all(other, "test", &cancel)
    );
    one.expect("made");
    other.expect("made");
    let text = |name: &str| desk.buffers.get(&desk.uri(name)).expect("open").text;
    assert_eq!(
        (text("a").to_string(), text("b").to_string()),
        ("zero_1 a".to_owned(), "1_b".to_owned())
    );
}

#[tokio::test]
async fn cancelled_in_the_middle_is_taken_back() {
    let cancel = CancellationToken::new();
    let token = cancel.clone();
    let desk = Arc::new(usual().at(1, move |_| token.cancel()));
    let before = desk.all();
    let host = Arc::new(Door(desk.clone()));
    let workspace = Workspace::new(Vec::new(), desk.buffers.clone(), host);
    let error = workspace
        .apply_all(everything(&desk), "test", &cancel)
        .await
        .expect_err("cancelled");
    assert_eq!(
        error.to_string(),
        "cancelled; what had been changed was taken back"
    );
    assert_eq!(desk.all(), before);
}
