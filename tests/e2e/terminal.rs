//! The terminal's door: `copydesk run` and `copydesk fix` on real files, their exit codes, and events
//! as JSON.

use std::process::{Output, Stdio};

use serde_json::{Value, json};
use tests::client::binary;
use tests::fixtures::Project;
use tests::model::{Reply, ScriptedModel};
use tokio::{io::AsyncWriteExt as _, process::Command};

/// A project with the scripted model in the person's own configuration.
fn configure(project: &Project, model: &ScriptedModel) {
    let config = format!(
        "model = \"scripted/one\"\n[providers.scripted]\nbase_url = \"{}\"\n",
        model.base_url()
    );
    std::fs::create_dir_all(project.beside("config")).expect("a folder");
    std::fs::write(project.beside("config").join("config.toml"), config).expect("a configuration");
}

fn command(project: &Project, arguments: &[&str]) -> Command {
    let mut command = Command::new(binary());
    command
        .args(arguments)
        .current_dir(project.root())
        .env("COPYDESK_CONFIG_DIR", project.beside("config"))
        .env_remove("OPENAI_API_KEY")
        .env_remove("OPENROUTER_API_KEY")
        .env_remove("ANTHROPIC_API_KEY")
        .env_remove("COPYDESK_MODEL")
        .stdin(Stdio::null())
        .kill_on_drop(true);
    command
}

async fn run(project: &Project, arguments: &[&str]) -> (i32, String, String) {
    said(&command(project, arguments).output().await.expect("it runs"))
}

fn said(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");
    (
        output.status.code().unwrap_or(-1),
        text(&output.stdout),
        text(&output.stderr),
    )
}

#[tokio::test]
async fn a_run_edits_files_and_prints_the_answer_alone_to_stdout() {
    let project = Project::with(&[("a.txt", "one\r\ntwo\r\n")]);
    let model = ScriptedModel::start([
        Reply::call(
            "edit",
            json!({ "filePath": "a.txt", "oldString": "two", "newString": "2" }),
        )
        .into(),
        Reply::text("Two is 2 now.").into(),
    ])
    .await;
    configure(&project, &model);
    let (code, out, err) = run(&project, &["run", "--prompt", "edit it"]).await;
    assert_eq!((code, out.as_str()), (0, "Two is 2 now.\n"), "{err}");
    assert!(err.contains("Editing a.txt") && err.contains("+2"), "{err}");
    assert_eq!(project.read("a.txt"), "one\r\n2\r\n");
}

#[tokio::test]
async fn the_prompt_may_come_from_stdin_and_the_file_with_a_place() {
    let project = Project::with(&[("a.txt", "one\ntwo\n")]);
    let model = ScriptedModel::start([Reply::text("ok").into()]).await;
    configure(&project, &model);
    let mut child = command(&project, &["run", "--prompt", "-", "--file", "a.txt:2:2"]);
    let mut child = child
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut input = child.stdin.take().expect("stdin");
    input
        .write_all("what is this?\n".as_bytes())
        .await
        .expect("the prompt is taken");
    drop(input);
    let (code, out, err) = said(&child.wait_with_output().await.expect("it ends"));
    assert_eq!((code, out.as_str()), (0, "ok\n"), "{err}");
    let asked = &model.requests(1).await[0];
    for part in ["what is this?", "File: a.txt", "Cursor: 2:2", "     2\ttwo"] {
        assert!(
            asked.prompt().contains(part),
            "{} should say {part}",
            asked.prompt()
        );
    }
}

