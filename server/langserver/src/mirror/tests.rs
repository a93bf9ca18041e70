//! What a server is told of what happens to the buffers.

use serde_json::Value;
use tokio::io::{AsyncReadExt, DuplexStream, duplex};
use workspace::{
    Buffers, ContentChange as Change, Encoding, Listener, Origin, Position, Range, Text,
};

use super::{held::MOST_BORROWED, *};
use crate::transport::{Frame, FrameReader};

/// Passes what buffers tell on to a mirror.
struct Ears(Arc<Mirror>);

impl Listener for Ears {
    fn opened(&self, snapshot: &Snapshot) {
        self.0.opened(snapshot);
    }
    fn changed(&self, before: &Snapshot, after: &Snapshot, replacements: &[Replacement]) {
        self.0.changed(before, after, replacements);
    }
    fn saved(&self, snapshot: &Snapshot) {
        self.0.saved(snapshot);
    }
    fn closed(&self, snapshot: &Snapshot) {
        self.0.closed(&snapshot.uri);
    }
}

struct Stage {
    buffers: Arc<Buffers>,
    mirror: Arc<Mirror>,
    server: FrameReader<DuplexStream>,
    client: Arc<Client>,
}

const UTF16: Manner = Manner {
    kind: SyncKind::Incremental,
    encoding: Encoding::Utf16,
    save: Some(false),
};

fn stage(manner: Manner) -> Stage {
    let (near, far) = duplex(64 << 20);
    let client = Client::new("scripted", near);
    let mirror = Arc::new(Mirror::new(client.clone(), manner));
    let buffers = Buffers::new();
    buffers.listen(Arc::new(Ears(mirror.clone())));
    Stage {
        buffers,
        mirror,
        server: FrameReader::new(far),
        client,
    }
}

fn uri(name: &str) -> DocumentUri {
    DocumentUri::parse(&format!("file:///p/{name}")).expect("a uri")
}

impl Stage {
    /// Tells what was noted; answers what the server got, in short.
    async fn told(&mut self, borrow: Option<&Snapshot>) -> Vec<String> {
        self.mirror.told(borrow, |_| ());
        self.client.notify("end", None::<()>);
        let mut got = Vec::new();
        loop {
            let Some(Frame::Message(text)) = self.server.next().await.expect("readable") else {
                panic!("no frame")
            };
            let message: Value = serde_json::from_str(&text).expect("JSON");
            let (method, params) = (
                message["method"].as_str().expect("a method"),
                &message["params"],
            );
            let name = params["textDocument"]["uri"]
                .as_str()
                .unwrap_or_default()
                .trim_start_matches("file:///p/");
            let version = &params["textDocument"]["version"];
            match method {
                "end" => return got,
                "textDocument/didOpen" => {
                    let (language, text) = (
                        &params["textDocument"]["languageId"],
                        &params["textDocument"]["text"],
                    );
                    got.push(format!("open {name} {version} {language} {text}"));
                }
                "textDocument/didChange" => {
                    let changes: Vec<String> = params["contentChanges"]
                        .as_array()
                        .expect("changes")
                        .iter()
                        .map(shortly)
                        .collect();
                    got.push(format!("change {name} {version} {}", changes.join(" ")));
                }
                other => {
                    let text = params
                        .get("text")
                        .map(|text| format!(" {text}"))
                        .unwrap_or_default();
                    got.push(format!(
                        "{} {name}{text}",
                        other.trim_start_matches("textDocument/did").to_lowercase()
                    ));
                }
            }
        }
    }

    fn change(&self, name: &str, version: i32, start: (u32, u32), end: (u32, u32), text: &str) {
        let range = Some(Range::new(
            Position::new(start.0, start.1),
            Position::new(end.0, end.1),
        ));
        self.buffers
            .change(
                &uri(name),
                version,
                &[Change {
                    range,
                    text: text.into(),
                }],
                Encoding::Utf8,
            )
            .expect("changed");
    }
}

fn shortly(change: &Value) -> String {
    let place = |place: &Value| format!("{}:{}", place["line"], place["character"]);
    match change.get("range") {
        Some(range) => format!(
            "{}-{}={}",
            place(&range["start"]),
            place(&range["end"]),
            change["text"]
        ),
        None => format!("all={}", change["text"]),
    }
}

