//! Cuts a byte stream into JSON messages by `Content-Length`, and gets over damage: garbage between
//! messages, text that is no JSON, a length that is too short or too long. It never reads, never
//! answers, and never gives up on the stream.
//!
//! What makes recovery safe: `Content-Length: N` with a raw line end after it cannot occur inside
//! valid JSON (a string has no raw line end, and outside a string it is no token). So wherever
//! those bytes are seen, a message begins.

use serde_json::Value;

/// Longest message that is taken. More is a damaged header, not a document.
const MAX_BODY: usize = 256 << 20;
/// Longest header block that is waited for.
const MAX_HEADER: usize = 4 << 10;
/// Longest run of bytes that can still be the beginning of a header line.
const HEADER_TAIL: usize = 64;
/// How far past its stated length a message is looked for.
const MAX_OVERRUN: usize = 1 << 20;
/// What the buffer may keep when it is empty.
const KEPT_CAPACITY: usize = 64 << 10;

/// What the stream held next.
#[derive(Debug, PartialEq)]
pub(crate) enum Frame {
    /// A whole JSON value: one message, or an array of them.
    Message(Value),
    /// A stretch that could not be read, told once however long it is. What follows it is unharmed.
    Damaged(String),
}

/// The bytes that have come and have not yet been cut.
#[derive(Default)]
pub(crate) struct Framing {
    buffer: Vec<u8>,
    /// Where in `buffer` the next frame begins.
    at: usize,
    /// How far beyond `at` it was already searched for a header that has no business there.
    searched: usize,
    state: State,
    /// The present damage has been told: what else belongs to it stays silent.
    told: bool,
}

#[derive(Clone, Copy, Default, PartialEq)]
enum State {
    /// A header block is due.
    #[default]
    Header,
    /// A body of this length is due.
    Body(usize),
    /// The body and its length disagree: its end is where its JSON ends, or where the next header
    /// begins.
    Mending(usize),
    /// Lost: everything up to the next header is garbage.
    Skipping,
}

impl Framing {
    /// Room for the next read: append to it.
    pub(crate) fn space(&mut self) -> &mut Vec<u8> {
        if self.at == self.buffer.len() {
            self.buffer.clear();
            self.buffer.shrink_to(KEPT_CAPACITY);
            self.at = 0;
        } else if self.at > KEPT_CAPACITY {
            self.buffer.drain(..self.at);
            self.at = 0;
        }
        &mut self.buffer
    }

    /// Whether the stream may end here without loss.
    pub(crate) fn is_between_messages(&self) -> bool {
        self.buffer[self.at..].iter().all(u8::is_ascii_whitespace)
    }

    /// The next frame, or `None` until more bytes have come.
    pub(crate) fn next(&mut self) -> Option<Frame> {
        loop {
            match self.state {
                State::Header => match header(&self.buffer[self.at..]) {
                    Header::Incomplete => return None,
                    Header::Complete { size, length } if length <= MAX_BODY => {
                        self.told = false;
                        self.advance(size, State::Body(length));
                    }
                    Header::Complete { size, length } => {
                        self.told = false;
                        self.advance(size, State::Skipping);
                        return self.tell(format!(
                            "Content-Length is {length}, over the limit of {MAX_BODY}"
                        ));
                    }
                    Header::Garbage => {
                        // One byte on, or a damaged header would be found again for ever.
                        self.advance(1, State::Skipping);
                        if let Some(damage) =
                            self.tell("bytes that belong to no message".to_owned())
                        {
                            return Some(damage);
                        }
                    }
                },
                State::Skipping => {
                    let rest = &self.buffer[self.at..];
                    if let Some(found) = find_header(rest, 0) {
                        self.advance(found, State::Header);
                    } else {
                        // The tail may be the beginning of a header.
                        self.at += rest.len().saturating_sub(HEADER_TAIL);
                        return None;
                    }
                }
                State::Body(length) => {
                    let rest = &self.buffer[self.at..];
                    if rest.len() >= length {
                        match whole_value(&rest[..length]) {
                            Ok(message) => {
                                self.advance(length, State::Header);
                                return Some(Frame::Message(message));
                            }
                            Err(error) => {
                                self.state = State::Mending(length);
                                return self.tell(format!(
                                    "a message of {length} bytes is no JSON: {error}"
                                ));
                            }
                        }
                    }
                    let Some(found) = find_header(rest, self.searched) else {
                        self.searched = rest.len().saturating_sub(HEADER_TAIL);
                        return None;
                    };
                    self.state = State::Mending(length);
                    return self.tell(format!("Content-Length is {length}, but the next message begins after {found} bytes"));
                }
                State::Mending(length) => match mend(&self.buffer[self.at..], length) {
                    Mended::Wait => return None,
                    Mended::Message { size, value } => {
                        self.advance(size, State::Header);
                        return Some(Frame::Message(value));
                    }
                    // From its very beginning: the next header may have begun inside it.
                    Mended::Lost => self.advance(0, State::Skipping),
                },
            }
        }
    }