#[tokio::test]
async fn events_are_one_json_object_a_line_and_nothing_else() {
    let project = Project::with(&[("a.txt", "one\n")]);
    let model = ScriptedModel::start([
        Reply::call("read", json!({ "filePath": "a.txt" })).into(),
        Reply::text("It says one.").usage(10, 3).into(),
    ])
    .await;
    configure(&project, &model);
    let (code, out, err) = run(&project, &["run", "--prompt", "x", "--json"]).await;
    assert_eq!(code, 0, "{err}");
    let events: Vec<Value> = out
        .lines()
        .map(|line| serde_json::from_str(line).expect(line))
        .collect();
    let kinds: Vec<&str> = events
        .iter()
        .filter_map(|event| event["type"].as_str())
        .collect();
    assert_eq!(kinds.first(), Some(&"started"));
    assert_eq!(kinds.last(), Some(&"finished"));
    for wanted in ["tool_call", "tool_result", "text", "usage"] {
        assert!(kinds.contains(&wanted), "{kinds:?}");
    }
    for (index, event) in events.iter().enumerate() {
        assert_eq!(event["seq"], index + 1);
        assert_eq!(event["session"], events[0]["session"]);
    }
}

#[tokio::test]
async fn exit_codes_say_how_it_ended() {
    let project = Project::with(&[("a.txt", "one\n")]);
    let model = ScriptedModel::start([Reply::status(400, &[], "no").into()]).await;
    configure(&project, &model);
    let (code, _, err) = run(&project, &["run", "--prompt", "x"]).await;
    assert_eq!(code, 1, "{err}");
    for (arguments, part) in [
        (&["run", "--prompt", "  "][..], "the prompt is empty"),
        (
            &["run", "--prompt", "x", "--file", "no-such.txt"],
            "no-such.txt does not exist",
        ),
        (&["run", "--prompt", "x", "--dir", "no-such"], "no-such"),
        (
            &["run", "--prompt", "x", "--model", "nobody/none"],
            "nobody",
        ),
        (&["fix", "a.txt:0"], "counted from 1"),
        (
            &["fix", "a.txt:99"],
            "there is no line 99, the file has 1\n",
        ),
        (
            &["fix", "a.txt:x"],
            "a.txt:x: what follows a.txt is no place in it. Write a.txt:LINE or a.txt:LINE:COLUMN\n",
        ),
        (
            &["run", "--prompt", "x", "--file", "a.txt:1:2:3"],
            "what follows a.txt is no place in it",
        ),
        (&["fix"], "Usage"),
        (&["no-such-command"], "no-such-command"),
    ] {
        let (code, out, err) = run(&project, arguments).await;
        assert_eq!((code, out.as_str()), (2, ""), "{arguments:?}: {err}");
        assert!(err.contains(part), "{arguments:?}: {err} should say {part}");
    }
}

/// README.md shows what it prints; only the folder has another number each time.
#[tokio::test]
async fn try_prints_what_the_readme_shows_with_a_real_rust_analyzer() {
    let project = Project::new();
    let (code, out, err) = run(&project, &["try"]).await;
    assert_eq!(code, 0, "{out}{err}");
    let readme = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md"));
    let readme = readme.expect("a readme");
    let shown = readme
        .split("```")
        .find(|block| block.contains("A new project in "));
    let without_folder = |text: &str| -> Vec<String> {
        let lines = text.trim().lines();
        let lines = lines.filter(|line| !line.starts_with("A new project in "));
        lines.map(str::to_owned).collect()
    };
    let shown = without_folder(shown.expect("a recording"));
    assert_eq!(without_folder(&out), shown);
}

#[cfg(unix)]
#[tokio::test]
async fn an_interrupt_cancels_the_run() {
    let project = Project::with(&[("a.txt", "one\n")]);
    let model = ScriptedModel::start([Reply::hang().into()]).await;
    configure(&project, &model);
    let mut child = command(&project, &["run", "--prompt", "x"]);
    let child = child
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    model.requests(1).await;
    let pid = child.id().expect("it runs").to_string();
    let sent = std::process::Command::new("kill")
        .args(["-INT", &pid])
        .status();
    assert!(sent.is_ok_and(|status| status.success()));
    let (code, _, err) = said(&child.wait_with_output().await.expect("it ends"));
    assert_eq!(code, 130, "{err}");
    assert!(err.contains("cancelled"), "{err}");
}

