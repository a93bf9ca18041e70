use std::sync::mpsc;

use proptest::prelude::*;

use super::*;
use crate::Position;

fn uri(name: &str) -> DocumentUri {
    DocumentUri::parse(name).expect("a URI")
}

fn range(start: (u32, u32), end: (u32, u32)) -> Range {
    Range::new(Position::new(start.0, start.1), Position::new(end.0, end.1))
}

fn part(start: (u32, u32), end: (u32, u32), text: &str) -> ContentChange {
    ContentChange {
        range: Some(range(start, end)),
        text: text.to_owned(),
    }
}

fn whole(text: &str) -> ContentChange {
    ContentChange {
        range: None,
        text: text.to_owned(),
    }
}

/// One buffer, `a.rs`, opened as version 1 with this text.
fn opened(text: &str) -> (Arc<Buffers>, DocumentUri) {
    let (buffers, uri) = (Buffers::new(), uri("file:///a.rs"));
    buffers.open(uri.clone(), "rust", 1, text);
    (buffers, uri)
}

fn text(buffers: &Buffers, uri: &DocumentUri) -> String {
    buffers.get(uri).expect("open").text.to_string()
}

/// Notes every call, and checks that what it is told fits together.
#[derive(Default)]
struct Notes(Mutex<Vec<String>>);

impl Notes {
    fn note(&self, what: String) {
        self.0.lock().expect("notes").push(what);
    }

    fn taken(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().expect("notes"))
    }
}

impl Listener for Notes {
    fn opened(&self, snapshot: &Snapshot) {
        self.note(format!("opened {}", snapshot.text));
    }

    fn changed(&self, before: &Snapshot, after: &Snapshot, replacements: &[Replacement]) {
        let mut text = before.text.clone();
        for replacement in replacements {
            text.replace(replacement.range, &replacement.text);
        }
        assert_eq!(
            text, after.text,
            "the replacements make the new text of the old"
        );
        assert!(before.revision < after.revision);
        self.note(format!("changed {}", after.text));
    }

    fn saved(&self, snapshot: &Snapshot) {
        self.note(format!("saved {}", snapshot.text));
    }

    fn closed(&self, snapshot: &Snapshot) {
        self.note(format!("closed {}", snapshot.text));
    }
}

#[test]
fn changes_are_made_one_after_the_other() {
    let (buffers, uri) = opened("one\ntwo\n");
    let changes = [
        part((0, 0), (0, 3), "1\n1"),
        part((1, 1), (2, 0), ""),
        part((1, 1), (9, 9), "!"),
    ];
    let after = buffers
        .change(&uri, 2, &changes, Encoding::Utf16)
        .expect("in step");
    assert_eq!(after.text, "1\n1!");
    assert_eq!(
        (after.version, after.language.as_deref()),
        (Some(2), Some("rust"))
    );
    assert_eq!(after.origin, Origin::Buffer { dirty: true });
}

#[test]
fn a_whole_text_may_stand_among_parts() {
    let (buffers, uri) = opened("x");
    let changes = [
        part((0, 0), (0, 1), "lost"),
        whole("a\r\nb"),
        part((0, 1), (0, 99), "!"),
    ];
    assert_eq!(
        buffers
            .change(&uri, 2, &changes, Encoding::Utf8)
            .expect("in step")
            .text,
        "a!\r\nb"
    );
}

#[test]
fn another_spelling_is_the_same_document() {
    let buffers = Buffers::new();
    buffers.open(uri("file:///%40.rs"), "rust", 1, "a");
    let other = uri("file:///@.rs");
    buffers
        .change(&other, 2, &[whole("b")], Encoding::Utf8)
        .expect("open");
    let snapshot = buffers.get(&other).expect("open");
    assert_eq!(
        (snapshot.uri.as_str(), snapshot.text.to_string().as_str()),
        ("file:///%40.rs", "b")
    );
    buffers.close(&other);
    assert!(buffers.all().is_empty());
}

#[test]
fn a_refused_change_leaves_the_text_and_stops_the_next_parts() {
    let cases: [(&str, i32, Vec<ContentChange>); 3] = [
        ("version went back", 4, vec![part((0, 0), (0, 0), "x")]),
        ("version went back, whole text", 4, vec![whole("x")]),
        (
            "reversed",
            6,
            vec![part((0, 0), (0, 0), "x"), part((0, 2), (0, 1), "y")],
        ),
    ];
    for (name, version, changes) in cases {
        let (buffers, uri) = opened("abc");
        buffers
            .change(&uri, 5, &[part((0, 0), (0, 0), "_")], Encoding::Utf16)
            .expect("in step");
        let error = buffers
            .change(&uri, version, &changes, Encoding::Utf16)
            .expect_err(name);
        assert!(
            matches!(
                error,
                ChangeError::VersionWentBack {
                    have: 5,
                    got: 4,
                    ..
                } | ChangeError::ReversedRange { .. }
            ),
            "{name}: {error}"
        );
        assert_eq!(text(&buffers, &uri), "_abc", "{name}");
        assert_eq!(buffers.out_of_step(&uri), Some(error.to_string()), "{name}");
        // A later part can't be trusted, however right it looks; the first reason is what is told.
        let next = buffers
            .change(&uri, 7, &[part((0, 0), (0, 0), "z")], Encoding::Utf16)
            .expect_err(name);
        assert_eq!(
            next,
            ChangeError::OutOfStep {
                uri: uri.clone(),
                reason: error.to_string()
            }
        );
        assert_eq!(text(&buffers, &uri), "_abc", "{name}");
        // The whole text puts it right, even by an older version.
        buffers
            .change(&uri, 3, &[whole("new")], Encoding::Utf16)
            .expect(name);
        assert_eq!(
            (text(&buffers, &uri).as_str(), buffers.out_of_step(&uri)),
            ("new", None),
            "{name}"
        );
        buffers
            .change(&uri, 4, &[part((0, 0), (0, 0), "re")], Encoding::Utf16)
            .expect(name);
        assert_eq!(text(&buffers, &uri), "renew", "{name}");
    }
}

