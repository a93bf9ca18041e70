//! For the tests of every wire format: an answer fed whole, cut in two at every byte, and byte by byte must read the same.

use std::fmt::Write as _;
use std::sync::Arc;

use crate::asked::Asked;
use crate::stream::{Decode, Reader};
use crate::{ModelError, Secret, StreamEvent};

/// What was read, and the error that ended it.
pub(crate) type Outcome = (Vec<StreamEvent>, Option<ModelError>);

/// What was asked, where only the answer counts.
pub(crate) fn asked() -> Asked {
    Asked {
        provider: "p".into(),
        model: "m".into(),
        url: "http://h/v1/chat/completions".parse().unwrap(),
        key: "the key in P_KEY".into(),
        certificate: None,
        secrets: vec![Secret::new("sk-secret")],
    }
}

/// Reads an answer that comes in these chunks; `cut` says how it broke off.
pub(crate) fn read<D: Decode>(
    decoder: impl Fn(Arc<Asked>) -> D,
    chunks: &[&[u8]],
    cut: Option<&str>,
) -> Outcome {
    let asked = Arc::new(asked());
    let mut reader = Reader::new(decoder(asked.clone()), asked);
    let mut out = Vec::new();
    for chunk in chunks {
        if let Err(error) = reader.push(chunk, &mut out) {
            return (out, Some(error));
        }
    }
    let ended = reader.end(cut, &mut out).err();
    (out, ended)
}

/// Text pieces that follow each other are one: where they were cut is not part of the answer. An id that we made up is `*`.
pub(crate) fn shown(read: Outcome) -> String {
    let mut shown = String::new();
    let mut last = "";
    for event in read.0 {
        let (kind, text) = match event {
            StreamEvent::Text(text) => ("text", text),
            StreamEvent::Reasoning(text) => ("thinks", text),
            StreamEvent::ToolCall(call) => {
                let id = if call.id.len() == 21 && call.id.starts_with("call_") {
                    "*"
                } else {
                    &call.id
                };
                let arguments = match (call.malformed, call.repaired) {
                    (Some(text), _) => format!("malformed {text}"),
                    (None, Some(how)) => format!("{} repaired: {how}", call.input),
                    (None, None) => call.input.to_string(),
                };
                ("call", format!("{id} {} {arguments}", call.name))
            }
            StreamEvent::Thought(thought) => {
                let sealed = thought.sealed.map(|sealed| sealed.content.to_string());
                let sealed = sealed.unwrap_or_default();
                let shown = format!("{} {sealed}", thought.text);
                ("thought", shown.trim_end().to_owned())
            }
            StreamEvent::Notice(message) => ("notice", message),
            StreamEvent::Again => ("again", String::new()),
            StreamEvent::Usage(usage) => (
                "usage",
                format!(
                    "{} {} {} {}",
                    usage.input, usage.output, usage.cache_read, usage.cache_write
                ),
            ),
            StreamEvent::Done(stop) => ("done", format!("{stop:?}")),
        };
        if kind == last && matches!(kind, "text" | "thinks") {
            shown.push_str(&text);
        } else {
            let _ = write!(
                shown,
                "{}{kind} {text}",
                if shown.is_empty() { "" } else { "\n" }
            );
        }
        last = kind;
    }
    if let Some(error) = read.1 {
        let _ = write!(
            shown,
            "{}error {error}",
            if shown.is_empty() { "" } else { "\n" }
        );
    }
    shown
}

/// Holds a stream against what is to be read from it, however it is cut.
pub(crate) fn check_cut<D: Decode>(
    decoder: impl Fn(Arc<Asked>) -> D,
    stream: &str,
    cut: Option<&str>,
    wanted: &str,
) {
    let read = |chunks: &[&[u8]]| shown(read(&decoder, chunks, cut));
    let bytes = stream.as_bytes();
    let wanted = wanted
        .trim_matches('\n')
        .lines()
        .map(str::trim)
        .collect::<Vec<_>>()
        .join("\n");
    assert_eq!(read(&[bytes]), wanted, "whole:\n{stream}");
    for at in 0..=bytes.len() {
        let halves = [&bytes[..at], &bytes[at..]];
        assert_eq!(read(&halves), wanted, "cut at {at}:\n{stream}");
    }
    let single: Vec<_> = bytes.chunks(1).collect();
    assert_eq!(read(&single), wanted, "byte by byte:\n{stream}");
}
