//! What only the compiler finds follows saves: it counts for the text that was checked, and its fixes
//! are never applied to another (they would land in the wrong place).

use std::process::Stdio;

use tests::client::binary;
use tests::fixtures::Project;
use tokio::process::Command;

const LIB: &str = "use std::collections::HashMap;
use std::fmt;

pub fn seven(a: u32, b: u32) -> u32 {
    7
}
";

#[tokio::test]
async fn fixes_after_fixes_land_where_they_belong_rust_analyzer() {
    let project = Project::rust(LIB);
    let output = Command::new(binary())
        .args(["fix", "src/lib.rs"])
        .current_dir(project.root())
        .env("COPYDESK_CONFIG_DIR", project.beside("config"))
        .env_remove("OPENAI_API_KEY")
        .env_remove("OPENROUTER_API_KEY")
        .env_remove("ANTHROPIC_API_KEY")
        .env_remove("COPYDESK_MODEL")
        .stdin(Stdio::null())
        .output()
        .await
        .expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.starts_with("Fixed 4 of 4 problems."), "{said}");
    let text = project.read("src/lib.rs");
    assert_eq!(
        text.trim_start(),
        "pub fn seven(_a: u32, _b: u32) -> u32 {\n    7\n}\n"
    );
}
