//! What can be no name in a language whose servers write down whatever they are told. Of the others each judges for
//! itself.

/// Words that are no name of Python's.
const PYTHON: [&str; 35] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue",
    "def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import",
    "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while",
    "with", "yield",
];
/// Words that are no name of JavaScript's or TypeScript's, but for a member.
const SCRIPT: [&str; 36] = [
    "break",
    "case",
    "catch",
    "class",
    "const",
    "continue",
    "debugger",
    "default",
    "delete",
    "do",
    "else",
    "enum",
    "export",
    "extends",
    "false",
    "finally",
    "for",
    "function",
    "if",
    "import",
    "in",
    "instanceof",
    "new",
    "null",
    "return",
    "super",
    "switch",
    "this",
    "throw",
    "true",
    "try",
    "typeof",
    "var",
    "void",
    "while",
    "with",
];

/// Why a name is none in a language, if it is known to be none. `is_member`: of what is reached by a dot.
pub fn unfit(name: &str, language: &str, is_member: bool) -> Option<&'static str> {
    let (keywords, is_script): (&[&str], bool) = match language {
        "python" => (&PYTHON, false),
        "javascript" | "javascriptreact" | "typescript" | "typescriptreact" => (&SCRIPT, true),
        _ => return None,
    };
    let bare = match is_script {
        true => name.strip_prefix('#').unwrap_or(name),
        false => name,
    };
    let begins = |c: char| c.is_alphabetic() || c == '_' || (is_script && c == '$');
    // What joins letters in other scripts is left to the server.
    let goes_on = |c: char| begins(c) || c.is_alphanumeric() || !c.is_ascii();
    let is_identifier = bare
        .chars()
        .next()
        .is_some_and(|c| begins(c) || !c.is_ascii())
        && bare.chars().all(goes_on);
    match () {
        () if !is_identifier => Some("is no identifier"),
        () if keywords.contains(&name) && !(is_script && is_member) => {
            Some("is a keyword of the language")
        }
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::unfit;

    #[test]
    fn names_that_are_none() {
        for (name, language) in [
            ("class", "python"),
            ("two words", "python"),
            ("1st", "python"),
            ("a-b", "typescript"),
            ("$x", "python"),
            ("#", "typescript"),
            ("delete", "javascript"),
        ] {
            assert!(unfit(name, language, false).is_some(), "{name}");
        }
        for (name, language, is_member) in [
            ("match", "python", false),
            ("größe", "python", false),
            ("数", "python", false),
            ("$x", "typescript", false),
            ("#private", "typescript", true),
            ("delete", "typescript", true),
            // Their servers know better.
            ("r#fn", "rust", false),
            ("My Title", "markdown", false),
        ] {
            assert_eq!(unfit(name, language, is_member), None, "{name}");
        }
        assert!(unfit("class", "python", true).is_some());
    }
}
