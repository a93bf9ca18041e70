//! The judge: every call passes here before a tool sees it, whoever asks. Deny is over all. This
//! first form knows where the workspace ends and what a read-only run is; it asks nobody.

use std::path::Path;

use tools::{Context, Prepared, is_guarded};
use workspace::DocumentUri;

/// What the judge says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Allow,
    /// Refused, and why: the text goes to the model.
    Deny(String),
}

/// Judges one call.
pub(crate) struct Judge<'a> {
    pub context: &'a Context,
    pub read_only: bool,
    /// The document that the person asked about: it counts as inside, wherever it lies.
    pub focus: Option<&'a DocumentUri>,
}

impl Judge<'_> {
    pub fn judge(&self, call: &Prepared) -> Verdict {
        let name = call.tool.name();
        let changes = call.tool.changes(&call.input);
        if self.read_only && changes {
            return Verdict::Deny(format!(
                "denied: this run is read-only, and `{name}` would change something. Say what you would change instead"
            ));
        }
        for path in call.tool.paths(&call.input) {
            if let Verdict::Deny(reason) = self.place(&path, changes) {
                return Verdict::Deny(reason);
            }
        }
        Verdict::Allow
    }

    fn place(&self, named: &str, changes: bool) -> Verdict {
        // What can't be understood is answered by the tool itself, which explains it better.
        let Ok(uri) = self.context.document(named) else {
            return Verdict::Allow;
        };
        if self.focus == Some(&uri) {
            return Verdict::Allow;
        }
        let open = self.context.workspace.buffers().get(&uri).is_some();
        let Some(path) = uri.path() else {
            return match open {
                true => Verdict::Allow,
                false => Verdict::Deny(format!("denied: {named} is not open in the editor")),
            };
        };
        if changes && is_guarded(path) {
            return Verdict::Deny(format!(
                "denied: {named} lies in a .git or .copydesk folder, and what stands there may start programs. Say what should be changed instead"
            ));
        }
        // What the person has open beside the workspace may be read, and only read.
        if self.inside(path) || (open && !changes) {
            return Verdict::Allow;
        }
        let roots = self.context.workspace.roots();
        let roots: Vec<String> = roots
            .iter()
            .map(|root| root.display().to_string())
            .collect();
        let inside = match roots.as_slice() {
            [] => "there is no workspace folder".to_owned(),
            roots => format!("the workspace is {}", roots.join(", ")),
        };
        Verdict::Deny(format!(
            "denied: {named} is outside the workspace ({inside})"
        ))
    }

    fn inside(&self, path: &Path) -> bool {
        self.context.workspace.contains(path)
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, sync::Arc};

    use async_trait::async_trait;
    use langserver::{Pool, Servers};
    use tokio_util::sync::CancellationToken;
    use tools::Registry;
    use workspace::{Buffers, Edit, Host, HostError, Reply, Workspace};

    use super::*;

    struct Nobody;

    #[async_trait]
    impl Host for Nobody {
        async fn apply(&self, _: &Edit, _: &str) -> Result<Reply, HostError> {
            Err(HostError::Unsupported)
        }
    }

    /// A folder with `in/` as the workspace and `out/` beside it; `in/link` leads out.
    struct World {
        folder: tempfile::TempDir,
        context: Context,
    }

    impl World {
        fn new() -> World {
            let folder = tempfile::tempdir().expect("a temporary folder");
            for name in ["in", "out"] {
                fs::create_dir(folder.path().join(name)).expect("the folder is made");
                fs::write(folder.path().join(name).join("a.txt"), "a\n")
                    .expect("the file is written");
            }
            #[cfg(unix)]
            std::os::unix::fs::symlink("../out", folder.path().join("in/link"))
                .expect("the link is made");
            let roots = vec![folder.path().join("in")];
            let workspace = Workspace::new(roots, Buffers::new(), Arc::new(Nobody));
            let context = Context {
                pool: Pool::new(Servers::new(), workspace.clone()),
                workspace,
                cancel: CancellationToken::new(),
                label: "test".into(),
                own: tools::OwnEdits::default(),
            };
            World { folder, context }
        }

        fn uri(&self, name: &str) -> DocumentUri {
            DocumentUri::from_path(&self.folder.path().join(name)).expect("a path")
        }

        /// `OUT` in the input stands for the folder outside.
        fn check(
            &self,
            read_only: bool,
            focus: Option<&DocumentUri>,
            call: (&str, &str),
            denied: Option<&str>,
        ) {
            let (tool, input) = call;
            let out = self.folder.path().join("out");
            let input = input.replace("OUT", &out.display().to_string());
            let input = serde_json::from_str(&input).expect("JSON");
            let prepared = Registry::builtin()
                .prepare(tool, input)
                .expect("the call fits its schema");
            let judge = Judge {
                context: &self.context,
                read_only,
                focus,
            };
            match (judge.judge(&prepared), denied) {
                (Verdict::Allow, None) => {}
                (Verdict::Deny(reason), Some(part)) => assert!(reason.contains(part), "{reason}"),
                (verdict, _) => panic!("{call:?}: {verdict:?}"),
            }
        }
    }

    #[tokio::test]
    async fn the_workspace_is_where_calls_end() {
        let world = World::new();
        let inside = |tool, input| world.check(false, None, (tool, input), None);
        let outside =
            |tool, input| world.check(false, None, (tool, input), Some("outside the workspace"));
        inside("read", r#"{"filePath":"a.txt"}"#);
        inside("read", r#"{"filePath":"new/b.txt"}"#);
        inside("write", r#"{"filePath":"new/b.txt","content":""}"#);
        inside("grep", r#"{"pattern":"a"}"#);
        outside("read", r#"{"filePath":"../out/a.txt"}"#);
        outside("read", r#"{"filePath":"OUT/a.txt"}"#);
        outside("read", r#"{"filePath":"x/../../out/a.txt"}"#);
        outside(
            "edit",
            r#"{"filePath":"OUT/a.txt","oldString":"a","newString":"b"}"#,
        );
        outside("write", r#"{"filePath":"OUT/new/b.txt","content":""}"#);
        outside("list", r#"{"path":".."}"#);
        outside("glob", r#"{"pattern":"*","path":"OUT"}"#);
        outside("grep", r#"{"pattern":"a","path":"../out"}"#);
        outside(
            "lsp",
            r#"{"operation":"diagnostics","filePath":"OUT/a.txt"}"#,
        );
        #[cfg(unix)]
        {
            outside("read", r#"{"filePath":"link/a.txt"}"#);
            outside("write", r#"{"filePath":"link/new.txt","content":""}"#);
            outside("list", r#"{"path":"link"}"#);
        }
    }

    #[tokio::test]
    async fn what_starts_programs_is_not_changed() {
        let world = World::new();
        let hooks = world.folder.path().join("in/.git/hooks");
        fs::create_dir_all(&hooks).expect("the folder is made");
        fs::write(hooks.join("pre-commit"), "a").expect("the file is written");
        let denied =
            |tool, input| world.check(false, None, (tool, input), Some(".git or .copydesk"));
        denied(
            "write",
            r#"{"filePath":".git/hooks/pre-commit","content":""}"#,
        );
        denied(
            "write",
            r#"{"filePath":".copydesk/config.toml","content":""}"#,
        );
        denied(
            "edit",
            r#"{"filePath":"x/../.git/hooks/pre-commit","oldString":"a","newString":"b"}"#,
        );
        world.check(
            false,
            None,
            ("read", r#"{"filePath":".git/hooks/pre-commit"}"#),
            None,
        );
        world.check(
            false,
            None,
            ("write", r#"{"filePath":".gitignore","content":""}"#),
            None,
        );
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(".git/hooks", world.folder.path().join("in/innocent"))
                .expect("the link is made");
            denied("write", r#"{"filePath":"innocent/pre-push","content":""}"#);
            // A link to what does not exist yet: writing to it would make that.
            let link = |target: &str, name: &str| {
                std::os::unix::fs::symlink(target, world.folder.path().join("in").join(name))
                    .expect("the link is made");
            };
            link(".git/hooks/new", "notes");
            denied("write", r#"{"filePath":"notes","content":""}"#);
            link(".git/new/hook", "more");
            denied("write", r#"{"filePath":"more","content":""}"#);
        }
    }

    #[tokio::test]
    async fn what_is_open_beside_the_workspace_may_be_read_and_only_the_focus_changed() {
        let world = World::new();
        let uri = world.uri("out/a.txt");
        world
            .context
            .workspace
            .buffers()
            .open(uri.clone(), "plaintext", 1, "a\n");
        let read = ("read", r#"{"filePath":"OUT/a.txt"}"#);
        let edit = (
            "edit",
            r#"{"filePath":"OUT/a.txt","oldString":"a","newString":"b"}"#,
        );
        world.check(false, None, read, None);
        world.check(false, None, edit, Some("outside the workspace"));
        world.check(false, Some(&uri), edit, None);
        world.check(true, Some(&uri), edit, Some("read-only"));
        world.check(
            false,
            None,
            ("read", r#"{"filePath":"untitled:Untitled-1"}"#),
            Some("not open"),
        );
    }

    #[tokio::test]
    async fn a_read_only_run_changes_nothing() {
        let world = World::new();
        let check = |call, denied| world.check(true, None, call, denied);
        check(("read", r#"{"filePath":"a.txt"}"#), None);
        check(
            ("write", r#"{"filePath":"a.txt","content":""}"#),
            Some("read-only"),
        );
        check(
            ("lsp", r#"{"operation":"diagnostics","filePath":"a.txt"}"#),
            None,
        );
        check(
            (
                "lsp",
                r#"{"operation":"applyCodeAction","filePath":"a.txt","line":1,"action":"x"}"#,
            ),
            Some("read-only"),
        );
    }
}
