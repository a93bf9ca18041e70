//! Messages over a language server's pipes: `Content-Length` frames in and out, and the last lines of its stderr.
//! It never looks into a message beyond what naming a fault needs.

mod envelope;

use std::{
    collections::VecDeque,
    io,
    sync::{Mutex, PoisonError},
};

use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};

pub use self::envelope::Envelope;

/// The largest message that is taken.
pub const LARGEST: u64 = 64 << 20;
/// A length beyond this is no message but a broken stream.
const ABSURD: u64 = 4 << 30;
/// A line of headers or garbage is cut here.
const LONGEST_LINE: u64 = 64 << 10;

/// What came from a server.
#[derive(Debug, PartialEq, Eq)]
pub enum Frame {
    /// A message: UTF-8, invalid bytes replaced.
    Message(String),
    /// A message too large to take; it was skipped, but for whose it was.
    TooLarge {
        /// How many bytes it has.
        length: u64,
        /// What is known of it.
        envelope: Envelope,
    },
    /// Something that was no header; it was skipped.
    Garbage(String),
}

/// Reads frames, whatever stands between them.
#[derive(Debug)]
pub struct FrameReader<R> {
    input: BufReader<R>,
    limit: u64,
}

impl<R: AsyncRead + Unpin> FrameReader<R> {
    /// Reads from `input`.
    pub fn new(input: R) -> Self {
        Self::with_limit(input, LARGEST)
    }

    fn with_limit(input: R, limit: u64) -> Self {
        Self {
            input: BufReader::with_capacity(64 << 10, input),
            limit,
        }
    }

    /// The next frame; `None` at the end of the stream.
    pub async fn next(&mut self) -> io::Result<Option<Frame>> {
        let mut length = None;
        loop {
            let Some(line) = read_line(&mut self.input).await? else {
                return Ok(None);
            };
            if line.is_empty() {
                match length {
                    Some(length) => return self.body(length).await,
                    None => continue,
                }
            }
            match content_length(&line) {
                Some(found) => length = Some(found),
                // Other headers are of no interest, but a line outside of headers is what someone printed.
                None if length.is_some() || is_header(&line) => {}
                None => {
                    return Ok(Some(Frame::Garbage(
                        String::from_utf8_lossy(&line).into_owned(),
                    )));
                }
            }
        }
    }

    async fn body(&mut self, length: u64) -> io::Result<Option<Frame>> {
        if length > ABSURD {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("it announced a message of {length} bytes"),
            ));
        }
        if length > self.limit {
            let mut envelope = Envelope::default();
            let mut left = length;
            while left > 0 {
                let bytes = self.input.fill_buf().await?;
                if bytes.is_empty() {
                    return Ok(None);
                }
                let taken = bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                envelope.read(&bytes[..taken]);
                self.input.consume(taken);
                left -= taken as u64;
            }
            return Ok(Some(Frame::TooLarge { length, envelope }));
        }
        // What is announced need not come: room is made as it does.
        let mut body = Vec::with_capacity(length.min(1 << 20) as usize);
        let read = (&mut self.input)
            .take(length)
            .read_to_end(&mut body)
            .await? as u64;
        if read < length {
            return Ok(None);
        }
        Ok(Some(Frame::Message(match String::from_utf8(body) {
            Ok(body) => body,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        })))
    }
}

/// A line without its end, cut where it is endless; `None` at the end of the stream.
async fn read_line(input: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    if input
        .take(LONGEST_LINE)
        .read_until(b'\n', &mut line)
        .await?
        == 0
    {
        return Ok(None);
    }
    while matches!(line.last(), Some(b'\n' | b'\r')) {
        line.pop();
    }
    Ok(Some(line))
}

/// The number after `Content-Length:`, in any case, even if something was printed before it without a line's end.
fn content_length(line: &[u8]) -> Option<u64> {
    const NAME: &[u8] = b"content-length";
    let at = line
        .windows(NAME.len())
        .rposition(|window| window.eq_ignore_ascii_case(NAME))?;
    let value = line[at + NAME.len()..]
        .trim_ascii_start()
        .strip_prefix(b":")?
        .trim_ascii();
    let digits = value
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    std::str::from_utf8(&value[..digits]).ok()?.parse().ok()
}

fn is_header(line: &[u8]) -> bool {
    line.split(|&byte| byte == b':')
        .next()
        .is_some_and(|name| name.eq_ignore_ascii_case(b"content-type"))
}

/// A message as it goes over the wire.
pub fn frame(message: &impl serde::Serialize) -> Vec<u8> {
    // The length stands first but is known last: room is left for it, and what is not used is skipped.
    const ROOM: usize = 48;
    let mut bytes = vec![0; ROOM];
    if let Err(error) = serde_json::to_writer(&mut bytes, message) {
        // Only a map with keys that are no strings or a broken `Serialize` fails, and we write neither.
        tracing::error!(%error, "a message of ours is no JSON");
        return Vec::new();
    }
    let header = format!("Content-Length: {}\r\n\r\n", bytes.len() - ROOM);
    let start = ROOM - header.len();
    bytes[start..ROOM].copy_from_slice(header.as_bytes());
    bytes.drain(..start);
    bytes
}

