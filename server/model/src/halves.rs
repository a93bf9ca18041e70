//! Characters that were cut in two. Servers written in languages whose strings are UTF-16 cut a text where they like, also between
//! the two halves of an emoji; JSON can write a half (`\ud83e`), but no text can hold one. The first half is taken out of the piece
//! that ends with it and put before the second, which begins a later piece. A half without its other is shown as U+FFFD.

/// The halves of one stream of events.
#[derive(Debug, Default)]
pub(crate) struct Halves {
    /// A first half, as an escape, whose second has not come.
    first: Option<String>,
}

/// What is written for something that is no character.
const NONE: &str = "\\ufffd";

impl Halves {
    /// Makes whole what is in the JSON of the next event, as far as its other half has come.
    pub(crate) fn join(&mut self, json: &mut String) {
        if let Some(mended) = self.mended(json) {
            *json = mended;
        }
    }

    /// The text with every half dealt with; none if there is no half in it, which is all but always so.
    fn mended(&mut self, json: &str) -> Option<String> {
        if !json.contains("\\ud") && !json.contains("\\uD") {
            return None;
        }
        let mut mended: Option<String> = None;
        let (mut rest, mut taken) = (json, 0);
        // Up to `taken` all is in `mended`, if there is such a text.
        while let Some(at) = rest.find('\\') {
            let start = json.len() - rest.len() + at;
            let Some(unit) = unit(&json[start..]) else {
                // The escape of another character, a backslash among them.
                let next = json[start + 1..].chars().next().map_or(0, char::len_utf8);
                rest = &json[start + 1 + next..];
                continue;
            };
            let end = start + NONE.len();
            rest = &json[end..];
            let instead = match unit {
                0xd800..0xdc00 => match self::unit(rest) {
                    Some(0xdc00..0xe000) => {
                        rest = &rest[NONE.len()..];
                        continue;
                    }
                    // The next piece begins with the other half.
                    _ if rest.starts_with('"') => {
                        self.first = Some(json[start..end].to_owned());
                        String::new()
                    }
                    _ => NONE.to_owned(),
                },
                0xdc00..0xe000 => match self.first.take_if(|_| json[..start].ends_with('"')) {
                    Some(first) => first + &json[start..end],
                    None => NONE.to_owned(),
                },
                _ => continue,
            };
            let mended = mended.get_or_insert_default();
            mended.push_str(&json[taken..start]);
            mended.push_str(&instead);
            taken = end;
        }
        mended.map(|mended| mended + &json[taken..])
    }
}

/// The unit of UTF-16 that is written as an escape at the beginning of the text.
fn unit(json: &str) -> Option<u16> {
    let digits = json.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    /// Each text as JSON would write it, after all that are before it.
    fn joined(pieces: &[&str]) -> Vec<String> {
        let mut halves = Halves::default();
        let join = |piece: &&str| {
            let mut json = (*piece).to_owned();
            halves.join(&mut json);
            json
        };
        pieces.iter().map(join).collect()
    }

    #[test]
    fn the_first_half_waits_for_the_second() {
        for (pieces, wanted) in [
            (
                &[r#"{"a":"x\ud83e"}"#, r#"{"a":"\udd80y"}"#][..],
                &[r#"{"a":"x"}"#, r#"{"a":"\ud83e\udd80y"}"#][..],
            ),
            (
                &[
                    r#"["\uD83E"]"#,
                    r#"["ping"]"#,
                    r#"["\uDD80\ud83e"]"#,
                    r#"["\udd80"]"#,
                ],
                &[
                    r#"[""]"#,
                    r#"["ping"]"#,
                    r#"["\uD83E\uDD80"]"#,
                    r#"["\ud83e\udd80"]"#,
                ],
            ),
            // Whole, escaped as a backslash, no escapes at all, other escapes.
            (&[r#"["\ud83e\udd80"]"#], &[r#"["\ud83e\udd80"]"#]),
            (&[r#"["\\ud83e"]"#], &[r#"["\\ud83e"]"#]),
            (
                &[r#"["\\\ud83e"]"#, r#"["\udd80"]"#],
                &[r#"["\\"]"#, r#"["\ud83e\udd80"]"#],
            ),
            (&["\\ud83", "\\ud8é", "\\"], &["\\ud83", "\\ud8é", "\\"]),
            // Without the other.
            (&[r#"["\ud83ex"]"#], &[r#"["\ufffdx"]"#]),
            (&[r#"["\ud83e\u00e9"]"#], &[r#"["\ufffd\u00e9"]"#]),
            (&[r#"["\udd80"]"#], &[r#"["\ufffd"]"#]),
            (
                &[r#"["\ud83e"]"#, r#"["x\udd80"]"#],
                &[r#"[""]"#, r#"["x\ufffd"]"#],
            ),
        ] {
            assert_eq!(joined(pieces), wanted);
        }
    }

    proptest! {
        #[test]
        fn a_text_cut_anywhere_in_utf16_comes_out_whole(text in "[a\"\\\\é見🦀🏽\n]{0,12}", size in 1_usize..5) {
            let units: Vec<u16> = text.encode_utf16().collect();
            let escaped = |units: &[u16]| {
                let escaped: String = units.iter().map(|unit| format!("\\u{unit:04x}")).collect();
                format!("[\"{escaped}\"]")
            };
            let mut halves = Halves::default();
            let mut read = String::new();
            for piece in units.chunks(size) {
                let mut json = escaped(piece);
                halves.join(&mut json);
                let json: Value = serde_json::from_str(&json).unwrap();
                read.push_str(json[0].as_str().unwrap());
            }
            prop_assert_eq!(read, text);
        }

        #[test]
        fn no_text_makes_it_panic(pieces in proptest::collection::vec("(\\\\u[dD][89cCdD0-9a-f]{0,3}|[\"\\\\é🦀u]){0,8}", 0..4)) {
            let pieces: Vec<_> = pieces.iter().map(String::as_str).collect();
            joined(&pieces);
        }
    }
}
