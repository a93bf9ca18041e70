//! Whose a message is that is too large to be taken: its `id` and whether it has a `method`, found in its bytes as they go
//! by, wherever they stand. It keeps nothing else of it.

/// An id or a key is no longer than this.
const LONGEST: usize = 64;

/// What is known of a message by the keys of its outermost object.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Envelope {
    /// Its `id`, as JSON.
    pub id: Option<String>,
    /// Whether it has a `method`: then it is no answer.
    pub has_method: bool,
    /// How many objects and lists are open.
    depth: usize,
    is_in_text: bool,
    is_escaped: bool,
    /// What has been read of the key or of the value of `id`.
    token: Vec<u8>,
    place: Place,
}

/// Where in the outermost object the next byte stands.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Place {
    #[default]
    Key,
    Id,
    OtherValue,
}

impl Envelope {
    /// Reads on.
    pub fn read(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.take(byte);
        }
    }

    fn take(&mut self, byte: u8) {
        if self.is_in_text {
            self.keep(byte);
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = true,
                b'"' => self.is_in_text = false,
                _ => {}
            }
            return;
        }
        match byte {
            b'"' => {
                self.is_in_text = true;
                self.keep(byte);
            }
            b'{' | b'[' => {
                self.depth += 1;
                // A list is no message, and nothing in it is an envelope.
                if self.depth == 1 && byte == b'[' {
                    self.depth += 1;
                }
            }
            b'}' | b']' => {
                if self.depth == 1 {
                    self.end_of_value();
                }
                self.depth = self.depth.saturating_sub(1);
            }
            b':' if self.depth == 1 => {
                self.place = match &*std::mem::take(&mut self.token) {
                    b"\"id\"" => Place::Id,
                    b"\"method\"" => {
                        self.has_method = true;
                        Place::OtherValue
                    }
                    _ => Place::OtherValue,
                };
            }
            b',' if self.depth == 1 => self.end_of_value(),
            _ if byte.is_ascii_whitespace() => {}
            _ => self.keep(byte),
        }
    }

    fn end_of_value(&mut self) {
        let token = std::mem::take(&mut self.token);
        if self.place == Place::Id {
            self.id = String::from_utf8(token).ok().filter(|id| !id.is_empty());
        }
        self.place = Place::Key;
    }

    fn keep(&mut self, byte: u8) {
        if self.depth == 1 && self.place != Place::OtherValue && self.token.len() < LONGEST {
            self.token.push(byte);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whose_a_message_is() {
        for (message, id, has_method) in [
            (r#"{"jsonrpc":"2.0","id":1,"result":[]}"#, Some("1"), false),
            (r#"{"result":{"id":7},"id":1}"#, Some("1"), false),
            (
                r#"{"result":[{"id":7}],"jsonrpc":"2.0", "id" : "4" }"#,
                Some("\"4\""),
                false,
            ),
            (r#"{"result":"\"id\":7,","id":1}"#, Some("1"), false),
            (r#"{"result":"a\\","id":1}"#, Some("1"), false),
            (
                r#"{"id":2,"method":"m","params":{"id":9}}"#,
                Some("2"),
                true,
            ),
            (r#"{"method":"m","params":{"id":9}}"#, None, true),
            (
                r#"{"result":{"method":"m"},"id":null}"#,
                Some("null"),
                false,
            ),
            (r#"[{"id":1}]"#, None, false),
            (r#"{"result":{"id":7}"#, None, false),
            ("", None, false),
        ] {
            // Wherever it is cut.
            for cut in 0..=message.len() {
                let mut envelope = Envelope::default();
                envelope.read(&message.as_bytes()[..cut]);
                envelope.read(&message.as_bytes()[cut..]);
                let found = (envelope.id.as_deref(), envelope.has_method);
                assert_eq!(found, (id, has_method), "{message} cut at {cut}");
            }
        }
    }
}