/// The scripted language server for Rust, in the person's own configuration.
fn with_server(project: &Project, arguments: &[&str]) {
    let mut command = vec![env!("CARGO_BIN_EXE_language_server")];
    command.extend(arguments);
    let config = format!(
        "[language_servers.scripted-server]\ncommand = {command:?}\nlanguages = [\"rust\"]\nroot_markers = [\"scripted.root\"]\nenabled = true\n"
    );
    std::fs::write(project.beside("config").join("config.toml"), config).expect("a configuration");
}

/// A script must be able to tell whether all was fixed, some, or nothing.
#[tokio::test]
async fn the_code_of_a_fix_says_how_much_of_it_was_done() {
    let text = "a BAD\nVERY BAD\nb BAD\nVERY BAD\n";
    let project = Project::with(&[
        ("scripted.root", ""),
        ("a.rs", text),
        ("b.rs", "VERY BAD\n"),
        ("c.rs", "MEH\n"),
    ]);
    with_server(&project, &[]);
    let (code, out, err) = run(&project, &["fix", "a.rs"]).await;
    assert_eq!(code, 4, "{out}{err}");
    assert!(out.starts_with("Fixed 2 of 4 problems."), "{out}{err}");
    assert!(
        err.ends_with("copydesk: 2 of 4 problems are left\n"),
        "{out}{err}"
    );
    assert_eq!(
        project.read("a.rs"),
        text.replace(" BAD\n", " GOOD\n")
            .replace("VERY GOOD", "VERY BAD")
    );
    // Of one place all was fixed, whatever is left elsewhere.
    project.write("a.rs", text);
    let (code, out, err) = run(&project, &["fix", "a.rs:3"]).await;
    assert_eq!(code, 0, "{out}{err}");
    let (code, out, err) = run(&project, &["fix", "b.rs"]).await;
    assert_eq!(code, 1, "{out}{err}");
    assert!(out.starts_with("Not fixed:"), "{out}{err}");
    assert!(err.ends_with("copydesk: failed\n"), "{err}");
    let (code, out, err) = run(&project, &["fix", "c.rs"]).await;
    assert_eq!(code, 0, "{out}{err}");
    assert_eq!(
        out, "No problems found in c.rs.\n1 hint: 1:1 this is MEH\n",
        "{err}"
    );
}

/// What would fix it is named, and not done: it is still there.
#[tokio::test]
async fn a_fix_that_was_denied_is_not_done() {
    let text = "a BAD\nb BAD\n";
    let project = Project::with(&[("scripted.root", ""), ("a.rs", text), ("b.rs", "fine\n")]);
    with_server(&project, &[]);
    for place in ["a.rs:1", "a.rs"] {
        let (code, out, err) = run(&project, &["fix", "--read-only", place]).await;
        assert_eq!(code, 3, "{place}: {out}{err}");
        assert!(out.contains("this run changes nothing"), "{out}{err}");
        assert!(err.ends_with("copydesk: denied\n"), "{err}");
        assert_eq!(project.read("a.rs"), text);
    }
    let (code, out, err) = run(&project, &["fix", "--read-only", "b.rs"]).await;
    assert_eq!(code, 0, "there is nothing to fix: {out}{err}");
    // Of this nothing is tried.
    project.write("b.rs", "VERY BAD\n");
    let (code, out, err) = run(&project, &["fix", "--read-only", "b.rs"]).await;
    assert_eq!(code, 1, "{out}{err}");
    assert!(out.starts_with("Not fixed:"), "{out}{err}");
    project.write("b.rs", "fine\n");
    // What lies elsewhere is denied to any run; one that went on without it has done it.
    let outside = project.beside("config").join("x.txt");
    let denied = || Reply::call("write", json!({ "filePath": outside, "content": "" })).into();
    let change = json!({ "filePath": "a.rs", "oldString": text, "newString": "fine\n" });
    let model = ScriptedModel::start([
        denied(),
        Reply::text("I may not.").into(),
        denied(),
        Reply::call("edit", change).into(),
        Reply::text("Fixed.").into(),
    ])
    .await;
    let path = project.beside("config").join("config.toml");
    let servers = std::fs::read_to_string(&path).expect("a configuration");
    configure(&project, &model);
    let config = std::fs::read_to_string(&path).expect("a configuration");
    std::fs::write(&path, config + &servers).expect("a configuration");
    for (expected, said) in [(3, "I may not.\n"), (0, "Fixed.\n")] {
        let (code, out, err) = run(&project, &["fix", "a.rs"]).await;
        assert_eq!((code, &*out), (expected, said), "{err}");
    }
}

