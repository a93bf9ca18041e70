//! What servers would change, by a scripted one: renames, formatting, and the commands of actions. Nothing is changed.

mod stand;

use std::time::{Duration, SystemTime};

use langserver::{Answer, FileChange, FileEdit, QueryError};
use serde_json::{Value, json};
use stand::{STAGE, Stand, at, never, servers, write};
use workspace::{ByteOffset, ByteRange, FileStep};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn able() -> Value {
    json!({
        "hoverProvider": true, "definitionProvider": true, "renameProvider": {"prepareProvider": true}, "textDocumentSync": 2,
        "documentFormattingProvider": true, "codeActionProvider": {"resolveProvider": true},
        "executeCommandProvider": {"commands": ["do.it"]},
    })
}

fn script(on: Value) -> Value {
    json!({"capabilities": able(), "on": on})
}

fn name(uri: &workspace::DocumentUri) -> String {
    let path = uri.path().and_then(|path| path.file_name());
    path.expect("a name").to_string_lossy().into_owned()
}

fn file(file: &FileEdit) -> String {
    let edits: Vec<_> = file
        .edits
        .iter()
        .map(|edit| {
            format!(
                "{}:{:?}={:?}",
                edit.range,
                file.snapshot.text.slice(edit.range),
                edit.text
            )
        })
        .collect();
    format!("{} {}", name(&file.uri), edits.join(" "))
}

fn shown(changes: &[FileChange]) -> Vec<String> {
    let one = |change: &FileChange| match change {
        FileChange::Edit(edit) => file(edit),
        FileChange::File(FileStep::Create { uri, .. }) => format!("create {}", name(uri)),
        FileChange::File(FileStep::Rename { from, to, .. }) => {
            format!("{} to {}", name(from), name(to))
        }
        FileChange::File(FileStep::Delete { uri, .. }) => format!("delete {}", name(uri)),
    };
    changes.iter().map(one).collect()
}

async fn renamed(stand: &Stand) -> Result<Vec<String>, String> {
    let renamed = stand
        .pool
        .rename(&stand.uri("a.rs"), ByteOffset(3), "new", &never())
        .await;
    let answer = renamed.map_err(|error| error.to_string())?;
    assert!(answer.complete && answer.left_out == 0);
    Ok(shown(&answer.value))
}

/// Edits are in the text that the server had, steps in their order; a file that a step makes is edited as it is then.
#[tokio::test]
async fn a_rename_with_files_made_moved_and_deleted() {
    let stand = Stand::scripted(json!(null));
    let (a, b, c) = (stand.uri("a.rs"), stand.uri("b.rs"), stand.uri("c.rs"));
    let edit = |start, end| json!({"range": at(0, start, end), "newText": "new"});
    let of = |uri: &str, version: Value, edits: Value| json!({"textDocument": {"uri": uri, "version": version}, "edits": edits});
    let changes = json!({"documentChanges": [
        of(a.as_str(), json!(1), json!([edit(3, 4)])),
        of(b.as_str(), json!(null), json!([edit(3, 4)])),
        {"kind": "rename", "oldUri": b.as_str(), "newUri": c.as_str()},
        of(c.as_str(), json!(null), json!([edit(3, 6)])),
        {"kind": "create", "uri": stand.uri("d.rs").as_str(), "options": {"overwrite": true}},
        of(stand.uri("d.rs").as_str(), json!(null), json!([edit(0, 0)])),
        {"kind": "delete", "uri": stand.uri("e.rs").as_str()},
    ]});
    let overlapping = json!({"changes": {a.as_str(): [edit(0, 4), edit(3, 5)]}});
    let answer = |value: &Value| json!([{"answer": value}]);
    let nothing = json!([{"answer": null}]);
    let place = json!([{"answer": {"range": at(0, 3, 4), "placeholder": "a"}}]);
    let by_default = json!([{"answer": {"defaultBehavior": true}}]);
    let error = |message: &str| json!([{"error": {"code": -32602, "message": message}}]);
    let old = json!({"documentChanges": [of(a.as_str(), json!(7), json!([edit(3, 4)]))]});
    let stand = stand.acting(script(json!({
        "textDocument/prepareRename": [place, nothing, error("not a name"), by_default],
        "textDocument/rename": [
            answer(&changes), nothing, error("new is there already"), answer(&overlapping), answer(&old), answer(&json!(5)),
            answer(&json!({"changes": {}})),
        ],
    })));
    stand.open("a.rs", "fn é() {}");
    write(&stand.path("b.rs"), "fn é() {}\n");
    let a = a.path().expect("a path").display().to_string();
    let expected = [
        Ok(vec![
            "a.rs 3..5:\"é\"=\"new\"",
            "b.rs 3..5:\"é\"=\"new\"",
            "b.rs to c.rs",
            "c.rs 3..6:\"new\"=\"new\"",
            "create d.rs",
            "d.rs 0..0:\"\"=\"new\"",
            "delete e.rs",
        ]),
        Err("scripted failed: what stands there can't be renamed".to_owned()),
        Err("scripted failed: textDocument/prepareRename: not a name (-32602)".to_owned()),
        Err("scripted failed: what stands there can't be renamed".to_owned()),
        Err("scripted failed: textDocument/rename: new is there already (-32602)".to_owned()),
        Err(format!(
            "scripted failed: the edits of {a} don't go together: the ranges 0..5 and 3..6 overlap"
        )),
        Err(format!(
            "scripted failed: the edit of {a} is for another version of it (7, not 1)"
        )),
        Err("scripted failed: an edit that is none".to_owned()),
        Ok(vec![]),
    ];
    for expected in expected {
        let expected = expected.map(|steps| steps.into_iter().map(str::to_owned).collect());
        assert_eq!(renamed(&stand).await, expected);
    }
}

