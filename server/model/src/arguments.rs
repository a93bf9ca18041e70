//! The arguments of a call from the text that the model wrote. What is not quite JSON is mended where only one reading is
//! possible, and the call says so, for the model is to be told; nothing is ever guessed, closed or left out but what stands
//! here: a call that was cut off stays malformed.

use serde_json::{Map, Value};

use crate::ToolCall;

/// A call whose arguments are complete, whether or not they are an object.
pub(crate) fn call(id: String, name: String, arguments: String) -> ToolCall {
    let (input, repaired) = match arguments.trim() {
        // Models leave them out where a tool needs none.
        "" => (Some(Value::Object(Map::new())), None),
        text => match object(text) {
            Some(input) => (Some(input), None),
            None => match mended(text) {
                Some((input, how)) => (Some(input), Some(how)),
                None => (None, None),
            },
        },
    };
    ToolCall {
        id,
        name,
        malformed: input.is_none().then_some(arguments),
        input: input.unwrap_or_default(),
        repaired,
    }
}

/// Whether the text is an object as it stands, so that nothing can follow.
pub(crate) fn is_whole(text: &str) -> bool {
    object(text).is_some()
}

fn object(text: &str) -> Option<Value> {
    serde_json::from_str(text)
        .ok()
        .filter(|value: &Value| value.is_object())
}

/// The only object that the text can mean, and what was wrong with it.
fn mended(text: &str) -> Option<(Value, String)> {
    let mut wrong = Vec::new();
    let mut text = text;
    if let Some(inner) = unfenced(text) {
        wrong.push("a code fence around them");
        text = inner;
    }
    let within: Option<String> = serde_json::from_str(text).ok();
    if let Some(inner) = &within {
        wrong.push("quotes around the whole object");
        text = inner;
    }
    let scanned = scan(text);
    wrong.extend(scanned.comma.then_some("a comma before a closing bracket"));
    wrong.extend(scanned.raw.then_some("a raw line break or tab in a string"));
    let mut values = serde_json::Deserializer::from_str(&scanned.text).into_iter();
    let value = values.next()?.ok().filter(Value::is_object)?;
    match scanned.text[values.byte_offset()..].trim() {
        "" => {}
        "}" => wrong.push("a closing brace too many"),
        _ => return None,
    }
    Some((value, wrong.join(", ")))
}

/// What stands between the fences of a code block, if that is all there is.
fn unfenced(text: &str) -> Option<&str> {
    let inner = text.strip_prefix("```")?.strip_suffix("```")?;
    let language = inner.len()
        - inner
            .trim_start_matches(|c: char| c.is_ascii_alphanumeric())
            .len();
    Some(inner[language..].trim())
}

struct Scanned {
    text: String,
    /// A comma was left out that closed a list or an object.
    comma: bool,
    /// A control character in a string was escaped.
    raw: bool,
}

/// The text without commas that nothing follows, and with the control characters in strings as JSON wants them. Neither can
/// be meant in another way: JSON has no place for them.
fn scan(text: &str) -> Scanned {
    let mut out = Scanned {
        text: String::with_capacity(text.len() + 16),
        comma: false,
        raw: false,
    };
    let (mut in_string, mut escaped) = (false, false);
    // Where a comma stands that followed a value, while only blanks have come after it.
    let mut open_comma = None;
    // The last character that is no blank.
    let mut last = ' ';
    for c in text.chars() {
        if in_string {
            // Whether a backslash before a raw line break takes it away or stays itself can't be known.
            let mend = c.is_ascii_control() && !escaped;
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '"' => in_string = false,
                _ => {}
            }
            if mend {
                out.raw = true;
                escape(c, &mut out.text);
            } else {
                out.text.push(c);
            }
            last = c;
            continue;
        }
        match c {
            '"' => in_string = true,
            ',' if !matches!(last, '{' | '[' | ',' | ':') => {
                open_comma = Some(out.text.len());
                out.text.push(c);
                last = c;
                continue;
            }
            '}' | ']' => {
                if let Some(at) = open_comma {
                    out.text.remove(at);
                    out.comma = true;
                }
            }
            _ => {}
        }
        out.text.push(c);
        if !c.is_whitespace() {
            open_comma = None;
            last = c;
        }
    }
    out
}

