//! Real Neovim with two servers on one buffer: the user's own rust-analyzer, and copydesk.

use serde_json::Value;
use tests::fixtures::Project;
use tests::neovim;

const INIT: &str = include_str!("neovim/init.lua");

const SCRIPT: &str = include_str!("neovim/main_job.lua");

#[tokio::test]
async fn the_main_job_in_an_unsaved_buffer_of_a_real_crate() {
    let project = Project::real_crate();
    let file = project.path("src/lib.rs");
    let disk = project.read("src/lib.rs");
    let file = file.to_str().expect("a text path");
    let shown = neovim::run(INIT, SCRIPT, &[("TEST_FILE", file)]).await;

    assert_ne!(shown["broken"], disk.as_str());
    assert_eq!(
        shown["diagnostic"],
        "cannot mutate immutable variable `count`"
    );
    assert_eq!(
        shown["title"],
        "Fix with agent: cannot mutate immutable variable `count`"
    );
    assert_eq!(
        shown["fixed"],
        disk.as_str(),
        "the fix puts `mut` back: {:?}",
        shown["outcome"]
    );
    assert_eq!(shown["modified"], Value::Bool(true), "nothing was saved");
    assert_eq!(
        shown["undone"],
        Value::Bool(true),
        "one undo takes the fix back"
    );
    assert_eq!(project.read("src/lib.rs"), disk, "the disk is untouched");
}