/// An answer in words is all that a question wants, whatever could not be read for it; a change that was tried and denied is
/// one that was not made.
#[tokio::test]
async fn a_run_whose_every_change_was_denied_ends_as_denied() {
    let project = Project::with(&[("a.txt", "one\n")]);
    let outside = project.beside("config").join("x.txt");
    let edit = json!({ "filePath": "a.txt", "oldString": "one", "newString": "two" });
    let edit = || Reply::call("edit", edit.clone()).into();
    let write = || Reply::call("write", json!({ "filePath": outside, "content": "" })).into();
    let read = || Reply::call("read", json!({ "filePath": outside })).into();
    let model = ScriptedModel::start([
        edit(),
        Reply::text("I would write two.").into(),
        write(),
        Reply::text("I may not.").into(),
        read(),
        Reply::text("I may not read it.").into(),
        Reply::text("One.").into(),
        write(),
        edit(),
        Reply::text("Two.").into(),
    ])
    .await;
    configure(&project, &model);
    for (read_only, expected, answer) in [
        (true, 3, "I would write two.\n"),
        (false, 3, "I may not.\n"),
        (false, 0, "I may not read it.\n"),
        (true, 0, "One.\n"),
        (false, 0, "Two.\n"),
    ] {
        let mut arguments = vec!["run", "--prompt", "x"];
        arguments.extend(read_only.then_some("--read-only"));
        let (code, out, err) = run(&project, &arguments).await;
        assert_eq!((code, &*out), (expected, answer), "{err}");
        assert_eq!(err.ends_with("copydesk: denied\n"), expected == 3, "{err}");
    }
}

/// A model that says so and has not done it, or has done half of it.
#[tokio::test]
async fn the_code_of_a_fix_does_not_trust_the_model() {
    for (new, expected) in [("worse BAD", 1), ("fine", 4)] {
        let project = Project::with(&[("scripted.root", ""), ("a.rs", "a BAD\nb BAD\n")]);
        let change = json!({ "filePath": "a.rs", "oldString": "a BAD", "newString": new });
        let model = ScriptedModel::start([
            Reply::call("edit", change).into(),
            Reply::text("All fixed.").into(),
        ])
        .await;
        with_server(&project, &[]);
        let path = project.beside("config").join("config.toml");
        let servers = std::fs::read_to_string(&path).expect("a configuration");
        configure(&project, &model);
        let config = std::fs::read_to_string(&path).expect("a configuration");
        std::fs::write(&path, config + &servers).expect("a configuration");
        let (code, out, err) = run(&project, &["fix", "a.rs"]).await;
        assert_eq!(code, expected, "{new}: {out}{err}");
        assert_eq!(out, "All fixed.\n", "{err}");
    }
}

/// What is typed is seen from --dir; or from where one stands, as a shell completes it.
#[tokio::test]
async fn a_file_is_looked_for_in_the_folder_that_is_named() {
    let project = Project::with(&[
        ("p/c/scripted.root", ""),
        ("p/c/a.rs", "this is BAD\n"),
        ("p/c/b.rs", "this is BAD\n"),
    ]);
    with_server(&project, &[]);
    for (file, name) in [("a.rs:1", "p/c/a.rs"), ("p/c/b.rs", "p/c/b.rs")] {
        let (code, out, err) = run(&project, &["fix", "--dir", "p/c", file]).await;
        assert_eq!(code, 0, "{file}: {out}{err}");
        assert_eq!(project.read(name), "this is GOOD\n");
    }
    let (code, _, err) = run(&project, &["fix", "--dir", "p/c", "none.rs"]).await;
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("p/c/none.rs does not exist"), "{err}");
}

