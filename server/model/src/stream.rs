//! An answer as it comes: bytes to events to steps, under an idle timeout, cancellable at any moment. The wire format is
//! behind [`Decode`]; this room knows only that an answer is a stream of events, or one JSON value, or neither.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures::stream;
use reqwest::Response;
use serde_json::Value;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use crate::asked::Asked;
use crate::halves::Halves;
use crate::rest::Rest;
use crate::{EventStream, ModelError, StreamEvent, sse};

/// How long to wait for the usage and the last event once the model has said that it ends.
const TAIL: Duration = Duration::from_secs(5);
/// A provider that only sends signs of life is given this many idle timeouts.
const ALIVE: u32 = 10;
/// No answer is larger.
const LARGEST: usize = 32 * 1024 * 1024;

/// A wire format's way of reading an answer.
pub(crate) trait Decode: Send + 'static {
    /// Takes one event of a stream.
    fn event(&mut self, event: &sse::Event, out: &mut Vec<StreamEvent>) -> Result<(), ModelError>;
    /// Takes an answer that came whole, though a stream was asked for.
    fn whole(&mut self, answer: &Value, out: &mut Vec<StreamEvent>) -> Result<(), ModelError>;
    /// The answer has ended; `cut` says how, if it broke off.
    fn end(&mut self, cut: Option<&str>, out: &mut Vec<StreamEvent>) -> Result<(), ModelError>;
    /// How far it has come.
    fn stage(&self) -> Stage;
}

/// How far an answer has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// More is to come.
    Going,
    /// The model has ended; only usage and the like may follow.
    Tail,
    /// It is complete.
    Over,
}

/// The steps of an answer.
pub(crate) fn events(
    response: Response,
    decoder: impl Decode,
    asked: Arc<Asked>,
    idle: Duration,
    rest: Rest,
    cancel: CancellationToken,
) -> EventStream {
    let reading = Reading {
        reader: Reader::new(decoder, asked),
        response: Some(response),
        rest,
        queue: VecDeque::new(),
        cancel,
        idle,
        last_said: Instant::now(),
    };
    Box::pin(stream::unfold(reading, |mut reading| async {
        reading.next().await.map(|step| (step, reading))
    }))
}

/// The connection and what was read from it.
struct Reading<D> {
    reader: Reader<D>,
    response: Option<Response>,
    /// Where what follows the end is read.
    rest: Rest,
    queue: VecDeque<Result<StreamEvent, ModelError>>,
    cancel: CancellationToken,
    idle: Duration,
    last_said: Instant,
}

impl<D: Decode> Reading<D> {
    async fn next(&mut self) -> Option<Result<StreamEvent, ModelError>> {
        loop {
            let open = self.response.is_some() || !self.queue.is_empty();
            if open && self.cancel.is_cancelled() {
                return Some(Err(self.cancelled()));
            }
            if let Some(step) = self.queue.pop_front() {
                if matches!(step, Ok(StreamEvent::Done(_)))
                    && let Some(response) = self.response.take()
                {
                    self.rest.read(response);
                }
                return Some(step);
            }
            let wait = match self.reader.decoder.stage() {
                Stage::Going => self
                    .idle
                    .min((self.idle * ALIVE).saturating_sub(self.last_said.elapsed())),
                Stage::Tail => TAIL,
                Stage::Over => return None,
            };
            let response = self.response.as_mut()?;
            let read = tokio::select! {
                biased;
                () = self.cancel.cancelled() => return Some(Err(self.cancelled())),
                read = timeout(wait, response.chunk()) => read,
            };
            let mut out = Vec::new();
            let outcome = match read {
                Ok(Ok(Some(bytes))) => self.reader.push(&bytes, &mut out),
                Ok(Ok(None)) => self.end(None, &mut out),
                Ok(Err(error)) => {
                    let reason = self.reader.asked.reason(&error);
                    self.end(Some(&reason), &mut out)
                }
                Err(_) if self.reader.decoder.stage() == Stage::Tail => self.end(None, &mut out),
                Err(_) => Err(ModelError::Idle(self.idle)),
            };
            if !out.is_empty() {
                self.last_said = Instant::now();
            }
            self.queue.extend(out.into_iter().map(Ok));
            if let Err(error) = outcome {
                self.response = None;
                self.queue.push_back(Err(error));
            }
        }
    }

    fn end(&mut self, cut: Option<&str>, out: &mut Vec<StreamEvent>) -> Result<(), ModelError> {
        self.response = None;
        self.reader.end(cut, out)
    }

    fn cancelled(&mut self) -> ModelError {
        self.response = None;
        self.queue.clear();
        ModelError::Cancelled
    }
}

