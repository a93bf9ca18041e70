use super::*;

struct Wood {
    folder: tempfile::TempDir,
    tree: Tree,
}

impl Wood {
    fn of(files: &[&str], most: usize) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut tree = Tree::new(notify::recommended_watcher(|_| ()).ok());
        tree.most = most;
        let mut wood = Self { folder, tree };
        for name in files {
            wood.write(name, "1");
        }
        let top = BTreeSet::from([wood.folder.path().to_owned()]);
        let interest = Interest {
            wanted: &|_, path| path.extension().is_some_and(|one| one == "rs"),
            news: &|_, _| None,
        };
        assert_eq!(
            wood.tree.plan(&top, &BTreeSet::new(), &interest),
            Changes::new()
        );
        wood
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        fs::write(path, text).expect("written");
    }

    fn check(&mut self, seen: &[(&str, bool)], expected: &[(&str, Change)]) {
        let seen: Vec<_> = seen
            .iter()
            .map(|(name, gone)| (self.path(name), *gone))
            .collect();
        let interest = Interest {
            wanted: &|_, path| path.extension().is_some_and(|one| one == "rs"),
            news: &|_, _| Some(Change::Created),
        };
        let seen = seen.iter().map(|(path, gone)| (path, *gone));
        let changes = self.tree.compare(seen, &interest);
        let expected: Changes = expected
            .iter()
            .map(|(name, change)| (self.path(name), *change))
            .collect();
        assert_eq!(changes, expected);
    }
}

#[test]
fn what_happened_in_one_batch_is_one_change_or_none() {
    let mut wood = Wood::of(&["a.rs", "b.rs", "x/c.rs", "x/d.rs"], 99);
    wood.write("new.rs", "");
    fs::remove_file(wood.path("new.rs")).expect("removed");
    fs::remove_file(wood.path("a.rs")).expect("removed");
    wood.write("a.rs", "other");
    // Made and deleted, deleted and made, nothing at all, of no interest.
    wood.write("a.txt", "");
    wood.check(
        &[
            ("new.rs", true),
            ("a.rs", true),
            ("b.rs", false),
            ("a.txt", false),
        ],
        &[("a.rs", Change::Changed)],
    );
    // A folder that is another one under the same name.
    fs::rename(wood.path("x"), wood.path("y")).expect("renamed");
    wood.write("x/c.rs", "other");
    wood.write("x/e.rs", "");
    fs::remove_dir_all(wood.path("y")).expect("removed");
    wood.check(
        &[("x", true), ("y", true)],
        &[
            ("x/c.rs", Change::Changed),
            ("x/d.rs", Change::Deleted),
            ("x/e.rs", Change::Created),
        ],
    );
    // And one that is gone.
    fs::remove_dir_all(wood.path("x")).expect("removed");
    wood.check(
        &[("x", true), ("x/c.rs", true)],
        &[
            ("x", Change::Deleted),
            ("x/c.rs", Change::Deleted),
            ("x/e.rs", Change::Deleted),
        ],
    );
}

/// As after events were lost.
#[test]
fn what_was_missed_is_found_by_looking_at_everything() {
    let mut wood = Wood::of(&["a.rs", "b.rs", "c.rs", "x/d.rs"], 99);
    wood.write("a.rs", "other");
    fs::remove_file(wood.path("b.rs")).expect("removed");
    wood.write("x/e.rs", "");
    wood.write("new/f.rs", "");
    let top = BTreeSet::from([wood.folder.path().to_owned()]);
    let interest = Interest {
        wanted: &|_, path| path.extension().is_some_and(|one| one == "rs"),
        news: &|_, _| Some(Change::Created),
    };
    let changes = wood.tree.plan(&top, &BTreeSet::new(), &interest);
    let expected = [
        ("a.rs", Change::Changed),
        ("b.rs", Change::Deleted),
        ("x/e.rs", Change::Created),
        ("new/f.rs", Change::Created),
    ];
    let expected = expected.map(|(name, change)| (wood.path(name), change));
    assert_eq!(changes, Changes::from(expected));
}

