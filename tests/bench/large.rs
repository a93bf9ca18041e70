//! References by name in a large tree, cold and warm: through the `lsp` tool and the pool, and by a bare client that introduces
//! itself in the very same way and asks the same questions of a server of its own.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use langserver::{Limits, Pool, ServerConfig, ServerState, process};
use serde_json::{Value, json};
use tests::client;
use tokio_util::sync::CancellationToken;
use tools::{Context, OwnEdits, Registry};
use workspace::{Buffers, ByteOffset, DocumentUri, Workspace};

use crate::{
    desk::{Editor, patient},
    figure::{Figures, median, millis, note},
    plain::Plain,
    servers,
};

const FILE: &str = "ra_ap_ide_db/src/helpers.rs";
const NAME: &str = "pick_best_token";
/// The definition among them.
const PLACES: usize = 25;
const TURNS: usize = 30;
/// Two processes of one server differ by as much as what is measured: so many pairs of them are asked.
const PAIRS: usize = 4;

pub async fn large_tree(tree: &Path, figures: &mut Figures) -> anyhow::Result<()> {
    process::supervise_with(client::binary(), ["__supervise".into()]);
    let mut servers = servers::RUST_ANALYZER.alone();
    let Some(config) = servers.get_mut("rust-analyzer") else {
        anyhow::bail!("not in the catalogue");
    };
    // Cargo's own check of half a million lines would be measured instead.
    config.settings["rust-analyzer"]["checkOnSave"] = json!(false);
    let config = config.clone();
    let uri = DocumentUri::from_path(&tree.join(FILE))?;
    let text = std::fs::read_to_string(tree.join(FILE))?;
    let head = format!("fn {NAME}");
    let at = text.find(&head).map(|at| at + "fn ".len());
    let at = at.ok_or_else(|| anyhow::anyhow!("{NAME} is not in {FILE}"))?;
    let bare = Bare {
        tree,
        config: &config,
        uri: &uri,
        text: &text,
        at,
    };

    // The first start of all builds what macros need; what is measured finds it built.
    drop(bare.start()?);
    let (mut told, mut ours, mut bares) = (Vec::new(), Vec::new(), Vec::new());
    let (mut only_ours, mut only_bare) = (Vec::new(), Vec::new());
    for _ in 0..PAIRS {
        let mut plain = bare.cold()?;

        let buffers = Buffers::new();
        let host = Editor::over(buffers.clone());
        let workspace = Workspace::new(vec![tree.to_owned()], buffers, host);
        let limits = Limits {
            ready: Duration::from_secs(300),
            answer: Duration::from_secs(120),
            ..patient()
        };
        let cx = Context {
            pool: Pool::with_limits(servers.clone(), workspace.clone(), limits),
            workspace,
            cancel: CancellationToken::new(),
            label: "bench".into(),
            own: OwnEdits::default(),
        };
        let tools = Registry::builtin();
        cold(&cx, &tools).await?;

        // In turns: whatever else the machine does, it does to both.
        for _ in 0..TURNS {
            let begun = Instant::now();
            by_name(&cx, &tools).await?;
            told.push(begun.elapsed());
            // The pool's equivalent: where the file declares it, then who refers to that.
            let begun = Instant::now();
            let outline = cx.pool.document_symbols(&uri, &cx.cancel).await?;
            anyhow::ensure!(!outline.value.1.is_empty(), "no outline");
            let half = Instant::now();
            let found = cx
                .pool
                .references(&uri, ByteOffset(at), true, &cx.cancel)
                .await?;
            ours.push(begun.elapsed());
            only_ours.push(half.elapsed());
            let count = found.value.len();
            anyhow::ensure!(found.complete && count == PLACES, "the pool found {count}");
            let begun = Instant::now();
            let half = bare.ask(&mut plain)?;
            bares.push(begun.elapsed());
            only_bare.push(half);
        }
        cx.pool.shutdown().await;
    }
    let (told, ours, bares) = (median(told), median(ours), median(bares));
    let (only_ours, only_bare) = (median(only_ours), median(only_bare));
    let by_name = "large tree: references by name, warm, the pool";
    let target = format!("<= 1.1 times {}", millis(bares));
    if cfg!(debug_assertions) {
        // What we add is read and counted by code that is not optimised; the server is.
        note(
            &format!("{by_name} ({} bare)", millis(bares)),
            &millis(ours),
        );
    } else {
        let keeps = ours.as_secs_f64() <= 1.1 * bares.as_secs_f64();
        figures.hold(by_name, &millis(ours), &target, keeps);
    }
    note("large tree: the same, as the tool words it", &millis(told));
    note(
        &format!(
            "large tree: only the references ({} bare)",
            millis(only_bare)
        ),
        &millis(only_ours),
    );
    Ok(())
}

