//! What the tests stand on: a folder, an editor that takes every edit at once, the tools, and a language server: a
//! scripted one, or a real one of the catalogue.
#![allow(dead_code)]

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use expect_test::Expect;
use langserver::{Limits, Pool, Servers, catalogue, process};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use tools::{Context, Output, OwnEdits, Registry};
use workspace::{
    Buffers, ContentChange, DocumentUri, Edit, Encoding, Host, HostError, Reply, Workspace,
};

pub struct Stand {
    folder: TempDir,
    pub cx: Context,
    tools: Registry,
}

impl Stand {
    /// With one scripted server for Rust. The script is told how a file's URI is spelled.
    pub fn scripted(
        files: &[(&str, &str)],
        script: impl FnOnce(&dyn Fn(&str) -> String) -> Value,
    ) -> Self {
        let moment = Duration::from_secs(20);
        Self::scripted_within(moment, files, script)
    }

    /// The same with another time that it is given to become ready.
    pub fn scripted_within(
        ready: Duration,
        files: &[(&str, &str)],
        script: impl FnOnce(&dyn Fn(&str) -> String) -> Value,
    ) -> Self {
        let limits = Limits {
            ready,
            ..Limits::default()
        };
        Self::scripted_limited(limits, files, script)
    }

    /// The same with other limits.
    pub fn scripted_limited(
        limits: Limits,
        files: &[(&str, &str)],
        script: impl FnOnce(&dyn Fn(&str) -> String) -> Value,
    ) -> Self {
        Self::with(files, limits, |root| {
            let uri = |name: &str| {
                let uri = DocumentUri::from_path(&root.join(name)).expect("absolute");
                uri.as_str().to_owned()
            };
            let mut script = script(&uri);
            let (log, place) = (root.join(".log"), root.join(".script"));
            script["log"] = json!(log);
            let (ready, name) = (script["ready"].take(), script["name"].take());
            std::fs::write(&place, script.to_string()).expect("written");
            let mut server = json!({"command": [stage(), "serve", place], "languages": ["rust", "c", "cpp", "python"], "ready": "initialized"});
            if !ready.is_null() {
                server["ready"] = ready;
            }
            // It may pass for one of the catalogue.
            let name = name.as_str().unwrap_or("scripted");
            serde_json::from_value(json!({ name: server })).expect("servers")
        })
    }

    /// With the servers of the catalogue.
    pub fn real(files: &[(&str, &str)]) -> Self {
        let minute = Duration::from_secs(180);
        let limits = Limits {
            ready: minute,
            answer: minute,
            ..Limits::default()
        };
        Self::with(files, limits, |_| catalogue::merged(&Servers::new()))
    }

    fn with(
        files: &[(&str, &str)],
        limits: Limits,
        servers: impl FnOnce(&Path) -> Servers,
    ) -> Self {
        process::supervise_with(stage(), ["__supervise".into()]);
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a path");
        for (name, text) in files {
            let path = root.join(name);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
            std::fs::write(path, text).expect("a file");
        }
        let buffers = Buffers::new();
        let host = Arc::new(Editor(buffers.clone()));
        let workspace = Workspace::new(vec![root.clone()], buffers, host);
        let pool = Pool::with_limits(servers(&root), workspace.clone(), limits);
        Self {
            folder,
            cx: Context {
                workspace,
                pool,
                cancel: CancellationToken::new(),
                label: "test".into(),
                own: OwnEdits::default(),
            },
            tools: Registry::builtin(),
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        let root = self.folder.path().canonicalize().expect("a path");
        root.join(name)
    }

    pub fn uri(&self, name: &str) -> DocumentUri {
        DocumentUri::from_path(&self.path(name)).expect("absolute")
    }

    pub fn disk(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_else(|_| "(none)".to_owned())
    }

    pub fn buffer(&self, name: &str) -> String {
        let buffer = self.cx.workspace.buffers().get(&self.uri(name));
        buffer.map_or_else(|| "(none)".to_owned(), |open| open.text.to_string())
    }

    /// Opens a file, and types until it has this text.
    pub fn open(&self, name: &str, text: &str) {
        let (uri, buffers) = (self.uri(name), self.cx.workspace.buffers());
        buffers.open(uri.clone(), "rust", 1, &self.disk(name));
        let typed = ContentChange {
            range: None,
            text: text.to_owned(),
        };
        buffers
            .change(&uri, 2, &[typed], Encoding::Utf8)
            .expect("in step");
    }

    pub async fn output(&self, tool: &str, input: Value) -> Result<Output, String> {
        let prepared = self.tools.prepare(tool, input)?;
        let result = prepared.tool.call(prepared.input, &self.cx).await;
        result.map_err(|error| error.to_string())
    }

    /// The answer of `lsp`; one that is an error begins with `!`.
    pub async fn ask(&self, operation: &str, file: &str, more: Value) -> String {
        let mut input = json!({"operation": operation, "filePath": file});
        for (key, value) in more.as_object().into_iter().flatten() {
            input[key] = value.clone();
        }
        let text = match self.output("lsp", input).await {
            Ok(output) => output.text,
            Err(text) => format!("! {text}"),
        };
        let root = format!("{}/", self.path("").display()).replace("//", "/");
        text.replace(&root, "ROOT/")
    }

    /// What the scripted server was asked by this method.
    pub fn asked(&self, method: &str) -> Vec<Value> {
        let log = self.disk(".log");
        log.lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok())
            .filter(|message| message["method"] == method)
            .map(|message| message["params"].clone())
            .collect()
    }
}