/// An edit that falls on other text than the name was made for a text that nobody has: nothing of it is taken.
#[tokio::test]
async fn a_rename_that_would_hit_something_else_is_refused() {
    let stand = Stand::scripted(json!(null));
    let (a, b) = (stand.uri("a.rs"), stand.uri("b.rs"));
    let edit = |line, start, end| json!({"range": at(line, start, end), "newText": "new"});
    let changes =
        |line| json!({"changes": {a.as_str(): [edit(0, 3, 4)], b.as_str(): [edit(line, 9, 10)]}});
    let stand = stand.acting(script(json!({
        "textDocument/prepareRename": [[{"answer": {"defaultBehavior": true}}]],
        "textDocument/rename": [[{"answer": changes(0)}], [{"answer": changes(1)}]],
    })));
    stand.open("b.rs", "fn b() { 1; }\nfn c() { a(); }\n");
    let b = b.path().expect("a path").display();
    assert_eq!(
        renamed(&stand).await,
        Err(format!(
            "scripted failed: its rename would change what is not that name: line 1 of {b}, which is `fn b() {{ 1; }}`. \
             It may know another text of that file"
        ))
    );
    assert_eq!(renamed(&stand).await.map(|all| all.len()), Ok(2));
}

/// What lies outside is nobody's to read, whoever would change it.
#[tokio::test]
async fn a_rename_that_would_hit_something_outside_does_not_tell_what() {
    let folder = tempfile::tempdir().expect("a folder");
    let outside = folder.path().join("outside.rs");
    write(&outside, "the secret\n");
    let stand = Stand::scripted(json!(null));
    let place = workspace::DocumentUri::from_path(&outside).expect("a uri");
    let edit = json!({"changes": {place.as_str(): [{"range": at(0, 4, 10), "newText": "new"}]}});
    let stand = stand.acting(script(json!({
        "textDocument/prepareRename": [[{"answer": {"defaultBehavior": true}}]],
        "textDocument/rename": [[{"answer": edit}]],
    })));
    assert_eq!(
        renamed(&stand).await,
        Err(format!(
            "scripted failed: its rename would change what is not that name: line 1 of {} (outside the workspace). \
             It may know another text of that file",
            outside.display()
        ))
    );
}