/// The first answer of all, and when the server said that it was ready.
async fn cold(cx: &Context, tools: &Registry) -> anyhow::Result<()> {
    let begun = Instant::now();
    let ready = async {
        let is_ready = |pool: &Pool| {
            let all = pool.status();
            all.iter().any(|one| one.state == ServerState::Ready)
        };
        while !is_ready(&cx.pool) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        begun.elapsed()
    };
    let answered = async {
        by_name(cx, tools).await?;
        anyhow::Ok(begun.elapsed())
    };
    let (ready, answered) = tokio::join!(ready, answered);
    note("large tree: the pool's server is ready", &millis(ready));
    note(
        "large tree: from then until the first answer by name",
        &millis(answered?.saturating_sub(ready)),
    );
    Ok(())
}

/// What the model is told when it asks by name; it is whole.
async fn by_name(cx: &Context, tools: &Registry) -> anyhow::Result<String> {
    let input = json!({ "operation": "findReferences", "filePath": FILE, "symbol": NAME });
    let prepared = tools
        .prepare("lsp", input)
        .map_err(|why| anyhow::anyhow!("{why}"))?;
    let output = prepared.tool.call(prepared.input, cx).await;
    let text = output.map_err(|why| anyhow::anyhow!("{why}"))?.text;
    // The definition stands in the first line, apart from the others.
    let whole = text.starts_with(&format!("{} references of", PLACES - 1));
    anyhow::ensure!(whole && text.contains("(ready)"), "not all:\n{text}");
    Ok(text)
}

/// A bare client's question.
struct Bare<'a> {
    tree: &'a Path,
    config: &'a ServerConfig,
    uri: &'a DocumentUri,
    text: &'a str,
    at: usize,
}

impl Bare<'_> {
    /// A server that knows everything, and the time that it took.
    fn start(&self) -> anyhow::Result<(Plain, Duration)> {
        let begun = Instant::now();
        let (program, arguments) = servers::RUST_ANALYZER.command();
        let mut plain = Plain::introduced(
            &program,
            &arguments,
            self.tree,
            "rust-analyzer",
            self.config,
        )?;
        plain.open(self.uri, "rust", self.text)?;
        plain.until_quiescent()?;
        Ok((plain, begun.elapsed()))
    }

    fn cold(&self) -> anyhow::Result<Plain> {
        let (mut plain, ready) = self.start()?;
        let begun = Instant::now();
        self.ask(&mut plain)?;
        note("large tree: the bare server is ready", &millis(ready));
        note(
            "large tree: from then until its first answer",
            &millis(begun.elapsed()),
        );
        Ok(plain)
    }

    /// By name: the outline, then the references, whose own time it gives.
    fn ask(&self, plain: &mut Plain) -> anyhow::Result<Duration> {
        let document = json!({ "uri": self.uri.as_str() });
        let outline = json!({ "textDocument": document });
        let outline = plain.request("textDocument/documentSymbol", &outline)?;
        anyhow::ensure!(named(&outline), "no {NAME} in the outline");
        let begun = Instant::now();
        let before = &self.text[..self.at];
        let start = before.rfind('\n').map_or(0, |end| end + 1);
        let asked = json!({
            "textDocument": document,
            "position": { "line": before.matches('\n').count(), "character": before.len() - start },
            "context": { "includeDeclaration": true },
        });
        let answer = plain.request("textDocument/references", &asked)?;
        let count = answer.as_array().map_or(0, Vec::len);
        anyhow::ensure!(count == PLACES, "the bare server found {count}");
        Ok(begun.elapsed())
    }
}

fn named(outline: &Value) -> bool {
    let all = outline.as_array();
    all.is_some_and(|all| all.iter().any(|one| one["name"] == NAME))
}