    fn advance(&mut self, by: usize, state: State) {
        self.at += by;
        self.searched = 0;
        self.state = state;
    }

    fn tell(&mut self, what: String) -> Option<Frame> {
        let first = !std::mem::replace(&mut self.told, true);
        first.then_some(Frame::Damaged(what))
    }
}

enum Header {
    Incomplete,
    /// `size` bytes of header announce `length` bytes of body.
    Complete {
        size: usize,
        length: usize,
    },
    Garbage,
}

/// Reads a header block at the very beginning of `bytes`. Blank space before it is let pass.
fn header(bytes: &[u8]) -> Header {
    let mut at = bytes
        .iter()
        .take_while(|byte| byte.is_ascii_whitespace())
        .count();
    let mut length = None;
    loop {
        let rest = &bytes[at..];
        let Some(end) = rest.iter().position(|&byte| byte == b'\n') else {
            // Even without its end a line can be told from a header: by a byte that no header
            // holds.
            let text = rest.strip_suffix(b"\r").unwrap_or(rest);
            let plausible = rest.len() < MAX_HEADER
                && text
                    .iter()
                    .all(|&byte| (b' '..0x7f).contains(&byte) || byte == b'\t');
            let brace = length.is_none() && rest.first() == Some(&b'{');
            return if plausible && !brace {
                Header::Incomplete
            } else {
                Header::Garbage
            };
        };
        let line = rest[..end].strip_suffix(b"\r").unwrap_or(&rest[..end]);
        at += end + 1;
        if line.is_empty() {
            return length.map_or(Header::Garbage, |length| Header::Complete {
                size: at,
                length,
            });
        }
        match field(line) {
            Some(Field::Length(value)) => length = Some(value),
            Some(Field::Other) if at < MAX_HEADER => {}
            _ => return Header::Garbage,
        }
    }
}

enum Field {
    Length(usize),
    Other,
}

fn field(line: &[u8]) -> Option<Field> {
    let line = std::str::from_utf8(line).ok()?;
    let (name, value) = line.split_once(':')?;
    if name.eq_ignore_ascii_case("content-length") {
        return value.trim().parse().ok().map(Field::Length);
    }
    // `garbageContent-Length: 5` is no header of that name: the true one begins inside it.
    let token = !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let hides_another = line.to_ascii_lowercase().contains("content-length:");
    (token && !hides_another).then_some(Field::Other)
}

