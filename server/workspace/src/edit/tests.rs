use proptest::prelude::*;

use super::*;
use crate::{DocumentUri, Origin, Revision};

fn snapshot(text: &str) -> Snapshot {
    Snapshot {
        uri: DocumentUri::parse("file:///a").expect("a URI"),
        text: Text::new(text),
        revision: Revision(1),
        version: Some(1),
        language: None,
        origin: Origin::Buffer { dirty: true },
    }
}

/// An edit written into its text: `a[b>c]d` replaces `b` by `c`.
fn edit(marked: &str) -> Edit {
    let (mut text, mut replacements) = (String::new(), Vec::new());
    let mut rest = marked;
    while let Some((before, after)) = rest.split_once('[') {
        text.push_str(before);
        let (inside, after) = after.split_once(']').expect("a closing bracket");
        let (old, new) = inside.split_once('>').expect("an arrow");
        let start = text.len();
        text.push_str(old);
        replacements.push(Replacement {
            range: ByteRange::new(start, text.len()),
            text: new.to_owned(),
        });
        rest = after;
    }
    text.push_str(rest);
    Edit::new(snapshot(&text), replacements).expect("an edit")
}

fn rebased(marked: &str, newest: &str) -> Option<String> {
    edit(marked).rebase(&snapshot(newest)).ok().map(|edit| {
        assert_eq!(edit.snapshot().text, newest);
        edit.result().to_string()
    })
}

#[test]
fn new_puts_in_order_joins_and_checks() {
    let new = |text: &str, ranges: &[(usize, usize, &str)]| {
        let replacements = ranges.iter().map(|(start, end, text)| Replacement {
            range: ByteRange::new(*start, *end),
            text: (*text).to_owned(),
        });
        Edit::new(snapshot(text), replacements.collect())
    };
    let edit = new(
        "abcdef",
        &[
            (4, 5, "E"),
            (0, 1, "A"),
            (1, 2, "B"),
            (2, 2, "x"),
            (2, 2, "y"),
        ],
    )
    .expect("an edit");
    assert_eq!(edit.result(), "ABxycdEf");
    assert_eq!(edit.replacements().len(), 2);
    assert!(
        new("abc", &[(1, 2, "b"), (3, 3, "")])
            .expect("an edit")
            .replacements()
            .is_empty()
    );
    assert!(matches!(
        new("abc", &[(2, 1, "")]),
        Err(EditError::Reversed { .. })
    ));
    assert!(matches!(
        new("abc", &[(1, 4, "")]),
        Err(EditError::OutOfBounds { len: 3, .. })
    ));
    assert!(matches!(
        new("é", &[(1, 2, "")]),
        Err(EditError::InsideCharacter { .. })
    ));
    assert!(matches!(
        new("abc", &[(1, 3, ""), (0, 2, "")]),
        Err(EditError::Overlap { .. })
    ));
    assert!(matches!(
        new("abc", &[(0, 2, ""), (1, 1, "x")]),
        Err(EditError::Overlap { .. })
    ));
}

#[test]
fn no_range_ends_inside_a_line_end() {
    for (range, new, result) in [
        ((2, 3), "", "a\rb"),
        ((1, 2), "", "a\nb"),
        ((2, 2), "x", "a\rx\nb"),
        ((0, 2), "x", "x\nb"),
        ((2, 4), "x", "a\rx"),
    ] {
        let replacement = Replacement {
            range: ByteRange::new(range.0, range.1),
            text: new.to_owned(),
        };
        let edit = Edit::new(snapshot("a\r\nb"), vec![replacement]).expect("an edit");
        assert_eq!(edit.result(), result, "{range:?}");
        let range = edit.replacements()[0].range;
        assert!(![range.start.0, range.end.0].contains(&2), "{range}");
    }
}

