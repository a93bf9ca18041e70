//! What a session costs beside its words: one connection for all its turns, and requests that begin with the bytes of those before,
//! so that what the provider has read once it need not read again.

use model::Api;
use serde_json::Value;

use crate::provider_of;
use crate::script::{opening, script};
use crate::server::{Answer, Seen, chunks, server};
use crate::session::{play, sayable};
use crate::spoken::{FORMATS, Manner, streamed};

/// Up to which Anthropic keeps what it has read.
const MARK: &str = r#","cache_control":{"type":"ephemeral"}"#;

#[tokio::test]
async fn turns_share_a_connection_and_each_request_begins_with_the_one_before() {
    for api in FORMATS {
        let turns = sayable(api, script());
        let answers = turns.iter().map(|turn| {
            let body = streamed(api, turn, Manner::default());
            Answer::Raw(chunks(&body, []))
        });
        let (url, mut sees) = server(answers.collect()).await;
        play(
            &provider_of(api, "test", &url),
            &turns,
            &mut vec![opening()],
        )
        .await;
        let (mut connections, mut bodies) = (0, Vec::new());
        while let Ok(seen) = sees.try_recv() {
            match seen {
                Seen::Connected => connections += 1,
                Seen::Closed => {}
                Seen::Request(request) => {
                    bodies.push(request.split_once("\r\n\r\n").unwrap().1.to_owned());
                }
            }
        }
        assert_eq!(connections, 1, "{api:?}");
        assert!(bodies.len() >= 20, "{api:?}: {}", bodies.len());
        for pair in bodies.windows(2) {
            let [before, after] = pair else { continue };
            only_the_end_differs(api, before, after);
            if api == Api::Anthropic {
                marks_move_along(before, after);
            }
        }
    }
}

/// The second request is the first with more at the end of the conversation. In Messages and Responses that is the end of the
/// request, but for brackets: of the request, and of the last message where an answer goes on that the provider paused. In Chat
/// Completions the tools and the rest follow, the same in each. Of marks see below.
fn only_the_end_differs(api: Api, before: &str, after: &str) {
    let [before, after] = [before, after].map(|body| body.replace(MARK, ""));
    let parsed: Value = serde_json::from_str(&before).unwrap();
    let said = parsed["messages"].as_array();
    let is_paused = said.is_some_and(|said| said[said.len() - 1]["role"] == "assistant");
    let end = match api {
        // Within a string the quotes would be escaped.
        Api::OpenaiChat => before.find("],\"tools\":[").expect("tools"),
        Api::Anthropic if is_paused => before.len() - "]}]}".len(),
        Api::Anthropic | Api::OpenaiResponses => before.len() - "]}".len(),
    };
    let (said, rest) = before.split_at(end);
    assert!(
        after.len() > before.len() && after.starts_with(said) && after.ends_with(rest),
        "{api:?}:\n{before}\n{after}"
    );
}

/// Which bytes may differ in what both have: the marks in the conversation. There are four at most, which is all that the provider
/// takes: the tools, the system prompt, the end of the conversation and where that was one request ago. So the last mark of a request
/// is there in the next one too, whose end reads all up to it from the cache, and only the older of the two is gone.
fn marks_move_along(before: &str, after: &str) {
    let (before_marks, after_marks) = (marked(before), marked(after));
    assert!(after_marks.len() <= 4, "{after_marks:?}");
    assert_eq!(before_marks[..2], ["tools", "system"], "{before_marks:?}");
    assert_eq!(after_marks[..2], ["tools", "system"], "{after_marks:?}");
    let last = before_marks.last().unwrap();
    assert!(
        after_marks.contains(last),
        "{before_marks:?} {after_marks:?}"
    );
    // Byte for byte: without the older mark, the first request up to its last is what the second begins with.
    let end = before.rfind(MARK).unwrap() + MARK.len();
    let kept = &before[..end];
    let in_conversation = kept.matches(MARK).count() - 2;
    let without_older = match in_conversation {
        2 => {
            let at = kept[..end - MARK.len()].rfind(MARK).unwrap();
            format!("{}{}", &kept[..at], &kept[at + MARK.len()..])
        }
        _ => kept.to_owned(),
    };
    let is_still_older = after_marks[2] == before_marks[2] && in_conversation == 2;
    let begins = if is_still_older { kept } else { &without_older };
    assert!(after.starts_with(begins), "{begins}\n{after}");
}

/// Where a request has its marks: in the tools, the system prompt, or which piece of which message, from the first.
fn marked(body: &str) -> Vec<String> {
    let body: Value = serde_json::from_str(body).unwrap();
    let has_mark = |piece: &Value| piece.get("cache_control").is_some();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut marked = Vec::new();
    for part in ["tools", "system"] {
        let is_last = |at: usize| at + 1 == list(&body[part]).len();
        for (at, piece) in list(&body[part]).iter().enumerate() {
            assert_eq!(has_mark(piece), is_last(at), "{part} {at}");
            marked.extend(has_mark(piece).then(|| part.to_owned()));
        }
    }
    for (at, said) in list(&body["messages"]).iter().enumerate() {
        let pieces = list(&said["content"]);
        let places = pieces
            .iter()
            .enumerate()
            .filter(|(_, piece)| has_mark(piece));
        marked.extend(places.map(|(piece, _)| format!("{at}.{piece}")));
    }
    marked
}
