//! A pattern as a model writes it becomes a matcher and a searcher that fit each other. Knows no files.
//!
//! A pattern is searched line by line unless it can only mean more: it holds a line end, or lets `.` match one with the
//! `s` flag. Both kinds take `\r\n` for one line end, so that `$` and `\n` mean the same in every file.

use grep_matcher::LineTerminator;
use grep_regex::{ErrorKind, RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, MmapChoice, Searcher, SearcherBuilder};
use regex_syntax::{
    ParserBuilder,
    ast::{self, Ast, Flag, GroupKind, Span},
};

use super::SearchError;

/// The longest line that is searched; a longer one (there are files of a single line) is an error of its file.
const LONGEST_LINE: usize = 64 * 1024 * 1024;
/// How large a compiled pattern may be, and what it may keep while it runs: each thread of a search has its own.
const LARGEST_PATTERN: usize = 10 * 1024 * 1024;

/// How letters are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Case {
    /// As they are.
    #[default]
    Sensitive,
    /// `a` is `A`.
    Insensitive,
    /// Insensitive unless the pattern has a capital.
    Smart,
}

/// What is searched for.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    pub(super) matcher: RegexMatcher,
    pub(super) multi_line: bool,
}

/// A pattern in the hands of one thread.
pub(super) struct Finder {
    pub(super) matcher: RegexMatcher,
    pub(super) searcher: Searcher,
}

impl Pattern {
    pub(super) fn new(pattern: &str, case: Case) -> Result<Self, SearchError> {
        let wrong = |reason: String| SearchError::Pattern {
            pattern: pattern.to_owned(),
            reason,
        };
        // Parsed by itself first: errors of the matcher show a pattern that the asker did not write.
        ParserBuilder::new()
            .utf8(false)
            .build()
            .parse(pattern)
            .map_err(|error| wrong(error.to_string()))?;
        let syntax = ast::parse::Parser::new()
            .parse(pattern)
            .map_err(|error| wrong(error.to_string()))?;
        let Ok(lines) = ast::visit(&syntax, Lines::default());
        let mut builder = RegexMatcherBuilder::new();
        builder
            .multi_line(true)
            .case_insensitive(case == Case::Insensitive)
            .case_smart(case == Case::Smart)
            .crlf(true)
            .size_limit(LARGEST_PATTERN)
            .dfa_size_limit(LARGEST_PATTERN);
        if !lines.dot_all && lines.ends.is_empty() && !lines.class {
            match builder.build(pattern) {
                Ok(matcher) => {
                    return Ok(Self {
                        matcher,
                        multi_line: false,
                    });
                }
                // It comes down to a line end in some other way.
                Err(error) if matches!(error.kind(), ErrorKind::NotAllowed(_)) => {}
                Err(error) => return Err(wrong(error.to_string())),
            }
        }
        builder.line_terminator(None);
        let matcher = builder
            .build(&lines.any_end(pattern))
            .map_err(|error| wrong(error.to_string()))?;
        Ok(Self {
            matcher,
            multi_line: true,
        })
    }

    /// What one thread searches with: what threads share of a matcher, they wait for.
    pub(super) fn finder(&self) -> Finder {
        let searcher = SearcherBuilder::new()
            .line_terminator(LineTerminator::crlf())
            .multi_line(self.multi_line)
            // Whoever reads the file for it looks after that, by the rule of `read`.
            .binary_detection(BinaryDetection::none())
            .memory_map(MmapChoice::never())
            .heap_limit((!self.multi_line).then_some(LONGEST_LINE))
            .build();
        Finder {
            matcher: self.matcher.clone(),
            searcher,
        }
    }
}

/// What in a pattern is about line ends.
#[derive(Debug, Default)]
struct Lines {
    /// Where a `\n` stands that no `\r` stands before.
    ends: Vec<Span>,
    /// Where the last `\r` ended.
    after_return: Option<usize>,
    /// Whether a class names `\n` as one of its characters.
    class: bool,
    /// Whether the `s` flag is on anywhere.
    dot_all: bool,
    /// In how many negated classes we are: those name what they do not match.
    negated: usize,
}

impl Lines {
    /// The pattern with `\r?\n` in every place where it has `\n`.
    fn any_end(&self, pattern: &str) -> String {
        let mut out = String::with_capacity(pattern.len() + 16);
        let mut from = 0;
        for end in &self.ends {
            out.push_str(&pattern[from..end.start.offset]);
            out.push_str(r"(?:\r?\n)");
            from = end.end.offset;
        }
        out + &pattern[from..]
    }