/// At most the first `bytes` of a text, cut between characters.
pub fn beginning(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The last lines that a server wrote to its stderr, or printed where messages belong.
#[derive(Debug, Default)]
pub struct Ring(Mutex<VecDeque<String>>);

impl Ring {
    const LINES: usize = 200;
    const LONGEST: usize = 2000;

    /// Reads lines until the stream ends; each is logged under the server's name.
    pub async fn fill(&self, server: &str, input: impl AsyncRead + Unpin) {
        let mut input = BufReader::new(input);
        while let Ok(Some(line)) = read_line(&mut input).await {
            let line = String::from_utf8_lossy(&line);
            tracing::debug!(server, line = &*line, "stderr");
            self.push(&line);
        }
    }

    /// Adds a line.
    pub fn push(&self, line: &str) {
        let line = beginning(line, Self::LONGEST).to_owned();
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == Self::LINES {
            lines.pop_front();
        }
        lines.push_back(line);
    }

    /// The last `count` lines that say anything.
    pub fn last(&self, count: usize) -> String {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let said: Vec<&str> = lines
            .iter()
            .map(|line| line.trim())
            .filter(|line| !line.is_empty())
            .collect();
        said[said.len().saturating_sub(count)..].join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read_all(bytes: &[u8]) -> Vec<Frame> {
        let mut reader = FrameReader::with_limit(bytes, 20);
        let mut frames = Vec::new();
        while let Some(frame) = reader.next().await.expect("no error") {
            frames.push(frame);
        }
        frames
    }

    fn message(text: &str) -> Frame {
        Frame::Message(text.into())
    }

    fn garbage(text: &str) -> Frame {
        Frame::Garbage(text.into())
    }

    #[tokio::test]
    async fn frames_and_what_stands_between_them() {
        let large = format!(
            "Content-Length: 21\r\n\r\n{}Content-Length: 1\r\n\r\n2",
            "x".repeat(21)
        );
        let cases: Vec<(&str, &[u8], Vec<Frame>)> = vec![
            (
                "two",
                b"Content-Length: 2\r\n\r\n{}Content-Length: 3\r\n\r\n[1]",
                vec![message("{}"), message("[1]")],
            ),
            ("LF only", b"Content-Length: 2\n\n{}", vec![message("{}")]),
            (
                "wrong case, no space",
                b"CONTENT-length:2\r\n\r\n{}",
                vec![message("{}")],
            ),
            (
                "other headers",
                b"Content-Type: x; charset=utf8\r\nContent-Length: 2\r\nX-Y: z\r\n\r\n{}",
                vec![message("{}")],
            ),
            (
                "printed before",
                b"hello\nContent-Length: 2\r\n\r\n{}",
                vec![garbage("hello"), message("{}")],
            ),
            (
                "printed without an end",
                b"helloContent-Length: 2\r\n\r\n{}",
                vec![message("{}")],
            ),
            (
                "blank lines",
                b"\r\n\n\r\nContent-Length: 2\r\n\r\n{}\n",
                vec![message("{}")],
            ),
            (
                "no number",
                b"Content-Length: x\r\n\r\n",
                vec![garbage("Content-Length: x")],
            ),
            (
                "invalid UTF-8 in a header",
                b"\xff\xfe: 1\nContent-Length: 2\r\n\r\n{}",
                vec![garbage("\u{fffd}\u{fffd}: 1"), message("{}")],
            ),
            (
                "invalid UTF-8 in a body",
                b"Content-Length: 3\r\n\r\n\"\xff\"",
                vec![message("\"\u{fffd}\"")],
            ),
            (
                "empty body",
                b"Content-Length: 0\r\n\r\nContent-Length: 1\r\n\r\n1",
                vec![message(""), message("1")],
            ),
            ("cut short", b"Content-Length: 5\r\n\r\n{}", vec![]),
            ("nothing", b"", vec![]),
            (
                "too large, then another",
                large.as_bytes(),
                vec![
                    Frame::TooLarge {
                        length: 21,
                        envelope: Envelope::default(),
                    },
                    message("2"),
                ],
            ),
        ];
        for (name, bytes, expected) in cases {
            assert_eq!(read_all(bytes).await, expected, "{name}");
        }
    }

    #[tokio::test]
    async fn an_absurd_length_is_an_error() {
        let mut reader = FrameReader::new(&b"Content-Length: 99999999999999\r\n\r\n"[..]);
        let error = reader.next().await.expect_err("refused");
        assert!(
            error.to_string().contains("99999999999999 bytes"),
            "{error}"
        );
    }

    #[tokio::test]
    async fn what_is_framed_is_read_again() {
        let bytes = frame(&serde_json::json!({"a": "é"}));
        assert_eq!(read_all(&bytes).await, [message("{\"a\":\"é\"}")]);
    }

    #[tokio::test]
    async fn the_ring_keeps_the_last_lines() {
        let ring = Ring::default();
        let text = (0..300)
            .map(|line| format!("line {line}"))
            .collect::<Vec<_>>()
            .join("\r\n");
        ring.fill("", format!("{text}\n\n\n\u{1F980}").as_bytes())
            .await;
        assert_eq!(ring.last(2), "line 299\n\u{1F980}");
        assert_eq!(ring.last(1000).lines().count(), 198);
        ring.fill("", &vec![0xff; 70_000][..]).await;
        assert!(ring.last(1).len() <= Ring::LONGEST);
    }
}
