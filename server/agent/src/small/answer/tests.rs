use super::*;

const RUST: &str = "\
//! Shapes.

use std::fmt;

/// A side.
pub fn side() -> u32 {
    let text = \"3\";
    let number: u32 = text;
    number
}

pub fn area() -> u32 {
    side() * side()
}
";

/// What becomes of the text, whose lines 5 to 10 were shown, of which the 8th is wrong (from 1).
fn check(answer: &str, expected: Result<&str, Unusable>) {
    check_in(RUST, 4..10, 7..8, answer, expected);
}

fn check_in(
    text: &str,
    lines: Range<usize>,
    wrong: Range<usize>,
    answer: &str,
    expected: Result<&str, Unusable>,
) {
    let shown = Shown { text, lines, wrong };
    let found = changes(answer, &shown).map(|changes| {
        changes
            .iter()
            .fold(text.to_owned(), |text, Change { old, new }| {
                assert_eq!(text.matches(&**old).count(), 1, "{old:?} stands there once");
                text.replacen(&**old, new, 1)
            })
    });
    assert_eq!(
        found.as_deref(),
        expected.as_ref().copied().map_err(|error| match error {
            Unusable::NoCode => &Unusable::NoCode,
            Unusable::Same => &Unusable::Same,
            Unusable::Unclear => &Unusable::Unclear,
        }),
        "{answer}"
    );
}

fn right() -> String {
    RUST.replace("= text;", "= text.parse().unwrap();")
}

#[test]
fn the_lines_whole() {
    let code = "/// A side.\npub fn side() -> u32 {\n    let text = \"3\";\n    let number: u32 = text.parse().unwrap();\n    number\n}";
    for answer in [
        format!("```rust\n{code}\n```"),
        format!("Here it is:\n\n```\n{code}\n```\nIt parses the text."),
        // Never closed.
        format!("```rust\n{code}"),
        // Nothing but code.
        code.to_owned(),
        // With empty lines around, and the file's name.
        format!("```rust\n// src/lib.rs\n\n{code}\n\n```"),
        // Without the comment, or what follows.
        format!("```rust\n{}\n```", &code["/// A side.\n".len()..]),
        format!(
            "```rust\n{}\n```",
            &code[..code.len() - "\n    number\n}".len()]
        ),
        // Windows' line ends.
        format!("```rust\r\n{}\r\n```", code.replace('\n', "\r\n")),
        // First another block, of something else.
        format!("```\ncargo check\n```\n```rust\n{code}\n```"),
    ] {
        check(&answer, Ok(&right()));
    }
}

#[test]
fn with_the_numbers_of_the_lines() {
    let lines = [
        "/// A side.",
        "pub fn side() -> u32 {",
        "    let text = \"3\";",
        "    let number: u32 = text.parse().unwrap();",
        "    number",
        "}",
    ];
    for mark in ["\t", " | ", ": "] {
        let numbered = lines.iter().enumerate();
        let numbered = numbered.map(|(at, line)| format!("{:>6}{mark}{line}", at + 5));
        let code = numbered.collect::<Vec<_>>().join("\n");
        check(&format!("```\n{code}\n```"), Ok(&right()));
    }
}

#[test]
fn only_some_of_the_lines() {
    for code in [
        "    let number: u32 = text.parse().unwrap();",
        "let number: u32 = text.parse().unwrap();",
        "let text = \"3\";\nlet number: u32 = text.parse().unwrap();",
        "pub fn side() -> u32 {\n    // ...\n    let number: u32 = text.parse().unwrap();\n    // ... rest of the function\n}",
        "pub fn side() -> u32 {\n    ...\n    let number: u32 = text.parse().unwrap();\n    ...\n}",
    ] {
        check(&format!("```rust\n{code}\n```"), Ok(&right()));
    }
}

#[test]
fn with_more_and_with_fewer_lines() {
    let more = RUST.replace(
        "    let number: u32 = text;\n",
        "    let number = text.trim();\n    let number: u32 = number.parse().unwrap();\n",
    );
    check(
        "```rust\npub fn side() -> u32 {\n    let text = \"3\";\n    let number = text.trim();\n    let number: u32 = number.parse().unwrap();\n    number\n}\n```",
        Ok(&more),
    );
    let fewer = RUST.replace(
        "    let text = \"3\";\n    let number: u32 = text;\n    number\n",
        "    3\n",
    );
    check(
        "```rust\n/// A side.\npub fn side() -> u32 {\n    3\n}\n```",
        Ok(&fewer),
    );
    let gone = RUST
        .replace("    let text = \"3\";\n", "")
        .replace("= text;", "= 3;");
    check(
        "```rust\npub fn side() -> u32 {\n    let number: u32 = 3;\n    number\n}\n```",
        Ok(&gone),
    );
}

