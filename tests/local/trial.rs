//! The trial: every project, by every fixer, one after the other. It tells each outcome as soon as it is there.

use crate::fixing::{self, Fixed, Fixer};
use crate::project::Project;
use crate::table::{self, Row};

/// Only what has this in its name is tried: `FIXER/PROJECT`.
const ONLY: &str = "COPYDESK_TEST_ONLY";

#[tokio::test]
#[ignore = "cargo xtask test --local-model"]
async fn each_project_is_fixed_or_not() {
    let fixers = [Fixer::quickfix()];
    let only = std::env::var(ONLY).unwrap_or_default();
    let mut rows = Vec::new();
    let mut tried = 0;
    for project in Project::all() {
        let mut fixed = Vec::new();
        for fixer in &fixers {
            let name = format!("{}/{}", fixer.title, project.name);
            if !name.contains(&only) {
                continue;
            }
            let outcome = fixing::fix(&project, fixer).await.expect("it runs");
            tell(&name, &outcome);
            fixed.push(outcome);
        }
        tried += fixed.len();
        rows.push(Row { project, fixed });
    }
    assert!(tried > 0, "no trial has {only} in its name");
    let all = tried == rows.len() * fixers.len();
    if all {
        let table = table::table(&fixers, &rows);
        println!("\n{table}");
        if std::env::var_os("UPDATE_DOCS").is_some() {
            table::write(&table);
        }
    }
}

fn tell(name: &str, fixed: &Fixed) {
    let solved = match &fixed.left {
        Ok(()) => "solved".to_owned(),
        Err(why) => format!("not solved ({why})"),
    };
    let run = &fixed.run;
    println!(
        "{name}: {solved}; {}, {:.0} s, {} calls, {} tokens in, {} out: {}",
        run.status,
        run.time.as_secs_f64(),
        run.calls,
        run.input,
        run.output,
        run.message.lines().next().unwrap_or_default(),
    );
}