#[test]
fn rebase_keeps_both() {
    for (marked, newest, result) in [
        ("one [two>2] three", "one two three", "one 2 three"),
        (
            "one [two>2] three",
            "zero one two three four",
            "zero one 2 three four",
        ),
        (
            "one\n[two, two>2]\nthree\n",
            "a long first line\ntwo, two\nand a last one\n",
            "a long first line\n2\nand a last one\n",
        ),
        ("[a>A]\nb\n[c>C]\n", "a\nb1\nb2\nc\n", "A\nb1\nb2\nC\n"),
        // At the edge of what is replaced, where nothing is in doubt.
        ("x [foo>bar] y", "x !foo y", "x !bar y"),
        ("x [foo>bar] y", "x foo! y", "x bar! y"),
        ("x [foo>] y", "x !foo? y", "x !? y"),
        // Enter at the end of the line above slides into the region, but only one place leaves it whole.
        (
            "fn a() {\n[    let x = 1;>    let x = 2;]\n}\n",
            "fn a() {\n    \n    let x = 1;\n}\n",
            "fn a() {\n    \n    let x = 2;\n}\n",
        ),
        // An insertion beside other typing.
        ("one\n[>new\n]two\n", "one!\ntwo\n", "one!\nnew\ntwo\n"),
        ("one\n[>new\n]two\n", "one\nt2wo\n", "one\nnew\nt2wo\n"),
        (
            "one\n[>new\n]two\nthree\n",
            "two\nthree\n",
            "new\ntwo\nthree\n",
        ),
        (
            "one\n[>new\n]two\nthree\n",
            "one\nthree\n",
            "one\nnew\nthree\n",
        ),
        // Whichever of them was typed, the result is the same.
        ("a[a>]aa", "aaaaa", "aaaa"),
        ("a[b>]", "ab", "a"),
        // Line ends and other alphabets.
        ("é\r\n[😀>😃]\r\n", "éé\r\n😀\r\n€", "éé\r\n😃\r\n€"),
    ] {
        assert_eq!(
            rebased(marked, newest).as_deref(),
            Some(result),
            "{marked:?} over {newest:?}"
        );
    }
}

#[test]
fn rebase_refuses_what_changed_or_is_in_doubt() {
    for (marked, newest) in [
        ("one [two>2] three", "one tw three"),
        ("one [two>2] three", "one twXo three"),
        ("one [two>2] three", "one three"),
        ("one [two>2] three", "one 2 three"),
        ("one [two>2] three", ""),
        // Typed where the edit inserts: nobody can say which comes first.
        ("a[>X]b", "a!b"),
        ("[>X]", "!"),
        ("a\n[>X]", "a\nb"),
        // The text around an insertion is gone.
        ("one two[> three] four five", "one five"),
        // More of the same: before it or after it?
        ("x[a>b]y", "xaay"),
        ("[ab\n>X\n]ab\n", "ab\nab\nab\n"),
        ("a[>!]aa", "aaaa"),
        ("a[a>b]aa", "aaa"),
        // A short match inside a rewritten stretch is chance.
        ("call([x>y])", "let max = 3"),
        ("one [two>2] three", "two"),
        (
            "one\n[}>end]\nthree\n",
            "a long first line\n}\nand a last one\n",
        ),
        ("[foo>bar](a)", "if (far) { oof(ab) }"),
    ] {
        assert_eq!(rebased(marked, newest), None, "{marked:?} over {newest:?}");
    }
}

#[test]
fn stands_where_the_text_is_there() {
    for (marked, newest) in [
        ("one [two>2] three", "one 2 three"),
        ("one [two>2] three", "zero one 2 three four"),
        ("one [two>2] three", "one! 2 three?"),
        // Typed at its very edge.
        ("one [two>2] three", "one 2! three"),
        ("one [two>2] three", "one !2 three"),
        ("one [two>] three", "one ! three"),
        ("a[>XYZ]b", "a!XYZ?b"),
        // What is replaced is part of what comes, and the other way round.
        ("x [foo>foobar] y", "x foobar y!"),
        ("x [foo>foobar] y", "x foobarbaz y"),
        ("x [foobar>foo] y", "x foo y!"),
        ("x [foobar>] y", "!x  y"),
        // Runs of the same.
        ("a[>a]a", "aaa"),
        ("a[>a]a", "aaaa"),
        ("[a>]aa", "aa"),
        ("[x\n>]x\nx\ny", "x\nx\nzy"),
        // The user typed the very same.
        ("[a>b]", "b"),
        ("[a>A] [b>B]", "A B"),
        ("[a>A] [b>B]", "A, B"),
    ] {
        assert!(
            edit(marked).stands_in(&Text::new(newest)),
            "{marked:?} in {newest:?}"
        );
    }
}

