//! The tools over a real folder and open buffers. The editor is played by a host that puts each edit
//! into the buffer at once, as a well-behaved one does.

use std::sync::Arc;

use async_trait::async_trait;
use expect_test::{Expect, expect};
use langserver::{Pool, Servers};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use workspace::{
    Buffers, ContentChange, DocumentUri, Edit, Encoding, Host, HostError, Reply, Workspace,
};

use crate::{Context, Registry};

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

struct World {
    folder: tempfile::TempDir,
    cx: Context,
    tools: Registry,
}

impl World {
    fn new(files: &[(&str, &str)]) -> World {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let root = folder.path().canonicalize().expect("it is there");
        for (name, text) in files {
            let path = root.join(name);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders are made");
            std::fs::write(path, text).expect("the file is written");
        }
        let buffers = Buffers::new();
        let host = Arc::new(Editor(buffers.clone()));
        let workspace = Workspace::new(vec![root], buffers, host);
        let cx = Context {
            pool: Pool::new(Servers::new(), workspace.clone()),
            workspace,
            cancel: CancellationToken::new(),
            label: "test".into(),
            own: crate::OwnEdits::default(),
        };
        World {
            folder,
            cx,
            tools: Registry::builtin(),
        }
    }

    /// Opens a file and types until it has this text.
    fn open(&self, name: &str, text: &str) -> DocumentUri {
        let uri = DocumentUri::from_path(&self.root().join(name)).expect("a path");
        let buffers = self.cx.workspace.buffers();
        buffers.open(uri.clone(), "plaintext", 1, &self.disk(name));
        let typed = ContentChange {
            range: None,
            text: text.to_owned(),
        };
        buffers
            .change(&uri, 2, &[typed], Encoding::Utf8)
            .expect("it is open");
        uri
    }

    fn root(&self) -> std::path::PathBuf {
        self.folder.path().canonicalize().expect("it is there")
    }

    fn disk(&self, name: &str) -> String {
        std::fs::read_to_string(self.root().join(name)).expect("the file is there")
    }

    async fn call(&self, name: &str, input: Value) -> Result<String, String> {
        let prepared = self.tools.prepare(name, input)?;
        let result = prepared.tool.call(prepared.input, &self.cx).await;
        result
            .map(|output| output.text)
            .map_err(|error| error.to_string())
    }

    async fn check(&self, name: &str, input: Value, expected: Expect) {
        let shown = match self.call(name, input).await {
            Ok(text) => text,
            Err(text) => format!("! {text}"),
        };
        let root = format!("{}/", self.root().display());
        expected.assert_eq(&shown.replace(&root, "ROOT/"));
    }
}

const THREE: &str = "one\ntwo\nthree\n";

