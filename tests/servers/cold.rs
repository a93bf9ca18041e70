//! First answers, asked for the moment that a server is started: right, or said to be incomplete. However short our patience.

use std::{path::Path, time::Duration};

use langserver::Limits;
use serde_json::json;
use tests::fixtures::Project;
use workspace::{ByteOffset, DocumentUri};

use crate::{
    desk::{Desk, patient},
    samples::{CPP, GO, PYTHON, RUST, Sample, TYPESCRIPT},
    servers::{self, Real},
};

/// A first definition and first references, by a patient and by an impatient caller.
async fn never_wrong(real: Real, sample: &Sample) {
    if real.is_missing() {
        return;
    }
    let impatient = Limits {
        ready: Duration::from_millis(200),
        ..patient()
    };
    for limits in [impatient, patient()] {
        let project = Desk::project(sample.files);
        let desk = Desk::within(real, project, limits);
        let (definition, references) = tokio::join!(
            desk.at("goToDefinition", sample.call, json!({})),
            desk.at("findReferences", sample.callee, json!({})),
        );
        let right = definition.names(desk.place(sample.callee))
            && sample
                .import
                .is_none_or(|import| !definition.names(desk.place(import)));
        assert!(right || definition.is_incomplete(), "{}", definition.text);
        let right = references.names(desk.place(sample.call));
        assert!(right || references.is_incomplete(), "{}", references.text);
        if limits.ready > impatient.ready {
            let whole = !definition.is_incomplete() && !references.is_incomplete();
            assert!(
                whole,
                "with time enough: {}\n{}",
                definition.text, references.text
            );
        }
        desk.end().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rust_analyzer() {
    never_wrong(servers::RUST_ANALYZER, &RUST).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pyright() {
    never_wrong(servers::PYRIGHT, &PYTHON).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ty() {
    never_wrong(servers::TY, &PYTHON).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn typescript_language_server() {
    never_wrong(servers::TSLS, &TYPESCRIPT).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn vtsls() {
    never_wrong(servers::VTSLS, &TYPESCRIPT).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn typescript_7() {
    never_wrong(servers::TSC, &TYPESCRIPT).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clangd() {
    never_wrong(servers::CLANGD, &CPP).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gopls() {
    never_wrong(servers::GOPLS, &GO).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn django_by_ty() {
    all_references_in_django(servers::TY).await;
}

/// A function of Django that is used all over it: where it is defined, and how often its name stands in the sources.
pub const MUCH_USED: (&str, &str) = ("django/utils/encoding.py", "def force_str(");

/// The sources of Django, a project of their own.
pub fn django() -> Project {
    let project = Project::new();
    let from = servers::site_packages().join("django");
    copy_python(&from, &project.path("django"));
    project.write(
        "pyproject.toml",
        "[project]\nname = \"django\"\nversion = \"5\"\n",
    );
    project
}

fn copy_python(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder").flatten() {
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() && entry.file_name() != "__pycache__" {
            copy_python(&path, &to);
        } else if path.extension().is_some_and(|extension| extension == "py") {
            std::fs::copy(&path, &to).expect("copied");
        }
    }
}

/// How often a name is used in the code below a folder, by its text: more, if strings and comments have it.
fn uses(folder: &Path, name: &str) -> usize {
    let mut count = 0;
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            count += uses(&path, name);
        } else if let Ok(text) = std::fs::read_to_string(&path) {
            let part = |c: char| c.is_alphanumeric() || c == '_';
            count += text
                .split(|c| !part(c))
                .filter(|word| *word == name)
                .count();
        }
    }
    count
}

pub async fn all_references_in_django(real: Real) {
    let desk = Desk::over(real, django());
    let (file, head) = MUCH_USED;
    let uri: DocumentUri = desk.uri(file);
    let at = ByteOffset(desk.text(file).find(head).expect("it is there") + "def ".len());
    let pool = &desk.cx.pool;
    let first = pool
        .references(&uri, at, true, &desk.cx.cancel)
        .await
        .expect("answered");
    let by_text = uses(&desk.project.path("django"), "force_str");
    // The text has it in a few comments and strings too.
    let all = |found: usize| found <= by_text && found * 10 >= by_text * 9;
    assert!(
        !first.complete || all(first.value.len()),
        "{} of {by_text} and called complete",
        first.value.len()
    );
    let later = pool
        .references(&uri, at, true, &desk.cx.cancel)
        .await
        .expect("answered");
    assert!(
        later.complete && all(later.value.len()),
        "{} of {by_text}",
        later.value.len()
    );
    desk.end().await;
}