    fn flags(&mut self, flags: &ast::Flags) {
        self.dot_all |= flags.flag_state(Flag::DotMatchesNewLine) == Some(true);
    }
}

impl ast::Visitor for Lines {
    type Output = Self;
    type Err = std::convert::Infallible;

    fn finish(self) -> Result<Self, Self::Err> {
        Ok(self)
    }

    fn visit_pre(&mut self, ast: &Ast) -> Result<(), Self::Err> {
        match ast {
            Ast::Literal(literal) if literal.c == '\r' => {
                self.after_return = Some(literal.span.end.offset);
            }
            Ast::Literal(literal) if literal.c == '\n' => {
                if self.after_return == Some(literal.span.start.offset) {
                    // `\r\n` is written out: it is meant as it is, but it is a line end.
                    self.class = true;
                } else {
                    self.ends.push(literal.span);
                }
            }
            Ast::Flags(set) => self.flags(&set.flags),
            Ast::Group(group) => {
                if let GroupKind::NonCapturing(flags) = &group.kind {
                    self.flags(flags);
                }
            }
            Ast::ClassBracketed(class) => {
                self.negated += usize::from(class.negated);
                self.dot_all |= !class.negated && is_everything(&class.kind);
            }
            _ => {}
        }
        Ok(())
    }

    fn visit_post(&mut self, ast: &Ast) -> Result<(), Self::Err> {
        if let Ast::ClassBracketed(class) = ast {
            self.negated -= usize::from(class.negated);
        }
        Ok(())
    }

    fn visit_class_set_item_pre(&mut self, item: &ast::ClassSetItem) -> Result<(), Self::Err> {
        match item {
            ast::ClassSetItem::Literal(literal) if self.negated == 0 => {
                self.class |= literal.c == '\n';
            }
            ast::ClassSetItem::Bracketed(class) => self.negated += usize::from(class.negated),
            _ => {}
        }
        Ok(())
    }

    fn visit_class_set_item_post(&mut self, item: &ast::ClassSetItem) -> Result<(), Self::Err> {
        if let ast::ClassSetItem::Bracketed(class) = item {
            self.negated -= usize::from(class.negated);
        }
        Ok(())
    }
}