#[test]
fn there_is_an_end_to_what_is_watched() {
    let mut wood = Wood::of(&["a/a.rs", "b/b.rs", "c/c.rs", "d/d.rs"], 3);
    assert_eq!(wood.tree.folders.len(), 3);
    assert!(wood.tree.complained);
    wood.write("e/e.rs", "");
    wood.check(&[("e", false)], &[("e", Change::Created)]);
    assert_eq!(wood.tree.folders.len(), 3);
}

/// What lies in it was walked through already, and nobody watched yet.
#[test]
fn a_folder_that_is_made_in_the_middle_of_a_walk_is_watched() {
    let wood = Wood::of(&["a.rs", "x/b.rs"], 99);
    let mut tree = Tree::new(notify::recommended_watcher(|_| ()).ok());
    let top = BTreeSet::from([wood.path("")]);
    let interest = Interest {
        wanted: &|_, path| {
            if path.ends_with("a.rs") {
                wood.write("x/late/c.rs", "1");
            }
            path.extension().is_some_and(|one| one == "rs")
        },
        news: &|path, _| path.ends_with("c.rs").then_some(Change::Created),
    };
    let changes = tree.plan(&top, &BTreeSet::new(), &interest);
    let late = (wood.path("x/late/c.rs"), Change::Created);
    assert_eq!(changes, Changes::from([late]));
    assert!(tree.folders.contains_key(&wood.path("x/late")));
}

/// It is looked out for from above, however much of what is above goes with it.
#[test]
fn a_folder_that_was_asked_for_and_comes_again_is_new() {
    let mut wood = Wood::of(&[], 99);
    for above in ["", "one", "one/two"] {
        wood.write("one/two/top/a.rs", "1");
        wood.write("one/two/top/x/b.rs", "1");
        let top = wood.path("one/two/top");
        let tops = BTreeSet::from([top.clone()]);
        let interest = Interest {
            wanted: &|_, path| path.extension().is_some_and(|one| one == "rs"),
            news: &|_, _| None,
        };
        wood.tree.plan(&tops, &BTreeSet::new(), &interest);
        let above_it = BTreeSet::from([wood.path("one/two")]);
        assert!(!ONE_BY_ONE || wood.tree.above == above_it);

        let gone = wood.path(if above.is_empty() {
            "one/two/top"
        } else {
            above
        });
        fs::remove_dir_all(&gone).expect("removed");
        assert!(wood.tree.concerns(&top) && wood.tree.concerns(&gone));
        let seen = [(&top, true)];
        let changes = wood.tree.compare(seen.into_iter(), &interest);
        assert_eq!(
            changes.get(&wood.path("one/two/top/x/b.rs")),
            Some(&Change::Deleted)
        );
        let is_outdated = wood.tree.is_outdated([&gone].into_iter());
        assert!(!ONE_BY_ONE || is_outdated != above.is_empty());
        wood.tree.plan(&tops, &BTreeSet::new(), &interest);
        let nearest = gone.parent().expect("a parent").to_owned();
        assert_eq!(wood.tree.above, BTreeSet::from([nearest]), "{above}");

        wood.write("one/two/top/x/c.rs", "1");
        assert!(wood.tree.is_outdated([&gone].into_iter()));
        let changes = wood.tree.plan(&tops, &BTreeSet::new(), &interest);
        let back = ["", "/x", "/x/c.rs"].map(|name| {
            let path = wood.path(&format!("one/two/top{name}"));
            (path, Change::Created)
        });
        assert_eq!(changes, Changes::from(back), "{above}");
        let above_it = BTreeSet::from([wood.path("one/two")]);
        assert!(!ONE_BY_ONE || wood.tree.above == above_it);
    }
}