#[tokio::test]
async fn a_document_s_life_under_the_server_s_own_versions() {
    let mut stage = stage(UTF16);
    stage.buffers.open(uri("a.rs"), "rust", 40, "é🦀x\nb\n");
    assert_eq!(
        stage.told(None).await,
        ["open a.rs 1 \"rust\" \"é🦀x\\nb\\n\""]
    );
    assert!(stage.told(None).await.is_empty(), "nothing happened");
    // The crab is four bytes for the editor and two units for this server.
    stage.change("a.rs", 41, (0, 6), (0, 7), "y");
    stage.change("a.rs", 90, (1, 0), (1, 1), "");
    stage.buffers.save(&uri("a.rs"), None);
    stage.change("a.rs", 91, (0, 0), (0, 0), "z");
    assert_eq!(
        stage.told(None).await,
        [
            "change a.rs 2 0:3-0:4=\"y\" 1:0-1:1=\"\"",
            "save a.rs",
            "change a.rs 3 0:0-0:0=\"z\""
        ]
    );
    stage.buffers.close(&uri("a.rs"));
    stage.buffers.open(uri("a.rs"), "rust", 1, "é🦀y\n\n!");
    assert_eq!(
        stage.told(None).await,
        ["change a.rs 4 0:0-2:0=\"é🦀y\\n\\n!\""]
    );
    stage.buffers.close(&uri("a.rs"));
    assert_eq!(stage.told(None).await, ["close a.rs"]);
    stage.buffers.open(uri("a.rs"), "rust", 1, "");
    stage.buffers.close(&uri("a.rs"));
    assert!(
        stage.told(None).await.is_empty(),
        "opened and closed before the server could be told"
    );
}

#[tokio::test]
async fn each_server_s_manner() {
    for (manner, expected) in [
        (UTF16, vec!["change a.rs 2 0:1-0:1=\"b\"", "save a.rs"]),
        (
            Manner {
                kind: SyncKind::Full,
                save: Some(true),
                ..UTF16
            },
            vec!["change a.rs 2 all=\"abc\"", "save a.rs \"abc\""],
        ),
        (
            Manner {
                kind: SyncKind::None,
                save: None,
                ..UTF16
            },
            vec![],
        ),
    ] {
        let mut stage = stage(manner);
        stage.buffers.open(uri("a.rs"), "rust", 1, "ac");
        stage.told(None).await;
        stage.change("a.rs", 2, (0, 1), (0, 1), "b");
        stage.buffers.save(&uri("a.rs"), None);
        assert_eq!(stage.told(None).await, expected, "{manner:?}");
    }
}

#[tokio::test]
async fn a_slow_server_gets_one_change_and_the_same_text() {
    let mut stage = stage(UTF16);
    let text = "line\n".repeat(1000);
    stage.buffers.open(uri("a.rs"), "rust", 1, &text);
    stage.told(None).await;
    for version in 2..5000 {
        stage.change("a.rs", version, (500, 0), (500, 0), "x");
    }
    let told = stage.told(None).await;
    assert_eq!(
        told,
        [format!(
            "change a.rs 2 500:0-500:0=\"{}\"",
            "x".repeat(4998)
        )]
    );
}

