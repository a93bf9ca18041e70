//! The stage for tests: a language server that does what a script says (`serve`), a program that owns language servers
//! and waits to be killed (`own`), one that holds memory until it is killed (`hold`), and this crate's supervisor (`__supervise`). Never part of the product.

mod script;
mod toy;

use std::{
    io::{Read, Write},
    path::Path,
    sync::Arc,
};

use langserver::{Pool, Servers, process};
use tokio_util::sync::CancellationToken;
use workspace::{Buffers, ByteOffset, DocumentUri, Edit, Host, HostError, Reply, Workspace};

fn main() -> std::process::ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["__supervise"] => process::supervise(),
        ["serve", script] => return script::serve(Path::new(script)),
        ["hold", bytes] => hold(bytes),
        ["own", servers, document] => own(servers, Path::new(document)),
        _ => return std::process::ExitCode::from(2),
    }
    std::process::ExitCode::SUCCESS
}

fn hold(bytes: &str) {
    // Written to: memory that nobody has touched is none.
    let held = vec![1_u8; bytes.parse().expect("a number")];
    std::hint::black_box(&held);
    loop {
        std::thread::park();
    }
}

/// Starts a server for a document, says its process id, and waits for the end of its input.
fn own(servers: &str, document: &Path) {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let servers: Servers = serde_json::from_str(servers).expect("servers");
        let root = document.parent().expect("a folder").to_owned();
        let workspace = Workspace::new(vec![root], Buffers::new(), Arc::new(Nobody));
        let pool = Pool::new(servers, workspace);
        let uri = DocumentUri::from_path(document).expect("a uri");
        let hover = pool
            .hover(&uri, ByteOffset(0), &CancellationToken::new())
            .await;
        let pids: Vec<u32> = pool
            .status()
            .iter()
            .filter_map(|status| status.pid)
            .collect();
        let said = format!(
            "{}\n",
            serde_json::json!({"pids": pids, "hover": hover.is_ok()})
        );
        std::io::stdout()
            .write_all(said.as_bytes())
            .expect("writable");
        tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()))
            .await
            .expect("read")
            .expect("input");
        pool.shutdown().await;
    });
}

/// Takes no edits.
struct Nobody;

#[async_trait::async_trait]
impl Host for Nobody {
    async fn apply(&self, _edit: &Edit, _label: &str) -> Result<Reply, HostError> {
        Err(HostError::Unsupported)
    }
}