#[test]
fn does_not_stand_where_it_was_skipped_or_broken() {
    for (marked, newest) in [
        ("one [two>2] three", "one two three"),
        ("one [two>2] three", "zero one two three four"),
        ("one [two>2] three", "one two! three"),
        ("one [two>2] three", "one !two three"),
        ("one [two>2] three", "one 3 three"),
        ("one [two>2] three", ""),
        ("a[>X]b", "a!b"),
        ("a[>X]b", "ab"),
        ("x [foo>foobar] y", "x foo y"),
        ("x [foo>foobar] y", "x foob y"),
        ("x [foo>foobar] y", "!x foo y"),
        ("x [foobar>foo] y", "x foobar y!"),
        ("x [foobar>foo] y", "x foobarbaz y"),
        ("x [foobar>] y", "!x foobar y"),
        ("x [foobar>] y", "x foobar! y"),
        ("x [foobar>] y", "x foob y"),
        ("a[>a]a", "aa"),
        ("a[>a]a", "a"),
        ("[a>]aa", "aaa"),
        ("[a>]aa", "aaaa"),
        ("[x\n>]x\nx\ny", "x\nx\nx\nzy"),
        // One of two.
        ("[a>A] [b>B]", "A b"),
        // Somewhere else.
        ("one\n[two>TWO]\nthree\n", "zero\nTWO\ntwo\nthree\n"),
        ("one\n[two>TWO!]\nthree\n", "zero\nTWO!\ntwo\nthree\n"),
        (
            "one\n[two>two plus]\nthree\n",
            "zero\ntwo plus\ntwo\nthree\n",
        ),
        ("one\n[two>T\nW\nO]\nthree\n", "zero\nT\nW\nO\ntwo\nthree\n"),
    ] {
        assert!(
            !edit(marked).stands_in(&Text::new(newest)),
            "{marked:?} in {newest:?}"
        );
    }
}

#[test]
fn the_places_of_what_stands() {
    let places = |marked: &str, newest: &str| -> Vec<String> {
        let places = edit(marked)
            .places_in(&Text::new(newest))
            .expect("it stands");
        places
            .iter()
            .map(|range| newest[range.as_range()].to_owned() + "@" + &range.start.0.to_string())
            .collect()
    };
    assert_eq!(
        places("[a>A]\nb\n[c>CC]\nd\n[e>]", "A\nb!\nCC\nd\n"),
        ["A@0", "CC@5", "@10"]
    );
    assert_eq!(places("x [foo>bar] y", "x bar! y"), ["bar@2"]);
    assert_eq!(places("x [foo>bar] y", "x !bar y"), ["bar@3"]);
    assert_eq!(
        places("one\n[>new\n]two\n", "zero\none\nnew\ntwo\n"),
        ["new\n@9"]
    );
}

/// The time is bounded, whatever happened to the text; and what is far away does not harm.
#[test]
fn large_and_very_different_texts() {
    let line = |seed: usize| {
        format!(
            "line {} of {}\n",
            seed.wrapping_mul(2_654_435_761) % 9973,
            seed % 7
        )
    };
    let base: String = (0..40_000).map(line).collect();
    let middle = base.len() / 2;
    let at = base[middle..].find('\n').expect("a line") + middle + 1;
    let marked = format!("{}[>NEW\n]{}", &base[..at], &base[at..]);
    let edit = edit(&marked);
    let typed = format!("first\n{base}last\n");
    let expected = format!("first\n{}NEW\n{}last\n", &base[..at], &base[at..]);
    assert_eq!(
        edit.rebase(&snapshot(&typed))
            .expect("far from it")
            .result(),
        expected
    );
    assert!(edit.stands_in(&Text::new(&expected)));
    assert!(!edit.stands_in(&Text::new(&typed)));
    let other: String = (0..40_000).map(|seed| line(seed + 50_000)).collect();
    let start = std::time::Instant::now();
    assert!(!edit.stands_in(&Text::new(&other)));
    assert!(start.elapsed().as_secs() < 5, "{:?}", start.elapsed());
}

/// A text of few letters, where everything is in doubt.
fn doubtful() -> impl Strategy<Value = String> {
    "[ab\n]{0,12}"
}

/// A part of a text: where it starts, and how much of the rest it takes, both in percent.
type Part = (usize, usize);

fn percent() -> std::ops::RangeInclusive<usize> {
    0..=100
}

fn part(text: &str, (from, size): Part) -> std::ops::Range<usize> {
    let start = text.len() * from / 100;
    start..start + (text.len() - start) * size / 100
}