fn escape(c: char, out: &mut String) {
    match c {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        _ => out.push_str(&format!("\\u{:04x}", u32::from(c))),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn read(text: &str) -> ToolCall {
        call("c".into(), "t".into(), text.into())
    }

    #[test]
    fn what_has_one_reading_is_mended_and_told() {
        for (text, wanted, how) in [
            (
                r#"{"a": 1,}"#,
                json!({"a": 1}),
                "a comma before a closing bracket",
            ),
            (
                "{\"a\": [1, 2 , \n],\n}",
                json!({"a": [1, 2]}),
                "a comma before a closing bracket",
            ),
            (
                "{\"a\": \"x\ny\r\n\tz\u{7}\"}",
                json!({"a": "x\ny\r\n\tz\u{7}"}),
                "a raw line break or tab in a string",
            ),
            (
                "```json\n{\"a\": \"```\"}\n```",
                json!({"a": "```"}),
                "a code fence around them",
            ),
            (
                "```{\"a\":1}```",
                json!({"a": 1}),
                "a code fence around them",
            ),
            (
                r#"{"a":{"b":1}}}"#,
                json!({"a": {"b": 1}}),
                "a closing brace too many",
            ),
            ("{}\n}", json!({}), "a closing brace too many"),
            (
                r#""{\"a\": \"x,}\"}""#,
                json!({"a": "x,}"}),
                "quotes around the whole object",
            ),
            (
                "```json\n{\"a\": \"x\ny\", \"b\": [\"],\",],}}\n```",
                json!({"a": "x\ny", "b": ["],"]}),
                "a code fence around them, a comma before a closing bracket, a raw line break or tab in a string, a closing brace too many",
            ),
        ] {
            let call = read(text);
            assert_eq!(
                (call.input, call.malformed, call.repaired.as_deref()),
                (wanted, None, Some(how)),
                "{text}"
            );
        }
    }

    #[test]
    fn what_could_be_read_in_two_ways_or_was_cut_off_is_not() {
        for text in [
            "{\"a\": ",
            "{\"a\": 1",
            "{\"a\": 1,",
            "{\"a\": \"x\n",
            "```json\n{\"a\": 1}",
            "```json\n{\"a\": 1}\n```\nand more",
            "{\"a\": 1}}}",
            "{\"a\": 1}]",
            "{\"a\": 1}{\"a\": 2}",
            "{\"a\": 1} as you wish",
            "{,}",
            "{\"a\": [,]}",
            "{\"a\": 1,,}",
            "{\"a\":,}",
            "{\"a\": \"x,\n\"b\": \"y\"}",
            "{\"a\": \"say \"hi\" now\"}",
            "{a: 1}",
            "{'a': 1}",
            "{\"a\": True}",
            "{\"a\": \"\\\n\"}",
            "[1,]",
            "\"[1]\"",
            "null",
            "a: 1",
            "}",
        ] {
            let call = read(text);
            assert_eq!(
                (call.input, call.malformed.as_deref(), call.repaired),
                (Value::Null, Some(text), None)
            );
        }
    }

    #[test]
    fn nothing_is_an_empty_object_and_json_is_left_alone() {
        for (text, wanted) in [
            ("", json!({})),
            (" \n", json!({})),
            ("{\"a\": \"x,}\\n```\"}", json!({"a": "x,}\n```"})),
        ] {
            let call = read(text);
            assert_eq!(
                (call.input, call.malformed, call.repaired),
                (wanted, None, None),
                "{text}"
            );
        }
    }

    fn json_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            "[a-z,}\\]\\[{\"\\\\\n\t`ü: ]{0,12}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::btree_map("[a-z,}\n\"]{0,4}", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_was_damaged_is_what_it_was(
            map in proptest::collection::btree_map("[a-z]{1,3}", json_value(), 1..4),
            pretty in any::<bool>(), comma in any::<bool>(), raw in any::<bool>(), fence in any::<bool>(), brace in any::<bool>(),
        ) {
            let value = Value::Object(map.into_iter().collect());
            let mut text = if pretty { serde_json::to_string_pretty(&value).unwrap() } else { value.to_string() };
            if comma {
                text.insert(text.len() - 1, ',');
            }
            if raw {
                // A doubled backslash before an n is none.
                text = text.replace("\\\\", "\u{e000}").replace("\\n", "\n").replace('\u{e000}', "\\\\");
            }
            if brace {
                text.push('}');
            }
            if fence {
                text = format!("```json\n{text}\n```");
            }
            let call = read(&text);
            prop_assert_eq!(call.malformed, None);
            prop_assert_eq!(call.input, value);
        }

        #[test]
        fn no_text_makes_it_panic_and_json_is_never_changed(text in "[{}\\[\\]\",:\\\\\n`a1 ]{0,24}") {
            let call = read(&text);
            prop_assert_eq!(call.malformed.is_some(), call.input.is_null());
            if let Ok(value @ Value::Object(_)) = serde_json::from_str(&text) {
                prop_assert_eq!((call.input, call.repaired), (value, None));
            }
        }
    }
}