#[tokio::test]
async fn read_prefers_the_buffer_and_numbers_from_one() {
    let world = World::new(&[("a.txt", THREE), ("empty.txt", ""), ("no-end.txt", "x\ny")]);
    world
        .check(
            "read",
            json!({ "filePath": "a.txt" }),
            expect![[r#"
            a.txt (on disk, 3 lines)
                 1	one
                 2	two
                 3	three
        "#]],
        )
        .await;
    world.open("a.txt", "ONE\r\ntwo\r\n");
    world
        .check(
            "read",
            json!({ "filePath": "a.txt" }),
            expect![[r#"
            a.txt (open in the editor, unsaved changes, 2 lines)
                 1	ONE
                 2	two
        "#]],
        )
        .await;
    world
        .check(
            "read",
            json!({ "filePath": "no-end.txt", "offset": 1, "limit": 1 }),
            expect![[r#"
            no-end.txt (on disk, 2 lines)
                 2	y
        "#]],
        )
        .await;
    world
        .check(
            "read",
            json!({ "filePath": "a.txt", "limit": 1 }),
            expect![[r#"
            a.txt (open in the editor, unsaved changes, 2 lines)
                 1	ONE
            [lines 1 to 1 of 2; go on with offset 1]"#]],
        )
        .await;
    world
        .check(
            "read",
            json!({ "filePath": "empty.txt" }),
            expect!["empty.txt (on disk) is empty"],
        )
        .await;
    world
        .check(
            "read",
            json!({ "filePath": "a.txt", "offset": 9 }),
            expect!["! offset 9 is past the end: a.txt has 2 lines"],
        )
        .await;
}

#[tokio::test]
async fn edits_go_into_the_buffer_and_leave_the_disk() {
    let world = World::new(&[("a.txt", THREE)]);
    let uri = world.open("a.txt", "one\ntwo unsaved\nthree\n");
    world
        .check(
            "edit",
            json!({ "filePath": "a.txt", "oldString": "two unsaved", "newString": "2" }),
            expect![[r#"
                1 change in a.txt (in the editor's buffer, not saved):
                     1	one
                     2	2
                     3	three
            "#]],
        )
        .await;
    let buffer = world.cx.workspace.buffers().get(&uri).expect("it is open");
    assert_eq!(buffer.text.to_string(), "one\n2\nthree\n");
    assert_eq!(world.disk("a.txt"), THREE);
}

#[tokio::test]
async fn an_edit_is_exact_and_unique_or_refused() {
    let world = World::new(&[
        (
            "a.txt",
            "fn a() {\n    call(1);\n}\nfn b() {\n    call(1);\n}\n",
        ),
        ("crlf.txt", "one\r\ntwo\r\nthree\r\n"),
    ]);
    let edit =
        |old: &str, new: &str| json!({ "filePath": "a.txt", "oldString": old, "newString": new });
    world
        .check("edit", edit("call(1)", "call(2)"), expect![
            "! oldString occurs 2 times in a.txt (lines 2, 5): add lines around it until it is unique, or set replaceAll"
        ])
        .await;
    world
        .check("edit", edit("call( 1 );", "call(2);"), expect![[r#"
            ! oldString was not found in a.txt. It must stand there exactly, white space included; nothing was changed. The nearest lines are:
                 1	fn a() {
                 2	    call(1);
                 3	}
                 4	fn b() {
        "#]])
        .await;
    world
        .check(
            "edit",
            edit("x", "x"),
            expect!["! oldString and newString are the same: nothing would change"],
        )
        .await;
    world
        .check("edit", edit("", "y"), expect![
            "! a.txt exists: an empty oldString only creates files. Give the text to replace, or use `write` to replace the whole file"
        ])
        .await;
    let mut all = edit("call(1)", "call(2)");
    all["replaceAll"] = json!(true);
    world.call("edit", all).await.expect("all are replaced");
    assert_eq!(
        world.disk("a.txt"),
        "fn a() {\n    call(2);\n}\nfn b() {\n    call(2);\n}\n"
    );
    let crlf = json!({ "filePath": "crlf.txt", "oldString": "one\ntwo", "newString": "1\n2" });
    world
        .call("edit", crlf)
        .await
        .expect("line ends are the file's");
    assert_eq!(world.disk("crlf.txt"), "1\r\n2\r\nthree\r\n");
}

#[tokio::test]
async fn write_makes_files_and_changes_only_what_differs() {
    let world = World::new(&[("a.txt", THREE)]);
    world
        .check(
            "write",
            json!({ "filePath": "new/b.txt", "content": "b\n" }),
            expect!["new/b.txt was created (1 line)"],
        )
        .await;
    assert_eq!(world.disk("new/b.txt"), "b\n");
    world
        .check(
            "write",
            json!({ "filePath": "a.txt", "content": THREE }),
            expect!["a.txt already has exactly this content: nothing was changed"],
        )
        .await;
    world
        .check(
            "write",
            json!({ "filePath": "a.txt", "content": "one\nTWO\nthree\n" }),
            expect![[r#"
                1 change in a.txt (on disk):
                     1	one
                     2	TWO
                     3	three
            "#]],
        )
        .await;
}

#[tokio::test]
async fn searches_see_what_was_never_saved() {
    let world = World::new(&[
        ("a.txt", THREE),
        ("ignored.log", "secret\n"),
        (".gitignore", "*.log\n"),
    ]);
    world.open("a.txt", "one\nnever saved\n");
    world
        .check(
            "grep",
            json!({ "pattern": "never|two|secret" }),
            expect![[r#"
            1 match in 1 file:
            a.txt (unsaved):
                 2	never saved
        "#]],
        )
        .await;
    world
        .check(
            "grep",
            json!({ "pattern": "(" , "include": "*.txt" }),
            expect![[r#"
            ! the pattern is not a regular expression that can be searched for: regex parse error:
                (
                ^
            error: unclosed group"#]],
        )
        .await;
    world
        .check(
            "glob",
            json!({ "pattern": "*.txt" }),
            expect![[r#"
        a.txt (unsaved)
    "#]],
        )
        .await;
    world
        .check(
            "list",
            json!({}),
            expect![[r#"
        ROOT/
          a.txt (unsaved)
    "#]],
        )
        .await;
}

#[tokio::test]
async fn wrong_calls_are_answered_by_what_would_be_right() {
    let world = World::new(&[]);
    world
        .check("reed", json!({ "filePath": "a" }), expect![
            "! invalid: there is no tool `reed`. Did you mean `read`? The tools are: edit, glob, grep, list, lsp, read, write."
        ])
        .await;
    world.check("read", json!({ "path": "a", "limit": "many" }), expect![[r#"
        ! invalid: the parameters of `read` do not fit its schema:
        - limit: "many" is not of type "integer"
        - Additional properties are not allowed ('path' was unexpected)
        - "filePath" is a required property
        Call it again with this schema: {"additionalProperties":false,"properties":{"filePath":{"description":"Absolute, or from the workspace root.","type":"string"},"limit":{"description":"Lines to read; 2000 if left out.","minimum":1,"type":"integer"},"offset":{"description":"Lines to skip.","minimum":0,"type":"integer"}},"required":["filePath"],"type":"object"}"#]]).await;
    expect![[r#"
        invalid: the arguments of `read` are not JSON (EOF while parsing a string at line 1 column 15): {"filePath": "a
        Call it again with one JSON object of this schema: {"additionalProperties":false,"properties":{"filePath":{"description":"Absolute, or from the workspace root.","type":"string"},"limit":{"description":"Lines to read; 2000 if left out.","minimum":1,"type":"integer"},"offset":{"description":"Lines to skip.","minimum":0,"type":"integer"}},"required":["filePath"],"type":"object"}"#]].assert_eq(&world.tools.malformed("read", "{\"filePath\": \"a"));
    world
        .check(
            "read",
            json!({ "filePath": " " }),
            expect!["! filePath is empty: name a file"],
        )
        .await;
    world
        .check(
            "lsp",
            json!({ "operation": "hover", "filePath": "a.txt" }),
            expect!["! ROOT/a.txt does not exist"],
        )
        .await;
}

#[test]
fn schemas_are_small_and_what_a_model_needs() {
    let specs = Registry::builtin().specs(false);
    let bytes: usize = specs
        .iter()
        .map(|spec| spec.name.len() + spec.description.len() + spec.schema.to_string().len())
        .sum();
    assert!(bytes < 6_000, "{bytes} bytes of tools");
    let read = specs
        .iter()
        .find(|spec| spec.name == "read")
        .expect("read is there");
    expect![[r#"{"additionalProperties":false,"properties":{"filePath":{"description":"Absolute, or from the workspace root.","type":"string"},"limit":{"description":"Lines to read; 2000 if left out.","minimum":1,"type":"integer"},"offset":{"description":"Lines to skip.","minimum":0,"type":"integer"}},"required":["filePath"],"type":"object"}"#]].assert_eq(&read.schema.to_string());
    let read_only = Registry::builtin().specs(true);
    let names: Vec<&str> = read_only.iter().map(|spec| spec.name.as_str()).collect();
    assert_eq!(names, ["glob", "grep", "list", "lsp", "read"]);
}