/// Whether a class is written as `[\s\S]`, `[\d\D]` or `[\w\W]`: in other languages the way to say "even a line end".
fn is_everything(class: &ast::ClassSet) -> bool {
    let ast::ClassSet::Item(ast::ClassSetItem::Union(union)) = class else {
        return false;
    };
    let perl = || {
        union.items.iter().filter_map(|item| match item {
            ast::ClassSetItem::Perl(class) => Some((&class.kind, class.negated)),
            _ => None,
        })
    };
    perl().any(|(kind, negated)| perl().any(|(other, not)| kind == other && negated != not))
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use grep_matcher::Matcher as _;

    use super::*;

    /// What a pattern finds in a text, each match on its own; `multi` first if it looks at more than lines.
    fn check(pattern: &str, text: &str, expect: Expect) {
        let said = match Pattern::new(pattern, Case::Sensitive) {
            Ok(pattern) => {
                let mut said = if pattern.multi_line {
                    "multi:".to_owned()
                } else {
                    String::new()
                };
                pattern
                    .matcher
                    .find_iter(text.as_bytes(), |found| {
                        said += &format!(" {:?}", &text[found.start()..found.end()]);
                        true
                    })
                    .expect("searched");
                said
            }
            Err(error) => error.to_string(),
        };
        expect.assert_eq(said.trim_start());
    }

    #[test]
    fn one_line() {
        check("a.c", "abc a\nc", expect![[r#""abc""#]]);
        check("b$", "ab\r\nb\nb", expect![[r#""b" "b" "b""#]]);
        check(r"a\s+b", "a \t b a\nb", expect![[r#""a \t b""#]]);
        check(r"[^x]b", "a\nb ab", expect![[r#""ab""#]]);
    }

    #[test]
    fn more_lines() {
        check(
            r"a\nb",
            "a\nb a\r\nb",
            expect![[r#"multi: "a\nb" "a\r\nb""#]],
        );
        check(
            "a\nb",
            "a\nb a\r\nb",
            expect![[r#"multi: "a\nb" "a\r\nb""#]],
        );
        check(r"a\r\nb", "a\nb a\r\nb", expect![[r#"multi: "a\r\nb""#]]);
        check(r"a(\n)+b", "a\n\r\nb", expect![[r#"multi: "a\n\r\nb""#]]);
        check(
            r"a\n*b",
            "a\r\n\nb ab",
            expect![[r#"multi: "a\r\n\nb" "ab""#]],
        );
        check(
            r"a$\n^b",
            "a\r\nb\na\nb",
            expect![[r#"multi: "a\r\nb" "a\nb""#]],
        );
        check(r"a[\n]b", "a\nb", expect![[r#"multi: "a\nb""#]]);
        check(r"(?s)a.b", "a\nb", expect![[r#"multi: "a\nb""#]]);
        check(r"(?s:a.)b", "a\nb", expect![[r#"multi: "a\nb""#]]);
        check(r"(?is)A.b", "a\nb", expect![[r#"multi: "a\nb""#]]);
        check(r"a[\s\S]b", "a\nb", expect![[r#"multi: "a\nb""#]]);
        check(r"a[^\S\s]b", "a\nb", expect![[""]]);
        check(r"a[^[^\n]]b", "a\nb", expect![[r#"multi: "a\nb""#]]);
        check(r"x\n(?i)A", "x\na", expect![[r#"multi: "x\na""#]]);
    }

    #[test]
    fn what_only_looks_like_a_line_end_or_a_flag() {
        check(r"a\\n", r"a\n", expect![[r#""a\\n""#]]);
        check(r"(?-s)a.b", "axb", expect![[r#""axb""#]]);
        check(r"(?P<s>a)b", "ab", expect![[r#""ab""#]]);
        check(r"(?<s>a)", "ab", expect![[r#""a""#]]);
        check(r"\(?s:", "(s:", expect![[r#""(s:""#]]);
        check(r"[(?s)]+", "(?s)", expect![[r#""(?s)""#]]);
        check("(?x)a\n b", "ab", expect![[r#""ab""#]]);
    }

    proptest::proptest! {
        #[test]
        fn whatever_is_a_pattern_can_be_searched_for(
            pattern in r"([a-c\n\r\\nrsSwW\[\]()?:*+.^$|x{}0-2-]|\\n|\(\?s|\[\^)*{0,12}",
        ) {
            let right = ParserBuilder::new().utf8(false).build().parse(&pattern).is_ok();
            assert_eq!(Pattern::new(&pattern, Case::Sensitive).is_ok(), right, "{pattern:?}");
        }
    }

    #[test]
    fn what_is_wrong_is_shown_where_it_is() {
        for (pattern, expect) in [
            (
                "fn (main",
                expect![[r#"
                the pattern is not a regular expression that can be searched for: regex parse error:
                    fn (main
                       ^
                error: unclosed group"#]],
            ),
            (
                r"a\n[b",
                expect![[r#"
                the pattern is not a regular expression that can be searched for: regex parse error:
                    a\n[b
                       ^
                error: unclosed character class"#]],
            ),
            (
                r"(?s)*",
                expect![[r#"
                the pattern is not a regular expression that can be searched for: regex parse error:
                    (?s)*
                        ^
                error: repetition operator missing expression"#]],
            ),
            (
                "a{2,1}",
                expect![[r#"
                the pattern is not a regular expression that can be searched for: regex parse error:
                    a{2,1}
                     ^^^^^
                error: invalid repetition count range, the start must be <= the end"#]],
            ),
            (
                r"a\p{Foo}",
                expect![[r#"
                the pattern is not a regular expression that can be searched for: regex parse error:
                    a\p{Foo}
                     ^^^^^^^
                error: Unicode property not found"#]],
            ),
            (
                "(a{1000}){1000}",
                expect![
                    "the pattern is not a regular expression that can be searched for: compiled regex exceeds size limit of 10485760"
                ],
            ),
            (
                "(?=a)",
                expect![[r#"
                the pattern is not a regular expression that can be searched for: regex parse error:
                    (?=a)
                    ^^^
                error: look-around, including look-ahead and look-behind, is not supported"#]],
            ),
        ] {
            let error = Pattern::new(pattern, Case::Sensitive).expect_err(pattern);
            expect.assert_eq(&error.to_string());
        }
    }

    #[test]
    fn case() {
        for (case, pattern, found) in [
            (Case::Sensitive, "abc", false),
            (Case::Insensitive, "abc", true),
            (Case::Insensitive, "aBc", true),
            (Case::Smart, "abc", true),
            (Case::Smart, "aBc", false),
        ] {
            let pattern = Pattern::new(pattern, case).expect("a pattern");
            assert_eq!(
                pattern.matcher.is_match(b"xABCx").expect("searched"),
                found,
                "{case:?}"
            );
        }
    }
}
