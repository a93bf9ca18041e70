//! A text by its lines: words in them, and which of them declare a thing. It knows no language, only how nearly all are
//! written: what belongs to something is indented below it, or stands in brackets.

use workspace::Snapshot;

/// The lines of a text, without their ends.
pub(super) struct Lines(Vec<String>);

/// So many lines of one declaration are shown.
const MOST: usize = 20;

impl Lines {
    pub fn of(snapshot: &Snapshot) -> Self {
        let text = &snapshot.text;
        Lines(
            (0..text.lines_to_read())
                .filter_map(|line| text.line(line))
                .collect(),
        )
    }

    pub fn get(&self, line: usize) -> Option<&str> {
        self.0.get(line).map(String::as_str)
    }

    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// All of them, ended by `\n` alone.
    pub fn joined(&self) -> String {
        let mut text = self.0.join("\n");
        text.push('\n');
        text
    }
}

/// The names in a line, and where they stand, in bytes. Numbers are none.
pub(super) fn words(line: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let mut rest = 0;
    std::iter::from_fn(move || {
        loop {
            let start = rest + line[rest..].find(is_word)?;
            let end = line[start..]
                .find(|c| !is_word(c))
                .map_or(line.len(), |end| start + end);
            rest = end;
            let word = &line[start..end];
            if !word.starts_with(|c: char| c.is_numeric()) && word.len() > 1 {
                return Some((start, word));
            }
        }
    })
}

/// A declaration that begins in a line: of a function its head, of what only holds fields all of it.
pub(super) fn declaration(lines: &Lines, line: usize) -> String {
    const HEAD: usize = 8;
    let mut code: Vec<&str> = Vec::new();
    for at in line..(line + HEAD).min(lines.count()) {
        let Some(content) = lines.get(at) else { break };
        code.push(content);
        if content.trim_end().ends_with(['{', ':', ';', '}']) {
            break;
        }
    }
    let head = code.join(" ");
    if is_of_fields(&head) {
        code = whole(lines, line, code.len());
    }
    dedented(&code)
}

/// A type by its members: the line of its name, and those in which its members are declared. `None`: there are too many
/// to be shown, or too few to be worth it.
pub(super) fn members(lines: &Lines, line: usize, members: &[usize]) -> Option<String> {
    let mut code = vec![lines.get(line)?];
    let own = members.iter().filter(|at| **at != line);
    code.extend(own.filter_map(|at| lines.get(*at)).take(MOST));
    (code.len() > 1).then(|| dedented(&code))
}

fn is_of_fields(head: &str) -> bool {
    const WORDS: [&str; 5] = ["struct", "enum", "interface", "type", "union"];
    words(head).any(|(_, word)| WORDS.contains(&word))
}

/// A declaration with what is in it: until a line that is indented no further than it.
fn whole(lines: &Lines, line: usize, head: usize) -> Vec<&str> {
    let indent = |content: &str| content.len() - content.trim_start().len();
    let Some(first) = lines.get(line) else {
        return Vec::new();
    };
    let mut code: Vec<&str> = (line..line + head).filter_map(|at| lines.get(at)).collect();
    let is_open = code
        .last()
        .is_some_and(|last| last.trim_end().ends_with(['{', ':']));
    let mut at = line + head;
    while is_open && code.len() < MOST {
        let Some(content) = lines.get(at) else { break };
        let ends = !content.trim().is_empty() && indent(content) <= indent(first);
        if !ends || content.trim_start().starts_with(['}', ')']) {
            code.push(content);
        }
        if ends {
            break;
        }
        at += 1;
    }
    code
}

/// Without the indentation that all have.
fn dedented(code: &[&str]) -> String {
    let said = code.iter().filter(|line| !line.trim().is_empty());
    let least = said
        .map(|line| line.len() - line.trim_start().len())
        .min()
        .unwrap_or(0);
    let lines: Vec<&str> = code
        .iter()
        .map(|line| line.get(least..).unwrap_or("").trim_end())
        .collect();
    lines.join("\n").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Lines {
        Lines(text.lines().map(str::to_owned).collect())
    }

    #[test]
    fn words_are_names_and_where_they_stand() {
        let found: Vec<_> = words("let größe: u64 = a_b + 12 * x1;").collect();
        let expected = [
            (0, "let"),
            (4, "größe"),
            (13, "u64"),
            (19, "a_b"),
            (30, "x1"),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_declaration_is_as_much_as_one_must_see_of_it() {
        for (text, expected) in [
            (
                "    pub fn area(&self) -> u64 {\n        1\n    }\n",
                "pub fn area(&self) -> u64 {",
            ),
            (
                "def area(\n    side: int,\n) -> int:\n    return side\n",
                "def area(\n    side: int,\n) -> int:",
            ),
            (
                "const SIDE: u32 = 3;\nconst OTHER: u32 = 4;\n",
                "const SIDE: u32 = 3;",
            ),
            // What has fields is shown with them.
            (
                "pub struct Square {\n    side: u64,\n}\n\nfn other() {}\n",
                "pub struct Square {\n    side: u64,\n}",
            ),
            (
                "  export interface Line {\n    name: string;\n  }\n  const x = 1;\n",
                "export interface Line {\n  name: string;\n}",
            ),
            ("type Id = string;\nlet x = 1;\n", "type Id = string;"),
            ("x = 1\ny = 2\n", "x = 1\ny = 2"),
        ] {
            assert_eq!(declaration(&lines(text), 0), expected, "{text}");
        }
        let long = format!("struct Long {{\n{}}}\n", "    x: u8,\n".repeat(100));
        assert_eq!(declaration(&lines(&long), 0).lines().count(), MOST);
    }

    #[test]
    fn a_type_by_its_members() {
        let text = "class Account:\n    def __init__(self):\n        self.balance = 0\n\n    def deposit(self, amount):\n        pass\n";
        let expected = "class Account:\n    def __init__(self):\n    def deposit(self, amount):";
        assert_eq!(members(&lines(text), 0, &[1, 4]).as_deref(), Some(expected));
        assert_eq!(members(&lines(text), 0, &[0]), None);
        assert_eq!(members(&lines(text), 9, &[1]), None);
    }
}
