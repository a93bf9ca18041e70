//! The trials: whether the model is understood at all, then every project by every fixer, one after the other. Each outcome is told as
//! soon as it is there.

use std::time::Instant;

use crate::fixing::{self, Fixed, Fixer};
use crate::llama::Llama;
use crate::project::Project;
use crate::speaks;
use crate::table::{self, Row};

/// Only what has this in its name is tried.
const ONLY: &str = "COPYDESK_TEST_ONLY";

#[tokio::test]
#[ignore = "cargo xtask test --local-model"]
async fn what_a_small_model_can_do() {
    let only = std::env::var(ONLY).unwrap_or_default();
    let wanted = |name: &str| name.contains(&only);
    let projects = Project::all();
    let formats = speaks::FORMATS.iter().filter(|(name, _)| wanted(name));
    let formats: Vec<_> = formats.collect();
    let needs_model = !formats.is_empty()
        || projects
            .iter()
            .any(|project| wanted(&trial(Fixer::MODEL, project)));
    let llama = match needs_model {
        true => Some(Llama::start().await.expect("the model")),
        false => None,
    };
    for (name, api) in &formats {
        let begun = Instant::now();
        let llama = llama.as_ref().expect("it is needed");
        speaks::it_calls_a_tool(*api, llama).await;
        println!(
            "{name}: a right call; {:.0} s",
            begun.elapsed().as_secs_f64()
        );
    }
    let mut fixers = vec![Fixer::quickfix()];
    fixers.extend(llama.as_ref().map(Fixer::model));
    let mut rows = Vec::new();
    for project in projects {
        let mut fixed = Vec::new();
        for fixer in &fixers {
            let name = trial(fixer.title, &project);
            if wanted(&name) {
                let outcome = fixing::fix(&project, fixer).await.expect("it runs");
                tell(&name, &outcome);
                fixed.push(outcome);
            }
        }
        rows.push(Row { project, fixed });
    }
    let tried: usize = rows.iter().map(|row| row.fixed.len()).sum();
    assert!(tried + formats.len() > 0, "no trial has {only} in its name");
    if tried == rows.len() * fixers.len() {
        let table = table::table(&fixers, &rows);
        println!("\n{table}");
        if std::env::var_os("UPDATE_DOCS").is_some() {
            table::write(&table);
        }
    }
}

fn trial(fixer: &str, project: &Project) -> String {
    format!("{fixer}/{}", project.name)
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