/// rust-analyzer finds nothing in what belongs to no crate, and says so only by a hint.
#[tokio::test]
async fn a_file_that_is_part_of_no_crate_is_said_to_be() {
    let project = Project::rust("pub fn one() {}\n");
    project.write("src/lost.rs", "pub fn lost() -> u32 {\n    \"text\"\n}\n");
    let (code, out, err) = run(&project, &["fix", "src/lost.rs"]).await;
    assert_eq!(code, 0, "{out}{err}");
    assert!(
        out.starts_with("No problems found in src/lost.rs") && out.contains("This file is not "),
        "{out}{err}"
    );
}

#[tokio::test]
async fn fix_finds_and_fixes_problems_without_an_editor() {
    let project = Project::with(&[
        ("scripted.root", ""),
        ("a.rs", "this is BAD\nand BAD\n"),
        ("a.unknown", "this is BAD\n"),
    ]);
    with_server(&project, &[]);
    let (code, out, err) = run(&project, &["fix", "a.rs:2"]).await;
    assert_eq!(code, 0, "{out}{err}");
    assert!(out.contains("the problem is gone"), "{out}{err}");
    assert_eq!(project.read("a.rs"), "this is BAD\nand GOOD\n");
    let (code, out, err) = run(&project, &["fix", "a.rs"]).await;
    assert_eq!(code, 0, "{out}{err}");
    assert_eq!(project.read("a.rs"), "this is GOOD\nand GOOD\n");
    let (code, out, err) = run(&project, &["fix", "a.rs"]).await;
    assert_eq!(code, 0, "{out}{err}");
    assert!(out.contains("No problems found in a.rs."), "{out}{err}");
    let (code, out, err) = run(&project, &["fix", "a.unknown"]).await;
    assert_eq!(code, 1, "{out}{err}");
    assert!(err.contains("no language server"), "{err}");
}

/// Whoever runs it in a script must be able to tell that nothing was fixed.
#[tokio::test]
async fn a_fix_that_fixes_nothing_has_failed() {
    let project = Project::with(&[("scripted.root", ""), ("a.rs", "this is BAD\n")]);
    let model = ScriptedModel::start([
        Reply::text("I would not know how.").into(),
        Reply::text("It would take one word.").into(),
    ])
    .await;
    configure(&project, &model);
    let path = project.beside("config").join("config.toml");
    let config = std::fs::read_to_string(&path).expect("a configuration");
    let server = format!(
        "[language_servers.scripted-server]\ncommand = [{:?}]\nlanguages = [\"rust\"]\nroot_markers = [\"scripted.root\"]\nenabled = true\n",
        env!("CARGO_BIN_EXE_language_server")
    );
    std::fs::write(&path, config + &server).expect("a configuration");
    let (code, out, err) = run(&project, &["fix", "a.rs"]).await;
    assert_eq!(code, 1, "{out}{err}");
    assert_eq!(out, "I would not know how.\n", "{err}");
    // What was said need not be said again.
    assert!(err.ends_with("copydesk: failed\n"), "{err}");
    assert!(!err.contains("I would not"), "{err}");
    // It may not change anything, and the problem is there as before.
    let (code, out, err) = run(&project, &["fix", "a.rs", "--read-only"]).await;
    assert_eq!(code, 1, "{out}{err}");
    assert_eq!(out, "It would take one word.\n", "{err}");
    assert!(err.ends_with("copydesk: failed\n"), "{err}");
    let (code, out, err) = run(
        &project,
        &["run", "--prompt", "x", "--model", "builtin/quickfix"],
    )
    .await;
    assert_eq!(code, 1, "{out}{err}");
    assert!(err.contains("OPENAI_API_KEY"), "{out}{err}");
}
