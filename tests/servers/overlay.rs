//! The callee's file is unsaved: moved down in its buffer, asked for a third parameter there, renamed there. What is asked in
//! other files follows; the disk never changes.

use serde_json::json;

use crate::{
    desk::{Desk, Said},
    samples::{CPP, GO, PYTHON, RUST, Sample, Spot, TYPESCRIPT},
    servers::{self, Real},
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rust_analyzer() {
    follow(servers::RUST_ANALYZER, &RUST).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pyright() {
    follow(servers::PYRIGHT, &PYTHON).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ty() {
    follow(servers::TY, &PYTHON).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn typescript_language_server() {
    follow(servers::TSLS, &TYPESCRIPT).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn vtsls() {
    follow(servers::VTSLS, &TYPESCRIPT).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn typescript_7() {
    follow(servers::TSC, &TYPESCRIPT).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clangd() {
    follow(servers::CLANGD, &CPP).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gopls() {
    follow(servers::GOPLS, &GO).await;
}

async fn follow(real: Real, sample: &Sample) {
    if real.is_missing() {
        return;
    }
    let desk = Desk::new(real, sample.files);
    for spot in [sample.callee, sample.declared, sample.call] {
        if desk
            .cx
            .workspace
            .buffers()
            .get(&desk.uri(spot.file))
            .is_none()
        {
            desk.open(spot.file);
        }
    }
    let whole = |what: &str, said: &Said| {
        let well = said.well && !said.is_incomplete();
        assert!(well, "{what}: {}", said.text);
    };
    let ask = async |operation: &str, spot: Spot| {
        let said = desk.at(operation, spot, json!({})).await;
        whole(operation, &said);
        said
    };
    let problems = async || {
        let said = desk.lsp("diagnostics", sample.call.file, json!({})).await;
        whole("diagnostics", &said);
        said
    };
    let clean = problems().await;
    assert!(!clean.names(desk.place(sample.call)), "{}", clean.text);

    let (_, line) = desk.place(sample.callee);
    let down = format!("{}{}", "\n".repeat(10), sample.callee.text);
    desk.replace(sample.callee.file, sample.callee.text, &down);
    assert_eq!(desk.place(sample.callee).1, line + 10);
    // clangd's index follows a buffer when that has been parsed again, the others with the next question.
    let mut said = ask("goToDefinition", sample.call).await;
    let begun = std::time::Instant::now();
    while real.name == "clangd"
        && begun.elapsed().as_secs() < 20
        && !said.names(desk.place(sample.callee))
    {
        said = ask("goToDefinition", sample.call).await;
    }
    assert!(
        said.names(desk.place(sample.callee)),
        "moved: {}",
        said.text
    );
    let said = ask("findReferences", sample.callee).await;
    assert!(said.names(desk.place(sample.call)), "{}", said.text);

    let (old, new) = sample.third_parameter;
    desk.replace(sample.declared.file, old, new);
    let said = ask("hover", sample.call).await;
    assert!(
        said.text.contains("third"),
        "a new parameter: {}",
        said.text
    );
    let said = problems().await;
    assert!(
        said.names(desk.place(sample.call)),
        "one too few: {}",
        said.text
    );
    desk.replace(sample.declared.file, new, old);
    let said = problems().await;
    assert!(!said.names(desk.place(sample.call)), "cured: {}", said.text);

    let renamed = |spot: Spot| spot.text.replace(spot.word, "Renamed");
    desk.replace(
        sample.callee.file,
        sample.callee.text,
        &renamed(sample.callee),
    );
    if sample.declared.file != sample.callee.file {
        let spot = sample.declared;
        desk.replace(spot.file, spot.text, &renamed(spot));
    }
    let said = desk.at("goToDefinition", sample.call, json!({})).await;
    assert!(!said.names((sample.callee.file, line)), "{}", said.text);
    assert!(
        !said.names((sample.callee.file, line + 10)),
        "{}",
        said.text
    );
    let said = problems().await;
    // Where it is imported, or where it is called; rust-analyzer leaves names that are not found to rustc.
    let named = said.names(desk.place(sample.call))
        || sample
            .import
            .is_some_and(|import| said.names(desk.place(import)));
    let left_to_rustc = real.name == "rust-analyzer";
    assert!(named || left_to_rustc, "its name is gone: {}", said.text);
    for (name, text) in sample.files {
        let root = desk.project.root().display().to_string();
        assert_eq!(
            desk.project.read(name),
            text.replace("ROOT", &root),
            "{name}"
        );
    }
    desk.end().await;
}
