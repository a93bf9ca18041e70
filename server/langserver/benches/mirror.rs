//! How fast buffers change while a language server is kept in step: the figure to hold is 30,000 changes of one
//! character a second in a buffer of 5 MB. And how long a change takes to reach a server that answers.

use std::{path::Path, sync::Arc};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use langserver::{Pool, Servers, process};
use serde_json::json;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;
use workspace::{
    Buffers, ByteOffset, ContentChange, DocumentUri, Edit, Encoding, Host, HostError, Position,
    Range, Reply, Workspace,
};

const STAGE: &str = env!("CARGO_BIN_EXE_scripted-langserver");
const SIZE: usize = 5 * 1024 * 1024;

struct Nobody;

#[async_trait::async_trait]
impl Host for Nobody {
    async fn apply(&self, _edit: &Edit, _label: &str) -> Result<Reply, HostError> {
        Err(HostError::Unsupported)
    }
}

/// A pool with so many servers for one language, all running and in step with a large open buffer.
fn started(runtime: &Runtime, folder: &Path) -> (Arc<Pool>, Arc<Buffers>, DocumentUri) {
    process::supervise_with(STAGE, ["__supervise".into()]);
    let script = json!({
        "log": "/dev/null",
        "capabilities": {"hoverProvider": true, "textDocumentSync": 2},
        "on": {"textDocument/hover": [[{"answer": {"contents": "h"}}]]},
    });
    std::fs::write(folder.join("script"), script.to_string()).expect("written");
    let servers: Servers = serde_json::from_value(json!({
        "scripted": {"command": [STAGE, "serve", folder.join("script")], "languages": ["rust"]}
    }))
    .expect("servers");
    let buffers = Buffers::new();
    let workspace = Workspace::new(vec![folder.to_owned()], buffers.clone(), Arc::new(Nobody));
    let uri = DocumentUri::from_path(&folder.join("a.rs")).expect("a uri");
    let line = "    let naïve = \"日本語 😀\"; // and some more\n";
    buffers.open(uri.clone(), "rust", 1, &line.repeat(SIZE / line.len()));
    let _inside = runtime.enter();
    let pool = Pool::new(servers, workspace);
    runtime
        .block_on(pool.hover(&uri, ByteOffset(0), &CancellationToken::new()))
        .expect("answered");
    (pool, buffers, uri)
}

fn type_one(buffers: &Buffers, uri: &DocumentUri, version: &mut i32) {
    *version += 1;
    let at = Position::new(50_000 + version.unsigned_abs() % 1000, 4);
    let change = ContentChange {
        range: Some(Range::new(at, at)),
        text: "x".to_owned(),
    };
    buffers
        .change(uri, *version, &[change], Encoding::Utf16)
        .expect("changed");
}

fn mirror(criterion: &mut Criterion) {
    let runtime = Runtime::new().expect("a runtime");
    let folder = tempfile::tempdir().expect("a folder");
    let (pool, buffers, uri) = started(&runtime, folder.path());
    let mut version = 1;
    let mut group = criterion.benchmark_group("mirror");
    group.throughput(Throughput::Elements(1));
    group.bench_function("change", |bencher| {
        bencher.iter(|| type_one(&buffers, &uri, &mut version));
    });
    group.bench_function("change_then_ask", |bencher| {
        bencher.iter(|| {
            type_one(&buffers, &uri, &mut version);
            runtime
                .block_on(pool.hover(&uri, ByteOffset(0), &CancellationToken::new()))
                .expect("answered")
        });
    });
    group.finish();
    runtime.block_on(pool.shutdown());
}

criterion_group!(benches, mirror);
criterion_main!(benches);
