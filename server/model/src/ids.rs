//! The ids of tool calls as a wire format takes them. They come from any provider, in any spelling, and some servers begin to
//! count anew with every answer: a call and its result get the same id, no two calls of one request share one, and what an id
//! becomes depends only on what was said before it, so that a longer conversation begins with the bytes of the shorter.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use crate::stable_hash::StableHash;

/// OpenAI's Chat Completions take no longer id; Responses take 64 characters.
const LONGEST: usize = 40;

/// The ids of one request, given out in the order of the conversation.
#[derive(Debug, Default)]
pub(crate) struct Ids<'a> {
    /// What the id of each call has become; of the latest, if several share it.
    sent: HashMap<&'a str, String>,
    taken: HashSet<String>,
}

impl<'a> Ids<'a> {
    /// The id under which a call is sent, from here on its result as well.
    pub(crate) fn call(&mut self, id: &'a str) -> String {
        let mut sent = fit(id).into_owned();
        let mut again = 1;
        while self.taken.contains(&sent) {
            again += 1;
            sent = fit(&format!("{id}_{again}")).into_owned();
        }
        self.taken.insert(sent.clone());
        self.sent.insert(id, sent.clone());
        sent
    }

    /// The id under which the result of a call is sent.
    pub(crate) fn result(&self, id: &str) -> String {
        // Every result follows its call, so it is there.
        self.sent
            .get(id)
            .cloned()
            .unwrap_or_else(|| fit(id).into_owned())
    }
}

/// The id itself if every provider takes it, else one that is made of it.
fn fit(id: &str) -> Cow<'_, str> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if !id.is_empty() && id.len() <= LONGEST && id.chars().all(fits) {
        return Cow::Borrowed(id);
    }
    // What is cut off or replaced still tells two ids apart.
    let mut hash = StableHash::default();
    hash.add(id.as_bytes());
    let kept = id.chars().map(|c| if fits(c) { c } else { '_' });
    let kept: String = kept.take(LONGEST - 17).collect();
    Cow::Owned(format!("{kept}_{:016x}", hash.finish()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_id_that_every_provider_takes_stays_as_it_is() {
        for id in ["call_abc-123", "toolu_01A", "0", &"x".repeat(40)] {
            assert_eq!(Ids::default().call(id), id);
        }
    }

    #[test]
    fn calls_that_share_an_id_are_told_apart_and_keep_their_results() {
        let mut ids = Ids::default();
        let first = ids.call("call_0");
        assert_eq!(
            (first.as_str(), ids.result("call_0").as_str()),
            ("call_0", "call_0")
        );
        let second = ids.call("call_0");
        assert_eq!(
            (second.as_str(), ids.result("call_0").as_str()),
            ("call_0_2", "call_0_2")
        );
        assert_eq!(ids.call("call_0_2"), "call_0_2_2");
        assert_eq!(ids.call("call_0"), "call_0_3");
    }

    proptest! {
        #[test]
        fn every_id_fits_once_and_depends_on_nothing_later(ids in proptest::collection::vec("\\PC{0,90}|[ab]", 1..8)) {
            let sent = |ids: &[String]| {
                let mut given = Ids::default();
                ids.iter().map(|id| {
                    let call = given.call(id);
                    assert_eq!(given.result(id), call);
                    call
                }).collect::<Vec<_>>()
            };
            let all = sent(&ids);
            for id in &all {
                prop_assert!(!id.is_empty() && id.len() <= LONGEST, "{id}");
                prop_assert!(id.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-'), "{id}");
            }
            prop_assert_eq!(all.iter().collect::<HashSet<_>>().len(), all.len());
            let shorter = sent(&ids[..ids.len() - 1]);
            prop_assert_eq!(&all[..ids.len() - 1], shorter.as_slice());
        }
    }
}