#[tokio::test]
async fn documents_that_no_editor_holds_are_borrowed() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("b.rs");
    let read = |text: &str| {
        std::fs::write(&path, text).expect("written");
        let modified = std::fs::metadata(&path)
            .and_then(|data| data.modified())
            .expect("a time");
        Snapshot {
            uri: DocumentUri::from_path(&path).expect("a uri"),
            text: Text::new(text),
            revision: Revision::DISK,
            version: None,
            language: None,
            origin: Origin::Disk(workspace::DiskForm {
                bom: false,
                modified: Some(modified),
                ..workspace::DiskForm::default()
            }),
        }
    };
    let mut stage = stage(UTF16);
    let first = read("fn b() {}");
    let name = first.uri.as_str().to_owned();
    assert_eq!(
        stage.told(Some(&first)).await,
        [format!("open {name} 1 \"rust\" \"fn b() {{}}\"")]
    );
    assert!(stage.told(Some(&first)).await.is_empty(), "it has it");
    // It changed on disk: the server is to let go of the old text even if another document is asked about.
    std::fs::remove_file(&path).expect("removed");
    let other = Snapshot {
        uri: uri("other.rs"),
        origin: Origin::Disk(workspace::DiskForm::default()),
        ..first.clone()
    };
    assert_eq!(
        stage.told(Some(&other)).await,
        [
            format!("close {name}"),
            "open other.rs 1 \"rust\" \"fn b() {}\"".to_owned()
        ]
    );
    // It changed on disk and is asked about: no server is to say of a closed document that nothing is wrong in it.
    stage.told(Some(&read("fn b() {}"))).await;
    let second = read("fn bb() {}");
    assert_eq!(
        stage.told(Some(&second)).await,
        [
            format!("change {name} 2 0:4-0:4=\"b\""),
            format!("save {name}")
        ]
    );
    // The editor opens it: from now on it is the editor's.
    stage
        .buffers
        .open(second.uri.clone(), "rust", 1, "fn bbb() {}");
    assert_eq!(
        stage.told(None).await,
        [format!("change {name} 3 0:5-0:5=\"b\"")]
    );
    assert_eq!(
        stage.mirror.wire().buffers(),
        std::slice::from_ref(&second.uri)
    );
    // Many are borrowed, few are kept.
    for number in 0..40 {
        let origin = Origin::Disk(workspace::DiskForm::default());
        let snapshot = Snapshot {
            uri: uri(&format!("{number}.rs")),
            origin,
            ..first.clone()
        };
        stage.told(Some(&snapshot)).await;
    }
    assert_eq!(stage.mirror.wire().all().len(), MOST_BORROWED + 1);
}

/// A server goes by the last text that it was told until it has read the file again.
#[tokio::test]
async fn what_is_closed_unsaved_is_told_as_it_is_on_disk() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("b.rs");
    std::fs::write(&path, "fn b() {}").expect("written");
    let name = DocumentUri::from_path(&path).expect("a uri");
    let mut stage = stage(UTF16);
    stage.buffers.open(name.clone(), "rust", 1, "fn bb() {}");
    stage.told(None).await;
    stage.buffers.close(&name);
    let name = name.as_str();
    assert_eq!(
        stage.told(None).await,
        [
            format!("change {name} 2 0:4-0:5=\"\""),
            format!("close {name}")
        ]
    );
}

#[tokio::test]
async fn whoever_comes_late_gets_the_newest_text_once() {
    let mut stage = stage(UTF16);
    let early = stage.buffers.open(uri("a.rs"), "rust", 1, "one");
    stage.change("a.rs", 2, (0, 0), (0, 3), "two");
    // What was open before the server came is told to it after it began to listen.
    stage.mirror.opened(&early);
    assert_eq!(stage.told(None).await, ["open a.rs 1 \"rust\" \"two\""]);
    stage.change("a.rs", 3, (0, 3), (0, 3), "!");
    stage
        .mirror
        .opened(&stage.buffers.get(&uri("a.rs")).expect("open"));
    assert_eq!(stage.told(None).await, ["change a.rs 2 0:3-0:3=\"!\""]);
    let held = stage.mirror.wire();
    let held = held.held(&uri("a.rs")).expect("held");
    let known = |version| held.at(version).map(|snapshot| snapshot.text.to_string());
    assert_eq!(
        (known(1), known(2), known(3)),
        (Some("two".into()), Some("two!".into()), None)
    );
}

#[tokio::test]
async fn a_server_that_reads_nothing_holds_nobody_up() {
    let (near, mut far) = duplex(16);
    let client = Client::new("stuck", near);
    let mirror = Arc::new(Mirror::new(client.clone(), UTF16));
    let buffers = Buffers::new();
    buffers.listen(Arc::new(Ears(mirror.clone())));
    buffers.open(uri("a.rs"), "rust", 1, "");
    mirror.told(None, |_| ());
    for version in 2..20_000 {
        let change = Change {
            range: Some(Range::default()),
            text: "x".into(),
        };
        buffers
            .change(&uri("a.rs"), version, &[change], Encoding::Utf8)
            .expect("changed");
    }
    assert!(
        mirror.told(None, |wire| wire
            .held(&uri("a.rs"))
            .map(|held| held.version))
            == Some(2)
    );
    let mut all = Vec::new();
    drop((mirror, buffers, client));
    far.read_to_end(&mut all).await.expect("readable");
    assert_eq!(
        String::from_utf8_lossy(&all).matches("didChange").count(),
        1
    );
}