#[test]
fn imports_go_to_where_imports_are() {
    let code = "pub fn side() -> u32 {\n    let text = \"3\";\n    let number = u32::from_str(text).unwrap();\n    number\n}";
    let body = RUST.replace(
        "let number: u32 = text;",
        "let number = u32::from_str(text).unwrap();",
    );
    let expected = body.replace("use std::fmt;\n", "use std::fmt;\nuse std::str::FromStr;\n");
    check(
        &format!("```rust\nuse std::str::FromStr;\n\n{code}\n```"),
        Ok(&expected),
    );
    // One that is there already is not there twice.
    check(&format!("```rust\nuse std::fmt;\n\n{code}\n```"), Ok(&body));
    let python =
        "#!/usr/bin/env python3\n\"\"\"Shapes.\"\"\"\n\ndef side():\n    return math.sqrt(4)\n";
    let answer = "```python\nimport math\n\ndef side():\n    return math.sqrt(4)\n```";
    let expected = python.replace("Shapes.\"\"\"\n", "Shapes.\"\"\"\nimport math\n");
    check_in(python, 3..5, 4..5, answer, Ok(&expected));
    let long = "from shapes import (\n    side,\n)\n\ndef area():\n    return side() * log(2)\n";
    let answer = "```python\nfrom math import log\ndef area():\n    return side() * log(2)\n```";
    let expected = long.replace(")\n\ndef", ")\nfrom math import log\n\ndef");
    check_in(long, 4..6, 5..6, answer, Ok(&expected));
}

#[test]
fn lines_are_indented_as_their_place_is() {
    let python = "class Shape:\n    def __init__(self, side):\n        self.side = side\n\n    def area(self):\n        if self.side:\n            return self.sid * self.side\n        return 0\n";
    let expected = python.replace("self.sid *", "self.side *");
    for code in [
        "    def area(self):\n        if self.side:\n            return self.side * self.side\n        return 0",
        "def area(self):\n    if self.side:\n        return self.side * self.side\n    return 0",
        "def area(self):\n  if self.side:\n    return self.side * self.side\n  return 0",
        "            return self.side * self.side",
        "return self.side * self.side",
    ] {
        check_in(
            python,
            4..8,
            6..7,
            &format!("```python\n{code}\n```"),
            Ok(&expected),
        );
    }
    let tabs = "func area() int {\n\tif true {\n\t\treturn side()\n\t}\n\treturn 0\n}\n";
    let answer = "```go\nfunc area() int {\n    if true {\n        return side() * side()\n    }\n    return 0\n}\n```";
    check_in(
        tabs,
        0..6,
        2..3,
        answer,
        Ok(&tabs.replace("side()", "side() * side()")),
    );
}

#[test]
fn a_place_that_there_are_several_of_is_told_by_what_is_around_it() {
    let text = "fn a() {\n    go(1);\n}\n\nfn b() {\n    go(1);\n}\n\nfn c() {\n    go(1);\n}\n";
    let answer = "```rust\nfn b() {\n    go(\"1\");\n}\n```";
    let expected =
        "fn a() {\n    go(1);\n}\n\nfn b() {\n    go(\"1\");\n}\n\nfn c() {\n    go(1);\n}\n";
    check_in(text, 4..7, 5..6, answer, Ok(expected));
    check_in(text, 4..7, 5..6, "```\n    go(\"1\");\n```", Ok(expected));
    // Without an end of the last line.
    let text = text.trim_end();
    let answer = "```rust\nfn c() {\n    go(\"1\");\n}\n```";
    let expected =
        "fn a() {\n    go(1);\n}\n\nfn b() {\n    go(1);\n}\n\nfn c() {\n    go(\"1\");\n}";
    check_in(text, 8..11, 9..10, answer, Ok(expected));
}

#[test]
fn what_changes_nothing_says_why() {
    check("I can't do that.", Err(Unusable::NoCode));
    check("", Err(Unusable::NoCode));
    check("```rust\n\n```", Err(Unusable::NoCode));
    check(
        "```rust\npub fn side() -> u32 {\n    let text = \"3\";\n    let number: u32 = text;\n    number\n}\n```",
        Err(Unusable::Same),
    );
    check(
        "```rust\npub fn side() -> u32 {\n    // ...\n}\n```",
        Err(Unusable::Same),
    );
    check("```bash\ncargo add serde\n```", Err(Unusable::Unclear));
    check_in("", 0..0, 0..0, "```\nfn a() {}\n```", Ok("fn a() {}"));
}