/// A server that takes other files from disk does not know what is typed in them.
#[tokio::test]
async fn what_reads_the_disk_is_not_relied_on_beside_unsaved_text() {
    let files = [("a.rs", "fn a() {}\n"), ("b.rs", "fn b() { a() }\n")];
    let stand = Stand::with(
        &files,
        |folder| {
            let uri = |name: &str| {
                format!(
                    "file://{}",
                    folder.canonicalize().expect("a path").join(name).display()
                )
            };
            let edit =
                json!({"changes": {uri("a.rs"): [{"range": at(0, 3, 4), "newText": "new"}]}});
            let on = json!({
                "textDocument/prepareRename": [[{"answer": {"defaultBehavior": true}}]],
                "textDocument/rename": [[{"answer": edit}]],
                "textDocument/definition": [[{"answer": [{"uri": uri("b.rs"), "range": at(0, 3, 4)}]}]],
            });
            let mut script = script(on);
            script["log"] = json!(folder.join("log"));
            write(&folder.join("script"), &script.to_string());
            servers(
                json!({"python-lsp-server": {"command": [STAGE, "serve", folder.join("script")], "languages": ["rust"], "ready": "initialized"}}),
            )
        },
        langserver::Limits::default(),
    );
    let trusted = async || {
        let uri = stand.uri("a.rs");
        let found = stand.pool.definition(&uri, ByteOffset(3), &never()).await;
        let found = found.expect("answered");
        (found.complete, found.from_disk)
    };
    // What it is asked about it knows, and the other one is as on disk.
    stand.open("a.rs", "fn a() {}\n");
    stand.open("b.rs", "fn b() { a() }\n");
    stand.replace("a.rs", "{}", "{ 1 }");
    assert_eq!(trusted().await, (true, false));
    assert_eq!(renamed(&stand).await.map(|all| all.len()), Ok(1));
    stand.replace("b.rs", "fn", "// typed\nfn");
    assert_eq!(trusted().await, (false, true));
    assert_eq!(
        renamed(&stand).await,
        Err(format!(
            "python-lsp-server failed: it reads other files from disk, and {} is not saved: its edits would be of another \
             text than the editor's. It can rename when that is saved",
            stand.path("b.rs").display()
        ))
    );
    stand.buffers.save(&stand.uri("b.rs"), None);
    assert_eq!(trusted().await, (true, false));
}

/// Where an import is an alias, it is renamed where it is defined; whoever gave it a name of his own renames that.
#[tokio::test]
async fn a_rename_at_an_alias_is_one_at_the_definition() {
    let outside = tempfile::tempdir().expect("a folder");
    write(&outside.path().join("c.ts"), "fn a() {}");
    let dependency = format!("file://{}/c.ts", outside.path().display());
    let there = || ("b.ts", at(0, 3, 4));
    for (text, definitions, expected) in [
        ("import {a}; a()", vec![there()], "b.ts 0:3"),
        ("import {a as own}; own()", vec![there()], "a.ts 0:3"),
        (
            "import {a}; a()",
            vec![there(), ("b.ts", at(0, 0, 2))],
            "a.ts 0:3",
        ),
        (
            "import {a}; a()",
            vec![(dependency.as_str(), at(0, 3, 4))],
            "a.ts 0:3",
        ),
        ("import {a}; a()", vec![], "a.ts 0:3"),
    ] {
        let stand = Stand::with(
            &[("a.ts", text), ("b.ts", "fn a() {}")],
            |folder| {
                let uri = |name: &str| {
                    let path = folder.canonicalize().expect("a path").join(name);
                    let uri = workspace::DocumentUri::from_path(&path).expect("a uri");
                    uri.as_str().to_owned()
                };
                let link = |(name, place): &(&str, Value)| {
                    let target = match name.starts_with("file:") {
                        true => (*name).to_owned(),
                        false => uri(name),
                    };
                    json!({"targetUri": target, "targetRange": at(0, 0, 9), "targetSelectionRange": place})
                };
                let links: Vec<Value> = definitions.iter().map(link).collect();
                let mut script = script(json!({
                    "textDocument/definition": [[{"answer": links}]],
                    "textDocument/prepareRename": [[{"answer": {"defaultBehavior": true}}]],
                    "textDocument/rename": [[{"answer": {"changes": {}}}]],
                }));
                script["log"] = json!(folder.join("log"));
                stand::write(&folder.join("script"), &script.to_string());
                servers(
                    json!({"typescript-language-server": {"command": [stand::STAGE, "serve", folder.join("script")], "languages": ["typescript"]}}),
                )
            },
            langserver::Limits::default(),
        );
        let place = ByteOffset(text.find("()").expect("a call") - 1);
        let uri = stand.uri("a.ts");
        stand
            .pool
            .rename(&uri, place, "new", &never())
            .await
            .expect("answered");
        let asked = stand.log().pop().expect("asked")["params"].clone();
        let document =
            workspace::DocumentUri::parse(asked["textDocument"]["uri"].as_str().expect("a uri"));
        let position = &asked["position"];
        let character = match name(document.as_ref().expect("a uri")).as_str() {
            "a.ts" => position["character"].as_u64().expect("a number") - place.0 as u64 + 3,
            _ => position["character"].as_u64().expect("a number"),
        };
        let found = format!(
            "{} {}:{character}",
            name(&document.expect("a uri")),
            position["line"]
        );
        assert_eq!(found, expected, "{text}");
        assert_eq!(asked["newName"], "new");
    }
}