#[test]
fn opening_again_puts_it_right_too() {
    let (buffers, uri) = opened("abc");
    buffers
        .change(&uri, 0, &[whole("x")], Encoding::Utf8)
        .expect_err("went back");
    let revision = buffers.get(&uri).expect("open").revision;
    buffers.open(uri.clone(), "rust", 1, "again");
    let snapshot = buffers.get(&uri).expect("open");
    assert_eq!(
        (
            snapshot.text.to_string().as_str(),
            buffers.out_of_step(&uri)
        ),
        ("again", None)
    );
    assert!(snapshot.revision > revision);
}

#[test]
fn what_is_not_open_is_not_changed() {
    let buffers = Buffers::new();
    let error = buffers
        .change(&uri("file:///a"), 1, &[whole("x")], Encoding::Utf8)
        .expect_err("not open");
    assert_eq!(
        error,
        ChangeError::NotOpen {
            uri: uri("file:///a")
        }
    );
    buffers.save(&uri("file:///a"), Some("x"));
    buffers.close(&uri("file:///a"));
    assert!(buffers.get(&uri("file:///a")).is_none());
}

#[test]
fn dirty_from_a_change_to_a_save() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a");
    std::fs::write(&path, "a").expect("the file is written");
    let uri = DocumentUri::from_path(&path).expect("a path");
    let buffers = Buffers::new();
    let dirty = || buffers.get(&uri).expect("open").is_unsaved();
    buffers.open(uri.clone(), "plaintext", 1, "brought back, never saved");
    assert!(dirty());
    buffers.close(&uri);
    buffers.open(uri.clone(), "plaintext", 1, "a");
    assert!(!dirty());
    buffers
        .change(&uri, 2, &[whole("b")], Encoding::Utf8)
        .expect("in step");
    assert!(dirty());
    buffers.save(&uri, None);
    assert!(!dirty());
    let untitled = self::uri("untitled:1");
    assert!(
        buffers.open(untitled, "rust", 1, "").is_unsaved(),
        "a document without a file was never saved"
    );
}

#[test]
fn a_save_with_another_text_replaces_ours() {
    let (buffers, uri) = opened("a");
    let notes = Arc::new(Notes::default());
    buffers.listen(notes.clone());
    buffers.save(&uri, Some("a"));
    buffers
        .change(&uri, 0, &[whole("x")], Encoding::Utf8)
        .expect_err("went back");
    buffers.save(&uri, Some("b"));
    assert_eq!(notes.taken(), ["saved a", "changed b", "saved b"]);
    assert_eq!(
        (
            buffers.out_of_step(&uri),
            buffers.get(&uri).expect("open").is_unsaved()
        ),
        (None, false)
    );
}

#[test]
fn listeners_hear_everything_in_order_and_nothing_that_was_refused() {
    let buffers = Buffers::new();
    let notes = Arc::new(Notes::default());
    buffers.listen(notes.clone());
    let uri = uri("file:///a");
    buffers.open(uri.clone(), "rust", 1, "a");
    buffers
        .change(
            &uri,
            2,
            &[whole("b"), part((0, 0), (0, 0), "é😀")],
            Encoding::Utf16,
        )
        .expect("in step");
    buffers
        .change(&uri, 3, &[part((0, 3), (0, 4), "c")], Encoding::Utf16)
        .expect("in step");
    buffers
        .change(&uri, 2, &[whole("x")], Encoding::Utf16)
        .expect_err("went back");
    buffers.save(&uri, None);
    buffers.close(&uri);
    buffers.close(&uri);
    assert_eq!(
        notes.taken(),
        [
            "opened a",
            "changed é😀b",
            "changed é😀c",
            "saved é😀c",
            "closed é😀c"
        ]
    );
}

