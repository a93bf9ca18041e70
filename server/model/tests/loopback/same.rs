//! The script of thirty turns through all three formats, streamed and whole, cut at every kind of place: it ends in the same
//! conversation.

use model::{Api, Block, Message, Role, ToolCall, Usage};
use proptest::prelude::*;

use crate::provider_of;
use crate::script::{Turn, opening, reply, script};
use crate::server::{Answer, chunks, server, status};
use crate::session::{held, play, sayable};
use crate::spoken::{FORMATS, Manner, streamed, whole};

/// Where the body of an answer is cut.
#[derive(Debug, Clone, Copy)]
enum Cut {
    EveryByte,
    InCharacters,
    InLineEnds,
    BetweenLines,
    InJson,
    BetweenEvents,
}

impl Cut {
    /// The offsets.
    fn places(self, body: &[u8]) -> Vec<usize> {
        let is_here = |at: &usize| {
            let (before, after) = (body[*at - 1], body[*at]);
            let ends = |byte: u8| matches!(byte, b'\r' | b'\n');
            match self {
                Self::EveryByte => true,
                Self::InCharacters => (0x80..0xc0).contains(&after),
                Self::InLineEnds => before == b'\r' && after == b'\n',
                Self::BetweenLines => ends(before),
                Self::InJson => matches!(before, b'\\' | b'"' | b':' | b'{' | b','),
                Self::BetweenEvents => ends(before) && !ends(after),
            }
        };
        (1..body.len()).filter(is_here).collect()
    }
}

/// What every format holds: who said which text and called what, and what came of it. What one provider answers in two parts, or
/// in two messages, is one answer.
#[derive(Debug, PartialEq)]
enum Plain {
    User(Vec<Block>),
    Assistant(String, Vec<ToolCall>),
}

fn plain(messages: &[Message]) -> Vec<Plain> {
    let mut plain = Vec::new();
    for message in messages {
        if message.role == Role::User {
            plain.push(Plain::User(message.blocks.clone()));
            continue;
        }
        if !matches!(plain.last(), Some(Plain::Assistant(..))) {
            plain.push(Plain::Assistant(String::new(), Vec::new()));
        }
        let Some(Plain::Assistant(said, called)) = plain.last_mut() else {
            unreachable!("it was just put there")
        };
        for block in &message.blocks {
            match block {
                Block::Text { text } if said.is_empty() => said.push_str(text),
                Block::Text { text } => said.extend(["\n\n", text]),
                Block::ToolCall(call) => called.push(call.clone()),
                _ => {}
            }
        }
    }
    plain
}

/// The script's own.
fn written() -> Vec<Plain> {
    let mut messages = vec![opening()];
    for turn in script() {
        // In Messages nothing is lost.
        let blocks = held(Api::Anthropic, "any", &turn);
        let role = Role::Assistant;
        messages.push(Message { role, blocks });
        messages.extend(reply(&turn));
    }
    plain(&messages)
}

/// Plays the script in one format, each answer made by `answer`.
async fn check(api: Api, answer: impl Fn(&Turn) -> Answer) {
    let turns = sayable(api, script());
    let (url, mut sees) = server(turns.iter().map(answer).collect()).await;
    let provider = provider_of(api, "test", &url);
    let mut messages = vec![opening()];
    let used = play(&provider, &turns, &mut messages).await;
    assert_eq!(crate::connections(&mut sees), 1, "{api:?}");
    // As far as the format goes, exactly.
    let mut answers = messages
        .iter()
        .filter(|message| message.role == Role::Assistant);
    for turn in &turns {
        let answer = answers.next().unwrap();
        assert_eq!(answer.blocks, held(api, provider.id(), turn), "{api:?}");
    }
    // And the same as in any other.
    assert_eq!(plain(&messages), written(), "{api:?}");
    let usage = script()
        .iter()
        .fold(Usage::default(), |sum, turn| sum + turn.usage);
    assert_eq!(used, usage, "{api:?}");
}

#[tokio::test]
async fn streamed_and_cut_at_every_kind_of_place() {
    for api in FORMATS {
        for cut in [
            Cut::EveryByte,
            Cut::InCharacters,
            Cut::InLineEnds,
            Cut::BetweenLines,
            Cut::InJson,
            Cut::BetweenEvents,
        ] {
            let manner = Manner {
                line: "\r\n",
                ..Manner::default()
            };
            check(api, |turn| {
                let body = streamed(api, turn, manner);
                let places = cut.places(&body);
                assert!(
                    !places.is_empty() || turn.texts().is_empty(),
                    "{cut:?} is nowhere"
                );
                Answer::Raw(chunks(&body, places))
            })
            .await;
        }
    }
}

#[tokio::test]
async fn in_one_piece() {
    for api in FORMATS {
        let json = "content-type: application/json\r\n";
        check(api, |turn| {
            Answer::Bytes(status("200 OK", json, &whole(api, turn).to_string()))
        })
        .await;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]
    #[test]
    fn streamed_in_any_manner_and_cut_anywhere(
        api in proptest::sample::select(FORMATS.to_vec()),
        piece in 1_usize..40,
        line in proptest::sample::select(vec!["\n", "\r\n", "\r"]),
        side_by_side in any::<bool>(),
        alive in any::<bool>(),
        sizes in proptest::collection::vec(1_usize..300, 1..40),
    ) {
        let manner = Manner { piece, line, side_by_side, alive };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(check(api, |turn| {
            let body = streamed(api, turn, manner);
            let mut at = 0;
            let places = sizes.iter().cycle().map(|size| {
                at += size;
                at
            });
            let places: Vec<_> = places.take_while(|at| *at < body.len()).collect();
            Answer::Raw(chunks(&body, places))
        }));
    }
}