async fn formatted(stand: &Stand, ranges: &[ByteRange]) -> Result<String, String> {
    let formatted = stand
        .pool
        .format(&stand.uri("a.rs"), ranges, &never())
        .await;
    formatted
        .map(|Answer { value, .. }| file(&value))
        .map_err(|error| error.to_string())
}

#[tokio::test]
async fn formatting_is_small_and_stays_in_its_ranges() {
    let lines = |changed: &[usize]| -> String {
        let line = |line: usize| match changed.contains(&line) {
            true => format!("  line {line}\n"),
            false => format!("line {line}\n"),
        };
        (0..60).map(line).collect()
    };
    let (before, after) = (lines(&[]), lines(&[2, 40]));
    let whole = json!([{"range": {"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}}, "newText": after}]);
    let of = |edits: &Value| json!([{"answer": edits}]);
    let odd = json!([{"newText": "x"}]);
    let stand = Stand::scripted(script(json!({"textDocument/formatting": [
        of(&whole), of(&whole), of(&json!(null)), of(&odd), [{"error": {"code": -32603, "message": "a syntax error"}}],
    ]})));
    stand.open("a.rs", &before);
    let start = before.find("line 40").expect("a line");
    let second = ByteRange::new(start, start + 3);
    let first = "14..21:\"line 2\\n\"=\"  line 2\\n\"";
    let last = format!("{start}..{}:\"line 40\\n\"=\"  line 40\\n\"", start + 8);
    let expected = [
        (vec![], Ok(format!("a.rs {first} {last}"))),
        (vec![second], Ok(format!("a.rs {last}"))),
        (vec![], Ok("a.rs ".to_owned())),
        (
            vec![],
            Err(
                "scripted failed: its answer to textDocument/formatting is none that can be read"
                    .to_owned(),
            ),
        ),
        (
            vec![],
            Err("scripted failed: textDocument/formatting: a syntax error (-32603)".to_owned()),
        ),
    ];
    for (ranges, expected) in expected {
        assert_eq!(formatted(&stand, &ranges).await, expected);
    }
    let asked = stand.log().pop().expect("asked");
    let options = json!({"tabSize": 4, "insertSpaces": true, "trimTrailingWhitespace": true});
    assert_eq!(asked["params"]["options"], options);
}

#[tokio::test]
async fn ranges_are_formatted_where_a_server_can() {
    let edit = json!([{"range": at(0, 0, 2), "newText": "xx"}]);
    let other =
        json!([{"range": at(0, 0, 2), "newText": "xx"}, {"range": at(0, 7, 7), "newText": " "}]);
    let stand = Stand::scripted(json!({
        "capabilities": {"documentRangeFormattingProvider": true, "textDocumentSync": 2},
        "on": {"textDocument/rangeFormatting": [[{"answer": edit}], [{"answer": other}]]},
    }));
    stand.open("a.rs", "\tfn a() {}");
    let ranges = [ByteRange::new(0, 3), ByteRange::new(5, 8)];
    let found = formatted(&stand, &ranges).await;
    assert_eq!(
        found,
        Ok("a.rs 0..2:\"\\tf\"=\"xx\" 7..7:\"\"=\" \"".into())
    );
    let asked: Vec<Value> = stand
        .log()
        .into_iter()
        .filter(|message| message["method"] == "textDocument/rangeFormatting")
        .map(|message| message["params"].clone())
        .collect();
    assert_eq!(asked[0]["range"], at(0, 0, 3));
    assert_eq!(asked[1]["range"], at(0, 5, 8));
    assert_eq!(asked[0]["options"]["insertSpaces"], false);
    let whole = formatted(&stand, &[]).await;
    assert_eq!(
        whole,
        Err("scripted does not support textDocument/formatting".into())
    );
}

/// What a server wants edited while its command runs is the action's edit; at any other time it is refused.
#[tokio::test]
async fn actions_that_are_commands() {
    let stand = Stand::scripted(json!(null));
    let (a, b) = (stand.uri("a.rs"), stand.uri("b.rs"));
    let edit = |uri: &str, text: &str| json!({"ask": ["workspace/applyEdit", {"edit": {"changes": {uri: [{"range": at(0, 3, 4), "newText": text}]}}}]});
    let actions = json!([
        {"title": "bare", "command": "do.it", "arguments": [1]},
        {"title": "two files", "command": {"title": "do", "command": "do.it"}},
        {"title": "twice", "command": {"title": "do", "command": "do.it"}},
        {"title": "nothing", "command": {"title": "do", "command": "do.it"}},
        {"title": "fails", "command": {"title": "do", "command": "do.it"}},
        {"title": "an editor's", "command": {"title": "do", "command": "editor.do"}},
        {"title": "neither"},
    ]);
    let done = json!({"answer": null});
    let stand = stand.acting(script(json!({
        "textDocument/codeAction": [[{"answer": actions}]],
        "codeAction/resolve": [[{"answer": {"title": "t", "command": {"title": "do", "command": "do.it", "arguments": [2]}}}], [{"error": {"code": -32603, "message": "oh"}}], [{"answer": {"title": "t"}}]],
        "workspace/executeCommand": [
            [edit(a.as_str(), "x"), done],
            [edit(b.as_str(), "y"), edit(a.as_str(), "x"), done],
            [edit(a.as_str(), "x"), edit(a.as_str(), "y"), done],
            [done],
            [edit(a.as_str(), "x"), {"error": {"code": 1, "message": "no"}}],
        ],
        "textDocument/hover": [[edit(a.as_str(), "z"), {"answer": {"contents": "h"}}]],
    })));
    stand.open("a.rs", "fn é() {}");
    let offered = stand
        .pool
        .code_actions(&a, ByteRange::new(3, 5), &[], &never())
        .await
        .expect("answered")
        .value;
    let resolve = async |at: usize| {
        let resolved = stand.pool.resolve(&offered[at], &never()).await;
        resolved
            .map(|changes| shown(&changes))
            .map_err(|error| error.to_string())
    };
    let (of_a, of_b) = ("a.rs 3..5:\"é\"=\"x\"", "b.rs 3..4:\"b\"=\"y\"");
    assert_eq!(resolve(0).await, Ok(vec![of_a.to_owned()]));
    let run = stand
        .log()
        .into_iter()
        .find(|message| message["method"] == "workspace/executeCommand");
    let params = json!({"command": "do.it", "arguments": [1]});
    assert_eq!(run.expect("run")["params"], params);
    assert_eq!(resolve(1).await, Ok(vec![of_b.to_owned(), of_a.to_owned()]));
    let run = stand
        .log()
        .into_iter()
        .rfind(|message| message["method"] == "workspace/executeCommand");
    let params = json!({"command": "do.it", "arguments": [2]});
    assert_eq!(run.expect("run")["params"], params, "as it was resolved");
    let oh = "scripted failed: codeAction/resolve: oh (-32603)";
    assert_eq!(resolve(2).await, Err(oh.into()));
    let a_path = a.path().expect("a path").display().to_string();
    for (action, expected) in [
        (2, format!("scripted failed: the action's command do.it edits {a_path} twice, one edit after the other")),
        (3, "scripted failed: the action is only a command: do.it ran, and wanted nothing edited".to_owned()),
        (4, "scripted failed: workspace/executeCommand: no (1)".to_owned()),
        (5, "scripted does not support the action's command editor.do, which is an editor's (workspace/executeCommand)".to_owned()),
        (6, "scripted failed: the action has neither an edit nor a command".to_owned()),
    ] {
        assert_eq!(resolve(action).await, Err(expected));
    }
    // No command runs: nothing is taken.
    stand.hover("a.rs").await.expect("answered");
    let answers: Vec<Value> = stand
        .log()
        .into_iter()
        .filter(|message| message["result"]["applied"].is_boolean())
        .map(|message| message["result"]["applied"].clone())
        .collect();
    assert_eq!(answers, [true, true, true, true, true, true, false]);
}

/// Edits of a text that the server was not told are of what was on disk when it was asked: where that changed meanwhile
/// they would land elsewhere, and nothing is made.
#[tokio::test]
async fn an_edit_of_a_file_that_changed_while_the_server_was_asked_is_refused() {
    let stand = Stand::scripted(json!(null));
    let (a, b, c) = (stand.uri("a.rs"), stand.uri("b.rs"), stand.uri("c.rs"));
    let edit = |uri: &str| json!({"textDocument": {"uri": uri, "version": null}, "edits": [{"range": at(0, 3, 4), "newText": "x"}]});
    let with =
        |title: &str, steps: Value| json!({"title": title, "edit": {"documentChanges": steps}});
    let of_b = json!([edit(b.as_str())]);
    let made = json!({"kind": "create", "uri": c.as_str(), "options": {"overwrite": true}});
    let mut filled = edit(c.as_str());
    filled["edits"][0]["range"] = at(0, 0, 0);
    let moved = json!({"kind": "rename", "oldUri": b.as_str(), "newUri": c.as_str()});
    let actions = json!([
        with("edit", of_b.clone()),
        {"title": "to be resolved"},
        {"title": "command", "command": "do.it"},
        with("moved", json!([moved, edit(c.as_str())])),
        with("made", json!([made, filled])),
    ]);
    let stand = stand.acting(script(json!({
        "textDocument/codeAction": [[{"keep": null}]],
        "textDocument/hover": [[{"kept": actions}, {"answer": null}]],
        "codeAction/resolve": [[{"answer": with("resolved", of_b)}]],
        "workspace/executeCommand": [[{"ask": ["workspace/applyEdit", {"edit": {"documentChanges": [edit(b.as_str())]}}]}, {"answer": null}]],
    })));
    let act = async |meanwhile: &dyn Fn()| {
        let (range, never) = (ByteRange::new(3, 4), never());
        let offered = stand.pool.code_actions(&a, range, &[], &never);
        let offered = stand
            .meanwhile("textDocument/codeAction", offered, meanwhile)
            .await;
        let mut all = Vec::new();
        for action in offered.expect("answered").value {
            let resolved = stand.pool.resolve(&action, &never).await;
            all.push(
                resolved
                    .map(|changes| shown(&changes).join(", "))
                    .map_err(|error| error.to_string()),
            );
        }
        all
    };
    let (early, late) = (SystemTime::UNIX_EPOCH, SystemTime::now() + DAY);
    let text = "fn b() {}\n";
    let of_b = || Ok("b.rs 3..4:\"b\"=\"x\"".to_owned());
    let of_c = || Ok("create c.rs, c.rs 0..0:\"\"=\"x\"".to_owned());
    let moved = || Ok("b.rs to c.rs, c.rs 3..4:\"b\"=\"x\"".to_owned());
    let refused = || {
        let b = b.path().expect("a path").display();
        Err(format!(
            "scripted failed: {b} changed while scripted was asked: ask again"
        ))
    };
    stand.hover("a.rs").await.expect("answered");
    // How old a file says that it is does not matter.
    stand::touch(&stand.path("b.rs"), late);
    let made = || stand.written("c.rs", "", late);
    assert_eq!(act(&made).await, [of_b(), of_b(), of_b(), moved(), of_c()]);
    let none = || [refused(), refused(), refused(), refused(), of_c()];
    let above = format!("// above\n{text}");
    // Before it was resolved or run, and yet later than it was offered.
    let now = || stand.written("b.rs", &above, early);
    assert_eq!(act(&now).await, none());
    stand::write(&stand.path("b.rs"), text);
    // Opened and not touched, it is as on disk.
    let opened = || drop(stand.open("b.rs", text));
    let all = act(&opened).await;
    assert_eq!(all, [of_b(), of_b(), of_b(), moved(), of_c()]);
    stand.buffers.close(&b);
    let typed = || {
        opened();
        stand.replace("b.rs", "fn", "// typed\nfn");
    };
    // Resolved and run it is with the new text at hand.
    let all = act(&typed).await;
    assert_eq!([&all[0], &all[3]], [&refused(), &refused()]);
}

/// A command that never ends ends with its time; what it wanted until then is forgotten.
#[tokio::test]
async fn a_command_that_never_ends() {
    let action = json!([{"title": "t", "command": "do.it"}]);
    let stand = Stand::scripted_within(
        script(json!({
            "textDocument/codeAction": [[{"answer": action}]], "workspace/executeCommand": [[]],
        })),
        stand::short(),
    );
    let uri = stand.uri("a.rs");
    let range = ByteRange::new(0, 0);
    // Until it has started.
    let offered = loop {
        match stand.pool.code_actions(&uri, range, &[], &never()).await {
            Err(QueryError::NotReady { .. }) => {}
            answer => break answer.expect("answered").value,
        }
    };
    let error = stand.pool.resolve(&offered[0], &never()).await;
    assert_eq!(
        error.expect_err("too late").to_string(),
        "scripted did not answer workspace/executeCommand within 0.3 s"
    );
}