#[test]
fn revisions_rise_over_all_documents_and_are_watched() {
    let (buffers, a) = opened("a");
    let b = uri("file:///b.rs");
    let first = buffers.get(&a).expect("open").revision;
    let mut watch = buffers.watch(&a).expect("open");
    assert_eq!(*watch.borrow_and_update(), first);
    let second = buffers.open(b.clone(), "rust", 1, "b").revision;
    assert!(
        !watch.has_changed().expect("open"),
        "another document's change is no change of this one"
    );
    let third = buffers
        .change(&a, 2, &[whole("x")], Encoding::Utf8)
        .expect("in step")
        .revision;
    assert!(Revision::DISK < first && first < second && second < third);
    assert_eq!(*watch.borrow_and_update(), third);
    buffers.close(&a);
    assert!(
        watch.has_changed().is_err(),
        "the watch ends with the document"
    );
    assert!(buffers.watch(&a).is_none());
}

#[test]
fn followers_get_every_text() {
    let (buffers, uri) = opened("0");
    let (first, mut texts) = buffers.follow(&uri).expect("open");
    for version in 2..5 {
        buffers
            .change(
                &uri,
                version,
                &[whole(&version.to_string())],
                Encoding::Utf8,
            )
            .expect("in step");
    }
    buffers.close(&uri);
    let mut seen = vec![first.text.to_string()];
    while let Some(snapshot) = texts.blocking_recv() {
        seen.push(snapshot.text.to_string());
    }
    assert_eq!(seen, ["0", "2", "3", "4"]);
}

/// Opens, changes and closes from many threads: whoever listens sees each document's life in order.
#[test]
fn order_holds_over_threads() {
    struct Alive(Mutex<HashMap<DocumentUri, Text>>, mpsc::Sender<String>);
    impl Alive {
        fn check(&self, holds: bool, what: &str) {
            if !holds {
                self.1.send(what.to_owned()).expect("the test waits");
            }
        }
    }
    impl Listener for Alive {
        fn opened(&self, snapshot: &Snapshot) {
            self.0
                .lock()
                .expect("alive")
                .insert(snapshot.uri.clone(), snapshot.text.clone());
        }
        fn changed(&self, before: &Snapshot, after: &Snapshot, _: &[Replacement]) {
            let was = self
                .0
                .lock()
                .expect("alive")
                .insert(after.uri.clone(), after.text.clone());
            self.check(
                was.as_ref() == Some(&before.text),
                "a change of another text than the last",
            );
        }
        fn saved(&self, _: &Snapshot) {}
        fn closed(&self, snapshot: &Snapshot) {
            let was = self.0.lock().expect("alive").remove(&snapshot.uri);
            self.check(
                was.as_ref() == Some(&snapshot.text),
                "closed with another text than the last",
            );
        }
    }
    let buffers = Buffers::new();
    let (faults, found) = mpsc::channel();
    buffers.listen(Arc::new(Alive(Mutex::default(), faults)));
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let buffers = &buffers;
            scope.spawn(move || {
                for round in 0..500 {
                    let uri = uri(&format!("file:///{}", round % 3));
                    match (thread + round) % 4 {
                        0 => drop(buffers.open(uri, "rust", 0, &format!("{thread} {round}"))),
                        1 => buffers.close(&uri),
                        _ => drop(buffers.change(
                            &uri,
                            i32::MAX,
                            &[part((0, 0), (0, 0), "x")],
                            Encoding::Utf8,
                        )),
                    }
                }
            });
        }
    });
    drop(buffers);
    assert_eq!(found.iter().next(), None);
}

#[test]
fn a_listener_that_panics_does_no_harm() {
    struct Bad;
    impl Listener for Bad {
        fn opened(&self, _: &Snapshot) {}
        fn changed(&self, _: &Snapshot, _: &Snapshot, _: &[Replacement]) {
            panic!("a bad listener (this is part of the test)");
        }
        fn saved(&self, _: &Snapshot) {}
        fn closed(&self, _: &Snapshot) {}
    }
    let (buffers, uri) = opened("a");
    buffers.listen(Arc::new(Bad));
    let change = || {
        buffers
            .change(&uri, 2, &[whole("b")], Encoding::Utf8)
            .map(drop)
    };
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(change)).is_err());
    assert_eq!(text(&buffers, &uri), "b");
    buffers.save(&uri, None);
    assert!(!buffers.get(&uri).expect("open").is_unsaved());
}

proptest! {
    /// Any changes, reversed and far outside too: either all of them are made or none, and a listener can follow.
    #[test]
    fn all_or_none(changes in prop::collection::vec(
        (prop::option::weighted(0.9, ((0..4_u32, 0..6_u32), (0..4_u32, 0..6_u32))), "[a-c\r\n😀]{0,4}"), 1..6,
    )) {
        let (buffers, uri) = opened("ab\r\ncd\n😀e\rf");
        let notes = Arc::new(Notes::default());
        buffers.listen(notes.clone());
        let changes: Vec<_> = changes
            .into_iter()
            .map(|(place, text)| ContentChange { range: place.map(|(start, end)| range(start, end)), text })
            .collect();
        let reversed = changes.iter().any(|change| change.range.is_some_and(|range| range.end < range.start));
        let result = buffers.change(&uri, 2, &changes, Encoding::Utf16);
        prop_assert_eq!(result.is_err(), reversed);
        prop_assert_eq!(notes.taken().len(), usize::from(!reversed));
        if reversed {
            prop_assert_eq!(text(&buffers, &uri), "ab\r\ncd\n😀e\rf");
        }
    }
}
