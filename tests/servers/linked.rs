//! Files that links lead to, which real servers know by another name than the editor that holds them: each takes the text of
//! that name from the disk, whatever it was told of the other.
#![cfg(unix)]

use std::os::unix::fs::symlink;

use serde_json::json;

use crate::{
    desk::Desk,
    servers::{self, Real},
};

/// A project in which `real/b` uses what `a` has.
struct Sample {
    real: Real,
    a: &'static str,
    b: &'static str,
    files: &'static [(&'static str, &'static str)],
    comment: &'static str,
}

const SAMPLES: [Sample; 4] = [
    Sample {
        real: servers::RUST_ANALYZER,
        a: "src/lib.rs",
        b: "b.rs",
        files: &[
            (
                "Cargo.toml",
                "[package]\nname = \"x\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
            ),
            (
                "src/lib.rs",
                "pub fn alpha() -> i32 {\n    1\n}\n#[path = \"../real/b.rs\"]\nmod b;\n",
            ),
            ("real/b.rs", "pub fn q() -> i32 {\n    crate::alpha()\n}\n"),
        ],
        comment: "// typed\n",
    },
    Sample {
        real: servers::TSLS,
        a: "a.ts",
        b: "b.ts",
        files: &[
            ("tsconfig.json", "{}\n"),
            ("a.ts", "export function alpha() {\n  return 1;\n}\n"),
            (
                "real/b.ts",
                "import { alpha } from \"../a\";\nexport function q() {\n  return alpha();\n}\n",
            ),
        ],
        comment: "// typed\n",
    },
    Sample {
        real: servers::PYRIGHT,
        a: "a.py",
        b: "b.py",
        files: &[
            ("pyproject.toml", ""),
            ("a.py", "def alpha():\n    return 1\n"),
            ("real/b.py", "from a import alpha\nprint(alpha())\n"),
        ],
        comment: "# typed\n",
    },
    Sample {
        real: servers::GOPLS,
        a: "a.go",
        b: "b.go",
        files: &[
            ("go.mod", "module x\n\ngo 1.19\n"),
            ("a.go", "package x\n\nfunc Alpha() int { return 1 }\n"),
            (
                "real/b.go",
                "package real\n\nimport \"x\"\n\nfunc Q() int { return x.Alpha() }\n",
            ),
        ],
        comment: "// typed\n",
    },
];

/// A link to the file, and one to its folder: the editor holds what it leads to, with a text that nobody saved. Each place is
/// one of that text, and each file is edited once, if at all.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_links_lead_to_is_of_the_editors_text() {
    for sample in SAMPLES.iter().filter(|one| !one.real.is_missing()) {
        for is_folder in [false, true] {
            let desk = Desk::new(sample.real, sample.files);
            let b = if is_folder {
                symlink("real", desk.project.path("linked")).expect("a link");
                format!("linked/{}", sample.b)
            } else {
                let link = format!("link_{}", sample.b);
                let target = format!("real/{}", sample.b);
                symlink(target, desk.project.path(&link)).expect("a link");
                link
            };
            desk.open(sample.a);
            desk.open(&b);
            let first = desk.text(&b).lines().next().expect("a line").to_owned();
            desk.replace(&b, &first, &format!("{0}{0}{first}", sample.comment));
            let text = desk.text(&b);
            let (title, name) = (
                sample.real.title,
                if sample.b == "b.go" { "Alpha" } else { "alpha" },
            );
            let said = desk
                .lsp("findReferences", sample.a, json!({ "symbol": name }))
                .await;
            assert!(
                said.well && said.text.contains(&b),
                "{title}: {}",
                said.text
            );
            // Each line that is shown has the name, wherever it is by now.
            let is_line = |line: &&str| line.trim().starts_with(|one: char| one.is_ascii_digit());
            let lines = said.text.lines().skip(1).filter(is_line);
            let shown: Vec<&str> = lines.collect();
            let are_right = shown
                .iter()
                .all(|line| line.contains(name) && !line.contains("typed"));
            assert!(
                !shown.is_empty() && are_right,
                "{title}: {}\n{text}",
                said.text
            );
            let new = if name == "Alpha" { "Omega" } else { "omega" };
            let renaming = json!({ "symbol": name, "newName": new });
            let said = desk.lsp("rename", sample.a, renaming).await;
            let expected = match said.well {
                true => text.replace(name, new),
                // It may know several texts of it even so.
                false => text,
            };
            assert_eq!(desk.text(&b), expected, "{title}: {}", said.text);
            desk.end().await;
        }
    }
}