/// Where the next `Content-Length: N` with a line end after it begins, looking from `from` on.
fn find_header(bytes: &[u8], from: usize) -> Option<usize> {
    const NAME: &[u8] = b"content-length";
    let mut at = from;
    while let Some(end) = bytes[at..].iter().position(|&byte| byte == b'\n') {
        let line = bytes[..at + end]
            .strip_suffix(b"\r")
            .unwrap_or(&bytes[..at + end]);
        at += end + 1;
        let blank = |byte: &u8| matches!(byte, b' ' | b'\t');
        let back = |mut end: usize, skip: &dyn Fn(&u8) -> bool| {
            while end > 0 && skip(&line[end - 1]) {
                end -= 1;
            }
            end
        };
        let digits_end = back(line.len(), &blank);
        let digits = back(digits_end, &u8::is_ascii_digit);
        let colon = back(digits, &blank);
        if digits == digits_end || colon == 0 || line[colon - 1] != b':' {
            continue;
        }
        let name_end = colon - 1;
        if let Some(start) = name_end.checked_sub(NAME.len())
            && line[start..name_end].eq_ignore_ascii_case(NAME)
        {
            return Some(start);
        }
    }
    None
}

enum Mended {
    Wait,
    Message { size: usize, value: Value },
    Lost,
}

/// Finds the end of a message whose length was wrong. The message is kept if it is whole.
fn mend(bytes: &[u8], length: usize) -> Mended {
    let next = find_header(bytes, 0);
    let end = next.unwrap_or(bytes.len());
    let mut values = serde_json::Deserializer::from_slice(&bytes[..end]).into_iter::<Value>();
    match values.next() {
        Some(Ok(value)) => {
            let size = values.byte_offset();
            // Within the stated length, anything after the value but a header makes the whole
            // malformed.
            if size > length || begins_like_a_header(bytes[size..end].trim_ascii_start()) {
                return Mended::Message { size, value };
            }
        }
        Some(Err(error))
            if error.is_eof()
                && next.is_none()
                && bytes.len() < length.saturating_add(MAX_OVERRUN) =>
        {
            return Mended::Wait;
        }
        _ => {}
    }
    Mended::Lost
}

/// Whether a header may begin here: it does, or there is too little to say that it does not.
fn begins_like_a_header(bytes: &[u8]) -> bool {
    const NAME: &[u8] = b"content-";
    let compared = bytes.len().min(NAME.len());
    bytes[..compared].eq_ignore_ascii_case(&NAME[..compared])
}

/// Parses a body that ought to be exactly one JSON value.
fn whole_value(body: &[u8]) -> serde_json::Result<Value> {
    serde_json::from_slice(body).or_else(|error| match without_lone_surrogates(body) {
        Some(mended) => serde_json::from_slice(&mended).map_err(|_| error),
        None => Err(error),
    })
}

