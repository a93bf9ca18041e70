//! Rust's text as far as it must be understood without a server: words and signs, and not what only looks so in a string
//! or a comment. What is still being written has no end but the text's. Asks no server.

/// Goes through a text from its start.
#[derive(Clone)]
pub struct Tokens<'a> {
    text: &'a str,
    at: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token<'a> {
    pub start: usize,
    pub end: usize,
    pub kind: Kind<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind<'a> {
    /// A name, a keyword, a number, what a lifetime is called.
    Word(&'a str),
    /// Of several that belong together, each.
    Sign(u8),
    /// A string or a character.
    Text,
}

impl<'a> Tokens<'a> {
    pub fn of(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// Goes behind the block whose opening sign was just read, tells what is in it, and says where it ends. Only signs of
    /// its own kind are counted: what is still being written lacks others.
    pub fn skip_block(&mut self, opening: u8, mut inside: impl FnMut(Token<'a>)) -> usize {
        let closing = match opening {
            b'(' => b')',
            b'[' => b']',
            _ => b'}',
        };
        let mut depth = 1_usize;
        for token in self.by_ref() {
            match token.kind {
                Kind::Sign(sign) if sign == opening => depth += 1,
                Kind::Sign(sign) if sign == closing => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return token.end;
            }
            inside(token);
        }
        self.text.len()
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        let (text, bytes) = (self.text, self.text.as_bytes());
        loop {
            let start = self.at;
            let byte = *bytes.get(start)?;
            let next = bytes.get(start + 1).copied();
            let (end, kind) = match (byte, next) {
                (b'/', Some(b'/')) => (after(bytes, start, b"\n"), None),
                (b'/', Some(b'*')) => (comment_end(bytes, start), None),
                (b'"', _) => (escaped_end(bytes, start + 1, b'"'), Some(Kind::Text)),
                (b'\'', Some(b'\\')) => (escaped_end(bytes, start + 1, b'\''), Some(Kind::Text)),
                (b'\'', _) => {
                    // A lifetime has no second quote.
                    let one = text[start + 1..].chars().next().map_or(0, char::len_utf8);
                    let is_char = one > 0 && bytes.get(start + 1 + one) == Some(&b'\'');
                    match is_char {
                        true => (start + 2 + one, Some(Kind::Text)),
                        false => (start + 1, None),
                    }
                }
                _ if is_word(byte) => {
                    let end = word_end(bytes, start);
                    match raw_end(bytes, start, end) {
                        Some(end) => (end, Some(Kind::Text)),
                        None => (end, Some(Kind::Word(&text[start..end]))),
                    }
                }
                _ if byte.is_ascii_whitespace() => (start + 1, None),
                _ => (start + 1, Some(Kind::Sign(byte))),
            };
            self.at = end;
            if let Some(kind) = kind {
                return Some(Token { start, end, kind });
            }
        }
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

fn count(bytes: &[u8], from: usize, is: fn(u8) -> bool) -> usize {
    let rest = bytes[from..].iter();
    rest.take_while(|byte| is(**byte)).count()
}

fn word_end(bytes: &[u8], at: usize) -> usize {
    at + count(bytes, at, is_word)
}

/// Behind the raw string that a word begins, if it does.
fn raw_end(bytes: &[u8], start: usize, end: usize) -> Option<usize> {
    let hashes = count(bytes, end, |byte| byte == b'#');
    let open = end + hashes;
    let is_raw =
        matches!(&bytes[start..end], b"r" | b"br" | b"cr") && bytes.get(open) == Some(&b'"');
    let closing = || format!("\"{}", "#".repeat(hashes));
    is_raw.then(|| after(bytes, open + 1, closing().as_bytes()))
}

/// Behind the quote that ends a string or a character, from its inside.
fn escaped_end(bytes: &[u8], mut at: usize, quote: u8) -> usize {
    while let Some(&byte) = bytes.get(at) {
        match byte {
            _ if byte == quote => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Behind a comment that may have others in it.
fn comment_end(bytes: &[u8], mut at: usize) -> usize {
    let mut depth = 0_usize;
    while let Some(pair) = bytes.get(at..at + 2) {
        match pair {
            b"/*" => depth += 1,
            b"*/" => depth -= 1,
            _ => {
                at += 1;
                continue;
            }
        }
        at += 2;
        if depth == 0 {
            return at;
        }
    }
    bytes.len()
}

/// Behind the next of these.
fn after(bytes: &[u8], from: usize, what: &[u8]) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    let found = rest.windows(what.len()).position(|part| part == what);
    found.map_or(bytes.len(), |at| from + at + what.len())
}

/// A macro that is called in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Macro<'a> {
    pub name: &'a str,
    pub start: usize,
    pub end: usize,
}

/// The macros that a text calls, of which what they are given calls something, or of which nobody knows what they do.
pub fn calling_macros(text: &str) -> Vec<Macro<'_>> {
    /// These call nothing of the project's but what they are given.
    const PLAIN: [&str; 32] = [
        "assert",
        "assert_eq",
        "assert_ne",
        "cfg",
        "column",
        "compile_error",
        "concat",
        "dbg",
        "debug_assert",
        "debug_assert_eq",
        "debug_assert_ne",
        "env",
        "eprint",
        "eprintln",
        "file",
        "format",
        "format_args",
        "include_bytes",
        "include_str",
        "line",
        "matches",
        "module_path",
        "panic",
        "print",
        "println",
        "stringify",
        "todo",
        "unimplemented",
        "unreachable",
        "vec",
        "write",
        "writeln",
    ];
    let mut macros = Vec::new();
    let mut tokens = Tokens::of(text);
    let mut last: Option<Token<'_>> = None;
    while let Some(token) = tokens.next() {
        let before = last.replace(token);
        let (Kind::Sign(b'!'), Some(before)) = (token.kind, before) else {
            continue;
        };
        let (Kind::Word(name), true) = (before.kind, before.end == token.start) else {
            continue;
        };
        let mut ahead = tokens.clone();
        let opening = ahead.next().map(|next| next.kind);
        let Some(Kind::Sign(opening @ (b'(' | b'[' | b'{'))) = opening else {
            continue;
        };
        let (mut calls, mut word) = (false, None);
        let end = ahead.skip_block(opening, |inner| {
            let is_call = match inner.kind {
                Kind::Sign(b'(') => word.is_some_and(|word| !is_keyword(word)),
                Kind::Sign(b'!') => word.is_some(),
                _ => false,
            };
            calls |= is_call;
            word = match inner.kind {
                Kind::Word(word) => Some(word),
                _ => None,
            };
        });
        if calls || !PLAIN.contains(&name) {
            macros.push(Macro {
                name,
                start: before.start,
                end,
            });
        }
        tokens = ahead;
        last = None;
    }
    macros
}

fn is_keyword(word: &str) -> bool {
    const BEFORE_PARENTHESES: [&str; 9] = [
        "as", "else", "if", "in", "let", "match", "move", "return", "while",
    ];
    BEFORE_PARENTHESES.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn macros_that_call() {
        let text = "fn a() {\n    assert!(f(x));\n    println!(\"f(x)\");\n    if !(a) { return !(b); }\n    own![1];\n    assert_eq!(1, a!(2)); // g!(h())\n    let b = \"g!(h())\";\n    matches!(x, (1, 2) if (true));\n    macro_rules! m { () => {} }\n    a != (b);\n    log::warn!(\"{}\", a);\n    vec![g(1)";
        let found = calling_macros(text);
        let names: Vec<&str> = found.iter().map(|one| one.name).collect();
        assert_eq!(names, ["assert", "own", "assert_eq", "warn", "vec"]);
        let texts: Vec<&str> = found.iter().map(|one| &text[one.start..one.end]).collect();
        assert_eq!(texts[0], "assert!(f(x))");
        assert_eq!(texts[4], "vec![g(1)");
    }
}