/// Finds out what kind of answer it is, and reads it. No clock, no network.
pub(crate) struct Reader<D> {
    decoder: D,
    asked: Arc<Asked>,
    body: Body,
    halves: Halves,
}

enum Body {
    /// Only blanks so far.
    Unknown(Vec<u8>),
    Events {
        parser: sse::Parser,
        events: usize,
        head: Vec<u8>,
    },
    Whole(Vec<u8>),
}

impl<D: Decode> Reader<D> {
    pub(crate) fn new(decoder: D, asked: Arc<Asked>) -> Self {
        Self {
            decoder,
            asked,
            body: Body::Unknown(Vec::new()),
            halves: Halves::default(),
        }
    }

    /// Takes the next bytes.
    pub(crate) fn push(
        &mut self,
        bytes: &[u8],
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), ModelError> {
        match &mut self.body {
            Body::Unknown(head) => {
                head.extend_from_slice(bytes);
                let head = std::mem::take(head);
                // Many servers lie about the content type; what comes first does not. A BOM counts as blank.
                let blank =
                    |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, 0xef | 0xbb | 0xbf);
                match head.iter().find(|byte| !blank(byte)) {
                    None => {
                        self.body = Body::Unknown(head);
                        Ok(())
                    }
                    Some(b'<') => Err(self.asked.web_page(200, &String::from_utf8_lossy(&head))),
                    Some(b'{' | b'[') => {
                        self.body = Body::Whole(head);
                        Ok(())
                    }
                    Some(_) => {
                        self.body = Body::Events {
                            parser: sse::Parser::default(),
                            events: 0,
                            head: Vec::new(),
                        };
                        self.push(&head, out)
                    }
                }
            }
            Body::Whole(body) => {
                body.extend_from_slice(bytes);
                if body.len() > LARGEST {
                    Err(too_large())
                } else {
                    Ok(())
                }
            }
            Body::Events {
                parser,
                events,
                head,
            } => {
                if *events == 0 && head.len() < 200 {
                    head.extend(bytes.iter().take(200));
                }
                let mut complete = Vec::new();
                parser.push(bytes, &mut complete);
                *events += complete.len();
                if parser.held() > LARGEST {
                    return Err(too_large());
                }
                for mut event in complete {
                    if self.decoder.stage() == Stage::Over {
                        break;
                    }
                    self.halves.join(&mut event.data);
                    if let Err(error) = self.decoder.event(&event, out) {
                        return self.broken(error, out);
                    }
                }
                Ok(())
            }
        }
    }

    /// An error in the middle is no worse than a cut: calls that were whole before it are made, and the model goes on from there.
    fn broken(&mut self, error: ModelError, out: &mut Vec<StreamEvent>) -> Result<(), ModelError> {
        let mut last = Vec::new();
        if self.decoder.end(Some("an error"), &mut last).is_err() {
            return Err(error);
        }
        tracing::info!(%error, "failed after its calls were complete");
        out.append(&mut last);
        Ok(())
    }

    /// The bytes have ended.
    pub(crate) fn end(
        &mut self,
        cut: Option<&str>,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), ModelError> {
        match &mut self.body {
            Body::Unknown(_) => {}
            Body::Whole(body) => {
                let mut text = String::from_utf8_lossy(body).into_owned();
                self.halves.join(&mut text);
                match serde_json::from_str(text.trim_start_matches('\u{feff}')) {
                    Ok(answer) => self.decoder.whole(&answer, out)?,
                    Err(error) if cut.is_some() || error.is_eof() => {}
                    Err(error) => {
                        let quoted = self.asked.quote(&text);
                        return Err(ModelError::Malformed(format!("{error} in {quoted}")));
                    }
                }
            }
            Body::Events {
                parser,
                events,
                head,
            } => match parser.finish() {
                Some(mut event) => {
                    self.halves.join(&mut event.data);
                    match self.decoder.event(&event, out) {
                        // A last event that is only a half was cut: that is told as such.
                        Err(ModelError::Malformed(_)) => {}
                        other => other?,
                    }
                }
                None if *events == 0 && cut.is_none() => {
                    let quoted = self.asked.quote(&String::from_utf8_lossy(head));
                    return Err(ModelError::Malformed(format!(
                        "it is no event stream: {quoted}"
                    )));
                }
                None => {}
            },
        }
        if self.decoder.stage() == Stage::Over {
            Ok(())
        } else {
            self.decoder.end(cut, out)
        }
    }
}

fn too_large() -> ModelError {
    ModelError::Malformed(format!(
        "one piece of it is larger than {} MiB",
        LARGEST / 1024 / 1024
    ))
}