/// An editor whose strings are UTF-16 may hold half a character, and sends it as an escape like
/// `\ud83d`. It becomes U+FFFD, one UTF-16 unit like what it replaces, so that all positions stay
/// right.
fn without_lone_surrogates(body: &[u8]) -> Option<Vec<u8>> {
    let escaped = |at: usize| -> Option<u32> {
        let digits = body.get(at..at + 6)?.strip_prefix(b"\\u")?;
        u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let mut mended: Option<Vec<u8>> = None;
    let mut at = 0;
    while at + 1 < body.len() {
        if body[at] != b'\\' {
            at += 1;
            continue;
        }
        match escaped(at) {
            Some(0xD800..=0xDBFF) if matches!(escaped(at + 6), Some(0xDC00..=0xDFFF)) => at += 12,
            Some(0xD800..=0xDFFF) => {
                mended.get_or_insert_with(|| body.to_vec())[at..at + 6].copy_from_slice(b"\\ufffd");
                at += 6;
            }
            _ => at += 2,
        }
    }
    mended
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn framed(body: &str) -> String {
        format!("Content-Length: {}\r\n\r\n{body}", body.len())
    }

    /// Feeds `stream` in pieces of `step` bytes. `!` stands for a told damage.
    fn cut(stream: &[u8], step: usize) -> Vec<String> {
        let mut framing = Framing::default();
        let mut seen = Vec::new();
        for piece in stream.chunks(step) {
            framing.space().extend_from_slice(piece);
            while let Some(frame) = framing.next() {
                seen.push(match frame {
                    Frame::Message(value) => value.to_string(),
                    Frame::Damaged(_) => "!".to_owned(),
                });
            }
        }
        seen
    }

    /// Whatever the pieces in which the stream comes, the same must be seen.
    fn check(stream: impl AsRef<[u8]>, expected: &[&str]) {
        let stream = stream.as_ref();
        for step in [1, 2, 3, 7, 16, 61, stream.len().max(1)] {
            assert_eq!(
                cut(stream, step),
                expected,
                "in pieces of {step} bytes: {}",
                String::from_utf8_lossy(stream)
            );
        }
    }

    #[test]
    fn whole_messages() {
        check(framed("{}"), &["{}"]);
        check(framed("{}") + &framed("[1]"), &["{}", "[1]"]);
        check("content-length:2\r\n\r\n{}", &["{}"]);
        check("Content-Length: 2 \n\n{}", &["{}"]);
        check(
            "Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: 2\r\n\r\n{}",
            &["{}"],
        );
        check("Content-Length: 2\r\nX-Other: 1\r\n\r\n{}", &["{}"]);
        check(
            format!("\r\n\r\n{}\r\n{}", framed("{}"), framed("[]")),
            &["{}", "[]"],
        );
        check(
            framed("{\r\n  \"content-length\": 5\r\n}"),
            &["{\"content-length\":5}"],
        );
        check(
            framed("\"Content-Length: 5\\r\\n\\r\\n{}\""),
            &["\"Content-Length: 5\\r\\n\\r\\n{}\""],
        );
        check("", &[]);
    }

    #[test]
    fn malformed_json_is_told_each_time() {
        check(framed("{nonsense}") + &framed("{}"), &["!", "{}"]);
        check(
            framed("{nonsense}") + &framed("[,]") + &framed("{}"),
            &["!", "!", "{}"],
        );
        check(framed("{\"id\":1,") + &framed("{}"), &["!", "{}"]);
        check(framed("") + &framed("{}"), &["!", "{}"]);
        check(framed("{} {}") + &framed("[]"), &["!", "[]"]);
        check(
            [
                b"Content-Length: 4\r\n\r\n\"\xff\xfe\"".as_slice(),
                framed("{}").as_bytes(),
            ]
            .concat(),
            &["!", "{}"],
        );
        check(framed(&"[".repeat(500)) + &framed("{}"), &["!", "{}"]);
    }

    #[test]
    fn garbage_between_messages_is_told_once() {
        check(
            format!(
                "{}some words\r\nof a wrapper\r\n{}",
                framed("{}"),
                framed("[]")
            ),
            &["{}", "!", "[]"],
        );
        check(
            format!("{}garbage{}", framed("{}"), framed("[]")),
            &["{}", "!", "[]"],
        );
        check(format!("{{\"jsonrpc\":1}}{}", framed("[]")), &["!", "[]"]);
        check(format!("\x00\x01\x02\x7f{}", framed("[]")), &["!", "[]"]);
        check(
            [&[0xff; 5000], framed("[]").as_bytes()].concat(),
            &["!", "[]"],
        );
        check(
            format!("Content-Length: many\r\n\r\n{{}}{}", framed("[]")),
            &["!", "[]"],
        );
        check(
            format!("Content-Length: -5\r\n\r\n{{}}{}", framed("[]")),
            &["!", "[]"],
        );
        check(
            format!("Content-Length: 99999999999\r\n\r\n{{}}{}", framed("[]")),
            &["!", "[]"],
        );
        check(
            format!("Content-Type: x\r\n\r\n{{}}{}", framed("[]")),
            &["!", "[]"],
        );
        check(
            format!("Content-Length: 2\r\n{{}}\r\n{}", framed("[]")),
            &["!", "[]"],
        );
        // A line that has the look of a header is one, and does no harm.
        check(format!("warning: slow\r\n{}", framed("[]")), &["[]"]);
    }

    #[test]
    fn a_wrong_length_loses_no_message() {
        let body = "{\"a\":\"bcdefgh\"}";
        for (wrong, why) in [
            (3, "short"),
            (14, "one short"),
            (16, "one long"),
            (20, "long"),
            (40, "into the next"),
            (900, "beyond"),
        ] {
            let stream = format!(
                "Content-Length: {wrong}\r\n\r\n{body}{}{}",
                framed("[1]"),
                framed("[2]")
            );
            assert_eq!(
                cut(stream.as_bytes(), 1),
                ["!", body, "[1]", "[2]"],
                "{why}"
            );
            check(stream, &["!", body, "[1]", "[2]"]);
        }
    }

    #[test]
    fn a_cut_message_costs_only_itself() {
        let next = framed("[1]");
        check(
            format!("Content-Length: 40\r\n\r\n{{\"a\":\"bc{next}"),
            &["!", "[1]"],
        );
        check(
            format!("Content-Length: 5\r\n\r\n{{\"a\":\"bc{next}"),
            &["!", "[1]"],
        );
        check(
            format!("Content-Length: 5\r\n\r\n{{\"a\":1}}}}}}}}{next}"),
            &["!", "{\"a\":1}", "[1]"],
        );
        check(
            format!("Content-Length: 9\r\n\r\n{{\"a\":1}}}}}}}}{next}"),
            &["!", "[1]"],
        );
    }

    #[test]
    fn half_characters_keep_their_width() {
        check(framed(r#""a\ud83d b""#), &["\"a\u{fffd} b\""]);
        check(
            framed(r#""\udc00\ud83d\ude00""#),
            &["\"\u{fffd}\u{1f600}\""],
        );
        check(framed(r#""\\ud83d""#), &[r#""\\ud83d""#]);
    }

    #[test]
    fn memory_goes_back_after_a_large_message() {
        let mut framing = Framing::default();
        let body = json!("x".repeat(1 << 20)).to_string();
        framing.space().extend_from_slice(framed(&body).as_bytes());
        assert!(matches!(framing.next(), Some(Frame::Message(_))));
        assert!(framing.is_between_messages());
        assert!(framing.space().capacity() <= KEPT_CAPACITY);
    }

    /// Whatever comes between, the messages before and behind it are seen.
    #[test]
    fn any_damage_is_survived() {
        // A generator of numbers that is the same everywhere.
        let mut seed = 1_u64;
        let mut below = |most: usize| -> usize {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as usize % most
        };
        let pieces: [&[u8]; 10] = [
            b"Content-Length: ",
            b"Content-Length: 7\r\n\r\n",
            b"content-length:3\n",
            b"\r\n\r\n",
            b"{\"a\":[1,",
            b"\"}",
            b"\xff\x00",
            b"12",
            b"words: of a log\n",
            b"Content-",
        ];
        for case in 0..3000 {
            let mut stream = framed("\"first\"").into_bytes();
            for _ in 0..below(4) {
                let mut message = framed("{\"some\":[\"text\",1]}").into_bytes();
                match below(3) {
                    0 => message.truncate(below(message.len())),
                    1 => {
                        let at = below(message.len());
                        message[at] = b" 0}\nC\xe9"[below(6)];
                    }
                    _ => {
                        message = (0..below(5))
                            .flat_map(|_| pieces[below(pieces.len())])
                            .copied()
                            .collect();
                    }
                }
                stream.extend(message);
            }
            stream.extend(framed("\"again\"").bytes());
            stream.extend(framed("\"last\"").bytes());
            let seen = cut(&stream, 1 + below(50));
            let shown = String::from_utf8_lossy(&stream);
            assert_eq!(
                seen.first().map(String::as_str),
                Some("\"first\""),
                "case {case}: {shown}"
            );
            let end = &seen[seen.len().saturating_sub(2)..];
            assert_eq!(end, ["\"again\"", "\"last\""], "case {case}: {shown}");
        }
    }
}
