//! Where `cargo xtask test` puts what tests need beside cargo: it only says where.

use std::path::PathBuf;

/// The folder of all tools: as named in the environment, else that of this build.
pub fn tools() -> PathBuf {
    std::env::var_os("COPYDESK_TEST_TOOLS").map_or_else(
        || {
            let test = std::env::current_exe().expect("this test's path");
            let target = test.ancestors().nth(3).expect("the target folder");
            target.join("tools")
        },
        PathBuf::from,
    )
}

/// One of them; panics if it is not there.
pub fn tool(path: &str) -> PathBuf {
    let path = tools().join(path);
    assert!(
        path.exists(),
        "{} is not there: run `cargo xtask test`, which installs it",
        path.display()
    );
    path
}
