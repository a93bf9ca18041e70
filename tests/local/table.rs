//! The table of what was solved, in docs/local-models.md between its markers. It is written with `UPDATE_DOCS=1`, after a run of all
//! of it: times are no two times the same, so it is not held against a later one.

use std::path::Path;

use crate::fixing::{Fixed, Fixer};
use crate::project::{Language, Project};

const BEGIN: &str = "<!-- solved -->\n";
const END: &str = "<!-- /solved -->";

/// A project, and what became of it with each fixer.
pub struct Row {
    pub project: Project,
    pub fixed: Vec<Fixed>,
}

/// The table, in Markdown: what was solved, in how long, with how many tokens.
pub fn table(fixers: &[Fixer], rows: &[Row]) -> String {
    let mut lines = vec![
        "| project | second file |".to_owned(),
        "|---|---|".to_owned(),
    ];
    for fixer in fixers {
        let title = fixer.title;
        lines[0] += &format!(" {title}: solved | seconds | tokens in, out |");
        lines[1] += "---|---|---|";
    }
    for row in rows {
        let second = row.project.second_file.as_deref();
        let second = second.map_or(String::new(), |file| format!("`{file}`"));
        let cells: String = row.fixed.iter().map(cells).collect();
        lines.push(format!(
            "| {}: {} | {second} |{cells}",
            row.project.language.title(),
            row.project.what,
        ));
    }
    let languages = Language::ALL.iter().map(|language| {
        let of = rows
            .iter()
            .filter(|row| row.project.language == *language)
            .collect();
        sum(language.title(), fixers, of)
    });
    lines.extend(languages);
    lines.push(sum("all", fixers, rows.iter().collect()));
    lines.join("\n")
}

fn cells(fixed: &Fixed) -> String {
    let solved = match fixed.left {
        Ok(()) => "yes",
        Err(_) => "no",
    };
    format!(
        " {solved} | {:.0} | {}, {} |",
        fixed.run.time.as_secs_f64(),
        fixed.run.input,
        fixed.run.output
    )
}

fn sum(name: &str, fixers: &[Fixer], rows: Vec<&Row>) -> String {
    let mut line = format!("| **{name}** | |");
    for index in 0..fixers.len() {
        let all = || rows.iter().map(|row| &row.fixed[index]);
        line += &format!(
            " **{} of {}** | {:.0} | {}, {} |",
            all().filter(|fixed| fixed.left.is_ok()).count(),
            rows.len(),
            all().map(|fixed| fixed.run.time.as_secs_f64()).sum::<f64>(),
            all().map(|fixed| fixed.run.input).sum::<u64>(),
            all().map(|fixed| fixed.run.output).sum::<u64>(),
        );
    }
    line
}

/// Writes it into the docs.
pub fn write(table: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/local-models.md");
    let page = std::fs::read_to_string(&path).expect("the page");
    std::fs::write(&path, put(&page, table)).expect("written");
}

fn put(page: &str, table: &str) -> String {
    let from = page.find(BEGIN).expect("where it begins") + BEGIN.len();
    let to = from + page[from..].find(END).expect("where it ends");
    format!("{}{table}\n{}", &page[..from], &page[to..])
}

#[test]
fn the_table_says_what_was_solved_and_adds_up() {
    use std::time::Duration;
    use tests::terminal::Run;

    let fixer = |title| Fixer {
        title,
        ..Fixer::quickfix()
    };
    let fixed = |left: Result<(), String>, output| Fixed {
        left,
        run: Run {
            time: Duration::from_secs(7),
            input: 100,
            output,
            ..Run::default()
        },
    };
    let all = Project::all();
    let project = |name: &str| {
        let found = all.iter().find(|project| project.name == name);
        found.expect("such a project").clone()
    };
    let rows = [
        Row {
            project: project("rust_argument_order"),
            fixed: vec![fixed(Ok(()), 0), fixed(Ok(()), 20)],
        },
        Row {
            project: project("python_missing_import"),
            fixed: vec![fixed(Err("no".to_owned()), 0), fixed(Ok(()), 30)],
        },
    ];
    let table = table(&[fixer("one"), fixer("two")], &rows);
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(
        lines[0],
        "| project | second file | one: solved | seconds | tokens in, out | two: solved | seconds | tokens in, out |"
    );
    assert!(
        lines[2].ends_with("| `src/ledger.rs` | yes | 7 | 100, 0 | yes | 7 | 100, 20 |"),
        "{}",
        lines[2]
    );
    assert!(
        lines[3].ends_with("|  | no | 7 | 100, 0 | yes | 7 | 100, 30 |"),
        "{}",
        lines[3]
    );
    assert_eq!(
        lines[7],
        "| **all** | | **1 of 2** | 14 | 200, 0 | **2 of 2** | 14 | 200, 50 |"
    );
    let page = put(
        "before\n<!-- solved -->\nold\n<!-- /solved -->\nafter",
        "new",
    );
    assert_eq!(
        page,
        "before\n<!-- solved -->\nnew\n<!-- /solved -->\nafter"
    );
}