/// A name that is changed in many places: every text that comes while a person types is asked whether it has it.
#[test]
fn what_is_not_there_is_found_at_once() {
    let line = |at: usize, end: &str| format!("foo bar {at}{end}\n");
    let base: String = (0..400).map(|at| line(at, "")).collect();
    let mut start = 0;
    let replacements = (0..400).map(|at| {
        let range = ByteRange::new(start, start + 3);
        start += line(at, "").len();
        let text = "renamed".to_owned();
        Replacement { range, text }
    });
    let edit = Edit::new(snapshot(&base), replacements.collect()).expect("an edit");
    let begun = std::time::Instant::now();
    for typed in 0..200 {
        let text: String = (0..400)
            .map(|at| line(at, if at <= typed { "typed" } else { "" }))
            .collect();
        assert!(!edit.stands_in(&Text::new(&text)));
    }
    let took = begun.elapsed();
    assert!(took < std::time::Duration::from_secs(3), "{took:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// One stretch of typing beside the edit, with anything typed: rebase gives the merge or refuses.
    #[test]
    fn never_in_the_wrong_place(
        before in doubtful(), after in doubtful(), new in doubtful(), typed in doubtful(), user_first: bool,
        first_part in (percent(), percent()), second_part in (percent(), percent()),
    ) {
        let base = format!("{before}{after}");
        let first = part(&before, first_part);
        let second = part(&after, second_part);
        let second = second.start + before.len()..second.end + before.len();
        let (region, user) = if user_first { (second.clone(), first.clone()) } else { (first.clone(), second.clone()) };
        // Typing where the edit inserts has no one right merge.
        if region.is_empty() && first.end == second.start && !typed.is_empty() {
            return Ok(());
        }
        let mut newest = base.clone();
        newest.replace_range(user, &typed);
        let (first_text, second_text) = if user_first { (&typed, &new) } else { (&new, &typed) };
        let mut merge = base.clone();
        merge.replace_range(second, second_text);
        merge.replace_range(first, first_text);
        let edit = Edit::new(snapshot(&base), vec![Replacement { range: region.into(), text: new }]).expect("an edit");
        if let Ok(rebased) = edit.rebase(&snapshot(&newest)) {
            prop_assert_eq!(rebased.result(), merge.as_str(), "over {:?}", newest);
        }
    }

    /// An edit stands in its own result, and never in the text that it was made for.
    #[test]
    fn stands_in_its_result_and_not_in_its_snapshot(
        base in doubtful(), replacements in prop::collection::vec(((percent(), 0..50_usize), doubtful()), 1..4),
    ) {
        let replacements = replacements
            .into_iter()
            .map(|(place, text)| Replacement { range: part(&base, place).into(), text })
            .collect();
        let Ok(edit) = Edit::new(snapshot(&base), replacements) else { return Ok(()) };
        let result = edit.result();
        prop_assert!(edit.stands_in(&result));
        prop_assert_eq!(edit.rebase(&snapshot(&base)).expect("nothing changed").result(), result.clone());
        if result != *base {
            prop_assert!(!edit.stands_in(&Text::new(&base)));
        }
    }

    /// Typing that can be told from the text, in several places apart from several replacements: both are kept, and
    /// the merge can be told from the text without the edit.
    #[test]
    fn both_are_kept(
        lines in prop::collection::vec("[a-z ]{0,12}", 9..30),
        picks in prop::collection::vec((any::<prop::sample::Index>(), 0..3_u8, "[a-zA-Z]{1,12}"), 1..6),
    ) {
        // Every line has a name of its own; a third of them may be edited, another third typed in.
        let base: Vec<String> = lines.iter().enumerate().map(|(at, line)| format!("{at:03}:{line}\n")).collect();
        let (mut edited, mut typed, mut merged) = (base.clone(), base.clone(), base.clone());
        let mut replacements = Vec::new();
        let mut done = std::collections::HashSet::new();
        for (pick, kind, text) in picks {
            let at = pick.index(base.len());
            if !done.insert(at) || at % 3 == 2 {
                continue;
            }
            let new = match kind {
                0 => format!("{at:03}:<{text}>\n"),
                1 => String::new(),
                _ => format!("{}{text}>\n", base[at]),
            };
            merged[at].clone_from(&new);
            if at % 3 == 0 {
                let start = base[..at].iter().map(String::len).sum::<usize>();
                edited[at].clone_from(&new);
                replacements.push(Replacement { range: ByteRange::new(start, start + base[at].len()), text: new });
            } else {
                typed[at].clone_from(&new);
            }
        }
        let edit = Edit::new(snapshot(&base.concat()), replacements).expect("an edit");
        prop_assert_eq!(edit.result(), edited.concat());
        let (typed, merged) = (typed.concat(), merged.concat());
        let rebased = edit.rebase(&snapshot(&typed));
        prop_assert_eq!(rebased.expect("apart").result(), merged.as_str(), "over {:?}", typed);
        prop_assert!(edit.stands_in(&Text::new(&merged)));
        if typed != merged {
            prop_assert!(!edit.stands_in(&Text::new(&typed)));
        }
    }
}