/// Puts each edit into the buffer at once.
struct Editor(Arc<Buffers>);

#[async_trait]
impl Host for Editor {
    async fn apply(&self, edit: &Edit, _label: &str) -> Result<Reply, HostError> {
        let snapshot = edit.snapshot();
        let change = ContentChange {
            range: None,
            text: edit.result().to_string(),
        };
        let version = snapshot.version.unwrap_or(0) + 1;
        self.0
            .change(&snapshot.uri, version, &[change], Encoding::Utf8)
            .map_err(|error| HostError::Failed(error.to_string()))?;
        Ok(Reply::Applied)
    }
}

/// The scripted server belongs to another crate: it lies beside us once that was built, and is built if it was not.
fn stage() -> PathBuf {
    let test = std::env::current_exe().expect("a path");
    let folder = test.parent().and_then(Path::parent).expect("a folder");
    let stage = folder.join(format!(
        "scripted-langserver{}",
        std::env::consts::EXE_SUFFIX
    ));
    if !stage.exists() {
        let built = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--package", "langserver", "--bin"])
            .arg("scripted-langserver")
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .status();
        assert!(
            built.expect("cargo").success(),
            "the scripted server is built"
        );
    }
    stage
}

pub fn at(line: u32, start: u32, end: u32) -> Value {
    json!({"start": {"line": line, "character": start}, "end": {"line": line, "character": end}})
}

pub fn lines(first: u32, last: u32) -> Value {
    json!({"start": {"line": first, "character": 0}, "end": {"line": last, "character": 1}})
}

/// Two types with a method of the same name.
pub const TWO: &str = "struct A;\nimpl A {\n    fn go(&self) {}\n}\nstruct B;\nimpl B {\n    fn go(&self) {}\n}\n\nfn main() {\n    let one = A;\n    one.go();\n}\n";

/// The symbols of [`TWO`].
pub fn two() -> Value {
    json!([
        symbol("A", 23, &at(0, 0, 9), at(0, 7, 8), json!([])),
        symbol(
            "impl A",
            19,
            &lines(1, 3),
            at(1, 5, 6),
            json!([symbol("go", 6, &at(2, 4, 19), at(2, 7, 9), json!([]))])
        ),
        symbol("B", 23, &at(4, 0, 9), at(4, 7, 8), json!([])),
        symbol(
            "impl B",
            19,
            &lines(5, 7),
            at(5, 5, 6),
            json!([symbol("go", 6, &at(6, 4, 19), at(6, 7, 9), json!([]))])
        ),
        symbol("main", 12, &lines(9, 12), at(9, 3, 7), json!([])),
    ])
}

pub fn symbol(name: &str, kind: u8, range: &Value, selection: Value, children: Value) -> Value {
    json!({"name": name, "kind": kind, "range": range, "selectionRange": selection, "children": children})
}

/// A server that can do all of it.
pub fn able() -> Value {
    json!({
        "hoverProvider": true, "definitionProvider": true, "referencesProvider": true, "textDocumentSync": 2,
        "documentSymbolProvider": true, "workspaceSymbolProvider": true, "callHierarchyProvider": true,
        "typeHierarchyProvider": true, "renameProvider": true, "documentFormattingProvider": true,
        "codeActionProvider": {"resolveProvider": false}
    })
}

/// The same answer each time.
pub fn always(answer: &Value) -> Value {
    json!([[{ "answer": answer }]])
}

/// [`TWO`], and a file that uses it.
pub fn with_two(mut on: Value) -> Stand {
    Stand::scripted(&[("a.rs", TWO), ("b.rs", "use a::A;\n")], |_| {
        on["textDocument/documentSymbol"] = always(&two());
        json!({"capabilities": able(), "on": on})
    })
}

pub async fn check(stand: &Stand, operation: &str, file: &str, more: Value, expected: Expect) {
    expected.assert_eq(&stand.ask(operation, file, more).await);
}
