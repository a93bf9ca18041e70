//! Server-sent events from bytes, cut anywhere. Bad UTF-8, a BOM and unknown lines never stop it.
//!
//! Our own, because the crate made for this panics on a BOM, holds everything back from the first bad byte on, and copies
//! the rest of its buffer for every line.

/// One event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Event {
    /// Its type; empty if it names none.
    pub(crate) name: String,
    /// Its `data` lines.
    pub(crate) data: String,
}

/// Collects bytes until they make events.
#[derive(Debug, Default)]
pub(crate) struct Parser {
    line: Vec<u8>,
    event: Event,
    has_data: bool,
    /// The last byte was a CR: an LF that comes now belongs to it.
    after_cr: bool,
    started: bool,
}

impl Parser {
    /// Takes the next bytes and adds the events that they complete.
    pub(crate) fn push(&mut self, mut bytes: &[u8], events: &mut Vec<Event>) {
        if self.after_cr && !bytes.is_empty() {
            self.after_cr = false;
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while let Some(end) = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            self.line.extend_from_slice(&bytes[..end]);
            let cr = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            if cr {
                self.after_cr = bytes.is_empty();
                bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
            }
            events.extend(self.end_line());
        }
        self.line.extend_from_slice(bytes);
    }

    /// What an answer that ended without its last empty line still held.
    pub(crate) fn finish(&mut self) -> Option<Event> {
        self.end_line().or_else(|| self.dispatch())
    }

    /// How many bytes wait for the end of their event.
    pub(crate) fn held(&self) -> usize {
        self.line.len() + self.event.data.len()
    }

    fn end_line(&mut self) -> Option<Event> {
        let line = std::mem::take(&mut self.line);
        let line = String::from_utf8_lossy(&line);
        let line = if self.started {
            &line
        } else {
            line.strip_prefix('\u{feff}').unwrap_or(&line)
        };
        self.started = true;
        if line.is_empty() {
            return self.dispatch();
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.event.name),
            "data" => {
                if self.has_data {
                    self.event.data.push('\n');
                }
                self.has_data = true;
                self.event.data.push_str(value);
            }
            _ => {}
        }
        None
    }

    fn dispatch(&mut self) -> Option<Event> {
        let event = std::mem::take(&mut self.event);
        std::mem::take(&mut self.has_data).then_some(event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(chunks: &[&[u8]]) -> Vec<(String, String)> {
        let (mut parser, mut events) = (Parser::default(), Vec::new());
        for chunk in chunks {
            parser.push(chunk, &mut events);
        }
        events.extend(parser.finish());
        events
            .into_iter()
            .map(|event| (event.name, event.data))
            .collect()
    }

    fn check(input: &str, wanted: &[(&str, &str)]) {
        let wanted: Vec<_> = wanted
            .iter()
            .map(|(name, data)| ((*name).to_owned(), (*data).to_owned()))
            .collect();
        let bytes = input.as_bytes();
        for cut in 0..=bytes.len() {
            assert_eq!(
                events(&[&bytes[..cut], &bytes[cut..]]),
                wanted,
                "{input:?} cut at {cut}"
            );
        }
        assert_eq!(
            events(&bytes.chunks(1).collect::<Vec<_>>()),
            wanted,
            "{input:?} byte by byte"
        );
    }

    #[test]
    fn reads_events_however_they_are_cut() {
        check("data: a\n\ndata: b\n\n", &[("", "a"), ("", "b")]);
        check(
            "data: a\r\n\r\ndata: ü€🦀\r\n\r\n",
            &[("", "a"), ("", "ü€🦀")],
        );
        check("data: a\r\rdata: b\r\r", &[("", "a"), ("", "b")]);
        check("event: e\r\ndata: a\r\ndata: b\r\n\r\n", &[("e", "a\nb")]);
        check("\u{feff}data: a\n\n", &[("", "a")]);
        check(
            ": ping\n\nevent: error\ndata: x\n\n:\n\n",
            &[("error", "x")],
        );
        check(
            "data:a\ndata:  b\nid: 7\nretry: 10\nnonsense\n\n",
            &[("", "a\n b")],
        );
        check("event: ping\n\ndata: a\n\n", &[("", "a")]);
        check("data\n\n", &[("", "")]);
        check("data: no end", &[("", "no end")]);
        check("data: one end\n", &[("", "one end")]);
        check("", &[]);
    }

    #[test]
    fn bad_utf8_is_replaced_and_what_follows_still_comes() {
        assert_eq!(
            events(&[b"data: a\xffb\n\ndata: c\n\n"]),
            [
                (String::new(), "a\u{fffd}b".into()),
                (String::new(), "c".into())
            ]
        );
    }
}
